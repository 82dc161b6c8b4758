/*
 * method_table.c - reads the declared rows, joins them with their handlers, and validates values with their schemas.
 *
 * The files are read once, when a method is first looked up. A row without a handler, and a handler without a row, is
 * a mistake in the program: it stops with a message, and each test of the table would fail.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/schema/violations.h"
#include "adl/source/source.h"
#include "adl/tree/tree.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/server/method_internal.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The files of methods/, in the order of the reference; host/CMakeLists.txt converts each to C. */
#define METHOD_FILES(X)                                                                                                \
    X(host)                                                                                                            \
    X(plugin)                                                                                                          \
    X(document)                                                                                                        \
    X(run)                                                                                                             \
    X(thread)                                                                                                          \
    X(task)                                                                                                            \
    X(work)                                                                                                            \
    X(schedule)                                                                                                        \
    X(artifact)                                                                                                        \
    X(memory)                                                                                                          \
    X(tool)                                                                                                            \
    X(model)                                                                                                           \
    X(pack)                                                                                                            \
    X(graph)                                                                                                           \
    X(key)

#define METHOD_FILE(name)                                                                                              \
    extern const char methods_##name##_text[];                                                                         \
    extern const unsigned methods_##name##_length;
METHOD_FILES(METHOD_FILE)
#undef METHOD_FILE

static const struct method_file {
    const char *name, *text;
    const unsigned *length;
    const struct method_handler *handlers;
} files[] = {
#define METHOD_FILE(name) {#name, methods_##name##_text, &methods_##name##_length, name##_methods},
    METHOD_FILES(METHOD_FILE)
#undef METHOD_FILE
};

#define ROWS_MAX 256u

/* Process-wide: the table is part of the program. The lock guards the schemas that are not compiled yet. */
static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    struct method rows[ROWS_MAX];
    struct compiled_schemas {
        struct schema *params, *result;
    } compiled[ROWS_MAX]; /* when they are first needed */
    size_t count;
    tn_value files[sizeof files / sizeof *files]; /* rows point into them */
    tn_value events, schemas;
    char *names; /* method_names */
} table = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const scope_names[METHOD_SCOPES] = {"read", "run", "admin"};

const char *method_scope_name(enum method_scope scope) { return scope_names[scope]; }

/* ---- Reading the files ---- */

static _Noreturn void table_broken(const char *file, const char *what) {
    fprintf(stderr, "tenon: the method table is broken: %s.yaml: %s\n", file, what);
    abort();
}

static tn_value read_file(const struct method_file *file) {
    struct source *source = source_new(file->name, file->text, *file->length);
    struct diagnostics *found = diagnostics_new();
    struct tree *tree = tree_read(source, NULL, found);
    if (diagnostics_errors(found)) table_broken(file->name, diagnostics_at(found, 0)->message);
    tn_value value = tree_to_value(tree_root(tree));
    tree_free(tree);
    diagnostics_free(found);
    source_unref(source);
    return value;
}

static enum method_scope read_scope(const struct method_file *file, tn_value row) {
    for (int i = 0; i < METHOD_SCOPES; i++)
        if (value_text_is(value_get(row, "scope"), scope_names[i])) return (enum method_scope)i;
    table_broken(file->name, "a method without a scope");
}

/* `owned`: true, `inside`, or the scope that a client with an owner needs instead of `scope`. */
static void read_owned(const struct method_file *file, struct method *method) {
    tn_value owned = value_get(method->row, "owned");
    method->owned_scope = method->scope;
    if (!owned) return;
    if (value_text_is(owned, "inside")) {
        method->owned = METHOD_INSIDE;
        return;
    }
    method->owned = METHOD_OWNED;
    if (owned == value_bool(true)) return;
    for (int i = 0; i < METHOD_SCOPES; i++)
        if (value_text_is(owned, scope_names[i])) {
            method->owned_scope = (enum method_scope)i;
            return;
        }
    table_broken(file->name, "`owned` of a method is not true, `inside` or a scope");
}

static method_start_fn *find_handler(const struct method_file *file, const char *name) {
    for (const struct method_handler *handler = file->handlers; handler->name; handler++)
        if (strcmp(handler->name, name) == 0) return handler->start;
    table_broken(file->name, name);
}

static void add_rows(const struct method_file *file, tn_value methods) {
    size_t handlers = 0;
    while (file->handlers[handlers].name) handlers++;
    if (handlers != value_count(methods)) table_broken(file->name, "it has not the same methods as its handlers");
    if (table.count + handlers > ROWS_MAX) table_broken(file->name, "there are too many methods");
    for (size_t i = 0; i < handlers; i++) {
        const char *name = value_chars(value_key_at(methods, i), NULL);
        tn_value row = value_ref(value_value_at(methods, i));
        table.rows[table.count++] = (struct method){.name = name,
                                                    .summary = value_chars(value_get(row, "summary"), NULL),
                                                    .scope = read_scope(file, row),
                                                    .row = row,
                                                    .start = find_handler(file, name)};
        read_owned(file, &table.rows[table.count - 1]);
    }
}

