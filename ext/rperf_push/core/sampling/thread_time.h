/* thread_time.h - a stretch of a thread's time by both clocks, and its arithmetic.
 *
 * Threads    any thread: pure functions.
 * Ownership  nothing to own.
 */
#ifndef RPP_THREAD_TIME_H
#define RPP_THREAD_TIME_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rpp_time {
    uint64_t cpu_ns, wall_ns;
} rpp_time;

static inline uint64_t rpp_ns_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* 0 if the clock went back. */
static inline uint64_t rpp_ns_since(uint64_t now_ns, uint64_t mark_ns)
{
    return now_ns > mark_ns ? now_ns - mark_ns : 0;
}

/* ns * part / whole, at most ns; `whole` may be 0. */
static inline uint64_t rpp_ns_share(uint64_t ns, uint64_t part, uint64_t whole)
{
    if (part >= whole) return ns;
    return rpp_ns_least(ns, (uint64_t)((double)ns * ((double)part / (double)whole)));
}

static inline bool rpp_time_is_none(rpp_time time)
{
    return !time.cpu_ns && !time.wall_ns;
}

static inline void rpp_time_add(rpp_time *sum, rpp_time part)
{
    sum->cpu_ns += part.cpu_ns;
    sum->wall_ns += part.wall_ns;
}

static inline rpp_time rpp_time_less(rpp_time sum, rpp_time part)
{
    return (rpp_time){sum.cpu_ns - part.cpu_ns, sum.wall_ns - part.wall_ns};
}

#endif
