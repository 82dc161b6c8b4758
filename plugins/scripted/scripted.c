/*
 * scripted.c - the plugin `tenon.scripted`: a model that says what its configuration tells it to, without a network.
 *
 * A call is answered by a speech that is emitted delta by delta, waiting where the host has no room and for `delay_ms`
 * before each delta, and then completed or, where the reply has an error, failed. Open calls are in a list, on the
 * loop's thread; script.c chooses, speech.c and holes.c say, count.c counts.
 */
#include "count.h"
#include "script.h"
#include "speech.h"

TN_PLUGIN("tenon.scripted", "0.1.0", "A model with preset replies, for tests and for working without a network")

struct scripted {
    struct script script;
    tn_value model; /* its name */
    int64_t calls;  /* of this instance, in this process */
    uint64_t chunk, delay_ms, dimensions;
    bool templates;
    struct answer *open;
};

/* One call that is being answered. */
struct answer {
    struct answer *next;
    struct scripted *owner;
    tn_task task;
    struct speech speech;
    tn_value delta;         /* one that there was no room for */
    tn_value result, error; /* what it ends with: one of them */
    uint64_t delay_ms;      /* before every delta */
    uint64_t post;          /* 0: it waits for ready, not for the time */
};

/* ---- Answers ---- */

static void answer_free(struct answer *answer) {
    speech_finish(&answer->speech);
    tn_release(answer->delta);
    tn_release(answer->result);
    tn_release(answer->error);
    tn.core->release(tn.host, answer);
}

static void answer_unlink(struct answer *answer) {
    struct answer **link = &answer->owner->open;
    while (*link != answer) link = &(*link)->next;
    *link = answer->next;
}

static bool code_is_retryable(const char *code) {
    static const char *const retryable[] = {"RATE_LIMITED", "OVERLOADED", "INVALID_RESPONSE", "TIMEOUT", "CONNECT"};
    for (size_t i = 0; i < sizeof retryable / sizeof *retryable; i++)
        if (strcmp(code, retryable[i]) == 0) return true;
    return false;
}

static int32_t fail_as_told(tn_task task, tn_value error) {
    const char *code = tn_get_text(error, "code", "ERROR");
    int32_t retryable = code_is_retryable(code);
    (void)tn.value->as_bool(tn.value->get(error, "retryable"), &retryable);
    tn_value after = tn.value->get(error, "retry_after_ms"), detail = tn.value->get(error, "detail");
    tn_builder *more = tn.value->builder();
    tn.value->begin(more, TN_OBJECT);
    tn_put_bool(more, "retryable", retryable);
    if (after != NULL) tn_put(more, "retry_after_ms", after);
    if (detail != NULL) tn_put(more, "detail", detail);
    tn.value->end(more);
    tn_value built = tn.value->finish(more);
    (void)tn.task->fail(task, code, tn_get_text(error, "message", "the script says that this call fails"), built);
    tn_release(built);
    return TN_FAILED;
}

/* Ends the task; the answer is gone before the host can destroy its owner. */
static void answer_end(struct answer *answer, int32_t status) {
    tn_task task = answer->task;
    tn_value result = tn_retain(answer->result), error = tn_retain(answer->error);
    answer_unlink(answer);
    answer_free(answer);
    if (status == TN_OK && result != NULL)
        (void)tn_done_value(task, result);
    else if (status == TN_OK)
        (void)fail_as_told(task, error);
    else if (status == TN_CANCELLED)
        (void)tn_fail(task, "CANCELLED", "cancelled");
    else if (status == TN_NO_MEMORY)
        (void)tn_fail(task, "NO_MEMORY", "no memory for the next delta");
    else
        (void)tn_fail(task, "EMIT_FAILED", "the host did not take a delta");
    tn_release(result);
    tn_release(error);
}

static void answer_go_on(void *argument);

/* Whether it waits now: for its delay, or nothing more can be done. */
static bool answer_waits(struct answer *answer) {
    if (answer->delay_ms == 0) return false;
    answer->post = tn.core->post(tn.host, answer->delay_ms, answer_go_on, answer);
    if (answer->post != 0) return true;
    answer_end(answer, TN_NO_MEMORY);
    return true;
}

