/*
 * read_edge.c - edges: their ends, and the names that map edges give their items.
 *
 * Expressions are compiled later, when all names are known (check_expr.c).
 */
#include "adl/document/reader.h"
#include "adl/value/memory.h"
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    int32_t end;
} sentinels[] = {
    {"START", DOCUMENT_START}, {"__start__", DOCUMENT_START}, {"END", DOCUMENT_END}, {"__end__", DOCUMENT_END}};

/* Words for an end of the graph. */
static bool is_word_for_end(enum end_side side, const char *text, size_t length) {
    static const char *const words[][8] = {[END_FROM] = {"start", "begin", "entry", "_start_", "input"},
                                           [END_TO] = {"end", "finish", "stop", "done", "exit", "_end_", "finished"}};
    for (const char *const *word = words[side]; *word; word++)
        if (strlen(*word) == length && strncasecmp(*word, text, length) == 0) return true;
    return false;
}

static int32_t unknown_node(struct reader *reader, enum end_side side, const struct tree_node *node, const char *text,
                            size_t length) {
    struct nearest nearest;
    nearest_init(&nearest, text, length);
    names_nearest(&reader->whole->nodes, &nearest);
    const char *sentinel = side == END_FROM ? "START" : "END";
    nearest_add_candidate(&nearest, sentinel, strlen(sentinel));
    if (!nearest_result(&nearest) && is_word_for_end(side, text, length))
        nearest = (struct nearest){
            .wanted = text, .wanted_length = length, .best = sentinel, .best_length = strlen(sentinel)};
    bool unread = may_be_unread(reader, reader->nodes_whole, "nodes", &nearest, text, length);
    const char *meant = unread ? NULL : nearest_result(&nearest);
    if (!meant) reader->edge_unknown = true;
    if (!unread) {
        struct diagnostic *it =
            report(reader, ADL_E035, node->span, "there is no node `%.*s`", length > 80 ? 80 : (int)length, text);
        suggest_nearest(reader, it, node->span, &nearest);
        if (!meant && memchr(text, ',', length) && length <= 80)
            diagnostic_suggest(it, "write several nodes as a list: [%.*s]", (int)length, text);
        else if (!meant)
            diagnostic_suggest(it, "nodes are named by their `id`");
    }
    int32_t near = meant ? document_find_node(reader->document, meant, nearest.best_length) : -1;
    if (near >= 0) reader->notes[near].meant = true;
    if (meant == sentinel && side == END_FROM) reader->start_meant = true;
    return DOCUMENT_NOWHERE;
}

int32_t resolve_end(struct reader *reader, enum end_side side, const struct tree_node *node) {
    size_t length;
    const char *text = tree_text(reader->tree, node, &length);
    if (!text) return DOCUMENT_NOWHERE;
    for (size_t i = 0; i < sizeof sentinels / sizeof *sentinels; i++) {
        if (strlen(sentinels[i].name) != length || memcmp(sentinels[i].name, text, length) != 0) continue;
        bool start = sentinels[i].end == DOCUMENT_START;
        if (start == (side == END_FROM)) return sentinels[i].end;
        report(reader, ADL_E036, node->span, "%s",
               start ? "nothing leads to START; expected a node, or END"
                     : "nothing comes after END; expected a node, or START");
        reader->edge_unknown = true;
        return DOCUMENT_NOWHERE;
    }
    use_scalar(reader, USE_NODE, 0, node, UINT32_MAX);
    int32_t found = document_find_node(reader->document, text, length);
    return found >= 0 ? found : unknown_node(reader, side, node, text, length);
}

/* ---- Lists of ends ---- */

#define DOUBLES_SCAN_MAX 16u /* longer lists are checked with a set */

