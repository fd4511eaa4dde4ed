/* rb_walk.c - walks a thread's stack at any instruction. */
#include "frames/rb_walk.h"

#include <stdint.h>
#include <string.h>

#include "core/base/source_path.h"
#include "core/base/stats.h"
#include "core/sampling/sample_buffer.h"
#include "vm/rb_guard.h"
#include "vm/rb_probes.h"
#include "vm/rb_vm_layout.h"

/* libruby exports it, but no public header declares it. */
unsigned int rb_iseq_line_no(const void *iseq, size_t position);

/* The meaning of flag words, the same in every known series. */
enum {
    ENV_LOCAL = 0x2,
    ENV_ON_HEAP = 0x4,
    FRAME_IN_C = 0x80,
    FRAME_KIND_MASK = 0x7fff0001,
    FRAME_IS_DUMMY = 0x79990001,
    KIND_SHIFT = FL_USHIFT,
    KIND_MASK = 0xf << KIND_SHIFT,
    KIND_ENV = 0 << KIND_SHIFT | RUBY_T_IMEMO,
    KIND_CREF = 1 << KIND_SHIFT | RUBY_T_IMEMO,
    KIND_SVAR = 2 << KIND_SHIFT | RUBY_T_IMEMO,
    KIND_METHOD = 6 << KIND_SHIFT | RUBY_T_IMEMO,
    KIND_ISEQ = 7 << KIND_SHIFT | RUBY_T_IMEMO,
    DEFINED_IN_RUBY = 0,
    DEFINED_IN_C = 1,
    DEFINITION_MASK = 0xf,
};

#define ENV_FLAGS       0    /* of an environment's words, from its ep */
#define ENV_OBJECT      1    /* the object that it became */
#define ENV_BEFORE      (-1) /* the enclosing environment, or its block */
#define ENV_METHOD      (-2)
#define ENVS_AROUND_MAX 4096      /* blocks in blocks */
#define CODE_WORDS_MAX  (1 << 24) /* no code is longer */
#define LOWEST_ADDRESS  4096

static rb_rpp_vm_layout layout;
static bool is_proven;

/* The frames of the previous walk, from the root on: the next walk shares most of them. A frame whose words are the
 * same runs the same method at the same line. Only for this window, because its frames are alive. */
static struct known_frame {
    VALUE iseq, pc;
    VALUE env; /* 0: which method it runs is not known from these words alone */
    VALUE flags, method, before;
    VALUE flags_around, method_around; /* of a block: the method that it is in decides */
    VALUE value;
    int line;
} frames_before[RPP_MAX_DEPTH + 1];

typedef struct walk {
    VALUE thread;
    int limit, count;
    VALUE *frames;
    int *lines;
    const VALUE *stack, *end, *leaf; /* of the VM stack */
    size_t from_root;                /* of the frame being walked */
    bool whole;
} walk;

/* --- words of the VM --- */

static const VALUE *words_at(VALUE address)
{
    return (const VALUE *)address;
}

static bool may_be_address(VALUE value)
{
    return value % sizeof(VALUE) == 0 && value >= LOWEST_ADDRESS;
}

/* One of KIND_*, or another number for anything but the VM's own objects. */
static VALUE kind_of(VALUE value)
{
    return may_be_address(value) ? words_at(value)[0] & (KIND_MASK | RUBY_T_MASK) : 0;
}

static bool is_on_stack(const walk *w, VALUE address)
{
    return address >= (VALUE)w->stack && address < (VALUE)w->end;
}

/* The flags of every frame and environment are a Fixnum. But while an environment moves to the heap, frames of its
 * blocks still point to its place on the stack, which then contains the new object. NULL: neither. */
static const VALUE *environment_at(const walk *w, VALUE address)
{
    if (!may_be_address(address)) return NULL;
    VALUE flags = words_at(address)[ENV_FLAGS];
    if (FIXNUM_P(flags)) return words_at(address);
    if (!is_on_stack(w, address) || kind_of(flags) != KIND_ENV) return NULL;
    VALUE moved = words_at(flags)[layout.env.ep];
    return may_be_address(moved) && FIXNUM_P(words_at(moved)[ENV_FLAGS]) ? words_at(moved) : NULL;
}

static const VALUE *environment_around(const walk *w, const VALUE *env)
{
    return environment_at(w, env[ENV_BEFORE] & ~(VALUE)3);
}

/* --- the method that a frame runs --- */

/* False: this cannot be valid. The method is 0 if there is none. */
static bool method_in(VALUE value, bool is_local, VALUE *method)
{
    *method = 0;
    if (!value) return true;
    switch (kind_of(value)) {
    case KIND_METHOD: *method = value; return true;
    case KIND_CREF: return true;
    case KIND_SVAR: return !is_local || method_in(words_at(value)[layout.svar.cref_or_method], false, method);
    default: return false;
    }
}

