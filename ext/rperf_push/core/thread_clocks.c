/* thread_clocks.c - where one thread's time goes: by what it was doing, and under which labels. */
#include "thread_clocks.h"

#include <string.h>

static const rpp_state ON_GVL[] = {RPP_STATE_RUNNING, RPP_STATE_GC_MARKING, RPP_STATE_GC_SWEEPING};
#define ON_GVL_COUNT (sizeof ON_GVL / sizeof *ON_GVL)

void rpp_thread_clocks_reset(rpp_thread_clocks *c, uint64_t now_ns, uint64_t cpu_ns)
{
    for (size_t i = 0; i < c->in_use; i++) rpp_label_set_release(c->slots[i].labels);
    memset(c, 0, sizeof *c);
    c->wall_mark_ns = now_ns;
    c->cpu_mark_ns = cpu_ns;
    c->in_use = 1;
}

static void forget_unread(rpp_thread_clocks *c)
{
    c->unread_ns = 0;
    for (size_t slot = 0; slot < c->in_use; slot++) {
        memset(c->slots[slot].unread_ns, 0, sizeof c->slots[slot].unread_ns);
    }
}

void rpp_thread_clocks_restart(rpp_thread_clocks *c, uint64_t now_ns, uint64_t cpu_ns)
{
    forget_unread(c);
    c->wall_mark_ns = now_ns;
    c->cpu_mark_ns = cpu_ns;
}

static uint64_t unread_on_gvl(const rpp_thread_clocks *c)
{
    uint64_t sum = 0;
    for (size_t slot = 0; slot < c->in_use; slot++) {
        for (size_t i = 0; i < ON_GVL_COUNT; i++) sum += c->slots[slot].unread_ns[ON_GVL[i]];
    }
    return sum;
}

/* Gives CPU time to what ran on the GVL, in proportion; returns how much was given. */
static uint64_t give_on_gvl(rpp_thread_clocks *c, uint64_t cpu_ns, uint64_t on_gvl_ns)
{
    uint64_t given = 0;
    for (size_t slot = 0; slot < c->in_use; slot++) {
        for (size_t i = 0; i < ON_GVL_COUNT; i++) {
            uint64_t unread = c->slots[slot].unread_ns[ON_GVL[i]];
            if (!unread) continue;
            uint64_t part = (uint64_t)((double)cpu_ns * ((double)unread / (double)on_gvl_ns));
            c->slots[slot].cpu_ns[ON_GVL[i]] += part;
            if (ON_GVL[i] == RPP_STATE_RUNNING) c->ran_ns += part;
            given += part;
        }
    }
    return given;
}

/* Burnt off the GVL, if the thread was; else rounding, or clocks that disagree by a little: nothing must be lost. */
static uint64_t *rest_of(rpp_thread_clocks *c, bool off_gvl)
{
    for (size_t slot = 0; slot < c->in_use && off_gvl; slot++) {
        if (c->slots[slot].unread_ns[RPP_STATE_BLOCKED]) return &c->slots[slot].cpu_ns[RPP_STATE_BLOCKED];
    }
    return &c->slots[c->current].cpu_ns[RPP_STATE_RUNNING];
}

void rpp_thread_clocks_read(rpp_thread_clocks *c, uint64_t cpu_ns)
{
    uint64_t spent = cpu_ns > c->cpu_mark_ns ? cpu_ns - c->cpu_mark_ns : 0;
    uint64_t on_gvl = unread_on_gvl(c);
    uint64_t given = on_gvl ? give_on_gvl(c, spent < on_gvl ? spent : on_gvl, on_gvl) : 0;
    if (spent > given) {
        uint64_t *rest = rest_of(c, spent > on_gvl);
        *rest += spent - given;
        if (rest == &rpp_thread_clocks_current(c)->cpu_ns[RPP_STATE_RUNNING]) c->ran_ns += spent - given;
    }
    forget_unread(c);
    if (cpu_ns > c->cpu_mark_ns) c->cpu_mark_ns = cpu_ns;
}

bool rpp_clock_slot_take(rpp_clock_slot *slot, rpp_state state, rpp_sample *sample)
{
    if (!slot->wall_ns[state] && !slot->cpu_ns[state]) return false;
    sample->wall_ns = slot->wall_ns[state];
    sample->cpu_ns = slot->cpu_ns[state];
    sample->state = (uint8_t)state;
    sample->labels = rpp_label_set_retain(slot->labels);
    slot->wall_ns[state] = slot->cpu_ns[state] = 0;
    return true;
}

