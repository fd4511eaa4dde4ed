/* test_url.c - which URLs pass, and what of them is shown. */
#include "settings/url.h"

#include "test.h"

static const char *const web[] = {"http", "https", NULL};

TEST(good_urls_pass)
{
    static const char *const good[] = {
        "http://localhost:4040",
        "https://pyroscope",
        "HTTP://host/",
        "http://host/path/prefix/",
        "http://host?x=1",
        "https://user:pass@host:443/x",
        "https://user:p@ss@host",
        "http://[::1]:4040",
        "http://[fe80::1%25eth0]/",
        "http://10.0.0.1:65535",
        "http://caf\xc3\xa9.example",
        "http://user@host",
        "http://host/a:b@c",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!rpp_url_is_good(good[i], web)) FAIL("%s was refused", good[i]);
    }
}

TEST(bad_urls_do_not)
{
    static const char *const bad[] = {
        "",
        "localhost:4040",
        "localhost",
        "http:/host",
        "http//host",
        "ftp://host",
        "http://",
        "http:///path",
        "http://:4040",
        "http://host:",
        "http://host:0",
        "http://host:65536",
        "http://host:4o40",
        "http://host:123456",
        "http://user@",
        "http://[::1",
        "http://[]:80",
        "http://[::1]x",
        "http://ho st",
        "http://host/a b",
        " http://host",
        "http://host\n",
        "http://host\r\nX: y",
        "http://host\x7f",
        "http://ho\\st",
        "https",
        "http://?x",
        "xhttp://host",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (rpp_url_is_good(bad[i], web)) FAIL("%s was taken", bad[i]);
    }
}

TEST(the_schemes_are_the_callers)
{
    static const char *const socks[] = {"socks5", "socks5h", NULL};
    CHECK(rpp_url_is_good("socks5h://proxy:1080", socks));
    CHECK(!rpp_url_is_good("http://proxy:1080", socks));
}

TEST(what_is_private_is_not_shown)
{
    static const char *const cases[][2] = {
        {"http://host:4040/x", "\"http://host:4040/x\""},
        {"http://user:secret@host/x", "\"http://***@host/x\""},
        {"http://user:se@cret@host/x", "\"http://***@host/x\""},
        {"user:secret@host", "\"***@host\""},
        {"user:secret@http://host", "\"***@http://host\""},
        {"http://user:secret/with@slash@host", "\"http://***@host\""},
        {"http://user:secret@host\nx", "\"http://***@host?x\""},
        {"http://host/?token=secret", "\"http://host/?***\""},
        {"http://user:secret@host/?token=secret", "\"http://***@host/?***\""},
        {"http://host/?token=secret@x", "\"http://***@x\""},
        {"a-password-that-is-long://secret@host", "\"***@host\""},
        {"@", "\"@\""},
        {"", "\"\""},
    };
    char out[RPP_QUOTED_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STR(rpp_url_quote(out, cases[i][0], strlen(cases[i][0])), cases[i][1]);
    }
    char longer[4000];
    memset(longer, 'h', sizeof longer);
    memcpy(longer, "http://user:secret@", 19);
    rpp_url_quote(out, longer, sizeof longer);
    CHECK(!strstr(out, "secret"));
    CHECK_STR(out + strlen(out) - 4, "...\"");
    memset(longer, 's', sizeof longer);
    longer[sizeof longer - 1] = '@';
    CHECK_STR(rpp_url_quote(out, longer, sizeof longer), "\"***@\"");
}
