/* rb_vm_layout.c - the offsets of a few words in the VM's memory, for each series of Ruby. */
#include "vm/rb_vm_layout.h"

#include <string.h>

/* clang-format off */
static const rb_rpp_vm_layout layouts[] = {
#define SAME_SINCE_3_3 \
    .thread = {.self = 2, .ec = 6}, \
    .ec = {.stack = 0, .stack_words = 1, .frame = 2}, \
    .frame = {.pc = 0, .iseq = 2, .self = 3, .ep = 4, .words = 7}, \
    .env = {.ep = 2}, \
    .svar = {.cref_or_method = 1}, \
    .method = {.definition = 2}, \
    .iseq = {.body = 2, .code_size_bytes = 4, .code_bytes = 8}, \
    .call = {.fiber = 5, .called = 3, .owner = 4}, \
    .event = {.ec = 1, .frame = 2, .self = 3, .name = 4, .called = 5, .owner = 6}
    {.series = "3.3", SAME_SINCE_3_3},
    {.series = "3.4", SAME_SINCE_3_3},
    {.series = "4.0", SAME_SINCE_3_3},
};
/* clang-format on */

const rb_rpp_vm_layout *rb_rpp_vm_layout_of(const char *version)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        size_t length = strlen(layouts[i].series);
        if (!strncmp(version, layouts[i].series, length) && version[length] == '.') return &layouts[i];
    }
    return NULL;
}
