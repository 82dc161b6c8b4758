/*
 * eval-1.c - the exhibit of tenon.eval/1: every function of it, and what each gave.
 */
#include "exhibit.h"
#include <tenon/eval.h>

MANIFEST("eval", "Uses everything of tenon.eval/1", TN_EVAL_1, "")
NODE(evals, "museum.evals",
     PROPERTY("expression", "expression") "," PROPERTY("template", "template") "," PROPERTY("out", "channel-write"))

static const tn_eval_1 *subject;

struct instance {
    uint32_t expression, wrong, text, schema, out;
};

static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    (void)self, (void)id, (void)length;
    struct instance made;
    tn_value schema = from_json("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}");
    int32_t status = subject->bind_expression(binder, text_of(config, "expression"), TN_Z, &made.expression);
    if (status == TN_OK) status = subject->bind_expression(binder, "1 / (item - item)+", 17, &made.wrong);
    if (status == TN_OK) status = subject->bind_template(binder, text_of(config, "template"), TN_Z, &made.text);
    if (status == TN_OK) status = subject->bind_schema(binder, schema, &made.schema);
    if (status == TN_OK) status = bind_out(binder, config, &made.out);
    values->release(schema);
    return keep_instance(status, &made, sizeof(made), instance);
}

static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    const struct instance *self = (const struct instance *)instance;
    tn_value said = from_json("{}"), item = values->make_int(host, 2), result = NULL, error = NULL;
    (void)input;
    say_int(&said, "evaluate", subject->evaluate(task, self->expression, item, &result, &error));
    say(&said, "its result", result);
    result = NULL;
    say_int(&said, "evaluate what fails", subject->evaluate(task, self->wrong, item, &result, &error));
    say_int(&said, "it has a code", text_of(error, "code") != NULL && result == NULL);
    values->release(error);
    say_int(&said, "evaluate without an error", subject->evaluate(task, self->wrong, item, &result, NULL));
    say_int(&said, "evaluate what is not bound", subject->evaluate(task, 99, item, &result, NULL));
    tn_value variables = from_json("{\"n\":\"everybody\"}");
    say_int(&said, "render", subject->render(task, self->text, variables, &result, NULL));
    say(&said, "its text", result);
    values->release(variables);
    tn_value right = from_json("{\"n\":1}"), wrong = from_json("{\"n\":\"one\"}");
    error = NULL;
    say_int(&said, "validate", subject->validate(task, self->schema, right, &error));
    say_int(&said, "validate what is wrong", subject->validate(task, self->schema, wrong, &error));
    say_int(&said, "it says what", (int64_t)values->count(get(error, "detail")));
    values->release(right);
    values->release(wrong);
    values->release(item);
    values->release(error);
    return end_said(task, self->out, said);
}

static void TN_ABI destroy(void *instance) { core->release(host, instance); }

EXHIBIT(TN_EVAL_1, tn_eval_1, NULL)
