/* rb_chain.h - the delivery chain of a continuous session: it creates and frees all parts together.
 *
 * Threads    new: under the GVL. let_go: any thread that holds none of the chain's locks.
 * Ownership  the chain owns its parts and counts its users: its own threads count as one, each call that waits for them
 *            as another.
 */
#ifndef RB_CHAIN_H
#define RB_CHAIN_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/delivery/exporter.h"
#include "core/delivery/uploader.h"
#include "core/http/http_client.h"
#include "core/profile/pipeline.h"

typedef struct rb_rpp_chain {
    rpp_settings *settings;
    rpp_payload_queue *queue;
    rpp_http_client *http;
    rpp_backend *backend;
    rpp_exporter *exporter;
    rpp_spool *spool; /* NULL: no spool_directory */
    rpp_uploader *uploader;
    rpp_pipeline *pipeline;
    _Atomic unsigned users; /* the last user frees it */
} rb_rpp_chain;

/* Takes ownership of the settings on every path. The chain's threads are its first user; none runs yet. A thread inside
 * libcurl holds the fork lock. NULL if out of memory. */
rb_rpp_chain *rb_rpp_chain_new(rpp_settings *settings, pthread_mutex_t *fork_lock);
void rb_rpp_chain_let_go(rb_rpp_chain *chain);

#endif
