/*
 * template.c - texts with holes: split at the braces once; each hole is compiled as an expression.
 *
 * The text is stored as pieces: literal text with single braces, and holes, in order. The expression lexer finds the
 * end of a hole, so that braces and quotes inside it (`{ {"a": 1}["a"] }`, `{"}"}`) do not end it early. Spans of a
 * hole are relative to its expression and are shifted for mistakes and failures.
 */
#include "adl/template/template.h"
#include "adl/expr/lex.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_MAX   160u
#define MESSAGE_MAX 256u

/* A piece of literal text, before a hole or at the end. */
struct piece {
    uint32_t from, to; /* range of `literal` */
};

struct template {
    atomic_uint references;
    struct buffer literal;
    struct template_hole *holes;
    struct piece *pieces; /* hole_count + 1 */
    uint32_t hole_count, capacity;
};

/* ---- Mistakes ---- */

struct splitter {
    struct template *template;
    const char *text;
    size_t length;
    const struct expr_scope *scope;
    const struct expr_limits *limits;
    struct expr_scope inner; /* the scope for compiling holes; it reports through the splitter */
    uint32_t offset;         /* offset of the hole that is being compiled */
    uint32_t mistakes;
    int32_t status;
    struct error *error;
};

static const char *mistake_error_code(enum expr_mistake mistake, bool braces) {
    if (mistake == EXPR_MISTAKE_LIMIT) return "LIMIT";
    if (mistake == EXPR_MISTAKE_NAME) return "MISSING_VARIABLE";
    return braces ? "TEMPLATE_ERROR" : "EXPRESSION_ERROR";
}

static void mistake_add(struct splitter *splitter, const struct expr_problem *problem, bool braces) {
    if (splitter->mistakes++ == 0) {
        splitter->status = problem->mistake == EXPR_MISTAKE_LIMIT ? TN_LIMIT : TN_INVALID;
        error_set(splitter->error, splitter->status, mistake_error_code(problem->mistake, braces), "%s",
                  problem->message);
        if (splitter->error) splitter->error->span = problem->span;
    }
    if (splitter->scope->problem) splitter->scope->problem(splitter->scope->self, problem);
}

static void brace_mistake(struct splitter *splitter, enum expr_mistake mistake, size_t start, size_t end,
                          const char *message) {
    struct expr_problem problem = {mistake, {(uint32_t)start, (uint32_t)end}, message, NULL};
    mistake_add(splitter, &problem, true);
}

static struct span span_shift(struct span span, uint32_t offset) {
    return (struct span){span.start + offset, span.end + offset};
}

/* The length of a text that a message quotes: at most SHOWN_MAX bytes, cut between characters. */
static int shown_length(const char *text) {
    size_t length = strnlen(text, SHOWN_MAX);
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) length--;
    return (int)length;
}

/* True for `{"score": 1}`: a hole that starts with a string is most likely JSON that was meant as text. */
static bool is_json(const struct splitter *splitter) {
    struct lexer lexer = {.text = splitter->text + splitter->offset, .length = splitter->length - splitter->offset};
    return lex(&lexer).kind == LEX_STRING;
}

static void hole_problem(void *self, const struct expr_problem *problem) {
    struct splitter *splitter = self;
    struct expr_problem shifted = *problem;
    char message[MESSAGE_MAX];
    shifted.span = span_shift(problem->span, splitter->offset);
    if (problem->mistake == EXPR_MISTAKE_SYNTAX && is_json(splitter)) {
        snprintf(message, sizeof message, "%.*s; write literal braces as `{{` and `}}`", shown_length(problem->message),
                 problem->message);
        shifted.message = message;
    }
    mistake_add(splitter, &shifted, false);
}

/* ---- Splitting ---- */

static void piece_end(struct template *template, uint32_t from) {
    template->pieces[template->hole_count] = (struct piece){from, (uint32_t) template->literal.length};
}

static void hole_add(struct template *template, struct template_hole hole) {
    template->holes[template->hole_count++] = hole;
    if (template->hole_count == template->capacity) {
        MEM_DOUBLE(template->capacity);
        template->holes = mem_array(template->holes, template->capacity, sizeof *template->holes);
        template->pieces = mem_array(template->pieces, template->capacity, sizeof *template->pieces);
    }
}

