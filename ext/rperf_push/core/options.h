/* options.h - the table of options, and the messages that follow from it.
 *
 * What users set by name is one row here: where it is kept, what is accepted, what it is when nobody says anything.
 */
#ifndef RPP_OPTIONS_H
#define RPP_OPTIONS_H

#include "settings.h"

typedef struct rpp_option {
    const char *name;
    rpp_option_type type;
    size_t offset;              /* of the field in rpp_settings */
    size_t width;               /* of the field */
    int64_t min, max;           /* INTEGER; max also SECONDS */
    const char *const *choices; /* CHOICE: the n-th is kept as n; NULL at the end */
    const char *initial;        /* as text; NULL: nothing, false, empty */
    bool secret;                /* the value shows in no message */
    bool is_url;                /* the userinfo and query show in no message */
} rpp_option;

/* NULL when there is none. */
const rpp_option *rpp_option_find(const char *name);
const rpp_option *rpp_option_at(size_t index);

/* "unknown option "frequncy" (did you mean frequency?)" */
RPP_NODISCARD rpp_status rpp_option_note_unknown(const char *name, rpp_mistakes *mistakes);
/* "<source or name> must be <what is accepted>, got <got>"; got is shown as it is, unless the option is secret. */
RPP_NODISCARD rpp_status rpp_option_note(const rpp_option *option, const char *source, const char *got,
                                         rpp_mistakes *mistakes);
/* The same for bytes, which are quoted, cut and masked. */
RPP_NODISCARD rpp_status rpp_option_note_bytes(const rpp_option *option, const char *source, const char *bytes,
                                               size_t length, rpp_mistakes *mistakes);

/* Enough for a quoted value in a message. */
#define RPP_QUOTED_MAX 128
/* Puts bytes between quotes, on one line, cut; returns `out`. */
const char *rpp_quote(char out[RPP_QUOTED_MAX], const char *bytes, size_t length);

#endif
