/*
 * run_input.c - what comes from outside between two steps: the input of an invocation, and updates of the state.
 */
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/engine/graph/channel_merge.h"
#include "host/engine/graph/durable.h"
#include "host/engine/graph/run_internal.h"
#include <string.h>

/* Writes an object of channels and commits them. `input` may be NULL. */
static int32_t write_channels(struct run *run, tn_value input, struct error *error) {
    const struct document *document = run->graph->document;
    if (run->graph->whole) {
        int32_t status = input ? channels_write(&run->channels, GRAPH_WHOLE_CHANNEL_STATE, input, CHANNELS_WRITER_INPUT,
                                                0, NULL, error)
                               : TN_OK;
        return status == TN_OK ? channels_commit(&run->channels, error) : status;
    }
    for (size_t i = 0, n = input ? value_count(input) : 0; i < n; i++) {
        size_t length;
        const char *name = value_chars(value_key_at(input, i), &length);
        int32_t channel = document_find_channel(document, name, length);
        if (channel < 0 && run->graph->alone) continue;
        if (channel < 0 || document->channels[channel].implicit)
            return error_set(error, TN_NOT_FOUND, "INVALID_INPUT",
                             "the input has the key `%s`, which is not a channel of the document%s", name,
                             document_channel_hint(document, name, length).text);
        uint64_t origin = value_hash(document->channels[channel].name);
        /* Each invocation must make different message ids, even if the thread has not taken a step since the last. */
        uint32_t invocation = run->durable ? durable_seq(run) : run->step;
        if (invocation) origin = run_mix(origin, invocation);
        tn_value value = value_value_at(input, i);
        int32_t status = run->durable ? durable_check_write(run, (uint32_t)channel, value, error) : TN_OK;
        if (status == TN_OK)
            status =
                channels_write(&run->channels, (uint32_t)channel, value, CHANNELS_WRITER_INPUT, origin, NULL, error);
        if (status != TN_OK) return status;
    }
    return channels_commit(&run->channels, error);
}

/* The input with a list in the place of one text or message for a channel of messages; a new reference. */
static tn_value input_with_lists(const struct document *document, tn_value input) {
    tn_value whole = value_ref(input);
    for (uint32_t i = 0; i < document->channel_count; i++) {
        const struct document_channel *channel = &document->channels[i];
        tn_value value = value_get_key(input, channel->name);
        bool messages = channel->type == CHANNEL_REDUCE && channel->reducer == REDUCER_MESSAGES;
        if (!messages || (!value_is(value, TN_STRING) && !value_is(value, TN_OBJECT))) continue;
        tn_value message = merge_texts_to_messages(value);
        whole = value_set_key_take(whole, value_ref(channel->name), value_push_take(value_array(), message));
    }
    return whole;
}

/* Validates the input. One text or message for a channel of messages is valid if a list with it is. */
static int32_t validate_input(const struct document *document, tn_value input, struct schema_errors *errors) {
    struct schema_errors others = SCHEMA_ERRORS_INIT;
    int32_t status = schema_validate(document->input, input, errors);
    if (status == TN_OK) return status;
    tn_value lists = input_with_lists(document, input);
    if (lists != input && schema_validate(document->input, lists, &others) == TN_OK) status = TN_OK;
    schema_errors_finish(&others);
    value_unref(lists);
    return status;
}

static int32_t write_input(struct run *run, tn_value input, struct error *error) {
    const struct document *document = run->graph->document;
    if (run->graph->alone && document->channel_count == 0) input = NULL;
    if (input && !value_is(input, TN_OBJECT))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "the input is %s, expected an object of channels",
                         value_kind_name(value_kind(input)));
    if (document->input) {
        struct schema_errors errors = SCHEMA_ERRORS_INIT;
        int32_t status = validate_input(document, input ? input : value_object(), &errors);
        if (status != TN_OK)
            error_set(error, status, "INVALID_INPUT", "the input%s%s does not fit the document's `input`: %s",
                      errors.count && *errors.items[0].pointer ? " at " : "",
                      errors.count ? errors.items[0].pointer : "", errors.count ? errors.items[0].message : "");
        schema_errors_finish(&errors);
        if (status != TN_OK) return status;
    }
    return write_channels(run, input, error);
}

int32_t run_apply_input(struct run *run, tn_value input, struct error *error) {
    value_unref(run->input);
    run->input = input ? value_ref(input) : value_object();
    if (run->tool_uses) run_clear_tool_uses(run); /* an earlier run of the thread used them */
    run_start_budget(run);
    durable_start(run);
    int32_t status = write_input(run, input, error);
    if (status == TN_OK) status = route_start(run, error);
    if (status == TN_OK) {
        plan_finish(run);
        return TN_OK;
    }
    plan_clear(run);
    channels_rollback(&run->channels);
    return status;
}

