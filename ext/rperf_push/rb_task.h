/* rb_task.h - what the kernel says of a thread: whether it sleeps, which signals it blocks. Read from /proc: Linux only.
 *
 * Threads    any thread but a signal handler. What cannot be read counts as "no".
 */
#ifndef RB_TASK_H
#define RB_TASK_H

#include <stdbool.h>
#include <sys/types.h>

/* Neither runs nor would like to. */
bool rb_rpp_task_is_asleep(pid_t tid);
bool rb_rpp_task_blocks(pid_t tid, int signal);

#endif
