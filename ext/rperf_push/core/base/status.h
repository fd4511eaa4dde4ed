/* status.h - the status codes of the core.
 *
 * One list keeps codes, names and texts together. A function that can fail returns rpp_status. It leaves its arguments
 * unchanged unless it returns RPP_OK.
 *
 * Threads    any thread.
 * Ownership  texts are static.
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
