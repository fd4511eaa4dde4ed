/* fuzz_pprof_encoder.c - a profile of any samples, encoded in one or two parts, decoded again: what a reader finds is
 * what a plain list of the samples adds up to, row by row, frame by frame, label by label.
 */
#include "decoded_pprof.h"
#include "encoding/pprof_encoder.h"
#include "fuzz_input.h"
#include "label_model.h"

#define FRAMES_MAX 12
#define SETS_MAX   12
#define ROWS_MAX   200
#define DEPTH_MAX  20
#define TIME_NS    UINT64_C(1700000000000000000)
#define OFFSET_NS  UINT64_C(1000000)

/* As the profile should have summed them, in order of first sight. */
typedef struct plain_row {
    rpp_location stack[DEPTH_MAX];
    uint32_t depth, set, thread_seq;
    uint8_t state;
    uint64_t cpu_ns, wall_ns;
} plain_row;

typedef struct plain_label {
    model_text key, value;
} plain_label;

static struct {
    rpp_settings *settings;
    rpp_frame_names *names;
    rpp_profile *profile;
    rpp_encode_options options;
    uint32_t frames[FRAMES_MAX];
    rpp_label_set *sets[SETS_MAX]; /* as the input has them, some of them equal */
    plain_row rows[ROWS_MAX];
    size_t row_count;
    uint32_t seen_sets[SETS_MAX]; /* in order of first sight */
    size_t seen_count;
    plain_label state_labels[RPP_STATE_COUNT]; /* key without length: none */
    plain_label labels[SETS_MAX][64];
    size_t label_counts[SETS_MAX];
} world;

/* --- a profile, and the list beside it
 * ------------------------------------------------------------------------------ */

static void make_frames(fuzz_input *input)
{
    world.names = rpp_frame_names_new(1000);
    FUZZ_CHECK(world.names && rpp_frame_names_ensure(world.names, FRAMES_MAX) == RPP_OK);
    for (int i = 0; i < FRAMES_MAX; i++) {
        uint32_t id = world.frames[i] = rpp_frame_names_reserve(world.names);
        unsigned how = fuzz_byte(input);
        if (how % 8 == 0) continue; /* not named yet */
        size_t name_length, path_length;
        char *name = fuzz_bytes(input, 60, &name_length), *path = fuzz_bytes(input, 60, &path_length);
        FUZZ_CHECK(rpp_frame_names_set(world.names, id, name, name_length, path, path_length,
                                       (uint32_t)fuzz_number(input), how % 8 == 1) == RPP_OK);
        free(name);
        free(path);
    }
}

static void make_sets(fuzz_input *input)
{
    for (int i = 1; i < SETS_MAX; i++) {
        rpp_label changes[40];
        char *texts[80];
        size_t count = fuzz_byte(input) % 40, length;
        for (size_t j = 0; j < count; j++) {
            texts[2 * j] = fuzz_bytes(input, RPP_LABEL_KEY_MAX, &length);
            changes[j] = (rpp_label){.key = texts[2 * j], .key_length = (uint32_t)length};
            changes[j].value = texts[2 * j + 1] = fuzz_bytes(input, RPP_LABEL_VALUE_MAX, &length);
            changes[j].value_length = (uint32_t)length;
        }
        FUZZ_CHECK(rpp_label_set_merge(NULL, changes, count, &world.sets[i]) == RPP_OK);
        for (size_t j = 0; j < 2 * count; j++) free(texts[j]);
    }
}

/* The place of an equal set among those seen; the empty one is 0. */
static uint32_t see_set(uint32_t set)
{
    for (uint32_t i = 0; i < world.seen_count; i++) {
        if (rpp_label_set_equal(world.sets[world.seen_sets[i]], world.sets[set])) return i;
    }
    world.seen_sets[world.seen_count] = set;
    return (uint32_t)world.seen_count++;
}

