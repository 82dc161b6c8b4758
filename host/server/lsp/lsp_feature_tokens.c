/*
 * lsp_feature_tokens.c - semantic tokens: of a document, of a range, and the differences to the answer before.
 *
 * An editor asks for tokens after each change. For clients that know differences, the last answer for a document is
 * kept, as long as those of all documents fit into the limit (LSP_TOKENS_PART); an answer that is kept has a resultId.
 */
#include "adl/assist/tokens.h"
#include "adl/value/memory.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"
#include <stdio.h>
#include <string.h>

/* ---- Encoding ---- */

/* A token in the form of the protocol; its place is relative to that of the token before. */
struct lsp_token {
    uint32_t lines, columns, length, type, modifiers;
};
#define TOKEN_NUMBERS 5

struct token_list {
    struct lsp_token *items;
    size_t count;
};

/* Each token is in one line. */
static struct token_list encode_tokens(const struct lsp_query *query, struct span range) {
    const struct source *source = query->text->checked;
    bool bytes = query->lsp->unit == SOURCE_BYTES;
    struct assist_tokens *tokens = assist_tokens(lsp_text_names(query->text), range);
    struct token_list list = {mem_array(NULL, tokens->count + 1, sizeof *list.items), 0};
    uint32_t line = 0, column = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        const struct assist_token *token = &tokens->items[i];
        struct source_place start = source_locate(source, token->span.start),
                            end = source_locate(source, token->span.end);
        uint32_t from = bytes ? start.byte : start.utf16, to = bytes ? end.byte : end.utf16;
        if (end.line != start.line) continue;
        list.items[list.count++] = (struct lsp_token){.lines = start.line - line,
                                                      .columns = start.line == line ? from - column : from,
                                                      .length = to - from,
                                                      .type = (uint32_t)token->type,
                                                      .modifiers = token->modifiers};
        line = start.line;
        column = from;
    }
    assist_tokens_free(tokens);
    return list;
}

static tn_value token_numbers(const struct lsp_token *tokens, size_t count) {
    tn_value data = value_array();
    for (size_t i = 0; i < count; i++) {
        data = value_push_take(data, value_int(tokens[i].lines));
        data = value_push_take(data, value_int(tokens[i].columns));
        data = value_push_take(data, value_int(tokens[i].length));
        data = value_push_take(data, value_int(tokens[i].type));
        data = value_push_take(data, value_int(tokens[i].modifiers));
    }
    return data;
}

/* ---- The last answer ---- */

void lsp_text_forget_tokens(struct lsp_text *text) {
    text->lsp->tokens_size -= text->tokens.count * sizeof *text->tokens.items;
    mem_free(text->tokens.items);
    text->tokens = (struct lsp_kept_tokens){0};
}

/* Takes the list. Returns the resultId; NULL if it is not kept. */
static tn_value keep_tokens_take(struct lsp_text *text, struct token_list list) {
    struct lsp *lsp = text->lsp;
    size_t size = list.count * sizeof *list.items;
    lsp_text_forget_tokens(text);
    if (!lsp->can.token_differences || size > lsp_hosts_texts_max(lsp->hosts) / LSP_TOKENS_PART - lsp->tokens_size) {
        mem_free(list.items);
        return NULL;
    }
    lsp->tokens_size += size;
    text->tokens = (struct lsp_kept_tokens){list.items, list.count, ++lsp->last_result};
    return value_format("%llu", (unsigned long long)text->tokens.id);
}

static bool is_last_answer(const struct lsp_text *text, tn_value id) {
    char number[24];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)text->tokens.id);
    return text->tokens.items && id && value_text_is(id, number);
}

