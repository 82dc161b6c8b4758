/*
 * inlay.h - short texts that an editor shows between those of the document: what a name stands for.
 *
 *     struct assist_hints *hints = assist_hints(assist, (struct span){first, last});
 *     for (uint32_t i = 0; i < hints->count; i++) show(hints->items[i].at, hints->items[i].text);
 *     assist_hints_free(hints);
 *
 * There are four: the model that a role is bound to (`model: fast` shows `= openai:gpt-5-mini`), the type of a channel
 * that a config names (`: number`), the unit of a duration that is only a number (`s`), and the number of tools that a
 * pattern matches. Only parts of the text that can be read have hints.
 */
#ifndef TENON_ADL_ASSIST_INLAY_H
#define TENON_ADL_ASSIST_INLAY_H

#include "adl/assist/assist.h"

#define INLAY_HINTS_MAX 2000u /* further ones are left out */

enum hint_kind { HINT_MODEL, HINT_CHANNEL_TYPE, HINT_UNIT, HINT_TOOLS };

struct assist_hint {
    enum hint_kind kind;
    uint32_t at; /* behind what it explains */
    char *text;  /* "= openai:gpt-5-mini" */
};

struct assist_hints {
    struct assist_hint *items; /* in the order of the text */
    uint32_t count, capacity;
};

/* The hints of a part of the text. Never NULL. Valid without the assist. Any thread. */
struct assist_hints *assist_hints(const struct assist *assist, struct span range);
void assist_hints_free(struct assist_hints *hints); /* NULL is allowed */

#endif
