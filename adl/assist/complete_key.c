/*
 * complete_key.c - keys of mappings, and whole items where one may start.
 */
#include "adl/assist/complete_internal.h"
#include "adl/assist/keyword.h"
#include "adl/schema/schema.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include "adl/value/pointer.h"
#include <string.h>

#define SIBLINGS_MAX   256u  /* keys of the mapping that are not offered again */
#define PROPERTIES_MAX 2000u /* members of schemas that are offered */

/* The form of the value that follows a new key. */
enum value_form { VALUE_OTHER, VALUE_TEXT, VALUE_MAPPING, VALUE_LIST, VALUE_ITEMS };

/* ---- How a key is written ---- */

/* The column of the keys of the mapping at the cursor. */
static int key_column(const struct completer *completer) {
    const struct cursor *cursor = &completer->meaning.cursor;
    uint32_t line = cursor_line_of(cursor->source, cursor->span.start);
    if (cursor->kind == CURSOR_KEY) return (int)cursor->steps[cursor->depth - 1].column;
    return (int)(cursor->span.start - source_line_span(cursor->source, line).start) + 2 * cursor->dash + cursor->space;
}

static void write_key_value(const struct completer *completer, enum value_form form, struct buffer *out) {
    const struct cursor *cursor = &completer->meaning.cursor;
    int indent = key_column(completer) + 2;
    if (cursor->json || cursor->flow) {
        const char *values[] = {[VALUE_OTHER] = "",
                                [VALUE_TEXT] = cursor->json ? "\"$1\"" : "",
                                [VALUE_MAPPING] = "{$1\\}",
                                [VALUE_LIST] = "[$1]",
                                [VALUE_ITEMS] = "[{$1\\}]"};
        buffer_format(out, ": %s", values[form]);
        return;
    }
    switch (form) {
    case VALUE_MAPPING: buffer_format(out, ":\n%*s$0", indent, ""); break;
    case VALUE_ITEMS: buffer_format(out, ":\n%*s- $0", indent, ""); break;
    case VALUE_LIST: buffer_text(out, ": [$1]"); break;
    default: buffer_text(out, ": "); break;
    }
}

struct key_offer {
    const char *name;
    size_t length;
    enum value_form form;
    const char *detail, *documentation;
    bool required, deprecated, by_name;
    char group; /* 0: that of required or of other keys */
};

static void offer_key(struct completer *completer, const struct key_offer *key) {
    const struct cursor *cursor = &completer->meaning.cursor;
    if (!offer_fits(completer, key->name, key->length)) return;
    struct buffer snippet, name;
    buffer_init(&snippet, SIZE_MAX);
    buffer_init(&name, SIZE_MAX);
    complete_write_value(completer, key->name, key->length, &name);
    if (cursor->kind == CURSOR_VALUE && cursor->dash) buffer_text(&snippet, "- ");
    complete_write_escaped(&snippet, buffer_cstr(&name), name.length);
    bool value = !(cursor->kind == CURSOR_KEY && cursor->colon);
    bool quoted = cursor->quote == CURSOR_DOUBLE || cursor->quote == CURSOR_SINGLE;
    struct span before = completer->span;
    if (value && quoted) { /* the closing quote is replaced, because the colon follows it */
        buffer_char(&snippet, cursor->quote == CURSOR_DOUBLE ? '"' : '\'');
        completer->span.end = cursor->span.end;
    }
    if (value) write_key_value(completer, key->form, &snippet);
    const struct offer made = {.kind = COMPLETION_KEY,
                               .label = key->name,
                               .label_length = key->length,
                               .detail = key->detail,
                               .documentation = key->documentation,
                               .snippet = buffer_cstr(&snippet),
                               .group = key->group      ? key->group
                                        : key->required ? '1'
                                                        : '3',
                               .ordered = !key->by_name,
                               .written = true,
                               .deprecated = key->deprecated,
                               .again = value};
    offer(completer, &made);
    completer->span = before;
    buffer_finish(&snippet);
    buffer_finish(&name);
}

/* ---- The keys that are there ---- */

struct present {
    const char *text;
    struct span keys[SIBLINGS_MAX];
    uint32_t count;
};

static bool add_present(void *user, const struct cursor_entry *entry) {
    struct present *present = user;
    if (present->count < SIBLINGS_MAX) present->keys[present->count++] = entry->key;
    return present->count < SIBLINGS_MAX;
}

static void find_present(const struct completer *completer, struct present *present) {
    const struct cursor *cursor = &completer->meaning.cursor;
    present->text = source_text(cursor->source);
    present->count = 0;
    if (cursor->kind == CURSOR_KEY) cursor_each_sibling(cursor, cursor->depth - 1, add_present, present);
}

