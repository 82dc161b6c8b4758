/*
 * scripted.c - the plugin `tenon.scripted`: a model with preset answers, without a network.
 *
 * A call emits the deltas of its reply. It pauses while the host accepts no more deltas, and for `delay_ms` before each
 * delta. Then it completes, or fails if the reply has an error. answers.c finds an open call by its task, script.c
 * chooses the reply, placeholders.c replaces its placeholders, deltas.c splits it into deltas, count.c counts tokens
 * and computes embeddings.
 */
#include "answers.h"
#include "count.h"
#include "deltas.h"
#include "script.h"

TN_PLUGIN("tenon.scripted", "0.1.0", "A model with preset replies, for tests and for work without a network")

struct scripted {
    struct script script;
    tn_value model; /* the model's name */
    int64_t calls;  /* of this instance, in this process */
    uint64_t chunk, delay_ms, dimensions;
    bool templates;
    struct answers open;
};

/* A call in progress. */
struct answer {
    struct answer_place place; /* first, so that it is the address of the answer; has the task */
    struct scripted *owner;
    struct deltas deltas;
    tn_value delta;         /* a delta that the host did not accept yet */
    tn_value result, error; /* how the task ends: one of them is set */
    uint64_t delay_ms;      /* before every delta */
    uint64_t post;          /* the posted timer; 0: not delayed */
};

/* ---- Answers ---- */

static void answer_free(struct answer *answer) {
    deltas_finish(&answer->deltas);
    tn_release(answer->delta);
    tn_release(answer->result);
    tn_release(answer->error);
    tn.core->release(tn.host, answer);
}

static void answer_unlink(struct answer *answer) { answers_remove(&answer->owner->open, &answer->place); }

static bool error_code_is_retryable(const char *code) {
    static const char *const retryable[] = {"RATE_LIMITED", "OVERLOADED", "INVALID_RESPONSE", "TIMEOUT", "CONNECT"};
    for (size_t i = 0; i < sizeof retryable / sizeof *retryable; i++)
        if (strcmp(code, retryable[i]) == 0) return true;
    return false;
}

static int32_t answer_fail(tn_task task, tn_value error) {
    const char *code = tn_get_text(error, "code", "ERROR");
    int32_t retryable = error_code_is_retryable(code);
    (void)tn.value->as_bool(tn_get(error, "retryable"), &retryable);
    tn_value after = tn_get(error, "retry_after_ms"), detail = tn_get(error, "detail");
    const char *message = tn_get_text(error, "message", "the script's error for this call");
    return tn_fail_take(task, tn_build("{s:s,s:s,s:b,s:v*,s:v*}", "code", code, "message", message, "retryable",
                                       retryable, "retry_after_ms", after, "detail", detail));
}

/* Ends the task. The answer is freed first, because the host may then destroy its owner. */
static void answer_end(struct answer *answer, int32_t status) {
    tn_task task = answer->place.task;
    tn_value result = tn_retain(answer->result), error = tn_retain(answer->error);
    answer_unlink(answer);
    answer_free(answer);
    if (status == TN_OK && result != NULL)
        (void)tn_done_value(task, result);
    else if (status == TN_OK)
        (void)answer_fail(task, error);
    else if (status == TN_CANCELLED)
        (void)tn_fail(task, "CANCELLED", "cancelled");
    else if (status == TN_NO_MEMORY)
        (void)tn_fail(task, "NO_MEMORY", "not enough memory for the next delta");
    else
        (void)tn_fail(task, "EMIT_FAILED", "the host did not accept a delta");
    tn_release(result);
    tn_release(error);
}

static void answer_resume(void *argument);

/* Starts the delay before the next delta. Returns true if the answer is delayed, or has ended with an error. */
static bool answer_start_delay(struct answer *answer) {
    if (answer->delay_ms == 0) return false;
    answer->post = tn_post(answer->delay_ms, answer_resume, answer);
    if (answer->post != 0) return true;
    answer_end(answer, TN_NO_MEMORY);
    return true;
}

/* Emits deltas until the host returns TN_AGAIN, a delay starts, or all are emitted. */
static void answer_emit(struct answer *answer) {
    int32_t status = TN_OK;
    for (;;) {
        if (answer->delta == NULL) answer->delta = deltas_next(&answer->deltas);
        if (answer->delta == NULL) break;
        status = tn.task->emit(answer->place.task, answer->delta);
        if (status == TN_AGAIN) return;
        if (status != TN_OK) break;
        tn_release(answer->delta);
        answer->delta = NULL;
        if (answer_start_delay(answer)) return;
    }
    if (status == TN_OK && !deltas_are_complete(&answer->deltas)) status = TN_NO_MEMORY;
    answer_end(answer, status);
}

