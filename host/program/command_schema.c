/*
 * command_schema.c - prints a JSON Schema as lines for people who write a configuration, or as a Markdown list.
 *
 * The schema is not validated; a value that is not a schema is shown as "any". It comes from outside, so depth, lines
 * and references are limited, and every text is printed with command_printf.
 */
#include "host/program/command_schema.h"
#include "adl/schema/annotations.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/program/command.h"
#include <stdio.h>
#include <string.h>

#define NAME_WIDTH  18
#define KINDS_STEPS 64u    /* alternatives visited for one line */
#define STEPS_MAX   10000u /* schemas visited in total */

struct walk {
    tn_value root;
    const char *label; /* "" after the first line; NULL without a column of labels */
    bool markdown;
    tn_value open[SCHEMA_SHOWN_DEPTH]; /* the schemas around the present one */
    unsigned depth, indent;            /* parts of one schema (allOf) have the same indent */
    size_t lines, steps;
};

static void schema_print_members(struct walk *walk, tn_value schema);

/* ---- Access ---- */

static bool is_object(tn_value value) { return value && value_is(value, TN_OBJECT); }
static bool is_list(tn_value value) { return value && value_is(value, TN_ARRAY); }
static const char *chars_of(tn_value value) {
    return value && value_is(value, TN_STRING) ? value_chars(value, NULL) : "";
}

/* Resolves `$ref` within `root`. Returns NULL if it does not point into `root`. */
static tn_value target(tn_value root, tn_value schema) {
    const char *at = chars_of(is_object(schema) ? value_get(schema, "$ref") : NULL);
    if (*at++ != '#') return NULL;
    tn_value found = root;
    while (found && *at == '/') {
        struct buffer key;
        buffer_init(&key, 300);
        for (at++; *at && *at != '/'; at++) {
            bool escaped = at[0] == '~' && (at[1] == '0' || at[1] == '1');
            buffer_char(&key, !escaped ? *at : at[1] == '0' ? '~' : '/');
            at += escaped;
        }
        found = is_object(found) ? value_get(found, buffer_cstr(&key)) : NULL;
        buffer_finish(&key);
    }
    return found;
}

/* A keyword of a schema, or of the schema that it refers to; NULL if it is missing. */
static tn_value keyword(tn_value root, tn_value schema, const char *name) {
    for (unsigned hops = 0; is_object(schema) && hops < SCHEMA_SHOWN_HOPS; hops++) {
        tn_value found = value_get(schema, name);
        if (found) return found;
        schema = target(root, schema);
    }
    return NULL;
}

static bool is_required(tn_value required, tn_value name) {
    for (size_t i = 0; is_list(required) && i < value_count(required); i++)
        if (value_equal(value_at(required, i), name)) return true;
    return false;
}

/* The keywords that contain alternatives. */
static const char *const alternatives[] = {"oneOf", "anyOf", "if", "then", "else"};
#define ALTERNATIVES (sizeof alternatives / sizeof *alternatives)

/* The alternative at `index` of a keyword; NULL after the last one. */
static tn_value alternative(tn_value under, size_t index) {
    if (is_list(under)) return index < value_count(under) ? value_at(under, index) : NULL;
    return index == 0 && is_object(under) ? under : NULL;
}

/* ---- Short forms ---- */

/* Appends "a, b or c": values as texts, or as JSON. */
static void write_choice(struct buffer *out, tn_value choices, bool as_json) {
    for (size_t i = 0; i < value_count(choices); i++) {
        tn_value choice = value_at(choices, i);
        buffer_text(out, !i ? "" : i + 1 < value_count(choices) ? ", " : " or ");
        if (as_json)
            json_write(out, choice, JSON_COMPACT);
        else
            buffer_text(out, *chars_of(choice) ? chars_of(choice) : "?");
    }
}

