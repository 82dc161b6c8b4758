/*
 * chat.c - builds requests and handles answers.
 *
 * The order of a request: the system prompt, the history, the messages that the node adds. Messages of the type `error`
 * are for people and are left out; results of tools are put beside their calls. A request depends only on the snapshot
 * and on the previous answers. Therefore a task that is restarted (after the answer to an interrupt, or after a crash)
 * makes the same calls in the same order.
 */
#include "chat.h"
#include "conversation.h"
#include "structured.h"
#include "text_tools.h"

static const char *const usage_members[] = {"input_tokens",  "output_tokens",      "total_tokens",
                                            "cached_tokens", "cache_write_tokens", "reasoning_tokens"};

/* ---- Create ---- */

int32_t chat_bind_model(tn_value config, tn_binder *binder, uint32_t *callee) {
    static const char *const passed[] = {"api_key", "base_url", "headers", "timeout_ms"};
    tn_value model_config = NULL;
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        tn_value value = tn_get(config, passed[i]);
        if (value == NULL) continue;
        if (model_config == NULL) model_config = tn_build("{}");
        model_config = tn_set_take(model_config, passed[i], tn_retain(value));
    }
    int32_t status =
        tn.task->bind_call(binder, "model", TN_Z, tn_get_text(config, "model", "default"), TN_Z, model_config, callee);
    tn_release(model_config);
    return status;
}

int32_t chat_bind(struct chat *chat, tn_value config, tn_binder *binder) {
    int32_t truth = 0, status = chat_bind_model(config, binder, &chat->model);
    if (status == TN_OK) status = agents_bind_template(config, "system_prompt", binder, &chat->system);
    if (status == TN_OK) status = agents_bind_template(config, "prompt", binder, &chat->prompt);
    if (status == TN_OK) status = agents_bind_read(config, "input_key", binder, &chat->input);
    if (status == TN_OK) status = agents_bind_read(config, "messages_key", binder, &chat->messages);
    if (status == TN_OK) status = agents_bind_read(config, "options_key", binder, &chat->options_channel);
    if (status == TN_OK) status = agents_bind_read(config, "client_tools_key", binder, &chat->client_tools);
    if (status != TN_OK) return status;
    if (chat->prompt == TN_UNBOUND && chat->input == TN_UNBOUND && chat->messages == TN_UNBOUND)
        return agents_refuse("the model has no input; set `prompt` (a text), `input_key` (a channel "
                             "with a text or messages) or `messages_key` (a channel with the conversation)");
    chat->input_name = tn_get_text(config, "input_key", "");
    chat->messages_name = tn_get_text(config, "messages_key", "");
    chat->options = tn_get(config, "options");
    chat->options_name = tn_get_text(config, "options_key", "");
    chat->client_tools_name = tn_get_text(config, "client_tools_key", "");
    chat->max_turns = (uint64_t)tn_get_int(config, "max_turns", 0);
    (void)tn.value->as_bool(tn_get(config, "text_tools"), &truth);
    chat->text_tools = truth != 0;
    search_read(config, &chat->search);
    chat->with_tools = chat->search.on || tn.value->count(chat->search.names) > 0;
    if (chat->with_tools) {
        tn_value names = search_names(&chat->search);
        status = agents_tool->bind_tools(binder, names, &chat->tools);
        tn_release(names);
    }
    chat->schema_value = tn_get(config, "output_schema");
    chat->with_schema = chat->schema_value != NULL;
    if (status == TN_OK && chat->with_schema) status = tn.eval->bind_schema(binder, chat->schema_value, &chat->schema);
    return status;
}

/* ---- Usage ---- */

void chat_usage_add(struct chat_usage *usage, tn_value reported) {
    usage->calls++;
    for (size_t i = 0; i < sizeof(usage_members) / sizeof(usage_members[0]); i++) {
        int64_t count;
        if (tn.value->as_int(tn_get(reported, usage_members[i]), &count) != TN_OK || count < 0) continue;
        if (__builtin_add_overflow(usage->counts[i], count, &usage->counts[i])) usage->counts[i] = INT64_MAX;
        usage->reported[i] = true;
    }
}

tn_value chat_usage_to_value(const struct chat_usage *usage) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_int(builder, "llm_calls", usage->calls);
    for (size_t i = 0; i < sizeof(usage_members) / sizeof(usage_members[0]); i++)
        if (usage->reported[i]) tn_put_int(builder, usage_members[i], usage->counts[i]);
    tn.value->end(builder);
    return tn_finish(builder);
}

