/* pprof_wire.h - writes the fields of small messages: those of which a profile has many, for which nanopb takes too
 * long.
 *
 * Each function writes at `at` and returns the end. Numbers that are 0 are not written, as in proto3.
 *
 * Threads    any thread; nothing is shared.
 * Ownership  the caller owns the bytes and knows that there is room.
 */
#ifndef RPP_PPROF_WIRE_H
#define RPP_PPROF_WIRE_H

#include <pb.h>
#include <stdint.h>
#include <string.h>

#define RPP_WIRE_VARINT32 5u
#define RPP_WIRE_VARINT64 10u
/* For the tag and the length of a message that is written behind it. */
#define RPP_WIRE_ROOM     (1 + RPP_WIRE_VARINT32)

/* A branchless form was measured: no faster. */
static inline uint8_t *rpp_wire_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *rpp_wire_tag(uint8_t *at, uint32_t field, pb_wire_type_t type)
{
    return rpp_wire_varint(at, field << 3 | (uint32_t)type);
}

static inline uint8_t *rpp_wire_number(uint8_t *at, uint32_t field, uint64_t value)
{
    return value ? rpp_wire_varint(rpp_wire_tag(at, field, PB_WT_VARINT), value) : at;
}

/* Puts tag and length before what was written from `content` to `end`. It was left room for at `start`. */
static inline uint8_t *rpp_wire_close(uint8_t *start, uint32_t field, const uint8_t *content, const uint8_t *end)
{
    size_t length = (size_t)(end - content);
    uint8_t *at = rpp_wire_varint(rpp_wire_tag(start, field, PB_WT_STRING), length);
    memmove(at, content, length);
    return at + length;
}

#endif
