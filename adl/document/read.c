/*
 * read.c - creates a document from its text: all sections in order, and the code of the small ones.
 *
 * Every problem is reported, and a document is always returned, because an editor needs the incomplete one. The
 * document keeps values and spans, and nothing of the tree.
 */
#include "adl/document/duration.h"
#include "adl/document/reader.h"
#include "adl/document/version.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include <string.h>

#define RECURSION_LIMIT    25u
#define CONCURRENCY        16u
#define RETRY_MAX_ATTEMPTS 3u
#define RETRY_INITIAL_MS   500
#define RETRY_FACTOR       2.0
#define RETRY_MAX_MS       60000

/* ---- Values of a known form ---- */

tn_value read_text(const struct reader *reader, const struct tree_node *node) {
    return tree_to_string(reader->tree, node);
}

int64_t read_duration(const struct reader *reader, const struct tree_node *node) {
    int64_t milliseconds = 0;
    size_t length;
    const char *text = tree_text(reader->tree, node, &length);
    if ((!text || duration_read(text, length, &milliseconds) != DURATION_OK) && node->kind != TN_STRING)
        duration_from_seconds(value_to_double(node->value), &milliseconds);
    return milliseconds;
}

int32_t read_word(const struct reader *reader, enum key key, const struct tree_node *node) {
    size_t length;
    const char *text = tree_text(reader->tree, node, &length);
    return text ? key_word(document_key(key), text, length) : -1;
}

bool read_name(struct reader *reader, const char *what, const struct tree_node *node, tn_value *out) {
    size_t length;
    const char *text = tree_text(reader->tree, node, &length);
    if (length == 0 || length > DOCUMENT_NAME_MAX) {
        report(reader, ADL_E028, node->span, "%s has %zu bytes; expected 1 to %u", what, length, DOCUMENT_NAME_MAX);
        return false;
    }
    *out = value_string(text, length);
    return *out != NULL;
}

uint32_t read_count(struct reader *reader, const char *what, const struct tree_node *list, uint32_t most) {
    if (list->count <= most) return list->count;
    report(reader, ADL_E027, list->items[most].node->span, "a document has at most %u %s; found %u", most, what,
           list->count);
    return most;
}

uint32_t read_text_count(const struct tree_node *node) { return node->kind == TN_ARRAY ? node->count : 1; }

const struct tree_node *read_text_at(const struct tree_node *node, uint32_t index) {
    return node->kind == TN_ARRAY ? node->items[index].node : node;
}

bool read_schema(struct reader *reader, const struct tree_item *item, tn_value *value, struct schema **schema) {
    tn_value document = tree_to_value(item->node);
    struct error error = ERROR_INIT;
    int32_t status = schema_compile(document, NULL, schema, &error);
    if (status == TN_OK) {
        *value = document;
        return true;
    }
    value_unref(document);
    report(reader, ADL_E053, item->key_span, "`%s` is not a JSON Schema: %s", value_chars(item->key, NULL),
           error.message ? error.message : "it cannot be compiled");
    error_finish(&error);
    return false;
}

/* ---- Policies ---- */

void read_retry(struct reader *reader, const struct tree_node *node, struct span span, struct document_retry *retry) {
    struct keys slots;
    if (!keys_read(reader, KEYS_RETRY, node, span, &slots)) return;
    const struct tree_item *attempts = slots.items[KEY_RETRY_MAX_ATTEMPTS];
    const struct tree_item *initial = slots.items[KEY_RETRY_INITIAL];
    const struct tree_item *factor = slots.items[KEY_RETRY_FACTOR];
    const struct tree_item *max = slots.items[KEY_RETRY_MAX];
    if (attempts)
        retry->max_attempts = (uint32_t)value_to_int(attempts->node->value);
    else if (retry->max_attempts == 1)
        retry->max_attempts = RETRY_MAX_ATTEMPTS;
    if (initial) retry->initial_ms = read_duration(reader, initial->node);
    if (factor) retry->factor = value_to_double(factor->node->value);
    if (max) retry->max_ms = read_duration(reader, max->node);
    if (retry->max_ms < retry->initial_ms && max && initial)
        report(reader, ADL_E025, max->node->span, "`max` is shorter than `initial`; expected the longest pause");
}

void read_timeout(struct reader *reader, const struct tree_node *node, struct span span, int64_t *total_ms,
                  int64_t *idle_ms) {
    if (node->kind != TN_OBJECT) {
        *total_ms = read_duration(reader, node);
        return;
    }
    struct keys slots;
    if (!keys_read(reader, KEYS_TIMEOUT, node, span, &slots)) return;
    if (slots.items[KEY_TIMEOUT_TOTAL]) *total_ms = read_duration(reader, slots.items[KEY_TIMEOUT_TOTAL]->node);
    if (slots.items[KEY_TIMEOUT_IDLE]) *idle_ms = read_duration(reader, slots.items[KEY_TIMEOUT_IDLE]->node);
}

