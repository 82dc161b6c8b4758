/*
 * channel_merge.c - the reducers of channel_merge.h, one function each, chosen by a table.
 */
#include "host/engine/graph/channel_merge.h"
#include "adl/document/document.h"
#include "adl/value/deferred.h"
#include "host/engine/engine.h"
#include "host/engine/graph/channel_members.h"
#include "host/engine/graph/graph.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define INDEX_FROM 16 /* shorter arrays are searched */

static int32_t wrong_kind(const struct merge_context *context, tn_value found, const char *expected,
                          struct error *error) {
    return error_set(error, TN_TYPE, "CHANNEL", "channel `%s`: found %s, its reducer expects %s",
                     value_chars(context->channel->name, NULL), value_kind_name(value_kind(found)), expected);
}

static int32_t merge_sum(const struct merge_context *context, tn_value current, tn_value write, tn_value *out,
                         struct error *error) {
    if (!value_is_number(write)) return wrong_kind(context, write, "a number", error);
    if (!value_is_number(current)) return wrong_kind(context, current, "a number as its default", error);
    if (value_is(current, TN_INT) && value_is(write, TN_INT)) {
        int64_t sum;
        if (__builtin_add_overflow(value_to_int(current), value_to_int(write), &sum))
            return error_set(error, TN_LIMIT, "CHANNEL",
                             "channel `%s`: the sum exceeds the range of a 64-bit integer; write doubles (1.0) instead",
                             value_chars(context->channel->name, NULL));
        *out = value_int(sum);
        return TN_OK;
    }
    double sum = value_to_double(current) + value_to_double(write);
    if (!isfinite(sum))
        return error_set(error, TN_LIMIT, "CHANNEL", "channel `%s`: the sum exceeds the range of a double",
                         value_chars(context->channel->name, NULL));
    *out = value_double(sum);
    return TN_OK;
}

/* -1, 0 or 1; 2 if the two cannot be compared. */
static int compare_scalars(tn_value a, tn_value b) {
    if (value_is_number(a) && value_is_number(b)) return value_compare_numbers(a, b);
    if (value_is(a, TN_STRING) && value_is(b, TN_STRING)) {
        int order = value_compare_strings(a, b);
        return order < 0 ? -1 : order > 0;
    }
    return 2;
}

static int32_t merge_extreme(const struct merge_context *context, tn_value current, tn_value write, int kept_order,
                             tn_value *out, struct error *error) {
    if (!value_is_number(write) && !value_is(write, TN_STRING))
        return wrong_kind(context, write, "a number or a string", error);
    if (value_is(current, TN_NULL)) {
        *out = value_ref(write);
        return TN_OK;
    }
    int order = compare_scalars(write, current);
    if (order == 2) return wrong_kind(context, write, value_kind_name(value_kind(current)), error);
    *out = value_ref(order == kept_order ? write : current);
    return TN_OK;
}

static int32_t merge_max(const struct merge_context *context, tn_value current, tn_value write, tn_value *out,
                         struct error *error) {
    return merge_extreme(context, current, write, 1, out, error);
}

static int32_t merge_min(const struct merge_context *context, tn_value current, tn_value write, tn_value *out,
                         struct error *error) {
    return merge_extreme(context, current, write, -1, out, error);
}

static int32_t merge_objects_take(const struct merge_context *context, tn_value current, tn_value write, tn_value *out,
                                  struct error *error) {
    if (!value_is(write, TN_OBJECT) || !value_is(current, TN_OBJECT)) {
        int32_t status = wrong_kind(context, value_is(write, TN_OBJECT) ? current : write, "an object", error);
        value_unref(current);
        return status;
    }
    for (size_t i = 0, n = value_count(write); i < n; i++)
        current = value_set_key_take(current, value_ref(value_key_at(write, i)), value_ref(value_value_at(write, i)));
    *out = current;
    return TN_OK;
}

/* ---- Arrays with members ---- */

/* A member is identified by the item itself, a message by its id. */
static tn_value member_key(const struct merge_context *context, tn_value item) {
    return context->channel->reducer == REDUCER_UNION ? item : value_get(item, "id");
}

