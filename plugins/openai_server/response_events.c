/*
 * response_events.c - the items of a run as a Response and its events.
 *
 *     message            its text, refusals, and sources as annotations
 *     reasoning          a summary
 *     mcp_call           a tool that the graph has executed: clients do not execute it again
 *     function_call      a tool that the client executes
 *     mcp_approval_request   the approval of a tool or of a node
 *     function_call `tenon_answer`   any other question, whose text is also a message
 *     image_generation_call  an image
 *
 * A Response lists the items in the order of their `output_index`. Only one item of a message or of reasoning is open
 * at a time; calls may be open beside it.
 */
#include "openai_server.h"
#include <tenon/message.h>

bool response_events_open(struct response_events *events, const char *id, const char *model, tn_value echo) {
    *events = (struct response_events){.created = serving_now_s(), .status = "in_progress"};
    (void)snprintf(events->id, sizeof events->id, "%s", id);
    events->model = serving_text_copy(model);
    events->echo = tn_retain(echo);
    events->output = tn_build("[]");
    events->calls = tn_build("{}");
    return events->model != NULL && events->output != NULL && events->calls != NULL;
}

void response_events_close(struct response_events *events) {
    const tn_value values[] = {events->echo,  events->output, events->item,  events->content,   events->annotations,
                               events->calls, events->error,  events->usage, events->incomplete};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) tn_release(values[i]);
    tn_text_free(&events->text);
    serving_free(events->model);
}

bool response_events_ended(const struct response_events *events) {
    return strcmp(events->status, "in_progress") != 0 && strcmp(events->status, "queued") != 0;
}

/* ---- Sending ---- */

/* Takes the event, and adds its type and number. */
static void send_take(struct response_events *events, const char *type, tn_value event) {
    if (event != NULL) event = tn_set_take(event, "type", tn_text(type));
    if (event != NULL) event = tn_set_take(event, "sequence_number", tn_int((int64_t)events->sequence));
    if (event == NULL) return;
    events->sequence++;
    if (events->handler != NULL) events->handler(events->user, event);
    tn_release(event);
}

static void send_response(struct response_events *events, const char *type) {
    send_take(events, type, tn_build("{s:V}", "response", response_events_value(events)));
}

void response_events_begin(struct response_events *events) {
    if (events->background) {
        events->status = "queued";
        send_response(events, "response.created");
        send_response(events, "response.queued");
        events->status = "in_progress";
    } else {
        send_response(events, "response.created");
    }
    send_response(events, "response.in_progress");
}

/* ---- Items of the output ---- */

static tn_value item_id(struct response_events *events, const char *prefix) {
    struct tn_text_buffer id = {0};
    const char *own = strncmp(events->id, "resp_", 5) == 0 ? events->id + 5 : events->id;
    (void)tn_text_append_format(&id, "%s_%s_%llu", prefix, own, (unsigned long long)++events->items);
    return tn_text_finish(&id);
}

/* Appends the item to the output, and announces it. Takes it. Returns its index. */
static uint64_t add_item_take(struct response_events *events, tn_value item) {
    uint64_t index = tn.value->count(events->output);
    send_take(events, "response.output_item.added",
              tn_build("{s:I, s:v}", "output_index", (int64_t)index, "item", item));
    (void)tn_append_take(&events->output, item);
    return index;
}

/* Replaces the item by its final form, and announces that. Takes it. */
static void finish_item_take(struct response_events *events, uint64_t index, tn_value item) {
    tn_value items = item != NULL ? tn_build("[v]", item) : NULL;
    if (items != NULL) (void)tn.value->splice(&events->output, index, 1, items);
    tn_release(items);
    send_take(events, "response.output_item.done",
              tn_build("{s:I, s:V}", "output_index", (int64_t)index, "item", item));
}

/* ---- Messages and reasoning ---- */

static tn_value open_id(const struct response_events *events) { return tn_get(events->item, "id"); }

