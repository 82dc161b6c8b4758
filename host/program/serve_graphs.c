/*
 * serve_graphs.c - the graphs that `tenon serve` offers: those of tenon.yaml, and those that operands name.
 *
 * The name of an operand's graph is the document's, or that of its file if the document's cannot be used. All documents
 * are built once before anything listens, so that a mistake ends the start and not a client's request.
 */
#include "adl/document/document.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/files.h"
#include "host/engine/graph/graph.h"
#include "host/program/command_run.h"
#include "host/program/serve_web.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* NULL after a message; *code is the exit code. */
static struct graph *build_graph(const struct arguments *arguments, struct host *host, const char *path, int *code) {
    const struct command_graph_options options = {.path = path, .binder = "--model"};
    return command_open_graph_file(arguments, host, &options, code);
}

/* "b/plan.yaml" makes `plan`. A new reference. */
static tn_value file_stem(const char *file) {
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file, *colon = strrchr(name, ':');
    if (colon) name = colon + 1;
    const char *dot = strrchr(name, '.');
    return value_string_lossy(name, dot && dot != name ? (size_t)(dot - name) : strlen(name));
}

/* The name of the graph in this document, a new reference; NULL after a message. */
static tn_value graph_name(const char *file, const struct document *document) {
    size_t length;
    const char *text = value_chars(document->name, &length);
    if (config_is_graph_name(text, length)) return value_ref(document->name);
    tn_value stem = file_stem(file);
    text = value_chars(stem, &length);
    if (config_is_graph_name(text, length)) return stem;
    (void)command_report(
        COMMAND_USAGE,
        "%s: neither `agent.name` nor the name of the file can be the name of a graph, which has 1 to "
        "%u letters, digits, `.`, `_` and `-`; name it in `serve: {graphs: {NAME: FILE}}` of tenon.yaml",
        file, CONFIG_GRAPH_NAME_MAX);
    value_unref(stem);
    return NULL;
}

static int add_graph(struct host *host, const char *file, const struct document *document) {
    char path[PATH_MAX];
    tn_value name = graph_name(file, document);
    if (!name) return COMMAND_USAGE;
    const char *text = value_chars(name, NULL);
    tn_value before = value_get(config_graphs(host_config(host)), text);
    int code = COMMAND_OK;
    if (before)
        code = command_report(COMMAND_USAGE,
                              "%s: the graph `%s` is served already, from %s; change one of the names (`agent.name`, "
                              "or `serve: {graphs: {NAME: FILE}}` in tenon.yaml)",
                              file, text, value_chars(before, NULL));
    else if (value_count(config_graphs(host_config(host))) >= CONFIG_GRAPHS_MAX)
        code = command_report(COMMAND_USAGE, "%s: expected at most %u graphs", file, CONFIG_GRAPHS_MAX);
    else
        config_add_graph(host_config(host), text, !files_is_special_name(file) && realpath(file, path) ? path : file);
    value_unref(name);
    return code;
}

static int add_operand(const struct arguments *arguments, struct host *host, const char *file) {
    int code = COMMAND_OK;
    if (strcmp(file, "-") == 0)
        return command_report(COMMAND_USAGE, "clients run the document again and again; name a file, not `-`");
    if (files_is_graph_name(file))
        return command_report(COMMAND_USAGE, "%s: the graphs of tenon.yaml are served without being named", file);
    struct graph *graph = build_graph(arguments, host, file, &code);
    if (!graph) return code;
    code = add_graph(host, file, graph->document);
    graph_unref(graph);
    return code;
}

/* A graph of tenon.yaml. */
static int check_configured(const struct arguments *arguments, struct host *host, const char *name) {
    int code = COMMAND_OK;
    tn_value path = value_format("graph:%s", name);
    struct graph *graph = build_graph(arguments, host, value_chars(path, NULL), &code);
    if (graph) graph_unref(graph);
    value_unref(path);
    return code;
}

int serve_graphs(const struct arguments *arguments, struct host *host) {
    tn_value configured = config_graphs(host_config(host));
    int code = COMMAND_OK;
    for (size_t i = 0; code == COMMAND_OK && i < value_count(configured); i++)
        code = check_configured(arguments, host, value_chars(value_key_at(configured, i), NULL));
    for (size_t i = 0; code == COMMAND_OK && i < operand_count(arguments); i++)
        code = add_operand(arguments, host, operand_at(arguments, i));
    return code;
}
