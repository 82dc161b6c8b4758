/*
 * state.c - channels: how writes merge (merge.c has the reducers), and the step's commit or rollback.
 *
 * Invariant between steps: no pending value, no dirty channel. During a step `pending` owns what has been merged so far
 * and starts from a reference to the committed value, so that an append shares its prefix (value.h) and a rollback is
 * dropping references. The member indexes describe the newest array and are thrown away when a step is rolled back.
 */
#include "host/engine/state.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/engine/graph.h"
#include "host/engine/members.h"
#include "host/engine/merge.h"
#include <string.h>

size_t state_size(uint32_t channel_count) {
    return channel_count * (2 * sizeof(tn_value) + sizeof(struct member_index *) + 2 * sizeof(uint32_t));
}

void state_init(struct state *state, const struct graph *graph, void *memory) {
    const struct document *document = graph->document;
    uint32_t count = document->channel_count;
    state->graph = graph;
    state->count = count;
    state->dirty_count = 0;
    state->indexes = memory;
    state->values = (tn_value *)(void *)(state->indexes + count);
    state->pending = state->values + count;
    state->writers = (uint32_t *)((char *)memory + count * (2 * sizeof(tn_value) + sizeof(struct member_index *)));
    state->dirty = state->writers + count;
    for (uint32_t i = 0; i < count; i++) {
        state->values[i] = value_ref(document->channels[i].initial);
        state->pending[i] = NULL;
        state->indexes[i] = NULL;
    }
}

void state_finish(struct state *state) {
    for (uint32_t i = 0; i < state->count; i++) {
        value_unref(state->values[i]);
        value_unref(state->pending[i]);
        member_index_free(state->indexes[i]);
    }
    state->count = 0;
}

/* The schema's verdict, with the first complaint as the message. */
static int32_t check_schema(const struct document_channel *channel, tn_value value, struct error *error) {
    int32_t status = schema_validate(channel->schema, value, NULL);
    if (status == TN_OK) return TN_OK;
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    errors.limit = 1;
    schema_validate(channel->schema, value, &errors);
    const char *pointer = errors.count && *errors.items[0].pointer ? errors.items[0].pointer : "";
    error_set(error, status, "CHANNEL", "channel `%s`%s%s: %s, as its schema says", value_chars(channel->name, NULL),
              *pointer ? " at " : "", pointer, errors.count ? errors.items[0].message : "the value does not fit");
    schema_errors_finish(&errors);
    return status;
}

/* The schema of a channel of many describes one item, so that checking costs the write and not the history. */
static bool schema_is_of_items(const struct document_channel *channel) {
    return channel->type == CHANNEL_APPEND ||
           (channel->type == CHANNEL_REDUCE &&
            (channel->reducer == REDUCER_UNION || channel->reducer == REDUCER_MESSAGES));
}

