/*
 * hover.c - chooses what to describe (describe.h) from the meaning of a place.
 */
#include "adl/assist/hover.h"
#include "adl/assist/describe.h"
#include "adl/assist/keyword.h"
#include "adl/assist/known.h"
#include "adl/assist/phrase.h"
#include "adl/schema/schema.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include "adl/value/pointer.h"
#include <string.h>

/* The text of the key or scalar at the cursor. */
struct hovered {
    const struct meaning *meaning;
    const struct assist *assist;
    const char *text;
    size_t length;
    struct span span;
    struct buffer *out;
};

/* ---- Expressions ---- */

static void hover_type(const struct phrase_value *value, struct buffer *out) {
    struct shape shape;
    shape_init(&shape);
    phrase_shape(value, &shape);
    buffer_text(out, ": ");
    shape_write_type(&shape, out);
    if (shape.description) buffer_format(out, "\n\n%s", shape.description);
    shape_finish(&shape);
}

static bool hover_run_member(const char *name, size_t length, struct buffer *out) {
    const struct phrase_run_member *member;
    for (size_t i = 0; (member = phrase_run_member(i)); i++) {
        if (strlen(member->name) != length || memcmp(member->name, name, length) != 0) continue;
        buffer_format(out, "**run.%s**: %s\n\n%s", member->name, member->type, member->documentation);
        return true;
    }
    return false;
}

static void write_member_of(void *user, const char *name, size_t length, const struct shape *shape) {
    struct buffer *out = user;
    buffer_format(out, "\n- `%.*s`: ", (int)length, name);
    shape_write_type(shape, out);
}

/* The members that the schema of a value describes, as a list. */
static void write_members_of(const struct phrase_value *value, struct buffer *out) {
    size_t before = out->length;
    buffer_text(out, "\n");
    phrase_each_member(value, write_member_of, out);
    if (out->length == before + 1) out->data[--out->length] = '\0';
}

static bool hover_variable(const struct hovered *hovered, const char *name, size_t length,
                           const struct phrase_value *value) {
    static const struct {
        const char *name, *text;
    } variables[] = {{"state", "the channels, by their names"},
                     {"input", "the input of the run; in the config of a node, the input of its task"},
                     {"item", "the item of a map edge's task"},
                     {"config", "the configuration of the node, with its defaults"},
                     {"run", "the run: `run_id`, `thread_id`, `step`, `now`, `tags`, `metadata`, `configurable`"},
                     {"default", "always true: the branch that is taken if no other one is"}};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        if (strlen(variables[i].name) != length || memcmp(variables[i].name, name, length) != 0) continue;
        buffer_format(hovered->out, "**%s**: %s", variables[i].name, variables[i].text);
        if (value) write_members_of(value, hovered->out);
        return true;
    }
    return false;
}

/* The value that a name in an expression stands for. */
static bool hover_value(const struct hovered *hovered, const char *name, size_t length,
                        const struct phrase_value *value) {
    if (value->root == ROOT_CHANNEL && value->step_count == 0)
        return describe_channel(hovered->assist, name, length, hovered->out);
    buffer_format(hovered->out, "**%.*s**", (int)length, name);
    hover_type(value, hovered->out);
    write_members_of(value, hovered->out);
    return true;
}

/* A name in an expression: a channel, a member, a variable. */
static bool hover_name(const struct hovered *hovered, const struct phrase *phrase, uint32_t token) {
    struct span span = phrase_name(phrase, token);
    const char *name = phrase->text.text + span.start;
    size_t length = span.end - span.start;
    bool member = token >= 2 && phrase_char(phrase, token - 1) == '.';
    struct phrase_value value, of;
    bool known = phrase_resolve(phrase, token, &value);
    if (member && phrase_resolve(phrase, token - 2, &of) && of.root == ROOT_RUN)
        return hover_run_member(name, length, hovered->out);
    if (!member && hover_variable(hovered, name, length, known ? &value : NULL)) return true;
    if (!known) return false;
    return hover_value(hovered, name, length, &value);
}

