/* test_durations.c - which requests are slow for their endpoint. */
#include "requests/durations.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "test.h"

static rpp_slow note(rpp_durations *durations, const char *endpoint, uint64_t duration_ns)
{
    return rpp_durations_note(durations, endpoint, strlen(endpoint), duration_ns);
}

static void note_often(rpp_durations *durations, const char *endpoint, uint64_t duration_ns, int times)
{
    for (int i = 0; i < times; i++) (void)note(durations, endpoint, duration_ns);
}

TEST(nothing_is_slow_before_enough_is_known)
{
    rpp_durations *durations = rpp_durations_new();
    for (unsigned i = 0; i < RPP_DURATIONS_ENOUGH; i++) CHECK_INT(note(durations, "a", 1000000), RPP_SLOW_UNKNOWN);
    CHECK_INT(note(durations, "a", 1000000), RPP_SLOW_NO);
    CHECK_INT(note(durations, "a", 2000000), RPP_SLOW_YES);
    CHECK_INT(note(durations, "b", 2000000), RPP_SLOW_UNKNOWN);
    rpp_durations_free(durations);
    rpp_durations_free(NULL);
}

TEST(each_endpoint_has_its_own_measure)
{
    rpp_durations *durations = rpp_durations_new();
    note_often(durations, "quick", 1000000, 100);
    note_often(durations, "heavy", 500000000, 100);
    CHECK_INT(note(durations, "quick", 5000000), RPP_SLOW_YES);
    CHECK_INT(note(durations, "heavy", 5000000), RPP_SLOW_NO);
    CHECK_INT(note(durations, "heavy", 900000000), RPP_SLOW_YES);
    rpp_durations_free(durations);
}

TEST(one_in_twenty_is_slow_and_no_more)
{
    rpp_durations *durations = rpp_durations_new();
    note_often(durations, "a", 1000000, 95);
    note_often(durations, "a", 8000000, 4);
    CHECK_INT(note(durations, "a", 8000000), RPP_SLOW_YES); /* 4 of 99 were as long */
    CHECK_INT(note(durations, "a", 8000000), RPP_SLOW_NO);  /* 5 of 100 were */
    CHECK_INT(note(durations, "a", 9000000), RPP_SLOW_YES);
    rpp_durations_free(durations);
}

/* However durations are spread. */
TEST(of_many_about_one_in_twenty_is_slow)
{
    rpp_durations *durations = rpp_durations_new();
    uint64_t random = 7;
    int slow = 0;
    for (int i = 0; i < 20000; i++) {
        uint64_t some = rpp_random_next(&random) % 1000;
        slow += note(durations, "a", 1000000 + some * some * 1000) == RPP_SLOW_YES;
    }
    CHECK(slow > 600 && slow <= 1100);
    rpp_durations_free(durations);
}

TEST(what_is_long_ago_is_forgotten)
{
    rpp_durations *durations = rpp_durations_new();
    note_often(durations, "a", 1000000, 3000);
    CHECK_INT(note(durations, "a", 50000000), RPP_SLOW_YES);
    note_often(durations, "a", 50000000, RPP_DURATIONS_REMEMBERED);
    CHECK_INT(note(durations, "a", 50000000), RPP_SLOW_NO);
    CHECK_INT(note(durations, "a", 1000000), RPP_SLOW_NO);
    CHECK_INT(note(durations, "a", 100000000), RPP_SLOW_YES);
    note_often(durations, "a", 1000000, RPP_DURATIONS_REMEMBERED);
    CHECK_INT(note(durations, "a", 50000000), RPP_SLOW_YES);
    rpp_durations_free(durations);
}

TEST(durations_beyond_the_scale_are_at_its_ends)
{
    rpp_durations *durations = rpp_durations_new();
    note_often(durations, "a", 0, 50);
    CHECK_INT(note(durations, "a", 1), RPP_SLOW_NO);
    CHECK_INT(note(durations, "a", UINT64_MAX), RPP_SLOW_YES);
    note_often(durations, "a", UINT64_C(1) << 50, 50);
    CHECK_INT(note(durations, "a", UINT64_MAX), RPP_SLOW_NO);
    rpp_durations_free(durations);
}

/* Clients ask for names that they make up, each once. */
static void note_made_up(rpp_durations *durations, unsigned count)
{
    static unsigned number;
    char name[32];
    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof name, "GET /made-up/%u", number++);
        CHECK_INT(note(durations, name, 1000000), RPP_SLOW_UNKNOWN);
    }
}

TEST(names_that_clients_make_up_leave_room_for_endpoints)
{
    rpp_durations *durations = rpp_durations_new();
    note_made_up(durations, 10 * RPP_DURATIONS_ENDPOINTS_MAX);
    note_often(durations, "a", 1000000, 100);
    CHECK_INT(note(durations, "a", 1000000), RPP_SLOW_NO);
    CHECK_INT(note(durations, "a", 2000000), RPP_SLOW_YES);
    rpp_durations_free(durations);
}

TEST(the_endpoint_that_was_not_seen_for_longest_goes)
{
    rpp_durations *durations = rpp_durations_new();
    note_often(durations, "left", 1000000, 100);
    note_often(durations, "used", 1000000, 100);
    note_made_up(durations, RPP_DURATIONS_ENDPOINTS_MAX - 2);
    CHECK_INT(note(durations, "left", 1000000), RPP_SLOW_NO); /* just enough room */
    CHECK_INT(note(durations, "used", 1000000), RPP_SLOW_NO);
    for (unsigned i = 0; i < 3; i++) {
        note_made_up(durations, RPP_DURATIONS_ENDPOINTS_MAX - 1);
        CHECK_INT(note(durations, "used", 2000000), RPP_SLOW_YES);
    }
    CHECK_INT(note(durations, "left", 1000000), RPP_SLOW_UNKNOWN);
    rpp_durations_free(durations);
}

TEST(a_name_takes_no_place_of_another_without_memory)
{
    rpp_durations *durations = rpp_durations_new();
    note_often(durations, "a", 1000000, 100);
    note_made_up(durations, RPP_DURATIONS_ENDPOINTS_MAX - 1);
    rpp_alloc_fail_at(1);
    CHECK_INT(note(durations, "b", 1000000), RPP_SLOW_UNKNOWN);
    rpp_alloc_fail_at(0);
    CHECK_INT(note(durations, "a", 1000000), RPP_SLOW_NO);
    rpp_durations_free(durations);
}

TEST(without_memory_nothing_is_known_and_the_rest_stays)
{
    rpp_alloc_fail_at(1);
    CHECK(!rpp_durations_new());
    rpp_alloc_fail_at(0);
    rpp_durations *durations = rpp_durations_new();
    note_often(durations, "a", 1000000, 100);
    note_made_up(durations, 15); /* the next one needs more room */
    for (size_t nth = 1; nth <= 2; nth++) {
        rpp_alloc_fail_at(nth);
        (void)note(durations, "b", 1000000);
        CHECK_INT(rpp_alloc_count(), nth);
        rpp_alloc_fail_at(0);
        CHECK_INT(note(durations, "a", 1000000), RPP_SLOW_NO);
    }
    rpp_durations_free(durations);
}
