/* test_pprof_encoder.c - the encoder's bytes, decoded by protoc and read by `go tool pprof`, against the model. */
#include "encoding/pprof_encoder.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "pprof_reader.h"
#include "test.h"
#include "window.h"

#define BOTH (RPP_MODE_CPU | RPP_MODE_WALL)

static const char *const comments[] = {"rperf-push test", "mode cpu+wall", NULL};

static rpp_encode_options options_for(const test_window *window, unsigned mode)
{
    return (rpp_encode_options){.mode = mode,
                                .period_ns = 10101010,
                                .comments = comments,
                                .doc_url = "https://example.com/doc",
                                .settings = window->settings,
                                .legal_label_names = true};
}

static pprof_model encode_rows(const test_window *window, const rpp_encode_options *options, size_t first, size_t count,
                               rpp_encode_totals *totals)
{
    rpp_byte_buffer buffer;
    rpp_byte_buffer_init(&buffer, 64 << 20);
    CHECK_OK(rpp_pprof_encode(window->profile, first, count, window->names, options, 0, &buffer.sink, totals));
    pprof_model read = pprof_read(buffer.bytes, buffer.length);
    rpp_byte_buffer_destroy(&buffer);
    return read;
}

static pprof_model encode_all(const test_window *window, const rpp_encode_options *options)
{
    return encode_rows(window, options, 0, rpp_profile_row_count(window->profile), NULL);
}

static pprof_model encode_default(const test_window *window)
{
    rpp_encode_options options = options_for(window, BOTH);
    return encode_all(window, &options);
}

static field *sample_at(const pprof_model *pprof, size_t n)
{
    field *sample = nth_field(pprof->fields, "sample", n);
    CHECK(sample);
    return sample;
}

#define STACK(...) (const rpp_location[]){__VA_ARGS__}, sizeof((rpp_location[]){__VA_ARGS__}) / sizeof(rpp_location)

/* Three methods, the first row running, the second waiting with labels. */
static test_window small_window(void)
{
    test_window window = window_open();
    uint32_t root = window_frame(&window, "<main>", "/app/run.rb", false);
    uint32_t total = window_frame(&window, "Shop::Cart#total", "/app/cart.rb", false);
    uint32_t times = window_frame(&window, "Integer#times", "", false);
    rpp_sample running = {.cpu_ns = 111, .wall_ns = 222, .thread_seq = 1};
    window_add(&window, running, STACK({times, 0}, {total, 12}, {root, 3}), NULL);
    rpp_sample waiting = {.wall_ns = 3000, .thread_seq = 2, .state = RPP_STATE_WAITING};
    window_add(&window, waiting, STACK({total, 14}, {root, 3}), LABELS("endpoint", "GET /cart"));
    return window;
}

/* --- what the header says
 * ------------------------------------------------------------------------------------------- */

TEST(header_says_types_time_and_origin)
{
    test_window window = small_window();
    pprof_model read = encode_default(&window);
    CHECK_INT(count_fields(read.fields, "sample_type"), 2);
    field *cpu = nth_field(read.fields, "sample_type", 0), *wall = nth_field(read.fields, "sample_type", 1);
    CHECK_STR(text_in(&read, cpu->fields, "type"), "cpu");
    CHECK_STR(text_in(&read, cpu->fields, "unit"), "nanoseconds");
    CHECK_STR(text_in(&read, wall->fields, "type"), "wall");
    CHECK_STR(text_in(&read, wall->fields, "unit"), "nanoseconds");
    CHECK_STR(text_in(&read, read.fields, "default_sample_type"), "cpu");
    field *period_type = next_named(read.fields, "period_type");
    CHECK(period_type);
    CHECK_STR(text_in(&read, period_type->fields, "type"), "cpu");
    CHECK_STR(text_in(&read, period_type->fields, "unit"), "nanoseconds");
    CHECK_INT(number_in(read.fields, "period"), 10101010);
    CHECK_INT(number_in(read.fields, "time_nanos"), WINDOW_TIME);
    CHECK_INT(number_in(read.fields, "duration_nanos"), WINDOW_DURATION);
    CHECK_STR(text_in(&read, read.fields, "doc_url"), "https://example.com/doc");
    CHECK_INT(count_fields(read.fields, "comment"), 2);
    for (size_t i = 0; i < 2; i++)
        CHECK_STR(string_at(&read, nth_field(read.fields, "comment", i)->number), comments[i]);
    CHECK(!next_named(read.fields, "drop_frames") && !next_named(read.fields, "keep_frames"));
    pprof_free(&read);
    window_close(&window);
}

