/*
 * model_test.h - a test of a model: one call with a prompt, without a document, and a report with the answer and the
 * times. `tenon model test` and the method model/test use it.
 *
 *     struct model_test_time time = {.started_us = loop_clock_us(loop)};
 *     tn_value input = model_test_input(MODEL_TEST_PROMPT, model);
 *     … call the model; on its chunks: model_test_note_chunk(&time, chunk, loop_clock_us(loop));
 *     tn_value report = model_test_report(output, &time, loop_clock_us(loop));
 *
 * Thread: any.
 */
#ifndef TENON_HOST_ENGINE_MODEL_MODEL_TEST_H
#define TENON_HOST_ENGINE_MODEL_MODEL_TEST_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>

struct callable;
struct config;

#define MODEL_TEST_PROMPT     "Answer with the one word OK."
#define MODEL_TEST_TIMEOUT_MS 60000
#define MODEL_TEST_TOKENS_MAX 1024 /* of the answer, unless the binding has another `max_tokens` */

struct model_test_time {
    int64_t started_us, first_us; /* first: of the first delta of the answer, or 0 before it */
};

/* {messages: [the prompt], options: {max_tokens}}, without options if the binding of `model` has max_tokens; a new
 * reference. */
tn_value model_test_input(const char *prompt, const struct callable *model);
/* Notes the time of the first delta. A chunk with `reset` discards the answer so far: then it returns true. */
bool model_test_note_chunk(struct model_test_time *time, tn_value chunk, int64_t now_us);
/* {model?, message?, embeddings?, finish_reason?, usage?, first_ms?, total_ms}; a new reference. */
tn_value model_test_report(tn_value output, const struct model_test_time *time, int64_t ended_us);
/*
 * For the error NOT_FOUND of a name that is neither a role of tenon.yaml nor a provider: names a similar role, if there
 * is one.
 */
void model_suggest_role(const struct config *config, const char *name, struct error *error);

#endif
