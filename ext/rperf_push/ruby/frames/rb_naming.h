/* rb_naming.h - the name, the file and the first line of a frame, as profiles show them.
 *
 * Threads    under the GVL, in a job or method, because it allocates.
 * Ownership  a name is copied; it needs the frame no longer.
 */
#ifndef RB_NAMING_H
#define RB_NAMING_H

#include "vm/rb_compat.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RB_RPP_NAME_MAX_BYTES 1024
#define RB_RPP_PATH_MAX_BYTES 4096

typedef struct rb_rpp_frame_name {
    char text[RB_RPP_NAME_MAX_BYTES];
    char file[RB_RPP_PATH_MAX_BYTES];
    size_t length, file_length; /* file_length 0: the method is written in C */
    uint32_t first_line;        /* 0: unknown */
    bool is_own;                /* the profiler's own, which is hidden */
} rb_rpp_frame_name;

/* Call it once per process. Frames in files below lib_dir, and C methods of RperfPush, are the profiler's own. */
void rb_rpp_naming_init(const char *lib_dir);
/* Sets the application's root: from now on, paths below it are relative to it. */
void rb_rpp_naming_set_root(const char *path);
/* Names a frame of rb_profile_frames, which something else must mark meanwhile. May raise if out of memory. */
void rb_rpp_name_frame(VALUE frame, rb_rpp_frame_name *name);

#endif
