/* backend_fallback.c - two backends for a server that knows only one of them. If one answers 404 or 501, the other is
 * tried. The server has stored nothing of such a request, so the other one gets the payload within the same try.
 */
#include "backends/backend_kinds.h"
#include "base/alloc.h"
#include "base/log.h"

typedef struct fallback {
    rpp_backend backend; /* first */
    rpp_backend *choices[2];
    unsigned in_use;
} fallback;

static bool is_unknown_there(const rpp_upload_result *result)
{
    const rpp_attempt *attempt = &result->attempt;
    return attempt->end == RPP_END_ANSWERED && (attempt->http_status == 404 || attempt->http_status == 501);
}

static bool is_good(const rpp_upload_result *result)
{
    const rpp_attempt *attempt = &result->attempt;
    return attempt->end == RPP_END_ANSWERED && attempt->http_status >= 200 && attempt->http_status <= 299;
}

static void use_other(fallback *self, unsigned choice, int status)
{
    if (self->in_use == choice) return;
    rpp_log(RPP_LOG_INFO, "the server answers %d to %s: using %s", status, self->choices[!choice]->name,
            self->choices[choice]->name);
    self->in_use = choice;
}

/* If the server knows neither, show the answer of the one in use. */
static rpp_status deliver(rpp_backend *backend, const rpp_payload *payload, uint64_t deadline_ns,
                          rpp_upload_result *result)
{
    fallback *self = (fallback *)backend;
    unsigned choice = self->in_use;
    rpp_backend *usual = self->choices[choice], *other = self->choices[!choice];
    rpp_upload_result of_other = {0};
    rpp_status status = usual->deliver(usual, payload, deadline_ns, result);
    if (status != RPP_OK || !is_unknown_there(result)) return status;

    status = other->deliver(other, payload, deadline_ns, &of_other);
    if (status != RPP_OK || is_unknown_there(&of_other)) return status;
    if (is_good(&of_other)) use_other(self, !choice, result->attempt.http_status);
    *result = of_other;
    return RPP_OK;
}

static rpp_status begin(rpp_backend *backend, rpp_flight *flight)
{
    fallback *self = (fallback *)backend;
    flight->choice = self->in_use;
    flight->detour = false;
    rpp_backend *usual = self->choices[flight->choice];
    return usual->begin(usual, flight);
}

static rpp_status end(rpp_backend *backend, rpp_flight *flight)
{
    fallback *self = (fallback *)backend;
    rpp_backend *asked = self->choices[flight->choice];
    rpp_upload_result of_usual = flight->result; /* on the detour */
    rpp_status status = asked->end(asked, flight);
    if (status != RPP_OK) return status;
    if (flight->detour) {
        if (is_good(&flight->result)) use_other(self, flight->choice, of_usual.attempt.http_status);
        if (is_unknown_there(&flight->result)) flight->result = of_usual;
        return RPP_OK;
    }
    if (!is_unknown_there(&flight->result)) return RPP_OK;
    flight->detour = true;
    flight->choice = !flight->choice;
    rpp_backend *other = self->choices[flight->choice];
    return other->begin(other, flight);
}

static void free_both(rpp_backend *backend)
{
    fallback *self = (fallback *)backend;
    if (!self) return;
    for (unsigned i = 0; i < 2; i++) self->choices[i]->free(self->choices[i]);
    rpp_free(self);
}

rpp_backend *rpp_backend_fallback_new(rpp_backend *first, rpp_backend *second)
{
    fallback *self = first && second ? rpp_calloc(1, sizeof *self) : NULL;
    if (!self) {
        if (first) first->free(first);
        if (second) second->free(second);
        return NULL;
    }
    self->choices[0] = first;
    self->choices[1] = second;
    self->backend = *first;
    self->backend.deliver = deliver;
    if (first->begin && second->begin) {
        self->backend.begin = begin;
        self->backend.end = end;
    }
    self->backend.free = free_both;
    return &self->backend;
}
