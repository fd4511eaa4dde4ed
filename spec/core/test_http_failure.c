/* test_http_failure.c - the words of libraries and servers as codes. */
#include "http/http_failure.h"

#include "test.h"

TEST(tls_libraries_say_what_is_wrong)
{
    static const struct {
        const char *text;
        rpp_failure means;
    } cases[] = {
        {"SSL certificate problem: self-signed certificate in certificate chain", RPP_FAILURE_TLS_UNTRUSTED},
        {"SSL certificate problem: unable to get local issuer certificate", RPP_FAILURE_TLS_UNTRUSTED},
        {"SSL certificate problem: certificate has expired", RPP_FAILURE_TLS_EXPIRED},
        {"SSL: no alternative certificate subject name matches target host name 'a'", RPP_FAILURE_TLS_OTHER_NAME},
        {"error:0A00010B:SSL routines::wrong version number", RPP_FAILURE_TLS_NOT_SPOKEN},
        {"error:0A00045C:SSL routines::tlsv13 alert certificate required", RPP_FAILURE_TLS_BROKEN_OFF},
        {"SSL connect error", RPP_FAILURE_TLS},
        {"", RPP_FAILURE_TLS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(rpp_failure_of_tls(cases[i].text), cases[i].means);
    }
}

TEST(servers_say_what_is_wrong)
{
    static const struct {
        const char *text;
        rpp_failure means;
    } cases[] = {
        {"profile with labels '{}' is outside of ingestion window", RPP_FAILURE_OUTSIDE_WINDOW},
        {"invalid label name 'a.b'", RPP_FAILURE_LABEL_NAME},
        {"profile series has 31 label names; limit 30", RPP_FAILURE_TOO_MANY_LABELS},
        {"received message larger than max (5 vs. 4)", RPP_FAILURE_TOO_LARGE},
        {"no org id", RPP_FAILURE_NO_TENANT},
        {"internal", RPP_FAILURE_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(rpp_failure_of_answer(cases[i].text), cases[i].means);
    }
}

TEST(each_code_has_a_name_of_its_own)
{
    for (rpp_failure a = RPP_FAILURE_NONE; a <= RPP_FAILURE_NO_TENANT; a++) {
        for (rpp_failure b = RPP_FAILURE_NONE; b < a; b++) CHECK(strcmp(rpp_failure_name(a), rpp_failure_name(b)) != 0);
    }
}
