/* fuzz_retry_after.c - Retry-After: any text is harmless, seconds mean what they say, and a date in each of its three
 * forms means the time that the C library wrote into it.
 */
#include <time.h>

#include "base/clock.h"
#include "fuzz_input.h"
#include "http/retry_verdict.h"

#define HOUR_S 3600u

static uint64_t expected_wait(int64_t at_s, uint64_t now_ns)
{
    __int128 wait_ns = (__int128)at_s * (__int128)RPP_NS_PER_S - (__int128)now_ns, most_ns = HOUR_S * RPP_NS_PER_S;
    if (wait_ns <= 0) return 0;
    return (uint64_t)(wait_ns < most_ns ? wait_ns : most_ns);
}

static void try_date(fuzz_input *input, uint64_t now_ns)
{
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                        "%a %b %e %H:%M:%S %Y"};
    const char *form = forms[fuzz_byte(input) % 3];
    /* A year of two digits begins in 1970. */
    time_t at = (time_t)(fuzz_number(input) % (strstr(form, "%y") ? 3155760000u : 200000000000u));
    struct tm parts;
    char text[80];
    FUZZ_CHECK(gmtime_r(&at, &parts));
    if (parts.tm_year >= 9999 - 1900 || (strstr(form, "%y") && parts.tm_year >= 170)) return;
    FUZZ_CHECK(strftime(text, sizeof text, form, &parts));
    FUZZ_CHECK(rpp_retry_after_ns(text, now_ns) == expected_wait(at, now_ns));
}

static void try_seconds(const char *text, uint64_t found)
{
    size_t digits = strspn(text, "0123456789");
    if (!digits || text[digits] || digits > 18) return;
    unsigned long long seconds = strtoull(text, NULL, 10);
    FUZZ_CHECK(found == (seconds < HOUR_S ? seconds : HOUR_S) * RPP_NS_PER_S);
}

/* Where the C library reads all of the text as one of the forms, both must come to the same time. */
static void try_text_as_date(const char *text, uint64_t found, uint64_t now_ns)
{
    struct tm parts = {0};
    const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    if (!found || !end || *end) return;
    FUZZ_CHECK(found == expected_wait(timegm(&parts), now_ns));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = {data, size};
    uint64_t now_ns = fuzz_number(&input) % 10000000000u * RPP_NS_PER_S + fuzz_byte(&input);
    try_date(&input, now_ns);

    char *text = fuzz_text(&input, 200);
    uint64_t found = rpp_retry_after_ns(text, now_ns);
    FUZZ_CHECK(found <= HOUR_S * RPP_NS_PER_S);
    try_seconds(text, found);
    try_text_as_date(text, found, now_ns);
    free(text);
    return 0;
}
