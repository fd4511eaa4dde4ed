/* payload.c - creates and frees payloads. */
#include "backends/payload.h"

#include "base/alloc.h"
#include "settings/pairs.h"

rpp_payload *rpp_payload_new(uint8_t *bytes, size_t length)
{
    rpp_payload *payload = rpp_calloc(1, sizeof *payload);
    if (!payload) {
        rpp_free(bytes);
        return NULL;
    }
    payload->bytes = bytes;
    payload->length = length;
    return payload;
}

void rpp_payload_free(rpp_payload *payload)
{
    if (!payload) return;
    rpp_pairs_destroy(&payload->labels);
    rpp_free(payload->bytes);
    rpp_free(payload);
}