tn_value chat_usage_sum(tn_value list) {
    struct chat_usage usage = {.calls = 0};
    uint32_t calls = 0;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        chat_usage_add(&usage, tn.value->at(list, i));
        calls += (uint32_t)tn_get_int(tn.value->at(list, i), "llm_calls", 1);
    }
    usage.calls = calls;
    return chat_usage_to_value(&usage);
}

/* ---- The request ---- */

/* Returns {name, description, input_schema} of each definition, a new reference. */
static tn_value chat_build_tool_definitions(tn_value definitions) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(definitions); i < count; i++) {
        tn_value tool = tn.value->at(definitions, i), description = tn_get(tool, "description");
        tn_put_begin(builder, NULL, TN_OBJECT);
        tn_put(builder, "name", tn_get(tool, "tool_name"));
        if (description != NULL) tn_put(builder, "description", description);
        tn_put(builder, "input_schema", tn_get(tool, "input_schema"));
        tn.value->end(builder);
    }
    tn.value->end(builder);
    return tn_finish(builder);
}

/* Sets `added` from `prompt` or `input_key`. If it does not return TN_OK, the task has failed. */
static int32_t chat_turn_add_input(struct chat_turn *turn) {
    const struct chat *chat = turn->chat;
    tn_value input = NULL;
    if (chat->prompt != TN_UNBOUND) {
        input = tn_render(turn->task, chat->prompt, NULL);
        if (input == NULL) return TN_FAILED;
    } else if (chat->input != TN_UNBOUND) {
        input = tn_read(turn->task, chat->input);
        if (tn.value->kind(input) <= TN_NULL && chat->messages == TN_UNBOUND) {
            tn_release(input);
            return agents_fail(turn->task, "INVALID_INPUT", NULL,
                               "the channel `%.80s` must hold the input of the model, but is empty; write to "
                               "it before this node, or start the run with an input",
                               chat->input_name);
        }
    }
    turn->added = conversation_normalise(turn->task, input, chat->input_name);
    tn_release(input);
    return turn->added != NULL ? TN_OK : TN_FAILED;
}

/* Returns the system prompt; with `text_tools`, the description of the tools is appended. NULL if it is empty, or if
 * the task has failed (*failed is then true). */
static tn_value chat_turn_build_system_text(struct chat_turn *turn, bool *failed) {
    const struct chat *chat = turn->chat;
    struct tn_text_buffer out = {0};
    if (chat->system != TN_UNBOUND) {
        tn_value rendered = tn_render(turn->task, chat->system, NULL);
        *failed = rendered == NULL;
        tn_text_append_value(&out, rendered);
        tn_release(rendered);
    }
    if (!*failed && chat->text_tools) {
        tn_value context = tn_context(turn->task);
        tn_value prompt =
            text_tools_build_prompt(turn->withheld ? NULL : turn->definitions, tn_get_int(context, "now", 0));
        if (out.length > 0) tn_text_append(&out, "\n\n");
        tn_text_append_value(&out, prompt);
        tn_release(prompt);
        tn_release(context);
    }
    if (!*failed && chat->text_tools && chat->with_schema) {
        tn_text_append(&out, "\nYour answer, when you call no tool, is JSON alone that fits this JSON Schema: ");
        tn_text_append_value(&out, chat->schema_value);
        tn_text_append(&out, "\n");
    }
    if (*failed || out.length == 0) {
        tn_text_free(&out);
        return NULL;
    }
    tn_value text = tn_text_finish(&out);
    *failed = text == NULL;
    if (*failed) (void)tn_fail(turn->task, "NO_MEMORY", "not enough memory for the system prompt");
    return text;
}

static void chat_turn_put_messages(tn_builder *builder, tn_value messages) {
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++)
        if (!tn_message_is(tn.value->at(messages, i), "error")) tn_put(builder, NULL, tn.value->at(messages, i));
}

/* Sets `options`: those of the node, and over them the members of the channel. `extra` would add any member to the
 * request, so only the author of the document sets it. If it does not return TN_OK, the task has failed. */
