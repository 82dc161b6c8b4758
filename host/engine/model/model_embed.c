/*
 * model_embed.c - splits the texts to embed into batches, and keeps a few requests open at once.
 *
 * Each batch is a call without a parent that the wrapper's call owns, as an attempt of model.c is: the journal of a run
 * has the whole answer once. After a failure no batch is started, open ones are cancelled, and the call fails when the
 * last of them has ended. Only the first failure is reported.
 *
 * A batch is one request, so that each passes the gate of the key. One that waits there counts as open. Leaving a gate
 * can admit other batches, also of the same call: a batch leaves before it stops to count as open.
 */
#include "host/engine/model/model_embed.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/engine/model/usage.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

struct embedder {
    struct callable callable; /* first */
    struct callable *provider;
    size_t texts_max; /* of one request, as the manifest says */
    struct model_gate_side *side;
    const struct model_key *key;
};

struct embed_call;

struct embed_batch {
    struct embed_call *whole;
    struct call *call; /* NULL before its start */
    struct model_ticket ticket;
    size_t first, count;
    tn_value input;   /* NULL after the start */
    tn_value vectors; /* NULL until the batch has ended well */
    bool entering;    /* inside model_gate_enter */
    bool entered, ended;
};

struct embed_call {
    struct embedder *embedder;
    struct call *call;
    tn_value texts, options; /* borrowed from input */
    tn_value input, usage;
    size_t parallel, batch_count, next, open, dimensions, numbers;
    bool starting;       /* embed_start_batches is on the stack */
    struct error failed; /* the first failure */
    struct embed_batch batches[];
};

bool model_embed_is_wanted(tn_value input) { return value_is(value_get(input, "embed"), TN_ARRAY); }

/* ---- The request ---- */

struct embed_limits {
    size_t texts, bytes, parallel;
};

static int32_t read_batch_member(tn_value batch, const char *name, size_t most, size_t *out, struct error *error) {
    tn_value member = value_get(batch, name);
    if (!member || value_is(member, TN_NULL)) return TN_OK;
    int64_t number;
    if (!value_as_int(member, &number) || number < 1 || number > (int64_t)most)
        return error_set(error, TN_INVALID, "INVALID_REQUEST", "`batch.%s`: expected an integer from 1 to %zu", name,
                         most);
    *out = (size_t)number;
    return TN_OK;
}

static int32_t read_limits(const struct embedder *embedder, tn_value input, struct embed_limits *out,
                           struct error *error) {
    static const char *const names[] = {"texts", "bytes", "parallel"};
    tn_value batch = value_get(input, "batch");
    *out = (struct embed_limits){MODEL_EMBED_BATCH_TEXTS, MODEL_EMBED_BATCH_BYTES, MODEL_EMBED_PARALLEL};
    if (batch && !value_is(batch, TN_OBJECT))
        return error_set(error, TN_INVALID, "INVALID_REQUEST",
                         "`batch`: found %s, expected an object with texts, bytes or parallel",
                         value_kind_name(value_kind(batch)));
    for (size_t i = 0; i < value_count(batch); i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            known |= value_text_is(value_key_at(batch, i), names[k]);
        if (!known)
            return error_set(error, TN_INVALID, "INVALID_REQUEST",
                             "`batch` has no member `%.80s`; it has texts, bytes "
                             "and parallel",
                             value_chars(value_key_at(batch, i), NULL));
    }
    int32_t status = read_batch_member(batch, "texts", MODEL_EMBED_BATCH_TEXTS_MAX, &out->texts, error);
    if (status == TN_OK) status = read_batch_member(batch, "bytes", MODEL_EMBED_BYTES_MAX, &out->bytes, error);
    if (status == TN_OK) status = read_batch_member(batch, "parallel", MODEL_EMBED_PARALLEL_MAX, &out->parallel, error);
    if (out->texts > embedder->texts_max) out->texts = embedder->texts_max;
    return status;
}

