/* base64.c - encodes bytes as base64 text. */
#include "base/base64.h"

rpp_status rpp_base64_write(rpp_byte_sink *sink, const uint8_t *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char block[4096];
    size_t used = 0;
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t group =
            (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
        block[used++] = digits[group >> 18];
        block[used++] = digits[group >> 12 & 63];
        block[used++] = left > 1 ? digits[group >> 6 & 63] : '=';
        block[used++] = left > 2 ? digits[group & 63] : '=';
        if (used == sizeof block || left <= 3) {
            rpp_status status = rpp_byte_sink_write(sink, block, used);
            if (status != RPP_OK) return status;
            used = 0;
        }
    }
    return RPP_OK;
}
