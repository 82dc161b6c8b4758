/*
 * parse.c - the grammar of CEL, which emits instructions while it reads.
 *
 * Every function returns the possible kinds of its value, which is how operands are checked. Chains (a + b + c, a ? b :
 * c ? d : e, !!a, a.b.c) are loops; only brackets recurse, and nest() bounds their depth, so no text can exhaust the C
 * stack. A list or map of constants becomes one constant, so `x in ["a", "b"]` builds nothing at run time.
 */
#include "adl/expr/compile.h"
#include "adl/expr/macro.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <limits.h>
#include <string.h>

/* The allowed kinds of a map key. */
#define KEYS (EXPR_KIND(TN_BOOL) | EXPR_KIND(TN_INT) | EXPR_KIND(EXPR_UINT) | EXPR_KIND(TN_STRING))

void advance(struct compiler *compiler) {
    compiler->last_end = compiler->token.end;
    if (compiler->failed) return;
    struct token token = lex(&compiler->lexer);
    if (token.kind == LEX_INVALID)
        expr_mistaken(compiler, EXPR_MISTAKE_SYNTAX, span_of(&token), "found %s", token.wrong);
    else
        compiler->token = token;
}

static bool next_token_is(const struct compiler *compiler, enum lex_kind kind) { return compiler->token.kind == kind; }

static bool accept_kind(struct compiler *compiler, enum lex_kind kind) {
    if (!next_token_is(compiler, kind)) return false;
    advance(compiler);
    return true;
}

static void unexpected(struct compiler *compiler, const char *expected) {
    expr_unexpected(compiler, &compiler->token, expected);
}

void expect(struct compiler *compiler, enum lex_kind kind, const char *what) {
    if (!accept_kind(compiler, kind)) unexpected(compiler, what);
}

static bool nest(struct compiler *compiler) {
    uint32_t limit = compiler->expr->limits.depth;
    if (compiler->depth >= limit) {
        expr_mistaken(compiler, EXPR_MISTAKE_LIMIT, span_of(&compiler->token),
                      "brackets are nested deeper than the limit of %u", limit);
        return false;
    }
    compiler->depth++;
    return true;
}

static void unnest(struct compiler *compiler) { compiler->depth--; }

/* ---- Checking ---- */

void check_kinds(struct compiler *compiler, struct span span, uint32_t found, uint32_t wanted, const char *what) {
    char found_text[160], wanted_text[160];
    if (found & wanted || compiler->scope->unchecked) return;
    compile_mistake(compiler, EXPR_MISTAKE_KIND, span, NULL, "%s takes %s, found %s", what,
                    expr_kinds_text(wanted, wanted_text, sizeof wanted_text),
                    expr_kinds_text(found, found_text, sizeof found_text));
}

static uint32_t check_binary(struct compiler *compiler, enum expr_operation operation, struct span span, uint32_t left,
                             uint32_t right) {
    uint32_t result = kinds_of_binary(operation, left, right);
    if (result) return result;
    if (compiler->scope->unchecked) return EXPR_ANY;
    char left_text[160], right_text[160];
    uint32_t text = EXPR_KIND(TN_STRING), scalars = EXPR_NUMBER | EXPR_KIND(TN_BOOL);
    bool convert = operation == OP_ADD && ((left == text && right & scalars) || (right == text && left & scalars));
    compile_mistake(compiler, EXPR_MISTAKE_KIND, span, NULL,
                    "`%.*s` does not accept %s on the left and %s on the right%s", (int)(span.end - span.start),
                    compiler->lexer.text + span.start, expr_kinds_text(left, left_text, sizeof left_text),
                    expr_kinds_text(right, right_text, sizeof right_text),
                    convert ? "; convert it with string(…)" : "");
    return EXPR_ANY;
}

/* ---- Literals ---- */

static void parse_number(struct compiler *compiler) {
    const struct token *token = &compiler->token;
    struct cell constant = cell_double(token->real);
    if (token->kind == LEX_UINT) constant = cell_uint(token->natural);
    if (token->kind == LEX_INT) constant = cell_int((int64_t)token->natural);
    if (token->kind == LEX_INT && token->natural > INT64_MAX)
        expr_mistaken(compiler, EXPR_MISTAKE_SYNTAX, span_of(token),
                      "found an int above 9223372036854775807 (a double is written with a point: 1e19)");
    emit_constant(compiler, constant, span_of(token));
    advance(compiler);
}

