/* decoded_pprof.h - a pprof's bytes as plain arrays, by a reader that shares nothing with the encoder and takes nothing
 * that is not as the servers want it.
 *
 * Ownership  texts point into the bytes; everything else is freed with decoded_free.
 */
#ifndef RPP_DECODED_PPROF_H
#define RPP_DECODED_PPROF_H

#include "fuzz_input.h"

typedef struct wire {
    const uint8_t *at, *end;
} wire;

static inline uint64_t wire_varint(wire *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        FUZZ_CHECK(in->at < in->end && shift < 70);
        uint8_t byte = *in->at++;
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (byte < 0x80) return value;
    }
}

static inline wire wire_bytes(wire *in)
{
    uint64_t length = wire_varint(in);
    FUZZ_CHECK(length <= (uint64_t)(in->end - in->at));
    wire bytes = {in->at, in->at + length};
    in->at += length;
    return bytes;
}

/* The next field: its number, and its value as a number or as bytes. */
typedef struct wire_field {
    uint64_t number, value;
    wire bytes;
    bool is_bytes;
} wire_field;

static inline bool wire_next(wire *in, wire_field *field)
{
    if (in->at == in->end) return false;
    uint64_t tag = wire_varint(in);
    *field = (wire_field){.number = tag >> 3, .is_bytes = (tag & 7) == 2};
    FUZZ_CHECK((tag & 7) == 0 || field->is_bytes);
    if (field->is_bytes) {
        field->bytes = wire_bytes(in);
    } else {
        field->value = wire_varint(in);
    }
    return true;
}

typedef struct decoded_text {
    const char *bytes;
    size_t length;
} decoded_text;

typedef struct decoded_label {
    decoded_text key, text;
    int64_t number;
} decoded_label;

typedef struct decoded_frame {
    decoded_text name, path;
    uint64_t first_line, line;
} decoded_frame;

#define DECODED_DEPTH_MAX  600
#define DECODED_LABELS_MAX 80

typedef struct decoded_sample {
    decoded_frame frames[DECODED_DEPTH_MAX];
    decoded_label labels[DECODED_LABELS_MAX];
    size_t depth, label_count, value_count;
    uint64_t values[4];
} decoded_sample;

typedef struct decoded_list {
    wire *items;
    size_t count, room;
} decoded_list;

typedef struct decoded_profile {
    decoded_list types, samples, mappings, locations, functions, strings;
    uint64_t time_nanos, duration_nanos, period, default_type, doc_url;
    wire period_type;
    size_t comments;
} decoded_profile;

static inline void decoded_add(decoded_list *list, wire item)
{
    if (list->count == list->room) {
        list->room = list->room ? list->room * 2 : 16;
        list->items = realloc(list->items, list->room * sizeof *list->items);
        if (!list->items) abort();
    }
    list->items[list->count++] = item;
}

static inline decoded_text decoded_string(const decoded_profile *profile, uint64_t id)
{
    FUZZ_CHECK(id < profile->strings.count);
    wire bytes = profile->strings.items[id];
    return (decoded_text){(const char *)bytes.at, (size_t)(bytes.end - bytes.at)};
}

static inline bool decoded_is(decoded_text text, const char *bytes, size_t length)
{
    return text.length == length && memcmp(text.bytes, bytes, length) == 0;
}

static inline decoded_profile decoded_read(const uint8_t *bytes, size_t length)
{
    decoded_profile profile = {0};
    wire in = {bytes, bytes + length};
    wire_field field;
    while (wire_next(&in, &field)) {
        switch (field.number) {
        case 1: decoded_add(&profile.types, field.bytes); break;
        case 2: decoded_add(&profile.samples, field.bytes); break;
        case 3: decoded_add(&profile.mappings, field.bytes); break;
        case 4: decoded_add(&profile.locations, field.bytes); break;
        case 5: decoded_add(&profile.functions, field.bytes); break;
        case 6: decoded_add(&profile.strings, field.bytes); break;
        case 9: profile.time_nanos = field.value; break;
        case 10: profile.duration_nanos = field.value; break;
        case 11: profile.period_type = field.bytes; break;
        case 12: profile.period = field.value; break;
        case 13: profile.comments++; break;
        case 14: profile.default_type = field.value; break;
        case 15: profile.doc_url = field.value; break;
        default: FUZZ_CHECK(!"a field that is none of a profile's");
        }
    }
    return profile;
}

