/*
 * compile.c - from text to a compiled expression: instructions, constants and mistakes.
 *
 * The length of the text is checked before it is read; depth and the size of literals are checked while it is read. The
 * compiler owns the expression until expr_compile returns it.
 */
#include "adl/expr/compile.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <string.h>

#define MESSAGE_MAX 512

struct span span_of(const struct token *token) {
    return (struct span){token->start, token->end};
}

/* ---- Mistakes ---- */

static void mistake_set(struct compiler *compiler, enum expr_mistake mistake, struct span span, const char *nearest,
                        const char *message) {
    bool limit = mistake == EXPR_MISTAKE_LIMIT;
    if (compiler->mistakes++ == 0) {
        compiler->status = limit ? TN_LIMIT : TN_INVALID;
        error_set(compiler->error, compiler->status, limit ? "LIMIT" : "EXPRESSION_ERROR", "%s", message);
        if (compiler->error) compiler->error->span = span;
    }
    struct expr_problem problem = {mistake, span, message, nearest};
    if (compiler->scope->problem) compiler->scope->problem(compiler->scope->self, &problem);
}

/* Cuts the message at MESSAGE_MAX, between characters: it may quote a long text. */
__attribute__((format(printf, 2, 0))) static void message_format(char out[MESSAGE_MAX], const char *format,
                                                                 va_list args) {
    int length = vsnprintf(out, MESSAGE_MAX, format, args);
    if (length < MESSAGE_MAX) return;
    size_t end = MESSAGE_MAX - 1;
    while (end > 0 && ((unsigned char)out[end - 1] & 0xc0) == 0x80) end--;
    out[end > 0 ? end - 1 : 0] = 0;
}

void compile_mistake(struct compiler *compiler, enum expr_mistake mistake, struct span span, const char *nearest,
                     const char *format, ...) {
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    message_format(message, format, args);
    va_end(args);
    mistake_set(compiler, mistake, span, nearest, message);
}

/* Ends reading: nothing that only follows from a mistake is reported. */
static void compile_stop(struct compiler *compiler) {
    compiler->failed = true;
    compiler->token.kind = LEX_END;
    compiler->lexer.at = compiler->lexer.length;
}

void expr_mistaken(struct compiler *compiler, enum expr_mistake mistake, struct span span, const char *format, ...) {
    if (compiler->failed) return;
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    message_format(message, format, args);
    va_end(args);
    mistake_set(compiler, mistake, span, NULL, message);
    compile_stop(compiler);
}

void expr_mistaken_word(struct compiler *compiler, const struct token *token, const char *meant) {
    if (compiler->failed) return;
    compile_mistake(compiler, EXPR_MISTAKE_SYNTAX, span_of(token), meant,
                    "found `%.*s`, which is not an operator; did you mean `%s`?", (int)(token->end - token->start),
                    compiler->lexer.text + token->start, meant);
    compile_stop(compiler);
}

void expr_unexpected(struct compiler *compiler, const struct token *token, const char *expected) {
    const char *text = compiler->lexer.text + token->start;
    size_t length = token->end - token->start;
    const char *meant = token->kind == LEX_NAME ? word_meant_operator(text, length) : NULL;
    if (meant)
        expr_mistaken_word(compiler, token, meant);
    else if (token->kind == LEX_END)
        expr_mistaken(compiler, EXPR_MISTAKE_SYNTAX, span_of(token), "the expression ends where %s is expected",
                      expected);
    else
        expr_mistaken(compiler, EXPR_MISTAKE_SYNTAX, span_of(token), "found `%.*s` where %s is expected", (int)length,
                      text, expected);
}

/* ---- Growing arrays ---- */

uint32_t emit(struct compiler *compiler, enum expr_operation operation, uint32_t a, uint32_t b, struct span span,
              int32_t effect) {
    struct expr *expr = compiler->expr;
    if (expr->code_count == compiler->code_capacity) {
        MEM_DOUBLE(compiler->code_capacity);
        expr->code = mem_array(expr->code, compiler->code_capacity, sizeof *expr->code);
        expr->spans = mem_array(expr->spans, compiler->code_capacity, sizeof *expr->spans);
    }
    expr->code[expr->code_count] = (struct instruction){(uint16_t)operation, (uint16_t)a, b};
    expr->spans[expr->code_count] = span;
    compiler->height = (uint32_t)((int32_t)compiler->height + effect);
    if (compiler->height > expr->stack) expr->stack = compiler->height;
    return expr->code_count++;
}

