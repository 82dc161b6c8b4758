/*
 * extract_write.c - the new document, and the edits of the old one.
 *
 * Parts of the text move with their comments and their style; only their indentation changes.
 */
#include "adl/assist/extract_internal.h"
#include "adl/assist/walk.h"
#include "adl/tree/tree.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <string.h>

/* ---- Parts of the text ---- */

/* Appends a text whose lines are moved from one column to another. */
static void write_moved(struct buffer *out, const char *text, size_t length, uint32_t from, uint32_t to) {
    for (size_t at = 0; at < length;) {
        size_t end = at, blank = 0;
        while (end < length && text[end] != '\n') end++;
        while (at + blank < end && blank < from && text[at + blank] == ' ') blank++;
        if (at + blank < end && text[at + blank] != '\r') buffer_format(out, "%*s", (int)to, "");
        size_t kept = end > at + blank && text[end - 1] == '\r' ? end - 1 : end;
        buffer_append(out, text + at + blank, kept - at - blank);
        buffer_char(out, '\n');
        at = end + 1;
    }
}

/* The lines of an item of a block list, with the comments in the lines before it. */
static struct span lines_of_item(const struct source *source, const struct tree_node *list, uint32_t index) {
    const struct tree_node *node = list->items[index].node;
    uint32_t column = assist_column(source, list->span.start);
    struct span lines = assist_lines_of(source, node->span);
    uint32_t line = source_line_at(source, lines.start);
    const char *text = source_text(source);
    for (; line > 0; line--) { /* the dash can be in a line before the item */
        struct span here = source_line_span(source, line);
        if (here.start + column < here.end && text[here.start + column] == '-') break;
    }
    uint32_t floor = index ? list->items[index - 1].node->span.end : list->span.start;
    for (; line > 0; line--) {
        struct span before = source_line_span(source, line - 1);
        bool comment = before.start > floor && before.start + column < before.end &&
                       text[before.start + column] == '#' && strspn(text + before.start, " ") == column;
        if (!comment) break;
    }
    lines.start = source_line_span(source, line).start;
    return lines;
}

/* Replacements inside of a part that is copied. */
struct part_copy {
    const struct extraction *extraction;
    const struct document_edge *edge; /* whose target outside becomes END; may be NULL */
};

static void copy_part(struct buffer *out, const struct part_copy *copy, struct span span) {
    const char *text = source_text(copy->extraction->source);
    uint32_t at = span.start;
    for (uint32_t i = 0; copy->edge && i < copy->edge->condition_count; i++) {
        const struct document_condition *condition = &copy->edge->conditions[i];
        bool leaves = condition->to == DOCUMENT_END || (condition->to >= 0 && !copy->extraction->inside[condition->to]);
        if (!leaves) continue;
        buffer_append(out, text + at, condition->to_span.start - at);
        buffer_text(out, "END");
        at = condition->to_span.end;
    }
    buffer_append(out, text + at, span.end - at);
}

/* Writes an item of a list as an item at the column 2. */
static void write_item_of(struct buffer *out, const struct extraction *extraction, const struct tree_node *list,
                          uint32_t index, const struct document_edge *edge) {
    const struct part_copy copy = {extraction, edge};
    struct buffer part;
    buffer_init(&part, SIZE_MAX);
    if (list->style == TREE_FLOW) {
        copy_part(&part, &copy, list->items[index].node->span);
        buffer_format(out, "  - %s\n", buffer_cstr(&part));
    } else {
        copy_part(&part, &copy, lines_of_item(extraction->source, list, index));
        write_moved(out, buffer_cstr(&part), part.length, assist_column(extraction->source, list->span.start), 2);
    }
    buffer_finish(&part);
}

/* ---- The new document ---- */

static void write_copied_sections(struct buffer *out, const struct extraction *extraction) {
    static const char *const sections[] = {"requires", "defaults", "models", "tools"};
    const struct tree_node *root = tree_root(extraction->names->assist->tree);
    const char *text = source_text(extraction->source);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const struct tree_item *item = tree_find(root, sections[i]);
        if (!item) continue;
        struct span span = walk_item_span(root, item);
        buffer_append(out, text + span.start, span.end - span.start);
        while (out->length && (out->data[out->length - 1] == '\n' || out->data[out->length - 1] == ' ')) out->length--;
        buffer_char(out, '\n');
    }
}

static void write_yaml_text(struct buffer *out, const char *text) { assist_scalar(out, text, strlen(text), 0); }

