/*
 * complete_value.c - scalars: words of keys, values of schemas, and names of what the document and the host have.
 */
#include "adl/assist/complete_internal.h"
#include "adl/document/reducers.h"
#include "adl/schema/schema.h"
#include "adl/tree/tree.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <string.h>

/* ---- Names of the document ---- */

static const char *const channel_type_names[] = {[CHANNEL_LAST_VALUE] = "last_value",
                                                 [CHANNEL_APPEND] = "append",
                                                 [CHANNEL_REDUCE] = "reduce",
                                                 [CHANNEL_EPHEMERAL] = "ephemeral"};

/* "append, object": the type, and what its schema says. */
static void write_channel_type(const struct document_channel *channel, struct buffer *out) {
    struct shape shape;
    shape_init(&shape);
    if (!channel->type_unread) buffer_text(out, channel_type_names[channel->type]);
    if (channel->schema_value) shape_add(&shape, channel->schema_value);
    if (shape.kinds || value_count(shape.values) > 0) {
        buffer_text(out, ", ");
        shape_write_type(&shape, out);
    }
    shape_finish(&shape);
}

struct channel_offer {
    struct completer *completer;
    bool as_key;
};

/* Appends a name as a new key of the mapping, with its colon unless that is there, or the key is in quotes. */
static void write_key_name(const struct completer *completer, const char *name, size_t length, struct buffer *out) {
    const struct cursor *cursor = &completer->meaning.cursor;
    complete_write_value(completer, name, length, out);
    if (!cursor->colon && cursor->quote == CURSOR_PLAIN) buffer_text(out, ": ");
}

static bool offer_channel(void *user, const struct document_channel *channel) {
    const struct channel_offer *it = user;
    struct completer *completer = it->completer;
    size_t length;
    const char *name = value_chars(channel->name, &length);
    bool present = it->as_key && complete_is_present(completer, name, length);
    if (channel->implicit || present || !offer_fits(completer, name, length)) return true;
    struct buffer key, detail;
    buffer_init(&key, SIZE_MAX);
    buffer_init(&detail, 160);
    write_channel_type(channel, &detail);
    if (it->as_key) write_key_name(completer, name, length, &key);
    bool in_expression = completer->meaning.language != LANGUAGE_NONE;
    if (in_expression) complete_write_name(completer, name, length, &key);
    const struct offer made = {.kind = COMPLETION_CHANNEL,
                               .label = name,
                               .label_length = length,
                               .detail = buffer_cstr(&detail),
                               .text = it->as_key || in_expression ? buffer_cstr(&key) : NULL,
                               .written = it->as_key,
                               .again = it->as_key};
    offer(completer, &made);
    buffer_finish(&key);
    buffer_finish(&detail);
    return completer->list->count < COMPLETE_ITEMS_MAX || !completer->list->incomplete;
}

void complete_channels(struct completer *completer, bool as_key) {
    struct channel_offer offered = {completer, as_key};
    known_each_channel(completer->assist, offer_channel, &offered);
}

void complete_inner_channels(struct completer *completer, const struct document *inner, bool as_key) {
    struct channel_offer offered = {completer, as_key};
    for (uint32_t i = 0; i < inner->channel_count; i++)
        if (!offer_channel(&offered, &inner->channels[i])) return;
}

static bool offer_node(void *user, const struct document_node *node) {
    struct completer *completer = user;
    size_t length;
    const char *id = value_chars(node->id, &length);
    if (!offer_fits(completer, id, length) || complete_is_listed(completer, id, length)) return true;
    const struct offer made = {.kind = COMPLETION_NODE,
                               .label = id,
                               .label_length = length,
                               .detail = node->type ? value_chars(node->type, NULL) : NULL};
    if (length > 0) offer(completer, &made);
    return !completer->list->incomplete;
}

static void offer_nodes(struct completer *completer, bool start, bool end) {
    if (start)
        offer(completer,
              &(struct offer){.kind = COMPLETION_NODE, .label = "START", .detail = "the start of a run", .group = '4'});
    if (end)
        offer(completer,
              &(struct offer){.kind = COMPLETION_NODE, .label = "END", .detail = "the end of a run", .group = '6'});
    known_each_node(completer->assist, offer_node, completer);
}

