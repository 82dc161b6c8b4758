/*
 * binder.c - names that a component binds in create: resolved through the scope, stored by index.
 *
 * The binder keeps the first failure: what was found, what was expected, and the nearest name. A create that returns
 * the status of a failed bind therefore need not set a message.
 */
#include "host/plugin/call/binder.h"
#include "adl/expr/expr.h"
#include "adl/schema/schema.h"
#include "adl/template/template.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/registry/registry.h"
#include <stdarg.h>
#include <string.h>

void bindings_finish(struct bindings *bindings) {
    for (uint32_t i = 0; i < bindings->read_count; i++) mem_free(bindings->read_names[i]);
    for (uint32_t i = 0; i < bindings->callee_count; i++) {
        mem_free(bindings->callees[i].kind);
        mem_free(bindings->callees[i].name);
        value_unref(bindings->callees[i].config);
        callable_unref(bindings->callees[i].callable);
    }
    for (uint32_t i = 0; i < bindings->set_count; i++) {
        value_unref(bindings->sets[i].names);
        callable_unref(bindings->sets[i].set);
    }
    for (uint32_t i = 0; i < bindings->expr_count; i++) {
        mem_free(bindings->exprs[i].text);
        expr_unref(bindings->exprs[i].expr);
    }
    for (uint32_t i = 0; i < bindings->template_count; i++) {
        mem_free(bindings->templates[i].text);
        template_unref(bindings->templates[i].template);
    }
    for (uint32_t i = 0; i < bindings->schema_count; i++) {
        value_unref(bindings->schemas[i].document);
        schema_unref(bindings->schemas[i].schema);
    }
    mem_free(bindings->reads);
    mem_free((void *)bindings->read_names);
    mem_free(bindings->writes);
    mem_free(bindings->callees);
    mem_free(bindings->sets);
    mem_free(bindings->exprs);
    mem_free(bindings->templates);
    mem_free(bindings->schemas);
    *bindings = (struct bindings){0};
}

/* ---- Failing ---- */

int32_t binder_fail(struct tn_binder *binder, int32_t status, const char *code, const char *format, ...) {
    if (!binder->failed) {
        va_list args;
        va_start(args, format);
        error_vset(binder->error, status, code, format, args);
        va_end(args);
        binder->failed = true;
    }
    return status;
}

int32_t binder_fail_with(struct tn_binder *binder, int32_t status, const struct error *error) {
    if (!binder->failed) error_copy(binder->error, error);
    binder->failed = true;
    return status;
}

/* Returns TN_OK if one more name can be bound. */
static int32_t binder_check_room(struct tn_binder *binder, uint32_t count, const char *what) {
    if (binder->bindings->sealed)
        return binder_fail(binder, TN_INVALID, "INVALID_CONFIG",
                           "created again with the same configuration, the component binds different %s", what);
    if (count >= BINDINGS_MAX)
        return binder_fail(binder, TN_LIMIT, "LIMIT", "the component binds more than %u %s", BINDINGS_MAX, what);
    return TN_OK;
}

/* ---- Channels ---- */

static void on_field_name(void *user, const char *name) {
    if (name) nearest_add_candidate(user, name, strlen(name));
}

static int32_t binder_fail_unknown(struct tn_binder *binder, const char *name, const char *what) {
    const struct instance_scope *scope = binder->scope;
    struct nearest nearest;
    nearest_init(&nearest, name, strlen(name));
    if (scope->each_field) scope->each_field(scope->self, on_field_name, &nearest);
    if (!scope->field && !scope->channel)
        return binder_fail(binder, TN_NOT_FOUND, "CHANNEL", "cannot %s the channel `%s`: %s has no state", what, name,
                           scope->where);
    return binder_fail(binder, TN_NOT_FOUND, "CHANNEL", "cannot %s `%s`: the graph has no such channel%s", what, name,
                       nearest_hint(&nearest).text);
}

