/*
 * series.c - the table of families, and the series of each.
 */
#include "series.h"
#include "serving.h"
#include <math.h>
#include <string.h>

/* Those that the GenAI conventions give for durations, with two smaller ones; and for tokens. */
static const double seconds[SERIES_BOUNDS] = {0.001, 0.005, 0.01, 0.02, 0.04,  0.08,  0.16,  0.32,
                                              0.64,  1.28,  2.56, 5.12, 10.24, 20.48, 40.96, 81.92};
static const double tokens[SERIES_BOUNDS] = {
    1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864, 268435456, 1073741824};

const struct family families[FAMILIES] = {
    [FAMILY_RUNS] = {"tenon_runs_total",
                     "Runs that have ended or wait for an answer.",
                     "tenon.runs",
                     "{run}",
                     {"graph", "status"},
                     {"tenon.graph", "tenon.status"},
                     NULL},
    [FAMILY_RUN_SECONDS] = {"tenon_run_duration_seconds",
                            "Duration of runs.",
                            "tenon.run.duration",
                            "s",
                            {"graph"},
                            {"tenon.graph"},
                            seconds},
    [FAMILY_STEPS] = {"tenon_steps_total",
                      "Super-steps, also of nested runs.",
                      "tenon.steps",
                      "{step}",
                      {"graph", "outcome"},
                      {"tenon.graph", "tenon.outcome"},
                      NULL},
    [FAMILY_STEP_SECONDS] = {"tenon_step_duration_seconds",
                             "Duration of super-steps, with their checkpoints.",
                             "tenon.step.duration",
                             "s",
                             {"graph"},
                             {"tenon.graph"},
                             seconds},
    [FAMILY_NODES] = {"tenon_nodes_total",
                      "Attempts of nodes.",
                      "tenon.nodes",
                      "{attempt}",
                      {"graph", "node", "outcome"},
                      {"tenon.graph", "tenon.node", "tenon.outcome"},
                      NULL},
    [FAMILY_NODE_SECONDS] = {"tenon_node_duration_seconds",
                             "Duration of attempts of nodes.",
                             "tenon.node.duration",
                             "s",
                             {"graph", "node"},
                             {"tenon.graph", "tenon.node"},
                             seconds},
    [FAMILY_MODEL_CALLS] = {"tenon_model_calls_total",
                            "Calls of models, each with its retries and fallbacks.",
                            "tenon.model.calls",
                            "{call}",
                            {"model", "operation", "outcome", "code"},
                            {"gen_ai.request.model", "gen_ai.operation.name", "tenon.outcome", "error.type"},
                            NULL},
    [FAMILY_MODEL_SECONDS] = {"tenon_model_duration_seconds",
                              "Duration of calls of models.",
                              "gen_ai.client.operation.duration",
                              "s",
                              {"model", "operation", "provider"},
                              {"gen_ai.request.model", "gen_ai.operation.name", "gen_ai.provider.name"},
                              seconds},
    [FAMILY_MODEL_TOKENS] = {"tenon_model_tokens",
                             "Tokens of calls of models, by type: input or output.",
                             "gen_ai.client.token.usage",
                             "{token}",
                             {"model", "operation", "provider", "type"},
                             {"gen_ai.request.model", "gen_ai.operation.name", "gen_ai.provider.name",
                              "gen_ai.token.type"},
                             tokens},
    [FAMILY_MODEL_ATTEMPTS] = {"tenon_model_attempts_total",
                               "Requests to providers, with retries and fallbacks.",
                               "tenon.model.attempts",
                               "{attempt}",
                               {"model"},
                               {"gen_ai.request.model"},
                               NULL},
    [FAMILY_MODEL_COST] = {"tenon_model_cost_total",
                           "Cost of calls of models, in the currency of the prices.",
                           "tenon.model.cost",
                           "1",
                           {"model"},
                           {"gen_ai.request.model"},
                           NULL},
    [FAMILY_TOOL_CALLS] = {"tenon_tool_calls_total",
                           "Calls of tools.",
                           "tenon.tool.calls",
                           "{call}",
                           {"tool", "outcome", "code"},
                           {"gen_ai.tool.name", "tenon.outcome", "error.type"},
                           NULL},
    [FAMILY_TOOL_SECONDS] = {"tenon_tool_duration_seconds",
                             "Duration of calls of tools.",
                             "tenon.tool.duration",
                             "s",
                             {"tool"},
                             {"gen_ai.tool.name"},
                             seconds},
    [FAMILY_REQUESTS] = {"tenon_http_requests_total",
                         "Requests over HTTP.",
                         "tenon.http.requests",
                         "{request}",
                         {"method", "route", "status"},
                         {"http.request.method", "http.route", "http.response.status_code"},
                         NULL},
    [FAMILY_REQUEST_SECONDS] = {"tenon_http_request_duration_seconds",
                                "Duration of requests over HTTP.",
                                "http.server.request.duration",
                                "s",
                                {"method", "route"},
                                {"http.request.method", "http.route"},
                                seconds},
    [FAMILY_RECEIVED] = {"tenon_http_received_bytes_total",
                         "Bytes of the bodies of requests.",
                         "tenon.http.received",
                         "By",
                         {"route"},
                         {"http.route"},
                         NULL},
    [FAMILY_SENT] = {"tenon_http_sent_bytes_total",
                     "Bytes of the responses.",
                     "tenon.http.sent",
                     "By",
                     {"route"},
                     {"http.route"},
                     NULL},
    [FAMILY_STORE] = {"tenon_store_requests_total",
                      "Requests to the store.",
                      "tenon.store.requests",
                      "{request}",
                      {"operation", "outcome", "code"},
                      {"db.operation.name", "tenon.outcome", "error.type"},
                      NULL},
    [FAMILY_STORE_SECONDS] = {"tenon_store_request_duration_seconds",
                              "Duration of requests to the store.",
                              "tenon.store.request.duration",
                              "s",
                              {"operation"},
                              {"db.operation.name"},
                              seconds},
    [FAMILY_TASKS] = {"tenon_tasks_total",
                      "Tasks that workers of this host have handled.",
                      "tenon.tasks",
                      "{task}",
                      {"type", "outcome"},
                      {"tenon.task.type", "tenon.outcome"},
                      NULL},
    [FAMILY_TASK_SECONDS] = {"tenon_task_duration_seconds",
                             "Time for which a worker of this host has had a Task.",
                             "tenon.task.duration",
                             "s",
                             {"type"},
                             {"tenon.task.type"},
                             seconds},
    [FAMILY_MISSED] = {"tenon_telemetry_missed_total",
                       "Events that came too fast to be counted here.",
                       "tenon.telemetry.missed",
                       "{event}",
                       {NULL},
                       {NULL},
                       NULL},
    [FAMILY_EXPORT] = {"tenon_telemetry_spans_total",
                       "Spans for the collector: sent, failed, or dropped from the queue.",
                       "tenon.telemetry.spans",
                       "{span}",
                       {"outcome"},
                       {"tenon.outcome"},
                       NULL},
};

