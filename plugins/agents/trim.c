/*
 * trim.c - `trim`: keeps the newest messages of a conversation, and removes or summarises the others.
 *
 * A conversation is read from its end in *units*: one message, or an ai message with tool calls together with the tool
 * messages that answer it, because services do not accept one without the other. Units are kept until a limit is
 * reached; the newest unit is always kept. The other messages are removed by id, or replaced by a summary at the
 * position of the first.
 */
#include "chat.h"
#include "conversation.h"

#define TOKENS_MESSAGE 4    /* per message, independent of its content */
#define TOKENS_PART    1000 /* per part that is not text */

struct trim {
    uint32_t read, write, output, model, usage;
    int64_t last, tokens; /* 0: no limit */
    tn_value summarise;   /* borrowed from the configuration; may be NULL */
    const char *messages_name;
};

struct trim_task {
    const struct trim *trim;
    tn_task task;
    tn_value messages;
    bool *removed; /* for each message: true if it is removed */
};

static int32_t trim_create(tn_value config, tn_binder *binder, void **self) {
    struct trim *trim = agents_alloc_zeroed(sizeof(*trim));
    if (trim == NULL) return TN_NO_MEMORY;
    trim->last = tn_get_int(config, "last", 0);
    trim->tokens = tn_get_int(config, "max_tokens", 0);
    trim->summarise = tn_get(config, "summarise");
    trim->messages_name = tn_get_text(config, "messages_key", "messages");
    int32_t status = tn.task->bind_read(binder, trim->messages_name, TN_Z, &trim->read);
    if (status == TN_OK) status = agents_bind_write(config, "output_key", binder, &trim->output);
    if (status == TN_OK && trim->output == TN_UNBOUND)
        status = tn.task->bind_write(binder, trim->messages_name, TN_Z, &trim->write);
    if (status == TN_OK) status = agents_bind_write(config, "usage_key", binder, &trim->usage);
    if (status == TN_OK && trim->summarise != NULL) status = chat_bind_model(trim->summarise, binder, &trim->model);
    if (status == TN_OK)
        *self = trim;
    else
        agents_release(trim);
    return status;
}

/* ---- Counting ---- */

static int64_t trim_count_text_tokens(tn_value value) {
    uint64_t length = 0;
    const char *text = tn_chars(value, &length);
    tn_value json = text == NULL && value != NULL ? tn_to_json(value) : NULL;
    int64_t ascii = 0, others = 0;
    if (text == NULL) text = tn_chars(json, &length);
    for (uint64_t i = 0; text != NULL && i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        ascii += byte < 0x80;
        others += byte >= 0xc0; /* the first byte of a character */
    }
    tn_release(json);
    return (ascii + 3) / 4 + others;
}

static int64_t trim_count_message_tokens(tn_value message) {
    tn_value content = tn_get(message, "content"), calls = tn_message_calls(message);
    int64_t tokens = TOKENS_MESSAGE;
    if (tn.value->kind(content) == TN_STRING) tokens += trim_count_text_tokens(content);
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++) {
        tn_value text = tn_get(tn.value->at(content, i), "text");
        tokens += text != NULL ? trim_count_text_tokens(text) : TOKENS_PART;
    }
    return tokens + (calls != NULL ? trim_count_text_tokens(calls) : 0);
}

static bool trim_always_keeps(tn_value message) {
    return tn_message_is(message, "system") || tn_message_is(message, "developer");
}

/* Returns the index of the first message of the unit whose last message is `end`. */
static uint64_t trim_unit_begin(tn_value messages, uint64_t end) {
    uint64_t at = end;
    while (at > 0 && tn_message_is(tn.value->at(messages, at), "tool")) at--;
    return tn_message_is(tn.value->at(messages, at), "ai") ? at : end;
}

/* Marks the messages to remove. Returns their number. */
static uint64_t trim_mark_removed(struct trim_task *state) {
    const struct trim *trim = state->trim;
    int64_t tokens = 0, kept = 0;
    uint64_t removed_count = 0, count = tn.value->count(state->messages);
    bool full = false, first = true;
    for (uint64_t i = 0; i < count; i++)
        if (trim_always_keeps(tn.value->at(state->messages, i)))
            tokens += trim_count_message_tokens(tn.value->at(state->messages, i));
    for (uint64_t end = count; end > 0;) {
        uint64_t begin = trim_unit_begin(state->messages, end - 1);
        int64_t more = 0, size = (int64_t)(end - begin);
        if (trim_always_keeps(tn.value->at(state->messages, end - 1))) {
            end--;
            continue;
        }
        for (uint64_t i = begin; i < end; i++) more += trim_count_message_tokens(tn.value->at(state->messages, i));
        full |= trim->last > 0 && kept + size > trim->last;
        full |= trim->tokens > 0 && tokens + more > trim->tokens;
        for (uint64_t i = begin; full && !first && i < end; i++) state->removed[i] = true;
        if (full && !first) removed_count += end - begin;
        tokens += more;
        kept += size;
        first = false;
        end = begin;
    }
    return removed_count;
}

/* ---- Output ---- */

/* Returns the messages that remove the marked messages. A summary (may be NULL) replaces the first of them. NULL if the
 * task has failed. */
