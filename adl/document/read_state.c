/* read_state.c - declarations that nodes share: channels, roles of models, tools. */
#include "adl/document/config.h"
#include "adl/document/model_role.h"
#include "adl/document/reader.h"
#include "adl/document/reducers.h"
#include "adl/document/synonyms.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <string.h>

/* ---- Channels ---- */

bool channel_is_list(const struct document_channel *channel) {
    return channel->type == CHANNEL_APPEND || channel->reducer == REDUCER_UNION || channel->reducer == REDUCER_MESSAGES;
}

/* The kind of value that the channel always has; TN_DOUBLE: any number; TN_NONE: any kind. */
static int channel_kind(const struct document_channel *channel) {
    if (channel->type == CHANNEL_APPEND) return TN_ARRAY;
    for (size_t i = 0; i < document_reducer_count(); i++)
        if (document_reducer_at(i)->reducer == channel->reducer) return document_reducer_at(i)->kind;
    return TN_NONE;
}

static void report_reducer(struct reader *reader, struct span span, const char *text, size_t length) {
    struct nearest nearest;
    nearest_init(&nearest, text, length);
    for (size_t i = 0; i < document_reducer_count(); i++)
        nearest_add_candidate(&nearest, document_reducer_at(i)->name, strlen(document_reducer_at(i)->name));
    add_component_candidates(reader, "reducer", &nearest);
    if (!nearest_result(&nearest) && (reader->plugin_missing || !reader->catalog)) return;
    struct diagnostic *it = report(reader, ADL_E051, span,
                                   "unknown reducer `%.*s`; expected `sum`, `max`, `min`, `merge`, `union`, "
                                   "`messages`, or one that a plugin registers%s",
                                   length > 80 ? 80 : (int)length, text, missing_text(reader));
    const char *help = NULL;
    const char *meant = nearest_result(&nearest) ? NULL : word_synonym(KEY_CHANNEL_REDUCER, text, length, &help);
    if (meant) nearest = (struct nearest){.best = meant, .best_length = strlen(meant)};
    suggest_nearest(reader, it, span, &nearest);
    if (help) diagnostic_suggest(it, "%s", help);
}

static void read_reducer(struct reader *reader, const struct tree_item *item, struct document_channel *channel) {
    size_t length;
    const char *text = tree_text(reader->tree, item->node, &length);
    for (size_t i = 0; i < document_reducer_count(); i++) {
        const struct document_reducer *row = document_reducer_at(i);
        if (strlen(row->name) != length || memcmp(row->name, text, length) != 0) continue;
        channel->reducer = row->reducer;
        return;
    }
    const struct catalog *catalog = reader->catalog;
    const struct component_info *component = catalog ? catalog->find(catalog->self, "reducer", text, length) : NULL;
    use_scalar(reader, USE_REDUCER, 0, item->node, UINT32_MAX);
    channel->reducer = component ? REDUCER_COMPONENT : REDUCER_NONE;
    channel->reducer_component = component;
    if (!component) report_reducer(reader, item->node->span, text, length);
}

/* True if the default has the channel's own kind; the schema is checked afterwards. */
static bool default_kind_fits(struct reader *reader, const struct tree_node *node,
                              const struct document_channel *channel) {
    static const char *const expected[] = {[TN_DOUBLE] = "a number", [TN_ARRAY] = "a list", [TN_OBJECT] = "a mapping"};
    int kind = channel_kind(channel);
    bool fits = kind == TN_NONE || node->kind == kind || (kind == TN_DOUBLE && node->kind == TN_INT);
    if (!fits && node->kind != TREE_BROKEN)
        report(reader, ADL_E050, node->span, "the default of channel `%s` is not a %s; a channel of its type holds %s",
               value_chars(channel->name, NULL), expected[kind] + 2, expected[kind]);
    return fits;
}

/* The first item that is not a message is reported: the others are probably like it. */
static bool default_is_messages(struct reader *reader, const struct tree_node *node) {
    for (uint32_t i = 0; node->kind == TN_ARRAY && i < node->count; i++) {
        const struct tree_node *item = node->items[i].node;
        if (item->kind == TN_OBJECT || item->kind == TREE_BROKEN) continue;
        struct diagnostic *it = report(reader, ADL_E050, item->span, "`default[%u]`: found %s, expected a message", i,
                                       item->kind == TN_STRING ? "a text" : "no mapping");
        size_t length;
        const char *text = item->kind == TN_STRING ? tree_text(reader->tree, item, &length) : NULL;
        bool plain = text && length <= 60 && !memchr(text, '"', length) && !memchr(text, '\\', length);
        diagnostic_suggest(it, "write a message as {type: user, content: \"%.*s\"}", plain ? (int)length : 3,
                           plain ? text : "...");
        return false;
    }
    return true;
}

