/* mistakes.c - the list of what is wrong with the settings, one line each. */
#include "settings/mistakes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

#define LINE_MAX_BYTES 900 /* with its prefix it still fits one line of the log */

rpp_status rpp_mistakes_add(rpp_mistakes *mistakes, const char *format, ...)
{
    char text[LINE_MAX_BYTES + 4], line[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (wanted < 0) return RPP_INVALID;

    size_t length = rpp_utf8_copy(line, sizeof line, text, strlen(text));
    rpp_utf8_one_line(line, length);
    char *kept = rpp_strndup(line, length);
    if (!kept) return RPP_NO_MEMORY;
    if (rpp_grow((void **)&mistakes->lines, &mistakes->capacity, mistakes->count + 1, sizeof(char *)) != RPP_OK) {
        rpp_free(kept);
        return RPP_NO_MEMORY;
    }
    mistakes->lines[mistakes->count++] = kept;
    return RPP_OK;
}

void rpp_mistakes_destroy(rpp_mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->count; i++) rpp_free(mistakes->lines[i]);
    rpp_free(mistakes->lines);
    *mistakes = (rpp_mistakes){0};
}
