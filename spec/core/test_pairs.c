/* test_pairs.c - lists of names and values, and the text they are read from. */
#include "settings/pairs.h"

#include "base/alloc.h"
#include "test.h"

/* "k=v;k=v" as the list has it; "(bad)" when the text was refused. */
static const char *read_back(const char *source)
{
    static char text[1000];
    size_t length = 0;
    rpp_pairs pairs = {0};
    rpp_status status = rpp_pairs_parse(&pairs, source);
    text[0] = '\0';
    for (size_t i = 0; i < pairs.count; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s=%s", i ? ";" : "", pairs.items[i].key,
                                   pairs.items[i].value);
    }
    rpp_pairs_destroy(&pairs);
    return status == RPP_INVALID ? "(bad)" : status == RPP_OK ? text : "(failed)";
}

TEST(a_key_is_kept_once_at_its_first_place)
{
    rpp_pairs pairs = {0};
    CHECK_OK(rpp_pairs_put(&pairs, "a", 1, "1", 1));
    CHECK_OK(rpp_pairs_put(&pairs, "b", 1, "2", 1));
    CHECK_OK(rpp_pairs_put(&pairs, "a", 1, "33", 2));
    CHECK_INT(pairs.count, 2);
    CHECK_STR(pairs.items[0].key, "a");
    CHECK_STR(pairs.items[0].value, "33");
    CHECK_STR(rpp_pairs_get(&pairs, "b"), "2");
    CHECK(!rpp_pairs_get(&pairs, "c"));
    rpp_pairs_destroy(&pairs);
}

TEST(plain_text_is_read)
{
    CHECK_STR(read_back("env=production,region=eu"), "env=production;region=eu");
    CHECK_STR(read_back(" env = a b , x= "), "env=a b;x=");
    CHECK_STR(read_back("a=1=2"), "a=1=2");
    CHECK_STR(read_back("a=1,,b=2,"), "a=1;b=2");
    CHECK_STR(read_back("a=1,a=2"), "a=2");
    CHECK_STR(read_back(""), "");
    CHECK_STR(read_back("a"), "(bad)");
    CHECK_STR(read_back("a=1,b"), "(bad)");
    CHECK_STR(read_back("=1"), "(bad)");
}

TEST(json_is_read)
{
    CHECK_STR(read_back("{}"), "");
    CHECK_STR(read_back("  { } "), "");
    CHECK_STR(read_back("{\"a\":\"1\",\"b\":\"\"}"), "a=1;b=");
    CHECK_STR(read_back("{ \"a\" : \"1\" ,\n\t\"b\" : \"2\" } "), "a=1;b=2");
    CHECK_STR(read_back("{\"a\":\"x,y=z}\"}"), "a=x,y=z}");
    CHECK_STR(read_back("{\"a\":\"1\",\"a\":\"2\"}"), "a=2");
    CHECK_STR(read_back("{\"q\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}"), "q=\"\\/\b\f\n\r\t");
    CHECK_STR(read_back("{\"\\u0061\":\"\\u00E4\\u20ac\\ud83d\\uDE00\"}"), "a=\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    CHECK_STR(read_back("{\"a\":\"\xc3\xa4\"}"), "a=\xc3\xa4");
}

TEST(json_that_is_not_is_refused)
{
    static const char *const bad[] = {
        "{",
        "{\"",
        "{\"a",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":\"",
        "{\"a\":\"1",
        "{\"a\":\"1\"",
        "{\"a\":\"1\",",
        "{\"a\":\"1\",}",
        "{,}",
        "{\"a\" \"1\"}",
        "{\"a\":1}",
        "{\"a\":null}",
        "{\"a\":{}}",
        "{\"a\":[\"1\"]}",
        "{a:\"1\"}",
        "{'a':'1'}",
        "{\"a\":\"1\"}x",
        "{}x",
        "{\"a\":\"1\"}}",
        "{\"a\":\"1\" \"b\":\"2\"}",
        "{\"\":\"1\"}",
        "{\"a\":\"\n\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\",
        "{\"a\":\"\\u\"}",
        "{\"a\":\"\\u12\"}",
        "{\"a\":\"\\u12",
        "{\"a\":\"\\u12g4\"}",
        "{\"a\":\"\\u0000\"}",
        "{\"a\":\"\\ud83d\"}",
        "{\"a\":\"\\ud83d\\u0041\"}",
        "{\"a\":\"\\ud83dxx\"}",
        "{\"a\":\"\\ude00\"}",
        "{\"a\":\"\\ud83d\\u",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (strcmp(read_back(bad[i]), "(bad)") != 0) FAIL("%s was taken", bad[i]);
    }
}

/* Every prefix and every changed byte of a text: no crash, no byte read outside (ASan watches). */
TEST(damaged_json_does_no_harm)
{
    static const char text[] = "{\"a\":\"\\ud83d\\ude00\",\"b\\n\":\"x\\u0041\"}";
    static const char some[] = "\"\\{}:,u0\x01\x80 ";
    for (size_t length = 0; length < sizeof text; length++) {
        char *copy = rpp_strndup(text, length);
        read_back(copy);
        for (size_t i = 0; i < length; i++) {
            for (size_t j = 0; j < sizeof some - 1; j++) {
                copy[i] = some[j];
                read_back(copy);
            }
            copy[i] = text[i];
        }
        rpp_free(copy);
    }
}

TEST(lists_are_read)
{
    rpp_pairs list = {0};
    CHECK_OK(rpp_pairs_parse_list(&list, " a, b,,c=d ,a"));
    CHECK_INT(list.count, 3);
    CHECK_STR(list.items[0].key, "a");
    CHECK_STR(list.items[1].key, "b");
    CHECK_STR(list.items[2].key, "c=d");
    CHECK(!list.items[0].value);
    rpp_pairs_destroy(&list);
}

TEST(reading_survives_every_failing_allocation)
{
    static const char *const texts[] = {"a=1,b=2,a=3", "{\"a\":\"1\",\"b\":\"2\",\"a\":\"3\"}"};
    for (int i = 0; i < 2; i++) {
        rpp_status status = RPP_NO_MEMORY;
        for (size_t nth = 1; status == RPP_NO_MEMORY; nth++) {
            rpp_pairs pairs = {0};
            rpp_alloc_fail_at(nth);
            status = rpp_pairs_parse(&pairs, texts[i]);
            rpp_alloc_fail_at(0);
            if (status == RPP_OK) CHECK_STR(rpp_pairs_get(&pairs, "a"), "3");
            rpp_pairs_destroy(&pairs);
        }
        CHECK_OK(status);
    }
}
