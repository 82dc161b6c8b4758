/*
 * request.c - what a client sends, as the input of a graph.
 *
 * Members that are not known are ignored, because clients send what newer servers understand. What is known must have
 * the right type, and an error names its place.
 */
#include "openai_server.h"
#include <ctype.h>
#include <tenon/message.h>

/* ---- Places of errors ---- */

struct reader {
    struct openai_error *error;
    struct openai_request *request;
    const char *id;   /* what the ids of the messages begin with */
    const char *list; /* "messages" or "input" */
    uint64_t index;   /* in the list */
};

static bool wrong(const struct reader *reader, const char *member, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool wrong(const struct reader *reader, const char *member, const char *format, ...) {
    char param[80], text[300];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)snprintf(param, sizeof param, "%s[%llu]%s%s", reader->list, (unsigned long long)reader->index,
                   *member ? "." : "", member);
    return openai_invalid(reader->error, param, "invalid_value", "%s", text);
}

static const char *kind_word(tn_value value) {
    switch (tn.value->kind(value)) {
    case TN_NONE: return "nothing";
    case TN_NULL: return "null";
    case TN_BOOL: return "a boolean";
    case TN_INT:
    case TN_DOUBLE: return "a number";
    case TN_STRING: return "a string";
    case TN_ARRAY: return "an array";
    default: return "an object";
    }
}

/* ---- Content ---- */

/* A content of Tenon: new; NULL with the error. */
static tn_value read_content(const struct reader *reader, tn_value content) {
    tn_value parts = NULL;
    if (tn.value->kind(content) == TN_STRING) return tn_retain(content);
    if (tn.value->kind(content) != TN_ARRAY) {
        (void)wrong(reader, "content", "expected a string or an array of content parts; found %s", kind_word(content));
        return NULL;
    }
    parts = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(content); i < count; i++) {
        tn_value part = tn.value->at(content, i), made = NULL;
        const char *type = tn_get_text(part, "type", "");
        bool known = false;
        made = openai_part(part, &known);
        if (made != NULL && tn_append_take(&parts, made) == TN_OK) continue;
        (void)wrong(reader, "content",
                    known ? "a content part of the type '%.40s' lacks its text, data or address"
                          : "content parts of the type '%.40s' are not supported",
                    type);
        tn_release(parts);
        return NULL;
    }
    return parts;
}

/* ---- Messages ---- */

static bool add_message(const struct reader *reader, tn_value message) {
    struct openai_request *request = reader->request;
    char id[64];
    (void)snprintf(id, sizeof id, "%s_in_%llu", reader->id, (unsigned long long)reader->index);
    if (message != NULL) message = tn_set_take(message, "id", tn_text(id));
    if (tn_append_take(&request->messages, message) != TN_OK) return wrong(reader, "", "%s", "memory ran out");
    (void)snprintf(request->last_input, sizeof request->last_input, "%s", id);
    return true;
}

/* A call of a function of either protocol, as one of Tenon: new. Arguments that are not JSON stay a text. */
static tn_value read_call(tn_value id, tn_value function) {
    tn_value arguments = tn_get(function, "arguments"), read = NULL;
    uint64_t length = 0;
    const char *text = tn_chars(arguments, &length);
    if (text != NULL) read = length > 0 ? tn_from_json(text, length) : tn_build("{}");
    if (read == NULL && text != NULL) read = tn_retain(arguments);
    if (tn.value->kind(id) == TN_STRING && tn_get_text(function, "name", NULL) != NULL)
        return tn_build("{s:v, s:v, s:V}", "id", id, "name", tn_get(function, "name"), "arguments",
                        read != NULL ? read : tn_build("{}"));
    tn_release(read);
    return NULL;
}

