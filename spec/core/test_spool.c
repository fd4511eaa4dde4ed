/* test_spool.c - payloads outlive their process, are never in two hands, and keep to the room there is. */
#include "spool/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "settings/pairs.h"
#include "spool/spool_file.h"
#include "test.h"

#define AT         UINT64_C(1700000000000000000)
#define STAT(name) rpp_stats_get(RPP_STAT_##name)

typedef struct scene {
    char root[64], path[128];
    rpp_settings *settings;
    rpp_spool *spool;
    uint64_t now_ns;
    unsigned warnings, infos;
    char line[RPP_LOG_LINE_MAX];
} scene;

static void keep_line(rpp_log_level level, const char *line, void *context)
{
    scene *s = context;
    if (level == RPP_LOG_WARN) s->warnings++;
    if (level == RPP_LOG_INFO) s->infos++;
    strcpy(s->line, line);
}

static void set(rpp_settings *settings, const char *name, const char *text)
{
    rpp_errors none = {0};
    CHECK_OK(rpp_settings_set_text(settings, name, text, NULL, &none));
    CHECK_INT(none.count, 0);
}

static rpp_settings *new_settings(const char *path)
{
    rpp_settings *settings = rpp_settings_new();
    set(settings, "spool_directory", path);
    set(settings, "application_name", "shop");
    set(settings, "server_address", "http://me:secret1@pyroscope:4040/x");
    set(settings, "auth_token", "secret2");
    set(settings, "http_headers", "X-Key=secret3");
    set(settings, "tags", "env=prod");
    return settings;
}

static void set_up(scene *s)
{
    memset(s, 0, sizeof *s);
    strcpy(s->root, "/tmp/rpp-spool-XXXXXX");
    CHECK(mkdtemp(s->root));
    snprintf(s->path, sizeof s->path, "%s/deep/spool", s->root);
    s->settings = new_settings(s->path);
    s->spool = rpp_spool_new(s->settings);
    CHECK(s->spool);
    s->now_ns = 1000 * RPP_NS_PER_S;
    rpp_stats_reset();
    rpp_log_set_sink(keep_line, s);
}

static void tear_down(scene *s)
{
    char command[128];
    rpp_spool_free(s->spool);
    rpp_settings_free(s->settings);
    rpp_log_set_sink(NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", s->root);
    CHECK_INT(system(command), 0);
}

/* A payload of so many bytes, numbered by its time. */
static rpp_status put_bytes(rpp_spool *spool, uint64_t number, size_t length)
{
    uint8_t *bytes = malloc(length);
    memset(bytes, (int)number, length);
    rpp_payload payload = {.bytes = bytes, .length = length, .time_ns = AT + number, .sequence = number, .samples = 1};
    rpp_status status = rpp_spool_put(spool, &payload);
    free(bytes);
    return status;
}

static void put(rpp_spool *spool, uint64_t number)
{
    CHECK_OK(put_bytes(spool, number, 100));
}

/* The number of the one taken, 0 for none; the claim stays. */
static uint64_t take_at(rpp_spool *spool, uint64_t now_ns)
{
    rpp_payload *payload = rpp_spool_take(spool, now_ns);
    uint64_t number = payload ? payload->sequence : 0;
    CHECK(!payload || (payload->time_ns == AT + number && payload->bytes[payload->length - 1] == (uint8_t)number));
    CHECK(!payload || payload->claim == 1);
    rpp_payload_free(payload);
    return number;
}

static uint64_t take(scene *s)
{
    return take_at(s->spool, s->now_ns);
}

static uint64_t take_away(scene *s)
{
    uint64_t number = take(s);
    if (number) rpp_spool_remove(s->spool, 1);
    return number;
}

/* Counts the files whose names end so; the last one's name stays in *name. */
static unsigned count_files(scene *s, const char *end, char name[256])
{
    unsigned count = 0;
    DIR *directory = opendir(s->path);
    if (!directory) return 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name), wanted = strlen(end);
        if (entry->d_name[0] == '.' || length < wanted || strcmp(entry->d_name + length - wanted, end) != 0) continue;
        if (name) strcpy(name, entry->d_name);
        count++;
    }
    closedir(directory);
    return count;
}

static const char *path_of(scene *s, const char *name, char room[512])
{
    snprintf(room, 512, "%s/%s", s->path, name);
    return room;
}

