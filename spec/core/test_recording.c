/* test_recording.c - profiles added up by name, whatever became of their frame ids. */
#include "profile/recording.h"

#include "base/alloc.h"
#include "test.h"
#include "window.h"

typedef struct seen {
    size_t rows, captures, names;
    uint64_t changes;
    uint64_t cpu_ns, wall_ns;
    char leaf[64], root[64];
} seen;

static void look(const rpp_recorded *recorded, void *context)
{
    seen *s = context;
    const rpp_stack_table *stacks = rpp_profile_stacks(recorded->profile);
    s->rows = rpp_profile_row_count(recorded->profile);
    s->captures = recorded->captures;
    s->changes = recorded->changes;
    s->names = rpp_frame_names_count(recorded->names);
    for (size_t i = 0; i < s->rows; i++) {
        const rpp_row *row = &rpp_profile_rows(recorded->profile)[i];
        uint32_t depth;
        const uint32_t *stack = rpp_stack_table_get(stacks, row->stack, &depth);
        s->cpu_ns += row->cpu_ns;
        s->wall_ns += row->wall_ns;
        const char *leaf = rpp_frame_names_get(recorded->names, rpp_stack_table_location(stacks, stack[0]).frame)->name;
        const char *root =
            rpp_frame_names_get(recorded->names, rpp_stack_table_location(stacks, stack[depth - 1]).frame)->name;
        snprintf(s->leaf, sizeof s->leaf, "%s", leaf);
        snprintf(s->root, sizeof s->root, "%s", root);
    }
}

static seen seen_in(rpp_recording *recording)
{
    seen s = {0};
    rpp_recording_read(recording, look, &s);
    return s;
}

static const rpp_sample CPU_10 = {.cpu_ns = 10, .wall_ns = 20, .thread_seq = 1};

/* A window with one stack: `padding` other frames come first, so that the same names get other ids. */
static test_window window_of(const char *leaf, const char *root, int padding)
{
    test_window window = window_open();
    for (int i = 0; i < padding; i++) window_frame(&window, "padding", "", false);
    rpp_location stack[] = {{window_frame(&window, leaf, "a.rb", false), 3},
                            {window_frame(&window, root, "a.rb", false), 4}};
    window_add(&window, CPU_10, stack, 2, NULL);
    return window;
}

static rpp_status add(rpp_recording *recording, test_window *window)
{
    return rpp_recording_add(recording, window->profile, window->names);
}

TEST(the_same_names_are_one_row_whatever_their_ids)
{
    rpp_recording *recording = rpp_recording_new(false);
    test_window first = window_of("A#leaf", "main", 0), second = window_of("A#leaf", "main", 5);
    CHECK_OK(add(recording, &first));
    CHECK_OK(add(recording, &second));
    seen s = seen_in(recording);
    CHECK_INT(s.rows, 1);
    CHECK_INT(s.names, 2);
    CHECK_INT(s.captures, 2);
    CHECK_INT(s.cpu_ns, 20);
    CHECK_INT(s.wall_ns, 40);
    CHECK_STR(s.leaf, "A#leaf");
    window_close(&first);
    window_close(&second);
    rpp_recording_free(recording);
}

TEST(the_names_outlive_the_process_table)
{
    rpp_recording *recording = rpp_recording_new(false);
    test_window window = window_of("A#leaf", "main", 0);
    CHECK_OK(add(recording, &window));
    window_close(&window);
    CHECK_STR(seen_in(recording).root, "main");
    rpp_recording_free(recording);
}

TEST(captures_stay_apart_on_wish)
{
    rpp_recording *recording = rpp_recording_new(true);
    test_window window = window_of("A#leaf", "main", 0);
    CHECK_OK(add(recording, &window));
    CHECK_OK(add(recording, &window));
    CHECK_INT(seen_in(recording).rows, 2);
    window_close(&window);
    rpp_recording_free(recording);
}

TEST(frames_of_the_profiler_itself_are_left_out)
{
    rpp_recording *recording = rpp_recording_new(false);
    test_window window = window_open();
    rpp_location stack[] = {{window_frame(&window, "RperfPush.label", "lib/x.rb", true), 1},
                            {window_frame(&window, "main", "a.rb", false), 2}};
    window_add(&window, CPU_10, stack, 2, NULL);
    CHECK_OK(add(recording, &window));
    CHECK_STR(seen_in(recording).leaf, "main");
    window_close(&window);
    rpp_recording_free(recording);
}

TEST(a_stack_without_names_keeps_its_weight)
{
    rpp_recording *recording = rpp_recording_new(false);
    test_window window = window_open();
    rpp_location stack[] = {{window_frame(&window, NULL, "", false), 1}};
    window_add(&window, CPU_10, stack, 1, NULL);
    CHECK_OK(add(recording, &window));
    seen s = seen_in(recording);
    CHECK_INT(s.cpu_ns, 10);
    CHECK_STR(s.leaf, "[unknown]");
    window_close(&window);
    rpp_recording_free(recording);
}

