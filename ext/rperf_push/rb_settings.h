/* rb_settings.h - Ruby values -> settings. */
#ifndef RB_SETTINGS_H
#define RB_SETTINGS_H

#include "rb_compat.h"

#include "core/settings.h"

/* Settings of `texts` (option => [text, source], as from the environment), then `options` (option => Ruby value) over them,
 * checked as a whole. Pushes a String a mistake into the Array `mistakes`. NULL when there were any. Raises NoMemoryError only. */
rpp_settings *rb_rpp_settings_from(VALUE texts, VALUE options, VALUE mistakes);

#endif
