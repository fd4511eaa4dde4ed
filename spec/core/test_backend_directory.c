/* test_backend_directory.c - whole files under the right names, the oldest make room, and errors in words. */
#include "backends/backend_kinds.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/inotify.h>
#endif

#include "base/alloc.h"
#include "base/clock.h"
#include "test.h"

#define AT 1700000000123456789u /* 2023-11-14 22:13:20 UTC */

typedef struct scene {
    char root[64], directory[96];
    rpp_settings settings;
    rpp_backend *backend;
    rpp_upload_result result;
} scene;

static uint8_t profile[100] = {0x1f, 0x8b};

static void set_up(scene *s)
{
    memset(s, 0, sizeof *s);
    strcpy(s->root, "/tmp/rpp-directory-XXXXXX");
    CHECK(mkdtemp(s->root));
    snprintf(s->directory, sizeof s->directory, "%s/deep/er/", s->root);
    s->settings.application_name = "shop";
    s->settings.directory = s->directory;
    s->backend = rpp_backend_directory_new(&s->settings);
    CHECK(s->backend);
}

static void tear_down(scene *s)
{
    char command[128];
    s->backend->free(s->backend);
    snprintf(command, sizeof command, "rm -rf '%s'", s->root);
    CHECK_INT(system(command), 0);
}

static void deliver(scene *s, uint64_t time_ns, uint64_t sequence)
{
    rpp_payload payload = {.bytes = profile, .length = sizeof profile, .time_ns = time_ns, .sequence = sequence};
    CHECK_OK(s->backend->deliver(s->backend, &payload, 1, &s->result));
}

static void touch(scene *s, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s", s->directory, name);
    FILE *file = fopen(path, "w");
    CHECK(file);
    fclose(file);
}

static bool exists(scene *s, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s", s->directory, name);
    return access(path, F_OK) == 0;
}

static unsigned count_files(scene *s)
{
    unsigned count = 0;
    DIR *directory = opendir(s->directory);
    if (!directory) return 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(directory);
    return count;
}

static const char *name_of(char room[256], const char *time, uint64_t sequence)
{
    snprintf(room, 256, "shop-%s-%ld-%" PRIu64 ".pb.gz", time, (long)getpid(), sequence);
    return room;
}

TEST(a_profile_becomes_one_whole_private_file)
{
    scene s;
    char name[256], path[512];
    uint8_t read[200];
    struct stat status;
    set_up(&s);
    deliver(&s, AT, 12);
    CHECK_INT(s.result.attempt.end, RPP_END_STORED);
    CHECK_INT(count_files(&s), 1);
    snprintf(path, sizeof path, "%s%s", s.directory, name_of(name, "20231114T221320.123Z", 12));
    FILE *file = fopen(path, "r");
    CHECK(file);
    CHECK_INT(fread(read, 1, sizeof read, file), sizeof profile);
    CHECK(memcmp(read, profile, sizeof profile) == 0);
    CHECK_INT(fstat(fileno(file), &status), 0);
    CHECK_INT(status.st_mode & 07777, 0600);
    fclose(file);
    CHECK_STR(s.backend->name, "directory");
    tear_down(&s);
}

/* In another container a process has the same pid, and both count from 1. */
TEST(a_file_of_another_process_is_not_replaced)
{
    scene s;
    char first[256], next[256];
    set_up(&s);
    deliver(&s, AT, 1);
    deliver(&s, AT, 1);
    deliver(&s, AT, 1);
    CHECK_INT(s.result.attempt.end, RPP_END_STORED);
    CHECK_INT(count_files(&s), 3);
    CHECK(exists(&s, name_of(first, "20231114T221320.123Z", 1)));
    CHECK(exists(&s, name_of(next, "20231114T221320.124Z", 1)) && exists(&s, name_of(next, "20231114T221320.125Z", 1)));
    tear_down(&s);
}

