/*
 * describe.c - what the language and the host's components are: keys, members, node types, tools, functions.
 */
#include "adl/assist/describe.h"
#include "adl/assist/known.h"
#include "adl/document/duration.h"
#include "adl/document/reducers.h"
#include "adl/expr/expr.h"
#include "adl/schema/annotations.h"
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/pointer.h"
#include "adl/value/wildcard.h"
#include <stdio.h>
#include <string.h>

/* ---- Keys and members ---- */

bool describe_key(const struct document_key *key, struct buffer *out) {
    static const struct {
        uint32_t form;
        const char *text;
    } forms[] = {{KEY_TEXT, "text"},         {KEY_INTEGER, "whole number"},
                 {KEY_NUMBER, "number"},     {KEY_BOOL, "`true` or `false`"},
                 {KEY_DURATION, "duration"}, {KEY_LIST, "list"},
                 {KEY_MAPPING, "mapping"},   {KEY_SCHEMA, "JSON Schema"},
                 {KEY_ANY, "any value"}};
    buffer_format(out, "**%s**", key->name);
    const char *between = " (";
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (!(key->forms & forms[i].form) || key->forms & KEY_NAMES) continue;
        buffer_format(out, "%s%s", between, forms[i].text);
        between = ", ";
    }
    if (key->forms & KEY_NAMES) {
        buffer_text(out, " (mapping of names");
        between = ", ";
    }
    if (key->required) buffer_format(out, "%srequired", between);
    buffer_format(out, ")\n\n%s\n\n", key->documentation);
    for (size_t i = 0; key->words && key->words[i]; i++)
        buffer_format(out, "%s`%s`", i ? ", " : "One of ", key->words[i]);
    if (key->words) buffer_text(out, ".\n\n");
    buffer_format(out, "Example: `%s: %s`", key->name, key->example);
    return true;
}

static void describe_json(struct buffer *out, tn_value value, size_t most) {
    char *text = json_text(value, JSON_COMPACT);
    size_t length = strlen(text);
    bool cut = length > most;
    if (cut)
        for (length = most; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;) length--;
    buffer_format(out, "`%.*s%s`", (int)length, text, cut ? "…" : "");
    mem_free(text);
}

/* The lines about the values of an enumeration, as a list. */
static void describe_told(const struct shape *shape, struct buffer *out) {
    for (size_t i = 0, told = 0; i < value_count(shape->values) && told < DESCRIBE_NAMES_MAX; i++) {
        size_t length = 0;
        tn_value value = value_at(shape->values, i);
        const char *text = value_is(value, TN_STRING) ? value_chars(value, &length) : "";
        const char *line = shape_told(shape, text, length);
        if (line) buffer_format(out, "%s- `%s`: %s", told++ ? "\n" : "\n\n", text, line);
    }
}

bool describe_shape(const char *name, size_t length, const struct shape *shape, struct buffer *out) {
    if (!shape->found) return false;
    buffer_format(out, "**%.*s**: ", (int)length, name);
    shape_write_type(shape, out);
    for (uint32_t i = 0; i < shape->annotation_count; i++) {
        const struct schema_annotation *annotation = schema_annotation_find(shape->annotations[i]);
        if (annotation) buffer_format(out, "%s%s", i ? ", " : ". It is ", annotation->phrase);
    }
    if (shape->deprecated) buffer_text(out, " (deprecated)");
    if (shape->title) buffer_format(out, "\n\n%s", shape->title);
    if (shape->description) buffer_format(out, "\n\n%s", shape->description);
    if (shape->fallback) {
        buffer_text(out, "\n\nDefault: ");
        describe_json(out, shape->fallback, DESCRIBE_SCHEMA_MAX);
    }
    if (shape->minimum || shape->maximum) buffer_text(out, "\n\n");
    if (shape->minimum) {
        buffer_text(out, "At least ");
        describe_json(out, shape->minimum, DESCRIBE_SCHEMA_MAX);
    }
    if (shape->maximum) {
        buffer_text(out, shape->minimum ? ", at most " : "At most ");
        describe_json(out, shape->maximum, DESCRIBE_SCHEMA_MAX);
    }
    describe_told(shape, out);
    for (size_t i = 0; i < value_count(shape->examples) && i < DESCRIBE_NAMES_MAX; i++) {
        buffer_text(out, i ? ", " : "\n\nFor example ");
        describe_json(out, value_at(shape->examples, i), DESCRIBE_SCHEMA_MAX);
    }
    return true;
}

