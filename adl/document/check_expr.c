/*
 * check_expr.c - compiles expressions and templates with the names they may use, and reports every mistake at its
 * place.
 *
 * The expressions of an edge see the state between steps (channels), the input of the run, and the run. A node's config
 * also sees the input of its tasks: the item of a map edge, as `item` and under the name in `as`, and the config
 * itself. The document keeps the edges' expressions; components compile those of configs.
 */
#include "adl/document/hint.h"
#include "adl/document/place.h"
#include "adl/document/reader.h"
#include "adl/schema/schema.h"
#include "adl/template/template.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <string.h>

/* ---- The names there are ---- */

static int32_t edge_field(void *self, const char *name, size_t length) {
    const struct reader *reader = self;
    return document_find_channel(reader->document, name, length);
}

static int32_t config_field(void *self, const char *name, size_t length) {
    const struct reader *reader = self;
    return document_find_field(reader->document, name, length);
}

static const char *channel_name(void *self, uint32_t index) {
    const struct document *document = ((const struct reader *)self)->document;
    return index < document->channel_count ? value_chars(document->channels[index].name, NULL) : NULL;
}

static const char *field_name(void *self, uint32_t index) {
    const struct document *document = ((const struct reader *)self)->document;
    if (index < document->channel_count) return channel_name(self, index);
    index -= document->channel_count;
    return index < document->local_count ? value_chars(document->locals[index], NULL) : NULL;
}

static uint32_t field_kinds(void *self, uint32_t index) { return ((const struct reader *)self)->field_kinds[index]; }

/* The possible kinds of a channel's value, from its type, its schema, and its initial value. */
static uint32_t channel_kinds(const struct document_channel *channel) {
    if (channel->type_unread) return EXPR_ANY;
    if (channel->implicit || channel_is_list(channel)) return EXPR_KIND(TN_ARRAY);
    uint32_t kinds = EXPR_JSON;
    if (channel->reducer == REDUCER_SUM) kinds = EXPR_KIND(TN_INT) | EXPR_KIND(TN_DOUBLE);
    if (channel->reducer == REDUCER_MERGE) kinds = EXPR_KIND(TN_OBJECT);
    if (channel->schema) kinds &= (uint32_t)schema_kinds(channel->schema);
    kinds |= EXPR_KIND(value_kind(channel->initial));
    if (kinds & EXPR_KIND(TN_INT)) kinds |= EXPR_KIND(TN_DOUBLE); /* 1.0 is an integer in JSON Schema */
    return kinds;
}

enum { IN_EDGE, IN_CONFIG, IN_TEMPLATE };

static const char *const names_in[] = {
    [IN_EDGE] = "available are `state`, whose fields are the channels, `input` and `run`",
    [IN_CONFIG] = "available are `state`, whose fields are the channels, `input`, `item`, `config` and `run`",
    [IN_TEMPLATE] =
        "available are the channels, and `state`, `input`, `item`, `config` and `run`; write a literal brace twice",
};

/* Indexed by enum document_variable. A variable that does not exist here gets a name that cannot be written. */
static void fill_variables(const struct reader *reader, int in, struct expr_variable out[DOCUMENT_VARIABLE_COUNT]) {
    static const struct expr_variable absent = {.name = ""};
    const struct expr_fields *fields = in == IN_EDGE ? &reader->edge_fields : &reader->config_fields;
    const uint32_t object = EXPR_KIND(TN_OBJECT);
    out[DOCUMENT_VARIABLE_STATE] =
        (struct expr_variable){.name = "state", .fields = fields, .kinds = object, .bare = in == IN_TEMPLATE};
    out[DOCUMENT_VARIABLE_INPUT] = (struct expr_variable){.name = "input"};
    out[DOCUMENT_VARIABLE_ITEM] = in == IN_EDGE ? absent : (struct expr_variable){.name = "item"};
    out[DOCUMENT_VARIABLE_CONFIG] = in == IN_EDGE ? absent : (struct expr_variable){.name = "config", .kinds = object};
    out[DOCUMENT_VARIABLE_RUN] = (struct expr_variable){.name = "run", .kinds = object};
}

/* ---- Mistakes ---- */

static const char *describe_expr_place(const struct reader *reader, const struct expr_place *place, char out[256]) {
    return place->where ? place->where : where_in_config(reader, place->node, place->pointer, out);
}

