/*
 * chunks_calls.c - calls of tools.
 *
 *     deltas of a model         tool-input-start, tool-input-delta …
 *     its message               tool-input-available, or tool-input-error if the arguments are not JSON
 *     an interrupt about it     tool-approval-request
 *     the message of the tool   tool-output-available, tool-output-error or tool-output-denied
 *
 * Models repeat the ids of calls, and the client knows a call by its id, so a repeated one gets a number.
 */
#include "chunks_internal.h"
#include <tenon/message.h>

/* ---- The list ---- */

static struct call *call_by_id(const struct chunks *chunks, const char *id) {
    struct call *call = chunks->calls;
    while (call != NULL && strcmp(call->id, id) != 0) call = call->next;
    return call;
}

/* The newest call with this id of the model that has not ended. */
static struct call *call_by_own(const struct chunks *chunks, const char *own) {
    struct call *call = chunks->calls;
    while (call != NULL && (call->state == CALL_ENDED || call->own == NULL || strcmp(call->own, own) != 0))
        call = call->next;
    return call;
}

static void call_free(struct call *call) {
    serving_free(call->own);
    serving_free(call->id);
    serving_free(call->name);
    tn_release(call->input);
    tn_text_free(&call->arguments);
    serving_free(call);
}

void calls_free(struct chunks *chunks) {
    while (chunks->calls != NULL) {
        struct call *next = chunks->calls->next;
        call_free(chunks->calls);
        chunks->calls = next;
    }
}

static bool id_is_used(const struct chunks *chunks, const char *id) {
    return call_by_id(chunks, id) != NULL || tn_get(chunks->used, id) != NULL;
}

/* The id, or the id with a number behind it: "call_1.2". */
static char *unused_id(const struct chunks *chunks, const char *own) {
    char id[512];
    if (!id_is_used(chunks, own)) return serving_text_copy(own);
    for (unsigned number = 2;; number++) {
        (void)snprintf(id, sizeof id, "%.480s.%u", own, number);
        if (!id_is_used(chunks, id)) return serving_text_copy(id);
    }
}

/* The id without the number that unused_id has added. A copy. */
static char *own_of_id(const struct chunks *chunks, const char *id) {
    size_t digits = 0, length = strlen(id);
    char *own = serving_text_copy(id);
    while (own != NULL && digits < length && strchr("0123456789", id[length - 1 - digits]) != NULL) digits++;
    if (own == NULL || digits == 0 || digits + 1 >= length || own[length - digits - 1] != '.') return own;
    own[length - digits - 1] = '\0';
    if (!id_is_used(chunks, own)) own[length - digits - 1] = '.';
    return own;
}

/* Takes `own` and `id`. NULL: there are too many, or memory has run out. */
static struct call *call_add_take(struct chunks *chunks, char *own, char *id, const char *name, enum call_state state) {
    struct call *call = chunks->call_count < CHUNKS_CALLS_MAX ? serving_alloc(sizeof *call) : NULL;
    if (call == NULL) {
        serving_free(own);
        serving_free(id);
        return NULL;
    }
    *call = (struct call){.own = own,
                          .id = id,
                          .name = serving_text_copy(name),
                          .arguments = TN_TEXT_BUFFER(CHUNKS_ARGUMENTS_MAX),
                          .state = state,
                          .index = -1};
    if (call->own == NULL || call->id == NULL || call->name == NULL) {
        call_free(call);
        return NULL;
    }
    chunks->call_count++;
    call->next = chunks->calls;
    chunks->calls = call;
    return call;
}

static struct call *call_add(struct chunks *chunks, const char *own, const char *name, enum call_state state) {
    return call_add_take(chunks, serving_text_copy(own), unused_id(chunks, own), name, state);
}

/* ---- Input ---- */

/* Takes the input. */
static void input_available(struct chunks *chunks, struct call *call, tn_value input) {
    tn_release(call->input);
    call->input = input;
    call->state = CALL_OPEN;
    call->stream = NULL;
    tn_text_free(&call->arguments);
    send_take(chunks, tn_build("{s:s, s:s, s:s, s:v?}", "type", "tool-input-available", "toolCallId", call->id,
                               "toolName", call->name, "input", input));
}

/* The call stays open if its tool reports the mistake, too. */
static void input_failed(struct chunks *chunks, struct call *call, enum call_state state, const char *reason) {
    const char *text = call->arguments.bytes != NULL ? call->arguments.bytes : "";
    call->state = state;
    call->stream = NULL;
    tn_release(call->input);
    call->input = tn_text(text);
    send_take(chunks, tn_build("{s:s, s:s, s:s, s:s, s:s}", "type", "tool-input-error", "toolCallId", call->id,
                               "toolName", call->name, "input", text, "errorText", reason));
    tn_text_free(&call->arguments);
}