static void offer_id_as_key(struct completer *completer, const char *id, size_t length, const char *detail,
                            char group) {
    if (complete_is_present(completer, id, length) || !offer_fits(completer, id, length)) return;
    struct buffer key;
    buffer_init(&key, SIZE_MAX);
    write_key_name(completer, id, length, &key);
    offer(completer, &(struct offer){.kind = COMPLETION_NODE,
                                     .label = id,
                                     .label_length = length,
                                     .detail = detail,
                                     .text = buffer_cstr(&key),
                                     .group = group,
                                     .written = true});
    buffer_finish(&key);
}

static bool offer_node_key(void *user, const struct document_node *node) {
    struct completer *completer = user;
    size_t length;
    const char *id = value_chars(node->id, &length);
    if (length > 0) offer_id_as_key(completer, id, length, node->type ? value_chars(node->type, NULL) : NULL, 0);
    return !completer->list->incomplete;
}

void complete_node_keys(struct completer *completer) {
    offer_id_as_key(completer, "END", strlen("END"), "the end of a run", '6');
    known_each_node(completer->assist, offer_node_key, completer);
}

/* ---- Models ---- */

static void complete_role(void *user, const struct known_role *role) {
    struct completer *completer = user;
    char detail[160] = "role";
    const char *model = role->model && *role->model ? role->model : NULL;
    if (!model && role->bound && value_is(role->bound->binding, TN_STRING))
        model = value_chars(role->bound->binding, NULL);
    if (model) snprintf(detail, sizeof detail, "role: %s", model);
    offer(completer, &(struct offer){.kind = COMPLETION_ROLE, .label = role->name, .detail = detail, .group = '3'});
}

/* `provider:model` for each example of the provider's `model`. */
static bool offer_provider(void *user, const struct component_info *component) {
    struct completer *completer = user;
    tn_value model = value_get(value_get(schema_document(component->config), "properties"), "model");
    /* The names in the schema are those of the component's own service, not those of a preset's. */
    tn_value examples = value_get(component->manifest, "preset") ? NULL : value_get(model, "examples");
    char label[400];
    snprintf(label, sizeof label, "%s:", component->id);
    offer(completer, &(struct offer){.kind = COMPLETION_MODEL,
                                     .label = label,
                                     .detail = component->title,
                                     .documentation = component->documentation,
                                     .again = true,
                                     .written = true});
    for (size_t i = 0; value_is(examples, TN_ARRAY) && i < value_count(examples) && i < SHAPE_VALUES_MAX; i++) {
        if (!value_is(value_at(examples, i), TN_STRING)) continue;
        snprintf(label, sizeof label, "%s:%.200s", component->id, value_chars(value_at(examples, i), NULL));
        offer(completer, &(struct offer){.kind = COMPLETION_MODEL, .label = label, .detail = component->title});
    }
    return true;
}

/* ---- Components ---- */

static void each_component(struct completer *completer, const char *kind, catalog_visit visit) {
    const struct catalog *catalog = completer->assist->world->catalog;
    if (catalog) catalog->each(catalog->self, kind, visit, completer);
}

static bool component_deprecated(const struct component_info *component) {
    tn_value deprecated = value_get(component->manifest, "deprecated");
    return deprecated && !value_is(deprecated, TN_NULL) && deprecated != value_bool(false);
}

/* The node type with the config that it requires, in the style of the node. False if nothing is required. */
static bool write_required(const struct completer *completer, const struct component_info *component,
                           struct buffer *out) {
    const struct cursor *cursor = &completer->meaning.cursor;
    tn_value required = value_get(schema_document(component->config), "required");
    uint32_t value, type = cursor->depth - 1;
    size_t count = value_is(required, TN_ARRAY) ? value_count(required) : 0;
    const char *text = source_text(completer->assist->source), *rest = text + completer->span.end;
    size_t blank = strspn(rest, " ");
    bool at_end =
        rest[blank] == '\n' || rest[blank] == '\r' || rest[blank] == '\0' || (cursor->flow && rest[blank] == '}');
    if (count == 0 || !at_end || cursor->json || cursor->quote != CURSOR_PLAIN) return false;
    if (cursor_sibling(cursor, type, "config", &value)) return false;
    int indent = (int)cursor->steps[type].column;
    complete_write_escaped(out, component->id, strlen(component->id));
    if (cursor->flow)
        buffer_text(out, ", config: {");
    else
        buffer_format(out, "\n%*sconfig:", indent, "");
    for (size_t i = 0; i < count; i++) {
        const char *name = value_is(value_at(required, i), TN_STRING) ? value_chars(value_at(required, i), NULL) : "";
        if (cursor->flow)
            buffer_format(out, "%s%s: $%zu", i ? ", " : "", name, i + 1);
        else
            buffer_format(out, "\n%*s%s: $%zu", indent + 2, "", name, i + 1);
    }
    if (cursor->flow) buffer_text(out, "\\}");
    return true;
}

