/* read_node.c - nodes: ids, types, and execution policies. check_config.c reads their configs later. */
#include "adl/document/reader.h"
#include "adl/value/memory.h"
#include <string.h>

static const char *const reserved[] = {"START", "END", "__start__", "__end__"};

static void offer_node_type(struct reader *reader, const struct tree_node *node, const char *text, size_t length) {
    static const char *const others[] = {"tool", "model", "runner", "reducer"};
    const struct catalog *catalog = reader->catalog;
    struct nearest nearest;
    nearest_init(&nearest, text, length);
    add_component_candidates(reader, "node", &nearest);
    if (!nearest_result(&nearest) && reader->plugin_missing) return;
    struct diagnostic *it = report(reader, ADL_E031, node->span, "unknown node type `%.*s`%s",
                                   length > 80 ? 80 : (int)length, text, missing_text(reader));
    suggest_nearest(reader, it, node->span, &nearest);
    for (size_t i = 0; i < sizeof others / sizeof *others && !it->suggestion; i++)
        if (catalog->find(catalog->self, others[i], text, length))
            diagnostic_suggest(it, "`%.*s` is a %s, not a node type", (int)length, text, others[i]);
    if (!it->suggestion)
        diagnostic_suggest(it, "`tenon node list` lists the node types; a missing plugin can be named under "
                               "`requires`");
}

/* Looks up the component once per type and reports an unknown type at each node. */
/* Called once for each type, at its first node. */
static void check_usable(struct reader *reader, const struct tree_node *node, const struct component_info *component) {
    const struct catalog *catalog = reader->catalog;
    struct error error = ERROR_INIT;
    if (!catalog->usable || catalog->usable(catalog->self, component, &error)) return;
    report(reader, ADL_E068, node->span, "the node type `%.200s` cannot be used: %s", component->id, error.message);
    error_finish(&error);
}

static void document_read_node_type(struct reader *reader, const struct tree_node *node, struct document_node *def) {
    size_t length;
    const struct catalog *catalog = reader->catalog;
    const char *text = value_chars(def->type, &length);
    uint32_t known = reader->types.count, index = names_add(&reader->types, text, length);
    if (!catalog) return;
    if (index == known) {
        MEM_EXTEND(reader->node_types, known);
        reader->node_types[index] = (struct node_type){.component = catalog->find(catalog->self, "node", text, length)};
    }
    def->component = reader->node_types[index].component;
    if (!def->component) {
        offer_node_type(reader, node, text, length);
        return;
    }
    if (index == known) check_usable(reader, node, def->component);
    tn_value deprecated = value_get(def->component->manifest, "deprecated");
    if (deprecated && value_is(deprecated, TN_STRING))
        report(reader, ADL_W110, node->span, "the node type `%.200s` is deprecated: %.1000s", text,
               value_chars(deprecated, NULL));
}

static void read_id(struct reader *reader, const struct tree_node *node, uint32_t index) {
    struct document_whole *whole = reader->whole;
    struct document_node *def = &reader->document->nodes[index];
    tn_value id;
    reader->notes[index].nameless = true;
    if (!read_name(reader, "`id`", node, &id)) {
        reader->nodes_whole = false;
        return;
    }
    def->id = id;
    size_t length;
    const char *text = value_chars(id, &length);
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (!value_text_is(id, reserved[i])) continue;
        struct diagnostic *it = report(reader, ADL_E030, node->span,
                                       "a node cannot be called `%s`: that is %s of every "
                                       "graph",
                                       text, i % 2 == 0 ? "the start" : "the end");
        diagnostic_suggest(it, "rename it in the node and in the edges");
        return;
    }
    reader->notes[index].nameless = false;
    use_scalar(reader, USE_NODE, USE_DEFINES, node, index);
    uint32_t known = whole->nodes.count, name = names_add(&whole->nodes, text, length);
    if (name == known) {
        whole->node_of_name[name] = index;
        return;
    }
    reader->notes[index].duplicate = true;
    struct diagnostic *it = report(reader, ADL_E029, node->span, "two nodes have the id `%s`", text);
    diagnostic_relate(it, reader->source, reader->document->nodes[whole->node_of_name[name]].id_span, "the first one");
}

static void read_interrupt(const struct reader *reader, const struct tree_node *node, struct document_node *def) {
    for (uint32_t i = 0; i < read_text_count(node); i++) {
        int32_t word = read_word(reader, KEY_NODE_INTERRUPT, read_text_at(node, i));
        def->interrupt_before |= word == 0;
        def->interrupt_after |= word == 1;
    }
}

/* An array of the texts; a new reference. */
static tn_value read_texts(const struct reader *reader, const struct tree_node *node) {
    tn_value texts = value_array_reserve(read_text_count(node));
    for (uint32_t i = 0; i < read_text_count(node); i++)
        texts = value_push_take(texts, read_text(reader, read_text_at(node, i)));
    return texts;
}

