/* test_watched_objects.c - the table of watched objects: as a list of who was born and died, whatever the order;
 * bounded, and unbiased. */
#include "sampling/watched_objects.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "test.h"

#define OBJECTS 4096

/* A heap: whether the object at an address lives, and whether only a major GC can free it. */
static struct {
    bool lives, stays;
    uint64_t allocation;
    unsigned gcs;
} heap[OBJECTS];
static unsigned asked;

static rpp_fate fate(uintptr_t address)
{
    asked++;
    if (!heap[address].lives) return RPP_FATE_DIES;
    return heap[address].stays ? RPP_FATE_STAYS : RPP_FATE_LIVES;
}

static uintptr_t next_address(uintptr_t address)
{
    return address + 1;
}

static void be_born(rpp_watched *w, uintptr_t at)
{
    heap[at].lives = true;
    heap[at].stays = false;
    heap[at].gcs = 0;
    heap[at].allocation = rpp_watched_choose(w);
    CHECK(heap[at].allocation);
    rpp_watched_add(w, at, heap[at].allocation);
}

/* Objects that only a major GC frees keep living until one comes. */
static void collect(rpp_watched *w, bool major, uint64_t *random)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        if (!heap[i].allocation) continue;
        if (rpp_random_next(random) % 4 == 0 && (major || !heap[i].stays)) heap[i].lives = false;
        if (heap[i].lives && heap[i].gcs++ >= 3) heap[i].stays = true;
    }
    rpp_watched_marked(w, major, fate);
    for (size_t i = 0; i < OBJECTS; i++) {
        if (!heap[i].lives) heap[i].allocation = 0;
    }
}

static void compare(const rpp_watched *w)
{
    static rpp_survivor list[OBJECTS];
    size_t count = rpp_watched_list(w, list, OBJECTS), lives = 0;
    for (size_t i = 0; i < OBJECTS; i++) {
        if (!heap[i].allocation) continue;
        lives++;
        size_t k = 0;
        while (k < count && list[k].allocation != heap[i].allocation) k++;
        CHECK(k < count);
        if (k == count) return;
        CHECK_INT(list[k].gcs, heap[i].gcs);
        CHECK_INT(list[k].doublings, 0);
    }
    CHECK_INT(count, lives);
    for (size_t k = 0; k < count; k++) {
        uint64_t allocation;
        uintptr_t address = rpp_watched_address(w, k, &allocation);
        CHECK_INT(heap[address].allocation, allocation);
    }
}

TEST(it_is_the_list_of_those_that_live)
{
    uint64_t random = 11;
    rpp_watched *w = rpp_watched_new(OBJECTS, 5);
    memset(heap, 0, sizeof heap);
    for (int round = 0; round < 200; round++) {
        for (int allocations = (int)(rpp_random_next(&random) % 200); allocations > 0; allocations--) {
            uintptr_t at = rpp_random_next(&random) % OBJECTS;
            if (!heap[at].allocation) be_born(w, at);
        }
        collect(w, rpp_random_next(&random) % 5 == 0, &random);
        compare(w);
    }
    rpp_watched_free(w);
}

TEST(what_no_minor_gc_can_free_is_asked_for_in_major_ones_only)
{
    rpp_watched *w = rpp_watched_new(OBJECTS, 5);
    memset(heap, 0, sizeof heap);
    for (uintptr_t i = 0; i < 1000; i++) be_born(w, i);
    for (uintptr_t i = 0; i < 900; i++) heap[i].stays = true;
    asked = 0;
    rpp_watched_marked(w, false, fate);
    CHECK_INT(asked, 1000);
    rpp_watched_marked(w, false, fate);
    CHECK_INT(asked, 1000 + 100);
    for (uintptr_t i = 0; i < 1000; i += 2) heap[i].lives = false;
    rpp_watched_marked(w, true, fate);
    CHECK_INT(asked, 1000 + 100 + 1000);
    CHECK_INT(rpp_watched_count(w), 500);
    rpp_watched_marked(w, false, fate);
    CHECK_INT(asked, 1000 + 100 + 1000 + 50);
    rpp_watched_free(w);
}

