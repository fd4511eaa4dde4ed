/* value_types.h - the tables of values that a profile counts, and of the groups that they are sent in.
 *
 * Each line of the values defines a number of samples and rows, a value type of every pprof, a mode that enables it,
 * and a sum in `stats` (FIELD_encoded). The code that gathers a value fills in its number; no other code needs its
 * name.
 *
 * A group is what Pyroscope calls the name of a profile (`__name__`). Its name and its period are parts of the id of
 * each of its values there, as in memory:alloc_space:bytes:space:bytes. So a window goes to such a server as one
 * profile for each group.
 *
 * Threads    any thread: constants only.
 * Ownership  nothing to own.
 */
#ifndef RPP_VALUE_TYPES_H
#define RPP_VALUE_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Where the sum comes from that is shared out over the samples of a value (distribution.h). */
typedef enum rpp_scale {
    RPP_SCALED_BY_NOTHING,  /* there is none: each event is counted */
    RPP_SCALED_BY_CLOCKS,   /* the thread's clocks, by state */
    RPP_SCALED_BY_COUNTERS, /* the VM's counters, of the whole process */
    RPP_LEVEL               /* how much there is at the end of the window: windows of a process do not add up */
} rpp_scale;

/* Id; name, type and unit of the period. The first one is that of all profiles that name none. */
#define RPP_VALUE_GROUPS(X, context)                                                                                   \
    X(context, PROCESS_CPU, "process_cpu", "cpu", "nanoseconds")                                                       \
    X(context, MEMORY, "memory", "space", "bytes")                                                                     \
    X(context, CUSTOM, "custom", "custom", "count")                                                                    \
    X(context, MUTEX, "mutex", "contentions", "count")                                                                 \
    /* a profile of its own, though it has the name of another: levels have no duration */                             \
    X(context, HEAP, "memory", "space", "bytes")

typedef enum rpp_value_group {
#define X(context, id, ...) RPP_GROUP_##id,
    RPP_VALUE_GROUPS(X, )
#undef X
        RPP_GROUP_COUNT
} rpp_value_group;

/* Id; the number's name in C; mode, type and unit, as users and formats call them; what scales it; its group. Values of
 * a group, and values of a mode, are neighbours. Profiles list the values in this order, and the first one that is on
 * is the default. `context` is passed through. */
#define RPP_VALUE_TYPES(X, context)                                                                                    \
    X(context, CPU, cpu_ns, "cpu", "cpu", "nanoseconds", RPP_SCALED_BY_CLOCKS, PROCESS_CPU)                            \
    X(context, WALL, wall_ns, "wall", "wall", "nanoseconds", RPP_SCALED_BY_CLOCKS, PROCESS_CPU)                        \
    X(context, ALLOC_OBJECTS, alloc_objects, "alloc", "alloc_objects", "count", RPP_SCALED_BY_COUNTERS, MEMORY)        \
    X(context, ALLOC_SPACE, alloc_space, "alloc", "alloc_space", "bytes", RPP_SCALED_BY_COUNTERS, MEMORY)              \
    /* of the objects born in the session, those that were alive at the last GC (heap_levels.h) */                     \
    X(context, INUSE_OBJECTS, inuse_objects, "heap", "inuse_objects", "count", RPP_LEVEL, HEAP)                        \
    X(context, INUSE_SPACE, inuse_space, "heap", "inuse_space", "bytes", RPP_LEVEL, HEAP)                              \
    /* waits for locks, queues and the GVL (contention.h) */                                                           \
    X(context, CONTENTIONS, contentions, "contention", "contentions", "count", RPP_SCALED_BY_CLOCKS, MUTEX)            \
    X(context, DELAY, delay_ns, "contention", "delay", "nanoseconds", RPP_SCALED_BY_CLOCKS, MUTEX)                     \
    /* of the value that the sample or row names (custom_values.h); all profiles have those that the program counts */ \
    X(context, CUSTOM, custom, "custom", "custom", "count", RPP_SCALED_BY_NOTHING, CUSTOM)

typedef enum rpp_value {
#define X(context, id, ...) RPP_VALUE_##id,
    RPP_VALUE_TYPES(X, )
#undef X
        RPP_VALUE_COUNT
} rpp_value;

/* A mode is a set of values: one bit for each. */
enum {
#define X(context, id, ...) RPP_MODE_##id = 1 << RPP_VALUE_##id,
    RPP_VALUE_TYPES(X, )
#undef X
};

/* The members of a struct that has a number of each: by name, and as a list. */
#define RPP_VALUE_MEMBER(type, id, field, ...) type field;
#define RPP_VALUES(list)                                                                                               \
    union {                                                                                                            \
        uint64_t list[RPP_VALUE_COUNT];                                                                                \
        struct {                                                                                                       \
            RPP_VALUE_TYPES(RPP_VALUE_MEMBER, uint64_t)                                                                \
        };                                                                                                             \
    }

typedef struct rpp_value_type {
    const char *mode, *type, *unit;
    rpp_scale scaled_by;
    rpp_value_group group;
} rpp_value_type;

typedef struct rpp_value_group_type {
    const char *name, *period_type, *period_unit;
} rpp_value_group_type;

extern const rpp_value_type rpp_value_types[RPP_VALUE_COUNT];
extern const rpp_value_group_type rpp_value_groups[RPP_GROUP_COUNT];

/* The values that this mode enables; 0: there is no such mode. Others say object for alloc, so it is taken, too. */
unsigned rpp_mode_of(const char *name, size_t length);
/* All values of this group. */
unsigned rpp_group_mode(rpp_value_group group);
/* The group of a mode's first value. */
rpp_value_group rpp_mode_group(unsigned mode);
/* The values that are levels. */
unsigned rpp_level_mode(void);
/* The first values are sampled: each sample of them has a weight (row.h). */
#define RPP_SAMPLED_VALUES (RPP_VALUE_ALLOC_SPACE + 1)
/* Beside the values of a mode: how precise they are (value_columns.h). */
#define RPP_MODE_PRECISION (1u << 31)
/* The mode with all values. */
#define RPP_MODE_ALL       ((1u << RPP_VALUE_COUNT) - 1)
#define RPP_MODE_TEXT_MAX  128
/* The names of a mode's values, joined: "cpu+wall" with the separator "+". Returns `text`. */
const char *rpp_mode_text(unsigned mode, const char *separator, char text[RPP_MODE_TEXT_MAX]);

#endif
