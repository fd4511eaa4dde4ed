/* rb_guard.c - runs work that may read unmapped memory: a fault ends the work, not the process. */
#include "rb_guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static const int signals[] = {SIGSEGV, SIGBUS};
#define SIGNALS (sizeof signals / sizeof *signals)

static struct sigaction before[SIGNALS]; /* the previous handlers */
static struct {
    volatile sig_atomic_t active;
    pthread_t thread;
    sigjmp_buf back;
} work_under_way;

static const struct sigaction *action_before(int number)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        if (signals[i] == number) return &before[i];
    }
    return NULL;
}

/* Acts as if this handler did not exist. Without a previous handler, the instruction runs again and ends the process. */
static void hand_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *action = action_before(number);
    if (action->sa_flags & SA_SIGINFO) {
        action->sa_sigaction(number, info, context);
    } else if (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN) {
        signal(number, SIG_DFL);
        /* A signal sent by a process does not come a second time by itself. */
        if (info->si_code <= 0) raise(number);
    } else {
        action->sa_handler(number);
    }
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    bool is_ours = work_under_way.active && pthread_equal(work_under_way.thread, pthread_self());
    if (!is_ours || info->si_code <= 0) {
        hand_on(number, info, context);
        return;
    }
    work_under_way.active = 0;
    /* Restores the mask of the moment of the fault. sigsetjmp would need a system call at each start to save it. */
    pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, NULL);
    siglongjmp(work_under_way.back, 1);
}

/* Keeps the mask and flags of the previous handler, so that it runs as it expects. */
static bool install(size_t i)
{
    if (sigaction(signals[i], NULL, &before[i]) != 0) return false;
    struct sigaction action = before[i];
    action.sa_flags |= SA_SIGINFO | SA_ONSTACK;
    action.sa_flags &= ~(int)SA_RESETHAND;
    action.sa_sigaction = on_fault;
    return sigaction(signals[i], &action, NULL) == 0;
}

bool rb_rpp_guard_install(void)
{
    static bool installed;
    if (installed) return true; /* a later handler may call ours: to call it in turn would be an endless circle */
    installed = true;
    for (size_t i = 0; i < SIGNALS; i++) installed &= install(i);
    return installed;
}

bool rb_rpp_guarded(void (*work)(void *), void *argument)
{
    if (sigsetjmp(work_under_way.back, 0)) return false;
    work_under_way.thread = pthread_self();
    atomic_signal_fence(memory_order_seq_cst);
    work_under_way.active = 1;
    atomic_signal_fence(memory_order_seq_cst);
    work(argument);
    atomic_signal_fence(memory_order_seq_cst);
    work_under_way.active = 0;
    return true;
}
