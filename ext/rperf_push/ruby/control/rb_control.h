/* rb_control.h - the control socket of this process, and its answers.
 *
 *   ps        a document: the counters, read without the GVL.
 *   stacks    a document: where every thread is now (rb_inspect.h).
 *   record    a stream of windows: a session on demand for the peer (rb_attach.h).
 *   trace     a stream: every call, for the peer (calls/rb_call_attach.h); pause and resume are answered there, too.
 *   take      a stream: what a session of a viewer has recorded, for a sibling (rb_sibling.h).
 *
 * Threads    under the GVL, in a method or job. The service is called on the server's thread.
 * Ownership  the process has one socket, which its server owns.
 */
#ifndef RB_CONTROL_H
#define RB_CONTROL_H

#include "vm/rb_compat.h"

#include <stdbool.h>

#include "core/settings/settings.h"
#include "sampler/rb_fork_and_exit.h"

extern const rb_rpp_participant rb_rpp_control_participant;

void rb_rpp_control_init(VALUE native);
/* A continuous session begins: listens where its settings say, if anywhere. A failure is logged, and the session
 * continues. */
void rb_rpp_control_follow(const rpp_settings *settings);
/* The session has ended: stops listening, unless the program has loaded rperf_push/control. */
void rb_rpp_control_leave(void);

#endif