struct mistakes {
    struct reader *reader;
    const struct expr_place *place;
    int in; /* IN_EDGE, … */
    bool any;
    struct place_cursor cursor; /* for names; set by the first one */
    bool unread;                /* a part of the text was not read */
    bool whole;                 /* a report covers the whole expression: what else is wrong with it follows from that */
};

static struct span mistake_span(const struct mistakes *mistakes, struct span part) {
    const struct expr_place *place = mistakes->place;
    if (!place->exact) return place->span;
    if (!place->scalar) return part;
    return place_in_scalar(place->source, place->scalar, place->text, place->length, part);
}

static enum diagnostic_code mistake_diagnostic_code(enum expr_mistake mistake, bool template) {
    switch (mistake) {
    case EXPR_MISTAKE_SYNTAX: return template ? ADL_E058 : ADL_E040;
    case EXPR_MISTAKE_NAME: return template ? ADL_E059 : ADL_E041;
    case EXPR_MISTAKE_FUNCTION: return ADL_E042;
    case EXPR_MISTAKE_KIND: return ADL_E043;
    default: return ADL_E045;
    }
}

/* What is wrong, without a part of the text: a file that is not a document is not quoted. */
static const char *mistake_without_text(enum expr_mistake mistake, bool template) {
    switch (mistake) {
    case EXPR_MISTAKE_SYNTAX:
        return template ? "found a mistake in the syntax of the template"
                        : "found a mistake in the syntax of the expression";
    case EXPR_MISTAKE_NAME: return template ? "unknown variable" : "unknown name";
    case EXPR_MISTAKE_FUNCTION: return "unknown function, or one with other arguments";
    case EXPR_MISTAKE_KIND: return "an operator or a function cannot be used with these values";
    default: return "it is too large";
    }
}

/* True if the channel may be in a part that could not be read. */
static bool is_unread(const struct mistakes *mistakes, const struct expr_problem *problem) {
    const struct reader *reader = mistakes->reader;
    struct nearest nearest;
    const char *name = mistakes->place->text + problem->span.start;
    size_t length = problem->span.end - problem->span.start;
    nearest_init(&nearest, name, length);
    if (problem->nearest) nearest_add_candidate(&nearest, problem->nearest, strlen(problem->nearest));
    return may_be_unread(reader, reader->channels_whole, "channels", &nearest, name, length);
}

static bool is_known_name(void *self, const char *name, size_t length) {
    const struct mistakes *mistakes = self;
    const struct document *document = mistakes->reader->document;
    return (mistakes->in == IN_EDGE ? document_find_channel(document, name, length)
                                    : document_find_field(document, name, length)) >= 0;
}

/* True if the unknown name is that of a field. Sets `out` to `state.NAME`. */
static bool bare_field(const struct mistakes *mistakes, const struct expr_problem *problem,
                       char out[DOCUMENT_NAME_MAX + sizeof "state."]) {
    const char *name = mistakes->place->text + problem->span.start;
    size_t length = problem->span.end - problem->span.start;
    if (length > DOCUMENT_NAME_MAX || !is_known_name((void *)(uintptr_t)mistakes, name, length)) return false;
    snprintf(out, DOCUMENT_NAME_MAX + sizeof "state.", "state.%.*s", (int)length, name);
    return true;
}

#define QUOTED_MAX 60u /* bytes of an expression that a suggestion repeats */

/* Suggests quotes around the whole text, with a fix if the text can be quoted as it is. */
static void suggest_quotes(const struct mistakes *mistakes, struct diagnostic *it) {
    const struct expr_place *place = mistakes->place;
    const struct tree_node *scalar = place->scalar;
    bool plain = hint_quote(place->text, place->length) == '"';
    bool escaped = tree_name_is_json(source_name(place->source)) || memchr(place->text, '\'', place->length);
    if (memchr(place->text, '{', place->length)) {
        diagnostic_suggest(it, "this is an expression, not a template: join texts and values, as in `\"Hello, \" + "
                               "state.name`");
        return;
    }
    if (!plain || place->length > QUOTED_MAX) {
        diagnostic_suggest(it, "write a text in quotes, inside the quotes of the document: %s",
                           escaped ? "\"\\\"text\\\"\"" : "'\"text\"'");
        return;
    }
    tn_value quoted = value_format(escaped ? "\"\\\"%.*s\\\"\"" : "'\"%.*s\"'", (int)place->length, place->text);
    const char *text = value_chars(quoted, NULL);
    diagnostic_suggest(it, "write a text in quotes, inside the quotes of the document: %s", text);
    if (place->exact && scalar && scalar->style != TREE_BLOCK)
        diagnostic_set_fix(it, scalar->span, text, strlen(text), "write it as a text");
    value_unref(quoted);
}

