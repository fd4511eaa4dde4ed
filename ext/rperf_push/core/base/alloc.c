/* alloc.c - malloc and similar functions, with a switch that makes the n-th call fail. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Smaller ones are not worth a mapping of their own. */
#define RESERVED_MIN ((size_t)1 << 20)

/* An instrument sees who writes beyond the end of a block only if it is malloc's. */
#if defined(__SANITIZE_ADDRESS__)
#define MAPS_RESERVED 0
#else
#define MAPS_RESERVED 1
#endif

/* Tests set it; production never does, so there an allocation costs only one more relaxed load. */
static atomic_bool watched;
static atomic_size_t asked, fail_at;

static bool must_fail(void)
{
    if (!atomic_load_explicit(&watched, memory_order_relaxed)) return false;
    size_t nth = atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed) + 1;
    return nth == atomic_load_explicit(&fail_at, memory_order_relaxed);
}

void rpp_alloc_fail_at(size_t nth)
{
    atomic_store(&asked, 0);
    atomic_store(&fail_at, nth);
    atomic_store(&watched, true);
}

size_t rpp_alloc_count(void)
{
    return atomic_load(&asked);
}

/* NULL always means failure, so a size of 0 must not return NULL. */
static size_t at_least_one(size_t size)
{
    return size ? size : 1;
}

void *rpp_malloc(size_t size)
{
    return must_fail() ? NULL : malloc(at_least_one(size));
}

void *rpp_calloc(size_t count, size_t size)
{
    return must_fail() ? NULL : calloc(at_least_one(count), at_least_one(size));
}

void *rpp_realloc(void *block, size_t size)
{
    return must_fail() ? NULL : realloc(block, at_least_one(size));
}

char *rpp_strndup(const char *bytes, size_t length)
{
    if (length == SIZE_MAX) return NULL;
    char *copy = rpp_malloc(length + 1);
    if (!copy) return NULL;
    if (length) memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

char *rpp_strdup(const char *text)
{
    return rpp_strndup(text, strlen(text));
}

void rpp_free(void *block)
{
    free(block);
}

static bool is_mapped(size_t count, size_t size)
{
    return MAPS_RESERVED && size && count >= RESERVED_MIN / size;
}

void *rpp_reserve(size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) return NULL;
    if (!is_mapped(count, size)) return rpp_calloc(count, size);
    if (must_fail()) return NULL;
    void *block = mmap(NULL, count * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

void rpp_unreserve(void *block, size_t count, size_t size)
{
    if (!is_mapped(count, size))
        rpp_free(block);
    else if (block)
        munmap(block, count * size);
}

rpp_status rpp_grow(void **items, size_t *capacity, size_t needed, size_t item_size)
{
    if (needed <= *capacity) return RPP_OK;
    size_t most = SIZE_MAX / at_least_one(item_size);
    if (needed > most) return RPP_NO_MEMORY;

    size_t grown = *capacity > most / 2 ? most : *capacity * 2;
    if (grown < 16 && most >= 16) grown = 16;
    if (grown < needed) grown = needed;

    void *moved = rpp_realloc(*items, grown * item_size);
    if (!moved) return RPP_NO_MEMORY;
    *items = moved;
    *capacity = grown;
    return RPP_OK;
}
