/* fuzz_control_request.c - a request is taken only if it can be written again as it came, byte by byte. */
#include "control/control_request.h"
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rpp_control_request request;
    char again[RPP_CONTROL_LINE_MAX];
    uint64_t number = 0;
    if (rpp_control_request_parse((const char *)data, size, &request) != RPP_OK) return 0;
    FUZZ_CHECK(request.count <= RPP_CONTROL_ARGUMENTS_MAX);
    int length = snprintf(again, sizeof again, "rperf-push/1 %s", request.verb);
    for (size_t i = 0; i < request.count; i++) {
        const rpp_control_argument *argument = &request.arguments[i];
        FUZZ_CHECK(rpp_control_request_get(&request, argument->key));
        bool is_number = rpp_control_request_number(&request, argument->key, 1, 1000, 1, &number) == RPP_OK;
        FUZZ_CHECK(!is_number || (number >= 1 && number <= 1000));
        length += snprintf(again + length, sizeof again - (size_t)length, " %s=%s", argument->key, argument->value);
    }
    FUZZ_CHECK((size_t)length == size && memcmp(again, data, size) == 0);
    return 0;
}