TEST(names_are_safe_for_every_file_system)
{
    static const char *const names[][2] = {{"../../etc/pass wd", "_._.._etc_pass_wd-"},
                                           {"a\nb:c*\xc3\xa4", "a_b_c___-"},
                                           {"", "ruby-"},
                                           {".hidden", "_hidden-"}};
    for (size_t i = 0; i < 4; i++) {
        scene s;
        char command[256];
        set_up(&s);
        s.backend->free(s.backend);
        s.settings.application_name = (char *)(uintptr_t)names[i][0];
        s.backend = rpp_backend_directory_new(&s.settings);
        deliver(&s, AT, 1);
        CHECK_INT(s.result.attempt.end, RPP_END_STORED);
        snprintf(command, sizeof command, "ls '%s' | grep -q '^%s2023'", s.directory, names[i][1]);
        CHECK_INT(system(command), 0);
        tear_down(&s);
    }
}

TEST(the_oldest_of_ours_make_room_by_number)
{
    static const char *const strangers[] = {"notes.txt", "shop-20000101T000000.000Z-1-1.pb", "shop-2-1.pb.gz",
                                            "other-20000101T000000.000Z-1-1.pb.gz",
                                            "shop-x-20000101T000000.000Z-1-1.pb.gz"};
    scene s;
    char name[256];
    set_up(&s);
    s.settings.directory_max_files = 3;
    deliver(&s, AT, 9);
    for (size_t i = 0; i < 5; i++) touch(&s, strangers[i]);
    touch(&s, "shop-20000101T000000.000Z-1-1.pb.gz"); /* another process' */
    deliver(&s, AT, 10);                              /* the same millisecond: by number, not by spelling */
    CHECK_INT(count_files(&s), 5 + 3);
    deliver(&s, AT + RPP_NS_PER_S, 1);
    CHECK_INT(count_files(&s), 5 + 3);
    CHECK(!exists(&s, "shop-20000101T000000.000Z-1-1.pb.gz"));
    deliver(&s, AT + 2 * RPP_NS_PER_S, 2);
    CHECK_INT(count_files(&s), 5 + 3);
    CHECK(!exists(&s, name_of(name, "20231114T221320.123Z", 9)));
    CHECK(exists(&s, name_of(name, "20231114T221320.123Z", 10)));
    for (size_t i = 0; i < 5; i++) CHECK(exists(&s, strangers[i]));
    tear_down(&s);
}

TEST(the_oldest_of_ours_make_room_by_bytes_but_the_newest_stays)
{
    scene s;
    char name[256];
    set_up(&s);
    s.settings.directory_max_bytes = 250;
    for (uint64_t i = 0; i < 5; i++) deliver(&s, AT + i * RPP_NS_PER_S, i + 1);
    CHECK_INT(count_files(&s), 2);
    s.settings.directory_max_bytes = 10;
    deliver(&s, AT + 9 * RPP_NS_PER_S, 9);
    CHECK_INT(count_files(&s), 1);
    CHECK(exists(&s, name_of(name, "20231114T221329.123Z", 9)));
    tear_down(&s);
}

TEST(no_limit_keeps_all)
{
    scene s;
    set_up(&s);
    for (uint64_t i = 0; i < 50; i++) deliver(&s, AT, i + 1);
    CHECK_INT(count_files(&s), 50);
    tear_down(&s);
}

TEST(a_directory_that_cannot_be_made_is_an_error_in_words)
{
    scene s;
    char path[128];
    set_up(&s);
    snprintf(path, sizeof path, "%s/deep", s.root);
    FILE *file = fopen(path, "w"); /* in the way */
    CHECK(file);
    fclose(file);
    deliver(&s, AT, 1);
    CHECK_INT(s.result.attempt.end, RPP_END_IO_ERROR);
    CHECK(strstr(s.result.message, "could not create /tmp/rpp-directory-"));
    CHECK(strstr(s.result.message, "Not a directory"));
    CHECK_INT(unlink(path), 0);
    deliver(&s, AT, 1);
    CHECK_INT(s.result.attempt.end, RPP_END_STORED);
    tear_down(&s);
}

static void shell(const char *format, const char *path)
{
    char command[200];
    snprintf(command, sizeof command, format, path);
    CHECK_INT(system(command), 0);
}

TEST(a_directory_that_vanished_is_made_again)
{
    scene s;
    set_up(&s);
    deliver(&s, AT, 1);
    shell("rm -rf '%s'", s.root); /* with what it lies in */
    deliver(&s, AT, 2);
    CHECK_INT(s.result.attempt.end, RPP_END_STORED);
    CHECK_INT(count_files(&s), 1);
    tear_down(&s);
}

