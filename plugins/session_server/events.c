/*
 * events.c - the items of a run as StreamResponseData, and as AgentResponseData. The table at the end says what each
 * kind of item becomes.
 */
#include "session.h"
#include <tenon/message.h>

void session_events_open(struct session_events *events, tn_value session, session_handler *handler, void *user) {
    *events = (struct session_events){.session = session,
                                      .handler = handler,
                                      .user = user,
                                      .messages = tn_build("[]"),
                                      .calls = tn_build("{}"),
                                      .status = "done",
                                      .finish = "stop"};
}

void session_events_close(struct session_events *events) {
    tn_text_free(&events->text);
    tn_release(events->messages);
    tn_release(events->calls);
    tn_release(events->usage);
}

/* ---- Messages ---- */

static void send(struct session_events *events, const char *status, tn_value message) {
    tn_value data =
        tn_build("{s:s, s:s, s:v}", "id", tn_get_text(events->session, "id", ""), "status", status, "message", message);
    if (data != NULL && events->handler != NULL) events->handler(events->user, data);
    tn_release(data);
}

static void add_piece(struct session_events *events, const char *text, uint64_t length) {
    tn_value message = tn_build("{s:s, s:s#}", "role", "assistant", "content", text, length);
    (void)tn_text_append_n(&events->text, text, length);
    if (message != NULL) send(events, "running", message);
    tn_release(message);
}

static void close_message(struct session_events *events) {
    if (events->text.length == 0) return;
    (void)tn_append_take(&events->messages, tn_build("{s:s, s:s#}", "role", "assistant", "content",
                                                     tn_text_chars(&events->text), events->text.length));
    tn_text_clear(&events->text, 1 << 16);
}

/* A message that is complete at once. Takes the content. */
static void add_message(struct session_events *events, const char *role, tn_value content) {
    tn_value message = tn_build("{s:s, s:V}", "role", role, "content", content);
    close_message(events);
    if (message == NULL) return;
    send(events, "running", message);
    (void)tn_append_take(&events->messages, message);
}

static void take_text(struct session_events *events, const struct serving_item *item) {
    if (events->message != item->message) close_message(events);
    events->message = item->message;
    if (item->length > 0) add_piece(events, item->text, item->length);
}

static void take_end_of_message(struct session_events *events, const struct serving_item *item) {
    (void)item;
    close_message(events);
}

/* What the model has said so far does not count. */
static void take_reset(struct session_events *events, const struct serving_item *item) {
    (void)item;
    tn_text_clear(&events->text, 1 << 16);
}

/* A message is a text: what has an address is a link in Markdown; data is left out. */
static void take_part(struct session_events *events, const struct serving_item *item) {
    const char *type = tn_get_text(item->value, "type", ""), *url = tn_get_text(item->value, "url", NULL);
    struct tn_text_buffer text = TN_TEXT_BUFFER(1 << 20);
    if (events->message != item->message) close_message(events);
    events->message = item->message;
    if (strcmp(type, "refusal") == 0)
        (void)tn_text_append(&text, tn_get_text(item->value, "text", ""));
    else if (url != NULL)
        (void)tn_text_append_format(&text, "\n%s[%s](%s)\n", strcmp(type, "image") == 0 ? "!" : "",
                                    tn_get_text(item->value, "title", type), url);
    if (text.length > 0) add_piece(events, tn_text_chars(&text), text.length);
    tn_text_free(&text);
}

/* ---- Tools ---- */

static void take_call(struct session_events *events, const struct serving_item *item) {
    tn_value id = tn_get(item->value, "id");
    uint64_t length = 0;
    const char *chars = tn_chars(id, &length);
    if (chars != NULL && events->calls != NULL) (void)tn.value->set(&events->calls, chars, length, item->value);
}

/* {tool, arguments, output} as JSON: a message has no other place for them. */
static void take_result(struct session_events *events, const struct serving_item *item) {
    tn_value call = tn_get_key(events->calls, tn_get(item->value, "tool_call_id"));
    tn_value made = tn_build("{s:v*, s:v*, s:v?}", "tool", tn_get(call, "name"), "arguments", tn_get(call, "arguments"),
                             "output", tn_get(item->value, "content"));
    if (made != NULL) add_message(events, "tool", tn_to_json(made));
    tn_release(made);
}

/* A client of this protocol has no tools: the call is shown, and the session goes no further. */
static void take_client_call(struct session_events *events, const struct serving_item *item) {
    tn_value made =
        tn_build("{s:v*, s:v*}", "tool", tn_get(item->value, "name"), "arguments", tn_get(item->value, "arguments"));
    if (made != NULL) add_message(events, "assistant", tn_to_json(made));
    tn_release(made);
}

