/* durations.c - how long the last requests of each endpoint took: a window of counts by class. */
#include "requests/durations.h"

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

/* What a search reads lies close together. */
struct rpp_durations {
    uint32_t hashes[RPP_DURATIONS_ENDPOINTS_MAX]; /* of the names */
    uint64_t seen[RPP_DURATIONS_ENDPOINTS_MAX];   /* the number of the endpoint's last request */
    uint64_t requests;
    endpoint *endpoints;
    size_t count, capacity;
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
    rpp_free(durations);
}

typedef struct name {
    const char *bytes;
    size_t length;
    uint32_t hash;
} name;

static bool is_endpoint(const rpp_durations *durations, size_t at, name wanted)
{
    const endpoint *known = &durations->endpoints[at];
    return durations->hashes[at] == wanted.hash && known->length == wanted.length &&
           memcmp(known->name, wanted.bytes, wanted.length) == 0;
}

static size_t least_recently_seen(const rpp_durations *durations)
{
    size_t least = 0;
    for (size_t at = 1; at < durations->count; at++) {
        if (durations->seen[at] < durations->seen[least]) least = at;
    }
    return least;
}

/* Without a router, clients make names up: a new one takes the place of one that is not asked for any more. */
static rpp_status add(rpp_durations *durations, name wanted, size_t *at)
{
    bool is_full = durations->count == RPP_DURATIONS_ENDPOINTS_MAX;
    char *copy = rpp_strndup(wanted.bytes, wanted.length);
    if (!copy) return RPP_NO_MEMORY;
    if (!is_full && rpp_grow((void **)&durations->endpoints, &durations->capacity, durations->count + 1,
                             sizeof *durations->endpoints) != RPP_OK) {
        rpp_free(copy);
        return RPP_NO_MEMORY;
    }
    *at = is_full ? least_recently_seen(durations) : durations->count++;
    if (is_full) rpp_free(durations->endpoints[*at].name);
    durations->endpoints[*at] = (endpoint){.name = copy, .length = wanted.length};
    durations->hashes[*at] = wanted.hash;
    return RPP_OK;
}

/* NULL if out of memory. */
static endpoint *find(rpp_durations *durations, name wanted)
{
    size_t at = 0;
    while (at < durations->count && !is_endpoint(durations, at, wanted)) at++;
    if (at == durations->count && add(durations, wanted, &at) != RPP_OK) return NULL;
    durations->seen[at] = ++durations->requests;
    return &durations->endpoints[at];
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
    endpoint *known = find(durations, (name){endpoint_name, length, rpp_hash_bytes(endpoint_name, length)});
    if (!known) return RPP_SLOW_UNKNOWN;
    unsigned class = class_of(duration_ns);
    rpp_slow slow = judge(known, class);
    remember(known, class);
    return slow;
}
