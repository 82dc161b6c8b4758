/*
 * question_form.c - one question for each field. A field is validated when it is entered, so that a mistake costs one
 * line; an empty line means the default, or leaves out a field that is not required.
 */
#include "host/program/question_form.h"
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/terminal.h"
#include "host/program/approve.h"
#include "host/program/command.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CHOICES_SHOWN_MAX 100u

struct field {
    tn_value name, schema;
    struct schema *compiled; /* NULL: the schema cannot be compiled, and the whole answer is validated only */
    bool required;
};

/* ---- Schemas ---- */

/* The branch of anyOf that is an object, or the schema itself. */
static tn_value form_object(tn_value schema) {
    tn_value branches = value_get(schema, "anyOf");
    for (size_t i = 0; value_is(branches, TN_ARRAY) && i < value_count(branches); i++)
        if (value_text_is(value_get(value_at(branches, i), "type"), "object")) return value_at(branches, i);
    return schema;
}

static bool form_allows_null(tn_value schema) {
    tn_value branches = value_get(schema, "anyOf");
    for (size_t i = 0; value_is(branches, TN_ARRAY) && i < value_count(branches); i++)
        if (value_text_is(value_get(value_at(branches, i), "type"), "null")) return true;
    return false;
}

bool question_form_is(tn_value schema) {
    tn_value properties = value_get(form_object(schema), "properties");
    return value_is(properties, TN_OBJECT) && value_count(properties) > 0;
}

static bool form_requires(tn_value object, tn_value name) {
    tn_value required = value_get(object, "required");
    for (size_t i = 0; value_is(required, TN_ARRAY) && i < value_count(required); i++)
        if (value_equal(value_at(required, i), name)) return true;
    return false;
}

/* ---- Choices ---- */

/* The schema that lists the choices of a field: its own, or that of the items of a list. */
static tn_value field_choices(const struct field *field) {
    tn_value items = value_get(field->schema, "items");
    return value_is(items, TN_OBJECT) ? items : field->schema;
}

static tn_value choice_list(tn_value schema) {
    static const char *const members[] = {"enum", "oneOf", "anyOf"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value list = value_get(schema, members[i]);
        if (!value_is(list, TN_ARRAY) || !value_count(list)) continue;
        if (i == 0 || value_get(value_at(list, 0), "const")) return list;
    }
    return NULL;
}

/* The value of a choice: a member of `enum`, or `const` of a branch. */
static tn_value choice_value(tn_value choice) {
    tn_value constant = value_is(choice, TN_OBJECT) ? value_get(choice, "const") : NULL;
    return constant ? constant : choice;
}

static const char *choice_title(tn_value schema, tn_value list, size_t i) {
    tn_value names = value_get(schema, "enumNames"), choice = value_at(list, i);
    tn_value title =
        value_is(names, TN_ARRAY) && i < value_count(names) ? value_at(names, i) : value_get(choice, "title");
    return title && value_is(title, TN_STRING) ? value_chars(title, NULL) : NULL;
}

static void show_choices(tn_value schema) {
    tn_value list = choice_list(schema);
    for (size_t i = 0; list && i < value_count(list) && i < CHOICES_SHOWN_MAX; i++) {
        tn_value value = choice_value(value_at(list, i));
        const char *title = choice_title(schema, list, i);
        char *text = value_is(value, TN_STRING) ? mem_text(value_chars(value, NULL)) : json_text(value, JSON_COMPACT);
        command_print_line(stderr, "    %zu  %s%s%s", i + 1, text, title ? "  " : "", title ? title : "");
        mem_free(text);
    }
    if (list && value_count(list) > CHOICES_SHOWN_MAX)
        command_printf(stderr, "    … and %zu more\n", value_count(list) - CHOICES_SHOWN_MAX);
}

/* The choice that a text names: by its value, its title or its number. A new reference; NULL if there is none. */
static tn_value choice_read(tn_value schema, const char *text) {
    tn_value list = choice_list(schema);
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    tn_value given = NULL, found = NULL; /* numbers and other values that are not texts are compared as JSON */
    (void)json_read(text, strlen(text), NULL, &given, NULL);
    for (size_t i = 0; !found && i < value_count(list); i++) {
        tn_value value = choice_value(value_at(list, i));
        const char *title = choice_title(schema, list, i);
        bool same = value_text_is(value, text) || (title && strcmp(title, text) == 0);
        if (same || (given && !value_is(given, TN_STRING) && value_equal(value, given))) found = value;
    }
    value_unref(given);
    if (found) return value_ref(found);
    if (end == text || *end || number < 1 || number > value_count(list)) return NULL;
    return value_ref(choice_value(value_at(list, number - 1)));
}

