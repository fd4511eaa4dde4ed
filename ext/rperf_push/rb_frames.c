/* rb_frames.c - frames as rb_profile_frames returns them, turned into ids at once, named later, and let go of. */
#include "rb_frames.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/sample_buffer.h"
#include "core/stats.h"

#define FRAMES_MAX       65536u /* live at a time; what is beyond goes to (overflow) */
#define YOUNG_MAX        8192u
#define TABLE_FIRST_SIZE 8192u
#define MOVES_AT_ONCE    4096u /* of a table that has grown */
#define CHUNK_SIZE       1024u
#define WINDOWS_UNSEEN   3u
#define LOOKS_PER_WINDOW 16384u
#define DROPS_PER_WINDOW 1000u
#define NAME_MAX_BYTES   1024
#define AT_ONCE          16 /* frames compared in one go */

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

/* A table that grows is moved in parts: all at once, it would take milliseconds of the application's time. */
static frame_table table, outgrown;
static uint32_t moved; /* of outgrown's places */

static struct {
    VALUE frames[YOUNG_MAX];
    uint32_t ids[YOUNG_MAX];
    uint32_t count;
} young;

typedef struct chunk {
    VALUE frames[CHUNK_SIZE]; /* by id; 0: none */
} chunk;

/* The stack that was converted last, leaf first, its root at the end of the arrays: the next one is likely to share most of it,
 * and comparing is cheaper than looking up. Of this window only, as a look also says that a frame is in use. */
static struct {
    VALUE frames[RPP_MAX_DEPTH];
    uint32_t ids[RPP_MAX_DEPTH];
    int depth;
} last;

static VALUE chunk_objects[FRAMES_MAX / CHUNK_SIZE + 1];
static rpp_frame_names *names;
static char own_prefix[1024];
static uint32_t window = WINDOWS_UNSEEN;
/* Set while a job changes the tables: a signal handler on the same thread keeps out. */
static volatile bool changing;

/* What is done in between stays in between: to the compiler, the fences are a handler that looks. */
static void set_changing(bool on)
{
    atomic_signal_fence(memory_order_seq_cst);
    changing = on;
    atomic_signal_fence(memory_order_seq_cst);
}

/* --- what the GC is told --- */