static bool complete_node_type(void *user, const struct component_info *component) {
    struct completer *completer = user;
    if (!offer_fits(completer, component->id, strlen(component->id))) return true;
    struct buffer snippet;
    buffer_init(&snippet, SIZE_MAX);
    bool filled = write_required(completer, component, &snippet);
    const struct offer made = {.kind = COMPLETION_NODE_TYPE,
                               .label = component->id,
                               .detail = component->title,
                               .documentation = component->documentation,
                               .snippet = filled ? buffer_cstr(&snippet) : NULL,
                               .deprecated = component_deprecated(component)};
    offer(completer, &made);
    buffer_finish(&snippet);
    return true;
}

static bool offer_tool(void *user, const struct component_info *component) {
    struct completer *completer = user;
    const char *dot = strrchr(component->id, '.');
    const struct offer made = {.kind = COMPLETION_TOOL,
                               .label = component->id,
                               .detail = component->title,
                               .documentation = component->documentation,
                               .deprecated = component_deprecated(component)};
    if (!complete_is_listed(completer, component->id, strlen(component->id))) offer(completer, &made);
    if (!dot) return true;
    char pattern[300];
    snprintf(pattern, sizeof pattern, "%.*s.*", (int)(dot - component->id), component->id);
    for (uint32_t i = completer->list->count; i-- > 0 && completer->list->count - i <= 2;)
        if (strcmp(completer->list->items[i].label, pattern) == 0) return true;
    offer(completer,
          &(struct offer){
              .kind = COMPLETION_TOOL, .label = pattern, .group = '6', .detail = "every tool with this beginning"});
    return true;
}

static bool offer_reducer(void *user, const struct component_info *component) {
    offer(user, &(struct offer){.kind = COMPLETION_REDUCER,
                                .label = component->id,
                                .detail = component->title,
                                .documentation = component->documentation});
    return true;
}

static void complete_plugin(void *user, const char *plugin) {
    struct completer *completer = user;
    const struct catalog *catalog = completer->assist->world->catalog;
    const char *version = catalog->plugin_version ? catalog->plugin_version(catalog->self, plugin) : NULL;
    char text[400];
    int digits = version ? (int)(strcspn(version, ".") + 1 + strcspn(version + strcspn(version, ".") + 1, ".")) : 0;
    if (version && strchr(version, '.'))
        snprintf(text, sizeof text, "%s >= %.*s", plugin, digits, version);
    else
        snprintf(text, sizeof text, "%s", plugin);
    offer(completer, &(struct offer){.kind = COMPLETION_PLUGIN, .label = plugin, .detail = version, .text = text});
}

/* ---- Files ---- */

struct file_offer {
    struct completer *completer;
    uint32_t looked;
    bool documents;
};

static bool is_document_name(const char *name) {
    size_t length = strlen(name);
    return (length > 5 && strcmp(name + length - 5, ".yaml") == 0) ||
           (length > 4 && strcmp(name + length - 4, ".yml") == 0) || tree_name_is_json(name);
}

static void offer_file(void *user, const char *name, bool is_folder) {
    struct file_offer *it = user;
    char label[512];
    if (it->looked++ >= COMPLETE_FILES_MAX) it->completer->list->incomplete = true;
    if (it->looked > COMPLETE_FILES_MAX || (!is_folder && it->documents && !is_document_name(name))) return;
    snprintf(label, sizeof label, "%s%s", name, is_folder ? "/" : "");
    offer(it->completer, &(struct offer){.kind = is_folder ? COMPLETION_FOLDER : COMPLETION_FILE,
                                         .label = label,
                                         .group = is_folder ? '6' : '5',
                                         .again = is_folder});
}

/* The entries of the folder that is typed so far; only the last part of the path is replaced. */
static void complete_files(struct completer *completer, bool documents) {
    const struct assist_world *world = completer->assist->world;
    if (!world->each_file) return;
    struct span before = completer->span;
    size_t length = completer->prefix_length;
    while (length > 0 && completer->prefix[length - 1] != '/') length--;
    char *folder = mem_text_n(completer->prefix, length);
    struct span part = {before.start + (uint32_t)length, before.end};
    complete_set_span(completer, part);
    struct file_offer offered = {completer, 0, documents};
    world->each_file(world->self, completer->assist->source, folder, offer_file, &offered);
    mem_free(folder);
    complete_set_span(completer, before);
}

