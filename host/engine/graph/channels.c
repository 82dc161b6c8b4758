/*
 * channels.c - merging writes into pending values, and the commit or rollback of a step. channel_merge.c has the
 * reducers.
 *
 * Invariant between steps: no pending value and no dirty channel. A pending value starts as a reference to the
 * committed value, so an append shares its prefix (value.h) and a rollback only drops references. A member index
 * describes the newest array and is freed when the step is rolled back.
 */
#include "host/engine/graph/channels.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/engine/graph/channel_members.h"
#include "host/engine/graph/channel_merge.h"
#include "host/engine/graph/graph.h"
#include <string.h>

size_t channels_size(uint32_t channel_count) {
    return channel_count * (2 * sizeof(tn_value) + sizeof(struct member_index *) + 2 * sizeof(uint32_t));
}

void channels_init(struct channels *channels, const struct graph *graph, void *memory) {
    const struct document *document = graph->document;
    uint32_t count = document->channel_count;
    channels->graph = graph;
    channels->count = count;
    channels->dirty_count = 0;
    channels->indexes = memory;
    channels->values = (tn_value *)(void *)(channels->indexes + count);
    channels->pending = channels->values + count;
    channels->writers = (uint32_t *)((char *)memory + count * (2 * sizeof(tn_value) + sizeof(struct member_index *)));
    channels->dirty = channels->writers + count;
    for (uint32_t i = 0; i < count; i++) {
        channels->values[i] = value_ref(document->channels[i].initial);
        channels->pending[i] = NULL;
        channels->indexes[i] = NULL;
    }
}

void channels_finish(struct channels *channels) {
    for (uint32_t i = 0; i < channels->count; i++) {
        value_unref(channels->values[i]);
        value_unref(channels->pending[i]);
        member_index_free(channels->indexes[i]);
    }
    channels->count = 0;
}

void channels_reset(struct channels *channels) {
    for (uint32_t i = 0; i < channels->count; i++) {
        value_unref(channels->values[i]);
        channels->values[i] = value_ref(channels->graph->document->channels[i].initial);
        member_index_free(channels->indexes[i]);
        channels->indexes[i] = NULL;
    }
}