/* Returns the `}` that ends the hole whose expression starts at `from`, or SIZE_MAX. */
static size_t hole_end(const struct splitter *splitter, size_t from) {
    size_t room = splitter->length - from;
    struct lexer lexer = {.text = splitter->text + from, .length = room < EXPR_TEXT_MAX ? room : EXPR_TEXT_MAX};
    uint32_t depth = 0;
    for (;;) {
        struct token token = lex(&lexer);
        if (token.kind == LEX_OPEN_MAP) depth++;
        if (token.kind == LEX_CLOSE_MAP && depth-- == 0) return from + token.start;
        if (token.kind != LEX_END && token.kind != LEX_INVALID) continue;
        /* An invalid expression ends at the next brace, so that the mistake is reported at its place. */
        const char *brace = memchr(splitter->text + from + token.start, '}', room - token.start);
        return brace ? (size_t)(brace - splitter->text) : SIZE_MAX;
    }
}

static bool template_is_blank(const char *text, size_t length) { return strspn(text, " \t\r\n") >= length; }

/* Handles a `{` that opens a hole; returns where to continue. */
static size_t split_hole(struct splitter *splitter, size_t at, uint32_t literal_from) {
    struct template *template = splitter->template;
    size_t end = hole_end(splitter, at + 1);
    if (end == SIZE_MAX) {
        brace_mistake(splitter, EXPR_MISTAKE_SYNTAX, at, at + 1, "`{` without its `}`; write a literal brace as `{{`");
        return splitter->length;
    }
    if (template_is_blank(splitter->text + at + 1, end - at - 1)) {
        brace_mistake(splitter, EXPR_MISTAKE_SYNTAX, at, end + 1,
                      "a hole without a name; write literal braces as `{{` and `}}`");
        return end + 1;
    }
    if (template->hole_count == TEMPLATE_HOLES_MAX) {
        brace_mistake(splitter, EXPR_MISTAKE_LIMIT, at, end + 1, "the template has more than 1,000 holes");
        return splitter->length;
    }
    struct expr *expr = NULL;
    splitter->offset = (uint32_t)at + 1;
    piece_end(template, literal_from);
    expr_compile(splitter->text + at + 1, end - at - 1, &splitter->inner, splitter->limits, &expr, NULL);
    hole_add(template, (struct template_hole){{(uint32_t)at, (uint32_t)end + 1}, (uint32_t)at + 1, expr});
    return end + 1;
}

static void template_split(struct splitter *splitter) {
    struct buffer *literal = &splitter->template->literal;
    uint32_t literal_from = 0;
    for (size_t at = 0; at < splitter->length;) {
        size_t plain = at;
        while (plain < splitter->length && splitter->text[plain] != '{' && splitter->text[plain] != '}') plain++;
        buffer_append(literal, splitter->text + at, plain - at);
        at = plain;
        if (at == splitter->length) break;
        char brace = splitter->text[at];
        bool doubled = at + 1 < splitter->length && splitter->text[at + 1] == brace;
        if (doubled) {
            buffer_char(literal, brace);
            at += 2;
        } else if (brace == '}') {
            brace_mistake(splitter, EXPR_MISTAKE_SYNTAX, at, at + 1,
                          "`}` without its `{`; write a literal brace as `}}`");
            at++;
        } else {
            at = split_hole(splitter, at, literal_from);
            literal_from = (uint32_t)literal->length;
        }
    }
    piece_end(splitter->template, literal_from);
}

