/* fuzz_stack_table.c - the stack table against a plain list: same ids, same rows, same limits, whatever comes. */
#include "fuzz_input.h"
#include "sampling/stack_table.h"

#define STACKS_MAX    512
#define DEPTH_MAX     16
#define LOCATIONS_MAX 1024

typedef struct plain_table {
    rpp_stack_limits limits;
    rpp_location locations[LOCATIONS_MAX];
    size_t location_count;
    struct {
        uint32_t ids[DEPTH_MAX], depth;
    } stacks[STACKS_MAX];
    size_t stack_count, depth_total;
} plain_table;

static plain_table plain;

static size_t find_location(rpp_location location)
{
    size_t i = 0;
    while (i < plain.location_count &&
           (plain.locations[i].frame != location.frame || plain.locations[i].line != location.line))
        i++;
    return i;
}

static bool is_stack(size_t stack, const rpp_location *locations, uint32_t depth)
{
    if (plain.stacks[stack].depth != depth) return false;
    for (uint32_t i = 0; i < depth; i++) {
        rpp_location known = plain.locations[plain.stacks[stack].ids[i]];
        if (known.frame != locations[i].frame || known.line != locations[i].line) return false;
    }
    return true;
}

static rpp_status plain_intern(const rpp_location *locations, uint32_t depth, uint32_t *id)
{
    for (*id = 0; *id < plain.stack_count; ++*id) {
        if (is_stack(*id, locations, depth)) return RPP_OK;
    }
    if (plain.stack_count == plain.limits.max_stacks) return RPP_LIMIT;
    if (plain.depth_total + depth > plain.limits.max_depth_total) return RPP_LIMIT;
    size_t before = plain.location_count;
    for (uint32_t i = 0; i < depth; i++) {
        size_t location = find_location(locations[i]);
        if (location == plain.limits.max_locations) {
            plain.location_count = before;
            return RPP_LIMIT;
        }
        if (location == plain.location_count) plain.locations[plain.location_count++] = locations[i];
        plain.stacks[*id].ids[i] = (uint32_t)location;
    }
    plain.stacks[*id].depth = depth;
    plain.depth_total += depth;
    plain.stack_count++;
    return RPP_OK;
}

static void compare(const rpp_stack_table *table)
{
    FUZZ_CHECK(rpp_stack_table_count(table) == plain.stack_count);
    FUZZ_CHECK(rpp_stack_table_location_count(table) == plain.location_count);
    for (uint32_t i = 0; i < plain.location_count; i++) {
        rpp_location location = rpp_stack_table_location(table, i);
        FUZZ_CHECK(location.frame == plain.locations[i].frame && location.line == plain.locations[i].line);
    }
    for (uint32_t i = 0; i < plain.stack_count; i++) {
        uint32_t depth;
        const uint32_t *row = rpp_stack_table_get(table, i, &depth);
        FUZZ_CHECK(depth == plain.stacks[i].depth);
        FUZZ_CHECK(!depth || memcmp(row, plain.stacks[i].ids, depth * sizeof *row) == 0);
    }
    for (uint32_t frame = 0; frame < 256; frame++) {
        bool known = false;
        for (size_t i = 0; i < plain.location_count; i++) known |= plain.locations[i].frame == frame;
        FUZZ_CHECK(rpp_stack_table_has_frame(table, frame) == known);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = {data, size};
    memset(&plain, 0, sizeof plain);
    plain.limits = (rpp_stack_limits){.max_locations = (uint32_t)(fuzz_number(&input) % LOCATIONS_MAX),
                                      .max_stacks = (uint32_t)(fuzz_number(&input) % STACKS_MAX),
                                      .max_depth_total = fuzz_number(&input) % (STACKS_MAX * DEPTH_MAX)};
    rpp_stack_table *table = rpp_stack_table_new(&plain.limits);
    FUZZ_CHECK(table);
    while (input.left) {
        rpp_location locations[DEPTH_MAX];
        uint32_t depth = fuzz_byte(&input) % (DEPTH_MAX + 1), id = 0, plain_id = 0;
        for (uint32_t i = 0; i < depth; i++) {
            locations[i].frame = (uint32_t)fuzz_number(&input);
            locations[i].line = fuzz_byte(&input) & 3;
        }
        rpp_status status = rpp_stack_table_intern(table, locations, depth, &id);
        FUZZ_CHECK(status == plain_intern(locations, depth, &plain_id));
        FUZZ_CHECK(status != RPP_OK || id == plain_id);
    }
    compare(table);
    rpp_stack_table_free(table);
    return 0;
}
