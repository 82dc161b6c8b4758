/*
 * prometheus.c - see prometheus.h.
 */
#include "prometheus.h"
#include <inttypes.h>

/* In a value, a backslash, a quotation mark and a line end are escaped; in `# HELP` the mark is not. */
static void write_escaped(struct tn_text_buffer *out, const char *text, bool quoted) {
    for (; *text != '\0'; text++) {
        if (*text == '\\' || (quoted && *text == '"')) (void)tn_text_append_char(out, '\\');
        if (*text == '\n')
            (void)tn_text_append(out, "\\n");
        else
            (void)tn_text_append_char(out, *text);
    }
}

static void write_head(struct tn_text_buffer *out, const char *name, const char *help, const char *type) {
    (void)tn_text_append_format(out, "# HELP %s ", name);
    write_escaped(out, help, false);
    (void)tn_text_append_format(out, "\n# TYPE %s %s\n", name, type);
}

/* {graph="plan",le="0.1"}; `bound`: NULL, or the value of `le`. */
static void write_labels(struct tn_text_buffer *out, const struct series *series, const char *bound) {
    const struct family *family = &families[series->family];
    char mark = '{';
    for (uint32_t i = 0; family->labels[i] != NULL; i++) {
        (void)tn_text_append_format(out, "%c%s=\"", mark, family->labels[i]);
        write_escaped(out, series->labels[i], true);
        (void)tn_text_append_char(out, '"');
        mark = ',';
    }
    if (bound != NULL) (void)tn_text_append_format(out, "%cle=\"%s\"", mark, bound);
    if (bound != NULL || mark == ',') (void)tn_text_append_char(out, '}');
}

static void write_histogram(struct tn_text_buffer *out, const struct series *series) {
    const struct family *family = &families[series->family];
    uint64_t below = 0;
    for (uint32_t i = 0; i <= SERIES_BOUNDS; i++) {
        char bound[32] = "+Inf";
        if (i < SERIES_BOUNDS) (void)snprintf(bound, sizeof bound, "%.10g", family->bounds[i]);
        below += series->buckets[i];
        (void)tn_text_append_format(out, "%s_bucket", family->name);
        write_labels(out, series, bound);
        (void)tn_text_append_format(out, " %" PRIu64 "\n", below);
    }
    (void)tn_text_append_format(out, "%s_sum", family->name);
    write_labels(out, series, NULL);
    (void)tn_text_append_format(out, " %.17g\n%s_count", series->value, family->name);
    write_labels(out, series, NULL);
    (void)tn_text_append_format(out, " %" PRIu64 "\n", series->count);
}

static void write_family(struct tn_text_buffer *out, const struct series_set *set, enum family_id id) {
    const struct family *family = &families[id];
    if (set->counts[id] == 0) return;
    write_head(out, family->name, family->help, family->bounds != NULL ? "histogram" : "counter");
    for (const struct series *series = set->first; series != NULL; series = series->later) {
        if (series->family != id) continue;
        if (family->bounds != NULL) {
            write_histogram(out, series);
            continue;
        }
        (void)tn_text_append(out, family->name);
        write_labels(out, series, NULL);
        (void)tn_text_append_format(out, " %.17g\n", series->value);
    }
}

static void write_measured(struct tn_text_buffer *out, tn_value row) {
    char name[128];
    (void)snprintf(name, sizeof name, "tenon_%s", tn_get_text(row, "name", "unknown"));
    write_head(out, name, tn_get_text(row, "help", ""), tn_get_text(row, "type", "untyped"));
    (void)tn_text_append_format(out, "%s %.17g\n", name, tn_get_num(row, "value", 0));
}

void prometheus_write(struct tn_text_buffer *out, const struct series_set *set, tn_value measured) {
    tn_value rows = tn_get(measured, "metrics");
    for (uint64_t i = 0; rows != NULL && i < tn.value->count(rows); i++) write_measured(out, tn.value->at(rows, i));
    for (uint32_t i = 0; i < FAMILIES; i++) write_family(out, set, (enum family_id)i);
}
