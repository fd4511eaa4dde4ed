/* test_label_policy.c - names, denial and the number of values. */
#include "encoding/label_policy.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "test.h"
#include "window.h"

static rpp_settings *settings;

/* 0: as many values as by default. */
static rpp_label_policy *begin(uint32_t max_values, bool legal_names)
{
    settings = rpp_settings_new();
    if (max_values) settings->max_label_values = max_values;
    return rpp_label_policy_new(settings, legal_names);
}

static void end(rpp_label_policy *policy)
{
    rpp_label_policy_free(policy);
    rpp_settings_free(settings);
}

static rpp_label label_of(const char *key, const char *value)
{
    return (rpp_label){key, value, (uint32_t)strlen(key), (uint32_t)strlen(value)};
}

/* "key=value", or "-" for nothing. */
static const char *applied(rpp_label_policy *policy, const char *key, const char *value)
{
    static char text[1024];
    rpp_label sent;
    bool keep;
    CHECK_OK(rpp_label_policy_apply(policy, label_of(key, value), &sent, &keep));
    if (!keep) return "-";
    CHECK_INT(strlen(sent.key), sent.key_length);
    CHECK_INT(strlen(sent.value), sent.value_length);
    snprintf(text, sizeof text, "%s=%s", sent.key, sent.value);
    return text;
}