static void parse_string(struct compiler *compiler) {
    struct token token = compiler->token;
    struct buffer decoded;
    uint32_t where = token.start;
    buffer_init(&decoded, SIZE_MAX);
    const char *wrong = lex_decode(&compiler->lexer, &token, &decoded, &where);
    const char *chars = buffer_cstr(&decoded);
    struct cell constant = {.kind = TN_NULL};
    if (wrong) {
        expr_mistaken(compiler, EXPR_MISTAKE_SYNTAX, (struct span){where, where + 2}, "found %s", wrong);
    } else {
        bool bytes = token.kind == LEX_BYTES;
        constant = cell_of(bytes ? value_bytes(chars, decoded.length) : value_string(chars, decoded.length));
    }
    emit_constant(compiler, constant, span_of(&token));
    buffer_finish(&decoded);
    advance(compiler);
}

/* Returns the JSON value of a constant that can be part of a constant list or map (a new reference), or NULL. */
static tn_value json_constant(const struct cell *constant) {
    const char *why;
    if (!constant || constant->kind > TN_OBJECT) return NULL;
    return cell_to_value(constant, &why);
}

static void check_length(struct compiler *compiler, uint32_t from, uint32_t count) {
    uint32_t limit = compiler->expr->limits.list_length;
    if (count > limit)
        compile_mistake(compiler, EXPR_MISTAKE_LIMIT, (struct span){from, compiler->last_end}, NULL,
                        "a list or map of %u items; the limit is %u", count, limit);
}

/* Replaces the instructions from `start` on by one constant, which it consumes. */
static void fold_constant(struct compiler *compiler, uint32_t start, tn_value value, uint32_t from) {
    compiler->expr->code_count = start;
    compiler->height--;
    emit_constant(compiler, cell_of(value), (struct span){from, compiler->last_end});
}

static void parse_list(struct compiler *compiler) {
    uint32_t from = compiler->token.start, count = 0;
    tn_value constants = value_array();
    if (!nest(compiler)) return;
    advance(compiler);
    uint32_t start = emit(compiler, OP_LIST, 0, 0, (struct span){from, from + 1}, 1);
    while (!next_token_is(compiler, LEX_CLOSE_LIST) && !compiler->failed) {
        uint32_t item_at = compiler->expr->code_count, item_from = compiler->token.start;
        parse_expression(compiler);
        count++;
        tn_value item = constants ? json_constant(sole_constant(compiler, item_at)) : NULL;
        if (item) {
            constants = value_push_take(constants, item);
        } else {
            value_unref(constants);
            constants = NULL;
        }
        emit(compiler, OP_LIST_ADD, 0, 0, (struct span){item_from, compiler->last_end}, -1);
        if (!accept_kind(compiler, LEX_COMMA)) break;
    }
    expect(compiler, LEX_CLOSE_LIST, "`]` or `,`");
    unnest(compiler);
    check_length(compiler, from, count);
    if (constants && !compiler->failed) {
        fold_constant(compiler, start, constants, from);
    } else {
        compiler->expr->code[start].b = count;
        value_unref(constants);
    }
}

/* Adds an entry to the constant map, which it consumes. Returns NULL if the map can no longer be a constant. */
static tn_value fold_entry(tn_value constants, const struct cell *key, const struct cell *value) {
    /* {"$bytes": …} is a map inside of an expression and becomes bytes at its end, so it is not a constant value. */
    bool text = key && key->kind == TN_STRING && !value_text_is(key->as.value, "$bytes");
    tn_value item = constants && text ? json_constant(value) : NULL;
    if (item && !value_get_key(constants, key->as.value))
        return value_set_key_take(constants, value_ref(key->as.value), item);
    value_unref(item);
    value_unref(constants);
    return NULL;
}

static void parse_map(struct compiler *compiler) {
    uint32_t from = compiler->token.start, count = 0;
    tn_value constants = value_object();
    if (!nest(compiler)) return;
    advance(compiler);
    uint32_t start = emit(compiler, OP_MAP, 0, 0, (struct span){from, from + 1}, 1);
    while (!next_token_is(compiler, LEX_CLOSE_MAP) && !compiler->failed) {
        uint32_t key_at = compiler->expr->code_count, key_from = compiler->token.start;
        uint32_t kinds = parse_expression(compiler);
        struct span key_span = {key_from, compiler->last_end};
        check_kinds(compiler, key_span, kinds, KEYS, "a key");
        bool key_constant = sole_constant(compiler, key_at) != NULL;
        expect(compiler, LEX_COLON, "`:` after the key");
        uint32_t value_at = compiler->expr->code_count;
        parse_expression(compiler);
        count++;
        const struct cell *value = sole_constant(compiler, value_at);
        const struct cell *key =
            key_constant && value ? &compiler->expr->constants[compiler->expr->code[key_at].b] : NULL;
        constants = fold_entry(constants, key, value);
        emit(compiler, OP_MAP_ADD, 0, 0, key_span, -2);
        if (!accept_kind(compiler, LEX_COMMA)) break;
    }
    expect(compiler, LEX_CLOSE_MAP, "`}` or `,`");
    unnest(compiler);
    check_length(compiler, from, count);
    if (constants && !compiler->failed) {
        fold_constant(compiler, start, constants, from);
    } else {
        compiler->expr->code[start].b = count;
        value_unref(constants);
    }
}