static int32_t check_texts(tn_value texts, struct error *error) {
    size_t count = value_count(texts), bytes = 0;
    if (count == 0 || count > MODEL_EMBED_TEXTS_MAX)
        return error_set(error, TN_INVALID, count ? "LIMIT" : "INVALID_REQUEST",
                         "`embed`: found %zu texts, expected 1 to %d", count, MODEL_EMBED_TEXTS_MAX);
    for (size_t i = 0; i < count; i++) {
        size_t length = 0;
        if (!value_is(value_at(texts, i), TN_STRING))
            return error_set(error, TN_INVALID, "INVALID_REQUEST", "`embed`, item %zu: found %s, expected a text", i,
                             value_kind_name(value_kind(value_at(texts, i))));
        (void)value_chars(value_at(texts, i), &length);
        bytes += length;
    }
    if (bytes > MODEL_EMBED_BYTES_MAX)
        return error_set(error, TN_LIMIT, "LIMIT", "`embed`: the texts have %zu bytes, expected at most %d", bytes,
                         MODEL_EMBED_BYTES_MAX);
    return TN_OK;
}

/* Fills `out` (or only counts, if it is NULL). A text that is longer than a batch may be is sent alone. */
static size_t split_texts(tn_value texts, const struct embed_limits *limits, struct embed_batch *out) {
    size_t batches = 0, count = value_count(texts), used = 0, bytes = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = 0;
        (void)value_chars(value_at(texts, i), &length);
        if (used == 0 || used == limits->texts || bytes + length > limits->bytes) {
            batches++;
            used = bytes = 0;
            if (out) out[batches - 1].first = i;
        }
        used++;
        bytes += length;
        if (out) out[batches - 1].count = used;
    }
    return batches;
}

static tn_value batch_input(const struct embed_batch *batch) {
    const struct embed_call *self = batch->whole;
    tn_value texts = value_array_reserve(batch->count);
    for (size_t i = 0; i < batch->count; i++)
        texts = value_push_take(texts, value_ref(value_at(self->texts, batch->first + i)));
    tn_value input = value_set_take(value_object_reserve(2), "embed", texts);
    return self->options ? value_set_take(input, "options", value_ref(self->options)) : input;
}

/* ---- Results ---- */

/* Adds the numbers of a batch's usage. */
static void add_usage(struct embed_call *self, tn_value usage) {
    if (!value_is(usage, TN_OBJECT)) return;
    for (size_t i = 0; i < value_count(usage); i++) {
        tn_value key = value_key_at(usage, i), number = value_value_at(usage, i);
        tn_value before = value_get_key(self->usage, key), sum = NULL;
        int64_t integer;
        if (!before)
            sum = value_ref(number);
        else if (value_is(before, TN_INT) && value_is(number, TN_INT))
            sum = value_int(__builtin_add_overflow(value_to_int(before), value_to_int(number), &integer) ? INT64_MAX
                                                                                                         : integer);
        else if (value_is_number(before) && value_is_number(number))
            sum = value_double(value_to_double(before) + value_to_double(number));
        if (sum) self->usage = value_set_key_take(self->usage, value_ref(key), sum);
    }
}

static int32_t check_vector(struct embed_call *self, const struct embed_batch *batch, size_t index, tn_value vector,
                            struct error *error) {
    size_t count = value_is(vector, TN_ARRAY) ? value_count(vector) : 0, at = batch->first + index;
    if (count == 0)
        return error_set(error, TN_INVALID, "INVALID_RESPONSE", "the embedding of text %zu is not a list of numbers",
                         at);
    if (self->dimensions == 0) self->dimensions = count;
    if (count != self->dimensions)
        return error_set(error, TN_INVALID, "INVALID_RESPONSE",
                         "the embedding of text %zu has %zu numbers, those before have %zu", at, count,
                         self->dimensions);
    for (size_t i = 0; i < count; i++)
        if (!value_is_number(value_at(vector, i)))
            return error_set(error, TN_INVALID, "INVALID_RESPONSE",
                             "the embedding of text %zu: item %zu: found %s, expected a number", at, i,
                             value_kind_name(value_kind(value_at(vector, i))));
    self->numbers += count;
    if (self->numbers > MODEL_EMBED_NUMBERS_MAX)
        return error_set(error, TN_LIMIT, "LIMIT",
                         "%zu embeddings of %zu numbers are too large for one call, expected at most %d numbers in "
                         "all; embed fewer texts at once",
                         value_count(self->texts), count, MODEL_EMBED_NUMBERS_MAX);
    return TN_OK;
}

