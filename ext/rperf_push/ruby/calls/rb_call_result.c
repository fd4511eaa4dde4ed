/* rb_call_result.c - a call tree as Ruby objects: the methods' names, and the nodes in columns. */
#include "calls/rb_call_result.h"

#include <ruby/encoding.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/source_path.h"
#include "core/calls/call_fold.h"
#include "core/calls/call_sums.h"
#include "vm/rb_values.h"

#define PATH_MAX_BYTES 4096

/* --- names --- */

static VALUE text(const char *words)
{
    return rb_utf8_str_new_cstr(words);
}

static bool is_singleton(VALUE owner)
{
    return RB_TYPE_P(owner, T_CLASS) && RTEST(rb_funcall(owner, rb_intern("singleton_class?"), 0));
}

/* A refinement has no path. What the VM has instead changes when the refinement gets a singleton class, which 4.0 gives
 * it at once; so it is called as Ruby shows it: "#<refinement:String@Words>". */
static VALUE path_of_class(VALUE klass)
{
    if (rb_obj_class(klass) != rb_cRefinement) return rb_class_path(klass);
    VALUE to_s = rb_funcall(rb_cModule, rb_intern("instance_method"), 1, ID2SYM(rb_intern("to_s")));
    return rb_funcall(to_s, rb_intern("bind_call"), 1, klass);
}

/* "Shop::Cart#" or "Shop::Cart." */
static VALUE class_part(VALUE owner, bool *is_of_object)
{
    *is_of_object = is_singleton(owner);
    if (!*is_of_object) return path_of_class(owner);
    VALUE object = rb_class_attached_object(owner);
    bool is_module = RB_TYPE_P(object, T_CLASS) || RB_TYPE_P(object, T_MODULE);
    return path_of_class(is_module ? object : rb_obj_class(object));
}

static VALUE label_from(VALUE class_name, bool is_of_object, VALUE method)
{
    return rb_enc_sprintf(rb_utf8_encoding(), "%" PRIsVALUE "%s%" PRIsVALUE, class_name, is_of_object ? "." : "#",
                          method);
}

/* Also sets the class's name. */
static VALUE label_of(const rb_rpp_callee *callee, VALUE *class_name)
{
    bool is_of_object;
    if (callee->owner && callee->name) {
        *class_name = class_part(callee->owner, &is_of_object);
        return label_from(*class_name, is_of_object, rb_id2str(callee->name));
    }
    VALUE frame = callee->entry ? callee->entry : callee->code;
    VALUE known = callee->entry ? rb_profile_frame_classpath(frame) : Qnil,
          method = rb_profile_frame_method_name(frame);
    if (RTEST(known) && RTEST(method)) {
        *class_name = known;
        return label_from(known, RTEST(rb_profile_frame_singleton_method_p(frame)), method);
    }
    VALUE label = rb_profile_frame_label(frame);
    if (RTEST(label)) return label;
    return RTEST(method) ? method : text("[unknown]");
}

static VALUE whole_path_of(VALUE code)
{
    VALUE path = rb_profile_frame_absolute_path(code);
    return RTEST(path) ? path : rb_profile_frame_path(code); /* eval, <internal:...> */
}

static VALUE path_of(VALUE code)
{
    VALUE path = whole_path_of(code);
    if (!RTEST(path)) return text("");
    char file[PATH_MAX_BYTES];
    size_t length = rpp_source_path(file, sizeof file, RSTRING_PTR(path), (size_t)RSTRING_LEN(path), "", 0);
    RB_GC_GUARD(path);
    return rb_utf8_str_new(file, (long)length);
}

static bool begins_with(VALUE string, VALUE beginning)
{
    long length = RSTRING_LEN(beginning);
    return RSTRING_LEN(string) >= length && !memcmp(RSTRING_PTR(string), RSTRING_PTR(beginning), (size_t)length);
}

/* Code of the profiler. */
static bool is_own(const rb_rpp_callee *callee, VALUE class_name)
{
    VALUE path = callee->code ? whole_path_of(callee->code) : Qnil;
    VALUE lib_dir = rb_const_get(rb_path2class("RperfPush::Native"), rb_intern("LIB_DIR"));
    bool is_in_module =
        begins_with(class_name, text("RperfPush::")) || !strcmp(StringValueCStr(class_name), "RperfPush");
    return is_in_module || (RTEST(path) && begins_with(path, lib_dir));
}

