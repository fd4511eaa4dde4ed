/* errno_text.h - the system's words for an error number, whichever strerror_r the platform has.
 *
 * Threads    any thread.
 */
#ifndef RPP_ERRNO_TEXT_H
#define RPP_ERRNO_TEXT_H

#define RPP_ERRNO_TEXT_MAX 96

/* Returns the text, which may or may not lie in the room. */
const char *rpp_errno_text(int number, char room[RPP_ERRNO_TEXT_MAX]);

#endif
