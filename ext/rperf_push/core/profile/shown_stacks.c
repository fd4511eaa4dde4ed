/* shown_stacks.c - stacks as profiles show them: without frames that are not to be seen. */
#include "profile/shown_stacks.h"

#include <string.h>

#include "base/alloc.h"

typedef enum kind { SHOWN, HIDDEN, CLASS } kind;

typedef struct shown_labels {
    rpp_profile *profile;
    const rpp_frame_names *names;
    uint8_t *kinds; /* by location */
} shown_labels;

static bool is_class(const rpp_frame_name *name, uint32_t frame)
{
    if (frame == RPP_FRAME_INTERNAL) return true;
    return name->path_length == strlen(RPP_CLASS_PATH) && !memcmp(name->path, RPP_CLASS_PATH, name->path_length);
}

/* False: each location is shown. */
static bool find_kinds(shown_labels *s, bool class_labels)
{
    const rpp_stack_table *stacks = rpp_profile_stacks(s->profile);
    bool any = false;
    for (uint32_t i = 0; i < rpp_stack_table_location_count(stacks); i++) {
        uint32_t frame = rpp_stack_table_location(stacks, i).frame;
        const rpp_frame_name *name = rpp_frame_names_get(s->names, frame);
        if (!name) continue;
        s->kinds[i] = name->hidden ? HIDDEN : class_labels && is_class(name, frame) ? CLASS : SHOWN;
        any |= s->kinds[i] != SHOWN;
    }
    return any;
}

/* The leaf's name becomes a label. */
static bool label_class(const shown_labels *s, size_t row, uint32_t frame)
{
    const rpp_frame_name *name = rpp_frame_names_get(s->names, frame);
    const rpp_label_sets *sets = rpp_profile_label_sets(s->profile);
    const rpp_label label = {.key = RPP_CLASS_LABEL,
                             .value = name->name,
                             .key_length = sizeof RPP_CLASS_LABEL - 1,
                             .value_length = (uint32_t)name->name_length};
    rpp_label_set *labels;
    const rpp_label_set *before = rpp_label_sets_get(sets, rpp_profile_rows(s->profile)[row].labels);
    if (rpp_label_set_merge(before, &label, 1, &labels) != RPP_OK) return false;
    rpp_label told; /* a set that is full has not taken it */
    bool has = rpp_label_set_find(labels, label.key, label.key_length, &told);
    rpp_status status = has ? rpp_profile_relabel(s->profile, row, labels) : RPP_LIMIT;
    rpp_label_set_release(labels);
    return status == RPP_OK;
}

static bool show(const shown_labels *s, size_t row)
{
    rpp_location shown[RPP_MAX_DEPTH + 1];
    const rpp_stack_table *stacks = rpp_profile_stacks(s->profile);
    uint32_t depth, kept = 0;
    const uint32_t *stack = rpp_stack_table_get(stacks, rpp_profile_rows(s->profile)[row].stack, &depth);
    for (uint32_t i = 0; i < depth; i++) {
        rpp_location location = rpp_stack_table_location(stacks, stack[i]);
        bool is_label = !i && s->kinds[stack[i]] == CLASS && label_class(s, row, location.frame);
        if (!is_label && s->kinds[stack[i]] != HIDDEN) shown[kept++] = location;
    }
    if (kept == depth) return false;
    if (!kept) shown[kept++] = (rpp_location){RPP_FRAME_UNKNOWN, 0};
    return rpp_profile_restack(s->profile, row, shown, kept) == RPP_OK;
}

void rpp_show_stacks(rpp_profile *profile, const rpp_frame_names *names, bool class_labels)
{
    uint32_t locations = rpp_stack_table_location_count(rpp_profile_stacks(profile));
    shown_labels s = {.profile = profile, .names = names, .kinds = rpp_calloc((size_t)locations + 1, sizeof *s.kinds)};
    bool any = false;
    if (s.kinds && find_kinds(&s, class_labels)) {
        for (size_t i = 0; i < rpp_profile_row_count(profile); i++) any |= show(&s, i);
    }
    rpp_free(s.kinds);
    if (any) rpp_profile_join(profile);
}
