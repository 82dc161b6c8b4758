/*
 * options.c - a tool that streams, and a node that makes one call with options: for the tests of calls.
 */
#include <stdlib.h>
#include <tenon/easy.h>

/* ---- A tool that emits `count` numbers, then returns their count ---- */

struct stream {
    tn_task task;
    int64_t next, count;
    struct stream *other;
};
static struct stream *streams;

static struct stream *stream_find(tn_task task) {
    struct stream *it = streams;
    while (it != NULL && it->task != task) it = it->other;
    return it;
}

static void stream_free(struct stream *it) {
    struct stream **at = &streams;
    while (*at != it) at = &(*at)->other;
    *at = it->other;
    free(it);
}

static void stream_continue(struct stream *it) {
    while (it->next < it->count) {
        tn_value chunk = tn_int(it->next);
        int32_t status = tn.task->emit(it->task, chunk);
        tn_release(chunk);
        if (status == TN_AGAIN) return;
        it->next++;
    }
    (void)tn_done_int(it->task, it->count);
    stream_free(it);
}

static int32_t stream_start(void *self, tn_task task, tn_value input) {
    struct stream *it = calloc(1, sizeof *it);
    (void)self;
    if (it == NULL) return TN_NO_MEMORY;
    *it = (struct stream){task, 0, tn_get_int(input, "count", 0), streams};
    streams = it;
    stream_continue(it);
    return TN_OK;
}

static void stream_ready(void *self, tn_task task) {
    struct stream *it = stream_find(task);
    (void)self;
    if (it != NULL) stream_continue(it);
}

static void stream_cancel(void *self, tn_task task) {
    struct stream *it = stream_find(task);
    (void)self;
    if (it == NULL) return;
    (void)tn_fail(task, "CANCELLED", "cancelled");
    stream_free(it);
}

TN_NOTE(
    "{\"component\": {\"kind\": \"tool\", \"id\": \"t.stream\", \"title\": \"Emits numbers.\", \"style\": \"async\", "
    "\"effects\": [], \"input\": {\"type\": \"object\", \"properties\": {\"count\": {\"type\": \"integer\"}}}}}")
TN_COMPONENT(t_stream, "t.stream", NULL, stream_start, stream_cancel, stream_ready, NULL)

/* ---- A tool that changes something and ends only when it is cancelled; made again, it says so ---- */

static int32_t once_start(void *self, tn_task task, tn_value input) {
    static int starts;
    (void)self, (void)input;
    return ++starts % 2 == 1 ? TN_OK : tn_done_text(task, "made again");
}

static void once_cancel(void *self, tn_task task) {
    (void)self;
    (void)tn_fail(task, "CANCELLED", "cancelled");
}

TN_NOTE("{\"component\": {\"kind\": \"tool\", \"id\": \"t.once\", \"title\": \"Works until cancelled.\", \"style\": "
        "\"async\", \"effects\": [\"state.count\"], \"input\": {\"type\": \"object\"}}}")
TN_COMPONENT(t_once, "t.once", NULL, once_start, once_cancel, NULL, NULL)

/* ---- The node: makes the call once, or twice if it races, and writes what was reported ---- */

struct options {
    tn_value config; /* borrowed */
    uint32_t tool, rival, out;
};

struct options_task {
    const struct options *options;
    tn_task task;
    tn_call call, rival;
    tn_value chunks;         /* an array */
    tn_value reports, asked; /* asked: the error of a call that waits for an answer, or NULL */
    int64_t received;
    int32_t open;
};

static int32_t options_create(tn_value config, tn_binder *binder, void **self) {
    struct options *options = calloc(1, sizeof *options);
    const char *rival = tn_get_text(config, "rival", NULL);
    if (options == NULL) return TN_NO_MEMORY;
    options->config = config;
    int32_t status =
        tn.task->bind_call(binder, "tool", TN_Z, tn_get_text(config, "tool", ""), TN_Z, NULL, &options->tool);
    if (status == TN_OK && rival != NULL)
        status = tn.task->bind_call(binder, "tool", TN_Z, rival, TN_Z, NULL, &options->rival);
    if (status == TN_OK) status = tn.task->bind_write(binder, tn_get_text(config, "out", ""), TN_Z, &options->out);
    if (status == TN_OK)
        *self = options;
    else
        free(options);
    return status;
}