static void suggest_names(const struct mistakes *mistakes, struct diagnostic *it, bool shown) {
    const struct expr_place *place = mistakes->place;
    bool word =
        shown && mistakes->in == IN_CONFIG &&
        hint_text_form(place->text, place->length, is_known_name, (void *)(uintptr_t)mistakes) == HINT_TEXT_WORD;
    if (word)
        suggest_quotes(mistakes, it);
    else
        diagnostic_suggest(it, "%s", names_in[mistakes->in]);
}

static void report_conditional(struct mistakes *mistakes, const struct hint_conditional *parts) {
    const struct expr_place *place = mistakes->place;
    struct reader *reader = mistakes->reader;
    char where[256];
    const struct span span = mistake_span(mistakes, (struct span){0, (uint32_t)place->length});
    struct diagnostic *it = diagnostics_add(reader->found, ADL_E040, place->source, span,
                                            "%s: found `a if b else c`, which is not an expression of CEL",
                                            describe_expr_place(reader, place, where));
    const size_t *then = parts->then, *condition = parts->condition, *otherwise = parts->otherwise;
    if (place->length <= QUOTED_MAX)
        diagnostic_suggest(it, "write `%.*s ? %.*s : %.*s`", (int)(condition[1] - condition[0]),
                           place->text + condition[0], (int)(then[1] - then[0]), place->text + then[0],
                           (int)(otherwise[1] - otherwise[0]), place->text + otherwise[0]);
    else
        diagnostic_suggest(it, "write `b ? a : c`");
    mistakes->whole = true;
}

/* True if the unknown name is compared: then it is probably a text, unless it is a variable of other places. */
static bool is_compared(const struct mistakes *mistakes, struct span name) {
    static const char *const variables[] = {"item", "config"};
    const char *text = mistakes->place->text;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (strlen(variables[i]) == name.end - name.start &&
            memcmp(text + name.start, variables[i], name.end - name.start) == 0)
            return false;
    size_t length = mistakes->place->length, before = name.start, after = name.end;
    while (before > 0 && text[before - 1] == ' ') before--;
    while (after < length && text[after] == ' ') after++;
    bool follows = before >= 2 && text[before - 1] == '=' && (text[before - 2] == '=' || text[before - 2] == '!');
    bool precedes = after + 1 < length && text[after + 1] == '=' && (text[after] == '=' || text[after] == '!');
    return follows || precedes;
}

/* Reports the commonest mistakes once, for the whole expression. Returns false if it is another one. */
static bool report_whole(struct mistakes *mistakes, const struct expr_problem *problem) {
    const struct expr_place *place = mistakes->place;
    struct reader *reader = mistakes->reader;
    char where[256];
    size_t length = place->length;
    const char *inside = hint_inside_braces(place->text, &length);
    bool otherwise = mistakes->in == IN_EDGE && hint_is_default(place->text, place->length);
    bool text = mistakes->in == IN_CONFIG &&
                (problem->mistake == EXPR_MISTAKE_NAME || problem->mistake == EXPR_MISTAKE_SYNTAX) &&
                hint_text_form(place->text, place->length, is_known_name, mistakes) == HINT_TEXT_WORDS;
    struct hint_conditional parts;
    bool conditional = problem->mistake == EXPR_MISTAKE_SYNTAX && hint_conditional(place->text, place->length, &parts);
    if (conditional) {
        report_conditional(mistakes, &parts);
        return true;
    }
    if (!inside && !otherwise && !text) return false;
    const struct span span = mistake_span(mistakes, (struct span){0, (uint32_t)place->length});
    struct diagnostic *it = diagnostics_add(reader->found, ADL_E040, place->source, span,
                                            inside      ? "%s: found braces around the expression"
                                            : otherwise ? "%s: found a word that is not an expression"
                                                        : "%s: found a text without quotes, expected an expression",
                                            describe_expr_place(reader, place, where));
    if (inside && length <= QUOTED_MAX)
        diagnostic_suggest(it, "an expression has no braces around it: write `%s%.*s`",
                           is_known_name(mistakes, inside, length) ? "state." : "", (int)length, inside);
    else if (inside)
        diagnostic_suggest(it, "an expression has no braces around it");
    else if (otherwise)
        diagnostic_suggest_name(it, span, "default", strlen("default"));
    else
        suggest_quotes(mistakes, it);
    mistakes->whole = true;
    return true;
}