static void write_channel(struct buffer *out, const struct extraction *extraction, uint32_t index,
                          enum extract_port port) {
    static const char *const reducers[] = {
        [REDUCER_SUM] = "sum", [REDUCER_MERGE] = "merge", [REDUCER_UNION] = "union", [REDUCER_MESSAGES] = "messages"};
    const struct document_channel *channel = &extraction->document->channels[index];
    if (port == EXTRACT_PORT_COPY) {
        write_item_of(out, extraction, extraction->channels, index, NULL);
        return;
    }
    buffer_text(out, "  - {name: ");
    write_yaml_text(out, value_chars(channel->name, NULL));
    if (port == EXTRACT_PORT_VALUE)
        buffer_text(out, ", type: last_value");
    else if (channel->type == CHANNEL_APPEND)
        buffer_text(out, ", type: append");
    else
        buffer_format(out, ", type: reduce, reducer: %s", reducers[channel->reducer]);
    if (port == EXTRACT_PORT_EMPTY && channel->schema_value) {
        buffer_text(out, ", schema: ");
        json_write(out, channel->schema_value, JSON_COMPACT);
    }
    buffer_text(out, "}\n");
}

static void write_from(struct buffer *out, const struct extraction *extraction, const struct document_edge *edge) {
    if (edge->from_count > 1) buffer_char(out, '[');
    for (uint32_t i = 0; i < edge->from_count; i++) {
        if (i) buffer_text(out, ", ");
        write_yaml_text(out, value_chars(extraction->document->nodes[edge->from[i]].id, NULL));
    }
    if (edge->from_count > 1) buffer_char(out, ']');
}

static void write_inner_edges(struct buffer *out, const struct extraction *extraction) {
    const struct document *document = extraction->document;
    buffer_text(out, "edges:\n  - {from: START, to: ");
    write_yaml_text(out, value_chars(document->nodes[extraction->entry].id, NULL));
    buffer_text(out, "}\n");
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        bool leaves = extraction->roles[i] == EXTRACT_LEAVES;
        bool conditional = leaves && !extraction->whole_exit && edge->kind == EDGE_CONDITIONAL;
        if (extraction->roles[i] == EXTRACT_INSIDE || conditional) {
            write_item_of(out, extraction, extraction->edges, i, conditional ? edge : NULL);
        } else if (leaves) {
            buffer_text(out, "  - {from: ");
            write_from(out, extraction, edge);
            buffer_text(out, ", to: END}\n");
        }
    }
}

/* Limits that hold for the nodes where they were hold in the new document, too. */
static void write_agent(struct buffer *out, const struct extraction *extraction, const char *id) {
    static const char *const keys[] = {"recursion_limit", "concurrency", "strategy"};
    const struct tree *tree = extraction->names->assist->tree;
    const struct tree_node *agent = tree_get(tree_root(tree), "agent");
    buffer_format(out, "agent: {name: %s", id);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct tree_node *value = tree_get(agent, keys[i]);
        if (!value || value->span.start == value->span.end) continue;
        buffer_format(out, ", %s: ", keys[i]);
        buffer_append(out, source_text(extraction->source) + value->span.start, value->span.end - value->span.start);
    }
    buffer_text(out, "}\n");
}

static void write_document(struct buffer *out, const struct extraction *extraction, const char *id) {
    const struct document *document = extraction->document;
    bool any = false;
    buffer_text(out, "version: \"1.0\"\n");
    write_agent(out, extraction, id);
    write_copied_sections(out, extraction);
    for (uint32_t i = 0; i < document->channel_count; i++) {
        const struct extract_channel channel = extract_channel(extraction, i);
        if (channel.port == EXTRACT_PORT_NONE) continue;
        if (!any) buffer_text(out, "channels:\n");
        any = true;
        write_channel(out, extraction, i, channel.port);
    }
    buffer_text(out, "nodes:\n");
    for (uint32_t i = 0; i < document->node_count; i++)
        if (extraction->inside[i]) write_item_of(out, extraction, extraction->nodes, i, NULL);
    write_inner_edges(out, extraction);
}

/* ---- The old document ---- */

