/*
 * strategy.c - compares a document with the contract of strategies.
 *
 * The input is compared by schema_disjoint: a schema of the document is wrong if no Task can fit it. For the output,
 * the schema must exclude every value that is not a RunResult, because the result is validated with it: a mistake of
 * the document is then the error of the run that made it.
 */
#include "adl/document/strategy.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/schema/disjoint.h"
#include "adl/source/source.h"
#include "adl/tree/tree.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include <string.h>

#define REASON_MAX 500 /* bytes of the reason in a message */
#define DEPTH_MAX  16  /* alternatives inside each other */

extern const char strategy_contract_text[]; /* sdk/schema/component/1/runner.schema.json */
extern const unsigned strategy_contract_length;

static const char *const received[] = {"task", "runner_id", "options"};
#define RECEIVED_COUNT (sizeof received / sizeof *received)

struct strategy_check {
    const struct document *document;
    struct diagnostics *found;
    const struct tree_node *root;
    tn_value contract; /* owned */
};

#define strategy_report(check, code, where, ...)                                                                       \
    diagnostics_add((check)->found, code, (check)->document->source, where, __VA_ARGS__)

/* ---- Places ---- */

static struct span key_place(const struct tree_node *mapping, const char *key, struct span otherwise) {
    const struct tree_item *item = tree_find(mapping, key);
    return item ? item->key_span : otherwise;
}

/* The key of a section; the start of the document without one. */
static struct span section_place(const struct strategy_check *check, const char *name) {
    const struct span start = {check->root->span.start, check->root->span.start};
    return key_place(check->root, name, start);
}

/* ---- What the strategy receives ---- */

static tn_value contract_part(const struct strategy_check *check, const char *name) {
    tn_value definitions = value_get(check->contract, "$defs");
    if (strcmp(name, "task") == 0 || strcmp(name, "output") == 0) return value_get(definitions, name);
    return value_get(value_get(value_get(definitions, "input"), "properties"), name);
}

static const struct document_channel *declared_channel(const struct strategy_check *check, const char *name) {
    int32_t channel = document_find_channel(check->document, name, strlen(name));
    return channel < 0 || check->document->channels[channel].implicit ? NULL : &check->document->channels[channel];
}

static void check_received_channel(const struct strategy_check *check, const char *name) {
    const struct document_channel *channel = declared_channel(check, name);
    if (!channel || channel->type_unread) return;
    if (channel->type != CHANNEL_LAST_VALUE && channel->type != CHANNEL_EPHEMERAL) {
        diagnostic_suggest(strategy_report(check, ADL_E072, channel->name_span,
                                           "the channel `%s` of a strategy merges values; expected one that keeps the "
                                           "last one, because each attempt at a Task writes it",
                                           name),
                           "use `type: last_value`");
        return;
    }
    struct buffer why;
    buffer_init(&why, REASON_MAX);
    if (channel->schema_value && schema_disjoint(contract_part(check, name), channel->schema_value, &why))
        diagnostic_suggest(strategy_report(check, ADL_E072, channel->name_span,
                                           "the channel `%s` does not accept what a strategy receives in it: %s", name,
                                           buffer_cstr(&why)),
                           "`tenon schema runner` prints the contract");
    buffer_finish(&why);
}

static bool is_received(const char *name, size_t length) {
    for (size_t i = 0; i < RECEIVED_COUNT; i++)
        if (strlen(received[i]) == length && memcmp(received[i], name, length) == 0) return true;
    return false;
}

static bool check_required(const struct strategy_check *check, const struct tree_node *required) {
    bool good = true;
    for (uint32_t i = 0; required && required->kind == TN_ARRAY && i < required->count; i++) {
        const struct tree_node *item = required->items[i].node;
        size_t length = 0;
        const char *name = item->kind == TN_STRING ? value_chars(item->value, &length) : "";
        int shown = length > 80 ? 80 : (int)length;
        struct diagnostic *it = NULL;
        if (!is_received(name, length)) {
            it = strategy_report(check, ADL_E073, item->span,
                                 "a strategy does not receive `%.*s`, which its input requires", shown, name);
            diagnostic_suggest(it, "remove it here, and read it from `task.payload` or `options`");
        } else if (!declared_channel(check, name)) {
            it = strategy_report(check, ADL_E073, item->span,
                                 "the input requires `%.*s`, and the document declares no channel with this name",
                                 shown, name);
            diagnostic_suggest(it, "add `{name: %.*s, type: last_value}` to `channels`", shown, name);
        }
        good &= it == NULL;
    }
    return good;
}

/* A schema of exactly what the host passes. */
static tn_value received_schema(const struct strategy_check *check) {
    tn_value properties = value_object(), required = value_array();
    for (size_t i = 0; i < RECEIVED_COUNT; i++) {
        if (!declared_channel(check, received[i])) continue;
        properties = value_set_take(properties, received[i], value_ref(contract_part(check, received[i])));
        required = value_push_take(required, value_text(received[i]));
    }
    tn_value schema = value_set_take(value_object(), "type", value_text("object"));
    schema = value_set_take(schema, "properties", properties);
    schema = value_set_take(schema, "required", required);
    return value_set_take(schema, "additionalProperties", value_bool(false));
}

static void check_input(const struct strategy_check *check) {
    if (!check->document->input_value) return;
    if (!check_required(check, tree_get(tree_get(check->root, "input"), "required"))) return;
    struct buffer why;
    buffer_init(&why, REASON_MAX);
    tn_value schema = received_schema(check);
    if (schema_disjoint(schema, check->document->input_value, &why))
        diagnostic_suggest(strategy_report(check, ADL_E073, section_place(check, "input"),
                                           "`input` does not accept what a strategy receives: %s", buffer_cstr(&why)),
                           "`tenon schema runner` prints the contract");
    value_unref(schema);
    buffer_finish(&why);
}

