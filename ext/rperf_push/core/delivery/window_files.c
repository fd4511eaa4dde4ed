/* window_files.c - encodes a window into memory, writes it under a temporary name, then renames it. */
#include "delivery/window_files.h"

#include <errno.h>
#include <fcntl.h>
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

static rpp_status write_file(const rpp_window_files *files, uint64_t time_ns, const rpp_byte_buffer *bytes)
{
    char temporary[4096], name[4096];
    long pid = (long)getpid();
    unsigned long long time = time_ns;
    int room = snprintf(temporary, sizeof temporary, "%s/.%ld-%llu", files->directory, pid, time);
    snprintf(name, sizeof name, "%s/%ld-%llu.pb.gz", files->directory, pid, time);
    if (room < 0 || (size_t)room + 16 > sizeof temporary) {
        errno = ENAMETOOLONG;
        return RPP_IO;
    }
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return RPP_IO;
    int error = rpp_file_write_all(fd, bytes->bytes, bytes->length);
    if (close(fd) != 0 && !error) error = errno;
    if (!error && rename(temporary, name) != 0) error = errno;
    if (!error) return RPP_OK;
    unlink(temporary);
    errno = error;
    return RPP_IO;
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