static int32_t binder_bind_field(struct tn_binder *binder, uint32_t field, const char *name, uint32_t *index) {
    struct bindings *bindings = binder->bindings;
    for (uint32_t i = 0; i < bindings->read_count; i++) {
        if (bindings->reads[i] != field) continue;
        *index = i;
        return TN_OK;
    }
    int32_t status = binder_check_room(binder, bindings->read_count, "channels to read");
    if (status != TN_OK) return status;
    MEM_EXTEND(bindings->reads, bindings->read_count);
    MEM_EXTEND(bindings->read_names, bindings->read_count);
    bindings->reads[bindings->read_count] = field;
    bindings->read_names[bindings->read_count] = mem_text(name);
    *index = bindings->read_count++;
    return TN_OK;
}

int32_t binder_read(struct tn_binder *binder, const char *name, uint32_t *index) {
    if (!binder || !name || !index) return TN_INVALID;
    const struct instance_scope *scope = binder->scope;
    int32_t field = scope->field ? scope->field(scope->self, name) : -1;
    if (field < 0) return binder_fail_unknown(binder, name, "read");
    return binder_bind_field(binder, (uint32_t)field, name, index);
}

int32_t binder_write(struct tn_binder *binder, const char *name, uint32_t *index) {
    if (!binder || !name || !index) return TN_INVALID;
    struct bindings *bindings = binder->bindings;
    const struct instance_scope *scope = binder->scope;
    int32_t channel = scope->channel ? scope->channel(scope->self, name) : -1;
    if (channel < 0) return binder_fail_unknown(binder, name, "write");
    for (uint32_t i = 0; i < bindings->write_count; i++) {
        if (bindings->writes[i] != (uint32_t)channel) continue;
        *index = i;
        return TN_OK;
    }
    int32_t status = binder_check_room(binder, bindings->write_count, "channels to write");
    if (status != TN_OK) return status;
    MEM_EXTEND(bindings->writes, bindings->write_count);
    bindings->writes[bindings->write_count] = (uint32_t)channel;
    *index = bindings->write_count++;
    return TN_OK;
}

/* ---- Components to call ---- */

static int32_t binder_check_call(const struct instance_scope *scope, const char *kind, const char *name,
                                 const struct callable *callable, struct error *error) {
    const struct component *callee = callable ? instance_component(callable) : NULL;
    if (scope->checked_before || (callable && !callee)) return TN_OK;
    return authority_check(scope->authority, kind, name, callee ? callee->info : NULL, error);
}

int32_t binder_call(struct tn_binder *binder, const char *kind, const char *name, tn_value config, uint32_t *index) {
    if (!binder || !kind || !name || !index) return TN_INVALID;
    struct bindings *bindings = binder->bindings;
    const struct instance_scope *scope = binder->scope;
    for (uint32_t i = 0; i < bindings->callee_count; i++) {
        const struct bound_callee *known = &bindings->callees[i];
        bool same_config = known->config && config ? value_identical(known->config, config) : known->config == config;
        if (!same_config || strcmp(known->kind, kind) != 0 || strcmp(known->name, name) != 0) continue;
        *index = i;
        return TN_OK;
    }
    int32_t status = binder_check_room(binder, bindings->callee_count, "components to call");
    if (status != TN_OK) return status;
    if (!scope->callee)
        return binder_fail(binder, TN_UNSUPPORTED, "UNSUPPORTED", "cannot call the %s `%s`: %s cannot call components",
                           kind, name, scope->where);
    struct error error = ERROR_INIT;
    struct callable *callable = NULL;
    /* The name is checked before anything is loaded or read for it, the effects when the callee is known. */
    status = binder_check_call(scope, kind, name, NULL, &error);
    if (status == TN_OK && !scope->checked_before && strcmp(kind, "model") == 0)
        status = authority_check_settings(scope->authority, name, config, &error);
    if (status == TN_OK) callable = scope->callee(scope->self, scope->authority, kind, name, config, &error);
    if (callable && binder_check_call(scope, kind, name, callable, &error) != TN_OK) {
        callable_unref(callable);
        callable = NULL;
    }
    if (status == TN_OK && !callable && error.code && strcmp(error.code, "PERMISSION_DENIED") == 0) status = TN_INVALID;
    if (status != TN_OK) {
        binder_fail(binder, status, error.code, "%s", error.message);
        error_finish(&error);
        return status;
    }
    if (!callable) {
        /* Do not repeat the message about too much depth on each level. */
        bool deep = error.code && strcmp(error.code, "LIMIT") == 0;
        binder_fail(binder, TN_NOT_FOUND, error.code ? error.code : "NOT_FOUND", "%s%s%s%s%s%s",
                    deep ? "" : "cannot call the ", deep ? "" : kind, deep ? "" : " `", deep ? "" : name,
                    deep ? "" : "`: ", error.message ? error.message : "it does not exist");
        error_finish(&error);
        return TN_NOT_FOUND;
    }
    MEM_EXTEND(bindings->callees, bindings->callee_count);
    bindings->callees[bindings->callee_count] =
        (struct bound_callee){mem_text(kind), mem_text(name), value_ref(config), callable};
    *index = bindings->callee_count++;
    return TN_OK;
}