static void add_plain(const rpp_sample *sample, const rpp_location *stack, uint32_t set)
{
    plain_row row = {
        .depth = sample->depth, .set = see_set(set), .thread_seq = sample->thread_seq, .state = sample->state};
    memcpy(row.stack, stack, sample->depth * sizeof *stack);
    size_t i = 0;
    for (; i < world.row_count; i++) {
        const plain_row *known = &world.rows[i];
        if (known->depth == row.depth && known->set == row.set && known->thread_seq == row.thread_seq &&
            known->state == row.state && !memcmp(known->stack, row.stack, row.depth * sizeof *stack))
            break;
    }
    if (i == world.row_count) world.rows[world.row_count++] = row;
    world.rows[i].cpu_ns += sample->cpu_ns;
    world.rows[i].wall_ns += sample->wall_ns;
}

static void add_sample(fuzz_input *input)
{
    rpp_location stack[DEPTH_MAX];
    rpp_sample sample = {.depth = fuzz_byte(input) % (DEPTH_MAX + 1), .state = fuzz_byte(input) % RPP_STATE_COUNT};
    uint32_t set = fuzz_byte(input) % SETS_MAX;
    for (uint32_t i = 0; i < sample.depth; i++) {
        uint8_t frame = fuzz_byte(input);
        stack[i].frame = frame < 200 ? world.frames[frame % FRAMES_MAX] : frame % RPP_FRAME_FIRST;
        stack[i].line = (uint32_t)fuzz_number(input);
    }
    sample.thread_seq = fuzz_byte(input) % 8;
    sample.cpu_ns = fuzz_number(input);
    sample.wall_ns = fuzz_number(input);
    sample.labels = world.sets[set];
    FUZZ_CHECK(rpp_profile_add(world.profile, &sample, stack) == RPP_OK);
    add_plain(&sample, stack, set);
}

/* --- what the labels should come to
 * --------------------------------------------------------------------------------- */

static bool is_name(const model_text *name, const char *text)
{
    return name->length == strlen(text) && memcmp(name->bytes, text, name->length) == 0;
}

static bool is_taken(size_t set, const model_text *key)
{
    bool taken = is_name(key, "thread_seq");
    for (int i = 0; i < RPP_STATE_COUNT; i++) taken |= model_same(&world.state_labels[i].key, key);
    for (size_t i = 0; i < world.label_counts[set]; i++) taken |= model_same(&world.labels[set][i].key, key);
    return taken;
}

static void expect_labels(void)
{
    size_t most = world.options.legal_label_names ? 26 : SIZE_MAX; /* 30 names a series, ours among them */
    label_model model;
    label_model_init(&model, world.settings, world.options.legal_label_names);
    for (int i = 0; i < RPP_STATE_COUNT; i++) {
        const char *key = rpp_state_names[i].key, *value = rpp_state_names[i].value;
        plain_label *label = &world.state_labels[i];
        bool sent =
            key && label_model_apply(&model, (rpp_label){key, value, (uint32_t)strlen(key), (uint32_t)strlen(value)},
                                     &label->key, &label->value);
        if (!sent) label->key.length = 0;
    }
    for (size_t set = 0; set < world.seen_count; set++) {
        const rpp_label_set *labels = world.sets[world.seen_sets[set]];
        world.label_counts[set] = 0;
        for (size_t i = 0; i < rpp_label_set_count(labels); i++) {
            plain_label label;
            if (!label_model_apply(&model, rpp_label_set_at(labels, i), &label.key, &label.value)) continue;
            if (world.label_counts[set] < most && !is_taken(set, &label.key)) {
                world.labels[set][world.label_counts[set]++] = label;
            }
        }
    }
    label_model_destroy(&model);
}

/* --- what was written
 * ----------------------------------------------------------------------------------------------- */

static bool shows(const plain_row *row)
{
    return (world.options.mode & RPP_MODE_CPU && row->cpu_ns) || (world.options.mode & RPP_MODE_WALL && row->wall_ns);
}

