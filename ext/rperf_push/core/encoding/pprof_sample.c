/* pprof_sample.c - encodes one row as a pprof Sample message. */
#include "encoding/pprof_sample.h"

#include <string.h>

#include "encoding/pprof_wire.h"
#include "profile.pb.h"

/* Tag and length of a label; tag and place of its key; tag and number, and tag and place of its unit. A text needs
 * less. */
#define MAX_LABEL (2 + (1 + RPP_WIRE_VARINT32) + (1 + RPP_WIRE_VARINT64) + (1 + RPP_WIRE_VARINT32))
/* Tags and lengths of the packed lists, the values, thread_seq and state. */
#define MAX_REST  (2 * (1 + RPP_WIRE_VARINT64) + RPP_ENCODE_MAX_VALUES * RPP_WIRE_VARINT64 + 2 * MAX_LABEL)

typedef perftools_profiles_Label label_message; /* its zero values are not written */

size_t rpp_pprof_sample_max_bytes(const rpp_pprof_index *index)
{
    /* A leaf frame for the state, and one for a stack without visible frames. */
    return MAX_REST + ((size_t)index->deepest + 2) * RPP_WIRE_VARINT32 + index->labels.longest * MAX_LABEL;
}

static uint8_t *put_locations(uint8_t *start, const rpp_pprof_index *index, const rpp_encode_options *options,
                              const rpp_row *row)
{
    uint8_t *content = start + RPP_WIRE_ROOM, *at = content;
    if (options->vm_state_frames && rpp_state_frame(row->state)) {
        at = rpp_wire_varint(at, index->synthetic_ids[rpp_state_frame(row->state)]);
    }
    uint32_t depth;
    const uint32_t *locations = rpp_stack_table_get(rpp_profile_stacks(index->profile), row->stack, &depth);
    const uint8_t *before = at;
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t id = index->location_ids[locations[i]];
        if (id != RPP_PPROF_HIDDEN) at = rpp_wire_varint(at, id);
    }
    /* Without a location, viewers would not show the weight. */
    if (at == before) at = rpp_wire_varint(at, index->synthetic_ids[RPP_FRAME_UNKNOWN]);
    return rpp_wire_close(start, perftools_profiles_Sample_location_id_tag, content, at);
}

static uint8_t *put_values(uint8_t *start, const rpp_pprof_index *index, const rpp_encode_options *options, size_t row)
{
    uint8_t *content = start + RPP_WIRE_ROOM, *at = content;
    int64_t values[RPP_ENCODE_MAX_VALUES];
    size_t count = rpp_pprof_values_of(index, options, row, values);
    for (size_t i = 0; i < count; i++) at = rpp_wire_varint(at, (uint64_t)values[i]);
    return rpp_wire_close(start, perftools_profiles_Sample_value_tag, content, at);
}

static uint8_t *put_label(uint8_t *start, label_message label)
{
    uint8_t *content = start + 2, *at = content;
    at = rpp_wire_number(at, perftools_profiles_Label_key_tag, (uint64_t)label.key);
    at = rpp_wire_number(at, perftools_profiles_Label_str_tag, (uint64_t)label.str);
    at = rpp_wire_number(at, perftools_profiles_Label_num_tag, (uint64_t)label.num);
    at = rpp_wire_number(at, perftools_profiles_Label_num_unit_tag, (uint64_t)label.num_unit);
    return rpp_wire_close(start, perftools_profiles_Sample_label_tag, content, at);
}

static uint8_t *put_text_label(uint8_t *at, rpp_pprof_label label)
{
    return label.key ? put_label(at, (label_message){.key = label.key, .str = label.text}) : at;
}

static uint8_t *put_item(uint8_t *at, const rpp_pprof_labels *labels, uint32_t i)
{
    if (labels->items[i].text || !labels->numbers) return put_text_label(at, labels->items[i]);
    const rpp_pprof_number *value = &labels->numbers[i];
    return put_label(at, (label_message){.key = labels->items[i].key, .num = value->number, .num_unit = value->unit});
}

static uint8_t *put_labels(uint8_t *at, const rpp_pprof_labels *labels, const rpp_row *row, uint32_t set)
{
    if (!labels->starts) return at;
    if (row->thread_seq) at = put_label(at, (label_message){.key = labels->thread_key, .num = row->thread_seq});
    if (row->state < RPP_STATE_COUNT) at = put_text_label(at, labels->of_state[row->state]);
    for (uint32_t i = labels->starts[set]; i < labels->starts[set + 1]; i++) at = put_item(at, labels, i);
    return at;
}

size_t rpp_pprof_sample_write(const rpp_pprof_index *index, const rpp_encode_options *options, size_t row,
                              uint8_t *bytes)
{
    const rpp_row *written = &index->rows[row];
    uint8_t *at = put_locations(bytes, index, options, written);
    at = put_values(at, index, options, row);
    at = put_labels(at, &index->labels, written, rpp_pprof_set_of(options, index->rows, row));
    return (size_t)(at - bytes);
}