TEST(one_mode_has_one_type)
{
    test_window window = small_window();
    const struct {
        unsigned mode;
        const char *type;
        size_t samples;
        int64_t sum;
    } cases[] = {{RPP_MODE_CPU, "cpu", 1, 111}, {RPP_MODE_WALL, "wall", 2, 3222}};
    for (size_t i = 0; i < 2; i++) {
        rpp_encode_options options = options_for(&window, cases[i].mode);
        pprof_model read = encode_all(&window, &options);
        CHECK_INT(count_fields(read.fields, "sample_type"), 1);
        CHECK_STR(text_in(&read, next_named(read.fields, "sample_type")->fields, "type"), cases[i].type);
        CHECK_STR(text_in(&read, next_named(read.fields, "period_type")->fields, "type"), "cpu"); /* part of its id */
        CHECK_STR(text_in(&read, read.fields, "default_sample_type"), cases[i].type);
        CHECK_INT(count_fields(read.fields, "sample"), cases[i].samples);
        CHECK_INT(count_fields(sample_at(&read, 0)->fields, "value"), 1);
        CHECK_INT(sum_of_values(&read, 0), cases[i].sum);
        pprof_free(&read);
    }
    window_close(&window);
}

TEST(time_offset_moves_the_start)
{
    test_window window = small_window();
    rpp_encode_options options = options_for(&window, BOTH);
    rpp_byte_buffer buffer;
    rpp_byte_buffer_init(&buffer, 1 << 20);
    CHECK_OK(rpp_pprof_encode(window.profile, 0, 2, window.names, &options, 5000000, &buffer.sink, NULL));
    pprof_model read = pprof_read(buffer.bytes, buffer.length);
    CHECK_INT(number_in(read.fields, "time_nanos"), WINDOW_TIME + 5000000);
    CHECK_INT(number_in(read.fields, "duration_nanos"), WINDOW_DURATION);
    pprof_free(&read);
    rpp_byte_buffer_destroy(&buffer);
    window_close(&window);
}

/* --- what the tables hold
 * ------------------------------------------------------------------------------------------- */

TEST(samples_read_back_as_they_were_added)
{
    test_window window = small_window();
    pprof_model read = encode_default(&window);
    CHECK_INT(count_fields(read.fields, "sample"), 2);
    CHECK_STR(stack_text(&read, sample_at(&read, 0)), "Integer#times;Shop::Cart#total:12;<main>:3");
    CHECK_STR(labels_text(&read, sample_at(&read, 0)), "thread_seq=1");
    CHECK_INT(value_of(sample_at(&read, 0), 0), 111);
    CHECK_INT(value_of(sample_at(&read, 0), 1), 222);
    CHECK_STR(stack_text(&read, sample_at(&read, 1)), "Shop::Cart#total:14;<main>:3");
    CHECK_STR(labels_text(&read, sample_at(&read, 1)), "thread_seq=2,gvl_state=wait,endpoint=GET /cart");
    CHECK_INT(value_of(sample_at(&read, 1), 0), 0);
    CHECK_INT(value_of(sample_at(&read, 1), 1), 3000);
    pprof_free(&read);
    window_close(&window);
}

