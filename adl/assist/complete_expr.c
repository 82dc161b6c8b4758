/*
 * complete_expr.c - inside expressions and templates: names, members, functions, operators.
 */
#include "adl/assist/complete_internal.h"
#include "adl/assist/edit.h"
#include "adl/assist/phrase.h"
#include <stdio.h>
#include <string.h>

/* ---- Functions ---- */

/* The arguments of a signature as placeholders, without those in [brackets]. */
static void write_arguments(const char *signature, struct buffer *out) {
    const char *at = strchr(signature, '(');
    int depth = 0, number = 0;
    buffer_char(out, '(');
    for (at = at ? at + 1 : ""; *at && !(*at == ')' && depth == 0); at++) {
        depth += (*at == '[') - (*at == ']');
        bool start = depth == 0 && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z'));
        if (!start) continue;
        size_t length = strcspn(at, ",) [");
        buffer_format(out, "%s${%d:%.*s}", number ? ", " : "", number + 1, (int)length, at);
        number++;
        at += length - 1;
    }
    buffer_char(out, ')');
}

static void offer_function(struct completer *completer, const struct expr_function *row, char next) {
    if (!offer_fits(completer, row->name, strlen(row->name))) return;
    struct buffer snippet;
    char text[80];
    buffer_init(&snippet, SIZE_MAX);
    buffer_text(&snippet, row->name);
    bool called = next == '(';
    if (!called) write_arguments(row->signature, &snippet);
    snprintf(text, sizeof text, "%s%s", row->name, called ? "" : row->maximum == 0 ? "()" : "(");
    const struct offer made = {.kind = COMPLETION_FUNCTION,
                               .label = row->name,
                               .detail = row->signature,
                               .documentation = row->documentation,
                               .text = text,
                               .snippet = called ? NULL : buffer_cstr(&snippet),
                               .group = '6'};
    offer(completer, &made);
    buffer_finish(&snippet);
}

/* True if a receiver with these kinds, 0 for unknown, may have the method. */
static bool suits(const struct expr_function *row, uint32_t kinds) { return kinds == 0 || (row->on & kinds) != 0; }

static bool is_namespace(const char *space) {
    for (size_t i = 0; i < expr_function_count(); i++)
        if (strncmp(expr_function_at(i)->name, space, strlen(space)) == 0) return true;
    return false;
}

/* `receiver`: methods; otherwise functions that start with `space`, which may be "". */
static void offer_functions(struct completer *completer, bool receiver, uint32_t kinds, const char *space, char next) {
    for (size_t i = 0; i < expr_function_count(); i++) {
        const struct expr_function *row = expr_function_at(i);
        if (row->receiver != receiver || strncmp(row->name, space, strlen(space)) != 0) continue;
        if (!receiver || suits(row, kinds)) offer_function(completer, row, next);
    }
}

/* ---- Members ---- */

void complete_write_name(const struct completer *completer, const char *name, size_t length, struct buffer *out) {
    bool plain = completer->naming == NAMING_TEXT || assist_is_identifier(name, length);
    if (completer->naming == NAMING_BARE && !assist_is_bare_name(name, length)) buffer_text(out, "state.");
    const char *quote = plain ? "" : "`";
    buffer_format(out, "%s%.*s%s", quote, (int)length, name, quote);
}

static void offer_member_of(void *user, const char *name, size_t length, const struct shape *shape) {
    struct completer *completer = user;
    struct buffer type, text;
    buffer_init(&type, 256);
    buffer_init(&text, SIZE_MAX);
    shape_write_type(shape, &type);
    complete_write_name(completer, name, length, &text);
    const struct offer made = {.kind = COMPLETION_FIELD,
                               .text = buffer_cstr(&text),
                               .label = name,
                               .label_length = length,
                               .group = '3',
                               .detail = buffer_cstr(&type),
                               .documentation = shape->description,
                               .ordered = true};
    offer(completer, &made);
    buffer_finish(&type);
    buffer_finish(&text);
}

static uint32_t kinds_of_shape(const struct phrase_value *value) {
    if (value->kinds) return value->kinds;
    if (value->root == ROOT_CHANNEL && !value->schema && value->channel->type == CHANNEL_APPEND)
        return EXPR_KIND(TN_ARRAY);
    struct shape shape;
    shape_init(&shape);
    phrase_shape(value, &shape);
    uint32_t kinds = shape.kinds;
    if (kinds >> TN_INT & 1) kinds |= EXPR_KIND(TN_DOUBLE);
    shape_finish(&shape);
    return kinds;
}

static void offer_item_name(void *user, const char *name) {
    struct completer *completer = user;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    complete_write_name(completer, name, strlen(name), &text);
    offer(completer,
          &(struct offer){
              .kind = COMPLETION_FIELD, .label = name, .text = buffer_cstr(&text), .detail = "the item of a map edge"});
    buffer_finish(&text);
}

