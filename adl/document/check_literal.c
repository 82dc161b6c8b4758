/*
 * check_literal.c - checks values that are known before the run: literals, and expressions that use no variable.
 *
 * A node such as `set` writes such a value to a channel, and `tool` passes it to its tool. A channel or a tool that
 * does not accept the value would refuse it in every run. All other values are known only during a run, and the rest of
 * the check ignores what depends on them.
 */
#include "adl/document/reader.h"
#include "adl/schema/schema.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/*
 * True if the expression uses `state` outside of texts. Most expressions do. To find that out by compiling them without
 * variables costs as much as the check of the expression itself.
 */
static bool uses_state(const char *text, size_t length) {
    static const char name[] = "state";
    const size_t size = sizeof name - 1;
    char quote = '\0';
    for (size_t i = 0; i < length; i++) {
        if (quote && text[i] == '\\')
            i++;
        else if (quote)
            quote = text[i] == quote ? '\0' : quote;
        else if (text[i] == '"' || text[i] == '\'')
            quote = text[i];
        else if (length - i > size && memcmp(text + i, name, size) == 0 && strchr(".[", text[i + size]) &&
                 (i == 0 || !(isalnum((unsigned char)text[i - 1]) || strchr("_.", text[i - 1]))))
            return true;
    }
    return false;
}

tn_value literal_value(tn_value written) {
    size_t length;
    if (!value_is(written, TN_STRING)) return value_ref(written);
    const char *text = value_chars(written, &length);
    if (uses_state(text, length)) return NULL;
    struct expr *expr = NULL;
    struct error ignored = ERROR_INIT;
    tn_value value = NULL;
    if (expr_compile(text, length, NULL, NULL, &expr, &ignored) == TN_OK && !expr_uses_now(expr))
        (void)expr_eval(expr, NULL, &value, &ignored);
    error_finish(&ignored);
    expr_unref(expr);
    return value;
}

/* ---- Channels ---- */

/* Returns what the reducer accepts, or NULL if it accepts the value. `item` is set to an item that it refuses. */
static const char *reducer_refusal(const struct document_channel *channel, tn_value value, tn_value *item) {
    *item = value;
    switch (channel->reducer) {
    case REDUCER_SUM: return value_is_number(value) ? NULL : "a number";
    case REDUCER_MAX:
    case REDUCER_MIN: return value_is_number(value) || value_is(value, TN_STRING) ? NULL : "a number or a text";
    case REDUCER_MERGE: return value_is(value, TN_OBJECT) ? NULL : "an object";
    case REDUCER_MESSAGES:
        for (size_t i = 0; value_is(value, TN_ARRAY) && i < value_count(value); i++) {
            *item = value_at(value, i);
            if (!value_is(*item, TN_OBJECT) && !value_is(*item, TN_STRING)) return "a message or a text";
        }
        if (value_is(value, TN_ARRAY) || value_is(value, TN_OBJECT) || value_is(value, TN_STRING)) return NULL;
        return "a message, a text, or a list of them";
    default: return NULL;
    }
}

static bool any_error(void *self, const struct schema_error *error) {
    (void)self;
    (void)error;
    return true;
}

/* A run makes a message of a text, so a schema of messages says nothing about the text itself. */
static bool becomes_message(const struct document_channel *channel, tn_value value) {
    return channel->reducer == REDUCER_MESSAGES && value_is(value, TN_STRING);
}

/* The schema describes one item of a list, and what other channels hold after the write. */
static void check_channel_schema(struct reader *reader, const struct value_check *place,
                                 const struct document_channel *channel, tn_value value) {
    struct value_check check = *place;
    char path[320];
    check.schema = channel->schema;
    if (becomes_message(channel, value)) return;
    if (!channel_is_list(channel) || !value_is(value, TN_ARRAY)) {
        if (channel->reducer == REDUCER_NONE || channel_is_list(channel))
            check_value_certain(reader, &check, value, any_error, NULL);
        return;
    }
    check.path = path;
    for (size_t i = 0; i < value_count(value); i++) {
        if (becomes_message(channel, value_at(value, i))) continue;
        bool listed = place->node && place->node->kind == TN_ARRAY && i < place->node->count;
        snprintf(path, sizeof path, "%.256s[%zu]", place->path, i);
        check.node = listed ? place->node->items[i].node : place->node;
        check_value_certain(reader, &check, value_at(value, i), any_error, NULL);
    }
}

void check_channel_literal(struct reader *reader, const struct value_check *place,
                           const struct document_channel *channel, tn_value value) {
    if (channel->type_unread || channel->implicit || channel->reducer == REDUCER_COMPONENT) return;
    tn_value item;
    const char *name = value_chars(channel->name, NULL), *expected = reducer_refusal(channel, value, &item);
    if (!expected) {
        if (channel->schema) check_channel_schema(reader, place, channel, value);
        return;
    }
    const char *reducer = channel->reducer == REDUCER_SUM     ? "sum"
                          : channel->reducer == REDUCER_MERGE ? "merge"
                          : channel->reducer == REDUCER_MAX   ? "max"
                          : channel->reducer == REDUCER_MIN   ? "min"
                                                              : "messages";
    report(reader, place->wrong, place->node ? place->node->span : place->span,
           "`%s` of %s: found %s, but the reducer `%s` of channel `%s` expects %s", place->path, place->of,
           value_kind_name(value_kind(item)), reducer, name, expected);
}

/* ---- Arguments of a tool ---- */

struct arguments {
    tn_value known; /* object: those with a value that is known */
    bool all_known;
};

/* The first token of a JSON Pointer is the name of a known argument; names with `/` or `~` count as unknown. */
static bool starts_at_known(const struct arguments *arguments, const char *pointer) {
    if (*pointer != '/') return false;
    size_t length = strcspn(pointer + 1, "/");
    tn_value name = value_string(pointer + 1, length);
    bool known = name && value_get_key(arguments->known, name) != NULL;
    value_unref(name);
    return known;
}

/* True if the mistake does not depend on an argument that is known only during the run. */
static bool argument_error_is_certain(void *self, const struct schema_error *error) {
    const struct arguments *arguments = self;
    if (arguments->all_known) return true;
    if (*error->pointer == '\0') return strcmp(error->schema_pointer, "/required") == 0;
    if (error->on_key && strchr(error->pointer + 1, '/') == NULL)
        return strcmp(error->schema_pointer, "/additionalProperties") == 0;
    return strncmp(error->schema_pointer, "/properties/", strlen("/properties/")) == 0 &&
           starts_at_known(arguments, error->pointer);
}

void check_tool_arguments(struct reader *reader, const struct value_check *place, tn_value written) {
    struct arguments arguments = {value_object(), true};
    tn_value passed = value_object();
    for (size_t i = 0, n = value_count(written); i < n; i++) {
        tn_value key = value_key_at(written, i), value = literal_value(value_value_at(written, i));
        arguments.all_known &= value != NULL;
        if (value) arguments.known = value_set_key_take(arguments.known, value_ref(key), value_ref(value));
        passed = value_set_key_take(passed, value_ref(key), value ? value : value_null());
    }
    check_value_certain(reader, place, passed, argument_error_is_certain, &arguments);
    value_unref(passed);
    value_unref(arguments.known);
}
