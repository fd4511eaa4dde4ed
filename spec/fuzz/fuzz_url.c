/* fuzz_url.c - URLs against libcurl's own reader: the host that a message names is the host that gets the request, and
 * no credentials stay in what is requested or shown.
 */
#include <curl/curl.h>

#include "base/alloc.h"
#include "fuzz_input.h"
#include "http/http_client.h"
#include "http/http_url.h"
#include "settings/url.h"

#define SECRET "S3cr3tS3cr3t"

static const char *const schemes[] = {"http", "https", NULL};

/* libcurl may refuse what the check let through; what it reads it must read alike. */
static void compare_with_curl(const char *url, const char *host)
{
    char *read_host = NULL, *port = NULL, *user = NULL, together[600];
    CURLU *handle = curl_url();
    FUZZ_CHECK(handle);
    if (curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK) {
        FUZZ_CHECK(curl_url_get(handle, CURLUPART_USER, &user, 0) == CURLUE_NO_USER);
        FUZZ_CHECK(curl_url_get(handle, CURLUPART_HOST, &read_host, 0) == CURLUE_OK);
        curl_url_get(handle, CURLUPART_PORT, &port, 0);
        snprintf(together, sizeof together, "%s%s%s", read_host, port ? ":" : "", port ? port : "");
        size_t length = strlen(read_host);
        /* Shown as they were written: percent-encoding, a zone id, a port with zeros in front, an address as one
         * number. */
        bool plain = !strpbrk(host, "%[") && !strstr(host, ":0") &&
                     strspn(host, "0123456789abcdefxABCDEFX.") < strcspn(host, ":");
        FUZZ_CHECK(!plain || strcasecmp(together, host) == 0 ||
                   (strncasecmp(read_host, host, length) == 0 && strcmp(host + length, ":") == 0));
    }
    curl_free(read_host);
    curl_free(port);
    curl_free(user);
    curl_url_cleanup(handle);
}

static void try_good_url(const char *url)
{
    char host[512], *user = NULL, *password = NULL;
    char *joined = rpp_url_join(url, "/push"), *bare = rpp_url_without_userinfo(url);
    FUZZ_CHECK(joined && bare && rpp_url_userinfo(url, &user, &password) == RPP_OK);
    FUZZ_CHECK(rpp_url_is_good(joined, schemes));
    FUZZ_CHECK(!user == !password);
    FUZZ_CHECK(strlen(joined) >= 5 && strcmp(joined + strlen(joined) - 5, "/push") == 0);
    FUZZ_CHECK(!strpbrk(joined, "?#") && !strstr(strstr(joined, "://") + 3, "//"));
    rpp_url_host(joined, host, sizeof host);
    compare_with_curl(joined, host);
    compare_with_curl(bare, host);
    rpp_free(joined);
    rpp_free(bare);
    rpp_free(user);
    rpp_free(password);
}

static void try_quote(const char *bytes, size_t length)
{
    char quoted[RPP_QUOTED_MAX];
    FUZZ_CHECK(rpp_url_quote(quoted, bytes, length) == quoted && fuzz_is_one_line(quoted));
    FUZZ_CHECK(!strstr(quoted, SECRET));
}

static void try_escape(const char *text)
{
    rpp_byte_buffer escaped;
    rpp_byte_buffer_init(&escaped, 4096);
    FUZZ_CHECK(rpp_url_escape(&escaped.sink, text) == RPP_OK && rpp_byte_sink_write(&escaped.sink, "", 1) == RPP_OK);
    int length = 0;
    char *back = curl_easy_unescape(NULL, (const char *)escaped.bytes, 0, &length);
    FUZZ_CHECK(back && (size_t)length == strlen(text) && memcmp(back, text, (size_t)length) == 0);
    curl_free(back);
    rpp_byte_buffer_destroy(&escaped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = {data, size};
    if (memmem(data, size, SECRET, strlen(SECRET))) return 0;
    char secret[700];
    size_t length;
    char *bytes = fuzz_bytes(&input, 255, &length), *rest = fuzz_text(&input, 255);
    try_quote(bytes, length);
    snprintf(secret, sizeof secret, "%.*s%s@%s", (int)length, bytes, SECRET, rest);
    try_quote(secret, strlen(secret));
    snprintf(secret, sizeof secret, "http://user:%s%s@%s", SECRET, bytes, rest);
    try_quote(secret, strlen(secret));
    if (rpp_url_is_good(secret, schemes)) try_good_url(secret);
    if (rpp_url_is_good(bytes, schemes)) try_good_url(bytes);
    try_escape(bytes);
    free(bytes);
    free(rest);
    return 0;
}
