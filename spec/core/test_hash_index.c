/* test_hash_index.c - hashes to ids, against a plain array. */
#include "base/hash_index.h"

#include "base/alloc.h"
#include "test.h"

static bool is_number(const void *table, uint32_t id, const void *key)
{
    return ((const uint32_t *)table)[id] == *(const uint32_t *)key;
}

static uint32_t find(const rpp_hash_index *index, uint32_t hash, const uint32_t *numbers, uint32_t key)
{
    return rpp_hash_index_find(index, hash, is_number, numbers, &key);
}

TEST(an_empty_index_finds_nothing)
{
    rpp_hash_index index = {0};
    CHECK(find(&index, 1, NULL, 1) == RPP_INDEX_NONE);
    rpp_hash_index_destroy(&index);
}

TEST(keys_are_told_apart_even_if_their_hashes_agree)
{
    uint32_t numbers[1000];
    rpp_hash_index index = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        numbers[i] = i * 3;
        CHECK_OK(rpp_hash_index_reserve(&index, 1));
        rpp_hash_index_add(&index, i % 7, i);
    }
    for (uint32_t i = 0; i < 1000; i++) CHECK_INT(find(&index, i % 7, numbers, i * 3), i);
    CHECK(find(&index, 3, numbers, 1) == RPP_INDEX_NONE);
    rpp_hash_index_destroy(&index);
}

TEST(undo_takes_back_the_newest)
{
    uint32_t numbers[100];
    rpp_hash_index index = {0};
    CHECK_OK(rpp_hash_index_reserve(&index, 100));
    for (uint32_t i = 0; i < 100; i++) {
        numbers[i] = i;
        rpp_hash_index_add(&index, i / 10, i);
    }
    for (uint32_t i = 100; i-- > 50;) rpp_hash_index_undo(&index, i / 10, i);
    CHECK_INT(index.count, 50);
    for (uint32_t i = 0; i < 100; i++) CHECK_INT(find(&index, i / 10, numbers, i), i < 50 ? i : RPP_INDEX_NONE);
    rpp_hash_index_destroy(&index);
}

TEST(a_reserve_that_fails_changes_nothing)
{
    uint32_t numbers[8] = {5};
    rpp_hash_index index = {0};
    CHECK_OK(rpp_hash_index_reserve(&index, 1));
    rpp_hash_index_add(&index, 9, 0);
    rpp_alloc_fail_at(1);
    CHECK_INT(rpp_hash_index_reserve(&index, 1000), RPP_NO_MEMORY);
    rpp_alloc_fail_at(0);
    CHECK_INT(rpp_hash_index_reserve(&index, SIZE_MAX - 1), RPP_NO_MEMORY);
    CHECK_INT(find(&index, 9, numbers, 5), 0);
    rpp_hash_index_destroy(&index);
}

TEST(hashes_spread)
{
    /* Small numbers, as frame ids are, into 4096 buckets: no bucket may gather many. */
    static unsigned buckets[4096];
    unsigned most = 0;
    for (uint32_t i = 0; i < 4096 * 4; i++) {
        unsigned *bucket = &buckets[rpp_hash_words(i / 16, i % 16) % 4096];
        if (++*bucket > most) most = *bucket;
    }
    CHECK(most < 20);
}

TEST(every_byte_and_the_length_count)
{
    unsigned char bytes[100] = {0};
    for (size_t length = 1; length <= sizeof bytes; length++) {
        uint32_t hash = rpp_hash_bytes(bytes, length);
        CHECK(hash != rpp_hash_bytes(bytes, length - 1));
        for (size_t i = 0; i < length; i++) {
            bytes[i] = 1;
            CHECK(hash != rpp_hash_bytes(bytes, length));
            bytes[i] = 0;
        }
    }
}