/* A block belongs to the method around it, unless it became a method itself. */
static bool method_of(const walk *w, const VALUE *env, VALUE *method)
{
    for (int around = 0; env && around < ENVS_AROUND_MAX; around++) {
        bool is_local = env[ENV_FLAGS] & ENV_LOCAL;
        if (!method_in(env[ENV_METHOD], is_local, method)) return false;
        if (is_local || *method) return true;
        env = environment_around(w, env);
    }
    return false;
}

/* The kind of definition: in Ruby, in C, or another one. */
static int definition_of(VALUE method)
{
    VALUE definition = words_at(method)[layout.method.definition];
    if (!may_be_address(definition)) return -1;
    return (int)(*(const uint32_t *)definition & DEFINITION_MASK);
}

/* --- lines --- */

/* A frame that JIT code runs may contain a stale program counter: only one within the code is valid. */
static int find_line(VALUE iseq, VALUE pc)
{
    VALUE body = words_at(iseq)[layout.iseq.body];
    if (!pc || !may_be_address(body)) return 0;
    VALUE code = *(const VALUE *)(body + layout.iseq.code_bytes);
    VALUE size = *(const uint32_t *)(body + layout.iseq.code_size_bytes);
    if (size > CODE_WORDS_MAX || pc < code || pc > code + size * sizeof(VALUE) || (pc - code) % sizeof(VALUE)) return 0;
    size_t position = (pc - code) / sizeof(VALUE);
    if (position) position--; /* it points to the next instruction */
    return (int)rb_iseq_line_no((const void *)iseq, position);
}

/* The last word of a frame says where JIT code continues after the frame. */
static bool is_of_jit_code(const VALUE *frame)
{
    return frame[layout.frame.words - 1];
}

static int line_of(const walk *w, const VALUE *frame, struct known_frame *known)
{
    VALUE iseq = frame[layout.frame.iseq], pc = frame[layout.frame.pc];
    if (frame == w->leaf && is_of_jit_code(frame)) return 0;
    if (!known) return find_line(iseq, pc);
    if (known->iseq != iseq || known->pc != pc) *known = (struct known_frame){iseq, pc, .line = find_line(iseq, pc)};
    return known->line;
}

/* A frame of eval is shown as the method whose binding it has, so its line is one of the method's file. As long as the
 * walk is not proven, the VM's own lines are expected of it. Reads strings of code that runs, and allocates nothing. */
static int line_in_method(VALUE method, VALUE iseq, int line)
{
    VALUE file = rb_profile_frame_path(method), path = rb_profile_frame_path(iseq);
    if (!is_proven || !line || path == file || !RB_TYPE_P(file, T_STRING) || !RB_TYPE_P(path, T_STRING)) return line;
    return rpp_line_in_file(RSTRING_PTR(file), (size_t)RSTRING_LEN(file), RSTRING_PTR(path), (size_t)RSTRING_LEN(path),
                            line);
}

void rb_rpp_walk_next_window(void)
{
    memset(frames_before, 0, sizeof frames_before);
}

/* --- frames --- */

static void add(walk *w, VALUE value, int line)
{
    w->frames[w->count] = value;
    if (w->lines) w->lines[w->count] = line;
    w->count++;
}

/* --- frames of the previous walk --- */

/* NULL: nothing is kept of it. The line of the leaf may be unknown while others know it. */
static struct known_frame *known_at(const walk *w, const VALUE *frame)
{
    return w->lines && frame != w->leaf && w->from_root <= RPP_MAX_DEPTH ? &frames_before[w->from_root] : NULL;
}

static bool is_known(const struct known_frame *known, const VALUE *frame)
{
    VALUE address = frame[layout.frame.ep];
    if (known->env != address || !address) return false;
    const VALUE *env = words_at(address);
    bool is_same = env[ENV_FLAGS] == known->flags && env[ENV_METHOD] == known->method &&
                   frame[layout.frame.pc] == known->pc && frame[layout.frame.iseq] == known->iseq;
    if (!is_same || known->flags & ENV_LOCAL) return is_same;
    const VALUE *around = words_at(known->before & ~(VALUE)3);
    return env[ENV_BEFORE] == known->before && around[ENV_FLAGS] == known->flags_around &&
           around[ENV_METHOD] == known->method_around;
}

/* The environment whose words say which method runs there: its own, or the next one. NULL: it is further away. */
static const VALUE *deciding(const walk *w, const VALUE *frame, const VALUE *env)
{
    if ((VALUE)env != frame[layout.frame.ep]) return NULL; /* it is moving to the heap */
    if (env[ENV_FLAGS] & ENV_LOCAL) return env;
    const VALUE *around = environment_around(w, env);
    bool is_there = (VALUE)around == (env[ENV_BEFORE] & ~(VALUE)3);
    return around && is_there && around[ENV_FLAGS] & ENV_LOCAL ? around : NULL;
}

