/* rb_json_memory.h - says how much memory the objects of a JSON text may take, before a parser makes them.
 *
 * Threads    with the GVL.
 * Ownership  the text belongs to the caller.
 */
#ifndef RB_JSON_MEMORY_H
#define RB_JSON_MEMORY_H

#include <ruby.h>

void rb_rpp_json_memory_init(VALUE native);

#endif
