/* test_secrets.c - nothing that a server repeats of the credentials shows. */
#include "http/secrets.h"

#include "base/alloc.h"
#include "test.h"

static void expect(const rpp_settings *settings, const char *before, const char *after)
{
    char text[256];
    snprintf(text, sizeof text, "%s", before);
    rpp_secrets_hide(settings, text);
    CHECK_STR(text, after);
}

TEST(every_credential_is_hidden_wherever_it_stands)
{
    rpp_pair headers[] = {{"X-Api-Key", "key-0123"}, {"X-Empty", ""}};
    rpp_settings settings = {.auth_token = "t0ken-abc",
                             .basic_auth_username = "user",
                             .basic_auth_password = "geheim",
                             .http_headers = {headers, 2, 2},
                             .server_address = "https://me:p%40ssword@h/",
                             .proxy = "http://you:pr0xypass@proxy:1"};
    expect(&settings, "no access for Bearer t0ken-abc", "no access for Bearer *********");
    expect(&settings, "geheim, geheim and geheim", "******, ****** and ******");
    expect(&settings, "key-0123key-0123", "****************");
    expect(&settings, "Basic dXNlcjpnZWhlaW0=", "Basic ****************");
    expect(&settings, "p@ssword", "********");
    expect(&settings, "pr0xypass", "*********");
    expect(&settings, "nothing of ours, user", "nothing of ours, user");
    expect(&settings, "", "");
}

TEST(without_credentials_a_text_stays_as_it_is)
{
    rpp_settings none = {0}, some = {.server_address = "http://h/", .auth_token = "", .basic_auth_username = "user"};
    expect(&none, "whatever: Basic dXNlcg==", "whatever: Basic dXNlcg==");
    expect(&some, "whatever: user", "whatever: user");
}

TEST(short_ones_are_words_like_others)
{
    rpp_settings settings = {.auth_token = "abcde"};
    expect(&settings, "abcdef", "abcdef");
}

TEST(out_of_memory_shows_nothing)
{
    rpp_settings settings = {.basic_auth_username = "user", .basic_auth_password = "geheim", .proxy = "http://a:b@c"};
    for (size_t nth = 1;; nth++) {
        char text[] = "Basic dXNlcjpnZWhlaW0=";
        rpp_alloc_fail_at(nth);
        rpp_secrets_hide(&settings, text);
        bool failed = rpp_alloc_count() >= nth;
        rpp_alloc_fail_at(0);
        CHECK(!strstr(text, "dXNl"));
        if (!failed) return;
    }
}