/* [SemanticTokensEdit]: one, or none; what is equal at the beginning and at the end is left out. */
static tn_value token_edits(const struct lsp_token *old, size_t old_count, const struct token_list *list) {
    size_t most = old_count < list->count ? old_count : list->count, before = 0, after = 0;
    while (before < most && memcmp(&old[before], &list->items[before], sizeof *old) == 0) before++;
    while (after < most - before &&
           memcmp(&old[old_count - 1 - after], &list->items[list->count - 1 - after], sizeof *old) == 0)
        after++;
    size_t removed = old_count - before - after, added = list->count - before - after;
    if (removed == 0 && added == 0) return value_array();
    tn_value edit = value_set_take(value_object_reserve(3), "start", value_int((int64_t)(before * TOKEN_NUMBERS)));
    edit = value_set_take(edit, "deleteCount", value_int((int64_t)(removed * TOKEN_NUMBERS)));
    edit = value_set_take(edit, "data", token_numbers(&list->items[before], added));
    return value_push_take(value_array(), edit);
}

/* ---- The features ---- */

static struct token_list all_tokens(const struct lsp_query *query) {
    return encode_tokens(query, (struct span){0, (uint32_t)source_length(query->text->checked)});
}

/* SemanticTokens or SemanticTokensDelta: `content` under the name `member`. Takes the list and the content. */
static tn_value answer_tokens_take(const struct lsp_query *query, struct token_list list, const char *member,
                                   tn_value content) {
    tn_value result = value_set_take(value_object_reserve(2), member, content),
             id = keep_tokens_take(query->text, list);
    return id ? value_set_take(result, "resultId", id) : result;
}

static tn_value tokens_of_document(const struct lsp_query *query, struct error *error) {
    struct token_list list = all_tokens(query);
    (void)error;
    return answer_tokens_take(query, list, "data", token_numbers(list.items, list.count));
}

static tn_value tokens_since(const struct lsp_query *query, struct error *error) {
    const struct lsp_text *text = query->text;
    if (!is_last_answer(text, value_get(query->params, "previousResultId"))) return tokens_of_document(query, error);
    struct token_list list = all_tokens(query);
    return answer_tokens_take(query, list, "edits", token_edits(text->tokens.items, text->tokens.count, &list));
}

static tn_value tokens_of_range(const struct lsp_query *query, struct error *error) {
    struct span range;
    if (!lsp_read_range(query->text->checked, value_get(query->params, "range"), query->lsp->unit, &range)) {
        (void)error_set(error, TN_INVALID, "INVALID_INPUT", "`range` must have `start` and `end`");
        return NULL;
    }
    struct token_list list = encode_tokens(query, range);
    tn_value result = value_set_take(value_object_reserve(1), "data", token_numbers(list.items, list.count));
    mem_free(list.items);
    return result;
}

/* {full, range, legend}: the names of types and modifiers, in the order of their numbers. */
tn_value lsp_describe_tokens(void) {
    tn_value types = value_array(), modifiers = value_array();
    for (int i = 0; i < ASSIST_TOKEN_TYPE_COUNT; i++)
        types = value_push_take(types, value_text(assist_token_type_name((enum assist_token_type)i)));
    for (uint32_t i = 0; i < ASSIST_TOKEN_MODIFIER_COUNT; i++)
        modifiers = value_push_take(modifiers, value_text(assist_token_modifier_name(i)));
    tn_value legend = value_set_take(value_object_reserve(2), "tokenTypes", types);
    tn_value options =
        value_set_take(value_object_reserve(3), "legend", value_set_take(legend, "tokenModifiers", modifiers));
    options = value_set_take(options, "full", value_set_take(value_object_reserve(1), "delta", value_bool(true)));
    return value_set_take(options, "range", value_bool(true));
}

const struct lsp_row lsp_token_rows[] = {
    {"textDocument/semanticTokens/full", LSP_OF_DOCUMENT | LSP_NOT_NEWEST, LSP_NULL, tokens_of_document, NULL, NULL},
    {"textDocument/semanticTokens/full/delta", LSP_OF_DOCUMENT | LSP_NOT_NEWEST, LSP_NULL, tokens_since, NULL, NULL},
    {"textDocument/semanticTokens/range", LSP_OF_DOCUMENT | LSP_NOT_NEWEST, LSP_NULL, tokens_of_range, NULL, NULL},
    {NULL, 0, LSP_NULL, NULL, NULL, NULL}, /* lsp_describe_tokens announces them */
};