static void offer_document(void *user, const char *name, const char *title) {
    offer(user, &(struct offer){.kind = COMPLETION_DOCUMENT, .label = name, .detail = title});
}

static void complete_documents(struct completer *completer) {
    const struct assist_world *world = completer->assist->world;
    if (world->each_document) world->each_document(world->self, offer_document, completer);
    complete_files(completer, true);
}

/* ---- Values of schemas ---- */

static void offer_told(struct completer *completer, tn_value value, enum completion_kind kind, const char *detail,
                       const char *documentation) {
    bool text = value_is(value, TN_STRING);
    if (!text && completer->meaning.cursor.quote != CURSOR_PLAIN) return;
    char *json = text ? NULL : json_text(value, JSON_COMPACT);
    const char *label = text ? value_chars(value, NULL) : json;
    bool line = strlen(label) > 0 && strlen(label) < 200 && !strchr(label, '\n');
    if (line)
        offer(completer, &(struct offer){.kind = kind,
                                         .label = label,
                                         .detail = detail,
                                         .documentation = documentation,
                                         .written = !text,
                                         .ordered = true,
                                         .group = kind == COMPLETION_WORD ? '4' : '7'});
    mem_free(json);
}

static void offer_json(struct completer *completer, tn_value value, enum completion_kind kind, const char *detail) {
    offer_told(completer, value, kind, detail, NULL);
}

/* What the schema says about one of its values; NULL if nothing. */
static const char *told_of(const struct shape *shape, tn_value value) {
    size_t length;
    const char *text = value_is(value, TN_STRING) ? value_chars(value, &length) : NULL;
    return text ? shape_told(shape, text, length) : NULL;
}

static void offer_shape(struct completer *completer, const struct shape *shape) {
    for (size_t i = 0; i < value_count(shape->values); i++) {
        tn_value value = value_at(shape->values, i);
        bool usual = shape->fallback && value_equal(shape->fallback, value);
        offer_told(completer, value, COMPLETION_WORD, usual ? "default" : NULL, told_of(shape, value));
    }
    bool boolean = shape->kinds >> TN_BOOL & 1 && value_count(shape->values) == 0;
    for (int truth = 1; boolean && truth >= 0; truth--) {
        bool usual = shape->fallback == value_bool(truth);
        const char *told = completer->assist->world->form ? shape->description : NULL;
        offer_told(completer, value_bool(truth), COMPLETION_WORD, usual ? "default" : NULL, told);
    }
    for (size_t i = 0; i < value_count(shape->examples); i++) {
        tn_value value = value_at(shape->examples, i);
        const char *told = told_of(shape, value);
        bool listed = told && value_is(value, TN_STRING) &&
                      complete_is_listed(completer, value_chars(value, NULL), strlen(value_chars(value, NULL)));
        if (!listed)
            offer_told(completer, value, told ? COMPLETION_WORD : COMPLETION_VALUE, told ? NULL : "example", told);
    }
    bool other = shape->fallback && !boolean && value_count(shape->values) == 0 && !told_of(shape, shape->fallback);
    if (other) offer_json(completer, shape->fallback, COMPLETION_VALUE, "default");
}

static void complete_config_value(struct completer *completer) {
    const struct cursor *cursor = &completer->meaning.cursor;
    struct shape shape;
    shape_init(&shape);
    meaning_each_schema(&completer->meaning, true, shape_add, &shape);
    offer_shape(completer, &shape);
    bool channel = shape_has(&shape, "channel-read") || shape_has(&shape, "channel-write") ||
                   shape_has(&shape, "channel-append") || shape_has(&shape, "channel-messages");
    if (channel) complete_channels(completer, false);
    const struct document *inner = meaning_inner_document(&completer->meaning);
    if (inner) complete_inner_channels(completer, inner, false);
    if (shape_has(&shape, "node")) offer_nodes(completer, false, true);
    if (shape_has(&shape, "model")) {
        if (!completer->assist->world->form) known_each_role(completer->assist, complete_role, completer);
        each_component(completer, "model", offer_provider);
    }
    if (shape_has(&shape, "tool") || shape_has(&shape, "approval")) each_component(completer, "tool", offer_tool);
    if (shape_has(&shape, "document")) complete_documents(completer);
    if (shape_has(&shape, "file") || shape_has(&shape, "folder")) complete_files(completer, false);
    /* {file: NAME} in the place of a string. */
    if (!shape.found && cursor_step_is(cursor, cursor->depth - 1, "file")) complete_files(completer, false);
    shape_finish(&shape);
}