/* ---- One field ---- */

static tn_value read_truth(const char *text) {
    static const char *const yes[] = {"y", "yes", "true"}, *const no[] = {"n", "no", "false"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        if (strcasecmp(text, yes[i]) == 0) return value_bool(true);
        if (strcasecmp(text, no[i]) == 0) return value_bool(false);
    }
    return NULL;
}

/* True if a text can be valid: by the type, one of several types, a branch, or a constant. */
static bool schema_allows_text(tn_value schema) {
    static const char *const members[] = {"anyOf", "oneOf"};
    tn_value type = value_get(schema, "type");
    bool found = value_text_is(type, "string") || value_is(value_get(schema, "const"), TN_STRING);
    for (size_t i = 0; !found && value_is(type, TN_ARRAY) && i < value_count(type); i++)
        found = value_text_is(value_at(type, i), "string");
    for (size_t k = 0; !found && k < sizeof members / sizeof *members; k++) {
        tn_value branches = value_get(schema, members[k]);
        for (size_t i = 0; !found && value_is(branches, TN_ARRAY) && i < value_count(branches); i++)
            found = value_text_is(value_get(value_at(branches, i), "type"), "string");
    }
    return found;
}

/* An item of a list: a choice, a text, or a value in JSON. */
static tn_value read_item(tn_value schema, const char *text) {
    tn_value type = value_get(schema, "type"), value = NULL;
    if (choice_list(schema)) return choice_read(schema, text);
    if (!type || value_is(type, TN_ARRAY) || value_text_is(type, "string") || value_text_is(type, "array"))
        return value_string(text, strlen(text));
    return json_read(text, strlen(text), NULL, &value, NULL) == TN_OK ? value : NULL;
}

/* Reads "red, green" as a list of choices, or of texts or numbers if there are no choices. */
static tn_value read_list(const struct field *field, const char *text) {
    tn_value schema = field_choices(field), list = value_array();
    char *copy = mem_text(text), *rest = copy, *item;
    bool good = true;
    while (good && (item = strsep(&rest, ",")) != NULL) {
        item += strspn(item, " ");
        for (size_t end = strlen(item); end && item[end - 1] == ' ';) item[--end] = '\0';
        tn_value value = read_item(schema, item);
        good = value != NULL;
        if (good) list = value_push_take(list, value);
    }
    mem_free(copy);
    if (good) return list;
    value_unref(list);
    return NULL;
}

/* The value that a line means for a field; a new reference, or NULL with what is expected in *expected. */
static tn_value field_read(const struct field *field, const char *text, const char **expected) {
    tn_value type = value_get(field->schema, "type"), value = NULL;
    *expected = "a value in JSON";
    if (value_text_is(type, "array")) {
        *expected = choice_list(field_choices(field)) ? "choices of the list, separated by commas"
                                                      : "values, separated by commas";
        if (*text == '[' && json_read(text, strlen(text), NULL, &value, NULL) == TN_OK) return value;
        return read_list(field, text);
    }
    if (choice_list(field->schema)) {
        *expected = "a choice of the list, or its number";
        return choice_read(field->schema, text);
    }
    if (value_text_is(type, "boolean")) {
        *expected = "y or n";
        return read_truth(text);
    }
    if (value_text_is(type, "string")) {
        *expected = "a text in UTF-8";
        return value_string(text, strlen(text));
    }
    if (value_text_is(type, "integer") || value_text_is(type, "number")) *expected = "a number";
    (void)json_read(text, strlen(text), NULL, &value, NULL);
    /* A field that can also be a text: JSON that it does not accept is one. */
    bool textual = schema_allows_text(field->schema);
    if (value && (!textual || !field->compiled || schema_validate(field->compiled, value, NULL) == TN_OK)) return value;
    value_unref(value);
    return textual ? value_string(text, strlen(text)) : NULL;
}