/* --- in and out
 * ----------------------------------------------------------------------------------------------------- */

TEST(what_is_put_is_taken_whole_and_for_its_owner_only)
{
    scene s;
    struct stat status;
    char name[256], room[512], parent[160];
    set_up(&s);
    CHECK_INT(rpp_spool_due_ns(s.spool, s.now_ns), 0); /* not known yet */
    CHECK_INT(take(&s), 0);
    CHECK(rpp_spool_due_ns(s.spool, s.now_ns) > 0);
    put(s.spool, 7);
    CHECK_INT(STAT(payloads_spooled), 1);
    CHECK_INT(STAT(spool_files), 1);
    CHECK_INT(stat(s.path, &status), 0);
    CHECK_INT(status.st_mode & 07777, 0700);
    snprintf(parent, sizeof parent, "%s/deep", s.root);
    CHECK_INT(stat(parent, &status), 0);
    CHECK_INT(status.st_mode & 07777, 0700);
    CHECK_INT(count_files(&s, ".ready", name), 1);
    CHECK_INT(count_files(&s, "", NULL), 1);
    CHECK_INT(stat(path_of(&s, name, room), &status), 0);
    CHECK_INT(status.st_mode & 07777, 0600);
    CHECK_INT(STAT(spool_bytes), status.st_size);

    CHECK_INT(rpp_spool_due_ns(s.spool, s.now_ns), 0);
    rpp_payload *payload = rpp_spool_take(s.spool, s.now_ns);
    CHECK(payload);
    CHECK_INT(payload->length, 100);
    CHECK_INT(payload->pid, getpid());
    CHECK_STR(rpp_pairs_get(&payload->labels, "service_name"), "shop");
    CHECK_STR(rpp_pairs_get(&payload->labels, "env"), "prod");
    rpp_payload_free(payload);
    CHECK_INT(STAT(payloads_unspooled), 0);
    rpp_spool_remove(s.spool, 1);
    CHECK_INT(count_files(&s, "", NULL), 0);
    CHECK_INT(STAT(payloads_unspooled), 1);
    CHECK_INT(STAT(spool_files) + STAT(spool_bytes) + STAT(spool_errors), 0);
    CHECK_INT(take(&s), 0);
    CHECK_INT(s.warnings + s.infos, 0);
    tear_down(&s);
}

TEST(the_oldest_comes_first_whoever_put_it)
{
    scene s;
    set_up(&s);
    rpp_spool *other = rpp_spool_new(s.settings);
    for (uint64_t i = 0; i < 300; i++) put(i % 2 ? s.spool : other, 1 + i * 77 % 300);
    for (uint64_t i = 1; i <= 300; i++) {
        CHECK_INT(rpp_spool_due_ns(s.spool, s.now_ns), 0);
        CHECK_INT(take_away(&s), i);
    }
    CHECK_INT(take(&s), 0);
    CHECK_INT(rpp_spool_due_ns(s.spool, s.now_ns), UINT64_MAX);
    CHECK_INT(count_files(&s, "", NULL), 0);
    rpp_spool_free(other);
    tear_down(&s);
}

TEST(what_others_put_is_found_within_half_a_minute)
{
    scene s;
    set_up(&s);
    CHECK_INT(take(&s), 0);
    rpp_spool *other = rpp_spool_new(s.settings);
    put(other, 1);
    rpp_spool_free(other);
    CHECK(rpp_spool_due_ns(s.spool, s.now_ns + 29 * RPP_NS_PER_S) > 0);
    CHECK_INT(rpp_spool_due_ns(s.spool, s.now_ns + 30 * RPP_NS_PER_S), 0);
    CHECK_INT(take(&s), 1);
    tear_down(&s);
}

