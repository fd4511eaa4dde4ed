/* frame_names.c - maps a frame id to its name, file and first line.
 *
 * A fixed array points to chunks of slots, which never move and are never freed, so `get` needs no lock. A name is one
 * block, and one store publishes it.
 */
#include "sampling/frame_names.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

#define CHUNK_SLOTS        1024u
#define TEXT_MAX           65535u /* the longest string of a pprof */
#define ADDRESS_DIGITS_MIN 8u     /* Ruby prints an address with 8 or 16 */
#define ADDRESS            "0x\xe2\x80\xa6"

static const rpp_frame_name synthetic[RPP_FRAME_FIRST] = {
#define X(id, text) {.name = text, .path = "", .name_length = sizeof text - 1},
    RPP_SYNTHETIC_FRAMES(X)
#undef X
};

uint32_t rpp_state_frame(uint8_t state)
{
    static const uint32_t frames[RPP_STATE_COUNT] = {
#define X(context, id, ...) [RPP_STATE_##id] = RPP_FRAME_##id,
        RPP_STATES(X, )
#undef X
    };
    return state < RPP_STATE_COUNT ? frames[state] : (uint32_t)RPP_FRAME_NONE;
}

enum { FREE, RESERVED, HELD_ONLY };

typedef struct slot {
    _Atomic(rpp_frame_name *) name;
    uint32_t next_free;
    uint32_t state;
    _Atomic uint32_t holds;
} slot;

struct rpp_frame_names {
    uint32_t limit;     /* ids are below this */
    uint32_t room;      /* ids below this have a slot */
    uint32_t free_head; /* list of released ids; 0: empty */
    uint32_t free_count;
    atomic_uint_least32_t end, count; /* atomic, because other threads read them */
    size_t chunk_count;
    _Atomic(slot *) chunks[];
};

static size_t chunks_for(uint32_t ids)
{
    return ((size_t)ids + CHUNK_SLOTS - 1) / CHUNK_SLOTS;
}

rpp_frame_names *rpp_frame_names_new(uint32_t limit)
{
    if (limit < RPP_FRAME_FIRST) limit = RPP_FRAME_FIRST;
    rpp_frame_names *names = rpp_calloc(1, sizeof *names + chunks_for(limit) * sizeof names->chunks[0]);
    if (!names) return NULL;
    names->limit = limit;
    atomic_init(&names->end, RPP_FRAME_FIRST);
    return names;
}

static slot *slot_of(const rpp_frame_names *names, uint32_t id)
{
    slot *chunk = atomic_load_explicit(&names->chunks[id / CHUNK_SLOTS], memory_order_acquire);
    return chunk ? &chunk[id % CHUNK_SLOTS] : NULL;
}

void rpp_frame_names_free(rpp_frame_names *names)
{
    if (!names) return;
    for (size_t i = 0; i < names->chunk_count; i++) {
        slot *chunk = atomic_load(&names->chunks[i]);
        for (size_t j = 0; j < CHUNK_SLOTS; j++) rpp_free(atomic_load(&chunk[j].name));
        rpp_free(chunk);
    }
    rpp_free(names);
}

static uint32_t end_of(const rpp_frame_names *names)
{
    return (uint32_t)atomic_load_explicit(&names->end, memory_order_relaxed);
}

rpp_status rpp_frame_names_ensure(rpp_frame_names *names, uint32_t headroom)
{
    while (names->free_count < headroom && names->room < names->limit &&
           (names->room < end_of(names) || names->room - end_of(names) < headroom - names->free_count)) {
        slot *chunk = rpp_calloc(CHUNK_SLOTS, sizeof *chunk);
        if (!chunk) return RPP_NO_MEMORY;
        atomic_store_explicit(&names->chunks[names->chunk_count++], chunk, memory_order_release);
        uint32_t left = names->limit - names->room;
        names->room += left < CHUNK_SLOTS ? left : CHUNK_SLOTS;
    }
    uint64_t at_hand = (uint64_t)names->free_count + (names->room > end_of(names) ? names->room - end_of(names) : 0);
    return at_hand < headroom ? RPP_LIMIT : RPP_OK;
}

uint32_t rpp_frame_names_reserve(rpp_frame_names *names)
{
    uint32_t id = names->free_head;
    if (id) {
        names->free_head = slot_of(names, id)->next_free;
        names->free_count--;
    } else {
        id = end_of(names);
        if (id >= names->room) return 0;
        atomic_store_explicit(&names->end, id + 1, memory_order_relaxed);
    }
    slot_of(names, id)->state = RESERVED;
    atomic_fetch_add_explicit(&names->count, 1, memory_order_relaxed);
    return id;
}

