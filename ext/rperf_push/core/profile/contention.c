/* contention.c - which waits were for something that another thread had. */
#include "profile/contention.h"

#include <string.h>

/* Methods that wait inside themselves; with Ruby 3.3 or later a queue's are written in Ruby. A condition does since
 * 4.0. */
static const char *const waits[] = {
    "Thread::Mutex#lock",
    "Thread::Mutex#synchronize",
    "Monitor#enter",
    "Monitor#synchronize",
    "Monitor#mon_enter",
    "Monitor#mon_synchronize",
    "Thread::Queue#pop",
    "Thread::Queue#shift",
    "Thread::Queue#deq",
    "Thread::SizedQueue#pop",
    "Thread::SizedQueue#shift",
    "Thread::SizedQueue#deq",
    "Thread::SizedQueue#push",
    "Thread::SizedQueue#enq",
    "Thread::SizedQueue#<<",
    "Thread::ConditionVariable#wait",
};

static bool is(const rpp_frame_name *frame, const char *text)
{
    return frame && frame->name_length == strlen(text) && memcmp(frame->name, text, frame->name_length) == 0;
}

static bool is_wait(const rpp_frame_name *frame)
{
    if (!frame || !frame->name_length || (frame->name[0] != 'T' && frame->name[0] != 'M')) return false;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        if (is(frame, waits[i])) return true;
    }
    return false;
}

static const rpp_frame_name *frame_at(const rpp_profile *profile, const rpp_row *row, const rpp_frame_names *names,
                                      uint32_t at)
{
    uint32_t depth;
    const uint32_t *stack = rpp_stack_table_get(rpp_profile_stacks(profile), row->stack, &depth);
    if (at >= depth) return NULL;
    return rpp_frame_names_get(names, rpp_stack_table_location(rpp_profile_stacks(profile), stack[at]).frame);
}

static bool waits_for_a_thread(const rpp_profile *profile, const rpp_row *row, const rpp_frame_names *names)
{
    const rpp_frame_name *leaf = frame_at(profile, row, names, 0);
    /* A condition sleeps on its mutex, before 4.0; who calls that alone just sleeps. */
    if (is(leaf, "Thread::Mutex#sleep")) {
        return is(frame_at(profile, row, names, 1), "Thread::ConditionVariable#wait");
    }
    return is_wait(leaf);
}

void rpp_find_contentions(rpp_profile *profile, const rpp_frame_names *names)
{
    for (size_t i = 0; i < rpp_profile_row_count(profile); i++) {
        rpp_row *row = rpp_profile_row(profile, i);
        bool for_gvl = row->state == RPP_STATE_WAITING;
        bool for_thread = (for_gvl || row->state == RPP_STATE_BLOCKED) && waits_for_a_thread(profile, row, names);
        row->delay_ns = for_gvl || for_thread ? row->wall_ns : 0;
        /* A thread that has got its lock waits on, for the GVL: this is one wait, which counts where it was blocked. */
        if (for_gvl == for_thread) row->contentions = 0;
    }
}
