/* pprof_encoder.c - the writing pass: writes the numbered profile as a Profile message, through nanopb into a sink.
 *
 * nanopb calls back for every list. The callbacks point into the index, write the messages of their list by hand
 * (pprof_wire.h), and keep nothing. The rows are in the top-level message, whose callbacks run once, so they can count
 * the totals.
 */
#include "encoding/pprof_encoder.h"

#include <pb_encode.h>
#include <string.h>

#include "base/alloc.h"
#include "encoding/pprof_index.h"
#include "encoding/pprof_sample.h"
#include "encoding/pprof_wire.h"
#include "profile.pb.h"

typedef perftools_profiles_Profile profile_message;
typedef perftools_profiles_ValueType value_type_message;
typedef perftools_profiles_Mapping mapping_message;

#define MAPPING_ID 1

/* nanopb writes byte by byte, so its output is collected before it goes to the sink. */
typedef struct staging {
    rpp_byte_sink *sink;
    rpp_status status;
    size_t used;
    uint8_t bytes[16 * 1024];
} staging;

typedef struct writing_pass {
    const rpp_pprof_index *index;
    const rpp_encode_options *options;
    uint8_t *sample; /* room for the longest sample */
    rpp_encode_totals totals;
    staging out;
} writing_pass;

/* --- the stream
 * ----------------------------------------------------------------------------------------------------- */

static bool flush(staging *out)
{
    if (out->status == RPP_OK) out->status = rpp_byte_sink_write(out->sink, out->bytes, out->used);
    out->used = 0;
    return out->status == RPP_OK;
}

static bool stage(pb_ostream_t *stream, const pb_byte_t *bytes, size_t length)
{
    staging *out = stream->state;
    if (length > sizeof out->bytes - out->used && !flush(out)) return false;
    if (length > sizeof out->bytes) {
        out->status = rpp_byte_sink_write(out->sink, bytes, length);
        return out->status == RPP_OK;
    }
    memcpy(out->bytes + out->used, bytes, length);
    out->used += length;
    return true;
}

/* --- the lists
 * ------------------------------------------------------------------------------------------------------ */

static bool write_bytes(pb_ostream_t *stream, const pb_field_t *field, const void *bytes, size_t length)
{
    return pb_encode_tag_for_field(stream, field) && pb_encode_string(stream, bytes, length);
}

static bool write_samples(pb_ostream_t *stream, const pb_field_t *field, void *const *context)
{
    writing_pass *writing = *context;
    const rpp_pprof_index *index = writing->index;
    for (size_t i = index->first; i < index->first + index->count; i++) {
        const rpp_row *row = &index->rows[i];
        if (!rpp_pprof_shows(writing->options, index->rows, i)) continue;
        size_t length = rpp_pprof_sample_write(index, writing->options, i, writing->sample);
        if (!write_bytes(stream, field, writing->sample, length)) return false;
        writing->totals.samples++;
        if (index->labels.cut) writing->totals.labels_cut += index->labels.cut[row->labels];
        for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) {
            if (writing->options->mode >> value & 1) writing->totals.values[value] += row->values[value];
        }
    }
    return true;
}

/* Of a location or a function: some numbers, none of them longer than 32 bits, and one message in it. */
#define MAX_SMALL (2 * RPP_WIRE_ROOM + 5 * (1 + RPP_WIRE_VARINT32))

static bool write_locations(pb_ostream_t *stream, const pb_field_t *field, void *const *context)
{
    const rpp_pprof_index *index = ((const writing_pass *)*context)->index;
    uint8_t bytes[MAX_SMALL], *const content = bytes + RPP_WIRE_ROOM;
    for (size_t i = 0; i < index->location_count; i++) {
        uint8_t *line = rpp_wire_number(content, perftools_profiles_Location_id_tag, i + 1);
        line = rpp_wire_number(line, perftools_profiles_Location_mapping_id_tag, MAPPING_ID);
        uint8_t *const of_line = line + RPP_WIRE_ROOM;
        uint8_t *end = rpp_wire_number(of_line, perftools_profiles_Line_function_id_tag, index->locations[i].function);
        end = rpp_wire_number(end, perftools_profiles_Line_line_tag, index->locations[i].line);
        end = rpp_wire_close(line, perftools_profiles_Location_line_tag, of_line, end);
        end = rpp_wire_close(bytes, field->tag, content, end);
        if (!pb_write(stream, bytes, (size_t)(end - bytes))) return false;
    }
    return true;
}

static bool write_functions(pb_ostream_t *stream, const pb_field_t *field, void *const *context)
{
    const rpp_pprof_index *index = ((const writing_pass *)*context)->index;
    uint8_t bytes[MAX_SMALL], *const content = bytes + RPP_WIRE_ROOM;
    for (size_t i = 0; i < index->function_count; i++) {
        const rpp_pprof_function *known = &index->functions[i];
        uint8_t *end = rpp_wire_number(content, perftools_profiles_Function_id_tag, i + 1);
        end = rpp_wire_number(end, perftools_profiles_Function_name_tag, known->name);
        end = rpp_wire_number(end, perftools_profiles_Function_filename_tag, known->path);
        end = rpp_wire_number(end, perftools_profiles_Function_start_line_tag, known->frame->first_line);
        end = rpp_wire_close(bytes, field->tag, content, end);
        if (!pb_write(stream, bytes, (size_t)(end - bytes))) return false;
    }
    return true;
}

