/*
 * events.c - engine events as events of LangGraph's streams. The table:
 *
 *     engine               stream mode     event
 *     values               values          values: the state
 *     updates              updates         updates: {NODE: writes}
 *                          messages        messages/complete of each new message that was not streamed
 *                          messages-tuple  messages: [message, metadata] of the same
 *                          events          events: on_chain_stream
 *     messages (a delta)   messages        messages/metadata before the first one, messages/partial: the message so far
 *                          messages-tuple  messages: [AIMessageChunk, metadata]
 *                          events          events: on_chat_model_stream
 *     custom               custom          custom
 *     tasks                tasks           tasks: at the start and the end of an activation
 *                          debug           debug: {type: task or task_result}
 *     checkpoints          checkpoints     checkpoints; debug: {type: checkpoint}
 *     the end: interrupts  values, updates {__interrupt__: […]}
 *     the end: failed      all             error: {error, message}
 */
#include "langgraph.h"

static const struct {
    const char *name;
    unsigned mode;
} names[] = {{"values", MODE_VALUES},           {"updates", MODE_UPDATES}, {"messages", MODE_MESSAGES},
             {"messages-tuple", MODE_TUPLE},    {"custom", MODE_CUSTOM},   {"tasks", MODE_TASKS},
             {"checkpoints", MODE_CHECKPOINTS}, {"debug", MODE_DEBUG},     {"events", MODE_EVENTS}};

static unsigned mode_of(tn_value name) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (serving_is(name, names[i].name)) return names[i].mode;
    return 0;
}

unsigned modes_read(tn_value modes) {
    unsigned all = 0;
    if (modes == NULL || tn.value->kind(modes) == TN_NULL) return MODE_VALUES;
    if (tn.value->kind(modes) != TN_ARRAY) return mode_of(modes);
    for (uint64_t i = 0, count = tn.value->count(modes); i < count; i++) {
        unsigned mode = mode_of(tn.value->at(modes, i));
        if (mode == 0) return 0;
        all |= mode;
    }
    return all != 0 ? all : MODE_VALUES;
}

tn_value modes_of_run(unsigned modes, bool subgraphs) {
    static const struct {
        unsigned modes;
        const char *name;
    } rows[] = {{MODE_VALUES, "values"},
                {MODE_UPDATES | MODE_MESSAGES | MODE_TUPLE | MODE_EVENTS, "updates"},
                {MODE_MESSAGES | MODE_TUPLE | MODE_EVENTS, "messages"},
                {MODE_CUSTOM, "custom"},
                {MODE_TASKS | MODE_DEBUG, "tasks"},
                {MODE_CHECKPOINTS | MODE_DEBUG, "checkpoints"}};
    tn_value made = tn_build("[]");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((modes & rows[i].modes) != 0 || (subgraphs && (rows[i].modes & MODE_TASKS) != 0))
            (void)tn_append_take(&made, tn_text(rows[i].name));
    return made;
}

/* ---- Sending ---- */

/* The first `count` nodes around a run, and `node` unless it is NULL, as a key. */
static void inside_key(tn_value path, uint64_t count, const char *node, char key[400]) {
    size_t length = 0;
    key[0] = '\0';
    for (uint64_t i = 0; i < count && length < 300; i++)
        length += (size_t)snprintf(key + length, 400 - length, "/%.90s", tn_chars(tn.value->at(path, i), NULL));
    if (node != NULL) (void)snprintf(key + length, 400 - length, "/%.90s", node);
}

static void event_key(tn_value event, char key[400]) {
    tn_value path = tn_get(event, "path");
    inside_key(path, tn.value->count(path), tn_get_text(event, "node", ""), key);
}

/* The id that clients get of a task of the engine, which is unique in its run. */
static void task_uuid(const struct events *events, const char *task, char id[UUID_TEXT]) {
    char name[500];
    (void)snprintf(name, sizeof name, "%.60s/%.400s", events->run_id, task);
    uuid_of_name(name, id);
}

/* Which task of a node runs: nested runs name it. Of tasks that run at the same time, it is the newest. */
static void note_task(struct events *events, tn_value event) {
    char key[400];
    if (!events->subgraphs || !serving_is(tn_get(event, "event"), "start")) return;
    event_key(event, key);
    if (events->tasks == NULL) events->tasks = tn_build("{}");
    events->tasks = tn_set_take(events->tasks, key, tn_retain(tn_get(event, "task_id")));
}

/* With sub-graphs, the name of an event of a nested run has the tasks around it, |NODE:ID, except those two kinds. */
static bool has_places(const struct events *events, const char *name) {
    return events->subgraphs && strncmp(name, "messages/", 9) != 0 && strcmp(name, "events") != 0;
}