static void read_default(struct reader *reader, const struct tree_item *item, struct document_channel *channel) {
    const struct tree_node *node = item->node;
    if (!default_kind_fits(reader, node, channel)) return;
    if (channel->reducer == REDUCER_MESSAGES && !default_is_messages(reader, node)) return;
    tn_value of = value_format("channel `%s`", value_chars(channel->name, NULL));
    struct value_check check = {
        .schema = channel->schema,
        .node = node,
        .span = item->key_span,
        .path = "default",
        .of = value_chars(of, NULL),
        .missing = ADL_E050,
        .unknown = ADL_E050,
        .wrong = ADL_E050,
    };
    tn_value initial = NULL;
    if (!channel->schema) {
        initial = tree_to_value(node);
    } else if (!channel_is_list(channel)) {
        initial = check_value_take(reader, &check, tree_to_value(node), NULL, NULL);
    } else {
        initial = value_array_reserve(node->count);
        for (uint32_t i = 0; i < node->count; i++) {
            char path[32];
            snprintf(path, sizeof path, "default[%u]", i);
            check.node = node->items[i].node;
            check.span = check.node->span;
            check.path = path;
            initial = value_push_take(initial, check_value_take(reader, &check, tree_to_value(check.node), NULL, NULL));
        }
    }
    value_unref(channel->initial);
    channel->initial = initial;
    channel->has_initial = true;
    value_unref(of);
}

static tn_value own_initial(const struct document_channel *channel) {
    switch (channel_kind(channel)) {
    case TN_ARRAY: return value_array();
    case TN_OBJECT: return value_object();
    case TN_DOUBLE: return value_int(0);
    default: return value_null();
    }
}

static void read_channel_type(struct reader *reader, const struct keys *slots, struct document_channel *channel) {
    static const enum channel_type types[] = {CHANNEL_LAST_VALUE, CHANNEL_APPEND, CHANNEL_REDUCE, CHANNEL_EPHEMERAL,
                                              CHANNEL_APPEND};
    const struct tree_item *type = slots->items[KEY_CHANNEL_TYPE], *reducer = slots->items[KEY_CHANNEL_REDUCER];
    channel->type_unread = !type;
    if (!type) return;
    channel->type = types[read_word(reader, KEY_CHANNEL_TYPE, type->node)];
    if (channel->type == CHANNEL_REDUCE && reducer) {
        read_reducer(reader, reducer, channel);
    } else if (channel->type == CHANNEL_REDUCE && slots->whole) {
        struct diagnostic *it = report(reader, ADL_E051, type->node->span,
                                       "channel `%s` is of type `reduce` and has no `reducer`; expected `sum`, `max`, "
                                       "`min`, `merge`, `union`, `messages`, or one that a plugin registers",
                                       value_chars(channel->name, NULL));
        diagnostic_suggest(it, "for example `reducer: union`");
    } else if (reducer && channel->type != CHANNEL_REDUCE) {
        struct diagnostic *it =
            report(reader, ADL_E051, reducer->key_span, "channel `%s` has a `reducer`, but its type is not `reduce`",
                   value_chars(channel->name, NULL));
        diagnostic_suggest(it, "write `type: reduce`, or remove the reducer");
    }
}

/* Adds the channel, unless its name exists. */
static void add_channel(struct reader *reader, const struct tree_item *name, struct document_channel *channel) {
    struct document *document = reader->document;
    size_t length;
    const char *text = value_chars(channel->name, &length);
    uint32_t index = names_add(&reader->whole->fields, text, length);
    use_scalar(reader, USE_CHANNEL, USE_DEFINES, name->node, UINT32_MAX);
    if (index == document->channel_count) {
        document->channels[document->channel_count++] = *channel;
        return;
    }
    struct diagnostic *it = report(reader, ADL_E049, name->node->span, "two channels have the name `%s`", text);
    diagnostic_relate(it, reader->source, document->channels[index].name_span, "the first one");
    value_unref(channel->name);
    value_unref(channel->initial);
    value_unref(channel->schema_value);
    schema_unref(channel->schema);
}

