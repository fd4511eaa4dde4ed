/* pprof_decoder.c - decodes texts and functions first, then locations, which refer to both; samples on demand. */
#include "encoding/pprof_decoder.h"

#include "base/alloc.h"
#include "base/hash_index.h"
#include "profile.pb.h"

/* Locations without inlined functions have one. */
#define FRAMES_PER_BYTE       8u
#define FIELD(message, field) perftools_profiles_##message##_##field##_tag

/* Bytes that this decoder and a caller that keeps all take for one: see pprof_decoder.h. Measured with Ruby 3.4. */
enum {
    COST_TEXT = 32,
    COST_FUNCTION = 64,
    COST_LOCATION = 64,
    COST_FRAME = 136,
    COST_SAMPLE = 160,
    COST_NUMBER = 16,
    COST_PLACE = 8
};

typedef struct function {
    uint64_t id;
    uint32_t name, path;
} function;

typedef struct location {
    uint64_t id;
    uint32_t first, count; /* of the frames */
} location;

struct rpp_pprof_decoder {
    const uint8_t *bytes;
    size_t length;
    rpp_pprof_head head;
    rpp_pprof_text *texts;
    rpp_pprof_frame *frames;
    uint32_t *comments;
    function *functions;
    location *locations;
    size_t text_capacity, frame_capacity, comment_capacity, function_count, function_capacity, location_count,
        location_capacity;
    rpp_hash_index functions_by_id, locations_by_id;
    size_t depth_left; /* of all samples: few bytes must not expand to many frames */
    size_t memory_left;
    /* the current sample */
    uint32_t *stack;
    size_t depth, stack_capacity;
    int64_t values[RPP_PPROF_READ_MAX_VALUES];
    rpp_pprof_read_label labels[RPP_PPROF_READ_MAX_LABELS];
};

/* --- the wire
 * ------------------------------------------------------------------------------------------------------- */

typedef struct reader {
    const uint8_t *at, *end;
} reader;

typedef struct wire_field {
    uint32_t number;
    bool is_number, is_bytes;
    uint64_t value; /* of a number */
    reader content; /* of anything else */
} wire_field;

