/* stack_table.c - the stacks of one window, each stored once.
 *
 * Nearly every stack was seen before. One hash over the caller's locations and one comparison with the row find it,
 * without looking up its locations; only a new stack looks them up. Rows are in chunks and never move.
 */
#include "sampling/stack_table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash_index.h"

#define CHUNK_ROOM 65536u /* location ids: 256 KiB */

typedef struct chunk {
    struct chunk *next;
    size_t used, room;
    uint32_t ids[];
} chunk;

typedef struct stack_entry {
    const uint32_t *row;
    uint32_t depth;
} stack_entry;

struct rpp_stack_table {
    rpp_stack_limits limits;
    rpp_location *locations;
    size_t location_count, location_capacity;
    rpp_hash_index by_location, by_frame; /* by_frame: each frame's first location */
    stack_entry *stacks;
    size_t stack_count, stack_capacity;
    rpp_hash_index by_stack;
    uint64_t depth_total;
    chunk *chunks; /* the list begins with the one that is being filled */
    size_t chunk_bytes;
};

rpp_stack_table *rpp_stack_table_new(const rpp_stack_limits *limits)
{
    rpp_stack_table *table = rpp_calloc(1, sizeof *table);
    if (table) table->limits = *limits;
    return table;
}

void rpp_stack_table_free(rpp_stack_table *table)
{
    if (!table) return;
    for (chunk *it = table->chunks, *next; it; it = next) {
        next = it->next;
        rpp_free(it);
    }
    rpp_hash_index_destroy(&table->by_location);
    rpp_hash_index_destroy(&table->by_frame);
    rpp_hash_index_destroy(&table->by_stack);
    rpp_free(table->locations);
    rpp_free(table->stacks);
    rpp_free(table);
}

/* --- locations --- */

static uint32_t hash_location(rpp_location location)
{
    return rpp_hash_words(location.frame, location.line);
}

static uint32_t hash_frame(uint32_t frame)
{
    return rpp_hash_words(frame, 0);
}

static bool is_location(const void *table, uint32_t id, const void *key)
{
    const rpp_location *known = &((const rpp_stack_table *)table)->locations[id], *wanted = key;
    return known->frame == wanted->frame && known->line == wanted->line;
}

static bool is_at_frame(const void *table, uint32_t id, const void *key)
{
    return ((const rpp_stack_table *)table)->locations[id].frame == *(const uint32_t *)key;
}

static void add_location(rpp_stack_table *table, rpp_location location)
{
    uint32_t id = (uint32_t)table->location_count;
    table->locations[id] = location;
    table->location_count++;
    rpp_hash_index_add(&table->by_location, hash_location(location), id);
    if (!rpp_stack_table_has_frame(table, location.frame)) {
        rpp_hash_index_add(&table->by_frame, hash_frame(location.frame), id);
    }
}

static void undo_locations(rpp_stack_table *table, size_t count)
{
    while (table->location_count > count) {
        uint32_t id = (uint32_t)table->location_count - 1;
        rpp_location location = table->locations[id];
        uint32_t first =
            rpp_hash_index_find(&table->by_frame, hash_frame(location.frame), is_at_frame, table, &location.frame);
        if (first == id) rpp_hash_index_undo(&table->by_frame, hash_frame(location.frame), id);
        rpp_hash_index_undo(&table->by_location, hash_location(location), id);
        table->location_count--;
    }
}

bool rpp_stack_table_has_frame(const rpp_stack_table *table, uint32_t frame)
{
    return rpp_hash_index_find(&table->by_frame, hash_frame(frame), is_at_frame, table, &frame) != RPP_INDEX_NONE;
}

/* --- stacks --- */

typedef struct stack_key {
    const rpp_location *locations;
    uint32_t depth;
} stack_key;

static bool is_stack(const void *opaque, uint32_t id, const void *wanted)
{
    const rpp_stack_table *table = opaque;
    const stack_key *key = wanted;
    const stack_entry *entry = &table->stacks[id];
    if (entry->depth != key->depth) return false;
    for (uint32_t i = 0; i < key->depth; i++) {
        if (!is_location(table, entry->row[i], &key->locations[i])) return false;
    }
    return true;
}