/* Takes the data. */
static void send(struct events *events, const char *name, tn_value event, tn_value data) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(1024);
    tn_value path = tn_get(event, "path");
    (void)tn_text_append(&text, name);
    for (uint64_t i = 0, count = has_places(events, name) ? tn.value->count(path) : 0; i < count; i++) {
        char key[400], id[UUID_TEXT];
        inside_key(path, i + 1, NULL, key);
        task_uuid(events, tn_get_text(events->tasks, key, key), id);
        (void)tn_text_append_format(&text, "|%s:%s", tn_chars(tn.value->at(path, i), NULL), id);
    }
    if (data != NULL) events->send(events->user, tn_text_chars(&text), data);
    tn_text_free(&text);
    tn_release(data);
}

/* What a message comes from: new. */
static tn_value metadata(const struct events *events, tn_value event) {
    return tn_build("{s:I, s:s, s:s, s:s, s:s*}", "langgraph_step", tn_get_int(event, "step", 0), "langgraph_node",
                    tn_get_text(event, "node", ""), "graph_id", events->graph, "run_id", events->run_id, "thread_id",
                    events->thread_id);
}

static bool first_time(struct events *events, tn_value id) {
    uint64_t length = 0;
    const char *chars = tn_chars(id, &length);
    if (chars == NULL) return true;
    if (tn_get_key(events->seen, id) != NULL) return false;
    tn_value yes = tn_bool(1);
    if (events->seen == NULL) events->seen = tn_build("{}");
    (void)tn.value->set(&events->seen, chars, length, yes);
    tn_release(yes);
    return true;
}

/* ---- Deltas of models ---- */

/* Deltas of an activation are of one message: this is its key. */
static void open_key(tn_value event, char key[200]) {
    tn_value path = tn_get(event, "path"), last = tn.value->at(path, tn.value->count(path) - 1);
    (void)snprintf(key, 200, "%.60s/%.60s/%lld", last != NULL ? tn_chars(last, NULL) : "",
                   tn_get_text(event, "node", ""), (long long)tn_get_int(event, "item", -1));
}

static void set_open(struct events *events, const char *key, tn_value message) {
    if (events->open == NULL) events->open = tn_build("{}");
    events->open = tn_set_take(events->open, key, message);
}

/* The message that the delta continues: new. *begun: it is its first one. */
static tn_value open_message(struct events *events, const char *key, tn_value event, bool *begun) {
    char id[160];
    tn_value open = tn_get(events->open, key);
    *begun = open == NULL || tn.value->kind(open) == TN_NULL;
    if (!*begun) return tn_retain(open);
    (void)snprintf(id, sizeof id, "run--%s-%llu", events->run_id, (unsigned long long)++events->made);
    (void)event;
    return tn_build("{s:s, s:s, s:s, s:{}, s:{}, s:[], s:[]}", "type", "ai", "id", id, "content", "",
                    "additional_kwargs", "response_metadata", "tool_calls", "invalid_tool_calls");
}

/* The chunk of a delta: new; NULL if there is nothing to send. */
static tn_value chunk_of(tn_value message, tn_value delta) {
    tn_value content = tn_get(delta, "content"), call = tn_get(delta, "tool_call_delta"), chunks = tn_build("[]");
    if (call != NULL)
        (void)tn_append_take(&chunks, tn_build("{s:v?, s:v?, s:v?, s:I, s:s}", "id", tn_get(call, "id"), "name",
                                               tn_get(call, "name"), "args", tn_get(call, "arguments"), "index",
                                               tn_get_int(call, "index", 0), "type", "tool_call_chunk"));
    return tn_build("{s:s, s:v, s:V, s:{s:v*}, s:{}, s:[], s:[], s:V}", "type", "AIMessageChunk", "id",
                    tn_get(message, "id"), "content", content != NULL ? tn_retain(content) : tn_text(""),
                    "additional_kwargs", "reasoning_content", tn_get(delta, "reasoning"), "response_metadata",
                    "tool_calls", "invalid_tool_calls", "tool_call_chunks", chunks);
}

static void send_stream_event(struct events *events, const char *name, tn_value event, const char *member,
                              tn_value data) {
    tn_value about = metadata(events, event);
    send(events, "events", event,
         tn_build("{s:s, s:s, s:s, s:[], s:V, s:{s:v}}", "event", name, "name", tn_get_text(event, "node", ""),
                  "run_id", events->run_id, "tags", "metadata", about, "data", member, data));
}

/* messages/partial has the whole text: of a long one, only when it has grown enough that all of them stay linear. */
static bool shows_partial(struct events *events, const char *key, tn_value message, bool begun) {
    uint64_t length = 0;
    (void)tn_chars(tn_get(message, "content"), &length);
    uint64_t shown = begun ? 0 : (uint64_t)tn_get_int(events->shown, key, 0);
    if (length > PARTIAL_WHOLE && length - shown < length / PARTIAL_PART) return false;
    if (events->shown == NULL) events->shown = tn_build("{}");
    events->shown = tn_set_take(events->shown, key, tn_int((int64_t)length));
    return true;
}

