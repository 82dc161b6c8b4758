/*
 * events.c - the items of a run as events of AG-UI: texts, reasoning, parts, and the end.
 *
 * The table at the end says what each kind of item becomes. One text and one reasoning message are open at a time, and
 * everything is closed before RUN_FINISHED, as clients demand. Optional members are absent, never null.
 */
#include "events_internal.h"

void ag_send(struct ag_events *events, tn_value event, const char *agent) {
    if (event != NULL && agent != NULL && *agent != '\0') event = tn_set_take(event, "subagentRunId", tn_text(agent));
    if (event != NULL) events->options.handler(events->options.user, event);
    tn_release(event);
}

void ag_next_id(struct ag_events *events, char *out) {
    (void)snprintf(out, MESSAGE_ID_MAX, "%.40s-%llu", events->options.prefix, (unsigned long long)++events->ids);
}

tn_value ag_error(const char *message, const char *code) {
    tn_value text = tn_text_lossy(message, strlen(message));
    return tn_build("{s:s, s:V, s:s*}", "type", "RUN_ERROR", "message", text, "code", code);
}

/* ---- Messages ---- */

static void close_reasoning(struct ag_events *events) {
    static const char *const types[] = {"REASONING_MESSAGE_END", "REASONING_END"};
    if (*events->reasoning == '\0') return;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        ag_send(events, tn_build("{s:s, s:s}", "type", types[i], "messageId", events->reasoning),
                events->reasoning_agent);
    *events->reasoning = '\0';
}

static void close_text(struct ag_events *events) {
    if (*events->text == '\0') return;
    ag_send(events, tn_build("{s:s, s:s}", "type", "TEXT_MESSAGE_END", "messageId", events->text), events->text_agent);
    memcpy(events->parent, events->text, sizeof events->parent);
    memcpy(events->parent_agent, events->text_agent, sizeof events->parent_agent);
    *events->text = '\0';
}

static void close_message(struct ag_events *events, const struct serving_item *item, const char *agent) {
    (void)item, (void)agent;
    close_reasoning(events);
    close_text(events);
}

/* Another message begins: what was the last one has no more calls. */
static void begin_message(struct ag_events *events, const struct serving_item *item) {
    if (events->message != item->message) close_message(events, NULL, NULL);
    if (events->message != item->message) *events->parent = '\0';
    events->message = item->message;
}

static void take_text(struct ag_events *events, const struct serving_item *item, const char *agent) {
    begin_message(events, item);
    close_reasoning(events);
    if (*events->text == '\0') {
        ag_next_id(events, events->text);
        (void)snprintf(events->text_agent, sizeof events->text_agent, "%s", agent);
        ag_send(
            events,
            tn_build("{s:s, s:s, s:s}", "type", "TEXT_MESSAGE_START", "messageId", events->text, "role", "assistant"),
            agent);
    }
    ag_send(events,
            tn_build("{s:s, s:s, s:s#}", "type", "TEXT_MESSAGE_CONTENT", "messageId", events->text, "delta", item->text,
                     item->length),
            events->text_agent);
}

static void take_reasoning(struct ag_events *events, const struct serving_item *item, const char *agent) {
    begin_message(events, item);
    if (*events->text != '\0') close_text(events);
    if (*events->reasoning == '\0') {
        ag_next_id(events, events->reasoning);
        (void)snprintf(events->reasoning_agent, sizeof events->reasoning_agent, "%s", agent);
        ag_send(events, tn_build("{s:s, s:s}", "type", "REASONING_START", "messageId", events->reasoning), agent);
        ag_send(events,
                tn_build("{s:s, s:s, s:s}", "type", "REASONING_MESSAGE_START", "messageId", events->reasoning, "role",
                         "reasoning"),
                agent);
    }
    ag_send(events,
            tn_build("{s:s, s:s, s:s#}", "type", "REASONING_MESSAGE_CONTENT", "messageId", events->reasoning, "delta",
                     item->text, item->length),
            events->reasoning_agent);
}

/* A refusal is a text; what is not one becomes an activity, because messages of the assistant have only texts. */
static void take_part(struct ag_events *events, const struct serving_item *item, const char *agent) {
    const char *type = tn_get_text(item->value, "type", "part");
    char id[MESSAGE_ID_MAX];
    if (strcmp(type, "refusal") == 0) {
        struct serving_item text = *item;
        text.text = tn_chars(tn_get(item->value, "text"), &text.length);
        if (text.text != NULL && text.length > 0) take_text(events, &text, agent);
        return;
    }
    begin_message(events, item);
    close_message(events, NULL, NULL);
    ag_next_id(events, id);
    ag_send(events,
            tn_build("{s:s, s:s, s:s, s:v}", "type", "ACTIVITY_SNAPSHOT", "messageId", id, "activityType", type,
                     "content", item->value),
            agent);
}

/* {type: "artifact", …} is CUSTOM with this name; anything else is named after the node. */
static void take_custom(struct ag_events *events, const struct serving_item *item, const char *agent) {
    const char *name = tn_get_text(item->value, "type", item->node != NULL ? item->node : "custom");
    ag_send(events, tn_build("{s:s, s:s, s:v?}", "type", "CUSTOM", "name", name, "value", item->value), agent);
}

/* ---- The end ---- */