int32_t template_compile(const char *text, size_t length, const struct expr_scope *scope,
                         const struct expr_limits *limits, struct template **out, struct error *error) {
    static const struct expr_scope nothing = {0};
    struct splitter splitter = {.text = text, .length = length, .limits = limits, .error = error};
    splitter.scope = scope ? scope : &nothing;
    splitter.inner = *splitter.scope;
    splitter.inner.problem = hole_problem;
    splitter.inner.self = &splitter;
    if (length > TEMPLATE_TEXT_MAX) {
        brace_mistake(&splitter, EXPR_MISTAKE_LIMIT, 0, 0, "the template is longer than 1 MiB");
        return splitter.status;
    }
    if (!utf8_valid(text, length)) {
        brace_mistake(&splitter, EXPR_MISTAKE_SYNTAX, 0, 0, "the template is not UTF-8");
        return splitter.status;
    }
    struct template *template = mem_zalloc(sizeof *template);
    atomic_init(&template->references, 1);
    buffer_init(&template->literal, SIZE_MAX);
    template->capacity = 4;
    template->holes = mem_array(NULL, template->capacity, sizeof *template->holes);
    template->pieces = mem_array(NULL, template->capacity, sizeof *template->pieces);
    splitter.template = template;
    template_split(&splitter);
    if (splitter.mistakes > 0) {
        template_unref(template);
        return splitter.status;
    }
    *out = template;
    return TN_OK;
}

/* ---- Rendering ---- */

static void template_write_value(struct buffer *out, tn_value value) {
    size_t length;
    if (!value_is(value, TN_STRING)) {
        json_write(out, value, JSON_COMPACT);
        return;
    }
    const char *chars = value_chars(value, &length);
    buffer_append(out, chars, length);
}

static int32_t hole_render(const struct template_hole *hole, const struct expr_env *env, struct buffer *out,
                           struct error *error) {
    tn_value value;
    bool missing;
    struct error found = ERROR_INIT;
    int32_t status = expr_eval_missing(hole->expr, env, &value, &missing, error ? &found : NULL);
    if (status == TN_OK) {
        template_write_value(out, value);
        value_unref(value);
        return TN_OK;
    }
    if (error) {
        const char *text = expr_text(hole->expr), *code = missing ? "MISSING_VARIABLE" : found.code;
        error_set(error, status, code, "`{%.*s}`: %s", shown_length(text), text, found.message);
        error->span = span_shift(found.span, hole->start);
        error_finish(&found);
    }
    return status;
}

static int32_t fail_output_limit(const struct buffer *out, struct span span, struct error *error) {
    int32_t status =
        error_set(error, TN_LIMIT, "LIMIT", "the rendered text is longer than the limit of %zu bytes", out->limit);
    if (error) error->span = span;
    return status;
}

int32_t template_render(const struct template *template, const struct expr_env *env, struct buffer *out,
                        struct error *error) {
    for (uint32_t i = 0; i <= template->hole_count; i++) {
        const struct piece *piece = &template->pieces[i];
        const struct template_hole *hole = i < template->hole_count ? &template->holes[i] : NULL;
        if (piece->to > piece->from) buffer_append(out, template->literal.data + piece->from, piece->to - piece->from);
        int32_t status = hole && !out->overflow ? hole_render(hole, env, out, error) : TN_OK;
        if (status != TN_OK) return status;
        if (out->overflow) return fail_output_limit(out, hole ? hole->span : (struct span){0, 0}, error);
    }
    return TN_OK;
}

/* ---- What is known of it ---- */

/* Only the reference count of a template changes; the cast allows const for all other users. */
static struct template *template_mutable(const struct template *template) {
    return (struct template *)(uintptr_t) template;
}

struct template *template_ref(const struct template *template) {
    if (template) atomic_fetch_add_explicit(&template_mutable(template)->references, 1, memory_order_relaxed);
    return template_mutable(template);
}

void template_unref(const struct template *shared) {
    struct template *template = template_mutable(shared);
    if (!template || atomic_fetch_sub_explicit(&template->references, 1, memory_order_acq_rel) != 1) return;
    for (uint32_t i = 0; i < template->hole_count; i++) expr_unref(template->holes[i].expr);
    buffer_finish(&template->literal);
    mem_free(template->holes);
    mem_free(template->pieces);
    mem_free(template);
}

bool template_constant(const struct template *template) { return template->hole_count == 0; }

size_t template_hole_count(const struct template *template) { return template->hole_count; }

const struct template_hole *template_hole_at(const struct template *template, size_t index) {
    return &template->holes[index];
}