/* Says deltas until there is no room, it is to wait, or all is said. */
static void answer_say(struct answer *answer) {
    int32_t status = TN_OK;
    for (;;) {
        if (answer->delta == NULL) answer->delta = speech_next(&answer->speech);
        if (answer->delta == NULL) break;
        status = tn.task->emit(answer->task, answer->delta);
        if (status == TN_AGAIN) return;
        if (status != TN_OK) break;
        tn_release(answer->delta);
        answer->delta = NULL;
        if (answer_waits(answer)) return;
    }
    if (status == TN_OK && !speech_said(&answer->speech)) status = TN_NO_MEMORY;
    answer_end(answer, status);
}

static void answer_go_on(void *argument) {
    struct answer *answer = argument;
    answer->post = 0;
    answer_say(answer);
}

static struct answer *answer_of(struct scripted *scripted, tn_task task) {
    struct answer *answer = scripted->open;
    while (answer != NULL && answer->task != task) answer = answer->next;
    return answer;
}

/* ---- What to say ---- */

/* The turn's messages in the form of message.h; NULL, and the task has been failed. */
static tn_value normal_messages(tn_task task, tn_value messages) {
    char message[160];
    if (tn.value->kind(messages) != TN_ARRAY) {
        (void)snprintf(message, sizeof message, "`messages` must be a list of messages, and is %s",
                       tn_kind_name(messages));
        (void)tn_fail(task, "INVALID_REQUEST", message);
        return NULL;
    }
    tn_builder *list = tn.value->builder();
    bool good = true;
    tn.value->begin(list, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(messages); i < count && good; i++) {
        tn_value normal = tn_message_normal(tn.value->at(messages, i));
        good = normal != NULL;
        if (good) tn_put_take(list, NULL, normal);
        if (!good)
            (void)snprintf(message, sizeof message,
                           "messages[%llu], %s, is no message: expected a text, or {type, content} with a type such as "
                           "user or ai",
                           (unsigned long long)i, tn_kind_name(tn.value->at(messages, i)));
    }
    tn.value->end(list);
    tn_value made = tn.value->finish(list);
    if (good && made != NULL) return made;
    (void)tn_fail(task, good ? "NO_MEMORY" : "INVALID_REQUEST", good ? "no memory for the messages" : message);
    tn_release(made);
    return NULL;
}

static void turn_init(struct turn *turn, const struct scripted *scripted, tn_task task, tn_value messages) {
    tn_value context = tn.task->context(task), user = NULL, last = NULL;
    int64_t ai = 0;
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++) {
        last = tn.value->at(messages, i);
        if (tn_message_is(last, "ai")) ai++;
        if (tn_message_is(last, "user")) user = last;
    }
    *turn = (struct turn){.messages = messages,
                          .number = scripted->script.by_calls ? scripted->calls : ai,
                          .attempt = tn_get_int(context, "attempt", 1),
                          .input = tn_content_text(tn.value->get(user, "content")),
                          .last = tn_content_text(tn.value->get(last, "content"))};
    if (turn->attempt < 1) turn->attempt = 1;
    tn_release(context);
}

static void turn_finish(struct turn *turn) {
    tn_release(turn->input);
    tn_release(turn->last);
}

/* The reply's message with its holes filled; NULL and *too_long, or without memory. */
static tn_value filled_message(const struct scripted *scripted, const struct turn *turn, tn_value message,
                               bool *too_long) {
    *too_long = false;
    if (!scripted->templates) return tn_retain(message);
    tn_value number = tn_int(turn->number + 1), call = tn.value->to_json(number);
    struct holes holes = {turn->input, turn->last, call, scripted->model};
    tn_value filled = holes_fill(&holes, message, too_long);
    tn_release(number);
    tn_release(call);
    return filled;
}

static bool is_told(const char *name) {
    static const char *const told[] = {"tool_calls", "model", "finish_reason", "usage"};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (strcmp(name, told[i]) == 0) return true;
    return false;
}

/* The message as it is told, but for its usage: with its model and finish_reason, and an id for every call. */
static tn_value whole_message(const struct scripted *scripted, tn_value message, int64_t number, const char *finish) {
    tn_builder *builder = tn.value->builder();
    tn_value calls = tn_message_calls(message);
    tn.value->begin(builder, TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(message); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(message, i, &key, &value) != TN_OK) break;
        if (!is_told(tn_chars(key, NULL))) tn_put(builder, tn_chars(key, NULL), value);
    }
    if (calls != NULL) tn_put_begin(builder, "tool_calls", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i);
        char id[64];
        (void)snprintf(id, sizeof id, "call_%lld_%llu", (long long)number + 1, (unsigned long long)i + 1);
        tn_value text = tn_text(id);
        bool named = tn.value->kind(tn.value->get(call, "id")) == TN_STRING;
        tn_put_take(builder, NULL, named ? tn_retain(call) : tn.value->set(call, "id", text));
        tn_release(text);
    }
    if (calls != NULL) tn.value->end(builder);
    tn_put(builder, "model", scripted->model);
    tn_put_text(builder, "finish_reason", finish);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