static inline void decoded_free(decoded_profile *profile)
{
    decoded_list *lists[] = {&profile->types,     &profile->samples,   &profile->mappings,
                             &profile->locations, &profile->functions, &profile->strings};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]->items);
}

/* Fields of a message whose fields are all numbers, by field number. */
static inline void decoded_numbers(wire in, uint64_t numbers[16])
{
    wire_field field;
    memset(numbers, 0, 16 * sizeof *numbers);
    while (wire_next(&in, &field)) {
        FUZZ_CHECK(!field.is_bytes && field.number < 16);
        numbers[field.number] = field.value;
    }
}

/* Ids run 1..N in order, so that an id is a place. */
static inline decoded_frame decoded_frame_at(const decoded_profile *profile, uint64_t id)
{
    uint64_t numbers[16], line[16];
    wire_field field;
    FUZZ_CHECK(id >= 1 && id <= profile->locations.count);
    wire location = profile->locations.items[id - 1];
    uint64_t location_id = 0, mapping = 0;
    bool has_line = false;
    while (wire_next(&location, &field)) {
        if (field.number == 1) location_id = field.value;
        if (field.number == 2) mapping = field.value;
        FUZZ_CHECK(field.number != 3);
        if (field.number != 4) continue;
        FUZZ_CHECK(!has_line);
        has_line = true;
        decoded_numbers(field.bytes, line);
    }
    FUZZ_CHECK(location_id == id && mapping == 1 && has_line);
    FUZZ_CHECK(line[1] >= 1 && line[1] <= profile->functions.count);
    decoded_numbers(profile->functions.items[line[1] - 1], numbers);
    FUZZ_CHECK(numbers[1] == line[1] && numbers[3] == 0); /* system_name stays empty */
    return (decoded_frame){decoded_string(profile, numbers[2]), decoded_string(profile, numbers[4]), numbers[5],
                           line[2]};
}

static inline decoded_label decoded_label_of(const decoded_profile *profile, wire in)
{
    uint64_t numbers[16];
    decoded_numbers(in, numbers);
    FUZZ_CHECK(numbers[1] && !(numbers[2] && numbers[3]) && (numbers[2] || numbers[3]));
    return (decoded_label){decoded_string(profile, numbers[1]), decoded_string(profile, numbers[2]),
                           (int64_t)numbers[3]};
}

static inline void decoded_sample_at(const decoded_profile *profile, size_t index, decoded_sample *sample)
{
    wire in = profile->samples.items[index];
    wire_field field;
    sample->depth = sample->label_count = sample->value_count = 0;
    while (wire_next(&in, &field)) {
        FUZZ_CHECK(field.is_bytes && field.number >= 1 && field.number <= 3);
        while (field.number == 1 && field.bytes.at < field.bytes.end) {
            FUZZ_CHECK(sample->depth < DECODED_DEPTH_MAX);
            sample->frames[sample->depth++] = decoded_frame_at(profile, wire_varint(&field.bytes));
        }
        while (field.number == 2 && field.bytes.at < field.bytes.end) {
            FUZZ_CHECK(sample->value_count < 4);
            sample->values[sample->value_count++] = wire_varint(&field.bytes);
        }
        if (field.number == 3) {
            FUZZ_CHECK(sample->label_count < DECODED_LABELS_MAX);
            sample->labels[sample->label_count++] = decoded_label_of(profile, field.bytes);
        }
    }
}

#endif
