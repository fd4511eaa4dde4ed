/* test_frame_names.c - ids: reserved, named, read by others, released. */
#include "sampling/frame_names.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "test.h"

static rpp_status set(rpp_frame_names *names, uint32_t id, const char *name)
{
    return rpp_frame_names_set(names, id, name, strlen(name), "a.rb", 4, 7, false);
}

static const char *name_of(const rpp_frame_names *names, uint32_t id)
{
    const rpp_frame_name *name = rpp_frame_names_get(names, id);
    return name ? name->name : "(none)";
}

TEST(synthetic_frames_are_always_there)
{
    rpp_frame_names *names = rpp_frame_names_new(100);
    CHECK_STR(name_of(names, RPP_FRAME_NONE), "");
    CHECK_STR(name_of(names, RPP_FRAME_OVERFLOW), "(overflow)");
    CHECK_STR(name_of(names, RPP_FRAME_GC_SWEEPING), "[GC sweeping]");
    CHECK_STR(rpp_frame_names_get(names, RPP_FRAME_UNKNOWN)->path, "");
    CHECK_INT(rpp_frame_names_get(names, RPP_FRAME_UNKNOWN)->name_length, 9);
    CHECK_INT(set(names, RPP_FRAME_OVERFLOW, "x"), RPP_INVALID);
    rpp_frame_names_release(names, RPP_FRAME_OVERFLOW);
    CHECK_STR(name_of(names, RPP_FRAME_OVERFLOW), "(overflow)");
    CHECK_INT(rpp_frame_names_count(names), 0);
    CHECK_INT(rpp_frame_names_end(names), RPP_FRAME_FIRST);
    rpp_frame_names_free(names);
    rpp_frame_names_free(NULL);
}

TEST(an_id_lives_from_reserve_to_release)
{
    rpp_frame_names *names = rpp_frame_names_new(100);
    CHECK_INT(rpp_frame_names_reserve(names), 0);
    CHECK_OK(rpp_frame_names_ensure(names, 2));
    uint32_t id = rpp_frame_names_reserve(names);
    CHECK_INT(id, RPP_FRAME_FIRST);
    CHECK(!rpp_frame_names_get(names, id));
    CHECK_INT(rpp_frame_names_count(names), 1);
    CHECK_OK(rpp_frame_names_set(names, id, "Shop#total", 10, "shop.rb", 7, 12, true));
    const rpp_frame_name *name = rpp_frame_names_get(names, id);
    CHECK_STR(name->name, "Shop#total");
    CHECK_STR(name->path, "shop.rb");
    CHECK_INT(name->name_length, 10);
    CHECK_INT(name->path_length, 7);
    CHECK_INT(name->first_line, 12);
    CHECK(name->hidden);
    CHECK_INT(set(names, id, "again"), RPP_INVALID);
    CHECK_INT(set(names, id + 1, "not reserved"), RPP_INVALID);
    rpp_frame_names_release(names, id);
    rpp_frame_names_release(names, id);
    CHECK(!rpp_frame_names_get(names, id));
    CHECK_INT(rpp_frame_names_count(names), 0);
    CHECK_INT(set(names, id, "released"), RPP_INVALID);
    CHECK_INT(rpp_frame_names_reserve(names), id);
    CHECK_INT(rpp_frame_names_end(names), id + 1);
    CHECK(!rpp_frame_names_get(names, 5000));
    rpp_frame_names_free(names);
}

TEST(ensure_makes_room_up_to_the_limit)
{
    rpp_frame_names *names = rpp_frame_names_new(3000);
    CHECK_OK(rpp_frame_names_ensure(names, 2500));
    for (uint32_t i = 0; i < 2500; i++) CHECK_INT(rpp_frame_names_reserve(names), RPP_FRAME_FIRST + i);
    CHECK_INT(rpp_frame_names_ensure(names, 500), RPP_LIMIT);
    CHECK_OK(rpp_frame_names_ensure(names, 3000 - 2500 - RPP_FRAME_FIRST));
    for (uint32_t i = 2500; i < 3000 - RPP_FRAME_FIRST; i++) CHECK(rpp_frame_names_reserve(names));
    CHECK_INT(rpp_frame_names_reserve(names), 0);
    CHECK_INT(rpp_frame_names_ensure(names, 1), RPP_LIMIT);
    CHECK_INT(rpp_frame_names_end(names), 3000);
    rpp_frame_names_release(names, 100);
    rpp_frame_names_release(names, 2999);
    CHECK_OK(rpp_frame_names_ensure(names, 2));
    CHECK_INT(rpp_frame_names_reserve(names), 2999);
    CHECK_INT(rpp_frame_names_reserve(names), 100);
    CHECK_INT(rpp_frame_names_reserve(names), 0);
    rpp_frame_names_free(names);
}

