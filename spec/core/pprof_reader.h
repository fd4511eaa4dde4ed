/* pprof_reader.h - a pprof as a reader sees it that shares nothing with the encoder: protoc decodes it to text, and
 * this makes a model of the text.
 *
 * Threads    one at a time. Memory is taken with malloc, so that failing allocations of the core do not reach it.
 */
#ifndef RPP_PPROF_READER_H
#define RPP_PPROF_READER_H

#include <ctype.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "test.h"

/* One field of a message: a number, a text, or a message with fields of its own. */
typedef struct field {
    char name[32];
    int64_t number;
    char *text;
    struct field *fields, *next;
} field;

/* --- reading protoc's text
 * ------------------------------------------------------------------------------------------ */

static inline char *unescaped(const char *from, const char **end)
{
    size_t room = 64, used = 0;
    char *out = malloc(room);
    while (*from && *from != '"') {
        char c = *from++;
        if (c == '\\' && isdigit((unsigned char)*from)) {
            c = (char)((from[0] - '0') * 64 + (from[1] - '0') * 8 + (from[2] - '0'));
            from += 3;
        } else if (c == '\\') {
            c = *from == 'n' ? '\n' : *from == 't' ? '\t' : *from == 'r' ? '\r' : *from;
            from++;
        }
        if (used + 2 > room) out = realloc(out, room *= 2);
        out[used++] = c;
    }
    out[used] = '\0';
    *end = from;
    return out;
}

static inline const char *read_fields(const char *at, field **into)
{
    for (;;) {
        at += strspn(at, " \n");
        if (!*at) return at;
        if (*at == '}') return at + 1;
        field *fresh = calloc(1, sizeof *fresh);
        *into = fresh;
        into = &fresh->next;
        size_t length = strcspn(at, ": ");
        if (length >= sizeof fresh->name) abort();
        memcpy(fresh->name, at, length);
        at += length + strspn(at + length, ": ");
        if (*at == '{') {
            at = read_fields(at + 1, &fresh->fields);
        } else if (*at == '"') {
            fresh->text = unescaped(at + 1, &at);
            at++;
        } else {
            fresh->number = strncmp(at, "true", 4) == 0 ? 1 : strtoll(at, NULL, 10);
            at += strcspn(at, "\n");
        }
    }
}

static inline void free_fields(field *it)
{
    for (field *next; it; it = next) {
        next = it->next;
        free_fields(it->fields);
        free(it->text);
        free(it);
    }
}

/* --- looking into it
 * ------------------------------------------------------------------------------------------------ */

static inline field *next_named(field *it, const char *name)
{
    while (it && strcmp(it->name, name) != 0) it = it->next;
    return it;
}

static inline field *nth_field(field *it, const char *name, size_t n)
{
    for (it = next_named(it, name); it && n; n--) it = next_named(it->next, name);
    return it;
}

static inline size_t count_fields(field *it, const char *name)
{
    size_t count = 0;
    for (it = next_named(it, name); it; it = next_named(it->next, name)) count++;
    return count;
}

/* The value of a number field; 0 when it is absent, as proto3 has it. */
static inline int64_t number_in(field *fields, const char *name)
{
    field *found = next_named(fields, name);
    return found ? found->number : 0;
}

/* The texts, functions and locations by their numbers. */
typedef struct pprof_model {
    field *fields;
    field **strings, **functions, **locations;
    size_t string_count, function_count, location_count;
} pprof_model;

static inline field **list_of(field *fields, const char *name, size_t *count)
{
    *count = count_fields(fields, name);
    field **list = calloc(*count + 1, sizeof *list), **at = list;
    for (field *it = next_named(fields, name); it; it = next_named(it->next, name)) *at++ = it;
    return list;
}

static inline const char *string_at(const pprof_model *pprof, int64_t id)
{
    return id >= 0 && (size_t)id < pprof->string_count ? pprof->strings[id]->text : "(no such string)";
}

static inline const char *text_in(const pprof_model *pprof, field *fields, const char *name)
{
    return string_at(pprof, number_in(fields, name));
}

/* Without its fields, which belong to another message. */
static inline void pprof_discard(pprof_model *pprof)
{
    free(pprof->strings);
    free(pprof->functions);
    free(pprof->locations);
    memset(pprof, 0, sizeof *pprof);
}

static inline void pprof_free(pprof_model *pprof)
{
    free_fields(pprof->fields);
    pprof_discard(pprof);
}

/* "leaf:line;...;root:line" of a sample; lines that are 0 are left out. */
static inline const char *stack_text(const pprof_model *pprof, field *sample)
{
    static char text[64 * 1024];
    size_t used = 0;
    text[0] = '\0';
    for (field *it = next_named(sample->fields, "location_id"); it; it = next_named(it->next, "location_id")) {
        if (it->number < 1 || (size_t)it->number > pprof->location_count) return "(no such location)";
        field *line = next_named(pprof->locations[it->number - 1]->fields, "line");
        int64_t function = number_in(line->fields, "function_id"), number = number_in(line->fields, "line");
        if (function < 1 || (size_t)function > pprof->function_count) return "(no such function)";
        const char *name = text_in(pprof, pprof->functions[function - 1]->fields, "name");
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? ";" : "", name);
        if (number) used += (size_t)snprintf(text + used, sizeof text - used, ":%" PRId64, number);
    }
    return text;
}

