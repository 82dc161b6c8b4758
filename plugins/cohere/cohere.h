/*
 * cohere.h - declarations that the files of this plugin share.
 *
 *     cohere.c    the provider's table, embeddings, errors     messages.c  messages, and the documents in them
 *     request.c   the options of a request, tools              answer.c    reads events and answers
 *
 * What comes back with the next request is marked in the extra.cohere of an answer: a message with it is the service's
 * own, so that its thoughts are sent back; a reasoning part with `tool_plan` is the plan of its calls.
 */
#ifndef TENON_PLUGINS_COHERE_H
#define TENON_PLUGINS_COHERE_H

#include "model.h"

#define COHERE_SOURCES_MAX   200  /* `source` parts of an answer; further ones are left out */
#define COHERE_CITATIONS_MAX 2000 /* citations of an answer; further ones are left out */

/* The state of a call: the provider_data of a struct model_call. */
struct cohere_call {
    tn_value citations; /* an array of {start, end, text, …, sources: [id]}, or NULL */
    tn_value sources;   /* an array of the sources that they have, each once; or NULL */
    tn_value logprobs;  /* an array, or NULL */
};

/* True if `type` of a part, an event or a schema is this word. */
static inline bool cohere_has_type(tn_value object, const char *type) {
    return strcmp(tn_get_text(object, "type", ""), type) == 0;
}

static inline bool cohere_is_text(tn_value value) {
    uint64_t length = 0;
    return tn_chars(value, &length) != NULL && length > 0;
}

/* A number of tokens, which the service may write as 12.0. -1 if it is not one. */
static inline int64_t cohere_count(tn_value object, const char *key) {
    double number = tn_get_num(object, key, -1);
    return number >= 0 && number <= (double)TN_ANSWER_COUNT_MAX ? (int64_t)number : -1;
}

/* messages.c: Puts `messages` into the body. Appends the documents of files to the array `documents`. */
void cohere_put_messages(struct model_call *call, tn_builder *builder, tn_value *documents);

/* request.c: Returns the body of a request, a new reference. Unspecified after the call has failed. */
tn_value cohere_request(struct model_call *call);

/* answer.c */
void cohere_event(struct model_call *call, const char *name, tn_value json);
void cohere_answer_message(struct model_call *call, tn_value json);

#endif
