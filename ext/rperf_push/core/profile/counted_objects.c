/* counted_objects.c - gives what the VM's counters say to the rows that were sampled. */
#include "profile/counted_objects.h"

#include "profile/distribution.h"

uint64_t rpp_counted_sampled(const rpp_row *rows, size_t count)
{
    uint64_t sampled = 0;
    for (size_t i = 0; i < count; i++) sampled += rows[i].alloc_sampled;
    return sampled;
}

/* given * bytes / sampled: objects of a stack often have the same size, so most of it is a whole number. */
static uint64_t bytes_of(uint64_t given, uint64_t bytes, uint64_t sampled)
{
    return given * (bytes / sampled) + rpp_share_of(given, 0, bytes % sampled, sampled);
}

uint64_t rpp_counted_distribute(rpp_row *rows, size_t count, uint64_t objects)
{
    uint64_t sampled = rpp_counted_sampled(rows, count), before = 0;
    if (!sampled || !objects) return objects;
    for (size_t i = 0; i < count; i++) {
        rpp_row *row = &rows[i];
        if (!row->alloc_sampled) continue;
        uint64_t given = rpp_share_of(objects, before, row->alloc_sampled, sampled);
        before += row->alloc_sampled;
        uint64_t bytes = bytes_of(given, row->alloc_sampled_bytes, row->alloc_sampled);
        row->alloc_objects += given;
        row->alloc_space += bytes;
        rpp_row_give_squares(row, RPP_VALUE_ALLOC_OBJECTS, given, row->alloc_sampled);
        rpp_row_give_squares(row, RPP_VALUE_ALLOC_SPACE, bytes, row->alloc_sampled_bytes);
        row->alloc_sampled = row->alloc_sampled_bytes = 0;
    }
    return 0;
}