/* [usage], or NULL. The members are numbers of the report. */
static tn_value usage_of(tn_value report) {
    tn_value usage = tn_get(report, "usage");
    if (usage == NULL) return NULL;
    return tn_build("[{s:v*, s:v*, s:v*, s:v*, s:v*, s:v*}]", "inputTokens", tn_get(usage, "input_tokens"),
                    "outputTokens", tn_get(usage, "output_tokens"), "totalTokens", tn_get(usage, "total_tokens"),
                    "reasoningTokens", tn_get(usage, "reasoning_tokens"), "cachedInputTokens",
                    tn_get(usage, "cached_tokens"), "cacheWriteInputTokens", tn_get(usage, "cache_write_tokens"));
}

static void finish(struct ag_events *events, tn_value outcome, tn_value usage) {
    ag_steps_end(events);
    ag_agents_end(events);
    ag_send(events,
            tn_build("{s:s, s:s, s:s, s:V, s:V*}", "type", "RUN_FINISHED", "threadId", events->options.thread_id,
                     "runId", events->options.run_id, "outcome", outcome, "usage", usage),
            NULL);
}

static void end_failed(struct ag_events *events, tn_value report, const char *status) {
    tn_value of = tn_get(report, "error");
    char text[160];
    (void)snprintf(text, sizeof text, "the run has ended early (%s): send the thread again, and it continues", status);
    tn_value error = ag_error(tn_get_text(of, "message", text), tn_get_text(of, "code", of == NULL ? "STOPPED" : NULL));
    tn_value usage = usage_of(report);
    if (error != NULL && usage != NULL)
        error = tn_set_take(error, "usage", usage);
    else
        tn_release(usage);
    ag_send(events, error, NULL);
}

static void take_end(struct ag_events *events, const struct serving_item *item, const char *agent) {
    const char *status = tn_get_text(item->value, "status", "failed");
    bool done = strcmp(status, "done") == 0, waits = strcmp(status, "interrupted") == 0;
    (void)agent;
    close_message(events, NULL, NULL);
    if (done || waits) ag_state_take(events, ag_visible_state(events->options.graph, tn_get(item->value, "state")));
    if (done)
        finish(events, tn_build("{s:s, s:v*}", "type", "success", "pendingToolCallIds", events->pending),
               usage_of(item->value));
    else if (waits)
        finish(events,
               tn_build("{s:s, s:V}", "type", "interrupt", "interrupts",
                        events->interrupts != NULL ? tn_retain(events->interrupts) : tn_build("[]")),
               usage_of(item->value));
    else if (strcmp(status, "cancelled") == 0)
        finish(events, tn_build("{s:s}", "type", "cancelled"), usage_of(item->value));
    else
        end_failed(events, item->value, status);
}

void ag_events_cancelled(struct ag_events *events) { finish(events, tn_build("{s:s}", "type", "cancelled"), NULL); }

/* ---- The table ---- */

static const struct {
    enum serving_kind kind;
    void (*take)(struct ag_events *events, const struct serving_item *item, const char *agent);
} rows[] = {
    {SERVING_TEXT, take_text},             /* TEXT_MESSAGE_START, CONTENT */
    {SERVING_REASONING, take_reasoning},   /* REASONING_START, REASONING_MESSAGE_START, CONTENT */
    {SERVING_PART, take_part},             /* ACTIVITY_SNAPSHOT, or a text */
    {SERVING_RESET, close_message},        /* what the message has so far stays */
    {SERVING_MESSAGE_END, close_message},  /* …_END */
    {SERVING_CALL, ag_call},               /* TOOL_CALL_START, ARGS, END */
    {SERVING_RESULT, ag_result},           /* TOOL_CALL_RESULT */
    {SERVING_CLIENT_CALL, ag_client_call}, /* the same, and pendingToolCallIds of RUN_FINISHED */
    {SERVING_CUSTOM, take_custom},         /* CUSTOM */
    {SERVING_WRITES, ag_writes},           /* STATE_DELTA */
    {SERVING_ASK, ag_ask},                 /* interrupts of RUN_FINISHED */
    {SERVING_END, take_end},               /* RUN_FINISHED, RUN_ERROR */
};

void ag_events_item(void *user, const struct serving_item *item) {
    struct ag_events *events = user;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind == item->kind) rows[i].take(events, item, ag_agent(events, item->path));
}

void ag_events_start(struct ag_events *events) {
    ag_send(events,
            tn_build("{s:s, s:s, s:s, s:s}", "type", "RUN_STARTED", "threadId", events->options.thread_id, "runId",
                     events->options.run_id, "protocolVersion", "1.0"),
            NULL);
    ag_state_take(events, tn_retain(events->options.state));
}

struct ag_events *ag_events_new(const struct ag_options *options) {
    struct ag_events *events = serving_alloc(sizeof *events);
    if (events == NULL) return NULL;
    events->options = *options;
    events->calls = tn_build("{}");
    events->steps = tn_build("{}");
    events->used = options->calls != NULL ? tn_retain(options->calls) : tn_build("{}");
    if (tn.value->kind(options->client_state) == TN_OBJECT) events->state = tn_retain(options->client_state);
    return events;
}

void ag_events_free(struct ag_events *events) {
    if (events == NULL) return;
    const tn_value values[] = {events->calls,      events->used,  events->pending,
                               events->interrupts, events->steps, events->state};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) tn_release(values[i]);
    ag_agents_free(events);
    serving_free(events);
}
