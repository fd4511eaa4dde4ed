/* errors.c - the list of what is wrong with the settings, one line each. */
#include "settings/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

#define LINE_MAX_BYTES 900 /* with its prefix it still fits one line of the log */

rpp_status rpp_errors_add(rpp_errors *errors, const char *format, ...)
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
    if (rpp_grow((void **)&errors->lines, &errors->capacity, errors->count + 1, sizeof(char *)) != RPP_OK) {
        rpp_free(kept);
        return RPP_NO_MEMORY;
    }
    errors->lines[errors->count++] = kept;
    return RPP_OK;
}

void rpp_errors_destroy(rpp_errors *errors)
{
    for (size_t i = 0; i < errors->count; i++) rpp_free(errors->lines[i]);
    rpp_free(errors->lines);
    *errors = (rpp_errors){0};
}