static bool is_present(const struct present *present, const char *name, size_t length) {
    for (uint32_t i = 0; i < present->count; i++)
        if (present->keys[i].end - present->keys[i].start == length &&
            memcmp(present->text + present->keys[i].start, name, length) == 0)
            return true;
    return false;
}

bool complete_is_present(const struct completer *completer, const char *key, size_t length) {
    return completer->present && is_present(completer->present, key, length);
}

/* ---- Rows of keys.def ---- */

static enum value_form row_form(const struct document_key *row) {
    if (row->key == KEY_NODE_CONFIG || row->forms & (KEY_NAMES | KEY_SCHEMA)) return VALUE_MAPPING;
    if (row->forms & KEY_TEXT) return row->forms & KEY_LIST ? VALUE_OTHER : VALUE_TEXT;
    if (row->forms & KEY_DURATION) return VALUE_OTHER;
    if (row->forms & KEY_MAPPING) return VALUE_MAPPING;
    if (row->forms & KEY_LIST) return row->forms & KEY_TEXTS ? VALUE_LIST : VALUE_ITEMS;
    return VALUE_OTHER;
}

/* Keys that only one word of `type` uses: they come first with this word, and last with another one. */
static char row_group(const struct document_key *row, const struct cursor_text *type) {
    static const struct {
        enum key key;
        const char *type;
    } needs[] = {{KEY_EDGE_CONDITIONS, "conditional"},
                 {KEY_EDGE_OVER, "map"},
                 {KEY_EDGE_AS, "map"},
                 {KEY_EDGE_EMPTY, "map"},
                 {KEY_CHANNEL_REDUCER, "reduce"}};
    for (size_t i = 0; type->length > 0 && i < sizeof needs / sizeof *needs; i++)
        if (needs[i].key == row->key) return strcmp(needs[i].type, type->text) == 0 ? '2' : '4';
    return 0;
}

static void offer_rows(struct completer *completer, enum keys_mapping in, const struct present *present) {
    const struct document_mapping *mapping = document_mapping(in);
    const struct cursor *cursor = &completer->meaning.cursor;
    struct cursor_text type = {0};
    bool typed = cursor->kind == CURSOR_KEY && (in == KEYS_EDGE || in == KEYS_CHANNEL);
    if (typed) meaning_sibling_text(cursor, cursor->depth - 1, "type", &type);
    for (int required = 1; required >= 0; required--)
        for (uint32_t i = 0; i < mapping->key_count; i++) {
            const struct document_key *row = &mapping->keys[i];
            size_t length = strlen(row->name);
            if (row->required != required || is_present(present, row->name, length)) continue;
            struct buffer documentation;
            buffer_init(&documentation, SIZE_MAX);
            buffer_format(&documentation, "%s\n\nExample: `%s: %s`", row->documentation, row->name, row->example);
            const struct key_offer key = {.name = row->name,
                                          .length = length,
                                          .form = row_form(row),
                                          .detail = row->required ? "required" : NULL,
                                          .documentation = buffer_cstr(&documentation),
                                          .required = row->required,
                                          .group = row_group(row, &type)};
            offer_key(completer, &key);
            buffer_finish(&documentation);
        }
    cursor_text_finish(&type);
}

/* ---- Members of configs ---- */

struct members_offer {
    struct completer *completer;
    const struct present *present;
    const struct schema *schema; /* the schema of the members … */
    tn_value instance;           /* … for this value */
    const char *pointer;         /* of the mapping */
    tn_value required, seen;     /* objects: sets of names */
    uint32_t count;
};

static void collect_required(void *user, tn_value schema) {
    struct members_offer *members = user;
    tn_value required = value_get(schema, "required");
    for (size_t i = 0; value_is(required, TN_ARRAY) && i < value_count(required); i++)
        if (value_is(value_at(required, i), TN_STRING))
            members->required =
                value_set_key_take(members->required, value_ref(value_at(required, i)), value_bool(true));
}

static enum value_form shape_form(const struct shape *shape) {
    uint32_t kinds = shape->kinds;
    if (kinds == 1u << TN_OBJECT) return VALUE_MAPPING;
    if (kinds == 1u << TN_ARRAY) return VALUE_LIST;
    return kinds == 1u << TN_STRING ? VALUE_TEXT : VALUE_OTHER;
}

