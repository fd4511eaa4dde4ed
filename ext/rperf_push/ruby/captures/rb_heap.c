/* rb_heap.c - follows the life of sampled objects, for mode heap. */
#include "captures/rb_heap.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stats.h"
#include "core/sampling/watched_objects.h"
#include "threads/rb_subscribers.h"
#include "vm/rb_probes.h"

static rpp_watched *table; /* NULL: no session wants levels */
static VALUE holder;
static ID id_marked, id_uncollectible;
static VALUE major_count, state, marking;
static uint64_t heard;  /* the GC whose marks were heard of last */
static uint64_t majors; /* how many major ones there were then */
static bool wanted[RB_RPP_SUBSCRIBERS];
static bool unreported; /* of a loss */
static const char *why_not;

static bool is_marked(VALUE object)
{
    return rb_rpp_marks_of(object, id_marked, id_uncollectible) & RB_RPP_MARKED;
}

static void lose(void)
{
    unreported |= rpp_watched_count(table) > 0;
    if (rpp_watched_count(table)) rpp_stats_add(RPP_STAT_heap_losses, 1);
    rpp_watched_clear(table);
}

/* Not in the GC. Otherwise it would look as if a leak had been mended. */
static void tell_loss(void)
{
    if (!unreported) return;
    unreported = false;
    rpp_log(RPP_LOG_WARN,
            "live objects that were created until now are not followed any more: Ruby did not tell of a GC, or "
            "there are other Ractors");
}

static void note_count(void)
{
    rpp_stats_set(RPP_STAT_objects_watched, table ? rpp_watched_count(table) : 0);
}

/* --- in the allocation hook --- */

uint64_t rb_rpp_heap_choose(void)
{
    return table ? rpp_watched_choose(table) : 0;
}

void rb_rpp_heap_watch(VALUE object, uint64_t allocation)
{
    RB_RPP_PROBE(object_watched, object, allocation);
    rpp_watched_add(table, (uintptr_t)object, allocation);
}

/* --- in the GC --- */

static rpp_fate fate_of(uintptr_t address)
{
    unsigned marks = rb_rpp_marks_of((VALUE)address, id_marked, id_uncollectible);
    if (!(marks & RB_RPP_MARKED)) return RPP_FATE_DIES;
    return marks & RB_RPP_UNCOLLECTIBLE ? RPP_FATE_STAYS : RPP_FATE_LIVES;
}

void rb_rpp_heap_marked(void)
{
    if (!table || (RB_RPP_PROBE_BREAKS("marks") && rb_gc_count() % 3 == 0)) return;
    uint64_t now = rb_gc_count(), majors_now = rb_gc_stat(major_count);
    if (now - heard > 1 || !is_marked(holder)) lose(); /* the same one: this session began while it marked */
    rpp_watched_marked(table, majors_now != majors, fate_of);
    RB_RPP_PROBE(objects_followed, table, fate_of);
    heard = now;
    majors = majors_now;
    note_count();
}

static uintptr_t where(uintptr_t address)
{
    return (uintptr_t)rb_gc_location((VALUE)address);
}

static void follow_moves(void *unused)
{
    if (!table) return;
    if (heard == rb_gc_count()) {
        rpp_watched_moved(table, where);
    } else {
        lose();
    }
}

/* Compaction calls it because it has data; what it marks is nothing. */
static const rb_data_type_t holder_type = {
    .wrap_struct_name = "rperf_push/watched_objects",
    .function = {.dcompact = follow_moves},
    .flags = RUBY_TYPED_WB_PROTECTED,
};

/* --- windows --- */

void rb_rpp_heap_cut(rb_rpp_subscriber subscriber)
{
    if (!wanted[subscriber]) return;
    uint64_t unheard = rb_gc_count() - heard; /* one: it marks now */
    if (unheard > 1) lose();
    if (!unheard) RB_RPP_PROBE(objects_followed, table, NULL);
    rpp_pipeline_tell_level(rb_rpp_subscriber_pipeline(subscriber), table);
    tell_loss();
    note_count();
}

/* --- sessions --- */

/* Since 3.4 another GC can be loaded. */
static bool is_default_gc(void)
{
    VALUE gc = rb_path2class("GC");
    if (!rb_respond_to(gc, rb_intern("config"))) return true;
    VALUE config = rb_funcall(gc, rb_intern("config"), 0);
    VALUE name = RB_TYPE_P(config, T_HASH) ? rb_hash_lookup(config, ID2SYM(rb_intern("implementation"))) : Qnil;
    return !RB_TYPE_P(name, T_STRING) || strcmp(StringValueCStr(name), "default") == 0;
}

static const char *find_why_not(void)
{
    if (!RB_RPP_TELLS_MARKS) return "mode heap needs a Ruby that tells which objects are marked";
    return is_default_gc() ? NULL : "mode heap needs Ruby's default GC";
}

const char *rb_rpp_heap_why_not(void)
{
    return why_not;
}

bool rb_rpp_heap_is_wanted(rb_rpp_subscriber subscriber)
{
    return wanted[subscriber];
}

static bool marks_now(void)
{
    return rb_gc_latest_gc_info(state) == marking;
}

static bool any_wants(void)
{
    for (rb_rpp_subscriber subscriber = 0; subscriber < RB_RPP_SUBSCRIBERS; subscriber++) {
        if (wanted[subscriber]) return true;
    }
    return false;
}

void rb_rpp_heap_attach(rb_rpp_subscriber subscriber, uint32_t watched_max)
{
    bool has_room = table ? rpp_watched_grow(table, watched_max) == RPP_OK
                          : (table = rpp_watched_new(watched_max, rpp_random_seed())) != NULL;
    if (!has_room) rpp_log(RPP_LOG_ERROR, "out of memory: not all live objects are followed");
    if (!table) return;
    if (!any_wants()) {
        heard = rb_gc_count() - marks_now(); /* the GC that marks now is to be heard of */
        majors = 0;                          /* the first GC looks at all */
    }
    wanted[subscriber] = true;
    note_count();
}

void rb_rpp_heap_detach(rb_rpp_subscriber subscriber)
{
    wanted[subscriber] = false;
    if (!table || any_wants()) return;
    rpp_watched *unwanted = table;
    table = NULL;
    rpp_watched_free(unwanted);
    note_count();
}

void rb_rpp_heap_give_up(void)
{
    if (table && rpp_watched_count(table)) lose();
}

/* --- life --- */

void rb_rpp_heap_discard(void)
{
    memset(wanted, 0, sizeof wanted);
    if (table) rpp_watched_clear(table);
}

void rb_rpp_heap_init(void)
{
    static char data; /* an object without data is not told of moves */
    id_marked = rb_intern("marked");
    id_uncollectible = rb_intern("uncollectible");
    major_count = ID2SYM(rb_intern("major_gc_count"));
    state = ID2SYM(rb_intern("state"));
    marking = ID2SYM(rb_intern("marking"));
    rb_gc_register_address(&holder); /* pins it */
    holder = TypedData_Wrap_Struct(rb_cObject, &holder_type, &data);
    why_not = find_why_not();
    (void)rb_rpp_marks_of(holder, id_marked, id_uncollectible); /* the first call makes symbols */
}
