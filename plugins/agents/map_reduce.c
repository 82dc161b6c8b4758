/*
 * map_reduce.c - `map_reduce`: a model asked of each item of a list, and of all that came of it.
 *
 * It makes a document and runs it inside: START → map, a task for each item; map → batch; batch → reduce, a task for
 * each batch; reduce → batch; and END when one answer is left. Prompts are filled in out here, where the channels are:
 * the items go in as the prompts of the first round, and what is to be reduced as one with a marker, in the place of
 * which `map_reduce.batch` puts the answers.
 */
#include "chat.h"

#define MARKER "\u241eresults\u241e" /* U+241E, a picture of a separator, which no prompt has */

struct map_reduce {
    uint32_t callee, items, system, map, reduce;
    uint32_t output, mapped, usage;
    const char *items_name;
};

struct map_task {
    const struct map_reduce *node;
    tn_task task;
    uint64_t count;
};

/* ---- The document ---- */

static void put_channels(tn_builder *out) {
    static const char channels[] = "[{\"name\": \"items\", \"type\": \"last_value\", \"default\": []},"
                                   " {\"name\": \"prompt\", \"type\": \"last_value\", \"default\": \"\"},"
                                   " {\"name\": \"system_prompt\", \"type\": \"last_value\", \"default\": \"\"},"
                                   " {\"name\": \"made\", \"type\": \"append\"},"
                                   " {\"name\": \"taken\", \"type\": \"last_value\", \"default\": 0},"
                                   " {\"name\": \"batches\", \"type\": \"last_value\", \"default\": []},"
                                   " {\"name\": \"answer\", \"type\": \"last_value\", \"default\": \"\"},"
                                   " {\"name\": \"usage\", \"type\": \"append\"}]";
    tn_value value = NULL;
    (void)tn.value->from_json(channels, sizeof(channels) - 1, &value);
    tn_put_take(out, "channels", value);
}

static void put_edges(tn_builder *out) {
    static const char edges[] =
        "[{\"from\": \"START\", \"type\": \"map\", \"over\": \"state.items\", \"as\": \"item\", \"to\": \"map\","
        " \"empty\": \"END\"},"
        " {\"from\": \"map\", \"to\": \"batch\"},"
        " {\"from\": \"batch\", \"type\": \"map\", \"over\": \"state.batches\", \"as\": \"part\", \"to\": \"reduce\","
        " \"empty\": \"END\"},"
        " {\"from\": \"reduce\", \"to\": \"batch\"}]";
    tn_value value = NULL;
    (void)tn.value->from_json(edges, sizeof(edges) - 1, &value);
    tn_put_take(out, "edges", value);
}

static void put_llm(tn_builder *out, tn_value config, const char *id, tn_value model, const char *prompt) {
    static const char *const passed[] = {"options", "api_key", "base_url", "headers", "timeout_ms"};
    tn_put_begin(out, NULL, TN_OBJECT);
    tn_put_text(out, "id", id);
    tn_put_text(out, "type", "llm");
    tn_put_begin(out, "config", TN_OBJECT);
    if (model != NULL) tn_put(out, "model", model);
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        tn_value value = tn.value->get(config, passed[i]);
        if (value != NULL) tn_put(out, passed[i], value);
    }
    tn_put_text(out, "system_prompt", "{system_prompt}");
    tn_put_text(out, "prompt", prompt);
    tn_put_text(out, "output_key", "made");
    tn_put_text(out, "usage_key", "usage");
    tn.value->end(out);
    if (tn.value->get(config, "retry") != NULL) tn_put(out, "retry", tn.value->get(config, "retry"));
    tn.value->end(out);
}