/* ---- Components ---- */

/* One line of a cell: without line ends and bars. */
static void write_cell(struct buffer *out, const char *text) {
    for (; text && *text && *text != '\n'; text++) {
        if (*text == '|') buffer_char(out, '\\');
        buffer_char(out, *text);
    }
}

static bool member_is_required(tn_value schema, tn_value name) {
    tn_value required = value_get(schema, "required");
    for (size_t i = 0; value_is(required, TN_ARRAY) && i < value_count(required); i++)
        if (value_equal(value_at(required, i), name)) return true;
    return false;
}

static void write_members(const struct schema *schema, struct buffer *out) {
    tn_value document = schema_document(schema), properties = value_get(document, "properties");
    size_t count = value_is(properties, TN_OBJECT) ? value_count(properties) : 0;
    struct buffer pointer;
    buffer_init(&pointer, SIZE_MAX);
    if (count > 0) buffer_text(out, "\n\n| Member | Type | |\n|---|---|---|\n");
    for (size_t i = 0; i < count && i < DESCRIBE_ROWS_MAX; i++) {
        tn_value name = value_key_at(properties, i);
        struct shape shape;
        struct buffer type;
        shape_init(&shape);
        buffer_init(&type, 200);
        buffer_clear(&pointer);
        pointer_append_key(&pointer, value_chars(name, NULL), strlen(value_chars(name, NULL)));
        schema_at(schema, value_object(), buffer_cstr(&pointer), shape_add, &shape);
        shape_write_type(&shape, &type);
        buffer_format(out, "| `%s`%s | ", value_chars(name, NULL),
                      member_is_required(document, name) ? " (required)" : "");
        write_cell(out, buffer_cstr(&type));
        buffer_text(out, " | ");
        write_cell(out, shape.description);
        buffer_text(out, " |\n");
        buffer_finish(&type);
        shape_finish(&shape);
    }
    buffer_finish(&pointer);
    if (count > DESCRIBE_ROWS_MAX) buffer_format(out, "\n%zu further members.", count - DESCRIBE_ROWS_MAX);
}

static void write_effects(const struct component_info *component, struct buffer *out) {
    if (!component->effects) {
        buffer_text(out, "\n\nEffects: not declared, so the worst is assumed.");
        return;
    }
    size_t count = value_count(component->effects);
    buffer_text(out, count ? "\n\nEffects: " : "\n\nEffects: none.");
    for (size_t i = 0; i < count; i++)
        if (value_is(value_at(component->effects, i), TN_STRING))
            buffer_format(out, "%s`%s`", i ? ", " : "", value_chars(value_at(component->effects, i), NULL));
}

static void describe_component(const struct component_info *component, const char *what, struct buffer *out) {
    buffer_format(out, "**%s**: %s. %s", component->id, what, component->title ? component->title : "");
    if (component->plugin_id) buffer_format(out, "\n\nPlugin `%s` %s", component->plugin_id, component->plugin_version);
    tn_value deprecated = value_get(component->manifest, "deprecated");
    if (value_is(deprecated, TN_STRING)) buffer_format(out, "\n\n**Deprecated**: %s", value_chars(deprecated, NULL));
    if (component->documentation && *component->documentation) buffer_format(out, "\n\n%s", component->documentation);
    write_effects(component, out);
}

bool describe_node_type(const struct assist *assist, const char *id, size_t length, struct buffer *out) {
    const struct component_info *component = known_component(assist, "node", id, length);
    if (!component) return false;
    describe_component(component, "node type", out);
    write_members(component->config, out);
    return true;
}

bool describe_model(const struct assist *assist, const char *text, size_t length, struct buffer *out) {
    const char *colon = memchr(text, ':', length);
    size_t provider = colon ? (size_t)(colon - text) : length;
    const struct component_info *component = known_component(assist, "model", text, provider);
    if (!component) return false;
    if (colon && provider + 1 < length) buffer_format(out, "Model `%.*s` of ", (int)(length - provider - 1), colon + 1);
    describe_component(component, "provider", out);
    return true;
}

/* ---- Tools ---- */

struct tool_search {
    const char *pattern;
    size_t length;
    struct buffer *out;
    uint32_t count;
};

static bool list_tool(void *user, const struct component_info *component) {
    struct tool_search *search = user;
    if (!wildcard_matches_tool_n(search->pattern, search->length, component->id)) return true;
    if (search->count < DESCRIBE_NAMES_MAX) buffer_format(search->out, "\n- `%s`: %s", component->id, component->title);
    search->count++;
    return true;
}

