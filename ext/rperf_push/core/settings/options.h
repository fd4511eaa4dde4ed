/* options.h - the table of options, and the messages about wrong values.
 *
 * Each option that users set by name is one row: where its value is stored, what it accepts, and its default.
 *
 * Threads    any thread: the table is constant.
 * Ownership  the table is static; `errors` belongs to the caller.
 */
#ifndef RPP_OPTIONS_H
#define RPP_OPTIONS_H

#include "settings/errors.h"
#include "settings/settings_fields.h"

typedef enum rpp_option_type {
    RPP_OPTION_STRING,  /* char *, NULL when unset */
    RPP_OPTION_BOOLEAN, /* true/false; as text also 1/0, yes/no, on/off */
    RPP_OPTION_INTEGER, /* within limits */
    RPP_OPTION_SECONDS, /* a number > 0, kept in ns */
    RPP_OPTION_SHARE,   /* 0 < x <= 1 */
    RPP_OPTION_CHOICE,  /* one of a few names */
    RPP_OPTION_MODE,    /* cpu, wall, or both */
    RPP_OPTION_PAIRS,   /* key => value */
    RPP_OPTION_LIST     /* keys */
} rpp_option_type;

typedef struct rpp_option {
    const char *name;
    rpp_option_type type;
    size_t offset;              /* of the field in rpp_settings */
    size_t width;               /* of that field */
    int64_t min, max;           /* INTEGER; max also SECONDS */
    const char *const *choices; /* CHOICE: the n-th choice is stored as n; ends with NULL */
    const char *initial;        /* the default as text; NULL: unset, false or empty */
    bool secret;                /* messages never show the value */
    bool is_url;                /* messages never show its userinfo and query */
} rpp_option;

/* NULL if there is no such option. */
const rpp_option *rpp_option_find(const char *name);
const rpp_option *rpp_option_at(size_t index);

/* RPP_INVALID: no such option. */
RPP_NODISCARD rpp_status rpp_option_type_of(const char *name, rpp_option_type *type);
size_t rpp_option_count(void);
const char *rpp_option_name(size_t index);

/* The option whose name is nearest to one that does not exist, or that begins with it. NULL: none is near. */
const char *rpp_option_meant_by(const char *name);
/* "unknown option "frequncy" (did you mean frequency?)" */
RPP_NODISCARD rpp_status rpp_option_note_unknown(const char *name, rpp_errors *errors);
/* "<source or name> must be <what is accepted>, got <got>". It shows `got` unchanged, unless the option is secret. */
RPP_NODISCARD rpp_status rpp_option_note(const rpp_option *option, const char *source, const char *got,
                                         rpp_errors *errors);
/* The same for bytes, which it quotes, cuts and masks. */
RPP_NODISCARD rpp_status rpp_option_note_bytes(const rpp_option *option, const char *source, const char *bytes,
                                               size_t length, rpp_errors *errors);

#endif