static tn_value add_members(tn_value all, tn_value more) {
    for (size_t i = 0; i < value_count(more); i++)
        all = value_set_key_take(all, value_ref(value_key_at(more, i)), value_ref(value_value_at(more, i)));
    return all;
}

static void table_read(void) {
    table.events = value_object();
    table.schemas = value_object();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        tn_value file = table.files[i] = read_file(&files[i]);
        add_rows(&files[i], value_get(file, "methods"));
        table.events = add_members(table.events, value_get(file, "events"));
        table.schemas = add_members(table.schemas, value_get(file, "schemas"));
    }
    struct buffer names;
    buffer_init(&names, SIZE_MAX);
    for (size_t i = 0; i < table.count; i++) buffer_format(&names, "%s%s", i ? "|" : "", table.rows[i].name);
    table.names = buffer_detach(&names, NULL);
}

static void table_open(void) { (void)pthread_once(&table.once, table_read); }

/* ---- Lookup ---- */

const struct method *method_find(const char *name) {
    table_open();
    for (size_t i = 0; i < table.count; i++)
        if (strcmp(table.rows[i].name, name) == 0) return &table.rows[i];
    return NULL;
}

const struct method *method_at(size_t index) {
    table_open();
    return index < table.count ? &table.rows[index] : NULL;
}

const char *method_names(void) {
    table_open();
    return table.names;
}

int32_t method_refuse_unknown(const char *name, struct error *error) {
    struct nearest nearest;
    table_open();
    nearest_init(&nearest, name, strlen(name));
    for (size_t i = 0; i < table.count; i++)
        nearest_add_candidate(&nearest, table.rows[i].name, strlen(table.rows[i].name));
    const char *near = nearest_result(&nearest);
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "there is no method `%.80s`%s", name,
                     near ? nearest_hint(&nearest).text : "; `tenon reference methods` lists them");
}

tn_value method_events(void) {
    table_open();
    return table.events;
}

tn_value method_schemas(void) {
    table_open();
    return table.schemas;
}

/* ---- Validation ---- */

/* A schema of a row refers to the shared ones, so it is compiled as a document that contains them. */
static struct schema *compile(tn_value schema) {
    tn_value components = value_set_take(value_object_reserve(1), "schemas", value_ref(table.schemas));
    tn_value whole = value_set_take(value_ref(schema), "components", components);
    struct schema *compiled = NULL;
    struct error error = ERROR_INIT;
    if (schema_compile(whole, NULL, &compiled, &error) != TN_OK) table_broken("methods", error.message);
    error_finish(&error);
    value_unref(whole);
    return compiled;
}

/* The compiled schema in *place, which lives as long as the process. */
static const struct schema *compiled_once(struct schema **place, tn_value schema) {
    pthread_mutex_lock(&table.lock);
    if (!*place) *place = compile(schema);
    const struct schema *compiled = *place;
    pthread_mutex_unlock(&table.lock);
    return compiled;
}

static int32_t check_value(const struct schema *schema, tn_value value, const char *code, const char *what,
                           const char *name, struct error *error) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    int32_t status = TN_OK;
    if (schema_validate(schema, value, &errors) != TN_OK) {
        tn_value whole = value_format("%s `%s` do not match their schema", what, name);
        status = violations_refuse(&errors, code, value_chars(whole, NULL), error);
        value_unref(whole);
    }
    schema_errors_finish(&errors);
    return status;
}

int32_t method_read_params(const struct method *method, tn_value params, tn_value *out, struct error *error) {
    struct compiled_schemas *own = &table.compiled[method - table.rows];
    const struct schema *schema = compiled_once(&own->params, value_get(method->row, "params"));
    tn_value given = params && !value_is(params, TN_NULL) ? value_ref(params) : value_object();
    int32_t status = check_value(schema, given, "INVALID_INPUT", "the parameters of the method", method->name, error);
    if (status == TN_OK) *out = schema_with_defaults(schema, given);
    value_unref(given);
    return status;
}

int32_t method_check_result(const struct method *method, tn_value result, struct error *error) {
    struct compiled_schemas *own = &table.compiled[method - table.rows];
    const struct schema *schema = compiled_once(&own->result, value_get(method->row, "result"));
    return check_value(schema, result ? result : value_null(), "INVALID_OUTPUT", "the members of the result of",
                       method->name, error);
}

int32_t method_check_event(const char *name, tn_value params, struct error *error) {
    tn_value event = value_get(method_events(), name);
    if (!event) return error_set(error, TN_INVALID, "INVALID_OUTPUT", "the event `%s` is not declared", name);
    struct schema *schema = compile(value_get(event, "params"));
    int32_t status = check_value(schema, params, "INVALID_OUTPUT", "the parameters of the event", name, error);
    schema_unref(schema);
    return status;
}
