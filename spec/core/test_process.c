/* test_process.c - whether a process is still the one that was written down. */
#include "base/process.h"

#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* One that sleeps, as it says itself. */
static rpp_process start_child(int *end)
{
    int told[2], held[2];
    rpp_process child = {0};
    CHECK(pipe(told) == 0 && pipe(held) == 0);
    if (fork() == 0) {
        char unused;
        close(held[1]);
        child = rpp_process_self();
        _exit(write(told[1], &child, sizeof child) < 0 || read(held[0], &unused, 1) != 0);
    }
    CHECK_INT(read(told[0], &child, sizeof child), sizeof child);
    close(told[0]), close(told[1]), close(held[0]);
    *end = held[1];
    return child;
}

TEST(a_process_that_lives_is_not_gone)
{
    rpp_process self = rpp_process_self();
    CHECK_INT(self.pid, getpid());
    CHECK(!rpp_process_is_gone(&self));
    rpp_process first = {.pid = 1}; /* of another user, for most */
    CHECK(!rpp_process_is_gone(&first));
}

TEST(a_process_that_has_ended_is_gone_before_and_after_it_is_waited_for)
{
    int end;
    rpp_process child = start_child(&end);
    CHECK(!rpp_process_is_gone(&child));
    close(end);
    siginfo_t info;
    CHECK(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT) == 0);
#ifdef __linux__
    CHECK(rpp_process_is_gone(&child)); /* a zombie */
#endif
    CHECK_INT(waitpid((pid_t)child.pid, NULL, 0), child.pid);
    CHECK(rpp_process_is_gone(&child));
}

#ifdef __linux__
TEST(a_number_that_another_process_has_now_is_gone)
{
    rpp_process self = rpp_process_self();
    CHECK(self.began && self.world);
    self.began--;
    CHECK(rpp_process_is_gone(&self));
    self.began = 0; /* not known */
    CHECK(!rpp_process_is_gone(&self));
}

TEST(nothing_is_known_of_other_worlds)
{
    rpp_process self = rpp_process_self();
    self.world++;
    self.began--;
    CHECK(!rpp_process_is_gone(&self));
}
#endif
