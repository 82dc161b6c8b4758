/*
 * method_types_python.c - prints the model as a module of Python 3.9 or later, which needs only the standard library.
 *
 * Objects are TypedDicts: those inside others become classes with names made of the outer name and the member. Required
 * and optional members of one object are in two classes, because `NotRequired` needs Python 3.11. A TypedDict is
 * closed: an object that only names required members is a Dict, and an open one only has its declared members. `typing`
 * has the name _t, so no member or type can hide it.
 */
#include "adl/value/json.h"
#include "host/server/method_types_internal.h"
#include <ctype.h>
#include <string.h>

struct python_writer {
    struct buffer *out; /* classes and aliases that are complete */
    tn_value names;     /* {name: true} of types and classes */
    bool has_bytes;
};

static void python_type(struct python_writer *writer, struct buffer *out, tn_value type, const char *name);

/* ---- Comments and names ---- */

static void python_comment(struct buffer *out, const char *text, const char *indent) {
    struct buffer first;
    if (!*text) return;
    buffer_init(&first, SIZE_MAX);
    buffer_format(&first, "%s# ", indent);
    types_wrap(out, text, buffer_cstr(&first), buffer_cstr(&first));
    buffer_char(out, '\n');
    buffer_finish(&first);
}

static void python_docstring(struct buffer *out, const char *text, const char *indent) {
    struct buffer escaped, safe, first;
    buffer_init(&escaped, SIZE_MAX);
    buffer_init(&safe, SIZE_MAX);
    buffer_init(&first, SIZE_MAX);
    types_replace(&escaped, text, "\\", "\\\\");
    types_replace(&safe, buffer_cstr(&escaped), "\"", "\\\"");
    buffer_format(&first, "%s\"\"\"", indent);
    types_wrap(out, buffer_cstr(&safe), buffer_cstr(&first), indent);
    buffer_text(out, "\"\"\"\n");
    buffer_finish(&escaped);
    buffer_finish(&safe);
    buffer_finish(&first);
}

/* False for words of the language, and for names that a class changes. */
static bool python_is_name(const char *name) {
    static const char *const words[] = {"False",  "None",   "True",   "and",      "as",       "assert", "async",
                                        "await",  "break",  "class",  "continue", "def",      "del",    "elif",
                                        "else",   "except", "for",    "finally",  "from",     "global", "if",
                                        "import", "in",     "is",     "lambda",   "nonlocal", "not",    "or",
                                        "pass",   "raise",  "return", "try",      "while",    "with",   "yield"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0) return false;
    return types_is_identifier(name) && strncmp(name, "__", 2) != 0;
}

/* "Plugin" and "shadowed_by" make PluginShadowedBy. */
static void python_inner_name(struct buffer *out, const char *outer, const char *member) {
    bool begins = true;
    buffer_text(out, outer);
    for (; *member; member++) {
        bool letter = isalnum((unsigned char)*member) != 0;
        if (letter) buffer_char(out, begins ? (char)toupper((unsigned char)*member) : *member);
        begins = !letter;
    }
}

/* ---- Objects ---- */

static bool member_is_present(tn_value member, bool required) {
    return type_flag(member, "required") == required && !type_is(value_get(member, "type"), "never");
}

static size_t count_members(tn_value members, bool required) {
    size_t count = 0;
    for (size_t i = 0; i < value_count(members); i++) count += member_is_present(value_at(members, i), required);
    return count;
}

static bool members_have_names(tn_value members) {
    for (size_t i = 0; i < value_count(members); i++)
        if (!python_is_name(type_text(value_at(members, i), "name"))) return false;
    return true;
}

/* One line `name: type`, or `"name": type,` of a dictionary, with its comment. */
static void python_member(struct python_writer *writer, struct buffer *out, tn_value member, const char *outer,
                          bool quoted) {
    const char *name = type_text(member, "name");
    struct buffer inner, note;
    buffer_init(&inner, SIZE_MAX);
    buffer_init(&note, SIZE_MAX);
    python_inner_name(&inner, outer, name);
    types_note(&note, member);
    python_comment(out, buffer_cstr(&note), "    ");
    buffer_text(out, "    ");
    if (quoted)
        json_write_string(out, name, strlen(name));
    else
        buffer_text(out, name);
    buffer_text(out, ": ");
    python_type(writer, out, value_get(member, "type"), buffer_cstr(&inner));
    buffer_text(out, quoted ? ",\n" : "\n");
    buffer_finish(&inner);
    buffer_finish(&note);
}

static void python_members(struct python_writer *writer, struct buffer *out, tn_value members, bool required,
                           const char *outer, bool quoted) {
    for (size_t i = 0; i < value_count(members); i++)
        if (member_is_present(value_at(members, i), required))
            python_member(writer, out, value_at(members, i), outer, quoted);
}

/* Members whose names are words of the language need the other form of TypedDict: `_XRequired = TypedDict(…)`. */
static void python_dictionary(struct python_writer *writer, struct buffer *out, const char *name, const char *part,
                              tn_value members, bool required) {
    buffer_format(out, "_%s%s = _t.TypedDict(\"_%s%s\", {\n", name, part, name, part);
    python_members(writer, out, members, required, name, true);
    buffer_text(out, required ? "})\n\n\n" : "}, total=False)\n\n\n");
}

