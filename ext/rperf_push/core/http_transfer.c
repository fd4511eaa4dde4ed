/* http_transfer.c - one request on its way through libcurl: the body given, the answer taken, and how it ended. */
#include "http_transfer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "alloc.h"
#include "clock.h"
#include "errno_text.h"
#include "http_url.h"
#include "utf8.h"

#define CONNECT_TIMEOUT_NS (5 * RPP_NS_PER_S)
#define ANSWER_HEADERS_MAX (64u * 1024u)

/* --- libcurl's callbacks -------------------------------------------------------------------------------------------- */

static size_t give_body(char *room, size_t size, size_t count, void *context)
{
    rpp_http_transfer *transfer = context;
    size_t left = transfer->request->body_length - transfer->taken, length = size * count;
    if (length > left) length = left;
    if (length) memcpy(room, (const char *)transfer->request->body + transfer->taken, length);
    transfer->taken += length;
    return length;
}

/* What is wholly taken before there is a connection to give it to went over a kept one, which is lost. */
static void note_new_connection(rpp_http_transfer *transfer)
{
    size_t body_length = transfer->request->body_length;
    if (body_length && transfer->taken == body_length) transfer->went_before = true;
}

/* libcurl rewinds when a kept connection turns out dead, to send again on a new one. Once all of the body was taken the
 * server may have it, and only the caller may decide to send it twice. */
static int rewind_body(void *context, curl_off_t offset, int origin)
{
    rpp_http_transfer *transfer = context;
    if (offset != 0 || origin != SEEK_SET) return CURL_SEEKFUNC_FAIL;
    note_new_connection(transfer);
    if (transfer->went_before) return CURL_SEEKFUNC_FAIL;
    transfer->taken = 0;
    return CURL_SEEKFUNC_OK;
}

/* The new connection may fail before libcurl comes to rewinding. */
static int see_socket(void *context, curl_socket_t socket, curlsocktype purpose)
{
    (void)socket, (void)purpose;
    note_new_connection(context);
    return CURL_SOCKOPT_OK;
}

static int see_lookup(void *state, void *reserved, void *context)
{
    (void)state, (void)reserved;
    note_new_connection(context);
    return 0;
}

/* The value when the line is the named header, its end cut off; NULL otherwise. */
static const char *header_value(const char *line, size_t length, const char *name, char *room, size_t size)
{
    size_t name_length = strlen(name);
    if (length <= name_length || line[name_length] != ':' || strncasecmp(line, name, name_length) != 0) return NULL;
    const char *value = line + name_length + 1, *end = line + length;
    while (value < end && (*value == ' ' || *value == '\t')) value++;
    while (end > value && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' ')) end--;
    size_t value_length = rpp_utf8_copy(room, size - 1, value, (size_t)(end - value));
    room[value_length] = '\0';
    return room;
}

static void take_status_line(rpp_http_transfer *transfer, const char *line, size_t length)
{
    char copy[32];
    size_t copied = length < sizeof copy ? length : sizeof copy - 1;
    memcpy(copy, line, copied);
    copy[copied] = '\0';
    if (sscanf(copy, "%*s %3d", &transfer->status) != 1) transfer->status = 0;
    transfer->response->attempt.retry_after_ns = 0;
    transfer->response->content_type[0] = '\0';
    transfer->part = RPP_ANSWER_HEADERS;
}

static void take_header_line(rpp_http_transfer *transfer, const char *line, size_t length)
{
    rpp_http_response *response = transfer->response;
    char value[128];
    if (*line == '\r' || *line == '\n') {
        transfer->part = transfer->status < 200 ? RPP_ANSWER_STATUS : RPP_ANSWER_REST; /* 1xx: another one follows */
    } else if (header_value(line, length, "Retry-After", value, sizeof value)) {
        response->attempt.retry_after_ns = rpp_retry_after_ns(value, rpp_realtime_ns());
    } else {
        header_value(line, length, "Content-Type", response->content_type, sizeof response->content_type);
    }
}

