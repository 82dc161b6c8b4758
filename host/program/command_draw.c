/*
 * command_draw.c - `tenon graph`: draws a document as Mermaid, Graphviz dot, JSON, or text for a terminal.
 *
 * The text form lists the nodes by their depth from START, each with its successors. It needs no layout engine and
 * works with a screen reader. Node types are looked up, because a config can name successors (`router`). If the
 * document has mistakes with them, it is read without them, so a graph can be drawn if its plugins are missing. With
 * `--inside` the graph is built, and the graphs inside its nodes are drawn: subgraphs, and documents that node types
 * create.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/engine/graph/graph.h"
#include "host/program/command.h"
#include "host/program/command_run.h"
#include <stdio.h>
#include <string.h>

static const char *draw_end_name(const struct document *document, int32_t end) {
    if (end == DOCUMENT_START) return "START";
    if (end == DOCUMENT_END) return "END";
    return end >= 0 ? value_chars(document->nodes[end].id, NULL) : "?";
}

/* One arrow of the drawing; `label` is borrowed. */
struct arrow {
    int32_t from, to;
    const char *label; /* "" if it has no label */
    bool dashed;       /* conditional, map, on_error */
    const char *says;  /* the label as words: "when %s", "for each of %s" */
};

typedef void arrow_fn(void *user, const struct document *document, const struct arrow *arrow);

static void each_arrow(const struct document *document, arrow_fn *visit, void *user) {
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        for (uint32_t f = 0; f < edge->from_count; f++) {
            int32_t from = edge->from[f];
            for (uint32_t t = 0; t < edge->to_count; t++) {
                const char *label = edge->kind == EDGE_MAP ? value_chars(edge->over_text, NULL)
                                    : edge->from_count > 1 ? "join"
                                                           : "";
                visit(user, document,
                      &(struct arrow){from, edge->to[t], label, edge->kind == EDGE_MAP,
                                      edge->kind == EDGE_MAP ? "for each of %s" : "(%s)"});
            }
            for (uint32_t c = 0; c < edge->condition_count; c++)
                visit(user, document,
                      &(struct arrow){from, edge->conditions[c].to, value_chars(edge->conditions[c].text, NULL), true,
                                      value_text_is(edge->conditions[c].text, "default") ? "otherwise" : "when %s"});
            if (edge->kind == EDGE_MAP && edge->empty != DOCUMENT_NOWHERE)
                visit(user, document, &(struct arrow){from, edge->empty, "empty", true, "if the list is %s"});
        }
    }
    for (uint32_t i = 0; i < document->node_count; i++)
        if (document->nodes[i].on_error != DOCUMENT_NOWHERE)
            visit(user, document, &(struct arrow){(int32_t)i, document->nodes[i].on_error, "on error", true, "%s"});
    for (uint32_t i = 0; i < document->link_count; i++)
        if (document->links[i].to != DOCUMENT_NOWHERE)
            visit(user, document,
                  &(struct arrow){(int32_t)document->links[i].from, document->links[i].to, "chosen", true,
                                  "%s by the node"});
}

/* A label as one line; an expression can have several. */
static char *one_line(const char *label) {
    struct buffer line;
    buffer_init(&line, SIZE_MAX);
    for (const char *at = label; *at;) {
        size_t space = strspn(at, " \t\r\n"), words = strcspn(at + space, "\r\n");
        while (words && strchr(" \t", at[space + words - 1])) words--;
        if (words && line.length) buffer_char(&line, ' ');
        buffer_append(&line, at + space, words);
        at += space + words;
    }
    return buffer_detach(&line, NULL);
}

/* Prints a label and replaces the characters that would end it. */
static void put_escaped(const char *text, const char *unsafe, const char *const *safe) {
    struct buffer label;
    buffer_init(&label, SIZE_MAX);
    for (; *text; text++) {
        const char *at = strchr(unsafe, *text);
        if (at)
            buffer_text(&label, safe[at - unsafe]);
        else
            buffer_char(&label, *text);
    }
    command_put(stdout, buffer_cstr(&label), label.length);
    buffer_finish(&label);
}

