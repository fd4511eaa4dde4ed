/* test_stats.c - every number has a name and a meaning, and counts. */
#include "base/stats.h"

#include <pthread.h>

#include "test.h"

TEST(every_number_has_a_name_and_a_text)
{
    for (int i = 0; i < RPP_STAT_COUNT; i++) {
        CHECK(*rpp_stats_name((rpp_stat)i));
        CHECK(*rpp_stats_text((rpp_stat)i));
    }
    CHECK_STR(rpp_stats_name(RPP_STAT_samples_captured), "samples_captured");
    CHECK_STR(rpp_stats_text(RPP_STAT_samples_captured), "stacks captured");
}

static void *count_up(void *context)
{
    (void)context;
    for (int i = 0; i < 10000; i++) rpp_stats_add(RPP_STAT_ticks, 1);
    rpp_stats_set_last_error("from a thread");
    return NULL;
}

TEST(threads_count_together)
{
    rpp_stats_reset();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, count_up, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK_INT(rpp_stats_get(RPP_STAT_ticks), 40000);
    rpp_stats_set(RPP_STAT_queue_bytes, 7);
    CHECK_INT(rpp_stats_get(RPP_STAT_queue_bytes), 7);
}

TEST(the_last_error_is_one_line_with_its_time)
{
    char message[RPP_LAST_ERROR_MAX] = "x";
    rpp_stats_reset();
    CHECK_INT(rpp_stats_last_error(message, sizeof message), 0);
    CHECK_STR(message, "");
    rpp_stats_set_last_error("answered 422:\nbad label");
    CHECK(rpp_stats_last_error(message, sizeof message) > 0);
    CHECK_STR(message, "answered 422:?bad label");
    CHECK(rpp_stats_last_error(message, 5) > 0);
    CHECK_STR(message, "answ");
    CHECK(rpp_stats_last_error(NULL, 0) > 0);
}

TEST(a_long_error_is_cut)
{
    char longer[RPP_LAST_ERROR_MAX * 2], message[RPP_LAST_ERROR_MAX];
    memset(longer, 'e', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    rpp_stats_set_last_error(longer);
    rpp_stats_last_error(message, sizeof message);
    CHECK_INT(strlen(message), RPP_LAST_ERROR_MAX - 1);
}

TEST(reset_makes_all_zero)
{
    rpp_stats_add(RPP_STAT_forks, 3);
    rpp_stats_set_last_error("x");
    rpp_stats_reset();
    for (int i = 0; i < RPP_STAT_COUNT; i++) CHECK_INT(rpp_stats_get((rpp_stat)i), 0);
    CHECK_INT(rpp_stats_last_error(NULL, 0), 0);
}
