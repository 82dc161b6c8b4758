/*
 * chat.c - requests put together, answers taken apart.
 *
 * The order of a request: the system prompt, the history, what the node says itself. Messages of the type `error` are
 * for people and are left out. A task that is started again (an answer has come, a host has died) makes the same calls
 * in the same order, since a request depends on the step's snapshot and on the answers before it alone.
 */
#include "chat.h"
#include "conversation.h"
#include "structured.h"
#include "text_tools.h"

static const char *const counted[] = {"input_tokens",  "output_tokens",      "total_tokens",
                                      "cached_tokens", "cache_write_tokens", "reasoning_tokens"};

/* ---- Create ---- */

int32_t chat_bind_model(tn_value config, tn_binder *binder, uint32_t *callee) {
    static const char *const passed[] = {"api_key", "base_url", "headers", "timeout_ms"};
    tn_value model_config = NULL;
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        tn_value value = tn.value->get(config, passed[i]);
        if (value != NULL) model_config = agents_set_take(model_config, passed[i], tn_retain(value));
    }
    int32_t status = tn.task->bind_call(binder, "model", tn_get_text(config, "model", "default"), model_config, callee);
    tn_release(model_config);
    return status;
}

int32_t chat_bind(struct chat *chat, tn_value config, tn_binder *binder) {
    tn_value tools = tn.value->get(config, "tools");
    int32_t truth = 0, status = agents_needs(tn.eval, binder, TN_EVAL_DRAFT);
    if (status == TN_OK) status = chat_bind_model(config, binder, &chat->model);
    if (status == TN_OK) status = agents_template(config, "system_prompt", binder, &chat->system);
    if (status == TN_OK) status = agents_template(config, "prompt", binder, &chat->prompt);
    if (status == TN_OK) status = agents_read(config, "input_key", binder, &chat->input);
    if (status == TN_OK) status = agents_read(config, "messages_key", binder, &chat->messages);
    if (status != TN_OK) return status;
    if (chat->prompt == TN_UNBOUND && chat->input == TN_UNBOUND && chat->messages == TN_UNBOUND)
        return agents_refuse(binder,
                             "nothing would be said to the model; give `prompt` (a text), `input_key` (a channel "
                             "with a text or messages) or `messages_key` (a channel with the conversation)");
    chat->input_name = tn_get_text(config, "input_key", "");
    chat->messages_name = tn_get_text(config, "messages_key", "");
    chat->options = tn.value->get(config, "options");
    chat->max_turns = (uint64_t)tn_get_int(config, "max_turns", 0);
    (void)tn.value->as_bool(tn.value->get(config, "text_tools"), &truth);
    chat->text_tools = truth != 0;
    chat->with_tools = tn.value->count(tools) > 0;
    if (chat->with_tools) status = agents_needs(agents_tool, binder, TN_TOOL_DRAFT);
    if (status == TN_OK && chat->with_tools) status = agents_tool->bind_tools(binder, tools, &chat->tools);
    chat->schema_value = tn.value->get(config, "output_schema");
    chat->with_schema = chat->schema_value != NULL;
    if (status == TN_OK && chat->with_schema) status = tn.eval->bind_schema(binder, chat->schema_value, &chat->schema);
    return status;
}

/* ---- Usage ---- */

void usage_add(struct usage *usage, tn_value reported) {
    usage->calls++;
    for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
        int64_t count;
        if (tn.value->as_int(tn.value->get(reported, counted[i]), &count) != TN_OK || count < 0) continue;
        if (__builtin_add_overflow(usage->counts[i], count, &usage->counts[i])) usage->counts[i] = INT64_MAX;
        usage->told[i] = true;
    }
}

tn_value usage_value(const struct usage *usage) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_int(builder, "llm_calls", usage->calls);
    for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
        if (usage->told[i]) tn_put_int(builder, counted[i], usage->counts[i]);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

tn_value usage_sum(tn_value list) {
    struct usage usage = {.calls = 0};
    uint32_t calls = 0;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        usage_add(&usage, tn.value->at(list, i));
        calls += (uint32_t)tn_get_int(tn.value->at(list, i), "llm_calls", 1);
    }
    usage.calls = calls;
    return usage_value(&usage);
}

/* ---- The request ---- */

