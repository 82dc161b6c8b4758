/*
 * event.c - what a run tells its subscriber: the seven modes, as objects.
 *
 * Nothing is built unless somebody asked for the mode. A nested run hands its events to the outermost run, with its
 * path; a reader that is full pauses the run that emitted, which goes on at run_continue.
 */
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/engine/run_internal.h"
#include <string.h>

static const struct {
    enum run_mode mode;
    const char *name;
} modes[] = {{RUN_MODE_VALUES, "values"}, {RUN_MODE_UPDATES, "updates"}, {RUN_MODE_MESSAGES, "messages"},
             {RUN_MODE_CUSTOM, "custom"}, {RUN_MODE_TASKS, "tasks"},     {RUN_MODE_CHECKPOINTS, "checkpoints"},
             {RUN_MODE_DEBUG, "debug"}};
#define MODE_COUNT (sizeof modes / sizeof *modes)

const char *run_mode_name(enum run_mode mode) {
    for (size_t i = 0; i < MODE_COUNT; i++)
        if (modes[i].mode == mode) return modes[i].name;
    return "?";
}

unsigned run_modes_parse(const char *text, struct error *error) {
    unsigned found = 0;
    do {
        size_t length = strcspn(text, ",");
        unsigned mode = length == 3 && memcmp(text, "all", 3) == 0 ? RUN_MODE_ALL : 0;
        struct nearest nearest;
        nearest_init(&nearest, text, length);
        for (size_t i = 0; i < MODE_COUNT; i++) {
            nearest_offer(&nearest, modes[i].name, strlen(modes[i].name));
            if (strlen(modes[i].name) == length && memcmp(modes[i].name, text, length) == 0) mode = modes[i].mode;
        }
        if (!mode) {
            const char *near = nearest_result(&nearest);
            error_set(error, TN_INVALID, "INVALID_INPUT",
                      "found the stream mode `%.*s`, expected values, updates, messages, custom, tasks, checkpoints, "
                      "debug or all%s%s%s",
                      (int)length, text, near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
            return 0;
        }
        found |= mode;
        text += length;
        if (*text == ',') text++;
    } while (*text);
    return found;
}

bool run_wants(const struct run *run, unsigned wanted) { return (run_outermost(run)->options.modes & wanted) != 0; }

void run_emit_take(struct run *run, enum run_mode mode, tn_value event) {
    struct run *root = run_outermost(run);
    tn_value whole = value_object_reserve(value_count(event) + 3);
    whole = value_set_take(whole, "type", value_text(run_mode_name(mode)));
    whole = value_set_take(whole, "step", value_int(run->step));
    if (run->path) whole = value_set_take(whole, "path", value_ref(run->path));
    for (size_t i = 0, n = value_count(event); i < n; i++)
        whole = value_set_key_take(whole, value_ref(value_key_at(event, i)), value_ref(value_value_at(event, i)));
    value_unref(event);
    if (!root->options.event(root->options.user, whole)) root->paused = true;
    value_unref(whole);
}

static tn_value about(const struct task *task) {
    const struct document_node *def = &task->run->graph->document->nodes[task->plan.node];
    tn_value event = value_set_take(value_object_reserve(6), "node", value_ref(def->id));
    if (task->plan.input) event = value_set_take(event, "item", value_int(task->plan.item));
    return event;
}

void emit_task(struct task *task, const char *what) {
    struct run *run = task->run;
    if (!run_wants(run, RUN_MODE_TASKS)) return;
    tn_value event = value_set_take(about(task), "event", value_text(what));
    char id[40];
    event = value_set_take(event, "task_id", value_text(task_id(task, id)));
    event = value_set_take(event, "attempt", value_int(task->attempt));
    if (strcmp(what, "end") == 0 || strcmp(what, "retry") == 0) {
        static const char *const outcomes[] = {[TASK_DONE] = "done",
                                               [TASK_FAILED] = "failed",
                                               [TASK_CANCELLED] = "cancelled",
                                               [TASK_INTERRUPTED] = "interrupted",
                                               [TASK_RETRYING] = "failed"};
        if (outcomes[task->state]) event = value_set_take(event, "outcome", value_text(outcomes[task->state]));
        event = value_set_take(event, "ms", value_int(loop_now_ms(run->loop) - task->started_ms));
        if (task->error.code) event = value_set_take(event, "error", error_to_value(&task->error));
    }
    run_emit_take(run, RUN_MODE_TASKS, event);
}

/* A chunk {"messages": delta} is a token of a model; everything else is the node's own affair. */
void emit_chunk(struct task *task, tn_value chunk) {
    tn_value delta = value_is(chunk, TN_OBJECT) && value_count(chunk) == 1 ? value_get(chunk, "messages") : NULL;
    enum run_mode mode = delta ? RUN_MODE_MESSAGES : RUN_MODE_CUSTOM;
    if (!run_wants(task->run, mode)) return;
    tn_value event = value_set_take(about(task), delta ? "delta" : "data", value_ref(delta ? delta : chunk));
    if (task->attempt > 1) event = value_set_take(event, "attempt", value_int(task->attempt));
    run_emit_take(task->run, mode, event);
}

/* Several writes of one task to one channel are shown as one array. */
static int32_t collect_write(void *user, struct task *task, uint32_t channel, tn_value value, struct error *error) {
    (void)error;
    const struct document_channel *def = &task->run->graph->document->channels[channel];
    tn_value *writes = user, name = def->name;
    bool gathers = def->type == CHANNEL_APPEND || def->type == CHANNEL_REDUCE; /* else the last one counts */
    tn_value before = gathers ? value_get_key(*writes, name) : NULL, shown = value_ref(value);
    if (before) {
        tn_value more =
            value_is(before, TN_ARRAY) ? value_ref(before) : value_push_take(value_array(), value_ref(before));
        shown = value_is(value, TN_ARRAY) ? value_concat_take(more, shown) : value_push_take(more, shown);
    }
    *writes = value_set_key_take(*writes, value_ref(name), shown);
    return TN_OK;
}

static void emit_update(struct task *task) {
    tn_value writes = value_object();
    task_each_write(task, collect_write, &writes, NULL);
    run_emit_take(task->run, RUN_MODE_UPDATES, value_set_take(about(task), "writes", writes));
}

static void emit_values(struct run *run) {
    run_emit_take(run, RUN_MODE_VALUES, value_set_take(value_object(), "state", state_object(&run->state, true)));
}

static void emit_checkpoint(struct run *run) {
    const struct document *document = run->graph->document;
    tn_value next = value_array();
    for (uint32_t i = 0; i < run->triggered.count; i++)
        next = value_push_take(next, value_ref(document->nodes[run->triggered.items[i].node].id));
    for (uint32_t i = 0; i < run->mapped.count; i++)
        next = value_push_take(next, value_ref(document->nodes[run->mapped.items[i].node].id));
    tn_value event = value_set_take(value_object_reserve(2), "next", next);
    event = value_set_take(event, "state", state_object(&run->state, true));
    run_emit_take(run, RUN_MODE_CHECKPOINTS, event);
}

/* One at a time, so that a reader that is full gets no more of a step of thousands of tasks than it has asked for. */
bool emit_next(struct run *run) {
    bool updates = run_wants(run, RUN_MODE_UPDATES);
    while (run->told < run->task_count) {
        struct task *task = &run->tasks[run->told++];
        if (!updates || task->state != TASK_DONE) continue;
        emit_update(task);
        return true;
    }
    static const struct {
        enum run_mode mode;
        void (*emit)(struct run *run);
    } last[] = {{RUN_MODE_VALUES, emit_values}, {RUN_MODE_CHECKPOINTS, emit_checkpoint}};
    while (run->told < run->task_count + sizeof last / sizeof *last) {
        size_t which = run->told++ - run->task_count;
        if (!run_wants(run, last[which].mode)) continue;
        last[which].emit(run);
        return true;
    }
    return false;
}

static void emit_note(struct run *run, const char *what, const char *level, int32_t node, const char *message) {
    if (!run_wants(run, RUN_MODE_DEBUG)) return;
    tn_value event = value_set_take(value_object_reserve(4), "event", value_text(what));
    if (level) event = value_set_take(event, "level", value_text(level));
    if (node != DOCUMENT_NOWHERE) event = value_set_take(event, "node", value_text(graph_node_name(run->graph, node)));
    if (message) event = value_set_take(event, "message", value_text(message));
    run_emit_take(run, RUN_MODE_DEBUG, event);
}

void emit_debug(struct run *run, const char *what, int32_t node, const char *message) {
    emit_note(run, what, NULL, node, message);
}

void emit_warning(struct run *run, const char *what, int32_t node, const char *message) {
    emit_note(run, what, "warning", node, message);
}
