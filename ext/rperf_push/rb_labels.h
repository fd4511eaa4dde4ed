/* rb_labels.h - labels of the current fiber: RperfPush.label and what the sampler reads of it.
 *
 * A fiber's label set hangs in its storage (Fiber[]), which Ruby itself copies to the fibers and threads it creates. The
 * sampler is told when the set of the running fiber changes: by label, and at each fiber switch and thread start.
 *
 * Threads    the thread that holds the GVL.
 */
#ifndef RB_LABELS_H
#define RB_LABELS_H

#include "rb_compat.h"

#include <ruby/encoding.h>
#include <stdbool.h>

#include "core/label_sets.h"

void rb_rpp_labels_init(VALUE native);

/* The set of the running fiber, borrowed; NULL for none. Allocates nothing. Nothing is looked up until labels are used. */
rpp_label_set *rb_rpp_labels_current(void);

#endif
