/* control_request.h - the request of a peer: one line of text. The binding answers its verbs.
 *
 *   rperf-push/1 VERB key=value key=value ...
 *
 * A verb consists of a-z, a key of a-z and _, a value of printable ASCII without a space. A line that contains anything
 * else is refused as a whole.
 *
 * Threads    any thread.
 * Ownership  the caller owns the request; get returns a pointer into it.
 */
#ifndef RPP_CONTROL_REQUEST_H
#define RPP_CONTROL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define RPP_CONTROL_LINE_MAX      2304
#define RPP_CONTROL_VERB_MAX      15
#define RPP_CONTROL_KEY_MAX       23
#define RPP_CONTROL_VALUE_MAX     255
#define RPP_CONTROL_ARGUMENTS_MAX 9

typedef struct rpp_control_argument {
    char key[RPP_CONTROL_KEY_MAX + 1];
    char value[RPP_CONTROL_VALUE_MAX + 1];
} rpp_control_argument;

typedef struct rpp_control_request {
    char verb[RPP_CONTROL_VERB_MAX + 1];
    size_t count;
    rpp_control_argument arguments[RPP_CONTROL_ARGUMENTS_MAX];
} rpp_control_request;

/* Parses a line, given without its newline. Returns RPP_INVALID if it is not a request. */
RPP_NODISCARD rpp_status rpp_control_request_parse(const char *line, size_t length, rpp_control_request *request);
/* Returns the value, or NULL if the peer did not give the key. If it gave the key twice, the last value counts. */
const char *rpp_control_request_get(const rpp_control_request *request, const char *key);
/* Reads a whole number from min to max, or `otherwise` if the peer did not give the key. Returns RPP_INVALID for any
 * other value. */
RPP_NODISCARD rpp_status rpp_control_request_number(const rpp_control_request *request, const char *key, uint64_t min,
                                                    uint64_t max, uint64_t otherwise, uint64_t *number);

#endif
