/*
 * command_chat_words.c - the commands of a conversation. They act on the conversation between two turns; none of them
 * is part of it.
 */
#include "host/program/command_chat_words.h"
#include "adl/document/document.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/engine/graph/graph.h"
#include "host/engine/model/message_text.h"
#include "host/engine/model/model.h"
#include "host/engine/model/model_listing.h"
#include "host/engine/tool/tool.h"
#include "host/program/command_chat_input.h"
#include "host/program/command_chat_message.h"
#include "host/program/command_chat_save.h"
#include "host/program/command_chat_show.h"
#include "host/program/command_chat_turn.h"
#include "host/program/command_run.h"
#include "host/program/text_editor.h"
#include <stdio.h>
#include <string.h>

struct chat_word {
    const char *name, *argument, *help;
    int (*run)(struct chat *chat, const char *argument);
};

/* ---- What was said ---- */

static int word_history(struct chat *chat, const char *argument) {
    (void)argument;
    chat_show_history(chat->messages);
    if (!chat_turn_messages(chat)) fputs("there are no messages yet\n", stderr);
    return COMMAND_OK;
}

static int word_more(struct chat *chat, const char *argument) {
    (void)argument;
    chat_show_folded(&chat->show);
    return COMMAND_OK;
}

static int word_usage(struct chat *chat, const char *argument) {
    (void)argument;
    char *text = chat->usage ? json_text(chat->usage, JSON_COMPACT) : mem_text("no model has been called");
    command_printf(stderr, "%s\n", text);
    mem_free(text);
    return COMMAND_OK;
}

static int word_save(struct chat *chat, const char *path) {
    struct error error = ERROR_INIT;
    if (!*path) return command_report(COMMAND_OK, "expected a file: /save chat.md, or /save chat.json");
    if (!chat_turn_messages(chat)) return command_report(COMMAND_OK, "there are no messages yet");
    char *file = chat_message_expand_home(path, strlen(path));
    if (chat_save(chat->messages, file, &error) == TN_OK)
        command_printf(stderr, "saved %zu messages in %s\n", chat_turn_messages(chat), file);
    else
        command_warn_error(&error);
    mem_free(file);
    error_finish(&error);
    return COMMAND_OK;
}

/* ---- Another try ---- */

static int word_retry(struct chat *chat, const char *argument) {
    (void)argument;
    if (!chat->said) return command_report(COMMAND_OK, "there is no message yet that could be sent again");
    tn_value content = value_ref(chat->said);
    int code = chat_turn_repeat(chat, content);
    value_unref(content);
    return code;
}

static int word_edit(struct chat *chat, const char *argument) {
    struct error error = ERROR_INIT;
    (void)argument;
    tn_value before = chat->said_text ? value_ref(chat->said_text) : message_text(chat->said);
    size_t length = 0;
    char *text = NULL;
    int code = COMMAND_OK;
    if (!text_editor_is_set()) {
        chat->edits = chat_input_prefill(chat->typed, value_chars(before, NULL));
        if (!chat->edits)
            command_warn("this terminal cannot edit lines: set EDITOR to the editor that /edit should start");
    } else if (text_editor_run(value_chars(before, &length), &text, &length, &error) != TN_OK) {
        command_warn_error(&error);
    } else if (text[strspn(text, " \t\n")]) {
        code = chat_turn_send_typed(chat, text, length, chat->said != NULL);
    } else {
        fputs("the message is empty; it was not sent\n", stderr);
    }
    mem_free(text);
    value_unref(before);
    error_finish(&error);
    return code;
}

/* ---- Tools and models ---- */

struct tool_lines {
    struct chat *chat;
    size_t count;
};

static void print_tool(void *user, const struct component_info *info) {
    struct tool_lines *lines = user;
    const struct graph *graph = lines->chat->graph;
    tn_value tool = tool_describe(host_engine(lines->chat->host), graph->authority, info);
    if (!value_text_is(value_get(tool, "approval"), "deny")) {
        command_print_line(stderr, "  %-24s %-5s %s", command_text(tool, "tool_name", ""),
                           command_text(tool, "approval", ""), command_text(tool, "title", ""));
        lines->count++;
    }
    value_unref(tool);
}

static int word_tools(struct chat *chat, const char *argument) {
    struct tool_lines lines = {.chat = chat};
    tool_search(host_engine(chat->host), argument, NULL, SIZE_MAX, print_tool, &lines);
    if (!lines.count && *argument)
        command_printf(stderr, "no tool that this document allows contains these words\n");
    else if (!lines.count)
        command_printf(stderr, "no plugin provides a tool that this document allows\n");
    return COMMAND_OK;
}