static void put_batch(tn_builder *out, tn_value config) {
    tn_put_begin(out, NULL, TN_OBJECT);
    tn_put_text(out, "id", "batch");
    tn_put_text(out, "type", "map_reduce.batch");
    tn_put_begin(out, "config", TN_OBJECT);
    tn_put_text(out, "from_key", "made");
    tn_put_text(out, "taken_key", "taken");
    tn_put_text(out, "prompt_key", "prompt");
    tn_put_text(out, "batches_key", "batches");
    tn_put_text(out, "output_key", "answer");
    tn_put_int(out, "size", tn_get_int(config, "batch", 10));
    tn.value->end(out);
    tn.value->end(out);
}

static tn_value document_of(tn_value config) {
    tn_value model = tn.value->get(config, "model"), reduce = tn.value->get(config, "reduce_model");
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "version", "1.0");
    tn_put_begin(out, "agent", TN_OBJECT);
    tn_put_text(out, "name", "map_reduce");
    tn_put_int(out, "recursion_limit", 100); /* two steps a round, and a round at least halves what is left */
    tn_put_int(out, "concurrency", tn_get_int(config, "concurrency", 8));
    tn.value->end(out);
    put_channels(out);
    tn_put_begin(out, "nodes", TN_ARRAY);
    put_llm(out, config, "map", model, "{item}");
    put_batch(out, config);
    put_llm(out, config, "reduce", reduce != NULL ? reduce : model, "{part}");
    tn.value->end(out);
    put_edges(out);
    tn.value->end(out);
    return tn.value->finish(out);
}

/* ---- The node ---- */

/* The hole is no channel's: the marker stands in it from the beginning. */
static int32_t bind_reduce(const char *prompt, tn_binder *binder, uint32_t *template_index) {
    static const char hole[] = "{results}";
    struct text out = {0};
    const char *at;
    bool any = false;
    while ((at = strstr(prompt, hole)) != NULL) {
        bool doubled = at > prompt && at[-1] == '{'; /* {{results}} is text */
        text_add_n(&out, prompt, (uint64_t)(at - prompt));
        text_add(&out, doubled ? hole : MARKER);
        any |= !doubled;
        prompt = at + sizeof(hole) - 1;
    }
    text_add(&out, prompt);
    tn_value text = text_take(&out);
    int32_t status = text == NULL ? TN_NO_MEMORY
                     : !any       ? agents_refuse(binder, "`reduce_prompt` has no `{results}`, where what is to be "
                                                                "reduced goes; put it where the model is to read them")
                                  : tn.eval->bind_template(binder, tn_chars(text, NULL), template_index);
    tn_release(text);
    return status;
}

static int32_t bind_all(struct map_reduce *node, tn_value config, tn_binder *binder) {
    int32_t status = agents_needs(tn.eval, binder, TN_EVAL_DRAFT);
    if (status == TN_OK) status = agents_needs(agents_graph, binder, TN_GRAPH_DRAFT_2);
    if (status == TN_OK) status = agents_read(config, "over_key", binder, &node->items);
    if (status == TN_OK) status = agents_template(config, "system_prompt", binder, &node->system);
    if (status == TN_OK) status = agents_template(config, "map_prompt", binder, &node->map);
    if (status == TN_OK) status = bind_reduce(tn_get_text(config, "reduce_prompt", ""), binder, &node->reduce);
    if (status == TN_OK) status = agents_write(config, "output_key", binder, &node->output);
    if (status == TN_OK) status = agents_write(config, "mapped_key", binder, &node->mapped);
    if (status == TN_OK) status = agents_write(config, "usage_key", binder, &node->usage);
    if (status != TN_OK) return status;
    tn_value document = document_of(config);
    status = document != NULL ? agents_graph->bind_value(binder, document, "map_reduce", &node->callee) : TN_NO_MEMORY;
    tn_release(document);
    return status;
}

static int32_t map_reduce_create(tn_value config, tn_binder *binder, void **self) {
    struct map_reduce *node = agents_alloc(sizeof(*node));
    if (node == NULL) return TN_NO_MEMORY;
    node->items_name = tn_get_text(config, "over_key", "");
    int32_t status = bind_all(node, config, binder);
    if (status == TN_OK)
        *self = node;
    else
        agents_free(node);
    return status;
}

