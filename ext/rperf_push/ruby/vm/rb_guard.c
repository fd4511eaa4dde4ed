/* rb_guard.c - runs work that may read unmapped memory: a fault ends the work, not the process. */
#include "vm/rb_guard.h"

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

static size_t place_of(int number)
{
    return number == signals[0] ? 0 : 1;
}

/* With SA_RESETHAND the kernel discards a handler before it calls it: a crash reporter that returns relies on the
 * second fault to end the process. */
static bool is_default(size_t i)
{
    static atomic_bool is_reset[SIGNALS];
    if (before[i].sa_handler == SIG_DFL || before[i].sa_handler == SIG_IGN) return true;
    return before[i].sa_flags & (int)SA_RESETHAND && atomic_exchange(&is_reset[i], true);
}

/* Acts as the kernel would if this handler did not exist. */
static void hand_on(int number, siginfo_t *info, void *context)
{
    size_t i = place_of(number);
    bool is_sent = info->si_code <= 0;                      /* by a process */
    if (is_sent && before[i].sa_handler == SIG_IGN) return; /* a fault is never ignored */
    if (is_default(i)) {
        signal(number, SIG_DFL);    /* the instruction runs again and ends the process ... */
        if (is_sent) raise(number); /* ... but a signal that was sent does not come again by itself */
    } else if (before[i].sa_flags & SA_SIGINFO) {
        before[i].sa_sigaction(number, info, context);
    } else {
        before[i].sa_handler(number);
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

/* Keeps the mask and flags of the previous handler, so that it runs as it expects. SA_RESETHAND would uninstall this
 * handler. */
static bool install(size_t i)
{
    if (sigaction(signals[i], NULL, &before[i]) != 0) return false;
    struct sigaction action = before[i];
    action.sa_flags |= SA_SIGINFO;
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
