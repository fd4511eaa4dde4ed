/* pprof_index.c - follows rows to stacks to locations to functions and numbers each on first use; then the texts. */
#include "encoding/pprof_index.h"

#include <string.h>

#include "base/alloc.h"

/* State that only the numbering needs. */
typedef struct numbering_pass {
    rpp_pprof_index *index;
    const rpp_stack_table *stacks;
    const rpp_frame_names *names;
    bool *stack_seen, *set_used;
    uint32_t *function_ids; /* frame -> id, 0 or RPP_PPROF_HIDDEN */
    uint32_t frames_end;    /* one past the highest id in function_ids; frames above have no name */
} numbering_pass;

size_t rpp_pprof_values_of(const rpp_pprof_index *index, const rpp_encode_options *options, size_t row,
                           int64_t values[RPP_ENCODE_MAX_VALUES])
{
    if (options->values) {
        size_t count = options->values->count;
        memcpy(values, options->values->numbers + row * count, count * sizeof *values);
        return count;
    }
    for (size_t i = 0; i < index->value_count; i++) {
        values[i] = (int64_t)rpp_column_at(&index->columns[i], &index->rows[row]);
    }
    return index->value_count;
}

uint32_t rpp_pprof_set_of(const rpp_encode_options *options, const rpp_row *rows, size_t row)
{
    return options->labels ? options->labels->sets[row] : rows[row].labels;
}

bool rpp_pprof_shows(const rpp_encode_options *options, const rpp_row *rows, size_t row)
{
    const rpp_encode_values *own = options->values;
    for (size_t i = 0; own && i < own->count; i++) {
        if (own->numbers[row * own->count + i]) return true;
    }
    for (unsigned value = 0; value < RPP_VALUE_COUNT && !own; value++) {
        if ((options->mode >> value & 1) && rows[row].values[value]) return true;
    }
    return false;
}

/* --- locations and functions
 * ---------------------------------------------------------------------------------------- */

static rpp_status number_function(numbering_pass *numbering, uint32_t frame, uint32_t *id)
{
    rpp_pprof_index *index = numbering->index;
    if (frame >= numbering->frames_end) frame = RPP_FRAME_UNKNOWN;
    *id = numbering->function_ids[frame];
    if (*id) return RPP_OK;

    const rpp_frame_name *named = rpp_frame_names_get(numbering->names, frame);
    if (named && named->hidden) {
        *id = numbering->function_ids[frame] = RPP_PPROF_HIDDEN;
        return RPP_OK;
    }
    if (!named || !named->name_length) named = rpp_frame_names_get(numbering->names, RPP_FRAME_UNKNOWN);
    rpp_status status = rpp_grow((void **)&index->functions, &index->function_capacity, index->function_count + 1,
                                 sizeof *index->functions);
    if (status != RPP_OK) return status;
    index->functions[index->function_count++] = (rpp_pprof_function){.frame = named};
    *id = numbering->function_ids[frame] = (uint32_t)index->function_count;
    return RPP_OK;
}

static rpp_status add_location(numbering_pass *numbering, rpp_location location, uint32_t *id)
{
    rpp_pprof_index *index = numbering->index;
    rpp_status status = rpp_grow((void **)&index->locations, &index->location_capacity, index->location_count + 1,
                                 sizeof *index->locations);
    uint32_t function;
    if (status == RPP_OK) status = number_function(numbering, location.frame, &function);
    if (status != RPP_OK) return status;
    if (function == RPP_PPROF_HIDDEN) {
        *id = RPP_PPROF_HIDDEN;
        return RPP_OK;
    }
    index->locations[index->location_count++] = (rpp_pprof_location){function, location.line};
    *id = (uint32_t)index->location_count;
    return RPP_OK;
}

static rpp_status number_synthetic(numbering_pass *numbering, uint32_t frame)
{
    uint32_t *id = &numbering->index->synthetic_ids[frame];
    return *id ? RPP_OK : add_location(numbering, (rpp_location){frame, 0}, id);
}

/* A synthetic frame is one location, whether the stack contains it or the encoder adds it. */
static rpp_status number_location(numbering_pass *numbering, uint32_t known_as)
{
    uint32_t *id = &numbering->index->location_ids[known_as];
    rpp_location location = rpp_stack_table_location(numbering->stacks, known_as);
    if (location.frame >= RPP_FRAME_FIRST || location.line) return add_location(numbering, location, id);
    rpp_status status = number_synthetic(numbering, location.frame);
    *id = numbering->index->synthetic_ids[location.frame];
    return status;
}