static int32_t check_items(const struct document_channel *channel, tn_value value, struct error *error) {
    if (!channel->schema) return TN_OK;
    if (!value_is(value, TN_ARRAY)) return check_schema(channel, value, error);
    for (size_t i = 0, n = value_count(value); i < n; i++) {
        int32_t status = check_schema(channel, value_at(value, i), error);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

static void set_pending(struct state *state, uint32_t channel, tn_value value, uint32_t writer) {
    if (!state->pending[channel]) state->dirty[state->dirty_count++] = channel;
    state->pending[channel] = value;
    state->writers[channel] = writer;
}

static struct member_index **index_of(struct state *state, uint32_t channel) { return &state->indexes[channel]; }

int32_t state_write(struct state *state, uint32_t channel, tn_value value, uint32_t writer, uint64_t origin,
                    uint32_t *writer_conflict, struct error *error) {
    const struct document_channel *def = &state->graph->document->channels[channel];
    tn_value pending = state->pending[channel];
    int32_t status;

    if (def->type == CHANNEL_LAST_VALUE || (def->type == CHANNEL_EPHEMERAL && !def->implicit)) {
        if (pending && state->writers[channel] != writer) {
            if (writer_conflict) *writer_conflict = state->writers[channel];
            return error_set(error, TN_INVALID, "CONCURRENT_UPDATE", "channel `%s` was written twice in one step",
                             value_chars(def->name, NULL));
        }
        if (def->schema && (status = check_schema(def, value, error)) != TN_OK) return status;
        tn_value old = pending;
        set_pending(state, channel, value_ref(value), writer);
        value_unref(old);
        return TN_OK;
    }

    if (schema_is_of_items(def) && (status = check_items(def, value, error)) != TN_OK) return status;
    tn_value current = pending ? pending : value_ref(def->implicit ? value_array() : state->values[channel]);
    state->pending[channel] = pending ? value_null() : NULL; /* its reference has moved to `current` */
    tn_value merged;
    if (def->type == CHANNEL_APPEND || def->implicit) {
        merged = value_is(value, TN_ARRAY) && !def->implicit ? value_concat_take(current, value_ref(value))
                                                             : value_push_take(current, value_ref(value));
    } else if (def->reducer == REDUCER_COMPONENT) {
        /* Gathered now, reduced at the commit: the component sees all writes of the step at once. */
        if (!pending) value_unref(current);
        merged = value_push_take(pending ? current : value_array(), value_ref(value));
    } else {
        struct merge_context context = {def, index_of(state, channel), origin};
        status = merge_take(&context, current, value, &merged, error);
        if (status != TN_OK) return status;
    }
    set_pending(state, channel, merged, writer);
    if (def->schema && def->type == CHANNEL_REDUCE && def->reducer != REDUCER_COMPONENT && !schema_is_of_items(def))
        return check_schema(def, merged, error);
    return TN_OK;
}

/* Reducers that are components: {current, writes} -> the new value, inside start. */
static int32_t reduce_by_component(struct state *state, uint32_t channel, struct error *error) {
    const struct document_channel *def = &state->graph->document->channels[channel];
    tn_value input = value_object_reserve(2);
    input = value_set_take(input, "current", value_ref(state->values[channel]));
    input = value_set_take(input, "writes", value_ref(state->pending[channel]));
    tn_value output = NULL;
    int32_t status = merge_by_component(state->graph, channel, input, &output, error);
    value_unref(input);
    if (status != TN_OK) return status;
    value_unref(state->pending[channel]);
    state->pending[channel] = output;
    return def->schema ? check_schema(def, output, error) : TN_OK;
}

int32_t state_commit(struct state *state, struct error *error) {
    const struct document *document = state->graph->document;
    if (state->graph->reducers) {
        for (uint32_t i = 0; i < state->dirty_count; i++) {
            uint32_t channel = state->dirty[i];
            if (document->channels[channel].reducer != REDUCER_COMPONENT) continue;
            int32_t status = reduce_by_component(state, channel, error);
            if (status != TN_OK) return status;
        }
    }
    if (state->graph->has_ephemeral) {
        for (uint32_t i = 0; i < state->count; i++) {
            if (document->channels[i].type != CHANNEL_EPHEMERAL || state->pending[i]) continue;
            value_unref(state->values[i]);
            state->values[i] = value_ref(document->channels[i].initial);
        }
    }
    for (uint32_t i = 0; i < state->dirty_count; i++) {
        uint32_t channel = state->dirty[i];
        value_unref(state->values[channel]);
        state->values[channel] = state->pending[channel];
        state->pending[channel] = NULL;
    }
    state->dirty_count = 0;
    return TN_OK;
}

void state_rollback(struct state *state) {
    for (uint32_t i = 0; i < state->dirty_count; i++) {
        uint32_t channel = state->dirty[i];
        value_unref(state->pending[channel]);
        state->pending[channel] = NULL;
        member_index_free(state->indexes[channel]);
        state->indexes[channel] = NULL;
    }
    state->dirty_count = 0;
}

tn_value state_object(const struct state *state, bool with_ephemeral) {
    const struct document *document = state->graph->document;
    tn_value object = value_object_reserve(state->count);
    for (uint32_t i = 0; i < state->count; i++) {
        const struct document_channel *def = &document->channels[i];
        if (def->type == CHANNEL_EPHEMERAL && (!with_ephemeral || value_identical(state->values[i], def->initial)))
            continue;
        object = value_set_key_take(object, value_ref(def->name), value_ref(state->values[i]));
    }
    return object;
}