/* ---- Mermaid ---- */

static void mermaid_end(const char *prefix, const struct document *document, int32_t end) {
    static const char *const safe[] = {"#quot;", "#lt;", "#gt;"};
    if (end == DOCUMENT_START) {
        printf("%sSTART([START])", prefix);
    } else if (end == DOCUMENT_END) {
        printf("%sEND_([END])", prefix);
    } else {
        printf("%sn%d[\"", prefix, end);
        put_escaped(draw_end_name(document, end), "\"<>", safe);
        fputs("\"]", stdout);
    }
}

static void mermaid_arrow(void *user, const struct document *document, const struct arrow *arrow) {
    static const char *const safe[] = {"#quot;", "#124;", "#lt;", "#gt;"};
    fputs("    ", stdout);
    mermaid_end(user, document, arrow->from);
    fputs(arrow->dashed ? " -.->" : " -->", stdout);
    if (*arrow->label) {
        char *label = one_line(arrow->label);
        fputs("|\"", stdout);
        put_escaped(label, "\"|<>", safe);
        fputs("\"|", stdout);
        mem_free(label);
    }
    putchar(' ');
    mermaid_end(user, document, arrow->to);
    putchar('\n');
}

/* `prefix` makes the node names of nested graphs unique. `graph` is NULL if only the document was read. */
static void draw_mermaid(const struct document *document, const struct graph *graph, const char *prefix) {
    static const char *const safe[] = {"#quot;", "#lt;", "#gt;"};
    struct graph *inside;
    each_arrow(document, mermaid_arrow, (void *)(uintptr_t)prefix);
    for (uint32_t i = 0; graph && i < document->node_count; i++) {
        for (uint32_t k = 0; (inside = graph_inside(graph, i, k)) != NULL; k++) {
            tn_value inner = value_format("%sn%u_%u_", prefix, (unsigned)i, (unsigned)k);
            printf("    subgraph %s[\"", value_chars(inner, NULL));
            put_escaped(draw_end_name(document, (int32_t)i), "\"<>", safe);
            puts("\"]");
            draw_mermaid(inside->document, inside, value_chars(inner, NULL));
            puts("    end");
            value_unref(inner);
        }
    }
}

/* ---- dot ---- */

static void dot_text(const char *text) {
    static const char *const safe[] = {"\\\"", "\\\\", "\\n"};
    putchar('"');
    put_escaped(text, "\"\\\n", safe);
    putchar('"');
}

/* Prints the end of an edge as a node name of dot, with the path to its graph as a prefix. */
static void dot_end(const char *path, const char *name) {
    tn_value whole = value_format("%s%s", path, name);
    dot_text(value_chars(whole, NULL));
    value_unref(whole);
}

static void dot_arrow(void *user, const struct document *document, const struct arrow *arrow) {
    fputs("    ", stdout);
    dot_end(user, draw_end_name(document, arrow->from));
    fputs(" -> ", stdout);
    dot_end(user, draw_end_name(document, arrow->to));
    if (*arrow->label || arrow->dashed) {
        fputs(" [", stdout);
        if (*arrow->label) {
            fputs("label=", stdout);
            char *label = one_line(arrow->label);
            dot_text(label);
            mem_free(label);
        }
        if (arrow->dashed) fputs(*arrow->label ? ", style=dashed" : "style=dashed", stdout);
        putchar(']');
    }
    fputs(";\n", stdout);
}

static void draw_dot(const struct document *document, const struct graph *graph, const char *path) {
    struct graph *inside;
    fputs("    ", stdout);
    dot_end(path, "START");
    fputs(" [shape=circle];\n    ", stdout);
    dot_end(path, "END");
    puts(" [shape=doublecircle];");
    each_arrow(document, dot_arrow, (void *)(uintptr_t)path);
    for (uint32_t i = 0; graph && i < document->node_count; i++) {
        for (uint32_t k = 0; (inside = graph_inside(graph, i, k)) != NULL; k++) {
            tn_value inner = value_format("%s%s/", path, draw_end_name(document, (int32_t)i));
            fputs("    subgraph ", stdout);
            dot_end("cluster ", value_chars(inner, NULL));
            fputs(" {\n    label=", stdout);
            dot_text(value_chars(inner, NULL));
            puts(";");
            draw_dot(inside->document, inside, value_chars(inner, NULL));
            puts("    }");
            value_unref(inner);
        }
    }
}