static void offer_run_members(struct completer *completer) {
    const struct phrase_run_member *member;
    for (size_t i = 0; (member = phrase_run_member(i)); i++)
        offer(completer, &(struct offer){.kind = COMPLETION_FIELD,
                                         .label = member->name,
                                         .detail = member->type,
                                         .documentation = member->documentation,
                                         .group = '3',
                                         .ordered = true});
}

/* Offers the members of the operand that ends with a token. Returns false if nothing is known of it. */
static bool complete_members(struct completer *completer, const struct phrase *phrase, uint32_t operand,
                             struct phrase_value *value) {
    if (!phrase_resolve(phrase, operand, value)) return false;
    if (value->root == ROOT_STATE) {
        complete_channels(completer, false);
        phrase_each_item_name(&completer->meaning, offer_item_name, completer);
    } else if (value->root == ROOT_RUN) {
        offer_run_members(completer);
    } else {
        phrase_each_member(value, offer_member_of, completer);
    }
    return true;
}

static void complete_named(struct completer *completer, const struct phrase *phrase, uint32_t operand) {
    struct phrase_value value;
    completer->naming = NAMING_TEXT;
    complete_members(completer, phrase, operand, &value);
}

/* Behind a dot. `operand` is the last token before it. */
static void complete_member(struct completer *completer, const struct phrase *phrase, uint32_t operand, char next) {
    struct phrase_value value;
    completer->naming = NAMING_MEMBER;
    bool known = complete_members(completer, phrase, operand, &value);
    if (known && (value.root == ROOT_STATE || value.root == ROOT_RUN)) return;
    /* A namespace: its name belongs to the functions. */
    char space[64];
    struct span span = phrase->tokens[operand].span;
    bool name = phrase->tokens[operand].kind == EXPR_TOKEN_VARIABLE && span.end - span.start < sizeof space - 2;
    if (!known && name) {
        snprintf(space, sizeof space, "%.*s.", (int)(span.end - span.start), phrase->text.text + span.start);
        struct span before = completer->span;
        complete_set_span(completer, phrase_place(phrase, (struct span){span.start, phrase->word.end}));
        offer_functions(completer, false, 0, space, next);
        complete_set_span(completer, before);
        if (is_namespace(space)) return;
    }
    offer_functions(completer, true, known ? kinds_of_shape(&value) : 0, "", next);
}

/* ---- Operands and operators ---- */

static void offer_variable(struct completer *completer, const char *name, const char *detail) {
    offer(completer, &(struct offer){.kind = COMPLETION_VARIABLE, .label = name, .detail = detail, .group = '3'});
}

static void offer_locals(struct completer *completer, const struct phrase *phrase) {
    for (uint32_t i = 0; i < phrase->local_count; i++) {
        struct span name = phrase->locals[i].name;
        if (name.end > name.start)
            offer(completer, &(struct offer){.kind = COMPLETION_VARIABLE,
                                             .label = phrase->text.text + name.start,
                                             .label_length = name.end - name.start,
                                             .group = '2',
                                             .detail = phrase->locals[i].index ? "the index or key" : "the item"});
    }
    tn_value variables = completer->meaning.variables;
    for (size_t i = 0; value_is(variables, TN_ARRAY) && i < value_count(variables) && i < MEANING_VARIABLES_MAX; i++)
        if (value_is(value_at(variables, i), TN_STRING))
            offer(completer, &(struct offer){.kind = COMPLETION_VARIABLE,
                                             .group = '2',
                                             .detail = "from the component",
                                             .label = value_chars(value_at(variables, i), NULL)});
}

static void complete_literals(struct completer *completer, const struct phrase *phrase) {
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        offer(completer, &(struct offer){.kind = COMPLETION_WORD, .label = words[i], .group = '7'});
    bool start = phrase->count == 0 || phrase->tokens[0].span.end >= phrase->word.end;
    if (completer->meaning.language == LANGUAGE_CONDITION && start)
        offer(completer,
              &(struct offer){.kind = COMPLETION_WORD, .label = "default", .group = '4', .detail = "always holds"});
}