TEST(ids_run_from_1_in_order_of_use)
{
    test_window window = small_window();
    pprof_model read = encode_default(&window);
    CHECK_STR(read.strings[0]->text, "");
    CHECK_STR(read.strings[1]->text, "/app/cart.rb"); /* the first .rb file, before any other text */
    CHECK_INT(read.location_count, 4);
    CHECK_INT(read.function_count, 3);
    for (size_t i = 0; i < read.location_count; i++) {
        field *location = read.locations[i]->fields;
        CHECK_INT(number_in(location, "id"), i + 1);
        CHECK_INT(number_in(location, "mapping_id"), 1);
        CHECK_INT(count_fields(location, "line"), 1);
    }
    for (size_t i = 0; i < read.function_count; i++) {
        field *function = read.functions[i]->fields;
        CHECK_INT(number_in(function, "id"), i + 1);
        CHECK_INT(number_in(function, "start_line"), 7);
        CHECK(!next_named(function, "system_name"));
    }
    CHECK_STR(text_in(&read, read.functions[1]->fields, "name"), "Shop::Cart#total");
    CHECK_STR(text_in(&read, read.functions[1]->fields, "filename"), "/app/cart.rb");
    for (int64_t i = 1; i <= 3; i++)
        CHECK_INT(nth_field(sample_at(&read, 0)->fields, "location_id", (size_t)i - 1)->number, i);

    CHECK_INT(count_fields(read.fields, "mapping"), 1);
    field *mapping = next_named(read.fields, "mapping")->fields;
    CHECK_INT(number_in(mapping, "id"), 1);
    CHECK_STR(text_in(&read, mapping, "filename"), "ruby");
    CHECK(number_in(mapping, "has_functions") && number_in(mapping, "has_filenames"));
    CHECK(number_in(mapping, "has_line_numbers"));
    pprof_free(&read);
    window_close(&window);
}

TEST(only_what_the_rows_use_is_written)
{
    test_window window = small_window();
    rpp_encode_options options = options_for(&window, BOTH);
    rpp_encode_totals totals;
    pprof_model read = encode_rows(&window, &options, 1, 1, &totals);
    CHECK_INT(totals.samples, 1);
    CHECK_INT(totals.cpu_ns, 0);
    CHECK_INT(totals.wall_ns, 3000);
    CHECK_INT(read.location_count, 2);
    CHECK_INT(read.function_count, 2);
    for (size_t i = 0; i < read.string_count; i++) CHECK(strcmp(read.strings[i]->text, "Integer#times") != 0);
    CHECK_STR(stack_text(&read, sample_at(&read, 0)), "Shop::Cart#total:14;<main>:3");
    pprof_free(&read);
    window_close(&window);
}

TEST(rows_without_value_are_left_out)
{
    test_window window = window_open();
    uint32_t frame = window_frame(&window, "f", "f.rb", false);
    window_add(&window, (rpp_sample){.thread_seq = 1}, STACK({frame, 1}), NULL);
    window_add(&window, (rpp_sample){.cpu_ns = 5, .thread_seq = 1}, STACK({frame, 2}), NULL);
    pprof_model read = encode_default(&window);
    CHECK_INT(count_fields(read.fields, "sample"), 1);
    CHECK_INT(read.location_count, 1);
    pprof_free(&read);
    window_close(&window);
}

/* --- frames that are no methods
 * ------------------------------------------------------------------------------------- */

TEST(hidden_frames_are_left_out_but_never_the_weight)
{
    test_window window = window_open();
    uint32_t own = window_frame(&window, "RperfPush.label", "own.rb", true);
    uint32_t app = window_frame(&window, "app", "app.rb", false);
    window_add(&window, (rpp_sample){.cpu_ns = 1}, STACK({own, 1}, {app, 2}, {own, 3}), NULL);
    window_add(&window, (rpp_sample){.cpu_ns = 2}, STACK({own, 1}, {own, 3}), NULL);
    window_add(&window, (rpp_sample){.cpu_ns = 4}, NULL, 0, NULL);
    pprof_model read = encode_default(&window);
    CHECK_STR(stack_text(&read, sample_at(&read, 0)), "app:2");
    CHECK_STR(stack_text(&read, sample_at(&read, 1)), "[unknown]");
    CHECK_STR(stack_text(&read, sample_at(&read, 2)), "[unknown]");
    CHECK_INT(sum_of_values(&read, 0), 7);
    CHECK_INT(read.location_count, 2);
    for (size_t i = 0; i < read.string_count; i++) CHECK(!strstr(read.strings[i]->text, "RperfPush"));
    pprof_free(&read);
    window_close(&window);
}