static struct member_index *ensure_index(const struct merge_context *context, tn_value array) {
    if (*context->index) return *context->index;
    struct member_index *index = *context->index = member_index_new();
    for (size_t i = 0, n = value_count(array); i < n; i++) {
        tn_value key = member_key(context, value_at(array, i));
        if (key) member_index_add(index, value_hash(key), (uint32_t)i);
    }
    return index;
}

static void drop_index(const struct merge_context *context) {
    member_index_free(*context->index);
    *context->index = NULL;
}

static bool has_member_at(const struct merge_context *context, tn_value array, size_t position, tn_value key) {
    tn_value other = member_key(context, value_at(array, position));
    return other && value_equal(other, key);
}

/* The position of the member with this key, or -1. Short arrays are searched and have no index. */
static int64_t find_member(const struct merge_context *context, tn_value array, tn_value key) {
    size_t count = value_count(array);
    uint32_t cursor = 0, position;
    if (!*context->index && count < INDEX_FROM) {
        for (size_t i = 0; i < count; i++)
            if (has_member_at(context, array, i, key)) return (int64_t)i;
        return -1;
    }
    const struct member_index *index = ensure_index(context, array);
    uint64_t hash = value_hash(key);
    while ((position = member_index_next(index, hash, &cursor)) != UINT32_MAX)
        if (position < count && has_member_at(context, array, position, key)) return position;
    return -1;
}

/* Call before a member with this key is appended. */
static void note_member(const struct merge_context *context, tn_value array, tn_value key) {
    if (*context->index) member_index_add(*context->index, value_hash(key), (uint32_t)value_count(array));
}

static int32_t add_to_union_take(const struct merge_context *context, tn_value current, tn_value item, tn_value *out,
                                 struct error *error) {
    (void)error;
    if (find_member(context, current, item) < 0) {
        note_member(context, current, item);
        current = value_push_take(current, value_ref(item));
    }
    *out = current;
    return TN_OK;
}

/*
 * True if a message has an id that was made in this step. Only a message of this step can: `origin` differs in every
 * other one. So old messages that are still unread (adl/value/deferred.h) stay so.
 */
static bool has_made_id(const struct merge_context *context, tn_value array, tn_value id) {
    if (!value_is_deferred(array)) return find_member(context, array, id) >= 0;
    for (size_t i = value_known_from(array); i < value_count(array); i++)
        if (has_member_at(context, array, i, id)) return true;
    return false;
}

/* Derived from the position; if a removed message had that id, from the next free position. */
static tn_value message_make_id(const struct merge_context *context, tn_value array) {
    for (size_t ordinal = value_count(array);; ordinal++) {
        tn_value id = value_format("m-%016" PRIx64 "-%zu", context->origin, ordinal);
        if (!has_made_id(context, array, id)) return id;
        value_unref(id);
    }
}

static int32_t add_message_take(const struct merge_context *context, tn_value current, tn_value message, tn_value *out,
                                struct error *error) {
    if (!value_is(message, TN_OBJECT)) {
        value_unref(current);
        return wrong_kind(context, message, "a message object, or an array of them", error);
    }
    tn_value id = value_get(message, "id");
    if (id && !value_is(id, TN_STRING) && !value_is(id, TN_NULL)) {
        value_unref(current);
        return error_set(error, TN_TYPE, "CHANNEL", "channel `%s`: a message's id is %s, expected a string",
                         value_chars(context->channel->name, NULL), value_kind_name(value_kind(id)));
    }
    bool removes = value_text_is(value_get(message, "type"), "remove");
    if (!id || value_is(id, TN_NULL)) {
        if (removes) {
            value_unref(current);
            return error_set(error, TN_INVALID, "CHANNEL", "channel `%s`: a message of type `remove` needs an `id`",
                             value_chars(context->channel->name, NULL));
        }
        tn_value made = message_make_id(context, current);
        note_member(context, current, made);
        *out = value_push_take(current, value_set_take(value_ref(message), "id", made));
        return TN_OK;
    }
    int64_t position = find_member(context, current, id);
    if (removes) {
        if (position < 0) {
            value_unref(current);
            return error_set(error, TN_NOT_FOUND, "CHANNEL", "channel `%s`: no message has the id `%s` to remove",
                             value_chars(context->channel->name, NULL), value_chars(id, NULL));
        }
        tn_value before = value_slice(current, 0, (size_t)position);
        tn_value after = value_slice(current, (size_t)position + 1, value_count(current));
        value_unref(current);
        drop_index(context); /* positions have moved */
        *out = value_concat_take(before, after);
    } else if (position >= 0) {
        *out = value_replace_take(current, (size_t)position, value_ref(message));
    } else {
        note_member(context, current, id);
        *out = value_push_take(current, value_ref(message));
    }
    return TN_OK;
}

