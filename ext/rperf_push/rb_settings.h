/* rb_settings.h - converts Ruby values to settings.
 *
 * Threads    under the GVL.
 * Ownership  the caller frees the settings.
 */
#ifndef RB_SETTINGS_H
#define RB_SETTINGS_H

#include "rb_compat.h"

#include "core/settings/settings.h"

/* Settings of `texts` (option => [text, source], as from the environment), then `options` (option => Ruby value) over them,
 * checked as a whole. The Array `mistakes` has those that are known already, as Strings; others come before them. NULL
 * when there are any. Raises NoMemoryError only. */
rpp_settings *rb_rpp_settings_from(VALUE texts, VALUE options, VALUE mistakes);

#endif