static void answer_resume(void *argument) {
    struct answer *answer = argument;
    answer->post = 0;
    answer_emit(answer);
}

static struct answer *answer_lookup_by_task(const struct scripted *scripted, tn_task task) {
    return (struct answer *)answers_lookup(&scripted->open, task);
}

/* ---- Replies ---- */

/* Returns the turn's messages in the form of message.h. NULL if the task has failed. */
static tn_value normalise_messages(tn_task task, tn_value messages) {
    char message[160];
    int32_t kind = tn.value->kind(messages);
    if (kind != TN_ARRAY) {
        tn_value one = kind == TN_STRING || kind == TN_OBJECT ? tn_message_normal(messages) : NULL, list = NULL;
        if (one != NULL) list = tn_build("[v]", one);
        tn_release(one);
        if (list != NULL) return list;
        (void)snprintf(message, sizeof message, "`messages` must be a list of messages, a message or a text; found %s",
                       tn_kind_name(messages));
        (void)tn_fail(task, "INVALID_REQUEST", message);
        return NULL;
    }
    tn_builder *list = tn_builder_new();
    bool ok = true;
    tn.value->begin(list, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(messages); i < count && ok; i++) {
        tn_value normal = tn_message_normal(tn.value->at(messages, i));
        ok = normal != NULL;
        if (ok) tn_put_take(list, NULL, normal);
        if (!ok)
            (void)snprintf(
                message, sizeof message,
                "messages[%llu], %s, is not a message: expected a text, or {type, content} with a type such as "
                "user or ai",
                (unsigned long long)i, tn_kind_name(tn.value->at(messages, i)));
    }
    tn.value->end(list);
    tn_value result = tn_finish(list);
    if (ok && result != NULL) return result;
    (void)tn_fail(task, ok ? "NO_MEMORY" : "INVALID_REQUEST", ok ? "not enough memory for the messages" : message);
    tn_release(result);
    return NULL;
}

static void script_turn_init(struct script_turn *turn, const struct scripted *scripted, tn_task task,
                             tn_value messages) {
    tn_value context = tn_context(task), user = NULL, last = NULL;
    int64_t ai = 0;
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++) {
        last = tn.value->at(messages, i);
        if (tn_message_is(last, "ai")) ai++;
        if (tn_message_is(last, "user")) user = last;
    }
    *turn = (struct script_turn){.messages = messages,
                                 .number = scripted->script.by_calls ? scripted->calls : ai,
                                 .attempt = tn_get_int(context, "attempt", 1),
                                 .input = tn_content_text(tn_get(user, "content")),
                                 .last = tn_content_text(tn_get(last, "content"))};
    if (turn->attempt < 1) turn->attempt = 1;
    tn_release(context);
}

static void script_turn_finish(struct script_turn *turn) {
    tn_release(turn->input);
    tn_release(turn->last);
}

/* Returns the reply's message with its placeholders replaced. NULL if allocation fails, or with *too_long set. */
static tn_value message_replace_placeholders(const struct scripted *scripted, const struct script_turn *turn,
                                             tn_value message, bool *too_long) {
    *too_long = false;
    if (!scripted->templates) return tn_retain(message);
    tn_value number = tn_int(turn->number + 1), call = tn_to_json(number);
    struct placeholders placeholders = {turn->input, turn->last, call, scripted->model};
    tn_value filled = placeholders_replace(&placeholders, message, too_long);
    tn_release(number);
    tn_release(call);
    return filled;
}

static bool is_computed_member(const char *name) {
    static const char *const computed[] = {"tool_calls", "model", "finish_reason", "usage"};
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++)
        if (strcmp(name, computed[i]) == 0) return true;
    return false;
}

/* Returns the message with the model's name, finish_reason and an id for every call, but without `usage`. */
static tn_value complete_message(const struct scripted *scripted, tn_value message, int64_t number,
                                 const char *finish) {
    tn_builder *builder = tn_builder_new();
    tn_value calls = tn_message_calls(message);
    tn.value->begin(builder, TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(message); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(message, i, &key, &value) != TN_OK) break;
        if (!is_computed_member(tn_chars(key, NULL))) tn_put_key(builder, key, value);
    }
    if (calls != NULL) tn_put_begin(builder, "tool_calls", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i);
        char id[64];
        (void)snprintf(id, sizeof id, "call_%lld_%llu", (long long)number + 1, (unsigned long long)i + 1);
        bool has_id = tn.value->kind(tn_get(call, "id")) == TN_STRING;
        tn_put_take(builder, NULL, has_id ? tn_retain(call) : tn_set_take(tn_retain(call), "id", tn_text(id)));
    }
    if (calls != NULL) tn.value->end(builder);
    tn_put(builder, "model", scripted->model);
    tn_put_text(builder, "finish_reason", finish);
    tn.value->end(builder);
    return tn_finish(builder);
}

