/* durations.c - how long the last requests of each endpoint took: a window of counts by class. */
#include "sampling/durations.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash_index.h"

/* Classes range from a microsecond to four minutes. The first also holds what is shorter, the last what is longer. */
#define FIRST_OCTAVE 10
#define OCTAVES      28
#define CLASSES      (OCTAVES * 8)
#define SLOWEST_PART 20u /* one request in this many is slow */

typedef struct endpoint {
    char *name;
    size_t length;
    uint32_t noted;                         /* requests so far; the newest are remembered */
    uint8_t last[RPP_DURATIONS_REMEMBERED]; /* the classes of these, in a ring */
    uint16_t counts[CLASSES];               /* requests in `last` by class */
} endpoint;

struct rpp_durations {
    endpoint *endpoints;
    size_t count, capacity;
    rpp_hash_index by_name;
};

_Static_assert(CLASSES <= UINT8_MAX + 1, "a class is a byte");

rpp_durations *rpp_durations_new(void)
{
    return rpp_calloc(1, sizeof(rpp_durations));
}

void rpp_durations_free(rpp_durations *durations)
{
    if (!durations) return;
    for (size_t i = 0; i < durations->count; i++) rpp_free(durations->endpoints[i].name);
    rpp_free(durations->endpoints);
    rpp_hash_index_destroy(&durations->by_name);
    rpp_free(durations);
}

typedef struct name {
    const char *bytes;
    size_t length;
} name;

static bool is_endpoint(const void *table, uint32_t id, const void *wanted)
{
    const endpoint *known = &((const rpp_durations *)table)->endpoints[id];
    const name *other = wanted;
    return known->length == other->length && memcmp(known->name, other->bytes, other->length) == 0;
}

/* NULL if there is no room. */
static endpoint *find(rpp_durations *durations, name wanted)
{
    uint32_t hash = rpp_hash_bytes(wanted.bytes, wanted.length);
    uint32_t known = rpp_hash_index_find(&durations->by_name, hash, is_endpoint, durations, &wanted);
    if (known != RPP_INDEX_NONE) return &durations->endpoints[known];
    if (durations->count == RPP_DURATIONS_ENDPOINTS_MAX) return NULL;
    rpp_status status = rpp_grow((void **)&durations->endpoints, &durations->capacity, durations->count + 1,
                                 sizeof *durations->endpoints);
    if (status == RPP_OK) status = rpp_hash_index_reserve(&durations->by_name, 1);
    char *copy = status == RPP_OK ? rpp_strndup(wanted.bytes, wanted.length) : NULL;
    if (!copy) return NULL;
    rpp_hash_index_add(&durations->by_name, hash, (uint32_t)durations->count);
    endpoint *fresh = &durations->endpoints[durations->count++];
    *fresh = (endpoint){.name = copy, .length = wanted.length};
    return fresh;
}

static unsigned class_of(uint64_t duration_ns)
{
    if (duration_ns >> FIRST_OCTAVE == 0) return 0;
    unsigned octave = 63u - (unsigned)__builtin_clzll(duration_ns);
    unsigned class = (octave - FIRST_OCTAVE) * 8 + (duration_ns >> (octave - 3) & 7);
    return class < CLASSES ? class : CLASSES - 1;
}

static rpp_slow judge(const endpoint *known, unsigned class)
{
    uint32_t remembered = known->noted < RPP_DURATIONS_REMEMBERED ? known->noted : RPP_DURATIONS_REMEMBERED;
    uint32_t as_long = 0;
    for (unsigned i = class; i < CLASSES; i++) as_long += known->counts[i];
    if (remembered < RPP_DURATIONS_ENOUGH) return RPP_SLOW_UNKNOWN;
    return as_long * SLOWEST_PART < remembered ? RPP_SLOW_YES : RPP_SLOW_NO;
}

static void remember(endpoint *known, unsigned class)
{
    uint8_t *place = &known->last[known->noted % RPP_DURATIONS_REMEMBERED];
    if (known->noted >= RPP_DURATIONS_REMEMBERED) known->counts[*place]--;
    *place = (uint8_t) class;
    known->counts[class]++;
    /* Avoids an overflow and keeps the place in the ring. */
    if (++known->noted == 2 * RPP_DURATIONS_REMEMBERED) known->noted = RPP_DURATIONS_REMEMBERED;
}

rpp_slow rpp_durations_note(rpp_durations *durations, const char *endpoint_name, size_t length, uint64_t duration_ns)
{
    endpoint *known = find(durations, (name){endpoint_name, length});
    if (!known) return RPP_SLOW_UNKNOWN;
    unsigned class = class_of(duration_ns);
    rpp_slow slow = judge(known, class);
    remember(known, class);
    return slow;
}