/* Where a line stands decides what it is: a header may begin with "HTTP/", too, and trailers come through here. */
static size_t take_header(char *line, size_t size, size_t count, void *context)
{
    rpp_http_transfer *transfer = context;
    size_t length = size * count;
    transfer->header_bytes += length;
    if (!length || transfer->header_bytes > ANSWER_HEADERS_MAX) return 0;
    if (transfer->part == RPP_ANSWER_STATUS) {
        if (length > 5 && strncasecmp(line, "HTTP/", 5) == 0) take_status_line(transfer, line, length);
    } else if (transfer->part == RPP_ANSWER_HEADERS) {
        take_header_line(transfer, line, length);
    }
    return length;
}

/* Less taken than given ends the transfer: what came until then is the answer. */
static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
    rpp_http_transfer *transfer = context;
    rpp_http_response *response = transfer->response;
    size_t length = size * count, room = RPP_HTTP_BODY_MAX - response->body_length;
    size_t kept = length < room ? length : room;
    rpp_status status =
        rpp_grow((void **)&response->body, &transfer->body_capacity, response->body_length + kept + 1, 1);
    if (status != RPP_OK) return 0;
    memcpy(response->body + response->body_length, bytes, kept);
    response->body_length += kept;
    response->body[response->body_length] = '\0';
    return kept;
}

/* --- the request ---------------------------------------------------------------------------------------------------- */

static long milliseconds_up(uint64_t ns)
{
    return (long)((ns + RPP_NS_PER_MS - 1) / RPP_NS_PER_MS);
}

#define SET(option, value) (code = code != CURLE_OK ? code : curl_easy_setopt(easy, option, value))

CURLcode rpp_http_transfer_attach(rpp_http_transfer *transfer, CURL *easy, struct curl_slist *headers)
{
    const rpp_http_request *request = transfer->request;
    uint64_t now = transfer->begin_ns, left = request->deadline_ns > now ? request->deadline_ns - now : 1;
    CURLcode code = CURLE_OK;
    SET(CURLOPT_URL, request->url);
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
    SET(CURLOPT_READFUNCTION, give_body);
    SET(CURLOPT_READDATA, transfer);
    SET(CURLOPT_SEEKFUNCTION, rewind_body);
    SET(CURLOPT_SEEKDATA, transfer);
    SET(CURLOPT_SOCKOPTFUNCTION, see_socket);
    SET(CURLOPT_SOCKOPTDATA, transfer);
    SET(CURLOPT_RESOLVER_START_FUNCTION, see_lookup);
    SET(CURLOPT_RESOLVER_START_DATA, transfer);
    SET(CURLOPT_HEADERFUNCTION, take_header);
    SET(CURLOPT_HEADERDATA, transfer);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, transfer);
    SET(CURLOPT_ERRORBUFFER, transfer->detail);
    SET(CURLOPT_CONNECTTIMEOUT_MS, milliseconds_up(left < CONNECT_TIMEOUT_NS ? left : CONNECT_TIMEOUT_NS));
    return code;
}

/* --- the end, and its words ----------------------------------------------------------------------------------------- */

static bool is_tls_error(CURLcode code)
{
    switch (code) {
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_USE_SSL_FAILED: return true;
    default: return false;
    }
}

/* What a proxy answered to CONNECT instead of a way to the server: then nothing of the request has gone out. 0: no such. */
static long proxy_refusal(CURL *easy)
{
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &status);
    return status >= 300 ? status : 0;
}

