/* window_files.c - encodes a window into memory, then writes it. */
#include "delivery/window_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/directory_files.h"
#include "delivery/session_folder.h"
#include "delivery/window_encoder.h"

#define MAX_BYTES (1u << 30)

struct rpp_window_files {
    char *directory;
    rpp_window_encoder *encoder;
};

rpp_window_files *rpp_window_files_new(const char *directory, unsigned mode, uint32_t frequency)
{
    rpp_window_files *files = rpp_calloc(1, sizeof *files);
    if (!files) return NULL;
    files->directory = rpp_strdup(directory);
    files->encoder = rpp_window_encoder_new(mode, frequency, true);
    if (files->directory && files->encoder) return files;
    rpp_window_files_free(files);
    return NULL;
}

void rpp_window_files_free(rpp_window_files *files)
{
    if (!files) return;
    rpp_free(files->directory);
    rpp_window_encoder_free(files->encoder);
    rpp_free(files);
}

/* A part of a window may begin when another one did: it takes the next nanosecond that no file has, so that their order
 * stays. */
static rpp_status write_file(const rpp_window_files *files, uint64_t time_ns, const rpp_byte_buffer *bytes)
{
    size_t size = strlen(files->directory) + 64;
    char *path = rpp_malloc(size);
    if (!path) return RPP_NO_MEMORY;
    rpp_status status;
    do {
        snprintf(path, size, "%s/%ld-%" PRIu64 ".pb.gz", files->directory, (long)getpid(), time_ns++);
        status = rpp_file_write_new(path, bytes->bytes, bytes->length);
    } while (status == RPP_IO && errno == EEXIST);
    int why = errno;
    rpp_free(path);
    errno = why;
    return status;
}

rpp_status rpp_window_files_write(const rpp_window_files *files, const rpp_profile *profile,
                                  const rpp_frame_names *names)
{
    rpp_byte_buffer bytes;
    uint64_t samples;
    if (rpp_session_folder_is_abandoned(files->directory)) return RPP_STOPPED;
    rpp_byte_buffer_init(&bytes, MAX_BYTES);
    rpp_status status = rpp_window_encoder_encode(files->encoder, profile, names, &bytes, &samples);
    if (status == RPP_OK && samples) status = write_file(files, rpp_profile_time_ns(profile), &bytes);
    if (status == RPP_IO && errno == ENOENT) status = RPP_STOPPED;
    rpp_byte_buffer_destroy(&bytes);
    return status;
}
