/*
 * template_compile.c - from text to steps: literal texts, holes and blocks, split at the braces once.
 *
 * The expression lexer finds the end of a hole, so that braces and quotes inside it (`{ {"a": 1}["a"] }`, `{"}"}`) do
 * not end it early. Spans of a hole are relative to its expression and are shifted for mistakes. `for`, `if` and `else`
 * are reserved words in expressions. `end` is not: it is a mark only while a block is open.
 */
#include "adl/expr/lex.h"
#include "adl/template/template.h"
#include "adl/template/template_internal.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <string.h>

#define MESSAGE_MAX 256u
#define NOWHERE     UINT32_MAX
#define LOCALS_MAX  ((size_t)2 * TEMPLATE_BLOCKS_MAX)

/* An open block. */
struct block {
    struct span span;  /* its first mark */
    uint32_t step;     /* its STEP_FOR, or the last STEP_IF, which jumps to the next branch; NOWHERE after `else` */
    uint32_t ends;     /* chain of the STEP_JUMPs from the ends of branches, linked by `b` */
    uint32_t locals;   /* variables before it */
    bool loop, closed; /* closed: after `else` */
};

struct splitter {
    struct template *template;
    const char *text;
    size_t length;
    const struct expr_scope *scope;
    const struct expr_limits *limits;
    struct expr_scope inner;         /* the scope for compiling holes; it reports through the splitter */
    uint32_t offset;                 /* offset of the expression that is being compiled */
    uint32_t literal_from;           /* start of the text that is not yet a step */
    struct expr_variable *variables; /* those of the scope, then those of the open loops */
    char *names[LOCALS_MAX];         /* of loops */
    uint32_t local_count;
    struct block blocks[TEMPLATE_BLOCKS_MAX];
    uint32_t block_count;
    uint32_t mistakes;
    int32_t status;
    struct error *error;
};

/* ---- Mistakes ---- */

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

/* True for `{"score": 1}`: a hole that starts with a string is most likely JSON that was meant as text. */
static bool is_json(const struct splitter *splitter) {
    struct lexer lexer = {.text = splitter->text + splitter->offset, .length = splitter->length - splitter->offset};
    return lex(&lexer).kind == LEX_STRING;
}

/* How other languages of templates begin a mark, and what to write. */
static const char *advice_for_mark(const char *text, size_t length) {
    static const struct {
        const char *begin, *advice;
    } rows[] = {
        {"%", "write `{if …}`, `{else}`, `{for x in list}` and `{end}`, without `%`"},
        {"#if", "write `{if …}`"},
        {"#each", "write `{for x in list}`"},
        {"#for", "write `{for x in list}`"},
        {"/", "write `{end}`"},
        {"elif", "write `{else if …}`"},
        {"elsif", "write `{else if …}`"},
        {"elseif", "write `{else if …}`"},
        {"endif", "write `{end}`"},
        {"endfor", "write `{end}`"},
        {"each", "write `{for x in list}`"},
    };
    while (length > 0 && *text == ' ') text++, length--;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size = strlen(rows[i].begin);
        bool whole =
            length > size && strchr("%/ }\t", rows[i].begin[0] == '%' || rows[i].begin[0] == '/' ? ' ' : text[size]);
        if (whole && memcmp(text, rows[i].begin, size) == 0) return rows[i].advice;
    }
    return NULL;
}

/* What to write instead of a hole that is a mark, or that has a format, in another language; or NULL. */
static const char *advice_for_hole(const struct splitter *splitter, const struct expr_problem *problem) {
    const char *text = splitter->text + splitter->offset;
    size_t length = splitter->length - splitter->offset;
    bool format = problem->mistake == EXPR_MISTAKE_SYNTAX && problem->span.start < length &&
                  text[problem->span.start] == ':' && problem->span.start > 0;
    if (format) return "write a format as in `{\"%.2f\".format([number])}`";
    if (problem->mistake != EXPR_MISTAKE_SYNTAX && problem->mistake != EXPR_MISTAKE_NAME) return NULL;
    return advice_for_mark(text, length);
}