/* The kinds of values that a schema accepts, without duplicates: [name]. */
static tn_value schema_list_kinds(tn_value root, tn_value schema, tn_value kinds, size_t *left) {
    tn_value type = keyword(root, schema, "type");
    for (size_t i = 0; type && i < (is_list(type) ? value_count(type) : 1); i++) {
        tn_value kind = is_list(type) ? value_at(type, i) : type;
        bool there = !value_is(kind, TN_STRING);
        for (size_t j = 0; j < value_count(kinds); j++) there |= value_equal(value_at(kinds, j), kind);
        if (!there) kinds = value_push_take(kinds, value_ref(kind));
    }
    for (size_t i = 0; !type && i < ALTERNATIVES; i++) {
        tn_value under = keyword(root, schema, alternatives[i]), one;
        for (size_t j = 0; *left && (one = alternative(under, j)); j++) {
            --*left;
            kinds = schema_list_kinds(root, one, kinds, left);
        }
    }
    tn_value parts = type ? NULL : keyword(root, schema, "allOf");
    for (size_t i = 0; is_list(parts) && i < value_count(parts) && *left && !value_count(kinds); i++) {
        --*left; /* before the call: a schema can contain itself */
        kinds = schema_list_kinds(root, value_at(parts, i), kinds, left);
    }
    return kinds;
}

/* Appends the name of another schema of ours that the reference leads to: "as `tenon schema error`". */
static bool write_foreign(struct buffer *out, tn_value schema) {
    const char *at = chars_of(is_object(schema) ? value_get(schema, "$ref") : NULL);
    const char *end = *at == '#' ? NULL : strstr(at, ".schema.json");
    if (end) buffer_format(out, "as in `tenon schema %.*s`", (int)(end - at), at);
    return end != NULL;
}

static void write_kinds(struct buffer *out, tn_value root, tn_value schema, unsigned depth) {
    if (write_foreign(out, schema)) return;
    size_t left = KINDS_STEPS;
    tn_value kinds = schema_list_kinds(root, schema, value_array(), &left), items = keyword(root, schema, "items");
    bool told = keyword(root, schema, "enum") || keyword(root, schema, "const");
    if (value_count(kinds))
        write_choice(out, kinds, false);
    else if (keyword(root, schema, "properties"))
        buffer_text(out, "object");
    else if (!told)
        buffer_text(out, "any");
    if (value_count(kinds) == 1 && value_text_is(value_at(kinds, 0), "array") && is_object(items) && depth < 4) {
        struct buffer inside;
        buffer_init(&inside, SIZE_MAX);
        write_kinds(&inside, root, items, depth + 1);
        if (inside.length) buffer_format(out, " of %s", buffer_cstr(&inside));
        buffer_finish(&inside);
    }
    value_unref(kinds);
}

static void write_annotation(struct buffer *out, size_t begin, tn_value annotation) {
    const struct schema_annotation *row = schema_annotation_find(chars_of(annotation));
    if (row) buffer_format(out, "%s%s", out->length > begin ? ", " : "", row->phrase);
}

/* What the string is for the host: "a channel that is read". A schema with several annotations has them in `allOf`. */
static void write_annotations(struct buffer *out, size_t begin, tn_value root, tn_value schema) {
    tn_value parts = keyword(root, schema, "allOf");
    write_annotation(out, begin, keyword(root, schema, "x-tenon"));
    for (size_t i = 0; is_list(parts) && i < value_count(parts); i++)
        if (is_object(value_at(parts, i))) write_annotation(out, begin, value_get(value_at(parts, i), "x-tenon"));
}

static void write_form(struct buffer *out, tn_value root, tn_value schema, bool required) {
    static const struct {
        const char *member, *label;
    } plain[] = {{"const", "always "},    {"minimum", "at least "},           {"exclusiveMinimum", "more than "},
                 {"maximum", "at most "}, {"exclusiveMaximum", "less than "}, {"default", "default "}};
    tn_value choices = keyword(root, schema, "enum");
    size_t begin = out->length;
    write_kinds(out, root, schema, 0);
    if (required) buffer_text(out, out->length > begin ? ", required" : "required");
    if (is_list(choices)) {
        buffer_text(out, out->length > begin ? ", one of " : "one of ");
        write_choice(out, choices, true);
    }
    write_annotations(out, begin, root, schema);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        tn_value member = keyword(root, schema, plain[i].member);
        if (!member) continue;
        buffer_format(out, "%s%s", out->length > begin ? ", " : "", plain[i].label);
        json_write(out, member, JSON_COMPACT);
    }
}