/* Only texts that can not hold credentials: libcurl's own detail is shown for TLS alone. */
static void describe(rpp_http_transfer *transfer, CURL *easy, CURLcode code)
{
    rpp_http_response *response = transfer->response;
    char host[128], room[RPP_ERRNO_TEXT_MAX], *error = response->error;
    const size_t size = sizeof response->error;
    double seconds = (double)(rpp_monotonic_ns() - transfer->begin_ns) / (double)RPP_NS_PER_S;
    long number = 0;
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
    rpp_url_host(transfer->request->url, host, sizeof host);

    if (proxy_refusal(easy)) {
        snprintf(error, size, "the proxy answered HTTP %ld to CONNECT for %s%s", proxy_refusal(easy), host,
                 proxy_refusal(easy) == 407 ? " (check the user and password of the proxy)" : "");
    } else if (response->timed_out && !response->connected) {
        snprintf(error, size, "no connection to %s within %.1f s", host, seconds);
    } else if (response->timed_out && !response->attempt.sent_whole) {
        snprintf(error, size, "%s had not read the request within %.1f s", host, seconds);
    } else if (response->timed_out) {
        snprintf(error, size, "no answer from %s within %.1f s", host, seconds);
    } else if (response->attempt.end == RPP_END_ABORTED) {
        snprintf(error, size, "the upload to %s was ended by the shutdown", host);
    } else if (response->attempt.sent_whole) {
        snprintf(error, size, "%s closed the connection without an answer (%s)", host, curl_easy_strerror(code));
    } else if (code == CURLE_COULDNT_RESOLVE_HOST) {
        snprintf(error, size, "could not resolve host %.*s", (int)strcspn(host, ":"), host);
    } else if (code == CURLE_COULDNT_RESOLVE_PROXY) {
        snprintf(error, size, "could not resolve the proxy's host");
    } else if (code == CURLE_COULDNT_CONNECT) {
        snprintf(error, size, "could not connect to %s: %s", host,
                 number ? rpp_errno_text((int)number, room) : curl_easy_strerror(code));
    } else if (response->tls_error) {
        snprintf(error, size, "TLS with %s failed: %.100s", host,
                 *transfer->detail ? transfer->detail : curl_easy_strerror(code));
    } else if (response->connected) {
        snprintf(error, size, "%s closed the connection before it had read the request (%s)", host,
                 curl_easy_strerror(code));
    } else {
        snprintf(error, size, "could not send to %s: %s", host, curl_easy_strerror(code));
    }
    rpp_utf8_one_line(error, strlen(error));
}

rpp_status rpp_http_transfer_conclude(rpp_http_transfer *transfer, CURL *easy, rpp_transfer_end end, CURLcode code)
{
    rpp_http_response *response = transfer->response;
    rpp_attempt *attempt = &response->attempt;
    curl_off_t uploaded = 0, pretransfer_us = 0;
    curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &uploaded);
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &pretransfer_us);
    bool connected = pretransfer_us > 0 || transfer->went_before;
    bool timed_out = end == RPP_TRANSFER_OUT_OF_TIME || code == CURLE_OPERATION_TIMEDOUT;

    /* What libcurl took may still lie in its buffer: sent is what the system has taken. Where libcurl wanted to begin
     * anew its counters have done so already. */
    size_t body_length = transfer->request->body_length;
    attempt->sent_whole =
        transfer->went_before || (connected && transfer->taken == body_length && (uint64_t)uploaded >= body_length);
    if (transfer->status >= 200) {
        attempt->end = RPP_END_ANSWERED;
        attempt->http_status = transfer->status;
        return RPP_OK;
    }
    if (end == RPP_TRANSFER_FINISHED && code == CURLE_OUT_OF_MEMORY && !attempt->sent_whole) return RPP_NO_MEMORY;

    attempt->end = end == RPP_TRANSFER_INTERRUPTED ? RPP_END_ABORTED
                   : attempt->sent_whole           ? RPP_END_NO_ANSWER
                                                   : RPP_END_NOT_SENT;
    long refusal = proxy_refusal(easy);
    bool refused_for_good = refusal >= 400 && refusal <= 499 && refusal != 408 && refusal != 429;
    attempt->permanent =
        code == CURLE_URL_MALFORMAT || (code == CURLE_UNSUPPORTED_PROTOCOL && !connected) || refused_for_good;
    response->timed_out = timed_out;
    response->tls_error = is_tls_error(code);
    response->connected = connected;
    describe(transfer, easy, code);
    return RPP_OK;
}