static tn_value open_part(const struct response_events *events) {
    const char *text = tn_text_chars(&events->text);
    if (events->part == PART_REASONING)
        return tn_build("{s:s, s:s#}", "type", "summary_text", "text", text, events->text.length);
    if (events->part == PART_REFUSAL)
        return tn_build("{s:s, s:s#}", "type", "refusal", "refusal", text, events->text.length);
    tn_value notes = events->annotations != NULL ? tn_retain(events->annotations) : tn_build("[]");
    return tn_build("{s:s, s:s#, s:V, s:[]}", "type", "output_text", "text", text, events->text.length, "annotations",
                    notes, "logprobs");
}

/* An event of the open part. Takes `more`, an object. */
static void send_part_take(struct response_events *events, const char *type, tn_value more) {
    bool summary = events->part == PART_REASONING;
    if (more != NULL) more = tn_set_take(more, "item_id", tn_retain(open_id(events)));
    if (more != NULL) more = tn_set_take(more, "output_index", tn_int((int64_t)events->item_index));
    if (more != NULL)
        more = tn_set_take(more, summary ? "summary_index" : "content_index", tn_int((int64_t)events->parts));
    send_take(events, type, more);
}

static void close_part(struct response_events *events) {
    static const struct {
        const char *text_done, *member, *part_done;
    } rows[] = {
        [PART_TEXT] = {"response.output_text.done", "text", "response.content_part.done"},
        [PART_REFUSAL] = {"response.refusal.done", "refusal", "response.content_part.done"},
        [PART_REASONING] = {"response.reasoning_summary_text.done", "text", "response.reasoning_summary_part.done"}};
    if (events->part == PART_NONE) return;
    tn_value part = open_part(events);
    tn_value done = tn_build("{s:s#}", rows[events->part].member, tn_text_chars(&events->text), events->text.length);
    if (done != NULL && events->part == PART_TEXT) done = tn_set_take(done, "logprobs", tn_build("[]"));
    send_part_take(events, rows[events->part].text_done, done);
    send_part_take(events, rows[events->part].part_done, tn_build("{s:v}", "part", part));
    (void)tn_append_take(&events->content, part);
    tn_release(events->annotations);
    events->annotations = NULL;
    tn_text_clear(&events->text, 1 << 16);
    events->part = PART_NONE;
    events->parts++;
}

/* `status` is that of the item: completed or incomplete. */
static void close_item(struct response_events *events, const char *status) {
    if (events->item == NULL) return;
    bool reasoning = serving_is(tn_get(events->item, "type"), "reasoning");
    close_part(events);
    tn_value item = events->item, content = events->content != NULL ? events->content : tn_build("[]");
    events->item = events->content = NULL;
    item = tn_set_take(item, reasoning ? "summary" : "content", content);
    if (item != NULL) item = tn_set_take(item, "status", tn_text(status));
    finish_item_take(events, events->item_index, item);
}

/* Opens an item and a part of this kind, unless they are open. */
static void open_part_of(struct response_events *events, enum response_part part, uint64_t message) {
    bool reasoning = part == PART_REASONING;
    if (events->item != NULL &&
        (events->message != message || serving_is(tn_get(events->item, "type"), "reasoning") != reasoning))
        close_item(events, "completed");
    if (events->item == NULL) {
        events->item = reasoning ? tn_build("{s:V, s:s, s:[], s:s}", "id", item_id(events, "rs"), "type", "reasoning",
                                            "summary", "status", "in_progress")
                                 : tn_build("{s:V, s:s, s:s, s:s, s:[]}", "id", item_id(events, "msg"), "type",
                                            "message", "status", "in_progress", "role", "assistant", "content");
        events->message = message;
        events->parts = 0;
        if (events->item == NULL) return;
        events->item_index = add_item_take(events, tn_retain(events->item));
    }
    if (events->part == part) return;
    close_part(events);
    events->part = part;
    send_part_take(events, reasoning ? "response.reasoning_summary_part.added" : "response.content_part.added",
                   tn_build("{s:V}", "part", open_part(events)));
}