TEST(frames_without_a_name_are_unknown)
{
    test_window window = window_open();
    uint32_t app = window_frame(&window, "app", "app.rb", false), unnamed = window_frame(&window, NULL, NULL, false);
    rpp_location stack[] = {{unnamed, 5}, {RPP_FRAME_NONE, 0},     {4000000000u, 0}, {4000000001u, 0},
                            {app, 1},     {RPP_FRAME_TRUNCATED, 0}};
    window_add(&window, (rpp_sample){.cpu_ns = 1}, stack, 6, NULL);
    pprof_model read = encode_default(&window);
    CHECK_STR(stack_text(&read, sample_at(&read, 0)), "[unknown]:5;[unknown];[unknown];[unknown];app:1;[truncated]");
    CHECK_INT(read.function_count, 5); /* all that no table knows is one, and takes no memory by its number */
    pprof_free(&read);
    window_close(&window);
}

TEST(states_become_leaf_frames_on_wish)
{
    enum { STATES = RPP_STATE_GC_SWEEPING + 1 }; /* those whose names people know */
    const char *const leaves[STATES] = {
        [RPP_STATE_RUNNING] = "f:1",
        [RPP_STATE_BLOCKED] = "[GVL blocked];f:1",
        [RPP_STATE_WAITING] = "[GVL wait];f:1",
        [RPP_STATE_GC_MARKING] = "[GC marking];f:1",
        [RPP_STATE_GC_SWEEPING] = "[GC sweeping];f:1",
    };
    const char *const labels[STATES] = {
        [RPP_STATE_RUNNING] = "",
        [RPP_STATE_BLOCKED] = "gvl_state=blocked",
        [RPP_STATE_WAITING] = "gvl_state=wait",
        [RPP_STATE_GC_MARKING] = "gc_phase=mark",
        [RPP_STATE_GC_SWEEPING] = "gc_phase=sweep",
    };
    test_window window = window_open();
    uint32_t frame = window_frame(&window, "f", "f.rb", false);
    for (uint8_t state = 0; state < STATES; state++) {
        window_add(&window, (rpp_sample){.wall_ns = 1, .state = state}, STACK({frame, 1}), NULL);
    }
    /* Standing in a stack as well, it is the same location. */
    window_add(&window, (rpp_sample){.wall_ns = 1}, STACK({RPP_FRAME_GC_MARKING, 0}, {frame, 1}), NULL);
    rpp_encode_options options = options_for(&window, BOTH);
    for (int wish = 0; wish < 2; wish++) {
        options.vm_state_frames = wish;
        pprof_model read = encode_all(&window, &options);
        for (size_t state = 0; state < STATES; state++) {
            CHECK_STR(stack_text(&read, sample_at(&read, state)), wish ? leaves[state] : "f:1");
            CHECK_STR(labels_text(&read, sample_at(&read, state)), labels[state]);
        }
        CHECK_STR(stack_text(&read, sample_at(&read, STATES)), "[GC marking];f:1");
        CHECK_INT(read.location_count, wish ? 5 : 2);
        CHECK_INT(read.function_count, wish ? 5 : 2);
        pprof_free(&read);
    }
    window_close(&window);
}

/* --- labels
 * --------------------------------------------------------------------------------------------------------- */

TEST(of_keys_that_become_one_the_first_holds)
{
    test_window window = window_open();
    uint32_t frame = window_frame(&window, "f", "f.rb", false);
    rpp_sample sample = {.wall_ns = 1, .thread_seq = 3, .state = RPP_STATE_BLOCKED};
    window_add(&window, sample, STACK({frame, 1}),
               LABELS("a_b", "3", "a-b", "1", "a.b", "2", "gvl_state", "mine", "thread_seq", "x", "__name__", "y"));
    pprof_model read = encode_default(&window);
    CHECK_STR(labels_text(&read, sample_at(&read, 0)), "thread_seq=3,gvl_state=blocked,a_b=1");
    pprof_free(&read);

    rpp_encode_options local = options_for(&window, BOTH);
    local.legal_label_names = false;
    read = encode_all(&window, &local);
    CHECK_STR(labels_text(&read, sample_at(&read, 0)), "thread_seq=3,%GVL=blocked,a-b=1,a.b=2,a_b=3,gvl_state=mine");
    pprof_free(&read);
    window_close(&window);
}