static void hole_problem(void *self, const struct expr_problem *problem) {
    struct splitter *splitter = self;
    struct expr_problem shifted = *problem;
    char message[MESSAGE_MAX];
    shifted.span = template_span(problem->span, splitter->offset);
    bool json = problem->mistake == EXPR_MISTAKE_SYNTAX && is_json(splitter);
    const char *advice = json ? "write literal braces as `{{` and `}}`" : advice_for_hole(splitter, problem);
    if (advice) {
        snprintf(message, sizeof message, "%.*s; %s", template_shown_length(problem->message), problem->message,
                 advice);
        shifted.message = message;
        shifted.nearest = NULL;
    }
    if (problem->mistake == EXPR_MISTAKE_NAME && problem->span.start + 3 == problem->span.end &&
        memcmp(splitter->text + shifted.span.start, "end", 3) == 0)
        shifted.message = "unknown variable `end`; `{end}` ends a block, and no block is open";
    mistake_add(splitter, &shifted, false);
}

static void hole_field(void *self, const struct expr_field_name *field) {
    const struct splitter *splitter = self;
    struct expr_field_name shifted = *field;
    shifted.span = template_span(field->span, splitter->offset);
    shifted.token = template_span(field->token, splitter->offset);
    splitter->scope->field(splitter->scope->self, &shifted);
}

/* ---- Steps ---- */

static uint32_t step_add(struct template *template, struct template_step step) {
    MEM_GROW(template->steps, template->step_count, template->step_capacity);
    template->steps[template->step_count] = step;
    return template->step_count++;
}

/* Makes a step of the literal text since the last one. */
static void text_end(struct splitter *splitter) {
    struct template *template = splitter->template;
    uint32_t to = (uint32_t) template->literal.length;
    if (to > splitter->literal_from)
        step_add(template, (struct template_step){.kind = STEP_TEXT, .a = splitter->literal_from, .b = to});
    splitter->literal_from = to;
}

/* Compiles the expression from `start` to `end` of the mark or hole `span`. Returns its index; NOWHERE: too many. */
static uint32_t hole_add(struct splitter *splitter, struct span span, size_t start, size_t end) {
    struct template *template = splitter->template;
    if (template->hole_count == TEMPLATE_HOLES_MAX) {
        brace_mistake(splitter, EXPR_MISTAKE_LIMIT, span.start, span.end, "the template has more than 1,000 holes");
        return NOWHERE;
    }
    struct expr *expr = NULL;
    splitter->offset = (uint32_t)start;
    splitter->inner.variable_count = template->base + splitter->local_count;
    splitter->inner.inner_count = splitter->local_count;
    expr_compile(splitter->text + start, end - start, &splitter->inner, splitter->limits, &expr, NULL);
    MEM_GROW(template->holes, template->hole_count, template->hole_capacity);
    template->holes[template->hole_count] = (struct template_hole){span, (uint32_t)start, expr};
    return template->hole_count++;
}

/* Like hole_add, for an expression after a word. */
static uint32_t hole_add_after_word(struct splitter *splitter, struct span span, size_t start, size_t end) {
    while (start < end && strchr(" \t\r\n", splitter->text[start]) && splitter->text[start]) start++;
    return hole_add(splitter, span, start, end);
}

static void check_hole_kinds(struct splitter *splitter, uint32_t hole, uint32_t wanted, const char *what) {
    const struct template_hole *it = hole == NOWHERE ? NULL : &splitter->template->holes[hole];
    char found[160], expected[160], message[400];
    if (!it || !it->expr || expr_kinds(it->expr) & wanted || splitter->scope->unchecked) return;
    snprintf(message, sizeof message, "`%s` needs %s, found %s", what,
             expr_kinds_text(wanted, expected, sizeof expected),
             expr_kinds_text(expr_kinds(it->expr), found, sizeof found));
    struct expr_problem problem = {EXPR_MISTAKE_KIND, it->span, message, NULL};
    mistake_add(splitter, &problem, false);
}

