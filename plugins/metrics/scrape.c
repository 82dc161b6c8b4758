/*
 * scrape.c - GET /metrics. It shows what all users do, so a key with an owner needs to be named in the configuration.
 */
#include "metrics.h"
#include "prometheus.h"

#define SCRAPE_MAX (16u << 20) /* bytes of the text; beyond it, 500 */

struct scrape {
    struct scrape *next;
    struct metrics *metrics;
    uint64_t request, call;
};

static struct scrape **scrape_at(struct metrics *metrics, uint64_t request) {
    struct scrape **at = &metrics->scrapes;
    while (*at != NULL && (*at)->request != request) at = &(*at)->next;
    return at;
}

static void respond_take(const struct metrics *metrics, uint64_t request, tn_value response) {
    if (response != NULL)
        (void)metrics->serving.server->respond(tn.host, request, response);
    else
        (void)metrics->serving.server->abort(tn.host, request);
    tn_release(response);
}

static bool may_read(const struct metrics *metrics, tn_value caller) {
    if (tn_get_text(caller, "owner", "")[0] == '\0') return true;
    for (uint64_t i = 0; metrics->keys != NULL && i < tn.value->count(metrics->keys); i++)
        if (serving_is(tn.value->at(metrics->keys, i), tn_get_text(caller, "name", ""))) return true;
    return false;
}

static tn_value refusal(tn_value error) {
    int32_t status = serving_error_status(error);
    tn_value shown = tn_set_take(tn_retain(error), "status", tn_int(status));
    return tn_build("{s:i, s:{s:V}}", "status", (int)status, "json", "error", shown);
}

static tn_value page(const struct metrics *metrics, tn_value measured) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(SCRAPE_MAX);
    prometheus_write(&text, &metrics->series, measured);
    tn_value body = tn_text_finish(&text);
    if (body == NULL) return NULL;
    return tn_build("{s:i, s:{s:s}, s:V}", "status", 200, "headers", "content-type", PROMETHEUS_TYPE, "body", body);
}

static void TN_ABI on_measured(void *user, int32_t status, tn_value value) {
    struct scrape *scrape = user;
    scrape->call = 0;
    respond_take(scrape->metrics, scrape->request, status == TN_OK ? page(scrape->metrics, value) : refusal(value));
}

static void scrape_begin(struct scrape *scrape, tn_value caller) {
    struct metrics *metrics = scrape->metrics;
    if (!may_read(metrics, caller)) {
        tn_value error =
            tn_error("PERMISSION_DENIED", "this key belongs to a user; metrics are for the operator's keys, and "
                                          "for those that `prometheus: {keys}` of tenon.metrics names");
        respond_take(metrics, scrape->request, refusal(error));
        tn_release(error);
        return;
    }
    int32_t status =
        metrics->serving.methods->request(tn.host, "host/metrics", TN_Z, NULL, on_measured, scrape, &scrape->call);
    if (status != TN_OK) respond_take(metrics, scrape->request, page(metrics, NULL));
}

static void TN_ABI on_request(void *user, uint64_t request, int32_t event, tn_value value) {
    struct metrics *metrics = user;
    struct scrape **at = scrape_at(metrics, request), *scrape = *at;
    if (event == TN_SERVER_REQUEST && scrape == NULL) {
        scrape = serving_alloc(sizeof *scrape);
        if (scrape == NULL) {
            (void)metrics->serving.server->abort(tn.host, request);
            return;
        }
        *scrape = (struct scrape){*at, metrics, request, 0};
        *at = scrape;
        scrape_begin(scrape, tn_get(value, "caller"));
    } else if (event == TN_SERVER_CLOSED && scrape != NULL) {
        *at = scrape->next;
        if (scrape->call != 0) (void)metrics->serving.methods->cancel(tn.host, scrape->call);
        serving_free(scrape);
    }
}

void scrape_open(struct metrics *metrics) {
    (void)serving_route(&metrics->serving, "GET", "/metrics", "read", "{\"summary\": \"Metrics for Prometheus.\"}",
                        on_request, metrics);
}

void scrape_close(struct metrics *metrics) {
    while (metrics->scrapes != NULL) {
        struct scrape *scrape = metrics->scrapes;
        metrics->scrapes = scrape->next;
        if (scrape->call != 0) (void)metrics->serving.methods->cancel(tn.host, scrape->call);
        serving_free(scrape);
    }
}