/* A role that tenon.yaml or --model binds overrides the same role of the document. */
static void print_roles(const struct chat *chat) {
    tn_value bound = model_list_roles(host_engine(chat->host));
    const struct document *document = chat->graph->document;
    for (uint32_t i = 0; i < document->model_count; i++) {
        const struct document_model *model = &document->models[i];
        if (!value_get_key(bound, model->role))
            bound = value_set_key_take(bound, value_ref(model->role), value_ref(model->binding));
    }
    for (size_t i = 0; i < value_count(bound); i++) {
        tn_value binding = value_value_at(bound, i);
        char *text =
            value_is(binding, TN_STRING) ? mem_text(value_chars(binding, NULL)) : json_text(binding, JSON_COMPACT);
        command_print_line(stderr, "  %-16s %s", value_chars(value_key_at(bound, i), NULL), text);
        mem_free(text);
    }
    if (!value_count(bound)) fputs("no role is bound to a model\n", stderr);
    value_unref(bound);
}

static int word_model(struct chat *chat, const char *argument) {
    struct error error = ERROR_INIT;
    if (!*argument) {
        print_roles(chat);
        return COMMAND_OK;
    }
    struct config *config = host_config(chat->host);
    tn_value before = config_models(config) ? value_ref(config_models(config)) : value_object();
    int code = COMMAND_OK;
    struct graph *graph = NULL;
    if (model_bind(config, argument, &error) != TN_OK)
        command_warn_error(&error);
    else
        graph = command_open_graph(chat->arguments, chat->host, &code);
    if (graph) {
        graph_unref(chat->graph);
        chat->graph = graph;
        print_roles(chat);
    } else { /* the reason is printed; the turns continue with the models as they were */
        config_set_models_take(config, value_ref(before));
    }
    value_unref(before);
    error_finish(&error);
    return COMMAND_OK;
}

/* ---- The table ---- */

static int word_help(struct chat *chat, const char *argument);

static int word_exit(struct chat *chat, const char *argument) {
    (void)chat, (void)argument;
    return COMMAND_OK;
}

static const struct chat_word words[] = {
    {"/history", NULL, "show the messages of the conversation", word_history},
    {"/more", NULL, "show the reasoning and the sources of the last answer", word_more},
    {"/retry", NULL, "discard the last answer, and send the message again", word_retry},
    {"/edit", NULL, "change the last message, and send it instead; EDITOR names the editor", word_edit},
    {"/tools", "[WORDS]", "show the tools that this document may use", word_tools},
    {"/model", "[[ROLE=]MODEL]", "show the models, or bind a role to another one", word_model},
    {"/usage", NULL, "show the tokens used and their cost", word_usage},
    {"/save", "FILE", "write the conversation to a new file: Markdown, or JSON if FILE ends in .json", word_save},
    {"/help", NULL, "show this help", word_help},
    {"/exit", NULL, "end the conversation; also /quit, /bye and Ctrl-D", word_exit},
};

static void print_words(void) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char usage[32];
        (void)snprintf(usage, sizeof usage, "%s %s", words[i].name, words[i].argument ? words[i].argument : "");
        fprintf(stderr, "  %-22s %s\n", usage, words[i].help);
    }
}

static int word_help(struct chat *chat, const char *argument) {
    (void)chat, (void)argument;
    print_words();
    fputs("@FILE in a message attaches an image, a PDF or audio. A line that ends with \\ continues on the next line;\n"
          "a paste of several lines is one message. Ctrl-C cancels an answer.\n",
          stderr);
    return COMMAND_OK;
}

static const struct chat_word *find_word(const char *line, size_t length) {
    static const char *const exits[] = {"/quit", "/bye"};
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++)
        if (strlen(exits[i]) == length && memcmp(exits[i], line, length) == 0) return find_word("/exit", 5);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].name) == length && memcmp(words[i].name, line, length) == 0) return &words[i];
    return NULL;
}

bool chat_words_run(struct chat *chat, const char *line, int *code, bool *exits) {
    size_t length = strcspn(line, " \t\n");
    if (!chat->terminal || line[0] != '/') return false;
    const struct chat_word *word = find_word(line, length);
    char *argument = mem_text(line + length + strspn(line + length, " \t\n"));
    size_t end = strlen(argument);
    while (end && strchr(" \t\n", argument[end - 1])) argument[--end] = '\0';
    *code = COMMAND_OK;
    *exits = word && word->run == word_exit;
    if (word && (word->argument || !*argument)) {
        *code = word->run(chat, argument);
    } else if (word) {
        command_printf(stderr, "%s takes no argument\n", word->name);
    } else {
        command_printf(stderr, "unknown command %.*s; the commands are:\n", (int)length, line);
        (void)word_help(chat, "");
    }
    mem_free(argument);
    return true;
}
