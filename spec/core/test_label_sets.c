/* test_label_sets.c - merging, sharing and counting label sets. */
#include "label_sets.h"

#include <pthread.h>

#include "alloc.h"
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
    CHECK_INT(rpp_label_set_merge(set, &changes[64], 1, &more), RPP_LIMIT);
    CHECK(!more);
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
