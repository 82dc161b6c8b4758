/*
 * metrics.c - the plugin `tenon.metrics`: its configuration, and its subscription.
 */
#include "metrics.h"
#include "observe.h"
#include "otlp.h"

TN_PLUGIN("tenon.metrics", "0.1.0", "Telemetry of tenon serve")

static struct metrics *metrics_state; /* between init and deinit */

static void TN_ABI on_event(void *user, int32_t status, tn_value value) {
    struct metrics *metrics = user;
    if (status == TN_FAILED) {
        metrics->subscription = 0;
        tn_log(TN_LOG_ERROR, tn_get_text(value, "message", "the host reports no spans"));
        return;
    }
    if (status != TN_CHUNK) return;
    tn_value params = tn_get(value, "params");
    int64_t missed = tn_get_int(params, "missed", 0);
    if (missed > 0) series_add(&metrics->series, FAMILY_MISSED, NULL, (double)missed);
    if (serving_is(tn_get(value, "event"), "task/ended")) {
        observe_task(&metrics->series, params);
        return;
    }
    observe_span(&metrics->series, params);
    if (metrics->otlp != NULL) otlp_span(metrics->otlp, params);
}

static void subscribe(struct metrics *metrics, double ratio, bool contents) {
    tn_value params = tn_build("{s:[ss], s:f, s:b}", "events", "span/ended", "task/ended", "sample", ratio, "contents",
                               (int)contents);
    int32_t status =
        params != NULL ? metrics->serving.methods->subscribe(tn.host, params, on_event, metrics, &metrics->subscription)
                       : TN_NO_MEMORY;
    if (status != TN_OK) tn_log(TN_LOG_ERROR, "the host reports no spans, so nothing is counted");
    tn_release(params);
}

static void metrics_free(struct metrics *metrics) {
    otlp_free(metrics->otlp);
    series_finish(&metrics->series);
    tn_release(metrics->keys);
    serving_free(metrics);
}

/* Without a section that asks for something, nothing is subscribed to: the host measures nothing. */
static int32_t TN_ABI init(void *self, tn_value config) {
    (void)self;
    tn_value otlp = tn_get(config, "otlp");
    tn_value asked = tn_get(config, "prometheus"), keys = tn_get(asked, "keys");
    bool prometheus = serving_true(asked) || tn.value->kind(asked) == TN_OBJECT;
    if (!prometheus && otlp == NULL) return TN_OK;
    struct metrics *metrics = serving_alloc(sizeof *metrics);
    if (metrics == NULL) return TN_NO_MEMORY;
    if (!serving_open(&metrics->serving) || !series_init(&metrics->series)) {
        metrics_free(metrics);
        return TN_OK;
    }
    if (otlp != NULL) metrics->otlp = otlp_new(otlp, &metrics->series);
    metrics->keys = keys != NULL ? tn_retain(keys) : NULL;
    metrics_state = metrics;
    subscribe(metrics, tn_get_num(otlp, "ratio", 0), serving_true(tn_get(otlp, "contents")));
    if (prometheus) scrape_open(metrics);
    return TN_OK;
}

static void TN_ABI deinit(void *self) {
    (void)self;
    struct metrics *metrics = metrics_state;
    if (metrics == NULL) return;
    scrape_close(metrics);
    if (metrics->subscription != 0) (void)metrics->serving.methods->unsubscribe(tn.host, metrics->subscription);
    metrics_state = NULL;
    metrics_free(metrics);
}

TN_LIFECYCLE(init, NULL, deinit)
