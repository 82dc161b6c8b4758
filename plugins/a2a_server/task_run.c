/*
 * task_run.c - what the items of a run make of a task.
 */
#include "task.h"

const char TASK_SUBMITTED[] = "TASK_STATE_SUBMITTED", TASK_WORKING[] = "TASK_STATE_WORKING",
           TASK_COMPLETED[] = "TASK_STATE_COMPLETED", TASK_FAILED[] = "TASK_STATE_FAILED",
           TASK_CANCELED[] = "TASK_STATE_CANCELED", TASK_INPUT_REQUIRED[] = "TASK_STATE_INPUT_REQUIRED",
           TASK_REJECTED[] = "TASK_STATE_REJECTED";

/* ---- Artifacts ---- */

/* Takes the artifact. */
static tn_value artifact_event(const struct task *task, tn_value artifact, bool append, tn_value last) {
    return tn_build("{s:{s:s, s:s, s:V, s:b, s:v*}}", "artifactUpdate", "taskId", task->id, "contextId", task->context,
                    "artifact", artifact, "append", (int)append, "lastChunk", last);
}

/* Takes the artifact. */
static void send_artifact(struct task *task, tn_value artifact, bool append, tn_value last) {
    tn_value event = artifact_event(task, artifact, append, last);
    task_notify(task, event);
    task_send_take(task, event);
}

/* The text that has grown is complete: push notifications have it as a whole. */
static void close_text(struct task *task) {
    if (task->open == NULL) return;
    tn_value artifact = tn_build("{s:v, s:[{s:s}]}", "artifactId", tn_get(task->open, "artifactId"), "parts", "text",
                                 tn_text_chars(&task->text));
    if (task->pushes != NULL) {
        tn_value event = artifact_event(task, tn_retain(artifact), false, NULL);
        task_notify(task, event);
        tn_release(event);
    }
    (void)tn_append_take(&task->artifacts, artifact);
    task_count(task, serving_json_size(task->open), 0); /* the text was counted when it came */
    tn_release(task->open);
    task->open = NULL;
    tn_text_clear(&task->text, 1 << 16);
}

static void add_text(struct task *task, const char *text, uint64_t length) {
    bool append = task->text.length > 0;
    char id[40];
    if (length == 0) return;
    if (task->open == NULL) {
        (void)snprintf(id, sizeof id, "answer-%llu", (unsigned long long)++task->answers);
        task->open = tn_build("{s:s}", "artifactId", id);
        append = false;
    }
    (void)tn_text_append_n(&task->text, text, length);
    task_count(task, length, 0);
    task_send_take(task, artifact_event(task,
                                        tn_build("{s:v*, s:[{s:s#}]}", "artifactId", tn_get(task->open, "artifactId"),
                                                 "parts", "text", text, length),
                                        append, NULL));
}

static void add_part(struct task *task, tn_value part) {
    tn_value made = message_part(part);
    char id[40];
    if (made == NULL) return;
    close_text(task);
    (void)snprintf(id, sizeof id, "answer-%llu", (unsigned long long)++task->answers);
    tn_value artifact = tn_build("{s:s, s:[V]}", "artifactId", id, "parts", made);
    (void)tn_append_take(&task->artifacts, tn_retain(artifact));
    task_count(task, serving_json_size(artifact), 0);
    send_artifact(task, artifact, false, NULL);
}

static uint64_t artifact_index(const struct task *task, tn_value id) {
    uint64_t at = 0, count = tn.value->count(task->artifacts);
    while (at < count && tn.value->equal(tn_get(tn.value->at(task->artifacts, at), "artifactId"), id) != 1) at++;
    return at;
}

/* The artifact with the parts of another one behind its own: new. */
static tn_value artifact_joined(tn_value artifact, tn_value more) {
    tn_value parts = tn_retain(tn_get(artifact, "parts")), from = tn_get(more, "parts");
    for (uint64_t i = 0, count = tn.value->count(from); i < count; i++)
        (void)tn_append_take(&parts, tn_retain(tn.value->at(from, i)));
    return tn_set_take(tn_retain(artifact), "parts", parts);
}

/* One item of the channel `artifacts`: the artifact, with `append` and `lastChunk` as in an update. */
static void add_written(struct task *task, tn_value written) {
    static const char *const names[] = {"artifactId", "name", "description", "parts", "metadata", "extensions"};
    uint64_t at = artifact_index(task, tn_get(written, "artifactId"));
    bool known = at < tn.value->count(task->artifacts), append = known && serving_true(tn_get(written, "append"));
    tn_value artifact = tn_build("{}"), kept;
    if (!message_artifact_is_valid(written)) {
        tn_release(artifact);
        tn_log(TN_LOG_WARN, "a2a_server: the channel `artifacts` has an item without `artifactId` or `parts`");
        return;
    }
    for (size_t i = 0; artifact != NULL && i < sizeof names / sizeof *names; i++)
        if (tn_get(written, names[i]) != NULL)
            artifact = tn_set_take(artifact, names[i], tn_retain(tn_get(written, names[i])));
    task_count(task, serving_json_size(artifact),
               known && !append ? serving_json_size(tn.value->at(task->artifacts, at)) : 0);
    kept = append ? artifact_joined(tn.value->at(task->artifacts, at), artifact) : tn_retain(artifact);
    tn_value items = tn_build("[V]", kept);
    if (items != NULL) (void)tn.value->splice(&task->artifacts, at, known ? 1 : 0, items);
    tn_release(items);
    send_artifact(task, artifact, append, tn_get(written, "lastChunk"));
}

