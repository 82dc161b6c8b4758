/*
 * trim.c - `trim`: the newest messages of a conversation, and what becomes of the others.
 *
 * A conversation is taken from its end in *units*: one message, or an ai message with tool calls and the tool messages
 * that answer it, which no service takes apart from each other. As many units are left as fit, the newest always. What
 * goes is removed by id, or summed up in the place of its first.
 */
#include "chat.h"
#include "conversation.h"

#define TOKENS_MESSAGE 4    /* of a message, whatever is in it */
#define TOKENS_PART    1000 /* of a part that is no text */

struct trim {
    uint32_t read, write, output, model, usage;
    int64_t last, tokens; /* 0: no limit */
    tn_value summarise;   /* borrowed from the configuration; NULL */
    const char *messages_name;
};

struct trim_task {
    const struct trim *trim;
    tn_task task;
    tn_value messages;
    bool *goes; /* of each message */
};

static int32_t trim_create(tn_value config, tn_binder *binder, void **self) {
    struct trim *trim = agents_alloc(sizeof(*trim));
    if (trim == NULL) return TN_NO_MEMORY;
    trim->last = tn_get_int(config, "last", 0);
    trim->tokens = tn_get_int(config, "max_tokens", 0);
    trim->summarise = tn.value->get(config, "summarise");
    trim->messages_name = tn_get_text(config, "messages_key", "messages");
    int32_t status = agents_needs(tn.eval, binder, TN_EVAL_DRAFT);
    if (status == TN_OK) status = tn.task->bind_read(binder, trim->messages_name, &trim->read);
    if (status == TN_OK) status = agents_write(config, "output_key", binder, &trim->output);
    if (status == TN_OK && trim->output == TN_UNBOUND)
        status = tn.task->bind_write(binder, trim->messages_name, &trim->write);
    if (status == TN_OK) status = agents_write(config, "usage_key", binder, &trim->usage);
    if (status == TN_OK && trim->summarise != NULL) status = chat_bind_model(trim->summarise, binder, &trim->model);
    if (status == TN_OK)
        *self = trim;
    else
        agents_free(trim);
    return status;
}

/* ---- Counting ---- */

static int64_t tokens_of_text(tn_value value) {
    uint64_t length = 0;
    const char *text = tn_chars(value, &length);
    tn_value json = text == NULL && value != NULL ? tn.value->to_json(value) : NULL;
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

static int64_t tokens_of(tn_value message) {
    tn_value content = tn.value->get(message, "content"), calls = tn_message_calls(message);
    int64_t tokens = TOKENS_MESSAGE;
    if (tn.value->kind(content) == TN_STRING) tokens += tokens_of_text(content);
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++) {
        tn_value text = tn.value->get(tn.value->at(content, i), "text");
        tokens += text != NULL ? tokens_of_text(text) : TOKENS_PART;
    }
    return tokens + (calls != NULL ? tokens_of_text(calls) : 0);
}

static bool stays(tn_value message) { return tn_message_is(message, "system") || tn_message_is(message, "developer"); }

/* Where the unit that ends with message `end` begins. */
static uint64_t unit_begin(tn_value messages, uint64_t end) {
    uint64_t at = end;
    while (at > 0 && tn_message_is(tn.value->at(messages, at), "tool")) at--;
    return tn_message_is(tn.value->at(messages, at), "ai") ? at : end;
}

/* Marks what goes; returns how many. */
static uint64_t mark(struct trim_task *it) {
    const struct trim *trim = it->trim;
    int64_t tokens = 0, kept = 0;
    uint64_t gone = 0, count = tn.value->count(it->messages);
    bool full = false, first = true;
    for (uint64_t i = 0; i < count; i++)
        if (stays(tn.value->at(it->messages, i))) tokens += tokens_of(tn.value->at(it->messages, i));
    for (uint64_t end = count; end > 0;) {
        uint64_t begin = unit_begin(it->messages, end - 1);
        int64_t more = 0, size = (int64_t)(end - begin);
        if (stays(tn.value->at(it->messages, end - 1))) {
            end--;
            continue;
        }
        for (uint64_t i = begin; i < end; i++) more += tokens_of(tn.value->at(it->messages, i));
        full |= trim->last > 0 && kept + size > trim->last;
        full |= trim->tokens > 0 && tokens + more > trim->tokens;
        for (uint64_t i = begin; full && !first && i < end; i++) it->goes[i] = true;
        if (full && !first) gone += end - begin;
        tokens += more;
        kept += size;
        first = false;
        end = begin;
    }
    return gone;
}

/* ---- What is written ---- */

/* Removes what goes; the first of it becomes `summary`, where there is one. NULL: the task has been failed. */
static tn_value removals(const struct trim_task *it, tn_value summary) {
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(it->messages); i < count; i++) {
        if (!it->goes[i]) continue;
        tn_value id = tn.value->get(tn.value->at(it->messages, i), "id");
        if (tn.value->kind(id) != TN_STRING) {
            tn_release(tn.value->finish(out));
            (void)agents_fail(it->task, "INVALID_CONFIG", NULL,
                              "message %llu of `%.80s` has no `id` to remove it by; give the channel the type `reduce` "
                              "with the reducer `messages`, or write what is left to another one by `output_key`",
                              (unsigned long long)i, it->trim->messages_name);
            return NULL;
        }
        if (summary != NULL) {
            tn_value placed = agents_set_take(tn_retain(summary), "id", tn_retain(id));
            tn_put_take(out, NULL, placed);
            summary = NULL;
            continue;
        }
        tn_put_begin(out, NULL, TN_OBJECT);
        tn_put_text(out, "type", "remove");
        tn_put(out, "id", id);
        tn.value->end(out);
    }
    tn.value->end(out);
    return tn.value->finish(out);
}

