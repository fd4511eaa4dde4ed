/* rb_testing_heap.c - in the testing build, proves that each watched object is still the one that was born. */
#include "testing/rb_testing.h"

#ifdef RPP_TESTING

#include "vm/rb_probes.h"

#define KNOWN (1u << 21) /* allocations that are older are not checked */

static struct {
    uint64_t allocation;
    int type;
} known[KNOWN];

static void watch(VALUE object, uint64_t allocation)
{
    known[allocation % KNOWN].allocation = allocation;
    known[allocation % KNOWN].type = RB_BUILTIN_TYPE(object);
}

/* At each address is an object, of its type at allocation. With `fate`: and it does not die. */
static void check(const rpp_watched *table, rpp_fate (*fate)(uintptr_t address))
{
    for (size_t i = 0; i < rpp_watched_count(table); i++) {
        uint64_t allocation;
        uintptr_t address = rpp_watched_address(table, i, &allocation);
        if (fate && fate(address) == RPP_FATE_DIES) rb_rpp_testing_abort("an object that dies is still watched\n");
        if (known[allocation % KNOWN].allocation != allocation) continue;
        int type = RB_BUILTIN_TYPE((VALUE)address);
        if (type != known[allocation % KNOWN].type) rb_rpp_testing_abort("a watched object is another one now\n");
    }
}

void rb_rpp_testing_heap_init(void)
{
    rb_rpp_probed.object_watched = watch;
    rb_rpp_probed.objects_followed = check;
}

#endif
