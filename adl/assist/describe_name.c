/*
 * describe_name.c - what a document declares: channels with their writers and readers, nodes, roles, anchors.
 *
 * The writers and readers of a channel come from the configs of all nodes. A config in which the name does not occur
 * is skipped before its schema is looked at, and only the first ones are looked at, so that a document of 10,000 nodes
 * costs milliseconds.
 */
#include "adl/assist/describe.h"
#include "adl/assist/known.h"
#include "adl/expr/expr.h"
#include "adl/schema/schema.h"
#include "adl/source/source.h"
#include "adl/tree/tree.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <string.h>

#define OCCURS_DEPTH_MAX 32u
#define USERS_LOOKED_MAX 500u /* configs with the name that are looked at; the users of further ones are left out */

/* ---- The users of a channel ---- */

struct channel_users {
    const char *name;
    size_t length;
    bool reads, writes; /* of the node that is looked at */
};

static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* True if the text contains the name as a word. */
static bool has_word(tn_value value, const struct channel_users *users) {
    size_t length;
    const char *text = value_chars(value, &length);
    for (size_t i = 0; i + users->length <= length; i++) {
        if (memcmp(text + i, users->name, users->length) != 0) continue;
        bool start = i == 0 || !is_name_char(text[i - 1]);
        if (start && (i + users->length == length || !is_name_char(text[i + users->length]))) return true;
    }
    return false;
}

static bool occurs_in(tn_value value, const struct channel_users *users, uint32_t depth) {
    if (depth > OCCURS_DEPTH_MAX) return true;
    if (value_is(value, TN_STRING)) return has_word(value, users);
    for (size_t i = 0; value_is(value, TN_ARRAY) && i < value_count(value); i++)
        if (occurs_in(value_at(value, i), users, depth + 1)) return true;
    for (size_t i = 0; value_is(value, TN_OBJECT) && i < value_count(value); i++)
        if (has_word(value_key_at(value, i), users) || occurs_in(value_value_at(value, i), users, depth + 1))
            return true;
    return false;
}

static void see_annotation(void *user, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct channel_users *users = user;
    (void)pointer, (void)on_key;
    if (!value_is(where, TN_STRING) || !value_is(annotation, TN_STRING)) return;
    size_t length;
    const char *text = value_chars(where, &length), *kind = value_chars(annotation, NULL);
    bool same = length == users->length && memcmp(text, users->name, length) == 0;
    if (strcmp(kind, "channel-write") == 0) users->writes |= same;
    if (strcmp(kind, "channel-read") == 0) users->reads |= same;
    if (strcmp(kind, "expression") == 0 || strcmp(kind, "template") == 0) users->reads |= has_word(where, users);
}

struct name_list {
    struct buffer text;
    uint32_t count;
};

static void list_add(struct name_list *list, const char *name) {
    if (list->count++ < DESCRIBE_NAMES_MAX) buffer_format(&list->text, "%s`%s`", list->count > 1 ? ", " : "", name);
}

static void list_write(struct name_list *list, const char *title, struct buffer *out) {
    if (list->count > 0) buffer_format(out, "\n\n%s: %s", title, buffer_cstr(&list->text));
    if (list->count > DESCRIBE_NAMES_MAX) buffer_format(out, ", …");
    buffer_finish(&list->text);
}

static void write_users(const struct document *document, struct channel_users *users, struct buffer *out) {
    struct name_list writers = {.count = 0}, readers = {.count = 0};
    buffer_init(&writers.text, SIZE_MAX);
    buffer_init(&readers.text, SIZE_MAX);
    for (uint32_t i = 0, looked = 0; i < document->node_count && looked < USERS_LOOKED_MAX; i++) {
        const struct document_node *node = &document->nodes[i];
        if (!node->component || !node->id || !node->config || !occurs_in(node->config, users, 0)) continue;
        looked++;
        users->reads = users->writes = false;
        schema_each_annotation(node->component->config, node->config, "x-tenon", see_annotation, users);
        if (users->writes) list_add(&writers, value_chars(node->id, NULL));
        if (users->reads) list_add(&readers, value_chars(node->id, NULL));
    }
    list_write(&writers, "Written by", out);
    list_write(&readers, "Read by", out);
}

static bool uses_field(const struct expr *expr, int32_t field) {
    for (size_t i = 0; expr && i < expr_use_count(expr); i++) {
        const struct expr_use *use = expr_use_at(expr, i);
        if (use->variable == DOCUMENT_VARIABLE_STATE && use->field == (uint32_t)field) return true;
    }
    return false;
}