/* {name, description, input_schema} of each definition; a new reference. */
static tn_value offered(tn_value definitions) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(definitions); i < count; i++) {
        tn_value tool = tn.value->at(definitions, i), description = tn.value->get(tool, "description");
        tn_put_begin(builder, NULL, TN_OBJECT);
        tn_put(builder, "name", tn.value->get(tool, "tool_name"));
        if (description != NULL) tn_put(builder, "description", description);
        tn_put(builder, "input_schema", tn.value->get(tool, "input_schema"));
        tn.value->end(builder);
    }
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* What the node says itself, from its prompt or its input. TN_OK, or the task has been failed. */
static int32_t say(struct turn *turn) {
    const struct chat *chat = turn->chat;
    tn_value said = NULL;
    if (chat->prompt != TN_UNBOUND) {
        said = tn_render(turn->task, chat->prompt, NULL);
        if (said == NULL) return TN_FAILED;
    } else if (chat->input != TN_UNBOUND) {
        said = tn_read(turn->task, chat->input);
        if (tn.value->kind(said) <= TN_NULL && chat->messages == TN_UNBOUND) {
            tn_release(said);
            return agents_fail(turn->task, "INVALID_INPUT", NULL,
                               "the channel `%.80s` is to hold what the model is asked, and it is empty; write it "
                               "before this node, or give the run an input",
                               chat->input_name);
        }
    }
    turn->added = conversation_of(turn->task, said, chat->input_name);
    tn_release(said);
    return turn->added != NULL ? TN_OK : TN_FAILED;
}

/* The system prompt with what tools in texts need; NULL where there is none. *failed: the task has been failed. */
static tn_value system_text(struct turn *turn, bool *failed) {
    const struct chat *chat = turn->chat;
    struct text out = {0};
    if (chat->system != TN_UNBOUND) {
        tn_value rendered = tn_render(turn->task, chat->system, NULL);
        *failed = rendered == NULL;
        text_add_value(&out, rendered);
        tn_release(rendered);
    }
    if (!*failed && chat->text_tools) {
        tn_value context = tn.task->context(turn->task);
        tn_value prompt = text_tools_prompt(turn->withheld ? NULL : turn->definitions, tn_get_int(context, "now", 0));
        if (out.length > 0) text_add(&out, "\n\n");
        text_add_value(&out, prompt);
        tn_release(prompt);
        tn_release(context);
    }
    if (!*failed && chat->text_tools && chat->with_schema) {
        text_add(&out, "\nYour answer, when you call no tool, is JSON alone that fits this JSON Schema: ");
        text_add_value(&out, chat->schema_value);
        text_add(&out, "\n");
    }
    if (*failed || out.length == 0) {
        text_finish(&out);
        return NULL;
    }
    tn_value text = text_take(&out);
    *failed = text == NULL;
    if (*failed) (void)tn_fail(turn->task, "NO_MEMORY", "there is no memory for the system prompt");
    return text;
}

static void put_messages(tn_builder *builder, tn_value messages) {
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++)
        if (!tn_message_is(tn.value->at(messages, i), "error")) tn_put(builder, NULL, tn.value->at(messages, i));
}

/* Puts `sent` together. TN_OK, or the task has been failed. */
static int32_t prepare(struct turn *turn) {
    const struct chat *chat = turn->chat;
    bool failed = false;
    if (chat->messages != TN_UNBOUND) {
        turn->history = conversation_read(turn->task, chat->messages, chat->messages_name);
        if (turn->history == NULL) return TN_FAILED;
    }
    int32_t status = say(turn);
    if (status != TN_OK) return status;
    if (chat->with_tools) {
        turn->definitions = agents_tool->describe(turn->task, chat->tools);
        if (turn->definitions == NULL)
            return agents_fail(turn->task, "TOOLS", NULL,
                               "the tools that the model is to be offered cannot be "
                               "described; there may be more than %d of them",
                               TN_TOOL_SET_MAX);
    }
    turn->withheld = chat->max_turns > 0 && conversation_turns(turn->history) >= chat->max_turns;
    tn_value system = system_text(turn, &failed);
    if (failed) return TN_FAILED;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_ARRAY);
    if (system != NULL) tn_put_take(builder, NULL, tn_message("system", system));
    uint64_t said = tn.value->count(turn->history) + tn.value->count(turn->added);
    put_messages(builder, turn->history);
    put_messages(builder, turn->added);
    tn.value->end(builder);
    turn->sent = tn.value->finish(builder);
    tn_release(system);
    if (turn->sent == NULL) return TN_NO_MEMORY;
    if (said == 0)
        return agents_fail(turn->task, "INVALID_INPUT", NULL,
                           "there is nothing to say to the model: `%.80s` holds no message; give the run one, as "
                           "{\"type\": \"user\", \"content\": …}",
                           *chat->messages_name != '\0' ? chat->messages_name : chat->input_name);
    return TN_OK;
}