/* ---- Marks of blocks ---- */

enum mark { MARK_NONE, MARK_FOR, MARK_IF, MARK_ELSE, MARK_ELSE_IF, MARK_END };

static bool token_is(const struct lexer *lexer, const struct token *token, const char *word) {
    size_t length = strlen(word);
    return token->kind == LEX_NAME && token->to - token->from == length &&
           memcmp(lexer->text + token->from, word, length) == 0;
}

/* Which mark the hole is; *skip is where the rest begins, relative to the hole. */
static enum mark mark_of(const struct splitter *splitter, const char *text, size_t length, size_t *skip) {
    struct lexer lexer = {.text = text, .length = length};
    struct token token = lex(&lexer);
    *skip = lexer.at;
    if (token_is(&lexer, &token, "for")) return MARK_FOR;
    if (token_is(&lexer, &token, "if")) return MARK_IF;
    if (token_is(&lexer, &token, "else")) {
        struct lexer ahead = lexer;
        token = lex(&ahead);
        if (!token_is(&ahead, &token, "if")) return MARK_ELSE;
        *skip = ahead.at;
        return MARK_ELSE_IF;
    }
    bool end = token_is(&lexer, &token, "end") && lex(&lexer).kind == LEX_END;
    return end && splitter->block_count > 0 ? MARK_END : MARK_NONE;
}

/* Adds a block; returns NULL, and reports that, if too many are open. */
static struct block *block_open(struct splitter *splitter, struct span span, bool loop) {
    if (splitter->block_count == TEMPLATE_BLOCKS_MAX) {
        brace_mistake(splitter, EXPR_MISTAKE_LIMIT, span.start, span.end, "blocks are nested more than 16 deep");
        return NULL;
    }
    struct block *block = &splitter->blocks[splitter->block_count++];
    *block = (struct block){span, NOWHERE, NOWHERE, splitter->local_count, loop, false};
    return block;
}

/* Reads `x in` or `i, x in`. Returns the number of names and moves *at after them; 0 if that is not what is there. */
static uint32_t read_names(const struct splitter *splitter, size_t *at, size_t end, struct token names[2]) {
    struct lexer lexer = {.text = splitter->text + *at, .length = end - *at};
    uint32_t count = 0;
    for (;;) {
        struct token token = lex(&lexer);
        if (token.kind != LEX_NAME || lex_reserved(lexer.text + token.from, token.to - token.from)) return 0;
        if (token_is(&lexer, &token, "true") || token_is(&lexer, &token, "false") || token_is(&lexer, &token, "null"))
            return 0;
        token.from += (uint32_t)*at;
        token.to += (uint32_t)*at;
        names[count++] = token;
        token = lex(&lexer);
        if (token.kind == LEX_IN) break;
        if (token.kind != LEX_COMMA || count == 2) return 0;
    }
    *at += lexer.at;
    return count;
}

static void add_local(struct splitter *splitter, const struct token *name) {
    char *text = mem_text_n(splitter->text + name->from, name->to - name->from);
    uint32_t index = splitter->local_count++;
    splitter->names[index] = text;
    splitter->variables[splitter->template->base + index] = (struct expr_variable){.name = text};
}

static void drop_locals(struct splitter *splitter, uint32_t count) {
    while (splitter->local_count > count) mem_free(splitter->names[--splitter->local_count]);
}

