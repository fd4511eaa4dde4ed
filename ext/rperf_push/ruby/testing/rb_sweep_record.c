/* rb_sweep_record.c - records a sweep: its stacks, how each follows from the previous one, and impossible stacks. */
#include "testing/rb_sweep_record.h"

#ifdef RPP_TESTING

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "core/sampling/sample_buffer.h"
#include "vm/rb_values.h"

#define STACKS_MAX (1u << 14) /* distinct ones; a power of two */
#define LEAVES_MAX 24         /* kept of each */
#define FRAMES_MAX (1u << 12) /* distinct ones; a power of two */
#define WRONG_MAX  16
#define CODE_MAX   16
#define PLACES_MAX (1u << 10) /* a power of two */
#define DEPTH_MAX  (RPP_MAX_DEPTH + 1)

static const char *const outcome_names[] = {"captured",    "stack changing", "in the GC", "in a hook",
                                            "off the GVL", "no timer",       "otherwise"};

typedef enum change { SAME, PUSH, POP, UNWIND, SWITCH, AFTER_DEFERRED, FIRST, CHANGES } change;
static const char *const change_names[] = {"same", "push", "pop", "unwind", "switch", "after deferred", "first"};

/* Root first. */
typedef struct stack {
    int depth;
    VALUE frames[DEPTH_MAX];
} stack;

typedef struct seen_stack {
    uint64_t hash, seen; /* 0: free */
    bool on_base, leaves_only;
    int depth;
    VALUE frames[LEAVES_MAX];
} seen_stack;

typedef struct seen_frame {
    VALUE frame;
    uint64_t seen, as_leaf, calls;
    int least_line, greatest_line;
} seen_frame;

typedef struct wrong_stack {
    const char *what;
    uintptr_t address;
    stack before, now;
} wrong_stack;

typedef struct place {
    uintptr_t address;
    uint64_t count;
} place;

typedef struct code_range {
    uintptr_t begin, end;
    uint64_t steps;
    VALUE leaf;
} code_range;

static struct {
    uint64_t steps;
    _Atomic uint64_t outcomes[RB_RPP_SWEEP_OUTCOMES];
    uint64_t changes[CHANGES];
    stack base, previous, now;
    const rb_rpp_thread *previous_thread;
    _Atomic bool deferred; /* since the previous one */
    _Atomic bool recording;
    seen_stack stacks[STACKS_MAX];
    unsigned stacks_count;
    seen_frame frames[FRAMES_MAX];
    unsigned frames_count;
    wrong_stack wrong[WRONG_MAX];
    unsigned wrong_count;
    place changing[PLACES_MAX]; /* places beyond the limit are left out */
    code_range code[CODE_MAX];
    unsigned code_count;
} record;

/* --- in the handler --- */

static void complain(const char *what, uintptr_t address)
{
    if (record.wrong_count++ >= WRONG_MAX) return;
    record.wrong[record.wrong_count - 1] = (wrong_stack){what, address, record.previous, record.now};
}

static void turn(const VALUE *frames, int depth, stack *into)
{
    into->depth = depth;
    for (int i = 0; i < depth; i++) into->frames[i] = frames[depth - 1 - i];
}

static int shared(const stack *a, const stack *b)
{
    int both = a->depth < b->depth ? a->depth : b->depth, same = 0;
    while (same < both && a->frames[same] == b->frames[same]) same++;
    return same;
}

/* Stacks that were cut off at the root have nothing in common to count from. */
static bool is_whole(const stack *s)
{
    return s->depth < DEPTH_MAX;
}

static change change_of(const rb_rpp_thread *t)
{
    const stack *from = &record.previous, *to = &record.now;
    bool deferred = atomic_exchange(&record.deferred, false);
    if (!from->depth) return FIRST;
    if (record.previous_thread != t) return SWITCH;
    if (!is_whole(from) || !is_whole(to)) return deferred ? AFTER_DEFERRED : SAME;
    int same = shared(from, to);
    if (same == from->depth && same == to->depth) return SAME;
    if (same == to->depth) return same + 1 == from->depth ? POP : UNWIND;
    if (same == from->depth && same + 1 == to->depth) return PUSH;
    if (!same) return SWITCH;
    return deferred ? AFTER_DEFERRED : CHANGES;
}

static uint64_t hash_of(const VALUE *frames, int depth)
{
    uint64_t hash = 1469598103934665603u;
    for (int i = 0; i < depth; i++) hash = (hash ^ frames[i]) * 1099511628211u;
    return (hash ^ hash >> 29) | 1;
}

static void see_stack(const VALUE *frames, int depth, bool on_base, uintptr_t address)
{
    bool leaves_only = depth > LEAVES_MAX || !is_whole(&record.now);
    int kept = depth > LEAVES_MAX ? LEAVES_MAX : depth;
    frames += depth - kept;
    uint64_t hash = hash_of(frames, kept) ^ (on_base ? 2 : 0) ^ (leaves_only ? 4 : 0);
    unsigned i = hash & (STACKS_MAX - 1);
    while (record.stacks[i].seen && record.stacks[i].hash != hash) i = (i + 1) & (STACKS_MAX - 1);
    seen_stack *s = &record.stacks[i];
    if (s->seen++) return;
    if (record.stacks_count++ == STACKS_MAX / 2) complain("too many stacks to remember", address);
    s->hash = hash;
    s->on_base = on_base;
    s->leaves_only = leaves_only;
    s->depth = kept;
    memcpy(s->frames, frames, sizeof *frames * (size_t)kept);
}

