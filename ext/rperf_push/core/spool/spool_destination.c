/* spool_destination.c - a number for the destination of payloads. */
#include "spool/spool_destination.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "http/http_client.h"
#include "http/http_url.h"

static uint64_t hash(uint64_t sum, const char *text)
{
    if (!text) text = "";
    do {
        sum = (sum ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    } while (*text++); /* including the NUL, which separates the texts */
    return sum;
}

/* Files of a directory carry the application's name. Pyroscope accepts the same profile at either address. */
rpp_status rpp_spool_destination(const rpp_settings *settings, uint64_t *destination)
{
    uint64_t sum = hash(UINT64_C(0xcbf29ce484222325), "1");
    bool is_directory = settings->backend == RPP_BACKEND_DIRECTORY;
    if (is_directory) {
        *destination = hash(hash(hash(sum, "directory"), settings->directory), settings->application_name);
        return RPP_OK;
    }
    bool plain = settings->backend == RPP_BACKEND_HTTP, parca = settings->backend == RPP_BACKEND_PARCA;
    char *user = NULL, *password = NULL, *url = rpp_url_join(settings->server_address, "/");
    if (!url) return RPP_NO_MEMORY;
    rpp_status status = rpp_url_userinfo(settings->server_address, &user, &password);
    rpp_free(password);
    if (status == RPP_OK) {
        sum = hash(hash(sum, plain ? "http" : parca ? "parca" : "pyroscope"), url);
        sum = hash(sum, settings->basic_auth_username ? settings->basic_auth_username : user);
        *destination = hash(sum, settings->tenant_id);
    }
    rpp_free(user);
    rpp_free(url);
    return status;
}