void command_schema_form(struct buffer *out, tn_value root, tn_value schema) { write_form(out, root, schema, false); }

/* ---- Lines ---- */

/* One item of a list. Descriptions of several lines stay in the item. */
static void markdown_line(const struct walk *walk, const char *name, const char *form, const char *description) {
    int deep = (int)(walk->indent ? walk->indent - 1 : 0) * 2;
    const char *code = *name == '(' ? "" : "`";
    command_printf(stdout, "%*s- %s%s%s: %s", deep, "", code, name, code, form);
    command_printf(stdout, *description ? ". " : "\n");
    for (const char *at = description; *at;) {
        size_t length = strcspn(at, "\n");
        command_printf(stdout, "%.*s\n", (int)length, at);
        at += length + (at[length] == '\n');
        if (*at && *at != '\n') command_printf(stdout, "%*s", deep + 2, "");
    }
}

static void line(struct walk *walk, const char *name, const char *form, const char *description) {
    int deep = (int)(walk->indent ? walk->indent - 1 : 0) * 2, width = NAME_WIDTH > deep ? NAME_WIDTH - deep : 0;
    if (walk->lines++ >= SCHEMA_SHOWN_LINES) {
        if (walk->lines == SCHEMA_SHOWN_LINES + 1) command_printf(stdout, "      … use --json for the rest\n");
        return;
    }
    if (walk->markdown) {
        markdown_line(walk, name, form, description);
        return;
    }
    if (walk->label) command_printf(stdout, "      %-8s %*s%-*s %s\n", walk->label, deep, "", width, name, form);
    if (!walk->label) command_printf(stdout, "    %*s%-*s %s\n", deep, "", width, name, form);
    if (*description)
        command_printf(stdout, "%*s%s\n", (walk->label ? 15 : 4) + (deep > NAME_WIDTH ? deep : NAME_WIDTH) + 3, "",
                       description);
    if (walk->label) walk->label = "";
}

static bool is_open(const struct walk *walk, tn_value schema) {
    for (unsigned i = 0; i < walk->depth; i++)
        if (walk->open[i] == schema) return true;
    return false;
}

static tn_value resolved(const struct walk *walk, tn_value schema) {
    for (unsigned hops = 0; hops < SCHEMA_SHOWN_HOPS; hops++) {
        tn_value next = target(walk->root, schema);
        if (!next) break;
        schema = next;
    }
    return schema;
}

static void member(struct walk *walk, const char *name, tn_value schema, bool required) {
    tn_value whole = resolved(walk, schema);
    bool known = is_object(whole) && is_open(walk, whole);
    struct buffer form;
    buffer_init(&form, SIZE_MAX);
    write_form(&form, walk->root, schema, required);
    if (known) buffer_text(&form, ", as above");
    line(walk, name, buffer_cstr(&form), chars_of(keyword(walk->root, schema, "description")));
    buffer_finish(&form);
    if (!known) schema_print_members(walk, whole);
}

/* True if the lines of the schema add information: "(each)  string" adds nothing to "array of string". */
static bool is_telling(const struct walk *walk, tn_value schema) {
    static const char *const telling[] = {"properties", "items",       "oneOf", "anyOf",
                                          "allOf",      "then",        "else",  "enum",
                                          "const",      "description", "$ref",  "additionalProperties"};
    schema = resolved(walk, schema);
    for (size_t i = 0; is_object(schema) && i < sizeof telling / sizeof *telling; i++) {
        tn_value found = value_get(schema, telling[i]);
        if (found && !value_is(found, TN_BOOL)) return true;
    }
    return false;
}