/* ---- Calls ---- */

/* Compiles a constant pattern now and removes its instruction. */
static bool parse_pattern(struct compiler *compiler, uint32_t pattern_at, struct span span) {
    char message[REGEX_MESSAGE];
    const struct cell *constant = sole_constant(compiler, pattern_at);
    size_t length;
    if (!constant || constant->kind != TN_STRING || compiler->failed) return false;
    const char *text = cell_chars(constant, &length);
    struct regex *regex = regex_new(text, length, message);
    if (!regex) {
        if (!compiler->scope->unchecked)
            compile_mistake(compiler, EXPR_MISTAKE_FUNCTION, compiler->expr->spans[pattern_at], NULL,
                            "the pattern is not a regular expression: %s", message);
        return false;
    }
    struct expr *expr = compiler->expr;
    MEM_GROW(expr->patterns, expr->pattern_count, compiler->pattern_capacity);
    expr->patterns[expr->pattern_count] = regex;
    expr->code_count = pattern_at;
    compiler->height--;
    emit(compiler, OP_MATCH, 0, expr->pattern_count++, span, 0);
    return true;
}

static uint32_t emit_unknown(struct compiler *compiler, const struct token *name, uint32_t operands) {
    emit(compiler, OP_UNKNOWN, operands, 0, span_of(name), 1 - (int32_t)operands);
    return EXPR_ANY;
}

/* Call it after the `(`. `operands` counts a receiver of kinds `on` that is on the stack already. */
static uint32_t parse_arguments(struct compiler *compiler, const struct token *name, bool receiver, uint32_t on) {
    const char *text = compiler->lexer.text + name->from;
    size_t length = name->to - name->from;
    uint32_t count = 0, kinds[2] = {on, EXPR_ANY}, last_at = 0;
    while (!next_token_is(compiler, LEX_CLOSE) && !compiler->failed) {
        last_at = compiler->expr->code_count;
        uint32_t found = parse_expression(compiler), place = count + receiver;
        if (place < 2) kinds[place] = found;
        if (++count > UINT16_MAX - 1) expr_mistaken(compiler, EXPR_MISTAKE_LIMIT, span_of(name), "too many arguments");
        if (!accept_kind(compiler, LEX_COMMA)) break;
    }
    expect(compiler, LEX_CLOSE, "`)` or `,`");
    uint32_t operands = count + receiver;
    int32_t index = function_find(text, length, receiver, count), any = function_find(text, length, receiver, SIZE_MAX);
    if (index < 0) {
        if (any < 0 && !compiler->scope->unchecked) unknown_function(compiler, name, receiver);
        if (any >= 0 && !compiler->scope->unchecked)
            compile_mistake(compiler, EXPR_MISTAKE_FUNCTION, span_of(name), NULL,
                            "found %u argument%s; its signature is %s", count, count == 1 ? "" : "s",
                            expr_function_at((size_t)any)->signature);
        return emit_unknown(compiler, name, operands);
    }
    const struct expr_function *row = expr_function_at((size_t)index);
    if (row->macro) return emit_unknown(compiler, name, operands); /* has() with wrong arguments: already reported */
    if (operands > 0) check_kinds(compiler, span_of(name), kinds[0], row->on, row->signature);
    if (operands > 1) check_kinds(compiler, span_of(name), kinds[1], row->with, row->signature);
    bool match = strcmp(row->name, "matches") == 0;
    compiler->expr->uses_now |= strcmp(row->name, "now") == 0;
    if (match && parse_pattern(compiler, last_at, span_of(name))) return row->result;
    emit(compiler, OP_CALL, operands, (uint32_t)index, span_of(name), 1 - (int32_t)operands);
    return row->result;
}