static void offer_marks(struct completer *completer) {
    static const struct {
        const char *label, *text, *snippet, *documentation;
    } marks[] = {
        {"for", "for ", "for ${1:x} in ${2:list}",
         "Repeats the text up to `{end}` for each item of a list, or key of a map."},
        {"if", "if ", "if ${1:condition}", "Keeps the text up to `{else}` or `{end}` if the condition is true."},
        {"else", "else", NULL, "Begins the text for the case that the condition is false."},
        {"end", "end", NULL, "Ends a `for` or an `if`."},
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        offer(completer, &(struct offer){.kind = COMPLETION_WORD,
                                         .label = marks[i].label,
                                         .text = marks[i].text,
                                         .snippet = marks[i].snippet,
                                         .documentation = marks[i].documentation,
                                         .group = '4',
                                         .ordered = true});
}

static void complete_operand(struct completer *completer, const struct phrase *phrase, char next) {
    enum meaning_language language = completer->meaning.language;
    offer_locals(completer, phrase);
    completer->naming = NAMING_BARE;
    if (language == LANGUAGE_TEMPLATE) {
        complete_channels(completer, false);
        phrase_each_item_name(&completer->meaning, offer_item_name, completer);
    }
    offer_variable(completer, "state", "the channels");
    offer_variable(completer, "input",
                   language == LANGUAGE_CONDITION || language == LANGUAGE_EDGE ? "the input of the run"
                                                                               : "the input of the task");
    offer_variable(completer, "run", "run_id, step, now, …");
    if (language == LANGUAGE_CONFIG || language == LANGUAGE_TEMPLATE) {
        offer_variable(completer, "item", "the item of a map edge");
        offer_variable(completer, "config", "the configuration of the node");
    }
    complete_literals(completer, phrase);
    if (phrase->first && language == LANGUAGE_TEMPLATE) offer_marks(completer);
    offer_functions(completer, false, 0, "", next);
}

static void complete_operator(struct completer *completer) {
    static const char *const logic[] = {"&&", "||"};
    for (size_t i = 0; i < expr_operator_count(); i++) {
        const struct expr_operator *row = expr_operator_at(i);
        char symbol[8] = "";
        if (row->binding) sscanf(row->form, "x %7s y", symbol);
        for (size_t j = 0; j < sizeof logic / sizeof *logic; j++)
            if (strstr(row->form, logic[j])) snprintf(symbol, sizeof symbol, "%s", logic[j]);
        if (!*symbol) continue;
        offer(completer, &(struct offer){.kind = COMPLETION_OPERATOR,
                                         .label = symbol,
                                         .detail = row->form,
                                         .documentation = row->documentation,
                                         .ordered = true});
    }
}

/* True if the token ends an operand. */
static bool ends_operand(const struct phrase *phrase, uint32_t token) {
    char c = phrase_char(phrase, token);
    switch (phrase->tokens[token].kind) {
    case EXPR_TOKEN_VARIABLE:
    case EXPR_TOKEN_PROPERTY:
    case EXPR_TOKEN_NUMBER:
    case EXPR_TOKEN_STRING: return true;
    case EXPR_TOKEN_KEYWORD: return !phrase_token_is(phrase, token, "in");
    case EXPR_TOKEN_PUNCTUATION: return c == ')' || c == ']' || c == '}';
    default: return false;
    }
}

static bool is_quiet(const struct phrase *phrase, uint32_t last) {
    enum expr_token_kind kind = phrase->tokens[last].kind;
    struct span span = phrase->tokens[last].span;
    char c = phrase_char(phrase, last);
    if (kind == EXPR_TOKEN_INVALID) return c == '"' || c == '\'';
    if (kind == EXPR_TOKEN_COMMENT) return phrase->at > span.start;
    bool closed = kind == EXPR_TOKEN_STRING && phrase->at == span.end;
    return (kind == EXPR_TOKEN_STRING || kind == EXPR_TOKEN_NUMBER) && phrase->at <= span.end && !closed;
}

/* In `x["…"]`, the text is the name of a member of `x`. */
static bool in_key(const struct phrase *phrase) {
    uint32_t last = phrase->count - 1;
    if (phrase->count < 3 || phrase_char(phrase, last - 1) != '[' || !ends_operand(phrase, last - 2)) return false;
    char c = phrase_char(phrase, last);
    return (c == '"' || c == '\'') && phrase->word.start == phrase->tokens[last].span.start + 1;
}

void complete_expression(struct completer *completer) {
    const struct cursor *cursor = &completer->meaning.cursor;
    struct phrase phrase;
    completer->raw = true; /* in a template: outside of its holes, nothing is offered */
    bool inside = phrase_find(&completer->meaning, false, &phrase);
    if (inside && cursor->json && cursor->quote == CURSOR_PLAIN) inside = false;
    uint32_t last = phrase.count - 1, before = phrase.count;
    if (inside && phrase.count > 0 && is_quiet(&phrase, last) && !in_key(&phrase)) inside = false;
    if (!inside) {
        phrase_finish(&phrase);
        return;
    }
    struct span word = phrase_place(&phrase, phrase.word);
    if (phrase.word.start == phrase.word.end) word = (struct span){cursor->offset, cursor->offset};
    complete_set_span(completer, word);
    if (phrase.count > 0 && phrase.word.end > phrase.word.start && phrase.tokens[last].span.end == phrase.word.end)
        before = last;
    char next = phrase.text.text[phrase.word.end];
    if (phrase.count > 0 && is_quiet(&phrase, last)) {
        complete_named(completer, &phrase, last - 2);
        phrase_finish(&phrase);
        return;
    }
    if (before > 0 && phrase_char(&phrase, before - 1) == '.' && before > 1)
        complete_member(completer, &phrase, before - 2, next);
    else if (before > 0 && ends_operand(&phrase, before - 1))
        complete_operator(completer);
    else
        complete_operand(completer, &phrase, next);
    phrase_finish(&phrase);
}