static void on_problem(void *self, const struct expr_problem *problem) {
    struct mistakes *mistakes = self;
    struct reader *reader = mistakes->reader;
    mistakes->any = true;
    mistakes->unread |= problem->mistake == EXPR_MISTAKE_SYNTAX || problem->mistake == EXPR_MISTAKE_LIMIT;
    bool unknown = problem->mistake == EXPR_MISTAKE_NAME, template = mistakes->in == IN_TEMPLATE;
    if (mistakes->whole || (unknown && is_unread(mistakes, problem))) return;
    bool shown = source_view(mistakes->place->source) == SOURCE_SHOWN;
    if (shown && !template && report_whole(mistakes, problem)) return;
    char where[256], field[DOCUMENT_NAME_MAX + sizeof "state."];
    struct span span = mistake_span(mistakes, problem->span);
    const char *message = shown ? problem->message : mistake_without_text(problem->mistake, template);
    struct diagnostic *it =
        diagnostics_add(reader->found, mistake_diagnostic_code(problem->mistake, template), mistakes->place->source,
                        span, "%s: %.*s", describe_expr_place(reader, mistakes->place, where),
                        shown ? message_length(message, problem->nearest) : (int)strlen(message), message);
    const char *meant = unknown && !template && bare_field(mistakes, problem, field) ? field : problem->nearest;
    int name_length = (int)(problem->span.end - problem->span.start);
    if (unknown && !meant && shown && name_length < (int)QUOTED_MAX && is_compared(mistakes, problem->span))
        diagnostic_suggest(it, "if it is a text, write it in quotes: '%.*s'", name_length,
                           mistakes->place->text + problem->span.start);
    else if (unknown && !meant)
        suggest_names(mistakes, it, shown);
    if (!meant) return;
    /* A part can be replaced only if the source contains the expression unchanged. */
    const char *source = source_text(mistakes->place->source);
    bool same = mistakes->place->exact && span.end - span.start == problem->span.end - problem->span.start &&
                memcmp(source + span.start, mistakes->place->text + problem->span.start, span.end - span.start) == 0;
    const struct tree_node *scalar = mistakes->place->scalar;
    bool at_start = same && scalar && scalar->style == TREE_PLAIN && span.start == scalar->span.start;
    if (at_start && *meant == '!') /* a plain scalar cannot start with it */
        diagnostic_suggest(it, "did you mean `%s`? Then put the expression in quotes", meant);
    else if (same)
        diagnostic_suggest_name(it, span, meant, strlen(meant));
    else
        diagnostic_suggest(it, "did you mean `%s`?", meant);
}

static void on_field(void *self, const struct expr_field_name *field) {
    struct mistakes *mistakes = self;
    const struct expr_place *place = mistakes->place;
    if (!mistakes->cursor.base && place->exact && place->scalar)
        place_cursor_init(&mistakes->cursor, place->source, place->scalar, place->text, place->length);
    use_field(mistakes->reader, place, &mistakes->cursor, field);
}

/* Ends the report of an expression or template. */
static void report_rest(struct mistakes *mistakes, int32_t status, const struct error *error) {
    if (mistakes->unread || (status != TN_OK && !mistakes->any))
        use_unread_expression(mistakes->reader, mistakes->place);
    if (status == TN_OK || mistakes->any) return;
    const struct expr_problem problem = {
        .mistake = status == TN_LIMIT ? EXPR_MISTAKE_LIMIT : EXPR_MISTAKE_SYNTAX,
        .span = error->span,
        .message = error->message ? error->message : "it cannot be compiled",
    };
    on_problem(mistakes, &problem);
}