bool series_init(struct series_set *set) {
    memset(set, 0, sizeof *set);
    set->last = &set->first;
    set->started_ms = tn.core->wall_ms(tn.host);
    series_add(set, FAMILY_MISSED, NULL, 0);
    return set->first != NULL;
}

void series_finish(struct series_set *set) {
    while (set->first != NULL) {
        struct series *series = set->first;
        set->first = series->later;
        serving_free(series);
    }
}

static uint32_t label_count(enum family_id family) {
    uint32_t count = 0;
    while (families[family].labels[count] != NULL) count++;
    return count;
}

/* Whole characters only. */
static size_t cut(const char *text) {
    size_t length = strlen(text);
    if (length <= SERIES_LABEL_MAX) return length;
    length = SERIES_LABEL_MAX;
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) length--;
    return length;
}

/* The labels one after the other, each with a NUL. */
struct label_key {
    char text[SERIES_LABELS * (SERIES_LABEL_MAX + 1)];
    size_t length;
    uint32_t hash;
};

static void key_make(struct label_key *key, enum family_id family, const char *const *labels) {
    key->length = 0;
    for (uint32_t i = 0; i < label_count(family); i++) {
        const char *text = labels != NULL && labels[i] != NULL ? labels[i] : "";
        size_t length = cut(text);
        memcpy(key->text + key->length, text, length);
        key->length += length;
        key->text[key->length++] = '\0';
    }
    key->hash = 2166136261u ^ (uint32_t)family;
    for (size_t i = 0; i < key->length; i++) key->hash = (key->hash ^ (unsigned char)key->text[i]) * 16777619u;
}

static struct series *find(const struct series_set *set, enum family_id family, const struct label_key *key) {
    struct series *series = set->table[key->hash % SERIES_TABLE];
    while (series != NULL && (series->family != family || memcmp(series->text, key->text, key->length) != 0))
        series = series->next;
    return series;
}

static struct series *make(struct series_set *set, enum family_id family, const struct label_key *key) {
    /* Room for the longest key, so that `find` may compare as many bytes as any key of the family has. */
    struct series *series = serving_alloc(sizeof *series + sizeof key->text);
    if (series == NULL) return NULL;
    series->family = family;
    memcpy(series->text, key->text, key->length);
    char *at = series->text;
    for (uint32_t i = 0; i < label_count(family); i++) {
        series->labels[i] = at;
        at += strlen(at) + 1;
    }
    series->next = set->table[key->hash % SERIES_TABLE];
    set->table[key->hash % SERIES_TABLE] = series;
    *set->last = series;
    set->last = &series->later;
    set->count++;
    set->counts[family]++;
    return series;
}

static struct series *series_of(struct series_set *set, enum family_id family, const char *const *labels) {
    static const char *const others[SERIES_LABELS] = {"other", "other", "other", "other"};
    struct label_key key;
    key_make(&key, family, labels);
    struct series *series = find(set, family, &key);
    if (series != NULL) return series;
    if (set->count >= SERIES_MAX || set->counts[family] >= SERIES_FAMILY_MAX) {
        key_make(&key, family, others);
        series = find(set, family, &key);
    }
    return series != NULL ? series : make(set, family, &key);
}

void series_add(struct series_set *set, enum family_id family, const char *const *labels, double by) {
    struct series *series = series_of(set, family, labels);
    if (series != NULL && isfinite(by) && by >= 0) series->value += by;
}

void series_observe(struct series_set *set, enum family_id family, const char *const *labels, double value) {
    struct series *series = series_of(set, family, labels);
    uint32_t bucket = 0;
    if (series == NULL || !isfinite(value) || value < 0) return;
    while (bucket < SERIES_BOUNDS && value > families[family].bounds[bucket]) bucket++;
    series->buckets[bucket]++;
    series->count++;
    series->value += value;
}
