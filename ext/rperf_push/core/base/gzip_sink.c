/* gzip_sink.c - zlib's deflate with a gzip header; it writes chunk by chunk. */
#include "base/gzip_sink.h"

#include <limits.h>
#include <stdbool.h>
#include <zlib.h>

#include "base/alloc.h"

#define GZIP_WINDOW_BITS (15 + 16) /* the largest window; 16 asks zlib for gzip's header and trailer */
#define MEMORY_LEVEL     8

struct rpp_gzip_sink {
    rpp_byte_sink sink; /* first: a gzip sink is a sink */
    rpp_byte_sink *target;
    z_stream stream;
    uint64_t raw_bytes;
    rpp_status status; /* of the first failure; bytes after a gap are useless */
    bool finished;
    uint8_t output[16 * 1024];
};

/* Cleared, because zlib reads (and ignores) a few bytes that it never wrote. */
static voidpf zlib_alloc(voidpf context, uInt count, uInt size)
{
    (void)context;
    return rpp_calloc(count, size);
}

static void zlib_free(voidpf context, voidpf block)
{
    (void)context;
    rpp_free(block);
}

/* Runs deflate until it has consumed its input and, when finishing, written all its output. */
static rpp_status run_deflate(rpp_gzip_sink *gzip, int flush)
{
    z_stream *stream = &gzip->stream;
    for (;;) {
        stream->next_out = gzip->output;
        stream->avail_out = sizeof gzip->output;
        int result = deflate(stream, flush);
        if (result == Z_STREAM_ERROR) return RPP_INVALID;

        rpp_status status = rpp_byte_sink_write(gzip->target, gzip->output, sizeof gzip->output - stream->avail_out);
        if (status != RPP_OK) return status;
        if (stream->avail_out != 0 || result == Z_STREAM_END) return RPP_OK;
    }
}

static rpp_status gzip_write(rpp_byte_sink *sink, const void *bytes, size_t length)
{
    rpp_gzip_sink *gzip = (rpp_gzip_sink *)sink;
    if (gzip->finished) return RPP_STOPPED;

    const uint8_t *rest = bytes;
    while (gzip->status == RPP_OK && length > 0) {
        uInt chunk = length > UINT_MAX ? UINT_MAX : (uInt)length;
        gzip->stream.next_in = (z_const Bytef *)rest;
        gzip->stream.avail_in = chunk;
        gzip->status = run_deflate(gzip, Z_NO_FLUSH);
        gzip->raw_bytes += chunk;
        rest += chunk;
        length -= chunk;
    }
    return gzip->status;
}

rpp_gzip_sink *rpp_gzip_sink_new(rpp_byte_sink *target, int level)
{
    rpp_gzip_sink *gzip = rpp_calloc(1, sizeof *gzip);
    if (!gzip) return NULL;
    gzip->sink.write = gzip_write;
    gzip->target = target;
    gzip->stream.zalloc = zlib_alloc;
    gzip->stream.zfree = zlib_free;
    if (deflateInit2(&gzip->stream, level, Z_DEFLATED, GZIP_WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        rpp_free(gzip);
        return NULL;
    }
    return gzip;
}

rpp_byte_sink *rpp_gzip_sink_as_sink(rpp_gzip_sink *gzip)
{
    return &gzip->sink;
}

rpp_status rpp_gzip_sink_finish(rpp_gzip_sink *gzip)
{
    if (gzip->finished) return RPP_STOPPED;
    gzip->stream.next_in = NULL;
    gzip->stream.avail_in = 0;
    if (gzip->status == RPP_OK) gzip->status = run_deflate(gzip, Z_FINISH);
    gzip->finished = true;
    return gzip->status;
}

uint64_t rpp_gzip_sink_raw_bytes(const rpp_gzip_sink *gzip)
{
    return gzip->raw_bytes;
}

void rpp_gzip_sink_free(rpp_gzip_sink *gzip)
{
    if (!gzip) return;
    deflateEnd(&gzip->stream);
    rpp_free(gzip);
}
