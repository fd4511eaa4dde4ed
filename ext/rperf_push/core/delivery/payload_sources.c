/* payload_sources.c - where the uploader's payloads wait: in memory (the queue) and, if there is one, on disk (the
 * spool). */
#include "delivery/payload_sources.h"

static bool keep_overflow(rpp_payload *payload, void *spool)
{
    return rpp_spool_put(spool, payload) == RPP_OK;
}

static void tell_spool(void *spool, unsigned claim)
{
    if (claim) rpp_spool_sending(spool, claim);
}

void rpp_payload_sources_join(const rpp_payload_sources *self, rpp_http_client *http)
{
    if (!self->spool) return;
    rpp_payload_queue_set_overflow(self->queue, keep_overflow, self->spool);
    if (!http) return;
    http->before_send = tell_spool;
    http->before_send_context = self->spool;
}

void rpp_payload_sources_part(const rpp_payload_sources *self)
{
    if (self->spool) rpp_payload_queue_set_overflow(self->queue, NULL, NULL);
}

void rpp_payload_sources_inspect(const rpp_payload_sources *self, rpp_prospect *prospect)
{
    prospect->disk_takes = self->spool && !self->disk_refuses;
    prospect->backlog = self->backlog;
    prospect->due_ns[RPP_SOURCE_DISK] = self->spool ? rpp_spool_due_ns(self->spool, prospect->now_ns) : UINT64_MAX;
    prospect->due_ns[RPP_SOURCE_MEMORY] = rpp_payload_queue_due_ns(self->queue);
    prospect->due_ns[RPP_SOURCE_SET_ASIDE] = self->spool ? rpp_spool_next_deferred_ns(self->spool) : UINT64_MAX;
}

rpp_payload *rpp_payload_sources_take(rpp_payload_sources *self, rpp_source source, uint64_t now_ns)
{
    if (source == RPP_SOURCE_MEMORY) return rpp_payload_queue_pop(self->queue, now_ns);
    if (source == RPP_SOURCE_SET_ASIDE) return rpp_spool_take_deferred(self->spool, now_ns);
    rpp_payload *payload = rpp_spool_take(self->spool, now_ns);
    self->backlog = payload != NULL;
    return payload;
}

bool rpp_payload_sources_store(rpp_payload_sources *self, rpp_payload *payload)
{
    if (!self->spool) return false;
    rpp_status status =
        payload->claim ? rpp_spool_give_back(self->spool, payload) : rpp_spool_put(self->spool, payload);
    payload->claim = 0;
    self->disk_refuses = status != RPP_OK;
    if (self->disk_refuses) return false;
    rpp_payload_free(payload);
    return true;
}

void rpp_payload_sources_put_back(rpp_payload_sources *self, rpp_payload *payload)
{
    if (!rpp_payload_sources_store(self, payload)) rpp_payload_queue_push(self->queue, payload);
}

void rpp_payload_sources_end(const rpp_payload_sources *self, rpp_payload *payload)
{
    if (payload->claim) rpp_spool_remove(self->spool, payload->claim);
    rpp_payload_free(payload);
}

void rpp_payload_sources_hurry(const rpp_payload_sources *self)
{
    if (self->spool) rpp_spool_hurry(self->spool);
    rpp_payload_queue_hurry(self->queue); /* wakes the thread, too */
}
