/* rb_guard.h - runs work that may read unmapped memory: a fault ends the work, not the process.
 *
 * This is the second line of defence. Code that follows pointers checks them first. But a signal handler that reads the
 * VM's memory at any instruction may meet an unforeseen state, and a profiler must not crash an application.
 *
 * Operation
 *   This handler receives SIGSEGV and SIGBUS first. A fault of the thread inside `rb_rpp_guarded` leaves the work at
 *   once. Any other fault goes on to the previous handler with all of the kernel's information, so Ruby reports its
 *   crashes and detects stack overflows as before. The handler stays installed.
 *
 * Threads    one guarded work at a time, on the thread that holds the GVL; also in signal handlers.
 * Ownership  the argument belongs to the caller.
 */
#ifndef RB_GUARD_H
#define RB_GUARD_H

#include <stdbool.h>

/* Later calls do nothing. False: the system refused. */
bool rb_rpp_guard_install(void);

/* Runs the work. It must take no lock and must not change anything that has to stay consistent. False: it faulted. */
bool rb_rpp_guarded(void (*work)(void *), void *argument);

#endif