static int32_t chat_turn_prepare_options(struct chat_turn *turn) {
    static const char *const members[] = {"temperature", "top_p",       "max_tokens",          "stop",
                                          "seed",        "tool_choice", "parallel_tool_calls", "reasoning"};
    const struct chat *chat = turn->chat;
    turn->options = tn_retain(chat->options);
    if (chat->options_channel == TN_UNBOUND) return TN_OK;
    tn_value given = tn_read(turn->task, chat->options_channel), key, value;
    bool object = tn.value->kind(given) == TN_OBJECT;
    const char *wrong = NULL;
    if (object && turn->options == NULL) turn->options = tn_build("{}");
    int32_t status = object && turn->options == NULL ? TN_NO_MEMORY : TN_OK;
    for (uint64_t i = 0; object && status == TN_OK && wrong == NULL && tn.value->entry(given, i, &key, &value) == TN_OK;
         i++) {
        const char *name = tn_chars(key, NULL);
        size_t at = 0;
        while (at < sizeof(members) / sizeof(members[0]) && strcmp(members[at], name) != 0) at++;
        if (at == sizeof(members) / sizeof(members[0]))
            wrong = name;
        else
            turn->options = tn_set_take(turn->options, name, tn_retain(value));
        if (turn->options == NULL) status = TN_NO_MEMORY;
    }
    if (!object && tn.value->kind(given) > TN_NULL)
        status = agents_fail(turn->task, "TYPE", NULL, "the channel `%.80s` is %s, expected an object of options",
                             chat->options_name, tn_kind_name(given));
    else if (wrong != NULL)
        status =
            agents_fail(turn->task, "TYPE", NULL,
                        "the channel `%.80s` has the member `%.80s`; expected temperature, top_p, max_tokens, stop, "
                        "seed, tool_choice, parallel_tool_calls or reasoning; other options are set in `options`",
                        chat->options_name, wrong);
    tn_release(given);
    return status;
}

/* Builds `sent`. If it does not return TN_OK, the task has failed or must fail with the status. */
static int32_t chat_turn_prepare(struct chat_turn *turn) {
    const struct chat *chat = turn->chat;
    bool failed = false;
    if (chat->messages != TN_UNBOUND) {
        turn->history = conversation_read(turn->task, chat->messages, chat->messages_name);
        if (turn->history == NULL) return TN_FAILED;
    }
    int32_t status = chat_turn_add_input(turn);
    if (status == TN_OK) status = chat_turn_prepare_options(turn);
    if (status != TN_OK) return status;
    if (chat->with_tools) {
        tn_value all = NULL;
        if (agents_tool->describe(turn->task, chat->tools, &all) != TN_OK)
            return agents_fail(turn->task, "TOOLS", NULL,
                               "cannot describe the tools for the model; "
                               "there may be more than %d",
                               TN_TOOL_SET_MAX);
        turn->definitions = search_offer(&chat->search, all, turn->history, turn->added);
        tn_release(all);
        if (turn->definitions == NULL) return TN_NO_MEMORY;
    }
    if (chat->client_tools != TN_UNBOUND) {
        turn->definitions =
            client_tools_add_take(turn->task, chat->client_tools, chat->client_tools_name, turn->definitions);
        if (turn->definitions == NULL) return TN_FAILED;
    }
    turn->withheld = chat->max_turns > 0 && conversation_count_turns(turn->history) >= chat->max_turns;
    tn_value system = chat_turn_build_system_text(turn, &failed);
    if (failed) return TN_FAILED;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    if (system != NULL) tn_put_take(builder, NULL, tn_message("system", system));
    uint64_t message_count = tn.value->count(turn->history) + tn.value->count(turn->added);
    chat_turn_put_messages(builder, turn->history);
    chat_turn_put_messages(builder, turn->added);
    tn.value->end(builder);
    tn_value messages = tn_finish(builder);
    /* With `text_tools`, calls and results are texts, which need no pairs. */
    turn->sent = chat->text_tools || messages == NULL ? tn_retain(messages) : conversation_pair_results(messages);
    tn_release(messages);
    tn_release(system);
    if (turn->sent == NULL) return TN_NO_MEMORY;
    if (message_count == 0)
        return agents_fail(turn->task, "INVALID_INPUT", NULL,
                           "the model has no input: `%.80s` is empty; start the run with a message, for example "
                           "{\"type\": \"user\", \"content\": …}",
                           *chat->messages_name != '\0' ? chat->messages_name : chat->input_name);
    return TN_OK;
}

static tn_value chat_turn_build_options(const struct chat_turn *turn) {
    tn_value options = turn->options;
    bool offered = turn->chat->with_tools || tn.value->count(turn->definitions) > 0;
    if (!turn->withheld || turn->chat->text_tools || !offered) return tn_retain(options);
    return tn_set_take(tn_retain(options), "tool_choice", tn_text("none"));
}

static int32_t chat_turn_on_answer(void *user, int32_t status, tn_value result);

