/*
 * metrics.h - the plugin: one subscription to the events of the host, the series, and where they go.
 *
 *     event span/ended ─▶ observe ─▶ series ─▶ scrape (GET /metrics), otlp (metrics)
 *                     └─▶ otlp: a queue of spans ─▶ the collector
 *
 * Everything is [loop].
 */
#ifndef METRICS_METRICS_H
#define METRICS_METRICS_H

#include "series.h"
#include "serving.h"

struct otlp;
struct scrape;

struct metrics {
    struct serving serving;
    struct series_set series;
    uint64_t subscription;
    struct scrape *scrapes; /* requests that wait for host/metrics */
    struct otlp *otlp;      /* NULL: nothing is sent */
    tn_value keys;          /* names of keys that may read /metrics, or NULL */
};

/* scrape.c: GET /metrics. */
void scrape_open(struct metrics *metrics);
void scrape_close(struct metrics *metrics); /* cancels the requests that wait */

#endif