#define OWN_TEXT(k, v)                                                                                                 \
    {                                                                                                                  \
        .key = (k), .key_length = strlen(k), .text = (v), .text_length = strlen(v)                                     \
    }
#define OWN_NUMBER(k, n, u)                                                                                            \
    {                                                                                                                  \
        .key = (k), .key_length = strlen(k), .number = (n), .unit = (u), .unit_length = strlen(u)                      \
    }

TEST(labels_of_the_callers_own_are_written_as_they_are)
{
    static char long_text[1001];
    memset(long_text, 'x', sizeof long_text - 1);
    test_window window = small_window();
    const rpp_encode_label items[] = {OWN_TEXT("unused", "u"), OWN_NUMBER("a b", 512, "kilobytes"),
                                      OWN_NUMBER("__n", INT64_MIN, ""), OWN_TEXT("%GVL", "wait"),
                                      OWN_TEXT("t", long_text)};
    const uint32_t starts[] = {0, 1, 5, 5}, sets[] = {1, 2};
    const rpp_encode_labels labels = {items, starts, 3, sets};
    rpp_encode_options options = options_for(&window, BOTH);
    options.labels = &labels;
    pprof_model read = encode_all(&window, &options);
    char expected[1100];
    snprintf(expected, sizeof expected, "thread_seq=1,a b=512kilobytes,__n=-9223372036854775808,%%GVL=wait,t=%s",
             long_text);
    CHECK_STR(labels_text(&read, sample_at(&read, 0)), expected);
    CHECK_STR(labels_text(&read, sample_at(&read, 1)), "thread_seq=2");
    for (size_t i = 0; i < read.string_count; i++) CHECK(strcmp(read.strings[i]->text, "unused") != 0);
    pprof_free(&read);
    window_close(&window);
}

TEST(as_many_values_are_written_as_are_read)
{
    test_window window = small_window();
    int64_t numbers[2 * RPP_ENCODE_MAX_VALUES];
    rpp_encode_values values = {.count = RPP_ENCODE_MAX_VALUES, .numbers = numbers};
    for (size_t i = 0; i < RPP_ENCODE_MAX_VALUES; i++) {
        values.types[i] = values.units[i] = "x";
        numbers[i] = INT64_MAX;
        numbers[RPP_ENCODE_MAX_VALUES + i] = -(int64_t)i;
    }
    rpp_encode_options options = options_for(&window, 0);
    options.values = &values;
    pprof_model read = encode_all(&window, &options);
    CHECK_INT(count_fields(read.fields, "sample_type"), RPP_ENCODE_MAX_VALUES);
    CHECK_INT(value_of(sample_at(&read, 0), RPP_ENCODE_MAX_VALUES - 1), INT64_MAX);
    CHECK_INT(value_of(sample_at(&read, 1), RPP_ENCODE_MAX_VALUES - 1), 1 - RPP_ENCODE_MAX_VALUES);
    pprof_free(&read);
    window_close(&window);
}

TEST(no_sample_has_more_labels_than_servers_take)
{
    test_window window = window_open();
    uint32_t frame = window_frame(&window, "f", "f.rb", false);
    window_set(&window, "tags", "env=test,region=eu");
    static char keys[60][8];
    const char *labels[121] = {NULL};
    for (int i = 0; i < 60; i++) {
        snprintf(keys[i], sizeof keys[i], "key%02d", i);
        labels[2 * i] = keys[i];
        labels[2 * i + 1] = "v";
    }
    window_add(&window, (rpp_sample){.wall_ns = 1, .thread_seq = 1, .state = RPP_STATE_BLOCKED}, STACK({frame, 1}),
               labels);
    pprof_model read = encode_default(&window);
    field *sample = sample_at(&read, 0);
    size_t series_names = 3 + 2, numeric = 1;
    CHECK_INT(count_fields(sample->fields, "label") - numeric + series_names, 30);
    pprof_free(&read);
    window_close(&window);
}

