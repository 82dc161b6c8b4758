/*
 * request.c - SessionData as the input of a graph, and as answers.
 *
 * A message of the seed has only a role and a text. Results of tools come back without the id of their call, which no
 * service of models accepts, so a graph gets them as a text of the user.
 */
#include "session.h"
#include <ctype.h>
#include <tenon/message.h>

extern const char session_data_schema_text[];

bool session_read(struct session *session, tn_value data) {
    tn_value schema = tn_from_json(session_data_schema_text, strlen(session_data_schema_text));
    tn_value reason = schema != NULL ? schema_check(schema, data) : tn_text("memory ran out");
    tn_release(schema);
    *session = (struct session){.data = tn_retain(data), .id = tn_get_text(data, "id", "")};
    if (reason == NULL && strpbrk(session->id, "/\n\r\t") != NULL)
        reason = tn_text("at `/id`: the id of a session has no `/` and no control characters");
    if (reason != NULL)
        (void)snprintf(session->reason, sizeof session->reason, "the body is not SessionData: %s",
                       tn_chars(reason, NULL));
    bool valid = reason == NULL;
    tn_release(reason);
    return valid;
}

void session_finish(struct session *session) {
    tn_release(session->data);
    *session = (struct session){0};
}

/* ---- The input ---- */

static tn_value messages_of(const struct session *session) {
    tn_value messages = tn_get(session->data, "messages"), list = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++) {
        static const char *const types[][2] = {
            {"user", "user"}, {"assistant", "ai"}, {"system", "system"}, {"tool", "user"}, {"error", "error"}};
        tn_value message = tn.value->at(messages, i);
        const char *role = tn_get_text(message, "role", "user"), *type = "user";
        char id[32];
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            if (strcmp(types[k][0], role) == 0) type = types[k][1];
        struct tn_text_buffer text = {0};
        if (strcmp(role, "tool") == 0) (void)tn_text_append(&text, "Result of a tool: ");
        (void)tn_text_append_value(&text, tn_get(message, "content"));
        (void)snprintf(id, sizeof id, "session-%llu", (unsigned long long)i);
        (void)tn_append_take(&list,
                             tn_build("{s:s, s:s, s:V}", "type", type, "id", id, "content", tn_text_finish(&text)));
    }
    return list;
}

/* The last message if it is the user's; NULL otherwise. Borrowed. */
static tn_value last_user(const struct session *session) {
    tn_value messages = tn_get(session->data, "messages");
    tn_value last = tn.value->at(messages, tn.value->count(messages) - 1);
    return serving_is(tn_get(last, "role"), "user") ? tn_get(last, "content") : NULL;
}

/* Members of the session for which the graph has a channel that keeps the last value. */
static tn_value with_members(const struct session *session, const struct serving_graph *graph, tn_value input) {
    static const char *const names[] = {"character", "title"};
    tn_value channels = tn_get(graph->item, "channels");
    for (uint64_t i = 0, count = tn.value->count(channels); i < count; i++) {
        tn_value channel = tn.value->at(channels, i);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            tn_value value = tn_get(session->data, names[k]);
            if (input != NULL && tn.value->kind(value) == TN_STRING && serving_is(tn_get(channel, "name"), names[k]) &&
                serving_is(tn_get(channel, "type"), "last_value") && tn_get(input, names[k]) == NULL)
                input = tn_set_take(input, names[k], tn_retain(value));
        }
    }
    return input;
}

tn_value session_input(struct session *session, const struct serving_graph *graph) {
    tn_value text = last_user(session), input = NULL;
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (graph->input == SERVING_MESSAGES)
        input = tn_build("{s:V}", graph->channel, messages_of(session));
    else if (graph->input == SERVING_ONE_TEXT && text != NULL)
        input = tn_build("{s:v}", graph->channel, text);
    else if (chars != NULL)
        input = tn_from_json(chars, length);
    if (tn.value->kind(input) == TN_OBJECT) return with_members(session, graph, input);
    tn_release(input);
    (void)snprintf(session->reason, sizeof session->reason,
                   "the last message must be one of the user with the input of the graph `%.80s`%s", graph->name,
                   graph->input == SERVING_ONE_TEXT ? "" : ": a JSON object");
    return NULL;
}

/* ---- Answers ---- */

/* The mark of an answer in a text, "[approve]" or "[approve NAME]" as a whole line. */
static bool has_mark(const char *text, const char *word, const char *tool) {
    char plain[32];
    struct tn_text_buffer named = TN_TEXT_BUFFER(512);
    (void)snprintf(plain, sizeof plain, "[%s]", word);
    (void)tn_text_append_format(&named, "[%s %s]", word, tool);
    bool found = false;
    for (const char *line = text; line != NULL && !found; line = strchr(line, '\n')) {
        while (isspace((unsigned char)*line)) line++;
        size_t length = strcspn(line, "\n");
        while (length > 0 && isspace((unsigned char)line[length - 1])) length--;
        const char *marks[] = {plain, tn_text_chars(&named)};
        for (size_t i = 0; i < 2; i++)
            found = found || (strlen(marks[i]) == length && strncmp(line, marks[i], length) == 0);
    }
    tn_text_free(&named);
    return found;
}

static bool is_pause(tn_value interrupt) {
    return tn_get(interrupt, "when") != NULL && tn.value->kind(tn_get(interrupt, "payload")) <= TN_NULL;
}

static tn_value approval_answer(const struct session *session, tn_value interrupt, const char *text) {
    const char *tool = tn_get_text(tn_get(interrupt, "payload"), "tool", NULL);
    tn_value config = tn_get(tn_get(session->data, "config"), "tool");
    bool automatic = tool != NULL && serving_true(tn_get(tn_get(config, tool), "auto_approve"));
    if (tool == NULL) tool = tn_get_text(interrupt, "node", "");
    bool denied = has_mark(text, "deny", tool), approved = !denied && (automatic || has_mark(text, "approve", tool));
    if (!denied && !approved) return NULL;
    if (is_pause(interrupt)) return approved ? tn_bool(1) : NULL;
    return tn_build("{s:b}", "approved", (int)approved);
}

tn_value session_answers(const struct session *session, tn_value interrupts, bool only_config) {
    tn_value answers = tn_build("{}"), said = only_config ? NULL : last_user(session);
    uint64_t length = 0, count = tn.value->count(interrupts);
    const char *text = tn_chars(said, &length);
    for (uint64_t i = 0; i < count; i++) {
        tn_value interrupt = tn.value->at(interrupts, i), answer = NULL;
        const char *id = tn_get_text(interrupt, "id", NULL);
        if (serving_ask_is_approval(interrupt))
            answer = approval_answer(session, interrupt, text != NULL ? text : "");
        else if (text != NULL)
            answer = serving_ask_answer(interrupt, text, length);
        if (answers != NULL && id != NULL && answer != NULL)
            answers = tn_set_take(answers, id, answer);
        else
            tn_release(answer);
    }
    if (count > 0 && tn.value->count(answers) == count) return answers;
    tn_release(answers);
    return NULL;
}