TEST(what_cannot_be_made_again_is_an_error_in_words_until_it_can)
{
    scene s;
    char path[128];
    set_up(&s);
    deliver(&s, AT, 1);
    snprintf(path, sizeof path, "%s/deep", s.root);
    shell("rm -rf '%s'", path);
    shell("touch '%s'", path);
    for (uint64_t sequence = 2; sequence <= 3; sequence++) {
        deliver(&s, AT, sequence);
        CHECK_INT(s.result.attempt.end, RPP_END_IO_ERROR);
        CHECK(strstr(s.result.message, "could not create /tmp/rpp-directory-"));
        CHECK(strstr(s.result.message, "Not a directory"));
    }
    shell("rm '%s'", path);
    deliver(&s, AT, 3);
    CHECK_INT(s.result.attempt.end, RPP_END_STORED);
    CHECK_INT(count_files(&s), 1);
    tear_down(&s);
}

TEST(a_full_disk_leaves_nothing_behind)
{
    scene s;
    struct rlimit before, small;
    set_up(&s);
    deliver(&s, AT, 1);
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){50, before.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
    deliver(&s, AT, 2);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), 0);
    CHECK_INT(s.result.attempt.end, RPP_END_IO_ERROR);
    CHECK(strstr(s.result.message, "File too large"));
    CHECK_INT(count_files(&s), 1);
    tear_down(&s);
}

#ifdef __linux__
/* Whoever watches the directory meets its name when there is nothing left to write. */
TEST(a_profile_appears_when_it_is_whole)
{
    scene s;
    char name[256], events[4096] __attribute__((aligned(_Alignof(struct inotify_event))));
    set_up(&s);
    deliver(&s, AT, 1); /* so that the directory is there */
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    CHECK(watch >= 0 && inotify_add_watch(watch, s.directory, IN_CREATE | IN_MOVED_TO | IN_MODIFY) >= 0);
    deliver(&s, AT, 2);
    name_of(name, "20231114T221320.123Z", 2);

    ssize_t length = read(watch, events, sizeof events);
    unsigned seen = 0;
    for (ssize_t at = 0; at < length;) {
        const struct inotify_event *event = (const struct inotify_event *)(events + at);
        at += (ssize_t)(sizeof *event + event->len);
        if (!event->len || strcmp(event->name, name) != 0) continue;
        CHECK(event->mask == IN_CREATE || event->mask == IN_MOVED_TO); /* nothing is written under its name */
        seen++;
    }
    CHECK_INT(seen, 1);
    close(watch);
    tear_down(&s);
}
#endif

TEST(a_link_in_the_way_is_not_followed)
{
    scene s;
    char victim[128], trap[512], name[256];
    set_up(&s);
    deliver(&s, AT, 1);
    snprintf(victim, sizeof victim, "%s/victim", s.root);
    snprintf(trap, sizeof trap, "%s%s", s.directory, name_of(name, "20231114T221320.123Z", 2));
    CHECK_INT(symlink(victim, trap), 0);
    deliver(&s, AT, 2);
    CHECK_INT(s.result.attempt.end, RPP_END_STORED);
    CHECK(access(victim, F_OK) != 0);
    CHECK(exists(&s, name_of(name, "20231114T221320.124Z", 2)));
    tear_down(&s);
}

TEST(every_allocation_may_fail)
{
    scene s;
    set_up(&s);
    s.settings.directory_max_files = 2;
    for (size_t nth = 1;; nth++) {
        rpp_payload payload = {.bytes = profile, .length = sizeof profile, .time_ns = AT, .sequence = nth};
        rpp_alloc_fail_at(nth);
        rpp_backend *backend = rpp_backend_directory_new(&s.settings);
        rpp_status status = backend ? backend->deliver(backend, &payload, 1, &s.result) : RPP_NO_MEMORY;
        bool failed = rpp_alloc_count() >= nth;
        rpp_alloc_fail_at(0);
        if (backend) backend->free(backend);
        /* Once the file is stored, not being able to make room is no failure. */
        CHECK(status == RPP_OK ? s.result.attempt.end == RPP_END_STORED : failed && status == RPP_NO_MEMORY);
        if (!failed) break;
    }
    tear_down(&s);
}
