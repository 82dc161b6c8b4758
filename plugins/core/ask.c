/*
 * ask.c - `ask`: asks a person a question, and writes the answer.
 *
 * The first start interrupts the run. The second one has the answer, which the host has checked against the schema. The
 * item of a map edge is an input, too, and may have the same members; but it cannot know the id of the task.
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

/* The id of the task, which is the same in both starts. A new reference. */
static tn_value ask_id(tn_task task) {
    tn_value context = tn_context(task), id = tn_get(context, "task_id");
    id = id != NULL ? tn_retain(id) : tn_text("");
    tn_release(context);
    return id;
}

static int32_t ask_interrupt(const struct ask *ask, tn_task task, tn_value id) {
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
    tn_value payload = tn_finish(builder), asked = tn_build("{s:v}", "asked", id);
    int32_t status =
        payload != NULL && asked != NULL ? tn.task->interrupt(task, payload, ask->schema, asked) : TN_NO_MEMORY;
    tn_release(payload);
    tn_release(asked);
    return status;
}

static int32_t ask_start(void *self, tn_task task, tn_value input) {
    const struct ask *ask = self;
    tn_value answer = tn_get(input, "answer"), asked = tn_get(tn_get(input, "continuation"), "asked");
    tn_value id = ask_id(task);
    int32_t status;
    if (answer == NULL || asked == NULL || id == NULL || !tn.value->equal(asked, id))
        status = ask_interrupt(ask, task, id);
    else if (tn.task->write(task, ask->output, answer) == TN_OK)
        status = tn_done(task);
    else
        status =
            tn_fail(task, "CHANNEL", "the channel did not accept the answer; `answer_schema` can say what it accepts");
    tn_release(id);
    return status;
}

TN_COMPONENT(ask, "ask", ask_create, ask_start, NULL, NULL, core_release)
