/*
 * openai.h - what the two interfaces of this provider share: Chat Completions, which compatible servers speak, and
 * Responses.
 *
 * Each has a file that makes requests and one that reads answers. An event's reader says what it found with the
 * functions of model.h, and keeps in `struct openai_call` only what has to wait for a later event.
 */
#ifndef TENON_PLUGINS_OPENAI_H
#define TENON_PLUGINS_OPENAI_H

#include <model.h>

/* Of one call. */
struct openai_call {
    tn_value items;    /* of Responses: what `extra` will have, in the service's order; NULL: nothing */
    tn_value logprobs; /* an array, or NULL */
    int64_t sequence;  /* the last event's number, where there are any */
    int64_t text_at;   /* the item whose text came in pieces, + 1; 0: none */
    int64_t reasoning_at;
    int64_t wrapper; /* the item that is one, see below, while it comes, + 1 */
    bool keep;       /* items has more than the message itself tells */
    bool said;       /* anything at all came */
};

void chat_start(struct model_call *call);
void chat_event(struct model_call *call, const char *name, tn_value json);
void chat_answer(struct model_call *call, tn_value json);

void responses_start(struct model_call *call);
void responses_event(struct model_call *call, const char *name, tn_value json);
void responses_answer(struct model_call *call, tn_value json);

/* ---- For both ---- */

/* A text that is not empty. */
bool openai_is_text(tn_value value);
/* The text and refusal parts of a content, joined; a new reference, of "" where there are none. */
tn_value openai_text(tn_value content);
/* The same of parts of these types; `second` may be NULL. */
tn_value openai_text_of(tn_value content, const char *first, const char *second);
/* Builds {"type": type, …} as the next item; the caller ends it. */
void openai_begin(tn_builder *builder, const char *key, const char *type);
/* tools[].input_schema, or one that takes nothing. A new reference. */
tn_value openai_parameters(tn_value tool);
/* {type: "source", …} of a citation, however the interface wraps it; a new reference, or NULL. */
tn_value openai_source(tn_value annotation);
/* Appends to *array, which is NULL at first, the items of another array. */
void openai_append_all(tn_value *array, tn_value items);

/*
 * A call of "parallel" (or "multi_tool_use.parallel"), which nobody offered: what models were taught to ask for several
 * tools by, and sometimes still do. Where everything in it is a tool that was offered, these are called instead; else
 * it is a call like others, and the model will hear that there is no such tool.
 */
bool openai_is_wrapper(struct model_call *call, tn_value item);
void openai_unwrap(struct model_call *call, int64_t place, tn_value item);

/* The members name, schema, strict of a structured output's format, into an object that has begun. */
void openai_put_format(const struct model_call *call, tn_builder *builder);
/* Structured output can be held to the schema: its every object is closed and has all members required. */
bool openai_schema_strict(tn_value schema);

#endif
