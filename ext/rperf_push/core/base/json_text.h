/* json_text.h - the JSON that delivery needs: it writes a quoted string and reads one member of an answer.
 *
 * Threads    any thread.
 * Ownership  the caller keeps texts, sink and value.
 */
#ifndef RPP_JSON_TEXT_H
#define RPP_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/byte_sink.h"
#include "base/status.h"

/* Writes the text as a JSON string with quotes. Bytes that are not UTF-8 are written unchanged. */
RPP_NODISCARD rpp_status rpp_json_write_string(rpp_byte_sink *sink, const char *text);
/* Copies the string under this key of the outermost object, cut to size. Returns false if there is none. The JSON may
 * be incomplete or broken after it. \u escapes beyond ASCII become '?'. */
bool rpp_json_read_string(const char *json, const char *key, char *value, size_t size);

#endif
