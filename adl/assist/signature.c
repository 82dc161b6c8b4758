/*
 * signature.c - finds the innermost open bracket of a function before the cursor, and counts the commas.
 */
#include "adl/assist/signature.h"
#include "adl/assist/phrase.h"
#include "adl/value/memory.h"
#include <string.h>

#define NESTING_MAX 64u

struct open_call {
    uint32_t token;
    uint32_t commas; /* before the cursor */
};

/* The innermost function call that is open at the cursor. */
static bool find_call(const struct phrase *phrase, struct open_call *out) {
    struct open_call open[NESTING_MAX];
    uint32_t depth = 0;
    for (uint32_t i = 0; i < phrase->count && phrase->tokens[i].span.start < phrase->at; i++) {
        if (phrase->tokens[i].kind != EXPR_TOKEN_PUNCTUATION) continue;
        char c = phrase_char(phrase, i);
        bool opens = c == '(' || c == '[' || c == '{', closes = c == ')' || c == ']' || c == '}';
        if (opens && depth == NESTING_MAX) return false;
        if (opens) open[depth++] = (struct open_call){i, 0};
        if (closes && depth > 0) depth--;
        if (c == ',' && depth > 0) open[depth - 1].commas++;
    }
    while (depth-- > 0) {
        if (phrase_char(phrase, open[depth].token) != '(' || open[depth].token == 0) continue;
        *out = open[depth];
        return true;
    }
    return false;
}

/* The number of arguments that are written in the whole call. */
static uint32_t count_arguments(const struct phrase *phrase, uint32_t open) {
    uint32_t depth = 0, commas = 0;
    for (uint32_t i = open; i < phrase->count; i++) {
        if (phrase->tokens[i].kind != EXPR_TOKEN_PUNCTUATION) continue;
        char c = phrase_char(phrase, i);
        if (c == '(' || c == '[' || c == '{') depth++;
        if ((c == ')' || c == ']' || c == '}') && --depth == 0) break;
        if (c == ',' && depth == 1) commas++;
    }
    return commas + 1;
}

/*
 * Finds the parameters in the brackets of the label. `ahead` collects those that are optional although others follow,
 * as `i` in `([i,] x, condition)`.
 */
static void find_parameters(struct assist_signature *signature, bool ahead[SIGNATURE_PARAMETERS_MAX]) {
    const char *label = signature->label, *open = strchr(label, '(');
    uint32_t at = open ? (uint32_t)(open - label) + 1 : 0;
    while (open && label[at] && label[at] != ')' && signature->parameter_count < SIGNATURE_PARAMETERS_MAX) {
        at += (uint32_t)strspn(label + at, " ,[]");
        uint32_t start = at;
        if (label[at] == '{') at += (uint32_t)strcspn(label + at, "}") + 1;
        at += (uint32_t)strcspn(label + at, " ,[])");
        if (at == start) continue;
        ahead[signature->parameter_count] = label[at] == ',' && label[at + 1] == ']';
        signature->parameters[signature->parameter_count++] = (struct span){start, at};
    }
}

static uint32_t active_parameter(const struct assist_signature *signature, uint32_t commas, uint32_t arguments,
                                 const bool ahead[SIGNATURE_PARAMETERS_MAX]) {
    uint32_t count = signature->parameter_count, active = 0;
    for (uint32_t left = commas; active < count; active++) {
        if (ahead[active] && arguments < count) continue; /* it is left out */
        if (left-- == 0) return active;
    }
    struct span last = count ? signature->parameters[count - 1] : (struct span){0, 0};
    bool repeats = last.end - last.start == 3 && memcmp(signature->label + last.start, "...", 3) == 0;
    return repeats ? count - 1 : count;
}

struct assist_signature *assist_signature(const struct assist *assist, uint32_t offset) {
    struct meaning meaning;
    struct phrase phrase = {.count = 0};
    struct open_call call;
    struct assist_signature *signature = NULL;
    meaning_find(assist, offset, &meaning);
    if (meaning.language != LANGUAGE_NONE && phrase_find(&meaning, true, &phrase) && find_call(&phrase, &call)) {
        const struct expr_function *function = phrase_function(&phrase, call.token - 1);
        bool named = phrase.tokens[call.token - 1].kind == EXPR_TOKEN_FUNCTION ||
                     phrase.tokens[call.token - 1].kind == EXPR_TOKEN_MACRO;
        if (function && named) {
            signature = mem_zalloc(sizeof *signature);
            signature->label = function->signature;
            signature->documentation = function->documentation;
            bool ahead[SIGNATURE_PARAMETERS_MAX] = {false};
            find_parameters(signature, ahead);
            signature->active = active_parameter(signature, call.commas, count_arguments(&phrase, call.token), ahead);
        }
    }
    phrase_finish(&phrase);
    meaning_finish(&meaning);
    return signature;
}

void assist_signature_free(struct assist_signature *signature) { mem_free(signature); }
