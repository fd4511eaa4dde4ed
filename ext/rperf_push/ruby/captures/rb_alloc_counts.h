/* rb_alloc_counts.h - how many objects each subscriber's windows have, by the VM's counter.
 *
 * Threads    the thread that holds the GVL. Nothing allocates.
 * Ownership  nothing to own.
 */
#ifndef RB_ALLOC_COUNTS_H
#define RB_ALLOC_COUNTS_H

#include "vm/rb_compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "threads/rb_threads.h"

typedef struct rb_rpp_alloc_settings {
    bool wanted;
    uint32_t interval;    /* each n-th object; 0: at random, for all that are counted */
    uint32_t watched_max; /* of those that are captured (rb_heap.h); 0: none is watched */
} rb_rpp_alloc_settings;

/* Of all Ractors, since the process began. */
uint64_t rb_rpp_alloc_counter(void);

/* NULL: the subscriber counts no objects now. */
const rb_rpp_alloc_settings *rb_rpp_alloc_counted(rb_rpp_subscriber subscriber);
void rb_rpp_alloc_counts_attach(rb_rpp_subscriber subscriber, const rb_rpp_alloc_settings *settings);
/* False: the subscriber does not want them. Its objects are counted from now on, until end. */
bool rb_rpp_alloc_counts_begin(rb_rpp_subscriber subscriber);
bool rb_rpp_alloc_counts_end(rb_rpp_subscriber subscriber);

/* The subscriber's window ends now. */
void rb_rpp_alloc_counts_cut(rb_rpp_subscriber subscriber);
/* Pushes what was counted in the window that ended. False: no room; call it again. */
bool rb_rpp_alloc_counts_push(rb_rpp_subscriber subscriber);

/* In a forked child: touches our own memory only. */
void rb_rpp_alloc_counts_discard_after_fork(void);
/* Call it once per process. */
void rb_rpp_alloc_counts_init(void);

/* With an interval: each how many-th object is captured (0: none), and how many come until then. */
typedef struct rb_rpp_alloc_paces {
    uint64_t nth, left;
} rb_rpp_alloc_paces;
extern rb_rpp_alloc_paces rb_rpp_alloc_pace;

/* The way to the next n-th begins. */
void rb_rpp_alloc_pace_begin(uint64_t nth);
/* How many objects the n-th stands for in the subscriber's window: not those of the window before. */
uint64_t rb_rpp_alloc_nth_weighs(rb_rpp_subscriber subscriber);
/* What is on the way now is of no window to come. */
void rb_rpp_alloc_leave_behind(rb_rpp_subscriber subscriber);

#endif