static void offer_member(struct members_offer *members, tn_value name) {
    struct completer *completer = members->completer;
    size_t length;
    const char *text = value_chars(name, &length);
    if (is_present(members->present, text, length) || !offer_fits(completer, text, length)) return;
    struct buffer pointer, type;
    struct shape shape;
    buffer_init(&pointer, SIZE_MAX);
    buffer_init(&type, 256);
    buffer_text(&pointer, members->pointer);
    pointer_append_key(&pointer, text, length);
    shape_init(&shape);
    schema_at(members->schema, members->instance, buffer_cstr(&pointer), shape_add, &shape);
    shape_write_type(&shape, &type);
    bool required = value_get_key(members->required, name) != NULL;
    if (required) buffer_text(&type, ", required");
    const struct key_offer key = {.name = text,
                                  .length = length,
                                  .form = shape_form(&shape),
                                  .detail = buffer_cstr(&type),
                                  .documentation = shape.description,
                                  .required = required,
                                  .deprecated = shape.deprecated};
    offer_key(completer, &key);
    shape_finish(&shape);
    buffer_finish(&pointer);
    buffer_finish(&type);
}

static void offer_properties(void *user, tn_value schema) {
    struct members_offer *members = user;
    tn_value properties = value_get(schema, "properties");
    for (size_t i = 0; value_is(properties, TN_OBJECT) && i < value_count(properties); i++) {
        tn_value name = value_key_at(properties, i);
        if (value_get_key(members->seen, name) || members->count++ >= PROPERTIES_MAX) continue;
        members->seen = value_set_key_take(members->seen, value_ref(name), value_bool(true));
        if (value_value_at(properties, i) != value_bool(false)) offer_member(members, name);
    }
}

/* Offers the members that a schema allows in the mapping at `pointer`. */
static void offer_members(struct completer *completer, const struct present *present, const struct schema *schema,
                          tn_value instance, const char *pointer) {
    struct members_offer members = {completer, present, schema, instance, pointer, value_object(), value_object(), 0};
    schema_at(schema, instance, pointer, collect_required, &members);
    schema_at(schema, instance, pointer, offer_properties, &members);
    value_unref(members.required);
    value_unref(members.seen);
}

struct role_keys {
    struct completer *completer;
    const struct present *present;
};

static void offer_role_key(void *user, const struct known_role *role) {
    const struct role_keys *keys = user;
    const struct key_offer key = {.name = role->name,
                                  .length = strlen(role->name),
                                  .form = VALUE_OTHER,
                                  .detail = role->model,
                                  .documentation = "A role that a document uses, or that is bound elsewhere."};
    bool other = key.length > 0 && strcmp(role->name, "default") != 0; /* the schema has `default` */
    if (other && !is_present(keys->present, key.name, key.length)) offer_key(keys->completer, &key);
}

static void offer_config_keys(struct completer *completer, const struct present *present) {
    const struct meaning *meaning = &completer->meaning;
    if (!meaning->component) return;
    offer_members(completer, present, meaning->component->config, meaning->instance, buffer_cstr(&meaning->pointer));
    if (meaning_has_annotation(meaning, true, "channel-read") || meaning_has_annotation(meaning, true, "channel-write"))
        complete_channels(completer, true);
    struct role_keys roles = {completer, present};
    if (meaning_has_annotation(meaning, true, "role")) known_each_role(completer->assist, offer_role_key, &roles);
    if (meaning_has_annotation(meaning, true, "node")) complete_node_keys(completer);
    const struct document *inner = meaning_inner_document(meaning);
    if (inner) complete_inner_channels(completer, inner, true);
    const struct component_info *tool = meaning_tool(meaning);
    if (tool && tool->input) offer_members(completer, present, tool->input, value_object(), "");
}

/* ---- JSON Schemas ---- */

static void offer_keywords(struct completer *completer, const struct present *present) {
    static const enum value_form forms[] = {
        [KEYWORD_OTHER] = VALUE_OTHER,   [KEYWORD_TEXT] = VALUE_TEXT, [KEYWORD_SCHEMA] = VALUE_MAPPING,
        [KEYWORD_NAMES] = VALUE_MAPPING, [KEYWORD_LIST] = VALUE_LIST, [KEYWORD_SCHEMAS] = VALUE_ITEMS};
    if (!keyword_place(&completer->meaning)) return;
    const struct schema_keyword *row;
    for (size_t i = 0; (row = schema_keyword_at(i)); i++) {
        const struct key_offer key = {.name = row->name,
                                      .length = strlen(row->name),
                                      .form = forms[row->form],
                                      .documentation = row->documentation};
        if (!is_present(present, key.name, key.length)) offer_key(completer, &key);
    }
}

