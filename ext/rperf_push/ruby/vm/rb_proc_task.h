/* rb_proc_task.h - what the kernel says of threads: which there are, whether one sleeps, its name. Linux only: it is
 * read from /proc.
 *
 * Functions return false, or nothing, if they cannot read the answer.
 *
 * Threads    any thread, not in a signal handler.
 * Ownership  nothing to own.
 */
#ifndef RB_PROC_TASK_H
#define RB_PROC_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

/* The kernel's encoding of "CPU clock of the thread with this id" (see clock_getcpuclockid in any C library). */
#define RB_RPP_CPU_CLOCK_OF_TASK(tid) ((clockid_t)((~(unsigned)(tid) << 3) | 6u))

/* True if the thread neither runs nor is ready to run. */
bool rb_rpp_task_is_asleep(pid_t tid);
/* Ruby names a thread after Thread#name, or else the place where it was created, cut to 15 bytes. Empty if it cannot be
 * read. */
void rb_rpp_task_name(pid_t tid, char *name, size_t size);
/* All threads of the process but our own; how many they are, at most `most`. */
size_t rb_rpp_tasks(pid_t *tids, size_t most);

#endif
