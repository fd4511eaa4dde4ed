/* rb_probes.h - named points of the profiler's own code at which the testing build (rake compile:testing) sets the rate
 * of ticks, breaks a promise, or looks on. In the ordinary build a point is nothing.
 *
 * Threads    as noted. Points are set once per process, before anything is sampled.
 * Ownership  the testing rooms own what they keep.
 */
#ifndef RB_PROBES_H
#define RB_PROBES_H

#include "vm/rb_compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "core/sampling/watched_objects.h"
#include "vm/rb_vm_layout.h"

struct rb_rpp_thread;

#ifdef RPP_TESTING

typedef struct rb_rpp_probes {
    /* --- instead of what the settings and the VM say --- */
    uint64_t period_ns; /* timers follow the wall clock at this period; 0: the settings decide */
    bool (*breaks)(const char *promise);
    const rb_rpp_vm_layout *(*layout)(const rb_rpp_vm_layout *layout);

    /* --- captures: under the GVL, also in handlers --- */
    void (*walk_begins)(bool in_handler);
    void (*in_walk)(void); /* within every walk, once the layout is verified */
    /* The depth may be RB_RPP_WALK_NOT_NOW. */
    void (*walked)(const struct rb_rpp_thread *thread, const VALUE *frames, const int *lines, int depth);
    /* Outside of a safepoint the VM may hold its own locks, and a thread switch would wait for them forever. */
    void (*capture_ends)(bool at_safepoint);
    void (*reads_cpu_clock)(void);

    /* --- ticks: one could not be taken now; is taken late, between two points; has a stack with this leaf --- */
    void (*tick_pending)(const struct rb_rpp_thread *thread);
    void (*pending_tick_begins)(const struct rb_rpp_thread *thread);
    void (*pending_tick_ends)(void);
    void (*tick_captured)(uint32_t leaf, bool in_handler);
    void (*timer_created)(struct rb_rpp_thread *thread); /* from now on its thread may receive ticks */

    /* --- the live heap: an object is born; the table was brought up to date, with `fate` in the GC's marking --- */
    void (*object_watched)(VALUE object, uint64_t allocation);
    void (*objects_followed)(const rpp_watched *table, rpp_fate (*fate)(uintptr_t address));

    /* --- jobs and the GC --- */
    void (*job_begins)(bool works); /* or it leaves the work to the main Ractor */
    void (*triggers_job)(void);     /* any thread of ours */
    void (*gc_entered)(void);       /* after it has waited for threads that trigger a job */
    void (*gc_left)(void);
} rb_rpp_probes;

extern rb_rpp_probes rb_rpp_probed;

#define RB_RPP_PROBE(point, ...)                                                                                       \
    do {                                                                                                               \
        if (rb_rpp_probed.point) rb_rpp_probed.point(__VA_ARGS__);                                                     \
    } while (0)
#define RB_RPP_PROBED_PERIOD_NS       rb_rpp_probed.period_ns
#define RB_RPP_PROBE_BREAKS(promise)  (rb_rpp_probed.breaks && rb_rpp_probed.breaks(promise))
#define RB_RPP_PROBED_LAYOUT(layout_) (rb_rpp_probed.layout ? rb_rpp_probed.layout(layout_) : (layout_))

#else

#define RB_RPP_PROBE(point, ...)      ((void)0)
#define RB_RPP_PROBED_PERIOD_NS       UINT64_C(0)
#define RB_RPP_PROBE_BREAKS(promise)  false
#define RB_RPP_PROBED_LAYOUT(layout_) (layout_)

#endif

#endif
