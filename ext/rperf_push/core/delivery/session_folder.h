/* session_folder.h - the folder into which all processes of a session write their windows: its name tells whose it is.
 *
 *   session-PID-BEGAN-WORLD-RANDOM    session-4711-830021-4026531836-9f3a61c2
 *
 * Threads    any thread; not in a signal handler.
 * Ownership  the caller keeps all strings.
 */
#ifndef RPP_SESSION_FOLDER_H
#define RPP_SESSION_FOLDER_H

#include <stdbool.h>

#define RPP_SESSION_NAME_MAX 96u

/* A new name, for a folder of the calling process. */
void rpp_session_folder_name(char name[RPP_SESSION_NAME_MAX]);
/* True if no process will read what is written there: it is gone, or the process is. A folder with another name belongs
 * to no process in particular; one that is called session-PID-... belongs to whatever process has that number now. */
bool rpp_session_folder_is_abandoned(const char *directory);
/* True if the calling process has made it: by its name. */
bool rpp_session_folder_is_own(const char *directory);
/* True if it may be removed: it is abandoned, or of another process namespace, which cannot be seen, and a day old. */
bool rpp_session_folder_is_left_over(const char *directory);

#endif