static uint32_t constant_add(struct compiler *compiler, struct cell constant) {
    struct expr *expr = compiler->expr;
    MEM_GROW(expr->constants, expr->constant_count, compiler->constant_capacity);
    expr->constants[expr->constant_count] = constant;
    return expr->constant_count++;
}

void emit_constant(struct compiler *compiler, struct cell constant, struct span span) {
    emit(compiler, OP_CONSTANT, 0, constant_add(compiler, constant), span, 1);
}

uint32_t constant_text(struct compiler *compiler, const char *text, size_t length) {
    return constant_add(compiler, cell_of(value_string(text, length)));
}

const struct cell *sole_constant(const struct compiler *compiler, uint32_t index) {
    const struct expr *expr = compiler->expr;
    if (index + 1 != expr->code_count || expr->code[index].operation != OP_CONSTANT) return NULL;
    return &expr->constants[expr->code[index].b];
}

void patch_jumps(struct compiler *compiler, uint32_t chain, uint32_t target) {
    while (chain != NOWHERE) {
        uint32_t next = compiler->expr->code[chain].b;
        compiler->expr->code[chain].b = target;
        chain = next;
    }
}

void use_add(struct compiler *compiler, uint32_t variable, uint32_t field, struct span span) {
    struct expr *expr = compiler->expr;
    MEM_GROW(expr->uses, expr->use_count, compiler->use_capacity);
    expr->uses[expr->use_count++] = (struct expr_use){variable, field, span, false};
}

/* ---- Compiling ---- */

static uint32_t or_default(uint32_t given, uint32_t usual) { return given ? given : usual; }

static struct expr_limits limits_of(const struct expr_limits *given) {
    static const struct expr_limits none = {0};
    if (!given) given = &none;
    struct expr_limits limits = {
        .operations = or_default(given->operations, EXPR_OPERATIONS),
        .depth = or_default(given->depth, EXPR_DEPTH),
        .string_length = or_default(given->string_length, EXPR_STRING_LENGTH),
        .list_length = or_default(given->list_length, EXPR_LIST_LENGTH),
        .memory = or_default(given->memory, EXPR_MEMORY),
    };
    if (limits.depth > EXPR_DEPTH_CEILING) limits.depth = EXPR_DEPTH_CEILING;
    return limits;
}

static void report_rest_of_text(struct compiler *compiler, const struct token *token) {
    const char *text = compiler->lexer.text + token->start;
    size_t length = token->end - token->start;
    const char *meant = token->kind == LEX_NAME ? word_meant_operator(text, length) : NULL;
    if (meant)
        expr_mistaken_word(compiler, token, meant);
    else
        expr_mistaken(compiler, EXPR_MISTAKE_SYNTAX, span_of(token),
                      "found `%.*s`, expected an operator or the end of the expression", (int)length, text);
}

static uint32_t compile_whole(struct compiler *compiler) {
    advance(compiler);
    if (compiler->token.kind == LEX_END && !compiler->failed) {
        expr_mistaken(compiler, EXPR_MISTAKE_SYNTAX, span_of(&compiler->token),
                      "found nothing, expected an expression");
        return EXPR_ANY;
    }
    uint32_t kinds = parse_expression(compiler);
    const struct token *token = &compiler->token;
    if (token->kind != LEX_END) report_rest_of_text(compiler, token);
    emit(compiler, OP_RETURN, 0, 0, (struct span){0, compiler->last_end}, -1);
    return kinds;
}

/* True if the program is [variable or field, RETURN], for a name that needs a value. */
static bool is_needed_name(const struct compiler *compiler) {
    const struct expr *expr = compiler->expr;
    const struct instruction *first = expr->code;
    if (expr->code_count != 2 || compiler->mistakes > 0) return false;
    if (first->operation == OP_VARIABLE) return compiler->scope->variables[first->b].needed;
    if (first->operation != OP_FIELD || first->b == EXPR_WHOLE) return false;
    const struct expr_fields *fields = compiler->scope->variables[first->a].fields;
    return fields->nullable && !fields->nullable(fields->self, first->b);
}

