/* fake_http_client.c - an HTTP client without a network: keeps what it is given, answers what it is told. */
#include "fake_http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static void discard(fake_http_client *self)
{
    free(self->url);
    free(self->sent_type);
    free(self->headers);
    free(self->sent);
    self->url = self->sent_type = self->headers = self->sent = NULL;
}

static char *join_headers(const rpp_http_request *request)
{
    size_t length = 1, used = 0;
    for (size_t i = 0; i < RPP_HTTP_HEADERS_MAX && request->headers[i]; i++) length += strlen(request->headers[i]) + 1;
    char *all = calloc(1, length);
    for (size_t i = 0; i < RPP_HTTP_HEADERS_MAX && request->headers[i]; i++) {
        used += (size_t)snprintf(all + used, length - used, "%s\n", request->headers[i]);
    }
    return all;
}

static rpp_status perform(rpp_http_client *client, const rpp_http_request *request, rpp_http_response *response)
{
    fake_http_client *self = (fake_http_client *)client;
    discard(self);
    self->count++;
    self->url = strdup(request->url);
    self->sent_type = strdup(request->content_type ? request->content_type : "");
    self->headers = join_headers(request);
    self->sent = calloc(1, request->body_length + 1);
    memcpy(self->sent, request->body, request->body_length);
    self->sent_length = request->body_length;
    self->deadline_ns = request->deadline_ns;
    if (client->before_send) client->before_send(client->before_send_context, request->claim);
    if (self->status != RPP_OK) return self->status;

    *response =
        (rpp_http_response){.attempt = self->attempt, .timed_out = self->timed_out, .connected = self->connected};
    if (self->content_type) snprintf(response->content_type, sizeof response->content_type, "%s", self->content_type);
    if (self->error) snprintf(response->error, sizeof response->error, "%s", self->error);
    if (self->body) {
        response->body = rpp_strdup(self->body);
        if (!response->body) return RPP_NO_MEMORY;
        response->body_length = strlen(self->body);
    }
    return RPP_OK;
}

static void interrupt(rpp_http_client *client)
{
    (void)client;
}

static void client_free(rpp_http_client *client)
{
    (void)client;
}

void fake_http_client_init(fake_http_client *self)
{
    *self = (fake_http_client){.client = {.perform = perform, .interrupt = interrupt, .free = client_free}};
    fake_http_client_answer(self, 200, NULL, NULL);
}

void fake_http_client_destroy(fake_http_client *self)
{
    discard(self);
}

void fake_http_client_answer(fake_http_client *self, int status, const char *content_type, const char *body)
{
    self->attempt = (rpp_attempt){.end = RPP_END_ANSWERED, .http_status = status, .sent_whole = true};
    self->content_type = content_type;
    self->body = body;
}