/* ---- What it returns ---- */

/* A value that a member of the result may have. */
typedef bool result_value(tn_value value);

static bool is_task_state(tn_value value) {
    return value_text_is(value, "done") || value_text_is(value, "failed") || value_text_is(value, "running");
}

static bool is_text_or_null(tn_value value) { return value_is(value, TN_STRING) || value_is(value, TN_NULL); }
static bool is_object_or_null(tn_value value) { return value_is(value, TN_OBJECT) || value_is(value, TN_NULL); }

/* A row for each member of the result. `types` are the names in `type` that exclude all other values. */
static const struct result_member {
    const char *name;
    bool required;
    result_value *accepts;
    const char *types[3];
    const char *expected, *schema;
} members[] = {
    {"user_output", true, is_text_or_null, {"string", "null", NULL}, "a string or null", "{type: [string, \"null\"]}"},
    {"task_state", true, is_task_state, {NULL}, "done, failed or running", "{enum: [done, failed, running]}"},
    {"error", false, is_object_or_null, {"object", "null", NULL}, "an object or null", "{type: [object, \"null\"]}"},
};

static bool type_within(tn_value type, const struct result_member *member) {
    for (const char *const *name = member->types; *name; name++)
        if (value_text_is(type, *name)) return true;
    return false;
}

static bool types_within(tn_value type, const struct result_member *member) {
    if (!value_is(type, TN_ARRAY)) return type_within(type, member);
    for (size_t i = 0; i < value_count(type); i++)
        if (!type_within(value_at(type, i), member)) return false;
    return true;
}

static bool schema_within(tn_value schema, const struct result_member *member, int depth);

/* True if all of the alternatives (`all`), or one of them, exclude other values. */
static bool alternatives_within(tn_value list, const struct result_member *member, bool all, int depth) {
    if (!list || !value_is(list, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(list); i++)
        if (schema_within(value_at(list, i), member, depth + 1) != all) return !all;
    return all && value_count(list) > 0;
}

/* True if it is certain that only values of the contract are valid. */
static bool schema_within(tn_value schema, const struct result_member *member, int depth) {
    if (depth > DEPTH_MAX || !value_is(schema, TN_OBJECT)) return false;
    tn_value fixed = value_get(schema, "const"), choices = value_get(schema, "enum"), type = value_get(schema, "type");
    if (fixed) return member->accepts(fixed);
    if (type && types_within(type, member)) return true;
    bool within = choices && value_is(choices, TN_ARRAY);
    for (size_t i = 0; within && i < value_count(choices); i++) within = member->accepts(value_at(choices, i));
    return within || alternatives_within(value_get(schema, "anyOf"), member, true, depth) ||
           alternatives_within(value_get(schema, "oneOf"), member, true, depth) ||
           alternatives_within(value_get(schema, "allOf"), member, false, depth);
}

static void check_member(const struct strategy_check *check, const struct result_member *member) {
    tn_value properties = value_get(check->document->output_value, "properties");
    tn_value schema = properties && value_is(properties, TN_OBJECT) ? value_get(properties, member->name) : NULL;
    struct span output = section_place(check, "output");
    if (!schema && member->required)
        diagnostic_suggest(
            strategy_report(check, ADL_E074, output, "the `output` of a strategy has no property `%s`", member->name),
            "add `%s: %s`, and a channel with this name", member->name, member->schema);
    if (!schema || schema_within(schema, member, 0)) return;
    const struct tree_node *places = tree_get(tree_get(check->root, "output"), "properties");
    diagnostic_suggest(strategy_report(check, ADL_E075, key_place(places, member->name, output),
                                       "`%s` in the `output` of a strategy permits other values than %s", member->name,
                                       member->expected),
                       "use `%s`", member->schema);
}

static void check_output(const struct strategy_check *check) {
    if (!check->document->output_value) {
        diagnostic_suggest(
            strategy_report(check, ADL_E074, section_place(check, "output"),
                            "a strategy needs `output`, with `user_output` and `task_state`"),
            "add `output: {type: object, properties: {user_output: {type: [string, \"null\"]}, task_state: "
            "{enum: [done, failed, running]}}}`");
        return;
    }
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) check_member(check, &members[i]);
}

void document_check_strategy(const struct document *document, struct diagnostics *found) {
    struct diagnostics *ignored = diagnostics_new(); /* problems of the text were reported when the document was read */
    struct tree *tree = tree_read(document->source, NULL, ignored);
    struct strategy_check check = {.document = document, .found = found, .root = tree_root(tree)};
    (void)json_read(strategy_contract_text, strategy_contract_length, NULL, &check.contract, NULL);
    if (tree_is_whole(tree) && check.root->kind == TN_OBJECT) {
        if (!declared_channel(&check, "task"))
            diagnostic_suggest(strategy_report(&check, ADL_E071, section_place(&check, "channels"),
                                               "a strategy receives the Task in the channel `task`, and the document "
                                               "does not declare it"),
                               "add `{name: task, type: last_value}` to `channels`");
        for (size_t i = 0; i < RECEIVED_COUNT; i++) check_received_channel(&check, received[i]);
        check_input(&check);
        check_output(&check);
        diagnostics_sort(found);
    }
    value_unref(check.contract);
    tree_free(tree);
    diagnostics_free(ignored);
}
