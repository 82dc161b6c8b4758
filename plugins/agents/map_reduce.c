/*
 * map_reduce.c - `map_reduce`: calls a model for each item of a list, then for batches of the answers.
 *
 * It generates a document and runs it as a nested run: START → map, one activation for each item; map → batch; batch →
 * reduce, one activation for each batch; reduce → batch; and END when one answer is left. This node renders the
 * templates, because they read its channels. It passes the prompts of the first round to the nested run, and the reduce
 * prompt with a marker, which `map_reduce.batch` replaces by answers.
 */
#include "chat.h"

#define MARKER "\u241eresults\u241e" /* in place of {results}; U+241E, so that prompts do not contain it */

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

static void map_reduce_put_channels(tn_builder *out) {
    static const char channels[] = "[{\"name\": \"items\", \"type\": \"last_value\", \"default\": []},"
                                   " {\"name\": \"prompt\", \"type\": \"last_value\", \"default\": \"\"},"
                                   " {\"name\": \"system_prompt\", \"type\": \"last_value\", \"default\": \"\"},"
                                   " {\"name\": \"made\", \"type\": \"append\"},"
                                   " {\"name\": \"taken\", \"type\": \"last_value\", \"default\": 0},"
                                   " {\"name\": \"batches\", \"type\": \"last_value\", \"default\": []},"
                                   " {\"name\": \"answer\", \"type\": \"last_value\", \"default\": \"\"},"
                                   " {\"name\": \"usage\", \"type\": \"append\"}]";
    tn_value value = tn_from_json(channels, sizeof(channels) - 1);
    tn_put_take(out, "channels", value);
}

static void map_reduce_put_edges(tn_builder *out) {
    static const char edges[] =
        "[{\"from\": \"START\", \"type\": \"map\", \"over\": \"state.items\", \"as\": \"item\", \"to\": \"map\","
        " \"empty\": \"END\"},"
        " {\"from\": \"map\", \"to\": \"batch\"},"
        " {\"from\": \"batch\", \"type\": \"map\", \"over\": \"state.batches\", \"as\": \"part\", \"to\": \"reduce\","
        " \"empty\": \"END\"},"
        " {\"from\": \"reduce\", \"to\": \"batch\"}]";
    tn_value value = tn_from_json(edges, sizeof(edges) - 1);
    tn_put_take(out, "edges", value);
}

static void map_reduce_put_llm(tn_builder *out, tn_value config, const char *id, tn_value model, const char *prompt) {
    static const char *const passed[] = {"options", "api_key", "base_url", "headers", "timeout_ms"};
    tn_put_begin(out, NULL, TN_OBJECT);
    tn_put_text(out, "id", id);
    tn_put_text(out, "type", "llm");
    tn_put_begin(out, "config", TN_OBJECT);
    if (model != NULL) tn_put(out, "model", model);
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        tn_value value = tn_get(config, passed[i]);
        if (value != NULL) tn_put(out, passed[i], value);
    }
    tn_put_text(out, "system_prompt", "{system_prompt}");
    tn_put_text(out, "prompt", prompt);
    tn_put_text(out, "output_key", "made");
    tn_put_text(out, "usage_key", "usage");
    tn.value->end(out);
    if (tn_get(config, "retry") != NULL) tn_put(out, "retry", tn_get(config, "retry"));
    tn.value->end(out);
}

static void map_reduce_put_batch(tn_builder *out, tn_value config) {
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

static tn_value map_reduce_build_document(tn_value config) {
    tn_value model = tn_get(config, "model"), reduce = tn_get(config, "reduce_model");
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "version", "1.0");
    tn_put_begin(out, "agent", TN_OBJECT);
    tn_put_text(out, "name", "map_reduce");
    tn_put_int(out, "recursion_limit",
               100); /* two super-steps for each round; each round at least halves the number of answers */
    tn_put_int(out, "concurrency", tn_get_int(config, "concurrency", 8));
    tn.value->end(out);
    map_reduce_put_channels(out);
    tn_put_begin(out, "nodes", TN_ARRAY);
    map_reduce_put_llm(out, config, "map", model, "{item}");
    map_reduce_put_batch(out, config);
    map_reduce_put_llm(out, config, "reduce", reduce != NULL ? reduce : model, "{part}");
    tn.value->end(out);
    map_reduce_put_edges(out);
    tn.value->end(out);
    return tn_finish(out);
}

/* ---- The node ---- */