/* ---- Updates ---- */

/* Plans the activations of an unfinished step again, as if the step had not begun. */
static void leave_step(struct run *run) {
    if (!run_in_step(run)) return;
    struct plan left = {NULL, 0, 0};
    left.items = mem_array(NULL, run->activation_count, sizeof *left.items);
    for (; left.count < run->activation_count; left.count++) {
        left.items[left.count] = run->activations[left.count].plan;
        run->activations[left.count].plan.input = NULL;
    }
    run_clear_activations(run);
    for (uint32_t i = 0; i < left.count; i++) {
        if (left.items[i].input)
            plan_push_mapped_take(run, left.items[i]);
        else
            plan_push_triggered(run, left.items[i].node);
    }
    mem_free(left.items);
    run->step--;
}

/* Plans what follows the node, as if it had just ended and written the update. */
static int32_t route_after_node(struct run *run, int32_t node, struct error *error) {
    struct activation activation;
    plan_clear(run);
    activation_init(&activation, run, 0, (struct plan_entry){(uint32_t)node, NO_INDEX, 0, 0, NO_INDEX, NULL});
    activation.state = ACTIVATION_DONE;
    activation.known_outcome = value_object();
    run->step++;
    int32_t status = route_activation(run, &activation, error);
    plan_finish(run);
    activation_finish(&activation);
    return status;
}

static int32_t find_node(const struct run *run, const char *name, int32_t *node, struct error *error) {
    *node = graph_find_target(run->graph, name, strlen(name));
    if (*node >= 0) return TN_OK;
    return error_set(error, TN_NOT_FOUND, "INVALID_INPUT", "the document has no node `%s`%s", name,
                     document_node_hint(run->graph->document, name, strlen(name)).text);
}

/* Plans these nodes, whose names were checked, instead of what was planned. */
static void plan_nodes(struct run *run, tn_value next) {
    run_discard_plan(run);
    for (size_t i = 0; i < value_count(next); i++) {
        tn_value entry = value_at(next, i), input = value_get(entry, "input");
        const char *name = value_chars(value_is(entry, TN_STRING) ? entry : value_get(entry, "node"), NULL);
        uint32_t node = (uint32_t)graph_find_target(run->graph, name, strlen(name));
        if (input)
            plan_push_mapped_take(run, (struct plan_entry){node, NO_INDEX, (uint32_t)i, 0, NO_INDEX, value_ref(input)});
        else
            plan_push_triggered(run, node);
    }
    plan_finish(run);
}

static int32_t check_change(const struct run *run, const struct run_change *change, int32_t *node,
                            struct error *error) {
    int32_t status = change->as ? find_node(run, change->as, node, error) : TN_OK, target;
    for (size_t i = 0; status == TN_OK && i < value_count(change->next); i++) {
        tn_value entry = value_at(change->next, i);
        size_t length;
        const char *name = value_chars(value_is(entry, TN_STRING) ? entry : value_get(entry, "node"), &length);
        status = strlen(name) == length
                     ? find_node(run, name, &target, error)
                     : error_set(error, TN_NOT_FOUND, "INVALID_INPUT",
                                 "`next` has the name `%s` with U+0000 behind it, expected the name of a node", name);
    }
    if (status == TN_OK && change->as && change->next)
        status = error_set(error, TN_INVALID, "INVALID_INPUT", "found `as` and `next`, expected one of them");
    return status;
}

int32_t run_update(struct run *run, tn_value channels, const struct run_change *change, bool *ended,
                   struct error *error) {
    int32_t node = 0, status = check_change(run, change, &node, error);
    if (status != TN_OK) return status;
    leave_step(run);
    durable_start(run);
    if (change->from) status = run_rewind(run, change->from, error);
    if (status == TN_OK) status = write_channels(run, channels, error);
    if (status != TN_OK) {
        channels_rollback(&run->channels);
        return status;
    }
    if (change->as) status = route_after_node(run, node, error);
    if (status != TN_OK) return status;
    if (change->next) plan_nodes(run, change->next);
    run_set_interrupt_after_take(run, NULL);
    run_set_state(run, RUN_STATE_STARTING);
    run_terminate(run, run_has_plan(run) ? RUN_STOPPED : RUN_DONE, "update");
    *ended = run->state == RUN_STATE_IDLE;
    return TN_OK;
}
