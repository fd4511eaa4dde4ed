/* open_windows.c - the windows that were not delivered yet: their times and their samples. */
#include "profile/open_windows.h"

#include "profile/last_stacks.h"
#include "profile/window_part.h"
#include "sampling/thread_time.h"

/* A process that works now and then reaches a safepoint this soon after the end of a window; an idle process does
 * not. */
#define SAFEPOINT_WAIT_NS (5 * RPP_NS_PER_S)
/* Windows follow the monotonic clock. If the wall clock was set by more than this, the next window starts at the new
 * time. */
#define CLOCK_STEP_NS     RPP_NS_PER_S

static uint64_t current_offset(const rpp_open_windows *w)
{
    return w->clock->realtime_ns(w->clock->context) - w->clock->monotonic_ns(w->clock->context);
}

static uint64_t first_interval(uint64_t interval_ns)
{
    uint64_t random = rpp_random_seed();
    uint64_t tenths = 1000 + rpp_random_next(&random) % 9001;
    return interval_ns / 10000 * tenths;
}

void rpp_open_windows_init(rpp_open_windows *w, uint64_t now_ns)
{
    w->due_ns = now_ns + first_interval(w->interval_ns);
    w->realtime_offset_ns = current_offset(w);
    rpp_open_windows_open(w, now_ns);
}

void rpp_open_windows_destroy(rpp_open_windows *w)
{
    rpp_profile_free(w->profiles[0]);
    rpp_profile_free(w->profiles[1]);
}

void rpp_open_windows_open(rpp_open_windows *w, uint64_t start_ns)
{
    atomic_store(&w->start_ns, start_ns);
}

rpp_status rpp_open_windows_add(rpp_open_windows *w, const rpp_sample *sample, const rpp_location *locations)
{
    rpp_profile **slot = &w->profiles[sample->window & 1];
    if (!*slot) *slot = rpp_profile_new(&w->limits);
    return *slot ? rpp_profile_add(*slot, sample, locations) : RPP_NO_MEMORY;
}

uint64_t rpp_open_windows_realtime_ns(const rpp_open_windows *w, uint64_t monotonic_ns)
{
    return monotonic_ns + w->realtime_offset_ns;
}

/* --- in parts --- */

uint64_t rpp_open_windows_known_due_ns(const rpp_open_windows *w, uint32_t window)
{
    const rpp_profile *profile = w->profiles[window & 1];
    if (!profile || w->known_until_ns || !rpp_profile_row_count(profile)) return UINT64_MAX;
    uint64_t half_ns = w->interval_ns / 2;
    return w->due_ns + (half_ns > SAFEPOINT_WAIT_NS ? half_ns : SAFEPOINT_WAIT_NS);
}

static void distribute(rpp_open_windows *w, rpp_profile *profile, rpp_weighing weighing)
{
    if (weighing.last) rpp_give_last_stacks(profile);
    rpp_profile_distribute(profile, weighing.longest_ns, weighing.last, &w->carry_over);
}

rpp_profile *rpp_open_windows_take_known(rpp_open_windows *w, uint32_t window, rpp_weighing weighing,
                                         const rpp_frame_names *names, uint64_t now_ns)
{
    rpp_profile *profile = w->profiles[window & 1];
    w->known_until_ns = now_ns;
    distribute(w, profile, weighing);
    return rpp_window_part_known(profile, names, &w->limits);
}

/* --- the end --- */

bool rpp_open_windows_is_named(const rpp_open_windows *w, uint32_t window, const rpp_frame_names *names)
{
    const rpp_profile *profile = w->profiles[window & 1];
    return !profile || rpp_profile_is_named(profile, names);
}

static rpp_profile *take_sampled(rpp_open_windows *w, uint32_t window, rpp_weighing weighing)
{
    rpp_profile *profile = w->profiles[window & 1];
    w->profiles[window & 1] = NULL;
    if (!profile) return NULL;
    distribute(w, profile, weighing);
    if (rpp_profile_row_count(profile)) return profile;
    rpp_profile_free(profile);
    return NULL;
}

rpp_closed_window rpp_open_windows_close(rpp_open_windows *w, uint32_t window, rpp_weighing weighing, uint64_t end_ns)
{
    rpp_closed_window closed = {.start_ns = atomic_load(&w->start_ns), .known_until_ns = w->known_until_ns};
    w->known_until_ns = 0;
    closed.profile = take_sampled(w, window, weighing);
    closed.since_ns = closed.known_until_ns && closed.known_until_ns < end_ns ? closed.known_until_ns : closed.start_ns;
    if (closed.known_until_ns && closed.profile) {
        uint64_t since_known_ns = rpp_ns_since(end_ns, closed.known_until_ns);
        closed.late = rpp_window_part_late(closed.profile, since_known_ns, &w->limits);
    }
    return closed;
}

static uint64_t next_due_ns(const rpp_open_windows *w, uint64_t start_ns)
{
    bool is_little_late = start_ns >= w->due_ns && start_ns - w->due_ns < w->interval_ns;
    return (w->keeps_pace && is_little_late ? w->due_ns : start_ns) + w->interval_ns;
}

void rpp_open_windows_begin(rpp_open_windows *w, uint64_t start_ns)
{
    uint64_t offset = current_offset(w);
    int64_t step = (int64_t)(offset - w->realtime_offset_ns);
    if (step > (int64_t)CLOCK_STEP_NS || step < -(int64_t)CLOCK_STEP_NS) w->realtime_offset_ns = offset;
    rpp_open_windows_open(w, start_ns);
    w->due_ns = next_due_ns(w, start_ns);
}
