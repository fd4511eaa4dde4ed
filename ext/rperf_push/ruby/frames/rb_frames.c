/* rb_frames.c - the frame table: converts frames of rb_profile_frames to ids at once, names them later, and releases
 * them. */
#include "frames/rb_frames.h"

#include <stdatomic.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/stats.h"
#include "core/sampling/sample_buffer.h"
#include "frames/rb_naming.h"

#define FRAMES_MAX       65536u /* live at a time; frames beyond go to (overflow) */
#define YOUNG_MAX        8192u  /* a power of two */
#define TABLE_FIRST_SIZE 8192u
#define MOVES_AT_ONCE    4096u /* of a table that has grown */
#define CHUNK_SIZE       1024u
#define WINDOWS_UNSEEN   3u
#define LOOKS_AT_ONCE    64u /* for as long, captures keep out */
#define SWEEP_SHARE      4u  /* of the budget while there are names to find, which take longer */
#define AT_ONCE          16  /* frames compared in one go */

#define EMPTY   ((VALUE)0)
#define REMOVED ((VALUE)1) /* a Fixnum, never a frame */

typedef struct entry {
    VALUE frame;
    uint32_t id;
    uint32_t seen; /* window of the last capture */
} entry;

/* VALUE -> id: open addressing, a power of two, at most half full. */
typedef struct frame_table {
    entry *entries;
    uint32_t size, live, used; /* used counts REMOVED ones too */
    unsigned shift;
} frame_table;

/* A growing table is moved in parts: moving it at once would take milliseconds of the application's time. */
static frame_table table, outgrown;
static uint32_t moved; /* slots of `outgrown` moved so far */

/* A ring: the frame that has waited longest is named first, because its window is closed first. */
static struct {
    VALUE frames[YOUNG_MAX];
    uint32_t ids[YOUNG_MAX];
    uint32_t first, count;
} young;

typedef struct chunk {
    VALUE frames[CHUNK_SIZE]; /* by id; 0: none */
} chunk;

/* The last converted stack, leaf first, with its root at the end of the arrays. The next stack is likely to share
 * most of it, and a comparison is cheaper than a lookup. Only for this window, because a lookup also marks a frame
 * as used. */
static struct {
    VALUE frames[RPP_MAX_DEPTH];
    uint32_t ids[RPP_MAX_DEPTH];
    int depth;
} last;

static VALUE chunk_objects[FRAMES_MAX / CHUNK_SIZE + 1];
static rpp_frame_names *names;
static uint32_t window = WINDOWS_UNSEEN;
static _Atomic unsigned readers;
/* Where the search for unseen frames continues, and how many ids it still has to check in this window. */
static struct {
    uint32_t next_id, left;
} sweep;
/* Set while a job changes the tables: a signal handler on the same thread then does not use them. */
static volatile bool changing;

/* The fences stop the compiler from moving code across: it must assume a handler that reads the tables. */
static void set_changing(bool on)
{
    atomic_signal_fence(memory_order_seq_cst);
    changing = on;
    atomic_signal_fence(memory_order_seq_cst);
}

/* --- marking --- */

static uint32_t young_place(uint32_t nth)
{
    return (young.first + nth) % YOUNG_MAX;
}

static void mark_young(void *unused)
{
    for (uint32_t i = 0; i < young.count; i++) rb_gc_mark(young.frames[young_place(i)]);
}

static void mark_chunk(void *data)
{
    const chunk *c = data;
    for (uint32_t i = 0; i < CHUNK_SIZE; i++) {
        if (c->frames[i]) rb_gc_mark(c->frames[i]);
    }
}

static const rb_data_type_t young_type = {
    .wrap_struct_name = "rperf_push/young_frames",
    .function = {.dmark = mark_young},
};