/* The text in `x["name"]`, which is the name of a member of `x`. */
static bool hover_index(const struct hovered *hovered, const struct phrase *phrase, uint32_t token) {
    struct span span = phrase->tokens[token].span;
    struct phrase_value value;
    bool index = token > 1 && token + 1 < phrase->count && phrase_char(phrase, token - 1) == '[' &&
                 phrase_char(phrase, token + 1) == ']' && span.end - span.start > 2;
    if (!index || !phrase_resolve(phrase, token + 1, &value)) return false;
    const char *name = phrase->text.text + span.start + 1;
    size_t length = span.end - span.start - 2;
    return hover_value(hovered, name, length, &value);
}

static bool hover_operator(const struct phrase *phrase, uint32_t token, struct buffer *out) {
    struct span span = phrase->tokens[token].span;
    for (size_t i = 0; i < expr_operator_count(); i++) {
        const struct expr_operator *row = expr_operator_at(i);
        char form[16] = " ";
        if (span.end - span.start > 4) return false;
        memcpy(form + 1, phrase->text.text + span.start, span.end - span.start);
        memcpy(form + 1 + (span.end - span.start), " ", 2);
        if (!strstr(row->form, form) || row->form[0] == 'c') continue;
        buffer_format(out, "**%s**\n\n%s\n\nExample: `%s` is `%s`", row->form, row->documentation, row->example,
                      row->result);
        return true;
    }
    return false;
}

static bool hover_token(struct hovered *hovered, const struct phrase *phrase, uint32_t token) {
    hovered->span = phrase_place(phrase, phrase->tokens[token].span);
    switch (phrase->tokens[token].kind) {
    case EXPR_TOKEN_FUNCTION:
    case EXPR_TOKEN_MACRO: return describe_function(phrase_function(phrase, token), hovered->out);
    case EXPR_TOKEN_VARIABLE:
    case EXPR_TOKEN_PROPERTY:
    case EXPR_TOKEN_KEYWORD:
        return phrase_token_is(phrase, token, "in") ? hover_operator(phrase, token, hovered->out)
                                                    : hover_name(hovered, phrase, token);
    case EXPR_TOKEN_STRING: return hover_index(hovered, phrase, token);
    case EXPR_TOKEN_OPERATOR: return hover_operator(phrase, token, hovered->out);
    default: return false;
    }
}

/* True if the cursor is in an expression; *done is true if something was written. */
static bool hover_expression(struct hovered *hovered, bool *done) {
    struct phrase phrase;
    bool inside = phrase_find(hovered->meaning, true, &phrase);
    uint32_t token = inside ? phrase_token_at(&phrase, phrase.at) : UINT32_MAX;
    /* Between two tokens, the name is meant. */
    if (token != UINT32_MAX && token > 0 && phrase.tokens[token].span.start == phrase.at &&
        phrase.tokens[token].kind == EXPR_TOKEN_PUNCTUATION && phrase.tokens[token - 1].span.end == phrase.at)
        token--;
    *done = token != UINT32_MAX && hover_token(hovered, &phrase, token);
    phrase_finish(&phrase);
    return inside;
}

/* ---- Values ---- */

/* In a text that is not a document (tenon.yaml): the description of the value, or of its key, in its schema. */
static bool hover_form_value(const struct hovered *hovered, const struct shape *shape) {
    const struct cursor *cursor = &hovered->meaning->cursor;
    const char *told = shape_told(shape, hovered->text, hovered->length);
    uint32_t key = cursor->depth - 1;
    if (told) buffer_format(hovered->out, "**%.*s**: %s", (int)hovered->length, hovered->text, told);
    while (!told && key > 0 && !cursor->steps[key].key) key--;
    return told || (cursor->steps[key].key &&
                    describe_shape(cursor->steps[key].key, cursor->steps[key].length, shape, hovered->out));
}