static void read_channel(struct reader *reader, const struct tree_node *node) {
    struct keys slots;
    struct document_channel channel = {.span = node->span};
    if (!keys_read(reader, KEYS_CHANNEL, node, node->span, &slots)) reader->channels_whole = false;
    const struct tree_item *name = slots.items[KEY_CHANNEL_NAME], *schema = slots.items[KEY_CHANNEL_SCHEMA];
    const struct tree_item *initial = slots.items[KEY_CHANNEL_DEFAULT];
    if (!name || !read_name(reader, "`name`", name->node, &channel.name)) {
        reader->channels_whole = false;
        if (!name) return;
        channel.name = value_text("");
    }
    channel.name_span = name->node->span;
    read_channel_type(reader, &slots, &channel);
    bool schema_wrong = schema && !read_schema(reader, schema, &channel.schema_value, &channel.schema);
    if (initial && slots.items[KEY_CHANNEL_TYPE] && !schema_wrong) read_default(reader, initial, &channel);
    if (!channel.initial) channel.initial = own_initial(&channel);
    add_channel(reader, name, &channel);
}

void read_channels(struct reader *reader, const struct tree_item *item) {
    uint32_t count = item ? read_count(reader, "channels", item->node, DOCUMENT_CHANNELS_MAX) : 0;
    if (item && count < item->node->count) reader->channels_whole = false;
    /* One more for the channel `error`. */
    reader->document->channels = mem_zalloc((count + 1u) * sizeof *reader->document->channels);
    for (uint32_t i = 0; i < count; i++) read_channel(reader, item->node->items[i].node);
}

void read_error_channel(struct reader *reader) {
    struct document *document = reader->document;
    bool wanted = false;
    for (uint32_t i = 0; i < document->node_count && !wanted; i++) wanted = reader->notes[i].on_error != NULL;
    if (!wanted || names_find(&reader->whole->fields, "error", 5) >= 0) return;
    struct document_channel *channel = &document->channels[document->channel_count];
    *channel = (struct document_channel){
        .name = value_text("error"), .type = CHANNEL_EPHEMERAL, .initial = value_array(), .implicit = true};
    names_add(&reader->whole->fields, value_chars(channel->name, NULL), 5);
    document->channel_count++;
}

/* ---- Models ---- */

struct binding_files {
    struct reader *reader;
    const struct tree_node *node; /* the mapping */
    bool tell;                    /* report unreadable files; the options are walked twice */
    tn_value pointers;            /* owned array: where the files are named; NULL if not needed */
};

static enum value_stand_in binding_stand_in(void *self, const char *pointer) {
    const struct binding_files *files = self;
    for (size_t i = 0; i < value_count(files->pointers); i++)
        if (value_text_is(value_at(files->pointers, i), pointer)) return STAND_IN_FILE;
    return STAND_IN_NONE;
}

static void tell_binding_file(const struct binding_files *files, const char *pointer, const char *path) {
    const struct tree_item *item = NULL;
    const struct tree_node *name = tree_get(find_pointer(files->node, pointer, &item), "file");
    const struct config_use use = {.node = UINT32_MAX, .scalar = name};
    if (name) use_in_config(files->reader, &use, USE_FILE, 0, path);
}

static tn_value binding_file(void *self, const char *pointer, const char *kind, tn_value name) {
    struct binding_files *files = self;
    const struct catalog *catalog = files->reader->catalog;
    if (strcmp(kind, "file") != 0 || !catalog->read) return NULL; /* the host resolves secrets */
    size_t length;
    const char *file = value_chars(name, &length);
    struct catalog_file found = {NULL, NULL};
    struct error error = ERROR_INIT;
    tn_value text = read_named_file(files->reader, file, length, &found, &error);
    if (!text && files->tell)
        report(files->reader, ADL_E063, files->node->span, "the file `%.200s` cannot be read: %s", file, error.message);
    if (files->tell) tell_binding_file(files, pointer, found.path);
    if (files->pointers) files->pointers = value_push_take(files->pointers, value_text(pointer));
    catalog_file_finish(&found);
    error_finish(&error);
    return text ? text : value_text("");
}

/* Returns the options with `{file: …}` replaced by the texts of the files. */
static tn_value with_files_take(const struct component_info *component, tn_value options, struct binding_files *files) {
    if (!component || !component->config) return options;
    return config_resolve_take(component->config, options, binding_file, files);
}

