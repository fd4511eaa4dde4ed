/* rb_trigger.c - triggering the job: the one Ruby function that threads which are not Ruby's may call. */
#include "vm/rb_trigger.h"

#include <pthread.h>
#include <ruby/thread.h>
#include <stdatomic.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "vm/rb_probes.h"

#define STACK_BYTES (64u * 1024u)

static rb_postponed_job_handle_t handle;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool left_vm;        /* set under the lock */
static _Atomic unsigned on_the_way; /* jobs, a bit each, that a thread is about to trigger in the main Ractor */
static _Atomic bool nobody_has_run; /* in a forked child, until its thread has taken the GVL */

void rb_rpp_trigger_init(rb_postponed_job_func_t job)
{
    handle = rb_postponed_job_preregister(0, job, NULL);
}

void rb_rpp_trigger(void)
{
    rb_rpp_trigger_other(handle);
}

void rb_rpp_trigger_other(rb_postponed_job_handle_t job)
{
    pthread_mutex_lock(&lock);
    RB_RPP_PROBE(triggers_job);
    bool safe = !atomic_load(&nobody_has_run) || ruby_native_thread_p();
    if (safe && !left_vm) rb_postponed_job_trigger(job);
    pthread_mutex_unlock(&lock);
}

void rb_rpp_trigger_here(void)
{
    if (!atomic_load(&left_vm)) rb_postponed_job_trigger(handle);
}

/* Waits a little, so that two Ractors do not pass the job to each other forever. */
static void *trigger_from_outside(void *unused)
{
    static const struct timespec a_moment = {0, 5 * (long)RPP_NS_PER_MS};
    nanosleep(&a_moment, NULL);
    unsigned jobs = atomic_exchange(&on_the_way, 0);
    for (rb_postponed_job_handle_t job = 0; jobs; job++, jobs >>= 1) {
        if (jobs & 1) rb_rpp_trigger_other(job);
    }
    return NULL;
}

void rb_rpp_trigger_in_main_ractor(void)
{
    rb_rpp_trigger_other_in_main_ractor(handle);
}

void rb_rpp_trigger_other_in_main_ractor(rb_postponed_job_handle_t job)
{
    pthread_t thread;
    if (atomic_fetch_or(&on_the_way, 1u << job)) return;
    if (rpp_thread_start(&thread, "rpp-trigger", STACK_BYTES, trigger_from_outside, NULL) == RPP_OK) {
        pthread_detach(thread);
    } else {
        atomic_store(&on_the_way, 0); /* the next trigger does it */
    }
}

/* NULL is what rb_nogvl returns if it was not called. */
static void *nothing(void *unused)
{
    return &nobody_has_run;
}

bool rb_rpp_trigger_knows_who_runs(void)
{
    if (!atomic_load(&nobody_has_run)) return true;
    if (!rb_nogvl(nothing, NULL, NULL, NULL, RB_NOGVL_INTR_FAIL)) {
        rb_rpp_trigger();
        return false;
    }
    atomic_store(&nobody_has_run, false);
    return true;
}

void rb_rpp_trigger_gc_entered(void)
{
    pthread_mutex_lock(&lock);
    RB_RPP_PROBE(gc_entered);
    pthread_mutex_unlock(&lock);
}

void rb_rpp_trigger_leave_vm(void)
{
    pthread_mutex_lock(&lock);
    left_vm = true;
    pthread_mutex_unlock(&lock);
}

void rb_rpp_trigger_discard_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    atomic_store(&on_the_way, 0);
    atomic_store(&nobody_has_run, true);
}