static tn_value read_assistant(const struct reader *reader, tn_value message) {
    tn_value content = tn_get(message, "content"), given = tn_get(message, "tool_calls"), calls = NULL, made;
    if (tn.value->kind(given) > TN_NULL && tn.value->kind(given) != TN_ARRAY) {
        (void)wrong(reader, "tool_calls", "expected an array of calls; found %s", kind_word(given));
        return NULL;
    }
    made = tn.value->kind(content) <= TN_NULL ? tn_text("") : read_content(reader, content);
    if (made == NULL) return NULL;
    for (uint64_t i = 0, count = tn.value->count(given); i < count; i++) {
        tn_value call = tn.value->at(given, i), read = read_call(tn_get(call, "id"), tn_get(call, "function"));
        if (read != NULL && tn_append_take(&calls, read) == TN_OK) continue;
        (void)wrong(reader, "tool_calls", "a call needs the strings `id` and `function.name`%s", "");
        tn_release(made);
        tn_release(calls);
        return NULL;
    }
    return tn_build("{s:s, s:V, s:V*}", "type", "ai", "content", made, "tool_calls", calls);
}

static tn_value read_tool_message(const struct reader *reader, tn_value id, tn_value content, const char *id_name) {
    tn_value made;
    if (tn.value->kind(id) != TN_STRING) {
        (void)wrong(reader, id_name, "expected the id of the call; found %s", kind_word(id));
        return NULL;
    }
    made = read_content(reader, content);
    return made != NULL ? tn_build("{s:s, s:V, s:v}", "type", "tool", "content", made, "tool_call_id", id) : NULL;
}

/* A message with a role: new; NULL with the error. */
static tn_value read_message(const struct reader *reader, tn_value message) {
    static const char *const roles[][2] = {{"user", "user"}, {"system", "system"}, {"developer", "developer"}};
    const char *role = tn_get_text(message, "role", NULL), *name = tn_get_text(message, "name", NULL);
    if (tn.value->kind(message) != TN_OBJECT || role == NULL) {
        (void)wrong(reader, "role", "expected a message with a `role`; found %s",
                    kind_word(tn.value->kind(message) != TN_OBJECT ? message : tn_get(message, "role")));
        return NULL;
    }
    if (strcmp(role, "assistant") == 0) return read_assistant(reader, message);
    if (strcmp(role, "tool") == 0)
        return read_tool_message(reader, tn_get(message, "tool_call_id"), tn_get(message, "content"), "tool_call_id");
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(roles[i][0], role) != 0) continue;
        tn_value content = read_content(reader, tn_get(message, "content"));
        return content != NULL ? tn_build("{s:s, s:V, s:s*}", "type", roles[i][1], "content", content, "name", name)
                               : NULL;
    }
    (void)wrong(reader, "role", "'%.40s' is not one of system, developer, user, assistant, tool", role);
    return NULL;
}

/* ---- Answers ---- */

tn_value openai_approval(tn_value given) {
    static const char *const yes[] = {"true", "yes", "ok", "approve", "approved", "allow"};
    char word[16] = "";
    uint64_t length = 0;
    const char *text = tn_chars(given, &length);
    if (tn.value->kind(given) == TN_OBJECT && tn_get(given, "approved") != NULL) return tn_retain(given);
    if (tn.value->kind(given) == TN_BOOL) return tn_build("{s:b}", "approved", (int)serving_true(given));
    for (uint64_t i = 0; text != NULL && length < sizeof word && i <= length; i++)
        word[i] = (char)tolower((unsigned char)text[i]);
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (strcmp(yes[i], word) == 0) return tn_build("{s:b}", "approved", 1);
    return tn_build("{s:b, s:v*}", "approved", 0, "reason", text != NULL ? given : NULL);
}

static bool add_answer(struct openai_request *request, const char *id, tn_value answer) {
    if (request->answers == NULL) request->answers = tn_build("{}");
    bool added =
        answer != NULL && request->answers != NULL && tn.value->set(&request->answers, id, strlen(id), answer) == TN_OK;
    tn_release(answer);
    return added;
}

/* ---- Members that both have ---- */

static bool read_flag(tn_value body, const char *name, bool *flag, struct openai_error *error) {
    tn_value value = tn_get(body, name);
    if (tn.value->kind(value) > TN_NULL && tn.value->kind(value) != TN_BOOL)
        return openai_invalid(error, name, "invalid_type", "`%s` must be a boolean; found %s", name, kind_word(value));
    if (tn.value->kind(value) == TN_BOOL) *flag = serving_true(value);
    return true;
}

