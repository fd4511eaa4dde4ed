/* test_window_series.c - which series the rows of a window make up. */
#include "encoding/window_series.h"

#include "base/alloc.h"
#include "settings/pairs.h"
#include "test.h"
#include "window.h"

static const rpp_pairs none = {0};

typedef struct scene {
    test_window window;
    uint32_t frame;
    rpp_encode_options options;
    rpp_window_series series;
} scene;

static void set_up(scene *s)
{
    memset(s, 0, sizeof *s);
    s->window = window_open();
    s->frame = window_frame(&s->window, "f", "f.rb", false);
    s->options = (rpp_encode_options){
        .mode = RPP_MODE_CPU | RPP_MODE_WALL, .settings = s->window.settings, .legal_label_names = true};
}

static void tear_down(scene *s)
{
    rpp_window_series_destroy(&s->series);
    window_close(&s->window);
}

/* A row of a line of its own. */
static void add(scene *s, uint32_t line, rpp_state state, const char *const *labels)
{
    rpp_sample sample = {.wall_ns = line, .state = (uint8_t)state, .thread_seq = 1};
    window_add(&s->window, sample, &(rpp_location){s->frame, line}, 1, labels);
}

static void find(scene *s, const rpp_pairs *taken, uint32_t max_series)
{
    CHECK_OK(rpp_window_series_init(&s->series, s->window.profile, &s->options, taken, max_series));
}

/* "id key=value,key=value: weights" of each series, in the order of the rows. */
static const char *as_text(const scene *s)
{
    static char text[4096];
    size_t at = 0;
    uint32_t last = UINT32_MAX;
    *text = '\0';
    for (size_t i = 0; i < s->series.row_count; i++) {
        uint32_t id = rpp_window_series_of(&s->series, &s->series.rows[i]);
        if (id != last) {
            rpp_pairs labels;
            CHECK_OK(rpp_window_series_labels(&s->series, id, &labels));
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%u", i ? "; " : "", id);
            for (size_t k = 0; k < labels.count; k++) {
                at +=
                    (size_t)snprintf(text + at, sizeof text - at, " %s=%s", labels.items[k].key, labels.items[k].value);
            }
            at += (size_t)snprintf(text + at, sizeof text - at, ":");
            rpp_pairs_destroy(&labels);
        }
        last = id;
        at += (size_t)snprintf(text + at, sizeof text - at, " %u", (unsigned)s->series.rows[i].wall_ns);
    }
    return text;
}

TEST(rows_of_one_set_lie_together_in_their_order)
{
    scene s;
    set_up(&s);
    add(&s, 1, RPP_STATE_RUNNING, LABELS("endpoint", "GET /a"));
    add(&s, 2, RPP_STATE_RUNNING, LABELS("endpoint", "GET /b"));
    add(&s, 3, RPP_STATE_RUNNING, NULL);
    add(&s, 4, RPP_STATE_RUNNING, LABELS("endpoint", "GET /a"));
    add(&s, 5, RPP_STATE_WAITING, LABELS("endpoint", "GET /a"));
    add(&s, 6, RPP_STATE_RUNNING, LABELS("endpoint", "GET /b"));
    find(&s, &none, 100);
    CHECK_STR(as_text(&s), "2 endpoint=GET /b: 2 6; 1 endpoint=GET /a: 1 4; 3 gvl_state=wait endpoint=GET /a: 5; 0: 3");
    CHECK_INT(s.series.unlabelled, 0);
    tear_down(&s);
}

TEST(sets_that_are_sent_alike_are_one_series)
{
    scene s;
    set_up(&s);
    window_set(&s.window, "label_names", "a=x,z=x");
    window_set(&s.window, "label_deny", "secret");
    add(&s, 1, RPP_STATE_RUNNING, LABELS("a", "1", "c", "2"));
    add(&s, 2, RPP_STATE_RUNNING, LABELS("c", "2", "z", "1"));
    add(&s, 3, RPP_STATE_RUNNING, LABELS("a", "1", "c", "2", "secret", "s"));
    add(&s, 4, RPP_STATE_RUNNING, LABELS("secret", "s"));
    find(&s, &none, 100);
    CHECK_STR(as_text(&s), "1 x=1 c=2: 1 2 3; 0: 4");
    tear_down(&s);
}

