/* test_alloc.c - the heap, and making it fail. */
#include "base/alloc.h"

#include "test.h"

TEST(the_nth_allocation_fails_and_only_that)
{
    rpp_alloc_fail_at(2);
    char *first = rpp_malloc(8), *second = rpp_calloc(1, 8), *third = rpp_strdup("abc");
    CHECK_INT(rpp_alloc_count(), 3);
    rpp_alloc_fail_at(0);
    CHECK(first && !second && third);
    CHECK_STR(third, "abc");
    rpp_free(first);
    rpp_free(third);
}

TEST(failing_is_off_at_zero_and_the_count_starts_again)
{
    rpp_alloc_fail_at(0);
    void *block = rpp_malloc(1);
    CHECK(block);
    CHECK_INT(rpp_alloc_count(), 1);
    rpp_free(block);
}

TEST(a_size_of_zero_is_no_failure)
{
    void *a = rpp_malloc(0), *b = rpp_calloc(0, 4), *c = rpp_realloc(NULL, 0);
    CHECK(a && b && c);
    rpp_free(a);
    rpp_free(b);
    rpp_free(c);
    rpp_free(NULL);
}

TEST(sizes_that_overflow_fail)
{
    CHECK(!rpp_strndup("x", SIZE_MAX));
    void *items = NULL;
    size_t capacity = 0;
    CHECK_INT(rpp_grow(&items, &capacity, SIZE_MAX / 4, 8), RPP_NO_MEMORY);
    CHECK(!items && capacity == 0);
}

TEST(strndup_takes_bytes_with_nul)
{
    char *copy = rpp_strndup("a\0b", 3);
    CHECK(memcmp(copy, "a\0b", 4) == 0);
    rpp_free(copy);
    copy = rpp_strndup(NULL, 0);
    CHECK_STR(copy, "");
    rpp_free(copy);
}

TEST(grow_doubles_and_keeps_what_is_there)
{
    uint32_t *items = NULL;
    size_t capacity = 0;
    CHECK_OK(rpp_grow((void **)&items, &capacity, 1, sizeof *items));
    CHECK_INT(capacity, 16);
    for (uint32_t i = 0; i < 16; i++) items[i] = i;
    CHECK_OK(rpp_grow((void **)&items, &capacity, 16, sizeof *items));
    CHECK_INT(capacity, 16);
    CHECK_OK(rpp_grow((void **)&items, &capacity, 17, sizeof *items));
    CHECK_INT(capacity, 32);
    CHECK_OK(rpp_grow((void **)&items, &capacity, 1000, sizeof *items));
    CHECK_INT(capacity, 1000);
    for (uint32_t i = 0; i < 16; i++) CHECK_INT(items[i], i);

    uint32_t *before = items;
    rpp_alloc_fail_at(1);
    CHECK_INT(rpp_grow((void **)&items, &capacity, 1001, sizeof *items), RPP_NO_MEMORY);
    rpp_alloc_fail_at(0);
    CHECK(items == before && capacity == 1000);
    rpp_free(items);
}

/* Small and large: what is given back has been written to, and the next one is zeros again. */
TEST(reserved_memory_is_zeros_each_time)
{
    static const size_t counts[] = {1, 100, 1 << 16, (1 << 20) + 1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (int round = 0; round < 3; round++) {
            uint64_t *words = rpp_reserve(counts[i], sizeof *words);
            CHECK(words);
            CHECK_INT(words[0] | words[counts[i] / 2] | words[counts[i] - 1], 0);
            words[0] = words[counts[i] / 2] = words[counts[i] - 1] = 1;
            rpp_unreserve(words, counts[i], sizeof *words);
        }
    }
    rpp_unreserve(NULL, 1 << 20, 8);
    rpp_unreserve(NULL, 1, 8);
}

TEST(reserving_fails_like_allocating)
{
    rpp_alloc_fail_at(2);
    uint64_t *first = rpp_reserve(1 << 20, sizeof *first);
    CHECK(first);
    CHECK(!rpp_reserve(1 << 20, 8));
    CHECK_INT(rpp_alloc_count(), 2);
    rpp_alloc_fail_at(0);
    CHECK(!rpp_reserve(SIZE_MAX / 2, 8));
    rpp_unreserve(first, 1 << 20, sizeof *first);
}