static void report_double(struct reader *reader, const struct tree_node *list, uint32_t first, uint32_t second) {
    const struct tree_node *node = list->items[second].node;
    size_t length;
    const char *text = tree_text(reader->tree, node, &length);
    struct diagnostic *it =
        report(reader, ADL_E067, node->span, "`%.*s` is in the list twice", length > 80 ? 80 : (int)length, text);
    diagnostic_relate(it, reader->source, list->items[first].node->span, "the first one");
}

static void check_doubles(struct reader *reader, const struct tree_node *list, const int32_t *ends, uint32_t count) {
    if (count <= DOUBLES_SCAN_MAX) {
        for (uint32_t i = 1; i < count; i++)
            for (uint32_t j = 0; j < i; j++)
                if (ends[i] == ends[j] && ends[i] != DOCUMENT_NOWHERE) {
                    report_double(reader, list, j, i);
                    break;
                }
        return;
    }
    uint32_t *seen = mem_zalloc((reader->document->node_count + 3u) * sizeof *seen); /* [end + 2]: index + 1 */
    for (uint32_t i = 0; i < count; i++) {
        if (ends[i] == DOCUMENT_NOWHERE) continue;
        uint32_t *slot = &seen[ends[i] + 2];
        if (*slot)
            report_double(reader, list, *slot - 1, i);
        else
            *slot = i + 1;
    }
    mem_free(seen);
}

static int32_t *read_ends(struct reader *reader, enum end_side side, const struct tree_item *item, uint32_t *count) {
    const struct tree_node *node = item->node;
    *count = read_text_count(node);
    int32_t *ends = mem_array(NULL, *count + 1u, sizeof *ends);
    for (uint32_t i = 0; i < *count; i++) ends[i] = resolve_end(reader, side, read_text_at(node, i));
    if (node->kind == TN_ARRAY) check_doubles(reader, node, ends, *count);
    if (*count == 0) {
        report(reader, ADL_E022, node->span, "`%s` is an empty list; expected at least one node",
               value_chars(item->key, NULL));
        reader->edge_unknown = true;
    }
    return ends;
}

/* ---- What belongs to which type of edge ---- */

#define STATIC      (1u << EDGE_STATIC)
#define CONDITIONAL (1u << EDGE_CONDITIONAL)
#define MAP         (1u << EDGE_MAP)

static const struct {
    enum key key;
    uint32_t allowed, required;
} edge_keys[] = {
    {KEY_EDGE_TO, STATIC | MAP, STATIC | MAP},
    {KEY_EDGE_CONDITIONS, CONDITIONAL, CONDITIONAL},
    {KEY_EDGE_OVER, MAP, MAP},
    {KEY_EDGE_AS, MAP, 0},
    {KEY_EDGE_EMPTY, MAP, 0},
};

static const char *const edge_names[] = {"static", "conditional", "map"};

/* Suggests the type for an edge without a type that has a key of another type. */
static void suggest_type(struct reader *reader, struct diagnostic *it, const struct tree_item *item, uint32_t allowed,
                         const struct keys *slots) {
    const char *type = edge_names[allowed & CONDITIONAL ? EDGE_CONDITIONAL : EDGE_MAP];
    if (allowed & STATIC) {
        diagnostic_suggest(it, "each of the `conditions` has its own `to`");
        return;
    }
    diagnostic_suggest(
        it, slots->items[KEY_EDGE_TYPE] ? "write `type: %s`, or remove the key" : "add `type: %s`, or remove the key",
        type);
    if (slots->items[KEY_EDGE_TYPE]) return;
    tn_value text = value_format("type: %s, ", type);
    const struct tree_node *from = slots->items[KEY_EDGE_FROM] ? slots->items[KEY_EDGE_FROM]->node : NULL;
    bool flow = from && source_text(reader->source)[item->key_span.start] != '"' && item->key_span.start > 0;
    if (flow) { /* inside braces on one line; a fix in block style would need the indentation */
        uint32_t start = item->key_span.start;
        const char *bytes = source_text(reader->source);
        while (start > 0 && bytes[start - 1] == ' ') start--;
        flow = start > 0 && (bytes[start - 1] == ',' || bytes[start - 1] == '{');
    }
    if (flow)
        diagnostic_set_fix(it, (struct span){item->key_span.start, item->key_span.start}, value_chars(text, NULL),
                           strlen(value_chars(text, NULL)), "add `type: %s`", type);
    value_unref(text);
}

