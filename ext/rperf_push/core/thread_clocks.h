/* thread_clocks.h - where one thread's time goes: by what it was doing, and under which labels.
 *
 * Vocabulary
 *   advance     gives the wall time since the last mark to a state.
 *   read        gives the CPU time since the last reading to the states the thread was in meanwhile. Reading a CPU clock is a
 *               system call, so it is not done at every change of state: what ran on the GVL (running, GC) gets CPU time up
 *               to its wall time, in proportion, and what is left was burnt off the GVL.
 *   slot        the clocks of one label set. Changing labels changes the slot; coming back finds the time of before.
 *   take        empties one clock into a sample that is about to be pushed; untake puts it back when there was no room.
 *   unseen      wall time in which nobody listened; its labels are known all the same.
 *   fill        shares out unseen time, among the states as the time before. Half of what is known of that is forgotten with
 *               each fill and each fade, so that it is about the last windows.
 *   event       a time off the GVL, or in the GC, that is captured when it is over. One that lasted a period or more gets its
 *               own time, exactly. Shorter ones share a line of time with a mark at every period: the one that comes to a mark
 *               gets a period. Were it given all there is, long events would be blamed for the short ones before them.
 *
 * Threads    one at a time: the thread itself, or whoever holds the GVL while the thread does not run.
 *            Async-signal-safe, except release of label sets in switch_labels and reset.
 */
#ifndef RPP_THREAD_CLOCKS_H
#define RPP_THREAD_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "label_sets.h"
#include "sample_buffer.h"

#define RPP_LABEL_SLOTS 24

typedef struct rpp_clock_slot {
    uint64_t wall_ns[RPP_STATE_COUNT], cpu_ns[RPP_STATE_COUNT];
    uint64_t unread_ns[RPP_STATE_COUNT]; /* wall time since the last reading of the CPU clock */
    uint64_t unseen_ns;
    rpp_label_set *labels;                 /* one reference, or NULL */
    uint32_t used;                         /* for the choice of a slot to reuse: larger is later */
    uint32_t captured_in[RPP_STATE_COUNT]; /* for the owner: which of its windows last saw a capture of this clock */
} rpp_clock_slot;

typedef struct rpp_clock_part {
    uint64_t cpu_ns, wall_ns;
} rpp_clock_part;

typedef struct rpp_thread_clocks {
    uint64_t wall_mark_ns, cpu_mark_ns;
    uint64_t unread_ns;                    /* of all slots */
    uint64_t ran_ns;                       /* CPU time given to running, of all slots, taken or not: never goes back */
    rpp_clock_part spent[RPP_STATE_COUNT]; /* of all slots, taken or not: lately */
    rpp_clock_part before_event[RPP_STATE_COUNT]; /* what the current slot held of the event's states when it began */
    uint32_t uses;
    uint32_t current;
    uint32_t in_use; /* slots from here on have never been current since the last reset */
    rpp_clock_slot slots[RPP_LABEL_SLOTS];
} rpp_thread_clocks;

/* All clocks at zero, marks as given, no labels. Releases labels. The struct must be zeroed before its first reset. */
void rpp_thread_clocks_reset(rpp_thread_clocks *clocks, uint64_t now_ns, uint64_t cpu_ns);

/* After a pause: new marks, what the clocks hold stays. */
void rpp_thread_clocks_restart(rpp_thread_clocks *clocks, uint64_t now_ns, uint64_t cpu_ns);

static inline rpp_clock_slot *rpp_thread_clocks_current(rpp_thread_clocks *clocks)
{
    return &clocks->slots[clocks->current];
}

/* Inline, as it is most of what a hook does. */
static inline void rpp_thread_clocks_advance(rpp_thread_clocks *clocks, rpp_state state, uint64_t now_ns)
{
    if (now_ns <= clocks->wall_mark_ns) return;
    uint64_t passed = now_ns - clocks->wall_mark_ns;
    rpp_clock_slot *slot = rpp_thread_clocks_current(clocks);
    slot->wall_ns[state] += passed;
    slot->unread_ns[state] += passed;
    clocks->unread_ns += passed;
    clocks->spent[state].wall_ns += passed;
    clocks->wall_mark_ns = now_ns;
}

/* Wall time for which the CPU clock has not been read yet. */
static inline uint64_t rpp_thread_clocks_unread_ns(const rpp_thread_clocks *clocks)
{
    return clocks->unread_ns;
}

void rpp_thread_clocks_read(rpp_thread_clocks *clocks, uint64_t cpu_ns);

/* Gives the wall time since the mark to the current slot, unseen. CPU time must have been read at the first mark of these. */
void rpp_thread_clocks_pass_unseen(rpp_thread_clocks *clocks, uint64_t now_ns);
/* All that passed unseen, with the CPU time since the mark: as much of both as there is, no more and no less. */
void rpp_thread_clocks_fill(rpp_thread_clocks *clocks, uint64_t now_ns, uint64_t cpu_ns);
void rpp_thread_clocks_fade(rpp_thread_clocks *clocks);

/* What a clock holds, moved into the sample (cpu, wall, state, labels retained). False: it was empty. */
bool rpp_clock_slot_take(rpp_clock_slot *slot, rpp_state state, rpp_sample *sample);
/* Puts back what is more than the part; the sample holds the part. */
void rpp_clock_slot_keep_rest(rpp_clock_slot *slot, rpp_sample *sample, rpp_clock_part part);
/* Puts the time back and lets go of the label reference. */
void rpp_clock_slot_untake(rpp_clock_slot *slot, const rpp_sample *sample);
bool rpp_clock_slot_is_empty(const rpp_clock_slot *slot);

/* An event is of two states: blocked and waiting, or marking and sweeping. */
static inline void rpp_thread_clocks_begin_event(rpp_thread_clocks *clocks, const rpp_state states[2])
{
    const rpp_clock_slot *slot = rpp_thread_clocks_current(clocks);
    for (int i = 0; i < 2; i++) {
        clocks->before_event[states[i]] = (rpp_clock_part){slot->cpu_ns[states[i]], slot->wall_ns[states[i]]};
    }
}

/* False: neither state is due. True: they may be. */
static inline bool rpp_thread_clocks_event_may_be_due(rpp_thread_clocks *clocks, const rpp_state states[2],
                                                      uint64_t period_ns)
{
    const rpp_clock_slot *slot = rpp_thread_clocks_current(clocks);
    return slot->wall_ns[states[0]] >= period_ns || slot->wall_ns[states[1]] >= period_ns ||
           slot->cpu_ns[states[0]] >= period_ns || slot->cpu_ns[states[1]] >= period_ns;
}

/* What the event that ends now is given of one clock. False: nothing yet. */
bool rpp_thread_clocks_event_is_due(const rpp_thread_clocks *clocks, rpp_state state, uint64_t period_ns,
                                    rpp_clock_part *part);

/* The slot that switch_labels would have to empty first, or NULL: push its time, then switch. */
rpp_clock_slot *rpp_thread_clocks_slot_in_the_way(rpp_thread_clocks *clocks, const rpp_label_set *labels);
/* Makes the labels current (retains). Time still in a slot that is in the way would be lost: see above. */
void rpp_thread_clocks_switch_labels(rpp_thread_clocks *clocks, rpp_label_set *labels);

#endif