static bool hover_config_value(struct hovered *hovered) {
    const struct assist *assist = hovered->assist;
    const char *text = hovered->text;
    size_t length = hovered->length;
    const struct cursor_step *last = &hovered->meaning->cursor.steps[hovered->meaning->cursor.depth - 1];
    struct shape shape;
    shape_init(&shape);
    meaning_each_schema(hovered->meaning, true, shape_add, &shape);
    bool channel = shape_has(&shape, "channel-read") || shape_has(&shape, "channel-write"), done = false;
    const struct document *inner = meaning_inner_document(hovered->meaning);
    if (channel) done = describe_channel(assist, text, length, hovered->out);
    if (inner) done = done || describe_inner_channel(inner, text, length, hovered->out);
    if (shape_has(&shape, "node")) done = done || describe_node(assist, text, length, hovered->out);
    if (shape_has(&shape, "model"))
        done = done || (!assist->world->form && describe_role(assist, text, length, hovered->out)) ||
               describe_model(assist, text, length, hovered->out);
    if (shape_has(&shape, "tool") || shape_has(&shape, "approval"))
        done = done || describe_tool(assist, text, length, hovered->out);
    if (!done && assist->world->form) done = hover_form_value(hovered, &shape);
    bool file =
        shape_has(&shape, "file") || (!shape.found && last->key && last->length == 4 && !memcmp(last->key, "file", 4));
    if (!done && (file || shape_has(&shape, "document"))) {
        buffer_format(hovered->out, "%s `%.*s`", file ? "File" : "Document", (int)length, text);
        done = true;
    }
    if (!done && last->key && (value_count(shape.values) > 0 || shape.kinds >> TN_BOOL & 1))
        done = describe_shape(last->key, last->length, &shape, hovered->out);
    shape_finish(&shape);
    return done;
}

static bool hover_key_value(struct hovered *hovered) {
    const struct document_key *key = hovered->meaning->key;
    const struct assist *assist = hovered->assist;
    const char *text = hovered->text;
    size_t length = hovered->length;
    switch (key->key) {
    case KEY_NODE_TYPE: return describe_node_type(assist, text, length, hovered->out);
    case KEY_NODE_ID: return describe_node(assist, text, length, hovered->out);
    case KEY_CHANNEL_NAME: return describe_channel(assist, text, length, hovered->out);
    case KEY_CHANNEL_REDUCER: return describe_reducer(assist, text, length, hovered->out);
    case KEY_EDGE_FROM:
    case KEY_EDGE_TO:
    case KEY_EDGE_EMPTY:
    case KEY_CONDITION_TO:
    case KEY_ON_ERROR_TO: return describe_node(assist, text, length, hovered->out);
    case KEY_MODELS:
    case KEY_MODEL_PROVIDER: return describe_model(assist, text, length, hovered->out);
    case KEY_TOOLS:
    case KEY_TOOL_NAME: return describe_tool(assist, text, length, hovered->out);
    case KEY_REQUIRES: return describe_plugin(assist, text, length, hovered->out);
    default: break;
    }
    if (key->words && key_word(key, text, length) >= 0) return describe_key(key, hovered->out);
    return key->forms & KEY_DURATION && describe_duration(text, length, hovered->out);
}

/* ---- Keys ---- */

static bool hover_config_key(struct hovered *hovered) {
    const struct meaning *meaning = hovered->meaning;
    bool channel =
        meaning_has_annotation(meaning, true, "channel-read") || meaning_has_annotation(meaning, true, "channel-write");
    if (channel && describe_channel(hovered->assist, hovered->text, hovered->length, hovered->out)) return true;
    bool node = meaning_has_annotation(meaning, true, "node");
    if (node && describe_node(hovered->assist, hovered->text, hovered->length, hovered->out)) return true;
    const struct document *inner = meaning_inner_document(meaning);
    if (inner && describe_inner_channel(inner, hovered->text, hovered->length, hovered->out)) return true;
    struct shape shape;
    shape_init(&shape);
    const struct component_info *tool = meaning_tool(meaning);
    if (tool && tool->input) {
        struct buffer pointer;
        buffer_init(&pointer, SIZE_MAX);
        pointer_append_key(&pointer, hovered->text, hovered->length);
        schema_at(tool->input, value_object(), buffer_cstr(&pointer), shape_add, &shape);
        buffer_finish(&pointer);
    } else {
        meaning_each_schema(meaning, true, shape_add, &shape);
    }
    bool done = describe_shape(hovered->text, hovered->length, &shape, hovered->out);
    shape_finish(&shape);
    return done;
}

