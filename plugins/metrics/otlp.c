/*
 * otlp.c - the queue of spans, and the requests to the collector.
 */
#include "otlp.h"
#include "serving.h"
#include <inttypes.h>
#include <string.h>
#include <tenon/http.h>

struct waiting_span {
    struct waiting_span *next;
    uint64_t size;
    tn_value json;
};

/* One of the two kinds of requests. */
struct sender {
    struct otlp *otlp;
    const char *path;
    uint64_t exchange, timer; /* 0: none */
    int64_t interval_ms;
    uint32_t spans; /* in the open request */
    bool failing;   /* the last request failed: the log says so once */
};

struct otlp {
    const tn_http_1 *http;
    tn_value config;
    struct series_set *series;
    double ratio;
    bool traces;
    struct waiting_span *first, **last;
    uint32_t count;
    uint64_t size;
    struct sender spans, metrics;
};

static void count_spans(struct otlp *otlp, const char *outcome, uint32_t count) {
    const char *labels[] = {outcome};
    if (count > 0) series_add(otlp->series, FAMILY_EXPORT, labels, count);
}

/* ---- Requests ---- */

static void write_attribute(struct tn_text_buffer *out, const char *key, const char *text) {
    (void)tn_text_append(out, "{\"key\":");
    otlp_write_text(out, key);
    (void)tn_text_append(out, ",\"value\":{\"stringValue\":");
    otlp_write_text(out, text);
    (void)tn_text_append(out, "}}");
}

/* The text before the array `list`: {resourceKIND: [{resource: {…}, scopeKIND: [{scope: {…}, list: */
static void write_head(const struct otlp *otlp, struct tn_text_buffer *out, const char *kind, const char *list) {
    tn_value more = tn_get(otlp->config, "attributes");
    (void)tn_text_append_format(out, "{\"resource%s\":[{\"resource\":{\"attributes\":[", kind);
    write_attribute(out, "service.name", tn_get_text(otlp->config, "service", "tenon"));
    for (uint64_t i = 0; more != NULL && i < tn.value->count(more); i++) {
        tn_value key = NULL, value = NULL;
        if (tn.value->entry(more, i, &key, &value) != TN_OK) continue;
        (void)tn_text_append_char(out, ',');
        write_attribute(out, tn_chars(key, NULL), tn_chars(value, NULL));
    }
    (void)tn_text_append_format(out, "]},\"scope%s\":[{\"scope\":{\"name\":\"tenon\"},\"%s\":", kind, list);
}

static void sender_wait(struct sender *sender);

static void TN_ABI on_response(void *user, int32_t event, tn_value value) {
    struct sender *sender = user;
    int64_t status = tn_get_int(value, "status", 0);
    if (event != TN_HTTP_END && event != TN_HTTP_FAILED) return;
    bool sent = event == TN_HTTP_END && status >= 200 && status < 300;
    sender->exchange = 0;
    count_spans(sender->otlp, sent ? "sent" : "failed", sender->spans);
    sender->spans = 0;
    if (!sent && !sender->failing) {
        struct tn_text_buffer text = TN_TEXT_BUFFER(2048);
        if (event == TN_HTTP_END)
            (void)tn_text_append_format(&text, "the collector answers %s with %d; telemetry is lost", sender->path,
                                        (int)status);
        else
            (void)tn_text_append_format(&text, "the collector cannot be reached, so telemetry is lost: %.1500s",
                                        tn_get_text(value, "message", ""));
        tn_log(TN_LOG_WARN, tn_text_chars(&text));
        tn_text_free(&text);
    }
    sender->failing = !sent;
    sender_wait(sender);
}

/* Takes the body, NULL if it could not be made. */
static void sender_send_take(struct sender *sender, tn_value body) {
    struct otlp *otlp = sender->otlp;
    struct tn_text_buffer url = TN_TEXT_BUFFER(4096);
    const char *endpoint = tn_get_text(otlp->config, "endpoint", "");
    size_t length = strlen(endpoint);
    while (length > 0 && endpoint[length - 1] == '/') length--;
    (void)tn_text_append_n(&url, endpoint, length);
    (void)tn_text_append(&url, sender->path);
    tn_value given = tn_get(otlp->config, "headers");
    tn_value headers = given != NULL ? tn_retain(given) : tn_build("{}");
    if (headers != NULL) headers = tn_set_take(headers, "content-type", tn_text("application/json"));
    tn_value request = tn_build("{s:V, s:V, s:V, s:{s:i}, s:{s:i, s:i}, s:i}", "url", tn_text_finish(&url), "headers",
                                headers, "body", body, "timeout", "total_ms", 60000, "retry", "max_attempts", 5,
                                "initial_ms", 1000, "max_bytes", 1 << 20);
    int32_t status =
        request != NULL ? otlp->http->send(tn.host, request, on_response, sender, &sender->exchange) : TN_NO_MEMORY;
    tn_release(request);
    if (status == TN_OK) return;
    sender->exchange = 0;
    count_spans(otlp, "failed", sender->spans);
    sender->spans = 0;
    sender_wait(sender);
}