TEST(parts_of_a_window_agree_on_values_past_the_cap)
{
    test_window window = window_open();
    window_set(&window, "max_label_values", "2");
    uint32_t frame = window_frame(&window, "f", "f.rb", false);
    const char *const values[] = {"a", "b", "c", "b"};
    for (uint32_t i = 0; i < 4; i++) {
        window_add(&window, (rpp_sample){.wall_ns = 1}, STACK({frame, i + 1}), LABELS("k", values[i]));
    }
    const char *const expected[] = {"k=a", "k=b", "k=other", "k=b"};
    rpp_encode_options options = options_for(&window, BOTH);
    for (size_t i = 0; i < 4; i++) {
        pprof_model read = encode_rows(&window, &options, i, 1, NULL);
        CHECK_STR(labels_text(&read, sample_at(&read, 0)), expected[i]);
        pprof_free(&read);
    }
    window_close(&window);
}

/* --- exactness
 * ------------------------------------------------------------------------------------------------------ */

static const char *const many_labels[][3] = {{NULL}, {"endpoint", "GET /", NULL}, {"job", "Mail", NULL}};

/* Random rows; the same every time. */
static test_window large_window(uint32_t rows)
{
    test_window window = window_open();
    uint32_t frames[300];
    uint64_t random = 99;
    for (uint32_t i = 0; i < 300; i++) {
        char name[32], path[32];
        snprintf(name, sizeof name, "Class%u#method", i);
        snprintf(path, sizeof path, "/app/%u.rb", i / 10);
        frames[i] = window_frame(&window, name, path, i % 40 == 0);
    }
    for (uint32_t i = 0; i < rows; i++) {
        rpp_location stack[RPP_MAX_DEPTH + 1];
        uint32_t depth = (uint32_t)(rpp_random_next(&random) % (i % 100 ? 20 : RPP_MAX_DEPTH + 2));
        for (uint32_t level = 0; level < depth; level++) {
            uint64_t which = rpp_random_next(&random);
            stack[level] = (rpp_location){frames[which % 300], (uint32_t)(which >> 32) % 200};
        }
        rpp_sample sample = {.cpu_ns = rpp_random_next(&random) >> (20 + i % 40),
                             .wall_ns = rpp_random_next(&random) >> (20 + i % 44),
                             .thread_seq = i % 7,
                             .state = (uint8_t)(i % RPP_STATE_COUNT)};
        window_add(&window, sample, stack, depth, many_labels[i % 3]);
    }
    return window;
}

TEST(sums_and_stacks_are_exact)
{
    test_window window = large_window(3000);
    rpp_encode_options options = options_for(&window, BOTH);
    size_t count = rpp_profile_row_count(window.profile);
    rpp_encode_totals totals;
    pprof_model read = encode_rows(&window, &options, 0, count, &totals);
    const rpp_row *rows = rpp_profile_rows(window.profile);
    field *sample = next_named(read.fields, "sample");
    uint64_t cpu_ns = 0, wall_ns = 0, shown = 0;
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].cpu_ns && !rows[i].wall_ns) continue;
        CHECK(sample);
        CHECK_INT(value_of(sample, 0), rows[i].cpu_ns);
        CHECK_INT(value_of(sample, 1), rows[i].wall_ns);
        uint32_t depth, visible = 0;
        const uint32_t *locations = rpp_stack_table_get(rpp_profile_stacks(window.profile), rows[i].stack, &depth);
        field *id = next_named(sample->fields, "location_id");
        for (uint32_t level = 0; level < depth; level++) {
            rpp_location location = rpp_stack_table_location(rpp_profile_stacks(window.profile), locations[level]);
            const rpp_frame_name *name = rpp_frame_names_get(window.names, location.frame);
            if (name->hidden) continue;
            visible++;
            CHECK(id);
            field *line = next_named(read.locations[id->number - 1]->fields, "line");
            CHECK_INT(number_in(line->fields, "line"), location.line);
            field *function = read.functions[number_in(line->fields, "function_id") - 1]->fields;
            CHECK_STR(text_in(&read, function, "name"), name->name);
            CHECK_STR(text_in(&read, function, "filename"), name->path);
            id = next_named(id->next, "location_id");
        }
        CHECK(visible ? !id : strcmp(stack_text(&read, sample), "[unknown]") == 0);
        cpu_ns += rows[i].cpu_ns;
        wall_ns += rows[i].wall_ns;
        shown++;
        sample = next_named(sample->next, "sample");
    }
    CHECK(!sample);
    CHECK(totals.samples == shown && totals.cpu_ns == cpu_ns && totals.wall_ns == wall_ns);
    CHECK_INT(sum_of_values(&read, 0), cpu_ns);
    CHECK_INT(sum_of_values(&read, 1), wall_ns);
    pprof_free(&read);
    window_close(&window);
}

