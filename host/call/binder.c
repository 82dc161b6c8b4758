/*
 * binder.c - names bound in create: resolved through the scope, kept by index.
 *
 * The first failure is kept, with what was found, what would do, and the nearest name; a create that returns it needs
 * to say nothing itself.
 */
#include "host/call/binder.h"
#include "adl/expr/expr.h"
#include "adl/schema/schema.h"
#include "adl/template/template.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
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

int32_t binder_refuse(struct tn_binder *binder, const char *code, const char *message) {
    if (!binder) return TN_INVALID;
    /* The component's own words count for more than those of a bind that failed on the way. */
    error_set(binder->error, TN_INVALID, code && *code ? code : "INVALID_CONFIG", "%s",
              message ? message : "the component refuses its configuration, and does not say why");
    binder->failed = true;
    return TN_INVALID;
}

/* May one more be bound? */
static int32_t check_room(struct tn_binder *binder, uint32_t count, const char *what) {
    if (binder->bindings->sealed)
        return binder_fail(binder, TN_INVALID, "INVALID_CONFIG",
                           "the component binds other %s when it is created again with the same configuration", what);
    if (count >= BINDINGS_MAX)
        return binder_fail(binder, TN_LIMIT, "LIMIT", "the component binds more than %u %s", BINDINGS_MAX, what);
    return TN_OK;
}

/* Room for one more of `count`; arrays grow by doubling. */
static void *grown(void *array, uint32_t count, size_t size) {
    if (count && (count & (count - 1))) return array;
    return mem_array(array, count ? (size_t)count * 2 : 1, size);
}

/* ---- Channels ---- */

static void offer_field(void *user, const char *name) {
    if (name) nearest_offer(user, name, strlen(name));
}