static int32_t chat_turn_call_model(struct chat_turn *turn) {
    const struct chat *chat = turn->chat;
    tn_value options = chat_turn_build_options(turn);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    if (chat->text_tools)
        tn_put_take(builder, "messages", text_tools_to_plain_messages(turn->sent));
    else
        tn_put(builder, "messages", turn->sent);
    if (tn.value->count(turn->definitions) > 0 && !chat->text_tools)
        tn_put_take(builder, "tools", chat_build_tool_definitions(turn->definitions));
    if (options != NULL) tn_put(builder, "options", options);
    if (chat->with_schema && !chat->text_tools) tn_put(builder, "response_schema", chat->schema_value);
    tn.value->end(builder);
    tn_value request = tn_finish(builder);
    int32_t status = request != NULL
                         ? tn.task->call(turn->task, chat->model, request, NULL, chat_turn_on_answer, turn, NULL)
                         : TN_NO_MEMORY;
    tn_release(request);
    tn_release(options);
    return status;
}

/* ---- The answer ---- */

static const char *chat_find_refusal(tn_value content) {
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++) {
        tn_value part = tn.value->at(content, i);
        if (strcmp(tn_get_text(part, "type", ""), "refusal") == 0) return tn_get_text(part, "text", "");
    }
    return NULL;
}

/* Returns {violations, answer}. Takes `violations`. */
static tn_value chat_build_mismatch_take(tn_value violations, tn_value answer) {
    return tn_build("{s:V,s:v}", "violations", violations, "answer", answer);
}

static tn_value chat_build_no_json_violations(void) {
    static const char text[] =
        "[{\"pointer\": \"\", \"keyword\": \"json\", \"message\": \"found no JSON in it, expected "
        "nothing but a JSON value\"}]";
    return tn_from_json(text, sizeof(text) - 1);
}

/* Returns {route: KEY} if the text is exactly a key of the choices, also in quotes or with a period. NULL otherwise. */
static tn_value chat_find_choice(tn_value choices, const char *text, uint64_t length) {
    static const char around[] = " \t\r\n\"'`*.";
    tn_value name, found;
    while (length > 0 && strchr(around, text[0]) != NULL) text++, length--;
    while (length > 0 && strchr(around, text[length - 1]) != NULL) length--;
    name = length > 0 ? tn_text_n(text, length) : NULL;
    found = name != NULL && tn_get_key(choices, name) != NULL ? tn_build("{s:v}", "route", name) : NULL;
    tn_release(name);
    return found;
}

/* Parses and checks the answer's text. Sets `value`, or `mismatch` if the text does not match. If it does not return
 * TN_OK, the task has failed or must fail with the status. */
static int32_t chat_turn_check_answer(struct chat_turn *turn) {
    const struct chat *chat = turn->chat;
    tn_value content = tn_get(turn->message, "content");
    const char *refusal = chat_find_refusal(content);
    if (refusal != NULL)
        return agents_fail(turn->task, "REFUSED", NULL, "the model declined to answer: %.500s", refusal);
    uint64_t length = 0;
    tn_value answer = tn_content_text(content), error = NULL;
    const char *text = tn_chars(answer, &length);
    if (text != NULL && chat->choices != NULL) turn->value = chat_find_choice(chat->choices, text, length);
    if (text != NULL && turn->value == NULL) turn->value = structured_find(text, length);
    int32_t status = TN_OK;
    if (turn->value == NULL) {
        turn->mismatch = chat_build_mismatch_take(chat_build_no_json_violations(), answer);
    } else if (chat->with_schema) {
        status = tn.eval->validate(turn->task, chat->schema, turn->value, &error);
        if (status == TN_FAILED) {
            tn_value violations = tn_get(tn_get(error, "detail"), "violations");
            turn->mismatch = chat_build_mismatch_take(tn_retain(violations), answer);
            tn_release(turn->value);
            turn->value = NULL;
            status = TN_OK;
        }
        tn_release(error);
    }
    tn_release(answer);
    return status;
}

/* Calls the model again with the violations, one on each line. */
static int32_t chat_turn_repair(struct chat_turn *turn) {
    struct tn_text_buffer out = {0};
    tn_value violations = tn_get(turn->mismatch, "violations");
    tn_text_append(&out, "Your answer is not as it must be:\n");
    for (uint64_t i = 0, count = tn.value->count(violations); i < count; i++) {
        tn_value violation = tn.value->at(violations, i);
        const char *pointer = tn_get_text(violation, "pointer", "");
        tn_text_append_format(&out, "- %s%s%s\n", pointer, *pointer != '\0' ? ": " : "",
                              tn_get_text(violation, "message", "it does not fit"));
    }
    tn_text_append(&out, "Answer once more, with JSON alone");
    if (turn->chat->with_schema) {
        tn_text_append(&out, " that fits this JSON Schema: ");
        tn_text_append_value(&out, turn->chat->schema_value);
    } else {
        tn_text_append(&out, ".");
    }
    tn_value text = tn_text_finish(&out), request = text != NULL ? tn_message("user", text) : NULL;
    int32_t status = tn.value->append(&turn->sent, turn->message);
    if (status == TN_OK) status = tn.value->append(&turn->sent, request);
    tn_release(request);
    tn_release(text);
    if (status != TN_OK) return status;
    tn_release(turn->message);
    tn_release(turn->mismatch);
    turn->message = turn->mismatch = NULL;
    return chat_turn_call_model(turn);
}

