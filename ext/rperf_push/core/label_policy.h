/* label_policy.h - which labels leave the process, and under which names.
 *
 * Applied while a profile is encoded: keys are renamed as the settings say ("%GVL" -> "gvl_state"), made legal for every
 * server version (each byte outside [A-Za-z0-9_] becomes '_', a leading digit gets a '_' before it), denied by name, and
 * refused when they start with "__". Past max_label_values distinct values of one key, further ones read "other".
 * A label without a value is not sent. Two keys may come to one name and then share its values; which of them a sample
 * keeps is the encoder's choice (the first in the set's order).
 *
 * Threads    one at a time; a policy serves one profile.
 */
#ifndef RPP_LABEL_POLICY_H
#define RPP_LABEL_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "label_sets.h"
#include "settings.h"
#include "status.h"

typedef struct rpp_label_policy rpp_label_policy;

/* The settings must outlive the policy. `legal_names` false keeps keys as they are (files for local tools).
 * NULL when out of memory. */
rpp_label_policy *rpp_label_policy_new(const rpp_settings *settings, bool legal_names);
void rpp_label_policy_free(rpp_label_policy *policy);

/* The key and value to send; *keep false: send neither. The pointers live as long as the policy and the label's set. */
RPP_NODISCARD rpp_status rpp_label_policy_apply(rpp_label_policy *policy, rpp_label label, rpp_label *sent, bool *keep);

#endif
