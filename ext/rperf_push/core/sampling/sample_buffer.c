/* sample_buffer.c - the pair of buffers between the application threads and the collector. */
#include "sampling/sample_buffer.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"

/* Records follow each other: a sample, then its locations. Both are multiples of 8 bytes. */
_Static_assert(sizeof(rpp_sample) % sizeof(uint64_t) == 0, "records must stay aligned");
_Static_assert(sizeof(rpp_location) == sizeof(uint64_t), "records must stay aligned");

typedef struct half {
    unsigned char *bytes;
    size_t used;
    size_t read; /* bytes that a drain has handed out, so the buffer no longer releases their labels */
} half;

struct rpp_sample_buffer {
    size_t half_bytes;
    atomic_flag lock;
    half halves[2]; /* the lock protects the active one; the collector owns the other */
    half *active;   /* under lock */
    atomic_size_t active_used;
};

rpp_sample_buffer *rpp_sample_buffer_new(size_t half_bytes)
{
    rpp_sample_buffer *buffer = rpp_calloc(1, sizeof *buffer);
    if (!buffer) return NULL;
    atomic_flag_clear(&buffer->lock);
    buffer->half_bytes = half_bytes;
    buffer->active = &buffer->halves[0];
    for (int i = 0; i < 2; i++) {
        buffer->halves[i].bytes = rpp_malloc(half_bytes);
        if (!buffer->halves[i].bytes) {
            rpp_sample_buffer_free(buffer);
            return NULL;
        }
    }
    return buffer;
}

static void visit_half(half *side, rpp_sample_visitor visit, void *context, size_t *visited)
{
    while (side->read < side->used) {
        const rpp_sample *sample = (const rpp_sample *)(void *)(side->bytes + side->read);
        /* Before the visit: a child that is forked during the visit must not release the same labels again. */
        side->read += sizeof *sample + sample->depth * sizeof(rpp_location);
        visit(sample, (const rpp_location *)(const void *)(sample + 1), context);
        ++*visited;
    }
    side->read = side->used = 0;
}

static void release_labels(const rpp_sample *sample, const rpp_location *locations, void *context)
{
    (void)locations;
    (void)context;
    rpp_label_set_release(sample->labels);
}

void rpp_sample_buffer_discard_after_fork(rpp_sample_buffer *buffer)
{
    for (int i = 0; i < 2; i++) {
        rpp_free(buffer->halves[i].bytes);
        buffer->halves[i].bytes = NULL;
        buffer->halves[i].read = buffer->halves[i].used = 0;
    }
}

void rpp_sample_buffer_free(rpp_sample_buffer *buffer)
{
    if (!buffer) return;
    for (int i = 0; i < 2; i++) {
        size_t released = 0;
        visit_half(&buffer->halves[i], release_labels, NULL, &released);
        rpp_free(buffer->halves[i].bytes);
    }
    rpp_free(buffer);
}

rpp_status rpp_sample_buffer_push(rpp_sample_buffer *buffer, const rpp_sample *sample, const rpp_location *locations)
{
    if (sample->depth > RPP_MAX_DEPTH + 1) return RPP_INVALID;
    size_t stack_bytes = sample->depth * sizeof *locations;
    if (atomic_flag_test_and_set_explicit(&buffer->lock, memory_order_acquire)) return RPP_BUSY;

    rpp_status status = RPP_LIMIT;
    half *side = buffer->active;
    if (buffer->half_bytes - side->used >= sizeof *sample + stack_bytes) {
        memcpy(side->bytes + side->used, sample, sizeof *sample);
        if (stack_bytes) memcpy(side->bytes + side->used + sizeof *sample, locations, stack_bytes);
        side->used += sizeof *sample + stack_bytes;
        atomic_store_explicit(&buffer->active_used, side->used, memory_order_relaxed);
        status = RPP_OK;
    }
    atomic_flag_clear_explicit(&buffer->lock, memory_order_release);
    return status;
}

int rpp_sample_buffer_is_filling(const rpp_sample_buffer *buffer)
{
    return atomic_load_explicit(&buffer->active_used, memory_order_relaxed) > buffer->half_bytes / 2;
}

/* A producer holds the lock for one copy only, but the kernel may preempt it meanwhile. */
static void wait_for_lock(rpp_sample_buffer *buffer)
{
    while (atomic_flag_test_and_set_explicit(&buffer->lock, memory_order_acquire)) sched_yield();
}

size_t rpp_sample_buffer_drain(rpp_sample_buffer *buffer, rpp_sample_visitor visit, void *context)
{
    wait_for_lock(buffer);
    half *full = buffer->active;
    buffer->active = full == &buffer->halves[0] ? &buffer->halves[1] : &buffer->halves[0];
    atomic_store_explicit(&buffer->active_used, 0, memory_order_relaxed);
    atomic_flag_clear_explicit(&buffer->lock, memory_order_release);

    size_t visited = 0;
    visit_half(full, visit, context, &visited);
    return visited;
}