static void check_frame(const decoded_frame *found, uint32_t frame, uint32_t line)
{
    const rpp_frame_name *named = rpp_frame_names_get(world.names, frame);
    if (!named || !named->name_length) named = rpp_frame_names_get(world.names, RPP_FRAME_UNKNOWN);
    FUZZ_CHECK(decoded_is(found->name, named->name, named->name_length));
    FUZZ_CHECK(decoded_is(found->path, named->path, named->path_length));
    FUZZ_CHECK(found->first_line == named->first_line && found->line == line);
}

static void check_stack(const decoded_sample *sample, const plain_row *row)
{
    uint32_t frame = world.options.vm_state_frames ? rpp_state_frame(row->state) : (uint32_t)RPP_FRAME_NONE;
    size_t at = 0, leaf = frame != RPP_FRAME_NONE;
    FUZZ_CHECK(sample->depth >= leaf + 1);
    if (leaf) check_frame(&sample->frames[at++], frame, 0);
    for (uint32_t i = 0; i < row->depth; i++) {
        const rpp_frame_name *named = rpp_frame_names_get(world.names, row->stack[i].frame);
        if (named && named->hidden) continue;
        FUZZ_CHECK(at < sample->depth);
        check_frame(&sample->frames[at++], row->stack[i].frame, row->stack[i].line);
    }
    if (at == leaf) check_frame(&sample->frames[at++], RPP_FRAME_UNKNOWN, 0);
    FUZZ_CHECK(at == sample->depth);
}

static void check_label(const decoded_label *found, const plain_label *label)
{
    FUZZ_CHECK(decoded_is(found->key, label->key.bytes, label->key.length));
    FUZZ_CHECK(decoded_is(found->text, label->value.bytes, label->value.length));
}

static void check_labels(const decoded_sample *sample, const plain_row *row)
{
    size_t at = 0, needed = (row->thread_seq != 0) + (world.state_labels[row->state].key.length != 0);
    FUZZ_CHECK(sample->label_count == needed + world.label_counts[row->set]);
    if (row->thread_seq) {
        FUZZ_CHECK(decoded_is(sample->labels[at].key, "thread_seq", 10) &&
                   sample->labels[at].number == row->thread_seq);
        at++;
    }
    if (world.state_labels[row->state].key.length) check_label(&sample->labels[at++], &world.state_labels[row->state]);
    for (size_t i = 0; i < world.label_counts[row->set]; i++)
        check_label(&sample->labels[at++], &world.labels[row->set][i]);
}

static void check_values(const decoded_sample *sample, const plain_row *row)
{
    size_t at = 0;
    if (world.options.mode & RPP_MODE_CPU) FUZZ_CHECK(sample->values[at++] == row->cpu_ns);
    if (world.options.mode & RPP_MODE_WALL) FUZZ_CHECK(sample->values[at++] == row->wall_ns);
    FUZZ_CHECK(sample->value_count == at);
}

static void check_header(const decoded_profile *profile, uint64_t offset_ns)
{
    uint64_t type[16], period_type[16], mapping[16];
    bool cpu = world.options.mode & RPP_MODE_CPU, both = world.options.mode == (RPP_MODE_CPU | RPP_MODE_WALL);
    FUZZ_CHECK(profile->types.count == 1u + both && profile->mappings.count == 1);
    for (size_t i = 0; i < profile->types.count; i++) {
        decoded_numbers(profile->types.items[i], type);
        bool is_cpu = cpu && i == 0;
        FUZZ_CHECK(decoded_is(decoded_string(profile, type[1]), is_cpu ? "cpu" : "wall", is_cpu ? 3 : 4));
        FUZZ_CHECK(decoded_is(decoded_string(profile, type[2]), "nanoseconds", 11));
    }
    decoded_numbers(profile->types.items[0], type);
    decoded_numbers(profile->period_type, period_type);
    FUZZ_CHECK(type[2] == period_type[2] && profile->default_type == type[1]);
    FUZZ_CHECK(decoded_is(decoded_string(profile, period_type[1]), "cpu", 3));
    FUZZ_CHECK(profile->time_nanos == TIME_NS + offset_ns && profile->duration_nanos == 10 && profile->period == 7);
    decoded_numbers(profile->mappings.items[0], mapping);
    FUZZ_CHECK(mapping[1] == 1 && mapping[5] && mapping[7] && mapping[8] && mapping[9]);
}