static tn_value scripted_result(tn_value message, tn_value usage, const char *finish) {
    return tn_build("{s:v,s:v,s:s}", "message", message, "usage", usage, "finish_reason", finish);
}

static int64_t count_input_tokens(tn_value messages, tn_value tools) {
    int64_t tokens = count_tools_tokens(tools);
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++)
        tokens += count_message_tokens(tn.value->at(messages, i));
    return tokens;
}

/* Prepares the answer. Returns TN_LIMIT if a text is too long, or another failure if allocation fails. */
static int32_t answer_prepare(struct answer *answer, const struct script_turn *turn, tn_value reply, tn_value tools) {
    const struct scripted *scripted = answer->owner;
    tn_value written = tn_get(reply, "message"), error = tn_get(reply, "error");
    tn_value given = tn_get(reply, "usage"), filled = NULL, message = NULL, usage = NULL;
    bool too_long = false;
    if (written == NULL) {
        answer->error = tn_retain(error);
        answer->deltas.done = true;
        return TN_OK;
    }
    const char *finish = tn_message_calls(written) != NULL ? "tool_calls" : "stop";
    finish = tn_get_text(reply, "finish_reason", tn_get_text(written, "finish_reason", finish));
    filled = message_replace_placeholders(scripted, turn, written, &too_long);
    if (filled != NULL) message = complete_message(scripted, filled, turn->number, finish);
    if (message != NULL)
        usage = usage_build(count_input_tokens(turn->messages, tools), count_message_tokens(message), given);
    message = tn_set_take(message, "usage", tn_retain(usage));
    if (message != NULL) {
        answer->error = tn_retain(error);
        if (error == NULL) answer->result = scripted_result(message, usage, finish);
        deltas_init(&answer->deltas, message, error == NULL ? finish : NULL, usage, scripted->chunk);
    }
    bool ok = answer->error != NULL || answer->result != NULL;
    tn_release(filled);
    tn_release(message);
    tn_release(usage);
    return ok ? TN_OK : too_long ? TN_LIMIT : TN_NO_MEMORY;
}

static int32_t fail_replies_used_up(tn_task task, const struct scripted *scripted) {
    char message[192];
    (void)snprintf(message, sizeof message,
                   "all %llu replies of the script were used; add replies, or set `cycle: true`",
                   (unsigned long long)tn.value->count(scripted->script.replies));
    return tn_fail(task, "REPLIES_USED_UP", message);
}

static int32_t scripted_chat(struct scripted *scripted, tn_task task, tn_value input) {
    tn_value messages = normalise_messages(task, tn_get(input, "messages"));
    if (messages == NULL) return TN_FAILED;
    struct script_turn turn;
    script_turn_init(&turn, scripted, task, messages);
    tn_value reply = script_choose(&scripted->script, &turn);
    struct answer *answer = reply != NULL ? tn.core->alloc(tn.host, sizeof *answer) : NULL;
    int32_t status = reply == NULL ? fail_replies_used_up(task, scripted) : answer == NULL ? TN_NO_MEMORY : TN_OK;
    scripted->calls++;
    if (answer != NULL) {
        *answer = (struct answer){.place = {.task = task}, .owner = scripted};
        status = answer_prepare(answer, &turn, reply, tn_get(input, "tools"));
        if (status == TN_OK) status = answers_add(&scripted->open, &answer->place);
        if (status != TN_OK) answer_free(answer);
    }
    if (status == TN_LIMIT)
        status =
            tn_fail(task, "LIMIT", "a text of the reply is longer than 1 MiB after its placeholders were replaced");
    script_turn_finish(&turn);
    tn_release(messages);
    if (status != TN_OK) return status;
    int64_t first = tn_get_int(reply, "delay_ms", (int64_t)scripted->delay_ms);
    answer->delay_ms = first > 0 ? (uint64_t)first : 0;
    bool waits = answer_start_delay(answer);
    /* The reply's delay applies only to the first delta; the configured delay applies to the others. */
    if (!waits || answer_lookup_by_task(scripted, task) == answer) answer->delay_ms = scripted->delay_ms;
    if (!waits) answer_emit(answer);
    return TN_OK;
}