static bool write_strings(pb_ostream_t *stream, const pb_field_t *field, void *const *context)
{
    const rpp_string_table *strings = ((const writing_pass *)*context)->index->strings;
    for (uint32_t i = 0; i < rpp_string_table_count(strings); i++) {
        size_t length;
        const char *bytes = rpp_string_table_get(strings, i, &length);
        if (!write_bytes(stream, field, bytes, length)) return false;
    }
    return true;
}

static bool write_comments(pb_ostream_t *stream, const pb_field_t *field, void *const *context)
{
    const rpp_pprof_index *index = ((const writing_pass *)*context)->index;
    for (size_t i = 0; i < index->comment_count; i++) {
        if (!pb_encode_tag(stream, PB_WT_VARINT, field->tag)) return false;
        if (!pb_encode_varint(stream, index->comments[i])) return false;
    }
    return true;
}

/* --- the message
 * ---------------------------------------------------------------------------------------------------- */

/* Time is sampled at a period. All else is counted: each one stands for itself. */
static uint64_t period_of(const rpp_encode_options *options)
{
    bool is_time = options->values || rpp_mode_group(options->mode) == RPP_GROUP_PROCESS_CPU;
    return is_time ? options->period_ns : 1;
}

static void describe(profile_message *message, const rpp_pprof_index *index, const rpp_encode_options *options,
                     uint64_t time_offset_ns)
{
    for (size_t i = 0; i < index->value_count; i++) {
        message->sample_type[message->sample_type_count++] =
            (value_type_message){index->value_types[i], index->value_units[i]};
    }
    /* The group's, whatever the sample types are: servers put the period's type into the id of a profile type, and
     * profiles with different ids do not add up. */
    message->period_type = (value_type_message){index->period_type, index->period_unit};
    message->has_period_type = true;
    message->period = (int64_t)period_of(options);
    message->default_sample_type = message->sample_type[0].type;
    message->time_nanos = (int64_t)(rpp_profile_time_ns(index->profile) + time_offset_ns);
    /* A level has none: servers take a profile with a duration for a sum over it. */
    bool is_level = !options->values && !(options->mode & ~rpp_level_mode());
    message->duration_nanos = is_level ? 0 : (int64_t)rpp_profile_duration_ns(index->profile);
    message->doc_url = index->doc_url;
    message->mapping_count = 1;
    message->mapping[0] = (mapping_message){.id = MAPPING_ID,
                                            .filename = index->mapping_file,
                                            .has_functions = true,
                                            .has_filenames = true,
                                            .has_line_numbers = true};
}

static pb_callback_t list(bool (*write)(pb_ostream_t *, const pb_field_t *, void *const *), writing_pass *writing)
{
    return (pb_callback_t){.funcs.encode = write, .arg = writing};
}

static rpp_status write_profile(writing_pass *writing, uint64_t time_offset_ns)
{
    profile_message message = perftools_profiles_Profile_init_zero;
    describe(&message, writing->index, writing->options, time_offset_ns);
    message.sample = list(write_samples, writing);
    message.location = list(write_locations, writing);
    message.function = list(write_functions, writing);
    message.string_table = list(write_strings, writing);
    message.comment = list(write_comments, writing);

    pb_ostream_t stream = {.callback = stage, .state = &writing->out, .max_size = SIZE_MAX};
    bool written = pb_encode(&stream, perftools_profiles_Profile_fields, &message) && flush(&writing->out);
    if (written) return RPP_OK;
    return writing->out.status != RPP_OK ? writing->out.status : RPP_INVALID;
}

rpp_status rpp_pprof_encode(const rpp_profile *profile, size_t first, size_t count, const rpp_frame_names *names,
                            const rpp_encode_options *options, uint64_t time_offset_ns, rpp_byte_sink *sink,
                            rpp_encode_totals *totals)
{
    rpp_pprof_index index;
    writing_pass *writing = NULL;
    rpp_status status = rpp_pprof_index_init(&index, profile, first, count, names, options);
    if (status != RPP_OK) goto done;

    status = RPP_NO_MEMORY;
    writing = rpp_calloc(1, sizeof *writing);
    if (!writing) goto done;
    writing->index = &index;
    writing->options = options;
    writing->out.sink = sink;
    writing->sample = rpp_malloc(rpp_pprof_sample_max_bytes(&index));
    if (!writing->sample) goto done;

    status = write_profile(writing, time_offset_ns);
    if (status == RPP_OK && totals) *totals = writing->totals;

done:
    if (writing) rpp_free(writing->sample);
    rpp_free(writing);
    rpp_pprof_index_destroy(&index);
    return status;
}