/* Each once, valid UTF-8, the empty one first. */
static void check_strings(const decoded_profile *profile)
{
    FUZZ_CHECK(profile->strings.count && !decoded_string(profile, 0).length);
    for (size_t i = 0; i < profile->strings.count; i++) {
        decoded_text text = decoded_string(profile, i);
        FUZZ_CHECK(fuzz_is_utf8(text.bytes, text.length));
        for (size_t j = 0; j < i; j++) {
            decoded_text other = decoded_string(profile, j);
            FUZZ_CHECK(!decoded_is(other, text.bytes, text.length));
        }
    }
}

static void check_part(size_t first, size_t count, uint64_t offset_ns)
{
    static decoded_sample sample;
    rpp_byte_buffer bytes;
    rpp_encode_totals totals = {0};
    rpp_byte_buffer_init(&bytes, 1 << 24);
    FUZZ_CHECK(rpp_pprof_encode(world.profile, first, count, world.names, &world.options, offset_ns, &bytes.sink,
                                &totals) == RPP_OK);
    decoded_profile profile = decoded_read(bytes.bytes, bytes.length);
    check_header(&profile, offset_ns);
    check_strings(&profile);

    size_t at = 0;
    uint64_t cpu_ns = 0, wall_ns = 0;
    for (size_t i = first; i < first + count; i++) {
        const plain_row *row = &world.rows[i];
        if (!shows(row)) continue;
        FUZZ_CHECK(at < profile.samples.count);
        decoded_sample_at(&profile, at++, &sample);
        check_stack(&sample, row);
        check_values(&sample, row);
        check_labels(&sample, row);
        if (world.options.mode & RPP_MODE_CPU) cpu_ns += row->cpu_ns;
        if (world.options.mode & RPP_MODE_WALL) wall_ns += row->wall_ns;
    }
    FUZZ_CHECK(at == profile.samples.count && totals.samples == at);
    FUZZ_CHECK(totals.cpu_ns == cpu_ns && totals.wall_ns == wall_ns);
    decoded_free(&profile);
    rpp_byte_buffer_destroy(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = {data, size};
    memset(&world, 0, sizeof world);
    world.settings = rpp_settings_new();
    world.profile = rpp_profile_new(&rpp_profile_default_limits);
    FUZZ_CHECK(world.settings && world.profile);
    unsigned flags = fuzz_byte(&input);
    size_t split = fuzz_byte(&input);
    world.options = (rpp_encode_options){.mode = 1 + (flags & 3) % 3,
                                         .period_ns = 7,
                                         .vm_state_frames = flags & 4,
                                         .legal_label_names = flags & 8,
                                         .settings = world.settings};
    fuzz_label_settings(&input, world.settings);
    make_frames(&input);
    make_sets(&input);
    see_set(0); /* the empty set has a place from the start */
    for (int i = 0; i < ROWS_MAX && input.left; i++) add_sample(&input);
    rpp_profile_close(world.profile, TIME_NS, 10);
    FUZZ_CHECK(rpp_profile_row_count(world.profile) == world.row_count);

    expect_labels();
    check_part(0, world.row_count, 0);
    if (split < world.row_count) {
        check_part(0, split, 0);
        check_part(split, world.row_count - split, OFFSET_NS);
    }
    for (int i = 0; i < SETS_MAX; i++) rpp_label_set_release(world.sets[i]);
    rpp_profile_free(world.profile);
    rpp_frame_names_free(world.names);
    rpp_settings_free(world.settings);
    return 0;
}