/* Frees the expression regardless of its reference count. It may be incomplete. */
static void expr_free(struct expr *expr) {
    for (uint32_t i = 0; i < expr->constant_count; i++) {
        const struct cell *constant = &expr->constants[i];
        if (constant->kind >= TN_STRING && constant->kind <= TN_OBJECT) value_unref(constant->as.value);
    }
    for (uint32_t i = 0; i < expr->pattern_count; i++) regex_free(expr->patterns[i]);
    mem_free(expr->code);
    mem_free(expr->spans);
    mem_free(expr->constants);
    mem_free(expr->patterns);
    mem_free(expr->uses);
    mem_free(expr->text);
    mem_free(expr);
}

int32_t expr_compile(const char *text, size_t length, const struct expr_scope *scope, const struct expr_limits *limits,
                     struct expr **out, struct error *error) {
    static const struct expr_scope nothing = {0};
    struct compiler compiler = {.scope = scope ? scope : &nothing, .status = TN_OK, .error = error};
    if (length > EXPR_TEXT_MAX) {
        mistake_set(&compiler, EXPR_MISTAKE_LIMIT, (struct span){0, 0}, NULL, "the expression is longer than 64 KiB");
        return compiler.status;
    }
    if (!utf8_valid(text, length)) {
        mistake_set(&compiler, EXPR_MISTAKE_SYNTAX, (struct span){0, 0}, NULL, "the expression is not UTF-8");
        return compiler.status;
    }
    struct expr *expr = mem_zalloc(sizeof *expr);
    atomic_init(&expr->references, 1);
    expr->text = mem_text_n(text, length);
    expr->text_length = (uint32_t)length;
    expr->limits = limits_of(limits);
    compiler.expr = expr;
    compiler.lexer = (struct lexer){.text = expr->text, .length = length};
    compiler.selection = NOWHERE;
    expr->kinds = compile_whole(&compiler);
    expr->needs_value = is_needed_name(&compiler);
    mem_free(compiler.locals);
    if (compiler.mistakes > 0) {
        expr_free(expr);
        return compiler.status;
    }
    *out = expr;
    return TN_OK;
}

/* ---- The compiled expression ---- */

/* Only the reference count of an expression changes; the cast allows const for all other users. */
static struct expr *expr_mutable(const struct expr *expr) { return (struct expr *)(uintptr_t)expr; }

struct expr *expr_ref(const struct expr *expr) {
    if (expr) atomic_fetch_add_explicit(&expr_mutable(expr)->references, 1, memory_order_relaxed);
    return expr_mutable(expr);
}

void expr_unref(const struct expr *expr) {
    if (!expr || atomic_fetch_sub_explicit(&expr_mutable(expr)->references, 1, memory_order_acq_rel) != 1) return;
    expr_free(expr_mutable(expr));
}

uint32_t expr_kinds(const struct expr *expr) { return expr->kinds; }

bool expr_needs_value(const struct expr *expr) { return expr->needs_value; }

bool expr_uses_now(const struct expr *expr) { return expr->uses_now; }

const char *expr_text(const struct expr *expr) { return expr->text; }

size_t expr_use_count(const struct expr *expr) { return expr->use_count; }

const struct expr_use *expr_use_at(const struct expr *expr, size_t index) { return &expr->uses[index]; }

bool expr_uses_beyond(const struct expr *expr, uint32_t variable, const char *field) {
    size_t length = strlen(field);
    for (size_t i = 0; i < expr->use_count; i++) {
        if (expr->uses[i].variable != variable) continue;
        const char *after = expr_text(expr) + expr->uses[i].span.end;
        if (*after != '.' || strncmp(after + 1, field, length) != 0) return true;
        char next = after[1 + length];
        if (next == '_' || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || (next >= '0' && next <= '9'))
            return true; /* the name continues */
    }
    return false;
}