/* `{results}` is not a channel, so it is replaced by the marker before the template is bound. */
static int32_t map_reduce_bind_prompt(const char *prompt, tn_binder *binder, uint32_t *template_index) {
    static const char placeholder[] = "{results}";
    struct tn_text_buffer out = {0};
    const char *at;
    bool any = false;
    while ((at = strstr(prompt, placeholder)) != NULL) {
        bool escaped = at > prompt && at[-1] == '{'; /* {{results}} is text, not a placeholder */
        tn_text_append_n(&out, prompt, (uint64_t)(at - prompt));
        tn_text_append(&out, escaped ? placeholder : MARKER);
        any |= !escaped;
        prompt = at + sizeof(placeholder) - 1;
    }
    tn_text_append(&out, prompt);
    tn_value text = tn_text_finish(&out);
    int32_t status = text == NULL ? TN_NO_MEMORY
                     : !any       ? agents_refuse("`reduce_prompt` has no `{results}`; "
                                                        "insert it where the answers belong")
                                  : tn.eval->bind_template(binder, tn_chars(text, NULL), TN_Z, template_index);
    tn_release(text);
    return status;
}

static int32_t map_reduce_bind(struct map_reduce *node, tn_value config, tn_binder *binder) {
    int32_t status = agents_require_graph();
    if (status == TN_OK) status = agents_bind_read(config, "over_key", binder, &node->items);
    if (status == TN_OK) status = agents_bind_template(config, "system_prompt", binder, &node->system);
    if (status == TN_OK) status = agents_bind_template(config, "map_prompt", binder, &node->map);
    if (status == TN_OK)
        status = map_reduce_bind_prompt(tn_get_text(config, "reduce_prompt", ""), binder, &node->reduce);
    if (status == TN_OK) status = agents_bind_write(config, "output_key", binder, &node->output);
    if (status == TN_OK) status = agents_bind_write(config, "mapped_key", binder, &node->mapped);
    if (status == TN_OK) status = agents_bind_write(config, "usage_key", binder, &node->usage);
    if (status != TN_OK) return status;
    tn_value document = map_reduce_build_document(config);
    status =
        document != NULL ? agents_graph->bind_value(binder, document, "map_reduce", TN_Z, &node->callee) : TN_NO_MEMORY;
    tn_release(document);
    return status;
}

static int32_t map_reduce_create(tn_value config, tn_binder *binder, void **self) {
    struct map_reduce *node = agents_alloc_zeroed(sizeof(*node));
    if (node == NULL) return TN_NO_MEMORY;
    node->items_name = tn_get_text(config, "over_key", "");
    int32_t status = map_reduce_bind(node, config, binder);
    if (status == TN_OK)
        *self = node;
    else
        agents_release(node);
    return status;
}

static int32_t map_reduce_write_all(const struct map_task *state, tn_value result) {
    const struct map_reduce *node = state->node;
    int32_t status = tn_write(state->task, node->output, tn_get(result, "answer"));
    if (status == TN_OK && node->mapped != TN_UNBOUND) {
        tn_value answers = tn_get(result, "made");
        tn_builder *out = tn_builder_new();
        tn.value->begin(out, TN_ARRAY);
        for (uint64_t i = 0; i < state->count; i++) tn_put(out, NULL, tn.value->at(answers, i));
        tn.value->end(out);
        status = tn_write_take(state->task, node->mapped, tn_finish(out));
    }
    if (status == TN_OK && node->usage != TN_UNBOUND)
        status = tn_write_take(state->task, node->usage, chat_usage_sum(tn_get(result, "usage")));
    return status;
}

static int32_t map_reduce_on_result(void *user, int32_t status, tn_value result) {
    struct map_task *state = user;
    tn_task task = state->task;
    if (status != TN_OK) {
        (void)agents_fail_with(task, status, result);
    } else {
        status = map_reduce_write_all(state, result);
        if (status == TN_OK)
            (void)tn_done(task);
        else
            (void)agents_fail(task, "CHANNEL", NULL, "a channel did not accept the result (status %d)", (int)status);
    }
    agents_release(state);
    return TN_OK;
}

static tn_value map_reduce_render(tn_task task, uint32_t template_index, tn_value item) {
    tn_value variables = tn_build("{s:v}", "item", item);
    tn_value text = variables != NULL ? tn_render(task, template_index, variables) : NULL;
    tn_release(variables);
    return text;
}