/* Writes `{a: a}` for the channels that are passed in, or out. */
static void write_ports(struct buffer *out, const struct extraction *extraction, bool in) {
    bool any = false;
    buffer_char(out, '{');
    for (uint32_t i = 0; i < extraction->document->channel_count; i++) {
        const struct extract_channel channel = extract_channel(extraction, i);
        if (!(in ? channel.in : channel.out)) continue;
        const char *name = value_chars(extraction->document->channels[i].name, NULL);
        if (any) buffer_text(out, ", ");
        any = true;
        action_scalar(out, extraction->source, name);
        buffer_text(out, ": ");
        action_scalar(out, extraction->source, name);
    }
    buffer_char(out, '}');
}

static void write_subgraph(struct buffer *out, const struct extraction *extraction, const char *id, bool block,
                           uint32_t column) {
    const struct source *source = extraction->source;
    enum { ID, TYPE, DOCUMENT, INPUT, OUTPUT, CONFIG, TEXTS };
    struct buffer texts[TEXTS];
    for (size_t i = 0; i < TEXTS; i++) buffer_init(&texts[i], SIZE_MAX);
    tn_value file = value_format("%s.yaml", id);
    action_scalar(&texts[ID], source, id);
    action_scalar(&texts[TYPE], source, "subgraph");
    action_scalar(&texts[DOCUMENT], source, value_chars(file, NULL));
    write_ports(&texts[INPUT], extraction, true);
    write_ports(&texts[OUTPUT], extraction, false);
    const struct action_field config[] = {{"document", buffer_cstr(&texts[DOCUMENT])},
                                          {"input", buffer_cstr(&texts[INPUT])},
                                          {"output", buffer_cstr(&texts[OUTPUT])}};
    if (block) buffer_format(&texts[CONFIG], "%s%*s", assist_line_end(source), (int)column + 2, "");
    action_write(&texts[CONFIG], source, block, column + 2, config, 3);
    const struct action_field node[] = {
        {"id", buffer_cstr(&texts[ID])}, {"type", buffer_cstr(&texts[TYPE])}, {"config", buffer_cstr(&texts[CONFIG])}};
    action_write(out, source, block, column, node, 3);
    value_unref(file);
    for (size_t i = 0; i < TEXTS; i++) buffer_finish(&texts[i]);
}

/* Removes an item; `kept` says whether an item before it stays. */
static void remove_item_of(struct extraction *extraction, const struct tree_node *list, uint32_t index, bool kept) {
    struct span span = list->items[index].node->span;
    if (list->style != TREE_FLOW)
        span = lines_of_item(extraction->source, list, index);
    else if (kept)
        span.start = list->items[index - 1].node->span.end;
    else if (index + 1 < list->count)
        span.end = list->items[index + 1].node->span.start;
    assist_edit_add(extraction->edits, extraction->source, span, "", 0);
}

static void replace_nodes(struct extraction *extraction, const char *id) {
    const struct tree_node *list = extraction->nodes;
    struct source *source = extraction->source;
    const struct tree_node *first = list->items[extraction->first].node;
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    if (list->style == TREE_FLOW) {
        write_subgraph(&out, extraction, id, false, 0);
        assist_edit_add(extraction->edits, source, first->span, buffer_cstr(&out), out.length);
    } else {
        uint32_t column = assist_column(source, list->span.start);
        bool block = first->style != TREE_FLOW;
        buffer_format(&out, "%*s- ", (int)column, "");
        write_subgraph(&out, extraction, id, block, column + 2);
        buffer_text(&out, assist_line_end(source));
        struct span lines = lines_of_item(source, list, extraction->first);
        assist_edit_add(extraction->edits, source, lines, buffer_cstr(&out), out.length);
    }
    for (uint32_t i = extraction->first + 1; i < extraction->document->node_count; i++)
        if (extraction->inside[i]) remove_item_of(extraction, list, i, true);
    buffer_finish(&out);
}

static void replace_text(struct extraction *extraction, struct span span, const char *text) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    action_scalar(&out, extraction->source, text);
    assist_edit_add(extraction->edits, extraction->source, span, buffer_cstr(&out), out.length);
    buffer_finish(&out);
}