/* Checks the options of a mapping, which are the provider's configuration. */
static void check_options(struct reader *reader, const struct tree_node *node, const char *provider,
                          const struct component_info *component, const char *role) {
    tn_value of = value_format("model `%s`", role), type = value_format("provider `%s`", provider);
    tn_value options = tree_to_value(node);
    for (size_t i = 0; model_role_members[i]; i++) /* the host reads these */
        options = value_remove_take(options, value_text(model_role_members[i]));
    struct binding_files files = {reader, node, true, value_array()};
    options = with_files_take(component, options, &files);
    struct value_check check = {
        .schema = component->config,
        .node = node,
        .span = node->span,
        .path = "",
        .of = value_chars(of, NULL),
        .type = value_chars(type, NULL),
        .partial = true, /* a node that names the role adds options */
        .missing = ADL_E032,
        .unknown = ADL_E033,
        .wrong = ADL_E034,
    };
    value_unref(check_value_take(reader, &check, options, binding_stand_in, &files));
    value_unref(files.pointers);
    value_unref(of);
    value_unref(type);
}

/* True for `{openai:gpt-4o}`, which YAML reads as a key without a value. */
static bool is_text_in_braces(const struct tree_node *node) {
    if (node->kind != TN_OBJECT || node->count != 1 || node->items[0].node->kind != TN_NULL) return false;
    size_t length;
    const char *key = value_chars(node->items[0].key, &length);
    return memchr(key, ':', length) != NULL;
}

/* The key of `models` that the text names, without a model: the role is bound to what that role is bound to. */
static const struct tree_item *bound_role(const struct reader *reader, const struct tree_node *models,
                                          const struct tree_node *node) {
    size_t length;
    const char *text = tree_text(reader->tree, node, &length);
    return text && !memchr(text, ':', length) ? tree_find_n(models, text, length) : NULL;
}

/* `basic: default` in `models`. Returns false if the binding does not name a role of the document. */
static bool read_bound_role(struct reader *reader, const struct tree_node *models, const struct tree_item *entry) {
    const struct tree_item *other = bound_role(reader, models, entry->node);
    if (!other) return false;
    const char *role = value_chars(entry->key, NULL), *name = value_chars(other->key, NULL);
    if (other == entry)
        report(reader, ADL_E055, entry->node->span, "model `%s` is bound to itself; expected `provider:model`", role);
    else if (bound_role(reader, models, other->node))
        report(reader, ADL_E055, entry->node->span,
               "model `%s` is bound to the role `%s`, which is bound to a role, too; expected one that is bound to a "
               "model",
               role, name);
    return true;
}

static void read_fallbacks(struct reader *reader, const struct tree_node *node, const char *role, bool nested);

/* Checks the keys of a mapping inside of a binding; other forms have been checked. Returns false if one is wrong. */
static bool read_inner_keys(struct reader *reader, const struct tree_item *item, enum keys_mapping mapping) {
    struct keys slots;
    if (!item || item->node->kind != TN_OBJECT) return true;
    return keys_read(reader, mapping, item->node, item->node->span, &slots) && slots.whole;
}

/* Checks the values that keys.def does not describe: ranges, and the codes of `fallback.on`. */
static void check_role_values(struct reader *reader, const struct tree_node *node, const char *name) {
    struct model_role role = MODEL_ROLE_INIT;
    struct error error = ERROR_INIT;
    tn_value value = tree_to_value(node);
    if (model_role_read(value, &role, &error) != TN_OK)
        report(reader, ADL_E055, node->span, "model `%s`: %s", name, error.message);
    error_finish(&error);
    value_unref(value);
}

/* `{models: […], …}` */
static void read_role(struct reader *reader, const struct tree_node *node, const char *role) {
    struct keys slots;
    size_t before = diagnostics_count(reader->found);
    if (!keys_read(reader, KEYS_MODEL_ROLE, node, node->span, &slots)) return;
    const struct tree_item *models = slots.items[KEY_MODEL_ROLE_MODELS];
    bool whole = slots.whole && read_inner_keys(reader, slots.items[KEY_MODEL_ROLE_RETRY], KEYS_MODEL_RETRY);
    whole = read_inner_keys(reader, slots.items[KEY_MODEL_ROLE_FALLBACK], KEYS_MODEL_FALLBACK) && whole;
    whole = read_inner_keys(reader, slots.items[KEY_MODEL_ROLE_CACHE], KEYS_MODEL_CACHE) && whole;
    if (models && models->node->kind == TN_ARRAY) read_fallbacks(reader, models->node, role, true);
    if (whole && diagnostics_count(reader->found) == before) check_role_values(reader, node, role);
}