static tn_value result_of(tn_value message, tn_value usage, const char *finish) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put(builder, "message", message);
    tn_put(builder, "usage", usage);
    tn_put_text(builder, "finish_reason", finish);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

static int64_t count_input(tn_value messages, tn_value tools) {
    int64_t tokens = count_tools(tools);
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++)
        tokens += count_message(tn.value->at(messages, i));
    return tokens;
}

/* Fills the answer in; not TN_OK: without memory, or TN_LIMIT. */
static int32_t answer_prepare(struct answer *answer, const struct turn *turn, tn_value reply, tn_value tools) {
    const struct scripted *scripted = answer->owner;
    tn_value written = tn.value->get(reply, "message"), error = tn.value->get(reply, "error");
    tn_value given = tn.value->get(reply, "usage"), filled = NULL, message = NULL, usage = NULL;
    bool too_long = false;
    if (written == NULL) {
        answer->error = tn_retain(error);
        answer->speech.done = true;
        return TN_OK;
    }
    const char *finish = tn_message_calls(written) != NULL ? "tool_calls" : "stop";
    finish = tn_get_text(reply, "finish_reason", tn_get_text(written, "finish_reason", finish));
    filled = filled_message(scripted, turn, written, &too_long);
    if (filled != NULL) message = whole_message(scripted, filled, turn->number, finish);
    if (message != NULL) usage = count_usage(count_input(turn->messages, tools), count_message(message), given);
    tn_value told = usage != NULL ? tn.value->set(message, "usage", usage) : NULL;
    tn_release(message);
    message = told;
    if (message != NULL) {
        answer->error = tn_retain(error);
        if (error == NULL) answer->result = result_of(message, usage, finish);
        speech_init(&answer->speech, message, error == NULL ? finish : NULL, usage, scripted->chunk);
    }
    bool made = answer->error != NULL || answer->result != NULL;
    tn_release(filled);
    tn_release(message);
    tn_release(usage);
    return made ? TN_OK : too_long ? TN_LIMIT : TN_NO_MEMORY;
}

static int32_t used_up(tn_task task, const struct scripted *scripted) {
    char message[192];
    (void)snprintf(message, sizeof message,
                   "the script has %llu replies, and all have been given; add replies, or let `cycle` be true",
                   (unsigned long long)tn.value->count(scripted->script.replies));
    return tn_fail(task, "REPLIES_USED_UP", message);
}

static int32_t scripted_chat(struct scripted *scripted, tn_task task, tn_value input) {
    tn_value messages = normal_messages(task, tn.value->get(input, "messages"));
    if (messages == NULL) return TN_FAILED;
    struct turn turn;
    turn_init(&turn, scripted, task, messages);
    tn_value reply = script_choose(&scripted->script, &turn);
    struct answer *answer = reply != NULL ? tn.core->alloc(tn.host, sizeof *answer) : NULL;
    int32_t status = reply == NULL ? used_up(task, scripted) : answer == NULL ? TN_NO_MEMORY : TN_OK;
    scripted->calls++;
    if (answer != NULL) {
        *answer = (struct answer){.next = scripted->open, .owner = scripted, .task = task};
        scripted->open = answer;
        status = answer_prepare(answer, &turn, reply, tn.value->get(input, "tools"));
        if (status != TN_OK) {
            answer_unlink(answer);
            answer_free(answer);
        }
    }
    if (status == TN_LIMIT)
        status = tn_fail(task, "LIMIT", "a text of the reply is longer than 1 MiB with its holes filled in");
    turn_finish(&turn);
    tn_release(messages);
    if (status != TN_OK) return status;
    int64_t first = tn_get_int(reply, "delay_ms", (int64_t)scripted->delay_ms);
    answer->delay_ms = first > 0 ? (uint64_t)first : 0;
    bool waits = answer_waits(answer);
    /* After the first delta the pace is the script's, whatever the reply waited for. */
    if (!waits || answer_of(scripted, task) == answer) answer->delay_ms = scripted->delay_ms;
    if (!waits) answer_say(answer);
    return TN_OK;
}