TEST(moves_are_followed)
{
    rpp_watched *w = rpp_watched_new(OBJECTS, 5);
    memset(heap, 0, sizeof heap);
    for (uintptr_t i = 0; i < 1000; i += 2) be_born(w, i);
    rpp_watched_moved(w, next_address);
    for (uintptr_t i = 0; i < 1000; i += 2) heap[i].lives = false, heap[i + 1].lives = i % 4 == 0;
    rpp_watched_marked(w, true, fate);
    CHECK_INT(rpp_watched_count(w), 250);
    rpp_watched_clear(w);
    CHECK_INT(rpp_watched_count(w), 0);
    CHECK_INT(rpp_watched_next_allocation(w), 501);
    rpp_watched_free(w);
}

/* Of 64 times as many objects as there is room for, each group's weight is that of its objects. */
TEST(a_full_table_discards_at_random_and_its_weights_stay_true)
{
    enum { ROOM = 1024, BORN = 64 * ROOM, ROUNDS = 200 };
    double sums[4] = {0};
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        static rpp_survivor list[ROOM];
        rpp_watched *w = rpp_watched_new(ROOM, round * 77777);
        for (uintptr_t i = 0; i < BORN; i++) {
            uint64_t allocation = rpp_watched_choose(w);
            if (allocation) rpp_watched_add(w, i, allocation);
            CHECK(rpp_watched_count(w) <= ROOM);
        }
        size_t count = rpp_watched_list(w, list, ROOM);
        CHECK(count > ROOM / 4);
        for (size_t i = 0; i < count; i++) {
            uintptr_t address = rpp_watched_address(w, i, NULL);
            sums[address * 4 / BORN] += (double)(UINT64_C(1) << list[i].doublings);
        }
        rpp_watched_free(w);
    }
    for (int i = 0; i < 4; i++) {
        double mean = sums[i] / ROUNDS, wanted = BORN / 4.0;
        CHECK(mean > wanted * 0.95 && mean < wanted * 1.05); /* six standard errors of 0.8 % */
    }
}

static rpp_fate all_die(uintptr_t address)
{
    (void)address;
    return RPP_FATE_DIES;
}

TEST(with_room_again_all_allocations_are_chosen_again)
{
    rpp_watched *w = rpp_watched_new(16, 3);
    for (uintptr_t i = 0; i < 4096; i++) {
        uint64_t allocation = rpp_watched_choose(w);
        if (allocation) rpp_watched_add(w, i, allocation);
    }
    for (int i = 0; i < 64; i++) rpp_watched_marked(w, true, all_die);
    for (uintptr_t i = 0; i < 16; i++) {
        uint64_t allocation = rpp_watched_choose(w);
        CHECK(allocation);
        rpp_watched_add(w, i, allocation);
    }
    rpp_survivor list[16];
    CHECK_INT(rpp_watched_list(w, list, 16), 16);
    for (int i = 0; i < 16; i++) CHECK_INT(list[i].doublings, 0);
    rpp_watched_free(w);
}

TEST(without_memory_it_is_as_before)
{
    for (size_t nth = 1; nth <= 2; nth++) {
        rpp_alloc_fail_at(nth);
        CHECK(!rpp_watched_new(64, 1));
        rpp_alloc_fail_at(0);
    }
    rpp_watched *w = rpp_watched_new(64, 1);
    be_born(w, 7);
    rpp_alloc_fail_at(1);
    CHECK_INT(rpp_watched_grow(w, 128), RPP_NO_MEMORY);
    rpp_alloc_fail_at(0);
    CHECK_INT(rpp_watched_capacity(w), 64);
    CHECK_INT(rpp_watched_address(w, 0, NULL), 7);
    CHECK_OK(rpp_watched_grow(w, 128));
    CHECK_OK(rpp_watched_grow(w, 16));
    CHECK_INT(rpp_watched_capacity(w), 128);
    CHECK_INT(rpp_watched_address(w, 0, NULL), 7);
    rpp_watched_free(w);
}
