/* http_descriptors.h - the file descriptors that libcurl opens: they close on exec, and they are recorded, so that a
 * forked child can close its parent's.
 *
 * libcurl asks this file to open and close its sockets, but it creates its wake-up pair itself. The pair is found among
 * the new descriptors after the handle was created, by its behaviour: it is empty, holds a byte after a wake-up, and is
 * empty again after the wake-up was handled.
 *
 * Unknown remain the pair of a name lookup in progress, and eventfds, which newer versions close on exec.
 *
 * Threads    one at a time, under the fork lock; close_all in a forked child.
 * Ownership  libcurl owns the descriptors; the caller owns the handle.
 */
#ifndef RPP_HTTP_DESCRIPTORS_H
#define RPP_HTTP_DESCRIPTORS_H

#include <curl/curl.h>
#include <stddef.h>

#define RPP_DESCRIPTORS_MAX 32u /* two for each of 8 requests while both address families are tried, and the pair */

typedef struct rpp_http_descriptors {
    int open[RPP_DESCRIPTORS_MAX];
    size_t count;
} rpp_http_descriptors;

/* For CURLOPT_OPENSOCKETFUNCTION and CURLOPT_CLOSESOCKETFUNCTION; the context is the descriptors. */
curl_socket_t rpp_http_open_socket(void *descriptors, curlsocktype purpose, struct curl_sockaddr *address);
int rpp_http_close_socket(void *descriptors, curl_socket_t socket);

/* Creates a handle and records its wake-up pair. If the pair is not unique, it records none. NULL if out of memory. */
CURLM *rpp_http_new_multi(rpp_http_descriptors *descriptors);
/* Closes the descriptors and touches no libcurl handle. */
void rpp_http_descriptors_close_all(rpp_http_descriptors *descriptors);

#endif
