/* value_types.h - the table of values that a profile counts.
 *
 * Each line defines a number of samples and rows, a value type of every pprof, a mode that enables it, and a sum in `stats`
 * (FIELD_encoded). The code that gathers a value fills in its number; no other code needs its name.
 *
 * Threads    any thread: constants only.
 * Ownership  nothing to own.
 */
#ifndef RPP_VALUE_TYPES_H
#define RPP_VALUE_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Where the sum comes from that is shared out over the draws of a value (shares.h). */
typedef enum rpp_scale {
    RPP_SCALED_BY_NOTHING, /* there is none: each event is counted */
    RPP_SCALED_BY_CLOCKS   /* the thread's clocks, by state */
} rpp_scale;

/* Id; the number's name in C; mode, type and unit, as users and formats call them; what scales it. Profiles list the values in
 * this order, and the first one that is on is the default. `context` is passed through. */
#define RPP_VALUE_TYPES(X, context)                                                                                    \
    X(context, CPU, cpu_ns, "cpu", "cpu", "nanoseconds", RPP_SCALED_BY_CLOCKS)                                         \
    X(context, WALL, wall_ns, "wall", "wall", "nanoseconds", RPP_SCALED_BY_CLOCKS)

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
} rpp_value_type;

extern const rpp_value_type rpp_value_types[RPP_VALUE_COUNT];

/* The values that this mode enables; 0: there is no such mode. */
unsigned rpp_mode_of(const char *name, size_t length);
/* The mode with all values. */
#define RPP_MODE_ALL      ((1u << RPP_VALUE_COUNT) - 1)
#define RPP_MODE_TEXT_MAX 128
/* The names of a mode's values, joined: "cpu+wall" with the separator "+". Returns `text`. */
const char *rpp_mode_text(unsigned mode, const char *separator, char text[RPP_MODE_TEXT_MAX]);

#endif
