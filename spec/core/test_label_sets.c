/* test_label_sets.c - merging, sharing and counting label sets. */
#include "sampling/label_sets.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "test.h"

static rpp_label pair(const char *key, const char *value)
{
    return (rpp_label){key, value, (uint32_t)strlen(key), value ? (uint32_t)strlen(value) : 0};
}

/* "a=1 b=2" as the set has it. */
static const char *text_of(const rpp_label_set *set)
{
    static char text[4096];
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < rpp_label_set_count(set); i++) {
        rpp_label label = rpp_label_set_at(set, i);
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%s%s=%s", i ? " " : "", label.key, label.value);
    }
    return text;
}

static rpp_label_set *set_of(const char *key, const char *value)
{
    rpp_label_set *set = NULL;
    rpp_label change = pair(key, value);
    CHECK_OK(rpp_label_set_merge(NULL, &change, 1, &set));
    return set;
}

static const char *sent(const rpp_label_set *set, size_t index)
{
    rpp_label label = rpp_label_set_sent_at(set, index);
    CHECK_INT(strlen(label.value), label.value_length);
    return label.value;
}

TEST(a_value_without_a_route_is_sent_as_one_and_stays_what_it_is)
{
    rpp_label pairs[] = {pair("a", "1"), pair("endpoint", "GET /x.php")};
    rpp_label_set *set = NULL;
    CHECK_OK(rpp_label_set_merge(NULL, pairs, 2, &set));
    rpp_label_set_has_no_route(set, "endpoint", 8, true);
    CHECK_STR(sent(set, 0), "1");
    CHECK_STR(sent(set, 1), "unrouted");
    CHECK_STR(text_of(set), "a=1 endpoint=GET /x.php");
    rpp_label_set_has_no_route(set, "other", 5, false); /* not in it */
    CHECK_STR(sent(set, 1), "unrouted");
    rpp_label_set_has_no_route(set, "endpoint", 8, false);
    CHECK_STR(sent(set, 1), "GET /x.php");
    rpp_label_set_has_no_route(NULL, "endpoint", 8, true);
    rpp_label_set_release(set);
}

/* A request's path is known to lead nowhere when other labels were laid over it already. */
TEST(sets_made_of_one_without_a_route_have_none_either)
{
    rpp_label_set *request = set_of("endpoint", "GET /x.php"), *own = NULL, *below = NULL, *other = NULL;
    rpp_label tenant = pair("a tenant", "acme"), gone = pair("a tenant", NULL), renamed = pair("endpoint", "mine");
    rpp_label_set_has_no_route(request, "endpoint", 8, false);
    CHECK_OK(rpp_label_set_merge(request, &tenant, 1, &own));
    CHECK_OK(rpp_label_set_merge(own, &gone, 1, &below));
    CHECK_OK(rpp_label_set_merge(own, &renamed, 1, &other));
    CHECK_STR(sent(own, 1), "GET /x.php");
    rpp_label_set_has_no_route(other, "endpoint", 8, true); /* a request within it */
    CHECK_STR(sent(other, 1), "unrouted");
    CHECK_STR(sent(own, 1), "GET /x.php");
    rpp_label_set_has_no_route(own, "endpoint", 8, true); /* the request, which leaves its labels as they are */
    rpp_label_set_has_no_route(other, "endpoint", 8, false);
    CHECK_STR(sent(request, 0), "unrouted");
    rpp_label_set_release(request);
    CHECK_STR(sent(own, 0), "acme");
    CHECK_STR(sent(own, 1), "unrouted");
    rpp_label_set_release(own);
    CHECK_STR(sent(below, 0), "unrouted");
    CHECK_STR(sent(other, 1), "mine");
    rpp_label_set_release(below);
    rpp_label_set_release(other);
}

TEST(changes_are_laid_over_the_base)
{
    rpp_label first[] = {pair("b", "2"), pair("a", "1"), pair("c", "3")};
    rpp_label then[] = {pair("b", NULL), pair("a", "one"), pair("d", "4"), pair("missing", NULL)};
    rpp_label_set *base = NULL, *merged = NULL;
    CHECK_OK(rpp_label_set_merge(NULL, first, 3, &base));
    CHECK_STR(text_of(base), "a=1 b=2 c=3");
    CHECK_OK(rpp_label_set_merge(base, then, 4, &merged));
    CHECK_STR(text_of(merged), "a=one c=3 d=4");
    CHECK_STR(text_of(base), "a=1 b=2 c=3");
    rpp_label_set_release(base);
    rpp_label_set_release(merged);
}