TEST(ensure_counts_what_is_free_already)
{
    rpp_frame_names *names = rpp_frame_names_new(100000);
    rpp_alloc_fail_at(0);
    for (int i = 0; i < 100; i++) CHECK_OK(rpp_frame_names_ensure(names, 1000));
    CHECK_INT(rpp_alloc_count(), 1);
    for (int i = 0; i < 500; i++) CHECK(rpp_frame_names_reserve(names));
    CHECK_OK(rpp_frame_names_ensure(names, 1000));
    CHECK_INT(rpp_alloc_count(), 2);
    CHECK_OK(rpp_frame_names_ensure(names, 0));
    rpp_frame_names_free(names);
}

TEST(ensure_counts_what_was_released)
{
    rpp_frame_names *names = rpp_frame_names_new(100000);
    CHECK_OK(rpp_frame_names_ensure(names, 1000));
    for (uint32_t i = 0; i < 900; i++) CHECK(rpp_frame_names_reserve(names));
    for (uint32_t i = 0; i < 500; i++) rpp_frame_names_release(names, RPP_FRAME_FIRST + i);
    rpp_alloc_fail_at(0);
    CHECK_OK(rpp_frame_names_ensure(names, 400));
    CHECK_OK(rpp_frame_names_ensure(names, 600));
    CHECK_INT(rpp_alloc_count(), 0);
    rpp_frame_names_free(names);
}

TEST(names_become_fit_for_a_profile)
{
    static const char *const cases[][2] = {
        {"#<Class:0x000078e1b5b3f0a8>#go", "#<Class:0x\xe2\x80\xa6>#go"},
        {"0x00007f0000000000", "0x\xe2\x80\xa6"},
        {"a0x12345678b 0xdeadbeef00", "a0x\xe2\x80\xa6 0x\xe2\x80\xa6"},
        {"mask_0xff", "mask_0xff"},
        {"0x", "0x"},
        {"bad\xff", "bad?"},
        {"", ""},
    };
    rpp_frame_names *names = rpp_frame_names_new(100);
    CHECK_OK(rpp_frame_names_ensure(names, 50));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t id = rpp_frame_names_reserve(names);
        CHECK_OK(set(names, id, cases[i][0]));
        CHECK_STR(name_of(names, id), cases[i][1]);
        CHECK_INT(rpp_frame_names_get(names, id)->name_length, strlen(cases[i][1]));
    }
    static char huge[70000];
    memset(huge, 'x', sizeof huge);
    uint32_t id = rpp_frame_names_reserve(names);
    CHECK_OK(rpp_frame_names_set(names, id, huge, sizeof huge, huge, sizeof huge, 0, false));
    CHECK_INT(rpp_frame_names_get(names, id)->name_length, 65535);
    rpp_frame_names_free(names);
}

TEST(it_survives_every_failing_allocation)
{
    for (size_t nth = 1, failed = 1; failed; nth++) {
        failed = 0;
        rpp_alloc_fail_at(nth);
        rpp_frame_names *names = rpp_frame_names_new(5000);
        if (!names) failed++;
        for (uint32_t i = 0; names && i < 3; i++) {
            if (rpp_frame_names_ensure(names, 1500) == RPP_NO_MEMORY) {
                failed++;
                CHECK_OK(rpp_frame_names_ensure(names, 1500));
            }
            uint32_t id = rpp_frame_names_reserve(names);
            CHECK_INT(id, RPP_FRAME_FIRST + i);
            rpp_status status = set(names, id, "a");
            if (status == RPP_NO_MEMORY) {
                failed++;
                CHECK(!rpp_frame_names_get(names, id));
                status = set(names, id, "a");
            }
            CHECK_OK(status);
        }
        rpp_alloc_fail_at(0);
        rpp_frame_names_free(names);
    }
}

typedef struct reader {
    const rpp_frame_names *names;
    atomic_uint known; /* ids below are reserved, never released, and may have a name */
    atomic_bool stop;
    unsigned seen, wrong;
} reader;

static void *read_names(void *context)
{
    reader *r = context;
    while (!atomic_load(&r->stop)) {
        for (uint32_t id = RPP_FRAME_FIRST; id < atomic_load_explicit(&r->known, memory_order_relaxed); id++) {
            const rpp_frame_name *name = rpp_frame_names_get(r->names, id);
            if (!name) continue;
            r->seen++;
            if (strtoul(name->name, NULL, 10) != id || name->name_length != strlen(name->name)) r->wrong++;
        }
    }
    return NULL;
}

TEST(names_are_read_while_others_are_set)
{
    rpp_frame_names *names = rpp_frame_names_new(100000);
    reader r = {.names = names};
    pthread_t thread;
    pthread_create(&thread, NULL, read_names, &r);
    for (int i = 0; i < 5000; i++) {
        CHECK_OK(rpp_frame_names_ensure(names, 1));
        char text[16];
        uint32_t id = rpp_frame_names_reserve(names);
        atomic_store_explicit(&r.known, id + 1, memory_order_relaxed);
        snprintf(text, sizeof text, "%" PRIu32, id);
        CHECK_OK(set(names, id, text));
    }
    atomic_store(&r.stop, true);
    pthread_join(thread, NULL);
    CHECK_INT(r.wrong, 0);
    rpp_frame_names_free(names);
}