static int32_t fail_unknown(struct tn_binder *binder, const char *name, const char *what) {
    const struct instance_scope *scope = binder->scope;
    struct nearest nearest;
    nearest_init(&nearest, name, strlen(name));
    if (scope->each_field) scope->each_field(scope->self, offer_field, &nearest);
    const char *near = nearest_result(&nearest);
    if (!scope->field && !scope->channel)
        return binder_fail(binder, TN_NOT_FOUND, "CHANNEL", "it is to %s the channel `%s`, but %s has no state", what,
                           name, scope->where);
    return binder_fail(binder, TN_NOT_FOUND, "CHANNEL", "it is to %s `%s`, which is no channel of the graph%s%s%s",
                       what, name, near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
}

static int32_t bind_field(struct tn_binder *binder, uint32_t field, const char *name, uint32_t *index) {
    struct bindings *bindings = binder->bindings;
    for (uint32_t i = 0; i < bindings->read_count; i++) {
        if (bindings->reads[i] != field) continue;
        *index = i;
        return TN_OK;
    }
    int32_t status = check_room(binder, bindings->read_count, "channels to read");
    if (status != TN_OK) return status;
    bindings->reads = grown(bindings->reads, bindings->read_count, sizeof *bindings->reads);
    bindings->read_names = grown((void *)bindings->read_names, bindings->read_count, sizeof(char *));
    bindings->reads[bindings->read_count] = field;
    bindings->read_names[bindings->read_count] = mem_text(name);
    *index = bindings->read_count++;
    return TN_OK;
}

int32_t binder_read(struct tn_binder *binder, const char *name, uint32_t *index) {
    if (!binder || !name || !index) return TN_INVALID;
    const struct instance_scope *scope = binder->scope;
    int32_t field = scope->field ? scope->field(scope->self, name) : -1;
    if (field < 0) return fail_unknown(binder, name, "read");
    return bind_field(binder, (uint32_t)field, name, index);
}

int32_t binder_write(struct tn_binder *binder, const char *name, uint32_t *index) {
    if (!binder || !name || !index) return TN_INVALID;
    struct bindings *bindings = binder->bindings;
    const struct instance_scope *scope = binder->scope;
    int32_t channel = scope->channel ? scope->channel(scope->self, name) : -1;
    if (channel < 0) return fail_unknown(binder, name, "write");
    for (uint32_t i = 0; i < bindings->write_count; i++) {
        if (bindings->writes[i] != (uint32_t)channel) continue;
        *index = i;
        return TN_OK;
    }
    int32_t status = check_room(binder, bindings->write_count, "channels to write");
    if (status != TN_OK) return status;
    bindings->writes = grown(bindings->writes, bindings->write_count, sizeof *bindings->writes);
    bindings->writes[bindings->write_count] = (uint32_t)channel;
    *index = bindings->write_count++;
    return TN_OK;
}

/* ---- Components to call ---- */

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
    int32_t status = check_room(binder, bindings->callee_count, "components to call");
    if (status != TN_OK) return status;
    if (!scope->callee)
        return binder_fail(binder, TN_UNSUPPORTED, "UNSUPPORTED", "it is to call the %s `%s`, but %s can call nothing",
                           kind, name, scope->where);
    struct error error = ERROR_INIT;
    struct callable *callable = scope->callee(scope->self, kind, name, config, &error);
    if (!callable) {
        /* What is too deep is said once, not on each level. */
        bool deep = error.code && strcmp(error.code, "LIMIT") == 0;
        binder_fail(binder, TN_NOT_FOUND, error.code ? error.code : "NOT_FOUND", "%s%s%s%s%s%s", deep ? "" : "the ",
                    deep ? "" : kind, deep ? "" : " `", deep ? "" : name,
                    deep ? "" : "` that it is to call: ", error.message ? error.message : "there is none of that name");
        error_finish(&error);
        return TN_NOT_FOUND;
    }
    bindings->callees = grown(bindings->callees, bindings->callee_count, sizeof *bindings->callees);
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
    int32_t status = check_room(binder, bindings->set_count, "sets of tools");
    if (status != TN_OK) return status;
    if (!scope->tools)
        return binder_fail(binder, TN_UNSUPPORTED, "UNSUPPORTED", "it is to use tools, but %s can call nothing",
                           scope->where);
    struct error error = ERROR_INIT;
    struct callable *made = NULL;
    status = scope->tools(scope->self, names, &made, &error);
    if (status != TN_OK) {
        binder_fail(binder, status, error.code ? error.code : "NOT_FOUND", "the tools that it is to use: %s",
                    error.message ? error.message : "they cannot be had");
        error_finish(&error);
        return status;
    }
    bindings->sets = grown(bindings->sets, bindings->set_count, sizeof *bindings->sets);
    bindings->sets[bindings->set_count] = (struct bound_set){value_ref(names), made};
    *set = bindings->set_count++;
    return TN_OK;
}

/* ---- Expressions, templates, schemas ---- */

/* The state's field names, for "did you mean", and those that an expression reads whole. */
struct names {
    const char **items;
    uint32_t count;
};

static void add_name(void *user, const char *name) {
    struct names *names = user;
    names->items = grown((void *)names->items, names->count, sizeof *names->items);
    names->items[names->count++] = name;
}

struct state_fields {
    const struct instance_scope *scope;
    struct names names;
};

static int32_t field_index(void *self, const char *name, size_t length) {
    const struct instance_scope *scope = ((const struct state_fields *)self)->scope;
    if (!scope->field) return -1;
    char *text = mem_text_n(name, length);
    int32_t field = scope->field(scope->self, text);
    mem_free(text);
    return field;
}

static const char *field_name(void *self, uint32_t index) {
    const struct state_fields *fields = self;
    return index < fields->names.count ? fields->names.items[index] : NULL;
}