void rpp_clock_slot_keep_rest(rpp_clock_slot *slot, rpp_sample *sample, rpp_clock_part part)
{
    slot->wall_ns[sample->state] += sample->wall_ns - part.wall_ns;
    slot->cpu_ns[sample->state] += sample->cpu_ns - part.cpu_ns;
    sample->wall_ns = part.wall_ns;
    sample->cpu_ns = part.cpu_ns;
}

static uint64_t share(uint64_t ns, uint64_t part, uint64_t whole)
{
    return ns == whole ? part : (uint64_t)((double)ns * ((double)part / (double)whole));
}

bool rpp_thread_clocks_event_is_due(const rpp_thread_clocks *c, rpp_state state, uint64_t period_ns,
                                    rpp_clock_part *part)
{
    const rpp_clock_slot *slot = &c->slots[c->current];
    rpp_clock_part all = {.cpu_ns = slot->cpu_ns[state], .wall_ns = slot->wall_ns[state]};
    rpp_clock_part own = {.cpu_ns = all.cpu_ns - c->before_event[state].cpu_ns,
                          .wall_ns = all.wall_ns - c->before_event[state].wall_ns};
    if (own.wall_ns >= period_ns || own.cpu_ns >= period_ns) {
        *part = own;
        return true;
    }
    uint64_t gathered =
        all.wall_ns > all.cpu_ns ? all.wall_ns : all.cpu_ns; /* CPU time may have stayed from the window before */
    if (gathered < period_ns) return false;
    part->wall_ns = share(all.wall_ns, period_ns, gathered);
    part->cpu_ns = share(all.cpu_ns, period_ns, gathered);
    return true;
}

void rpp_clock_slot_untake(rpp_clock_slot *slot, const rpp_sample *sample)
{
    slot->wall_ns[sample->state] += sample->wall_ns;
    slot->cpu_ns[sample->state] += sample->cpu_ns;
    /* The slot holds a reference of its own, so this one is never the last. */
    rpp_label_set_release(sample->labels);
}

bool rpp_clock_slot_is_empty(const rpp_clock_slot *slot)
{
    for (size_t i = 0; i < RPP_STATE_COUNT; i++) {
        if (slot->wall_ns[i] || slot->cpu_ns[i]) return false;
    }
    return true;
}

static bool has_labels(const rpp_clock_slot *slot, const rpp_label_set *labels)
{
    return slot->labels == labels || rpp_label_set_equal(slot->labels, labels);
}

/* The slot of these labels; else one without time; else the one used longest ago. Never the current one for others. */
static uint32_t slot_for(const rpp_thread_clocks *c, const rpp_label_set *labels)
{
    uint32_t best = c->current == 0 ? 1 : 0;
    for (uint32_t i = 0; i < c->in_use; i++) {
        if (has_labels(&c->slots[i], labels)) return i;
    }
    for (uint32_t i = 0; i < c->in_use; i++) {
        if (i == c->current) continue;
        if (rpp_clock_slot_is_empty(&c->slots[i])) return i;
        if (c->slots[i].used < c->slots[best].used) best = i;
    }
    return c->in_use < RPP_LABEL_SLOTS ? c->in_use : best;
}

rpp_clock_slot *rpp_thread_clocks_slot_in_the_way(rpp_thread_clocks *c, const rpp_label_set *labels)
{
    rpp_clock_slot *slot = &c->slots[slot_for(c, labels)];
    return has_labels(slot, labels) || rpp_clock_slot_is_empty(slot) ? NULL : slot;
}

void rpp_thread_clocks_switch_labels(rpp_thread_clocks *c, rpp_label_set *labels)
{
    uint32_t index = slot_for(c, labels);
    rpp_clock_slot *slot = &c->slots[index];
    if (!has_labels(slot, labels)) {
        rpp_label_set_release(slot->labels);
        memset(slot, 0, sizeof *slot);
        slot->labels = rpp_label_set_retain(labels);
    }
    slot->used = ++c->uses;
    c->current = index;
    if (index >= c->in_use) c->in_use = index + 1;
}
