/* uploading.h - flushing and stopping an uploader by a deadline, for its tests. */
#ifndef UPLOADING_H
#define UPLOADING_H

#include "base/clock.h"
#include "delivery/uploader.h"

/* What is lost from now on makes the flush fail. */
static inline uint64_t lost_so_far(rpp_uploader *uploader)
{
    return rpp_uploader_begin_flush(uploader).lost_before;
}

static inline rpp_status flush_by(rpp_uploader *uploader, uint64_t lost_before, uint64_t deadline_ns)
{
    rpp_flush flush = {.lost_before = lost_before};
    rpp_cancellation cancellation = {.deadline_ns = deadline_ns};
    return rpp_uploader_flush(uploader, &flush, &cancellation);
}

/* An interrupted client returns within milliseconds. */
static inline rpp_status stop_by(rpp_uploader *uploader, uint64_t deadline_ns)
{
    rpp_cancellation cancellation = {.deadline_ns = deadline_ns + RPP_NS_PER_S};
    return rpp_uploader_stop(uploader, deadline_ns, &cancellation);
}

#endif
