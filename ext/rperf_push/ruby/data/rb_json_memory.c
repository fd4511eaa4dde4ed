/* rb_json_memory.c - says how much memory the objects of a JSON text may take, before a parser makes them. */
#include "data/rb_json_memory.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes that Ruby takes for each, at most. Measured with the parsers of Ruby 3.3 and 3.4. */
enum { COST_LIST = 80, COST_OBJECT = 200, COST_TEXT = 48, COST_PAIR = 160, COST_ELEMENT = 16, COST_FLOAT = 40 };

static size_t cost_of(char character)
{
    switch (character) {
    case '[': return COST_LIST;
    case '{': return COST_OBJECT;
    case '"': return COST_TEXT;
    case ':': return COST_PAIR; /* and its key, which becomes a Symbol */
    case ',': return COST_ELEMENT;
    case '.':
    case 'e':
    case 'E': return COST_FLOAT;
    default: return 0;
    }
}

/* Characters in texts cost one byte each. */
static size_t memory_of(const char *at, const char *end)
{
    size_t memory = 0;
    bool in_text = false;
    for (; at < end; at++) {
        if (in_text && *at == '\\') {
            at++;
        } else if (*at == '"') {
            in_text = !in_text;
            if (in_text) memory += cost_of('"');
        } else {
            memory += in_text ? 1 : cost_of(*at);
        }
    }
    return memory;
}

/* Any text: what is no JSON has an answer, too, and the parser refuses it. */
static VALUE native_json_memory(VALUE self, VALUE text)
{
    Check_Type(text, T_STRING);
    VALUE memory = SIZET2NUM(memory_of(RSTRING_PTR(text), RSTRING_END(text)));
    RB_GC_GUARD(text);
    return memory;
}

void rb_rpp_json_memory_init(VALUE native)
{
    rb_define_singleton_method(native, "json_memory", native_json_memory, 1);
}
