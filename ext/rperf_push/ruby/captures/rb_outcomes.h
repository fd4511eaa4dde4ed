/* rb_outcomes.h - outcomes of requests for the options outcome_labels and slow_requests.
 *
 * Threads    the thread that holds the GVL.
 * Ownership  the settings are only read.
 */
#ifndef RB_OUTCOMES_H
#define RB_OUTCOMES_H

#include "vm/rb_compat.h"

#include "core/settings/settings.h"

void rb_rpp_outcomes_init(VALUE native);

/* What the continuous session wants; NULL: there is none. */
void rb_rpp_outcomes_follow(const rpp_settings *settings);

#endif