static void mark_for(struct splitter *splitter, struct span span, size_t at, size_t end) {
    struct token names[2];
    uint32_t count = read_names(splitter, &at, end, names);
    struct block *block = block_open(splitter, span, true);
    if (count == 0) {
        brace_mistake(splitter, EXPR_MISTAKE_SYNTAX, span.start, span.end,
                      "expected `{for NAME in LIST}` or `{for INDEX, NAME in LIST}`");
        return;
    }
    uint32_t hole = hole_add_after_word(splitter, span, at, end);
    if (!block || hole == NOWHERE) return;
    check_hole_kinds(splitter, hole, EXPR_KIND(TN_ARRAY) | EXPR_KIND(TN_OBJECT), "for");
    splitter->template->loops = true;
    block->step =
        step_add(splitter->template,
                 (struct template_step){
                     .kind = STEP_FOR, .slot = (uint8_t)splitter->local_count, .slots = (uint8_t)count, .a = hole});
    for (uint32_t i = 0; i < count; i++) add_local(splitter, &names[i]);
}

static void add_condition(struct splitter *splitter, struct block *block, struct span span, size_t at, size_t end) {
    uint32_t hole = hole_add_after_word(splitter, span, at, end);
    check_hole_kinds(splitter, hole, EXPR_KIND(TN_BOOL), "if");
    if (hole != NOWHERE) block->step = step_add(splitter->template, (struct template_step){.kind = STEP_IF, .a = hole});
}

static void mark_if(struct splitter *splitter, struct span span, size_t at, size_t end) {
    struct block *block = block_open(splitter, span, false);
    if (block) add_condition(splitter, block, span, at, end);
}

static void mark_else(struct splitter *splitter, struct span span, bool with_condition, size_t at, size_t end) {
    struct template *template = splitter->template;
    struct block *block = splitter->block_count ? &splitter->blocks[splitter->block_count - 1] : NULL;
    struct lexer rest = {.text = splitter->text + at, .length = end - at};
    if (!block || block->loop || block->closed) {
        brace_mistake(splitter, EXPR_MISTAKE_SYNTAX, span.start, span.end,
                      "`{else}` belongs between `{if …}` and `{end}`");
        return;
    }
    if (!with_condition && lex(&rest).kind != LEX_END) {
        brace_mistake(splitter, EXPR_MISTAKE_SYNTAX, span.start, span.end,
                      "expected `{else}` or `{else if CONDITION}`");
        return;
    }
    block->ends = step_add(template, (struct template_step){.kind = STEP_JUMP, .b = block->ends});
    if (block->step != NOWHERE) template->steps[block->step].b = template->step_count;
    block->step = NOWHERE;
    block->closed = !with_condition;
    if (with_condition) add_condition(splitter, block, span, at, end);
}

static void mark_end(struct splitter *splitter) {
    struct template *template = splitter->template;
    struct block *block = &splitter->blocks[--splitter->block_count];
    if (block->loop && block->step != NOWHERE)
        step_add(template, (struct template_step){.kind = STEP_NEXT, .b = block->step});
    if (block->step != NOWHERE) template->steps[block->step].b = template->step_count;
    while (block->ends != NOWHERE) {
        struct template_step *jump = &template->steps[block->ends];
        block->ends = jump->b;
        jump->b = template->step_count;
    }
    drop_locals(splitter, block->locals);
}

/*
 * If nothing but blanks is beside the mark from `at` to `end` on its line, removes the line: the blanks before it,
 * which are at the end of the literal text, and what follows, up to the next line, whose position is returned.
 */
static size_t drop_line(struct splitter *splitter, size_t at, size_t end) {
    const char *text = splitter->text;
    size_t before = at, after = end;
    while (before > 0 && (text[before - 1] == ' ' || text[before - 1] == '\t')) before--;
    while (after < splitter->length && (text[after] == ' ' || text[after] == '\t' || text[after] == '\r')) after++;
    bool alone = (before == 0 || text[before - 1] == '\n') && (after == splitter->length || text[after] == '\n');
    if (!alone) return end;
    splitter->template->literal.length -= at - before;
    return after < splitter->length ? after + 1 : after;
}

/* ---- Splitting ---- */

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

