/* test_window_files.c - windows of a session as files: whole, with the names of the program, or not at all. */
#include "delivery/window_files.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "test.h"
#include "window.h"

static test_window window_with_a_sample(void)
{
    const char *const labels[] = {"endpoint", "x", NULL};
    test_window window = window_open();
    rpp_location stack[] = {{window_frame(&window, "leaf", "a.rb", false), 3}};
    window_add(&window, (rpp_sample){.cpu_ns = 10, .wall_ns = 20, .thread_seq = 1, .state = RPP_STATE_BLOCKED}, stack,
               1, labels);
    return window;
}

static void name_in(const char *folder, char *name, size_t room)
{
    snprintf(name, room, "%s/%ld-%" PRIu64 ".pb.gz", folder, (long)getpid(), WINDOW_TIME);
}

TEST(a_window_is_a_file_under_the_process_and_its_time)
{
    char folder[] = "/tmp/rpp-windows-XXXXXX", name[256];
    struct stat found;
    CHECK(mkdtemp(folder));
    test_window window = window_with_a_sample();
    rpp_window_files *files = rpp_window_files_new(folder, RPP_MODE_CPU, 100);
    CHECK(files);
    CHECK_OK(rpp_window_files_write(files, window.profile, window.names));
    name_in(folder, name, sizeof name);
    CHECK(stat(name, &found) == 0 && found.st_size > 0);
    CHECK_INT(found.st_mode & 0777, 0600);
    CHECK(unlink(name) == 0);
    CHECK(rmdir(folder) == 0); /* and nothing else is in it */
    rpp_window_files_free(files);
    window_close(&window);
}

/* Its parts begin when it does: a long wait is flushed in a part of its own. */
TEST(no_file_replaces_another_of_the_same_time)
{
    char folder[] = "/tmp/rpp-windows-XXXXXX", name[256];
    CHECK(mkdtemp(folder));
    test_window window = window_with_a_sample();
    rpp_window_files *files = rpp_window_files_new(folder, RPP_MODE_CPU, 100);
    rpp_window_files *others = rpp_window_files_new(folder, RPP_MODE_CPU, 100);
    CHECK_OK(rpp_window_files_write(files, window.profile, window.names));
    CHECK_OK(rpp_window_files_write(others, window.profile, window.names));
    CHECK_OK(rpp_window_files_write(files, window.profile, window.names));
    for (uint64_t later = 0; later < 3; later++) {
        snprintf(name, sizeof name, "%s/%ld-%" PRIu64 ".pb.gz", folder, (long)getpid(), WINDOW_TIME + later);
        CHECK(unlink(name) == 0);
    }
    CHECK(rmdir(folder) == 0);
    rpp_window_files_free(files);
    rpp_window_files_free(others);
    window_close(&window);
}

TEST(a_window_without_samples_is_no_file)
{
    char folder[] = "/tmp/rpp-windows-XXXXXX";
    CHECK(mkdtemp(folder));
    test_window window = window_open();
    rpp_window_files *files = rpp_window_files_new(folder, RPP_MODE_CPU, 100);
    CHECK_OK(rpp_window_files_write(files, window.profile, window.names));
    CHECK(rmdir(folder) == 0);
    rpp_window_files_free(files);
    window_close(&window);
}

TEST(a_folder_that_is_gone_is_told)
{
    test_window window = window_with_a_sample();
    rpp_window_files *files = rpp_window_files_new("/nonexistent/folder", RPP_MODE_WALL, 100);
    CHECK_INT(rpp_window_files_write(files, window.profile, window.names), RPP_STOPPED);
    rpp_window_files_free(files);
    window_close(&window);
}

TEST(a_folder_whose_owner_is_gone_gets_no_file)
{
    char base[] = "/tmp/rpp-windows-XXXXXX", folder[256];
    CHECK(mkdtemp(base));
    pid_t owner = fork();
    if (owner == 0) _exit(0);
    CHECK_INT(waitpid(owner, NULL, 0), owner);
    snprintf(folder, sizeof folder, "%s/session-%ld-a", base, (long)owner);
    CHECK(mkdir(folder, 0700) == 0);
    test_window window = window_with_a_sample();
    rpp_window_files *files = rpp_window_files_new(folder, RPP_MODE_WALL, 100);
    CHECK_INT(rpp_window_files_write(files, window.profile, window.names), RPP_STOPPED);
    CHECK(rmdir(folder) == 0 && rmdir(base) == 0);
    rpp_window_files_free(files);
    window_close(&window);
}

TEST(out_of_memory_leaves_no_file)
{
    char folder[] = "/tmp/rpp-windows-XXXXXX", name[256];
    CHECK(mkdtemp(folder));
    test_window window = window_with_a_sample();
    for (size_t nth = 1;; nth++) {
        rpp_alloc_fail_at(nth);
        rpp_window_files *files = rpp_window_files_new(folder, RPP_MODE_CPU, 100);
        rpp_status status = files ? rpp_window_files_write(files, window.profile, window.names) : RPP_NO_MEMORY;
        rpp_alloc_fail_at(0);
        rpp_window_files_free(files);
        if (status == RPP_OK) break;
        CHECK_INT(status, RPP_NO_MEMORY);
        CHECK(rmdir(folder) == 0 && mkdir(folder, 0700) == 0);
    }
    name_in(folder, name, sizeof name);
    CHECK(unlink(name) == 0 && rmdir(folder) == 0);
    window_close(&window);
}