int32_t binder_tools(struct tn_binder *binder, tn_value names, uint32_t *set) {
    if (!binder || !set) return TN_INVALID;
    struct bindings *bindings = binder->bindings;
    const struct instance_scope *scope = binder->scope;
    for (uint32_t i = 0; i < bindings->set_count; i++) {
        tn_value known = bindings->sets[i].names;
        if (known && names ? !value_identical(known, names) : known != names) continue;
        *set = i;
        return TN_OK;
    }
    int32_t status = binder_check_room(binder, bindings->set_count, "sets of tools");
    if (status != TN_OK) return status;
    if (!scope->tools)
        return binder_fail(binder, TN_UNSUPPORTED, "UNSUPPORTED", "cannot use tools: %s cannot call components",
                           scope->where);
    struct error error = ERROR_INIT;
    struct callable *made = NULL;
    status = scope->tools(scope->self, scope->authority, names, &made, &error);
    if (status != TN_OK) {
        binder_fail(binder, status, error.code ? error.code : "NOT_FOUND", "cannot use the tools: %s",
                    error.message ? error.message : "they are not available");
        error_finish(&error);
        return status;
    }
    MEM_EXTEND(bindings->sets, bindings->set_count);
    bindings->sets[bindings->set_count] = (struct bound_set){value_ref(names), made};
    *set = bindings->set_count++;
    return TN_OK;
}

/* ---- Expressions, templates, schemas ---- */

/* The names of the state's fields: for "did you mean", and for expressions that read the whole state. */
struct binder_names {
    const char **items;
    uint32_t count;
};

static void binder_add_name(void *user, const char *name) {
    struct binder_names *names = user;
    MEM_EXTEND(names->items, names->count);
    names->items[names->count++] = name;
}

struct state_fields {
    const struct instance_scope *scope;
    struct binder_names names;
};

static int32_t state_field_index(void *self, const char *name, size_t length) {
    const struct instance_scope *scope = ((const struct state_fields *)self)->scope;
    if (!scope->field) return -1;
    char *text = mem_text_n(name, length);
    int32_t field = scope->field(scope->self, text);
    mem_free(text);
    return field;
}

static const char *state_field_name(void *self, uint32_t index) {
    const struct state_fields *fields = self;
    return index < fields->names.count ? fields->names.items[index] : NULL;
}

struct needed_fields {
    const struct instance_scope *scope;
    tn_value names;
};

static void add_needed_field(void *user, const char *name) {
    struct needed_fields *needed = user;
    int32_t field = needed->scope->field(needed->scope->self, name);
    if (field >= 0 && !needed->scope->nullable(needed->scope->self, (uint32_t)field))
        needed->names = value_push_take(needed->names, value_text(name));
}

