/* rb_waiting.c - waits for our own threads, without the GVL, until a deadline or an interrupt. */
#include "vm/rb_waiting.h"

#include "core/base/thread.h"

#define STACK_BYTES (256u * 1024u)

typedef struct call {
    rb_rpp_wait *wait;
    void *context;
    rpp_cancellation cancellation;
    rpp_status status;
} call;

static void *run(void *argument)
{
    call *c = argument;
    c->status = c->wait(c->context, &c->cancellation);
    return NULL;
}

static void interrupt(void *argument)
{
    rpp_cancellation_cancel(&((call *)argument)->cancellation);
}

/* After an interrupt without an exception (a signal handler that returns, Thread#wakeup) it waits again. */
static VALUE run_without_gvl(VALUE argument)
{
    call *c = (call *)argument;
    do {
        atomic_store(&c->cancellation.cancelled, false);
        rb_thread_call_without_gvl(run, c, interrupt, c);
    } while (c->status == RPP_TIMEOUT && atomic_load(&c->cancellation.cancelled));
    return Qnil;
}

int rb_rpp_wait_until(rb_rpp_wait *wait, void *context, uint64_t deadline_ns, rpp_status *status)
{
    call c = {.wait = wait, .context = context, .cancellation.deadline_ns = deadline_ns, .status = RPP_TIMEOUT};
    int thrown = 0;
    rb_protect(run_without_gvl, (VALUE)&c, &thrown);
    *status = c.status;
    return thrown;
}

rpp_status rb_rpp_finish_later(void *(*finish)(void *context), void *context)
{
    pthread_t thread;
    rpp_status status = rpp_thread_start(&thread, "rpp-finisher", STACK_BYTES, finish, context);
    if (status == RPP_OK) pthread_detach(thread);
    return status;
}