/* Channels that mean something in this protocol. README.md describes them. */
static void take_writes(struct task *task, tn_value writes) {
    tn_value artifacts = tn_get(writes, "artifacts"), a2a = tn_get(writes, "a2a");
    const char *rejected = tn_get_text(a2a, "rejected", NULL);
    if (tn.value->kind(artifacts) == TN_OBJECT) add_written(task, artifacts);
    for (uint64_t i = 0; tn.value->kind(artifacts) == TN_ARRAY && i < tn.value->count(artifacts); i++)
        add_written(task, tn.value->at(artifacts, i));
    if (serving_is(tn_get(a2a, "reply"), "message")) task->replies = true;
    if (rejected == NULL) return;
    serving_free(task->rejected);
    task->rejected = serving_text_copy(rejected);
}

/* ---- Status ---- */

/* A message of the agent: its text, with `data` behind it. New. */
static tn_value agent_message(const struct task *task, const char *text, tn_value data) {
    char id[ID_MAX + 40];
    tn_value parts = tn_build("[{s:s}]", "text", text);
    (void)snprintf(id, sizeof id, "%.128s-%llu", task->id, (unsigned long long)tn.value->count(task->history));
    if (data != NULL) (void)tn_append_take(&parts, tn_build("{s:v}", "data", data));
    return tn_build("{s:s, s:s, s:s, s:s, s:V}", "messageId", id, "contextId", task->context, "taskId", task->id,
                    "role", "ROLE_AGENT", "parts", parts);
}

static void set_message(struct task *task, tn_value message) {
    tn_release(task->message);
    task->message = message;
}

static void take_question(struct task *task, tn_value interrupt) {
    (void)tn_append_take(&task->asked, tn_retain(interrupt));
}

/* The run waits: what it asks is the message of the status. */
static void ask(struct task *task) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(1 << 16);
    tn_value questions = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(task->asked); i < count; i++) {
        tn_value interrupt = tn.value->at(task->asked, i), question = serving_ask_text(interrupt);
        if (i > 0) (void)tn_text_append(&text, "\n");
        (void)tn_text_append(&text, tn_chars(question, NULL) != NULL ? tn_chars(question, NULL) : "");
        (void)tn_append_take(&questions, tn_build("{s:v, s:v*, s:v*, s:v*}", "id", tn_get(interrupt, "id"), "node",
                                                  tn_get(interrupt, "node"), "payload", tn_get(interrupt, "payload"),
                                                  "schema", tn_get(interrupt, "schema")));
        tn_release(question);
    }
    tn_value data = tn_build("{s:V}", "interrupts", questions);
    set_message(task, agent_message(task, tn_text_chars(&text), data));
    if (task->message != NULL) (void)tn_append_take(&task->history, tn_retain(task->message));
    task_count(task, serving_json_size(task->message), 0);
    tn_release(data);
    tn_text_free(&text);
    task_set_state(task, TASK_INPUT_REQUIRED);
}

static void take_end(struct task *task, tn_value report) {
    const char *status = tn_get_text(report, "status", "failed");
    tn_value error = tn_get(report, "error");
    close_text(task);
    set_message(task, NULL);
    if (strcmp(status, "interrupted") == 0) {
        ask(task);
    } else if (strcmp(status, "cancelled") == 0) {
        task_set_state(task, TASK_CANCELED);
    } else if (strcmp(status, "done") != 0) {
        set_message(task, agent_message(task, tn_get_text(error, "message", "the run has failed"), NULL));
        task_set_state(task, TASK_FAILED);
    } else if (task->rejected != NULL) {
        set_message(task, agent_message(task, task->rejected, NULL));
        task_set_state(task, TASK_REJECTED);
    } else {
        task_set_state(task, TASK_COMPLETED);
    }
}

/* The table: engine events, ordered by plugins/serving, as changes of the task. */
void task_item(void *user, const struct serving_item *item) {
    struct task *task = user;
    switch (item->kind) {
    case SERVING_TEXT: add_text(task, item->text, item->length); break;
    case SERVING_PART: add_part(task, item->value); break;
    case SERVING_RESET:
        task_count(task, 0, task->text.length);
        tn_text_clear(&task->text, 1 << 16); /* the next update replaces the artifact */
        break;
    case SERVING_MESSAGE_END: close_text(task); break;
    case SERVING_WRITES: take_writes(task, item->value); break;
    case SERVING_ASK: take_question(task, item->value); break;
    case SERVING_END: take_end(task, item->value); break;
    default: break; /* reasoning and calls of tools are the agent's own */
    }
}

