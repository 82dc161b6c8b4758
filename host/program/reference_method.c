/*
 * reference_method.c - the topic methods: what clients can ask of a host, and the events that it sends them.
 *
 * The schemas of a row refer to shared ones. They are printed with the shared schemas as their `components`, so that
 * every entry is complete.
 */
#include "host/program/reference_method.h"
#include "adl/value/codes.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/program/command.h"
#include "host/program/command_reference.h"
#include "host/program/command_schema.h"
#include "host/server/method_document.h"
#include <stdio.h>
#include <string.h>

/* ---- Parts ---- */

static void print_schema(const char *mark, const char *heading, tn_value schema) {
    tn_value components = value_set_take(value_object(), "schemas", value_ref(method_schemas()));
    tn_value whole = value_set_take(value_ref(schema), "components", components);
    const char *description = command_text(schema, "description", "");
    struct buffer form;
    buffer_init(&form, SIZE_MAX);
    command_schema_form(&form, whole, whole);
    printf("\n%s# %s\n\n", mark, heading);
    if (strcmp(buffer_cstr(&form), "object") != 0) printf("Form: %s.\n\n", buffer_cstr(&form));
    if (*description) printf("%s\n\n", description);
    command_schema_markdown(whole);
    buffer_finish(&form);
    value_unref(whole);
}

static void print_errors(const char *mark, const struct method *method) {
    tn_value codes = method_error_codes(method);
    printf("\n%s# Errors\n\n", mark);
    for (size_t i = 0; i < value_count(codes); i++) {
        const char *code = value_chars(value_at(codes, i), NULL);
        const struct error_code *row = error_code_find(code);
        printf("- `%s`%s%s\n", code, row ? ": " : "", row ? row->explanation : "");
    }
    value_unref(codes);
}

static void print_json(const char *label, tn_value value) {
    char *text = json_text(value, JSON_INDENTED);
    printf("\n%s\n\n```json\n%s\n```\n", label, text);
    mem_free(text);
}

/* Whether a key with an owner may call it (host/server/web/README.md). */
static void print_owned(const struct method *method) {
    static const char *const texts[] = {[METHOD_CLOSED] = "no",
                                        [METHOD_INSIDE] = "no, but plugins inside of a run of such a key",
                                        [METHOD_OWNED] = "yes"};
    bool other = method->owned == METHOD_OWNED && method->owned_scope != method->scope;
    printf("For keys with an owner: %s", texts[method->owned]);
    if (other) printf(", with the scope `%s`", method_scope_name(method->owned_scope));
    puts(".");
}

/* ---- Entries ---- */

void reference_print_method(const char *mark, const struct method *method) {
    const char *description = command_text(method->row, "description", "");
    tn_value example = value_get(method->row, "example");
    printf("%s %s\n\n%s", mark, method->name, method->summary);
    if (*description) printf(" %s", description);
    printf("\n\nA method. Its scope is `%s`.\n", method_scope_name(method->scope));
    print_owned(method);
    print_schema(mark, "Parameters", value_get(method->row, "params"));
    print_schema(mark, "Result", value_get(method->row, "result"));
    print_errors(mark, method);
    printf("\n%s# Example\n", mark);
    print_json("Parameters:", value_get(example, "params"));
    print_json("Result:", value_get(example, "result"));
}

void reference_print_method_event(const char *mark, const char *name) {
    tn_value row = value_get(method_events(), name);
    printf("%s %s\n\n%s An event that clients receive.\n", mark, name, command_text(row, "summary", ""));
    print_schema(mark, "Parameters", value_get(row, "params"));
}

/* ---- The topic ---- */

void reference_methods(struct host *host) {
    (void)host;
    const struct method *method;
    tn_value events = method_events();
    fputs("# Methods\n\n"
          "What a client can ask of a host, and the events that the host sends it. A client has a scope: `read`, `run` "
          "or\n"
          "`admin`. Each scope includes the ones before it. `tenon schema openrpc` prints the same as an OpenRPC "
          "document,\n"
          "`tenon schema typescript` and `tenon schema python` print types for clients.\n\n",
          stdout);
    for (size_t i = 0; (method = method_at(i)) != NULL; i++)
        printf("- `%s` (%s): %s\n", method->name, method_scope_name(method->scope), method->summary);
    for (size_t i = 0; i < value_count(events); i++)
        printf("- `%s` (event): %s\n", value_chars(value_key_at(events, i), NULL),
               command_text(value_value_at(events, i), "summary", ""));
    for (size_t i = 0; (method = method_at(i)) != NULL; i++) {
        putchar('\n');
        reference_print_method("##", method);
    }
    for (size_t i = 0; i < value_count(events); i++) {
        putchar('\n');
        reference_print_method_event("##", value_chars(value_key_at(events, i), NULL));
    }
}
