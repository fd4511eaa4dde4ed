/* rb_inspected.c - the threads and stacks that an inspection found. */
#include "control/rb_inspected.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/json_text.h"
#include "core/base/utf8.h"

rb_rpp_inspected_thread *rb_rpp_inspected_add(rb_rpp_inspected *found)
{
    if (rpp_grow((void **)&found->threads, &found->room, found->count + 1, sizeof *found->threads) != RPP_OK)
        return NULL;
    rb_rpp_inspected_thread *t = &found->threads[found->count++];
    *t = (rb_rpp_inspected_thread){.state = "unknown", .cpu = -1};
    return t;
}

void rb_rpp_inspected_set_stack(rb_rpp_inspected *found, const rpp_location *locations, size_t depth)
{
    rb_rpp_inspected_thread *t = &found->threads[found->count - 1];
    size_t needed = found->used + depth;
    if (rpp_grow((void **)&found->locations, &found->location_room, needed, sizeof *locations) != RPP_OK) return;
    memcpy(found->locations + found->used, locations, sizeof *locations * depth);
    t->first = found->used;
    t->depth = depth;
    found->used = needed;
}

bool rb_rpp_inspected_is_named(const rb_rpp_inspected *found, const rpp_frame_names *names)
{
    for (size_t i = 0; i < found->used; i++) {
        if (!rpp_frame_names_get(names, found->locations[i].frame)) return false;
    }
    return true;
}

void rb_rpp_inspected_destroy(rb_rpp_inspected *found)
{
    for (size_t i = 0; i < found->count; i++) rpp_label_set_release(found->threads[i].labels);
    rpp_free(found->threads);
    rpp_free(found->locations);
    *found = (rb_rpp_inspected){0};
}

/* --- JSON --- */

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        rpp_status status_ = (call);                                                                                   \
        if (status_ != RPP_OK) return status_;                                                                         \
    } while (0)

RPP_PRINTF(2, 3) static rpp_status put(rpp_byte_sink *sink, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return rpp_byte_sink_write(sink, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

static rpp_status write_labels(const rpp_label_set *labels, rpp_byte_sink *sink)
{
    TRY(put(sink, ",\"labels\":{"));
    for (size_t i = 0; i < rpp_label_set_count(labels); i++) {
        rpp_label label = rpp_label_set_at(labels, i);
        if (i) TRY(put(sink, ","));
        TRY(rpp_json_write_string(sink, label.key));
        TRY(put(sink, ":"));
        TRY(rpp_json_write_string(sink, label.value));
    }
    return put(sink, "}");
}

static rpp_status write_frame(const rpp_location *location, const rpp_frame_names *names, bool first,
                              rpp_byte_sink *sink)
{
    const rpp_frame_name *frame = rpp_frame_names_get(names, location->frame);
    TRY(put(sink, "%s[", first ? "" : ","));
    TRY(rpp_json_write_string(sink, frame ? frame->name : "[not named yet]"));
    TRY(put(sink, ","));
    TRY(rpp_json_write_string(sink, frame ? frame->path : ""));
    return put(sink, ",%" PRIu32 "]", location->line);
}

/* Writes the leaf first, and leaves out the profiler's own frames. */
static rpp_status write_stack(const rb_rpp_inspected *found, const rb_rpp_inspected_thread *t,
                              const rpp_frame_names *names, rpp_byte_sink *sink)
{
    bool first = true;
    TRY(put(sink, ",\"stack\":["));
    for (size_t i = 0; i < t->depth; i++) {
        const rpp_location *location = &found->locations[t->first + i];
        const rpp_frame_name *frame = rpp_frame_names_get(names, location->frame);
        if (frame && frame->hidden) continue;
        TRY(write_frame(location, names, first, sink));
        first = false;
    }
    return put(sink, "]");
}

static rpp_status write_thread(const rb_rpp_inspected *found, const rb_rpp_inspected_thread *t,
                               const rpp_frame_names *names, rpp_byte_sink *sink)
{
    char name[RB_RPP_INSPECTED_NAME_MAX];
    snprintf(name, sizeof name, "%s", t->name);
    rpp_utf8_one_line(name, strlen(name));
    TRY(put(sink, "{\"seq\":%" PRIu32 ",\"tid\":%d,\"state\":\"%s\",\"holds_gvl\":%s,\"for_ns\":", t->seq, (int)t->tid,
            t->state, t->holds_gvl ? "true" : "false"));
    TRY(t->for_ns ? put(sink, "%" PRIu64, t->for_ns) : put(sink, "null"));
    /* Not a float, because the locale decides how printf writes its decimal point. */
    TRY(t->cpu >= 0 ? put(sink, ",\"cpu_permille\":%u", (unsigned)(t->cpu * 1000))
                    : put(sink, ",\"cpu_permille\":null"));
    TRY(put(sink, ",\"stack_age_ns\":%" PRIu64 ",\"name\":", t->age_ns));
    TRY(rpp_json_write_string(sink, name));
    TRY(write_labels(t->labels, sink));
    TRY(write_stack(found, t, names, sink));
    return put(sink, "}");
}

rpp_status rb_rpp_inspected_write(const rb_rpp_inspected *found, const rpp_frame_names *names, rpp_byte_sink *sink)
{
    TRY(put(sink, "["));
    for (size_t i = 0; i < found->count; i++) {
        if (i) TRY(put(sink, ","));
        TRY(write_thread(found, &found->threads[i], names, sink));
    }
    return put(sink, "]");
}
