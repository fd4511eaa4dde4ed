/* counted.c - gives what the VM's counters say to the rows that were drawn. */
#include "profile/counted.h"

#include "profile/shares.h"

uint64_t rpp_counted_drawn(const rpp_row *rows, size_t count)
{
    uint64_t drawn = 0;
    for (size_t i = 0; i < count; i++) drawn += rows[i].alloc_drawn;
    return drawn;
}

/* given * bytes / drawn: objects of a stack often have the same size, so most of it is a whole number. */
static uint64_t bytes_of(uint64_t given, uint64_t bytes, uint64_t drawn)
{
    return given * (bytes / drawn) + rpp_share_of(given, 0, bytes % drawn, drawn);
}

uint64_t rpp_counted_share_out(rpp_row *rows, size_t count, uint64_t objects)
{
    uint64_t drawn = rpp_counted_drawn(rows, count), before = 0;
    if (!drawn || !objects) return objects;
    for (size_t i = 0; i < count; i++) {
        rpp_row *row = &rows[i];
        if (!row->alloc_drawn) continue;
        uint64_t given = rpp_share_of(objects, before, row->alloc_drawn, drawn);
        before += row->alloc_drawn;
        uint64_t bytes = bytes_of(given, row->alloc_drawn_bytes, row->alloc_drawn);
        row->alloc_objects += given;
        row->alloc_space += bytes;
        rpp_row_give_squares(row, RPP_VALUE_ALLOC_OBJECTS, given, row->alloc_drawn);
        rpp_row_give_squares(row, RPP_VALUE_ALLOC_SPACE, bytes, row->alloc_drawn_bytes);
        row->alloc_drawn = row->alloc_drawn_bytes = 0;
    }
    return 0;
}
