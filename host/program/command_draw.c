/*
 * command_draw.c - `tenon graph`: draws a document as a picture (SVG, HTML), Mermaid, Graphviz dot, JSON, or text for a
 * terminal (adl/draw).
 *
 * Node types are looked up, because a config can name successors (`router`). If the document has mistakes with them, it
 * is read without them, so a graph can be drawn if its plugins are missing. With `--inside` the graph is built, and the
 * graphs inside its nodes are drawn: subgraphs, and documents that node types create. With `--connect` the running host
 * draws the text.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/draw/draw.h"
#include "adl/source/source.h"
#include "adl/value/terminal.h"
#include "host/assembly/host.h"
#include "host/engine/graph/graph.h"
#include "host/program/command.h"
#include "host/program/command_run.h"
#include "host/program/method_caller.h"
#include "host/program/sent_document.h"
#include <stdio.h>

#define DRAWING_MAX ((size_t)1 << 30) /* bytes */

/* Text is for people, so it is safe for a terminal wherever it is printed. The other forms are data. */
static void draw_print(const char *drawing, size_t length, enum draw_format format) {
    if (format != DRAW_TEXT) {
        command_put(stdout, drawing, length);
        return;
    }
    struct buffer safe;
    buffer_init(&safe, SIZE_MAX);
    terminal_text(&safe, drawing, length, TERMINAL_LINES);
    fwrite(buffer_cstr(&safe), 1, safe.length, stdout);
    buffer_finish(&safe);
}

/* `graph` is NULL if only the document was read. Returns the exit code. */
static int draw(const struct document *document, const struct graph *graph, enum draw_format format) {
    struct error error = ERROR_INIT;
    struct draw_inside inside;
    struct buffer drawing;
    buffer_init(&drawing, DRAWING_MAX);
    if (graph) graph_draw_inside(graph, &inside);
    if (format == DRAW_JSON) {
        tn_value drawn = draw_json(document, graph ? &inside : NULL, &error);
        if (drawn) command_print(drawn);
        value_unref(drawn);
    } else if (draw_document(&drawing, document, graph ? &inside : NULL, format, &error) == TN_OK) {
        draw_print(buffer_cstr(&drawing), drawing.length, format);
    }
    int code = error.code ? command_report_error(COMMAND_RUN_FAILED, &error) : COMMAND_OK;
    buffer_finish(&drawing);
    error_finish(&error);
    return code;
}

static int draw_inside(const struct arguments *arguments, enum draw_format format) {
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    int code = COMMAND_OK;
    struct graph *graph = command_open_graph(arguments, host, &code);
    if (graph) code = draw(graph->document, graph, format);
    graph_unref(graph);
    host_free(host);
    return code;
}

/*
 * Draws the document as `catalog` (may be NULL) reads it, and sets `code`. Returns false if it has mistakes; they are
 * then in `found`.
 */
static bool draw_checked(struct source *source, const struct catalog *catalog, struct diagnostics *found,
                         enum draw_format format, int *code) {
    struct document *document = document_read(source, catalog, found);
    bool good = diagnostics_errors(found) == 0;
    if (good) *code = draw(document, NULL, format);
    document_unref(document);
    return good;
}

static int draw_outside(const struct arguments *arguments, struct source *source, enum draw_format format) {
    struct error error = ERROR_INIT;
    struct host *host = command_open(arguments, &error);
    struct diagnostics *found = diagnostics_new(), *without_plugins = diagnostics_new();
    int code = COMMAND_OK;
    if ((!host || !draw_checked(source, host_catalog(host), found, format, &code)) &&
        !draw_checked(source, NULL, without_plugins, format, &code)) {
        command_print_diagnostics(arguments, without_plugins, false);
        code = COMMAND_INVALID;
    }
    diagnostics_free(found);
    diagnostics_free(without_plugins);
    host_free(host);
    error_finish(&error);
    return code;
}

/* ---- In the host that runs ---- */

static tn_value draw_sent_params(const struct arguments *arguments, const struct sent_document *sent) {
    tn_value params = sent_document_params(sent);
    const char *format = argument_text(arguments, "format");
    if (format) params = value_set_take(params, "format", value_text(format));
    return value_set_take(params, "inside", value_bool(argument_given(arguments, "inside")));
}

static void draw_print_sent(tn_value result, enum draw_format format) {
    tn_value drawing = value_get(result, "drawing");
    size_t length;
    if (!drawing || !value_is(drawing, TN_STRING)) {
        command_print(value_get(result, "graph"));
        return;
    }
    const char *text = value_chars(drawing, &length);
    draw_print(text, length, format);
}

static int draw_sent(const struct arguments *arguments, enum draw_format format) {
    struct error error = ERROR_INIT;
    struct method_caller *caller;
    struct sent_document sent = {0};
    tn_value result = NULL;
    int code = method_caller_open(&caller, arguments, NULL, NULL);
    if (!code) {
        bool good = sent_document_open(&sent, operand_at(arguments, 0), &error) &&
                    method_caller_try_take(caller, "document/graph", draw_sent_params(arguments, &sent), &result,
                                           &error) == TN_OK;
        if (good && argument_given(arguments, "inside")) sent_document_print_warnings(arguments, &sent, caller);
        if (good)
            draw_print_sent(result, format);
        else
            code = sent_document_report(arguments, &sent, &error);
    }
    value_unref(result);
    sent_document_finish(&sent);
    error_finish(&error);
    method_caller_free(caller);
    return code;
}

int command_graph(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    enum draw_format format = DRAW_TEXT;
    const char *given = argument_text(arguments, "format");
    if (given) (void)draw_format_find(given, &format); /* one of DRAW_FORMATS */
    if (argument_given(arguments, "connect")) return draw_sent(arguments, format);
    if (argument_given(arguments, "inside")) return draw_inside(arguments, format);
    struct source *source = command_document(arguments, NULL, operand_at(arguments, 0), &error);
    int code = source ? draw_outside(arguments, source, format) : command_report_error(COMMAND_USAGE, &error);
    source_unref(source);
    error_finish(&error);
    return code;
}
