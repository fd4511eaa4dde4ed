/* source_path.c - makes the path of a source file the same on every machine: it removes the place of installation. */
#include "base/source_path.h"

#include <limits.h>
#include <string.h>

#define GEMS           "/gems/"
#define EVAL           "(eval at "
#define COMMIT_DIGITS  12u /* of a gem from git: rack-0a1b2c3d4e5f */
#define LINE_MAX_TENTH (INT_MAX / 10)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* The offset of the version or commit in "rack-3.2.8-java"; 0: there is none. */
static size_t name_length_of(const char *folder, size_t length)
{
    size_t hex = 0;
    while (hex < length && is_hex(folder[length - 1 - hex])) hex++;
    if (hex == COMMIT_DIGITS && length > hex + 1 && folder[length - 1 - hex] == '-') return length - 1 - hex;
    for (size_t at = 1; at + 1 < length; at++) {
        if (folder[at] == '-' && is_digit(folder[at + 1])) return at;
    }
    return 0;
}

/* The last folder wins: gems may be installed below gems and below roots. NULL: the file is in no gem. */
static const char *gem_folder(const char *path, size_t length, size_t *name_length, size_t *folder_length)
{
    for (size_t at = length; at-- > 0;) {
        if (path[at] != '/' || length - at < sizeof GEMS || memcmp(path + at, GEMS, sizeof GEMS - 1)) continue;
        const char *folder = path + at + sizeof GEMS - 1, *end = memchr(folder, '/', (size_t)(path + length - folder));
        if (!end) continue;
        *folder_length = (size_t)(end - folder);
        *name_length = name_length_of(folder, *folder_length);
        if (*name_length) return folder;
    }
    return NULL;
}

static size_t append(char *to, size_t size, size_t at, const char *text, size_t length)
{
    size_t room = size - 1 - at;
    if (length > room) length = room;
    memcpy(to + at, text, length);
    to[at + length] = '\0';
    return at + length;
}

size_t rpp_source_path(char *to, size_t size, const char *path, size_t length, const char *root, size_t root_length)
{
    size_t at = 0, name_length, folder_length;
    to[0] = '\0';
    if (length > sizeof EVAL - 1 && !memcmp(path, EVAL, sizeof EVAL - 1)) {
        at = append(to, size, 0, EVAL, sizeof EVAL - 1);
        path += at;
        length -= at;
    }
    const char *folder = gem_folder(path, length, &name_length, &folder_length);
    if (folder) {
        at = append(to, size, at, folder, name_length);
        return append(to, size, at, folder + folder_length, (size_t)(path + length - folder) - folder_length);
    }
    if (root_length && length > root_length + 1 && path[root_length] == '/' && !memcmp(path, root, root_length)) {
        path += root_length + 1;
        length -= root_length + 1;
    }
    return append(to, size, at, path, length);
}

int rpp_line_in_file(const char *file, size_t file_length, const char *path, size_t length, int line)
{
    if (length == file_length && !memcmp(path, file, length)) return line;
    size_t at = 0;
    while (length - at >= sizeof EVAL - 1 && !memcmp(path + at, EVAL, sizeof EVAL - 1)) at += sizeof EVAL - 1;
    if (!at || length - at <= file_length || memcmp(path + at, file, file_length) || path[at + file_length] != ':')
        return 0;
    int called_at = 0;
    for (at += file_length + 1; at < length && is_digit(path[at]) && called_at < LINE_MAX_TENTH; at++) {
        called_at = 10 * called_at + (path[at] - '0');
    }
    return called_at;
}

bool rpp_is_template_method(const char *name, size_t length)
{
    size_t at = length, id = 0, hash = 0;
    for (; at && is_digit(name[at - 1]); at--) id++;
    if (!id || !at || name[--at] != '_') return false;
    for (; at && is_digit(name[at - 1]); at--) hash++;
    return hash && at > 3 && name[0] == '_' && name[at - 1] == '_' && name[at - 2] == '_';
}
