/* rb_fork_and_exit.h - fork and exit of the process. It calls the participants, in an order that one list defines.
 *
 * Operation
 *   A fork's handlers run on the thread that forks. In the child they may touch only our own memory. The fork may have
 *   come in the middle of a change, so each participant abandons the state of the parent. A job at the child's first
 *   safepoint starts the child's own sessions. At the exit, an end proc ends all sessions. Another end proc ends a
 *   session that begins later, in an end proc. A finalizer ends a session that begins even later: then all end procs
 *   have run and all other threads are gone, but Ruby still works.
 *
 * Threads    under the GVL, unless a line says something else.
 * Ownership  the participants are kept until the process ends.
 */
#ifndef RB_FORK_AND_EXIT_H
#define RB_FORK_AND_EXIT_H

#include "vm/rb_compat.h"

/* Each function may be NULL. The result of a VALUE function is ignored. If it raises, the following ones are still
 * called. */
typedef struct rb_rpp_participant {
    void (*before_fork)(void);
    void (*after_fork_in_parent)(void);
    void (*discard_after_fork)(void);
    VALUE (*restart_in_child)(VALUE unused); /* at the child's first safepoint */
    VALUE (*end_at_exit)(VALUE unused);
    void (*leave_vm)(
        void); /* in the finalizer, before the last end_at_exit: no thread of the participant calls Ruby from now on */
} rb_rpp_participant;

/* Call it once per process image. Forks and restarts go through the participants in this order, the exit in reverse
 * order. */
void rb_rpp_process_init(VALUE native, const rb_rpp_participant *const *participants, size_t count);
/* Call both when a session of any kind begins. Children that are forked from now on discard it; */
void rb_rpp_process_follow_forks(void);
/* and if nothing else ends the session, the exit does, however late the session began. */
void rb_rpp_process_end_with_process(void);

#endif