static bool is_role_mapping(const struct tree_node *node) {
    return node->kind == TN_OBJECT && tree_get(node, "models") && !tree_get(node, "provider");
}

/* Reads one binding: a string or a mapping. `fallback`: it is one of several. */
static void read_binding(struct reader *reader, const struct tree_node *node, const char *role, bool fallback) {
    size_t length;
    const char *text = tree_text(reader->tree, node, &length);
    if (text) {
        use_provider(reader, node, UINT32_MAX);
        check_provider(reader, text, length, node->span, fallback);
        return;
    }
    struct keys slots;
    if (is_text_in_braces(node)) {
        text = value_chars(node->items[0].key, &length);
        struct diagnostic *it =
            report(reader, ADL_E055, node->span,
                   "model `%s` is bound to a mapping without `provider`; expected `provider:model`, a "
                   "mapping with `provider`, or a list of those",
                   role);
        diagnostic_suggest(it, "write it without braces: %s: %.*s", role, length > 80 ? 80 : (int)length, text);
        return;
    }
    if (node->kind == TN_OBJECT) {
        check_placeholders(reader, node);
        size_t before = diagnostics_count(reader->found);
        if (!keys_read(reader, KEYS_MODEL, node, node->span, &slots) || !slots.items[KEY_MODEL_PROVIDER]) return;
        bool whole = read_inner_keys(reader, slots.items[KEY_MODEL_RETRY], KEYS_MODEL_RETRY);
        whole = read_inner_keys(reader, slots.items[KEY_MODEL_CACHE], KEYS_MODEL_CACHE) && whole;
        if (whole && diagnostics_count(reader->found) == before) check_role_values(reader, node, role);
        const struct tree_node *provider = slots.items[KEY_MODEL_PROVIDER]->node;
        text = tree_text(reader->tree, provider, &length);
        use_provider(reader, provider, UINT32_MAX);
        if (!check_provider(reader, text, length, provider->span, fallback) || !reader->catalog) return;
        const struct component_info *component = reader->catalog->find(reader->catalog->self, "model", text, length);
        tn_value name = value_string(text, length);
        if (component && component->config) check_options(reader, node, value_chars(name, NULL), component, role);
        value_unref(name);
        return;
    }
    if (node->kind == TREE_BROKEN) return;
    struct diagnostic *it = report(reader, ADL_E055, node->span,
                                   "model `%s` is bound to %s; expected `provider:model`, a "
                                   "mapping with `provider`, or a list of those",
                                   role, node->kind == TN_ARRAY ? "a list within a list" : value_kind_name(node->kind));
    diagnostic_suggest(it, "for example `%s: openai:gpt-4o-mini`", role);
}

static const struct component_info *provider_of(const struct reader *reader, const struct tree_node *node) {
    const struct tree_node *provider = node->kind == TN_OBJECT ? tree_get(node, "provider") : NULL;
    size_t length;
    const char *text = provider ? tree_text(reader->tree, provider, &length) : NULL;
    if (!text || !reader->catalog) return NULL;
    return reader->catalog->find(reader->catalog->self, "model", text, length);
}

static tn_value binding_value(struct reader *reader, const struct tree_node *node) {
    tn_value text = read_text(reader, node);
    if (text) return text;
    struct binding_files files = {reader, node, false, NULL};
    if (is_role_mapping(node))
        return value_set_take(tree_to_value(node), "models", binding_value(reader, tree_get(node, "models")));
    if (node->kind != TN_ARRAY) return with_files_take(provider_of(reader, node), tree_to_value(node), &files);
    tn_value list = value_array_reserve(node->count);
    for (uint32_t i = 0; i < node->count; i++) list = value_push_take(list, binding_value(reader, node->items[i].node));
    return list;
}

/* True if a provider of the list is available. */
static bool any_provider_known(struct reader *reader, const struct tree_node *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        const struct tree_node *one = list->items[i].node;
        const struct tree_node *provider = one->kind == TN_OBJECT ? tree_get(one, "provider") : one;
        size_t length;
        const char *text = provider ? tree_text(reader->tree, provider, &length) : NULL;
        if (one->kind == TN_ARRAY ? any_provider_known(reader, one) : text && provider_known(reader, text, length))
            return true;
    }
    return false;
}