static struct call *streaming_call(const struct chunks *chunks, const struct stream *stream, int64_t index) {
    struct call *call = chunks->calls;
    while (call != NULL && (call->state != CALL_STREAMS || call->stream != stream || call->index != index))
        call = call->next;
    return call;
}

void calls_delta(struct chunks *chunks, const struct stream *stream, tn_value delta) {
    int64_t index = tn_get_int(delta, "index", 0);
    const char *own = tn_get_text(delta, "id", NULL), *name = tn_get_text(delta, "name", NULL);
    uint64_t length = 0;
    const char *text = tn_chars(tn_get(delta, "arguments"), &length);
    struct call *call = streaming_call(chunks, stream, index);
    if (call == NULL && own != NULL && name != NULL) {
        step_for_part(chunks);
        call = call_add(chunks, own, name, CALL_STREAMS);
        if (call == NULL) return;
        call->stream = stream;
        call->index = index;
        send_take(chunks, tn_build("{s:s, s:s, s:s}", "type", "tool-input-start", "toolCallId", call->id, "toolName",
                                   call->name));
    }
    if (call == NULL || length == 0) return; /* without an id; its message has it */
    if (tn_text_append_n(&call->arguments, text, length) == TN_OK)
        send_take(chunks, tn_build("{s:s, s:s, s:s#}", "type", "tool-input-delta", "toolCallId", call->id,
                                   "inputTextDelta", text, length));
}

static struct call *first_streaming_call(const struct chunks *chunks, const struct stream *stream) {
    struct call *first = NULL;
    for (struct call *call = chunks->calls; call != NULL; call = call->next)
        if (call->state == CALL_STREAMS && call->stream == stream && (first == NULL || call->index < first->index))
            first = call;
    return first;
}

void calls_stream_end(struct chunks *chunks, const struct stream *stream, bool discarded) {
    struct call *call;
    while ((call = first_streaming_call(chunks, stream)) != NULL) {
        bool empty = call->arguments.length == 0;
        tn_value input = tn_from_json(empty ? "{}" : call->arguments.bytes, empty ? 2 : call->arguments.length);
        if (discarded)
            input_failed(chunks, call, CALL_ENDED, "The answer was discarded, and the model is asked again.");
        else if (call->arguments.status == TN_LIMIT)
            call->stream = NULL; /* the message has the whole input */
        else if (input != NULL)
            input_available(chunks, call, tn_retain(input));
        else
            input_failed(chunks, call, CALL_OPEN, "The arguments are not valid JSON.");
        tn_release(input);
    }
}

void calls_start(struct chunks *chunks, tn_value tool_call) {
    const char *own = tn_get_text(tool_call, "id", NULL), *name = tn_get_text(tool_call, "name", NULL);
    if (own == NULL || name == NULL) return;
    struct call *call = call_by_own(chunks, own);
    if (call != NULL && call->state != CALL_STREAMS) return; /* it was streamed */
    tn_value input = tn_call_arguments(tool_call);
    if (input == NULL) input = tn_retain(tn_get(tool_call, "arguments"));
    step_for_part(chunks);
    if (call == NULL) call = call_add(chunks, own, name, CALL_OPEN);
    if (call != NULL)
        input_available(chunks, call, input);
    else
        tn_release(input);
}

void calls_end(struct chunks *chunks, const char *id) {
    struct call *call = call_by_id(chunks, id);
    if (call != NULL) call->state = CALL_ENDED;
}

bool calls_are_known(const struct chunks *chunks, tn_value calls) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++)
        for (const struct call *call = chunks->calls; call != NULL; call = call->next)
            if (call->own != NULL && serving_is(tn_get(tn.value->at(calls, i), "id"), call->own)) return true;
    return false;
}

/* ---- Output ---- */

/* JSON text is parsed, because tools return values. A new reference. */
tn_value calls_output(tn_value content) {
    uint64_t length = 0;
    const char *text = tn_chars(content, &length);
    if (text == NULL) return content != NULL ? tn_retain(content) : tn_null();
    if (length <= CHUNKS_OUTPUT_MAX) {
        tn_value parsed = tn_from_json(text, length);
        return parsed != NULL ? parsed : tn_retain(content);
    }
    struct tn_text_buffer cut = TN_TEXT_BUFFER(0);
    uint64_t kept = tn_utf8_cut(text, length, CHUNKS_OUTPUT_MAX);
    (void)tn_text_append_n(&cut, text, kept);
    (void)tn_text_append_format(&cut, "… (%llu bytes more)", (unsigned long long)(length - kept));
    return tn_text_finish(&cut);
}

static void output_failed(struct chunks *chunks, const struct call *call, tn_value content) {
    static const char denied[] = "TOOL_DENIED:";
    tn_value text = tn_content_text(content);
    const char *chars = tn_chars(text, NULL);
    if (chars == NULL) chars = "The tool has failed.";
    if (strncmp(chars, denied, sizeof denied - 1) == 0)
        send_take(chunks, tn_build("{s:s, s:s}", "type", "tool-output-denied", "toolCallId", call->id));
    else
        send_take(chunks,
                  tn_build("{s:s, s:s, s:s}", "type", "tool-output-error", "toolCallId", call->id, "errorText", chars));
    tn_release(text);
}