static seen_frame *see_frame(VALUE frame, int line, bool is_leaf, uintptr_t address)
{
    unsigned i = (unsigned)((frame * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (FRAMES_MAX - 1);
    while (record.frames[i].frame && record.frames[i].frame != frame) i = (i + 1) & (FRAMES_MAX - 1);
    seen_frame *f = &record.frames[i];
    if (!f->frame) {
        if (record.frames_count++ == FRAMES_MAX / 2) complain("too many frames to remember", address);
        f->frame = frame;
    }
    f->seen++;
    if (is_leaf) f->as_leaf++;
    if (line && (!f->least_line || line < f->least_line)) f->least_line = line;
    if (line > f->greatest_line) f->greatest_line = line;
    return f;
}

static void see_code(uintptr_t address)
{
    VALUE leaf = record.now.frames[record.now.depth - 1];
    for (unsigned i = 0; i < record.code_count; i++) {
        code_range *c = &record.code[i];
        if (address < c->begin || address >= c->end) continue;
        c->steps++;
        if (!c->leaf) c->leaf = leaf;
        if (c->leaf != leaf) complain("in a C function, not at its method", address);
    }
}

static void see(const rb_rpp_thread *t, uintptr_t address, const int *lines)
{
    const stack *now = &record.now;
    change kind = change_of(t);
    if (kind == CHANGES) {
        complain("a change that cannot be", address);
    } else {
        record.changes[kind]++;
    }
    bool on_base = shared(&record.base, now) == record.base.depth;
    int own = on_base ? record.base.depth : 0;
    see_code(address);
    if (kind == SAME) own = now->depth > 3 ? now->depth - 3 : own; /* lines of the others were seen */
    for (int i = own; i < now->depth; i++) {
        bool is_leaf = i == now->depth - 1;
        seen_frame *f = see_frame(now->frames[i], lines ? lines[now->depth - 1 - i] : 0, is_leaf, address);
        if (is_leaf && kind == PUSH) f->calls++;
    }
    if (on_base) own = record.base.depth;
    see_stack(now->frames + (on_base ? record.base.depth : 0), now->depth - (on_base ? record.base.depth : 0), on_base,
              address);
    record.previous_thread = t;
    if (kind != SAME) record.previous = *now;
}

void rb_rpp_sweep_record_stack(const rb_rpp_thread *t, uintptr_t address, const VALUE *frames, const int *lines,
                               int depth)
{
    if (atomic_exchange(&record.recording, true)) {
        complain("two threads capture at once", address);
        return;
    }
    turn(frames, depth, &record.now);
    see(t, address, lines);
    atomic_store(&record.recording, false);
}

void rb_rpp_sweep_record_outcome(rb_rpp_sweep_outcome outcome)
{
    atomic_fetch_add_explicit(&record.outcomes[outcome], 1, memory_order_relaxed);
    if (outcome != RB_RPP_SWEEP_CAPTURED) atomic_store(&record.deferred, true);
}

void rb_rpp_sweep_record_gap(void)
{
    atomic_store(&record.deferred, true);
}

void rb_rpp_sweep_record_changing(uintptr_t address)
{
    unsigned i = (unsigned)((address * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (PLACES_MAX - 1);
    if (record.changing[i].address && record.changing[i].address != address) return;
    record.changing[i].address = address;
    record.changing[i].count++;
}

/* --- what is kept --- */

static void mark_frames(void *unused)
{
    for (unsigned i = 0; i < FRAMES_MAX; i++) {
        if (record.frames[i].frame) rb_gc_mark(record.frames[i].frame);
    }
    for (int i = 0; i < record.base.depth; i++) rb_gc_mark(record.base.frames[i]);
}

static const rb_data_type_t record_type = {
    .wrap_struct_name = "rperf_push/sweep_record",
    .function = {.dmark = mark_frames},
};

void rb_rpp_sweep_record_init(void)
{
    rb_gc_register_mark_object(TypedData_Wrap_Struct(rb_cObject, &record_type, &record));
}

void rb_rpp_sweep_record_begin(VALUE code)
{
    VALUE frames[DEPTH_MAX];
    memset(&record, 0, sizeof record);
    for (long i = 0; !NIL_P(code) && i < RARRAY_LEN(code) && i < CODE_MAX; i++) {
        VALUE range = RARRAY_AREF(code, i);
        record.code[record.code_count++] =
            (code_range){.begin = NUM2ULL(RARRAY_AREF(range, 0)), .end = NUM2ULL(RARRAY_AREF(range, 1))};
    }
    turn(frames, rb_profile_frames(0, DEPTH_MAX, frames, NULL), &record.base);
}

void rb_rpp_sweep_record_steps(uint64_t steps)
{
    record.steps = steps;
}

/* --- the report --- */

static VALUE name_of(VALUE frame)
{
    VALUE name = rb_profile_frame_qualified_method_name(frame);
    if (NIL_P(name)) name = rb_profile_frame_base_label(frame);
    if (NIL_P(name)) name = rb_profile_frame_method_name(frame);
    return name;
}

VALUE rb_rpp_sweep_names(const VALUE *frames, int depth)
{
    VALUE names = rb_ary_new();
    for (int i = depth - 1; i >= 0; i--) rb_ary_push(names, name_of(frames[i]));
    return names;
}

static VALUE names_of(const VALUE *frames, int depth)
{
    VALUE names = rb_ary_new();
    for (int i = 0; i < depth; i++) rb_ary_push(names, name_of(frames[i]));
    return names;
}

static VALUE leaves_of(const stack *s)
{
    int kept = s->depth > LEAVES_MAX ? LEAVES_MAX : s->depth;
    return names_of(s->frames + s->depth - kept, kept);
}

static VALUE boolean(bool value)
{
    return value ? Qtrue : Qfalse;
}

static VALUE counts(const char *const *names, uint64_t (*count_of)(int), int size)
{
    VALUE all = rb_hash_new();
    for (int i = 0; i < size; i++) rb_hash_aset(all, rb_str_new_cstr(names[i]), ULL2NUM(count_of(i)));
    return all;
}

static uint64_t outcome_count(int i)
{
    return atomic_load(&record.outcomes[i]);
}

static uint64_t change_count(int i)
{
    return record.changes[i];
}

static VALUE stacks(void)
{
    VALUE all = rb_ary_new();
    for (unsigned i = 0; i < STACKS_MAX; i++) {
        const seen_stack *s = &record.stacks[i];
        if (!s->seen) continue;
        rb_ary_push(all, rb_ary_new_from_args(4, names_of(s->frames, s->depth), boolean(s->on_base),
                                              boolean(s->leaves_only), ULL2NUM(s->seen)));
    }
    return all;
}

static VALUE frames(void)
{
    VALUE all = rb_ary_new();
    for (unsigned i = 0; i < FRAMES_MAX; i++) {
        const seen_frame *f = &record.frames[i];
        if (!f->frame) continue;
        rb_ary_push(all,
                    rb_ary_new_from_args(8, name_of(f->frame), rb_profile_frame_path(f->frame),
                                         rb_profile_frame_first_lineno(f->frame), ULL2NUM(f->seen), ULL2NUM(f->as_leaf),
                                         INT2NUM(f->least_line), INT2NUM(f->greatest_line), ULL2NUM(f->calls)));
    }
    return all;
}

static VALUE symbol_at(uintptr_t address)
{
    Dl_info info;
    bool found = dladdr((const void *)address, &info);
    if (found && info.dli_sname)
        return rb_sprintf("%s+%lu", info.dli_sname, (unsigned long)(address - (uintptr_t)info.dli_saddr));
    if (found) return rb_sprintf("%s+0x%lx", info.dli_fname, (unsigned long)(address - (uintptr_t)info.dli_fbase));
    return rb_sprintf("0x%lx", (unsigned long)address);
}

static VALUE wrong(void)
{
    VALUE all = rb_ary_new();
    for (unsigned i = 0; i < record.wrong_count && i < WRONG_MAX; i++) {
        const wrong_stack *w = &record.wrong[i];
        rb_ary_push(all, rb_ary_new_from_args(4, rb_str_new_cstr(w->what), symbol_at(w->address), leaves_of(&w->before),
                                              leaves_of(&w->now)));
    }
    return all;
}

static VALUE changing(void)
{
    VALUE all = rb_ary_new();
    for (unsigned i = 0; i < PLACES_MAX; i++) {
        const place *p = &record.changing[i];
        if (p->count) rb_ary_push(all, rb_ary_new_from_args(2, symbol_at(p->address), ULL2NUM(p->count)));
    }
    return all;
}

static VALUE code(void)
{
    VALUE all = rb_ary_new();
    for (unsigned i = 0; i < record.code_count; i++) {
        const code_range *c = &record.code[i];
        rb_ary_push(all, rb_ary_new_from_args(2, ULL2NUM(c->steps), c->leaf ? name_of(c->leaf) : Qnil));
    }
    return all;
}

VALUE rb_rpp_sweep_record_report(void)
{
    VALUE report = rb_hash_new();
    rb_rpp_put(report, "steps", ULL2NUM(record.steps));
    rb_rpp_put(report, "outcomes", counts(outcome_names, outcome_count, RB_RPP_SWEEP_OUTCOMES));
    rb_rpp_put(report, "changes", counts(change_names, change_count, CHANGES));
    rb_rpp_put(report, "stacks", stacks());
    rb_rpp_put(report, "frames", frames());
    rb_rpp_put(report, "wrong", wrong());
    rb_rpp_put(report, "wrong_count", UINT2NUM(record.wrong_count));
    rb_rpp_put(report, "changing", changing());
    rb_rpp_put(report, "code", code());
    return report;
}

#endif