/* `nested`: an item may be a list of deployments. */
static void read_fallbacks(struct reader *reader, const struct tree_node *node, const char *role, bool nested) {
    bool any = !reader->catalog || reader->plugin_missing || any_provider_known(reader, node);
    if (node->count == 0)
        report(reader, ADL_E055, node->span,
               "model `%s` is bound to an empty list; expected `provider:model`, a mapping "
               "with `provider`, or a list of those",
               role);
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_node *item = node->items[i].node;
        if (nested && item->kind == TN_ARRAY)
            read_fallbacks(reader, item, role, false);
        else
            read_binding(reader, item, role, any);
    }
}

void read_models(struct reader *reader, const struct tree_item *item) {
    struct document *document = reader->document;
    if (!item) return;
    uint32_t count = read_count(reader, "models", item->node, DOCUMENT_MODELS_MAX);
    document->models = mem_zalloc((count + 1u) * sizeof *document->models);
    for (uint32_t i = 0; i < count; i++) {
        const struct tree_item *entry = &item->node->items[i];
        size_t length;
        const char *role = value_chars(entry->key, &length);
        if (length >= 2 && role[0] == 'x' && role[1] == '-') continue;
        if (length == 0 || length > DOCUMENT_NAME_MAX) {
            report(reader, ADL_E028, entry->key_span, "the role has %zu bytes; expected 1 to %u", length,
                   DOCUMENT_NAME_MAX);
            continue;
        }
        struct document_model *model = &document->models[document->model_count++];
        *model = (struct document_model){value_ref(entry->key), binding_value(reader, entry->node), entry->node->span,
                                         entry->key_span};
        role = value_chars(model->role, &length);
        names_add(&reader->whole->models, role, length);
        use_key(reader, USE_ROLE, USE_DEFINES, entry, UINT32_MAX);
        const struct catalog *catalog = reader->catalog;
        if (catalog && catalog->role_bound && catalog->role_bound(catalog->role_self, role, length)) continue;
        if (read_bound_role(reader, item->node, entry)) continue;
        if (entry->node->kind == TN_ARRAY)
            read_fallbacks(reader, entry->node, role, false);
        else if (is_role_mapping(entry->node))
            read_role(reader, entry->node, role);
        else
            read_binding(reader, entry->node, role, false);
    }
}

/* ---- Tools ---- */

static void check_tool_pattern(struct reader *reader, const struct document_tool *tool, struct span span) {
    size_t length;
    const char *text = value_chars(tool->pattern, &length);
    check_tool_name(reader, text, length, span, 0, NULL);
    if (!value_text_is(value_get(tool->options, "approval"), "deny")) check_tool_key(reader, text, length, span);
}

static void read_tool(struct reader *reader, const struct tree_node *node) {
    struct document *document = reader->document;
    struct document_tool *tool = &document->tools[document->tool_count];
    *tool = (struct document_tool){.span = node->span};
    struct span span = node->span;
    if (tree_text(reader->tree, node, NULL)) {
        if (!read_name(reader, "the name of a tool", node, &tool->pattern)) return;
        use_scalar(reader, USE_TOOL, 0, node, UINT32_MAX);
        tool->options = value_object();
    } else {
        struct keys slots;
        if (!keys_read(reader, KEYS_TOOL, node, node->span, &slots) || !slots.items[KEY_TOOL_NAME]) {
            reader->tools_whole = false;
            return;
        }
        const struct tree_node *name = slots.items[KEY_TOOL_NAME]->node;
        if (!read_name(reader, "`name`", name, &tool->pattern)) return;
        use_scalar(reader, USE_TOOL, 0, name, UINT32_MAX);
        span = name->span;
        tn_value key = value_text("name");
        tool->options = value_remove_take(tree_to_value(node), key);
    }
    document->tool_count++;
    check_tool_pattern(reader, tool, span);
}

void read_tools(struct reader *reader, const struct tree_item *item) {
    struct document *document = reader->document;
    if (!item) return;
    document->tools_given = true;
    uint32_t count = read_count(reader, "tools", item->node, DOCUMENT_TOOLS_MAX);
    document->tools = mem_zalloc((count + 1u) * sizeof *document->tools);
    for (uint32_t i = 0; i < count; i++) read_tool(reader, item->node->items[i].node);
}
