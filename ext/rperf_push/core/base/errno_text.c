/* errno_text.c - the system's message for an error number, with either form of strerror_r. */
#include "base/errno_text.h"

#include <string.h>

/* GNU's strerror_r returns the text, POSIX's returns a status; only one of these two is called. */
__attribute__((unused)) static const char *from_gnu(const char *text, const char *room)
{
    (void)room;
    return text;
}

__attribute__((unused)) static const char *from_posix(int failed, const char *room)
{
    return failed ? "unknown error" : room;
}

const char *rpp_errno_text(int number, char room[RPP_ERRNO_TEXT_MAX])
{
    return _Generic(strerror_r(number, room, RPP_ERRNO_TEXT_MAX), char *: from_gnu, int: from_posix)(
        strerror_r(number, room, RPP_ERRNO_TEXT_MAX), room);
}
