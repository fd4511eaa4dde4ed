/* series_labels.c - the labels that identify a series. */
#include "backends/series_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "settings/pairs.h"

#define LABEL_VALUE_MAX 2048u /* Pyroscope's limit; Parca has none */

/* Makes the value valid UTF-8 within the limit. An empty value means no label. The first value of a name wins. */
static rpp_status put(rpp_pairs *labels, const char *key, const char *value)
{
    char text[LABEL_VALUE_MAX];
    size_t length = value ? rpp_utf8_copy(text, sizeof text, value, strlen(value)) : 0;
    if (!length || rpp_pairs_get(labels, key)) return RPP_OK;
    return rpp_pairs_put(labels, key, strlen(key), text, length);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const rpp_pair *)a)->key, ((const rpp_pair *)b)->key);
}

static rpp_status put_host_and_pid(rpp_pairs *labels, const rpp_settings *settings)
{
    char hostname[256] = "", pid[24];
    rpp_status status = RPP_OK;
    if (settings->report_hostname && gethostname(hostname, sizeof hostname - 1) == 0) {
        status = put(labels, "hostname", hostname);
    }
    if (settings->report_pid && status == RPP_OK) {
        snprintf(pid, sizeof pid, "%ld", (long)getpid());
        status = put(labels, "pid", pid);
    }
    return status;
}

static rpp_status copy(const rpp_pairs *from, rpp_pairs *labels)
{
    rpp_pairs all = {0};
    for (size_t i = 0; i < from->count; i++) {
        const rpp_pair *pair = &from->items[i];
        rpp_status status = rpp_pairs_put(&all, pair->key, strlen(pair->key), pair->value, strlen(pair->value));
        if (status == RPP_OK) continue;
        rpp_pairs_destroy(&all);
        return status;
    }
    *labels = all;
    return RPP_OK;
}

rpp_status rpp_series_labels(const rpp_settings *settings, const rpp_payload *payload, rpp_pairs *labels)
{
    if (payload->labels.count) return copy(&payload->labels, labels);
    rpp_pairs all = {0};
    const char *name = settings->application_name;
    rpp_status status = put(&all, "service_name", name && *name ? name : "unknown_service");
    for (size_t i = 0; i < settings->tags.count && status == RPP_OK; i++) {
        const rpp_pair *tag = &settings->tags.items[i];
        if (strncmp(tag->key, "__", 2) != 0) status = put(&all, tag->key, tag->value);
    }
    if (status == RPP_OK) status = put_host_and_pid(&all, settings);
    if (status != RPP_OK) {
        rpp_pairs_destroy(&all);
        return status;
    }
    qsort(all.items + 1, all.count - 1, sizeof *all.items, compare_keys);
    *labels = all;
    return RPP_OK;
}
