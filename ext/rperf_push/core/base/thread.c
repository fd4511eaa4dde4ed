/* thread.c - starts our own threads, with every signal blocked, a name and a small stack. */
#include "base/thread.h"

#include <signal.h>

rpp_status rpp_thread_start(pthread_t *thread, const char *name, size_t stack_bytes, void *(*run)(void *),
                            void *context)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_attr_init(&attributes) != 0) return RPP_IO;
    pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* inherited by the thread */
    int failed = pthread_create(thread, &attributes, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed) return RPP_IO;
#if defined(__linux__)
    pthread_setname_np(*thread, name);
#else
    (void)name; /* on other systems only the thread itself can set it */
#endif
    return RPP_OK;
}