/* Returns {items: the prompts of the first round, prompt, system_prompt}. NULL if the task has failed. */
static tn_value map_reduce_build_input(const struct map_reduce *node, tn_task task, tn_value items) {
    bool failed = false;
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_begin(out, "items", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(items); !failed && i < count; i++) {
        tn_value prompt = map_reduce_render(task, node->map, tn.value->at(items, i));
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
    tn_value inner_input = tn_finish(out);
    tn_release(prompt);
    tn_release(system);
    if (!failed) return inner_input;
    tn_release(inner_input);
    return NULL;
}

static int32_t map_reduce_start(void *self, tn_task task, tn_value input) {
    const struct map_reduce *node = self;
    (void)input;
    tn_value items = tn_read(task, node->items);
    if (tn.value->kind(items) != TN_ARRAY) {
        int32_t status = agents_fail(task, "TYPE", NULL, "the channel `%.80s` holds %s; expected a list of items",
                                     node->items_name, tn_kind_name(items));
        tn_release(items);
        return status;
    }
    tn_value inner_input = map_reduce_build_input(node, task, items);
    struct map_task *state = inner_input != NULL ? agents_alloc_zeroed(sizeof(*state)) : NULL;
    int32_t status = inner_input == NULL ? TN_FAILED : state == NULL ? TN_NO_MEMORY : TN_OK;
    if (state != NULL) {
        *state = (struct map_task){node, task, tn.value->count(items)};
        status = tn.task->call(task, node->callee, inner_input, NULL, map_reduce_on_result, state, NULL);
    }
    if (status != TN_OK) agents_release(state);
    tn_release(inner_input);
    tn_release(items);
    return status;
}

TN_COMPONENT(map_reduce, "map_reduce", map_reduce_create, map_reduce_start, NULL, NULL, agents_release)

/* ---- Batches ---- */

struct batch {
    uint32_t from, taken_read, taken_write, prompt, batches, output;
    uint64_t size;
};

static int32_t batch_create(tn_value config, tn_binder *binder, void **self) {
    struct batch *batch = agents_alloc_zeroed(sizeof(*batch));
    if (batch == NULL) return TN_NO_MEMORY;
    batch->size = (uint64_t)tn_get_int(config, "size", 10);
    int32_t status = agents_bind_read(config, "from_key", binder, &batch->from);
    if (status == TN_OK) status = agents_bind_read(config, "taken_key", binder, &batch->taken_read);
    if (status == TN_OK) status = agents_bind_write(config, "taken_key", binder, &batch->taken_write);
    if (status == TN_OK) status = agents_bind_read(config, "prompt_key", binder, &batch->prompt);
    if (status == TN_OK) status = agents_bind_write(config, "batches_key", binder, &batch->batches);
    if (status == TN_OK) status = agents_bind_write(config, "output_key", binder, &batch->output);
    if (status == TN_OK)
        *self = batch;
    else
        agents_release(batch);
    return status;
}

/* Returns the prompt with its marker replaced by the answers in [from, to). */
static tn_value batch_build_prompt(const char *prompt, tn_value answers, uint64_t from, uint64_t to) {
    struct tn_text_buffer out = {0};
    const char *marker;
    while ((marker = strstr(prompt, MARKER)) != NULL) {
        tn_text_append_n(&out, prompt, (uint64_t)(marker - prompt));
        for (uint64_t i = from; i < to; i++) {
            const uint64_t number = i - from + 1;
            tn_text_append_format(&out, "%s%llu. ", i > from ? "\n" : "", (unsigned long long)number);
            tn_text_append_value(&out, tn.value->at(answers, i));
        }
        prompt = marker + strlen(MARKER);
    }
    tn_text_append(&out, prompt);
    return tn_text_finish(&out);
}

static tn_value batch_build_prompts(const struct batch *batch, const char *prompt, tn_value answers, uint64_t from) {
    uint64_t count = tn.value->count(answers);
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_ARRAY);
    for (uint64_t at = from; at < count; at += batch->size)
        tn_put_take(out, NULL,
                    batch_build_prompt(prompt, answers, at, at + batch->size < count ? at + batch->size : count));
    tn.value->end(out);
    return tn_finish(out);
}

static int32_t batch_start(void *self, tn_task task, tn_value input) {
    const struct batch *batch = self;
    int64_t taken = 0;
    (void)input;
    tn_value answers = tn_read(task, batch->from), taken_value = tn_read(task, batch->taken_read);
    tn_value prompt = tn_read_text(task, batch->prompt), prompts = NULL;
    int32_t status = prompt != NULL ? TN_OK : TN_FAILED;
    uint64_t count = tn.value->kind(answers) == TN_ARRAY ? tn.value->count(answers) : 0;
    (void)tn.value->as_int(taken_value, &taken);
    if (status == TN_OK && (taken < 0 || (uint64_t)taken > count))
        status = agents_fail(task, "TYPE", NULL,
                             "`taken_key` holds %lld; expected 0 to %llu, the number of answers in `from_key`",
                             (long long)taken, (unsigned long long)count);
    bool last = taken > 0 && count - (uint64_t)taken <= 1;
    if (status == TN_OK && last && count > 0) status = tn_write(task, batch->output, tn.value->at(answers, count - 1));
    if (status == TN_OK) {
        prompts = batch_build_prompts(batch, tn_chars(prompt, NULL), answers, last ? count : (uint64_t)taken);
        status = tn_write_take(task, batch->batches, prompts);
    }
    if (status == TN_OK) status = tn_write_int(task, batch->taken_write, (int64_t)count);
    tn_release(answers);
    tn_release(taken_value);
    tn_release(prompt);
    return status == TN_OK ? tn_done(task) : status;
}

TN_COMPONENT(batch, "map_reduce.batch", batch_create, batch_start, NULL, NULL, agents_release)