TEST(a_name_that_the_series_has_anyway_is_left_out)
{
    rpp_pair own[] = {{"env", "prod"}, {"service_name", "shop"}};
    scene s;
    set_up(&s);
    add(&s, 1, RPP_STATE_RUNNING, LABELS("env", "mine", "endpoint", "GET /"));
    add(&s, 2, RPP_STATE_RUNNING, LABELS("env", "mine"));
    find(&s, &(rpp_pairs){own, 2, 2}, 100);
    CHECK_STR(as_text(&s), "1 endpoint=GET /: 1; 0: 2");
    CHECK_INT(s.series.unlabelled, 0); /* what is lost is not for want of room */
    tear_down(&s);
}

TEST(spans_make_no_series)
{
    scene s;
    set_up(&s);
    add(&s, 1, RPP_STATE_RUNNING, LABELS("endpoint", "GET /", "span_id", "0000000000000001"));
    add(&s, 2, RPP_STATE_RUNNING, LABELS("endpoint", "GET /", "span_id", "0000000000000002", "trace_id", "3"));
    add(&s, 3, RPP_STATE_RUNNING, LABELS("span_id", "0000000000000004"));
    find(&s, &none, 100);
    CHECK_STR(as_text(&s), "1 endpoint=GET /: 1 2; 0: 3");
    tear_down(&s);
}

TEST(what_has_the_least_time_has_no_room_and_is_counted)
{
    scene s;
    set_up(&s);
    add(&s, 1, RPP_STATE_RUNNING, LABELS("k", "1"));
    add(&s, 2, RPP_STATE_RUNNING, LABELS("k", "2"));
    add(&s, 3, RPP_STATE_RUNNING, LABELS("k", "3"));
    add(&s, 4, RPP_STATE_RUNNING, LABELS("k", "4"));
    add(&s, 5, RPP_STATE_RUNNING, LABELS("k", "3"));
    add(&s, 6, RPP_STATE_RUNNING, LABELS("k", "1"));
    add(&s, 7, RPP_STATE_RUNNING, NULL);
    find(&s, &none, 2);
    CHECK_STR(as_text(&s), "3 k=3: 3 5; 1 k=1: 1 6; 0: 2 4 7");
    CHECK_INT(s.series.unlabelled, 2);
    tear_down(&s);
}

TEST(rows_that_are_not_shown_make_no_series)
{
    scene s;
    set_up(&s);
    s.options.mode = RPP_MODE_CPU;
    add(&s, 1, RPP_STATE_BLOCKED, LABELS("k", "1"));
    find(&s, &none, 2);
    CHECK_STR(as_text(&s), "");
    CHECK_INT(s.series.set_count, 1);
    tear_down(&s);
}

TEST(every_failing_allocation_is_reported)
{
    scene s;
    set_up(&s);
    char value[16];
    for (uint32_t i = 0; i < 60; i++) {
        snprintf(value, sizeof value, "%u", i % 40);
        add(&s, i + 1, RPP_STATE_WAITING, LABELS("k", value, "l", "m"));
    }
    for (size_t nth = 1;; nth++) {
        rpp_alloc_fail_at(nth);
        rpp_status status = rpp_window_series_init(&s.series, s.window.profile, &s.options, &none, 100);
        bool reached = rpp_alloc_count() >= nth;
        rpp_alloc_fail_at(0);
        CHECK_INT(status, reached ? RPP_NO_MEMORY : RPP_OK);
        if (!reached) break;
        rpp_window_series_destroy(&s.series);
    }
    CHECK_INT(s.series.set_count, 41);
    tear_down(&s);
}