/* ---- Runs ---- */

static void on_started(void *user, const char *run_id) {
    struct task *task = user;
    (void)run_id;
    task->started = true;
    task_set_state(task, TASK_WORKING);
}

static void on_run_event(void *user, tn_value event, uint64_t seq, uint64_t missed) {
    struct task *task = user;
    (void)seq;
    if (missed > 0) serving_items_missed(task->items);
    serving_items_event(task->items, event);
}

static void on_run_end(void *user, tn_value report) {
    struct task *task = user;
    if (!task->started)
        task_refuse_all(task, tn_get(report, "error"));
    else if (serving_is(tn_get(report, "status"), "stopped") || tn_get(report, "started") != NULL)
        task_stop_all(task); /* the run can be continued, or this user cannot follow it any more */
    else
        serving_items_end(task->items, report);
}

static const struct serving_run_handler run_handler = {on_started, on_run_event, on_run_end};

static bool open_items(struct task *task, const struct serving_graph *graph, const char *last_input, tn_value asked) {
    struct serving_items_options options = {
        .graph = graph, .last_input = last_input, .asked = asked, .handler = task_item, .user = task};
    serving_run_close(task->run);
    serving_items_free(task->items);
    task->run = NULL;
    task->items = serving_items_new(&options);
    return task->items != NULL;
}

bool task_run(struct task *task, const struct serving_graph *graph, const char *last_input, const char *method,
              tn_value params) {
    bool opened = open_items(task, graph, last_input, task->asked);
    tn_release(task->asked);
    task->asked = NULL;
    if (!opened)
        tn_release(params);
    else
        task->run = serving_run_start(&task->a2a->serving, task->caller, method, params, &run_handler, task);
    return task->run != NULL;
}

bool task_follow_run(struct task *task, const struct serving_graph *graph, const char *last_input, const char *run_id) {
    if (open_items(task, graph, last_input, NULL))
        task->run = serving_run_follow(&task->a2a->serving, task->caller, run_id, 0, &run_handler, task);
    return task->run != NULL;
}

void task_replay(struct task *task, const struct serving_graph *graph, const char *last_input, tn_value state,
                 tn_value report) {
    if (!open_items(task, graph, last_input, NULL)) return;
    task->started = true;
    take_writes(task, state);
    serving_items_end(task->items, report);
}

/* As task_item, but the run has not ended. */
static void replayed_item(void *user, const struct serving_item *item) {
    if (item->kind != SERVING_ASK && item->kind != SERVING_END) task_item(user, item);
}

const char *task_replay_part(struct task *task, const struct serving_graph *graph, const char *last_input,
                             tn_value state) {
    tn_value messages = graph->input == SERVING_MESSAGES ? tn_get(state, graph->channel) : NULL;
    uint64_t count = tn.value->kind(messages) == TN_ARRAY ? tn.value->count(messages) : 0;
    const char *last = count > 0 ? tn_get_text(tn.value->at(messages, count - 1), "id", NULL) : NULL;
    struct serving_items_options options = {
        .graph = graph, .last_input = last_input, .handler = replayed_item, .user = task};
    struct serving_items *items = last != NULL ? serving_items_new(&options) : NULL;
    tn_value report = tn_build("{s:s, s:s, s:v}", "type", "result", "status", "done", "state", state);
    take_writes(task, state);
    if (items != NULL) serving_items_end(items, report);
    serving_items_free(items);
    close_text(task);
    tn_release(report);
    return last != NULL ? last : last_input;
}

void task_cancel(struct task *task) {
    if (task->state == TASK_INPUT_REQUIRED || task->run == NULL) {
        serving_run_close(task->run);
        task->run = NULL;
        set_message(task, NULL);
        task_set_state(task, TASK_CANCELED);
    } else {
        serving_run_cancel(task->run);
    }
}

/* ---- What is saved ---- */

void task_add_message(struct task *task, tn_value message) {
    tn_value kept = tn_set_take(tn_retain(message), "taskId", tn_text(task->id));
    if (kept != NULL) kept = tn_set_take(kept, "contextId", tn_text(task->context));
    task_count(task, serving_json_size(kept), 0);
    (void)tn_append_take(&task->history, kept);
}

tn_value task_metadata(const struct task *task, const char *last_input) {
    bool keeps = serving_json_fits(task->history, HISTORY_MAX);
    return tn_build("{s:{s:s, s:s, s:s, s:v*}}", "a2a", "context", task->context, "graph", task->graph, "last_input",
                    last_input, "history", keeps ? task->history : NULL);
}

tn_value task_saved(tn_value thread) {
    tn_value saved = tn_get(tn_get(tn_get(thread, "config"), "metadata"), "a2a");
    return tn_get_text(saved, "context", NULL) != NULL ? saved : NULL;
}
