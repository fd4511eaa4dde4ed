/* test_status.c - status codes have texts of their own. */
#include "base/status.h"

#include "test.h"

TEST(every_status_has_its_text)
{
    CHECK_STR(rpp_status_text(RPP_OK), "ok");
    CHECK_STR(rpp_status_text(RPP_NO_MEMORY), "out of memory");
    CHECK_STR(rpp_status_text(RPP_STOPPED), "stopped");
}

TEST(a_number_that_is_no_status_has_a_text_too)
{
    CHECK_STR(rpp_status_text((rpp_status)99), "unknown status");
}