static int32_t take_vectors(struct embed_call *self, struct embed_batch *batch, tn_value output, struct error *error) {
    tn_value vectors = value_get(output, "embeddings");
    size_t found = value_is(vectors, TN_ARRAY) ? value_count(vectors) : 0;
    int32_t status = TN_OK;
    if (found != batch->count)
        return error_set(error, TN_INVALID, "INVALID_RESPONSE", "the model returned %zu embeddings for %zu texts",
                         found, batch->count);
    for (size_t i = 0; status == TN_OK && i < found; i++)
        status = check_vector(self, batch, i, value_at(vectors, i), error);
    if (status == TN_OK) batch->vectors = value_ref(vectors);
    add_usage(self, value_get(output, "usage"));
    return status;
}

/* Keeps the first failure, and says which texts it is about. */
static void fail_batch(struct embed_call *self, const struct embed_batch *batch, const struct error *error) {
    if (self->failed.code) return;
    error_copy(&self->failed, error);
    if (self->batch_count == 1) return;
    tn_value more = error->more ? value_ref(error->more) : NULL;
    error_set(&self->failed, TN_FAILED, error->code, "texts %zu to %zu of %zu: %s", batch->first,
              batch->first + batch->count - 1, value_count(self->texts), error->message);
    value_unref(self->failed.more);
    self->failed.more = more;
}

static struct model_gate_side *batch_side(const struct embed_batch *batch) { return batch->whole->embedder->side; }

static void cancel_batches(struct embed_call *self) {
    for (size_t i = 0; i < self->next; i++) {
        struct embed_batch *batch = &self->batches[i];
        if (batch->ended) continue;
        if (batch->call) {
            call_cancel(batch->call);
            continue;
        }
        batch->ended = true; /* it waits at the gate */
        model_gate_leave(batch_side(batch), &batch->ticket, -1);
        self->open--;
    }
}

/* ---- Batches ---- */

static void embed_call_free(struct embed_call *self) {
    for (size_t i = 0; i < self->batch_count; i++) {
        call_free(self->batches[i].call);
        value_unref(self->batches[i].input);
        value_unref(self->batches[i].vectors);
    }
    value_unref(self->input);
    value_unref(self->usage);
    error_finish(&self->failed);
    callable_unref(&self->embedder->callable);
    mem_free(self);
}

static void embed_call_end(struct embed_call *self) {
    uint64_t token = call_token(self->call);
    call_set_data(self->call, NULL);
    if (self->failed.code) {
        (void)call_fail(token, &self->failed);
    } else {
        tn_value vectors = value_array_reserve(value_count(self->texts));
        for (size_t i = 0; i < self->batch_count; i++)
            for (size_t k = 0; k < self->batches[i].count; k++)
                vectors = value_push_take(vectors, value_ref(value_at(self->batches[i].vectors, k)));
        tn_value output = value_set_take(value_object_reserve(2), "embeddings", vectors);
        output = value_set_take(output, "usage", value_ref(self->usage));
        (void)call_complete(token, output);
        value_unref(output);
    }
    embed_call_free(self);
}

/* Reports to the gate what the request used; -1 if it is not known. */
static void batch_leave_gate(struct embed_batch *batch) {
    bool completed = call_outcome(batch->call) == CALL_COMPLETED;
    tn_value usage = completed ? value_get(call_output(batch->call), "usage") : NULL;
    struct usage used;
    if (!batch->ticket.gate) return;
    usage_from_value(&used, usage);
    model_gate_leave(batch_side(batch), &batch->ticket, usage ? usage_tokens(&used) : -1);
}

