/* directory_files.h - the files of the directory backend: their names, and how many of them may stay.
 *
 *   NAME-TIME-PID-SEQ.pb.gz    shop-20261121T101530.250Z-4711-12.pb.gz
 *
 * NAME is the application's, made safe for every file system; TIME is the begin of the window, UTC.
 */
#ifndef RPP_DIRECTORY_FILES_H
#define RPP_DIRECTORY_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "status.h"

#define RPP_FILE_NAME_MAX   200u
#define RPP_FILE_PREFIX_MAX 100u

/* The NAME: letters, digits, '.', '_' and '-' of it, anything else '_'; no dot at its begin; never empty. */
void rpp_file_prefix(const char *application_name, char prefix[RPP_FILE_PREFIX_MAX]);
void rpp_file_name(const char *prefix, uint64_t time_ns, long pid, uint64_t sequence, char name[RPP_FILE_NAME_MAX]);
/* Whether a file is one of ours with that NAME. */
bool rpp_file_is_ours(const char *prefix, const char *name);

/* mkdir -p. RPP_IO: errno says why. */
RPP_NODISCARD rpp_status rpp_directory_make(const char *directory, mode_t mode);
/* 0, or why not. */
int rpp_file_write_all(int fd, const uint8_t *bytes, size_t length);
/* Deletes files with that NAME, oldest first, until at most max_files and max_bytes are left (0: no limit); the newest
 * always stays. RPP_IO: errno says why. */
RPP_NODISCARD rpp_status rpp_directory_trim(const char *directory, const char *prefix, uint64_t max_files,
                                            uint64_t max_bytes);

#endif