static void read_policies(struct reader *reader, const struct keys *slots, uint32_t index) {
    struct document_node *def = &reader->document->nodes[index];
    const struct tree_item *retry = slots->items[KEY_NODE_RETRY], *timeout = slots->items[KEY_NODE_TIMEOUT];
    const struct tree_item *cache = slots->items[KEY_NODE_CACHE], *on_error = slots->items[KEY_NODE_ON_ERROR];
    const struct tree_item *interrupt = slots->items[KEY_NODE_INTERRUPT], *defer = slots->items[KEY_NODE_DEFER];
    struct keys inner;
    if (retry) read_retry(reader, retry->node, retry->key_span, &def->retry);
    if (retry) def->retry_span = retry->key_span;
    if (timeout) read_timeout(reader, timeout->node, timeout->key_span, &def->timeout_total_ms, &def->timeout_idle_ms);
    if (cache && keys_read(reader, KEYS_CACHE, cache->node, cache->key_span, &inner) && inner.items[KEY_CACHE_TTL]) {
        def->cache_ttl_ms = read_duration(reader, inner.items[KEY_CACHE_TTL]->node);
        if (inner.items[KEY_CACHE_STORE])
            def->cache_in_store = value_to_bool(inner.items[KEY_CACHE_STORE]->node->value);
    }
    if (on_error && keys_read(reader, KEYS_ON_ERROR, on_error->node, on_error->key_span, &inner) &&
        inner.items[KEY_ON_ERROR_TO]) {
        const struct tree_item *codes = inner.items[KEY_ON_ERROR_CODES];
        reader->notes[index].on_error = inner.items[KEY_ON_ERROR_TO]->node;
        if (codes) def->error_codes = read_texts(reader, codes->node);
    }
    if (interrupt) read_interrupt(reader, interrupt->node, def);
    if (defer) def->defer = value_to_bool(defer->node->value);
}

static void document_read_node(struct reader *reader, const struct tree_node *node, uint32_t index) {
    struct document_node *def = &reader->document->nodes[index];
    struct node_note *note = &reader->notes[index];
    *def = (struct document_node){
        .config = value_object(),
        .retry = reader->default_retry,
        .timeout_total_ms = reader->default_total_ms,
        .timeout_idle_ms = reader->default_idle_ms,
        .cache_ttl_ms = -1,
        .on_error = DOCUMENT_NOWHERE,
        .span = node->span,
        .id_span = node->span,
        .type_span = node->span,
        .config_span = node->span,
    };
    *note = (struct node_note){.node = node, .nameless = true};
    struct keys slots;
    if (!keys_read(reader, KEYS_NODE, node, node->span, &slots)) reader->nodes_whole = false;
    const struct tree_item *id = slots.items[KEY_NODE_ID], *type = slots.items[KEY_NODE_TYPE];
    if (id) {
        def->id_span = id->node->span;
        read_id(reader, id->node, index);
    } else {
        reader->nodes_whole = false;
    }
    if (type) {
        def->type_span = def->config_span = type->node->span;
        if (read_name(reader, "`type`", type->node, &def->type)) {
            use_scalar(reader, USE_NODE_TYPE, 0, type->node, index);
            document_read_node_type(reader, type->node, def);
        }
    }
    if (!def->id) def->id = value_text("");
    if (!def->type) def->type = value_text("");
    note->config = slots.items[KEY_NODE_CONFIG];
    const struct tree_node *config = tree_get(node, "config");
    bool unreadable = node->incomplete || node->kind == TREE_BROKEN || (config && config->kind != TN_NULL);
    if (!note->config && (unreadable || key_mistyped(document_key(KEY_NODE_CONFIG), node)))
        def->component = NULL; /* reported: the config is not checked */
    if (note->config) {
        def->config = tree_to_value(note->config->node);
        def->config_span = note->config->node->span;
    }
    read_policies(reader, &slots, index);
}

void read_nodes(struct reader *reader, const struct tree_item *item) {
    struct document *document = reader->document;
    if (!item) return;
    uint32_t count = read_count(reader, "nodes", item->node, DOCUMENT_NODES_MAX);
    if (count < item->node->count) reader->nodes_whole = false;
    document->nodes = mem_array(NULL, count + 1u, sizeof *document->nodes);
    reader->notes = mem_array(NULL, count + 1u, sizeof *reader->notes);
    reader->whole->node_of_name = mem_array(NULL, count + 1u, sizeof *reader->whole->node_of_name);
    for (; document->node_count < count; document->node_count++)
        document_read_node(reader, item->node->items[document->node_count].node, document->node_count);
    if (count == 0 && !item->node->incomplete)
        report(reader, ADL_E022, item->key_span, "`nodes` is empty; expected at least one node");
}

void read_on_errors(struct reader *reader) {
    for (uint32_t i = 0; i < reader->document->node_count; i++) {
        const struct tree_node *to = reader->notes[i].on_error;
        if (to) reader->document->nodes[i].on_error = resolve_end(reader, END_TO, to);
    }
}
