/* thread.h - birth of our own threads: every signal blocked before the first instruction, a name, a small stack. */
#ifndef RPP_THREAD_H
#define RPP_THREAD_H

#include <pthread.h>
#include <stddef.h>

#include "status.h"

/* The name has at most 15 characters. RPP_IO: the system gave no thread. */
RPP_NODISCARD rpp_status rpp_thread_start(pthread_t *thread, const char *name, size_t stack_bytes, void *(*run)(void *),
                                          void *context);

#endif
