/* hash_index.h - maps a hash to a dense id. All hash tables of the core use it.
 *
 * It uses open addressing with linear probing. A slot holds an id and 32 bits of hash, so growing needs no keys, and a
 * probe compares keys only if these bits are equal. The table that owns the index keeps the keys and compares them.
 *
 * Threads    one at a time.
 * Ownership  the index owns its slots; the table owns the keys.
 */
#ifndef RPP_HASH_INDEX_H
#define RPP_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

#define RPP_INDEX_NONE UINT32_MAX

typedef struct rpp_hash_slot {
    uint32_t hash;
    uint32_t id_plus_1; /* 0: empty */
} rpp_hash_slot;

/* An index of all zeros is empty. */
typedef struct rpp_hash_index {
    rpp_hash_slot *slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t count;
} rpp_hash_index;

void rpp_hash_index_destroy(rpp_hash_index *index);
/* Makes room for `more` ids. */
RPP_NODISCARD rpp_status rpp_hash_index_reserve(rpp_hash_index *index, size_t more);
/* Adds an id. The room must be reserved, and the key must be new. */
void rpp_hash_index_add(rpp_hash_index *index, uint32_t hash, uint32_t id);
/* Removes all ids and keeps the memory. */
void rpp_hash_index_clear(rpp_hash_index *index);
/* Removes the newest id. Only valid in the reverse order of adding, without a reserve in between. */
void rpp_hash_index_undo(rpp_hash_index *index, uint32_t hash, uint32_t id);

/* Returns true if the table's entry `id` has this key. */
typedef bool (*rpp_hash_match)(const void *table, uint32_t id, const void *key);

/* The id with this key, or RPP_INDEX_NONE. It is inline so that the compiler can inline `match`. */
static inline uint32_t rpp_hash_index_find(const rpp_hash_index *index, uint32_t hash, rpp_hash_match match,
                                           const void *table, const void *key)
{
    if (!index->slot_count) return RPP_INDEX_NONE;
    size_t mask = index->slot_count - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
        const rpp_hash_slot *slot = &index->slots[at];
        if (!slot->id_plus_1) return RPP_INDEX_NONE;
        if (slot->hash == hash && match(table, slot->id_plus_1 - 1, key)) return slot->id_plus_1 - 1;
    }
}

/* Multiplies and folds the product's halves together, so that every input bit affects every output bit. */
static inline uint64_t rpp_hash_mix(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t low = a * (b | 1), high = (a ^ (a >> 32)) * UINT64_C(0xd6e8feb86659fd93) + (b ^ (b >> 29));
    return low ^ (high >> 32) ^ (low >> 31);
#endif
}

#define RPP_HASH_K0 UINT64_C(0x9e3779b97f4a7c15)
#define RPP_HASH_K1 UINT64_C(0xc2b2ae3d27d4eb4f)
#define RPP_HASH_K2 UINT64_C(0x165667b19e3779f9)

/* Hashes two words to the 32 bits that an index uses. */
static inline uint32_t rpp_hash_words(uint64_t a, uint64_t b)
{
    uint64_t hash = rpp_hash_mix(a ^ RPP_HASH_K0, b ^ RPP_HASH_K1);
    return (uint32_t)(hash ^ (hash >> 32));
}

uint32_t rpp_hash_bytes(const void *bytes, size_t length);

#endif
