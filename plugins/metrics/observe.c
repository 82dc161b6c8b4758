/*
 * observe.c - which series an event of the host changes. The labels are names that the operator or the author of a
 * document has chosen, codes and outcomes; never ids, addresses, or what users have sent.
 */
#include "observe.h"
#include <stdio.h>
#include <string.h>

static double seconds_of(tn_value span) { return (double)tn_get_int(span, "us", 0) / 1e6; }
static const char *text_of(tn_value span, const char *member) { return tn_get_text(span, member, ""); }

const char *observe_code(tn_value span) {
    const char *code = text_of(span, "code");
    size_t length = strspn(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return length <= 64 && code[length] == '\0' ? code : "OTHER";
}

void observe_provider(const char *name, char out[PROVIDER_MAX], const char **model) {
    static const char *const known[][2] = {{"gemini", "gcp.gemini"},   {"vertex", "gcp.vertex_ai"},
                                           {"bedrock", "aws.bedrock"}, {"azure", "azure.ai.openai"},
                                           {"mistral", "mistral_ai"},  {"xai", "x_ai"}};
    const char *colon = strchr(name, ':');
    size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);
    if (length >= PROVIDER_MAX) length = PROVIDER_MAX - 1;
    memcpy(out, name, length);
    out[length] = '\0';
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(out, known[i][0]) == 0) (void)snprintf(out, PROVIDER_MAX, "%s", known[i][1]);
    *model = colon != NULL && colon[1] != '\0' ? colon + 1 : name;
}

static void observe_run(struct series_set *set, tn_value span) {
    const char *labels[] = {text_of(span, "graph"), text_of(span, "outcome")};
    series_add(set, FAMILY_RUNS, labels, 1);
    series_observe(set, FAMILY_RUN_SECONDS, labels, seconds_of(span));
}

static void observe_step(struct series_set *set, tn_value span) {
    const char *labels[] = {text_of(span, "graph"), text_of(span, "outcome")};
    series_add(set, FAMILY_STEPS, labels, 1);
    series_observe(set, FAMILY_STEP_SECONDS, labels, seconds_of(span));
}

static void observe_task_span(struct series_set *set, tn_value span) {
    const char *labels[] = {text_of(span, "name")};
    series_observe(set, FAMILY_TASK_SECONDS, labels, seconds_of(span));
}

static void observe_node(struct series_set *set, tn_value span) {
    const char *labels[] = {text_of(span, "graph"), text_of(span, "name"), text_of(span, "outcome")};
    series_add(set, FAMILY_NODES, labels, 1);
    series_observe(set, FAMILY_NODE_SECONDS, labels, seconds_of(span));
}

static void observe_tokens(struct series_set *set, tn_value span, const char *const *place, const char *type,
                           const char *member) {
    int64_t used = tn_get_int(tn_get(span, "usage"), member, -1);
    const char *labels[] = {place[0], place[1], place[2], type};
    if (used >= 0) series_observe(set, FAMILY_MODEL_TOKENS, labels, (double)used);
}

static void observe_model(struct series_set *set, tn_value span) {
    char provider[PROVIDER_MAX];
    const char *model, *name = text_of(span, "name"), *operation = text_of(span, "operation");
    observe_provider(name, provider, &model);
    const char *call[] = {name, operation, text_of(span, "outcome"), observe_code(span)};
    const char *place[] = {name, operation, provider};
    series_add(set, FAMILY_MODEL_CALLS, call, 1);
    series_add(set, FAMILY_MODEL_ATTEMPTS, place, (double)tn_get_int(span, "attempts", 0));
    series_observe(set, FAMILY_MODEL_SECONDS, place, seconds_of(span));
    observe_tokens(set, span, place, "input", "input_tokens");
    observe_tokens(set, span, place, "output", "output_tokens");
    double cost = tn_get_num(tn_get(span, "usage"), "cost", 0);
    if (cost > 0) series_add(set, FAMILY_MODEL_COST, place, cost);
}

static void observe_tool(struct series_set *set, tn_value span) {
    const char *labels[] = {text_of(span, "name"), text_of(span, "outcome"), observe_code(span)};
    series_add(set, FAMILY_TOOL_CALLS, labels, 1);
    series_observe(set, FAMILY_TOOL_SECONDS, labels, seconds_of(span));
}

static void observe_request(struct series_set *set, tn_value span) {
    char status[16];
    (void)snprintf(status, sizeof status, "%d", (int)tn_get_int(span, "status", 0));
    const char *labels[] = {text_of(span, "method"), text_of(span, "name"), status};
    series_add(set, FAMILY_REQUESTS, labels, 1);
    series_observe(set, FAMILY_REQUEST_SECONDS, labels, seconds_of(span));
    series_add(set, FAMILY_RECEIVED, labels + 1, (double)tn_get_int(span, "received", 0));
    series_add(set, FAMILY_SENT, labels + 1, (double)tn_get_int(span, "sent", 0));
}

static void observe_store(struct series_set *set, tn_value span) {
    const char *labels[] = {text_of(span, "name"), text_of(span, "outcome"), observe_code(span)};
    series_add(set, FAMILY_STORE, labels, 1);
    series_observe(set, FAMILY_STORE_SECONDS, labels, seconds_of(span));
}

void observe_span(struct series_set *set, tn_value span) {
    static const struct {
        const char *kind;
        void (*observe)(struct series_set *set, tn_value span);
    } kinds[] = {{"run", observe_run},         {"step", observe_step},  {"node", observe_node},
                 {"model", observe_model},     {"tool", observe_tool},  {"task", observe_task_span},
                 {"request", observe_request}, {"store", observe_store}};
    const char *kind = text_of(span, "kind");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i].kind) == 0) kinds[i].observe(set, span);
}

void observe_task(struct series_set *set, tn_value task) {
    const char *labels[] = {text_of(task, "task_type"), text_of(task, "outcome")};
    series_add(set, FAMILY_TASKS, labels, 1);
}
