/* errno_text.h - the system's message for an error number, with either form of strerror_r.
 *
 * Threads    any thread.
 * Ownership  the caller keeps the room, which must outlive the use of the text.
 */
#ifndef RPP_ERRNO_TEXT_H
#define RPP_ERRNO_TEXT_H

#define RPP_ERRNO_TEXT_MAX 96

/* Returns the text. It may point into the room or to static memory. */
const char *rpp_errno_text(int number, char room[RPP_ERRNO_TEXT_MAX]);

#endif
