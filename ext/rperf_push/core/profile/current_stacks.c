/* current_stacks.c - a copy of each thread's last capture. */
#include "profile/current_stacks.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"

#define PLACES             256u
#define WINDOWS_REMEMBERED 2u

struct rpp_current_stacks {
    pthread_mutex_t lock;
    /* under lock */
    uint32_t window;
    rpp_sighting *places[PLACES]; /* NULL: never used */
};

rpp_current_stacks *rpp_current_stacks_new(void)
{
    rpp_current_stacks *w = rpp_calloc(1, sizeof *w);
    if (w) pthread_mutex_init(&w->lock, NULL);
    return w;
}

void rpp_current_stacks_free(rpp_current_stacks *w)
{
    if (!w) return;
    for (uint32_t i = 0; i < PLACES; i++) rpp_free(w->places[i]);
    pthread_mutex_destroy(&w->lock);
    rpp_free(w);
}

void rpp_current_stacks_note(rpp_current_stacks *w, const rpp_sample *sample, const rpp_location *locations,
                             uint64_t now_ns)
{
    uint32_t depth = sample->depth < RPP_SIGHTING_DEPTH_MAX ? sample->depth : RPP_SIGHTING_DEPTH_MAX;
    if (!depth || !sample->thread_seq) return;
    pthread_mutex_lock(&w->lock);
    rpp_sighting **place = &w->places[sample->thread_seq % PLACES];
    if (!*place) *place = rpp_calloc(1, sizeof **place);
    if (*place) {
        (*place)->at_ns = now_ns;
        (*place)->thread_seq = sample->thread_seq;
        (*place)->window = sample->window;
        (*place)->state = sample->state;
        (*place)->depth = depth;
        memcpy((*place)->locations, locations, sizeof *locations * depth);
    }
    pthread_mutex_unlock(&w->lock);
}

void rpp_current_stacks_begin_window(rpp_current_stacks *w, uint32_t window)
{
    pthread_mutex_lock(&w->lock);
    w->window = window;
    pthread_mutex_unlock(&w->lock);
}

bool rpp_current_stacks_get(rpp_current_stacks *w, uint32_t thread_seq, rpp_sighting *sighting)
{
    pthread_mutex_lock(&w->lock);
    const rpp_sighting *seen = w->places[thread_seq % PLACES];
    bool known =
        seen && seen->thread_seq == thread_seq && (int32_t)(w->window - seen->window) <= (int32_t)WINDOWS_REMEMBERED;
    if (known) *sighting = *seen;
    pthread_mutex_unlock(&w->lock);
    return known;
}

static void discard_all(rpp_current_stacks *w)
{
    w->window = 0;
    for (uint32_t i = 0; i < PLACES; i++) {
        if (w->places[i]) w->places[i]->thread_seq = 0;
    }
}

void rpp_current_stacks_clear(rpp_current_stacks *w)
{
    pthread_mutex_lock(&w->lock);
    discard_all(w);
    pthread_mutex_unlock(&w->lock);
}

void rpp_current_stacks_discard_after_fork(rpp_current_stacks *w)
{
    pthread_mutex_init(&w->lock, NULL);
    discard_all(w);
}