static void offer_schema_values(struct completer *completer) {
    static const char *const types[] = {"string", "number", "integer", "boolean", "array", "object", "null"};
    static const char *const flags[] = {"additionalProperties", "uniqueItems", "deprecated"};
    const struct cursor *cursor = &completer->meaning.cursor;
    uint32_t last = cursor->depth - 1, of = cursor->steps[last].key ? last : last - 1;
    if (last <= completer->meaning.config_step) return;
    for (size_t i = 0; cursor_step_is(cursor, of, "type") && i < sizeof types / sizeof *types; i++)
        offer(completer, &(struct offer){.kind = COMPLETION_WORD, .label = types[i], .ordered = true});
    for (size_t i = 0; cursor->quote == CURSOR_PLAIN && i < sizeof flags / sizeof *flags; i++) {
        if (!cursor_step_is(cursor, last, flags[i])) continue;
        offer(completer, &(struct offer){.kind = COMPLETION_WORD, .label = "true", .written = true, .ordered = true});
        offer(completer, &(struct offer){.kind = COMPLETION_WORD, .label = "false", .written = true, .ordered = true});
    }
}

/* ---- Whole items ---- */

/* Lines in block style, each with the indentation of the item's keys in front; and the same in brackets. */
static const struct {
    enum key of;
    const char *label, *block, *flow, *json;
} templates[] = {
    {KEY_NODES, "new node", "id: ${1:name}\ntype: $0", "{id: ${1:name}, type: $0\\}",
     "{\"id\": \"${1:name}\", \"type\": \"$0\"\\}"},
    {KEY_EDGES, "new edge", "{from: ${1:START}, to: ${2:END}\\}", "{from: ${1:START}, to: ${2:END}\\}",
     "{\"from\": \"${1:START}\", \"to\": \"${2:END}\"\\}"},
    {KEY_EDGES, "new conditional edge",
     "from: ${1:node}\ntype: conditional\nconditions:\n  - {expression: ${2:state.}, to: ${3:node}\\}\n"
     "  - {expression: default, to: ${4:END}\\}",
     NULL, NULL},
    {KEY_EDGES, "new map edge", "{from: ${1:node}, type: map, over: ${2:state.}, as: ${3:item}, to: ${4:node}\\}",
     "{from: ${1:node}, type: map, over: ${2:state.}, as: ${3:item}, to: ${4:node}\\}", NULL},
    {KEY_CHANNELS, "new channel", "{name: ${1:name}, type: ${2|last_value,append,reduce,ephemeral|}\\}",
     "{name: ${1:name}, type: ${2|last_value,append,reduce,ephemeral|}\\}",
     "{\"name\": \"${1:name}\", \"type\": \"${2|last_value,append,reduce,ephemeral|}\"\\}"},
    {KEY_EDGE_CONDITIONS, "new condition", "{expression: ${1:state.}, to: ${2:END}\\}",
     "{expression: ${1:state.}, to: ${2:END}\\}", "{\"expression\": \"${1:state.}\", \"to\": \"${2:END}\"\\}"},
    {KEY_EDGE_CONDITIONS, "otherwise", "{expression: default, to: ${1:END}\\}", "{expression: default, to: ${1:END}\\}",
     "{\"expression\": \"default\", \"to\": \"${1:END}\"\\}"},
};

static const char skeleton[] = "version: \"1.0\"\n"
                               "agent: {name: ${1:agent}\\}\n"
                               "models:\n"
                               "  default: ${2:openai:gpt-5-mini}\n"
                               "channels:\n"
                               "  - {name: messages, type: reduce, reducer: messages\\}\n"
                               "nodes:\n"
                               "  - id: ${3:answer}\n"
                               "    type: ${4:llm}\n"
                               "edges:\n"
                               "  - {from: START, to: ${3:answer}\\}\n"
                               "  - {from: ${3:answer}, to: END\\}\n";

static const char json_skeleton[] = "{\n"
                                    "  \"version\": \"1.0\",\n"
                                    "  \"agent\": {\"name\": \"${1:agent}\"\\},\n"
                                    "  \"models\": {\"default\": \"${2:openai:gpt-5-mini}\"\\},\n"
                                    "  \"channels\": [{\"name\": \"messages\", \"type\": \"reduce\", \"reducer\": "
                                    "\"messages\"\\}],\n"
                                    "  \"nodes\": [{\"id\": \"${3:answer}\", \"type\": \"${4:llm}\"\\}],\n"
                                    "  \"edges\": [{\"from\": \"START\", \"to\": \"${3:answer}\"\\}, "
                                    "{\"from\": \"${3:answer}\", \"to\": \"END\"\\}]\n"
                                    "\\}\n";

