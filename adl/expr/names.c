/*
 * names.c - resolves a name: a macro's variable, a scope variable, a host field, a type, or an unknown name.
 *
 * The order is: variables of macros, innermost first; literals; scope variables, the longest matching qualified name
 * first; fields of bare variables; types; names of an open scope. `state.x` and `state["x"]` are one instruction if the
 * host provides the fields of `state`; any other use of `state` loads the whole variable.
 */
#include "adl/expr/compile.h"
#include "adl/value/nearest.h"
#include <stdio.h>
#include <string.h>

#define FIELDS_OFFERED 10000u /* candidates for "did you mean"; bounds an endless table */

static bool name_is(const char *name, const char *text, size_t length) {
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

/*
 * True if the text at the current token starts with `name`, which may be qualified. *after is then the lexer after it.
 */
static bool name_fits(const struct compiler *compiler, const char *name, struct lexer *after) {
    struct lexer ahead = compiler->lexer;
    struct token token = compiler->token;
    for (;;) {
        const char *dot = strchr(name, '.');
        size_t length = dot ? (size_t)(dot - name) : strlen(name);
        if (token.kind != LEX_NAME || token.to - token.from != length ||
            memcmp(compiler->lexer.text + token.from, name, length) != 0)
            return false;
        if (!dot) break;
        if (lex(&ahead).kind != LEX_DOT) return false;
        token = lex(&ahead);
        name = dot + 1;
    }
    *after = ahead;
    return true;
}

static bool method_follows(const struct lexer *lexer) {
    struct lexer ahead = *lexer;
    return lex(&ahead).kind == LEX_OPEN;
}

/* Moves past a qualified name. */
static struct span take_qualified_name(struct compiler *compiler, struct lexer after) {
    struct span span = {compiler->token.start, (uint32_t)after.at};
    compiler->lexer = after;
    advance(compiler);
    compiler->last_end = span.end;
    return span;
}

/* ---- Offers of nearest names ---- */

static void offer_fields(struct nearest *near, const struct expr_fields *fields) {
    for (uint32_t i = 0; fields->name && i < FIELDS_OFFERED; i++) {
        const char *name = fields->name(fields->self, i);
        if (!name) return;
        nearest_add_candidate(near, name, strlen(name));
    }
}

/* ---- Names of fields, for editors ---- */

static void tell_field(struct compiler *compiler, uint32_t variable, const struct token *token, bool bare) {
    const struct expr_scope *scope = compiler->scope;
    if (!scope->field) return;
    const struct expr_field_name field = {.variable = variable,
                                          .name = compiler->lexer.text + token->from,
                                          .length = token->to - token->from,
                                          .span = {token->from, token->to},
                                          .token = span_of(token),
                                          .bare = bare,
                                          .indexed = token->kind == LEX_STRING};
    scope->field(scope->self, &field);
}

static void tell_whole(struct compiler *compiler, uint32_t variable, struct span span) {
    const struct expr_field_name field = {.variable = variable, .span = span, .token = span};
    if (compiler->scope->field) compiler->scope->field(compiler->scope->self, &field);
}

/* An unknown name counts as a bare field if the scope has any. */
static void tell_unknown(struct compiler *compiler, const struct token *token) {
    for (size_t i = 0; i < compiler->scope->variable_count; i++) {
        const struct expr_variable *variable = &compiler->scope->variables[i];
        if (!variable->bare || !variable->fields) continue;
        tell_field(compiler, (uint32_t)i, token, true);
        return;
    }
}

static void unknown_field(struct compiler *compiler, const struct expr_variable *variable, const char *name,
                          size_t length, struct span span) {
    struct nearest near;
    nearest_init(&near, name, length);
    offer_fields(&near, variable->fields);
    compile_mistake(compiler, EXPR_MISTAKE_NAME, span, nearest_result(&near), "`%s` has no field `%.*s`%s",
                    variable->name, (int)length, name, nearest_hint(&near).text);
}

static void unknown_name(struct compiler *compiler, const char *name, size_t length, struct span span) {
    struct nearest near;
    nearest_init(&near, name, length);
    for (uint32_t i = compiler->local_count; i-- > 0;) {
        const struct local *local = &compiler->locals[i];
        nearest_add_candidate(&near, compiler->lexer.text + local->from, local->to - local->from);
    }
    for (size_t i = 0; i < compiler->scope->variable_count; i++) {
        const struct expr_variable *variable = &compiler->scope->variables[i];
        nearest_add_candidate(&near, variable->name, strlen(variable->name));
        if (variable->bare && variable->fields) offer_fields(&near, variable->fields);
    }
    char meant[NEAREST_LENGTH_MAX + 1];
    const char *literal = word_meant_literal(name, length);
    if (literal) near = (struct nearest){.best = literal, .best_length = strlen(literal)};
    if (nearest_result(&near)) snprintf(meant, sizeof meant, "%.*s", (int)near.best_length, near.best);
    compile_mistake(compiler, EXPR_MISTAKE_NAME, span, nearest_result(&near) ? meant : NULL,
                    "unknown variable `%.*s`%s", (int)length, name, nearest_hint(&near).text);
}

void unknown_function(struct compiler *compiler, const struct token *name, bool receiver) {
    const char *text = compiler->lexer.text + name->from;
    size_t length = name->to - name->from;
    struct nearest near;
    nearest_init(&near, text, length);
    for (size_t i = 0; i < expr_function_count(); i++) {
        const struct expr_function *row = expr_function_at(i);
        if (row->receiver == receiver) nearest_add_candidate(&near, row->name, strlen(row->name));
    }
    const char *meant = !receiver && word_is_not(text, length) ? "!" : nearest_result(&near);
    int32_t other = function_find(text, length, !receiver, SIZE_MAX);
    const char *what = receiver ? "method" : "function";
    if (other >= 0)
        compile_mistake(compiler, EXPR_MISTAKE_FUNCTION, span_of(name), NULL, "unknown %s `%.*s`; its signature is %s",
                        what, (int)length, text, expr_function_at((size_t)other)->signature);
    else
        compile_mistake(compiler, EXPR_MISTAKE_FUNCTION, span_of(name), meant, "unknown %s `%.*s`%s", what, (int)length,
                        text, nearest_hint_of(meant).text);
}

/* ---- Meanings ---- */

static uint32_t known(uint32_t kinds) { return kinds ? kinds & EXPR_ANY : EXPR_ANY; }

static uint32_t emit_field(struct compiler *compiler, uint32_t variable, const struct token *token, bool bare) {
    const char *name = compiler->lexer.text + token->from;
    size_t length = token->to - token->from;
    struct span span = span_of(token);
    tell_field(compiler, variable, token, bare);
    const struct expr_variable *row = &compiler->scope->variables[variable];
    int32_t field = row->fields->index(row->fields->self, name, length);
    if (field < 0 && !compiler->scope->unchecked) unknown_field(compiler, row, name, length, span);
    if (field >= 0) use_add(compiler, variable, (uint32_t)field, span);
    /* In unchecked mode, an unknown field never has a value: no field has the index EXPR_WHOLE. */
    emit(compiler, OP_FIELD, variable, field < 0 ? EXPR_WHOLE : (uint32_t)field, span, 1);
    return field < 0 || !row->fields->kinds ? EXPR_ANY : known(row->fields->kinds(row->fields->self, (uint32_t)field));
}

/* After a variable with fields: if `.name` or `["name"]` follows, compiles the access to that field. */
static bool compile_field(struct compiler *compiler, uint32_t variable, uint32_t from, uint32_t *kinds) {
    struct lexer ahead = compiler->lexer;
    struct token name;
    if (compiler->token.kind == LEX_DOT) {
        name = lex(&ahead);
        if ((name.kind != LEX_NAME && name.kind != LEX_QUOTED) || method_follows(&ahead)) return false;
        advance(compiler);
        *kinds = emit_field(compiler, variable, &name, false);
        compiler->selection = compiler->expr->code_count - 1;
        compiler->selection_from = from;
        advance(compiler);
        return true;
    }
    if (compiler->token.kind != LEX_OPEN_LIST) return false;
    name = lex(&ahead);
    if (name.kind != LEX_STRING || lex(&ahead).kind != LEX_CLOSE_LIST) return false;
    const char *text = compiler->lexer.text + name.from;
    size_t length = name.to - name.from;
    if (!name.raw && memchr(text, '\\', length)) return false; /* rare: use the general path */
    advance(compiler);
    *kinds = emit_field(compiler, variable, &name, false);
    advance(compiler);
    advance(compiler);
    return true;
}

static bool compile_local(struct compiler *compiler) {
    const struct token *token = &compiler->token;
    const char *text = compiler->lexer.text;
    for (uint32_t i = compiler->local_count; i-- > 0;) {
        const struct local *local = &compiler->locals[i];
        if (local->to - local->from != token->to - token->from) continue;
        if (memcmp(text + local->from, text + token->from, local->to - local->from) != 0) continue;
        emit(compiler, local->read, 0, local->slot, span_of(token), 1);
        advance(compiler);
        return true;
    }
    return false;
}

static bool compile_literal(struct compiler *compiler, uint32_t *kinds) {
    const struct token *token = &compiler->token;
    const char *text = compiler->lexer.text + token->from;
    size_t length = token->to - token->from;
    struct cell constant;
    if (name_is("true", text, length) || name_is("false", text, length))
        constant = cell_bool(*text == 't');
    else if (name_is("null", text, length))
        constant = (struct cell){.kind = TN_NULL};
    else
        return false;
    *kinds = EXPR_KIND(constant.kind);
    emit_constant(compiler, constant, span_of(token));
    advance(compiler);
    return true;
}

static bool compile_variable(struct compiler *compiler, uint32_t *kinds) {
    const struct expr_scope *scope = compiler->scope;
    uint32_t best = UINT32_MAX, from = compiler->token.start;
    struct lexer after = compiler->lexer, candidate;
    for (size_t i = 0; i < scope->variable_count; i++) {
        if (!name_fits(compiler, scope->variables[i].name, &candidate)) continue;
        bool qualified = strchr(scope->variables[i].name, '.') != NULL;
        bool inner = i + scope->inner_count >= scope->variable_count;
        if (qualified && method_follows(&candidate)) continue;
        if (best != UINT32_MAX && (candidate.at < after.at || (candidate.at == after.at && !inner))) continue;
        best = (uint32_t)i;
        after = candidate;
    }
    if (best == UINT32_MAX) return false;
    const struct expr_variable *variable = &scope->variables[best];
    struct span span = take_qualified_name(compiler, after);
    *kinds = known(variable->kinds);
    if (variable->fields && compile_field(compiler, best, from, kinds)) return true;
    if (variable->fields) tell_whole(compiler, best, span);
    use_add(compiler, best, EXPR_WHOLE, span);
    emit(compiler, OP_VARIABLE, 0, best, span, 1);
    if (variable->fields && !variable->kinds) *kinds = EXPR_KIND(TN_OBJECT);
    return true;
}

static bool compile_bare(struct compiler *compiler, uint32_t *kinds) {
    const char *text = compiler->lexer.text + compiler->token.from;
    size_t length = compiler->token.to - compiler->token.from;
    for (size_t i = 0; i < compiler->scope->variable_count; i++) {
        const struct expr_variable *variable = &compiler->scope->variables[i];
        if (!variable->bare || !variable->fields) continue;
        if (variable->fields->index(variable->fields->self, text, length) < 0) continue;
        struct token name = compiler->token;
        *kinds = emit_field(compiler, (uint32_t)i, &name, true);
        compiler->selection = compiler->expr->code_count - 1;
        compiler->selection_from = compiler->token.start;
        advance(compiler);
        return true;
    }
    return false;
}

static bool compile_type(struct compiler *compiler) {
    for (int kind = TN_NULL; kind <= EXPR_TYPE; kind++) {
        struct lexer after;
        if (!name_fits(compiler, cell_type_name(kind), &after)) continue;
        struct span span = take_qualified_name(compiler, after);
        emit_constant(compiler, (struct cell){.kind = EXPR_TYPE, .as.integer = kind}, span);
        return true;
    }
    return false;
}

uint32_t compile_name(struct compiler *compiler) {
    uint32_t kinds = EXPR_ANY;
    struct token token = compiler->token;
    const char *text = compiler->lexer.text + token.from;
    size_t length = token.to - token.from;
    if (compile_local(compiler)) return EXPR_ANY;
    if (compile_literal(compiler, &kinds)) return kinds;
    if (lex_reserved(text, length)) {
        expr_mistaken(compiler, EXPR_MISTAKE_SYNTAX, span_of(&token), "`%.*s` is a reserved word, not a name",
                      (int)length, text);
        return EXPR_ANY;
    }
    if (compile_variable(compiler, &kinds) || compile_bare(compiler, &kinds)) return kinds;
    if (word_not_precedes_operand(compiler)) {
        expr_mistaken_word(compiler, &token, "!");
        return EXPR_ANY;
    }
    if (name_is("default", text, length)) {
        emit_constant(compiler, cell_bool(true), span_of(&token));
        advance(compiler);
        return EXPR_KIND(TN_BOOL);
    }
    if (compile_type(compiler)) return EXPR_KIND(EXPR_TYPE);
    if (!compiler->scope->open && !compiler->scope->unchecked) {
        tell_unknown(compiler, &token);
        unknown_name(compiler, text, length, span_of(&token));
    }
    use_add(compiler, EXPR_FREE, EXPR_WHOLE, span_of(&token));
    emit(compiler, OP_NAME, 0, constant_text(compiler, text, length), span_of(&token), 1);
    advance(compiler);
    return EXPR_ANY;
}