/* `method` as found, or 0 if the value is not a method. One that these words do not contain is not kept. */
static void keep(const walk *w, const VALUE *frame, const VALUE *env, VALUE method, struct known_frame *known)
{
    const VALUE *around = deciding(w, frame, env);
    if (!around || (method && method != around[ENV_METHOD])) return;
    *known = (struct known_frame){.iseq = frame[layout.frame.iseq],
                                  .pc = frame[layout.frame.pc],
                                  .env = (VALUE)env,
                                  .flags = env[ENV_FLAGS],
                                  .method = env[ENV_METHOD],
                                  .before = env[ENV_BEFORE],
                                  .flags_around = around[ENV_FLAGS],
                                  .method_around = around[ENV_METHOD],
                                  .value = w->frames[w->count - 1],
                                  .line = w->lines[w->count - 1]};
}

/* False: this is not a complete frame. */
static bool walk_new_frame(walk *w, const VALUE *frame, struct known_frame *known)
{
    VALUE method;
    const VALUE *env = environment_at(w, frame[layout.frame.ep]);
    if (!env || !method_of(w, env, &method)) return false;
    int definition = method ? definition_of(method) : -1;
    if (env[ENV_FLAGS] & FRAME_IN_C) {
        if (definition == DEFINED_IN_C) add(w, method, 0);
        if (known && definition == DEFINED_IN_C) keep(w, frame, env, method, known);
        return true;
    }
    /* For backtraces, the VM puts the name of the file being loaded into a frame, in place of an iseq. */
    bool is_dummy = (env[ENV_FLAGS] & FRAME_KIND_MASK) == FRAME_IS_DUMMY;
    if (is_dummy && !frame[layout.frame.pc]) return true;
    VALUE iseq = frame[layout.frame.iseq];
    if (kind_of(iseq) != KIND_ISEQ) return false;
    bool is_method = definition == DEFINED_IN_RUBY;
    int line = w->lines ? line_of(w, frame, known) : 0;
    add(w, is_method ? method : iseq, is_method ? line_in_method(method, iseq, line) : line);
    if (known) keep(w, frame, env, is_method ? method : 0, known);
    return true;
}

static bool walk_frame(walk *w, const VALUE *frame)
{
    struct known_frame *known = known_at(w, frame);
    if (!known || !is_known(known, frame)) return walk_new_frame(w, frame, known);
    add(w, known->value, known->line);
    return true;
}

static const VALUE *execution_context_of(VALUE thread)
{
    const VALUE *record = RTYPEDDATA_GET_DATA(thread);
    if (!record || record[layout.thread.self] != thread) return NULL;
    return words_at(record[layout.thread.ec]);
}

/* The innermost frame is at the lowest address; a dummy frame is at the end. */
static void walk_frames(void *argument)
{
    walk *w = argument;
    if (is_proven) RB_RPP_PROBE(in_walk);
    const VALUE *ec = execution_context_of(w->thread);
    if (!ec || !ec[layout.ec.stack]) return;
    w->stack = words_at(ec[layout.ec.stack]);
    w->end = w->stack + ec[layout.ec.stack_words];
    const VALUE *frame = words_at(ec[layout.ec.frame]), *last = w->end - layout.frame.words;
    if (frame < w->stack || frame > last || (size_t)(last - frame) % layout.frame.words) return;
    w->leaf = frame;
    w->from_root = (size_t)(last - frame) / layout.frame.words;
    for (; w->from_root && w->count < w->limit; frame += layout.frame.words, w->from_root--) {
        if (!walk_frame(w, frame)) return;
    }
    w->whole = true;
}

static int walk_checked(VALUE thread, int limit, VALUE *frames, int *lines)
{
    walk w = {.thread = thread, .limit = limit, .frames = frames, .lines = lines};
    if (!rb_rpp_guarded(walk_frames, &w)) {
        rpp_stats_add(RPP_STAT_captures_faulted, 1);
        return RB_RPP_WALK_NOT_NOW;
    }
    return w.whole ? w.count : RB_RPP_WALK_NOT_NOW;
}

static int walk_as_vm(VALUE thread, int limit, VALUE *frames, int *lines)
{
    if (thread == rb_thread_current()) return rb_profile_frames(0, limit, frames, lines);
    return rb_profile_thread_frames(thread, 0, limit, frames, lines);
}

int rb_rpp_walk(VALUE thread, int limit, VALUE *frames, int *lines)
{
    int count = is_proven ? walk_checked(thread, limit, frames, lines) : RB_RPP_WALK_NOT_NOW;
    return count == RB_RPP_WALK_NOT_NOW ? walk_as_vm(thread, limit, frames, lines) : count;
}