static bool hover_keyword(struct hovered *hovered) {
    const struct schema_keyword *row = schema_keyword_find(hovered->text, hovered->length);
    if (!row || !keyword_place(hovered->meaning)) return false;
    buffer_format(hovered->out, "**%s**: %s", row->name, row->documentation);
    return true;
}

static bool hover_key(struct hovered *hovered) {
    const struct meaning *meaning = hovered->meaning;
    switch (meaning->kind) {
    case MEANING_KEYS:
        if (meaning->key) return describe_key(meaning->key, hovered->out);
        return meaning->option && hover_config_key(hovered);
    case MEANING_ROLE: return describe_role(hovered->assist, hovered->text, hovered->length, hovered->out);
    case MEANING_CONFIG: return hover_config_key(hovered);
    case MEANING_SCHEMA: return hover_keyword(hovered);
    default: return false;
    }
}

/* ---- The call ---- */

static bool hover_place(struct hovered *hovered) {
    const struct meaning *meaning = hovered->meaning;
    const struct cursor *cursor = &meaning->cursor;
    bool done = false;
    if (cursor->kind == CURSOR_KEY) return hover_key(hovered);
    if (cursor->kind != CURSOR_VALUE) return false;
    if (meaning->language != LANGUAGE_NONE && (hover_expression(hovered, &done) || cursor->quote == CURSOR_BLOCK))
        return done;
    if (cursor->quote == CURSOR_BLOCK) return false;
    if (meaning->kind == MEANING_CONFIG) return hover_config_value(hovered);
    return meaning->kind == MEANING_VALUE && hover_key_value(hovered);
}

/* Anchors and aliases are found in the tree: they have no meaning in the language. */
static struct assist_hover *hover_anchor(const struct assist *assist, uint32_t offset) {
    struct assist_hover *hover = NULL;
    struct buffer out;
    struct span span;
    buffer_init(&out, DESCRIBE_MAX);
    if (describe_anchor(assist, offset, &span, &out)) {
        hover = mem_zalloc(sizeof *hover);
        hover->span = span;
        hover->markdown = mem_text(buffer_cstr(&out));
        hover->text = describe_plain(hover->markdown);
    }
    buffer_finish(&out);
    return hover;
}

struct assist_hover *assist_hover(const struct assist *assist, uint32_t offset) {
    struct meaning meaning;
    struct assist_hover *hover = hover_anchor(assist, offset);
    if (hover) return hover;
    meaning_find(assist, offset, &meaning);
    const struct cursor *cursor = &meaning.cursor;
    bool on = cursor->span.start <= cursor->offset && cursor->span.start < cursor->span.end;
    if (meaning.kind == MEANING_NOTHING || !on) {
        meaning_finish(&meaning);
        return NULL;
    }
    struct buffer out;
    struct cursor_text text;
    buffer_init(&out, DESCRIBE_MAX);
    cursor_text(cursor, &text);
    size_t length = text.length;
    while (length > 0 && text.text[length - 1] == ' ') length--;
    bool quote = cursor->offset < cursor->inner.start || cursor->offset > cursor->inner.end;
    struct hovered hovered = {&meaning, assist, text.text, length, quote ? cursor->span : cursor->inner, &out};
    if (!(quote && meaning.language != LANGUAGE_NONE) && hover_place(&hovered)) {
        hover = mem_zalloc(sizeof *hover);
        hover->span = hovered.span;
        hover->markdown = mem_text(buffer_cstr(&out));
        hover->text = describe_plain(hover->markdown);
    }
    buffer_finish(&out);
    cursor_text_finish(&text);
    meaning_finish(&meaning);
    return hover;
}

void assist_hover_free(struct assist_hover *hover) {
    if (!hover) return;
    mem_free(hover->markdown);
    mem_free(hover->text);
    mem_free(hover);
}