VALUE rb_rpp_call_description(const rb_rpp_callee *callee)
{
    static const char *const kinds[] = {"other", "ruby", "c", "block"};
    VALUE kind = ID2SYM(rb_intern(kinds[callee->kind])), class_name = text("");
    if (callee->kind == RB_RPP_CALL_OTHER) {
        return rb_ary_new_from_args(6, text("(other)"), text(""), INT2FIX(0), kind, class_name, Qfalse);
    }
    VALUE label = label_of(callee, &class_name);
    VALUE path = callee->code ? path_of(callee->code) : text("<C method>");
    VALUE line = callee->code ? rb_profile_frame_first_lineno(callee->code) : INT2FIX(0);
    return rb_ary_new_from_args(6, label, path, NIL_P(line) ? INT2FIX(0) : line, kind, class_name,
                                is_own(callee, class_name) ? Qtrue : Qfalse);
}

/* --- numbers --- */

/* What a result is made with: freed however that ends. */
typedef struct maker {
    rpp_call_tree *tree, *folded;
    const rb_rpp_callee *callees;
    const rpp_call_objects *objects;
    uint32_t end;
    VALUE as, costs;
    uint32_t *names, *places; /* by method, by node */
    uint8_t *kinds;
    uint64_t *totals;
    rpp_call_sum *sums;
    uint64_t overhead_ns;
} maker;

static VALUE free_maker(VALUE argument)
{
    maker *m = (maker *)argument;
    rpp_call_tree_free(m->folded);
    rpp_free(m->names);
    rpp_free(m->places);
    rpp_free(m->kinds);
    rpp_free(m->totals);
    rpp_free(m->sums);
    return Qnil;
}

static void read_names(maker *m)
{
    for (uint32_t id = 0; id < m->end; id++) {
        VALUE name = rb_ary_entry(m->as, id);
        m->names[id] = NIL_P(name) ? RPP_CALL_HIDDEN : NUM2UINT(name);
        if (m->names[id] != RPP_CALL_HIDDEN && m->names[id] >= m->end) rb_raise(rb_eRangeError, "no such method");
        m->kinds[id] = (uint8_t)m->callees[id].kind;
    }
}

void rb_rpp_call_costs(VALUE costs, rpp_call_cost by_kind[RB_RPP_CALL_KINDS])
{
    for (int kind = 0; kind < RB_RPP_CALL_KINDS; kind++) {
        VALUE pair = rb_rpp_array(rb_ary_entry(rb_rpp_array(costs), kind));
        by_kind[kind] = (rpp_call_cost){NUM2ULL(rb_ary_entry(pair, 0)), NUM2ULL(rb_ary_entry(pair, 1))};
    }
}

static void take_costs_out(maker *m)
{
    rpp_call_cost costs[RB_RPP_CALL_KINDS];
    rb_rpp_call_costs(m->costs, costs);
    m->overhead_ns = rpp_call_take_out(m->tree, m->kinds, costs);
}

static const char *const state_names[RPP_CALL_STATES] = {
    [RPP_CALL_BLOCKED] = "blocked",         [RPP_CALL_WAITING] = "waiting",     [RPP_CALL_GC_MARKING] = "gc_marking",
    [RPP_CALL_GC_SWEEPING] = "gc_sweeping", [RPP_CALL_SUSPENDED] = "suspended",
};

static VALUE column(const maker *m, size_t offset)
{
    uint32_t count = rpp_call_tree_count(m->folded);
    VALUE values = rb_ary_new_capa(count);
    for (uint32_t id = 0; id < count; id++) {
        const char *node = (const char *)rpp_call_tree_node(m->folded, id);
        rb_ary_push(values, ULL2NUM(*(const uint64_t *)(node + offset)));
    }
    return values;
}

static VALUE state_column(const maker *m, rpp_call_state state)
{
    uint32_t count = rpp_call_tree_count(m->folded);
    VALUE values = rb_ary_new_capa(count);
    for (uint32_t id = 0; id < count; id++) rb_ary_push(values, ULL2NUM(rpp_call_tree_state_ns(m->folded, id, state)));
    return values;
}

static void put_places(const maker *m, VALUE result)
{
    uint32_t count = rpp_call_tree_count(m->folded);
    VALUE parents = rb_ary_new_capa(count), methods = rb_ary_new_capa(count), totals = rb_ary_new_capa(count);
    for (uint32_t id = 0; id < count; id++) {
        const rpp_call_node *node = rpp_call_tree_node(m->folded, id);
        rb_ary_push(parents, node->parent == RPP_CALL_NONE ? Qnil : UINT2NUM(node->parent));
        rb_ary_push(methods, UINT2NUM(node->method));
        rb_ary_push(totals, ULL2NUM(m->totals[id]));
    }
    rb_rpp_put(result, "parents", parents);
    rb_rpp_put(result, "methods", methods);
    rb_rpp_put(result, "total", totals);
}