typedef int32_t add_member_fn(const struct merge_context *, tn_value, tn_value, tn_value *, struct error *);

static int32_t merge_members_take(const struct merge_context *context, tn_value current, tn_value write, tn_value *out,
                                  struct error *error) {
    add_member_fn *add = context->channel->reducer == REDUCER_UNION ? add_to_union_take : add_message_take;
    if (!value_is(current, TN_ARRAY)) {
        int32_t status = wrong_kind(context, current, "an array as its default", error);
        value_unref(current);
        return status;
    }
    if (!value_is(write, TN_ARRAY)) return add(context, current, write, out, error);
    for (size_t i = 0, n = value_count(write); i < n; i++) {
        int32_t status = add(context, current, value_at(write, i), &current, error);
        if (status != TN_OK) return status;
    }
    *out = current;
    return TN_OK;
}

bool merge_has_text(tn_value write) {
    if (!value_is(write, TN_ARRAY)) return value_is(write, TN_STRING);
    for (size_t i = 0, n = value_count(write); i < n; i++)
        if (value_is(value_at(write, i), TN_STRING)) return true;
    return false;
}

static tn_value item_to_message(tn_value item) {
    if (!value_is(item, TN_STRING)) return value_ref(item);
    tn_value message = value_set_take(value_object_reserve(2), "type", value_text("user"));
    return value_set_take(message, "content", value_ref(item));
}

tn_value merge_texts_to_messages(tn_value write) {
    if (!value_is(write, TN_ARRAY)) return item_to_message(write);
    tn_value messages = value_array_reserve(value_count(write));
    for (size_t i = 0, n = value_count(write); i < n; i++)
        messages = value_push_take(messages, item_to_message(value_at(write, i)));
    return messages;
}

int32_t merge_take(const struct merge_context *context, tn_value current, tn_value write, tn_value *out,
                   struct error *error) {
    typedef int32_t scalar_fn(const struct merge_context *, tn_value, tn_value, tn_value *, struct error *);
    static scalar_fn *const scalars[] = {
        [REDUCER_SUM] = merge_sum, [REDUCER_MAX] = merge_max, [REDUCER_MIN] = merge_min, [REDUCER_COMPONENT] = NULL};
    enum channel_reducer reducer = context->channel->reducer;
    if (reducer == REDUCER_MERGE) return merge_objects_take(context, current, write, out, error);
    if (reducer == REDUCER_UNION || reducer == REDUCER_MESSAGES)
        return merge_members_take(context, current, write, out, error);
    tn_value merged = NULL;
    int32_t status = scalars[reducer](context, current, write, &merged, error);
    value_unref(current);
    if (status == TN_OK) *out = merged;
    return status;
}

static void reducer_ended(struct call *call) { call_free(call); }

int32_t merge_by_component(const struct graph *graph, uint32_t channel, tn_value input, tn_value *out,
                           struct error *error) {
    static const struct call_ops ops = {.ended = reducer_ended};
    struct call *call = call_new(graph->engine->loop, graph->reducers[channel], &ops, NULL);
    if (!call_start(call, input)) {
        call_cancel(call);
        return error_set(error, TN_INVALID, "CHANNEL",
                         "channel `%s`: its reducer did not complete inside start, as a reducer must",
                         value_chars(graph->document->channels[channel].name, NULL));
    }
    int32_t status = TN_OK;
    if (call_outcome(call) == CALL_COMPLETED) {
        tn_value output = call_output(call);
        *out = output ? value_ref(output) : value_null();
    } else {
        const struct error *why = call_error(call);
        status = error_set(error, TN_FAILED, "CHANNEL", "channel `%s`: its reducer failed: %s",
                           value_chars(graph->document->channels[channel].name, NULL),
                           why && why->message ? why->message : "it did not complete");
    }
    call_free(call);
    return status;
}
