/* stats.h - every number that `RperfPush.stats` shows.
 *
 * One list holds names and meanings. Counters only grow (until the process forks); gauges hold the latest value.
 *
 * Threads    any thread, and signal handlers: each number is one relaxed atomic.
 *            The last error is a text under its own lock; handlers must not use it.
 * Ownership  the process has one set of statistics; texts are copied.
 */
#ifndef RPP_STATS_H
#define RPP_STATS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/label_caps.h"
#include "base/value_types.h"

#define RPP_VALUE_STAT(X, id, field, mode, type, ...) X(field##_encoded, "sum of the " type " values encoded")

#define RPP_STATS_LIST(X)                                                                                              \
    /* capture */                                                                                                      \
    X(samples_captured, "stacks captured")                                                                             \
    X(samples_deferred_busy, "ticks that found the VM, the collector or a table busy; the time went to the next one")  \
    X(samples_deferred_full, "captures put off because the sample buffer was full; the time went to the next one")     \
    X(captures_faulted, "captures given up at a fault while the VM's memory was read; the time went to the next one")  \
    X(samples_refused, "calls of sample that could not be counted: a weight or name that is none, or too many names")  \
    X(samples_truncated, "stacks deeper than the limit, cut at the root")                                              \
    X(samples_overflowed, "samples whose stack or labels no longer fitted the window's tables: under (overflow)")      \
    X(time_lost_ns, "time on a thread's clock that could not be recorded before the thread ended")                     \
    X(allocations_captured, "stacks captured at an allocation")                                                        \
    X(allocations_missed, "sampled allocations without a stack: the VM or a table was busy, or the buffer full")       \
    X(objects_watched, "gauge: objects whose life is followed, for mode heap")                                         \
    X(objects_unwatched, "objects that were to be followed, and found no room in a session")                           \
    X(heap_losses, "times all followed objects were forgotten, because the end of a GC was not heard of")              \
    X(allocation_bursts, "times the hook of the VM that sees allocations was switched on")                             \
    X(ticks, "times the collector asked for a capture at the next safepoint")                                          \
    X(timer_ticks, "times a thread's own timer asked for a capture, by a signal")                                      \
    X(ractor_threads_ignored, "threads of other Ractors, not profiled")                                                \
    X(threads_known, "gauge: threads being profiled")                                                                  \
    X(frames_known, "gauge: methods and blocks in the frame table")                                                    \
    X(frames_unresolved, "gauge: those that still wait for their names")                                               \
    X(frames_dropped, "frames forgotten after three windows without a sample")                                         \
    X(stacks_in_window, "gauge: distinct stacks in the last closed window")                                            \
    X(label_sets_in_window, "gauge: distinct label sets in the last closed window")                                    \
    X(overhead_ns, "time spent in our handler, hooks and jobs on application threads")                                 \
    X(overhead_hooks_ns, "of that, hooks at changes of threads and in the GC, which no sampling period can change")    \
    X(period_ns, "gauge: the sampling period in force, stretched when over budget")                                    \
    X(least_period_ns, "gauge: the shortest period that the engine can keep: signal: the kernel's tick; safepoint: 0") \
    X(kernel_tick_ns, "gauge: how often the kernel looks at timers; engine signal captures at these ticks")            \
    X(preemptions, "gauge: times the kernel took a core from a thread of this process; ticks favour what ends so")     \
    /* windows */                                                                                                      \
    X(windows_closed, "windows closed")                                                                                \
    X(windows_empty, "windows closed without any sample; nothing is sent for them")                                    \
    RPP_VALUE_TYPES(RPP_VALUE_STAT, X)                                                                                 \
    X(samples_encoded, "aggregated samples encoded")                                                                   \
    X(labels_dropped, "labels left out, as a fiber has " RPP_LABELS_CAP_TEXT " at the most")                           \
    X(samples_labels_cut,                                                                                              \
      "samples encoded without some of their labels, as a series may have " RPP_NAMES_CAP_TEXT " names")               \
    X(samples_unlabelled, "samples sent to Parca without their labels: a request may have 1,000 series, of 8 MiB")     \
    X(samples_without_outcome,                                                                                         \
      "samples without status and slow, as a window has " RPP_OUTCOMES_CAP_TEXT " label sets of requests at the most") \
    X(requests_ns, "wall time of samples of requests, with outcome_labels")                                            \
    X(requests_open_ns, "the same of requests that had not ended when their window did (status=open)")                 \
    X(bytes_encoded, "pprof bytes before compression")                                                                 \
    X(bytes_compressed, "pprof bytes after compression")                                                               \
    X(encode_cpu_ns, "CPU time spent encoding and compressing")                                                        \
    X(encode_failures, "windows that could not be encoded and were lost")                                              \
    /* delivery: every payload ends as exactly one of delivered, unconfirmed, dropped_* */                             \
    X(payloads_created, "payloads handed to the uploader")                                                             \
    X(payloads_delivered, "payloads the backend took")                                                                 \
    X(payloads_unconfirmed, "payloads sent whole without an answer; not sent again")                                   \
    X(payloads_resent_after_close, "payloads sent again, as the connection was closed before any answer")              \
    X(payloads_dropped_queue_full, "payloads pushed out of the full queue by newer ones")                              \
    X(payloads_dropped_too_old, "payloads older than the backend takes")                                               \
    X(payloads_dropped_rejected, "payloads the backend refused for good")                                              \
    X(payloads_dropped_retries, "payloads given up after too many tries")                                              \
    X(payloads_dropped_shutdown, "payloads left when the shutdown ended")                                              \
    X(payloads_dropped_spool_full, "payloads deleted from the full spool for newer ones")                              \
    X(payloads_dropped_damaged, "files of the spool found cut or changed, and deleted")                                \
    X(payloads_spooled, "payloads written to the spool")                                                               \
    X(payloads_unspooled, "payloads that left the spool for good, whichever process wrote them")                       \
    X(queue_payloads, "gauge: payloads waiting")                                                                       \
    X(queue_bytes, "gauge: bytes waiting")                                                                             \
    X(spool_files, "gauge: files in the spool, of all processes, when last looked at")                                 \
    X(spool_bytes, "gauge: bytes of these")                                                                            \
    X(spool_errors, "failures of the spool: full disk, directory away or not writable")                                \
    X(uploads_ok, "requests that succeeded")                                                                           \
    X(uploads_retried, "requests that failed and will be sent again")                                                  \
    X(uploads_failed, "requests that failed for good")                                                                 \
    X(uploads_failed_connect, "failed requests: connection, DNS or TLS")                                               \
    X(uploads_failed_timeout, "failed requests: no answer in time")                                                    \
    X(uploads_failed_4xx, "failed requests: answered 4xx")                                                             \
    X(uploads_failed_5xx, "failed requests: answered 5xx")                                                             \
    X(bytes_sent, "bytes of request bodies sent in requests that succeeded")                                           \
    X(last_upload_ok_at_ns, "gauge: when the last request succeeded, ns since the epoch")                              \
    /* life cycle */                                                                                                   \
    X(forks, "times this process was created by a fork while profiling")                                               \
    X(log_lines_dropped, "log lines lost because Ruby did not collect them in time")

typedef enum rpp_stat {
#define X(name, text) RPP_STAT_##name,
    RPP_STATS_LIST(X)
#undef X
        RPP_STAT_COUNT
} rpp_stat;

#define RPP_LAST_ERROR_MAX 512

void rpp_stats_add(rpp_stat stat, uint64_t amount);
void rpp_stats_set(rpp_stat stat, uint64_t value);
uint64_t rpp_stats_get(rpp_stat stat);
const char *rpp_stats_name(rpp_stat stat);
const char *rpp_stats_text(rpp_stat stat);

/* The ticks of a busy thread in a second, with the engine and the period in force; 0: nothing was sampled yet. */
double rpp_stats_effective_frequency(void);

/* Stores a message and the current time. The message must not contain credentials. */
void rpp_stats_set_last_error(const char *message);
/* Copies the last error and returns its time (ns since the epoch), or 0 if there was none. */
uint64_t rpp_stats_last_error(char *message, size_t size);

/* For a forked child and for tests: sets all numbers to zero and creates fresh locks. */
void rpp_stats_reset(void);

#endif
