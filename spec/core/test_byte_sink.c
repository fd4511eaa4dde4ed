/* test_byte_sink.c - a buffer that grows up to its ceiling and gives its bytes away. */
#include "base/byte_sink.h"

#include "base/alloc.h"
#include "test.h"

TEST(keeps_what_is_written_in_order)
{
    rpp_byte_buffer buffer;
    rpp_byte_buffer_init(&buffer, 1 << 20);
    for (unsigned i = 0; i < 100000; i++) {
        uint8_t byte = (uint8_t)(i * 7);
        CHECK_OK(rpp_byte_sink_write(&buffer.sink, &byte, 1));
    }
    size_t length;
    uint8_t *bytes = rpp_byte_buffer_take(&buffer, &length);
    CHECK_INT(length, 100000);
    for (unsigned i = 0; i < 100000; i++) CHECK_INT(bytes[i], (uint8_t)(i * 7));
    rpp_free(bytes);
    CHECK_INT(buffer.length, 0);
    CHECK_OK(rpp_byte_sink_write(&buffer.sink, "again", 5));
    CHECK_INT(buffer.length, 5);
    rpp_byte_buffer_destroy(&buffer);
}

TEST(stops_at_the_ceiling_and_keeps_what_it_has)
{
    for (size_t ceiling = 0; ceiling < 20000; ceiling += 1 + ceiling / 3) {
        rpp_byte_buffer buffer;
        rpp_byte_buffer_init(&buffer, ceiling);
        for (size_t i = 0; i < ceiling; i++) CHECK_OK(rpp_byte_sink_write(&buffer.sink, "x", 1));
        CHECK(buffer.capacity <= ceiling);
        CHECK_INT(rpp_byte_sink_write(&buffer.sink, "y", 1), RPP_LIMIT);
        CHECK_INT(rpp_byte_sink_write(&buffer.sink, "", 0), RPP_OK);
        CHECK_INT(buffer.length, ceiling);
        rpp_byte_buffer_destroy(&buffer);
    }
}

TEST(a_write_too_large_takes_nothing)
{
    rpp_byte_buffer buffer;
    rpp_byte_buffer_init(&buffer, 10);
    CHECK_OK(rpp_byte_sink_write(&buffer.sink, "123", 3));
    CHECK_INT(rpp_byte_sink_write(&buffer.sink, "12345678", 8), RPP_LIMIT);
    CHECK_INT(rpp_byte_sink_write(&buffer.sink, "", SIZE_MAX), RPP_LIMIT);
    CHECK_OK(rpp_byte_sink_write(&buffer.sink, "4567890", 7));
    CHECK(memcmp(buffer.bytes, "1234567890", 10) == 0);
    rpp_byte_buffer_destroy(&buffer);
}

TEST(an_empty_buffer_gives_nothing)
{
    rpp_byte_buffer buffer;
    size_t length = 1;
    rpp_byte_buffer_init(&buffer, 10);
    CHECK(!rpp_byte_buffer_take(&buffer, &length));
    CHECK_INT(length, 0);
    rpp_byte_buffer_destroy(&buffer);
}

TEST(without_memory_it_stays_as_it_was)
{
    rpp_byte_buffer buffer;
    uint8_t block[5000] = {1};
    rpp_byte_buffer_init(&buffer, 1 << 20);
    rpp_alloc_fail_at(1);
    CHECK_INT(rpp_byte_sink_write(&buffer.sink, block, 10), RPP_NO_MEMORY);
    CHECK_OK(rpp_byte_sink_write(&buffer.sink, block, 10));
    rpp_alloc_fail_at(1);
    CHECK_INT(rpp_byte_sink_write(&buffer.sink, block, sizeof block), RPP_NO_MEMORY);
    CHECK_INT(buffer.length, 10);
    CHECK_OK(rpp_byte_sink_write(&buffer.sink, block, sizeof block));

    size_t length;
    rpp_alloc_fail_at(1); /* shrinking fails; the bytes come all the same */
    uint8_t *bytes = rpp_byte_buffer_take(&buffer, &length);
    rpp_alloc_fail_at(0);
    CHECK(bytes && length == 10 + sizeof block);
    rpp_free(bytes);
    rpp_byte_buffer_destroy(&buffer);
}