static uint32_t parse_call(struct compiler *compiler, const struct token *name, bool receiver, uint32_t on) {
    uint32_t kinds = EXPR_ANY;
    if (!nest(compiler)) return EXPR_ANY;
    advance(compiler);
    bool macro = receiver ? macro_loop(compiler, name, on, &kinds) : macro_has(compiler, name, &kinds);
    if (!macro) kinds = parse_arguments(compiler, name, receiver, on);
    unnest(compiler);
    return kinds;
}

/* ---- Primaries and what follows them ---- */

static bool call_follows(const struct compiler *compiler) {
    struct lexer ahead = compiler->lexer;
    return lex(&ahead).kind == LEX_OPEN;
}

/* True for `math.sin`: no function, but in a library of functions, and no value has such a method either. */
static bool is_unknown_of_library(const char *text, size_t length, const struct token *last) {
    size_t library = strcspn(text, ".") + 1, name = last->to - last->from;
    for (size_t i = 0; i < expr_function_count(); i++) {
        const char *known = expr_function_at(i)->name;
        if (strlen(known) > library && memcmp(known, text, library) == 0)
            return function_find(text + length - name, name, true, SIZE_MAX) < 0;
    }
    return false;
}

/* If `math.greatest(` follows and is a function, moves to its last name and extends *name to the whole. */
static bool take_qualified_function(struct compiler *compiler, struct token *name) {
    struct lexer ahead = compiler->lexer;
    struct token last = *name;
    while (lex(&ahead).kind == LEX_DOT) {
        struct lexer position = ahead;
        last = lex(&ahead);
        if (last.kind != LEX_NAME) return false;
        struct lexer after = ahead;
        if (lex(&after).kind != LEX_OPEN) continue;
        const char *text = compiler->lexer.text + name->from;
        size_t length = last.to - name->from;
        if (function_find(text, length, false, SIZE_MAX) < 0 && !is_unknown_of_library(text, length, &last))
            return false;
        name->to = last.to;
        name->end = last.end;
        compiler->lexer = position;
        advance(compiler);
        return true;
    }
    return false;
}

static uint32_t parse_named(struct compiler *compiler) {
    struct token name = compiler->token;
    if (call_follows(compiler) || take_qualified_function(compiler, &name)) {
        advance(compiler);
        return parse_call(compiler, &name, false, 0);
    }
    uint32_t kinds = compile_name(compiler);
    if (next_token_is(compiler, LEX_OPEN_MAP))
        expr_mistaken(compiler, EXPR_MISTAKE_SYNTAX, span_of(&compiler->token),
                      "messages cannot be built here; write a map as {\"key\": value}");
    return kinds;
}

static uint32_t parse_brackets(struct compiler *compiler) {
    if (!nest(compiler)) return EXPR_ANY;
    advance(compiler);
    uint32_t kinds = parse_expression(compiler);
    expect(compiler, LEX_CLOSE, "`)`");
    unnest(compiler);
    return kinds;
}

static uint32_t parse_primary(struct compiler *compiler) {
    switch (compiler->token.kind) {
    case LEX_NAME: return parse_named(compiler);
    case LEX_INT: parse_number(compiler); return EXPR_KIND(TN_INT);
    case LEX_UINT: parse_number(compiler); return EXPR_KIND(EXPR_UINT);
    case LEX_DOUBLE: parse_number(compiler); return EXPR_KIND(TN_DOUBLE);
    case LEX_STRING: parse_string(compiler); return EXPR_KIND(TN_STRING);
    case LEX_BYTES: parse_string(compiler); return EXPR_KIND(TN_BYTES);
    case LEX_OPEN_LIST: parse_list(compiler); return EXPR_KIND(TN_ARRAY);
    case LEX_OPEN_MAP: parse_map(compiler); return EXPR_KIND(TN_OBJECT);
    case LEX_OPEN: return parse_brackets(compiler);
    case LEX_DOT: /* a name from the root, like all of ours */
        advance(compiler);
        if (next_token_is(compiler, LEX_NAME)) return parse_named(compiler);
        unexpected(compiler, "a name");
        return EXPR_ANY;
    default: unexpected(compiler, "a value"); return EXPR_ANY;
    }
}

