/* rb_session.h - the continuous session: starts and ends everything in order; goes on in forked children.
 *
 * Threads    methods of Native: under the GVL. What rb_fork_and_exit calls: on the thread that forks or ends the
 *            process.
 * Ownership  the session owns its delivery chain (rb_chain.h).
 */
#ifndef RB_SESSION_H
#define RB_SESSION_H

#include "vm/rb_compat.h"

#include <stdbool.h>

#include "sampler/rb_fork_and_exit.h"

extern const rb_rpp_participant rb_rpp_session_participant;

void rb_rpp_session_init(VALUE native);
/* True if it runs in this process. A forked child that has not come to its restart yet comes to it now, which may
 * raise. */
bool rb_rpp_session_runs(void);

#endif