static void write_edges(const struct document *document, const struct channel_users *users, struct buffer *out) {
    int32_t field = document_find_channel(document, users->name, users->length);
    struct name_list from = {.count = 0};
    buffer_init(&from.text, SIZE_MAX);
    for (uint32_t i = 0; field >= 0 && i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        bool used = uses_field(edge->over, field);
        for (uint32_t j = 0; j < edge->condition_count && !used; j++)
            used = uses_field(edge->conditions[j].expression, field);
        int32_t node = edge->from_count > 0 ? edge->from[0] : DOCUMENT_NOWHERE;
        if (used && node >= 0 && document->nodes[node].id) list_add(&from, value_chars(document->nodes[node].id, NULL));
        if (used && node == DOCUMENT_START) list_add(&from, "START");
    }
    list_write(&from, "Read by the edges from", out);
}

/* ---- Channels ---- */

static void write_schema(const char *title, tn_value value, struct buffer *out) {
    char *text = json_text(value, JSON_COMPACT);
    if (strlen(text) <= DESCRIBE_SCHEMA_MAX) buffer_format(out, "\n\n%s: `%s`", title, text);
    mem_free(text);
}

/* What the document says of the channel itself. */
static void write_channel(const struct document_channel *channel, struct buffer *out) {
    static const char *const types[] = {[CHANNEL_LAST_VALUE] = "`last_value`: the newest write",
                                        [CHANNEL_APPEND] = "`append`: a list",
                                        [CHANNEL_REDUCE] = "`reduce`",
                                        [CHANNEL_EPHEMERAL] = "`ephemeral`: gone after the next step"};
    static const char *const reducers[] = {
        [REDUCER_NONE] = "",       [REDUCER_SUM] = "sum",     [REDUCER_MAX] = "max",          [REDUCER_MIN] = "min",
        [REDUCER_MERGE] = "merge", [REDUCER_UNION] = "union", [REDUCER_MESSAGES] = "messages"};
    if (!channel->type_unread) buffer_format(out, ", %s", types[channel->type]);
    if (channel->reducer != REDUCER_NONE && channel->reducer != REDUCER_COMPONENT)
        buffer_format(out, " by `%s`", reducers[channel->reducer]);
    if (channel->reducer_component) buffer_format(out, " by `%s`", channel->reducer_component->id);
    if (channel->schema_value) write_schema("Schema", channel->schema_value, out);
    if (channel->has_initial) write_schema("Default", channel->initial, out);
}

bool describe_channel(const struct assist *assist, const char *name, size_t length, struct buffer *out) {
    const struct document_channel *channel = known_channel(assist, name, length);
    if (!channel) return false;
    if (channel->implicit) {
        buffer_format(out, "**%.*s**: the failures of the last step, for nodes that `on_error` names.", (int)length,
                      name);
        return true;
    }
    buffer_format(out, "**%.*s**: channel", (int)length, name);
    write_channel(channel, out);
    const struct document *document = assist_names_from(assist)->document;
    struct channel_users users = {name, length, false, false};
    write_users(document, &users, out);
    write_edges(document, &users, out);
    return true;
}

bool describe_inner_channel(const struct document *inner, const char *name, size_t length, struct buffer *out) {
    int32_t index = document_find_channel(inner, name, length);
    if (index < 0) return false;
    buffer_format(out, "**%.*s**: channel of `%s`", (int)length, name, source_name(inner->source));
    write_channel(&inner->channels[index], out);
    return true;
}

/* ---- Nodes ---- */

static const char *end_name(const struct document *document, int32_t end) {
    if (end == DOCUMENT_START) return "START";
    if (end == DOCUMENT_END) return "END";
    return end >= 0 && document->nodes[end].id ? value_chars(document->nodes[end].id, NULL) : NULL;
}

/* Adds the ends on the other side of an edge, if `node` is on one side. */
static void add_neighbours(const struct document *document, const struct document_edge *edge, int32_t node,
                           struct name_list *before, struct name_list *behind) {
    bool from = false, to = edge->kind == EDGE_MAP && edge->empty == node;
    for (uint32_t i = 0; i < edge->from_count; i++) from |= edge->from[i] == node;
    for (uint32_t i = 0; i < edge->to_count; i++) to |= edge->to[i] == node;
    for (uint32_t i = 0; i < edge->condition_count; i++) to |= edge->conditions[i].to == node;
    for (uint32_t i = 0; to && i < edge->from_count; i++)
        if (end_name(document, edge->from[i])) list_add(before, end_name(document, edge->from[i]));
    for (uint32_t i = 0; from && i < edge->to_count; i++)
        if (end_name(document, edge->to[i])) list_add(behind, end_name(document, edge->to[i]));
    for (uint32_t i = 0; from && i < edge->condition_count; i++)
        if (end_name(document, edge->conditions[i].to)) list_add(behind, end_name(document, edge->conditions[i].to));
}

