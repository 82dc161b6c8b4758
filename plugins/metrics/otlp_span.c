/*
 * otlp_span.c - an event span/ended as a span of OTLP, with the names of the GenAI conventions.
 *
 * Ids are computed as the event's description says, so the headers that other parts of Tenon send name the same spans.
 * Messages, arguments and results are in a span only if the configuration says so (`contents`).
 */
#include "observe.h"
#include "otlp.h"
#include "serving.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/util/build.h>
#include <tenon/util/sha256.h>

#define KIND_INTERNAL 1
#define KIND_SERVER   2
#define KIND_CLIENT   3
#define KIND_CONSUMER 5

static void hash(const char *text, char out[TN_SHA256_TEXT]) {
    struct tn_sha256 state;
    tn_sha256_init(&state);
    tn_sha256_update(&state, text, strlen(text));
    tn_sha256_finish_text(&state, out);
}

/* ---- The place in a trace ---- */

struct place {
    char trace[33], span[17], parent[17]; /* parent: "" without one */
};

/* As host/base/trace.c. */
static bool is_sampled(const char *trace, double ratio) {
    char digits[14];
    memcpy(digits, trace, 13);
    digits[13] = '\0';
    return (double)strtoull(digits, NULL, 16) < ratio * 4503599627370496.0;
}

/* False if the span is not part of a trace, or the trace is not sampled. */
static bool place_read(struct place *place, tn_value span, double ratio) {
    tn_value context = tn_get(span, "context");
    const char *id = tn_get_text(span, "id", NULL), *parent = tn_get_text(span, "parent", NULL);
    const char *remote = tn_get_text(context, "traceparent", NULL);
    char digits[TN_SHA256_TEXT];
    if (id == NULL || (remote != NULL && strlen(remote) != 55)) return false;
    memset(place, 0, sizeof *place);
    hash(id, digits);
    memcpy(place->span, digits + 32, 16);
    if (parent != NULL) {
        hash(parent, digits);
        memcpy(place->parent, digits + 32, 16);
    } else if (remote != NULL) {
        memcpy(place->parent, remote + 36, 16);
    }
    if (remote != NULL) {
        memcpy(place->trace, remote + 3, 32);
        return (strtoul(remote + 53, NULL, 16) & 1) != 0;
    }
    hash(tn_get_text(context, "run_id", id), digits);
    memcpy(place->trace, digits, 32);
    return is_sampled(place->trace, ratio);
}

/* ---- Attributes ---- */

struct writer {
    struct tn_text_buffer text;
    bool any; /* there is an attribute before the next one */
};

static void put_key(struct writer *out, const char *key) {
    (void)tn_text_append_format(&out->text, "%s{\"key\":\"%s\",\"value\":", out->any ? "," : "", key);
    out->any = true;
}

static void put_text(struct writer *out, const char *key, const char *text) {
    if (text == NULL || *text == '\0') return;
    put_key(out, key);
    (void)tn_text_append(&out->text, "{\"stringValue\":");
    otlp_write_text(&out->text, text);
    (void)tn_text_append(&out->text, "}}");
}

static void put_int(struct writer *out, const char *key, tn_value from, const char *member) {
    int64_t number;
    if (tn.value->as_int(tn_get(from, member), &number) != TN_OK) return;
    put_key(out, key);
    (void)tn_text_append_format(&out->text, "{\"intValue\":\"%" PRId64 "\"}}", number);
}

static void put_member(struct writer *out, const char *key, tn_value from, const char *member) {
    put_text(out, key, tn_get_text(from, member, NULL));
}

static void put_usage(struct writer *out, tn_value usage) {
    put_int(out, "gen_ai.usage.input_tokens", usage, "input_tokens");
    put_int(out, "gen_ai.usage.output_tokens", usage, "output_tokens");
    put_int(out, "gen_ai.usage.reasoning.output_tokens", usage, "reasoning_tokens");
    put_int(out, "gen_ai.usage.cache_read.input_tokens", usage, "cached_tokens");
    put_int(out, "gen_ai.usage.cache_creation.input_tokens", usage, "cache_write_tokens");
}