/* ---- Embeddings ---- */

static int32_t scripted_embed(const struct scripted *scripted, tn_task task, tn_value input) {
    tn_value texts = tn.value->get(input, "embed"), options = tn.value->get(input, "options");
    int64_t dimensions = tn_get_int(options, "dimensions", (int64_t)scripted->dimensions), tokens = 0;
    uint64_t count = tn.value->count(texts);
    char message[160];
    if (tn.value->kind(texts) != TN_ARRAY) return tn_fail(task, "INVALID_REQUEST", "`embed` must be a list of texts");
    if (dimensions < 1 || dimensions > DIMENSIONS_MAX || count > EMBED_TEXTS_MAX ||
        count * (uint64_t)dimensions > EMBED_NUMBERS_MAX) {
        (void)snprintf(message, sizeof message,
                       "found %llu texts and %lld dimensions; at most %d texts, %d dimensions, and %d numbers in all",
                       (unsigned long long)count, (long long)dimensions, EMBED_TEXTS_MAX, DIMENSIONS_MAX,
                       EMBED_NUMBERS_MAX);
        return tn_fail(task, "INVALID_REQUEST", message);
    }
    tn_builder *builder = tn.value->builder();
    bool good = true;
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "embeddings", TN_ARRAY);
    for (uint64_t i = 0; i < count && good; i++) {
        tn_value text = tn.value->at(texts, i);
        good = tn.value->kind(text) == TN_STRING;
        if (!good) break;
        tokens += count_text(text);
        tn_put_take(builder, NULL, embed_text(text, (uint64_t)dimensions));
    }
    tn.value->end(builder);
    tn_put_take(builder, "usage", count_usage(tokens, 0, NULL));
    tn.value->end(builder);
    tn_value result = tn.value->finish(builder);
    if (good) return tn_done_take(task, result);
    tn_release(result);
    return tn_fail(task, "INVALID_REQUEST", "`embed` must be a list of texts, and something else is in it");
}

/* ---- The component ---- */

static int32_t scripted_create(tn_value config, tn_binder *binder, void **self) {
    char why[SCRIPT_WHY];
    int32_t templates = 1;
    struct scripted *scripted = tn.core->alloc(tn.host, sizeof *scripted);
    if (scripted == NULL) return TN_NO_MEMORY;
    (void)tn.value->as_bool(tn.value->get(config, "templates"), &templates);
    int64_t chunk = tn_get_int(config, "chunk", 16), delay_ms = tn_get_int(config, "delay_ms", 0);
    int64_t dimensions = tn_get_int(config, "dimensions", 64);
    *scripted = (struct scripted){.chunk = chunk > 0 ? (uint64_t)chunk : 1,
                                  .delay_ms = delay_ms > 0 ? (uint64_t)delay_ms : 0,
                                  .dimensions = dimensions > 0 ? (uint64_t)dimensions : 1,
                                  .templates = templates != 0};
    int32_t status = script_init(&scripted->script, config, why);
    if (status == TN_OK) {
        scripted->model = tn_text(tn_get_text(config, "model", "scripted"));
        *self = scripted;
        return TN_OK;
    }
    tn.core->release(tn.host, scripted);
    return status == TN_NO_MEMORY ? status : tn.task->refuse(binder, "INVALID_CONFIG", why);
}

static int32_t scripted_start(void *self, tn_task task, tn_value input) {
    if (tn.value->get(input, "embed") != NULL) return scripted_embed(self, task, input);
    return scripted_chat(self, task, input);
}

static void scripted_cancel(void *self, tn_task task) {
    struct answer *answer = answer_of(self, task);
    if (answer == NULL) return;
    if (answer->post != 0 && tn.core->unpost(tn.host, answer->post) != TN_OK) return; /* it is ending by itself */
    answer_end(answer, TN_CANCELLED);
}

static void scripted_ready(void *self, tn_task task) {
    struct answer *answer = answer_of(self, task);
    if (answer != NULL && answer->post == 0) answer_say(answer);
}

static void scripted_destroy(void *self) {
    struct scripted *scripted = self;
    script_finish(&scripted->script);
    tn_release(scripted->model);
    tn.core->release(tn.host, scripted);
}

TN_COMPONENT(scripted, "scripted", scripted_create, scripted_start, scripted_cancel, scripted_ready, scripted_destroy)
