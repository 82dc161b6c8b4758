/*
 * ask.c - `ask`: asks a person a question, and writes the answer.
 *
 * The first start interrupts the run. The second one has the answer, which the host has checked against the schema. The
 * item of a map edge is an input, too, and may have the same members, but only the host can set `resumed` in the
 * context. The id of the task would not do: a fork of a thread that waits has others.
 */
#include "core.h"

struct ask {
    uint32_t question, detail, output; /* `detail` may be TN_UNBOUND */
    tn_value schema;                   /* borrowed from the configuration, which outlives the instance; may be NULL */
};

static int32_t ask_create(tn_value config, tn_binder *binder, void **self) {
    const char *detail = tn_get_text(config, "detail", NULL);
    struct ask *ask = core_alloc_zeroed(sizeof(*ask));
    if (ask == NULL) return TN_NO_MEMORY;
    ask->detail = TN_UNBOUND;
    ask->schema = tn_get(config, "answer_schema");
    int32_t status = tn.eval->bind_template(binder, tn_get_text(config, "question", ""), TN_Z, &ask->question);
    if (status == TN_OK && detail != NULL) status = tn.eval->bind_expression(binder, detail, TN_Z, &ask->detail);
    if (status == TN_OK)
        status = tn.task->bind_write(binder, tn_get_text(config, "output_key", ""), TN_Z, &ask->output);
    if (status == TN_OK)
        *self = ask;
    else
        core_release(ask);
    return status;
}

/* True if the host has started the task again with an answer. */
static bool ask_is_answered(tn_task task) {
    tn_value context = tn_context(task);
    int32_t answered = 0;
    (void)tn.value->as_bool(tn_get(context, "resumed"), &answered);
    tn_release(context);
    return answered != 0;
}

static int32_t ask_interrupt(const struct ask *ask, tn_task task) {
    tn_value question = tn_render(task, ask->question, NULL);
    if (question == NULL) return TN_FAILED;
    tn_value detail = ask->detail != TN_UNBOUND ? tn_evaluate(task, ask->detail) : NULL;
    if (ask->detail != TN_UNBOUND && detail == NULL) {
        tn_release(question);
        return TN_FAILED;
    }
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, "question", question);
    if (detail != NULL) tn_put_take(builder, "detail", detail);
    tn.value->end(builder);
    tn_value payload = tn_finish(builder);
    int32_t status = payload != NULL ? tn.task->interrupt(task, payload, ask->schema, NULL) : TN_NO_MEMORY;
    tn_release(payload);
    return status;
}

static int32_t ask_start(void *self, tn_task task, tn_value input) {
    const struct ask *ask = self;
    tn_value answer = ask_is_answered(task) ? tn_get(input, "answer") : NULL;
    if (answer == NULL) return ask_interrupt(ask, task);
    if (tn.task->write(task, ask->output, answer) == TN_OK) return tn_done(task);
    return tn_fail(task, "CHANNEL", "the channel did not accept the answer; `answer_schema` can say what it accepts");
}

TN_COMPONENT(ask, "ask", ask_create, ask_start, NULL, NULL, core_release)
