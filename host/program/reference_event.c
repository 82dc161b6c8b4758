/*
 * reference_event.c - events, annotations and reducers of the reference.
 *
 * Events are described by sdk/schema/component/1/event.schema.json, whose `allOf` has a rule for each type: the members
 * of a type are those of the rules that apply to it.
 */
#include "host/program/reference_event.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/conformance/payload.h"
#include "host/program/command.h"
#include "host/program/command_schema.h"
#include <stdio.h>
#include <string.h>

/* ---- Events ---- */

tn_value reference_event_types(void) {
    tn_value schema = payload_schema("event");
    tn_value types = value_ref(value_get(value_get(value_get(schema, "properties"), "type"), "enum"));
    value_unref(schema);
    return types;
}

/* The part of the schema that `{"$ref": "#/$defs/NAME"}` names, or the rule itself. Borrowed. */
static tn_value event_definition(tn_value schema, tn_value rule) {
    static const char prefix[] = "#/$defs/";
    const char *at = command_text(rule, "$ref", "");
    if (strncmp(at, prefix, sizeof prefix - 1) != 0) return rule;
    tn_value found = value_get(value_get(schema, "$defs"), at + sizeof prefix - 1);
    return found ? found : rule;
}

static bool rule_applies(tn_value rule, const char *type) {
    tn_value condition = value_get(value_get(value_get(rule, "if"), "properties"), "type");
    tn_value one = value_get(condition, "const"), some = value_get(condition, "enum");
    if (one) return value_text_is(one, type);
    for (size_t i = 0; some && i < value_count(some); i++)
        if (value_text_is(value_at(some, i), type)) return true;
    return false;
}

/* Adds the members that `part` describes, and those that it requires. */
static void event_add_part(tn_value part, tn_value *properties, tn_value *required) {
    tn_value members = value_get(part, "properties"), needed = value_get(part, "required");
    tn_value otherwise = value_get(part, "else");
    for (size_t i = 0; members && i < value_count(members); i++)
        *properties =
            value_set_key_take(*properties, value_ref(value_key_at(members, i)), value_ref(value_value_at(members, i)));
    for (size_t i = 0; needed && i < value_count(needed); i++)
        *required = value_push_take(*required, value_ref(value_at(needed, i)));
    if (otherwise) event_add_part(otherwise, properties, required);
}

/* The schema of one type, with the description of that type; a new reference. */
static tn_value event_schema(const char *type) {
    tn_value schema = payload_schema("event"), rules = value_get(schema, "allOf");
    tn_value properties = value_object(), required = value_array();
    tn_value one = value_set_take(value_object(), "$defs", value_ref(value_get(schema, "$defs")));
    event_add_part(schema, &properties, &required);
    for (size_t i = 0; i < value_count(rules); i++) {
        if (!rule_applies(value_at(rules, i), type)) continue;
        tn_value part = event_definition(schema, value_get(value_at(rules, i), "then"));
        event_add_part(part, &properties, &required);
    }
    tn_value description = value_get(value_get(value_get(schema, "$defs"), type), "description");
    tn_value mode = value_set_take(value_object(), "const", value_text(type));
    properties = value_set_take(properties, "type", mode);
    if (description) one = value_set_take(one, "description", value_ref(description));
    one = value_set_take(one, "properties", properties);
    one = value_set_take(one, "required", required);
    value_unref(schema);
    return one;
}

tn_value reference_event_summary(const char *type) {
    tn_value schema = event_schema(type), text = value_text(command_text(schema, "description", ""));
    value_unref(schema);
    return text;
}

/* An event with the required members, each as in the first of its examples; a new reference. */
static tn_value event_example(tn_value schema, const char *type) {
    tn_value required = value_get(schema, "required"), properties = value_get(schema, "properties");
    tn_value event = value_set_take(value_object(), "type", value_text(type));
    for (size_t i = 0; i < value_count(required); i++) {
        tn_value name = value_at(required, i);
        tn_value member = event_definition(schema, value_get_key(properties, name));
        tn_value examples = value_get(member, "examples");
        if (examples) event = value_set_key_take(event, value_ref(name), value_ref(value_at(examples, 0)));
    }
    return event;
}

void reference_print_event(const char *mark, const char *type) {
    tn_value schema = event_schema(type), event = event_example(schema, type);
    char *text = json_text(event, JSON_COMPACT);
    printf("%s %s\n\n%s An event of ", mark, type, command_text(schema, "description", ""));
    if (strcmp(type, "turn") == 0)
        fputs("`tenon chat --json`", stdout);
    else if (strcmp(type, "result") == 0)
        fputs("`tenon run --json`", stdout);
    else
        printf("`tenon run --stream %s --json`", type);
    printf(". Its form is in `tenon schema event`.\n\n%s# Members\n\n", mark);
    command_schema_markdown(schema);
    printf("\n%s# Example\n\n```json\n%s\n```\n", mark, text);
    mem_free(text);
    value_unref(event);
    value_unref(schema);
}

/* ---- Annotations and reducers ---- */

void reference_print_annotation(const char *mark, const struct schema_annotation *annotation) {
    printf("%s %s\n\nMarks %s. A value of `x-tenon` in a schema.\n\n%s\n\n%s# Example\n\n```json\n%s\n```\n", mark,
           annotation->name, annotation->phrase, annotation->documentation, mark, annotation->example);
}

void reference_print_reducer(const char *mark, const struct document_reducer *reducer) {
    printf("%s %s\n\nA reducer of the engine, for channels of `type: reduce`. %s\n\n%s# Example\n\n```yaml\nchannels:\n"
           "  - {name: result, type: reduce, reducer: %s}\n```\n\n| before | write | after |\n|---|---|---|\n"
           "| `%s` | `%s` | `%s` |\n",
           mark, reducer->name, reducer->documentation, mark, reducer->name, reducer->before, reducer->write,
           reducer->after);
}