static bool has_or_means(const struct keys *slots, const struct tree_node *node, enum key key) {
    return slots->items[key] || key_mistyped(document_key(key), node);
}

static void check_edge_keys(struct reader *reader, const struct tree_node *node, const struct keys *slots,
                            enum edge_kind kind) {
    for (size_t i = 0; i < sizeof edge_keys / sizeof *edge_keys; i++) {
        const char *name = document_key(edge_keys[i].key)->name;
        const struct tree_item *item = slots->items[edge_keys[i].key];
        uint32_t bit = 1u << kind;
        if (item && !(edge_keys[i].allowed & bit)) {
            struct diagnostic *it =
                report(reader, ADL_E039, item->key_span, "`%s` does not belong to a %s edge", name, edge_names[kind]);
            suggest_type(reader, it, item, edge_keys[i].allowed, slots);
        }
        if (!item && (edge_keys[i].required & bit) && slots->whole) {
            bool conditions = edge_keys[i].key == KEY_EDGE_CONDITIONS;
            bool other = kind == EDGE_STATIC &&
                         (has_or_means(slots, node, KEY_EDGE_CONDITIONS) || has_or_means(slots, node, KEY_EDGE_OVER));
            if (other || key_mistyped(document_key(edge_keys[i].key), node)) { /* reported */
                reader->edge_unknown = true;
                continue;
            }
            struct diagnostic *it = report(reader, conditions ? ADL_E038 : ADL_E022, node->span,
                                           "a %s edge has no `%s`, which is required", edge_names[kind], name);
            diagnostic_suggest(it, "for example `%s: %s`", name, document_key(edge_keys[i].key)->example);
        }
    }
}

/* ---- Conditions and items ---- */

static void read_condition(struct reader *reader, const struct tree_node *node, struct document_condition *condition) {
    *condition = (struct document_condition){.to = DOCUMENT_NOWHERE, .span = node->span};
    struct keys slots;
    if (!keys_read(reader, KEYS_CONDITION, node, node->span, &slots)) {
        condition->text = value_text("");
        reader->edges_whole = false;
        return;
    }
    const struct tree_item *expression = slots.items[KEY_CONDITION_EXPRESSION], *to = slots.items[KEY_CONDITION_TO];
    condition->text = expression ? read_text(reader, expression->node) : value_text("");
    if (expression) {
        condition->expression_span = expression->node->span;
    }
    if (to) {
        condition->to_span = to->node->span;
        condition->to = resolve_end(reader, END_TO, to->node);
    } else {
        reader->edges_whole = false;
    }
}

static void read_conditions(struct reader *reader, const struct tree_item *item, struct document_edge *edge) {
    const struct tree_node *list = item->node;
    if (list->count == 0 && !list->incomplete)
        report(reader, ADL_E038, item->key_span, "`conditions` is an empty list; expected at least one");
    edge->condition_count = read_count(reader, "conditions of one edge", list, DOCUMENT_CONDITIONS_MAX);
    edge->conditions = mem_array(NULL, edge->condition_count + 1u, sizeof *edge->conditions);
    for (uint32_t i = 0; i < edge->condition_count; i++)
        read_condition(reader, list->items[i].node, &edge->conditions[i]);
}

