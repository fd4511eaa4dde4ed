/* rb_session.h - the continuous session: settings in, everything started in order, and ended in order; fork and exit.
 *
 * Threads    methods of Native: under the GVL. The fork handlers run wherever fork is called.
 */
#ifndef RB_SESSION_H
#define RB_SESSION_H

#include "rb_compat.h"

void rb_rpp_session_init(VALUE native);
/* A session begins, of either kind: if nobody ends it, the exit does, however late it is. */
void rb_rpp_session_end_with_process(void);

#endif