/* ---- Values of keys ---- */

static void complete_key_words(struct completer *completer, const struct document_key *key) {
    for (uint32_t i = 0; key->words && key->words[i]; i++) {
        const struct offer made = {.kind = COMPLETION_WORD,
                                   .label = key->words[i],
                                   .ordered = true,
                                   .deprecated = strcmp(key->words[i], "topic") == 0};
        if (!complete_is_listed(completer, made.label, strlen(made.label))) offer(completer, &made);
    }
    bool boolean = key->forms & KEY_BOOL && completer->meaning.cursor.quote == CURSOR_PLAIN;
    for (int truth = 1; boolean && truth >= 0; truth--) offer_json(completer, value_bool(truth), COMPLETION_WORD, NULL);
    if (!(key->forms & (KEY_DURATION | KEY_INTEGER | KEY_NUMBER)) || completer->prefix_length > 0) return;
    offer(completer, &(struct offer){.kind = COMPLETION_VALUE,
                                     .label = key->example,
                                     .detail = "example",
                                     .written = !completer->meaning.cursor.json || !(key->forms & KEY_DURATION)});
}

static void offer_reducers(struct completer *completer) {
    for (size_t i = 0; i < document_reducer_count(); i++) {
        const struct document_reducer *row = document_reducer_at(i);
        offer(completer, &(struct offer){.kind = COMPLETION_REDUCER,
                                         .label = row->name,
                                         .group = '4',
                                         .documentation = row->documentation,
                                         .ordered = true});
    }
    each_component(completer, "reducer", offer_reducer);
}

static bool offer_model_id(void *user, const struct component_info *component) {
    offer(user, &(struct offer){.kind = COMPLETION_MODEL,
                                .label = component->id,
                                .detail = component->title,
                                .documentation = component->documentation});
    return true;
}

/* The values that the channel's own schema lists; that of a list describes one item, not the default. */
static void complete_channel_default(struct completer *completer) {
    const struct cursor *cursor = &completer->meaning.cursor;
    struct cursor_text name;
    struct shape shape;
    meaning_sibling_text(cursor, cursor->depth - 1, "name", &name);
    const struct document_channel *channel = known_channel(completer->assist, name.text, name.length);
    shape_init(&shape);
    if (channel && channel->schema_value && channel->type != CHANNEL_APPEND && channel->reducer == REDUCER_NONE) {
        shape_add(&shape, channel->schema_value);
        offer_shape(completer, &shape);
    }
    shape_finish(&shape);
    cursor_text_finish(&name);
}

static void complete_key_value(struct completer *completer) {
    const struct document_key *key = completer->meaning.key;
    complete_key_words(completer, key);
    switch (key->key) {
    case KEY_NODE_TYPE: each_component(completer, "node", complete_node_type); break;
    case KEY_CHANNEL_DEFAULT:
        if (!completer->meaning.item) complete_channel_default(completer);
        break;
    case KEY_CHANNEL_REDUCER: offer_reducers(completer); break;
    case KEY_EDGE_FROM: offer_nodes(completer, true, false); break;
    case KEY_EDGE_TO:
    case KEY_EDGE_EMPTY:
    case KEY_CONDITION_TO:
    case KEY_ON_ERROR_TO: offer_nodes(completer, false, true); break;
    case KEY_MODELS:
        if (completer->meaning.item) each_component(completer, "model", offer_provider);
        break;
    case KEY_MODEL_PROVIDER: each_component(completer, "model", offer_model_id); break;
    case KEY_TOOL_NAME: each_component(completer, "tool", offer_tool); break;
    case KEY_TOOLS:
        if (completer->meaning.item) each_component(completer, "tool", offer_tool);
        break;
    case KEY_REQUIRES: {
        const struct catalog *catalog = completer->assist->world->catalog;
        bool can = completer->meaning.item && catalog && catalog->each_plugin;
        if (can) catalog->each_plugin(catalog->self, complete_plugin, completer);
        break;
    }
    default: break;
    }
}

void complete_value(struct completer *completer) {
    if (completer->meaning.kind == MEANING_VALUE) complete_key_value(completer);
    if (completer->meaning.kind == MEANING_CONFIG) complete_config_value(completer);
}
