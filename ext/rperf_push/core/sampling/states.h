/* states.h - the table of states that a thread may be in.
 *
 * Each line defines a state of samples and rows, a label and a synthetic frame of every profile, and a row of
 * `rperf-push stat`. The code that captures chooses the state; no other code needs its name.
 *
 * Threads    any thread: constants only.
 * Ownership  nothing to own.
 */
#ifndef RPP_STATES_H
#define RPP_STATES_H

/* Id; key and value of its label; its frame; its title in `stat`. `context` is passed through. The state of a running
 * thread has neither label nor frame; its id comes before all of these. */
#define RPP_STATES(X, context)                                                                                         \
    /* off the GVL: I/O, sleep, or C code that released it */                                                          \
    X(context, BLOCKED, "%GVL", "blocked", "[GVL blocked]", "GVL blocked (I/O, sleep)")                                \
    /* ready, waiting for the GVL */                                                                                   \
    X(context, WAITING, "%GVL", "wait", "[GVL wait]", "GVL wait (contention)")                                         \
    /* in the GC, on this thread */                                                                                    \
    X(context, GC_MARKING, "%GC", "mark", "[GC marking]", "GC marking")                                                \
    X(context, GC_SWEEPING, "%GC", "sweep", "[GC sweeping]", "GC sweeping")

typedef enum rpp_state {
    RPP_STATE_RUNNING, /* holds the GVL */
#define X(context, id, ...) RPP_STATE_##id,
    RPP_STATES(X, )
#undef X
        RPP_STATE_COUNT
} rpp_state;

typedef struct rpp_state_name {
    const char *key, *value, *frame, *title; /* NULL for the running state */
} rpp_state_name;

extern const rpp_state_name rpp_state_names[RPP_STATE_COUNT];

#endif