static void read_defaults(struct reader *reader, const struct tree_item *item) {
    struct keys slots;
    if (!item || !keys_read(reader, KEYS_DEFAULTS, item->node, item->key_span, &slots)) return;
    const struct tree_item *retry = slots.items[KEY_DEFAULTS_RETRY], *timeout = slots.items[KEY_DEFAULTS_TIMEOUT];
    if (retry) read_retry(reader, retry->node, retry->key_span, &reader->default_retry);
    if (timeout)
        read_timeout(reader, timeout->node, timeout->key_span, &reader->default_total_ms, &reader->default_idle_ms);
}

/* ---- Agent ---- */

static tn_value name_of_source(const struct source *source) {
    const char *path = source_name(source), *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    const char *dot = strrchr(name, '.');
    tn_value value = value_string(name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
    return value ? value : value_text("document");
}

static void read_agent(struct reader *reader, const struct tree_item *item) {
    struct document *document = reader->document;
    struct keys slots;
    if (item && keys_read(reader, KEYS_AGENT, item->node, item->key_span, &slots)) {
        const struct tree_item *name = slots.items[KEY_AGENT_NAME], *text = slots.items[KEY_AGENT_DESCRIPTION];
        const struct tree_item *limit = slots.items[KEY_AGENT_RECURSION_LIMIT];
        const struct tree_item *timeout = slots.items[KEY_AGENT_TIMEOUT];
        const struct tree_item *concurrency = slots.items[KEY_AGENT_CONCURRENCY];
        const struct tree_item *strategy = slots.items[KEY_AGENT_STRATEGY];
        if (name) read_name(reader, "`name`", name->node, &document->name);
        if (text) document->description = read_text(reader, text->node);
        if (limit) document->recursion_limit = (uint32_t)value_to_int(limit->node->value);
        if (limit) reader->limit_span = limit->node->span;
        if (timeout) document->timeout_ms = read_duration(reader, timeout->node);
        if (concurrency) document->concurrency = (uint32_t)value_to_int(concurrency->node->value);
        if (strategy) document->strategy = (enum run_strategy)read_word(reader, KEY_AGENT_STRATEGY, strategy->node);
    }
    if (!document->name) document->name = name_of_source(reader->source);
}

static void read_budget(struct reader *reader, const struct tree_item *item) {
    struct keys slots;
    if (item && keys_read(reader, KEYS_BUDGET, item->node, item->key_span, &slots) && slots.whole)
        reader->document->budget = tree_to_value(item->node);
}

/* ---- Requirements ---- */

static bool is_id_byte(char character) {
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           (character >= '0' && character <= '9') || character == '.' || character == '_' || character == '-';
}

static void offer_plugin(void *user, const char *id) { nearest_add_candidate(user, id, strlen(id)); }

static void check_installed(struct reader *reader, const struct document_requirement *requirement,
                            const struct tree_node *node) {
    const struct catalog *catalog = reader->catalog;
    const char *id = value_chars(requirement->plugin, NULL);
    size_t length;
    const char *constraint = value_chars(requirement->constraint, &length);
    const char *installed = catalog->plugin_version(catalog->self, id);
    if (!installed) {
        struct nearest nearest;
        nearest_init(&nearest, id, strlen(id));
        if (catalog->each_plugin) catalog->each_plugin(catalog->self, offer_plugin, &nearest);
        struct diagnostic *it = report(reader, ADL_E061, node->span, "the plugin `%s` is not installed%s%s%s", id,
                                       length ? "; the document requires " : "", constraint, missing_text(reader));
        if (nearest_result(&nearest))
            diagnostic_suggest(it, "did you mean `%s`?", nearest.best);
        else
            diagnostic_suggest(it, "install it, or give its folder with `--plugins`; `tenon plugin list` shows what "
                                   "there is");
        reader->plugin_missing = true;
        return;
    }
    struct version version;
    size_t at;
    if (!length || !version_parse(installed, strlen(installed), &version)) return;
    if (constraint_holds(constraint, length, &version, &at) == 1) return;
    struct diagnostic *it =
        report(reader, ADL_E062, node->span, "the plugin `%s` is installed in version %s; the document requires %s", id,
               installed, constraint);
    diagnostic_suggest(it, "install a version that is %s, or change the requirement", constraint);
}

static void read_requirement(struct reader *reader, const struct tree_node *node,
                             struct document_requirement *requirement) {
    size_t length, id = 0, at = 0;
    const char *text = tree_text(reader->tree, node, &length);
    while (id < length && is_id_byte(text[id])) id++;
    size_t rest = id;
    while (rest < length && text[rest] == ' ') rest++;
    while (length > rest && text[length - 1] == ' ') length--;
    bool well_formed = id > 0 && id <= DOCUMENT_NAME_MAX;
    if (well_formed && rest < length) well_formed = constraint_holds(text + rest, length - rest, NULL, &at) >= 0;
    requirement->plugin = value_string(text, id);
    requirement->constraint = value_string(text + rest, length - rest);
    requirement->span = node->span;
    if (!well_formed) {
        struct diagnostic *it = report(reader, ADL_E060, node->span,
                                       "`%.*s` is not a requirement; expected a plugin's id, "
                                       "alone or with versions such as `>= 1.2`, `^1.2`, `= 1.0.0` or `1.x`",
                                       length > 80 ? 80 : (int)length, text);
        if (id > 0 && rest < length && text[rest] >= '0' && text[rest] <= '9')
            diagnostic_suggest(it, "`>= %.*s` means this version or a newer one", (int)(length - rest), text + rest);
    } else if (reader->catalog && reader->catalog->plugin_version) {
        check_installed(reader, requirement, node);
    }
}

static void read_requires(struct reader *reader, const struct tree_item *item) {
    struct document *document = reader->document;
    if (!item) return;
    document->requirement_count = read_count(reader, "requirements", item->node, DOCUMENT_REQUIREMENTS_MAX);
    document->requirements = mem_zalloc((document->requirement_count + 1u) * sizeof *document->requirements);
    for (uint32_t i = 0; i < document->requirement_count; i++)
        read_requirement(reader, item->node->items[i].node, &document->requirements[i]);
}

/* ---- What could not be read ---- */

static bool in_word(char letter) {
    return letter == '_' || letter == '-' || (unsigned char)letter >= 0x80 || (letter >= '0' && letter <= '9') ||
           (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z');
}

bool may_be_unread(const struct reader *reader, bool whole, const char *section, const struct nearest *nearest,
                   const char *name, size_t length) {
    if (whole) return false;
    if (!nearest || !nearest_result(nearest)) return true;
    /* A section ends at the start of the next one, even if it has errors. */
    const struct tree_node *root = tree_root(reader->tree);
    const struct tree_item *item = tree_find(root, section);
    uint32_t at = item ? item->key_span.end : 0, end = (uint32_t)source_length(reader->source);
    for (uint32_t i = 0; item && i < root->count; i++) {
        uint32_t start = root->items[i].key_span.start;
        if (start > at && start < end) end = start;
    }
    const char *text = source_text(reader->source);
    for (; length <= end - at; at++) {
        const char *found = memmem(text + at, end - at, name, length);
        if (!found) return false;
        at = (uint32_t)(found - text);
        bool begins = at == 0 || !in_word(text[at - 1]), ends = at + length == end || !in_word(text[at + length]);
        if (begins && ends) return true;
    }
    return false;
}

/* ---- Input and output of a run ---- */

/* The input of a run is written to channels, and the output is read from them. */
static uint32_t port_access(const struct tree_item *item) {
    return value_text_is(item->key, "input") ? USE_WRITES : USE_READS;
}

static void tell_required(const struct reader *reader, const struct tree_node *required) {
    for (uint32_t i = 0; required && required->kind == TN_ARRAY && i < required->count; i++)
        use_scalar(reader, USE_CHANNEL, 0, required->items[i].node, UINT32_MAX);
}

/* Input and output of a run are channels; `input` and `output` describe them. */
static void read_port(struct reader *reader, const struct tree_item *item, tn_value *value, struct schema **schema) {
    if (!item) return;
    if (!read_schema(reader, item, value, schema)) {
        use_unread(reader, reader->source, item->node->span, UINT32_MAX);
        return;
    }
    tell_required(reader, tree_get(item->node, "required"));
    const struct tree_node *properties = tree_get(item->node, "properties");
    for (uint32_t i = 0; properties && i < properties->count; i++) {
        const struct tree_item *property = &properties->items[i];
        size_t length;
        const char *name = value_chars(property->key, &length);
        use_key(reader, USE_CHANNEL, port_access(item), property, UINT32_MAX);
        if (names_find(&reader->whole->fields, name, length) >= 0) continue;
        struct nearest nearest;
        nearest_init(&nearest, name, length);
        names_nearest(&reader->whole->fields, &nearest);
        if (may_be_unread(reader, reader->channels_whole, "channels", &nearest, name, length)) continue;
        struct diagnostic *it = report(reader, ADL_E047, property->key_span,
                                       "`%s` has the property `%.*s`, which is not a "
                                       "channel",
                                       value_chars(item->key, NULL), length > 80 ? 80 : (int)length, name);
        suggest_nearest(reader, it, property->key_span, &nearest);
        if (!it->suggestion)
            diagnostic_suggest(it, "add `{name: %.*s, type: last_value}` to `channels`", length > 80 ? 80 : (int)length,
                               name);
    }
}

/* ---- The whole ---- */

/* `item` is the result of keys_read; NULL if its form is wrong. */
static bool section_whole(const struct tree_node *root, const char *name, const struct tree_item *item) {
    const struct tree_node *node = tree_get(root, name);
    if (!node) return !root->incomplete;
    return node->kind != TREE_BROKEN && !node->incomplete && (item || node->kind == TN_NULL);
}

static void document_read_sections(struct reader *reader, const struct tree_node *root) {
    struct document *document = reader->document;
    struct keys slots;
    struct span top = {root->span.start, root->span.start};
    if (!keys_read(reader, KEYS_ROOT, root, top, &slots)) return;
    reader->channels_whole = section_whole(root, "channels", slots.items[KEY_CHANNELS]);
    reader->nodes_whole = section_whole(root, "nodes", slots.items[KEY_NODES]) && slots.items[KEY_NODES];
    reader->edges_whole = section_whole(root, "edges", slots.items[KEY_EDGES]) && slots.items[KEY_EDGES];
    reader->models_whole = section_whole(root, "models", slots.items[KEY_MODELS]);
    reader->tools_whole = section_whole(root, "tools", slots.items[KEY_TOOLS]);
    read_agent(reader, slots.items[KEY_AGENT]);
    read_requires(reader, slots.items[KEY_REQUIRES]);
    read_defaults(reader, slots.items[KEY_DEFAULTS]);
    read_budget(reader, slots.items[KEY_BUDGET]);
    read_models(reader, slots.items[KEY_MODELS]);
    read_tools(reader, slots.items[KEY_TOOLS]);
    read_channels(reader, slots.items[KEY_CHANNELS]);
    read_port(reader, slots.items[KEY_INPUT], &document->input_value, &document->input);
    read_port(reader, slots.items[KEY_OUTPUT], &document->output_value, &document->output);
    read_nodes(reader, slots.items[KEY_NODES]);
    read_error_channel(reader);
    read_edges(reader, slots.items[KEY_EDGES]);
    read_on_errors(reader);
    prepare_expressions(reader);
    check_edge_expressions(reader, slots.items[KEY_EDGES]);
    check_configs(reader);
    if (slots.items[KEY_EDGES]) {
        check_edges(reader, slots.items[KEY_EDGES]);
        check_graph(reader, slots.items[KEY_EDGES]);
    }
    check_writes(reader);
    check_effects(reader);
    if (slots.items[KEY_EDGES]) check_limit(reader, slots.items[KEY_EDGES]);
}

static void reader_finish(struct reader *reader) {
    names_finish(&reader->types);
    mem_free(reader->node_types);
    mem_free(reader->notes);
    mem_free(reader->writes);
    mem_free(reader->field_kinds);
    mem_free(reader->reaches);
}

struct document *document_read_within(struct session *session, struct tree *tree) {
    struct document_whole *whole = mem_zalloc(sizeof *whole);
    struct document *document = &whole->document;
    document->references = 1;
    document->source = source_ref(tree_source(tree));
    document->recursion_limit = RECURSION_LIMIT;
    document->concurrency = CONCURRENCY;
    struct reader reader = {
        .session = session,
        .source = document->source,
        .tree = tree,
        .catalog = session->catalog,
        .found = session->found,
        .observer = session->observer,
        .whole = whole,
        .document = document,
        .default_retry = {1, RETRY_FACTOR, RETRY_INITIAL_MS, RETRY_MAX_MS},
    };
    session->observer = NULL; /* inner documents have none */
    document_read_sections(&reader, tree_root(reader.tree));
    if (!document->name) document->name = name_of_source(document->source);
    reader_finish(&reader);
    return document;
}

static void session_finish(struct session *session) {
    for (uint32_t i = 0; i < session->document_count; i++) document_unref(session->documents[i]);
    for (size_t i = 0; i < sizeof session->kinds / sizeof *session->kinds; i++) names_finish(&session->kinds[i].names);
    mem_free(session->documents);
}

struct document *document_read_observed(struct tree *tree, const struct catalog *catalog, struct diagnostics *found,
                                        const struct use_observer *observer) {
    struct session session = {.catalog = catalog, .found = found, .observer = observer};
    struct document *document = document_read_within(&session, tree);
    session_finish(&session);
    check_anchors(tree, found);
    diagnostics_sort(found);
    return document;
}

struct document *document_read_tree(struct tree *tree, const struct catalog *catalog, struct diagnostics *found) {
    return document_read_observed(tree, catalog, found, NULL);
}

struct document *document_read(struct source *source, const struct catalog *catalog, struct diagnostics *found) {
    struct tree *tree = tree_read(source, NULL, found);
    struct document *document = document_read_tree(tree, catalog, found);
    tree_free(tree);
    return document;
}