/* "key=value,..." of a sample, in its order; a number with its unit. */
static inline const char *labels_text(const pprof_model *pprof, field *sample)
{
    static char text[16 * 1024];
    size_t used = 0;
    text[0] = '\0';
    for (field *it = next_named(sample->fields, "label"); it; it = next_named(it->next, "label")) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=", used ? "," : "",
                                 text_in(pprof, it->fields, "key"));
        if (number_in(it->fields, "str")) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s", text_in(pprof, it->fields, "str"));
        } else {
            used += (size_t)snprintf(text + used, sizeof text - used, "%" PRId64 "%s", number_in(it->fields, "num"),
                                     text_in(pprof, it->fields, "num_unit"));
        }
    }
    return text;
}

static inline int64_t value_of(field *sample, size_t n)
{
    field *value = nth_field(sample->fields, "value", n);
    return value ? value->number : -1;
}

static inline int64_t sum_of_values(const pprof_model *pprof, size_t n)
{
    int64_t sum = 0;
    for (field *it = next_named(pprof->fields, "sample"); it; it = next_named(it->next, "sample"))
        sum += value_of(it, n);
    return sum;
}

/* --- from bytes
 * ----------------------------------------------------------------------------------------------------- */

/* A command that reads `bytes` and whose output is wanted as text; NULL when it fails. */
static inline char *output_of(const char *command, const void *bytes, size_t length)
{
    char path[] = "/tmp/rpp-test-XXXXXX", line[8192];
    int input = mkstemp(path);
    FILE *file = input >= 0 ? fdopen(input, "wb") : NULL;
    if (!file || fwrite(bytes, 1, length, file) != length || fclose(file) != 0) abort();
    snprintf(line, sizeof line, command, path);
    FILE *pipe = popen(line, "r");
    if (!pipe) abort();
    size_t room = 64 * 1024, used = 0, got;
    char *output = malloc(room);
    while ((got = fread(output + used, 1, room - used - 1, pipe)) > 0) {
        used += got;
        if (room - used < 2) output = realloc(output, room *= 2);
    }
    output[used] = '\0';
    int status = pclose(pipe);
    unlink(path);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
    free(output);
    return NULL;
}

/* A folder, seen from this file. */
static inline const char *proto_folder(const char *relative)
{
    static char folders[2][1024];
    static unsigned turn;
    char *folder = folders[turn++ % 2];
    const char *slash = strrchr(__FILE__, '/');
    snprintf(folder, sizeof *folders, "%.*s/%s", slash ? (int)(slash - __FILE__) : 1, slash ? __FILE__ : ".", relative);
    return folder;
}

/* The fields of a message that protoc decodes. `file` is in proto/ or beside this file. */
static inline field *decode(const char *type, const char *file, const void *bytes, size_t length)
{
    char command[4096];
    field *fields = NULL;
    snprintf(command, sizeof command, "protoc --decode %s -I %s -I %s %s < %%s", type, proto_folder("../../proto"),
             proto_folder("."), file);
    char *text = output_of(command, bytes, length);
    if (!text) FAIL("protoc is missing or cannot decode these %zu bytes", length);
    read_fields(text, &fields);
    free(text);
    return fields;
}

static inline pprof_model pprof_of(field *fields)
{
    pprof_model read = {.fields = fields};
    read.strings = list_of(fields, "string_table", &read.string_count);
    read.functions = list_of(fields, "function", &read.function_count);
    read.locations = list_of(fields, "location", &read.location_count);
    return read;
}

static inline pprof_model pprof_read(const void *bytes, size_t length)
{
    return pprof_of(decode("perftools.profiles.Profile", "profile.proto", bytes, length));
}

/* --- many at once: a process for each would take its time
 * ------------------------------------------------------------ */

/* All zeros: none. Free the bytes. */
typedef struct pprof_list {
    uint8_t *bytes;
    size_t length;
} pprof_list;

static inline void pprof_list_add(pprof_list *list, const void *bytes, size_t length)
{
    list->bytes = realloc(list->bytes, list->length + length + 11);
    if (!list->bytes) abort();
    uint8_t *at = list->bytes + list->length;
    *at++ = 1 << 3 | 2; /* Profiles.profile */
    for (size_t left = length; *at = (uint8_t)(left & 0x7f), left >>= 7; at++) *at |= 0x80;
    memcpy(++at, bytes, length);
    list->length = (size_t)(at - list->bytes) + length;
}

/* The profiles, one field each. Free them with free_fields. */
static inline field *pprof_list_read(const pprof_list *list)
{
    return decode("rperf_push.test.Profiles", "profiles.proto", list->bytes, list->length);
}

/* What is in a gzip member, by zlib's inflate. Free it with free. */
static inline uint8_t *gunzip(const void *bytes, size_t length, size_t *raw_length)
{
    size_t room = 64 * 1024;
    uint8_t *raw = malloc(room);
    z_stream stream = {.next_in = (z_const Bytef *)bytes, .avail_in = (uInt)length};
    if (inflateInit2(&stream, 15 + 16) != Z_OK) abort();
    int result;
    do {
        if (stream.total_out == room) raw = realloc(raw, room *= 2);
        stream.next_out = raw + stream.total_out;
        stream.avail_out = (uInt)(room - stream.total_out);
        result = inflate(&stream, Z_NO_FLUSH);
    } while (result == Z_OK);
    *raw_length = stream.total_out;
    inflateEnd(&stream);
    if (result == Z_STREAM_END && stream.avail_in == 0) return raw;
    free(raw);
    return NULL;
}

#endif