/* A text that may be absent or null. */
static bool read_text(tn_value body, const char *name, const char **text, struct openai_error *error) {
    tn_value value = tn_get(body, name);
    if (tn.value->kind(value) > TN_NULL && tn.value->kind(value) != TN_STRING)
        return openai_invalid(error, name, "invalid_type", "`%s` must be a string; found %s", name, kind_word(value));
    *text = tn_chars(value, NULL);
    return true;
}

/* Only functions: tools that OpenAI itself hosts do not exist here. */
static bool read_tools(tn_value body, struct openai_request *request, struct openai_error *error) {
    tn_value tools = tn_get(body, "tools");
    if (tn.value->kind(tools) <= TN_NULL) return true;
    if (tn.value->kind(tools) != TN_ARRAY || tn.value->count(tools) > TOOLS_MAX)
        return openai_invalid(error, "tools", "invalid_value", "`tools` must be an array of at most %u tools",
                              TOOLS_MAX);
    for (uint64_t i = 0, count = tn.value->count(tools); i < count; i++) {
        tn_value tool = tn.value->at(tools, i), function = tn_get(tool, "function");
        if (!serving_is(tn_get(tool, "type"), "function")) continue;
        if (function == NULL) function = tool;
        const char *name = tn_get_text(function, "name", NULL);
        if (name == NULL || *name == '\0')
            return openai_invalid(error, "tools", "invalid_value", "`tools[%llu]` has no name", (unsigned long long)i);
        tn_value schema = tn_get(function, "parameters");
        tn_value made = tn_build(
            "{s:s, s:s*, s:V}", "name", name, "description", tn_get_text(function, "description", NULL), "input_schema",
            tn.value->kind(schema) == TN_OBJECT ? tn_retain(schema) : tn_build("{s:s}", "type", "object"));
        (void)tn_append_take(&request->tools, made);
        (void)tn_append_take(&request->tool_names, tn_text(name));
    }
    return true;
}

/* What expressions see as run.metadata: the client's, and `user`. */
static bool read_metadata(tn_value body, struct openai_request *request, struct openai_error *error) {
    tn_value given = tn_get(body, "metadata"), user = tn_get(body, "user");
    if (tn.value->kind(given) > TN_NULL && tn.value->kind(given) != TN_OBJECT)
        return openai_invalid(error, "metadata", "invalid_type", "`metadata` must be an object; found %s",
                              kind_word(given));
    if (tn.value->count(given) > 16)
        return openai_invalid(error, "metadata", "invalid_value", "`metadata` must have at most 16 members");
    request->metadata = tn.value->kind(given) == TN_OBJECT ? tn_retain(given) : tn_build("{}");
    if (tn.value->kind(user) == TN_STRING && request->metadata != NULL)
        request->metadata = tn_set_take(request->metadata, "user", tn_retain(user));
    return true;
}

static bool read_common(tn_value body, struct openai_request *request, struct openai_error *error) {
    *request = (struct openai_request){.model = tn_get_text(body, "model", NULL), .store = true};
    if (tn.value->kind(body) != TN_OBJECT)
        return openai_invalid(error, NULL, "invalid_request", "the body must be a JSON object; found %s",
                              kind_word(body));
    if (request->model == NULL)
        return openai_invalid(error, "model", "missing_required_parameter",
                              "you must provide a model: the name of a graph");
    return read_flag(body, "stream", &request->stream, error) && read_tools(body, request, error) &&
           read_metadata(body, request, error);
}

void openai_answer_begin(struct openai_request *request, tn_value state, tn_value interrupts) {
    request->asked = tn_retain(interrupts);
    tn_value messages = tn_get(state, "messages");
    uint64_t count = tn.value->count(messages);
    const char *id = count > 0 ? tn_get_text(tn.value->at(messages, count - 1), "id", NULL) : NULL;
    if (id != NULL) (void)snprintf(request->last_input, sizeof request->last_input, "%s", id);
}

void openai_request_finish(struct openai_request *request) {
    const tn_value values[] = {request->messages, request->answers, request->tools, request->tool_names,
                               request->metadata, request->items,   request->asked};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) tn_release(values[i]);
    *request = (struct openai_request){0};
}

/* ---- Chat completions ---- */