static bool describe_pattern(const struct assist *assist, const char *text, size_t length, struct buffer *out) {
    const struct catalog *catalog = assist->world->catalog;
    struct tool_search search = {text, length, out, 0};
    buffer_format(out, "`%.*s`: tools\n", (int)length, text);
    if (catalog) catalog->each(catalog->self, "tool", list_tool, &search);
    if (search.count > DESCRIBE_NAMES_MAX) buffer_format(out, "\n- and %u others", search.count - DESCRIBE_NAMES_MAX);
    if (search.count == 0) buffer_text(out, "\nNo tool matches.");
    return true;
}

static void write_approval(const struct assist *assist, const char *id, struct buffer *out) {
    const struct document *document = assist_names_from(assist)->document;
    const char *found = NULL;
    for (uint32_t i = 0; i < document->tool_count && !found; i++) {
        tn_value approval = value_get(document->tools[i].options, "approval");
        size_t length;
        const char *pattern = value_chars(document->tools[i].pattern, &length);
        if (value_is(approval, TN_STRING) && wildcard_matches_tool_n(pattern, length, id))
            found = value_chars(approval, NULL);
    }
    if (found) buffer_format(out, "\n\nApproval: `%s`, by this document.", found);
}

bool describe_tool(const struct assist *assist, const char *text, size_t length, struct buffer *out) {
    if (memchr(text, '*', length)) return describe_pattern(assist, text, length, out);
    const struct component_info *component = known_component(assist, "tool", text, length);
    if (!component) return false;
    describe_component(component, "tool", out);
    write_approval(assist, component->id, out);
    if (component->input) write_members(component->input, out);
    return true;
}

/* ---- The rest ---- */

bool describe_reducer(const struct assist *assist, const char *name, size_t length, struct buffer *out) {
    for (size_t i = 0; i < document_reducer_count(); i++) {
        const struct document_reducer *row = document_reducer_at(i);
        if (strlen(row->name) != length || memcmp(row->name, name, length) != 0) continue;
        buffer_format(out, "**%s**: reducer. %s\n\nExample: `%s` and the write `%s` become `%s`", row->name,
                      row->documentation, row->before, row->write, row->after);
        return true;
    }
    const struct component_info *component = known_component(assist, "reducer", name, length);
    if (component) describe_component(component, "reducer", out);
    return component != NULL;
}

bool describe_plugin(const struct assist *assist, const char *text, size_t length, struct buffer *out) {
    const struct catalog *catalog = assist->world->catalog;
    char id[256];
    size_t name = 0;
    while (name < length && !strchr(" <>=^~", text[name])) name++;
    if (!catalog || !catalog->plugin_version || name == 0 || name >= sizeof id) return false;
    snprintf(id, sizeof id, "%.*s", (int)name, text);
    const char *version = catalog->plugin_version(catalog->self, id);
    if (version) buffer_format(out, "**%s**: plugin, version %s is installed.", id, version);
    return version != NULL;
}

bool describe_function(const struct expr_function *function, struct buffer *out) {
    if (!function) return false;
    buffer_format(out, "```\n%s\n```\n\n%s", function->signature, function->documentation);
    return true;
}

bool describe_duration(const char *text, size_t length, struct buffer *out) {
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"day", 86400000}, {"hour", 3600000}, {"minute", 60000}, {"second", 1000}, {"millisecond", 1}};
    int64_t left;
    if (duration_read(text, length, &left) != DURATION_OK) return false;
    const char *between = "";
    if (left == 0) buffer_text(out, "no time");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        int64_t count = left / units[i].ms;
        left -= count * units[i].ms;
        if (count) buffer_format(out, "%s%lld %s%s", between, (long long)count, units[i].name, count == 1 ? "" : "s");
        if (count) between = " ";
    }
    return true;
}

char *describe_plain(const char *markdown) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    buffer_text(&out, "");
    for (const char *at = markdown; *at; at++) {
        bool line = at == markdown || at[-1] == '\n';
        if (line && (strncmp(at, "```", 3) == 0 || strncmp(at, "|---", 4) == 0)) {
            at += strcspn(at, "\n");
            if (!*at) break;
            continue;
        }
        if (*at == '`') continue;
        if (at[0] == '*' && at[1] == '*') {
            at++;
            continue;
        }
        buffer_char(&out, *at);
    }
    char *text = buffer_detach(&out, NULL);
    return text ? text : mem_text("");
}
