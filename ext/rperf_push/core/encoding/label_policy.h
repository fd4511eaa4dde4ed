/* label_policy.h - decides which labels leave the process, and under which names.
 *
 * The encoder applies it. Keys are renamed as the settings say ("%GVL" -> "gvl_state") and made legal for every server
 * version (each byte outside [A-Za-z0-9_] becomes '_', and '_' precedes a leading digit). Denied names, and names that
 * begin with "__", are not sent. Beyond max_label_values distinct values of one key, other values read "other". An
 * admitted value stays admitted until it has not been seen for an hour, so that series do not come and go with each
 * window. span_id and trace_id have no limit, because servers keep them with the samples. A label without a value is
 * not sent. Two keys may become one name and then share its values; the encoder chooses which of them a sample keeps
 * (the first in the set's order).
 *
 * Threads    one at a time; a policy serves all profiles of a process in turn.
 * Ownership  the settings must outlive the policy.
 */
#ifndef RPP_LABEL_POLICY_H
#define RPP_LABEL_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "sampling/label_sets.h"
#include "settings/settings.h"

typedef struct rpp_label_policy rpp_label_policy;

/* `legal_names` false keeps keys unchanged (files for local tools). NULL if out of memory. */
rpp_label_policy *rpp_label_policy_new(const rpp_settings *settings, bool legal_names);
void rpp_label_policy_free(rpp_label_policy *policy);

/* Call it before each profile, with its time (ns since the epoch): values not seen for an hour lose their place. */
void rpp_label_policy_begin(rpp_label_policy *policy, uint64_t now_ns);

/* Sets the key and value to send; *keep false: do not send the label. The pointers are valid as long as the policy and
 * the label's set. */
RPP_NODISCARD rpp_status rpp_label_policy_apply(rpp_label_policy *policy, rpp_label label, rpp_label *sent, bool *keep);

/* True if the sent name has a value for each request (span_id, trace_id). */
bool rpp_label_is_of_one_request(const char *key, size_t length);

#endif
