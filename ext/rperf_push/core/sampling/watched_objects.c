/* watched_objects.c - the table of watched objects: which of the objects that were sampled at their allocation are
 * still alive. */
#include "sampling/watched_objects.h"

#include "base/alloc.h"
#include "base/clock.h"

#define MOST_THINNED 40u

typedef struct object {
    uintptr_t address;
    uint64_t allocation;
    uint32_t marks_before; /* when it was born */
    uint32_t doublings;
} object;

struct rpp_watched {
    object *objects; /* first those that only a major GC can free */
    uint32_t count, staying, capacity;
    uint32_t thinned; /* one in 2^thinned allocations is chosen */
    uint32_t marks;   /* how often marking has ended */
    uint64_t next_allocation;
    uint64_t random;
};

rpp_watched *rpp_watched_new(uint32_t capacity, uint64_t seed)
{
    rpp_watched *w = rpp_calloc(1, sizeof *w);
    if (!w) return NULL;
    w->next_allocation = 1;
    w->random = seed;
    if (rpp_watched_grow(w, capacity) == RPP_OK) return w;
    rpp_free(w);
    return NULL;
}

void rpp_watched_free(rpp_watched *w)
{
    if (w) rpp_free(w->objects);
    rpp_free(w);
}

rpp_status rpp_watched_grow(rpp_watched *w, uint32_t capacity)
{
    if (capacity <= w->capacity) return RPP_OK;
    object *grown = rpp_realloc(w->objects, sizeof *grown * capacity);
    if (!grown) return RPP_NO_MEMORY;
    w->objects = grown;
    w->capacity = capacity;
    return RPP_OK;
}

/* --- allocations --- */

static bool toss(rpp_watched *w)
{
    return rpp_random_next(&w->random) >> 63;
}

static void halve(rpp_watched *w)
{
    uint32_t kept = 0, staying = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        if (!toss(w)) continue;
        staying += i < w->staying;
        w->objects[kept] = w->objects[i];
        w->objects[kept++].doublings++;
    }
    w->count = kept;
    w->staying = staying;
    w->thinned++;
}

uint64_t rpp_watched_choose(rpp_watched *w)
{
    uint64_t unwanted = (UINT64_C(1) << w->thinned) - 1;
    return unwanted && (rpp_random_next(&w->random) & unwanted) ? 0 : w->next_allocation;
}

void rpp_watched_add(rpp_watched *w, uintptr_t address, uint64_t allocation)
{
    w->next_allocation = allocation + 1;
    while (w->count == w->capacity) {
        if (w->thinned == MOST_THINNED) return;
        halve(w);
        if (!toss(w)) return; /* it was chosen as easily as those */
    }
    w->objects[w->count++] = (object){address, allocation, w->marks, w->thinned};
}

/* --- deaths and moves --- */

static void discard(rpp_watched *w, uint32_t index)
{
    w->objects[index] = w->objects[--w->count];
}

static void keep_apart(rpp_watched *w, uint32_t index)
{
    object one = w->objects[index];
    w->objects[index] = w->objects[w->staying];
    w->objects[w->staying++] = one;
}

void rpp_watched_marked(rpp_watched *w, bool all, rpp_fate (*fate)(uintptr_t address))
{
    w->marks++;
    if (all) w->staying = 0;
    for (uint32_t i = w->staying; i < w->count;) {
        rpp_fate its = fate(w->objects[i].address);
        if (its == RPP_FATE_DIES) {
            discard(w, i);
            continue;
        }
        if (its == RPP_FATE_STAYS) keep_apart(w, i);
        i++;
    }
    if (w->thinned && w->count < w->capacity / 4) w->thinned--;
}

void rpp_watched_moved(rpp_watched *w, uintptr_t (*where)(uintptr_t address))
{
    for (uint32_t i = 0; i < w->count; i++) w->objects[i].address = where(w->objects[i].address);
}

void rpp_watched_clear(rpp_watched *w)
{
    w->count = w->staying = w->thinned = 0;
}

/* --- what is known --- */

size_t rpp_watched_count(const rpp_watched *w)
{
    return w->count;
}

uint32_t rpp_watched_capacity(const rpp_watched *w)
{
    return w->capacity;
}

uint64_t rpp_watched_next_allocation(const rpp_watched *w)
{
    return w->next_allocation;
}

size_t rpp_watched_list(const rpp_watched *w, rpp_survivor *list, size_t room)
{
    size_t count = w->count < room ? w->count : room;
    for (size_t i = 0; i < count; i++) {
        const object *one = &w->objects[i];
        list[i] = (rpp_survivor){one->allocation, w->marks - one->marks_before, one->doublings};
    }
    return count;
}

uintptr_t rpp_watched_address(const rpp_watched *w, size_t index, uint64_t *allocation)
{
    if (allocation) *allocation = w->objects[index].allocation;
    return w->objects[index].address;
}