static VALUE sums_by_method(const maker *m)
{
    VALUE all = rb_ary_new_capa(m->end);
    for (uint32_t id = 0; id < m->end; id++) {
        const rpp_call_sum *sum = &m->sums[id];
        VALUE row = rb_ary_new_from_args(7, ULL2NUM(sum->calls), ULL2NUM(sum->self_ns), ULL2NUM(sum->wait_ns),
                                         ULL2NUM(sum->cpu_ns), ULL2NUM(sum->total_ns),
                                         sum->is_recursive ? Qtrue : Qfalse, ULL2NUM(sum->objects));
        for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++)
            rb_ary_push(row, ULL2NUM(sum->states_ns[state]));
        rb_ary_push(all, row);
    }
    return all;
}

/* --- objects --- */

/* The text's index. */
static VALUE index_of(VALUE texts, VALUE indexes, VALUE string)
{
    VALUE known = rb_hash_lookup(indexes, string);
    if (!NIL_P(known)) return known;
    VALUE index = LONG2FIX(RARRAY_LEN(texts));
    rb_ary_push(texts, string);
    rb_hash_aset(indexes, string, index);
    return index;
}

static void put_objects(const maker *m, VALUE result)
{
    VALUE texts = rb_ary_new(), indexes = rb_hash_new(), kinds = rb_ary_new();
    for (uint32_t i = 0; i < rpp_call_objects_count(m->objects); i++) {
        const rpp_call_object *kind = rpp_call_objects_at(m->objects, i);
        VALUE class_name = kind->klass ? path_of_class(kind->klass) : text("(internal)");
        VALUE path = kind->code ? path_of(kind->code) : text("");
        rb_ary_push(kinds, rb_ary_new_from_args(6, UINT2NUM(m->places[kind->node]),
                                                index_of(texts, indexes, class_name), index_of(texts, indexes, path),
                                                UINT2NUM(kind->line), ULL2NUM(kind->count), ULL2NUM(kind->bytes)));
    }
    rb_rpp_put(result, "texts", texts);
    rb_rpp_put(result, "kinds", kinds);
}

static VALUE make(VALUE argument)
{
    maker *m = (maker *)argument;
    m->names = rpp_calloc(m->end, sizeof *m->names);
    m->kinds = rpp_calloc(m->end, sizeof *m->kinds);
    m->sums = rpp_calloc(m->end, sizeof *m->sums);
    m->places = rpp_calloc(rpp_call_tree_count(m->tree) + (size_t)1, sizeof *m->places);
    if (!m->names || !m->kinds || !m->sums || !m->places) rb_memerror();
    read_names(m);
    take_costs_out(m);
    m->folded = rpp_call_tree_folded_to(m->tree, m->names, m->places);
    m->totals = m->folded ? rpp_calloc(rpp_call_tree_count(m->folded) + (size_t)1, sizeof *m->totals) : NULL;
    if (!m->totals) rb_memerror();
    rpp_call_totals(m->folded, m->totals);
    rpp_call_sums(m->folded, m->totals, m->sums, m->end);

    VALUE result = rb_hash_new();
    put_places(m, result);
    rb_rpp_put(result, "calls", column(m, offsetof(rpp_call_node, calls)));
    rb_rpp_put(result, "self", column(m, offsetof(rpp_call_node, self_ns)));
    rb_rpp_put(result, "wait", column(m, offsetof(rpp_call_node, wait_ns)));
    rb_rpp_put(result, "cpu", column(m, offsetof(rpp_call_node, cpu_ns)));
    rb_rpp_put(result, "objects", column(m, offsetof(rpp_call_node, objects)));
    for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++)
        rb_rpp_put(result, state_names[state], state_column(m, state));
    if (m->objects) put_objects(m, result);
    rb_rpp_put(result, "sums", sums_by_method(m));
    rb_rpp_put(result, "overhead", ULL2NUM(m->overhead_ns));
    return result;
}

VALUE rb_rpp_call_result(rpp_call_tree *tree, const rb_rpp_callee *callees, uint32_t end,
                         const rpp_call_objects *objects, VALUE as, VALUE costs)
{
    maker m = {.tree = tree,
               .callees = callees,
               .objects = objects,
               .end = end,
               .as = rb_rpp_array(as),
               .costs = rb_rpp_array(costs)};
    VALUE result = rb_ensure(make, (VALUE)&m, free_maker, (VALUE)&m);
    RB_GC_GUARD(as);
    RB_GC_GUARD(costs);
    return result;
}
