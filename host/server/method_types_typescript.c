/*
 * method_types_typescript.c - prints the model as declarations of TypeScript.
 *
 * Objects are interfaces, other types are aliases. Alternatives that exclude each other have the other's members as
 * `?: never`. Values without a declared type are `unknown`, so a client must check them.
 */
#include "adl/value/json.h"
#include "host/server/method_types_internal.h"
#include <string.h>

#define STEP 2u /* columns of one level */

static void typescript_type(struct buffer *out, tn_value type, size_t indent);

static void typescript_indent(struct buffer *out, size_t indent) { buffer_format(out, "%*s", (int)indent, ""); }

/* A comment before a declaration; nothing if the text is empty. */
static void typescript_comment(struct buffer *out, const char *text, size_t indent) {
    if (!*text) return;
    struct buffer safe, next, lines;
    buffer_init(&safe, SIZE_MAX);
    buffer_init(&next, SIZE_MAX);
    buffer_init(&lines, SIZE_MAX);
    types_replace(&safe, text, "*/", "*\\/");
    buffer_format(&next, "%*s * ", (int)indent, "");
    types_wrap(&lines, buffer_cstr(&safe), buffer_cstr(&next), buffer_cstr(&next));
    bool one = !strchr(buffer_cstr(&lines), '\n') && lines.length + strlen("/** */") <= TYPES_WIDTH;
    if (one) {
        typescript_indent(out, indent);
        buffer_format(out, "/** %s */\n", buffer_cstr(&lines) + next.length);
    } else {
        buffer_format(out, "%*s/**\n%s\n%*s */\n", (int)indent, "", buffer_cstr(&lines), (int)indent, "");
    }
    buffer_finish(&safe);
    buffer_finish(&next);
    buffer_finish(&lines);
}

static void typescript_key(struct buffer *out, const char *name) {
    if (types_is_identifier(name))
        buffer_text(out, name);
    else
        json_write_string(out, name, strlen(name));
}

/* ---- Types ---- */

static void typescript_member(struct buffer *out, tn_value member, size_t indent) {
    tn_value type = value_get(member, "type");
    struct buffer note;
    buffer_init(&note, SIZE_MAX);
    types_note(&note, member);
    typescript_comment(out, buffer_cstr(&note), indent);
    buffer_finish(&note);
    typescript_indent(out, indent);
    typescript_key(out, type_text(member, "name"));
    buffer_text(out, type_flag(member, "required") ? ": " : "?: ");
    typescript_type(out, type, indent);
    buffer_text(out, ";\n");
}

static void typescript_object(struct buffer *out, tn_value type, size_t indent) {
    tn_value members = value_get(type, "members");
    if (!value_count(members)) {
        buffer_text(out, "{ [key: string]: never }");
        return;
    }
    buffer_text(out, "{\n");
    for (size_t i = 0; i < value_count(members); i++) typescript_member(out, value_at(members, i), indent + STEP);
    if (type_flag(type, "open")) buffer_format(out, "%*s[key: string]: unknown;\n", (int)(indent + STEP), "");
    buffer_format(out, "%*s}", (int)indent, "");
}

/* `between` separates the parts: "a" | "b". */
static void typescript_union(struct buffer *out, tn_value types, size_t indent) {
    for (size_t i = 0; i < value_count(types); i++) {
        if (i) buffer_text(out, " | ");
        typescript_type(out, value_at(types, i), indent);
    }
}

static void typescript_literals(struct buffer *out, tn_value values) {
    for (size_t i = 0; i < value_count(values); i++) {
        if (i) buffer_text(out, " | ");
        json_write(out, value_at(values, i), JSON_COMPACT);
    }
}

static void typescript_list(struct buffer *out, tn_value of, size_t indent) {
    bool several = type_is(of, "union") || (type_is(of, "literal") && value_count(value_get(of, "values")) > 1);
    if (several) buffer_char(out, '(');
    typescript_type(out, of, indent);
    buffer_text(out, several ? ")[]" : "[]");
}

static void typescript_type(struct buffer *out, tn_value type, size_t indent) {
    static const char *const plain[][2] = {
        {"any", "unknown"},    {"never", "never"},   {"null", "null"},     {"boolean", "boolean"},
        {"integer", "number"}, {"number", "number"}, {"string", "string"}, {"bytes", "{ $bytes: string }"}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (type_is(type, plain[i][0])) buffer_text(out, plain[i][1]);
    if (type_is(type, "ref")) buffer_text(out, type_text(type, "name"));
    if (type_is(type, "literal")) typescript_literals(out, value_get(type, "values"));
    if (type_is(type, "list")) typescript_list(out, value_get(type, "of"), indent);
    if (type_is(type, "union")) typescript_union(out, value_get(type, "of"), indent);
    if (type_is(type, "object")) typescript_object(out, type, indent);
    if (!type_is(type, "map")) return;
    buffer_text(out, "{ [key: string]: ");
    typescript_type(out, value_get(type, "of"), indent);
    buffer_text(out, " }");
}

/* ---- The file ---- */

static void typescript_declaration(struct buffer *out, tn_value named) {
    tn_value type = value_get(named, "type");
    bool interface = type_is(type, "object") && value_count(value_get(type, "members"));
    buffer_char(out, '\n');
    typescript_comment(out, type_text(named, "description"), 0);
    buffer_format(out, interface ? "export interface %s " : "export type %s = ", type_text(named, "name"));
    typescript_type(out, type, 0);
    buffer_text(out, interface ? "\n" : ";\n");
}

static void typescript_method(struct buffer *out, tn_value method) {
    struct buffer note;
    buffer_init(&note, SIZE_MAX);
    buffer_format(&note, "%s Scope: `%s`.", type_text(method, "summary"), type_text(method, "scope"));
    typescript_comment(out, buffer_cstr(&note), STEP);
    buffer_finish(&note);
    typescript_indent(out, STEP);
    typescript_key(out, type_text(method, "name"));
    buffer_format(out, ": { params: %s; result: %s };\n", type_text(method, "params"), type_text(method, "result"));
}

static void typescript_event(struct buffer *out, tn_value event) {
    typescript_comment(out, type_text(event, "summary"), STEP);
    typescript_indent(out, STEP);
    typescript_key(out, type_text(event, "name"));
    buffer_format(out, ": %s;\n", type_text(event, "params"));
}

void typescript_write(struct buffer *out, tn_value model) {
    tn_value types = value_get(model, "types"), methods = value_get(model, "methods"),
             events = value_get(model, "events");
    buffer_text(out, "// The methods and events of Tenon " TENON_VERSION ", printed by `tenon schema typescript`.\n//\n"
                     "//     async function call<M extends keyof Methods>(method: M, params: Methods[M][\"params\"]):\n"
                     "//         Promise<Methods[M][\"result\"]>\n");
    for (size_t i = 0; i < value_count(types); i++) typescript_declaration(out, value_at(types, i));
    buffer_text(out, "\n/** The parameters and the result of each method. */\nexport interface Methods {\n");
    for (size_t i = 0; i < value_count(methods); i++) typescript_method(out, value_at(methods, i));
    buffer_text(out, "}\n\n/** The parameters of each event. */\nexport interface Events {\n");
    for (size_t i = 0; i < value_count(events); i++) typescript_event(out, value_at(events, i));
    buffer_text(out, "}\n");
}
