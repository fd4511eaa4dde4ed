/* label_bytes.c - labels as bytes, for storage with a profile. */
#include "backends/label_bytes.h"

#include <stdbool.h>
#include <string.h>

#define LENGTHS_BYTES 8u

void rpp_put32(uint8_t *at, uint32_t number)
{
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(number >> 8 * i);
}

uint32_t rpp_get32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

size_t rpp_label_bytes_length(const rpp_pairs *labels)
{
    size_t length = 0;
    for (size_t i = 0; i < labels->count; i++) {
        length += LENGTHS_BYTES + strlen(labels->items[i].key) + strlen(labels->items[i].value);
    }
    return length;
}

uint8_t *rpp_label_bytes_put(uint8_t *at, const rpp_pairs *labels)
{
    for (size_t i = 0; i < labels->count; i++) {
        const rpp_pair *pair = &labels->items[i];
        size_t key = strlen(pair->key), value = strlen(pair->value);
        rpp_put32(at, (uint32_t)key);
        rpp_put32(at + 4, (uint32_t)value);
        memcpy(at + LENGTHS_BYTES, pair->key, key);
        memcpy(at + LENGTHS_BYTES + key, pair->value, value);
        at += LENGTHS_BYTES + key + value;
    }
    return at;
}

/* Do not trust the bytes, even if their checksum is right. */
rpp_status rpp_label_bytes_read(const uint8_t *at, size_t left, rpp_pairs *labels)
{
    while (left) {
        if (left < LENGTHS_BYTES) return RPP_INVALID;
        size_t key = rpp_get32(at), value = rpp_get32(at + 4);
        left -= LENGTHS_BYTES;
        if (!key || key > left || value > left - key) return RPP_INVALID;
        const char *text = (const char *)at + LENGTHS_BYTES;
        bool reserved = key >= 2 && memcmp(text, "__", 2) == 0;
        if (reserved || memchr(text, '\0', key + value)) return RPP_INVALID;
        rpp_status status = rpp_pairs_put(labels, text, key, text + key, value);
        if (status != RPP_OK) return status;
        left -= key + value;
        at += LENGTHS_BYTES + key + value;
    }
    return RPP_OK;
}