static void mark_young(void *unused)
{
    for (uint32_t i = 0; i < young.count; i++) rb_gc_mark(young.frames[i]);
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

static VALUE *old_slot(uint32_t id, VALUE *owner)
{
    uint32_t index = id - RPP_FRAME_FIRST;
    VALUE *object = &chunk_objects[index / CHUNK_SIZE];
    if (!*object) {
        chunk *fresh;
        VALUE made = TypedData_Make_Struct(rb_cObject, chunk, &chunk_type, fresh);
        rb_gc_register_mark_object(made);
        *object = made;
    }
    *owner = *object;
    return &((chunk *)RTYPEDDATA_GET_DATA(*object))->frames[index % CHUNK_SIZE];
}

static void keep(uint32_t id, VALUE frame)
{
    VALUE owner, *slot = old_slot(id, &owner);
    *slot = frame;
    RB_OBJ_WRITTEN(owner, Qundef, frame);
}

static void let_go(uint32_t id)
{
    VALUE owner;
    *old_slot(id, &owner) = 0;
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

/* Out of memory: stays as it is; then captures wait, or say (overflow). */
static void table_resize(uint32_t size)
{
    move_outgrown(UINT32_MAX); /* the move before has long been done, or nearly */
    frame_table fresh = {rpp_calloc(size, sizeof(entry)), size, 0, 0, (unsigned)(64 - __builtin_ctz(size))};
    if (!fresh.entries) return;
    set_changing(true);
    outgrown = table;
    moved = 0;
    table = fresh;
    set_changing(false);
}

/* Room for a deep stack of new frames, made ahead of time as a capture cannot allocate. */
static void make_room(void)
{
    if (table.used > table.size / 2) table_resize(table.live > table.size / 4 ? table.size * 2 : table.size);
    move_outgrown(MOVES_AT_ONCE);
    set_changing(true);
    (void)!rpp_frame_names_ensure(names, YOUNG_MAX); /* near the limit: fewer; then captures say (overflow) */
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
    young.frames[young.count] = frame;
    young.ids[young.count++] = id;
    put(e, (entry){frame, id, window});
    return id;
}

/* How many frames, counted from the root, are those of the last stack. */
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

uint32_t rb_rpp_frames_unnamed(void)
{
    return young.count;
}

rpp_frame_names *rb_rpp_frames_names(void)
{
    return names;
}

/* --- names --- */

static bool is_own(VALUE path, VALUE class_path)
{
    if (RTEST(path)) {
        size_t length = strlen(own_prefix);
        return length && (size_t)RSTRING_LEN(path) > length && !memcmp(RSTRING_PTR(path), own_prefix, length);
    }
    return RTEST(class_path) && RSTRING_LEN(class_path) >= 9 && !memcmp(RSTRING_PTR(class_path), "RperfPush", 9);
}

/* "Shop::Cart#total" for methods (blocks in a method come back as the method), "block in <main>" and so on for the rest. */
static size_t compose_name(VALUE frame, VALUE class_path, char *name, size_t size)
{
    VALUE method = rb_profile_frame_method_name(frame);
    int length;
    if (RTEST(class_path) && RTEST(method)) {
        const char *mark = RTEST(rb_profile_frame_singleton_method_p(frame)) ? "." : "#";
        length = snprintf(name, size, "%.*s%s%.*s", RSTRING_LENINT(class_path), RSTRING_PTR(class_path), mark,
                          RSTRING_LENINT(method), RSTRING_PTR(method));
    } else {
        VALUE label = rb_profile_frame_label(frame);
        if (!RTEST(label)) label = method;
        if (!RTEST(label)) return (size_t)snprintf(name, size, "[unknown]");
        length = snprintf(name, size, "%.*s", RSTRING_LENINT(label), RSTRING_PTR(label));
    }
    return (size_t)length < size ? (size_t)length : size - 1;
}

static VALUE name_frame(VALUE argument)
{
    uint32_t index = *(uint32_t *)argument, id = young.ids[index];
    VALUE frame = young.frames[index];
    VALUE path = rb_profile_frame_absolute_path(frame);
    VALUE class_path = rb_profile_frame_classpath(frame);
    if (RTEST(path) && RSTRING_LEN(path) == 7 && !memcmp(RSTRING_PTR(path), "<cfunc>", 7)) {
        path = Qnil;
    } else if (!RTEST(path)) {
        path = rb_profile_frame_path(frame); /* eval, <internal:...> */
    }
    VALUE line = RTEST(path) ? rb_profile_frame_first_lineno(frame) : Qnil;
    char name[NAME_MAX_BYTES];
    size_t name_length = compose_name(frame, class_path, name, sizeof name);
    uint32_t first_line = FIXNUM_P(line) && FIX2LONG(line) > 0 ? (uint32_t)FIX2LONG(line) : 0;

    rpp_status status =
        rpp_frame_names_set(names, id, name, name_length, RTEST(path) ? RSTRING_PTR(path) : "",
                            RTEST(path) ? (size_t)RSTRING_LEN(path) : 0, first_line, is_own(path, class_path));
    if (status == RPP_OK) keep(id, frame);
    RB_GC_GUARD(path);
    RB_GC_GUARD(class_path);
    return status == RPP_OK ? Qtrue : Qfalse;
}

void rb_rpp_frames_name(uint64_t budget_ns)
{
    static bool naming; /* naming allocates, so a job may come in between */
    if (naming) return;
    naming = true;
    make_room();
    uint64_t begin = rpp_monotonic_ns();
    while (young.count) {
        uint32_t index = young.count - 1;
        int failed = 0;
        VALUE named = rb_protect(name_frame, (VALUE)&index, &failed);
        if (failed) rb_set_errinfo(Qnil);
        if (failed || named != Qtrue) break; /* out of memory: later */
        set_changing(true);
        young.count--;
        young.frames[index] = young.frames[young.count];
        young.ids[index] = young.ids[young.count];
        set_changing(false);
        if (rpp_monotonic_ns() - begin >= budget_ns) break;
    }
    rpp_stats_set(RPP_STAT_frames_known, rpp_frame_names_count(names));
    naming = false;
}

static void drop(entry *e)
{
    let_go(e->id);
    rpp_frame_names_release(names, e->id);
    e->frame = REMOVED;
    table.live--;
}

/* A part of the table in each window; and dropping costs more than looking. Where there are many frames it takes several windows
 * until those that went out of use are gone. */
void rb_rpp_frames_next_window(void)
{
    static uint32_t cursor;
    window++;
    uint32_t dropped = 0;
    move_outgrown(MOVES_AT_ONCE);
    set_changing(true);
    last.depth = 0;
    for (uint32_t looks = 0; looks < table.size && looks < LOOKS_PER_WINDOW && dropped < DROPS_PER_WINDOW; looks++) {
        entry *e = &table.entries[cursor++ & (table.size - 1)];
        if (!is_live(e) || window - e->seen <= WINDOWS_UNSEEN) continue;
        if (!rpp_frame_names_get(names, e->id)) continue; /* still young */
        drop(e);
        dropped++;
    }
    set_changing(false);
    rpp_stats_add(RPP_STAT_frames_dropped, dropped);
    rpp_stats_set(RPP_STAT_frames_known, rpp_frame_names_count(names));
}

void rb_rpp_frames_init(const char *lib_dir)
{
    names = rpp_frame_names_new(FRAMES_MAX + RPP_FRAME_FIRST);
    table_resize(TABLE_FIRST_SIZE);
    if (!names || !table.size) rb_memerror();
    make_room();
    snprintf(own_prefix, sizeof own_prefix, "%s", lib_dir);
    rb_gc_register_mark_object(TypedData_Wrap_Struct(rb_cObject, &young_type, &young));
}
