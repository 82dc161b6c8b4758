/*
 * eval-1-draft.1.c - the exhibit of tenon.eval/1-draft.1: every function of it, and what each gave.
 */
#include "exhibit.h"
#include <tenon/eval-1-draft.1.h>

MANIFEST("eval", "Uses everything of a draft of eval", TN_EVAL_DRAFT, "")
NODE(evals, "museum.evals", PROPERTY("expression", "expression") "," PROPERTY("template", "template"))

static const tn_eval_draft *draft;

struct instance {
    uint32_t expression, wrong, text, schema;
};

static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **instance) {
    (void)self, (void)id;
    struct instance made;
    tn_value schema = from_json("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}");
    int32_t status = draft->bind_expression(binder, text_of(config, "expression"), &made.expression);
    if (status == TN_OK) status = draft->bind_expression(binder, "1 / (item - item)", &made.wrong);
    if (status == TN_OK) status = draft->bind_template(binder, text_of(config, "template"), &made.text);
    if (status == TN_OK) status = draft->bind_schema(binder, schema, &made.schema);
    values->release(schema);
    return keep_instance(status, &made, sizeof(made), instance);
}

static int32_t start(void *instance, tn_task task, tn_value input) {
    const struct instance *self = (const struct instance *)instance;
    tn_value said = from_json("{}"), item = values->make_int(2), result = NULL;
    (void)input;
    say_int(&said, "evaluate", draft->evaluate(task, self->expression, item, &result));
    say(&said, "its result", result);
    result = NULL;
    say_int(&said, "evaluate what fails", draft->evaluate(task, self->wrong, item, &result));
    say_int(&said, "it has a code", text_of(result, "code") != NULL);
    values->release(result);
    result = NULL;
    tn_value variables = from_json("{\"n\":\"everybody\"}");
    say_int(&said, "render", draft->render(task, self->text, variables, &result));
    say(&said, "its text", result);
    values->release(variables);
    tn_value right = from_json("{\"n\":1}"), wrong = from_json("{\"n\":\"one\"}"), error = NULL;
    say_int(&said, "validate", draft->validate(task, self->schema, right, &error));
    say_int(&said, "validate what is wrong", draft->validate(task, self->schema, wrong, &error));
    say_int(&said, "it says what", (int64_t)values->count(values->get(error, "detail")));
    values->release(right);
    values->release(wrong);
    values->release(item);
    values->release(error);
    tn_value own = from_json("{\"code\":\"MUSEUM_CLOSED\",\"message\":\"found a closed door\"}");
    say(&own, "detail", said);
    int32_t status = draft->fail_with(task, own);
    values->release(own);
    return status;
}

static void destroy(void *instance) { core->release(host, instance); }

EXHIBIT(TN_EVAL_DRAFT, tn_eval_draft, NULL)