static void take_ask(struct session_events *events, const struct serving_item *item) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(1 << 16);
    tn_value payload = tn_get(item->value, "payload"), arguments = tn_get(payload, "arguments");
    tn_value question = serving_ask_text(item->value), json = arguments != NULL ? tn_to_json(arguments) : NULL;
    bool approval = serving_ask_is_approval(item->value);
    if (events->continues) goto done; /* it was approved in advance */
    if (!approval || strcmp(events->status, "question") != 0) events->status = approval ? "authorization" : "question";
    (void)tn_text_append_cut(&text, tn_chars(question, NULL) != NULL ? tn_chars(question, NULL) : "",
                             question != NULL ? strlen(tn_chars(question, NULL)) : 0);
    if (approval) {
        const char *name = tn_get_text(payload, "tool", tn_get_text(item->value, "node", ""));
        (void)tn_text_append_format(&text, "\n%.200s %.20000s\nAnswer [approve %.200s] or [deny %.200s].", name,
                                    json != NULL ? tn_chars(json, NULL) : "", name, name);
    }
    add_message(events, "assistant", tn_text_finish_cut(&text));
done:
    tn_text_free(&text);
    tn_release(question);
    tn_release(json);
}

/* ---- The end ---- */

static void end_failed(struct session_events *events, tn_value report, const char *status) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(1 << 16);
    tn_value error = tn_get(report, "error");
    bool cancelled = strcmp(status, "cancelled") == 0;
    events->status = events->finish = cancelled ? "cancelled" : "error";
    (void)tn_text_append_format(&text, "%.20000s [%.64s]", tn_get_text(error, "message", "the run has ended early"),
                                tn_get_text(error, "code", cancelled ? "CANCELLED" : "STOPPED"));
    close_message(events);
    (void)tn_append_take(&events->messages,
                         tn_build("{s:s, s:V}", "role", "error", "content", tn_text_finish_cut(&text)));
    tn_text_free(&text);
}

/* The last event has the last message as a whole. */
static void take_end(struct session_events *events, const struct serving_item *item) {
    const char *status = tn_get_text(item->value, "status", "failed"), *finish = item->finish;
    bool done = strcmp(status, "done") == 0, waits = strcmp(status, "interrupted") == 0;
    close_message(events);
    if (events->continues) return;
    tn_release(events->usage);
    events->usage = tn_retain(tn_get(item->value, "usage"));
    if (!done && !waits)
        end_failed(events, item->value, status);
    else if (waits)
        events->finish = events->status;
    else if (finish != NULL && (strcmp(finish, "length") == 0 || strcmp(finish, "content_filter") == 0))
        events->finish = finish;
    uint64_t count = tn.value->count(events->messages);
    tn_value last = count > 0 ? tn_retain(tn.value->at(events->messages, count - 1))
                              : tn_build("{s:s, s:s}", "role", "assistant", "content", "");
    if (last != NULL) send(events, events->status, last);
    tn_release(last);
}

static tn_value usage_value(tn_value usage) {
    int64_t in = tn_get_int(usage, "input_tokens", 0), out = tn_get_int(usage, "output_tokens", 0);
    return tn_build("{s:I, s:I, s:I}", "prompt_tokens", in, "completion_tokens", out, "total_tokens",
                    tn_get_int(usage, "total_tokens", in + out));
}

/* Takes `messages` and `usage`. `title` is Option<String>: null if there is none. */
static tn_value response(tn_value session, const char *finish, tn_value messages, tn_value usage) {
    tn_value title = tn_get(session, "title");
    if (tn.value->kind(title) != TN_STRING) title = NULL;
    return tn_build("{s:s, s:v?, s:s, s:s, s:V, s:V}", "id", tn_get_text(session, "id", ""), "title", title,
                    "start_time", tn_get_text(session, "start_time", ""), "finish_reason", finish, "messages", messages,
                    "usage", usage);
}

tn_value session_events_response(const struct session_events *events) {
    return response(events->session, events->finish, tn_retain(events->messages), usage_value(events->usage));
}

tn_value session_refusal(tn_value session, const char *message) {
    tn_value text = tn_text_lossy(message, strlen(message));
    return response(session, "error", tn_build("[{s:s, s:V}]", "role", "error", "content", text), usage_value(NULL));
}

/* ---- The table ---- */

static const struct {
    enum serving_kind kind;
    void (*take)(struct session_events *events, const struct serving_item *item);
} rows[] = {
    {SERVING_TEXT, take_text},                  /* running: a piece of the assistant's message */
    {SERVING_PART, take_part},                  /* the same: a refusal, or a link */
    {SERVING_RESET, take_reset},                /* the message begins again */
    {SERVING_MESSAGE_END, take_end_of_message}, /* a message of AgentResponseData */
    {SERVING_CALL, take_call},
    {SERVING_RESULT, take_result},           /* a message of the role tool */
    {SERVING_CLIENT_CALL, take_client_call}, /* a message of the assistant */
    {SERVING_ASK, take_ask},                 /* authorization, question: a message of the assistant */
    {SERVING_END, take_end},                 /* done, authorization, question, cancelled, error */
};

void session_events_item(void *user, const struct serving_item *item) {
    struct session_events *events = user;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind == item->kind) rows[i].take(events, item);
}