static struct expr *compile(struct reader *reader, int in, const struct expr_place *place) {
    struct mistakes mistakes = {.reader = reader, .place = place, .in = in};
    struct expr_variable variables[DOCUMENT_VARIABLE_COUNT];
    use_text(reader, USE_EXPRESSION, place);
    fill_variables(reader, in, variables);
    const struct expr_scope scope = {.variables = variables,
                                     .variable_count = DOCUMENT_VARIABLE_COUNT,
                                     .problem = on_problem,
                                     .self = &mistakes,
                                     .field = reader->observer ? on_field : NULL};
    struct expr *expr = NULL;
    struct error error = ERROR_INIT;
    int32_t status = expr_compile(place->text, place->length, &scope, NULL, &expr, &error);
    report_rest(&mistakes, status, &error);
    error_finish(&error);
    return status == TN_OK ? expr : NULL;
}

/* ---- Configs ---- */

/* Pairs of a field and a node that receives it, or of a field and DOCUMENT_NOWHERE if any node may be meant. */
static uint64_t reach_key(uint32_t field, int32_t node) { return (uint64_t)field << 32 | (uint32_t)node; }

static uint64_t *reach_slot(const struct reader *reader, uint64_t key) {
    uint64_t at = (key * 0x9e3779b97f4a7c15u >> 32) & (reader->reach_count - 1);
    while (reader->reaches[at] && reader->reaches[at] != key + 1) at = (at + 1) & (reader->reach_count - 1);
    return &reader->reaches[at];
}

static void prepare_locals(struct reader *reader) {
    const struct document *document = reader->document;
    uint64_t count = 0;
    for (uint32_t i = 0; i < document->edge_count; i++)
        if (document->edges[i].as_field != UINT32_MAX) count += document->edges[i].to_count;
    reader->reach_count = 16;
    while (reader->reach_count < count * 2) reader->reach_count *= 2;
    reader->reaches = mem_zalloc(reader->reach_count * sizeof *reader->reaches);
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        for (uint32_t t = 0; edge->as_field != UINT32_MAX && t < edge->to_count; t++) {
            uint64_t key = reach_key(edge->as_field, edge->to[t]);
            *reach_slot(reader, key) = key + 1;
        }
    }
}

/* Notes which nodes a map edge starts. An edge that could not be read, or a node that names others, may start any. */
static void prepare_items(struct reader *reader) {
    const struct document *document = reader->document;
    reader->items_known = reader->edges_whole && reader->nodes_whole && !reader->edge_unknown;
    for (uint32_t i = 0; i < document->node_count; i++)
        reader->items_known &= !may_lead_anywhere(document->nodes[i].component);
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        for (uint32_t t = 0; edge->kind == EDGE_MAP && t < edge->to_count; t++)
            if (edge->to[t] >= 0) reader->notes[edge->to[t]].has_item = true;
    }
}

void prepare_expressions(struct reader *reader) {
    const struct document *document = reader->document;
    uint32_t count = document->channel_count + document->local_count;
    reader->field_kinds = mem_array(NULL, count + 1u, sizeof *reader->field_kinds);
    for (uint32_t i = 0; i < count; i++)
        reader->field_kinds[i] = i < document->channel_count ? channel_kinds(&document->channels[i]) : EXPR_ANY;
    if (document->local_count) prepare_locals(reader);
    prepare_items(reader);
    reader->edge_fields = (struct expr_fields){reader, edge_field, channel_name, field_kinds, NULL};
    reader->config_fields = (struct expr_fields){reader, config_field, field_name, field_kinds, NULL};
}

bool local_reaches(const struct reader *reader, uint32_t node, uint32_t field) {
    return *reach_slot(reader, reach_key(field, (int32_t)node)) != 0 ||
           *reach_slot(reader, reach_key(field, DOCUMENT_NOWHERE)) != 0;
}

/*
 * Checks that named items are used only in tasks of their map edges. `start` is the position of the expression in the
 * place's text.
 */