static void python_class(struct python_writer *writer, struct buffer *out, const char *name, const char *description,
                         tn_value members) {
    size_t required = count_members(members, true), optional = count_members(members, false);
    bool plain = members_have_names(members), two = required && optional;
    if (plain && two) {
        buffer_format(out, "class _%sRequired(_t.TypedDict):\n", name);
        python_members(writer, out, members, true, name, false);
        buffer_format(out, "\n\nclass %s(_%sRequired, total=False):\n", name, name);
    } else if (plain) {
        buffer_format(out, "class %s(_t.TypedDict%s):\n", name, optional ? ", total=False" : "");
    } else {
        if (required) python_dictionary(writer, out, name, "Required", members, true);
        if (optional) python_dictionary(writer, out, name, "Optional", members, false);
        buffer_format(out,
                      two        ? "class %s(_%sRequired, _%sOptional):\n"
                      : required ? "class %s(_%sRequired):\n"
                                 : "class %s(_%sOptional):\n",
                      name, name, name);
    }
    bool has_body = plain && required + optional;
    if (*description || !has_body) python_docstring(out, *description ? description : "An object.", "    ");
    if (!has_body) return;
    if (*description) buffer_char(out, '\n');
    python_members(writer, out, members, required && !optional, name, false);
}

/* Adds the class of an object, after those of the objects inside it. */
static void python_add_class(struct python_writer *writer, const char *name, const char *description, tn_value type) {
    struct buffer body;
    buffer_init(&body, SIZE_MAX);
    python_class(writer, &body, name, description, value_get(type, "members"));
    buffer_format(writer->out, "\n\n%s", buffer_cstr(&body));
    buffer_finish(&body);
}

/* ---- Types ---- */

static void python_literals(struct buffer *out, tn_value values) {
    buffer_text(out, "_t.Literal[");
    for (size_t i = 0; i < value_count(values); i++) {
        tn_value value = value_at(values, i);
        if (i) buffer_text(out, ", ");
        if (value_is(value, TN_NULL))
            buffer_text(out, "None");
        else if (value_is(value, TN_BOOL))
            buffer_text(out, value_to_bool(value) ? "True" : "False");
        else
            json_write(out, value, JSON_COMPACT);
    }
    buffer_char(out, ']');
}

/* True if the type has an object in it that becomes a class. */
static bool python_has_class(tn_value type) {
    if (type_is(type, "list") || type_is(type, "map")) return python_has_class(value_get(type, "of"));
    return type_is(type, "union") || (type_is(type, "object") && type_flag(type, "declared"));
}

/* A class gets the name of the union and its own title, or only the union's if there is no other; else a number. */
static void python_union(struct python_writer *writer, struct buffer *out, tn_value types, const char *name) {
    size_t classes = 0;
    for (size_t i = 0; i < value_count(types); i++) classes += python_has_class(value_at(types, i));
    buffer_text(out, "_t.Union[");
    for (size_t i = 0; i < value_count(types); i++) {
        const char *title = type_text(value_at(types, i), "title");
        struct buffer inner;
        buffer_init(&inner, SIZE_MAX);
        python_inner_name(&inner, name, title);
        if (!*title && classes > 1) buffer_format(&inner, "%zu", i + 1);
        if (i) buffer_text(out, ", ");
        python_type(writer, out, value_at(types, i), buffer_cstr(&inner));
        buffer_finish(&inner);
    }
    buffer_char(out, ']');
}

static void python_items(struct python_writer *writer, struct buffer *out, const char *generic, tn_value of,
                         const char *name) {
    struct buffer inner;
    buffer_init(&inner, SIZE_MAX);
    python_inner_name(&inner, name, "item");
    buffer_text(out, generic);
    python_type(writer, out, of, buffer_cstr(&inner));
    buffer_char(out, ']');
    buffer_finish(&inner);
}

/* The class of an object inside another type. If another type has the name, it gets a `_`. */
static void python_inner_class(struct python_writer *writer, struct buffer *out, tn_value type, const char *name) {
    struct buffer unique;
    buffer_init(&unique, SIZE_MAX);
    buffer_text(&unique, name);
    while (value_get(writer->names, buffer_cstr(&unique))) buffer_char(&unique, '_');
    writer->names = value_set_take(writer->names, buffer_cstr(&unique), value_bool(true));
    python_add_class(writer, buffer_cstr(&unique), "", type);
    buffer_format(out, "\"%s\"", buffer_cstr(&unique));
    buffer_finish(&unique);
}