TEST(of_a_key_twice_the_last_holds)
{
    rpp_label changes[] = {pair("a", "1"),  pair("a", "2"),  pair("b", "1"),
                           pair("b", NULL), pair("c", NULL), pair("c", "3")};
    rpp_label_set *set = NULL;
    CHECK_OK(rpp_label_set_merge(NULL, changes, 6, &set));
    CHECK_STR(text_of(set), "a=2 c=3");
    rpp_label_set_release(set);
}

TEST(nothing_left_is_the_empty_set)
{
    rpp_label_set *base = set_of("a", "1"), *set = base;
    rpp_label change = pair("a", NULL);
    CHECK_OK(rpp_label_set_merge(base, &change, 1, &set));
    CHECK(!set);
    set = base;
    CHECK_OK(rpp_label_set_merge(NULL, NULL, 0, &set));
    CHECK(!set);
    CHECK_INT(rpp_label_set_count(NULL), 0);
    CHECK(!rpp_label_set_retain(NULL));
    rpp_label_set_release(NULL);
    rpp_label_set_release(base);
}

TEST(bytes_are_repaired_and_cut_at_a_character)
{
    char value[300];
    for (size_t i = 0; i + 3 < sizeof value; i += 3) memcpy(value + i, "\xe2\x80\xa6", 4);
    rpp_label_set *set = set_of("k\xff", value);
    rpp_label label = rpp_label_set_at(set, 0);
    CHECK_STR(label.key, "k?");
    CHECK_INT(label.key_length, 2);
    CHECK_INT(label.value_length, 198);
    CHECK_INT(strlen(label.value), 198);
    CHECK(memcmp(label.value, value, 198) == 0);
    rpp_label_set_release(set);
}

TEST(keys_that_become_the_same_are_one)
{
    rpp_label changes[] = {pair("k\xff", "1"), pair("k\xfe", "2")};
    rpp_label_set *set = NULL;
    CHECK_OK(rpp_label_set_merge(NULL, changes, 2, &set));
    CHECK_STR(text_of(set), "k?=2");
    rpp_label_set_release(set);
}

TEST(sixty_four_pairs_and_no_more)
{
    char keys[130][16];
    rpp_label changes[130];
    rpp_label_set *set = NULL, *more = NULL;
    for (int i = 0; i < 65; i++) {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        changes[i] = pair(keys[i], "v");
        changes[129 - i] = pair(keys[i], NULL);
    }
    CHECK_OK(rpp_label_set_merge(NULL, changes, 64, &set));
    CHECK_INT(rpp_label_set_count(set), 64);
    /* What is there already stays, whatever its key; what goes beyond is counted. */
    rpp_stats_reset();
    rpp_label first = pair("a", "v"), both[] = {pair("k0", "new"), pair("z", "v")};
    CHECK_OK(rpp_label_set_merge(set, &first, 1, &more));
    CHECK(rpp_label_set_equal(set, more));
    rpp_label_set_release(more);
    CHECK_OK(rpp_label_set_merge(set, both, 2, &more));
    CHECK_INT(rpp_label_set_count(more), 64);
    CHECK_INT(rpp_label_set_at(more, 0).value_length, 3);
    rpp_label_set_release(more);
    CHECK_OK(rpp_label_set_merge(NULL, changes, 65, &more));
    CHECK_INT(rpp_label_set_count(more), 64);
    rpp_label_set_release(more);
    CHECK_INT(rpp_stats_get(RPP_STAT_labels_dropped), 3);
    /* Only what remains counts. */
    CHECK_OK(rpp_label_set_merge(set, &changes[64], 2, &more));
    CHECK(rpp_label_set_equal(set, more));
    rpp_label_set_release(more);
    CHECK_OK(rpp_label_set_merge(set, changes, 130, &more));
    CHECK(!more);
    rpp_label_set_release(set);
}

