/*
 * otlp.h - sends spans and series to a collector: OTLP over HTTP, in JSON.
 *
 *     struct otlp *otlp = otlp_new(config, &series);     // config: the member `otlp` of the plugin's section
 *     otlp_span(otlp, span);                             // an event span/ended
 *     otlp_free(otlp);                                   // what waits is lost
 *
 * Spans wait in a queue, at most OTLP_SPANS_MAX and OTLP_BYTES_MAX; further ones are dropped and counted. One request
 * of each kind is open at a time. A request that fails is repeated by the host with growing pauses; then its spans are
 * counted as failed. Thread: [loop].
 */
#ifndef METRICS_OTLP_H
#define METRICS_OTLP_H

#include "series.h"
#include <tenon/easy.h>
#include <tenon/util/text.h>

#define OTLP_SPANS_MAX 8192
#define OTLP_BYTES_MAX (8u << 20)
#define OTLP_BATCH_MAX 512   /* spans of one request */
#define OTLP_TEXT_MAX  1024u /* bytes of an attribute; what is longer is cut */
#define OTLP_CONTENT_MAX                                                                                               \
    (64u << 10) /* bytes of messages, arguments or a result as JSON; what is longer is left out                        \
                 */

struct otlp;

struct otlp *otlp_new(tn_value config, struct series_set *series); /* NULL: there is no HTTP, or no memory */
void otlp_span(struct otlp *otlp, tn_value span);
void otlp_free(struct otlp *otlp); /* NULL is allowed */

/* otlp_span.c: a span as JSON, a new reference; NULL if it is not sampled, is not part of a trace, or without memory.
 */
tn_value otlp_span_json(tn_value span, double ratio);
/* otlp_series.c: all series as the array `metrics` of a scope. */
void otlp_series_write(struct tn_text_buffer *out, const struct series_set *set, int64_t now_ms);
/* otlp_content.c: the attribute with messages of tenon/message.h in the form of the GenAI conventions, or a value as
 * JSON. */
tn_value otlp_messages(tn_value messages); /* a new reference to a text; NULL if it is too long */
tn_value otlp_value(tn_value value);
/* otlp_text.c: appends a JSON string, cut at OTLP_TEXT_MAX. */
void otlp_write_text(struct tn_text_buffer *out, const char *text);

#endif