TEST(what_is_taken_has_its_names_and_can_be_put_back)
{
    rpp_recording *recording = rpp_recording_new(false);
    test_window window = window_of("A#leaf", "main", 0);
    const rpp_frame_names *names;
    CHECK_OK(add(recording, &window));
    rpp_profile *taken = rpp_recording_take(recording, &names);
    CHECK_INT(seen_in(recording).rows, 0);
    CHECK_OK(add(recording, &window));
    CHECK_OK(rpp_recording_add(recording, taken, names));
    rpp_profile_free(taken);
    seen s = seen_in(recording);
    CHECK_INT(s.rows, 1);
    CHECK_INT(s.cpu_ns, 20);
    CHECK_STR(s.leaf, "A#leaf");
    window_close(&window);
    rpp_recording_free(recording);
}

TEST(clear_discards)
{
    rpp_recording *recording = rpp_recording_new(false);
    test_window window = window_of("A#leaf", "main", 0);
    CHECK_OK(add(recording, &window));
    CHECK_OK(rpp_recording_clear_if(recording, seen_in(recording).changes));
    seen s = seen_in(recording);
    CHECK_INT(s.rows, 0);
    CHECK_INT(s.captures, 0);
    CHECK_OK(add(recording, &window));
    CHECK_INT(seen_in(recording).cpu_ns, 10);
    window_close(&window);
    rpp_recording_free(recording);
}

TEST(what_nobody_has_read_is_not_cleared)
{
    rpp_recording *recording = rpp_recording_new(false);
    test_window window = window_of("A#leaf", "main", 0);
    const rpp_frame_names *names;
    CHECK_OK(add(recording, &window));
    uint64_t read = seen_in(recording).changes;
    rpp_profile *taken = rpp_recording_take(recording, &names);
    CHECK_INT(rpp_recording_clear_if(recording, read), RPP_BUSY);
    read = seen_in(recording).changes;
    CHECK_OK(rpp_recording_add(recording, taken, names));
    CHECK_INT(rpp_recording_clear_if(recording, read), RPP_BUSY);
    CHECK_INT(seen_in(recording).cpu_ns, 10);
    CHECK_OK(rpp_recording_clear_if(recording, seen_in(recording).changes));
    CHECK_INT(seen_in(recording).rows, 0);
    rpp_profile_free(taken);
    window_close(&window);
    rpp_recording_free(recording);
}

TEST(no_memory_loses_no_weight_silently)
{
    test_window window = window_of("A#leaf", "main", 0);
    for (size_t nth = 1;; nth++) {
        rpp_recording *recording = rpp_recording_new(false);
        CHECK(recording);
        rpp_alloc_fail_at(nth);
        rpp_status status = add(recording, &window);
        bool failed = rpp_alloc_count() >= nth;
        rpp_alloc_fail_at(0);
        if (status == RPP_OK) CHECK_INT(seen_in(recording).cpu_ns, 10);
        rpp_recording_free(recording);
        if (!failed) break;
    }
    window_close(&window);
}

/* --- levels --- */

static void look_at_level(const rpp_recorded *recorded, void *context)
{
    uint64_t *sum = context;
    *sum = 0;
    for (size_t i = 0; i < rpp_profile_row_count(recorded->profile); i++) {
        *sum += rpp_profile_rows(recorded->profile)[i].inuse_objects;
    }
}

static uint64_t level_in(rpp_recording *recording)
{
    uint64_t sum;
    rpp_recording_read(recording, look_at_level, &sum);
    return sum;
}

static test_window window_with_level(uint64_t objects, uint64_t level_ns)
{
    test_window window = window_of("leaf", "root", 0);
    rpp_location stack[] = {{window_frame(&window, "Leak", "<class>", false), 0}};
    rpp_profile_add_row(window.profile, &(rpp_row){.inuse_objects = objects}, NULL, stack, 1);
    rpp_profile_set_level_ns(window.profile, level_ns);
    return window;
}

/* Also with each capture apart: what no level has any more leaves nothing behind. */
TEST(the_latest_level_stays_whatever_is_put_back)
{
    for (int separate = 0; separate < 2; separate++) {
        rpp_recording *recording = rpp_recording_new(separate);
        test_window older = window_with_level(500, 10), newer = window_with_level(300, 20);
        test_window none = window_of("leaf", "root", 0);
        CHECK_OK(add(recording, &older));
        CHECK_INT(level_in(recording), 500);
        CHECK_OK(add(recording, &newer));
        CHECK_INT(level_in(recording), 300);
        CHECK_OK(add(recording, &none));
        CHECK_INT(level_in(recording), 300);
        seen before = seen_in(recording);
        CHECK_OK(add(recording, &older)); /* put back */
        CHECK_INT(level_in(recording), 300);
        seen after = seen_in(recording);
        CHECK_INT(after.cpu_ns, before.cpu_ns + 10);
        CHECK_INT(after.captures, 4); /* a level is no capture */
        CHECK_INT(after.rows, separate ? 5 : 2);

        const rpp_frame_names *names;
        rpp_profile *taken = rpp_recording_take(recording, &names);
        CHECK_INT(level_in(recording), 0);
        CHECK_OK(rpp_recording_add(recording, taken, names));
        CHECK_INT(level_in(recording), 300);
        rpp_profile_free(taken);
        window_close(&older);
        window_close(&newer);
        window_close(&none);
        rpp_recording_free(recording);
    }
}