/* Validates once more with messages only if the value does not fit. */
static int32_t channel_check_schema(const struct document_channel *channel, tn_value value, struct error *error) {
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

/* The schema of a channel that collects items describes one item: only the written items are validated. */
static bool schema_describes_item(const struct document_channel *channel) {
    return channel->type == CHANNEL_APPEND ||
           (channel->type == CHANNEL_REDUCE &&
            (channel->reducer == REDUCER_UNION || channel->reducer == REDUCER_MESSAGES));
}

static int32_t channel_check_items(const struct document_channel *channel, tn_value value, struct error *error) {
    if (!channel->schema) return TN_OK;
    if (!value_is(value, TN_ARRAY)) return channel_check_schema(channel, value, error);
    for (size_t i = 0, n = value_count(value); i < n; i++) {
        int32_t status = channel_check_schema(channel, value_at(value, i), error);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

static void channels_set_pending(struct channels *channels, uint32_t channel, tn_value value, uint32_t writer) {
    if (!channels->pending[channel]) channels->dirty[channels->dirty_count++] = channel;
    channels->pending[channel] = value;
    channels->writers[channel] = writer;
}

int32_t channels_write(struct channels *channels, uint32_t channel, tn_value value, uint32_t writer, uint64_t origin,
                       uint32_t *writer_conflict, struct error *error) {
    const struct document_channel *def = &channels->graph->document->channels[channel];
    tn_value pending = channels->pending[channel];
    int32_t status;

    if (def->type == CHANNEL_REDUCE && def->reducer == REDUCER_MESSAGES && merge_has_text(value)) {
        tn_value messages = merge_texts_to_messages(value);
        status = channels_write(channels, channel, messages, writer, origin, writer_conflict, error);
        value_unref(messages);
        return status;
    }
    if (def->type == CHANNEL_LAST_VALUE || (def->type == CHANNEL_EPHEMERAL && !def->implicit)) {
        if (pending && channels->writers[channel] != writer) {
            if (writer_conflict) *writer_conflict = channels->writers[channel];
            return error_set(error, TN_INVALID, "CONCURRENT_UPDATE", "channel `%s` was written twice in one step",
                             value_chars(def->name, NULL));
        }
        if (def->schema && (status = channel_check_schema(def, value, error)) != TN_OK) return status;
        tn_value old = pending;
        channels_set_pending(channels, channel, value_ref(value), writer);
        value_unref(old);
        return TN_OK;
    }

    if (schema_describes_item(def) && (status = channel_check_items(def, value, error)) != TN_OK) return status;
    tn_value current = pending ? pending : value_ref(def->implicit ? value_array() : channels->values[channel]);
    channels->pending[channel] = pending ? value_null() : NULL; /* `current` owns the reference now */
    tn_value merged;
    if (def->type == CHANNEL_APPEND || def->implicit) {
        merged = value_is(value, TN_ARRAY) && !def->implicit ? value_concat_take(current, value_ref(value))
                                                             : value_push_take(current, value_ref(value));
    } else if (def->reducer == REDUCER_COMPONENT) {
        /* The component reduces all writes of the step together, when they are committed. */
        if (!pending) value_unref(current);
        merged = value_push_take(pending ? current : value_array(), value_ref(value));
    } else {
        struct merge_context context = {def, &channels->indexes[channel], origin};
        status = merge_take(&context, current, value, &merged, error);
        if (status != TN_OK) return status;
    }
    channels_set_pending(channels, channel, merged, writer);
    if (def->schema && def->type == CHANNEL_REDUCE && def->reducer != REDUCER_COMPONENT && !schema_describes_item(def))
        return channel_check_schema(def, merged, error);
    return TN_OK;
}

/* The component gets {current, writes} and completes with the new value inside its start. */
static int32_t reduce_by_component(struct channels *channels, uint32_t channel, struct error *error) {
    const struct document_channel *def = &channels->graph->document->channels[channel];
    tn_value input = value_object_reserve(2);
    input = value_set_take(input, "current", value_ref(channels->values[channel]));
    input = value_set_take(input, "writes", value_ref(channels->pending[channel]));
    tn_value output = NULL;
    int32_t status = merge_by_component(channels->graph, channel, input, &output, error);
    value_unref(input);
    if (status != TN_OK) return status;
    value_unref(channels->pending[channel]);
    channels->pending[channel] = output;
    return def->schema ? channel_check_schema(def, output, error) : TN_OK;
}

int32_t channels_commit(struct channels *channels, struct error *error) {
    const struct document *document = channels->graph->document;
    if (channels->graph->reducers) {
        for (uint32_t i = 0; i < channels->dirty_count; i++) {
            uint32_t channel = channels->dirty[i];
            if (document->channels[channel].reducer != REDUCER_COMPONENT) continue;
            int32_t status = reduce_by_component(channels, channel, error);
            if (status != TN_OK) return status;
        }
    }
    if (channels->graph->has_ephemeral) {
        for (uint32_t i = 0; i < channels->count; i++) {
            if (document->channels[i].type != CHANNEL_EPHEMERAL || channels->pending[i]) continue;
            value_unref(channels->values[i]);
            channels->values[i] = value_ref(document->channels[i].initial);
        }
    }
    for (uint32_t i = 0; i < channels->dirty_count; i++) {
        uint32_t channel = channels->dirty[i];
        value_unref(channels->values[channel]);
        channels->values[channel] = channels->pending[channel];
        channels->pending[channel] = NULL;
    }
    channels->dirty_count = 0;
    return TN_OK;
}

void channels_rollback(struct channels *channels) {
    for (uint32_t i = 0; i < channels->dirty_count; i++) {
        uint32_t channel = channels->dirty[i];
        value_unref(channels->pending[channel]);
        channels->pending[channel] = NULL;
        member_index_free(channels->indexes[channel]);
        channels->indexes[channel] = NULL;
    }
    channels->dirty_count = 0;
}

tn_value channels_object(const struct channels *channels, bool with_ephemeral) {
    const struct document *document = channels->graph->document;
    tn_value object = value_object_reserve(channels->count);
    for (uint32_t i = 0; i < channels->count; i++) {
        const struct document_channel *def = &document->channels[i];
        if (def->type == CHANNEL_EPHEMERAL && (!with_ephemeral || value_identical(channels->values[i], def->initial)))
            continue;
        object = value_set_key_take(object, value_ref(def->name), value_ref(channels->values[i]));
    }
    return object;
}

/* ---- Indexes that survive a run ---- */

struct kept_index {
    tn_value array;
    struct member_index *index;
    enum channel_reducer reducer; /* what identifies a member */
};

struct channel_indexes {
    size_t count;
    struct kept_index kept[];
};

void *channels_take_indexes(struct channels *channels) {
    size_t count = 0;
    for (uint32_t i = 0; i < channels->count; i++) count += channels->indexes[i] != NULL;
    if (!count) return NULL;
    struct channel_indexes *indexes = mem_alloc(sizeof *indexes + count * sizeof *indexes->kept);
    indexes->count = 0;
    for (uint32_t i = 0; i < channels->count; i++) {
        if (!channels->indexes[i]) continue;
        enum channel_reducer reducer = channels->graph->document->channels[i].reducer;
        indexes->kept[indexes->count++] =
            (struct kept_index){value_ref(channels->values[i]), channels->indexes[i], reducer};
        channels->indexes[i] = NULL;
    }
    return indexes;
}

void channels_give_indexes(struct channels *channels, void *given) {
    struct channel_indexes *indexes = given;
    for (size_t k = 0; indexes && k < indexes->count; k++)
        for (uint32_t i = 0; i < channels->count; i++) {
            struct kept_index *kept = &indexes->kept[k];
            const struct document_channel *def = &channels->graph->document->channels[i];
            bool same =
                channels->values[i] == kept->array && def->type == CHANNEL_REDUCE && def->reducer == kept->reducer;
            if (!same || channels->indexes[i]) continue;
            channels->indexes[i] = kept->index;
            kept->index = NULL;
            break;
        }
    channel_indexes_free(indexes);
}

void channel_indexes_free(void *given) {
    struct channel_indexes *indexes = given;
    for (size_t i = 0; indexes && i < indexes->count; i++) {
        value_unref(indexes->kept[i].array);
        member_index_free(indexes->kept[i].index);
    }
    mem_free(indexes);
}
