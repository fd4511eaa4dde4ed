/* rb_settings.h - converts Ruby values to settings.
 *
 * Threads    under the GVL.
 * Ownership  the caller frees the settings.
 */
#ifndef RB_SETTINGS_H
#define RB_SETTINGS_H

#include "vm/rb_compat.h"

#include "core/settings/settings.h"

/* Applies `texts` (option => [text, source], as from the environment), then `options` (option => Ruby value), and
 * checks the result. The Array `errors` has known errors as Strings; new ones are put before them. NULL if there
 * are any. Raises only NoMemoryError. */
rpp_settings *rb_rpp_settings_from(VALUE texts, VALUE options, VALUE errors);

/* Where profiles go: the address without secret parts, or the directory. A String; raises only NoMemoryError. */
VALUE rb_rpp_settings_target(const rpp_settings *settings);

#endif