TEST(names_are_made_legal)
{
    rpp_label_policy *policy = begin(0, true);
    const char *const cases[][2] = {
        {"endpoint", "endpoint"},
        {"http.route", "http_route"},
        {"a-b c", "a_b_c"},
        {"9lives", "_9lives"},
        {"%GVL", "gvl_state"},
        {"%GC", "gc_phase"},
        {"%pid", "pid"},
        {"%other", "_other"},
        {"gr\xc3\xb6\xc3\x9f", "gr____"},
        {"_", "_"},
        {"UPPER_1", "UPPER_1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[100];
        snprintf(expected, sizeof expected, "%s=v", cases[i][1]);
        CHECK_STR(applied(policy, cases[i][0], "v"), expected);
        CHECK_STR(applied(policy, cases[i][0], "v"), expected); /* the second time from the table */
        CHECK(rpp_label_name_is_legal(cases[i][1]));
    }
    end(policy);
}

TEST(local_files_keep_names_as_they_are)
{
    rpp_label_policy *policy = begin(0, false);
    CHECK_STR(applied(policy, "%GVL", "wait"), "%GVL=wait");
    CHECK_STR(applied(policy, "http.route", "/"), "http.route=/");
    CHECK_STR(applied(policy, "__name__", "x"), "-");
    end(policy);
}

TEST(what_is_reserved_or_empty_is_not_sent)
{
    rpp_label_policy *policy = begin(0, true);
    CHECK_STR(applied(policy, "__name__", "x"), "-");
    CHECK_STR(applied(policy, "..hidden", "x"), "-"); /* would become __hidden */
    CHECK_STR(applied(policy, "", "x"), "-");
    CHECK_STR(applied(policy, "user", ""), "-");
    CHECK_STR(applied(policy, "user", "u"), "user=u");
    end(policy);
}

TEST(denial_holds_inside_and_outside)
{
    test_window window = window_open();
    window_set(&window, "label_deny", "user.id,gvl_state");
    rpp_label_policy *policy = rpp_label_policy_new(window.settings, true);
    CHECK_STR(applied(policy, "user.id", "7"), "-");
    CHECK_STR(applied(policy, "user_id", "7"), "user_id=7");
    CHECK_STR(applied(policy, "%GVL", "wait"), "-");
    CHECK_STR(applied(policy, "trace_id", "t"), "trace_id=t");
    rpp_label_policy_free(policy);
    window_close(&window);
}

TEST(renaming_is_the_users_and_made_legal)
{
    test_window window = window_open();
    window_set(&window, "label_names", "job=task.name");
    rpp_label_policy *policy = rpp_label_policy_new(window.settings, true);
    CHECK_STR(applied(policy, "job", "x"), "task_name=x");
    rpp_label_policy_free(policy);
    window_close(&window);
}

TEST(further_values_read_other)
{
    rpp_label_policy *policy = begin(3, true);
    CHECK_STR(applied(policy, "k", "1"), "k=1");
    CHECK_STR(applied(policy, "k", "2"), "k=2");
    CHECK_STR(applied(policy, "k", "1"), "k=1");
    CHECK_STR(applied(policy, "k", "3"), "k=3");
    CHECK_STR(applied(policy, "k", "4"), "k=other");
    CHECK_STR(applied(policy, "k", "2"), "k=2");
    CHECK_STR(applied(policy, "k", "4"), "k=other");
    CHECK_STR(applied(policy, "l", "4"), "l=4"); /* each key by itself */
    end(policy);
}

#define HOUR (3600 * RPP_NS_PER_S)

TEST(a_value_that_was_admitted_stays_so_from_window_to_window)
{
    rpp_label_policy *policy = begin(2, true);
    uint64_t now = 1000 * HOUR;
    for (int window = 0; window < 2000; window++, now += 10 * RPP_NS_PER_S) {
        char scanned[32];
        snprintf(scanned, sizeof scanned, "GET /%d.php", window);
        rpp_label_policy_begin(policy, now);
        if (window) CHECK_STR(applied(policy, "endpoint", scanned), "endpoint=other"); /* it comes first, and late */
        CHECK_STR(applied(policy, "endpoint", "GET /a"), "endpoint=GET /a");
        CHECK_STR(applied(policy, "endpoint", "GET /b"), "endpoint=GET /b");
    }
    end(policy);
}

TEST(a_value_that_was_not_seen_for_an_hour_makes_room)
{
    rpp_label_policy *policy = begin(2, true);
    rpp_label_policy_begin(policy, 1000 * HOUR);
    CHECK_STR(applied(policy, "k", "old"), "k=old");
    CHECK_STR(applied(policy, "k", "used"), "k=used");
    rpp_label_policy_begin(policy, 1001 * HOUR - 1);
    CHECK_STR(applied(policy, "k", "new"), "k=other");
    CHECK_STR(applied(policy, "k", "used"), "k=used");
    rpp_label_policy_begin(policy, 1001 * HOUR);
    CHECK_STR(applied(policy, "k", "new"), "k=new");
    CHECK_STR(applied(policy, "k", "old"), "k=other");
    CHECK_STR(applied(policy, "k", "used"), "k=used");
    end(policy);
}

TEST(spans_and_traces_are_as_many_as_there_are)
{
    rpp_label_policy *policy = begin(1, true);
    CHECK_STR(applied(policy, "span_id", "a"), "span_id=a");
    CHECK_STR(applied(policy, "span_id", "b"), "span_id=b");
    CHECK_STR(applied(policy, "trace_id", "a"), "trace_id=a");
    CHECK_STR(applied(policy, "trace_id", "b"), "trace_id=b");
    CHECK_STR(applied(policy, "span_ids", "a"), "span_ids=a");
    CHECK_STR(applied(policy, "span_ids", "b"), "span_ids=other");
    end(policy);
}

TEST(keys_without_end_are_forgotten_between_profiles)
{
    rpp_label_policy *policy = begin(1, true);
    for (int i = 0; i < 5000; i++) {
        char key[32];
        snprintf(key, sizeof key, "key%d", i);
        if (i % 500 == 0) rpp_label_policy_begin(policy, HOUR);
        applied(policy, key, "v");
        CHECK_STR(applied(policy, "k", "first"), "k=first");
    }
    end(policy);
}

TEST(keys_of_one_name_share_its_values)
{
    rpp_label_policy *policy = begin(2, true);
    CHECK_STR(applied(policy, "a.b", "1"), "a_b=1");
    CHECK_STR(applied(policy, "a-b", "2"), "a_b=2");
    CHECK_STR(applied(policy, "a_b", "3"), "a_b=other");
    CHECK_STR(applied(policy, "a.b", "2"), "a_b=2");
    end(policy);
}

TEST(many_keys_and_values_stay_apart)
{
    rpp_label_policy *policy = begin(1000, true);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3000; i++) {
            char key[32], value[32], expected[64];
            snprintf(key, sizeof key, "key%d", i % 300);
            snprintf(value, sizeof value, "value%d", i);
            snprintf(expected, sizeof expected, "%s=%s", key, value);
            CHECK_STR(applied(policy, key, value), expected);
        }
    }
    end(policy);
}

TEST(a_failed_allocation_changes_no_later_answer)
{
    settings = rpp_settings_new();
    settings->max_label_values = 1;
    bool all_passed = false;
    for (size_t nth = 1; !all_passed; nth++) {
        rpp_alloc_fail_at(nth);
        rpp_label_policy *policy = rpp_label_policy_new(settings, true);
        all_passed = policy != NULL;
        for (int i = 0; policy && i < 3; i++) {
            char value[] = {(char)('a' + i), '\0'};
            rpp_label sent;
            bool keep = false;
            rpp_label label = label_of(i ? "k.2" : "k-2", value);
            rpp_status status = rpp_label_policy_apply(policy, label, &sent, &keep);
            if (status != RPP_OK) all_passed = false;
            CHECK(status == RPP_OK || status == RPP_NO_MEMORY);
            if (status != RPP_OK) CHECK_OK(rpp_label_policy_apply(policy, label, &sent, &keep));
            CHECK(keep);
            CHECK_STR(sent.key, "k_2");
            CHECK_STR(sent.value, i ? "other" : "a");
        }
        rpp_label_policy_free(policy);
        rpp_alloc_fail_at(0);
    }
    rpp_settings_free(settings);
}