/* ---- JSON ---- */

static void json_arrow(void *user, const struct document *document, const struct arrow *arrow) {
    tn_value *edges = user;
    tn_value edge = value_set_take(value_object_reserve(4), "from", value_text(draw_end_name(document, arrow->from)));
    edge = value_set_take(edge, "to", value_text(draw_end_name(document, arrow->to)));
    if (*arrow->label) edge = value_set_take(edge, "label", value_text(arrow->label));
    if (arrow->dashed) edge = value_set_take(edge, "dashed", value_bool(true));
    *edges = value_push_take(*edges, edge);
}

static tn_value json_of(const struct document *document, const struct graph *graph) {
    tn_value nodes = value_array(), edges = value_array();
    for (uint32_t i = 0; i < document->node_count; i++) {
        tn_value node = value_set_take(value_object_reserve(3), "id", value_ref(document->nodes[i].id));
        node = value_set_take(node, "type", value_ref(document->nodes[i].type));
        struct graph *inside;
        tn_value graphs = value_array();
        for (uint32_t k = 0; graph && (inside = graph_inside(graph, i, k)) != NULL; k++)
            graphs = value_push_take(graphs, json_of(inside->document, inside));
        if (value_count(graphs))
            node = value_set_take(node, "graphs", graphs);
        else
            value_unref(graphs);
        nodes = value_push_take(nodes, node);
    }
    each_arrow(document, json_arrow, &edges);
    tn_value drawn = value_set_take(value_object_reserve(3), "name", value_ref(document->name));
    drawn = value_set_take(drawn, "nodes", nodes);
    return value_set_take(drawn, "edges", edges);
}

static void draw_json(const struct document *document, const struct graph *graph) {
    tn_value drawn = json_of(document, graph);
    command_print(drawn);
    value_unref(drawn);
}

/* ---- Text ---- */

struct reach {
    int32_t *depth; /* [node + 1]; START is 0; -1 if not reachable */
    int32_t level;
    bool grew;
};

static void spread(void *user, const struct document *document, const struct arrow *arrow) {
    (void)document;
    struct reach *reach = user;
    if (arrow->from < DOCUMENT_START || arrow->to < 0 || reach->depth[arrow->from + 1] != reach->level) return;
    if (reach->depth[arrow->to + 1] >= 0) return;
    reach->depth[arrow->to + 1] = reach->level + 1;
    reach->grew = true;
}

struct leads {
    int32_t from;
    uint32_t count;
};

static void list_arrow(void *user, const struct document *document, const struct arrow *arrow) {
    struct leads *leads = user;
    if (arrow->from != leads->from) return;
    char *label = one_line(arrow->label);
    const char *hole = strstr(arrow->says, "%s");
    command_printf(stdout, "    %s %s", arrow->dashed ? "┄┄▶" : "──▶", draw_end_name(document, arrow->to));
    if (*label && hole)
        command_printf(stdout, "  %.*s%s%s", (int)(hole - arrow->says), arrow->says, label, hole + 2);
    else if (*label)
        command_printf(stdout, "  %s", arrow->says);
    putchar('\n');
    mem_free(label);
    leads->count++;
}

static void draw_source(const struct document *document, int32_t from) {
    struct leads leads = {from, 0};
    if (from == DOCUMENT_START)
        puts("○ START");
    else
        command_printf(stdout, "● %s  (%s)%s\n", draw_end_name(document, from),
                       value_chars(document->nodes[from].type, NULL), document->nodes[from].defer ? "  deferred" : "");
    each_arrow(document, list_arrow, &leads);
}

