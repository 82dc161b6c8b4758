/*
 * launch-1-draft.2.c - the exhibit of tenon.launch/1-draft.2: what a program needs to be started, and what is refused.
 */
#include "exhibit.h"
#include <tenon/launch-1-draft.2.h>

MANIFEST("launch", "Uses everything of a draft of launch", TN_LAUNCH_DRAFT, "")
NODE(launches, "museum.launches", PROPERTY("out", "channel-write"))

static const tn_launch_draft *subject;

struct instance {
    uint32_t out;
};

static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    struct instance made;
    int32_t status;
    (void)self, (void)id, (void)length;
    memset(&made, 0, sizeof(made));
    status = bind_out(binder, config, &made.out);
    return keep_instance(status, &made, sizeof(made), instance);
}

/* Asks, and says the status and the code of the refusal. Returns the result, or NULL. */
static tn_value prepare(tn_value *said, const char *what, const char *request_json) {
    tn_value request = from_json(request_json), result = NULL, error = NULL;
    int32_t status = subject->prepare(host, request, &result, &error);
    tn_value told = from_json("{}");
    values->release(request);
    say_int(&told, "status", status);
    if (error != NULL) say(&told, "code", values->retain(get(error, "code")));
    say(said, what, told);
    values->release(error);
    return result;
}

static int ends_with(const char *text, const char *end) {
    size_t length = text != NULL ? strlen(text) : 0, size = strlen(end);
    return length >= size && strcmp(text + length - size, end) == 0;
}

static int environment_has(tn_value prepared, const char *start, int whole) {
    tn_value list = get(prepared, "environment");
    uint64_t i;
    for (i = 0; i < values->count(list); i++) {
        const char *entry = values->as_text(values->at(list, i), NULL);
        if (whole ? strcmp(entry, start) == 0 : strncmp(entry, start, strlen(start)) == 0) return 1;
    }
    return 0;
}

static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    tn_value said = from_json("{}"), got;
    int32_t sandboxed = 7;
    (void)input;
    got = prepare(&said, "prepare",
                  "{\"command\":[\"sh\",\"-c\",\"exit 3\"],\"env\":{\"MODE\":\"fast\"},\"inherit_env\":"
                  "[\"NO_SUCH_VARIABLE\"]}");
    say_int(&said, "a program", ends_with(text_of(got, "program"), "/sh"));
    say(&said, "arguments", values->retain(get(got, "arguments")));
    say_int(&said, "has PATH", environment_has(got, "PATH=/", 0));
    say_int(&said, "has HOME", environment_has(got, "HOME=/", 0));
    say_int(&said, "has MODE", environment_has(got, "MODE=fast", 1));
    say_int(&said, "has another", environment_has(got, "NO_SUCH_VARIABLE", 0));
    say_int(&said, "as_bool", values->as_bool(get(got, "sandboxed"), &sandboxed));
    say_int(&said, "sandboxed", sandboxed);
    values->release(got);
    got = prepare(&said, "with a sandbox",
                  "{\"command\":[\"/bin/sh\"],\"sandbox\":{\"effects\":[\"fs.read:/\"],\"files\":[\"/etc/hosts\"]}}");
    values->release(got);
    got = prepare(&said, "what does not exist", "{\"command\":[\"no-such-program\"]}");
    got = prepare(&said, "without a command", "{}");
    got = prepare(&said, "what is not a list", "{\"command\":[\"/bin/sh\"],\"inherit_env\":\"PATH\"}");
    say_int(&said, "nothing", subject->prepare(host, NULL, &got, NULL));
    return end_said(task, self->out, said);
}

static void TN_ABI destroy(void *instance) { core->release(host, instance); }

EXHIBIT(TN_LAUNCH_DRAFT, tn_launch_draft, NULL)
