/* process.h - a process, told from those that get its number after it.
 *
 * Linux says when a process began, and in which world of process numbers (the PID namespace: a container has its own).
 * What another system does not say is 0, and is not compared.
 *
 * Threads    any thread; not in a signal handler.
 * Ownership  plain values.
 */
#ifndef RPP_PROCESS_H
#define RPP_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rpp_process {
    long pid;
    uint64_t began; /* in the kernel's ticks since it was booted */
    uint64_t world;
} rpp_process;

/* The calling one. An exec does not change it. */
rpp_process rpp_process_self(void);
/* True if it is the calling one. A forked child may have its parent's number, in a world of its own. */
bool rpp_process_is_self(const rpp_process *process);
/* True if it is surely of another world. */
bool rpp_process_is_foreign(const rpp_process *process);
/* True if it has surely ended. Of other worlds nothing is known. */
bool rpp_process_is_gone(const rpp_process *process);

#endif