static void offer_template(struct completer *completer, const char *label, const char *lines, bool dash, int indent) {
    struct buffer snippet;
    buffer_init(&snippet, SIZE_MAX);
    if (dash) buffer_text(&snippet, "- ");
    for (const char *at = lines; *at; at++) {
        buffer_char(&snippet, *at);
        if (*at == '\n') buffer_format(&snippet, "%*s", indent + 2 * dash, "");
    }
    offer(completer, &(struct offer){.kind = COMPLETION_SNIPPET,
                                     .label = label,
                                     .snippet = buffer_cstr(&snippet),
                                     .written = true,
                                     .group = '8',
                                     .ordered = true});
    buffer_finish(&snippet);
}

static void offer_templates(struct completer *completer) {
    const struct meaning *meaning = &completer->meaning;
    const struct cursor *cursor = &meaning->cursor;
    int indent = key_column(completer) - 2 * cursor->dash;
    bool dash = !cursor->flow && (cursor->dash || !meaning->item);
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        if (templates[i].of != meaning->key->key) continue;
        const char *lines = cursor->json ? templates[i].json : cursor->flow ? templates[i].flow : templates[i].block;
        if (lines) offer_template(completer, templates[i].label, lines, dash, indent);
    }
}

static bool is_blank_text(const struct source *source) {
    const char *text = source_text(source) + source_line_span(source, 0).start; /* behind a byte order mark */
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* ---- The two places ---- */

static void complete_role_key(void *user, const struct known_role *role) {
    struct completer *completer = user;
    const struct key_offer key = {
        .name = role->name, .length = strlen(role->name), .form = VALUE_TEXT, .detail = role->model, .by_name = true};
    if (!role->bound) offer_key(completer, &key);
}

static void offer_roles(struct completer *completer, const struct present *present) {
    const struct key_offer usual = {.name = "default",
                                    .length = 7,
                                    .form = VALUE_TEXT,
                                    .documentation = "The role of nodes that name no model.",
                                    .by_name = true};
    if (!is_present(present, "default", 7)) offer_key(completer, &usual);
    known_each_role(completer->assist, complete_role_key, completer);
}

void complete_keys(struct completer *completer) {
    const struct meaning *meaning = &completer->meaning;
    struct present present;
    find_present(completer, &present);
    completer->present = &present;
    switch (meaning->kind) {
    case MEANING_KEYS:
        offer_rows(completer, meaning->mapping, &present);
        if (meaning->option && meaning->component)
            offer_members(completer, &present, meaning->component->config, meaning->instance, "");
        break;
    case MEANING_ROLE: offer_roles(completer, &present); break;
    case MEANING_CONFIG: offer_config_keys(completer, &present); break;
    case MEANING_SCHEMA: offer_keywords(completer, &present); break;
    default: break;
    }
    completer->present = NULL;
    bool root = meaning->kind == MEANING_KEYS && meaning->mapping == KEYS_ROOT;
    if (root && is_blank_text(completer->assist->source)) offer_template(completer, "new document", skeleton, false, 0);
}

bool complete_is_empty_json(const struct completer *completer) {
    return completer->meaning.cursor.json && is_blank_text(completer->assist->source);
}

void complete_empty_json(struct completer *completer) {
    offer_template(completer, "new document", json_skeleton, false, 0);
}

void complete_items(struct completer *completer) {
    const struct meaning *meaning = &completer->meaning;
    const struct cursor *cursor = &meaning->cursor;
    static const struct present nothing;
    bool fresh = cursor->fresh && !cursor->flow;
    if (meaning->kind == MEANING_SCHEMA) offer_schema_values(completer);
    if (cursor->quote != CURSOR_PLAIN) return;
    if (meaning->kind == MEANING_SCHEMA && fresh) offer_keywords(completer, &nothing);
    if (meaning->kind == MEANING_CONFIG && fresh && !cursor->dash) offer_config_keys(completer, &nothing);
    if (meaning->kind != MEANING_VALUE) return;
    const struct document_key *key = meaning->key;
    bool names = key->forms & KEY_NAMES;
    if (fresh && names && !meaning->item) offer_roles(completer, &nothing);
    bool mapping = key->of != KEYS_NONE && (meaning->item || (!names && !(key->forms & KEY_LIST)));
    if (fresh && mapping) offer_rows(completer, key->of, &nothing);
    bool in_list = cursor->flow && meaning->item;
    if (fresh || in_list) offer_templates(completer);
}