static rpp_status number_stack(numbering_pass *numbering, uint32_t stack)
{
    rpp_pprof_index *index = numbering->index;
    if (numbering->stack_seen[stack]) return RPP_OK;
    numbering->stack_seen[stack] = true;

    uint32_t depth;
    const uint32_t *locations = rpp_stack_table_get(numbering->stacks, stack, &depth);
    if (depth > index->deepest) index->deepest = depth;
    bool visible = false;
    for (uint32_t i = 0; i < depth; i++) {
        if (!index->location_ids[locations[i]]) {
            rpp_status status = number_location(numbering, locations[i]);
            if (status != RPP_OK) return status;
        }
        visible |= index->location_ids[locations[i]] != RPP_PPROF_HIDDEN;
    }
    return visible ? RPP_OK : number_synthetic(numbering, RPP_FRAME_UNKNOWN);
}

static rpp_status number_rows(numbering_pass *numbering, const rpp_encode_options *options)
{
    const rpp_pprof_index *index = numbering->index;
    for (size_t i = index->first; i < index->first + index->count; i++) {
        const rpp_row *row = &index->rows[i];
        if (!rpp_pprof_shows(options, index->rows, i)) continue;
        numbering->set_used[rpp_pprof_set_of(options, index->rows, i)] = true;
        uint32_t leaf = options->vm_state_frames ? rpp_state_frame(row->state) : (uint32_t)RPP_FRAME_NONE;
        rpp_status status = leaf ? number_synthetic(numbering, leaf) : RPP_OK;
        if (status == RPP_OK) status = number_stack(numbering, row->stack);
        if (status != RPP_OK) return status;
    }
    return RPP_OK;
}

/* --- texts
 * ---------------------------------------------------------------------------------------------------------- */

static rpp_status intern(rpp_pprof_index *index, const char *text, uint32_t *id)
{
    return text ? rpp_string_table_intern(index->strings, text, strlen(text), id) : RPP_OK;
}

static bool is_ruby_file(const rpp_frame_name *frame)
{
    return frame->path_length > 3 && memcmp(frame->path + frame->path_length - 3, ".rb", 3) == 0;
}

/* Pyroscope guesses the language from the texts, in their order. So the path of a Ruby file comes first. */
static rpp_status intern_a_ruby_file(rpp_pprof_index *index)
{
    for (size_t i = 0; i < index->function_count; i++) {
        const rpp_frame_name *frame = index->functions[i].frame;
        uint32_t id;
        if (is_ruby_file(frame)) return rpp_string_table_intern(index->strings, frame->path, frame->path_length, &id);
    }
    return RPP_OK;
}

static rpp_status intern_functions(rpp_pprof_index *index)
{
    rpp_status status = intern_a_ruby_file(index);
    for (size_t i = 0; i < index->function_count && status == RPP_OK; i++) {
        rpp_pprof_function *function = &index->functions[i];
        const rpp_frame_name *frame = function->frame;
        status = rpp_string_table_intern(index->strings, frame->name, frame->name_length, &function->name);
        if (status != RPP_OK) break;
        status = rpp_string_table_intern(index->strings, frame->path, frame->path_length, &function->path);
    }
    return status;
}

static rpp_status intern_value(rpp_pprof_index *index, const char *type, const char *unit)
{
    size_t at = index->value_count++;
    rpp_status status = intern(index, type, &index->value_types[at]);
    return status == RPP_OK ? intern(index, unit, &index->value_units[at]) : status;
}

static rpp_status intern_values(rpp_pprof_index *index, const rpp_encode_options *options)
{
    const rpp_encode_values *own = options->values;
    rpp_status status = RPP_OK;
    for (size_t i = 0; own && i < own->count && status == RPP_OK; i++) {
        status = intern_value(index, own->types[i], own->units[i]);
    }
    if (own) return status;
    size_t count = rpp_columns_of(index->profile, options->mode, index->columns);
    for (size_t i = 0; i < count && status == RPP_OK; i++) {
        status = intern_value(index, index->columns[i].type, index->columns[i].unit);
    }
    return status;
}

