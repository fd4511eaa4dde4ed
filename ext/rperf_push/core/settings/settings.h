/* settings.h - every option, its type, default and limits, and the check of them all at once.
 *
 * One table of options serves setters, checks and messages. Setters store values and note wrong types ("frequency
 * must be an integer from 1 to 1000, got \"fast\""). rpp_settings_check adds errors that depend on several options
 * (a missing directory, a URL without scheme). It collects all errors, one line each, so that users see all of them.
 *
 * Threads    one at a time until the check; then the settings are immutable and any thread may read them.
 * Ownership  a settings object owns copies of all strings.
 */
#ifndef RPP_SETTINGS_H
#define RPP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "settings/errors.h"
#include "settings/settings_fields.h"

/* All options have their defaults. NULL if out of memory. */
rpp_settings *rpp_settings_new(void);
void rpp_settings_free(rpp_settings *settings);

/* Setters return RPP_OK even if they noted an error; the only failure is RPP_NO_MEMORY.
 * `source` is the value's origin for messages ("RPERF_PUSH_FREQUENCY"); NULL means the option's own name.
 * _text parses every type: "k=v,k=v" or a JSON object of strings for pairs, "a,b" for lists and mode. */
RPP_NODISCARD rpp_status rpp_settings_set_text(rpp_settings *, const char *name, const char *text, const char *source,
                                               rpp_errors *);
RPP_NODISCARD rpp_status rpp_settings_set_integer(rpp_settings *, const char *name, int64_t value, rpp_errors *);
RPP_NODISCARD rpp_status rpp_settings_set_real(rpp_settings *, const char *name, double value, rpp_errors *);
RPP_NODISCARD rpp_status rpp_settings_set_boolean(rpp_settings *, const char *name, bool value, rpp_errors *);
/* For STRING and CHOICE. Takes the bytes unchanged; NUL, CR and LF are errors. NULL unsets a STRING. */
RPP_NODISCARD rpp_status rpp_settings_set_string(rpp_settings *, const char *name, const char *bytes, size_t length,
                                                 rpp_errors *);
/* Empties a PAIRS, LIST or MODE option, then one call per element (value NULL for LIST and MODE). */
RPP_NODISCARD rpp_status rpp_settings_clear(rpp_settings *, const char *name, rpp_errors *);
RPP_NODISCARD rpp_status rpp_settings_put(rpp_settings *, const char *name, const char *key, size_t key_length,
                                          const char *value, size_t value_length, rpp_errors *);
/* For a value of a wrong type: notes "<name> must be <what is accepted>, got <got>". */
RPP_NODISCARD rpp_status rpp_settings_reject(const char *name, const char *got, rpp_errors *);

/* Checks all options together: URL with scheme and host, legal tag names, header bytes, a directory for its backend, a
 * client key with its certificate, at most 30 series labels ... Sets what depends on other options (backend,
 * vm_state_frames, slow_request_ns). */
RPP_NODISCARD rpp_status rpp_settings_check(rpp_settings *, rpp_errors *);

/* A finite number in decimal digits; strtod alone would accept "inf", "0x10" and " 1". False: the text is not such a
 * number. */
bool rpp_settings_read_real(const char *text, double *value);

/* ^[a-zA-Z_][a-zA-Z0-9_]*$, which every server version accepts. */
bool rpp_label_name_is_legal(const char *name);

#endif
