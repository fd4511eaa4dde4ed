/* json_text.h - the little JSON that delivery needs: a quoted string out, one member of an answer in.
 *
 * Threads    any thread.
 */
#ifndef RPP_JSON_TEXT_H
#define RPP_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "byte_sink.h"
#include "status.h"

/* Writes the text as a JSON string, quotes included. Bytes that are not UTF-8 pass as they are. */
RPP_NODISCARD rpp_status rpp_json_write_string(rpp_byte_sink *sink, const char *text);
/* Copies the string that the outermost object has under the key, cut to size; false when there is none. The JSON may be
 * cut or broken after it. \u escapes beyond ASCII become '?'. */
bool rpp_json_read_string(const char *json, const char *key, char *value, size_t size);

#endif