static tn_value left(const struct trim_task *it, tn_value summary) {
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(it->messages); i < count; i++) {
        if (it->goes[i] && summary != NULL) tn_put(out, NULL, summary);
        if (it->goes[i]) summary = NULL;
        if (!it->goes[i]) tn_put(out, NULL, tn.value->at(it->messages, i));
    }
    tn.value->end(out);
    return tn.value->finish(out);
}

static void trim_free(struct trim_task *it) {
    tn_release(it->messages);
    agents_free(it->goes);
    agents_free(it);
}

/* Ends the task, and frees `it`. */
static int32_t finish(struct trim_task *it, tn_value summary) {
    tn_task task = it->task;
    bool elsewhere = it->trim->output != TN_UNBOUND;
    tn_value written = elsewhere ? left(it, summary) : removals(it, summary);
    int32_t status = TN_FAILED;
    if (written != NULL) status = tn_write_take(task, elsewhere ? it->trim->output : it->trim->write, written);
    trim_free(it);
    return status == TN_OK ? tn_done(task) : status;
}

/* ---- Summing up ---- */

static void add_line(struct text *out, tn_value message) {
    tn_value content = tn_content_text(tn.value->get(message, "content")), calls = tn_message_calls(message);
    const char *name = tn_get_text(message, "name", NULL);
    text_format(out, "%s%s%s: ", tn_message_type(message), name != NULL ? " " : "", name != NULL ? name : "");
    text_add_value(out, content);
    if (calls != NULL) text_add_value(out, calls);
    text_add(out, "\n");
    tn_release(content);
}

/* What the model is asked: the prompt, and what goes, as a text: it is to be talked about, not gone on with. */
static tn_value request_of(const struct trim_task *it) {
    struct text out = {0};
    tn_value options = tn.value->get(it->trim->summarise, "options");
    for (uint64_t i = 0, count = tn.value->count(it->messages); i < count; i++)
        if (it->goes[i]) add_line(&out, tn.value->at(it->messages, i));
    tn_value prompt = tn_text(tn_get_text(it->trim->summarise, "prompt", "Sum up this conversation."));
    tn_value said = text_take(&out);
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "messages", TN_ARRAY);
    tn_put_take(builder, NULL, tn_message("system", prompt));
    tn_put_take(builder, NULL, tn_message("user", said));
    tn.value->end(builder);
    if (options != NULL) tn_put(builder, "options", options);
    tn.value->end(builder);
    tn_release(prompt);
    tn_release(said);
    return tn.value->finish(builder);
}

static void summed_up(void *user, int32_t status, tn_value result) {
    struct trim_task *it = user;
    tn_task task = it->task;
    if (status != TN_OK) {
        trim_free(it);
        (void)agents_fail_with(task, status, result);
        return;
    }
    tn_value text = tn_content_text(tn.value->get(tn.value->get(result, "message"), "content"));
    tn_value summary = text != NULL ? tn_message("system", text) : NULL;
    if (it->trim->usage != TN_UNBOUND) {
        struct usage usage = {.calls = 0};
        usage_add(&usage, tn.value->get(result, "usage"));
        (void)tn_write_take(task, it->trim->usage, usage_value(&usage));
    }
    status = finish(it, summary);
    if (status != TN_OK && status != TN_FAILED)
        (void)agents_fail(task, "CHANNEL", NULL, "a channel did not take what is left (status %d)", (int)status);
    tn_release(summary);
    tn_release(text);
}

static int32_t trim_start(void *self, tn_task task, tn_value input) {
    const struct trim *trim = self;
    (void)input;
    tn_value messages = conversation_read(task, trim->read, trim->messages_name);
    if (messages == NULL) return TN_FAILED;
    struct trim_task *it = agents_alloc(sizeof(*it));
    bool *goes = it != NULL ? agents_alloc(tn.value->count(messages) + 1) : NULL;
    if (goes == NULL) {
        agents_free(it);
        tn_release(messages);
        return TN_NO_MEMORY;
    }
    *it = (struct trim_task){trim, task, messages, goes};
    uint64_t gone = mark(it);
    if (gone == 0 && trim->output == TN_UNBOUND) {
        trim_free(it);
        return tn_done(task);
    }
    if (gone == 0 || trim->summarise == NULL) return finish(it, NULL);
    tn_value request = request_of(it);
    int32_t status = request != NULL ? tn.task->call(task, trim->model, request, summed_up, it) : TN_NO_MEMORY;
    tn_release(request);
    if (status != TN_OK) trim_free(it);
    return status;
}

TN_COMPONENT(trim, "trim", trim_create, trim_start, NULL, NULL, agents_free)
