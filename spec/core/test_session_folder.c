/* test_session_folder.c - whose a folder is. */
#include "delivery/session_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "test.h"

#define PATH_MAX_HERE 256

static char base[] = "/tmp/rpp-sessions-XXXXXX", other_base[] = "/tmp/rpp-sessions-XXXXXX";

/* True if a folder of that name is abandoned. */
static bool abandoned(const char *name)
{
    char path[PATH_MAX_HERE];
    snprintf(path, sizeof path, "%s/%s", base, name);
    CHECK(mkdir(path, 0700) == 0);
    bool is_abandoned = rpp_session_folder_is_abandoned(path);
    CHECK(rmdir(path) == 0);
    return is_abandoned;
}

static const char *named(rpp_process owner, char name[PATH_MAX_HERE])
{
    snprintf(name, PATH_MAX_HERE, "session-%ld-%llu-%llu-0a", owner.pid, (unsigned long long)owner.began,
             (unsigned long long)owner.world);
    return name;
}

TEST(a_folder_belongs_to_the_process_in_its_name)
{
    char name[PATH_MAX_HERE], own[RPP_SESSION_NAME_MAX], other[RPP_SESSION_NAME_MAX];
    CHECK(mkdtemp(base));
    rpp_session_folder_name(own);
    rpp_session_folder_name(other);
    CHECK(strcmp(own, other) != 0);
    CHECK(!abandoned(own));

    pid_t child = fork();
    if (child == 0) _exit(0);
    CHECK_INT(waitpid(child, NULL, 0), child);
    rpp_process dead = rpp_process_self();
    dead.pid = child;
    CHECK(abandoned(named(dead, name)));
    snprintf(name, sizeof name, "session-%ld-12345678", (long)child); /* as they were called */
    CHECK(abandoned(name));
    snprintf(name, sizeof name, "session-%ld-12345678", (long)getpid());
    CHECK(!abandoned(name));
#ifdef __linux__
    rpp_process before = rpp_process_self();
    before.began--;
    CHECK(abandoned(named(before, name)));
#endif
    CHECK(rmdir(base) == 0);
}

TEST(a_folder_is_own_for_the_process_that_has_made_it_only)
{
    char name[PATH_MAX_HERE], own[RPP_SESSION_NAME_MAX];
    rpp_session_folder_name(own);
    snprintf(name, sizeof name, "/nonexistent/%s", own);
    CHECK(rpp_session_folder_is_own(name));
    pid_t child = fork();
    if (child == 0) _exit(rpp_session_folder_is_own(name));
    int status;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    CHECK(!rpp_session_folder_is_own("/tmp"));
#ifdef __linux__
    rpp_process other = rpp_process_self();
    other.world++; /* as a parent in another PID namespace */
    CHECK(!rpp_session_folder_is_own(named(other, name)));
    other = rpp_process_self();
    other.began--;
    CHECK(!rpp_session_folder_is_own(named(other, name)));
#endif
}

/* True if a folder of that name is left over, where nothing was written into it for so long. */
static bool left_over(const char *name, time_t seconds)
{
    char path[PATH_MAX_HERE + sizeof other_base];
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    snprintf(path, sizeof path, "%s/%s", other_base, name);
    CHECK(mkdir(path, 0700) == 0);
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
    bool is_left_over = rpp_session_folder_is_left_over(path);
    CHECK(rmdir(path) == 0);
    return is_left_over;
}

TEST(a_folder_of_another_world_is_left_over_when_it_is_old)
{
    const time_t hour = 3600;
    char name[PATH_MAX_HERE];
    rpp_process owner = rpp_process_self();
    CHECK(mkdtemp(other_base));
    CHECK(!left_over(named(owner, name), 100 * hour));
    CHECK(!left_over("other", 100 * hour));
    CHECK(rpp_session_folder_is_left_over("/nonexistent/session-1-0-0-a"));
#ifdef __linux__
    owner.world++;
    CHECK(!left_over(named(owner, name), 23 * hour));
    CHECK(left_over(named(owner, name), 25 * hour));
#endif
    CHECK(rmdir(other_base) == 0);
}

TEST(other_folders_are_nobodys_and_one_that_is_gone_is_abandoned)
{
    CHECK(!rpp_session_folder_is_abandoned("/tmp"));
    CHECK(!rpp_session_folder_is_abandoned("."));
    CHECK(rpp_session_folder_is_abandoned("/nonexistent/session-1-0-0-a"));
}
