/* status.h - what a function of the core can come back with.
 *
 * One list, so that a code, its name and its text can not drift apart. Functions that can fail return rpp_status and
 * leave their arguments as they found them unless they return RPP_OK.
 */
#ifndef RPP_STATUS_H
#define RPP_STATUS_H

#define RPP_STATUS_LIST(X)                                                                                             \
    X(OK, "ok")                                                                                                        \
    X(NO_MEMORY, "out of memory")                                                                                      \
    X(LIMIT, "a size limit was reached")                                                                               \
    X(BUSY, "in use by another thread")                                                                                \
    X(INVALID, "not valid")                                                                                            \
    X(IO, "input or output failed")                                                                                    \
    X(TIMEOUT, "the deadline passed")                                                                                  \
    X(STOPPED, "stopped")

typedef enum rpp_status {
#define X(name, text) RPP_##name,
    RPP_STATUS_LIST(X)
#undef X
} rpp_status;

#if defined(__GNUC__)
#define RPP_NODISCARD                 __attribute__((warn_unused_result))
#define RPP_PRINTF(text_index, first) __attribute__((format(printf, text_index, first)))
#else
#define RPP_NODISCARD
#define RPP_PRINTF(text_index, first)
#endif

/* "out of memory" for RPP_NO_MEMORY, and so on. */
const char *rpp_status_text(rpp_status status);

#endif
