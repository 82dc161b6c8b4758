/*
 * runner.c - `test.runner`: handles a Task as its payload says: {outcome: done | failed | running | breaks | asks |
 * odd}.
 */
#include <string.h>
#include <tenon/easy.h>

TN_NOTE("{\"component\": {\"kind\": \"runner\", \"id\": \"test.runner\", \"title\": \"Handles a Task as its payload "
        "says.\", "
        "\"style\": \"async\", \"effects\": [], \"config\": {\"type\": \"object\", \"properties\": {\"greeting\": "
        "{\"type\": "
        "\"string\", \"default\": \"Hello\"}}, \"additionalProperties\": false}}}")

static tn_value greeting; /* of the last instance */

static int32_t runner_create(tn_value config, tn_binder *binder, void **self) {
    (void)binder;
    tn_release(greeting);
    greeting = tn_retain(tn_get(config, "greeting"));
    *self = NULL;
    return TN_OK;
}

static void runner_destroy(void *self) {
    (void)self;
    tn_release(greeting);
    greeting = NULL;
}

static int32_t runner_start(void *self, tn_task task, tn_value input) {
    tn_value payload = tn_get(tn_get(input, "task"), "payload");
    const char *outcome = tn_get_text(payload, "outcome", "done");
    (void)self;
    if (strcmp(outcome, "breaks") == 0) return tn_fail(task, "BROKEN", "it broke");
    if (strcmp(outcome, "odd") == 0) return tn_done_int(task, 1);
    if (strcmp(outcome, "asks") == 0) {
        tn_value question = tn_text("may I?");
        tn.task->interrupt(task, question, NULL, question);
        tn_release(question);
        return TN_OK;
    }
    tn_builder *builder = tn_builder_new();
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_text(builder, "task_state", outcome);
    tn_put_take(builder, "user_output", tn_retain(greeting));
    tn_put_begin(builder, "artifact_refs", TN_ARRAY);
    tn_put_text(builder, NULL, tn_get_text(input, "runner_id", "nobody"));
    tn.value->end(builder);
    tn.value->end(builder);
    return tn_done_take(task, tn_finish(builder));
}

TN_COMPONENT(runner, "test.runner", runner_create, runner_start, NULL, NULL, runner_destroy)
