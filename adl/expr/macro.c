/*
 * macro.c - macros: loops over lists and maps as instructions, and has().
 *
 * A loop keeps four cells on the stack: the collection, the number of processed items, the current result, and the
 * item, which is the macro's variable. The two variables of other loops are computed from these. all and exists discard
 * the errors of turns that do not affect the result, as && and || do; the other macros do not.
 */
#include "adl/expr/macro.h"
#include "adl/value/memory.h"
#include <string.h>

enum variables { ONE, TWO, ONE_OR_TWO };

static const struct {
    const char *name;
    enum loop_macro macro;
    enum variables variables;
} loops[] = {{"all", LOOP_ALL, ONE_OR_TWO},
             {"exists", LOOP_EXISTS, ONE_OR_TWO},
             {"exists_one", LOOP_EXISTS_ONE, ONE_OR_TWO},
             {"existsOne", LOOP_EXISTS_ONE, ONE_OR_TWO},
             {"map", LOOP_MAP, ONE},
             {"filter", LOOP_FILTER, ONE},
             {"transformList", LOOP_MAP, TWO},
             {"transformMap", LOOP_TRANSFORM_MAP, TWO},
             {"transformMapEntry", LOOP_TRANSFORM_ENTRY, TWO},
             {"sortBy", LOOP_MAP, ONE}};

static bool named(const struct compiler *compiler, const struct token *token, const char *name) {
    size_t length = strlen(name);
    return token->to - token->from == length && memcmp(compiler->lexer.text + token->from, name, length) == 0;
}

/* ---- has ---- */

bool macro_has(struct compiler *compiler, const struct token *name, uint32_t *kinds) {
    if (!named(compiler, name, "has")) return false;
    struct expr *expr = compiler->expr;
    uint32_t from = compiler->token.start, uses = expr->use_count;
    compiler->selection = NOWHERE;
    parse_expression(compiler);
    *kinds = EXPR_KIND(TN_BOOL);
    expect(compiler, LEX_CLOSE, "`)` after the one field that has() asks for");
    if (compiler->failed) return true;
    /* The argument is a selection if the newest selection is its last instruction and started at the same place. */
    if (compiler->selection != expr->code_count - 1 || compiler->selection_from != from) {
        compile_mistake(compiler, EXPR_MISTAKE_FUNCTION, span_of(name), NULL,
                        "has() takes a field, as in has(state.name); test a key with `\"key\" in map`");
        return true;
    }
    struct instruction *last = &expr->code[compiler->selection];
    if (last->operation == OP_FIELD && expr->use_count > uses) expr->uses[expr->use_count - 1].guarded = true;
    last->operation = last->operation == OP_FIELD ? OP_HAS_FIELD : OP_HAS;
    return true;
}

/* ---- Loops ---- */

static bool local_take(struct compiler *compiler, uint32_t slot, enum expr_operation read) {
    struct token token = compiler->token;
    struct lexer ahead = compiler->lexer;
    uint32_t length = token.to - token.from;
    if (token.kind != LEX_NAME || lex(&ahead).kind != LEX_COMMA ||
        lex_reserved(compiler->lexer.text + token.from, length)) {
        expr_mistaken(compiler, EXPR_MISTAKE_SYNTAX, span_of(&token),
                      "the first argument of a macro is a name for the item: items.all(item, item > 0)");
        return false;
    }
    MEM_GROW(compiler->locals, compiler->local_count, compiler->local_capacity);
    compiler->locals[compiler->local_count++] = (struct local){token.from, token.to, slot, read};
    advance(compiler);
    advance(compiler);
    return true;
}

/* True if `name, name, …` follows: an expression that is only a name would be the last argument. */
static bool two_names_follow(const struct compiler *compiler) {
    struct lexer ahead = compiler->lexer;
    if (compiler->token.kind != LEX_NAME || lex(&ahead).kind != LEX_COMMA) return false;
    struct token second = lex(&ahead);
    bool constant =
        named(compiler, &second, "true") || named(compiler, &second, "false") || named(compiler, &second, "null");
    return second.kind == LEX_NAME && !constant && lex(&ahead).kind == LEX_COMMA;
}

