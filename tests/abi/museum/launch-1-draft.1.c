/*
 * launch-1-draft.1.c - the exhibit of tenon.launch/1-draft.1: what a program needs to be started, and what is refused.
 */
#include "exhibit.h"
#include <tenon/launch-1-draft.1.h>

MANIFEST("launch", "Uses everything of a draft of launch", TN_LAUNCH_DRAFT, "")
NODE(launches, "museum.launches", PROPERTY("out", "channel-write"))

static const tn_launch_draft *draft;

struct instance {
    uint32_t out;
};

static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **instance) {
    struct instance made;
    int32_t status;
    (void)self, (void)id;
    memset(&made, 0, sizeof(made));
    status = tasks->bind_write(binder, text_of(config, "out"), &made.out);
    return keep_instance(status, &made, sizeof(made), instance);
}

/* Asks, and says the status and the code of the refusal. Returns the result, or NULL. */
static tn_value prepare(tn_value *said, const char *what, const char *request_json) {
    tn_value request = from_json(request_json), result = NULL;
    int32_t status = draft->prepare(host, request, &result);
    values->release(request);
    say_int(said, what, status);
    if (status == TN_OK) return result;
    say(said, "refused", values->retain(values->get(result, "code")));
    values->release(result);
    return NULL;
}

static int ends_with(const char *text, const char *end) {
    size_t length = text != NULL ? strlen(text) : 0, size = strlen(end);
    return length >= size && strcmp(text + length - size, end) == 0;
}

static int environment_has(tn_value prepared, const char *start, int whole) {
    tn_value list = values->get(prepared, "environment");
    uint64_t i;
    for (i = 0; i < values->count(list); i++) {
        const char *entry = values->as_text(values->at(list, i), NULL);
        if (whole ? strcmp(entry, start) == 0 : strncmp(entry, start, strlen(start)) == 0) return 1;
    }
    return 0;
}

static int32_t start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    tn_value said = from_json("{}"), got;
    int32_t sandboxed = 7;
    (void)input;
    got = prepare(&said, "prepare",
                  "{\"command\":[\"sh\",\"-c\",\"exit 3\"],\"env\":{\"MODE\":\"fast\"},\"inherit_env\":"
                  "[\"NO_SUCH_VARIABLE\"]}");
    say_int(&said, "a program", ends_with(text_of(got, "program"), "/sh"));
    say(&said, "arguments", values->retain(values->get(got, "arguments")));
    say_int(&said, "has PATH", environment_has(got, "PATH=/", 0));
    say_int(&said, "has HOME", environment_has(got, "HOME=/", 0));
    say_int(&said, "has MODE", environment_has(got, "MODE=fast", 1));
    say_int(&said, "has another", environment_has(got, "NO_SUCH_VARIABLE", 0));
    say_int(&said, "as_bool", values->as_bool(values->get(got, "sandboxed"), &sandboxed));
    say_int(&said, "sandboxed", sandboxed);
    values->release(got);
    got = prepare(&said, "with a sandbox",
                  "{\"command\":[\"/bin/sh\"],\"sandbox\":{\"effects\":[\"fs.read:/\"],\"files\":[\"/etc/hosts\"]}}");
    values->release(got);
    got = prepare(&said, "what does not exist", "{\"command\":[\"no-such-program\"]}");
    got = prepare(&said, "without a command", "{}");
    got = prepare(&said, "what is not a list", "{\"command\":[\"/bin/sh\"],\"inherit_env\":\"PATH\"}");
    say_int(&said, "nothing", draft->prepare(host, NULL, &got));
    return end_said(task, self->out, said);
}

static void destroy(void *instance) { core->release(host, instance); }

EXHIBIT(TN_LAUNCH_DRAFT, tn_launch_draft, NULL)