static const rb_data_type_t chunk_type = {
    .wrap_struct_name = "rperf_push/named_frames",
    .function = {.dmark = mark_chunk, .dfree = RUBY_DEFAULT_FREE},
    .flags = RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE *chunk_object_of(uint32_t id)
{
    return &chunk_objects[(id - RPP_FRAME_FIRST) / CHUNK_SIZE];
}

/* NULL: this chunk never had an old frame. */
static VALUE *old_slot(uint32_t id)
{
    VALUE object = *chunk_object_of(id);
    if (!object) return NULL;
    return &((chunk *)RTYPEDDATA_GET_DATA(object))->frames[(id - RPP_FRAME_FIRST) % CHUNK_SIZE];
}

/* Raises if out of memory. */
static void make_old_slot(uint32_t id)
{
    VALUE *object = chunk_object_of(id);
    if (*object) return;
    chunk *fresh;
    VALUE made = TypedData_Make_Struct(rb_cObject, chunk, &chunk_type, fresh);
    rb_gc_register_mark_object(made);
    *object = made;
}

static void keep(uint32_t id, VALUE frame)
{
    *old_slot(id) = frame;
    RB_OBJ_WRITTEN(*chunk_object_of(id), Qundef, frame);
}

/* --- the table --- */

static uint32_t bucket_of(const frame_table *in, VALUE frame)
{
    return (uint32_t)((frame * UINT64_C(0x9E3779B97F4A7C15)) >> in->shift);
}

static entry *find(const frame_table *in, VALUE frame)
{
    entry *vacant = NULL;
    for (uint32_t i = bucket_of(in, frame);; i = (i + 1) & (in->size - 1)) {
        entry *e = &in->entries[i];
        if (e->frame == frame) return e;
        if (e->frame == REMOVED && !vacant) vacant = e;
        if (e->frame == EMPTY) return vacant ? vacant : e;
    }
}

static bool is_live(const entry *e)
{
    return e->frame != EMPTY && e->frame != REMOVED;
}

static void put(entry *place, entry e)
{
    if (place->frame == EMPTY) table.used++;
    table.live++;
    *place = e;
}

static void move_outgrown(uint32_t most)
{
    if (!outgrown.size) return;
    set_changing(true);
    for (; moved < outgrown.size && most; moved++, most--) {
        entry *e = &outgrown.entries[moved];
        if (!is_live(e)) continue;
        put(find(&table, e->frame), *e);
        e->frame = REMOVED;
        outgrown.live--;
    }
    entry *empty = moved == outgrown.size ? outgrown.entries : NULL;
    if (empty) outgrown = (frame_table){0};
    set_changing(false);
    rpp_free(empty);
}

/* If out of memory, the table stays as it is, and captures wait or use (overflow). */
static void table_resize(uint32_t size)
{
    move_outgrown(UINT32_MAX); /* completes the previous move, which is nearly or long done */
    frame_table fresh = {rpp_calloc(size, sizeof(entry)), size, 0, 0, (unsigned)(64 - __builtin_ctz(size))};
    if (!fresh.entries) return;
    set_changing(true);
    outgrown = table;
    moved = 0;
    table = fresh;
    set_changing(false);
}

/* Makes room for a deep stack of new frames in advance, because a capture cannot allocate. */
static void make_room(void)
{
    if (table.used > table.size / 2) table_resize(table.live > table.size / 4 ? table.size * 2 : table.size);
    move_outgrown(MOVES_AT_ONCE);
    set_changing(true);
    (void)!rpp_frame_names_ensure(names, YOUNG_MAX); /* near the limit there are fewer; captures then use (overflow) */
    set_changing(false);
}

static entry *find_known(VALUE frame)
{
    entry *e = find(&table, frame);
    if (e->frame == frame || !outgrown.size) return e;
    entry *not_moved = find(&outgrown, frame);
    return not_moved->frame == frame ? not_moved : e;
}

/* The id of a frame; RPP_FRAME_OVERFLOW past the limit; 0: no room right now. */
static uint32_t id_of(VALUE frame)
{
    entry *e = find_known(frame);
    if (e->frame == frame) {
        e->seen = window;
        return e->id;
    }
    if (rpp_frame_names_count(names) >= FRAMES_MAX) return RPP_FRAME_OVERFLOW;
    if (young.count == YOUNG_MAX || table.used + outgrown.live >= table.size / 4 * 3) return 0;
    uint32_t id = rpp_frame_names_reserve(names);
    if (!id) return 0;
    uint32_t place = young_place(young.count++);
    young.frames[place] = frame;
    young.ids[place] = id;
    put(e, (entry){frame, id, window});
    return id;
}

/* The number of frames, from the root on, that equal those of the last stack. */
static int shared_with_last(const VALUE *frames, int count)
{
    const VALUE *root = frames + count, *last_root = last.frames + RPP_MAX_DEPTH;
    int most = count < last.depth ? count : last.depth, shared = 0;
    while (shared + AT_ONCE <= most &&
           !memcmp(root - shared - AT_ONCE, last_root - shared - AT_ONCE, sizeof(VALUE[AT_ONCE]))) {
        shared += AT_ONCE;
    }
    while (shared < most && root[-1 - shared] == last_root[-1 - shared]) shared++;
    return shared;
}

static bool convert_own_part(const VALUE *frames, int count, int shared)
{
    for (last.depth = shared; last.depth < count; last.depth++) {
        VALUE frame = frames[count - 1 - last.depth];
        uint32_t id = id_of(frame);
        if (!id) return false;
        last.frames[RPP_MAX_DEPTH - 1 - last.depth] = frame;
        last.ids[RPP_MAX_DEPTH - 1 - last.depth] = id;
    }
    return true;
}

bool rb_rpp_frames_convert(const VALUE *frames, const int *lines, int count, rpp_location *locations)
{
    if (changing) return false;
    if (!convert_own_part(frames, count, shared_with_last(frames, count))) return false;
    const uint32_t *ids = last.ids + RPP_MAX_DEPTH - count;
    if (lines) {
        for (int i = 0; i < count; i++) locations[i] = (rpp_location){ids[i], lines[i] > 0 ? (uint32_t)lines[i] : 0};
    } else {
        for (int i = 0; i < count; i++) locations[i] = (rpp_location){ids[i], 0};
    }
    return true;
}

bool rb_rpp_frames_convert_class(VALUE klass, rpp_location *location)
{
    uint32_t id = changing ? 0 : id_of(klass);
    *location = (rpp_location){id, 0};
    return id != 0;
}

uint32_t rb_rpp_frames_unnamed(void)
{
    return young.count;
}

rpp_frame_names *rb_rpp_frames_names(void)
{
    return names;
}

/* --- names --- */

static VALUE name_young(VALUE argument)
{
    uint32_t place = *(uint32_t *)argument, id = young.ids[place];
    VALUE frame = young.frames[place];
    rb_rpp_frame_name name;
    rb_rpp_name_frame(frame, &name);
    make_old_slot(id); /* this may raise, so it comes before the name, which is set once */
    rpp_status status = rpp_frame_names_set(names, id, name.text, name.length, name.file, name.file_length,
                                            name.first_line, name.is_own);
    if (status == RPP_OK) keep(id, frame);
    return status == RPP_OK ? Qtrue : Qfalse;
}

static void take_eldest_out(void)
{
    set_changing(true);
    young.first = young_place(1);
    young.count--;
    set_changing(false);
}

/* False: out of memory, try later. */
static bool name_eldest(void)
{
    uint32_t place = young.first;
    int failed = 0;
    VALUE named = rb_protect(name_young, (VALUE)&place, &failed);
    if (failed) rb_set_errinfo(Qnil);
    if (failed || named != Qtrue) return false;
    take_eldest_out();
    return true;
}

/* --- unseen frames --- */

/* No open window contains an unseen frame: all of them began later. */
static void drop_if_unseen(VALUE frame)
{
    frame_table *in = &table;
    entry *e = find(in, frame);
    if (e->frame != frame && outgrown.size) {
        in = &outgrown;
        e = find(in, frame);
    }
    if (e->frame != frame || window - e->seen <= WINDOWS_UNSEEN) return;
    *old_slot(e->id) = 0;
    rpp_frame_names_release(names, e->id);
    e->frame = REMOVED;
    in->live--;
    rpp_stats_add(RPP_STAT_frames_dropped, 1);
}

static void sweep_some(void)
{
    set_changing(true);
    for (uint32_t looks = 0; looks < LOOKS_AT_ONCE && sweep.left; looks++, sweep.left--) {
        if (sweep.next_id >= rpp_frame_names_end(names)) sweep.next_id = RPP_FRAME_FIRST;
        const VALUE *old = old_slot(sweep.next_id++);
        if (old && *old) {
            drop_if_unseen(*old);
        } else {
            rpp_frame_names_collect(names, sweep.next_id - 1);
        }
    }
    set_changing(false);
}

/* --- jobs --- */

bool rb_rpp_frames_work(uint64_t budget_ns)
{
    static bool working; /* naming allocates, so a job may come in between */
    if (working) return true;
    working = true;
    uint64_t began = rpp_monotonic_ns(), deadline = began + budget_ns;
    uint64_t sweep_deadline = young.count ? began + budget_ns / SWEEP_SHARE : deadline;
    make_room();
    while (sweep.left && rpp_monotonic_ns() < sweep_deadline) sweep_some();
    while (young.count && rpp_monotonic_ns() < deadline && name_eldest()) continue;
    rpp_stats_set(RPP_STAT_frames_known, rpp_frame_names_count(names));
    rpp_stats_set(RPP_STAT_frames_unresolved, young.count);
    working = false;
    return young.count || sweep.left;
}

void rb_rpp_frames_add_reader(void)
{
    atomic_fetch_add(&readers, 1);
}

void rb_rpp_frames_remove_reader(void)
{
    atomic_fetch_sub(&readers, 1);
}

unsigned rb_rpp_frames_readers(void)
{
    return atomic_load(&readers);
}

void rb_rpp_frames_discard_after_fork(void)
{
    atomic_store(&readers, 0);
    rpp_frame_names_discard_holds(names);
}

void rb_rpp_frames_next_window(void)
{
    set_changing(true);
    window++;
    last.depth = 0;
    sweep.left = rpp_frame_names_end(names) - RPP_FRAME_FIRST;
    set_changing(false);
}

void rb_rpp_frames_init(void)
{
    names = rpp_frame_names_new(FRAMES_MAX + RPP_FRAME_FIRST);
    table_resize(TABLE_FIRST_SIZE);
    if (!names || !table.size) rb_memerror();
    make_room();
    sweep.next_id = RPP_FRAME_FIRST;
    rb_gc_register_mark_object(TypedData_Wrap_Struct(rb_cObject, &young_type, &young));
}