static tn_value take_batch(struct otlp *otlp, uint32_t *count) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(TN_HTTP_BODY_MAX);
    write_head(otlp, &text, "Spans", "spans");
    for (*count = 0; otlp->first != NULL && *count < OTLP_BATCH_MAX; ++*count) {
        struct waiting_span *span = otlp->first;
        (void)tn_text_append_char(&text, *count == 0 ? '[' : ',');
        (void)tn_text_append_value(&text, span->json);
        otlp->first = span->next;
        if (otlp->first == NULL) otlp->last = &otlp->first;
        otlp->count--;
        otlp->size -= span->size;
        tn_release(span->json);
        serving_free(span);
    }
    (void)tn_text_append(&text, "]}]}]}");
    return tn_text_finish(&text);
}

static void send_spans(struct otlp *otlp) {
    struct sender *sender = &otlp->spans;
    if (sender->exchange != 0 || otlp->first == NULL) return;
    tn_value body = take_batch(otlp, &sender->spans);
    sender_send_take(sender, body);
}

static void send_metrics(struct otlp *otlp) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(TN_HTTP_BODY_MAX);
    write_head(otlp, &text, "Metrics", "metrics");
    otlp_series_write(&text, otlp->series, tn.core->wall_ms(tn.host));
    (void)tn_text_append(&text, "}]}]}");
    sender_send_take(&otlp->metrics, tn_text_finish(&text));
}

/* ---- Time ---- */

static void TN_ABI on_timer(void *argument) {
    struct sender *sender = argument;
    sender->timer = 0;
    if (sender == &sender->otlp->metrics)
        send_metrics(sender->otlp);
    else
        send_spans(sender->otlp);
}

/* The next request comes after the interval; one with spans at once, if a batch waits, and not at all if none does. */
static void sender_wait(struct sender *sender) {
    struct otlp *otlp = sender->otlp;
    bool spans = sender == &otlp->spans;
    if (sender->exchange != 0 || sender->timer != 0 || (spans && otlp->first == NULL)) return;
    int64_t delay_ms = spans && otlp->count >= OTLP_BATCH_MAX ? 0 : sender->interval_ms;
    (void)tn.core->post(tn.host, (uint64_t)delay_ms, on_timer, NULL, sender, &sender->timer);
}

static void sender_stop(struct otlp *otlp, struct sender *sender) {
    if (sender->exchange != 0) (void)otlp->http->cancel(tn.host, sender->exchange);
    if (sender->timer != 0) (void)tn.core->unpost(tn.host, sender->timer);
}

/* ---- Spans ---- */

void otlp_span(struct otlp *otlp, tn_value span) {
    uint64_t size = 0;
    tn_value json = otlp->traces ? otlp_span_json(span, otlp->ratio) : NULL;
    if (json == NULL) return;
    (void)tn_chars(json, &size);
    struct waiting_span *waiting = NULL;
    if (otlp->count < OTLP_SPANS_MAX && otlp->size + size <= OTLP_BYTES_MAX) waiting = serving_alloc(sizeof *waiting);
    if (waiting == NULL) {
        count_spans(otlp, "dropped", 1);
        tn_release(json);
        return;
    }
    *waiting = (struct waiting_span){NULL, size, json};
    *otlp->last = waiting;
    otlp->last = &waiting->next;
    otlp->size += size;
    if (++otlp->count == OTLP_BATCH_MAX && otlp->spans.timer != 0) {
        (void)tn.core->unpost(tn.host, otlp->spans.timer); /* a batch is complete before the interval has passed */
        otlp->spans.timer = 0;
    }
    sender_wait(&otlp->spans);
}

struct otlp *otlp_new(tn_value config, struct series_set *series) {
    const tn_http_1 *http = tn_easy_interface(tn.host, TN_HTTP_1, sizeof *http);
    struct otlp *otlp = http != NULL ? serving_alloc(sizeof *otlp) : NULL;
    if (otlp == NULL) {
        tn_log(TN_LOG_ERROR, "telemetry is not sent: the host has no HTTP client");
        return NULL;
    }
    tn_value traces = tn_get(config, "traces"), metrics = tn_get(config, "metrics");
    otlp->http = http;
    otlp->config = tn_retain(config);
    otlp->series = series;
    otlp->ratio = tn_get_num(config, "ratio", 1);
    otlp->traces = traces == NULL || serving_true(traces);
    otlp->last = &otlp->first;
    otlp->spans = (struct sender){.otlp = otlp, .path = "/v1/traces"};
    otlp->spans.interval_ms = tn_get_int(config, "interval_ms", 5000);
    otlp->metrics = (struct sender){.otlp = otlp, .path = "/v1/metrics"};
    otlp->metrics.interval_ms = tn_get_int(config, "metrics_interval_ms", 60000);
    if (metrics == NULL || serving_true(metrics)) sender_wait(&otlp->metrics);
    return otlp;
}

void otlp_free(struct otlp *otlp) {
    if (otlp == NULL) return;
    sender_stop(otlp, &otlp->spans);
    sender_stop(otlp, &otlp->metrics);
    while (otlp->first != NULL) {
        struct waiting_span *span = otlp->first;
        otlp->first = span->next;
        tn_release(span->json);
        serving_free(span);
    }
    tn_release(otlp->config);
    serving_free(otlp);
}
