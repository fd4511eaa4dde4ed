/* directory_files.h - the files of the directory backend: their names, and the limits on their number and size.
 *
 *   NAME-TIME-PID-SEQ.pb.gz    shop-20261121T101530.250Z-4711-12.pb.gz
 *
 * NAME is the application's name, made safe for every file system. TIME is the start of the window, in UTC.
 *
 * Threads    any thread; nothing is shared.
 * Ownership  the caller keeps all strings and bytes.
 */
#ifndef RPP_DIRECTORY_FILES_H
#define RPP_DIRECTORY_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

#define RPP_FILE_NAME_MAX   200u
#define RPP_FILE_PREFIX_MAX 100u

/* Makes the NAME: keeps letters, digits, '.', '_' and '-', replaces other bytes by '_'. It never begins with a dot and
 * is never empty. */
void rpp_file_prefix(const char *application_name, char prefix[RPP_FILE_PREFIX_MAX]);
void rpp_file_name(const char *prefix, uint64_t time_ns, long pid, uint64_t sequence, char name[RPP_FILE_NAME_MAX]);
/* Returns true if the file has this NAME and our form. */
bool rpp_file_is_ours(const char *prefix, const char *name);

/* Creates the directory and its parents. RPP_IO: errno has the reason. */
RPP_NODISCARD rpp_status rpp_directory_make(const char *directory, mode_t mode);
/* Returns 0, or an errno value. */
int rpp_file_write_all(int fd, const uint8_t *bytes, size_t length);
/* Writes a file of the caller alone, whole or not at all. RPP_IO: errno has the reason; EEXIST: something has that
 * path, and stays as it is. Processes with the same pid in different containers write into one directory, too. */
RPP_NODISCARD rpp_status rpp_file_write_new(const char *path, const uint8_t *bytes, size_t length);
/* Deletes files with that NAME, oldest first, until at most max_files and max_bytes are left (0: no limit). It never
 * deletes the newest. RPP_IO: errno has the reason. */
RPP_NODISCARD rpp_status rpp_directory_trim(const char *directory, const char *prefix, uint64_t max_files,
                                            uint64_t max_bytes);

#endif