static void add_text(struct response_events *events, enum response_part part, const struct serving_item *item) {
    static const char *const types[] = {[PART_TEXT] = "response.output_text.delta",
                                        [PART_REFUSAL] = "response.refusal.delta",
                                        [PART_REASONING] = "response.reasoning_summary_text.delta"};
    if (item->length == 0) return;
    open_part_of(events, part, item->message);
    (void)tn_text_append_n(&events->text, item->text, item->length);
    tn_value delta = tn_build("{s:s#}", "delta", item->text, item->length);
    if (delta != NULL && part == PART_TEXT) delta = tn_set_take(delta, "logprobs", tn_build("[]"));
    send_part_take(events, types[part], delta);
}

static void add_source(struct response_events *events, const struct serving_item *item) {
    const char *url = tn_get_text(item->value, "url", NULL);
    if (url == NULL) return;
    open_part_of(events, PART_TEXT, item->message);
    int64_t at = 0, index = (int64_t)tn.value->count(events->annotations);
    tn_value note = tn_build("{s:s, s:s, s:s, s:I, s:I}", "type", "url_citation", "url", url, "title",
                             tn_get_text(item->value, "title", url), "start_index", at, "end_index", at);
    send_part_take(events, "response.output_text.annotation.added",
                   tn_build("{s:I, s:v}", "annotation_index", index, "annotation", note));
    (void)tn_append_take(&events->annotations, note);
}

static void add_image(struct response_events *events, const struct serving_item *item) {
    const char *data = tn_get_text(item->value, "data", NULL), *url = tn_get_text(item->value, "url", NULL);
    if (data == NULL) {
        struct tn_text_buffer link = {0};
        (void)tn_text_append_format(&link, "![image](%s)", url != NULL ? url : "");
        struct serving_item text = {.text = tn_text_chars(&link), .length = link.length, .message = item->message};
        if (url != NULL) add_text(events, PART_TEXT, &text);
        tn_text_free(&link);
        return;
    }
    close_item(events, "completed");
    tn_value id = item_id(events, "ig");
    uint64_t index = add_item_take(events, tn_build("{s:v, s:s, s:s, s:n}", "id", id, "type", "image_generation_call",
                                                    "status", "in_progress", "result"));
    send_take(events, "response.image_generation_call.completed",
              tn_build("{s:v, s:I}", "item_id", id, "output_index", (int64_t)index));
    finish_item_take(events, index,
                     tn_build("{s:V, s:s, s:s, s:s}", "id", id, "type", "image_generation_call", "status", "completed",
                              "result", data));
}

static void add_part(struct response_events *events, const struct serving_item *item) {
    const char *type = tn_get_text(item->value, "type", "");
    struct serving_item text = *item;
    if (strcmp(type, "source") == 0) {
        add_source(events, item);
    } else if (strcmp(type, "image") == 0) {
        add_image(events, item);
    } else if (strcmp(type, "refusal") == 0) {
        text.text = tn_get_text(item->value, "text", "");
        text.length = strlen(text.text);
        add_text(events, PART_REFUSAL, &text);
    }
}

/* ---- Calls ---- */

/* The arguments as JSON text: new. */
static tn_value arguments_text(tn_value call) {
    tn_value given = tn_get(call, "arguments");
    if (given == NULL) return tn_text("{}");
    return tn.value->kind(given) == TN_STRING ? tn_retain(given) : tn_to_json(given);
}

/* An event of the item at the index. Takes `more`. */
static void send_item_take(struct response_events *events, const char *type, uint64_t index, tn_value more) {
    tn_value id = tn_get(tn.value->at(events->output, index), "id");
    if (more != NULL) more = tn_set_take(more, "item_id", tn_retain(id));
    if (more != NULL) more = tn_set_take(more, "output_index", tn_int((int64_t)index));
    send_take(events, type, more);
}

/* `name` is that of a function; NULL: of a call that has been executed here. */
static void send_arguments(struct response_events *events, uint64_t index, tn_value arguments, const char *name) {
    bool function = name != NULL;
    send_item_take(events, function ? "response.function_call_arguments.delta" : "response.mcp_call_arguments.delta",
                   index, tn_build("{s:v}", "delta", arguments));
    send_item_take(events, function ? "response.function_call_arguments.done" : "response.mcp_call_arguments.done",
                   index, tn_build("{s:s*, s:v}", "name", name, "arguments", arguments));
}