static int32_t write_all(const struct map_task *it, tn_value result) {
    const struct map_reduce *node = it->node;
    int32_t status = tn_write(it->task, node->output, tn.value->get(result, "answer"));
    if (status == TN_OK && node->mapped != TN_UNBOUND) {
        tn_value made = tn.value->get(result, "made");
        tn_builder *out = tn.value->builder();
        tn.value->begin(out, TN_ARRAY);
        for (uint64_t i = 0; i < it->count; i++) tn_put(out, NULL, tn.value->at(made, i));
        tn.value->end(out);
        status = tn_write_take(it->task, node->mapped, tn.value->finish(out));
    }
    if (status == TN_OK && node->usage != TN_UNBOUND)
        status = tn_write_take(it->task, node->usage, usage_sum(tn.value->get(result, "usage")));
    return status;
}

static void map_reduce_done(void *user, int32_t status, tn_value result) {
    struct map_task *it = user;
    tn_task task = it->task;
    if (status != TN_OK) {
        (void)agents_fail_with(task, status, result);
    } else {
        status = write_all(it, result);
        if (status == TN_OK)
            (void)tn_done(task);
        else
            (void)agents_fail(task, "CHANNEL", NULL, "a channel did not take what came of it (status %d)", (int)status);
    }
    agents_free(it);
}

static tn_value rendered(tn_task task, uint32_t template_index, tn_value item) {
    tn_value variables = agents_set_take(NULL, "item", tn_retain(item));
    tn_value text = variables != NULL ? tn_render(task, template_index, variables) : NULL;
    tn_release(variables);
    return text;
}

/* {items: the prompts of the first round, prompt, system_prompt}; NULL: the task has been failed. */
static tn_value given_of(const struct map_reduce *node, tn_task task, tn_value items) {
    bool failed = false;
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_OBJECT);
    tn_put_begin(out, "items", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(items); !failed && i < count; i++) {
        tn_value prompt = rendered(task, node->map, tn.value->at(items, i));
        failed = prompt == NULL;
        if (!failed) tn_put_take(out, NULL, prompt);
    }
    tn.value->end(out);
    tn_value prompt = failed ? NULL : tn_render(task, node->reduce, NULL);
    tn_value system = prompt == NULL               ? NULL
                      : node->system != TN_UNBOUND ? tn_render(task, node->system, NULL)
                                                   : tn_text("");
    if (prompt != NULL && system != NULL) {
        tn_put(out, "prompt", prompt);
        tn_put(out, "system_prompt", system);
    }
    failed = prompt == NULL || system == NULL;
    tn.value->end(out);
    tn_value given = tn.value->finish(out);
    tn_release(prompt);
    tn_release(system);
    if (!failed) return given;
    tn_release(given);
    return NULL;
}

static int32_t map_reduce_start(void *self, tn_task task, tn_value input) {
    const struct map_reduce *node = self;
    (void)input;
    tn_value items = tn_read(task, node->items);
    if (tn.value->kind(items) != TN_ARRAY) {
        int32_t status = agents_fail(task, "TYPE", NULL, "the channel `%.80s` holds %s, expected a list of items",
                                     node->items_name, tn_kind_name(items));
        tn_release(items);
        return status;
    }
    tn_value given = given_of(node, task, items);
    struct map_task *it = given != NULL ? agents_alloc(sizeof(*it)) : NULL;
    int32_t status = given == NULL ? TN_FAILED : it == NULL ? TN_NO_MEMORY : TN_OK;
    if (it != NULL) {
        *it = (struct map_task){node, task, tn.value->count(items)};
        status = tn.task->call(task, node->callee, given, map_reduce_done, it);
    }
    if (status != TN_OK) agents_free(it);
    tn_release(given);
    tn_release(items);
    return status;
}

