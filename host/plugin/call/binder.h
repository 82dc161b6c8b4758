/*
 * binder.h - the names that a component's create has bound, as tables by index. All inner instances share them.
 *
 * Binding the same name twice returns the same index, so a later inner instance binds what the first one bound. When
 * the first create has returned, the tables are sealed and never change again: workers read them without a lock. A
 * struct tn_binder belongs to one create and is on the stack of its caller.
 *
 *     struct tn_binder binder = {&bindings, &scope, config, &error, false};
 *     status = vtable->create(self, id, config, &binder, &instance);   // calls binder_read, binder_call, …
 *     ...                                                              // bindings.reads[index] is a state field
 *     bindings_finish(&bindings);
 */
#ifndef TENON_HOST_PLUGIN_CALL_BINDER_H
#define TENON_HOST_PLUGIN_CALL_BINDER_H

#include "adl/value/buffer.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include <stdbool.h>

#define BINDINGS_MAX 10000u /* names of each kind that one instance may bind */

struct expr;
struct expr_env;
struct job;
struct schema;
struct template;

/* The variables of bound expressions and templates, by index; the same as a document's. */
enum binding_variable { BINDING_STATE, BINDING_INPUT, BINDING_ITEM, BINDING_CONFIG, BINDING_RUN, BINDING_VARIABLES };

struct bound_callee {
    char *kind, *name; /* kind "graph": name is a path */
    tn_value config;   /* may be NULL */
    struct callable *callable;
};
struct bound_set {
    tn_value names; /* may be NULL */
    struct callable *set;
};
struct bound_expr {
    char *text;
    struct expr *expr;
};
struct bound_template {
    char *text;
    struct template *template;
};
struct bound_schema {
    tn_value document;
    struct schema *schema;
};

struct bindings {
    uint32_t *reads; /* state fields, each once; a component's index is an index of this array */
    char **read_names;
    uint32_t *writes; /* channels, each once */
    struct bound_callee *callees;
    struct bound_set *sets; /* tool sets */
    struct bound_expr *exprs;
    struct bound_template *templates;
    struct bound_schema *schemas;
    uint32_t read_count, write_count, callee_count, set_count, expr_count, template_count, schema_count;
    bool uses_run; /* an expression or a template mentions `run` */
    bool sealed;   /* the first create has returned */
};

void bindings_finish(struct bindings *bindings);

struct tn_binder {
    struct bindings *bindings;
    const struct instance_scope *scope;
    tn_value config;
    struct error *error; /* never NULL */
    bool failed;         /* error is set */
};

/* [loop] As in tn_task_1, tn_eval_1, tn_graph_draft and tn_tool_1. TN_INVALID if an argument is NULL. */
int32_t binder_read(struct tn_binder *binder, const char *name, uint32_t *index);
int32_t binder_write(struct tn_binder *binder, const char *name, uint32_t *index);
int32_t binder_call(struct tn_binder *binder, const char *kind, const char *name, tn_value config, uint32_t *index);
int32_t binder_tools(struct tn_binder *binder, tn_value names, uint32_t *set);
int32_t binder_expression(struct tn_binder *binder, const char *text, uint32_t *index);
int32_t binder_template(struct tn_binder *binder, const char *text, uint32_t *index);
int32_t binder_schema(struct tn_binder *binder, tn_value schema, uint32_t *index);
/* The names of the fields that are not nullable, as an array; a new reference. */
tn_value binder_needed_fields(const struct tn_binder *binder);
/* The names of all fields, in order, as an array; a new reference. NULL if the scope does not list them. */
tn_value binder_field_names(const struct tn_binder *binder);
/* Calls scope->run_used. */
void binder_report_run_used(const struct tn_binder *binder);
/* Fails the create: sets the error, unless one is set already. Returns status. */
int32_t binder_fail(struct tn_binder *binder, int32_t status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same with a copy of an error, including its detail. */
int32_t binder_fail_with(struct tn_binder *binder, int32_t status, const struct error *error);

#endif
