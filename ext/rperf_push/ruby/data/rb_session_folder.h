/* rb_session_folder.h - methods of Native for the folders of recorded sessions (core/delivery/session_folder.h).
 *
 * Threads    methods of Native: under the GVL.
 * Ownership  nothing to own.
 */
#ifndef RB_SESSION_FOLDER_H
#define RB_SESSION_FOLDER_H

#include "vm/rb_compat.h"

void rb_rpp_session_folder_init(VALUE native);

#endif
