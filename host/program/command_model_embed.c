/*
 * command_model_embed.c - `tenon model embed`: prints the vectors of texts.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/engine/model/model_embed.h"
#include "host/program/command.h"
#include "host/program/method_caller.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads the lines of standard input as texts. NULL after an error, which it prints; *code is then the exit code. */
static tn_value read_lines(int *code) {
    tn_value texts = value_array();
    char *line = NULL;
    size_t capacity = 0, bytes = 0;
    ssize_t length;
    while ((length = getline(&line, &capacity, stdin)) >= 0) {
        if (length && line[length - 1] == '\n') length--;
        bytes += (size_t)length;
        if (value_count(texts) == MODEL_EMBED_TEXTS_MAX || bytes > MODEL_EMBED_BYTES_MAX) {
            *code = command_report(COMMAND_USAGE,
                                   "standard input: found more than %d lines or %d bytes; embed fewer "
                                   "texts at once",
                                   MODEL_EMBED_TEXTS_MAX, MODEL_EMBED_BYTES_MAX);
            break;
        }
        texts = value_push_take(texts, value_string_lossy(line, (size_t)length));
    }
    free(line); /* from getline */
    if (!*code && value_count(texts) == 0) *code = command_report(COMMAND_USAGE, "standard input: found no line");
    if (!*code) return texts;
    value_unref(texts);
    return NULL;
}

static tn_value embed_texts(const struct arguments *arguments, int *code) {
    if (operand_count(arguments) < 2) return read_lines(code);
    tn_value texts = value_array_reserve(operand_count(arguments) - 1);
    for (size_t i = 1; i < operand_count(arguments); i++)
        texts = value_push_take(texts, value_string_lossy(operand_at(arguments, i), strlen(operand_at(arguments, i))));
    return texts;
}

/* Reads an option that is a number; the schema of the method checks its range. */
static bool embed_read_number(const struct arguments *arguments, const char *option, tn_value *out) {
    const char *text = argument_text(arguments, option);
    *out = NULL;
    if (!text) return true;
    bool good = json_read(text, strlen(text), NULL, out, NULL) == TN_OK && value_is(*out, TN_INT);
    if (good) return true;
    value_unref(*out);
    *out = NULL;
    command_warn("--%s: found `%s`, expected an integer", option, text);
    return false;
}

static void print_vectors(const struct arguments *arguments, tn_value result) {
    tn_value vectors = value_get(result, "embeddings"), usage = value_get(result, "usage");
    tn_value tokens = value_get(usage, "input_tokens"), cost = value_get(usage, "cost");
    if (argument_given(arguments, "json")) {
        command_print(result);
        return;
    }
    for (size_t i = 0; i < value_count(vectors); i++) command_print(value_at(vectors, i));
    fflush(stdout);
    if (value_is(tokens, TN_INT)) {
        command_printf(stderr, "%lld tokens in", (long long)value_to_int(tokens));
        if (cost && value_is_number(cost)) command_printf(stderr, ", cost %.6g", value_to_double(cost));
        command_printf(stderr, "\n");
    }
}

int command_model_embed(const struct arguments *arguments) {
    struct method_caller *caller = NULL;
    tn_value dimensions = NULL, batch = NULL, result = NULL;
    const char *name = operand_at(arguments, 0);
    int code = embed_read_number(arguments, "dimensions", &dimensions) && embed_read_number(arguments, "batch", &batch)
                   ? COMMAND_OK
                   : COMMAND_USAGE;
    if (!code && (*name == '{' || *name == '['))
        code =
            command_report(COMMAND_USAGE, "the model: found JSON, expected a role or PROVIDER:NAME; bind a role to it: "
                                          "--model 'vectors={…}' vectors");
    tn_value texts = code ? NULL : embed_texts(arguments, &code);
    if (!code) code = method_caller_open(&caller, arguments, NULL, NULL);
    if (!code) {
        tn_value params = value_set_take(value_object_reserve(4), "model", value_string_lossy(name, strlen(name)));
        params = value_set_take(params, "texts", value_ref(texts));
        if (dimensions) params = value_set_take(params, "dimensions", value_ref(dimensions));
        if (batch)
            params =
                value_set_take(params, "batch", value_set_take(value_object_reserve(1), "texts", value_ref(batch)));
        method_caller_watch_signals(caller);
        struct error error = ERROR_INIT;
        if (method_caller_try_take(caller, "model/embed", params, &result, &error) != TN_OK)
            code = method_caller_report(
                command_model_is_closed(&error) ? COMMAND_PLUGIN_PROBLEM : method_caller_exit_code(&error), &error);
        error_finish(&error);
    }
    if (!code) print_vectors(arguments, result);
    value_unref(result);
    value_unref(texts);
    value_unref(dimensions);
    value_unref(batch);
    method_caller_free(caller);
    return command_close(code);
}