static bool locals_take(struct compiler *compiler, enum variables variables, uint32_t slot) {
    if (variables == ONE || (variables == ONE_OR_TWO && !two_names_follow(compiler)))
        return local_take(compiler, slot, OP_SLOT);
    struct token second;
    if (!local_take(compiler, slot, OP_LOOP_KEY)) return false;
    second = compiler->token;
    if (!local_take(compiler, slot, OP_LOOP_VALUE)) return false;
    const struct local *first = &compiler->locals[compiler->local_count - 2];
    const char *text = compiler->lexer.text;
    uint32_t length = first->to - first->from;
    if (second.to - second.from != length || memcmp(text + second.from, text + first->from, length) != 0) return true;
    expr_mistaken(compiler, EXPR_MISTAKE_SYNTAX, span_of(&second),
                  "the two names of a macro must differ: items.all(i, item, i > 0 || item > 0)");
    return false;
}

/* Emits KEEP for a condition: its result decides whether the turn continues. The jump out of the loop follows. */
static uint32_t emit_keep(struct compiler *compiler, struct span span, uint32_t next, uint32_t chain) {
    emit(compiler, OP_KEEP, 0, next, span, -1);
    return emit(compiler, OP_JUMP, 0, chain, span, 0);
}

static uint32_t macro_condition(struct compiler *compiler, struct span *span) {
    span->start = compiler->token.start;
    uint32_t kinds = parse_expression(compiler);
    span->end = compiler->last_end;
    return kinds;
}

/* Compiles the part after the variable, which handles one item. Returns the chained jumps to the loop's end. */
static uint32_t loop_body(struct compiler *compiler, enum loop_macro macro, bool may_filter, uint32_t next,
                          uint32_t item) {
    const uint32_t truth = EXPR_KIND(TN_BOOL);
    struct span span;
    uint32_t ends = NOWHERE, kinds = macro_condition(compiler, &span);
    bool maps = macro == LOOP_MAP || macro == LOOP_TRANSFORM_MAP || macro == LOOP_TRANSFORM_ENTRY;
    bool three = maps && compiler->token.kind == LEX_COMMA && may_filter;
    if (!maps || three) check_kinds(compiler, span, kinds, truth, "the condition");
    if (three) {
        ends = emit_keep(compiler, span, next, ends);
        advance(compiler);
        macro_condition(compiler, &span);
    } else if (macro == LOOP_FILTER) {
        ends = emit_keep(compiler, span, next, ends);
        emit(compiler, OP_SLOT, 0, item, span, 1);
    }
    emit(compiler, OP_TURN, (uint32_t)macro, next, span, -1);
    return ends;
}

bool macro_loop(struct compiler *compiler, const struct token *name, uint32_t on, uint32_t *kinds) {
    size_t row = 0, rows = sizeof loops / sizeof *loops;
    while (row < rows && !named(compiler, name, loops[row].name)) row++;
    if (row == rows) return false;
    enum loop_macro macro = loops[row].macro;
    bool sorts = strcmp(loops[row].name, "sortBy") == 0;
    struct span span = span_of(name);
    int32_t index = function_find(compiler->lexer.text + name->from, name->to - name->from, true, SIZE_MAX);
    const struct expr_function *function = expr_function_at((size_t)index);
    uint32_t locals = compiler->local_count;
    check_kinds(compiler, span, on, function->on, function->signature);
    if (sorts) emit(compiler, OP_SLOT, 0, compiler->height - 1, span, 1); /* the loop computes the keys of a copy */
    uint32_t loop = emit(compiler, OP_LOOP, (uint32_t)macro, 0, span, 3);
    uint32_t next = emit(compiler, OP_NEXT, 0, NOWHERE, span, 0);
    if (!locals_take(compiler, loops[row].variables, compiler->height - 1)) return true;
    uint32_t ends = loop_body(compiler, macro, !sorts, next, compiler->height - 1);
    patch_jumps(compiler, ends, compiler->expr->code_count);
    compiler->local_count = locals;
    compiler->expr->code[next].b = compiler->expr->code_count;
    emit(compiler, OP_DONE, (uint32_t)macro, 0, span, -3);
    compiler->expr->code[loop].b = compiler->expr->code_count;
    if (sorts) emit(compiler, OP_SORT, 0, (uint32_t)index, span, -1);
    expect(compiler, LEX_CLOSE, "`)`");
    *kinds = function->result;
    return true;
}