static tn_value options_of(const struct turn *turn) {
    tn_value options = turn->chat->options;
    if (!turn->withheld || turn->chat->text_tools || !turn->chat->with_tools) return tn_retain(options);
    return agents_set_take(tn_retain(options), "tool_choice", tn_text("none"));
}

static void answered(void *user, int32_t status, tn_value result);

static int32_t ask(struct turn *turn) {
    const struct chat *chat = turn->chat;
    tn_value options = options_of(turn);
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    if (chat->text_tools)
        tn_put_take(builder, "messages", text_tools_plain(turn->sent));
    else
        tn_put(builder, "messages", turn->sent);
    if (tn.value->count(turn->definitions) > 0 && !chat->text_tools)
        tn_put_take(builder, "tools", offered(turn->definitions));
    if (options != NULL) tn_put(builder, "options", options);
    if (chat->with_schema && !chat->text_tools) tn_put(builder, "response_schema", chat->schema_value);
    tn.value->end(builder);
    tn_value request = tn.value->finish(builder);
    int32_t status = request != NULL ? tn.task->call(turn->task, chat->model, request, answered, turn) : TN_NO_MEMORY;
    tn_release(request);
    tn_release(options);
    return status;
}

/* ---- The answer ---- */

static const char *refusal(tn_value content) {
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++) {
        tn_value part = tn.value->at(content, i);
        if (strcmp(tn_get_text(part, "type", ""), "refusal") == 0) return tn_get_text(part, "text", "");
    }
    return NULL;
}

/* {violations, answer}; takes `violations`. */
static tn_value wrong_take(tn_value violations, tn_value answer) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, "violations", violations);
    tn_put(builder, "answer", answer);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

static tn_value no_json(void) {
    static const char text[] =
        "[{\"pointer\": \"\", \"keyword\": \"json\", \"message\": \"found no JSON in it, expected "
        "nothing but a JSON value\"}]";
    tn_value violations = NULL;
    (void)tn.value->from_json(text, sizeof(text) - 1, &violations);
    return violations;
}

/* Parses and checks the answer's text: fills `value`, or `wrong`. TN_OK, or the task has been failed. */
static int32_t check(struct turn *turn) {
    const struct chat *chat = turn->chat;
    tn_value content = tn.value->get(turn->message, "content");
    const char *declined = refusal(content);
    if (declined != NULL)
        return agents_fail(turn->task, "REFUSED", NULL, "the model declined to answer: %.500s", declined);
    uint64_t length = 0;
    tn_value answer = tn_content_text(content), error = NULL;
    const char *text = tn_chars(answer, &length);
    turn->value = text != NULL ? structured_find(text, length) : NULL;
    int32_t status = TN_OK;
    if (turn->value == NULL) {
        turn->wrong = wrong_take(no_json(), answer);
    } else if (chat->with_schema) {
        status = tn.eval->validate(turn->task, chat->schema, turn->value, &error);
        if (status == TN_FAILED) {
            tn_value violations = tn.value->get(tn.value->get(error, "detail"), "violations");
            turn->wrong = wrong_take(tn_retain(violations), answer);
            tn_release(turn->value);
            turn->value = NULL;
            status = TN_OK;
        }
        tn_release(error);
    }
    tn_release(answer);
    return status;
}

/* Tells the model what is wrong, each violation in a line of its own. */
static int32_t repair(struct turn *turn) {
    struct text out = {0};
    tn_value violations = tn.value->get(turn->wrong, "violations");
    text_add(&out, "Your answer is not as it must be:\n");
    for (uint64_t i = 0, count = tn.value->count(violations); i < count; i++) {
        tn_value violation = tn.value->at(violations, i);
        const char *pointer = tn_get_text(violation, "pointer", "");
        text_format(&out, "- %s%s%s\n", pointer, *pointer != '\0' ? ": " : "",
                    tn_get_text(violation, "message", "it does not fit"));
    }
    text_add(&out, "Answer once more, with JSON alone");
    if (turn->chat->with_schema) {
        text_add(&out, " that fits this JSON Schema: ");
        text_add_value(&out, turn->chat->schema_value);
    } else {
        text_add(&out, ".");
    }
    tn_value told = text_take(&out), said = told != NULL ? tn_message("user", told) : NULL;
    tn_value with = said != NULL ? tn.value->append(turn->sent, turn->message) : NULL;
    tn_value sent = with != NULL ? tn.value->append(with, said) : NULL;
    tn_release(with);
    tn_release(said);
    tn_release(told);
    if (sent == NULL) return TN_NO_MEMORY;
    tn_release(turn->sent);
    tn_release(turn->message);
    tn_release(turn->wrong);
    turn->sent = sent;
    turn->message = turn->wrong = NULL;
    return ask(turn);
}