static void take_delta(struct events *events, tn_value event) {
    char key[200];
    bool begun;
    tn_value delta = tn_get(event, "delta"), content = tn_get(delta, "content");
    if (events->missed) return;
    bool text = tn_chars(content, NULL) != NULL;
    bool reasoning = tn_chars(tn_get(delta, "reasoning"), NULL) != NULL;
    open_key(event, key);
    if (tn_get(delta, "reset") != NULL) set_open(events, key, tn_null()); /* what follows is another message */
    if (!text && !reasoning && tn_get(delta, "tool_call_delta") == NULL) return;
    tn_value message = open_message(events, key, event, &begun), chunk = chunk_of(message, delta);
    if (text && message != NULL) {
        tn_value whole = tn_retain(tn_get(message, "content"));
        (void)tn.value->concat(&whole, content);
        message = tn_set_take(message, "content", whole);
    }
    set_open(events, key, tn_retain(message));
    if ((events->modes & MODE_MESSAGES) != 0 && begun)
        send(events, "messages/metadata", event,
             tn_build("{s:{s:V}}", tn_get_text(message, "id", ""), "metadata", metadata(events, event)));
    if ((events->modes & MODE_MESSAGES) != 0 && shows_partial(events, key, message, begun))
        send(events, "messages/partial", event, tn_build("[v]", message));
    if ((events->modes & MODE_TUPLE) != 0)
        send(events, "messages", event, tn_build("[vV]", chunk, metadata(events, event)));
    if ((events->modes & MODE_EVENTS) != 0) send_stream_event(events, "on_chat_model_stream", event, "chunk", chunk);
    tn_release(chunk);
    tn_release(message);
}

/* ---- Updates ---- */

/* A message that a node has written: it completes the one that was streamed, or was not streamed. */
static void take_message(struct events *events, tn_value event, tn_value written) {
    char key[200];
    if (!is_message(written) || tn_get_text(written, "type", "")[0] == 'r') return;
    if (!first_time(events, tn_get(written, "id"))) return;
    tn_value message = message_out(written);
    open_key(event, key);
    tn_value open = serving_is(tn_get(message, "type"), "ai") ? tn_get(events->open, key) : NULL;
    bool streamed = open != NULL && tn.value->kind(open) != TN_NULL;
    if (streamed && message != NULL) message = tn_set_take(message, "id", tn_retain(tn_get(open, "id")));
    if ((events->modes & MODE_MESSAGES) != 0) send(events, "messages/complete", event, tn_build("[v]", message));
    if ((events->modes & MODE_TUPLE) != 0 && !streamed)
        send(events, "messages", event, tn_build("[vV]", message, metadata(events, event)));
    if (streamed) set_open(events, key, tn_null());
    tn_release(message);
}

/* A node that is a nested run writes messages again that were reported inside of it. */
static bool was_reported_inside(struct events *events, tn_value event) {
    char key[400];
    event_key(event, key);
    return serving_true(tn_get(events->inside, key));
}

static void note_inside(struct events *events, tn_value event) {
    char key[400];
    tn_value path = tn_get(event, "path");
    if (path == NULL) return;
    inside_key(path, tn.value->count(path), NULL, key);
    if (events->inside == NULL) events->inside = tn_build("{}");
    events->inside = tn_set_take(events->inside, key, tn_bool(1));
}

static bool has_messages(tn_value written) {
    bool found = is_message(written);
    for (uint64_t i = 0; !found && tn.value->kind(written) == TN_ARRAY && i < tn.value->count(written); i++)
        found = is_message(tn.value->at(written, i));
    return found;
}

static void take_messages(struct events *events, tn_value event) {
    tn_value writes = tn_get(event, "writes"), key, written;
    bool again = was_reported_inside(events, event);
    for (uint64_t i = 0, count = tn.value->count(writes); i < count; i++) {
        if (tn.value->entry(writes, i, &key, &written) != TN_OK || !has_messages(written)) continue;
        note_inside(events, event);
        if (again) continue;
        take_message(events, event, written);
        for (uint64_t k = 0; tn.value->kind(written) == TN_ARRAY && k < tn.value->count(written); k++)
            take_message(events, event, tn.value->at(written, k));
    }
}

static void take_updates(struct events *events, tn_value event) {
    bool shows = events->subgraphs || tn_get(event, "path") == NULL;
    tn_value shown = shows ? state_out(tn_get(event, "writes")) : NULL;
    if (shows && (events->modes & MODE_UPDATES) != 0)
        send(events, "updates", event, tn_build("{s:v}", tn_get_text(event, "node", ""), shown));
    if (shows && (events->modes & MODE_EVENTS) != 0)
        send_stream_event(events, "on_chain_stream", event, "chunk", shown);
    tn_release(shown);
    if ((events->modes & (MODE_MESSAGES | MODE_TUPLE)) != 0) take_messages(events, event);
}