/* Answers of the last messages to questions of a run; the id of the run is read by chat.c. */
static void read_chat_answers(tn_value messages, struct openai_request *request) {
    for (uint64_t i = tn.value->count(messages); i > 0; i--) {
        tn_value message = tn.value->at(messages, i - 1);
        const char *id = tn_get_text(message, "tool_call_id", "");
        tn_value text = tn_content_text(tn_get(message, "content"));
        bool asked = serving_is(tn_get(message, "role"), "tool") && strncmp(id, ASK_PREFIX, strlen(ASK_PREFIX)) == 0;
        if (asked && text != NULL) (void)add_answer(request, id + strlen(ASK_PREFIX), tn_retain(text));
        tn_release(text);
        if (!serving_is(tn_get(message, "role"), "tool")) return;
    }
}

bool openai_read_chat(tn_value body, struct openai_request *request, struct openai_error *error) {
    struct reader reader = {error, request, "chat", "messages", 0};
    tn_value messages = tn_get(body, "messages");
    uint64_t count = tn.value->count(messages);
    if (!read_common(body, request, error)) return false;
    if (tn.value->kind(messages) != TN_ARRAY || count == 0)
        return openai_invalid(error, "messages", "missing_required_parameter",
                              "`messages` must be an array of at least one message; found %s", kind_word(messages));
    if (count > MESSAGES_MAX)
        return openai_invalid(error, "messages", "invalid_value", "at most %u messages are accepted", MESSAGES_MAX);
    tn_value choices = tn_get(body, "n");
    int64_t wanted = 1;
    if (tn.value->kind(choices) > TN_NULL && (tn.value->as_int(choices, &wanted) != TN_OK || wanted != 1))
        return openai_invalid(error, "n", "unsupported_value", "a graph makes one choice: `n` must be 1");
    tn_value options = tn_get(body, "stream_options");
    if (tn.value->kind(options) > TN_NULL && tn.value->kind(options) != TN_OBJECT)
        return openai_invalid(error, "stream_options", "invalid_type", "`stream_options` must be an object; found %s",
                              kind_word(options));
    if (!read_flag(options, "include_usage", &request->include_usage, error)) return false;
    for (; reader.index < count; reader.index++) {
        tn_value message = read_message(&reader, tn.value->at(messages, reader.index));
        if (message == NULL || !add_message(&reader, message)) return false;
    }
    read_chat_answers(messages, request);
    return true;
}

/* ---- Responses ---- */

static bool read_item(const struct reader *reader, tn_value item) {
    static const char *const skipped[] = {
        "reasoning",       "mcp_call",         "mcp_list_tools", "mcp_approval_request", "image_generation_call",
        "web_search_call", "file_search_call", "item_reference"};
    const char *type = tn_get_text(item, "type", "message");
    tn_value made = NULL;
    if (strcmp(type, "message") == 0) {
        made = read_message(reader, item);
    } else if (strcmp(type, "function_call") == 0) {
        tn_value call = read_call(tn_get(item, "call_id"), item);
        if (call == NULL) return wrong(reader, "", "a %s needs the strings `call_id` and `name`", "function_call");
        made = tn_build("{s:s, s:s, s:[V]}", "type", "ai", "content", "", "tool_calls", call);
    } else if (strcmp(type, "function_call_output") == 0) {
        const char *id = tn_get_text(item, "call_id", "");
        tn_value output = tn_get(item, "output");
        if (strncmp(id, "ask_", 4) == 0 && tn_chars(output, NULL) != NULL)
            return add_answer(reader->request, id + 4, tn_retain(output)) || wrong(reader, "", "%s", "memory ran out");
        made = read_tool_message(reader, tn_get(item, "call_id"), output, "call_id");
    } else if (strcmp(type, "mcp_approval_response") == 0) {
        const char *id = tn_get_text(item, "approval_request_id", "");
        if (strncmp(id, "mcpr_", 5) != 0 || tn.value->kind(tn_get(item, "approve")) != TN_BOOL)
            return wrong(reader, "approval_request_id", "an %s needs `approval_request_id` and `approve`", type);
        tn_value answer = tn_build("{s:b, s:s*}", "approved", (int)serving_true(tn_get(item, "approve")), "reason",
                                   tn_get_text(item, "reason", NULL));
        return add_answer(reader->request, id + 5, answer) || wrong(reader, "", "%s", "memory ran out");
    } else {
        for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++)
            if (strcmp(skipped[i], type) == 0) return true;
        return wrong(reader, "type", "items of the type '%.40s' are not supported", type);
    }
    return made != NULL && add_message(reader, made);
}

