/* rb_testing_ticks.c - the testing build's count of ticks by method. */
#include "testing/rb_testing_ticks.h"

#ifdef RPP_TESTING

#include "core/base/clock.h"
#include "frames/rb_frames.h"
#include "vm/rb_probes.h"

#define LATE_NS (5 * RPP_NS_PER_US)
#define METHODS 4096u /* further ones share the last place */

static struct {
    uint32_t frame;
    unsigned long ticks, deferred, late;
} counts[METHODS];

/* One thread at a time has the GVL. What it still owes when another one owes a tick is late, whenever that is taken. */
static struct {
    const struct rb_rpp_thread *who;
    uint64_t since_ns;
} pending;

static bool taking;
static uint64_t taking_since_ns;

/* Of several ticks that a thread owes at a time, the first counts. */
static void tick_pending(const struct rb_rpp_thread *t)
{
    if (pending.who == t) return;
    pending.who = t;
    pending.since_ns = rpp_monotonic_ns();
}

static void pending_tick_begins(const struct rb_rpp_thread *t)
{
    taking = true;
    taking_since_ns = pending.who == t ? pending.since_ns : 0;
    if (pending.who == t) pending.who = NULL;
}

static void pending_tick_ends(void)
{
    taking = false;
}

static size_t place_of(uint32_t frame)
{
    size_t at = frame % (METHODS - 1);
    for (size_t tries = 0; tries < METHODS - 1; tries++, at = (at + 1) % (METHODS - 1)) {
        if (!counts[at].ticks) counts[at].frame = frame;
        if (counts[at].frame == frame) return at;
    }
    return METHODS - 1;
}

static void tick_captured(uint32_t leaf, bool in_handler)
{
    if (!taking && !in_handler) return; /* a wait's end */
    size_t at = place_of(leaf);
    counts[at].ticks++;
    if (!taking) return;
    counts[at].deferred++;
    counts[at].late += rpp_monotonic_ns() - taking_since_ns > LATE_NS;
}

static VALUE name_of(uint32_t frame)
{
    const rpp_frame_name *name = rpp_frame_names_get(rb_rpp_frames_names(), frame);
    return name ? rb_utf8_str_new(name->name, name->name_length) : rb_sprintf("frame %u", frame);
}

static VALUE ticks_by_method(VALUE self)
{
    VALUE methods = rb_hash_new();
    for (size_t at = 0; at < METHODS; at++) {
        if (!counts[at].ticks) continue;
        VALUE numbers = rb_ary_new_from_args(3, ULONG2NUM(counts[at].ticks), ULONG2NUM(counts[at].deferred),
                                             ULONG2NUM(counts[at].late));
        rb_hash_aset(methods, at < METHODS - 1 ? name_of(counts[at].frame) : rb_str_new_cstr("others"), numbers);
    }
    return methods;
}

void rb_rpp_testing_ticks_init(VALUE native)
{
    rb_rpp_probed.tick_pending = tick_pending;
    rb_rpp_probed.pending_tick_begins = pending_tick_begins;
    rb_rpp_probed.pending_tick_ends = pending_tick_ends;
    rb_rpp_probed.tick_captured = tick_captured;
    rb_define_singleton_method(native, "ticks_by_method", ticks_by_method, 0);
}

#endif
