/* thread_clocks.c - where one thread's time goes: by what it was doing, and under which labels. */
#include "thread_clocks.h"

#include <string.h>

static const rpp_state ON_GVL[] = {RPP_STATE_RUNNING, RPP_STATE_GC_MARKING, RPP_STATE_GC_SWEEPING};
#define ON_GVL_COUNT (sizeof ON_GVL / sizeof *ON_GVL)

static uint64_t since(uint64_t now_ns, uint64_t mark_ns)
{
    return now_ns > mark_ns ? now_ns - mark_ns : 0;
}

static uint64_t share(uint64_t ns, uint64_t part, uint64_t whole)
{
    return ns == whole ? part : (uint64_t)((double)ns * ((double)part / (double)whole));
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static rpp_clock_part more(rpp_clock_part sum, rpp_clock_part part)
{
    return (rpp_clock_part){.wall_ns = sum.wall_ns + part.wall_ns, .cpu_ns = sum.cpu_ns + part.cpu_ns};
}

static rpp_clock_part less(rpp_clock_part sum, rpp_clock_part part)
{
    return (rpp_clock_part){.wall_ns = sum.wall_ns - part.wall_ns, .cpu_ns = sum.cpu_ns - part.cpu_ns};
}

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

static void give(rpp_thread_clocks *c, rpp_clock_slot *slot, rpp_state state, rpp_clock_part part)
{
    slot->wall_ns[state] += part.wall_ns;
    slot->cpu_ns[state] += part.cpu_ns;
    if (state == RPP_STATE_RUNNING) c->ran_ns += part.cpu_ns;
}

static void give_cpu(rpp_thread_clocks *c, rpp_clock_slot *slot, rpp_state state, uint64_t ns)
{
    give(c, slot, state, (rpp_clock_part){.cpu_ns = ns});
    c->spent[state].cpu_ns += ns;
}

static uint64_t unread(const rpp_thread_clocks *c, const rpp_state *states, size_t count)
{
    uint64_t sum = 0;
    for (size_t slot = 0; slot < c->in_use; slot++) {
        for (size_t i = 0; i < count; i++) sum += c->slots[slot].unread_ns[states[i]];
    }
    return sum;
}

/* Gives CPU time to these states of all slots, in proportion; returns how much was given, which may be a little less. */
static uint64_t give_shared(rpp_thread_clocks *c, const rpp_state *states, size_t count, uint64_t cpu_ns)
{
    uint64_t given = 0, whole = unread(c, states, count);
    for (size_t slot = 0; slot < c->in_use && whole; slot++) {
        for (size_t i = 0; i < count; i++) {
            uint64_t wall = c->slots[slot].unread_ns[states[i]];
            if (!wall) continue;
            uint64_t part = least(share(cpu_ns, wall, whole), cpu_ns - given);
            give_cpu(c, &c->slots[slot], states[i], part);
            given += part;
        }
    }
    return given;
}

void rpp_thread_clocks_read(rpp_thread_clocks *c, uint64_t cpu_ns)
{
    static const rpp_state OFF_GVL[] = {RPP_STATE_BLOCKED};
    uint64_t left = since(cpu_ns, c->cpu_mark_ns), on_gvl = unread(c, ON_GVL, ON_GVL_COUNT);
    bool off_gvl = left > on_gvl;
    c->cpu_mark_ns += left;
    left -= give_shared(c, ON_GVL, ON_GVL_COUNT, least(left, on_gvl));
    if (off_gvl) left -= give_shared(c, OFF_GVL, 1, left);
    /* Clocks that disagree by a little, and rounding. */
    if (left) give_cpu(c, rpp_thread_clocks_current(c), RPP_STATE_RUNNING, left);
    forget_unread(c);
}

void rpp_thread_clocks_fade(rpp_thread_clocks *c)
{
    for (size_t i = 0; i < RPP_STATE_COUNT; i++) {
        c->spent[i].wall_ns /= 2;
        c->spent[i].cpu_ns /= 2;
    }
}

void rpp_thread_clocks_pass_unseen(rpp_thread_clocks *c, uint64_t now_ns)
{
    uint64_t passed = since(now_ns, c->wall_mark_ns);
    rpp_thread_clocks_current(c)->unseen_ns += passed;
    c->wall_mark_ns += passed;
}

/* To running and the GC, as they shared the wall time. */
static void fill_on_gvl(rpp_thread_clocks *c, rpp_clock_slot *slot, rpp_clock_part gap, uint64_t spent_ns)
{
    rpp_clock_part left = gap;
    for (size_t i = 0; i < ON_GVL_COUNT; i++) {
        uint64_t spent = c->spent[ON_GVL[i]].wall_ns;
        if (ON_GVL[i] == RPP_STATE_RUNNING || !spent) continue;
        rpp_clock_part part = {.wall_ns = least(share(gap.wall_ns, spent, spent_ns), left.wall_ns),
                               .cpu_ns = least(share(gap.cpu_ns, spent, spent_ns), left.cpu_ns)};
        give(c, slot, ON_GVL[i], part);
        left = less(left, part);
    }
    give(c, slot, RPP_STATE_RUNNING, left);
}

static void fill_off_gvl(rpp_thread_clocks *c, rpp_clock_slot *slot, rpp_clock_part gap)
{
    uint64_t blocked = c->spent[RPP_STATE_BLOCKED].wall_ns, waiting = c->spent[RPP_STATE_WAITING].wall_ns;
    uint64_t waited = waiting ? share(gap.wall_ns, waiting, blocked + waiting) : 0;
    give(c, slot, RPP_STATE_WAITING, (rpp_clock_part){.wall_ns = waited});
    give(c, slot, RPP_STATE_BLOCKED, (rpp_clock_part){.wall_ns = gap.wall_ns - waited, .cpu_ns = gap.cpu_ns});
}

/* CPU time is known best: whatever was usual, on the GVL there was at least as much wall time as CPU time. */
static void fill_slot(rpp_thread_clocks *c, rpp_clock_slot *slot, rpp_clock_part gap)
{
    rpp_clock_part spent = {0}, spent_on_gvl = {0}, on_gvl = gap;
    for (size_t i = 0; i < ON_GVL_COUNT; i++) spent_on_gvl = more(spent_on_gvl, c->spent[ON_GVL[i]]);
    for (size_t i = 0; i < RPP_STATE_COUNT; i++) spent = more(spent, c->spent[i]);
    if (spent.cpu_ns) on_gvl.cpu_ns = share(gap.cpu_ns, spent_on_gvl.cpu_ns, spent.cpu_ns);
    uint64_t usual_ns = spent.wall_ns ? share(gap.wall_ns, spent_on_gvl.wall_ns, spent.wall_ns) : 0;
    on_gvl.wall_ns = usual_ns > on_gvl.cpu_ns ? usual_ns : least(on_gvl.cpu_ns, gap.wall_ns);
    fill_on_gvl(c, slot, on_gvl, spent_on_gvl.wall_ns);
    fill_off_gvl(c, slot, less(gap, on_gvl));
}

/* Labels share the CPU time as they share the wall time; the current ones have what cannot be divided. */
void rpp_thread_clocks_fill(rpp_thread_clocks *c, uint64_t now_ns, uint64_t cpu_ns)
{
    rpp_thread_clocks_pass_unseen(c, now_ns);
    uint64_t gap_cpu_ns = since(cpu_ns, c->cpu_mark_ns), left_ns = gap_cpu_ns, unseen_ns = 0;
    for (size_t i = 0; i < c->in_use; i++) unseen_ns += c->slots[i].unseen_ns;
    for (size_t i = 0; i < c->in_use; i++) {
        rpp_clock_slot *slot = &c->slots[i];
        if (i == c->current || !slot->unseen_ns) continue;
        rpp_clock_part part = {.wall_ns = slot->unseen_ns,
                               .cpu_ns = least(share(gap_cpu_ns, slot->unseen_ns, unseen_ns), left_ns)};
        fill_slot(c, slot, part);
        left_ns -= part.cpu_ns;
        slot->unseen_ns = 0;
    }
    rpp_clock_slot *current = rpp_thread_clocks_current(c);
    fill_slot(c, current, (rpp_clock_part){.wall_ns = current->unseen_ns, .cpu_ns = left_ns});
    current->unseen_ns = 0;
    c->cpu_mark_ns += gap_cpu_ns;
    rpp_thread_clocks_fade(c);
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
    return !slot->unseen_ns;
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