/* Reports a field of a list: the items have the fields, as in state.error[0].code. */
static void check_selection(struct compiler *compiler, const struct token *name, uint32_t kinds) {
    int length = (int)(name->to - name->from);
    const char *text = compiler->lexer.text + name->from;
    if (kinds != EXPR_KIND(TN_ARRAY) || compiler->scope->unchecked)
        check_kinds(compiler, span_of(name), kinds, EXPR_KIND(TN_OBJECT), "a field");
    else
        compile_mistake(compiler, EXPR_MISTAKE_KIND, span_of(name), NULL,
                        "a field takes map, found list; the first item's is `[0].%.*s`, and all of them are "
                        "`.map(e, e.%.*s)`",
                        length < 60 ? length : 60, text, length < 60 ? length : 60, text);
}

static uint32_t parse_selection(struct compiler *compiler, uint32_t kinds, uint32_t from) {
    struct token name = compiler->token;
    if (!next_token_is(compiler, LEX_NAME) && !next_token_is(compiler, LEX_QUOTED)) {
        unexpected(compiler,
                   next_token_is(compiler, LEX_IN) ? "a field (write `in` in backquotes)" : "a field or method");
        return EXPR_ANY;
    }
    advance(compiler);
    if (next_token_is(compiler, LEX_OPEN) && name.kind == LEX_NAME) return parse_call(compiler, &name, true, kinds);
    check_selection(compiler, &name, kinds);
    uint32_t key = constant_text(compiler, compiler->lexer.text + name.from, name.to - name.from);
    compiler->selection = emit(compiler, OP_SELECT, 0, key, span_of(&name), 0);
    compiler->selection_from = from;
    return EXPR_ANY;
}

static uint32_t parse_index(struct compiler *compiler, uint32_t kinds) {
    struct span span = span_of(&compiler->token);
    if (!nest(compiler)) return EXPR_ANY;
    check_kinds(compiler, span, kinds, EXPR_KIND(TN_ARRAY) | EXPR_KIND(TN_OBJECT), "`[…]`");
    advance(compiler);
    struct span key = {compiler->token.start, 0};
    uint32_t key_kinds = parse_expression(compiler);
    key.end = compiler->last_end;
    if (kinds == EXPR_KIND(TN_ARRAY)) check_kinds(compiler, key, key_kinds, EXPR_NUMBER, "the index of a list");
    if (kinds == EXPR_KIND(TN_OBJECT)) check_kinds(compiler, key, key_kinds, KEYS | EXPR_KIND(TN_DOUBLE), "a key");
    expect(compiler, LEX_CLOSE_LIST, "`]`");
    unnest(compiler);
    span.end = compiler->last_end;
    emit(compiler, OP_INDEX, 0, 0, span, -1);
    return EXPR_ANY;
}

static uint32_t parse_member(struct compiler *compiler) {
    uint32_t from = compiler->token.start, kinds = parse_primary(compiler);
    while (!compiler->failed) {
        if (accept_kind(compiler, LEX_DOT))
            kinds = parse_selection(compiler, kinds, from);
        else if (next_token_is(compiler, LEX_OPEN_LIST))
            kinds = parse_index(compiler, kinds);
        else
            break;
    }
    return kinds;
}

/* ---- Operators ---- */

/* A minus before a number is part of it; otherwise -9223372036854775808 could not be written. */
static bool fold_minus(struct compiler *compiler, uint32_t operand_at) {
    const struct cell *constant = sole_constant(compiler, operand_at);
    if (!constant || (constant->kind != TN_INT && constant->kind != TN_DOUBLE)) return false;
    struct cell *changed = &compiler->expr->constants[compiler->expr->code[operand_at].b];
    if (changed->kind == TN_DOUBLE)
        changed->as.real = -changed->as.real;
    else if (changed->as.integer == INT64_MIN)
        return false;
    else
        changed->as.integer = -changed->as.integer;
    return true;
}

static uint32_t parse_least(struct compiler *compiler) {
    const struct token *token = &compiler->token;
    if (token->kind != LEX_INT || token->natural != (uint64_t)INT64_MAX + 1) return 0;
    emit_constant(compiler, cell_int(INT64_MIN), span_of(token));
    advance(compiler);
    return EXPR_KIND(TN_INT);
}

