/* string_table.c - maps strings to small ids, for the string table of one pprof. */
#include "encoding/string_table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash_index.h"

#define STRING_MAX 65535u

typedef struct entry {
    uint32_t offset, length;
} entry;

struct rpp_string_table {
    char *bytes; /* all strings, each followed by a NUL */
    size_t used, room;
    entry *entries;
    size_t count, capacity;
    rpp_hash_index index;
};

typedef struct text {
    const char *bytes;
    size_t length;
} text;

static bool is_string(const void *opaque, uint32_t id, const void *wanted)
{
    const rpp_string_table *table = opaque;
    const text *key = wanted;
    entry known = table->entries[id];
    return known.length == key->length && memcmp(table->bytes + known.offset, key->bytes, key->length) == 0;
}

rpp_string_table *rpp_string_table_new(void)
{
    rpp_string_table *table = rpp_calloc(1, sizeof *table);
    uint32_t id;
    if (table && rpp_string_table_intern(table, "", 0, &id) != RPP_OK) {
        rpp_string_table_free(table);
        return NULL;
    }
    return table;
}

void rpp_string_table_free(rpp_string_table *table)
{
    if (!table) return;
    rpp_hash_index_destroy(&table->index);
    rpp_free(table->entries);
    rpp_free(table->bytes);
    rpp_free(table);
}

rpp_status rpp_string_table_intern(rpp_string_table *table, const char *bytes, size_t length, uint32_t *id)
{
    /* Only a string that must be repaired or cut is copied before the lookup, to its final place. */
    bool clean = length <= STRING_MAX && rpp_utf8_prefix(bytes, length, length) == length;
    size_t most = length < STRING_MAX ? length : STRING_MAX;
    text key = {bytes, length};
    if (!clean) {
        if (rpp_grow((void **)&table->bytes, &table->room, table->used + most + 1, 1) != RPP_OK) return RPP_NO_MEMORY;
        key.bytes = table->bytes + table->used;
        key.length = rpp_utf8_copy(table->bytes + table->used, most, bytes, length);
    }

    uint32_t hash = rpp_hash_bytes(key.bytes, key.length);
    uint32_t known = rpp_hash_index_find(&table->index, hash, is_string, table, &key);
    if (known != RPP_INDEX_NONE) {
        *id = known;
        return RPP_OK;
    }

    if (table->used + key.length + 1 > UINT32_MAX || table->count >= RPP_INDEX_NONE - 1) return RPP_LIMIT;
    if (rpp_hash_index_reserve(&table->index, 1) != RPP_OK) return RPP_NO_MEMORY;
    if (rpp_grow((void **)&table->entries, &table->capacity, table->count + 1, sizeof *table->entries) != RPP_OK) {
        return RPP_NO_MEMORY;
    }
    if (clean) {
        if (rpp_grow((void **)&table->bytes, &table->room, table->used + most + 1, 1) != RPP_OK) return RPP_NO_MEMORY;
        if (length) memcpy(table->bytes + table->used, bytes, length);
    }
    *id = (uint32_t)table->count;
    rpp_hash_index_add(&table->index, hash, *id);
    table->entries[table->count++] = (entry){(uint32_t)table->used, (uint32_t)key.length};
    table->bytes[table->used + key.length] = '\0';
    table->used += key.length + 1;
    return RPP_OK;
}

uint32_t rpp_string_table_count(const rpp_string_table *table)
{
    return (uint32_t)table->count;
}

const char *rpp_string_table_get(const rpp_string_table *table, uint32_t id, size_t *length)
{
    *length = table->entries[id].length;
    return table->bytes + table->entries[id].offset;
}
