/*
 * event.c - builds the events of a run, in seven modes, and passes them to the subscriber.
 *
 * No event is built unless the subscriber receives its mode. A nested run passes its events to the subscriber of the
 * outermost run, with its path. If the subscriber is full, all runs below the outermost one wait for run_continue.
 */
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/engine/graph/run_internal.h"
#include <string.h>

static const struct {
    enum run_mode mode;
    const char *name;
} mode_names[] = {{RUN_MODE_VALUES, "values"}, {RUN_MODE_UPDATES, "updates"}, {RUN_MODE_MESSAGES, "messages"},
                  {RUN_MODE_CUSTOM, "custom"}, {RUN_MODE_TASKS, "tasks"},     {RUN_MODE_CHECKPOINTS, "checkpoints"},
                  {RUN_MODE_DEBUG, "debug"}};
#define MODE_COUNT (sizeof mode_names / sizeof *mode_names)

static const char *run_mode_name(enum run_mode mode) {
    for (size_t i = 0; i < MODE_COUNT; i++)
        if (mode_names[i].mode == mode) return mode_names[i].name;
    return "?";
}

static unsigned mode_of(const char *name, size_t length) {
    if (length == 3 && memcmp(name, "all", 3) == 0) return RUN_MODE_ALL;
    for (size_t i = 0; i < MODE_COUNT; i++)
        if (strlen(mode_names[i].name) == length && memcmp(mode_names[i].name, name, length) == 0)
            return mode_names[i].mode;
    return 0;
}

static void refuse_mode(const char *name, size_t length, struct error *error) {
    struct nearest nearest;
    nearest_init(&nearest, name, length);
    for (size_t i = 0; i < MODE_COUNT; i++)
        nearest_add_candidate(&nearest, mode_names[i].name, strlen(mode_names[i].name));
    error_set(error, TN_INVALID, "INVALID_INPUT",
              "found the stream mode `%.*s`, expected values, updates, messages, custom, tasks, checkpoints, debug or "
              "all%s",
              (int)length, name, nearest_hint(&nearest).text);
}

unsigned run_modes_parse(const char *text, struct error *error) {
    unsigned found = 0;
    do {
        size_t length = strcspn(text, ",");
        unsigned mode = mode_of(text, length);
        if (!mode) {
            refuse_mode(text, length, error);
            return 0;
        }
        found |= mode;
        text += length;
        if (*text == ',') text++;
    } while (*text);
    return found;
}

tn_value run_modes_names(unsigned modes) {
    tn_value names = value_array();
    for (size_t i = 0; i < MODE_COUNT; i++)
        if (modes & mode_names[i].mode) names = value_push_take(names, value_text(mode_names[i].name));
    return names;
}

bool run_has_subscriber(const struct run *run, unsigned mask) {
    return (run_outermost(run)->options.modes & mask) != 0;
}

/* Takes `event`, an object; adds its type, step and path and passes it to the subscriber. */
static void run_emit_take(struct run *run, enum run_mode mode, tn_value event) {
    struct run *root = run_outermost(run);
    tn_value whole = value_object_reserve(value_count(event) + 3);
    whole = value_set_take(whole, "type", value_text(run_mode_name(mode)));
    whole = value_set_take(whole, "step", value_int(run->step));
    if (run->path) whole = value_set_take(whole, "path", value_ref(run->path));
    for (size_t i = 0, n = value_count(event); i < n; i++)
        whole = value_set_key_take(whole, value_ref(value_key_at(event, i)), value_ref(value_value_at(event, i)));
    value_unref(event);
    if (!root->options.event(root->options.user, whole)) root->subscriber_full = true;
    value_unref(whole);
}

static tn_value activation_event(const struct activation *activation) {
    const struct document_node *def = &activation->run->graph->document->nodes[activation->plan.node];
    tn_value event = value_set_take(value_object_reserve(6), "node", value_ref(def->id));
    if (activation->plan.input) event = value_set_take(event, "item", value_int(activation->plan.item));
    return event;
}