static void check_locals(struct mistakes *mistakes, uint32_t node, const struct expr *expr, uint32_t start) {
    struct reader *reader = mistakes->reader;
    const struct document *document = reader->document;
    for (size_t i = 0; i < expr_use_count(expr); i++) {
        const struct expr_use *use = expr_use_at(expr, i);
        if (use->variable != DOCUMENT_VARIABLE_STATE || use->field == EXPR_WHOLE || use->guarded) continue;
        if (use->field < document->channel_count || local_reaches(reader, node, use->field)) continue;
        char where[256];
        struct span part = {use->span.start + start, use->span.end + start};
        diagnostics_add(reader->found, ADL_E048, mistakes->place->source, mistake_span(mistakes, part),
                        "%s: `%s` is the item of a map edge that does not lead to this node",
                        describe_expr_place(reader, mistakes->place, where),
                        value_chars(document->locals[use->field - document->channel_count], NULL));
    }
}

static bool lists_item(tn_value variables) {
    for (size_t i = 0; value_is(variables, TN_ARRAY) && i < value_count(variables); i++)
        if (value_text_is(value_at(variables, i), "item")) return true;
    return false;
}

/*
 * Checks that `item` is used only if a map edge leads to the node, or if the component passes it. A component can pass
 * one unless it lists what it passes (`x-tenon-variables`).
 */
static void check_item(struct mistakes *mistakes, uint32_t node, const struct expr *expr, uint32_t start) {
    struct reader *reader = mistakes->reader;
    tn_value passed = mistakes->place->variables;
    if (!reader->items_known || reader->notes[node].has_item || lists_item(passed)) return;
    if (!value_is(passed, TN_ARRAY)) return;
    for (size_t i = 0; i < expr_use_count(expr); i++) {
        const struct expr_use *use = expr_use_at(expr, i);
        if (use->variable != DOCUMENT_VARIABLE_ITEM || use->guarded) continue;
        char where[256];
        struct span part = {use->span.start + start, use->span.end + start};
        struct diagnostic *it =
            diagnostics_add(reader->found, ADL_E048, mistakes->place->source, mistake_span(mistakes, part),
                            "%s: `item` is the item of a map edge, and no map edge leads to this node",
                            describe_expr_place(reader, mistakes->place, where));
        diagnostic_suggest(it, "name a channel, or let an edge `{type: map, over: …, to: %s}` lead here",
                           value_chars(reader->document->nodes[node].id, NULL));
        return;
    }
}

void check_config_expression(struct reader *reader, uint32_t node, const struct expr_place *place) {
    struct expr *expr = compile(reader, IN_CONFIG, place);
    if (!expr) return;
    struct mistakes mistakes = {.reader = reader, .place = place, .in = IN_CONFIG};
    if (reader->document->local_count) check_locals(&mistakes, node, expr, 0);
    check_item(&mistakes, node, expr, 0);
    reader->notes[node].uses_run |= document_uses_run(expr);
    expr_unref(expr);
}

#define GIVEN_MAX 32u /* names that a component adds to a template */

/* Adds the names from the component; returns the number of variables. */
static size_t add_given(struct expr_variable *variables, tn_value given) {
    size_t count = DOCUMENT_VARIABLE_COUNT;
    for (size_t i = 0; value_is(given, TN_ARRAY) && i < value_count(given) && i < GIVEN_MAX; i++)
        if (value_is(value_at(given, i), TN_STRING))
            variables[count++] = (struct expr_variable){.name = value_chars(value_at(given, i), NULL)};
    return count;
}

/* `{{name}}` is a text in braces. Where the name is that of a channel, the value is meant. */
static void check_literal_braces(const struct mistakes *mistakes) {
    const struct expr_place *place = mistakes->place;
    struct reader *reader = mistakes->reader;
    bool shown = source_view(place->source) == SOURCE_SHOWN;
    struct hint_braces braces = {0};
    while (hint_next_braces(place->text, place->length, &braces)) {
        const char *inside = place->text + braces.from;
        size_t skip = strncmp(inside, "state.", 6) == 0 ? 6 : 0, length = strcspn(inside + skip, ". }");
        if (document_find_field(reader->document, inside + skip, length) < 0) continue;
        char where[256];
        struct span span = mistake_span(mistakes, (struct span){(uint32_t)braces.start, (uint32_t)braces.end});
        int all = (int)(braces.end - braces.start), name = (int)(braces.to - braces.from);
        struct diagnostic *it =
            diagnostics_add(reader->found, ADL_W113, place->source, span, "%s: `%.*s` is a text in braces",
                            describe_expr_place(reader, place, where), shown ? all : 8,
                            shown ? place->text + braces.start : "{{name}}");
        diagnostic_suggest(it, "write `{%.*s}` for the value", shown ? name : 4, shown ? inside : "name");
    }
}

