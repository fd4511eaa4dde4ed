/* failing_allocations.h - a backend whose allocations fail one after the other, for the tests of backends over HTTP. */
#ifndef FAILING_ALLOCATIONS_H
#define FAILING_ALLOCATIONS_H

#include "backends/backend.h"
#include "base/alloc.h"
#include "fake_http_client.h"
#include "test.h"

typedef rpp_backend *(*backend_maker)(const rpp_settings *settings, rpp_http_client *http);

/* Creates the backend and delivers, without the first allocation, then without the second, and so on. Each failure is
 * reported. After the answer a failure may only shorten the message: to `short_message`, if there is one. */
static inline void check_each_allocation(backend_maker make, const rpp_settings *settings, const rpp_payload *payload,
                                         int http_status, const char *short_message)
{
    for (size_t nth = 1;; nth++) {
        rpp_upload_result result = {0};
        fake_http_client http;
        fake_http_client_init(&http);
        fake_http_client_answer(&http, http_status, "text/plain", "no");
        rpp_alloc_fail_at(nth);
        rpp_backend *backend = make(settings, &http.client);
        rpp_status status = backend ? backend->deliver(backend, payload, 1, &result) : RPP_NO_MEMORY;
        bool failed = rpp_alloc_count() >= nth;
        rpp_alloc_fail_at(0);
        if (backend) backend->free(backend);
        fake_http_client_destroy(&http);
        if (failed && status == RPP_OK && short_message) {
            CHECK_STR(result.message, short_message);
        } else {
            CHECK_INT(status, failed ? RPP_NO_MEMORY : RPP_OK);
        }
        if (!failed) return;
    }
}

#endif
