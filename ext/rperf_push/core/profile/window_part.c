/* window_part.c - moves time of rows from one profile to another. */
#include "profile/window_part.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* The values of the part, and its samples. All of it, or nothing. */
static bool move(rpp_profile *from, rpp_row *row, const rpp_row *part, rpp_profile *to)
{
    uint32_t depth;
    const uint32_t *stack = rpp_stack_table_get(rpp_profile_stacks(from), row->stack, &depth);
    rpp_location *locations = rpp_calloc((size_t)depth + 1, sizeof *locations);
    if (!locations) return false;
    for (uint32_t i = 0; i < depth; i++) locations[i] = rpp_stack_table_location(rpp_profile_stacks(from), stack[i]);
    rpp_label_set *labels = (rpp_label_set *)rpp_label_sets_get(rpp_profile_label_sets(from), row->labels);
    rpp_profile_add_row(to, part, labels, locations, depth);
    rpp_free(locations);
    for (rpp_value value = 0; value < RPP_VALUE_COUNT; value++) row->values[value] -= part->values[value];
    return true;
}

static rpp_profile *unless_empty(rpp_profile *part)
{
    if (part && rpp_profile_row_count(part)) return part;
    rpp_profile_free(part);
    return NULL;
}

/* --- the known part
 * ------------------------------------------------------------------------------------------------- */

static bool is_named(const rpp_profile *profile, const rpp_row *row, const rpp_frame_names *names)
{
    uint32_t depth;
    const uint32_t *stack = rpp_stack_table_get(rpp_profile_stacks(profile), row->stack, &depth);
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t frame = rpp_stack_table_location(rpp_profile_stacks(profile), stack[i]).frame;
        if (frame >= RPP_FRAME_FIRST && !rpp_frame_names_get(names, frame)) return false;
    }
    return true;
}

rpp_profile *rpp_window_part_known(rpp_profile *profile, const rpp_frame_names *names, const rpp_profile_limits *limits)
{
    rpp_profile *known = rpp_profile_new(limits);
    for (size_t i = 0; known && i < rpp_profile_row_count(profile); i++) {
        rpp_row *row = rpp_profile_row(profile, i);
        const rpp_row all = *row;
        if (!is_named(profile, row, names) || !move(profile, row, &all, known)) continue;
        row->squares = (rpp_squares){{0}};
        row->samples = 0;
    }
    return unless_empty(known);
}

/* --- the late part
 * -------------------------------------------------------------------------------------------------- */

static int by_thread(const void *a, const void *b)
{
    const rpp_row *one = *(rpp_row *const *)a, *other = *(rpp_row *const *)b;
    if (one->thread_seq != other->thread_seq) return one->thread_seq < other->thread_seq ? -1 : 1;
    return one < other ? -1 : one > other;
}

static void take_from_thread(rpp_profile *from, rpp_row *const *rows, size_t count, uint64_t since_ns,
                             rpp_profile *late)
{
    static const rpp_state waits[] = {RPP_STATE_BLOCKED, RPP_STATE_WAITING};
    uint64_t wall_ns = 0;
    for (size_t i = 0; i < count; i++) wall_ns += rows[i]->wall_ns;
    uint64_t excess_ns = wall_ns > since_ns ? wall_ns - since_ns : 0;
    for (size_t k = 0; k < sizeof waits / sizeof *waits; k++) {
        for (size_t i = 0; i < count && excess_ns; i++) {
            uint64_t part_ns = rows[i]->wall_ns < excess_ns ? rows[i]->wall_ns : excess_ns;
            /* The waits and samples stay with the other part. */
            const rpp_row part = {.wall_ns = part_ns, .thread_seq = rows[i]->thread_seq, .state = rows[i]->state};
            if (rows[i]->state != waits[k] || !part_ns || !move(from, rows[i], &part, late)) continue;
            excess_ns -= part_ns;
        }
    }
}

rpp_profile *rpp_window_part_late(rpp_profile *profile, uint64_t since_ns, const rpp_profile_limits *limits)
{
    size_t count = rpp_profile_row_count(profile);
    rpp_profile *late = rpp_profile_new(limits);
    rpp_row **rows = rpp_calloc(count + 1, sizeof *rows);
    if (late && rows) {
        for (size_t i = 0; i < count; i++) rows[i] = rpp_profile_row(profile, i);
        qsort(rows, count, sizeof *rows, by_thread);
        for (size_t first = 0, next; first < count; first = next) {
            for (next = first + 1; next < count && rows[next]->thread_seq == rows[first]->thread_seq; next++) continue;
            /* Thread 0 stands for no particular thread. */
            if (rows[first]->thread_seq) take_from_thread(profile, rows + first, next - first, since_ns, late);
        }
    }
    rpp_free(rows);
    return unless_empty(late);
}