TEST(what_is_claimed_is_nobody_elses_until_it_is_given_back)
{
    scene s;
    set_up(&s);
    rpp_spool *other = rpp_spool_new(s.settings);
    put(s.spool, 1);
    CHECK_INT(take(&s), 1);
    CHECK_INT(take_at(other, s.now_ns), 0);
    CHECK_INT(rpp_spool_due_ns(other, s.now_ns), s.now_ns + 30 * RPP_NS_PER_S); /* it may come back */
    rpp_spool_sending(s.spool, 1);
    rpp_spool_sending(s.spool, 1); /* once more is no more */
    CHECK_INT(count_files(&s, ".sending", NULL), 1);
    CHECK_INT(take_at(other, s.now_ns), 0);
    CHECK_OK(rpp_spool_give_back(s.spool, &(rpp_payload){.claim = 1, .tries = {.begun = 5, .server_errors = 2}}));
    CHECK_INT(count_files(&s, ".ready", NULL), 1);
    CHECK_INT(STAT(payloads_unspooled), 0);

    rpp_payload *payload = rpp_spool_take(other, s.now_ns);
    CHECK(payload);
    CHECK_INT(payload->tries.begun, 5);
    CHECK_INT(payload->tries.server_errors, 2);
    rpp_payload_free(payload);
    rpp_spool_free(other); /* lets go of it */
    CHECK_INT(take_away(&s), 1);
    CHECK_INT(STAT(payloads_unconfirmed), 0);
    tear_down(&s);
}

TEST(after_a_return_the_oldest_is_the_next)
{
    scene s;
    set_up(&s);
    for (uint64_t i = 1; i <= 3; i++) put(s.spool, i);
    CHECK_INT(take_away(&s), 1);
    CHECK_INT(take(&s), 2);
    CHECK_OK(rpp_spool_give_back(s.spool, &(rpp_payload){.claim = 1, .tries = {.begun = 1, .server_errors = 0}}));
    CHECK_INT(take_away(&s), 2);
    CHECK_INT(take_away(&s), 3);
    tear_down(&s);
}

/* --- several at once
 * ------------------------------------------------------------------------------------------------ */

#define CROWD   4
#define NUMBERS 400u

typedef struct worker {
    rpp_spool *spool;
    unsigned first;
    atomic_uint *seen;
} worker;

static void *put_and_take(void *context)
{
    worker *self = context;
    uint64_t random = self->first + 1;
    for (unsigned i = 0; i < NUMBERS / CROWD; i++) {
        CHECK_OK(put_bytes(self->spool, 1 + self->first + i * CROWD, 20));
        if (i % 4) continue;
        rpp_payload *payload = rpp_spool_take(self->spool, 1);
        if (!payload) continue;
        if (rpp_random_next(&random) % 3 == 0) {
            CHECK_OK(rpp_spool_give_back(self->spool,
                                         &(rpp_payload){.claim = 1, .tries = {.begun = 1, .server_errors = 0}}));
        } else {
            atomic_fetch_add(&self->seen[payload->sequence], 1);
            if (i % 8) rpp_spool_sending(self->spool, 1);
            rpp_spool_remove(self->spool, 1);
        }
        rpp_payload_free(payload);
    }
    for (rpp_payload *payload; (payload = rpp_spool_take(self->spool, 1));) {
        atomic_fetch_add(&self->seen[payload->sequence], 1);
        rpp_payload_free(payload);
        rpp_spool_remove(self->spool, 1);
    }
    return NULL;
}

TEST(of_several_in_one_directory_each_payload_goes_to_one)
{
    static atomic_uint seen[NUMBERS + 1];
    scene s;
    worker workers[CROWD];
    pthread_t threads[CROWD];
    set_up(&s);
    for (unsigned i = 0; i <= NUMBERS; i++) atomic_store(&seen[i], 0);
    for (unsigned i = 0; i < CROWD; i++) {
        workers[i] = (worker){rpp_spool_new(s.settings), i, seen};
        CHECK_INT(pthread_create(&threads[i], NULL, put_and_take, &workers[i]), 0);
    }
    for (unsigned i = 0; i < CROWD; i++) pthread_join(threads[i], NULL);
    for (uint64_t number; (number = take_away(&s));) atomic_fetch_add(&seen[number], 1);
    for (unsigned i = 1; i <= NUMBERS; i++) CHECK_INT(atomic_load(&seen[i]), 1);
    CHECK_INT(STAT(payloads_spooled), NUMBERS);
    CHECK_INT(STAT(payloads_unspooled), NUMBERS);
    CHECK_INT(STAT(payloads_unconfirmed) + STAT(payloads_dropped_damaged) + STAT(spool_errors), 0);
    CHECK_INT(count_files(&s, "", NULL), 0);
    for (unsigned i = 0; i < CROWD; i++) rpp_spool_free(workers[i].spool);
    tear_down(&s);
}