void calls_result(struct chunks *chunks, tn_value message) {
    const char *own = tn_get_text(message, "tool_call_id", NULL);
    struct call *call = own != NULL ? call_by_own(chunks, own) : NULL;
    if (own == NULL) return;
    if (call == NULL) { /* of a call that neither this leg nor the client has */
        tn_value made =
            tn_build("{s:s, s:s, s:{}}", "id", own, "name", tn_get_text(message, "name", "tool"), "arguments");
        if (call_by_id(chunks, own) == NULL) calls_start(chunks, made);
        tn_release(made);
        call = call_by_own(chunks, own);
        if (call == NULL) return;
    }
    call->state = CALL_ENDED;
    chunks->step_has_output = chunks->in_step;
    if (serving_is(tn_get(message, "status"), "error"))
        output_failed(chunks, call, tn_get(message, "content"));
    else
        send_take(chunks, tn_build("{s:s, s:s, s:V}", "type", "tool-output-available", "toolCallId", call->id, "output",
                                   calls_output(tn_get(message, "content"))));
}

/* ---- Calls of an earlier leg ---- */

const char *part_tool_name(tn_value part) {
    static const char prefix[] = "tool-";
    const char *type = tn_get_text(part, "type", "");
    if (strcmp(type, "dynamic-tool") == 0) return tn_get_text(part, "toolName", NULL);
    return strncmp(type, prefix, sizeof prefix - 1) == 0 && type[sizeof prefix - 1] ? type + sizeof prefix - 1 : NULL;
}

void calls_read(struct chunks *chunks, tn_value parts) {
    for (uint64_t i = 0, count = tn.value->count(parts); i < count; i++) {
        tn_value part = tn.value->at(parts, i);
        const char *id = tn_get_text(part, "toolCallId", NULL), *name = part_tool_name(part);
        const char *state = tn_get_text(part, "state", "");
        if (id == NULL || name == NULL || call_by_id(chunks, id) != NULL) continue;
        bool ended = strncmp(state, "output-", 7) == 0;
        struct call *call =
            call_add_take(chunks, own_of_id(chunks, id), serving_text_copy(id), name, ended ? CALL_ENDED : CALL_OPEN);
        if (call == NULL) return;
        call->input = tn_retain(tn_get(part, "input"));
    }
}

/* ---- Interrupts ---- */

bool interrupt_is_pause(tn_value interrupt) {
    return tn_get(interrupt, "when") != NULL && tn.value->kind(tn_get(interrupt, "payload")) <= TN_NULL;
}

tn_value interrupt_client_tool(tn_value interrupt) {
    tn_value payload = tn_get(interrupt, "payload"), detail = tn_get(payload, "detail");
    tn_value from = serving_is(tn_get(detail, "kind"), "client_tool") ? detail : payload;
    bool tool = serving_is(tn_get(from, "kind"), "client_tool") && tn_get_text(from, "tool", NULL) != NULL;
    return tool ? from : NULL;
}

/* Of equal calls, each is asked for once. */
static struct call *call_like(const struct chunks *chunks, const char *name, tn_value input) {
    struct call *found = NULL;
    for (struct call *call = chunks->calls; call != NULL; call = call->next)
        if (call->state == CALL_OPEN && strcmp(call->name, name) == 0 && tn.value->equal(call->input, input) != 0)
            found = call;
    return found;
}

struct call *calls_of_interrupt(struct chunks *chunks, tn_value interrupt, const char *prefix) {
    tn_value client = interrupt_client_tool(interrupt),
             payload = client != NULL ? client : tn_get(interrupt, "payload");
    tn_value input = tn_call_arguments(payload);
    const char *node = tn_get_text(interrupt, "node", "node"), *id = tn_get_text(interrupt, "id", "");
    const char *tool = tn_get_text(payload, "tool", NULL);
    const char *name = tool != NULL ? tool : tn_get_text(payload, "node", node);
    struct call *call = tool != NULL ? call_like(chunks, tool, input) : NULL;
    char own[256];
    (void)snprintf(own, sizeof own, "%s%.200s", prefix, id);
    if (call == NULL) {
        step_for_part(chunks);
        call = call_add(chunks, own, name, CALL_OPEN);
        if (call != NULL) input_available(chunks, call, tn_retain(input));
    }
    tn_release(input);
    return call;
}

bool calls_are_open(const struct chunks *chunks) {
    for (const struct call *call = chunks->calls; call != NULL; call = call->next)
        if (call->state == CALL_OPEN || call->state == CALL_ASKS) return true;
    return false;
}
