/* http_transfer.c - one request inside libcurl: it supplies the body, collects the answer, and records the end. */
#include "http/http_transfer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/errno_text.h"
#include "base/utf8.h"
#include "http/http_url.h"

#define CONNECT_TIMEOUT_NS (5 * RPP_NS_PER_S)
#define ANSWER_HEADERS_MAX (64u * 1024u)

/* --- libcurl's callbacks
 * -------------------------------------------------------------------------------------------- */

static size_t give_body(char *room, size_t size, size_t count, void *context)
{
    rpp_http_transfer *transfer = context;
    size_t left = transfer->request->body_length - transfer->taken, length = size * count;
    if (length > left) length = left;
    if (length) memcpy(room, (const char *)transfer->request->body + transfer->taken, length);
    transfer->taken += length;
    return length;
}

/* If the body was consumed before this connection existed, it went over a kept connection, which is lost. */
static void note_new_connection(rpp_http_transfer *transfer)
{
    size_t body_length = transfer->request->body_length;
    if (body_length && transfer->taken == body_length) transfer->went_before = true;
}

/* libcurl rewinds if a kept connection turns out to be dead, to send again on a new one. Once the whole body was
 * consumed, the server may have it, and only the caller may decide to send it twice. */
static int rewind_body(void *context, curl_off_t offset, int origin)
{
    rpp_http_transfer *transfer = context;
    if (offset != 0 || origin != SEEK_SET) return CURL_SEEKFUNC_FAIL;
    note_new_connection(transfer);
    if (transfer->went_before) return CURL_SEEKFUNC_FAIL;
    transfer->taken = 0;
    return CURL_SEEKFUNC_OK;
}

/* The new connection may fail before libcurl rewinds. */
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

/* The trimmed value if the line is the named header; NULL otherwise. */
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
    if (transfer->status == 100) transfer->continued = true;
    if (transfer->status == 417 && transfer->expect_ns) transfer->unexpected = true;
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

/* The position of a line decides what it is: a header may also begin with "HTTP/", and trailers come through here. */
static size_t take_header(char *line, size_t size, size_t count, void *context)
{
    rpp_http_transfer *transfer = context;
    size_t length = size * count;
    transfer->header_bytes += length;
    if (!length || transfer->header_bytes > ANSWER_HEADERS_MAX) return 0;
    if (transfer->part == RPP_ANSWER_STATUS) {
        if (length > 5 && strncasecmp(line, "HTTP/", 5) == 0) take_status_line(transfer, line, length);
        if (transfer->unexpected) return 0; /* libcurl would ask again, because the header is ours */
    } else if (transfer->part == RPP_ANSWER_HEADERS) {
        take_header_line(transfer, line, length);
    }
    return length;
}

/* Taking less than offered ends the transfer; the answer is what came until then. */
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

/* --- the request
 * ---------------------------------------------------------------------------------------------------- */

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
    if (transfer->expect_ns) SET(CURLOPT_EXPECT_100_TIMEOUT_MS, milliseconds_up(transfer->expect_ns));
    SET(CURLOPT_CONNECTTIMEOUT_MS, milliseconds_up(left < CONNECT_TIMEOUT_NS ? left : CONNECT_TIMEOUT_NS));
    return code;
}

/* --- the end, and its message
 * ----------------------------------------------------------------------------------------- */

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

/* The status with which a proxy refused CONNECT; nothing of the request has gone out then. 0: none. */
static long proxy_refusal(CURL *easy)
{
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &status);
    return status >= 300 ? status : 0;
}

static rpp_failure failure_of(const rpp_http_transfer *transfer, CURL *easy, CURLcode code, long number)
{
    const rpp_http_response *response = transfer->response;
    if (proxy_refusal(easy)) {
        return proxy_refusal(easy) == 407 ? RPP_FAILURE_PROXY_WANTS_PASSWORD : RPP_FAILURE_PROXY_REFUSED;
    }
    if (response->timed_out) return response->connected ? RPP_FAILURE_TOO_SLOW : RPP_FAILURE_NOBODY_THERE;
    if (response->attempt.end == RPP_END_ABORTED) return RPP_FAILURE_ENDED_BY_US;
    if (response->attempt.sent_whole) return RPP_FAILURE_BROKEN_OFF;
    if (code == CURLE_COULDNT_RESOLVE_HOST) return RPP_FAILURE_HOST_UNKNOWN;
    if (code == CURLE_COULDNT_RESOLVE_PROXY) return RPP_FAILURE_PROXY_UNKNOWN;
    if (code == CURLE_COULDNT_CONNECT) {
        return number == ECONNREFUSED ? RPP_FAILURE_CONNECTION_REFUSED : RPP_FAILURE_UNREACHABLE;
    }
    if (response->tls_error) return rpp_failure_of_tls(*transfer->detail ? transfer->detail : curl_easy_strerror(code));
    return response->connected ? RPP_FAILURE_BROKEN_OFF : RPP_FAILURE_OTHER;
}