/* The first leaving edge stays, from the new node. */
static void replace_exit(struct extraction *extraction, const char *id) {
    struct source *source = extraction->source;
    const struct tree_node *edge = extraction->edges->items[extraction->first_leaving].node;
    if (extraction->whole_exit) {
        replace_text(extraction, tree_get(edge, "from")->span, id);
        return;
    }
    struct buffer from, to, out;
    const char *target =
        extraction->exit == DOCUMENT_END ? "END" : value_chars(extraction->document->nodes[extraction->exit].id, NULL);
    buffer_init(&from, SIZE_MAX);
    buffer_init(&to, SIZE_MAX);
    buffer_init(&out, SIZE_MAX);
    action_scalar(&from, source, id);
    action_scalar(&to, source, target);
    const struct action_field fields[] = {{"from", buffer_cstr(&from)}, {"to", buffer_cstr(&to)}};
    action_write(&out, source, edge->style != TREE_FLOW, assist_column(source, edge->span.start), fields, 2);
    assist_edit_add(extraction->edits, source, edge->span, buffer_cstr(&out), out.length);
    buffer_finish(&from);
    buffer_finish(&to);
    buffer_finish(&out);
}

static void replace_edges(struct extraction *extraction, const char *id) {
    bool kept = false;
    for (uint32_t i = 0; i < extraction->document->edge_count; i++) {
        enum extract_edge role = extraction->roles[i];
        bool stays = role == EXTRACT_OUTSIDE || role == EXTRACT_ENTERS ||
                     (role == EXTRACT_LEAVES && i == extraction->first_leaving);
        if (!stays) remove_item_of(extraction, extraction->edges, i, kept);
        kept |= stays;
    }
    if (extraction->leaving) replace_exit(extraction, id);
}

/* True if the name is in a part that moves. */
static bool name_moves(const struct extraction *extraction, const struct assist_name *name, uint32_t *node,
                       uint32_t *edge) {
    const struct document *document = extraction->document;
    while (*node < document->node_count && document->nodes[*node].span.end < name->span.end) ++*node;
    while (*edge < document->edge_count && document->edges[*edge].span.end < name->span.end) ++*edge;
    if (*node < document->node_count && document->nodes[*node].span.start <= name->span.start)
        return extraction->inside[*node];
    if (*edge < document->edge_count && document->edges[*edge].span.start <= name->span.start)
        return extraction->roles[*edge] == EXTRACT_INSIDE || extraction->roles[*edge] == EXTRACT_LEAVES;
    return false;
}

static void replace_entries(struct extraction *extraction, const char *id) {
    const struct assist_names *names = extraction->names;
    tn_value entry = extraction->document->nodes[extraction->entry].id;
    uint32_t node = 0, edge = 0;
    for (size_t i = 0; i < names->own_count; i++) {
        const struct assist_name *name = &names->items[i];
        if (name->kind != USE_NODE || !value_text_is(entry, name->text)) continue;
        if (!name_moves(extraction, name, &node, &edge))
            assist_edit_scalar(extraction->edits, extraction->source, name->token, name->span, id, strlen(id));
    }
}

/* ---- The name ---- */

#define EXTRACT_NAMES_MAX 1000u /* names that are tried */

static bool file_exists(const struct extraction *extraction, const char *file) {
    const struct catalog *catalog = extraction->names->assist->world->catalog;
    if (!catalog || !catalog->read) return false;
    struct catalog_file found = {NULL, NULL};
    struct error error = ERROR_INIT;
    tn_value text = catalog->read(catalog->read_self, extraction->source, file, &found, &error);
    catalog_file_finish(&found);
    error_finish(&error);
    value_unref(text);
    return text != NULL;
}

/* Writes an id that is free as a node and as a file. */
static bool choose_name(const struct extraction *extraction, char id[32]) {
    for (uint32_t number = 1; number <= EXTRACT_NAMES_MAX; number++) {
        char file[40];
        snprintf(id, 32, number == 1 ? "part" : "part_%u", number);
        snprintf(file, sizeof file, "%s.yaml", id);
        if (document_find_node(extraction->document, id, strlen(id)) < 0 && !file_exists(extraction, file)) return true;
    }
    return false;
}

void extract_write(struct extraction *extraction) {
    char id[32];
    struct buffer text;
    if (!choose_name(extraction, id)) {
        assist_edits_refuse(extraction->edits, "there is no free name for the new document");
        return;
    }
    buffer_init(&text, SIZE_MAX);
    write_document(&text, extraction, id);
    const char *name = source_name(extraction->source), *slash = strrchr(name, '/');
    tn_value path = value_format("%.*s%s.yaml", slash ? (int)(slash - name + 1) : 0, name, id);
    assist_edit_new_file(extraction->edits, value_chars(path, NULL), buffer_cstr(&text));
    replace_nodes(extraction, id);
    replace_edges(extraction, id);
    replace_entries(extraction, id);
    value_unref(path);
    buffer_finish(&text);
}