int rb_rpp_walk_interrupted(VALUE thread, int limit, VALUE *frames, int *lines)
{
    if (RB_RPP_PROBE_BREAKS("walk")) return walk_as_vm(thread, limit, frames, lines);
    int count = is_proven ? walk_checked(thread, limit, frames, lines) : RB_RPP_WALK_NOT_NOW;
    return count ? count : RB_RPP_WALK_NOT_NOW; /* between two fibers */
}

/* --- proof --- */

#define CHECKED_MAX 128

static bool have_same_frames(const VALUE *frames, const int *lines, int count)
{
    VALUE by_vm[CHECKED_MAX];
    int lines_by_vm[CHECKED_MAX];
    return count == rb_profile_frames(0, CHECKED_MAX, by_vm, lines_by_vm) && count < CHECKED_MAX &&
           !memcmp(frames, by_vm, sizeof *frames * (size_t)count) &&
           !memcmp(lines, lines_by_vm, sizeof *lines * (size_t)count);
}

typedef struct selves {
    VALUE thread, expected; /* an Array, leaf first */
    bool found;
} selves;

static void find_selves(void *argument)
{
    selves *s = argument;
    const VALUE *frame = words_at(execution_context_of(s->thread)[layout.ec.frame]);
    for (long i = 0; i < RARRAY_LEN(s->expected); i++, frame += layout.frame.words) {
        if (frame[layout.frame.self] != RARRAY_AREF(s->expected, i)) return;
    }
    s->found = true;
}

typedef struct moved_environments {
    VALUE thread;
    int right, wrong;
} moved_environments;

/* An environment on the heap points to its object, and the object points back; environment_at relies on this during the
 * move. */
static void find_moved_environments(void *argument)
{
    moved_environments *found = argument;
    const VALUE *ec = execution_context_of(found->thread), *frame = words_at(ec[layout.ec.frame]);
    const VALUE *last = words_at(ec[layout.ec.stack]) + ec[layout.ec.stack_words] - layout.frame.words;
    for (; frame < last; frame += layout.frame.words) {
        const VALUE *env = words_at(frame[layout.frame.ep]);
        if (!(env[ENV_FLAGS] & ENV_ON_HEAP)) continue;
        bool right = kind_of(env[ENV_OBJECT]) == KIND_ENV && words_at(env[ENV_OBJECT])[layout.env.ep] == (VALUE)env;
        right ? found->right++ : found->wrong++;
    }
}

static int moved_environments_met; /* in the proof */

static bool has_right_environments(VALUE thread)
{
    moved_environments found = {.thread = thread};
    bool whole = rb_rpp_guarded(find_moved_environments, &found);
    moved_environments_met += found.right;
    return whole && !found.wrong;
}

/* True if a walk from here finds the same as the VM, which is right at a safepoint, and frames of these objects, leaf
 * first. */
static VALUE native_walk_agrees(VALUE self, VALUE expected_selves)
{
    Check_Type(expected_selves, T_ARRAY);
    VALUE frames[CHECKED_MAX];
    int lines[CHECKED_MAX];
    selves s = {.thread = rb_thread_current(), .expected = expected_selves};
    if (!layout.series) return Qfalse;
    int count = walk_checked(s.thread, CHECKED_MAX, frames, lines);
    bool agrees = count > 0 && have_same_frames(frames, lines, count) && rb_rpp_guarded(find_selves, &s) && s.found &&
                  has_right_environments(s.thread);
    return agrees ? Qtrue : Qfalse;
}

static VALUE check_walk(VALUE unused)
{
    VALUE module = rb_path2class("RperfPush::WalkCheck");
    return rb_funcall(module, rb_intern("agrees?"), 0);
}

bool rb_rpp_walk_prove(void)
{
    static bool tried;
    const rb_rpp_vm_layout *claimed = RB_RPP_PROBED_LAYOUT(rb_rpp_vm_layout_of(ruby_version));
    if (tried || !claimed || !rb_rpp_guard_install()) return is_proven;
    layout = *claimed;
    int thrown = 0;
    bool agrees = RTEST(rb_protect(check_walk, Qnil, &thrown)) && moved_environments_met > 0;
    if (thrown) rb_jump_tag(thrown); /* a Timeout or Ctrl-C is meant for the caller and says nothing about stacks */
    if (!tried) is_proven = agrees; /* another thread or a signal handler may have asked meanwhile: its answer stands */
    tried = true;
    return is_proven;
}

void rb_rpp_walk_init(VALUE native)
{
    rb_define_singleton_method(native, "walk_agrees?", native_walk_agrees, 1);
}