/* ---- Embeddings ---- */

static int32_t scripted_embed(const struct scripted *scripted, tn_task task, tn_value input) {
    tn_value texts = tn_get(input, "embed"), options = tn_get(input, "options");
    int64_t dimensions = tn_get_int(options, "dimensions", (int64_t)scripted->dimensions), tokens = 0;
    uint64_t count = tn.value->count(texts);
    char message[160];
    if (tn.value->kind(texts) != TN_ARRAY) return tn_fail(task, "INVALID_REQUEST", "`embed` must be a list of texts");
    if (dimensions < 1 || dimensions > DIMENSIONS_MAX || count > EMBED_TEXTS_MAX ||
        count * (uint64_t)dimensions > EMBED_NUMBERS_MAX) {
        (void)snprintf(
            message, sizeof message,
            "found %llu texts and %lld dimensions; expected at most %d texts, %d dimensions, and %d numbers in total",
            (unsigned long long)count, (long long)dimensions, EMBED_TEXTS_MAX, DIMENSIONS_MAX, EMBED_NUMBERS_MAX);
        return tn_fail(task, "INVALID_REQUEST", message);
    }
    tn_builder *builder = tn_builder_new();
    bool ok = true;
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "embeddings", TN_ARRAY);
    for (uint64_t i = 0; i < count && ok; i++) {
        tn_value text = tn.value->at(texts, i);
        ok = tn.value->kind(text) == TN_STRING;
        if (!ok) break;
        tokens += count_text_tokens(text);
        tn_put_take(builder, NULL, embedding_from_text(text, (uint64_t)dimensions));
    }
    tn.value->end(builder);
    tn_put_take(builder, "usage", usage_build(tokens, 0, NULL));
    tn.value->end(builder);
    tn_value result = tn_finish(builder);
    if (ok) return tn_done_take(task, result);
    tn_release(result);
    return tn_fail(task, "INVALID_REQUEST", "`embed` must be a list of texts; found another value in it");
}

/* ---- The component ---- */

static int32_t scripted_create(tn_value config, tn_binder *binder, void **self) {
    (void)binder;
    char reason[SCRIPT_REASON_MAX];
    int32_t templates = 1;
    struct scripted *scripted = tn.core->alloc(tn.host, sizeof *scripted);
    if (scripted == NULL) return TN_NO_MEMORY;
    (void)tn.value->as_bool(tn_get(config, "templates"), &templates);
    int64_t chunk = tn_get_int(config, "chunk", 16), delay_ms = tn_get_int(config, "delay_ms", 0);
    int64_t dimensions = tn_get_int(config, "dimensions", 64);
    *scripted = (struct scripted){.chunk = chunk > 0 ? (uint64_t)chunk : 1,
                                  .delay_ms = delay_ms > 0 ? (uint64_t)delay_ms : 0,
                                  .dimensions = dimensions > 0 ? (uint64_t)dimensions : 1,
                                  .templates = templates != 0};
    int32_t status = script_init(&scripted->script, config, reason);
    if (status == TN_OK) {
        scripted->model = tn_text(tn_get_text(config, "model", "scripted"));
        *self = scripted;
        return TN_OK;
    }
    tn.core->release(tn.host, scripted);
    return status == TN_NO_MEMORY ? status : tn_refuse("INVALID_CONFIG", reason);
}

static int32_t scripted_start(void *self, tn_task task, tn_value input) {
    if (tn_get(input, "embed") != NULL) return scripted_embed(self, task, input);
    return scripted_chat(self, task, input);
}

static void scripted_cancel(void *self, tn_task task) {
    struct answer *answer = answer_lookup_by_task(self, task);
    if (answer == NULL) return;
    if (answer->post != 0 && tn.core->unpost(tn.host, answer->post) != TN_OK) return; /* the timer already runs */
    answer_end(answer, TN_CANCELLED);
}

static void scripted_ready(void *self, tn_task task) {
    struct answer *answer = answer_lookup_by_task(self, task);
    if (answer != NULL && answer->post == 0) answer_emit(answer);
}

static void scripted_destroy(void *self) {
    struct scripted *scripted = self;
    script_finish(&scripted->script);
    answers_finish(&scripted->open);
    tn_release(scripted->model);
    tn.core->release(tn.host, scripted);
}

TN_COMPONENT(scripted, "scripted", scripted_create, scripted_start, scripted_cancel, scripted_ready, scripted_destroy)
