/* rb_jobs.c - requests for work at a safepoint, from any thread. */
#include "vm/rb_jobs.h"

#include <stdatomic.h>
#include <stddef.h>

#include "vm/rb_trigger.h"

static _Atomic(void (*)(void)) requested[RB_RPP_REQUESTS];

void rb_rpp_jobs_request(rb_rpp_request what, void (*function)(void))
{
    atomic_store(&requested[what], function);
    rb_rpp_trigger();
}

bool rb_rpp_jobs_any_requested(void)
{
    for (size_t i = 0; i < RB_RPP_REQUESTS; i++) {
        if (atomic_load(&requested[i])) return true;
    }
    return false;
}

void rb_rpp_jobs_do_requested(void)
{
    for (size_t i = 0; i < RB_RPP_REQUESTS; i++) {
        void (*request)(void) = atomic_exchange(&requested[i], NULL);
        if (request) request();
    }
}