static void draw_nodes(const struct document *document) {
    struct reach reach = {mem_array(NULL, document->node_count + 1u, sizeof(int32_t)), 0, true};
    for (uint32_t i = 0; i <= document->node_count; i++) reach.depth[i] = -1;
    reach.depth[0] = 0;
    for (; reach.grew; reach.level++) {
        reach.grew = false;
        each_arrow(document, spread, &reach);
    }
    for (int32_t level = 0; level <= reach.level; level++)
        for (int32_t i = -1; i < (int32_t)document->node_count; i++)
            if (reach.depth[i + 1] == level) draw_source(document, i);
    for (int32_t i = 0; i < (int32_t)document->node_count; i++)
        if (reach.depth[i + 1] < 0) draw_source(document, i);
    mem_free(reach.depth);
}

/* `path` is that of the node that runs the graph; "" for the document itself. */
static void draw_text(const struct document *document, const struct graph *graph, const char *path) {
    struct graph *inside;
    if (*path) command_printf(stdout, "\n◎ inside %s\n", path);
    draw_nodes(document);
    for (uint32_t i = 0; graph && i < document->node_count; i++) {
        for (uint32_t k = 0; (inside = graph_inside(graph, i, k)) != NULL; k++) {
            tn_value inner = value_format("%s%s%s", path, *path ? "/" : "", draw_end_name(document, (int32_t)i));
            draw_text(inside->document, inside, value_chars(inner, NULL));
            value_unref(inner);
        }
    }
}

/* ---- The command ---- */

static void draw(const struct document *document, const struct graph *graph, const char *format) {
    if (strcmp(format, "mermaid") == 0) {
        puts("graph TD");
        draw_mermaid(document, graph, "");
    } else if (strcmp(format, "dot") == 0) {
        fputs("digraph ", stdout);
        dot_text(value_chars(document->name, NULL));
        puts(" {\n    node [shape=box, style=rounded];");
        draw_dot(document, graph, "");
        puts("}");
    } else if (strcmp(format, "json") == 0) {
        draw_json(document, graph);
    } else {
        draw_text(document, graph, "");
    }
}

static int draw_inside(const struct arguments *arguments, const char *format) {
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    int code = COMMAND_OK;
    struct graph *graph = command_open_graph(arguments, host, &code);
    if (graph) draw(graph->document, graph, format);
    graph_unref(graph);
    host_free(host);
    return code;
}

/* Draws the document as `catalog` (may be NULL) reads it. Returns false if it has mistakes; they are then in `found`.
 */
static bool draw_checked(struct source *source, const struct catalog *catalog, struct diagnostics *found,
                         const char *format) {
    struct document *document = document_read(source, catalog, found);
    bool good = diagnostics_errors(found) == 0;
    if (good) draw(document, NULL, format);
    document_unref(document);
    return good;
}

static int draw_outside(const struct arguments *arguments, struct source *source, const char *format) {
    struct error error = ERROR_INIT;
    struct host *host = command_open(arguments, &error);
    struct diagnostics *found = diagnostics_new(), *without_plugins = diagnostics_new();
    int code = COMMAND_OK;
    if ((!host || !draw_checked(source, host_catalog(host), found, format)) &&
        !draw_checked(source, NULL, without_plugins, format)) {
        command_print_diagnostics(arguments, without_plugins, false);
        code = COMMAND_INVALID;
    }
    diagnostics_free(found);
    diagnostics_free(without_plugins);
    host_free(host);
    error_finish(&error);
    return code;
}

int command_graph(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    const char *given = argument_text(arguments, "format"), *format = given ? given : "text";
    if (argument_given(arguments, "inside")) return draw_inside(arguments, format);
    struct source *source = command_document(arguments, NULL, operand_at(arguments, 0), &error);
    int code = source ? draw_outside(arguments, source, format) : command_report_error(COMMAND_USAGE, &error);
    source_unref(source);
    error_finish(&error);
    return code;
}
