/* test_control_request.c - the one line that a peer may send. */
#include "control/control_request.h"
#include "test.h"

static rpp_status parse(const char *line, rpp_control_request *request)
{
    return rpp_control_request_parse(line, strlen(line), request);
}

TEST(reads_a_verb_and_its_arguments)
{
    rpp_control_request request;
    CHECK_OK(parse("rperf-push/1 record frequency=1000 mode=cpu,wall", &request));
    CHECK_STR(request.verb, "record");
    CHECK_INT(request.count, 2);
    CHECK_STR(rpp_control_request_get(&request, "mode"), "cpu,wall");
    CHECK(!rpp_control_request_get(&request, "mod"));
    CHECK_OK(parse("rperf-push/1 ps", &request));
    CHECK_INT(request.count, 0);
}

TEST(of_a_key_that_stands_twice_the_last_holds)
{
    rpp_control_request request;
    CHECK_OK(parse("rperf-push/1 x a=1 a=2", &request));
    CHECK_STR(rpp_control_request_get(&request, "a"), "2");
}

TEST(refuses_whatever_else_it_is)
{
    static const char *const lines[] = {"",
                                        "rperf-push/1",
                                        "rperf-push/1 ",
                                        "rperf-push/2 ps",
                                        "GET / HTTP/1.1",
                                        "rperf-push/1 PS",
                                        "rperf-push/1 ps ",
                                        "rperf-push/1  ps",
                                        "rperf-push/1 ps a",
                                        "rperf-push/1 ps a=",
                                        "rperf-push/1 ps =1",
                                        "rperf-push/1 ps a=1\r",
                                        "rperf-push/1 ps a=\xc3\xa4",
                                        "rperf-push/1 averylongverbthatis",
                                        "rperf-push/1 x a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1",
                                        "rperf-push/1 x abcdefghijklmnopqrstuvwx=1"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        rpp_control_request request = {.verb = "before"};
        if (parse(lines[i], &request) != RPP_INVALID) FAIL("taken: %s", lines[i]);
        CHECK_STR(request.verb, "before");
    }
}

TEST(values_have_a_limit)
{
    char line[64 + RPP_CONTROL_VALUE_MAX];
    for (int length = RPP_CONTROL_VALUE_MAX; length <= RPP_CONTROL_VALUE_MAX + 1; length++) {
        rpp_control_request request = {.verb = "before"};
        snprintf(line, sizeof line, "rperf-push/1 x a=%0*d", length, 0);
        CHECK_INT(parse(line, &request), length > RPP_CONTROL_VALUE_MAX ? RPP_INVALID : RPP_OK);
    }
}

TEST(numbers_are_whole_and_within_their_range)
{
    rpp_control_request request;
    uint64_t number = 7;
    CHECK_OK(parse("rperf-push/1 x a=100 b=-1 c=1e3 d=99999999999999999999 e=101", &request));
    CHECK_OK(rpp_control_request_number(&request, "a", 1, 100, 5, &number));
    CHECK_INT(number, 100);
    for (const char *key = "bcde"; *key; key++) {
        const char name[2] = {*key, '\0'};
        CHECK_INT(rpp_control_request_number(&request, name, 1, 100, 5, &number), RPP_INVALID);
        CHECK_INT(number, 100);
    }
    CHECK_OK(rpp_control_request_number(&request, "none", 1, 100, 5, &number));
    CHECK_INT(number, 5);
}