static void options_end(struct options_task *it) {
    if (it->asked != NULL) {
        (void)tn_fail_take(it->task, it->asked);
        tn_release(it->chunks);
        tn_release(it->reports);
        free(it);
        return;
    }
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put(builder, "received", it->chunks);
    tn_put(builder, "reports", it->reports);
    tn.value->end(builder);
    (void)tn_done_written(it->task, tn_write_take(it->task, it->options->out, tn_finish(builder)));
    tn_release(it->chunks);
    tn_release(it->reports);
    free(it);
}

static void options_resume(void *argument) {
    struct options_task *it = argument;
    (void)tn.task->resume_call(it->task, it->call);
    if (--it->open == 0) options_end(it);
}

static int32_t options_on_chunk(struct options_task *it, tn_value chunk) {
    int64_t pause_every = tn_get_int(it->options->config, "pause_every", 0);
    int64_t cancel_after = tn_get_int(it->options->config, "cancel_after", 0);
    it->received++;
    if (it->received <= 3) (void)tn.value->append(&it->chunks, chunk); /* the first ones stand for all */
    if (cancel_after == it->received) (void)tn.task->cancel_call(it->task, it->call);
    if (pause_every == 0 || it->received % pause_every != 0) return TN_OK;
    it->open++;
    (void)tn_post(0, options_resume, it);
    return TN_AGAIN;
}

static int32_t options_report(void *user, int32_t status, tn_value value) {
    struct options_task *it = user;
    tn_value report;
    if (status == TN_CHUNK) return options_on_chunk(it, value);
    if (status == TN_FAILED && strcmp(tn_get_text(value, "code", ""), "INTERRUPTED") == 0) it->asked = tn_retain(value);
    if (status == TN_OK)
        report = tn_retain(value);
    else
        report = tn_text(status == TN_CANCELLED ? "cancelled" : tn_get_text(value, "code", "?"));
    (void)tn.value->append(&it->reports, report);
    tn_release(report);
    /* The first to end cancels the other. */
    if (it->rival != 0 && it->open == 2)
        (void)tn.task->cancel_call(it->task, it->call), (void)tn.task->cancel_call(it->task, it->rival);
    if (--it->open == 0) {
        tn_value total = tn_int(it->received);
        if (it->received > 3) (void)tn.value->append(&it->chunks, total);
        tn_release(total);
        options_end(it);
    }
    return TN_OK;
}

static int32_t options_start(void *self, tn_task task, tn_value input) {
    const struct options *options = self;
    struct options_task *it = calloc(1, sizeof *it);
    tn_value arguments = tn_get(options->config, "input");
    (void)input;
    if (it == NULL) return TN_NO_MEMORY;
    *it = (struct options_task){.options = options,
                                .task = task,
                                .chunks = tn_from_json("[]", TN_Z),
                                .reports = tn_from_json("[]", TN_Z),
                                .open = 1};
    int32_t status = tn.task->call(task, options->tool, arguments, tn_get(options->config, "options"), options_report,
                                   it, &it->call);
    if (status == TN_OK && tn_get(options->config, "rival") != NULL) {
        it->open++;
        status = tn.task->call(task, options->rival, arguments, NULL, options_report, it, &it->rival);
    }
    if (status == TN_OK && tn_get_int(options->config, "cancel_after", -1) == 0)
        (void)tn.task->cancel_call(task, it->call);
    if (status == TN_OK) return TN_OK;
    tn_release(it->chunks);
    tn_release(it->reports);
    free(it);
    return status;
}

TN_NOTE("{\"component\": {\"kind\": \"node\", \"id\": \"test.options\", \"title\": \"Makes one call with options.\", "
        "\"style\": \"async\", \"effects\": [\"calls.any\"], \"config\": {\"type\": \"object\", \"properties\": "
        "{\"tool\": {\"type\": \"string\"}, \"rival\": {\"type\": \"string\"}, \"input\": {}, \"options\": {}, "
        "\"cancel_after\": {\"type\": \"integer\"}, \"pause_every\": {\"type\": \"integer\"}, \"out\": {\"type\": "
        "\"string\", \"x-tenon\": \"channel-write\"}}, \"required\": [\"tool\", \"out\"]}}}")
TN_COMPONENT(options, "test.options", options_create, options_start, NULL, NULL, free)