/* Everything that the text reads becomes a channel that the instance reads. */
static int32_t bind_uses(struct tn_binder *binder, const struct expr *expr, const struct state_fields *fields) {
    const struct instance_scope *scope = binder->scope;
    uint32_t index;
    int32_t status = TN_OK;
    for (size_t i = 0, n = expr_use_count(expr); status == TN_OK && i < n; i++) {
        const struct expr_use *use = expr_use_at(expr, i);
        if (use->variable == BINDING_RUN) binder->bindings->uses_run = true;
        if (use->variable != BINDING_STATE) continue;
        for (uint32_t k = 0; status == TN_OK && k < fields->names.count; k++) {
            int32_t field = scope->field(scope->self, fields->names.items[k]);
            if (field < 0 || (use->field != EXPR_WHOLE && use->field != (uint32_t)field)) continue;
            status = bind_field(binder, (uint32_t)field, fields->names.items[k], &index);
        }
        /* A field that each_field does not list. */
        const char *name =
            use->field != EXPR_WHOLE && scope->field_name ? scope->field_name(scope->self, use->field) : "";
        if (status == TN_OK && use->field != EXPR_WHOLE) status = bind_field(binder, use->field, name, &index);
    }
    return status;
}

static void fields_init(struct state_fields *fields, const struct instance_scope *scope) {
    *fields = (struct state_fields){.scope = scope};
    if (scope->each_field && scope->field) scope->each_field(scope->self, add_name, &fields->names);
}

static void variables_init(struct expr_variable variables[BINDING_VARIABLES], const struct expr_fields *fields,
                           bool bare) {
    static const char *const names[] = {"state", "input", "item", "config", "run"};
    for (int i = 0; i < BINDING_VARIABLES; i++) variables[i] = (struct expr_variable){.name = names[i]};
    variables[BINDING_STATE].fields = fields;
    variables[BINDING_STATE].bare = bare;
}

static int32_t fail_text(struct tn_binder *binder, int32_t status, const char *what, const char *text,
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
    int32_t status = check_room(binder, bindings->expr_count, "expressions");
    if (status != TN_OK) return status;
    struct state_fields state;
    struct expr_variable variables[BINDING_VARIABLES];
    struct error error = ERROR_INIT;
    struct expr *expr = NULL;
    fields_init(&state, binder->scope);
    const struct expr_fields fields = {.self = &state, .index = field_index, .name = field_name};
    variables_init(variables, &fields, false);
    const struct expr_scope scope = {.variables = variables, .variable_count = BINDING_VARIABLES};
    status = expr_compile(text, strlen(text), &scope, NULL, &expr, &error);
    if (status != TN_OK) fail_text(binder, status, "expression", text, &error);
    if (status == TN_OK) status = bind_uses(binder, expr, &state);
    mem_free((void *)state.names.items);
    if (status != TN_OK) {
        expr_unref(expr);
        return status;
    }
    bindings->exprs = grown(bindings->exprs, bindings->expr_count, sizeof *bindings->exprs);
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
    int32_t status = check_room(binder, bindings->template_count, "templates");
    if (status != TN_OK) return status;
    struct state_fields state;
    struct expr_variable variables[BINDING_VARIABLES];
    struct error error = ERROR_INIT;
    struct template *template = NULL;
    fields_init(&state, binder->scope);
    const struct expr_fields fields = {.self = &state, .index = field_index, .name = field_name};
    variables_init(variables, &fields, true);
    /* Open: a name that is no channel may be one of render's variables. The checker knows better, and says more. */
    const struct expr_scope scope = {.variables = variables, .variable_count = BINDING_VARIABLES, .open = true};
    status = template_compile(text, strlen(text), &scope, NULL, &template, &error);
    if (status != TN_OK) fail_text(binder, status, "template", text, &error);
    for (size_t i = 0; status == TN_OK && i < template_hole_count(template); i++)
        status = bind_uses(binder, template_hole_at(template, i)->expr, &state);
    mem_free((void *)state.names.items);
    if (status != TN_OK) {
        template_unref(template);
        return status;
    }
    bindings->templates = grown(bindings->templates, bindings->template_count, sizeof *bindings->templates);
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
    int32_t status = check_room(binder, bindings->schema_count, "schemas");
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
    bindings->schemas = grown(bindings->schemas, bindings->schema_count, sizeof *bindings->schemas);
    bindings->schemas[bindings->schema_count] = (struct bound_schema){value_ref(schema), compiled};
    *index = bindings->schema_count++;
    return TN_OK;
}
