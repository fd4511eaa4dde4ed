/* thread.h - starts our own threads, with every signal blocked, a name and a small stack.
 *
 * Threads    any thread.
 * Ownership  the caller joins the thread; the context must outlive it.
 */
#ifndef RPP_THREAD_H
#define RPP_THREAD_H

#include <pthread.h>
#include <stddef.h>

#include "base/status.h"

/* The name has at most 15 characters. RPP_IO: the system could not create a thread. */
RPP_NODISCARD rpp_status rpp_thread_start(pthread_t *thread, const char *name, size_t stack_bytes, void *(*run)(void *),
                                          void *context);

#endif