TEST(equal_means_the_same_pairs_in_any_order)
{
    rpp_label one[] = {pair("a", "1"), pair("b", "2")}, other[] = {pair("b", "2"), pair("a", "1")};
    rpp_label_set *a = NULL, *b = NULL, *c = set_of("a", "1"), *d = set_of("a1", "");
    CHECK_OK(rpp_label_set_merge(NULL, one, 2, &a));
    CHECK_OK(rpp_label_set_merge(NULL, other, 2, &b));
    CHECK(rpp_label_set_equal(a, b));
    CHECK(!rpp_label_set_equal(a, c));
    CHECK(!rpp_label_set_equal(c, d));
    CHECK(!rpp_label_set_equal(a, NULL));
    CHECK(rpp_label_set_equal(NULL, NULL));
    rpp_label_set_release(a);
    rpp_label_set_release(b);
    rpp_label_set_release(c);
    rpp_label_set_release(d);
}

TEST(merging_survives_every_failing_allocation)
{
    char value[200];
    memset(value, 'v', sizeof value);
    rpp_label changes[80];
    for (int i = 0; i < 80; i++) changes[i] = (rpp_label){"k", value, 1, sizeof value};
    rpp_label_set *base = set_of("a", "1"), *untouched = base;
    rpp_status status = RPP_NO_MEMORY;
    size_t nth = 0;
    while (status == RPP_NO_MEMORY) {
        rpp_label_set *set = untouched;
        rpp_alloc_fail_at(++nth);
        status = rpp_label_set_merge(base, changes, 80, &set);
        rpp_alloc_fail_at(0);
        if (status == RPP_OK) rpp_label_set_release(set);
        if (status == RPP_NO_MEMORY) CHECK(set == untouched);
    }
    CHECK_OK(status);
    CHECK_INT(nth, 4);
    CHECK_STR(text_of(base), "a=1");
    rpp_label_set_release(base);
}

static void *retain_and_release(void *set)
{
    for (int i = 0; i < 20000; i++) rpp_label_set_release(rpp_label_set_retain(set));
    rpp_label_set_release(set);
    return NULL;
}

TEST(threads_share_a_set_and_the_last_frees_it)
{
    pthread_t threads[4];
    rpp_label_set *set = set_of("a", "1");
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, retain_and_release, rpp_label_set_retain(set));
    rpp_label_set_release(set);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

/* --- the table --- */

TEST(a_table_gives_one_id_to_equal_sets)
{
    rpp_label_sets *sets = rpp_label_sets_new(10);
    rpp_label_set *a = set_of("a", "1"), *again = set_of("a", "1"), *b = set_of("b", "1");
    uint32_t id = 99;
    CHECK_OK(rpp_label_sets_intern(sets, NULL, &id));
    CHECK_INT(id, 0);
    CHECK_OK(rpp_label_sets_intern(sets, a, &id));
    CHECK_INT(id, 1);
    CHECK_OK(rpp_label_sets_intern(sets, b, &id));
    CHECK_INT(id, 2);
    CHECK_OK(rpp_label_sets_intern(sets, again, &id));
    CHECK_INT(id, 1);
    CHECK_INT(rpp_label_sets_count(sets), 3);
    CHECK(!rpp_label_sets_get(sets, 0));
    CHECK(rpp_label_sets_get(sets, 1) == a);
    rpp_label_set_release(a);
    rpp_label_set_release(again);
    rpp_label_set_release(b);
    CHECK_STR(text_of(rpp_label_sets_get(sets, 1)), "a=1");
    rpp_label_sets_free(sets);
}

TEST(a_full_table_still_finds_what_it_has)
{
    rpp_label_sets *sets = rpp_label_sets_new(2);
    char key[16];
    uint32_t id;
    for (int i = 0; i < 4; i++) {
        snprintf(key, sizeof key, "k%d", i);
        rpp_label_set *set = set_of(key, "v");
        id = 77;
        CHECK_INT(rpp_label_sets_intern(sets, set, &id), i < 2 ? RPP_OK : RPP_LIMIT);
        CHECK_INT(id, i < 2 ? i + 1 : 77);
        rpp_label_set_release(set);
    }
    rpp_label_set *known = set_of("k1", "v");
    CHECK_OK(rpp_label_sets_intern(sets, known, &id));
    CHECK_INT(id, 2);
    rpp_label_set_release(known);
    rpp_label_sets_free(sets);
    rpp_label_sets_free(NULL);
}

