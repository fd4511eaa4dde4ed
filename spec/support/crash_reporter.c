/* crash_reporter.c - a crash reporter as programs have them: it says what it sees, and returns. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_CALLS 3 /* then it ends the process: without SA_RESETHAND the same instruction faults for ever */

static int calls;

static void say(int number, const char *kind, uintptr_t address)
{
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    dprintf(1, "%s %d at %lu, it is %s, SIGUSR1 is %s\n", kind, number, (unsigned long)address,
            sigismember(&blocked, number) ? "blocked" : "free", sigismember(&blocked, SIGUSR1) ? "blocked" : "free");
    if (++calls == MOST_CALLS) _exit(7);
}

static void on_signal(int number)
{
    say(number, "signal", 0);
}

static void on_info(int number, siginfo_t *info, void *context)
{
    say(number, context ? "info" : "no context", info->si_code > 0 ? (uintptr_t)info->si_addr : 0);
}

/* kind 0: a handler, 1: SIG_DFL, 2: SIG_IGN */
int install_reporter(int number, int kind, int flags)
{
    struct sigaction action = {.sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR1);
    if (kind)
        action.sa_handler = kind == 1 ? SIG_DFL : SIG_IGN;
    else if (flags & SA_SIGINFO)
        action.sa_sigaction = on_info;
    else
        action.sa_handler = on_signal;
    return sigaction(number, &action, NULL);
}

int read_what_is_not_there(void)
{
    return *(volatile int *)(uintptr_t)8;
}