/* Names are quoted: a class may come later, and aliases and dictionaries are evaluated when the module is imported. */
static void python_type(struct python_writer *writer, struct buffer *out, tn_value type, const char *name) {
    static const char *const plain[][2] = {{"any", "_t.Any"},   {"never", "_t.NoReturn"}, {"null", "None"},
                                           {"boolean", "bool"}, {"integer", "int"},       {"number", "float"},
                                           {"string", "str"}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (type_is(type, plain[i][0])) buffer_text(out, plain[i][1]);
    if (type_is(type, "ref")) buffer_format(out, "\"%s\"", type_text(type, "name"));
    if (type_is(type, "literal")) python_literals(out, value_get(type, "values"));
    if (type_is(type, "list")) python_items(writer, out, "_t.List[", value_get(type, "of"), name);
    if (type_is(type, "map")) python_items(writer, out, "_t.Dict[str, ", value_get(type, "of"), name);
    if (type_is(type, "union")) {
        tn_value around = value_get(type, "around");
        if (around)
            python_type(writer, out, around, name);
        else
            python_union(writer, out, value_get(type, "of"), name);
    }
    if (type_is(type, "bytes")) {
        writer->has_bytes = true;
        buffer_text(out, "\"_Bytes\"");
    }
    if (!type_is(type, "object")) return;
    if (type_flag(type, "declared"))
        python_inner_class(writer, out, type, name);
    else
        buffer_text(out, "_t.Dict[str, _t.Any]");
}

/* ---- The file ---- */

static void python_declaration(struct python_writer *writer, tn_value named) {
    const char *name = type_text(named, "name"), *description = type_text(named, "description");
    tn_value type = value_get(named, "type"), around = value_get(type, "around");
    if (around) type = around;
    if (type_is(type, "object") && type_flag(type, "declared")) {
        python_add_class(writer, name, description, type);
        return;
    }
    struct buffer alias;
    buffer_init(&alias, SIZE_MAX);
    python_type(writer, &alias, type, name);
    buffer_text(writer->out, "\n\n");
    python_comment(writer->out, description, "");
    bool quoted = type_is(type, "ref") || type_is(type, "bytes"); /* a text, not yet a type */
    buffer_format(writer->out, quoted ? "%s = _t.Union[%s]\n" : "%s = %s\n", name, buffer_cstr(&alias));
    buffer_finish(&alias);
}

static void python_overload(struct buffer *out, tn_value method) {
    const char *name = type_text(method, "name"), *params = type_text(method, "params");
    buffer_format(out, "\n    @_t.overload\n    def call(self, method: _t.Literal[\"%s\"], params: %s%s) -> %s:\n",
                  name, params, type_flag(method, "optional") ? " = ..." : "", type_text(method, "result"));
    python_docstring(out, type_text(method, "summary"), "        ");
}

/* One of several functions with `overload` needs another one. */
static void python_methods(struct buffer *out, tn_value methods) {
    if (value_count(methods) > 1) {
        buffer_text(out, "\n\nclass Calls(_t.Protocol):\n    \"\"\"An object that calls methods.\"\"\"\n");
        for (size_t i = 0; i < value_count(methods); i++) python_overload(out, value_at(methods, i));
    }
    buffer_text(out, "\n\n# The types of the parameters and of the result of each method.\n"
                     "METHODS: _t.Dict[str, _t.Tuple[_t.Any, _t.Any]] = {\n");
    for (size_t i = 0; i < value_count(methods); i++) {
        tn_value method = value_at(methods, i);
        buffer_format(out, "    \"%s\": (%s, %s),\n", type_text(method, "name"), type_text(method, "params"),
                      type_text(method, "result"));
    }
    buffer_text(out, "}\n");
}

static void python_events(struct buffer *out, tn_value events) {
    buffer_text(out, "\n\n# The parameters of each event.\nEvents = _t.TypedDict(\"Events\", {\n");
    for (size_t i = 0; i < value_count(events); i++) {
        tn_value event = value_at(events, i);
        python_comment(out, type_text(event, "summary"), "    ");
        buffer_format(out, "    \"%s\": %s,\n", type_text(event, "name"), type_text(event, "params"));
    }
    buffer_text(out, "})\n");
}

void python_write(struct buffer *out, tn_value model) {
    struct python_writer writer = {.out = out, .names = value_object()};
    tn_value types = value_get(model, "types");
    for (size_t i = 0; i < value_count(types); i++)
        writer.names = value_set_take(writer.names, type_text(value_at(types, i), "name"), value_bool(true));
    buffer_text(out,
                "\"\"\"The methods and events of Tenon " TENON_VERSION ", printed by `tenon schema python`.\n\n"
                "    import methods\n"
                "    def cancel(client: methods.Calls, run: methods.RunId) -> None:\n"
                "        client.call(\"run/cancel\", {\"run_id\": run})\n\n"
                "A type has the members that are declared. A host can send others beside them if the schema is open.\n"
                "\"\"\"\n\nfrom __future__ import annotations\n\nimport typing as _t\n");
    for (size_t i = 0; i < value_count(types); i++) python_declaration(&writer, value_at(types, i));
    if (writer.has_bytes)
        buffer_text(out, "\n\n# Bytes: their base64.\n_Bytes = _t.TypedDict(\"_Bytes\", {\"$bytes\": str})\n");
    python_methods(out, value_get(model, "methods"));
    python_events(out, value_get(model, "events"));
    value_unref(writer.names);
}