static void put_context(struct writer *out, tn_value context) {
    put_member(out, "gen_ai.conversation.id", context, "thread_id");
    put_member(out, "tenon.run.id", context, "run_id");
    put_member(out, "tenon.task.id", context, "task_id");
    put_member(out, "tenon.node", context, "node");
    put_int(out, "tenon.step", context, "step");
}

/* A text that is taken, whole; nothing for NULL. */
static void put_content_take(struct writer *out, const char *key, tn_value text) {
    tn_value json = text != NULL ? tn_to_json(text) : NULL;
    if (json != NULL) {
        put_key(out, key);
        (void)tn_text_append(&out->text, "{\"stringValue\":");
        (void)tn_text_append_value(&out->text, json);
        (void)tn_text_append(&out->text, "}}");
    }
    tn_release(json);
    tn_release(text);
}

static void put_messages(struct writer *out, tn_value span) {
    tn_value messages = tn_get(tn_get(span, "input"), "messages"), answer = tn_get(span, "output");
    if (messages != NULL) put_content_take(out, "gen_ai.input.messages", otlp_messages(messages));
    tn_value answers = answer != NULL ? tn_build("[v]", answer) : NULL;
    if (answers != NULL) put_content_take(out, "gen_ai.output.messages", otlp_messages(answers));
    tn_release(answers);
}

static void put_arguments(struct writer *out, tn_value span) {
    tn_value input = tn_get(span, "input"), output = tn_get(span, "output");
    if (input != NULL) put_content_take(out, "gen_ai.tool.call.arguments", otlp_value(input));
    if (output != NULL) put_content_take(out, "gen_ai.tool.call.result", otlp_value(output));
}

/* ---- Kinds ---- */

static void put_run(struct writer *out, tn_value span) {
    put_text(out, "gen_ai.operation.name", "invoke_workflow");
    put_member(out, "gen_ai.workflow.name", span, "graph");
    put_member(out, "tenon.status", span, "outcome");
    put_int(out, "tenon.steps", span, "steps");
    put_usage(out, tn_get(span, "usage"));
}

static bool is_agent(tn_value span) { return serving_is(tn_get(span, "component"), "agent"); }

static void put_node(struct writer *out, tn_value span) {
    if (is_agent(span)) {
        put_text(out, "gen_ai.operation.name", "invoke_agent");
        put_member(out, "gen_ai.agent.name", span, "name");
    }
    put_member(out, "tenon.graph", span, "graph");
    put_member(out, "tenon.node", span, "name");
    put_member(out, "tenon.component", span, "component");
    put_int(out, "tenon.attempt", span, "attempt");
}

static void put_step(struct writer *out, tn_value span) {
    put_member(out, "tenon.graph", span, "graph");
    put_int(out, "tenon.nodes", span, "nodes");
}

static void put_task(struct writer *out, tn_value span) {
    put_member(out, "tenon.task.type", span, "name");
    put_member(out, "tenon.status", span, "outcome");
    put_int(out, "tenon.attempt", span, "attempt");
}

static void put_model(struct writer *out, tn_value span) {
    char provider[PROVIDER_MAX];
    const char *model;
    observe_provider(tn_get_text(span, "name", ""), provider, &model);
    put_member(out, "gen_ai.operation.name", span, "operation");
    put_text(out, "gen_ai.provider.name", provider);
    put_text(out, "gen_ai.request.model", model);
    put_member(out, "tenon.role", span, "role");
    put_int(out, "tenon.attempts", span, "attempts");
    const char *reason = tn_get_text(span, "finish_reason", NULL);
    if (reason != NULL) {
        put_key(out, "gen_ai.response.finish_reasons");
        (void)tn_text_append(&out->text, "{\"arrayValue\":{\"values\":[{\"stringValue\":");
        otlp_write_text(&out->text, reason);
        (void)tn_text_append(&out->text, "}]}}}");
    }
    put_usage(out, tn_get(span, "usage"));
    put_messages(out, span);
}

static void put_tool(struct writer *out, tn_value span) {
    put_text(out, "gen_ai.operation.name", "execute_tool");
    put_member(out, "gen_ai.tool.name", span, "name");
    put_text(out, "gen_ai.tool.type", "function");
    put_member(out, "tenon.plugin", span, "plugin");
    put_arguments(out, span);
}

