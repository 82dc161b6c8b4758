/*
 * command_schema_named.c - `tenon schema`: prints the JSON Schemas that the program contains, and that of documents.
 */
#include "adl/value/nearest.h"
#include "host/assembly/host.h"
#include "host/plugin/conformance/payload.h"
#include "host/program/command.h"
#include "host/program/command_reference.h"
#include "host/server/named_schema.h"
#include <string.h>

const char *schema_names(void) {
    static char names[256];
    if (!*names) (void)snprintf(names, sizeof names, "list|%s", named_schema_names());
    return names;
}

static int schema_print_take(tn_value schema) {
    command_put_json(stdout, schema, JSON_INDENTED);
    value_unref(schema);
    return COMMAND_OK;
}

static int schema_print_adl(const struct arguments *arguments) {
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    int code = schema_print_take(named_schema(host_catalog(host), "adl"));
    host_free(host);
    return code;
}

static void schema_list_row(const char *name, const char *title) { command_printf(stdout, "%-10s %s\n", name, title); }

static int schema_list(void) {
    const char *name;
    schema_list_row("adl", "A document, with the installed plugins");
    schema_list_row("manifest", "The manifest of a plugin");
    for (size_t i = 0; (name = payload_name(i)) != NULL; i++) {
        tn_value schema = payload_schema(name);
        schema_list_row(name, command_text(schema, "title", ""));
        value_unref(schema);
    }
    return COMMAND_OK;
}

static int schema_unknown(const char *name) {
    struct nearest nearest;
    nearest_init(&nearest, name, strlen(name));
    for (const char *at = schema_names(); *at; at += *at == '|') {
        size_t length = strcspn(at, "|");
        nearest_add_candidate(&nearest, at, length);
        at += length;
    }
    command_warn("there is no schema `%s`%s", name, nearest_hint(&nearest).text);
    fputs("See `tenon schema list`.\n", stderr);
    return COMMAND_USAGE;
}

int command_schema(const struct arguments *arguments) {
    const char *name = operand_at(arguments, 0);
    if (!name || strcmp(name, "adl") == 0) return schema_print_adl(arguments);
    if (strcmp(name, "list") == 0) return schema_list();
    tn_value schema = named_schema(NULL, name);
    return schema ? schema_print_take(schema) : schema_unknown(name);
}