static void batch_take_end(struct embed_batch *batch) {
    struct embed_call *self = batch->whole;
    struct error error = ERROR_INIT;
    batch->ended = true;
    batch_leave_gate(batch);
    self->open--;
    if (call_outcome(batch->call) == CALL_COMPLETED)
        (void)take_vectors(self, batch, call_output(batch->call), &error);
    else if (call_outcome(batch->call) == CALL_INTERRUPTED)
        error_set(&error, TN_UNSUPPORTED, "UNSUPPORTED", "a model that embeds texts cannot ask a question");
    else if (call_error(batch->call) && call_error(batch->call)->code)
        error_copy(&error, call_error(batch->call));
    else
        error_set(&error, TN_CANCELLED, "CANCELLED", "the call was cancelled");
    if (error.code) fail_batch(self, batch, &error);
    error_finish(&error);
    if (self->failed.code) cancel_batches(self);
}

static tn_value batch_context(struct call *call) {
    return call_context(((struct embed_batch *)call_owner(call))->whole->call);
}

static tn_value batch_run_value(struct call *call) {
    struct call *whole = ((struct embed_batch *)call_owner(call))->whole->call;
    const struct call_ops *ops = call_ops_of(whole);
    return ops->run_value ? ops->run_value(whole) : NULL;
}

static void batch_ended(struct call *call);

static const struct call_ops batch_ops = {.ended = batch_ended, .context = batch_context, .run_value = batch_run_value};

static void embed_start_batches(struct embed_call *self);

static void batch_start(struct embed_batch *batch) {
    struct embed_call *self = batch->whole;
    tn_value input = batch->input;
    batch->input = NULL;
    batch->call = call_new(call_loop(self->call), self->embedder->provider, &batch_ops, batch);
    if (call_start(batch->call, input)) batch_take_end(batch);
    value_unref(input);
}

/* After a failure, cancel_batches ends the batch. */
static void batch_on_enter(struct model_ticket *ticket) {
    struct embed_batch *batch = CONTAINER_OF(ticket, struct embed_batch, ticket);
    struct embed_call *self = batch->whole;
    batch->entered = true;
    if (batch->entering || self->failed.code) return;
    batch_start(batch);
    if (batch->ended && !self->starting) embed_start_batches(self);
}

/* Returns false if the queue of the key is full: the call has failed. */
static bool batch_enter_gate(struct embed_batch *batch) {
    const struct model_key *key = batch->whole->embedder->key;
    struct error error = ERROR_INIT;
    uint32_t ahead = 0;
    batch->entered = !key || !key->name;
    if (batch->entered) return true;
    batch->ticket.enter = batch_on_enter;
    batch->entering = true;
    bool accepted = model_gate_enter(
        batch_side(batch), key, key->limits.tokens ? usage_estimate_tokens(batch->input) : 0, &batch->ticket, &ahead);
    batch->entering = false;
    if (accepted) return true;
    model_gate_set_full(key, &error);
    batch->ended = true;
    batch->whole->open--;
    fail_batch(batch->whole, batch, &error);
    error_finish(&error);
    cancel_batches(batch->whole);
    return false;
}

/* Starts batches as far as `parallel` allows; ends the call, and frees `self`, if none is left or open. */
static void embed_start_batches(struct embed_call *self) {
    self->starting = true;
    while (!self->failed.code && self->next < self->batch_count && self->open < self->parallel) {
        struct embed_batch *batch = &self->batches[self->next++];
        batch->input = batch_input(batch);
        self->open++;
        if (batch_enter_gate(batch) && batch->entered && !batch->ended) batch_start(batch);
    }
    self->starting = false;
    if (self->open == 0) embed_call_end(self);
}

static void batch_ended(struct call *call) {
    struct embed_batch *batch = call_owner(call);
    struct embed_call *self = batch->whole;
    batch_take_end(batch);
    if (!self->starting) embed_start_batches(self);
}

/* ---- The callable ---- */