void check_config_template(struct reader *reader, uint32_t node, const struct expr_place *place) {
    if (!memchr(place->text, '{', place->length) && !memchr(place->text, '}', place->length)) return;
    struct mistakes mistakes = {.reader = reader, .place = place, .in = IN_TEMPLATE};
    use_text(reader, USE_TEMPLATE, place);
    struct expr_variable variables[DOCUMENT_VARIABLE_COUNT + GIVEN_MAX];
    fill_variables(reader, IN_TEMPLATE, variables);
    const struct expr_scope scope = {.variables = variables,
                                     .variable_count = add_given(variables, place->variables),
                                     .open = value_is(place->variables, TN_BOOL),
                                     .problem = on_problem,
                                     .field = reader->observer ? on_field : NULL,
                                     .self = &mistakes};
    struct template *template = NULL;
    struct error error = ERROR_INIT;
    int32_t status = template_compile(place->text, place->length, &scope, NULL, &template, &error);
    report_rest(&mistakes, status, &error);
    error_finish(&error);
    if (status != TN_OK) return;
    check_literal_braces(&mistakes);
    for (size_t i = 0; i < template_hole_count(template); i++) {
        const struct template_hole *hole = template_hole_at(template, i);
        if (reader->document->local_count) check_locals(&mistakes, node, hole->expr, hole->start);
        check_item(&mistakes, node, hole->expr, hole->start);
        reader->notes[node].uses_run |= document_uses_run(hole->expr);
    }
    template_unref(template);
}

/* ---- Edges ---- */

static struct expr_place edge_place(struct reader *reader, const struct tree_node *node, const char *where) {
    struct expr_place place = {
        .source = reader->source, .scalar = node, .span = node->span, .exact = true, .where = where};
    place.text = tree_text(reader->tree, node, &place.length);
    return place;
}

static void check_gives(struct reader *reader, const struct expr *expr, const struct tree_node *node, uint32_t wanted,
                        const char *where, const char *expected, const char *hint) {
    uint32_t kinds = expr_kinds(expr);
    if (kinds & wanted) return;
    char text[128];
    struct diagnostic *it = report(reader, ADL_E044, node->span, "%s returns %s; expected %s", where,
                                   expr_kinds_text(kinds, text, sizeof text), expected);
    diagnostic_suggest(it, "%s", hint);
}

static bool expression_is_default(tn_value text) { return value_text_is(text, "default"); }

static void compile_conditions(struct reader *reader, struct document_edge *edge, const struct tree_node *list) {
    for (uint32_t i = 0; i < edge->condition_count; i++) {
        struct document_condition *condition = &edge->conditions[i];
        const struct tree_node *node = tree_get(list->items[i].node, "expression");
        if (!node || !tree_text(reader->tree, node, NULL) || expression_is_default(condition->text)) continue;
        struct expr_place place = edge_place(reader, node, "the condition");
        condition->expression = compile(reader, IN_EDGE, &place);
        if (condition->expression)
            check_gives(reader, condition->expression, node, EXPR_KIND(TN_BOOL), "the condition", "bool: true or false",
                        "compare it with something, as in `state.score > 80`");
    }
}

void check_edge_expressions(struct reader *reader, const struct tree_item *item) {
    struct document *document = reader->document;
    for (uint32_t i = 0; i < document->edge_count; i++) {
        struct document_edge *edge = &document->edges[i];
        const struct tree_node *node = item->node->items[i].node;
        if (edge->condition_count) compile_conditions(reader, edge, tree_get(node, "conditions"));
        const struct tree_node *over = edge->over_text ? tree_get(node, "over") : NULL;
        if (!over) continue;
        struct expr_place place = edge_place(reader, over, "`over`");
        edge->over = compile(reader, IN_EDGE, &place);
        if (edge->over)
            check_gives(reader, edge->over, over, EXPR_KIND(TN_ARRAY), "`over`", "a list",
                        "name a channel that holds a list, as in `state.tasks`");
    }
}
