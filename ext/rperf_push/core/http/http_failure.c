/* http_failure.c - finds the reason of a failure in the words of libraries and servers. No other file reads these
 * words. */
#include "http/http_failure.h"

#include <stddef.h>
#include <string.h>

const char *rpp_failure_name(rpp_failure failure)
{
    static const char *const names[] = {
#define X(id, name) [RPP_FAILURE_##id] = name,
        RPP_FAILURES(X)
#undef X
    };
    return names[failure];
}

typedef struct wording {
    const char *text;
    rpp_failure means;
} wording;

/* Returns the reason of the first wording that the text contains. */
static rpp_failure read_words(const char *text, const wording *wordings, size_t count, rpp_failure otherwise)
{
    for (size_t i = 0; i < count; i++) {
        if (strstr(text, wordings[i].text)) return wordings[i].means;
    }
    return otherwise;
}

#define READ(text, wordings, otherwise) read_words(text, wordings, sizeof(wordings) / sizeof *(wordings), otherwise)

rpp_failure rpp_failure_of_tls(const char *text)
{
    static const wording wordings[] = {
        {"self signed", RPP_FAILURE_TLS_UNTRUSTED},
        {"self-signed", RPP_FAILURE_TLS_UNTRUSTED},
        {"unable to get issuer", RPP_FAILURE_TLS_UNTRUSTED},
        {"unable to get local issuer", RPP_FAILURE_TLS_UNTRUSTED},
        {"unable to verify", RPP_FAILURE_TLS_UNTRUSTED},
        {"expired", RPP_FAILURE_TLS_EXPIRED},
        {"subject name", RPP_FAILURE_TLS_OTHER_NAME},
        {"does not match", RPP_FAILURE_TLS_OTHER_NAME},
        {"hostname", RPP_FAILURE_TLS_OTHER_NAME},
        {"host name", RPP_FAILURE_TLS_OTHER_NAME},
        {"wrong version number", RPP_FAILURE_TLS_NOT_SPOKEN},
        {"packet length", RPP_FAILURE_TLS_NOT_SPOKEN},
        {"unknown protocol", RPP_FAILURE_TLS_NOT_SPOKEN},
        {"record layer", RPP_FAILURE_TLS_NOT_SPOKEN},
        {"alert", RPP_FAILURE_TLS_BROKEN_OFF},
        {"certificate required", RPP_FAILURE_TLS_BROKEN_OFF},
        {"handshake failure", RPP_FAILURE_TLS_BROKEN_OFF},
    };
    return READ(text, wordings, RPP_FAILURE_TLS);
}

rpp_failure rpp_failure_of_answer(const char *text)
{
    static const wording wordings[] = {
        {"outside of ingestion window", RPP_FAILURE_OUTSIDE_WINDOW},
        {"invalid label name", RPP_FAILURE_LABEL_NAME},
        {"duplicate label name", RPP_FAILURE_LABEL_NAME},
        {"label names; limit", RPP_FAILURE_TOO_MANY_LABELS},
        {"message size", RPP_FAILURE_TOO_LARGE},
        {"larger than max", RPP_FAILURE_TOO_LARGE},
        {"exceeds limit", RPP_FAILURE_TOO_LARGE},
        {"exceeds the samples", RPP_FAILURE_TOO_LARGE},
        {"too large", RPP_FAILURE_TOO_LARGE},
        {"no org id", RPP_FAILURE_NO_TENANT},
    };
    return READ(text, wordings, RPP_FAILURE_NONE);
}