static int32_t embedder_start(struct callable *callable, struct call *call, tn_value input) {
    struct embedder *embedder = (struct embedder *)callable;
    struct embed_limits limits;
    struct error error = ERROR_INIT;
    tn_value texts = value_get(input, "embed");
    int32_t status = check_texts(texts, &error);
    if (status == TN_OK) status = read_limits(embedder, input, &limits, &error);
    if (status != TN_OK) {
        (void)call_fail(call_token(call), &error);
        error_finish(&error);
        return TN_OK;
    }
    size_t count = split_texts(texts, &limits, NULL);
    struct embed_call *self = mem_zalloc(sizeof *self + count * sizeof *self->batches);
    self->embedder = (struct embedder *)(void *)callable_ref(callable);
    self->call = call;
    self->input = value_ref(input);
    self->texts = texts;
    self->options = value_get(input, "options");
    self->usage = value_object();
    self->parallel = limits.parallel;
    self->batch_count = count;
    (void)split_texts(texts, &limits, self->batches);
    for (size_t i = 0; i < count; i++) self->batches[i].whole = self;
    call_set_data(call, self);
    embed_start_batches(self);
    return TN_OK;
}

static void embedder_cancel(struct callable *callable, struct call *call) {
    struct embed_call *self = call_data(call);
    (void)callable;
    if (!self) return;
    if (!self->failed.code) error_set(&self->failed, TN_CANCELLED, "CANCELLED", "the call was cancelled");
    cancel_batches(self);
    if (self->open == 0 && !self->starting) embed_call_end(self); /* all of them waited at the gate */
}

static void embedder_free(struct callable *callable) {
    struct embedder *embedder = (struct embedder *)callable;
    callable_unref(embedder->provider);
    mem_free(embedder);
}

static const struct callable_ops embedder_ops = {
    .start = embedder_start, .cancel = embedder_cancel, .free = embedder_free};

/* The limit of a rule {if?: SCHEMA, maxItems} that applies to the configuration; 0 if it does not apply. */
static int64_t batch_rule_limit(tn_value rule, tn_value options) {
    tn_value condition = value_get(rule, "if"), most = value_get(rule, "maxItems");
    struct schema *schema = NULL;
    if (!value_is(most, TN_INT) || value_to_int(most) < 1) return 0;
    if (condition && schema_compile(condition, NULL, &schema, NULL) != TN_OK) return 0;
    bool applies = !schema || schema_validate(schema, options, NULL) == TN_OK;
    schema_unref(schema);
    return applies ? value_to_int(most) : 0;
}

/* The most texts of one request: `maxItems` of `embed` in the provider's input schema, and its rules. */
static size_t manifest_texts_max(tn_value manifest, tn_value options) {
    tn_value embed = value_get(value_get(value_get(manifest, "input"), "properties"), "embed");
    tn_value most = value_get(embed, "maxItems"), rules = value_get(embed, "x-tenon-batches");
    int64_t limit = value_is(most, TN_INT) ? value_to_int(most) : MODEL_EMBED_BATCH_TEXTS_MAX;
    for (size_t i = 0; i < (value_is(rules, TN_ARRAY) ? value_count(rules) : 0); i++) {
        int64_t other = batch_rule_limit(value_at(rules, i), options);
        if (other > 0 && other < limit) limit = other;
    }
    return limit < 1 ? 1 : limit < MODEL_EMBED_BATCH_TEXTS_MAX ? (size_t)limit : MODEL_EMBED_BATCH_TEXTS_MAX;
}

struct callable *model_embedder_new(struct callable *provider, tn_value options, struct model_gate_side *side,
                                    const struct model_key *key) {
    struct embedder *embedder = mem_zalloc(sizeof *embedder);
    const struct component *component = instance_component(provider);
    embedder->callable = (struct callable){.ops = &embedder_ops, .references = 1};
    embedder->provider = callable_ref(provider);
    embedder->texts_max = manifest_texts_max(component ? component->info->manifest : NULL, options);
    embedder->side = side;
    embedder->key = key;
    return &embedder->callable;
}
