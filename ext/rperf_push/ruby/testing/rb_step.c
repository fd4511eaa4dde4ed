/* rb_step.c - in the testing build: runs a handler after every instruction of a thread. */
#include "testing/rb_step.h"

#ifdef RPP_TESTING

#if defined(__linux__) && defined(__x86_64__)

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/base/clock.h"

#define TRAP_FLAG    0x100
#define BURST_SIGNAL SIGRTMAX
#define TRAP_SET_BIT (UINT64_C(1) << (SIGTRAP - 1))
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static rb_rpp_step_options asked;
static _Atomic bool on;
static _Atomic uint64_t steps, burst_end;
static timer_t pause_timer;
static uint64_t random_state;

static void set_trap_flag(bool set)
{
    unsigned long long flags = __builtin_ia32_readeflags_u64();
    __builtin_ia32_writeeflags_u64(set ? flags | TRAP_FLAG : flags & ~(unsigned long long)TRAP_FLAG);
}

/* A set that blocks SIGTRAP becomes one that does not. */
static void keep_trap_unblocked(greg_t *registers)
{
    static _Thread_local uint64_t mended __attribute__((tls_model("initial-exec")));
    static const unsigned char system_call[] = {0x0f, 0x05};
    if (memcmp((const void *)registers[REG_RIP], system_call, sizeof system_call) != 0) return;
    bool blocks = registers[REG_RAX] == SYS_rt_sigprocmask && registers[REG_RSI] && registers[REG_RDI] != SIG_UNBLOCK;
    if (!blocks) return;
    memcpy(&mended, (const void *)registers[REG_RSI], sizeof mended);
    mended &= ~TRAP_SET_BIT;
    registers[REG_RSI] = (greg_t)&mended;
}

/* The burst is over: the next one begins at a random instant. */
static void pause_steps(void)
{
    uint64_t ns = 1 + rpp_random_next(&random_state) % asked.gap_ns;
    struct itimerspec once = {.it_value = {(time_t)(ns / RPP_NS_PER_S), (long)(ns % RPP_NS_PER_S)}};
    timer_settime(pause_timer, 0, &once, NULL);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t step = atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed) + 1;
    if (!atomic_load(&on) || step > asked.steps_max) {
        registers[REG_EFL] &= ~TRAP_FLAG;
    } else {
        keep_trap_unblocked(registers);
        asked.handler((uintptr_t)registers[REG_RIP], step + asked.burst - 1 == atomic_load(&burst_end));
        if (asked.burst && step >= atomic_load(&burst_end)) {
            registers[REG_EFL] &= ~TRAP_FLAG;
            pause_steps();
        }
    }
    errno = saved;
}

static void on_burst(int number, siginfo_t *info, void *context)
{
    if (!atomic_load(&on)) return;
    atomic_store(&burst_end, atomic_load(&steps) + asked.burst);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static bool handle(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, SIGSEGV);
    sigdelset(&action.sa_mask, SIGBUS);
    return sigaction(number, &action, NULL) == 0;
}

static bool prepare_bursts(void)
{
    if (!asked.burst) return true;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = BURST_SIGNAL};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    random_state = asked.seed | 1;
    return handle(BURST_SIGNAL, on_burst) && timer_create(CLOCK_MONOTONIC, &event, &pause_timer) == 0;
}

bool rb_rpp_step_is_possible(void)
{
    return true;
}

bool rb_rpp_step_begin(const rb_rpp_step_options *options)
{
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    asked = *options;
    if (pthread_sigmask(SIG_UNBLOCK, &trap, NULL) != 0 || !prepare_bursts() || !handle(SIGTRAP, on_trap)) {
        return false;
    }
    atomic_store(&steps, 0);
    atomic_store(&burst_end, 0);
    atomic_store(&on, true);
    if (asked.burst) {
        pause_steps();
    } else {
        set_trap_flag(true);
    }
    return true;
}

/* The handler stays: other threads have yet to come out of their steps. */
uint64_t rb_rpp_step_end(void)
{
    set_trap_flag(false);
    atomic_store(&on, false);
    if (asked.burst) timer_delete(pause_timer);
    uint64_t all = atomic_load(&steps);
    return all < asked.steps_max ? all : asked.steps_max;
}

void rb_rpp_step_again(void)
{
    if (atomic_load(&on) && !asked.burst) set_trap_flag(true);
}

#else

bool rb_rpp_step_is_possible(void)
{
    return false;
}

bool rb_rpp_step_begin(const rb_rpp_step_options *options)
{
    return false;
}

uint64_t rb_rpp_step_end(void)
{
    return 0;
}

void rb_rpp_step_again(void) {}

#endif

#endif
