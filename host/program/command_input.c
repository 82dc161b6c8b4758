/*
 * command_input.c - reads inputs and answers from the command line.
 *
 * --set PATH=VALUE changes one part of an object: PATH is one or more names, separated by dots. Missing objects on the
 * way are created. Values are immutable, so the objects on the way are copied, from the innermost one outwards.
 */
#include "host/program/command_input.h"
#include "adl/value/json.h"
#include "host/program/command.h"
#include <string.h>

#define PATH_NAMES_MAX 64 /* names in the PATH of --set PATH=VALUE */

tn_value command_parse_value(const char *text) {
    tn_value value = NULL;
    if (json_read(text, strlen(text), NULL, &value, NULL) == TN_OK) return value;
    return value_string(text, strlen(text));
}

/* ---- --set ---- */

struct set_path {
    const char *text; /* PATH=VALUE */
    size_t length;    /* bytes of PATH */
    size_t count;
    tn_value names[PATH_NAMES_MAX]; /* owned */
    size_t ends[PATH_NAMES_MAX];    /* for each name: bytes of PATH up to its end */
};

static void set_path_finish(struct set_path *path) {
    for (size_t i = 0; i < path->count; i++) value_unref(path->names[i]);
}

/* Splits PATH into its names. Call set_path_finish also after a failure. */
static bool set_path_split(struct set_path *path, const char *setting, struct error *error) {
    const char *equals = strchr(setting, '=');
    *path = (struct set_path){.text = setting};
    if (!equals || equals == setting) {
        error_set(error, TN_INVALID, "INVALID_INPUT", "--set: found `%s`, expected PATH=VALUE, as in user.name=Ada",
                  setting);
        return false;
    }
    path->length = (size_t)(equals - setting);
    const char *name = setting;
    for (;;) {
        const char *dot = memchr(name, '.', (size_t)(equals - name)), *end = dot ? dot : equals;
        if (end == name || path->count == PATH_NAMES_MAX) {
            error_set(error, TN_INVALID, "INVALID_INPUT",
                      "--set: found the path `%.*s`, expected 1 to %d names separated by dots, as in user.name",
                      (int)path->length, setting, PATH_NAMES_MAX);
            return false;
        }
        tn_value text = value_string(name, (size_t)(end - name));
        if (!text) {
            error_set(error, TN_INVALID, "INVALID_INPUT", "--set: the path before `=` is not valid UTF-8");
            return false;
        }
        path->names[path->count] = text;
        path->ends[path->count++] = (size_t)(end - setting);
        if (!dot) return true;
        name = dot + 1;
    }
}

/*
 * Sets objects[i] to the object that contains the member names[i]; a missing object is {}. All are borrowed from
 * `input`, except {}, which is an immediate value and needs no value_unref. Returns false and sets `error` if something
 * on the way is not an object.
 */
static bool set_path_descend(const struct set_path *path, tn_value input, tn_value objects[PATH_NAMES_MAX],
                             struct error *error) {
    objects[0] = input;
    for (size_t i = 0; i + 1 < path->count; i++) {
        tn_value inner = value_get_key(objects[i], path->names[i]);
        bool missing = !inner || value_is(inner, TN_NULL);
        if (!missing && !value_is(inner, TN_OBJECT)) {
            error_set(error, TN_INVALID, "INVALID_INPUT", "--set %s: found %s at `%.*s`, expected an object",
                      path->text, value_kind_name(value_kind(inner)), (int)path->ends[i], path->text);
            return false;
        }
        objects[i + 1] = missing ? value_object() : inner;
    }
    return true;
}

/* Returns a copy of objects[0] with `value` at the path. `value` is taken. */
static tn_value set_path_rebuild_take(const struct set_path *path, tn_value objects[PATH_NAMES_MAX], tn_value value) {
    for (size_t i = path->count; i-- > 0;)
        value = value_set_key_take(value_ref(objects[i]), value_ref(path->names[i]), value);
    return value;
}

/* Applies one PATH=VALUE to *input, which is replaced. */
static bool input_set_path(tn_value *input, const char *setting, struct error *error) {
    struct set_path path;
    tn_value objects[PATH_NAMES_MAX], value = NULL;
    bool good = set_path_split(&path, setting, error) && set_path_descend(&path, *input, objects, error);
    if (good) {
        value = command_parse_value(setting + path.length + 1);
        if (!value)
            error_set(error, TN_INVALID, "INVALID_INPUT", "--set: the value of `%.*s` is not valid UTF-8",
                      (int)path.length, setting);
    }
    if (value) {
        tn_value changed = set_path_rebuild_take(&path, objects, value);
        value_unref(*input);
        *input = changed;
    }
    set_path_finish(&path);
    return value != NULL;
}

tn_value command_apply_set(const struct arguments *arguments, tn_value base, const char *what, struct error *error) {
    tn_value input = value_ref(base);
    if (argument_given(arguments, "set") && !value_is(input, TN_OBJECT)) {
        error_set(error, TN_INVALID, "INVALID_INPUT", "%s: found %s, expected an object for --set to change", what,
                  value_kind_name(value_kind(input)));
        value_unref(input);
        return NULL;
    }
    for (size_t i = 0; i < argument_count(arguments, "set"); i++) {
        if (input_set_path(&input, argument_at(arguments, "set", i), error)) continue;
        value_unref(input);
        return NULL;
    }
    return input;
}

tn_value command_read_input(const struct arguments *arguments, struct error *error) {
    const char *text = argument_text(arguments, "input");
    tn_value input = text ? command_json(arguments, text, "--input", error) : value_object();
    tn_value whole = input ? command_apply_set(arguments, input, "--input", error) : NULL;
    value_unref(input);
    return whole;
}

/* ---- Answers ---- */

/* Adds the answer ID=VALUE to `answers`, which is taken. Returns NULL and sets `error` if `text` is not ID=VALUE. */
static tn_value add_answer_take(tn_value answers, const char *text, struct error *error) {
    const char *equals = strchr(text, '=');
    tn_value id = equals && equals > text ? value_string(text, (size_t)(equals - text)) : NULL;
    tn_value value = id ? command_parse_value(equals + 1) : NULL;
    if (value) return value_set_key_take(answers, id, value);
    error_set(error, TN_INVALID, "INVALID_INPUT",
              "found the answer `%s`, expected ID=VALUE, where ID is the id of an interrupt of the thread", text);
    value_unref(id);
    value_unref(answers);
    return NULL;
}

tn_value command_read_answers(const struct arguments *arguments, size_t first, struct error *error) {
    tn_value answers = value_object();
    for (size_t i = first; answers && i < operand_count(arguments); i++)
        answers = add_answer_take(answers, operand_at(arguments, i), error);
    return answers;
}

tn_value command_read_answer_options(const struct arguments *arguments, struct error *error) {
    tn_value answers = value_object();
    for (size_t i = 0; answers && i < argument_count(arguments, "answer"); i++)
        answers = add_answer_take(answers, argument_at(arguments, "answer", i), error);
    return answers;
}
