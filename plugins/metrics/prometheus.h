/*
 * prometheus.h - series in Prometheus' text format, version 0.0.4. Thread: [loop].
 */
#ifndef METRICS_PROMETHEUS_H
#define METRICS_PROMETHEUS_H

#include "series.h"
#include <tenon/easy.h>
#include <tenon/util/text.h>

#define PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Appends all series, and the rows of host/metrics: `measured` is its result, or NULL. */
void prometheus_write(struct tn_text_buffer *out, const struct series_set *set, tn_value measured);

#endif