static void put_request(struct writer *out, tn_value span) {
    put_member(out, "http.request.method", span, "method");
    put_member(out, "http.route", span, "name");
    put_int(out, "http.response.status_code", span, "status");
    put_int(out, "http.request.body.size", span, "received");
}

static const struct kind {
    const char *kind, *verb;
    int number;
    void (*put)(struct writer *out, tn_value span);
} kinds[] = {{"run", "invoke_workflow", KIND_INTERNAL, put_run}, {"step", "step", KIND_INTERNAL, put_step},
             {"node", "node", KIND_INTERNAL, put_node},          {"task", "task", KIND_CONSUMER, put_task},
             {"model", "chat", KIND_CLIENT, put_model},          {"tool", "execute_tool", KIND_INTERNAL, put_tool},
             {"request", "GET", KIND_SERVER, put_request}};

static const struct kind *kind_of(tn_value span) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (serving_is(tn_get(span, "kind"), kinds[i].kind)) return &kinds[i];
    return NULL;
}

/* "chat gpt-4o", "execute_tool search", "POST /v1/responses". */
static void write_name(struct writer *out, const struct kind *kind, tn_value span) {
    char provider[PROVIDER_MAX];
    const char *verb = kind->verb, *name = tn_get_text(span, "name", "");
    if (kind->put == put_node && is_agent(span)) verb = "invoke_agent";
    if (kind->put == put_request) verb = tn_get_text(span, "method", "");
    if (kind->put == put_model) {
        verb = tn_get_text(span, "operation", verb);
        observe_provider(name, provider, &name);
    }
    struct tn_text_buffer text = TN_TEXT_BUFFER(OTLP_TEXT_MAX);
    (void)tn_text_append_format(&text, "%s %.512s", verb, name);
    otlp_write_text(&out->text, tn_text_chars(&text));
    tn_text_free(&text);
}

/* An answer of the model that was awaited in vain is an error, a question to a person is not. */
static void write_status(struct writer *out, tn_value span) {
    const char *code = observe_code(span);
    bool failed = serving_is(tn_get(span, "outcome"), "failed");
    if (!failed) return;
    (void)tn_text_append(&out->text, ",\"status\":{\"code\":2,\"message\":");
    otlp_write_text(&out->text, *code != '\0' ? code : "FAILED");
    (void)tn_text_append_char(&out->text, '}');
}

tn_value otlp_span_json(tn_value span, double ratio) {
    struct place place;
    struct writer out = {TN_TEXT_BUFFER(1 << 20), false};
    const struct kind *kind = kind_of(span);
    tn_value context = tn_get(span, "context");
    if (kind == NULL || !place_read(&place, span, ratio)) return NULL;
    int64_t start = tn_get_int(span, "start_us", 0), end = start + tn_get_int(span, "us", 0);
    (void)tn_text_append_format(&out.text, "{\"traceId\":\"%s\",\"spanId\":\"%s\"", place.trace, place.span);
    if (place.parent[0] != '\0') (void)tn_text_append_format(&out.text, ",\"parentSpanId\":\"%s\"", place.parent);
    const char *state = tn_get_text(context, "tracestate", NULL);
    if (state != NULL) (void)tn_text_append(&out.text, ",\"traceState\":");
    if (state != NULL) otlp_write_text(&out.text, state);
    (void)tn_text_append(&out.text, ",\"name\":");
    write_name(&out, kind, span);
    (void)tn_text_append_format(&out.text,
                                ",\"kind\":%d,\"startTimeUnixNano\":\"%" PRId64 "000\",\"endTimeUnixNano\":\"%" PRId64
                                "000\",\"attributes\":[",
                                kind->number, start, end);
    kind->put(&out, span);
    put_context(&out, context);
    put_text(&out, "error.type", observe_code(span));
    (void)tn_text_append_char(&out.text, ']');
    write_status(&out, span);
    (void)tn_text_append_char(&out.text, '}');
    return tn_text_finish(&out.text);
}