/* Handles a `{` that opens a hole or a mark; returns where to continue. */
static size_t split_hole(struct splitter *splitter, size_t at) {
    size_t end = hole_end(splitter, at + 1), skip = 0;
    if (end == SIZE_MAX) {
        brace_mistake(splitter, EXPR_MISTAKE_SYNTAX, at, at + 1, "`{` without its `}`; write a literal brace as `{{`");
        return splitter->length;
    }
    if (template_is_blank(splitter->text + at + 1, end - at - 1)) {
        brace_mistake(splitter, EXPR_MISTAKE_SYNTAX, at, end + 1,
                      "a hole without a name; write literal braces as `{{` and `}}`");
        return end + 1;
    }
    struct span span = {(uint32_t)at, (uint32_t)end + 1};
    enum mark mark = mark_of(splitter, splitter->text + at + 1, end - at - 1, &skip);
    size_t rest = at + 1 + skip, next = mark == MARK_NONE ? end + 1 : drop_line(splitter, at, end + 1);
    text_end(splitter);
    switch (mark) {
    case MARK_NONE: {
        uint32_t hole = hole_add(splitter, span, at + 1, end);
        if (hole == NOWHERE) return splitter->length;
        step_add(splitter->template, (struct template_step){.kind = STEP_HOLE, .a = hole});
        break;
    }
    case MARK_FOR: mark_for(splitter, span, rest, end); break;
    case MARK_IF: mark_if(splitter, span, rest, end); break;
    case MARK_ELSE:
    case MARK_ELSE_IF: mark_else(splitter, span, mark == MARK_ELSE_IF, rest, end); break;
    case MARK_END: mark_end(splitter); break;
    }
    /* Beyond a limit, the rest is not read. */
    return splitter->status == TN_LIMIT ? splitter->length : next;
}

static void template_split(struct splitter *splitter) {
    struct buffer *literal = &splitter->template->literal;
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
            at = split_hole(splitter, at);
        }
    }
    text_end(splitter);
    while (splitter->block_count > 0) {
        const struct block *open = &splitter->blocks[--splitter->block_count];
        if (splitter->status != TN_LIMIT)
            brace_mistake(splitter, EXPR_MISTAKE_SYNTAX, open->span.start, open->span.end,
                          open->loop ? "`{for …}` without its `{end}`" : "`{if …}` without its `{end}`");
    }
    drop_locals(splitter, 0);
}

/* Compiles the text into `splitter.template`. */
static void template_build(struct splitter *splitter) {
    struct template *template = splitter->template;
    uint32_t base = (uint32_t)splitter->scope->variable_count;
    atomic_init(&template->references, 1);
    buffer_init(&template->literal, SIZE_MAX);
    template->base = base;
    splitter->variables = mem_array(NULL, base + LOCALS_MAX, sizeof *splitter->variables);
    if (base) memcpy(splitter->variables, splitter->scope->variables, base * sizeof *splitter->variables);
    splitter->inner = *splitter->scope;
    splitter->inner.variables = splitter->variables;
    splitter->inner.problem = hole_problem;
    splitter->inner.field = splitter->scope->field ? hole_field : NULL;
    splitter->inner.self = splitter;
    template_split(splitter);
    mem_free(splitter->variables);
}

int32_t template_compile(const char *text, size_t length, const struct expr_scope *scope,
                         const struct expr_limits *limits, struct template **out, struct error *error) {
    static const struct expr_scope nothing = {0};
    struct splitter splitter = {.text = text, .length = length, .limits = limits, .error = error};
    splitter.scope = scope ? scope : &nothing;
    if (length > TEMPLATE_TEXT_MAX) {
        brace_mistake(&splitter, EXPR_MISTAKE_LIMIT, 0, 0, "the template is longer than 1 MiB");
        return splitter.status;
    }
    if (!utf8_valid(text, length)) {
        brace_mistake(&splitter, EXPR_MISTAKE_SYNTAX, 0, 0, "the template is not UTF-8");
        return splitter.status;
    }
    splitter.template = mem_zalloc(sizeof *splitter.template);
    template_build(&splitter);
    if (splitter.mistakes > 0) {
        template_unref(splitter.template);
        return splitter.status;
    }
    *out = splitter.template;
    return TN_OK;
}