/* Prints one alternative: by its kind, or by the members that it requires. */
static void choice(struct walk *walk, tn_value schema, const char *name) {
    tn_value required = keyword(walk->root, schema, "required");
    if (keyword(walk->root, schema, "type") || keyword(walk->root, schema, "properties") || is_telling(walk, schema)) {
        member(walk, name, schema, false);
    } else if (is_list(required)) {
        struct buffer form;
        buffer_init(&form, SIZE_MAX);
        buffer_text(&form, "with ");
        write_choice(&form, required, false);
        line(walk, name, buffer_cstr(&form), "");
        buffer_finish(&form);
    }
}

static void choices(struct walk *walk, tn_value schema) {
    tn_value kind = keyword(walk->root, value_get(schema, "if"), "type"), one;
    for (size_t i = 0, shown = 0; i < ALTERNATIVES; i++) {
        tn_value under = value_get(schema, alternatives[i]);
        bool then = strcmp(alternatives[i], "then") == 0;
        for (size_t j = 0; strcmp(alternatives[i], "if") != 0 && (one = alternative(under, j)); j++) {
            tn_value whole = value_ref(one);
            if (then && kind && !keyword(walk->root, one, "type"))
                whole = value_set_take(whole, "type", value_ref(kind));
            choice(walk, whole, shown++ ? "(or)" : then && !value_get(schema, "else") ? "(in some cases)" : "(either)");
            value_unref(whole);
        }
    }
}

/* Members of any name, which can be marked: "(any name: a channel that is read)". */
static void other_members(struct walk *walk, tn_value schema, tn_value others) {
    tn_value names = value_get(schema, "propertyNames");
    const struct schema_annotation *row =
        is_object(names) ? schema_annotation_find(chars_of(value_get(names, "x-tenon"))) : NULL;
    char name[80] = "(any name)";
    if (row) (void)snprintf(name, sizeof name, "(any name: %s)", row->phrase);
    member(walk, name, others, false);
}

static void schema_print_members(struct walk *walk, tn_value schema) {
    if (!is_object(schema) || !is_telling(walk, schema)) return;
    if (walk->steps++ >= STEPS_MAX) return;
    if (walk->depth == SCHEMA_SHOWN_DEPTH) {
        line(walk, "…", "more levels, not shown", "");
        return;
    }
    tn_value properties = value_get(schema, "properties"), required = value_get(schema, "required");
    tn_value others = value_get(schema, "additionalProperties"), items = value_get(schema, "items");
    tn_value patterns = value_get(schema, "patternProperties"), parts = value_get(schema, "allOf");
    walk->open[walk->depth++] = schema;
    walk->indent++;
    for (size_t i = 0; is_object(properties) && i < value_count(properties); i++) {
        tn_value name = value_key_at(properties, i);
        member(walk, value_chars(name, NULL), value_value_at(properties, i), is_required(required, name));
    }
    for (size_t i = 0; is_object(patterns) && i < value_count(patterns); i++)
        member(walk, value_chars(value_key_at(patterns, i), NULL), value_value_at(patterns, i), false);
    if (is_object(others)) other_members(walk, schema, others);
    if (is_object(items) && is_telling(walk, items)) member(walk, "(each)", items, false);
    choices(walk, schema);
    walk->indent--;
    for (size_t i = 0; is_list(parts) && i < value_count(parts); i++) {
        tn_value part = resolved(walk, value_at(parts, i));
        if (!is_open(walk, part)) schema_print_members(walk, part);
    }
    walk->depth--;
}

void command_schema_members(const char *label, tn_value schema) {
    struct walk walk = {.root = schema, .label = label};
    if (!is_object(schema)) return;
    schema_print_members(&walk, resolved(&walk, schema));
}

void command_schema_markdown(tn_value schema) {
    struct walk walk = {.root = schema, .markdown = true};
    if (!is_object(schema)) return;
    schema_print_members(&walk, resolved(&walk, schema));
}
