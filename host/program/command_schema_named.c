/*
 * command_schema_named.c - `tenon schema`: prints the JSON Schemas that the program contains, and those of documents
 * and tenon.yaml.
 *
 * The method table is printed in the forms that programs read: JSON Schemas, OpenRPC, and types for clients.
 */
#include "adl/value/nearest.h"
#include "host/assembly/host.h"
#include "host/evaluation/suite.h"
#include "host/plugin/conformance/payload.h"
#include "host/program/command.h"
#include "host/program/command_reference.h"
#include "host/server/method_document.h"
#include "host/server/method_types.h"
#include "host/server/named_schema.h"
#include <string.h>

const char *schema_names(void) {
    static char names[256];
    if (!*names)
        (void)snprintf(names, sizeof names, "list|%s|methods|suite|openrpc|typescript|python", named_schema_names());
    return names;
}

static int schema_print_take(tn_value schema) {
    command_put_json(stdout, schema, JSON_INDENTED);
    value_unref(schema);
    return COMMAND_OK;
}

/* ---- The method table ---- */

static int schema_print_methods(void) { return schema_print_take(method_json_schemas()); }

static int schema_print_openrpc(void) { return schema_print_take(method_openrpc()); }

static int schema_print_types(enum types_language language) {
    struct error error = ERROR_INIT;
    struct buffer out;
    tn_value model = types_model(&error);
    if (!model) {
        int code = command_report_error(COMMAND_RUN_FAILED, &error);
        error_finish(&error);
        return code;
    }
    buffer_init(&out, SIZE_MAX);
    types_write(&out, model, language);
    command_put(stdout, out.data, out.length);
    buffer_finish(&out);
    value_unref(model);
    return COMMAND_OK;
}

static int schema_print_typescript(void) { return schema_print_types(TYPES_TYPESCRIPT); }

static int schema_print_python(void) { return schema_print_types(TYPES_PYTHON); }

static int schema_print_suite(void) { return schema_print_take(suite_schema()); }

static const struct printed_schema {
    const char *name, *title;
    int (*print)(void);
} printed_schemas[] = {
    {"methods", "The parameters and results of methods, and events", schema_print_methods},
    {"suite", "A suite of cases for `tenon evaluate`", schema_print_suite},
    {"openrpc", "The methods as an OpenRPC document", schema_print_openrpc},
    {"typescript", "Types of the methods and events for TypeScript", schema_print_typescript},
    {"python", "Types of the methods and events for Python 3.9 or later", schema_print_python},
};
#define PRINTED_SCHEMAS (sizeof printed_schemas / sizeof *printed_schemas)

static const struct printed_schema *printed_schema_find(const char *name) {
    for (size_t i = 0; i < PRINTED_SCHEMAS; i++)
        if (strcmp(printed_schemas[i].name, name) == 0) return &printed_schemas[i];
    return NULL;
}

/* ---- The command ---- */

/* The schema of documents, or of tenon.yaml. */
static int schema_print_of_host(const struct arguments *arguments, const char *name) {
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    int code = schema_print_take(named_schema(host, name));
    host_free(host);
    return code;
}

static void schema_list_row(const char *name, const char *title) { command_printf(stdout, "%-10s %s\n", name, title); }

static int schema_list(void) {
    const char *name;
    schema_list_row("adl", "A document, with the installed plugins");
    schema_list_row("config", "The configuration tenon.yaml, with the installed plugins");
    schema_list_row("manifest", "The manifest of a plugin");
    for (size_t i = 0; (name = payload_name(i)) != NULL; i++) {
        tn_value schema = payload_schema(name);
        schema_list_row(name, command_text(schema, "title", ""));
        value_unref(schema);
    }
    for (size_t i = 0; i < PRINTED_SCHEMAS; i++) schema_list_row(printed_schemas[i].name, printed_schemas[i].title);
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
    if (!name || strcmp(name, "adl") == 0) return schema_print_of_host(arguments, "adl");
    if (strcmp(name, "config") == 0) return schema_print_of_host(arguments, "config");
    if (strcmp(name, "list") == 0) return schema_list();
    const struct printed_schema *form = printed_schema_find(name);
    if (form) return form->print();
    tn_value schema = named_schema(NULL, name);
    return schema ? schema_print_take(schema) : schema_unknown(name);
}
