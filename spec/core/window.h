/* window.h - small windows for tests: frames by name, samples in one line.
 *
 * Ownership  window_open takes what window_close gives back.
 */
#ifndef RPP_TEST_WINDOW_H
#define RPP_TEST_WINDOW_H

#include "profile/profile.h"
#include "sampling/frame_names.h"
#include "settings/settings.h"
#include "test.h"

typedef struct test_window {
    rpp_profile *profile;
    rpp_frame_names *names;
    rpp_settings *settings;
} test_window;

#define WINDOW_TIME     UINT64_C(1700000000123456789)
#define WINDOW_DURATION UINT64_C(10000000000)

static inline test_window window_open(void)
{
    test_window window = {rpp_profile_new(&rpp_profile_default_limits), rpp_frame_names_new(10000), rpp_settings_new()};
    CHECK(window.profile && window.names && window.settings);
    CHECK_OK(rpp_frame_names_ensure(window.names, 1000));
    rpp_profile_close(window.profile, WINDOW_TIME, WINDOW_DURATION);
    return window;
}

static inline void window_close(test_window *window)
{
    rpp_profile_free(window->profile);
    rpp_frame_names_free(window->names);
    rpp_settings_free(window->settings);
}

static inline uint32_t window_frame(test_window *window, const char *name, const char *path, bool hidden)
{
    uint32_t id = rpp_frame_names_reserve(window->names);
    CHECK(id);
    if (name) CHECK_OK(rpp_frame_names_set(window->names, id, name, strlen(name), path, strlen(path), 7, hidden));
    return id;
}

/* A set of "key", "value" pairs; NULL ends the list. */
static inline rpp_label_set *window_labels(const char *const *texts)
{
    rpp_label changes[64];
    size_t count = 0;
    for (; texts && texts[2 * count]; count++) {
        const char *key = texts[2 * count], *value = texts[2 * count + 1];
        changes[count] = (rpp_label){key, value, (uint32_t)strlen(key), (uint32_t)strlen(value)};
    }
    rpp_label_set *set = NULL;
    CHECK_OK(rpp_label_set_merge(NULL, changes, count, &set));
    return set;
}

static inline void window_add(test_window *window, rpp_sample sample, const rpp_location *stack, uint32_t depth,
                              const char *const *labels)
{
    sample.depth = depth;
    sample.labels = window_labels(labels);
    rpp_status status = rpp_profile_add(window->profile, &sample, stack);
    rpp_label_set_release(sample.labels);
    CHECK_OK(status);
}

/* Settings as a user writes them; an error fails the test. */
static inline void window_set(test_window *window, const char *option, const char *text)
{
    rpp_errors errors = {0};
    CHECK_OK(rpp_settings_set_text(window->settings, option, text, NULL, &errors));
    if (errors.count) FAIL("%s", errors.lines[0]);
    rpp_errors_destroy(&errors);
}

#define LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