static bool read_varint(reader *r, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && r->at < r->end; shift += 7) {
        uint8_t byte = *r->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static bool skip(reader *r, size_t length)
{
    if ((size_t)(r->end - r->at) < length) return false;
    r->at += length;
    return true;
}

/* False at the end, and on broken bytes; then it sets *status. */
static bool next_field(reader *r, wire_field *field, rpp_status *status)
{
    uint64_t tag, length;
    if (*status != RPP_OK || r->at == r->end) return false;
    *status = RPP_INVALID;
    if (!read_varint(r, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX) return false;
    *field = (wire_field){.number = (uint32_t)(tag >> 3), .is_number = (tag & 7) == 0, .is_bytes = (tag & 7) == 2};
    switch (tag & 7) {
    case 0:
        if (!read_varint(r, &field->value)) return false;
        break;
    case 1:
        if (!skip(r, 8)) return false;
        break;
    case 2:
        if (!read_varint(r, &length) || length > (size_t)(r->end - r->at)) return false;
        field->content = (reader){r->at, r->at + length};
        r->at += length;
        break;
    case 5:
        if (!skip(r, 4)) return false;
        break;
    default: return false;
    }
    *status = RPP_OK;
    return true;
}

/* Reads the numbers of a repeated field, packed or not. */
static bool next_number(wire_field *field, uint64_t *value, rpp_status *status)
{
    if (field->is_number) {
        *value = field->value;
        field->is_number = false;
        field->content = (reader){NULL, NULL};
        return true;
    }
    if (field->content.at == field->content.end) return false;
    if (read_varint(&field->content, value)) return true;
    *status = RPP_INVALID;
    return false;
}

static rpp_status to_text(const rpp_pprof_decoder *d, uint64_t place, uint32_t *text)
{
    if (place >= d->head.text_count) return RPP_INVALID;
    *text = (uint32_t)place;
    return RPP_OK;
}

rpp_status rpp_pprof_decoder_spend(rpp_pprof_decoder *d, size_t bytes)
{
    if (bytes > d->memory_left) return RPP_NO_MEMORY;
    d->memory_left -= bytes;
    return RPP_OK;
}

/* --- texts, functions, locations
 * ------------------------------------------------------------------------------------ */

static rpp_status add_text(rpp_pprof_decoder *d, reader content)
{
    if (d->head.text_count == UINT32_MAX) return RPP_LIMIT;
    rpp_status status = rpp_pprof_decoder_spend(d, COST_TEXT);
    if (status == RPP_OK)
        status = rpp_grow((void **)&d->texts, &d->text_capacity, d->head.text_count + 1, sizeof *d->texts);
    if (status != RPP_OK) return status;
    d->texts[d->head.text_count++] = (rpp_pprof_text){(const char *)content.at, (size_t)(content.end - content.at)};
    return RPP_OK;
}

static bool is_function(const void *table, uint32_t id, const void *wanted)
{
    return ((const function *)table)[id].id == *(const uint64_t *)wanted;
}

static bool is_location(const void *table, uint32_t id, const void *wanted)
{
    return ((const location *)table)[id].id == *(const uint64_t *)wanted;
}

/* Most files number from 1 in order; then no lookup is necessary. */
static uint32_t function_of(const rpp_pprof_decoder *d, uint64_t id)
{
    if (id - 1 < d->function_count && d->functions[id - 1].id == id) return (uint32_t)(id - 1);
    return rpp_hash_index_find(&d->functions_by_id, rpp_hash_words(id, 0), is_function, d->functions, &id);
}

static uint32_t location_of(const rpp_pprof_decoder *d, uint64_t id)
{
    if (id - 1 < d->location_count && d->locations[id - 1].id == id) return (uint32_t)(id - 1);
    return rpp_hash_index_find(&d->locations_by_id, rpp_hash_words(id, 0), is_location, d->locations, &id);
}

static rpp_status add_function(rpp_pprof_decoder *d, reader content)
{
    rpp_status status = rpp_pprof_decoder_spend(d, COST_FUNCTION);
    if (status == RPP_OK)
        status = rpp_grow((void **)&d->functions, &d->function_capacity, d->function_count + 1, sizeof *d->functions);
    if (status == RPP_OK) status = rpp_hash_index_reserve(&d->functions_by_id, 1);
    wire_field field;
    function f = {0};
    uint32_t system_name = 0;
    while (next_field(&content, &field, &status)) {
        switch (field.number) {
        case FIELD(Function, id): f.id = field.value; break;
        case FIELD(Function, name): status = to_text(d, field.value, &f.name); break;
        case FIELD(Function, system_name): status = to_text(d, field.value, &system_name); break;
        case FIELD(Function, filename): status = to_text(d, field.value, &f.path); break;
        default: break;
        }
    }
    if (status != RPP_OK) return status;
    if (!f.name) f.name = system_name;
    if (!f.id || function_of(d, f.id) != RPP_INDEX_NONE) return RPP_INVALID;
    d->functions[d->function_count] = f;
    rpp_hash_index_add(&d->functions_by_id, rpp_hash_words(f.id, 0), (uint32_t)d->function_count++);
    return RPP_OK;
}

static rpp_status add_frame(rpp_pprof_decoder *d, rpp_pprof_frame frame)
{
    if (d->head.frame_count == UINT32_MAX) return RPP_LIMIT;
    rpp_status status = rpp_pprof_decoder_spend(d, COST_FRAME);
    if (status == RPP_OK)
        status = rpp_grow((void **)&d->frames, &d->frame_capacity, d->head.frame_count + 1, sizeof *d->frames);
    if (status == RPP_OK) d->frames[d->head.frame_count++] = frame;
    return status;
}

static rpp_status add_line(rpp_pprof_decoder *d, reader content)
{
    rpp_status status = RPP_OK;
    wire_field field;
    uint64_t id = 0;
    rpp_pprof_frame frame = {0};
    while (next_field(&content, &field, &status)) {
        if (field.number == FIELD(Line, function_id)) id = field.value;
        if (field.number == FIELD(Line, line)) frame.line = (int64_t)field.value;
    }
    if (status != RPP_OK) return status;
    uint32_t known = function_of(d, id);
    if (known == RPP_INDEX_NONE) return RPP_INVALID;
    frame.name = d->functions[known].name;
    frame.path = d->functions[known].path;
    return add_frame(d, frame);
}

static rpp_status add_location(rpp_pprof_decoder *d, reader content)
{
    rpp_status status = rpp_pprof_decoder_spend(d, COST_LOCATION);
    if (status == RPP_OK)
        status = rpp_grow((void **)&d->locations, &d->location_capacity, d->location_count + 1, sizeof *d->locations);
    if (status == RPP_OK) status = rpp_hash_index_reserve(&d->locations_by_id, 1);
    wire_field field;
    uint64_t address = 0;
    location l = {.first = (uint32_t)d->head.frame_count};
    while (next_field(&content, &field, &status)) {
        if (field.number == FIELD(Location, id)) l.id = field.value;
        if (field.number == FIELD(Location, address)) address = field.value;
        if (field.number == FIELD(Location, line)) status = add_line(d, field.content);
    }
    if (status == RPP_OK && d->head.frame_count == l.first)
        status = add_frame(d, (rpp_pprof_frame){.address = address});
    if (status != RPP_OK) return status;
    l.count = (uint32_t)d->head.frame_count - l.first;
    if (!l.id || location_of(d, l.id) != RPP_INDEX_NONE) return RPP_INVALID;
    d->locations[d->location_count] = l;
    rpp_hash_index_add(&d->locations_by_id, rpp_hash_words(l.id, 0), (uint32_t)d->location_count++);
    return RPP_OK;
}

/* --- the head
 * ------------------------------------------------------------------------------------------------------- */

static rpp_status read_value_type(const rpp_pprof_decoder *d, reader content, rpp_pprof_value_type *type)
{
    rpp_status status = RPP_OK;
    wire_field field;
    *type = (rpp_pprof_value_type){0};
    while (next_field(&content, &field, &status)) {
        if (field.number == FIELD(ValueType, type))
            status = to_text(d, field.value, &type->type);
        else if (field.number == FIELD(ValueType, unit))
            status = to_text(d, field.value, &type->unit);
    }
    return status;
}

static rpp_status add_comments(rpp_pprof_decoder *d, wire_field *field)
{
    rpp_status status = RPP_OK;
    uint64_t place;
    while (status == RPP_OK && next_number(field, &place, &status)) {
        status = rpp_grow((void **)&d->comments, &d->comment_capacity, d->head.comment_count + 1, sizeof *d->comments);
        if (status == RPP_OK) status = to_text(d, place, &d->comments[d->head.comment_count]);
        if (status == RPP_OK) d->head.comment_count++;
    }
    return status;
}

static rpp_status take_texts(rpp_pprof_decoder *d, wire_field *field)
{
    if (field->number == FIELD(Profile, sample)) d->head.sample_count++;
    return field->number == FIELD(Profile, string_table) ? add_text(d, field->content) : RPP_OK;
}

static rpp_status take_functions(rpp_pprof_decoder *d, wire_field *field)
{
    return field->number == FIELD(Profile, function) ? add_function(d, field->content) : RPP_OK;
}

static rpp_status take_rest(rpp_pprof_decoder *d, wire_field *field)
{
    rpp_pprof_head *head = &d->head;
    switch (field->number) {
    case FIELD(Profile, location): return add_location(d, field->content);
    case FIELD(Profile, comment): return add_comments(d, field);
    case FIELD(Profile, sample_type):
        if (head->type_count == RPP_PPROF_READ_MAX_VALUES) return RPP_LIMIT;
        return read_value_type(d, field->content, &head->types[head->type_count++]);
    case FIELD(Profile, period_type): return read_value_type(d, field->content, &head->period_type);
    case FIELD(Profile, default_sample_type): return to_text(d, field->value, &head->default_type);
    case FIELD(Profile, time_nanos): head->time_ns = (int64_t)field->value; break;
    case FIELD(Profile, duration_nanos): head->duration_ns = (int64_t)field->value; break;
    case FIELD(Profile, period): head->period = (int64_t)field->value; break;
    default: break;
    }
    return RPP_OK;
}

/* Fields that consist of bytes; with another wire type they would be empty. */
static bool is_message(uint32_t number)
{
    switch (number) {
    case FIELD(Profile, sample_type):
    case FIELD(Profile, sample):
    case FIELD(Profile, location):
    case FIELD(Profile, function):
    case FIELD(Profile, string_table):
    case FIELD(Profile, period_type): return true;
    default: return false;
    }
}

/* The lists may come in any order, so each pass reads what depends on the previous pass. */
static rpp_status pass(rpp_pprof_decoder *d, rpp_status (*take)(rpp_pprof_decoder *, wire_field *))
{
    reader r = {d->bytes, d->bytes + d->length};
    rpp_status status = RPP_OK;
    wire_field field;
    while (next_field(&r, &field, &status)) {
        status = is_message(field.number) && !field.is_bytes ? RPP_INVALID : take(d, &field);
    }
    return status;
}

rpp_status rpp_pprof_decoder_new(const uint8_t *bytes, size_t length, size_t max_memory, rpp_pprof_decoder **decoder)
{
    rpp_pprof_decoder *d = rpp_calloc(1, sizeof *d);
    if (!d) return RPP_NO_MEMORY;
    d->bytes = bytes;
    d->length = length;
    d->memory_left = max_memory;
    rpp_status status = pass(d, take_texts);
    if (status == RPP_OK && (!d->head.text_count || d->texts[0].length)) status = RPP_INVALID;
    if (status == RPP_OK) status = pass(d, take_functions);
    if (status == RPP_OK) status = pass(d, take_rest);
    if (status == RPP_OK && !d->head.type_count) status = RPP_INVALID;
    if (status != RPP_OK) {
        rpp_pprof_decoder_free(d);
        return status;
    }
    d->head.texts = d->texts;
    d->head.frames = d->frames;
    d->head.comments = d->comments;
    *decoder = d;
    return RPP_OK;
}

void rpp_pprof_decoder_free(rpp_pprof_decoder *decoder)
{
    if (!decoder) return;
    rpp_free(decoder->texts);
    rpp_free(decoder->frames);
    rpp_free(decoder->comments);
    rpp_free(decoder->functions);
    rpp_free(decoder->locations);
    rpp_free(decoder->stack);
    rpp_hash_index_destroy(&decoder->functions_by_id);
    rpp_hash_index_destroy(&decoder->locations_by_id);
    rpp_free(decoder);
}

const rpp_pprof_head *rpp_pprof_decoder_head(const rpp_pprof_decoder *decoder)
{
    return &decoder->head;
}

/* --- samples
 * -------------------------------------------------------------------------------------------------------- */

static rpp_status add_to_stack(rpp_pprof_decoder *d, uint64_t id)
{
    uint32_t known = location_of(d, id);
    if (known == RPP_INDEX_NONE) return RPP_INVALID;
    const location *l = &d->locations[known];
    if (l->count > RPP_PPROF_READ_MAX_DEPTH - d->depth || l->count > d->depth_left) return RPP_LIMIT;
    d->depth_left -= l->count;
    rpp_status status = rpp_grow((void **)&d->stack, &d->stack_capacity, d->depth + l->count, sizeof *d->stack);
    for (uint32_t i = 0; i < l->count && status == RPP_OK; i++) d->stack[d->depth++] = l->first + i;
    return status;
}

static rpp_status read_label(const rpp_pprof_decoder *d, reader content, rpp_pprof_read_label *label)
{
    rpp_status status = RPP_OK;
    wire_field field;
    *label = (rpp_pprof_read_label){0};
    while (next_field(&content, &field, &status)) {
        if (field.number == FIELD(Label, key)) status = to_text(d, field.value, &label->key);
        if (field.number == FIELD(Label, str)) status = to_text(d, field.value, &label->str);
        if (field.number == FIELD(Label, num)) label->number = (int64_t)field.value;
        if (field.number == FIELD(Label, num_unit)) status = to_text(d, field.value, &label->unit);
    }
    return status;
}

static rpp_status read_sample(rpp_pprof_decoder *d, reader content, rpp_pprof_read_sample *sample)
{
    rpp_status status = RPP_OK;
    wire_field field;
    uint64_t number;
    size_t values = 0, labels = 0;
    d->depth = 0;
    while (next_field(&content, &field, &status)) {
        switch (field.number) {
        case FIELD(Sample, location_id):
            while (status == RPP_OK && next_number(&field, &number, &status)) status = add_to_stack(d, number);
            break;
        case FIELD(Sample, value):
            while (status == RPP_OK && next_number(&field, &number, &status)) {
                if (values == d->head.type_count) return RPP_INVALID;
                d->values[values++] = (int64_t)number;
            }
            break;
        case FIELD(Sample, label):
            if (labels == RPP_PPROF_READ_MAX_LABELS) return RPP_LIMIT;
            status = read_label(d, field.content, &d->labels[labels++]);
            break;
        default: break;
        }
    }
    if (status == RPP_OK && values != d->head.type_count) status = RPP_INVALID;
    *sample = (rpp_pprof_read_sample){d->stack, d->depth, d->values, d->labels, labels};
    if (status == RPP_OK)
        status = rpp_pprof_decoder_spend(d, COST_SAMPLE + values * COST_NUMBER + d->depth * COST_PLACE);
    return status;
}

rpp_status rpp_pprof_decoder_each_sample(rpp_pprof_decoder *decoder, rpp_pprof_visitor visit, void *context)
{
    reader r = {decoder->bytes, decoder->bytes + decoder->length};
    rpp_status status = RPP_OK;
    wire_field field;
    decoder->depth_left = FRAMES_PER_BYTE * decoder->length;
    while (next_field(&r, &field, &status)) {
        if (field.number != FIELD(Profile, sample)) continue;
        rpp_pprof_read_sample sample;
        status = read_sample(decoder, field.content, &sample);
        if (status == RPP_OK) visit(&sample, context);
    }
    return status;
}
