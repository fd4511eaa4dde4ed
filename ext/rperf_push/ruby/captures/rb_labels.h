/* rb_labels.h - the labels of the current fiber: RperfPush.label, and the sampler's access to them.
 *
 * A fiber's label set is in its storage (Fiber[]), which Ruby copies to the fibers and threads that it creates. The
 * thread's ledger gets the set of the running fiber when it changes: in label, and at each fiber switch and thread
 * start. Labels end with the last session: no thread can reach the storages of all fibers, so each set carries the
 * number of its era.
 *
 * Threads    the thread that holds the GVL.
 * Ownership  the fiber's storage owns the set; the sampler borrows it.
 */
#ifndef RB_LABELS_H
#define RB_LABELS_H

#include "vm/rb_compat.h"

#include <ruby/encoding.h>
#include <stdbool.h>

#include "core/sampling/label_sets.h"

void rb_rpp_labels_init(VALUE native);

/* The set of the running fiber, borrowed; NULL: none. Allocates nothing. Looks up nothing until labels are first
 * used. */
rpp_label_set *rb_rpp_labels_current(void);
/* The running fiber has these labels from now on (borrowed): the current thread's ledger keeps their time apart. */
void rb_rpp_labels_changed(rpp_label_set *labels);
/* Another fiber runs: its labels are the current ones. */
void rb_rpp_labels_follow_fiber(void);
/* The last session has ended: no fiber has labels. */
void rb_rpp_labels_end_era(void);
/* The labels of the running fiber with these changes, as an object that keeps them. nil: there are none. Allocates, may
 * raise. */
VALUE rb_rpp_labels_with(VALUE changes);
/* Borrowed from such an object. */
rpp_label_set *rb_rpp_labels_of(VALUE kept);
/* A new Hash: name => value. NULL: it is empty. Allocates Ruby objects: only in a method. */
VALUE rb_rpp_labels_hash(const rpp_label_set *labels);

/* Yields a handle, under the labels of the running fiber with an outcome of their own; restores them. */
VALUE rb_rpp_labels_with_outcome(void);
/* The outcome of such a handle, borrowed. Raises TypeError if it is none. */
rpp_outcome *rb_rpp_labels_outcome_of(VALUE handle);

#endif