TEST(go_tool_pprof_accepts_it)
{
    if (system("go version >/dev/null 2>&1") != 0) {
        fprintf(stderr, "SKIPPED go_tool_pprof_accepts_it: there is no go\n");
        return;
    }
    test_window window = large_window(500), small = small_window();
    rpp_encode_options options = options_for(&window, BOTH), small_options = options_for(&small, BOTH);
    rpp_byte_buffer buffer;
    rpp_byte_buffer_init(&buffer, 64 << 20);
    CHECK_OK(rpp_pprof_encode(window.profile, 0, rpp_profile_row_count(window.profile), window.names, &options, 0,
                              &buffer.sink, NULL));
    char *raw = output_of("go tool pprof -raw %s 2>&1", buffer.bytes, buffer.length);
    CHECK(raw);
    CHECK(strstr(raw, "Class1#method"));
    free(raw);

    buffer.length = 0;
    CHECK_OK(rpp_pprof_encode(small.profile, 0, 2, small.names, &small_options, 0, &buffer.sink, NULL));
    char *top = output_of("go tool pprof -top -unit=ns %s 2>&1", buffer.bytes, buffer.length);
    CHECK(top);
    CHECK(strstr(top, "Type: cpu"));
    CHECK(strstr(top, "111ns   100%   100%"));
    CHECK(strstr(top, "Integer#times"));
    CHECK(strstr(top, "<main>")); /* would be [ruby] or cut if it went through demangling */
    free(top);
    rpp_byte_buffer_destroy(&buffer);
    window_close(&window);
    window_close(&small);
}

/* --- failures
 * ------------------------------------------------------------------------------------------------------- */

TEST(every_failing_allocation_is_reported)
{
    test_window window = large_window(300);
    rpp_encode_options options = options_for(&window, BOTH);
    rpp_byte_buffer whole, again;
    rpp_byte_buffer_init(&whole, 64 << 20);
    rpp_byte_buffer_init(&again, 64 << 20);
    size_t rows = rpp_profile_row_count(window.profile), nth = 1;
    CHECK_OK(rpp_pprof_encode(window.profile, 0, rows, window.names, &options, 0, &whole.sink, NULL));
    for (;; nth++) {
        again.length = 0;
        rpp_encode_totals totals = {.cpu_ns = 7, .wall_ns = 7, .samples = 7, .labels_cut = 7};
        rpp_alloc_fail_at(nth);
        rpp_status status = rpp_pprof_encode(window.profile, 0, rows, window.names, &options, 0, &again.sink, &totals);
        bool reached = rpp_alloc_count() >= nth;
        rpp_alloc_fail_at(0);
        CHECK_INT(status, reached ? RPP_NO_MEMORY : RPP_OK);
        if (!reached) break;
        CHECK(totals.samples == 7 && totals.cpu_ns == 7 && totals.wall_ns == 7);
    }
    CHECK(nth > 20);
    CHECK_INT(again.length, whole.length);
    CHECK(memcmp(again.bytes, whole.bytes, whole.length) == 0);
    rpp_byte_buffer_destroy(&whole);
    rpp_byte_buffer_destroy(&again);
    window_close(&window);
}

TEST(a_full_sink_ends_it)
{
    test_window window = large_window(500);
    rpp_encode_options options = options_for(&window, BOTH);
    size_t rows = rpp_profile_row_count(window.profile);
    for (size_t ceiling = 0; ceiling < 60000; ceiling += 5000) {
        rpp_byte_buffer buffer;
        rpp_byte_buffer_init(&buffer, ceiling);
        CHECK_INT(rpp_pprof_encode(window.profile, 0, rows, window.names, &options, 0, &buffer.sink, NULL), RPP_LIMIT);
        rpp_byte_buffer_destroy(&buffer);
    }
    window_close(&window);
}
