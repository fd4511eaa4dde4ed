/* test_gzip_sink.c - what goes in comes out of inflate and of gzip itself. */
#include "base/gzip_sink.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "pprof_reader.h"
#include "test.h"

/* Half text, half noise: large enough for several chunks of output. */
static uint8_t *material(size_t length)
{
    uint8_t *bytes = malloc(length ? length : 1);
    uint64_t random = 7;
    for (size_t i = 0; i < length; i++) bytes[i] = i / 1000 % 2 ? (uint8_t)rpp_random_next(&random) : (uint8_t)(i % 60);
    return bytes;
}

static void compress_into(rpp_byte_buffer *into, const uint8_t *bytes, size_t length, size_t step, int level)
{
    rpp_gzip_sink *gzip = rpp_gzip_sink_new(&into->sink, level);
    CHECK(gzip);
    for (size_t at = 0; at < length; at += step) {
        size_t piece = length - at < step ? length - at : step;
        CHECK_OK(rpp_byte_sink_write(rpp_gzip_sink_as_sink(gzip), bytes + at, piece));
    }
    CHECK_INT(rpp_gzip_sink_raw_bytes(gzip), length);
    CHECK_OK(rpp_gzip_sink_finish(gzip));
    CHECK_INT(rpp_gzip_sink_finish(gzip), RPP_STOPPED);
    CHECK_INT(rpp_byte_sink_write(rpp_gzip_sink_as_sink(gzip), "x", 1), RPP_STOPPED);
    rpp_gzip_sink_free(gzip);
}

static void check_round_trip(size_t length, size_t step, int level)
{
    rpp_byte_buffer buffer;
    rpp_byte_buffer_init(&buffer, 64 << 20);
    uint8_t *bytes = material(length);
    compress_into(&buffer, bytes, length, step, level);
    size_t raw_length;
    uint8_t *raw = gunzip(buffer.bytes, buffer.length, &raw_length);
    CHECK(raw);
    CHECK_INT(raw_length, length);
    CHECK(memcmp(raw, bytes, length) == 0);
    free(raw);
    free(bytes);
    rpp_byte_buffer_destroy(&buffer);
}

TEST(inflate_reads_it_back)
{
    check_round_trip(0, 1, 1);
    check_round_trip(1, 1, 1);
    for (int level = 1; level <= 9; level++) check_round_trip(300000, 4096, level);
    check_round_trip(70000, 1, 3);
    check_round_trip(3000000, 3000000, 3);
}

TEST(gzip_itself_accepts_it)
{
    rpp_byte_buffer buffer;
    rpp_byte_buffer_init(&buffer, 64 << 20);
    uint8_t *bytes = material(200000);
    compress_into(&buffer, bytes, 200000, 999, 3);
    char *output = output_of("gzip -t < %s", buffer.bytes, buffer.length);
    CHECK(output);
    free(output);
    buffer.bytes[buffer.length - 5] ^= 1; /* the checksum: so that a yes means something */
    CHECK(!output_of("gzip -t < %s 2>/dev/null", buffer.bytes, buffer.length));
    free(bytes);
    rpp_byte_buffer_destroy(&buffer);
}

TEST(a_full_target_fails_it_for_good)
{
    rpp_byte_buffer buffer;
    rpp_byte_buffer_init(&buffer, 20000);
    uint8_t *bytes = material(200000);
    rpp_gzip_sink *gzip = rpp_gzip_sink_new(&buffer.sink, 1);
    CHECK_INT(rpp_byte_sink_write(rpp_gzip_sink_as_sink(gzip), bytes, 200000), RPP_LIMIT);
    CHECK_INT(rpp_byte_sink_write(rpp_gzip_sink_as_sink(gzip), bytes, 1), RPP_LIMIT);
    CHECK_INT(rpp_gzip_sink_finish(gzip), RPP_LIMIT);
    rpp_gzip_sink_free(gzip);
    free(bytes);
    rpp_byte_buffer_destroy(&buffer);
}

typedef struct flaky_sink {
    rpp_byte_sink sink;
    int failures_left;
} flaky_sink;

static rpp_status fail_for_a_while(rpp_byte_sink *sink, const void *bytes, size_t length)
{
    (void)bytes, (void)length;
    return ((flaky_sink *)sink)->failures_left-- > 0 ? RPP_IO : RPP_OK;
}

TEST(nothing_is_written_after_a_gap)
{
    flaky_sink flaky = {{fail_for_a_while}, 1};
    uint8_t *bytes = material(200000);
    rpp_gzip_sink *gzip = rpp_gzip_sink_new(&flaky.sink, 1);
    CHECK_INT(rpp_byte_sink_write(rpp_gzip_sink_as_sink(gzip), bytes, 200000), RPP_IO);
    CHECK_INT(rpp_byte_sink_write(rpp_gzip_sink_as_sink(gzip), bytes, 200000), RPP_IO);
    CHECK_INT(rpp_gzip_sink_finish(gzip), RPP_IO);
    CHECK_INT(flaky.failures_left, 0); /* asked once only */
    rpp_gzip_sink_free(gzip);
    free(bytes);
}

TEST(may_be_freed_half_way)
{
    rpp_byte_buffer buffer;
    rpp_byte_buffer_init(&buffer, 20000);
    rpp_gzip_sink *gzip = rpp_gzip_sink_new(&buffer.sink, 1);
    CHECK_OK(rpp_byte_sink_write(rpp_gzip_sink_as_sink(gzip), "abc", 3));
    rpp_gzip_sink_free(gzip);
    rpp_gzip_sink_free(NULL);
    rpp_byte_buffer_destroy(&buffer);
}

TEST(without_memory_there_is_none)
{
    rpp_byte_buffer buffer;
    rpp_byte_buffer_init(&buffer, 20000);
    size_t nth = 1;
    for (;; nth++) {
        rpp_alloc_fail_at(nth);
        rpp_gzip_sink *gzip = rpp_gzip_sink_new(&buffer.sink, 1);
        rpp_alloc_fail_at(0);
        if (!gzip) continue;
        rpp_gzip_sink_free(gzip);
        break;
    }
    CHECK(nth > 2);
    rpp_byte_buffer_destroy(&buffer);
}