static void read_as(struct reader *reader, const struct tree_node *node, struct document_edge *edge) {
    struct document *document = reader->document;
    tn_value name;
    if (!read_name(reader, "`as`", node, &name)) return;
    size_t length;
    const char *text = value_chars(name, &length);
    use_scalar(reader, USE_ITEM, USE_DEFINES, node, UINT32_MAX);
    uint32_t known = reader->whole->fields.count, field = names_add(&reader->whole->fields, text, length);
    if (field < document->channel_count) {
        struct diagnostic *it = report(reader, ADL_E052, node->span,
                                       "the items cannot be called `%s`: that is the name of a channel", text);
        if (!document->channels[field].implicit)
            diagnostic_relate(it, reader->source, document->channels[field].name_span, "the channel");
        diagnostic_suggest(it, "choose another name");
    } else {
        edge->as_field = field;
        if (field == known) {
            MEM_EXTEND(document->locals, document->local_count);
            document->locals[document->local_count++] = name;
            return;
        }
    }
    value_unref(name);
}

static void check_map_targets(struct reader *reader, const struct tree_item *to, const struct document_edge *edge) {
    for (uint32_t i = 0; i < edge->to_count; i++)
        if (edge->to[i] == DOCUMENT_END)
            report(reader, ADL_E036, read_text_at(to->node, i)->span,
                   "a map edge starts tasks of a node; expected one, found END");
}

static void read_from(struct reader *reader, const struct tree_item *from, struct document_edge *edge) {
    edge->from = read_ends(reader, END_FROM, from, &edge->from_count);
    if (edge->from_count < 2) return;
    if (edge->kind != EDGE_STATIC) {
        struct diagnostic *it = report(reader, ADL_E039, from->node->span, "a %s edge starts at one node; found %u",
                                       edge_names[edge->kind], edge->from_count);
        diagnostic_suggest(it, "join them in a separate node and continue from that");
        return;
    }
    for (uint32_t i = 0; i < edge->from_count; i++) {
        if (edge->from[i] != DOCUMENT_START) continue;
        report(reader, ADL_E036, read_text_at(from->node, i)->span, "START cannot be part of a join; expected nodes");
        reader->edge_unknown = true;
    }
}

static void read_edge(struct reader *reader, const struct tree_node *node, struct document_edge *edge) {
    *edge = (struct document_edge){.as_field = UINT32_MAX, .empty = DOCUMENT_NOWHERE, .span = node->span};
    struct keys slots;
    if (!keys_read(reader, KEYS_EDGE, node, node->span, &slots) || !slots.whole) reader->edges_whole = false;
    const struct tree_item *type = slots.items[KEY_EDGE_TYPE], *from = slots.items[KEY_EDGE_FROM];
    const struct tree_item *to = slots.items[KEY_EDGE_TO], *conditions = slots.items[KEY_EDGE_CONDITIONS];
    const struct tree_item *over = slots.items[KEY_EDGE_OVER], *as = slots.items[KEY_EDGE_AS];
    const struct tree_item *empty = slots.items[KEY_EDGE_EMPTY];
    if (type) edge->kind = (enum edge_kind)read_word(reader, KEY_EDGE_TYPE, type->node);
    if (type || !tree_get(node, "type")) check_edge_keys(reader, node, &slots, edge->kind);
    if (from) read_from(reader, from, edge);
    if (to) edge->to = read_ends(reader, END_TO, to, &edge->to_count);
    if (conditions) read_conditions(reader, conditions, edge);
    if (edge->kind == EDGE_MAP && to) check_map_targets(reader, to, edge);
    if (over) edge->over_text = read_text(reader, over->node);
    if (as) read_as(reader, as->node, edge);
    if (empty) edge->empty = resolve_end(reader, END_TO, empty->node);
}

void read_edges(struct reader *reader, const struct tree_item *item) {
    struct document *document = reader->document;
    if (!item) return;
    uint32_t count = read_count(reader, "edges", item->node, DOCUMENT_EDGES_MAX);
    if (count < item->node->count) reader->edges_whole = false;
    document->edges = mem_array(NULL, count + 1u, sizeof *document->edges);
    for (; document->edge_count < count; document->edge_count++)
        read_edge(reader, item->node->items[document->edge_count].node, &document->edges[document->edge_count]);
}
