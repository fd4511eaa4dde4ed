/* hash_index.c - maps a hash to a dense id. All hash tables of the core use it. */
#include "base/hash_index.h"

#include "base/alloc.h"

void rpp_hash_index_destroy(rpp_hash_index *index)
{
    rpp_unreserve(index->slots, index->slot_count, sizeof *index->slots);
    *index = (rpp_hash_index){0};
}

static void put(rpp_hash_slot *slots, size_t slot_count, rpp_hash_slot slot)
{
    size_t mask = slot_count - 1, at = slot.hash & mask;
    while (slots[at].id_plus_1) at = (at + 1) & mask;
    slots[at] = slot;
}

rpp_status rpp_hash_index_reserve(rpp_hash_index *index, size_t more)
{
    if (more > SIZE_MAX / 4 - index->count) return RPP_NO_MEMORY;
    size_t needed = index->count + more, grown = index->slot_count ? index->slot_count : 16;
    /* At most five eighths full: linear probing stays short. */
    while (grown / 8 * 5 < needed) grown *= 2;
    if (grown == index->slot_count) return RPP_OK;

    rpp_hash_slot *slots = rpp_reserve(grown, sizeof *slots);
    if (!slots) return RPP_NO_MEMORY;
    for (size_t at = 0; at < index->slot_count; at++) {
        if (index->slots[at].id_plus_1) put(slots, grown, index->slots[at]);
    }
    rpp_unreserve(index->slots, index->slot_count, sizeof *index->slots);
    index->slots = slots;
    index->slot_count = grown;
    return RPP_OK;
}

void rpp_hash_index_add(rpp_hash_index *index, uint32_t hash, uint32_t id)
{
    put(index->slots, index->slot_count, (rpp_hash_slot){hash, id + 1});
    index->count++;
}

void rpp_hash_index_clear(rpp_hash_index *index)
{
    if (index->slot_count) memset(index->slots, 0, index->slot_count * sizeof *index->slots);
    index->count = 0;
}

void rpp_hash_index_undo(rpp_hash_index *index, uint32_t hash, uint32_t id)
{
    size_t mask = index->slot_count - 1, at = hash & mask;
    while (index->slots[at].id_plus_1 != id + 1) at = (at + 1) & mask;
    index->slots[at] = (rpp_hash_slot){0};
    index->count--;
}

static uint64_t word_at(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

uint32_t rpp_hash_bytes(const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    size_t left = length;
    /* Two lanes: the multiplications of one do not wait for the other. */
    uint64_t one = RPP_HASH_K0, two = RPP_HASH_K1;
    for (; left >= 32; left -= 32, p += 32) {
        one = rpp_hash_mix(word_at(p) ^ RPP_HASH_K1, word_at(p + 8) ^ one);
        two = rpp_hash_mix(word_at(p + 16) ^ RPP_HASH_K2, word_at(p + 24) ^ two);
    }
    if (left >= 16) {
        one = rpp_hash_mix(word_at(p) ^ RPP_HASH_K1, word_at(p + 8) ^ one);
        left -= 16;
        p += 16;
    }
    uint64_t tail[2] = {0, 0};
    if (left) memcpy(tail, p, left);
    two = rpp_hash_mix(tail[0] ^ RPP_HASH_K2, tail[1] ^ two);
    return rpp_hash_words(one ^ length, two);
}