tn_value binder_needed_fields(const struct tn_binder *binder) {
    const struct instance_scope *scope = binder->scope;
    struct needed_fields needed = {scope, value_array()};
    if (scope->nullable && scope->each_field && scope->field) scope->each_field(scope->self, add_needed_field, &needed);
    return needed.names;
}

static void add_field_name(void *user, const char *name) {
    tn_value *names = user;
    *names = value_push_take(*names, value_text(name));
}

tn_value binder_field_names(const struct tn_binder *binder) {
    const struct instance_scope *scope = binder->scope;
    if (!scope->each_field) return NULL;
    tn_value names = value_array();
    scope->each_field(scope->self, add_field_name, &names);
    return names;
}

void binder_report_run_used(const struct tn_binder *binder) {
    if (binder->scope->run_used) binder->scope->run_used(binder->scope->self);
}

/* Binds every channel that the expression reads. */
static int32_t binder_bind_uses(struct tn_binder *binder, const struct expr *expr, const struct state_fields *fields) {
    const struct instance_scope *scope = binder->scope;
    uint32_t index;
    int32_t status = TN_OK;
    if (expr_uses_beyond(expr, BINDING_RUN, "configurable") || expr_uses_now(expr)) binder_report_run_used(binder);
    if (expr_uses_now(expr)) binder->bindings->uses_run = true;
    for (size_t i = 0, n = expr_use_count(expr); status == TN_OK && i < n; i++) {
        const struct expr_use *use = expr_use_at(expr, i);
        if (use->variable == BINDING_RUN) binder->bindings->uses_run = true;
        if (use->variable != BINDING_STATE) continue;
        for (uint32_t k = 0; status == TN_OK && k < fields->names.count; k++) {
            int32_t field = scope->field(scope->self, fields->names.items[k]);
            if (field < 0 || (use->field != EXPR_WHOLE && use->field != (uint32_t)field)) continue;
            status = binder_bind_field(binder, (uint32_t)field, fields->names.items[k], &index);
        }
        /* A field that each_field does not list. */
        const char *name =
            use->field != EXPR_WHOLE && scope->field_name ? scope->field_name(scope->self, use->field) : "";
        if (status == TN_OK && use->field != EXPR_WHOLE) status = binder_bind_field(binder, use->field, name, &index);
    }
    return status;
}

static bool state_field_nullable(void *self, uint32_t field) {
    const struct instance_scope *scope = ((const struct state_fields *)self)->scope;
    return !scope->nullable || scope->nullable(scope->self, field);
}

static void state_fields_init(struct state_fields *fields, const struct instance_scope *scope) {
    *fields = (struct state_fields){.scope = scope};
    if (scope->each_field && scope->field) scope->each_field(scope->self, binder_add_name, &fields->names);
}

static void binding_variables_init(struct expr_variable variables[BINDING_VARIABLES], const struct expr_fields *fields,
                                   bool bare) {
    static const char *const names[] = {"state", "input", "item", "config", "run"};
    for (int i = 0; i < BINDING_VARIABLES; i++) variables[i] = (struct expr_variable){.name = names[i]};
    variables[BINDING_STATE].fields = fields;
    variables[BINDING_STATE].bare = bare;
}

static int32_t binder_fail_text(struct tn_binder *binder, int32_t status, const char *what, const char *text,
                                struct error *error) {
    binder_fail(binder, status, error->code ? error->code : "EXPRESSION_ERROR", "the %s `%.200s%s`: %s", what, text,
                strlen(text) > 200 ? "…" : "", error->message ? error->message : "it cannot be compiled");
    error_finish(error);
    return status;
}