/* In place. Each object has another address, so with addresses each object's methods would be functions of their
 * own. */
static size_t hide_addresses(char *text, size_t length)
{
    size_t to = 0;
    for (size_t at = 0; at < length;) {
        if (text[at] == '0' && at + 1 < length && text[at + 1] == 'x') {
            size_t digits = 0;
            while (at + 2 + digits < length && strchr("0123456789abcdef", text[at + 2 + digits]) &&
                   text[at + 2 + digits]) {
                digits++;
            }
            if (digits >= ADDRESS_DIGITS_MIN) {
                memcpy(text + to, ADDRESS, sizeof ADDRESS - 1);
                to += sizeof ADDRESS - 1;
                at += 2 + digits;
                continue;
            }
        }
        text[to++] = text[at++];
    }
    return to;
}

rpp_status rpp_frame_names_set(rpp_frame_names *names, uint32_t id, const char *name, size_t name_length,
                               const char *path, size_t path_length, uint32_t first_line, bool hidden)
{
    if (id < RPP_FRAME_FIRST || id >= end_of(names)) return RPP_INVALID;
    slot *own = slot_of(names, id);
    if (own->state != RESERVED || atomic_load_explicit(&own->name, memory_order_relaxed)) return RPP_INVALID;

    if (name_length > TEXT_MAX) name_length = TEXT_MAX;
    if (path_length > TEXT_MAX) path_length = TEXT_MAX;
    rpp_frame_name *entry = rpp_malloc(sizeof *entry + name_length + path_length + 2);
    if (!entry) return RPP_NO_MEMORY;
    char *name_copy = (char *)(entry + 1), *path_copy = name_copy + name_length + 1;
    name_length = hide_addresses(name_copy, rpp_utf8_copy(name_copy, name_length, name, name_length));
    path_length = rpp_utf8_copy(path_copy, path_length, path, path_length);
    name_copy[name_length] = path_copy[path_length] = '\0';
    *entry = (rpp_frame_name){
        .name = name_copy,
        .path = path_copy,
        .name_length = (uint32_t)name_length,
        .path_length = (uint32_t)path_length,
        .first_line = first_line,
        .hidden = hidden,
    };
    atomic_store_explicit(&own->name, entry, memory_order_release);
    return RPP_OK;
}

const rpp_frame_name *rpp_frame_names_get(const rpp_frame_names *names, uint32_t id)
{
    if (id < RPP_FRAME_FIRST) return &synthetic[id];
    if (id >= names->limit) return NULL;
    slot *own = slot_of(names, id);
    return own ? atomic_load_explicit(&own->name, memory_order_acquire) : NULL;
}

static void end_id(rpp_frame_names *names, uint32_t id, slot *own)
{
    rpp_free(atomic_exchange(&own->name, NULL));
    own->state = FREE;
    own->next_free = names->free_head;
    names->free_head = id;
    names->free_count++;
    atomic_fetch_sub_explicit(&names->count, 1, memory_order_relaxed);
}

void rpp_frame_names_release(rpp_frame_names *names, uint32_t id)
{
    if (id < RPP_FRAME_FIRST || id >= end_of(names)) return;
    slot *own = slot_of(names, id);
    if (own->state != RESERVED) return;
    if (atomic_load(&own->holds)) {
        own->state = HELD_ONLY;
    } else {
        end_id(names, id, own);
    }
}

void rpp_frame_names_collect(rpp_frame_names *names, uint32_t id)
{
    if (id < RPP_FRAME_FIRST || id >= end_of(names)) return;
    slot *own = slot_of(names, id);
    if (own->state == HELD_ONLY && !atomic_load(&own->holds)) end_id(names, id, own);
}

void rpp_frame_names_hold(rpp_frame_names *names, uint32_t id)
{
    if (id >= RPP_FRAME_FIRST && id < end_of(names)) atomic_fetch_add(&slot_of(names, id)->holds, 1);
}

void rpp_frame_names_let_go(rpp_frame_names *names, uint32_t id)
{
    if (id >= RPP_FRAME_FIRST && id < end_of(names)) atomic_fetch_sub(&slot_of(names, id)->holds, 1);
}

void rpp_frame_names_discard_holds(rpp_frame_names *names)
{
    for (uint32_t id = RPP_FRAME_FIRST; id < end_of(names); id++) atomic_store(&slot_of(names, id)->holds, 0);
}

uint32_t rpp_frame_names_count(const rpp_frame_names *names)
{
    return (uint32_t)atomic_load_explicit(&names->count, memory_order_relaxed);
}

uint32_t rpp_frame_names_end(const rpp_frame_names *names)
{
    return end_of(names);
}