static rpp_status intern_header(rpp_pprof_index *index, const rpp_encode_options *options)
{
    const rpp_value_group_type *group = &rpp_value_groups[options->values ? 0 : rpp_mode_group(options->mode)];
    rpp_status status = intern(index, group->period_unit, &index->period_unit);
    if (status == RPP_OK) status = intern(index, group->period_type, &index->period_type);
    if (status == RPP_OK) status = intern_values(index, options);
    if (status == RPP_OK) status = intern(index, "ruby", &index->mapping_file);
    if (status == RPP_OK) status = intern(index, options->doc_url, &index->doc_url);
    if (status != RPP_OK || !options->comments) return status;

    size_t count = 0;
    while (options->comments[count]) count++;
    index->comments = rpp_calloc(count + 1, sizeof *index->comments);
    if (!index->comments) return RPP_NO_MEMORY;
    while (index->comment_count < count && status == RPP_OK) {
        status = intern(index, options->comments[index->comment_count], &index->comments[index->comment_count]);
        index->comment_count++;
    }
    return status;
}

/* --- all of it
 * ------------------------------------------------------------------------------------------------------ */

static uint32_t frames_end(const rpp_stack_table *stacks, const rpp_frame_names *names)
{
    uint32_t end = RPP_FRAME_FIRST, known = rpp_frame_names_end(names);
    for (uint32_t i = 0; i < rpp_stack_table_location_count(stacks); i++) {
        uint32_t frame = rpp_stack_table_location(stacks, i).frame;
        if (frame >= end && frame < known) end = frame + 1;
    }
    return end;
}

static size_t set_count(const rpp_profile *profile, const rpp_encode_options *options)
{
    return options->labels ? options->labels->set_count : rpp_label_sets_count(rpp_profile_label_sets(profile));
}

static rpp_status init_labels(rpp_pprof_index *index, const bool *used, const rpp_encode_options *options)
{
    if (options->no_labels) return RPP_OK;
    if (options->labels) return rpp_pprof_labels_init_own(&index->labels, options->labels, used, index->strings);
    return rpp_pprof_labels_init(&index->labels, rpp_profile_label_sets(index->profile), used, options->settings,
                                 options->legal_label_names, options->policy, index->strings);
}

rpp_status rpp_pprof_index_init(rpp_pprof_index *index, const rpp_profile *profile, size_t first, size_t count,
                                const rpp_frame_names *names, const rpp_encode_options *options)
{
    const rpp_stack_table *stacks = rpp_profile_stacks(profile);
    const rpp_row *rows = options->rows ? options->rows : rpp_profile_rows(profile);
    *index = (rpp_pprof_index){.profile = profile, .rows = rows, .first = first, .count = count};
    numbering_pass numbering = {
        .index = index, .stacks = stacks, .names = names, .frames_end = frames_end(stacks, names)};
    rpp_status status = RPP_NO_MEMORY;

    index->strings = rpp_string_table_new();
    index->location_ids = rpp_calloc((size_t)rpp_stack_table_location_count(stacks) + 1, sizeof *index->location_ids);
    numbering.stack_seen = rpp_calloc((size_t)rpp_stack_table_count(stacks) + 1, sizeof *numbering.stack_seen);
    numbering.set_used = rpp_calloc(set_count(profile, options) + 1, sizeof *numbering.set_used);
    numbering.function_ids = rpp_calloc(numbering.frames_end, sizeof *numbering.function_ids);
    if (!index->strings || !index->location_ids || !numbering.stack_seen || !numbering.set_used ||
        !numbering.function_ids) {
        goto done;
    }

    status = number_rows(&numbering, options);
    if (status == RPP_OK) status = intern_functions(index);
    if (status == RPP_OK) status = intern_header(index, options);
    if (status == RPP_OK) status = init_labels(index, numbering.set_used, options);

done:
    rpp_free(numbering.stack_seen);
    rpp_free(numbering.set_used);
    rpp_free(numbering.function_ids);
    return status;
}

void rpp_pprof_index_destroy(rpp_pprof_index *index)
{
    rpp_string_table_free(index->strings);
    rpp_pprof_labels_destroy(&index->labels);
    rpp_free(index->comments);
    rpp_free(index->location_ids);
    rpp_free(index->locations);
    rpp_free(index->functions);
    *index = (rpp_pprof_index){0};
}
