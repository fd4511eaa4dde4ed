/* test_custom_values.c - names that a program gives, within the limits of all servers. */
#include "base/custom_values.h"

#include <stdio.h>

#include "base/value_types.h"
#include "test.h"

static rpp_status declare(const char *name, const char *unit, uint8_t *id)
{
    return rpp_custom_value_declare(name, strlen(name), unit, strlen(unit), id);
}

/* One table for the process, so one test for its whole life. */
TEST(a_value_keeps_its_id_and_its_unit)
{
    uint8_t first = 0, second = 0, again = 0, none = 7;
    CHECK_INT(rpp_custom_value_count(), 0);
    CHECK_INT(rpp_custom_value_find("bytes_sent", 10), RPP_CUSTOM_NONE);
    CHECK_OK(declare("bytes_sent", "bytes", &first));
    CHECK_OK(declare("Retries_2", "count", &second));
    CHECK_OK(declare("bytes_sent", "bytes", &again));
    CHECK_INT(first, 1);
    CHECK_INT(second, 2);
    CHECK_INT(again, 1);
    CHECK_STR(rpp_custom_value_get(1)->name, "bytes_sent");
    CHECK_STR(rpp_custom_value_get(1)->unit, "bytes");
    CHECK_INT(rpp_custom_value_find("Retries_2 and more", 9), 2);
    CHECK_INT(rpp_custom_value_find("Retries_", 8), RPP_CUSTOM_NONE);

    static const char *const illegal[] = {"", "a-b", "2a", "a b", "a.b", "\xc3\xa9", "cpu", "wall", "custom"};
    CHECK_INT(declare("bytes_sent", "count", &none), RPP_INVALID);
    for (size_t i = 0; i < sizeof illegal / sizeof *illegal; i++) {
        CHECK_INT(declare(illegal[i], "count", &none), RPP_INVALID);
        if (i < 6) CHECK_INT(declare("fresh", illegal[i], &none), RPP_INVALID);
    }
    char longest[RPP_CUSTOM_TEXT_MAX + 1];
    memset(longest, 'x', sizeof longest);
    CHECK_INT(rpp_custom_value_declare(longest, RPP_CUSTOM_TEXT_MAX, "count", 5, &none), RPP_INVALID);
    CHECK_INT(none, 7);
    CHECK_INT(rpp_custom_value_count(), 2);
    CHECK_OK(rpp_custom_value_declare(longest, RPP_CUSTOM_TEXT_MAX - 1, "count", 5, &none));
    CHECK_INT(strlen(rpp_custom_value_get(none)->name), RPP_CUSTOM_TEXT_MAX - 1);

    for (unsigned i = 3; i < RPP_CUSTOM_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "value_%u", i);
        CHECK_OK(declare(name, "count", &none));
        CHECK_INT(none, i + 1);
    }
    CHECK_INT(declare("one_too_many", "count", &none), RPP_LIMIT);
    CHECK_OK(declare("Retries_2", "count", &none));
    CHECK_INT(none, 2);
}
