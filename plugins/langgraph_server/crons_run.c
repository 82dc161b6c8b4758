/*
 * crons_run.c - runs that crons start. The host starts them, without a request of a client; this plugin hears of them
 * by the event schedule/started, and makes them known like runs that clients start: they are in the lists of their
 * thread, can be joined, and have a webhook.
 *
 * The plugin acts for no key here, so what it asks the host has the owner's prefix: `@OWNER:` before ids, `@OWNER` as
 * the first name of memories.
 */
#include "stream.h"

const char *run_host_id(const struct run *run, char text[HOST_ID_MAX]) {
    bool prefixed = run->caller == SERVING_PLUGIN && run->owner[0] != '\0';
    (void)snprintf(text, HOST_ID_MAX, "%s%s%s%s", prefixed ? "@" : "", prefixed ? run->owner : "", prefixed ? ":" : "",
                   run->id);
    return text;
}

tn_value run_namespace_take(const struct run *run, tn_value names) {
    if (run->caller != SERVING_PLUGIN || run->owner[0] == '\0' || names == NULL) return names;
    struct tn_text_buffer text = TN_TEXT_BUFFER(HOST_ID_MAX);
    (void)tn_text_append_format(&text, "@%s", run->owner);
    tn_value first = tn_build("[V]", tn_text_finish(&text));
    if (first != NULL) (void)tn.value->splice(&names, 0, 0, first);
    tn_release(first);
    return names;
}

static void TN_ABI on_ignored(void *user, int32_t status, tn_value value) { (void)user, (void)status, (void)value; }

/* The metadata of a new thread. */
static void note_thread(const struct run *run, tn_value cron) {
    tn_value metadata =
        tn_build("{s:v, s:v}", "graph_id", tn_get(cron, "graph_id"), "assistant_id", tn_get(cron, "assistant_id"));
    serving_call_take(&run->langgraph->serving, run->caller, "memory/put",
                      tn_build("{s:V, s:s, s:{s:V}, s:b}", "namespace", run_namespace_take(run, threads_namespace()),
                               "key", run->thread, "value", "metadata", metadata, "text", 0),
                      on_ignored, NULL, NULL);
}

/* The owner of `@OWNER:ID`; "" for the operator. */
static void owner_of_id(const char *id, char owner[OWNER_MAX]) {
    const char *end = id[0] == '@' ? strchr(id, ':') : NULL;
    (void)snprintf(owner, OWNER_MAX, "%.*s", end != NULL ? (int)(end - id - 1) : 0, id + (end != NULL));
}

/* A run that exists in the host, of no request. NULL: there are too many. */
static struct run *adopt(struct langgraph *langgraph, tn_value event, tn_value cron) {
    char owner[OWNER_MAX];
    tn_value payload = tn_get(cron, "payload");
    owner_of_id(tn_get_text(event, "schedule_id", ""), owner);
    tn_value request = tn_build("{s:{s:s}}", "caller", "owner", owner);
    tn_value metadata = tn_retain(tn_get(cron, "metadata"));
    metadata = tn_set_take(metadata, "cron_id", tn_text(bare_id(tn_get_text(event, "schedule_id", ""))));
    struct exchange like = {.langgraph = langgraph, .caller = SERVING_PLUGIN, .request = request};
    (void)snprintf(like.thread, sizeof like.thread, "%s", bare_id(tn_get_text(event, "thread_id", "")));
    struct run_options options = {.assistant = tn_get_text(cron, "assistant_id", ""),
                                  .graph = tn_get_text(cron, "graph_id", ""),
                                  .method = "run/start",
                                  .strategy = tn_get_text(payload, "multitask_strategy", "enqueue"),
                                  .metadata = metadata,
                                  .kwargs = payload,
                                  .modes = modes_read(tn_get(payload, "stream_mode")),
                                  .subgraphs = serving_true(tn_get(payload, "stream_subgraphs")),
                                  .resumable = serving_true(tn_get(payload, "stream_resumable"))};
    struct run *run = run_make(&like, &options, bare_id(tn_get_text(event, "run_id", "")));
    tn_release(metadata);
    tn_release(request);
    return run;
}

static void TN_ABI on_event(void *user, int32_t status, tn_value value) {
    struct langgraph *langgraph = user;
    tn_value event = tn_get(value, "params"), cron = tn_get(tn_get(event, "metadata"), CRON_MEMBER);
    const char *thread = bare_id(tn_get_text(event, "thread_id", ""));
    if (status != TN_CHUNK) langgraph->subscription = 0;
    /* The metadata of a schedule can be written by any client of its owner. */
    if (status != TN_CHUNK || tn.value->kind(cron) != TN_OBJECT || (*thread != '\0' && !is_uuid(thread))) return;
    struct run *run = adopt(langgraph, event, cron);
    if (run == NULL) return;
    if (!run->stateless && tn.value->kind(tn_get(cron, "thread_id")) == TN_NULL) note_thread(run, cron);
    run_follow_host(run);
}

void crons_open(struct langgraph *langgraph) {
    tn_value params = tn_build("{s:[s]}", "events", "schedule/started");
    if (params != NULL)
        (void)langgraph->serving.methods->subscribe(tn.host, params, on_event, langgraph, &langgraph->subscription);
    tn_release(params);
}

void crons_close(struct langgraph *langgraph) {
    if (langgraph->subscription != 0) (void)langgraph->serving.methods->unsubscribe(tn.host, langgraph->subscription);
    langgraph->subscription = 0;
}
