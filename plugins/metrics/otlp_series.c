/*
 * otlp_series.c - series as metrics of OTLP: cumulative sums and histograms since the start of the plugin.
 */
#include "otlp.h"
#include <inttypes.h>

static void write_attributes(struct tn_text_buffer *out, const struct series *series) {
    const struct family *family = &families[series->family];
    bool any = false;
    (void)tn_text_append(out, "\"attributes\":[");
    for (uint32_t i = 0; family->labels[i] != NULL; i++) {
        if (series->labels[i][0] == '\0') continue; /* no error, no route */
        (void)tn_text_append_format(out, "%s{\"key\":\"%s\",\"value\":{\"stringValue\":", any ? "," : "",
                                    family->attributes[i]);
        otlp_write_text(out, series->labels[i]);
        (void)tn_text_append(out, "}}");
        any = true;
    }
    (void)tn_text_append_char(out, ']');
}

static void write_histogram(struct tn_text_buffer *out, const struct series *series) {
    (void)tn_text_append_format(out, ",\"count\":\"%" PRIu64 "\",\"sum\":%.17g,\"bucketCounts\":[", series->count,
                                series->value);
    for (uint32_t i = 0; i <= SERIES_BOUNDS; i++)
        (void)tn_text_append_format(out, "%s\"%" PRIu64 "\"", i > 0 ? "," : "", series->buckets[i]);
    (void)tn_text_append(out, "],\"explicitBounds\":[");
    for (uint32_t i = 0; i < SERIES_BOUNDS; i++)
        (void)tn_text_append_format(out, "%s%.10g", i > 0 ? "," : "", families[series->family].bounds[i]);
    (void)tn_text_append_char(out, ']');
}

static void write_point(struct tn_text_buffer *out, const struct series *series, int64_t started_ms, int64_t now_ms) {
    (void)tn_text_append_char(out, '{');
    write_attributes(out, series);
    (void)tn_text_append_format(
        out, ",\"startTimeUnixNano\":\"%" PRId64 "000000\",\"timeUnixNano\":\"%" PRId64 "000000\"", started_ms, now_ms);
    if (families[series->family].bounds != NULL)
        write_histogram(out, series);
    else
        (void)tn_text_append_format(out, ",\"asDouble\":%.17g", series->value);
    (void)tn_text_append_char(out, '}');
}

static void write_family(struct tn_text_buffer *out, const struct series_set *set, enum family_id id, int64_t now_ms) {
    const struct family *family = &families[id];
    bool histogram = family->bounds != NULL, any = false;
    (void)tn_text_append_format(out, "{\"name\":\"%s\",\"description\":\"%s\",\"unit\":\"%s\",\"%s\":{%s", family->otlp,
                                family->help, family->unit, histogram ? "histogram" : "sum",
                                histogram ? "" : "\"isMonotonic\":true,");
    (void)tn_text_append(out, "\"aggregationTemporality\":2,\"dataPoints\":[");
    for (const struct series *series = set->first; series != NULL; series = series->later) {
        if (series->family != id) continue;
        if (any) (void)tn_text_append_char(out, ',');
        write_point(out, series, set->started_ms, now_ms);
        any = true;
    }
    (void)tn_text_append(out, "]}}");
}

void otlp_series_write(struct tn_text_buffer *out, const struct series_set *set, int64_t now_ms) {
    bool any = false;
    (void)tn_text_append_char(out, '[');
    for (uint32_t i = 0; i < FAMILIES; i++) {
        if (set->counts[i] == 0) continue;
        if (any) (void)tn_text_append_char(out, ',');
        write_family(out, set, (enum family_id)i, now_ms);
        any = true;
    }
    (void)tn_text_append_char(out, ']');
}