/* Handles an answer of the model. Sets *again if the model was called again. */
static int32_t chat_turn_handle_answer(struct chat_turn *turn, tn_value result, bool *again) {
    const struct chat *chat = turn->chat;
    chat_usage_add(&turn->usage, tn_get(result, "usage"));
    turn->message = tn_message_normal(tn_get(result, "message"));
    if (turn->message == NULL || !tn_message_is(turn->message, "ai"))
        return tn_fail(turn->task, "INVALID_RESPONSE", "the model's result has no ai message as `message`");
    if (chat->text_tools && (chat->with_tools || turn->definitions != NULL) && !turn->withheld) {
        char id[32];
        (void)snprintf(id, sizeof(id), "text_%llu", (unsigned long long)tn.value->count(turn->sent));
        turn->message = text_tools_extract_take(turn->message, turn->definitions, id);
        if (turn->message == NULL) return TN_NO_MEMORY;
    }
    bool calls = tn_message_calls(turn->message) != NULL;
    if (calls && turn->withheld)
        return agents_fail(turn->task, "TURN_LIMIT", NULL,
                           "the model requested tools %llu times (`max_turns`), and requests more although none are "
                           "offered now; raise `max_turns`, or write in the system prompt when to stop",
                           (unsigned long long)chat->max_turns);
    if (calls || !(chat->with_schema || chat->as_json)) return TN_OK;
    int32_t status = chat_turn_check_answer(turn);
    if (status != TN_OK || turn->mismatch == NULL) return status;
    if (chat->no_repair || turn->usage.calls > CHAT_REPAIRS) return TN_INVALID;
    *again = true;
    return chat_turn_repair(turn);
}

/* Calls `done`. A failure without an error is reported to the host first. */
static void chat_turn_notify(struct chat_turn *turn, int32_t status) {
    if (status != TN_OK && status != TN_FAILED && status != TN_INVALID) {
        (void)agents_fail(turn->task, status == TN_NO_MEMORY ? "NO_MEMORY" : "MODEL", NULL,
                          "the model could not be called (status %d)", (int)status);
        status = TN_FAILED;
    }
    turn->done(turn, status);
}

static int32_t chat_turn_on_answer(void *user, int32_t status, tn_value result) {
    struct chat_turn *turn = user;
    bool again = false;
    status =
        status == TN_OK ? chat_turn_handle_answer(turn, result, &again) : agents_fail_with(turn->task, status, result);
    if (!again || status != TN_OK) chat_turn_notify(turn, status);
    return TN_OK;
}

int32_t chat_start(const struct chat *chat, tn_task task, void (*done)(struct chat_turn *turn, int32_t status),
                   void *user) {
    struct chat_turn *turn = agents_alloc_zeroed(sizeof(*turn));
    if (turn == NULL) return TN_NO_MEMORY;
    turn->chat = chat;
    turn->task = task;
    turn->done = done;
    turn->user = user;
    int32_t status = chat_turn_prepare(turn);
    if (status == TN_OK) status = chat_turn_call_model(turn);
    if (status != TN_OK) chat_turn_free(turn);
    return status;
}

void chat_fail_invalid(const struct chat_turn *turn) {
    tn_value violations = tn_get(turn->mismatch, "violations"), first = tn.value->at(violations, 0);
    uint64_t count = tn.value->count(violations);
    const char *pointer = tn_get_text(first, "pointer", "");
    (void)agents_fail(turn->task, "OUTPUT_INVALID", turn->mismatch,
                      "the repaired answer does not match `output_schema` either: %.200s%s%.400s%s", pointer,
                      *pointer != '\0' ? ": " : "", tn_get_text(first, "message", "it does not match"),
                      count > 1 ? " (and more, see detail)" : "");
}

void chat_turn_free(struct chat_turn *turn) {
    if (turn == NULL) return;
    tn_release(turn->definitions);
    tn_release(turn->history);
    tn_release(turn->added);
    tn_release(turn->sent);
    tn_release(turn->options);
    tn_release(turn->message);
    tn_release(turn->value);
    tn_release(turn->mismatch);
    agents_release(turn);
}