static void add_call(struct response_events *events, tn_value call) {
    const char *name = tn_get_text(call, "name", "");
    tn_value arguments = arguments_text(call), key = tn_get(call, "id"), at;
    uint64_t length = 0;
    const char *chars = tn_chars(key, &length);
    close_item(events, "completed");
    uint64_t index = add_item_take(events, tn_build("{s:V, s:s, s:s, s:s, s:s, s:s}", "id", item_id(events, "mcp"),
                                                    "type", "mcp_call", "status", "in_progress", "name", name,
                                                    "arguments", "", "server_label", events->model));
    send_item_take(events, "response.mcp_call.in_progress", index, tn_build("{}"));
    send_arguments(events, index, arguments, NULL);
    tn_value item = tn_retain(tn.value->at(events->output, index));
    if (item != NULL) item = tn_set_take(item, "arguments", tn_retain(arguments));
    tn_value items = item != NULL ? tn_build("[V]", item) : NULL;
    if (items != NULL) (void)tn.value->splice(&events->output, index, 1, items);
    tn_release(items);
    at = tn_int((int64_t)index);
    if (chars != NULL && at != NULL) (void)tn.value->set(&events->calls, chars, length, at);
    tn_release(at);
    tn_release(arguments);
}

/* Ends the item of a call. `message` is the tool's; NULL: it has no result. */
static void end_call(struct response_events *events, uint64_t index, tn_value message) {
    bool failed = message != NULL && serving_is(tn_get(message, "status"), "error");
    tn_value item = tn_retain(tn.value->at(events->output, index));
    tn_value content = tn_get(message, "content"), text = content != NULL ? tn_content_text(content) : NULL;
    if (item != NULL)
        item = tn_set_take(item, "status", tn_text(message == NULL ? "incomplete" : failed ? "failed" : "completed"));
    if (item != NULL && text != NULL) item = tn_set_take(item, failed ? "error" : "output", tn_retain(text));
    if (message != NULL)
        send_item_take(events, failed ? "response.mcp_call.failed" : "response.mcp_call.completed", index,
                       tn_build("{}"));
    finish_item_take(events, index, item);
    tn_release(text);
}

static void add_result(struct response_events *events, tn_value message) {
    tn_value key = tn_get(message, "tool_call_id"), at = key != NULL ? tn_get_key(events->calls, key) : NULL;
    int64_t index = 0;
    uint64_t length = 0;
    const char *chars = tn_chars(key, &length);
    if (chars == NULL || tn.value->as_int(at, &index) != TN_OK) return;
    end_call(events, (uint64_t)index, message);
    (void)tn.value->remove(&events->calls, chars, length);
}

static void end_calls(struct response_events *events) {
    tn_value key, at;
    int64_t index;
    for (uint64_t i = 0, count = tn.value->count(events->calls); i < count; i++)
        if (tn.value->entry(events->calls, i, &key, &at) == TN_OK && tn.value->as_int(at, &index) == TN_OK)
            end_call(events, (uint64_t)index, NULL);
}

/* Takes the arguments. */
static void add_function_call(struct response_events *events, const char *call_id, const char *name,
                              tn_value arguments) {
    tn_value id = item_id(events, "fc");
    close_item(events, "completed");
    uint64_t index =
        add_item_take(events, tn_build("{s:v, s:s, s:s, s:s, s:s, s:s}", "id", id, "type", "function_call", "status",
                                       "in_progress", "call_id", call_id, "name", name, "arguments", ""));
    send_arguments(events, index, arguments, name);
    finish_item_take(events, index,
                     tn_build("{s:V, s:s, s:s, s:s, s:s, s:V}", "id", id, "type", "function_call", "status",
                              "completed", "call_id", call_id, "name", name, "arguments", arguments));
}

/* ---- Questions ---- */