/* ---- Tasks and checkpoints ---- */

static void send_debug(struct events *events, const char *type, tn_value event, tn_value payload) {
    if ((events->modes & MODE_DEBUG) == 0) return;
    send(events, "debug", event,
         tn_build("{s:s, s:I, s:v}", "type", type, "step", tn_get_int(event, "step", 0), "payload", payload));
}

static void take_task(struct events *events, tn_value event) {
    bool starts = serving_is(tn_get(event, "event"), "start"), ends = serving_is(tn_get(event, "event"), "end");
    char id[UUID_TEXT];
    note_task(events, event);
    if (!starts && !ends) return;
    task_uuid(events, tn_get_text(event, "task_id", ""), id);
    tn_value payload = tn_build("{s:s, s:s, s:[]}", "id", id, "name", tn_get_text(event, "node", ""), "interrupts");
    if (ends && payload != NULL)
        payload = tn_set_take(payload, "error",
                              tn_get(event, "error") != NULL ? tn_retain(tn_get(tn_get(event, "error"), "message"))
                                                             : tn_null());
    if ((events->modes & MODE_TASKS) != 0) send(events, "tasks", event, tn_retain(payload));
    if (payload != NULL) send_debug(events, starts ? "task" : "task_result", event, payload);
    tn_release(payload);
}

static void take_checkpoint(struct events *events, tn_value event) {
    tn_value values = values_out(tn_get(event, "state"));
    tn_value payload = tn_build("{s:V, s:v?, s:[], s:{s:s, s:I}, s:{s:{s:s*}}}", "values", values, "next",
                                tn_get(event, "next"), "tasks", "metadata", "source", "loop", "step",
                                tn_get_int(event, "step", 0), "config", "configurable", "thread_id", events->thread_id);
    if ((events->modes & MODE_CHECKPOINTS) != 0) send(events, "checkpoints", event, tn_retain(payload));
    if (payload != NULL) send_debug(events, "checkpoint", event, payload);
    tn_release(payload);
}

/* ---- All events ---- */

void events_take(struct events *events, tn_value event) {
    const char *type = tn_get_text(event, "type", "");
    bool models = strcmp(type, "messages") == 0 || strcmp(type, "updates") == 0;
    /* The messages of an agent are those of a nested run, and are sent without asking for sub-graphs. */
    if (tn_get(event, "path") != NULL && !events->subgraphs && !models) return;
    if (strcmp(type, "messages") == 0)
        take_delta(events, event);
    else if (strcmp(type, "values") == 0)
        send(events, "values", event, values_out(tn_get(event, "state")));
    else if (strcmp(type, "updates") == 0)
        take_updates(events, event);
    else if (strcmp(type, "custom") == 0)
        send(events, "custom", event, tn_retain(tn_get(event, "data")));
    else if (strcmp(type, "tasks") == 0)
        take_task(events, event);
    else if (strcmp(type, "checkpoints") == 0)
        take_checkpoint(events, event);
}

/* What was streamed of messages that are open stays; they come again as a whole, as other messages. */
void events_missed(struct events *events) {
    events->missed = true;
    tn_release(events->open);
    events->open = NULL;
}

void events_end(struct events *events, tn_value report) {
    const char *status = tn_get_text(report, "status", "");
    tn_value error = tn_get(report, "error");
    if (strcmp(status, "interrupted") == 0) {
        tn_value asked = interrupts_out(tn_get(report, "interrupts"));
        if ((events->modes & MODE_UPDATES) != 0)
            send(events, "updates", NULL, tn_build("{s:v}", "__interrupt__", asked));
        if ((events->modes & MODE_VALUES) != 0)
            send(events, "values", NULL,
                 tn_set_take(values_out(tn_get(report, "state")), "__interrupt__", tn_retain(asked)));
        tn_release(asked);
    } else if (strcmp(status, "failed") == 0) {
        send(events, "error", NULL,
             tn_build("{s:s, s:s}", "error", tn_get_text(error, "code", "INTERNAL"), "message",
                      tn_get_text(error, "message", "the run has failed")));
    } else if (events->missed && strcmp(status, "done") == 0 && (events->modes & MODE_VALUES) != 0) {
        send(events, "values", NULL, values_out(tn_get(report, "state"))); /* the last one may be lost */
    }
}

void events_close(struct events *events) {
    tn_release(events->open);
    tn_release(events->shown);
    tn_release(events->seen);
    tn_release(events->inside);
    tn_release(events->tasks);
}
