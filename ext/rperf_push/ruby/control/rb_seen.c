/* rb_seen.c - the threads and stacks that a look found. */
#include "control/rb_seen.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/json_text.h"
#include "core/base/utf8.h"

rb_rpp_seen_thread *rb_rpp_seen_add(rb_rpp_seen *seen)
{
    if (rpp_grow((void **)&seen->threads, &seen->room, seen->count + 1, sizeof *seen->threads) != RPP_OK) return NULL;
    rb_rpp_seen_thread *t = &seen->threads[seen->count++];
    *t = (rb_rpp_seen_thread){.state = "unknown", .cpu = -1};
    return t;
}

void rb_rpp_seen_set_stack(rb_rpp_seen *seen, const rpp_location *locations, size_t depth)
{
    rb_rpp_seen_thread *t = &seen->threads[seen->count - 1];
    size_t needed = seen->used + depth;
    if (rpp_grow((void **)&seen->locations, &seen->location_room, needed, sizeof *locations) != RPP_OK) return;
    memcpy(seen->locations + seen->used, locations, sizeof *locations * depth);
    t->first = seen->used;
    t->depth = depth;
    seen->used = needed;
}

bool rb_rpp_seen_is_named(const rb_rpp_seen *seen, const rpp_frame_names *names)
{
    for (size_t i = 0; i < seen->used; i++) {
        if (!rpp_frame_names_get(names, seen->locations[i].frame)) return false;
    }
    return true;
}

void rb_rpp_seen_destroy(rb_rpp_seen *seen)
{
    for (size_t i = 0; i < seen->count; i++) rpp_label_set_release(seen->threads[i].labels);
    rpp_free(seen->threads);
    rpp_free(seen->locations);
    *seen = (rb_rpp_seen){0};
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
static rpp_status write_stack(const rb_rpp_seen *seen, const rb_rpp_seen_thread *t, const rpp_frame_names *names,
                              rpp_byte_sink *sink)
{
    bool first = true;
    TRY(put(sink, ",\"stack\":["));
    for (size_t i = 0; i < t->depth; i++) {
        const rpp_location *location = &seen->locations[t->first + i];
        const rpp_frame_name *frame = rpp_frame_names_get(names, location->frame);
        if (frame && frame->hidden) continue;
        TRY(write_frame(location, names, first, sink));
        first = false;
    }
    return put(sink, "]");
}

static rpp_status write_thread(const rb_rpp_seen *seen, const rb_rpp_seen_thread *t, const rpp_frame_names *names,
                               rpp_byte_sink *sink)
{
    char name[RB_RPP_SEEN_NAME_MAX];
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
    TRY(write_stack(seen, t, names, sink));
    return put(sink, "}");
}

rpp_status rb_rpp_seen_write(const rb_rpp_seen *seen, const rpp_frame_names *names, rpp_byte_sink *sink)
{
    TRY(put(sink, "["));
    for (size_t i = 0; i < seen->count; i++) {
        if (i) TRY(put(sink, ","));
        TRY(write_thread(seen, &seen->threads[i], names, sink));
    }
    return put(sink, "]");
}