/* An answer is there. *again: another one is on its way. */
static int32_t take_answer(struct turn *turn, tn_value result, bool *again) {
    const struct chat *chat = turn->chat;
    usage_add(&turn->usage, tn.value->get(result, "usage"));
    turn->message = tn_message_normal(tn.value->get(result, "message"));
    if (turn->message == NULL || !tn_message_is(turn->message, "ai"))
        return tn_fail(turn->task, "INVALID_RESPONSE",
                       "what the model completed with has no ai message as its `message`");
    if (chat->text_tools && chat->with_tools && !turn->withheld) {
        char id[32];
        (void)snprintf(id, sizeof(id), "text_%llu", (unsigned long long)tn.value->count(turn->sent));
        turn->message = text_tools_extract_take(turn->message, turn->definitions, id);
        if (turn->message == NULL) return TN_NO_MEMORY;
    }
    bool calls = tn_message_calls(turn->message) != NULL;
    if (calls && turn->withheld)
        return agents_fail(turn->task, "TURN_LIMIT", NULL,
                           "the model has asked for tools %llu times (`max_turns`), and asks again though none are "
                           "offered any more; raise `max_turns`, or say in the system prompt when to stop",
                           (unsigned long long)chat->max_turns);
    if (calls || !(chat->with_schema || chat->as_json)) return TN_OK;
    int32_t status = check(turn);
    if (status != TN_OK || turn->wrong == NULL) return status;
    if (chat->at_once || turn->usage.calls > CHAT_REPAIRS) return TN_INVALID;
    *again = true;
    return repair(turn);
}

/* Tells the owner; what is not told yet is a failure without an error. */
static void finish(struct turn *turn, int32_t status) {
    if (status != TN_OK && status != TN_FAILED && status != TN_INVALID) {
        (void)agents_fail(turn->task, status == TN_NO_MEMORY ? "NO_MEMORY" : "MODEL", NULL,
                          "the model could not be called (status %d)", (int)status);
        status = TN_FAILED;
    }
    turn->done(turn, status);
}

static void answered(void *user, int32_t status, tn_value result) {
    struct turn *turn = user;
    bool again = false;
    status = status == TN_OK ? take_answer(turn, result, &again) : agents_fail_with(turn->task, status, result);
    if (!again || status != TN_OK) finish(turn, status);
}

int32_t chat_start(const struct chat *chat, tn_task task, void (*done)(struct turn *turn, int32_t status), void *user) {
    struct turn *turn = agents_alloc(sizeof(*turn));
    if (turn == NULL) return TN_NO_MEMORY;
    turn->chat = chat;
    turn->task = task;
    turn->done = done;
    turn->user = user;
    int32_t status = prepare(turn);
    if (status == TN_OK) status = ask(turn);
    if (status != TN_OK) turn_free(turn);
    return status;
}

void chat_fail_invalid(const struct turn *turn) {
    tn_value violations = tn.value->get(turn->wrong, "violations"), first = tn.value->at(violations, 0);
    uint64_t count = tn.value->count(violations);
    tn_value more = agents_set_take(NULL, "detail", tn_retain(turn->wrong));
    const char *pointer = tn_get_text(first, "pointer", "");
    (void)agents_fail(turn->task, "OUTPUT_INVALID", more,
                      "the model's answer does not fit `output_schema`, after it was told so as well: %.200s%s%.400s%s",
                      pointer, *pointer != '\0' ? ": " : "", tn_get_text(first, "message", "it does not fit"),
                      count > 1 ? " (and more, see detail)" : "");
    tn_release(more);
}

void turn_free(struct turn *turn) {
    if (turn == NULL) return;
    tn_release(turn->definitions);
    tn_release(turn->history);
    tn_release(turn->added);
    tn_release(turn->sent);
    tn_release(turn->message);
    tn_release(turn->value);
    tn_release(turn->wrong);
    agents_free(turn);
}
