/*
 * binder.h - what a component's create has bound: tables by index, shared by all inner instances of an instance.
 *
 * Binding the same name twice gives the same index, so that an inner instance made later binds what the first one did;
 * when the first create has returned the tables are sealed, and never change again: workers read them without a lock.
 * A struct tn_binder is one create's; it lives on the stack around it.
 */
#ifndef TENON_HOST_CALL_BINDER_H
#define TENON_HOST_CALL_BINDER_H

#include "adl/value/buffer.h"
#include "host/call/call.h"
#include "host/call/instance.h"
#include <stdbool.h>

#define BINDINGS_MAX 10000u /* names that one instance may bind, of each sort */

struct expr;
struct expr_env;
struct job;
struct schema;
struct template;

/* The variables of bound expressions and templates, by index; the same as a document's. */
enum binding_variable { BINDING_STATE, BINDING_INPUT, BINDING_ITEM, BINDING_CONFIG, BINDING_RUN, BINDING_VARIABLES };

struct bound_callee {
    char *kind, *name; /* kind "graph": name is a path */
    tn_value config;   /* or NULL */
    struct callable *callable;
};
struct bound_set {
    tn_value names; /* or NULL */
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
    uint32_t *reads; /* state fields, each once; a component's index is a place in here */
    char **read_names;
    uint32_t *writes; /* channels, each once */
    struct bound_callee *callees;
    struct bound_set *sets; /* of tools */
    struct bound_expr *exprs;
    struct bound_template *templates;
    struct bound_schema *schemas;
    uint32_t read_count, write_count, callee_count, set_count, expr_count, template_count, schema_count;
    bool uses_run; /* an expression or a template mentions `run` */
    bool sealed;
};

void bindings_finish(struct bindings *bindings);

struct tn_binder {
    struct bindings *bindings;
    const struct instance_scope *scope;
    tn_value config;
    struct error *error; /* never NULL */
    bool failed;         /* error is set */
};

/* All as in tn_task_1, tn_eval_draft, tn_graph_draft and tn_tool_draft; NULL arguments are TN_INVALID. [loop] */
int32_t binder_read(struct tn_binder *binder, const char *name, uint32_t *index);
int32_t binder_write(struct tn_binder *binder, const char *name, uint32_t *index);
int32_t binder_call(struct tn_binder *binder, const char *kind, const char *name, tn_value config, uint32_t *index);
int32_t binder_tools(struct tn_binder *binder, tn_value names, uint32_t *set);
int32_t binder_refuse(struct tn_binder *binder, const char *code, const char *message);
int32_t binder_expression(struct tn_binder *binder, const char *text, uint32_t *index);
int32_t binder_template(struct tn_binder *binder, const char *text, uint32_t *index);
int32_t binder_schema(struct tn_binder *binder, tn_value schema, uint32_t *index);
/* Fails the create: sets the error, in the binder's place. Returns status. */
int32_t binder_fail(struct tn_binder *binder, int32_t status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
