/* window_files.h - writes the windows of a recorded session as files PID-TIME.pb.gz, each whole or not at all.
 *
 * A killed process loses only its last window; the others are on disk. Names have a time instead of a number, because a
 * number would start again after an exec. No file is replaced: a second one of the same time has the name of the next
 * free nanosecond.
 *
 * Threads    one at a time (in the gem: the collector).
 * Ownership  the caller keeps profile and names.
 */
#ifndef RPP_WINDOW_FILES_H
#define RPP_WINDOW_FILES_H

#include <stdint.h>

#include "base/status.h"
#include "profile/profile.h"
#include "sampling/frame_names.h"

typedef struct rpp_window_files rpp_window_files;

/* Writes this process's files into the directory. `mode`: RPP_MODE_* bits. NULL if out of memory. */
rpp_window_files *rpp_window_files_new(const char *directory, unsigned mode, uint32_t frequency);
void rpp_window_files_free(rpp_window_files *files);

/* Labels keep the program's names. A window without samples becomes no file. RPP_IO: errno has the reason. RPP_STOPPED:
 * no process will read this directory. */
RPP_NODISCARD rpp_status rpp_window_files_write(const rpp_window_files *files, const rpp_profile *profile,
                                                const rpp_frame_names *names);

#endif