/* Processes that count in a shared pipe what they took. */
TEST(two_processes_share_a_directory)
{
    scene s;
    int pipes[2];
    pid_t children[2];
    unsigned seen[201] = {0};
    uint64_t number;
    set_up(&s);
    for (uint64_t i = 1; i <= 200; i++) put(s.spool, i);
    CHECK_INT(pipe(pipes), 0);
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i]) continue;
        rpp_spool *own = rpp_spool_new(s.settings);
        while ((number = take_at(own, 1))) {
            rpp_spool_sending(own, 1);
            if (write(pipes[1], &number, sizeof number) != sizeof number) _exit(1);
            rpp_spool_remove(own, 1);
        }
        _exit(0);
    }
    close(pipes[1]);
    while (read(pipes[0], &number, sizeof number) == sizeof number) seen[number]++;
    close(pipes[0]);
    for (int i = 0; i < 2; i++) {
        int status;
        CHECK_INT(waitpid(children[i], &status, 0), children[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (unsigned i = 1; i <= 200; i++) CHECK_INT(seen[i], 1);
    tear_down(&s);
}

/* --- death
 * ---------------------------------------------------------------------------------------------------------- */

/* A process that takes the oldest, begins to send it if asked to, and is killed. */
static void kill_in_between(scene *s, bool sending)
{
    int pipes[2];
    char byte;
    CHECK_INT(pipe(pipes), 0);
    pid_t child = fork();
    if (!child) {
        rpp_spool *own = rpp_spool_new(s->settings);
        uint64_t number = take_at(own, 1);
        if (sending) rpp_spool_sending(own, 1);
        if (write(pipes[1], number ? "1" : "0", 1) != 1) _exit(1);
        for (;;) pause();
    }
    CHECK_INT(read(pipes[0], &byte, 1), 1);
    CHECK_INT(byte, '1');
    s->now_ns += 100 * RPP_NS_PER_S;
    CHECK_INT(take(s), 0); /* it lives */
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(pipes[0]);
    close(pipes[1]);
    s->now_ns += 100 * RPP_NS_PER_S;
}

TEST(a_claim_of_a_dead_process_is_taken_back)
{
    scene s;
    set_up(&s);
    put(s.spool, 1);
    kill_in_between(&s, false);
    CHECK_INT(take_away(&s), 1);
    CHECK_INT(STAT(payloads_unconfirmed), 0);
    tear_down(&s);
}

TEST(what_a_dead_process_had_begun_to_send_is_unconfirmed)
{
    scene s;
    set_up(&s);
    put(s.spool, 1);
    kill_in_between(&s, true);
    CHECK_INT(count_files(&s, ".sending", NULL), 1);
    CHECK_INT(take(&s), 0);
    CHECK_INT(STAT(payloads_unconfirmed), 1);
    CHECK_INT(STAT(payloads_unspooled), 1);
    CHECK_INT(count_files(&s, "", NULL), 0);
    tear_down(&s);
}

TEST(or_it_is_sent_again_where_that_is_wanted)
{
    scene s;
    set_up(&s);
    s.settings->resend_unconfirmed = true;
    put(s.spool, 1);
    kill_in_between(&s, true);
    CHECK_INT(take_away(&s), 1);
    CHECK_INT(STAT(payloads_unconfirmed), 0);
    tear_down(&s);
}

TEST(a_forked_child_holds_no_claim_of_its_parent)
{
    scene s;
    int pipes[2];
    char byte;
    set_up(&s);
    put(s.spool, 1);
    CHECK_INT(take(&s), 1);
    CHECK_INT(pipe(pipes), 0);
    pid_t child = fork();
    if (!child) {
        rpp_spool_discard_after_fork(s.spool);
        /* With the parent's claim open in this process it could not be claimed even after the parent's death. */
        char name[256], room[512];
        count_files(&s, ".ready", name);
        int fd = open(path_of(&s, name, room), O_RDWR);
        bool parents = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (write(pipes[1], parents ? "1" : "0", 1) != 1) _exit(1);
        for (;;) pause();
    }
    CHECK_INT(read(pipes[0], &byte, 1), 1);
    CHECK_INT(byte, '1'); /* the child did not end it either */
    rpp_spool_free(s.spool);
    s.spool = rpp_spool_new(s.settings);
    CHECK_INT(take_away(&s), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(pipes[0]);
    close(pipes[1]);
    tear_down(&s);
}

static void age(const char *path)
{
    struct timeval times[2] = {{1000, 0}, {1000, 0}};
    CHECK_INT(utimes(path, times), 0);
}

TEST(what_was_left_in_the_middle_of_writing_goes_when_it_is_old)
{
    scene s;
    char name[256], old[512], new[512];
    set_up(&s);
    put(s.spool, 1);
    CHECK_INT(count_files(&s, ".ready", name), 1);
    path_of(&s, name, old);
    strcpy(strrchr(name, '.'), ".writing");
    CHECK_INT(rename(old, path_of(&s, name, new)), 0);
    CHECK_INT(take(&s), 0);
    CHECK_INT(count_files(&s, ".writing", NULL), 1);
    age(new);
    s.now_ns += 100 * RPP_NS_PER_S;
    CHECK_INT(take(&s), 0);
    CHECK_INT(count_files(&s, "", NULL), 0);
    CHECK_INT(STAT(payloads_unspooled) + STAT(payloads_dropped_damaged), 0); /* it never was in */
    tear_down(&s);
}

/* --- room
 * ----------------------------------------------------------------------------------------------------------- */

TEST(the_oldest_make_room)
{
    scene s;
    set_up(&s);
    CHECK_OK(put_bytes(s.spool, 1, 1000));
    uint64_t each = STAT(spool_bytes);
    s.settings->spool_max_bytes = 10 * each + each / 2;
    for (uint64_t i = 2; i <= 100; i++) {
        CHECK_OK(put_bytes(s.spool, i, 1000));
        CHECK(STAT(spool_bytes) <= s.settings->spool_max_bytes);
    }
    CHECK_INT(count_files(&s, ".ready", NULL), 10);
    CHECK_INT(STAT(payloads_dropped_spool_full), 90);
    CHECK_INT(STAT(payloads_unspooled), 90);
    for (uint64_t i = 91; i <= 100; i++) CHECK_INT(take_away(&s), i);
    CHECK_INT(STAT(payloads_spooled), STAT(payloads_unspooled));
    tear_down(&s);
}

TEST(what_is_being_sent_does_not_make_room)
{
    scene s;
    set_up(&s);
    CHECK_OK(put_bytes(s.spool, 1, 1000));
    uint64_t each = STAT(spool_bytes);
    s.settings->spool_max_bytes = 2 * each;
    CHECK_INT(take(&s), 1);
    CHECK_OK(put_bytes(s.spool, 2, 1000));
    CHECK_OK(put_bytes(s.spool, 3, 1000));
    CHECK_INT(STAT(payloads_dropped_spool_full), 1);
    CHECK_INT(put_bytes(s.spool, 4, 1200), RPP_LIMIT); /* only one can go, and that is too small */
    rpp_spool_remove(s.spool, 1);
    CHECK_INT(take_away(&s), 0);
    CHECK_INT(put_bytes(s.spool, 5, 10000), RPP_LIMIT);
    CHECK_INT(STAT(spool_errors), 2);
    CHECK_INT(s.warnings, 1);
    CHECK(strstr(s.line, "cannot take a profile: it is larger than the room there is; profiles wait in memory"));
    CHECK_OK(put_bytes(s.spool, 6, 1000));
    CHECK_INT(s.infos, 1);
    CHECK_INT(take_away(&s), 6);
    tear_down(&s);
}

TEST(more_than_a_batch_can_go_at_once)
{
    scene s;
    set_up(&s);
    for (uint64_t i = 1; i <= 150; i++) put(s.spool, i);
    s.settings->spool_max_bytes = STAT(spool_bytes);
    CHECK_OK(put_bytes(s.spool, 200, STAT(spool_bytes) - 1000));
    CHECK(STAT(payloads_dropped_spool_full) >= 140);
    CHECK(STAT(spool_bytes) <= s.settings->spool_max_bytes);
    tear_down(&s);
}

/* What changes the process for good. */
static void in_a_child(scene *s, void (*run)(scene *))
{
    int status;
    pid_t child = fork();
    if (!child) {
        if (setjmp(test_failed)) _exit(1);
        run(s);
        _exit(0);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- disks
 * ---------------------------------------------------------------------------------------------------------- */

static void fill_and_recover(scene *s, const char *words)
{
    uint64_t number = 1;
    while (number < 10000 && put_bytes(s->spool, number, 4000) == RPP_OK) number++;
    CHECK(number < 10000);
    CHECK_INT(put_bytes(s->spool, number, 4000), RPP_IO);
    CHECK_INT(STAT(spool_errors), 2);
    CHECK_INT(s->warnings, 1);
    if (!strstr(s->line, words)) FAIL("%s", s->line);
    CHECK_INT(count_files(s, ".writing", NULL), 0);
    CHECK_INT(count_files(s, ".ready", NULL), number - 1);
    CHECK_INT(STAT(spool_files), number - 1);
}

/* In a child, whose mounts are its own and go with it, whatever becomes of it. */
static void on_a_small_disk(scene *s)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", s->path, "tmpfs", 0, "size=64k,mode=0700") != 0) {
        fprintf(stderr, "no tmpfs here (%s): see the next test\n", strerror(errno));
        return;
    }
    fill_and_recover(s, "No space left on device");
    CHECK_INT(take_away(s), 1);
    CHECK_OK(put_bytes(s->spool, 99, 1000));
    CHECK_INT(s->infos, 1);
}

TEST(a_full_disk_is_told_and_nothing_half_written_stays)
{
    scene s;
    set_up(&s);
    CHECK_INT(take(&s), 0); /* makes the directory */
    in_a_child(&s, on_a_small_disk);
    tear_down(&s);
}

TEST(so_is_a_file_that_may_not_grow)
{
    scene s;
    struct rlimit before, small;
    set_up(&s);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 500;
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
    rpp_status large = put_bytes(s.spool, 1, 1000), fits = put_bytes(s.spool, 2, 100);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    CHECK_INT(large, RPP_IO);
    CHECK_OK(fits);
    CHECK_INT(count_files(&s, "", NULL), 1);
    CHECK_INT(take_away(&s), 2);
    tear_down(&s);
}

TEST(a_directory_that_vanishes_is_not_made_again)
{
    scene s;
    char away[160];
    set_up(&s);
    put(s.spool, 1);
    snprintf(away, sizeof away, "%s/away", s.root);
    CHECK_INT(rename(s.path, away), 0);
    CHECK_INT(put_bytes(s.spool, 2, 10), RPP_IO);
    CHECK(strstr(s.line, "cannot take a profile: No such file or directory"));
    CHECK_INT(take(&s), 0);
    CHECK_INT(STAT(spool_errors), 2);
    CHECK(access(s.path, F_OK) != 0);
    CHECK_INT(rename(away, s.path), 0);
    put(s.spool, 3);
    CHECK_INT(take_away(&s), 1);
    CHECK_INT(take_away(&s), 3);
    CHECK_INT(s.warnings, 2); /* putting, taking */
    CHECK_INT(s.infos, 2);
    tear_down(&s);
}

TEST(what_vanishes_while_it_is_sent_is_in_memory_only)
{
    scene s;
    char away[160];
    set_up(&s);
    put(s.spool, 1);
    snprintf(away, sizeof away, "%s/away", s.root);
    CHECK_INT(take(&s), 1);
    CHECK_INT(rename(s.path, away), 0);
    rpp_spool_sending(s.spool, 1);
    CHECK_INT(rpp_spool_give_back(s.spool, &(rpp_payload){.claim = 1, .tries = {.begun = 1, .server_errors = 0}}),
              RPP_IO);
    CHECK_INT(STAT(payloads_unspooled), 1);
    CHECK_INT(rename(away, s.path), 0);
    s.now_ns += 100 * RPP_NS_PER_S;
    CHECK_INT(take(&s), 0); /* else it would be sent twice */
    CHECK_INT(STAT(payloads_unconfirmed), 0);
    tear_down(&s);
}

/* What a user without rights meets. The test may run as root, who meets nothing. */
static void meet_no_rights(scene *s)
{
    CHECK(geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0));
    CHECK_INT(put_bytes(s->spool, 2, 10), RPP_IO);
    CHECK_INT(take(s), 0);
    CHECK(strstr(s->line, "Permission denied"));
    CHECK_INT(STAT(spool_errors), 2);
}

TEST(a_directory_that_is_not_writable_gives_nothing_and_takes_nothing)
{
    scene s;
    set_up(&s);
    put(s.spool, 1);
    CHECK_INT(chmod(s.root, 0755), 0);
    char parent[160];
    snprintf(parent, sizeof parent, "%s/deep", s.root);
    CHECK_INT(chmod(parent, 0755), 0);
    CHECK_INT(chmod(s.path, 0555), 0); /* what cannot be deleted must not be sent */
    in_a_child(&s, meet_no_rights);
    CHECK_INT(chmod(s.path, 0700), 0);
    CHECK_INT(take_away(&s), 1);
    tear_down(&s);
}

static void meet_a_file(scene *s)
{
    CHECK_INT(put_bytes(s->spool, 1, 10), RPP_IO);
    CHECK(strstr(s->line, "Not a directory"));
}

TEST(a_file_in_place_of_the_directory_is_told)
{
    scene s;
    set_up(&s);
    set(s.settings, "spool_directory", "/dev/null");
    rpp_spool_free(s.spool);
    s.spool = rpp_spool_new(s.settings);
    meet_a_file(&s);
    tear_down(&s);
}

/* --- files that are cut or foreign
 * ---------------------------------------------------------------------------------- */

TEST(cut_and_changed_files_are_deleted_and_counted)
{
    scene s;
    char name[256], room[512];
    set_up(&s);
    for (int kind = 0; kind < 3; kind++) {
        put(s.spool, 1);
        CHECK_INT(count_files(&s, ".ready", name), 1);
        path_of(&s, name, room);
        if (kind == 0) CHECK_INT(truncate(room, 50), 0);
        if (kind == 1) CHECK_INT(truncate(room, 0), 0);
        if (kind == 2) {
            int fd = open(room, O_WRONLY);
            CHECK_INT(pwrite(fd, "?", 1, 120), 1);
            close(fd);
        }
        put(s.spool, 2);
        CHECK_INT(take_away(&s), 2);
        CHECK_INT(take(&s), 0);
        CHECK_INT(STAT(payloads_dropped_damaged), kind + 1);
    }
    CHECK_INT(STAT(payloads_spooled), STAT(payloads_unspooled));
    CHECK_INT(count_files(&s, "", NULL), 0);
    tear_down(&s);
}

TEST(foreign_files_are_left_alone)
{
    static const char *const names[] = {"notes.txt", "0.ready", ".hidden", "core", "x.pb.gz"};
    static const char good[] = "0000000000000001-%016" PRIx64 "-0000000000000003-%d-64.ready";
    scene s;
    char room[512], name[256], text[256], *end;
    set_up(&s);
    put(s.spool, 9);
    CHECK_INT(count_files(&s, ".ready", name), 1);
    uint64_t destination = strtoull(name + 17, &end, 16);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int fd = open(path_of(&s, names[i], room), O_CREAT | O_WRONLY, 0600);
        CHECK(fd >= 0);
        close(fd);
    }
    snprintf(text, sizeof text, good, destination, 1);
    CHECK_INT(symlink("/etc/passwd", path_of(&s, text, room)), 0);
    snprintf(text, sizeof text, good, destination, 2);
    CHECK_INT(mkfifo(path_of(&s, text, room), 0600), 0);
    snprintf(text, sizeof text, good, destination, 3);
    CHECK_INT(mkdir(path_of(&s, text, room), 0700), 0);
    unsigned foreign = 7;
    if (geteuid() == 0) {
        snprintf(text, sizeof text, good, destination, 4);
        int fd = open(path_of(&s, text, room), O_CREAT | O_WRONLY, 0666);
        CHECK_INT(fchown(fd, 65534, 65534), 0);
        close(fd);
        foreign++;
    }
    s.settings->spool_max_bytes = 600; /* not even to make room */
    CHECK_INT(take_away(&s), 9);
    CHECK_INT(take(&s), 0);
    CHECK_INT(count_files(&s, "", NULL), foreign); /* .hidden is not counted here */
    CHECK_INT(access(path_of(&s, ".hidden", room), F_OK), 0);
    CHECK_INT(STAT(payloads_dropped_damaged) + STAT(spool_errors), 0);
    tear_down(&s);
}

/* An empty file that claims 72 PB would push out all that waits. */
TEST(the_size_that_a_foreign_name_claims_is_not_believed)
{
    static const char claim[] = "0000000000000001-%016x-0000000000000003-%d-ffffffffffffff.%s";
    scene s;
    char room[512], text[256];
    set_up(&s);
    for (uint64_t i = 1; i <= 9; i++) put(s.spool, i);
    uint64_t bytes = STAT(spool_bytes);
    snprintf(text, sizeof text, claim, 7, 1, "ready");
    CHECK_INT(mkfifo(path_of(&s, text, room), 0600), 0);
    snprintf(text, sizeof text, claim, 7, 2, "ready"); /* cut: the user's own */
    int fd = open(path_of(&s, text, room), O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0);
    close(fd);
    if (geteuid() == 0) {
        snprintf(text, sizeof text, claim, 7, 3, "writing");
        fd = open(path_of(&s, text, room), O_CREAT | O_WRONLY, 0666);
        CHECK_INT(fchown(fd, 65534, 65534), 0);
        close(fd);
    }
    put(s.spool, 10);
    CHECK_INT(STAT(payloads_dropped_spool_full), 0);
    CHECK(STAT(spool_bytes) < 2 * bytes);
    for (uint64_t i = 1; i <= 10; i++) CHECK_INT(take_away(&s), i);
    tear_down(&s);
}

/* --- where to
 * ------------------------------------------------------------------------------------------------------- */

/* Whether one with that option changed takes what the scene has put. */
static bool is_taken_with(scene *s, const char *name, const char *text)
{
    rpp_settings *settings = new_settings(s->path);
    if (name) set(settings, name, text);
    rpp_spool *other = rpp_spool_new(settings);
    bool taken = take_at(other, 1) != 0;
    rpp_spool_free(other);
    rpp_settings_free(settings);
    return taken;
}

TEST(a_payload_goes_where_it_was_meant_to_go)
{
    scene s;
    set_up(&s);
    put(s.spool, 1);
    CHECK(is_taken_with(&s, NULL, NULL));
    CHECK(is_taken_with(&s, "server_address", "http://me:new@pyroscope:4040/x/"));
    CHECK(is_taken_with(&s, "auth_token", "renewed"));
    CHECK(is_taken_with(&s, "tags", "env=prod,version=2"));
    CHECK(is_taken_with(&s, "application_name", "till"));
    CHECK(is_taken_with(&s, "backend", "pyroscope_ingest"));
    CHECK(is_taken_with(&s, "backend", "pyroscope,pyroscope_ingest"));
    CHECK(!is_taken_with(&s, "server_address", "http://me@pyroscope:4041/x"));
    CHECK(!is_taken_with(&s, "server_address", "http://me@pyroscope:4040/y"));
    CHECK(!is_taken_with(&s, "server_address", "http://you@pyroscope:4040/x"));
    CHECK(!is_taken_with(&s, "basic_auth_username", "you"));
    CHECK(!is_taken_with(&s, "tenant_id", "other"));
    CHECK(!is_taken_with(&s, "backend", "parca"));
    CHECK(!is_taken_with(&s, "backend", "http"));
    tear_down(&s);
}

TEST(no_credentials_are_written)
{
    scene s;
    char command[256];
    set_up(&s);
    put(s.spool, 1);
    CHECK_INT(take(&s), 1);
    rpp_spool_sending(s.spool, 1);
    snprintf(command, sizeof command, "grep -rqE 'secret|me:' '%s'", s.path);
    CHECK(system(command) != 0);
    snprintf(command, sizeof command, "grep -rq 'shop' '%s'", s.path);
    CHECK_INT(system(command), 0);
    tear_down(&s);
}

/* --- memory
 * --------------------------------------------------------------------------------------------------------- */

TEST(every_allocation_may_fail)
{
    scene s;
    set_up(&s);
    for (size_t nth = 1;; nth++) {
        rpp_alloc_fail_at(nth);
        rpp_spool *spool = rpp_spool_new(s.settings);
        rpp_status status = spool ? put_bytes(spool, 1, 10) : RPP_NO_MEMORY;
        rpp_payload *payload = status == RPP_OK ? rpp_spool_take(spool, 1) : NULL;
        bool failed = rpp_alloc_count() >= nth;
        rpp_alloc_fail_at(0);
        CHECK_INT(payload != NULL, !failed);
        rpp_payload_free(payload);
        rpp_spool_free(spool);
        while (take_away(&s)) s.now_ns += 100 * RPP_NS_PER_S;
        s.now_ns += 100 * RPP_NS_PER_S;
        CHECK_INT(count_files(&s, "", NULL), 0);
        if (!failed) break;
    }
    CHECK_INT(STAT(payloads_spooled), STAT(payloads_unspooled));
    CHECK_INT(STAT(payloads_dropped_damaged), 0);
    tear_down(&s);
}