/* Makes room for a row in the first chunk. The rest of a chunk that is too small stays unused, which is rare. */
static rpp_status reserve_row(rpp_stack_table *table, uint32_t depth)
{
    if (table->chunks && table->chunks->room - table->chunks->used >= depth) return RPP_OK;
    /* The first chunk is small, because most windows are small. No chunk is larger than the limit of the table. */
    size_t room = table->chunks ? CHUNK_ROOM : CHUNK_ROOM / 16;
    if (room > table->limits.max_depth_total) room = (size_t)table->limits.max_depth_total;
    if (room < depth) room = depth;
    size_t size = sizeof(chunk) + room * sizeof(uint32_t);
    chunk *added = rpp_malloc(size);
    if (!added) return RPP_NO_MEMORY;
    *added = (chunk){.next = table->chunks, .used = 0, .room = room};
    table->chunks = added;
    table->chunk_bytes += size;
    return RPP_OK;
}

/* Allocates in advance all that a stack of this depth can need, so that adding it cannot fail half-way. */
static rpp_status reserve(rpp_stack_table *table, uint32_t depth)
{
    size_t left = table->limits.max_locations - table->location_count;
    size_t more = depth < left ? depth : left;
    if (reserve_row(table, depth) != RPP_OK) return RPP_NO_MEMORY;
    if (rpp_hash_index_reserve(&table->by_location, more) != RPP_OK) return RPP_NO_MEMORY;
    if (rpp_hash_index_reserve(&table->by_frame, more) != RPP_OK) return RPP_NO_MEMORY;
    if (rpp_hash_index_reserve(&table->by_stack, 1) != RPP_OK) return RPP_NO_MEMORY;
    if (rpp_grow((void **)&table->locations, &table->location_capacity, table->location_count + more,
                 sizeof *table->locations) != RPP_OK) {
        return RPP_NO_MEMORY;
    }
    return rpp_grow((void **)&table->stacks, &table->stack_capacity, table->stack_count + 1, sizeof *table->stacks);
}

rpp_status rpp_stack_table_intern(rpp_stack_table *table, const rpp_location *locations, uint32_t depth,
                                  uint32_t *stack)
{
    stack_key key = {locations, depth};
    uint32_t hash = rpp_hash_bytes(locations, depth * sizeof *locations);
    uint32_t known = rpp_hash_index_find(&table->by_stack, hash, is_stack, table, &key);
    if (known != RPP_INDEX_NONE) {
        *stack = known;
        return RPP_OK;
    }

    if (table->stack_count >= table->limits.max_stacks) return RPP_LIMIT;
    if (depth > table->limits.max_depth_total - table->depth_total) return RPP_LIMIT;
    if (reserve(table, depth) != RPP_OK) return RPP_NO_MEMORY;

    size_t before = table->location_count;
    uint32_t *row = &table->chunks->ids[table->chunks->used];
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t id =
            rpp_hash_index_find(&table->by_location, hash_location(locations[i]), is_location, table, &locations[i]);
        if (id == RPP_INDEX_NONE) {
            if (table->location_count >= table->limits.max_locations) {
                undo_locations(table, before);
                return RPP_LIMIT;
            }
            id = (uint32_t)table->location_count;
            add_location(table, locations[i]);
        }
        row[i] = id;
    }

    table->chunks->used += depth;
    table->depth_total += depth;
    *stack = (uint32_t)table->stack_count;
    table->stacks[table->stack_count++] = (stack_entry){row, depth};
    rpp_hash_index_add(&table->by_stack, hash, *stack);
    return RPP_OK;
}

uint32_t rpp_stack_table_count(const rpp_stack_table *table)
{
    return (uint32_t)table->stack_count;
}

const uint32_t *rpp_stack_table_get(const rpp_stack_table *table, uint32_t stack, uint32_t *depth)
{
    *depth = table->stacks[stack].depth;
    return table->stacks[stack].row;
}

uint32_t rpp_stack_table_location_count(const rpp_stack_table *table)
{
    return (uint32_t)table->location_count;
}

rpp_location rpp_stack_table_location(const rpp_stack_table *table, uint32_t location)
{
    return table->locations[location];
}

size_t rpp_stack_table_bytes(const rpp_stack_table *table)
{
    size_t slots = table->by_location.slot_count + table->by_frame.slot_count + table->by_stack.slot_count;
    return sizeof *table + table->chunk_bytes + slots * sizeof(rpp_hash_slot) +
           table->location_capacity * sizeof *table->locations + table->stack_capacity * sizeof *table->stacks;
}