static void add_approval(struct response_events *events, tn_value interrupt) {
    tn_value payload = tn_get(interrupt, "payload"), arguments = arguments_text(payload);
    const char *node = tn_get_text(interrupt, "node", "node");
    struct tn_text_buffer id = TN_TEXT_BUFFER(512);
    (void)tn_text_append_format(&id, "mcpr_%s", tn_get_text(interrupt, "id", ""));
    tn_value item =
        tn_build("{s:s, s:s, s:s, s:V, s:s}", "id", tn_text_chars(&id), "type", "mcp_approval_request", "name",
                 tn_get_text(payload, "tool", node), "arguments", arguments, "server_label", events->model);
    tn_text_free(&id);
    if (item == NULL) return;
    uint64_t index = add_item_take(events, tn_retain(item));
    finish_item_take(events, index, item);
}

static void add_question(struct response_events *events, const struct serving_item *item) {
    tn_value question = serving_ask_text(item->value);
    struct serving_item text = {.message = UINT64_MAX - events->items};
    struct tn_text_buffer id = TN_TEXT_BUFFER(512);
    events->asked = true;
    if (serving_ask_is_approval(item->value)) {
        close_item(events, "completed");
        add_approval(events, item->value);
        tn_release(question);
        return;
    }
    text.text = tn_chars(question, &text.length);
    if (text.text != NULL) add_text(events, PART_TEXT, &text);
    (void)tn_text_append_format(&id, "ask_%s", tn_get_text(item->value, "id", ""));
    tn_value arguments = tn_build("{s:v?, s:v*}", "question", question, "schema", tn_get(item->value, "schema"));
    add_function_call(events, tn_text_chars(&id), "tenon_answer", arguments != NULL ? tn_to_json(arguments) : NULL);
    tn_release(arguments);
    tn_release(question);
    tn_text_free(&id);
}

/* ---- The end ---- */

static void end_failed(struct response_events *events, tn_value error) {
    struct openai_error made = {0};
    openai_error_of(&made, error);
    events->status = "failed";
    events->error = tn_build("{s:s, s:s}", "code", made.status == 429 ? "rate_limit_exceeded" : "server_error",
                             "message", made.text);
    send_response(events, "response.failed");
}

static void end_incomplete(struct response_events *events, const char *reason) {
    events->status = "incomplete";
    events->incomplete = tn_build("{s:s}", "reason", reason);
    send_response(events, "response.incomplete");
}

static void end_response(struct response_events *events, const struct serving_item *item) {
    const char *status = tn_get_text(item->value, "status", ""), *finish = item->finish != NULL ? item->finish : "";
    bool done = strcmp(status, "done") == 0 || strcmp(status, "interrupted") == 0;
    close_item(events, done ? "completed" : "incomplete");
    if (strcmp(status, "stopped") == 0) return; /* the run continues later */
    end_calls(events);
    events->completed = done ? serving_now_s() : 0;
    events->usage = response_usage(tn_get(item->value, "usage"));
    if (strcmp(status, "cancelled") == 0) {
        events->status = "cancelled";
        send_response(events, "response.incomplete"); /* the protocol has no event for it */
    } else if (!done) {
        end_failed(events, tn_get(item->value, "error"));
    } else if (strcmp(finish, "length") == 0) {
        end_incomplete(events, "max_output_tokens");
    } else if (strcmp(finish, "content_filter") == 0) {
        end_incomplete(events, "content_filter");
    } else {
        events->status = "completed";
        send_response(events, "response.completed");
    }
}

void response_events_item(void *user, const struct serving_item *item) {
    struct response_events *events = user;
    if (response_events_ended(events)) return;
    switch (item->kind) {
    case SERVING_TEXT: add_text(events, PART_TEXT, item); break;
    case SERVING_REASONING: add_text(events, PART_REASONING, item); break;
    case SERVING_PART: add_part(events, item); break;
    case SERVING_RESET: close_item(events, "incomplete"); break;
    case SERVING_MESSAGE_END: close_item(events, "completed"); break;
    case SERVING_CALL: add_call(events, item->value); break;
    case SERVING_RESULT: add_result(events, item->value); break;
    case SERVING_CLIENT_CALL: {
        close_item(events, "completed");
        add_function_call(events, tn_get_text(item->value, "id", ""), tn_get_text(item->value, "name", ""),
                          arguments_text(item->value));
        break;
    }
    case SERVING_ASK: add_question(events, item); break;
    case SERVING_END: end_response(events, item); break;
    default: break; /* the protocol has nothing for them */
    }
}