TEST(the_table_survives_every_failing_allocation)
{
    rpp_label_set *made[40];
    char key[16];
    for (int i = 0; i < 40; i++) {
        snprintf(key, sizeof key, "k%d", i);
        made[i] = set_of(key, "v");
    }
    for (size_t nth = 1, failed = 1; failed; nth++) {
        failed = 0;
        rpp_alloc_fail_at(nth);
        rpp_label_sets *sets = rpp_label_sets_new(100);
        if (!sets) failed++;
        for (uint32_t i = 0; sets && i < 40; i++) {
            uint32_t id = 77;
            rpp_status status = rpp_label_sets_intern(sets, made[i], &id);
            if (status == RPP_NO_MEMORY) {
                failed++;
                CHECK_INT(id, 77);
                CHECK_INT(rpp_label_sets_count(sets), i + 1);
                status = rpp_label_sets_intern(sets, made[i], &id);
            }
            CHECK_OK(status);
            CHECK_INT(id, i + 1);
        }
        rpp_alloc_fail_at(0);
        rpp_label_sets_free(sets);
    }
    for (int i = 0; i < 40; i++) rpp_label_set_release(made[i]);
}

/* --- outcomes --- */

/* As text_of, of what the set is resolved to. */
static const char *resolved_text(const rpp_label_set *set)
{
    rpp_label_set *resolved = NULL;
    CHECK_OK(rpp_label_set_resolved(set, &resolved));
    CHECK(!rpp_label_set_outcome(resolved));
    const char *text = text_of(resolved);
    rpp_label_set_release(resolved);
    return text;
}

static rpp_label_set *of_request(const rpp_label_set *base, rpp_outcome *outcome)
{
    rpp_label_set *set = NULL;
    CHECK_OK(rpp_label_set_with_outcome(base, outcome, &set));
    CHECK(rpp_label_set_outcome(set) == outcome);
    return set;
}

TEST(all_sets_of_a_request_have_its_outcome)
{
    rpp_outcome *outcome = rpp_outcome_new(0);
    rpp_label_set *first = of_request(NULL, outcome), *second = NULL, *third = NULL;
    rpp_label endpoint = pair("endpoint", "GET /"), tenant = pair("tenant", "acme");
    CHECK_OK(rpp_label_set_merge(first, &endpoint, 1, &second));
    CHECK_OK(rpp_label_set_merge(second, &tenant, 1, &third));
    CHECK_STR(resolved_text(third), "endpoint=GET / status=open tenant=acme");
    rpp_outcome_end(outcome, 503, RPP_SLOW_YES);
    rpp_outcome_release(outcome);
    CHECK_STR(resolved_text(first), "slow=true status=5xx");
    rpp_label_set_release(first);
    CHECK_STR(resolved_text(second), "endpoint=GET / slow=true status=5xx");
    CHECK_STR(resolved_text(third), "endpoint=GET / slow=true status=5xx tenant=acme");
    CHECK_STR(text_of(third), "endpoint=GET / tenant=acme");
    rpp_label_set_release(second);
    rpp_label_set_release(third);
}

TEST(a_request_without_labels_is_not_the_empty_set)
{
    rpp_outcome *outcome = rpp_outcome_new(0);
    rpp_label_set *first = of_request(NULL, outcome), *with = NULL, *without = NULL;
    rpp_label change = pair("a", "1"), removal = pair("a", NULL);
    CHECK_OK(rpp_label_set_merge(first, &change, 1, &with));
    CHECK_OK(rpp_label_set_merge(with, &removal, 1, &without));
    CHECK(rpp_label_set_outcome(without) == outcome);
    CHECK(rpp_label_set_equal(first, without));
    rpp_label_set *resolved = first;
    rpp_outcome_end(outcome, 0, RPP_SLOW_UNKNOWN);
    CHECK_OK(rpp_label_set_resolved(first, &resolved));
    CHECK(!resolved);
    rpp_label_set_release(first);
    rpp_label_set_release(with);
    rpp_label_set_release(without);
    rpp_outcome_release(outcome);
}

