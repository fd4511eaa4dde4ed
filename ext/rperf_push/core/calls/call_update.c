/* call_update.c - what calls have done since the last time, as text for a viewer: JSON. */
#include "calls/call_update.h"

#include <stdio.h>
#include <string.h>

enum {
    NUMBER_MAX = 21, /* characters, with a comma */
    NUMBERS = 4 + RPP_CALL_STATES,
    PLACE_MAX = 64
};

/* Numbers are most of an update: printf would take ten times as long. Returns the new length. */
static size_t put_number(char *text, size_t length, int64_t number)
{
    char digits[NUMBER_MAX];
    size_t count = 0;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do digits[count++] = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0) digits[count++] = '-';
    while (count) text[length++] = digits[--count];
    return length;
}

static rpp_status write_numbers(rpp_byte_sink *sink, bool is_first, const int64_t *numbers, size_t count)
{
    char text[NUMBERS * NUMBER_MAX];
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        if (i || !is_first) text[length++] = ',';
        length = put_number(text, length, numbers[i]);
    }
    return rpp_byte_sink_write(sink, text, length);
}

static rpp_status write_text(rpp_byte_sink *sink, const char *text)
{
    return rpp_byte_sink_write(sink, text, strlen(text));
}

static rpp_status write_nodes(rpp_byte_sink *sink, const rpp_call_tree *shown, uint32_t told)
{
    rpp_status status = write_text(sink, "\"nodes\":[");
    for (uint32_t id = told; status == RPP_OK && id < rpp_call_tree_count(shown); id++) {
        const rpp_call_node *node = rpp_call_tree_node(shown, id);
        int64_t pair[] = {node->parent == RPP_CALL_NONE ? -1 : (int64_t)node->parent, node->method};
        status = write_numbers(sink, id == told, pair, 2);
    }
    return status;
}

static rpp_status write_changes(rpp_byte_sink *sink, rpp_call_changes *changes)
{
    rpp_status status = write_text(sink, "],\"changes\":[");
    rpp_call_change change;
    for (uint32_t i = 0; status == RPP_OK && rpp_call_changes_next(changes, &change); i++) {
        const rpp_call_numbers *by = &change.by;
        int64_t row[NUMBERS] = {change.node, (int64_t)by->calls, (int64_t)by->self_ns, (int64_t)by->wait_ns};
        for (int state = 0; state < RPP_CALL_STATES; state++) row[4 + state] = (int64_t)by->states_ns[state];
        status = write_numbers(sink, i == 0, row, NUMBERS);
    }
    return status;
}

static rpp_status write_positions(rpp_byte_sink *sink, const rpp_call_position *positions, size_t count)
{
    rpp_status status = write_text(sink, "],\"at\":[");
    for (size_t i = 0; status == RPP_OK && i < count; i++) {
        char text[PLACE_MAX];
        snprintf(text, sizeof text, "%s[%u,%u,\"%s\"]", i ? "," : "", (unsigned)positions[i].root,
                 (unsigned)positions[i].node, positions[i].state);
        status = write_text(sink, text);
    }
    return status == RPP_OK ? write_text(sink, "]") : status;
}

rpp_status rpp_call_update_write(rpp_byte_sink *sink, rpp_call_changes *changes, uint32_t told,
                                 const rpp_call_position *positions, size_t count)
{
    rpp_status status = write_nodes(sink, rpp_call_changes_shown(changes), told);
    if (status == RPP_OK) status = write_changes(sink, changes);
    return status == RPP_OK ? write_positions(sink, positions, count) : status;
}
