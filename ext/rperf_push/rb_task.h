/* rb_task.h - what the kernel says of a thread: whether it sleeps, which signals it blocks, its name. Read from /proc: Linux only.
 *
 * Both functions return false if they cannot read the answer.
 *
 * Threads    any thread, not in a signal handler.
 * Ownership  nothing to own.
 */
#ifndef RB_TASK_H
#define RB_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* True if the thread neither runs nor is ready to run. */
bool rb_rpp_task_is_asleep(pid_t tid);
bool rb_rpp_task_blocks(pid_t tid, int signal);
/* Ruby names a thread after Thread#name, or else the place where it was created, cut to 15 bytes. Empty if it cannot be read. */
void rb_rpp_task_name(pid_t tid, char *name, size_t size);

#endif