TN_COMPONENT(map_reduce, "map_reduce", map_reduce_create, map_reduce_start, NULL, NULL, agents_free)

/* ---- Batches ---- */

struct batch {
    uint32_t from, taken_read, taken_write, prompt, batches, output;
    uint64_t size;
};

static int32_t batch_create(tn_value config, tn_binder *binder, void **self) {
    struct batch *batch = agents_alloc(sizeof(*batch));
    if (batch == NULL) return TN_NO_MEMORY;
    batch->size = (uint64_t)tn_get_int(config, "size", 10);
    int32_t status = agents_read(config, "from_key", binder, &batch->from);
    if (status == TN_OK) status = agents_read(config, "taken_key", binder, &batch->taken_read);
    if (status == TN_OK) status = agents_write(config, "taken_key", binder, &batch->taken_write);
    if (status == TN_OK) status = agents_read(config, "prompt_key", binder, &batch->prompt);
    if (status == TN_OK) status = agents_write(config, "batches_key", binder, &batch->batches);
    if (status == TN_OK) status = agents_write(config, "output_key", binder, &batch->output);
    if (status == TN_OK)
        *self = batch;
    else
        agents_free(batch);
    return status;
}

/* The prompt with the answers in [from, to) for its marker. */
static tn_value prompt_with(const char *prompt, tn_value made, uint64_t from, uint64_t to) {
    struct text out = {0};
    const char *marker;
    while ((marker = strstr(prompt, MARKER)) != NULL) {
        text_add_n(&out, prompt, (uint64_t)(marker - prompt));
        for (uint64_t i = from; i < to; i++) {
            const uint64_t number = i - from + 1;
            text_format(&out, "%s%llu. ", i > from ? "\n" : "", (unsigned long long)number);
            text_add_value(&out, tn.value->at(made, i));
        }
        prompt = marker + strlen(MARKER);
    }
    text_add(&out, prompt);
    return text_take(&out);
}

static tn_value batches_of(const struct batch *batch, const char *prompt, tn_value made, uint64_t from) {
    uint64_t count = tn.value->count(made);
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_ARRAY);
    for (uint64_t at = from; at < count; at += batch->size)
        tn_put_take(out, NULL, prompt_with(prompt, made, at, at + batch->size < count ? at + batch->size : count));
    tn.value->end(out);
    return tn.value->finish(out);
}

static int32_t batch_start(void *self, tn_task task, tn_value input) {
    const struct batch *batch = self;
    int64_t taken = 0;
    (void)input;
    tn_value made = tn_read(task, batch->from), seen = tn_read(task, batch->taken_read);
    tn_value prompt = tn_read_text(task, batch->prompt), fresh = NULL;
    int32_t status = prompt != NULL ? TN_OK : TN_FAILED;
    uint64_t count = tn.value->kind(made) == TN_ARRAY ? tn.value->count(made) : 0;
    (void)tn.value->as_int(seen, &taken);
    if (status == TN_OK && (taken < 0 || (uint64_t)taken > count))
        status = agents_fail(task, "TYPE", NULL, "`taken_key` holds %lld, expected 0 to %llu, as `from_key` has them",
                             (long long)taken, (unsigned long long)count);
    bool last = taken > 0 && count - (uint64_t)taken <= 1;
    if (status == TN_OK && last && count > 0) status = tn_write(task, batch->output, tn.value->at(made, count - 1));
    if (status == TN_OK) {
        fresh = batches_of(batch, tn_chars(prompt, NULL), made, last ? count : (uint64_t)taken);
        status = tn_write_take(task, batch->batches, fresh);
    }
    if (status == TN_OK) status = tn_write_int(task, batch->taken_write, (int64_t)count);
    tn_release(made);
    tn_release(seen);
    tn_release(prompt);
    return status == TN_OK ? tn_done(task) : status;
}

TN_COMPONENT(batch, "map_reduce.batch", batch_create, batch_start, NULL, NULL, agents_free)