bool describe_node(const struct assist *assist, const char *id, size_t length, struct buffer *out) {
    bool start = length == 5 && memcmp(id, "START", 5) == 0, end = length == 3 && memcmp(id, "END", 3) == 0;
    if (start || end) {
        buffer_format(out, start ? "**START**: where a run starts." : "**END**: where a run ends.");
        return true;
    }
    const struct document_node *node = known_node(assist, id, length);
    if (!node) return false;
    buffer_format(out, "**%.*s**: node", (int)length, id);
    if (node->type) buffer_format(out, " of type `%s`", value_chars(node->type, NULL));
    if (node->component && node->component->title) buffer_format(out, ". %s", node->component->title);
    const struct document *document = assist_names_from(assist)->document;
    int32_t index = document_find_node(document, id, length);
    struct name_list before = {.count = 0}, behind = {.count = 0};
    buffer_init(&before.text, SIZE_MAX);
    buffer_init(&behind.text, SIZE_MAX);
    for (uint32_t i = 0; index >= 0 && i < document->edge_count; i++)
        add_neighbours(document, &document->edges[i], index, &before, &behind);
    list_write(&before, "After", out);
    list_write(&behind, "Before", out);
    return true;
}

/* ---- Anchors ---- */

/* The aliases of the anchor at `index`: those with its name before the next anchor with this name. */
static void write_aliases(const struct assist *assist, const struct tree_anchor *anchors, size_t count, size_t index,
                          struct buffer *out) {
    const char *text = source_text(assist->source);
    const struct span name = anchors[index].span;
    uint32_t length = name.end - name.start - 1, found = 0;
    for (size_t i = index + 1; i < count; i++) {
        const struct span span = anchors[i].span;
        bool same =
            span.end - span.start - 1 == length && memcmp(text + span.start + 1, text + name.start + 1, length) == 0;
        if (same && !anchors[i].alias) break;
        if (!same || found++ >= DESCRIBE_NAMES_MAX) continue;
        buffer_format(out, "%s%u", found == 1 ? "\n\nAliases in the lines " : ", ",
                      source_line_at(assist->source, span.start) + 1);
    }
    buffer_text(out, found == 0 ? "\n\nNo alias names it." : found > DESCRIBE_NAMES_MAX ? ", …" : "");
}

static void write_alias_value(const struct assist *assist, const struct tree_node *value, struct buffer *out) {
    size_t length = value->span.end - value->span.start;
    const char *text = source_text(assist->source) + value->span.start;
    bool cut = length > DESCRIBE_SCHEMA_MAX;
    if (cut)
        for (length = DESCRIBE_SCHEMA_MAX; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;) length--;
    while (length > 0 && strchr(" \r\n", text[length - 1])) length--;
    buffer_format(out, ": the value in line %u\n\n```yaml\n%*s%.*s%s\n```",
                  source_line_at(assist->source, value->span.start) + 1,
                  value->style == TREE_BLOCK && value->kind >= TN_ARRAY
                      ? (int)(value->span.start -
                              source_line_span(assist->source, source_line_at(assist->source, value->span.start)).start)
                      : 0,
                  "", (int)length, text, cut ? "…" : "");
}

bool describe_anchor(const struct assist *assist, uint32_t offset, struct span *span, struct buffer *out) {
    size_t count, i = 0;
    const struct tree_anchor *anchors = tree_anchors(assist->tree, &count);
    while (i < count && anchors[i].span.end < offset) i++;
    if (i == count || offset < anchors[i].span.start) return false;
    *span = anchors[i].span;
    const char *name = source_text(assist->source) + span->start;
    buffer_format(out, "`%.*s`", (int)(span->end - span->start), name);
    if (anchors[i].alias && anchors[i].node)
        write_alias_value(assist, anchors[i].node, out);
    else if (anchors[i].alias)
        buffer_text(out, ": no anchor with this name is before it");
    else
        write_aliases(assist, anchors, count, i, out);
    return true;
}

/* ---- Roles ---- */

bool describe_role(const struct assist *assist, const char *name, size_t length, struct buffer *out) {
    struct known_role role;
    if (!known_role(assist, name, length, &role)) return false;
    buffer_format(out, "**%.*s**: role", (int)length, name);
    bool chosen = role.model && *role.model;
    if (chosen) buffer_format(out, "\n\nThe configuration binds it to `%s`.", role.model);
    if (!role.bound) return true;
    if (value_is(role.bound->binding, TN_STRING))
        buffer_format(out, "\n\nThis document binds it to `%s`%s", value_chars(role.bound->binding, NULL),
                      chosen ? ", which the configuration overrides." : ".");
    else
        write_schema("This document binds it to", role.bound->binding, out);
    return true;
}