/* No line of the answer came; 1xx ones are no answer. libcurl says the same of half a status line. */
static bool is_closed(const rpp_http_transfer *transfer, CURLcode code)
{
    bool silent = transfer->part == RPP_ANSWER_STATUS;
    bool broken = code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR;
    return transfer->went_before || (silent && broken);
}

/* Only texts that can not hold credentials: libcurl's own detail is shown for TLS alone. */
static void describe(rpp_http_transfer *transfer, CURL *easy, CURLcode code)
{
    rpp_http_response *response = transfer->response;
    char host[128], room[RPP_ERRNO_TEXT_MAX], *error = response->error;
    const size_t size = sizeof response->error;
    double seconds = (double)(rpp_monotonic_ns() - transfer->begin_ns) / (double)RPP_NS_PER_S;
    bool sent_whole = response->attempt.sent_whole;
    long number = 0;
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
    rpp_url_host(transfer->request->url, host, sizeof host);
    response->failure = failure_of(transfer, easy, code, number);

    switch (response->failure) {
    case RPP_FAILURE_PROXY_WANTS_PASSWORD:
    case RPP_FAILURE_PROXY_REFUSED:
        snprintf(error, size, "the proxy answered HTTP %ld to CONNECT for %s%s", proxy_refusal(easy), host,
                 proxy_refusal(easy) == 407 ? " (check the user and password of the proxy)" : "");
        break;
    case RPP_FAILURE_NOBODY_THERE: snprintf(error, size, "no connection to %s within %.1f s", host, seconds); break;
    case RPP_FAILURE_TOO_SLOW:
        snprintf(error, size,
                 sent_whole ? "no answer from %s within %.1f s" : "%s had not read the request within %.1f s", host,
                 seconds);
        break;
    case RPP_FAILURE_ENDED_BY_US:
        snprintf(error, size,
                 sent_whole            ? "no answer from %s within %.1f s, when the shutdown ended the upload"
                 : response->connected ? "%s had not read the request within %.1f s, when the shutdown ended the upload"
                                       : "no connection to %s within %.1f s, when the shutdown ended the upload",
                 host, seconds);
        break;
    case RPP_FAILURE_BROKEN_OFF:
        snprintf(error, size, "%s closed the connection %s (%s)", host,
                 sent_whole ? "without an answer" : "before it had read the request", curl_easy_strerror(code));
        break;
    case RPP_FAILURE_HOST_UNKNOWN:
        snprintf(error, size, "could not resolve host %.*s", (int)strcspn(host, ":"), host);
        break;
    case RPP_FAILURE_PROXY_UNKNOWN: snprintf(error, size, "could not resolve the proxy's host"); break;
    case RPP_FAILURE_CONNECTION_REFUSED:
    case RPP_FAILURE_UNREACHABLE:
        snprintf(error, size, "could not connect to %s: %s", host,
                 number ? rpp_errno_text((int)number, room) : curl_easy_strerror(code));
        break;
    case RPP_FAILURE_OTHER: snprintf(error, size, "could not send to %s: %s", host, curl_easy_strerror(code)); break;
    default:
        snprintf(error, size, "TLS with %s failed: %.100s", host,
                 *transfer->detail ? transfer->detail : curl_easy_strerror(code));
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

    /* Bytes that libcurl consumed may still be in its buffer; only bytes that the system took are sent. If libcurl
     * wanted to start again, its counters are already reset. */
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
    attempt->reached = connected && transfer->taken > 0;
    attempt->closed = attempt->end == RPP_END_NO_ANSWER && !timed_out && is_closed(transfer, code);
    response->timed_out = timed_out;
    response->tls_error = is_tls_error(code);
    response->connected = connected;
    describe(transfer, easy, code);
    return RPP_OK;
}
