/* spool_file.h - the name and the content of a spool file. It opens no file.
 *
 *   TIME-DESTINATION-WRITER-SEQUENCE-BYTES.STATE      each but the last in hexadecimal, the first three with 16 digits,
 *                                                     so that names in their order are oldest first
 *   STATE    ready     whole, waiting
 *            sending   the request may have gone out
 *            writing   not whole yet
 *
 *   0  "RPPSPOOL"          8  version      12  tries so far            16  CRC-32 of all from byte 20 on
 *   20 length of the labels               24  length of the profile   32  time_ns      40  duration_ns
 *   48 raw_length         56  sequence    64  samples                 72  group              80  8 unused bytes
 *   88 pid
 *   96 the labels (label_bytes.h); then the payload's bytes
 *
 * Numbers are little-endian, of 4 bytes up to byte 24, else of 8; of the tries, 16 bits count those begun, 6 those that
 * failed alone, 2 those whose connection was closed, and 8 those answered 500. Nothing else is written: no address, no
 * header, no credentials.
 *
 * A file that was cut, or changed anywhere except in its tries, is detected.
 *
 * Threads    any thread; the functions are pure.
 * Ownership  the caller frees what is returned with rpp_free; read takes the bytes.
 */
#ifndef RPP_SPOOL_FILE_H
#define RPP_SPOOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/payload.h"

#define RPP_SPOOL_NAME_MAX 128u
#define RPP_SPOOL_FILE_MAX (80u << 20) /* a larger file is not ours */

#define RPP_SPOOL_TRIES_OFFSET 12
#define RPP_SPOOL_TRIES_BYTES  4u

typedef enum rpp_spool_state { RPP_SPOOL_READY, RPP_SPOOL_SENDING, RPP_SPOOL_WRITING } rpp_spool_state;

typedef struct rpp_spool_name {
    uint64_t time_ns;     /* start of the window */
    uint64_t destination; /* see spool_destination.h */
    uint64_t writer;      /* a random number of the process */
    uint64_t sequence;
    uint64_t bytes; /* length of the file */
    rpp_spool_state state;
} rpp_spool_name;

const char *rpp_spool_name_text(const rpp_spool_name *name, char text[RPP_SPOOL_NAME_MAX]);
/* False: the text is not exactly such a name. */
bool rpp_spool_name_parse(const char *text, rpp_spool_name *name);
/* < 0: a is older. */
int rpp_spool_name_compare(const rpp_spool_name *a, const rpp_spool_name *b);

/* Everything before the bytes of the profile. Free it with rpp_free. */
RPP_NODISCARD rpp_status rpp_spool_file_head(const rpp_payload *payload, const rpp_pairs *labels, long pid,
                                             uint8_t **head, size_t *length);
void rpp_spool_file_put_tries(rpp_tries tries, uint8_t bytes[RPP_SPOOL_TRIES_BYTES]);
/* Takes ownership of the bytes of a whole file, even on failure. RPP_INVALID: the file is cut, damaged or not ours. */
RPP_NODISCARD rpp_status rpp_spool_file_read(uint8_t *bytes, size_t length, rpp_payload **payload);

#endif