static tn_value trim_build_removals(const struct trim_task *state, tn_value summary) {
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(state->messages); i < count; i++) {
        if (!state->removed[i]) continue;
        tn_value id = tn_get(tn.value->at(state->messages, i), "id");
        if (tn.value->kind(id) != TN_STRING) {
            tn_release(tn_finish(out));
            (void)agents_fail(
                state->task, "INVALID_CONFIG", NULL,
                "message %llu of `%.80s` has no `id`, so it cannot be removed; give the channel the type `reduce` "
                "with the reducer `messages`, or set `output_key` to write the remaining messages to another channel",
                (unsigned long long)i, state->trim->messages_name);
            return NULL;
        }
        if (summary != NULL) {
            tn_value replacement = tn_set_take(tn_retain(summary), "id", tn_retain(id));
            tn_put_take(out, NULL, replacement);
            summary = NULL;
            continue;
        }
        tn_put_begin(out, NULL, TN_OBJECT);
        tn_put_text(out, "type", "remove");
        tn_put(out, "id", id);
        tn.value->end(out);
    }
    tn.value->end(out);
    return tn_finish(out);
}

static tn_value trim_build_remaining(const struct trim_task *state, tn_value summary) {
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(state->messages); i < count; i++) {
        if (state->removed[i] && summary != NULL) tn_put(out, NULL, summary);
        if (state->removed[i]) summary = NULL;
        if (!state->removed[i]) tn_put(out, NULL, tn.value->at(state->messages, i));
    }
    tn.value->end(out);
    return tn_finish(out);
}

static void trim_task_free(struct trim_task *state) {
    tn_release(state->messages);
    agents_release(state->removed);
    agents_release(state);
}

/* Ends the task and frees `it`. */
static int32_t trim_finish(struct trim_task *state, tn_value summary) {
    tn_task task = state->task;
    bool to_output = state->trim->output != TN_UNBOUND;
    tn_value written = to_output ? trim_build_remaining(state, summary) : trim_build_removals(state, summary);
    int32_t status = TN_FAILED;
    if (written != NULL) status = tn_write_take(task, to_output ? state->trim->output : state->trim->write, written);
    trim_task_free(state);
    return status == TN_OK ? tn_done(task) : status;
}

/* ---- Summary ---- */

static void trim_append_line(struct tn_text_buffer *out, tn_value message) {
    tn_value content = tn_content_text(tn_get(message, "content")), calls = tn_message_calls(message);
    const char *name = tn_get_text(message, "name", NULL);
    tn_text_append_format(out, "%s%s%s: ", tn_message_type(message), name != NULL ? " " : "", name != NULL ? name : "");
    tn_text_append_value(out, content);
    if (calls != NULL) tn_text_append_value(out, calls);
    tn_text_append(out, "\n");
    tn_release(content);
}

/* Returns the request: the prompt, and the removed messages as one text, so that the model summarises the conversation
 * instead of continuing it. */
static tn_value trim_build_request(const struct trim_task *state) {
    struct tn_text_buffer out = {0};
    tn_value options = tn_get(state->trim->summarise, "options");
    for (uint64_t i = 0, count = tn.value->count(state->messages); i < count; i++)
        if (state->removed[i]) trim_append_line(&out, tn.value->at(state->messages, i));
    tn_value prompt = tn_text(tn_get_text(state->trim->summarise, "prompt", "Sum up this conversation."));
    tn_value text = tn_text_finish(&out);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "messages", TN_ARRAY);
    tn_put_take(builder, NULL, tn_message("system", prompt));
    tn_put_take(builder, NULL, tn_message("user", text));
    tn.value->end(builder);
    if (options != NULL) tn_put(builder, "options", options);
    tn.value->end(builder);
    tn_release(prompt);
    tn_release(text);
    return tn_finish(builder);
}

static int32_t trim_on_summary(void *user, int32_t status, tn_value result) {
    struct trim_task *state = user;
    tn_task task = state->task;
    if (status != TN_OK) {
        trim_task_free(state);
        (void)agents_fail_with(task, status, result);
        return TN_OK;
    }
    tn_value text = tn_content_text(tn_get(tn_get(result, "message"), "content"));
    tn_value summary = text != NULL ? tn_message("system", text) : NULL;
    if (state->trim->usage != TN_UNBOUND) {
        struct chat_usage usage = {.calls = 0};
        chat_usage_add(&usage, tn_get(result, "usage"));
        (void)tn_write_take(task, state->trim->usage, chat_usage_to_value(&usage));
    }
    status = trim_finish(state, summary);
    if (status != TN_OK && status != TN_FAILED)
        (void)agents_fail(task, "CHANNEL", NULL, "a channel did not accept the remaining messages (status %d)",
                          (int)status);
    tn_release(summary);
    tn_release(text);
    return TN_OK;
}

static int32_t trim_start(void *self, tn_task task, tn_value input) {
    const struct trim *trim = self;
    (void)input;
    tn_value messages = conversation_read(task, trim->read, trim->messages_name);
    if (messages == NULL) return TN_FAILED;
    struct trim_task *state = agents_alloc_zeroed(sizeof(*state));
    bool *removed = state != NULL ? agents_alloc_zeroed(tn.value->count(messages) + 1) : NULL;
    if (removed == NULL) {
        agents_release(state);
        tn_release(messages);
        return TN_NO_MEMORY;
    }
    *state = (struct trim_task){trim, task, messages, removed};
    uint64_t removed_count = trim_mark_removed(state);
    if (removed_count == 0 && trim->output == TN_UNBOUND) {
        trim_task_free(state);
        return tn_done(task);
    }
    if (removed_count == 0 || trim->summarise == NULL) return trim_finish(state, NULL);
    tn_value request = trim_build_request(state);
    int32_t status =
        request != NULL ? tn.task->call(task, trim->model, request, NULL, trim_on_summary, state, NULL) : TN_NO_MEMORY;
    tn_release(request);
    if (status != TN_OK) trim_task_free(state);
    return status;
}

TN_COMPONENT(trim, "trim", trim_create, trim_start, NULL, NULL, agents_release)