int32_t binder_expression(struct tn_binder *binder, const char *text, uint32_t *index) {
    if (!binder || !text || !index) return TN_INVALID;
    struct bindings *bindings = binder->bindings;
    for (uint32_t i = 0; i < bindings->expr_count; i++) {
        if (strcmp(bindings->exprs[i].text, text) != 0) continue;
        *index = i;
        return TN_OK;
    }
    int32_t status = binder_check_room(binder, bindings->expr_count, "expressions");
    if (status != TN_OK) return status;
    struct state_fields state;
    struct expr_variable variables[BINDING_VARIABLES];
    struct error error = ERROR_INIT;
    struct expr *expr = NULL;
    state_fields_init(&state, binder->scope);
    const struct expr_fields fields = {.self = &state, .index = state_field_index, .name = state_field_name};
    binding_variables_init(variables, &fields, false);
    const struct expr_scope scope = {.variables = variables, .variable_count = BINDING_VARIABLES};
    status = expr_compile(text, strlen(text), &scope, NULL, &expr, &error);
    if (status != TN_OK) binder_fail_text(binder, status, "expression", text, &error);
    if (status == TN_OK) status = binder_bind_uses(binder, expr, &state);
    mem_free((void *)state.names.items);
    if (status != TN_OK) {
        expr_unref(expr);
        return status;
    }
    MEM_EXTEND(bindings->exprs, bindings->expr_count);
    bindings->exprs[bindings->expr_count] = (struct bound_expr){mem_text(text), expr};
    *index = bindings->expr_count++;
    return TN_OK;
}

int32_t binder_template(struct tn_binder *binder, const char *text, uint32_t *index) {
    if (!binder || !text || !index) return TN_INVALID;
    struct bindings *bindings = binder->bindings;
    for (uint32_t i = 0; i < bindings->template_count; i++) {
        if (strcmp(bindings->templates[i].text, text) != 0) continue;
        *index = i;
        return TN_OK;
    }
    int32_t status = binder_check_room(binder, bindings->template_count, "templates");
    if (status != TN_OK) return status;
    struct state_fields state;
    struct expr_variable variables[BINDING_VARIABLES];
    struct error error = ERROR_INIT;
    struct template *template = NULL;
    state_fields_init(&state, binder->scope);
    const struct expr_fields fields = {
        .self = &state, .index = state_field_index, .name = state_field_name, .nullable = state_field_nullable};
    binding_variables_init(variables, &fields, true);
    variables[BINDING_INPUT].needed = true;
    /* Open: an unknown name may be one of render's variables. The check of the document reports unknown names. */
    const struct expr_scope scope = {.variables = variables, .variable_count = BINDING_VARIABLES, .open = true};
    status = template_compile(text, strlen(text), &scope, NULL, &template, &error);
    if (status != TN_OK) binder_fail_text(binder, status, "template", text, &error);
    for (size_t i = 0; status == TN_OK && i < template_hole_count(template); i++)
        status = binder_bind_uses(binder, template_hole_at(template, i)->expr, &state);
    mem_free((void *)state.names.items);
    if (status != TN_OK) {
        template_unref(template);
        return status;
    }
    MEM_EXTEND(bindings->templates, bindings->template_count);
    bindings->templates[bindings->template_count] = (struct bound_template){mem_text(text), template};
    *index = bindings->template_count++;
    return TN_OK;
}

int32_t binder_schema(struct tn_binder *binder, tn_value schema, uint32_t *index) {
    if (!binder || !schema || !index) return TN_INVALID;
    struct bindings *bindings = binder->bindings;
    for (uint32_t i = 0; i < bindings->schema_count; i++) {
        if (!value_identical(bindings->schemas[i].document, schema)) continue;
        *index = i;
        return TN_OK;
    }
    int32_t status = binder_check_room(binder, bindings->schema_count, "schemas");
    if (status != TN_OK) return status;
    struct error error = ERROR_INIT;
    struct schema *compiled = NULL;
    status = schema_compile(schema, NULL, &compiled, &error);
    if (status != TN_OK) {
        binder_fail(binder, status, error.code ? error.code : "SCHEMA", "%s",
                    error.message ? error.message : "a schema cannot be compiled");
        error_finish(&error);
        return status;
    }
    MEM_EXTEND(bindings->schemas, bindings->schema_count);
    bindings->schemas[bindings->schema_count] = (struct bound_schema){value_ref(schema), compiled};
    *index = bindings->schema_count++;
    return TN_OK;
}