TEST(sets_of_two_requests_are_not_equal)
{
    rpp_outcome *one = rpp_outcome_new(0), *other = rpp_outcome_new(0);
    rpp_label_set *base = set_of("a", "1");
    rpp_label_set *a = of_request(base, one), *b = of_request(base, other), *again = of_request(base, one);
    CHECK(!rpp_label_set_equal(a, b));
    CHECK(!rpp_label_set_equal(a, base));
    CHECK(rpp_label_set_equal(a, again));
    rpp_label_set_release(base);
    rpp_label_set_release(a);
    rpp_label_set_release(b);
    rpp_label_set_release(again);
    rpp_outcome_release(one);
    rpp_outcome_release(other);
}

TEST(what_the_program_says_goes_before_the_outcome)
{
    rpp_outcome *outcome = rpp_outcome_new(0);
    rpp_label_set *base = set_of("status", "shipped"), *set = of_request(base, outcome);
    rpp_outcome_end(outcome, 200, RPP_SLOW_NO);
    CHECK_STR(resolved_text(set), "slow=false status=shipped");
    rpp_label_set_release(base);
    rpp_label_set_release(set);
    rpp_outcome_release(outcome);
}

TEST(a_resolved_set_has_what_is_sent)
{
    rpp_outcome *outcome = rpp_outcome_new(0);
    rpp_label_set *base = set_of("endpoint", "GET /x.php");
    rpp_label_set_has_no_route(base, "endpoint", 8, true);
    rpp_label_set *set = of_request(base, outcome);
    rpp_outcome_end(outcome, 404, RPP_SLOW_UNKNOWN);
    CHECK_STR(resolved_text(set), "endpoint=unrouted status=4xx");
    rpp_label found;
    CHECK(rpp_label_set_find(set, "endpoint", 8, &found));
    CHECK_STR(found.value, "unrouted");
    CHECK(!rpp_label_set_find(set, "end", 3, &found));
    CHECK(!rpp_label_set_find(NULL, "endpoint", 8, &found));
    rpp_label_set_release(base);
    rpp_label_set_release(set);
    rpp_outcome_release(outcome);
}

TEST(a_resolved_table_has_each_set_once)
{
    rpp_label_sets *sets = rpp_label_sets_new(10);
    rpp_label_set *base = set_of("a", "1"), *plain = set_of("b", "2");
    rpp_outcome *outcomes[3];
    uint32_t id, ids[6];
    CHECK_OK(rpp_label_sets_intern(sets, plain, &id));
    CHECK(!rpp_label_sets_have_outcomes(sets));
    for (int i = 0; i < 3; i++) {
        outcomes[i] = rpp_outcome_new(0);
        rpp_label_set *set = of_request(base, outcomes[i]);
        CHECK_OK(rpp_label_sets_intern(sets, set, &id));
        CHECK_INT(id, i + 2);
        rpp_label_set_release(set);
    }
    CHECK_OK(rpp_label_sets_intern(sets, base, &id));
    CHECK(rpp_label_sets_have_outcomes(sets));
    rpp_outcome_end(outcomes[0], 200, RPP_SLOW_NO);
    rpp_outcome_end(outcomes[2], 200, RPP_SLOW_NO); /* the second still runs */

    rpp_label_sets *resolved = rpp_label_sets_resolved(sets, ids);
    CHECK(!rpp_label_sets_have_outcomes(resolved));
    CHECK_INT(rpp_label_sets_count(resolved), 5);
    CHECK_INT(ids[0], 0);
    CHECK_STR(text_of(rpp_label_sets_get(resolved, ids[1])), "b=2");
    CHECK_STR(text_of(rpp_label_sets_get(resolved, ids[2])), "a=1 slow=false status=2xx");
    CHECK_INT(ids[4], ids[2]);
    CHECK_STR(text_of(rpp_label_sets_get(resolved, ids[3])), "a=1 status=open");
    CHECK_STR(text_of(rpp_label_sets_get(resolved, ids[5])), "a=1");
    for (int i = 0; i < 3; i++) rpp_outcome_release(outcomes[i]);
    rpp_label_set_release(base);
    rpp_label_set_release(plain);
    rpp_label_sets_free(sets);
    rpp_label_sets_free(resolved);
}