/* True if the field's schema accepts the value; otherwise prints why not. */
static bool field_accepts(const struct field *field, tn_value value) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    errors.limit = 1;
    bool good = !field->compiled || schema_validate(field->compiled, value, &errors) == TN_OK;
    if (!good) command_printf(stderr, "    %s\n", errors.count ? errors.items[0].message : "the value is not accepted");
    schema_errors_finish(&errors);
    return good;
}

/* "  Age (years) [30]: ". Free it with mem_free. */
static char *field_prompt(const struct field *field) {
    tn_value normal = value_get(field->schema, "default");
    const char *title = command_text(field->schema, "title", NULL);
    struct buffer prompt, safe;
    buffer_init(&prompt, SIZE_MAX);
    buffer_format(&prompt, "  %s", title ? title : value_chars(field->name, NULL));
    if (value_text_is(value_get(field->schema, "type"), "boolean")) buffer_text(&prompt, " (y/n)");
    if (normal) {
        char *text =
            value_is(normal, TN_STRING) ? mem_text(value_chars(normal, NULL)) : json_text(normal, JSON_COMPACT);
        buffer_format(&prompt, " [%s]", text);
        mem_free(text);
    } else if (!field->required) {
        buffer_text(&prompt, " (optional)");
    }
    buffer_init(&safe, SIZE_MAX);
    terminal_text(&safe, buffer_cstr(&prompt), prompt.length, TERMINAL_LINE);
    buffer_text(&safe, ": ");
    buffer_finish(&prompt);
    return buffer_detach(&safe, NULL);
}

/* Returns false at the end of input. *value is a new reference, or NULL if the field is left out. */
static bool field_ask(const struct approver *approver, const struct field *field, tn_value *value) {
    const char *about = command_text(field->schema, "description", NULL), *expected;
    tn_value normal = value_get(field->schema, "default");
    if (about) command_print_line(stderr, "  %s", about);
    show_choices(field_choices(field));
    for (;;) {
        char *prompt = field_prompt(field), *line = approver_read_line(approver, prompt);
        mem_free(prompt);
        if (!line) return false;
        bool empty = !line[strspn(line, " \t")];
        tn_value given = empty ? NULL : field_read(field, line, &expected);
        mem_free(line);
        if (empty && (normal || !field->required)) {
            *value = normal ? value_ref(normal) : NULL;
            return true;
        }
        if (empty)
            fputs("    a value is required\n", stderr);
        else if (!given)
            command_printf(stderr, "    expected %s\n", expected);
        else if (field_accepts(field, given))
            return *value = given, true;
        value_unref(given);
    }
}

/* ---- The form ---- */

static bool form_ask_fields(const struct approver *approver, tn_value object, tn_value *answer) {
    const struct schema_options options = {.assert_format = true};
    tn_value properties = value_get(object, "properties");
    bool more = true;
    *answer = value_object();
    for (size_t i = 0; more && i < value_count(properties); i++) {
        struct field field = {.name = value_key_at(properties, i), .schema = value_value_at(properties, i)};
        tn_value value = NULL;
        field.required = form_requires(object, field.name);
        (void)schema_compile(field.schema, &options, &field.compiled, NULL);
        more = field_ask(approver, &field, &value);
        if (value) *answer = value_set_key_take(*answer, value_ref(field.name), value);
        schema_unref(field.compiled);
    }
    if (!more) {
        value_unref(*answer);
        *answer = NULL;
    }
    return more;
}

/* Asks whether the person answers at all. Returns 'a', 'd', or 0 at the end of input. */
static char form_ask_whether(const struct approver *approver) {
    for (;;) {
        char *line = approver_read_line(approver, "  [a]nswer, [d]ecline? ");
        if (!line) return 0;
        char letter = line[0];
        mem_free(line);
        if (letter == 'a' || letter == 'd') return letter;
        fputs("  answer a or d\n", stderr);
    }
}

bool question_form_ask(const struct approver *approver, tn_value schema, tn_value *answer) {
    char letter = form_allows_null(schema) ? form_ask_whether(approver) : 'a';
    *answer = NULL;
    if (!letter) return false;
    if (letter == 'a') return form_ask_fields(approver, form_object(schema), answer);
    *answer = value_null();
    return true;
}
