/* secrets.c - hides credentials in foreign text: a server may repeat them in an error message. */
#include "http/secrets.h"

#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "http/http_url.h"

#define SHORTEST  6u
#define BASIC_MAX (64u * 1024)

static void hide_text(char *text, const char *secret)
{
    size_t length = secret ? strlen(secret) : 0;
    if (length < SHORTEST) return;
    for (char *at = text; (at = strstr(at, secret)); at += length) memset(at, '*', length);
}

static rpp_status write_text(rpp_byte_sink *sink, const char *text)
{
    return rpp_byte_sink_write(sink, text, strlen(text));
}

/* "user:password" in base64 */
static rpp_status hide_basic(char *text, const char *user, const char *password)
{
    rpp_byte_buffer plain, encoded;
    rpp_byte_buffer_init(&plain, BASIC_MAX);
    rpp_byte_buffer_init(&encoded, 2 * BASIC_MAX);
    rpp_status status = write_text(&plain.sink, user);
    if (status == RPP_OK) status = write_text(&plain.sink, ":");
    if (status == RPP_OK) status = write_text(&plain.sink, password);
    if (status == RPP_OK) status = rpp_base64_write(&encoded.sink, plain.bytes, plain.length);
    if (status == RPP_OK) status = rpp_byte_sink_write(&encoded.sink, "", 1);
    if (status == RPP_OK) hide_text(text, (const char *)encoded.bytes);
    rpp_byte_buffer_destroy(&plain);
    rpp_byte_buffer_destroy(&encoded);
    return status;
}

static rpp_status hide_user(char *text, const char *user, const char *password)
{
    hide_text(text, password);
    return user && password ? hide_basic(text, user, password) : RPP_OK;
}

static rpp_status hide_userinfo(char *text, const char *url)
{
    char *user = NULL, *password = NULL;
    rpp_status status = url ? rpp_url_userinfo(url, &user, &password) : RPP_OK;
    if (status == RPP_OK) status = hide_user(text, user, password);
    rpp_free(user);
    rpp_free(password);
    return status;
}

void rpp_secrets_hide(const rpp_settings *settings, char *text)
{
    hide_text(text, settings->auth_token);
    for (size_t i = 0; i < settings->http_headers.count; i++) hide_text(text, settings->http_headers.items[i].value);
    rpp_status status = hide_user(text, settings->basic_auth_username, settings->basic_auth_password);
    if (status == RPP_OK) status = hide_userinfo(text, settings->server_address);
    if (status == RPP_OK) status = hide_userinfo(text, settings->proxy);
    if (status != RPP_OK) *text = '\0';
}