bool openai_read_response(tn_value body, const char *id, struct openai_request *request, struct openai_error *error) {
    struct reader reader = {error, request, id, "input", 0};
    tn_value input = tn_get(body, "input"), instructions = tn_get(body, "instructions");
    const char *system = NULL;
    if (!read_common(body, request, error) || !read_text(body, "previous_response_id", &request->previous, error) ||
        !read_text(body, "instructions", &system, error) || !read_flag(body, "store", &request->store, error) ||
        !read_flag(body, "background", &request->background, error))
        return false;
    if (request->background && !request->store)
        return openai_invalid(error, "background", "unsupported_value", "`background` needs `store`: true");
    if (tn.value->kind(tn_get(body, "conversation")) > TN_NULL)
        return openai_invalid(error, "conversation", "unsupported_parameter",
                              "conversations are not supported; use `previous_response_id`");
    if (system != NULL)
        (void)tn_append_take(&request->messages, tn_build("{s:s, s:v, s:s}", "type", "system", "content", instructions,
                                                          "id", "instructions"));
    request->items = tn.value->kind(input) == TN_STRING
                         ? tn_build("[{s:s, s:s, s:[{s:s, s:v}]}]", "type", "message", "role", "user", "content",
                                    "type", "input_text", "text", input)
                         : tn_retain(input);
    uint64_t count = tn.value->count(request->items);
    if (tn.value->kind(request->items) != TN_ARRAY || count == 0)
        return openai_invalid(error, "input", "missing_required_parameter",
                              "`input` must be a string or an array of at least one item; found %s", kind_word(input));
    if (count > MESSAGES_MAX)
        return openai_invalid(error, "input", "invalid_value", "at most %u items are accepted", MESSAGES_MAX);
    for (; reader.index < count; reader.index++)
        if (!read_item(&reader, tn.value->at(request->items, reader.index))) return false;
    return true;
}

/* ---- The input of a graph ---- */

/* The text of the last message of the user: new; NULL if there is none. */
static tn_value last_text(tn_value messages) {
    for (uint64_t i = tn.value->count(messages); i > 0; i--) {
        tn_value message = tn.value->at(messages, i - 1);
        if (tn_message_is(message, "user")) return tn_content_text(tn_get(message, "content"));
    }
    return NULL;
}

static tn_value messages_input(const struct openai_request *request, const struct serving_graph *graph,
                               tn_value before) {
    tn_value all = before != NULL ? tn_retain(before) : tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(request->messages); i < count; i++)
        (void)tn_append_take(&all, tn_retain(tn.value->at(request->messages, i)));
    tn_value input = tn_set_take(tn_build("{}"), graph->channel, all);
    if (input != NULL && graph->has_tools)
        input = tn_set_take(input, "tools", request->tools != NULL ? tn_retain(request->tools) : tn_build("[]"));
    return input;
}

tn_value openai_input(const struct openai_request *request, const struct serving_graph *graph, tn_value before,
                      struct openai_error *error) {
    if (graph->input == SERVING_MESSAGES) return messages_input(request, graph, before);
    tn_value text = last_text(request->messages), input;
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (chars == NULL)
        (void)openai_invalid(error, "messages", "invalid_value", "the graph `%.80s` needs a message of the user",
                             graph->name);
    input = chars == NULL                      ? NULL
            : graph->input == SERVING_ONE_TEXT ? tn_set_take(tn_build("{}"), graph->channel, tn_retain(text))
                                               : tn_from_json(chars, length);
    if (chars != NULL && tn.value->kind(input) != TN_OBJECT) {
        (void)openai_invalid(error, "messages", "invalid_value",
                             "the last message of the user must be a JSON object with the input of the graph `%.80s`",
                             graph->name);
        tn_release(input);
        input = NULL;
    }
    tn_release(text);
    return input;
}