static uint32_t parse_unary(struct compiler *compiler) {
    enum lex_kind sign = compiler->token.kind;
    struct span span = span_of(&compiler->token);
    if (sign != LEX_NOT && sign != LEX_SUB) return parse_member(compiler);
    uint32_t count = 0;
    while (accept_kind(compiler, sign)) count++;
    uint32_t operand_at = compiler->expr->code_count;
    uint32_t least = sign == LEX_SUB ? parse_least(compiler) : 0;
    uint32_t kinds = least ? least : parse_member(compiler);
    if (least) count--;
    if (sign == LEX_NOT) {
        check_kinds(compiler, span, kinds, EXPR_KIND(TN_BOOL), "`!`");
        kinds = EXPR_KIND(TN_BOOL);
    } else {
        check_kinds(compiler, span, kinds, EXPR_KIND(TN_INT) | EXPR_KIND(TN_DOUBLE), "`-`");
        kinds &= EXPR_KIND(TN_INT) | EXPR_KIND(TN_DOUBLE);
        if (!kinds) kinds = EXPR_ANY;
    }
    /* An even number of operators still checks the operand's kind. */
    uint32_t emitted = count == 0 ? 0 : count % 2 ? 1 : 2;
    if (emitted == 1 && sign == LEX_SUB && fold_minus(compiler, operand_at)) return kinds;
    for (; emitted > 0; emitted--) emit(compiler, sign == LEX_NOT ? OP_NOT : OP_NEG, 0, 0, span, 0);
    return kinds;
}

/* The binding of a binary operator: 1 compares, 2 adds, 3 multiplies; 0 for other tokens. */
static int operator_binding(enum lex_kind kind, enum expr_operation *operation) {
    static const struct {
        uint8_t kind, operation, binding;
    } table[] = {
#define OPERATOR(form, example, result, documentation)
#define BINARY(token, binding, form, example, result, documentation) {LEX_##token, OP_##token, binding},
#include "adl/expr/operators.def"
#undef OPERATOR
#undef BINARY
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].kind != kind) continue;
        *operation = table[i].operation;
        return table[i].binding;
    }
    return 0;
}

/* Recurses at most three levels deep, once for each binding. */
static uint32_t parse_binary(struct compiler *compiler, int loosest) {
    uint32_t kinds = loosest > 3 ? parse_unary(compiler) : parse_binary(compiler, loosest + 1);
    enum expr_operation operation = OP_EQ;
    while (loosest <= 3 && operator_binding(compiler->token.kind, &operation) == loosest) {
        struct span span = span_of(&compiler->token);
        advance(compiler);
        uint32_t right = parse_binary(compiler, loosest + 1);
        kinds = check_binary(compiler, operation, span, kinds, right);
        emit(compiler, operation, 0, 0, span, -1);
    }
    return kinds;
}

/* a && b && c: the first operand that decides the result skips the rest. */
static uint32_t parse_logic(struct compiler *compiler, enum lex_kind sign) {
    bool and = sign == LEX_AND;
    uint32_t kinds = and? parse_binary(compiler, 1) : parse_logic(compiler, LEX_AND);
    uint32_t chain = NOWHERE;
    while (next_token_is(compiler, sign)) {
        struct span span = span_of(&compiler->token);
        const char *what = and? "`&&`" : "`||`";
        check_kinds(compiler, span, kinds, EXPR_KIND(TN_BOOL), what);
        advance(compiler);
        chain = emit(compiler, and? OP_SKIP_FALSE : OP_SKIP_TRUE, 0, chain, span, 0);
        kinds = and? parse_binary(compiler, 1) : parse_logic(compiler, LEX_AND);
        check_kinds(compiler, span, kinds, EXPR_KIND(TN_BOOL), what);
        emit(compiler, and? OP_AND : OP_OR, 0, 0, span, -1);
        kinds = EXPR_KIND(TN_BOOL);
    }
    patch_jumps(compiler, chain, compiler->expr->code_count);
    return kinds;
}

uint32_t parse_expression(struct compiler *compiler) {
    uint32_t condition_from = compiler->token.start, ends = NOWHERE;
    uint32_t kinds = parse_logic(compiler, LEX_OR), result = 0;
    while (next_token_is(compiler, LEX_QUESTION)) {
        struct span condition = {condition_from, compiler->last_end};
        check_kinds(compiler, condition, kinds, EXPR_KIND(TN_BOOL), "the condition before `?`");
        advance(compiler);
        uint32_t branch = emit(compiler, OP_BRANCH, 0, 0, condition, -1);
        ends = emit(compiler, OP_JUMP, 0, ends, condition, 0);
        result |= parse_logic(compiler, LEX_OR);
        ends = emit(compiler, OP_JUMP, 0, ends, condition, -1);
        expect(compiler, LEX_COLON, "`:` of the condition");
        compiler->expr->code[branch].b = compiler->expr->code_count;
        condition_from = compiler->token.start;
        kinds = parse_logic(compiler, LEX_OR);
    }
    patch_jumps(compiler, ends, compiler->expr->code_count);
    return result | kinds;
}