void emit_activation(struct activation *activation, const char *what) {
    struct run *run = activation->run;
    if (!run_has_subscriber(run, RUN_MODE_TASKS)) return;
    tn_value event = value_set_take(activation_event(activation), "event", value_text(what));
    char id[ACTIVATION_ID_SIZE];
    event = value_set_take(event, "task_id", value_text(activation_id(activation, id)));
    event = value_set_take(event, "attempt", value_int(activation->attempt));
    if (strcmp(what, "end") == 0 || strcmp(what, "retry") == 0) {
        static const char *const outcomes[] = {[ACTIVATION_DONE] = "done",
                                               [ACTIVATION_FAILED] = "failed",
                                               [ACTIVATION_CANCELLED] = "cancelled",
                                               [ACTIVATION_INTERRUPTED] = "interrupted",
                                               [ACTIVATION_RETRYING] = "failed"};
        if (outcomes[activation->state])
            event = value_set_take(event, "outcome", value_text(outcomes[activation->state]));
        int64_t ms = loop_now_ms(run->loop) - activation->started_us / 1000;
        event = value_set_take(event, "ms", value_int(ms > 0 ? ms : 0));
        if (activation->error.code) event = value_set_take(event, "error", error_to_value(&activation->error));
    }
    run_emit_take(run, RUN_MODE_TASKS, event);
}

tn_value chunk_delta(tn_value chunk) {
    return value_is(chunk, TN_OBJECT) && value_count(chunk) == 1 ? value_get(chunk, "messages") : NULL;
}

void emit_chunk(struct activation *activation, tn_value chunk) {
    tn_value delta = chunk_delta(chunk);
    enum run_mode mode = delta ? RUN_MODE_MESSAGES : RUN_MODE_CUSTOM;
    if (!run_has_subscriber(activation->run, mode)) return;
    tn_value event =
        value_set_take(activation_event(activation), delta ? "delta" : "data", value_ref(delta ? delta : chunk));
    if (activation->attempt > 1) event = value_set_take(event, "attempt", value_int(activation->attempt));
    run_emit_take(activation->run, mode, event);
}

/* Several writes of one activation to one channel become one array, if the channel merges writes. */
static int32_t collect_write(void *user, struct activation *activation, uint32_t channel, tn_value value,
                             struct error *error) {
    (void)error;
    const struct document_channel *def = &activation->run->graph->document->channels[channel];
    tn_value *writes = user, name = def->name;
    bool gathers = def->type == CHANNEL_APPEND || def->type == CHANNEL_REDUCE; /* otherwise the last write counts */
    tn_value before = gathers ? value_get_key(*writes, name) : NULL, shown = value_ref(value);
    if (before) {
        tn_value more =
            value_is(before, TN_ARRAY) ? value_ref(before) : value_push_take(value_array(), value_ref(before));
        shown = value_is(value, TN_ARRAY) ? value_concat_take(more, shown) : value_push_take(more, shown);
    }
    *writes = value_set_key_take(*writes, value_ref(name), shown);
    return TN_OK;
}

static void emit_update(struct activation *activation) {
    tn_value writes = value_object();
    activation_each_write(activation, collect_write, &writes, NULL);
    run_emit_take(activation->run, RUN_MODE_UPDATES, value_set_take(activation_event(activation), "writes", writes));
}

static void emit_values(struct run *run) {
    run_emit_take(run, RUN_MODE_VALUES, value_set_take(value_object(), "state", channels_object(&run->channels, true)));
}

static void emit_checkpoint(struct run *run) {
    const struct document *document = run->graph->document;
    tn_value next = value_array();
    for (uint32_t i = 0; i < run->triggered.count; i++)
        next = value_push_take(next, value_ref(document->nodes[run->triggered.items[i].node].id));
    for (uint32_t i = 0; i < run->mapped.count; i++)
        next = value_push_take(next, value_ref(document->nodes[run->mapped.items[i].node].id));
    tn_value event = value_set_take(value_object_reserve(2), "next", next);
    event = value_set_take(event, "state", channels_object(&run->channels, true));
    run_emit_take(run, RUN_MODE_CHECKPOINTS, event);
}

/* One event at a time, so that a full subscriber gets no more events of a step of thousands of activations. */
bool run_report_next(struct run *run) {
    bool updates = run_has_subscriber(run, RUN_MODE_UPDATES);
    while (run->report_next < run->activation_count) {
        struct activation *activation = &run->activations[run->report_next++];
        if (!updates || activation->state != ACTIVATION_DONE) continue;
        emit_update(activation);
        return true;
    }
    static const struct {
        enum run_mode mode;
        void (*emit)(struct run *run);
    } last[] = {{RUN_MODE_VALUES, emit_values}, {RUN_MODE_CHECKPOINTS, emit_checkpoint}};
    while (run->report_next < run->activation_count + sizeof last / sizeof *last) {
        size_t which = run->report_next++ - run->activation_count;
        if (!run_has_subscriber(run, last[which].mode)) continue;
        last[which].emit(run);
        return true;
    }
    return false;
}

static void emit_note(struct run *run, const char *what, const char *level, int32_t node, const char *message) {
    if (!run_has_subscriber(run, RUN_MODE_DEBUG)) return;
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