TEST(requests_beyond_the_limit_have_no_outcome)
{
    rpp_label_sets *sets = rpp_label_sets_new(2 * RPP_OUTCOME_SETS_MAX);
    rpp_label_set *base = set_of("a", "1");
    uint32_t id, plain;
    rpp_stats_reset();
    for (uint32_t i = 0; i < RPP_OUTCOME_SETS_MAX + 2; i++) {
        rpp_outcome *outcome = rpp_outcome_new(0);
        rpp_label_set *set = of_request(base, outcome);
        CHECK_OK(rpp_label_sets_intern(sets, set, &id));
        CHECK_INT(id, (i < RPP_OUTCOME_SETS_MAX ? i : RPP_OUTCOME_SETS_MAX) + 1);
        rpp_label_set_release(set);
        rpp_outcome_release(outcome);
    }
    CHECK_INT(rpp_stats_get(RPP_STAT_samples_without_outcome), 2);
    CHECK_OK(rpp_label_sets_intern(sets, base, &plain));
    CHECK_INT(plain, id);
    rpp_outcome *outcome = rpp_outcome_new(0);
    rpp_label_set *empty = of_request(NULL, outcome);
    CHECK_OK(rpp_label_sets_intern(sets, empty, &id));
    CHECK_INT(id, 0);
    rpp_label_set_release(empty);
    rpp_label_set_release(base);
    rpp_outcome_release(outcome);
    rpp_label_sets_free(sets);
}

/* Requests are sampled, then end in 404. */
TEST(requests_beyond_the_limit_that_found_no_route_are_one)
{
    rpp_label_sets *sets = rpp_label_sets_new(2 * RPP_OUTCOME_SETS_MAX);
    uint32_t id = 0, ids[RPP_OUTCOME_SETS_MAX + 4];
    for (uint32_t i = 0; i < RPP_OUTCOME_SETS_MAX + 3; i++) {
        char path[32];
        snprintf(path, sizeof path, "GET /%u", i);
        rpp_outcome *outcome = rpp_outcome_new(0);
        rpp_label_set *base = set_of("endpoint", path), *set = of_request(base, outcome);
        CHECK_OK(rpp_label_sets_intern(sets, set, &id));
        bool is_found = i == RPP_OUTCOME_SETS_MAX;
        rpp_outcome_end(outcome, is_found ? 200 : 404, RPP_SLOW_UNKNOWN);
        rpp_label_set_has_no_route(set, "endpoint", 8, !is_found);
        rpp_label_set_release(base);
        rpp_label_set_release(set);
        rpp_outcome_release(outcome);
    }
    CHECK_STR(sent(rpp_label_sets_get(sets, id), 0), "unrouted");
    rpp_label_sets *resolved = rpp_label_sets_resolved(sets, ids);
    CHECK_INT(rpp_label_sets_count(resolved), 4); /* with status and without, and the one that was found */
    CHECK_STR(text_of(rpp_label_sets_get(resolved, ids[1])), "endpoint=unrouted status=4xx");
    CHECK_STR(text_of(rpp_label_sets_get(resolved, ids[id - 2])), "endpoint=GET /4096");
    CHECK_STR(text_of(rpp_label_sets_get(resolved, ids[id - 1])), "endpoint=unrouted");
    CHECK_INT(ids[id], ids[id - 1]);
    rpp_label_sets_free(sets);
    rpp_label_sets_free(resolved);
}

TEST(settling_survives_every_failing_allocation)
{
    rpp_label_sets *sets = rpp_label_sets_new(10), *resolved = NULL;
    rpp_outcome *outcome = rpp_outcome_new(0);
    rpp_label_set *base = set_of("a", "1"), *set = of_request(base, outcome);
    uint32_t id, ids[2];
    CHECK_OK(rpp_label_sets_intern(sets, set, &id));
    for (size_t nth = 1; !resolved; nth++) {
        rpp_alloc_fail_at(nth);
        resolved = rpp_label_sets_resolved(sets, ids);
        rpp_alloc_fail_at(0);
        CHECK(nth < 20);
    }
    CHECK_INT(rpp_label_sets_count(resolved), 2);
    rpp_label_set_release(base);
    rpp_label_set_release(set);
    rpp_outcome_release(outcome);
    rpp_label_sets_free(sets);
    rpp_label_sets_free(resolved);
}
