/*
 * bench_nodes.c - the components of the workloads (tests/bench), written against the raw contract.
 *
 * What is measured is the host, so a component does its arithmetic, its reads and its writes and nothing else: names
 * are resolved at create, channels are written by index, and no task allocates but for its value. It is also the
 * example of a plugin without <tenon/easy.h>.
 */
#include <stdlib.h>
#include <string.h>
#include <tenon.h>
#include <tenon/note.h>

static const tn_host *host;
static const tn_core_1 *core;
static const tn_value_1 *value;
static const tn_task_1 *task_api;

struct node {
    int32_t (*start)(struct node *node, tn_task task, tn_value input);
    uint32_t input, output;             /* channels */
    uint32_t count_read, count_written; /* the channel that counts the executions of `changes` */
    int64_t number;                     /* what append appends, how many events, how many turns */
    int32_t reads;                      /* there is an input channel */
    int32_t paced;
    tn_value constant; /* append's value; NULL: its input */
    struct emission *open;
};

/* ---- Arithmetic and lists -------------------------------------------------------------------------------------- */

static int32_t finish(struct node *node, tn_task task, tn_value result) {
    (void)task_api->write(task, node->output, result);
    value->release(result);
    (void)task_api->complete(task, NULL);
    return TN_OK;
}

static tn_value read_input(const struct node *node, tn_task task) {
    tn_value read = NULL;
    (void)task_api->read(task, node->input, &read);
    return read;
}

/* bench.add and bench.add_blocking: channel + 1. */
static int32_t add_start(struct node *node, tn_task task, tn_value input) {
    tn_value counter = read_input(node, task);
    int64_t number = 0;
    int32_t status = value->as_int(counter, &number);
    (void)input;
    value->release(counter);
    return status == TN_OK ? finish(node, task, value->make_int(host, number + 1)) : status;
}

static int32_t append_start(struct node *node, tn_task task, tn_value input) {
    (void)task_api->write(task, node->output, node->constant != NULL ? node->constant : input);
    (void)task_api->complete(task, NULL);
    return TN_OK;
}

static int32_t length_start(struct node *node, tn_task task, tn_value input) {
    tn_value list = read_input(node, task);
    int64_t count = (int64_t)value->count(list);
    (void)input;
    value->release(list);
    return finish(node, task, value->make_int(host, count));
}

/* bench.copy: what it reads. */
static int32_t copy_start(struct node *node, tn_task task, tn_value input) {
    (void)input;
    return finish(node, task, read_input(node, task));
}

static int32_t noop_start(struct node *node, tn_task task, tn_value input) {
    (void)node, (void)input;
    (void)task_api->complete(task, NULL);
    return TN_OK;
}

/* ---- growth: an agent that asks for `number` tool calls, and the tool ---------------------------------------------
 */

#define CONTENT_LENGTH 200
static char content_text[CONTENT_LENGTH];
static tn_value content, role_assistant, role_tool, name_lookup;

static tn_value text_n(const char *chars, uint64_t length) {
    tn_value made = NULL;
    (void)value->make_text(host, chars, length, &made);
    return made;
}
static tn_value text(const char *chars) { return text_n(chars, TN_Z); }

/* "a-12": the prefix and the number, without printf. */
static tn_value numbered(const char *prefix, int64_t number) {
    char out[32];
    char *end = out + sizeof(out), *start = end;
    size_t length = strlen(prefix);
    do *--start = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (length > 0) *--start = prefix[--length];
    return text_n(start, (uint64_t)(end - start));
}

static void put(tn_builder *builder, const char *key, tn_value item) {
    value->key(builder, key, TN_Z);
    value->add(builder, item);
}

static void put_take(tn_builder *builder, const char *key, tn_value item) {
    put(builder, key, item);
    value->release(item);
}

static tn_builder *message_begin(const char *id_prefix, int64_t number, tn_value role) {
    tn_builder *builder = value->builder(host);
    value->begin(builder, TN_OBJECT);
    put_take(builder, "id", numbered(id_prefix, number));
    put(builder, "role", role);
    put(builder, "content", content);
    return builder;
}

static tn_value message_end(tn_builder *builder) {
    tn_value made = NULL;
    value->end(builder);
    (void)value->finish(builder, &made, NULL);
    return made;
}

/* Turns of one user message, pairs of request and result, and an answer: (count - 1) / 2 pairs came before, or nearly.
 */
static int32_t agent_start(struct node *node, tn_task task, tn_value input) {
    tn_value messages = read_input(node, task);
    uint64_t count = value->count(messages);
    int64_t calls = ((int64_t)count - 1) / 2;
    tn_builder *message;
    (void)input;
    value->release(messages);
    int64_t turn = 2 * node->number + 2; /* messages of one */
    if (((int64_t)count - 1) % turn / 2 >= node->number) {
        message = message_begin("f-", calls, role_assistant);
    } else {
        message = message_begin("a-", calls, role_assistant);
        value->key(message, "tool_calls", TN_Z);
        value->begin(message, TN_ARRAY);
        value->begin(message, TN_OBJECT);
        put_take(message, "id", numbered("call-", calls));
        put(message, "name", name_lookup);
        value->key(message, "args", TN_Z);
        value->begin(message, TN_OBJECT);
        put_take(message, "query", value->make_int(host, calls));
        value->end(message);
        value->end(message);
        value->end(message);
    }
    return finish(node, task, message_end(message));
}

static int32_t tools_start(struct node *node, tn_task task, tn_value input) {
    tn_value messages = read_input(node, task);
    uint64_t count = value->count(messages);
    tn_value request = count > 0 ? value->at(messages, count - 1) : NULL;
    tn_value call = value->at(value->get(request, "tool_calls", TN_Z), 0);
    tn_value id = value->get(call, "id", TN_Z);
    int64_t query = 0;
    int32_t status = value->as_int(value->get(value->get(call, "args", TN_Z), "query", TN_Z), &query);
    (void)input;
    if (status == TN_OK) {
        tn_builder *message = message_begin("t-", query, role_tool);
        put(message, "tool_call_id", id);
        status = finish(node, task, message_end(message));
    }
    value->release(messages);
    return status;
}

/* ---- changes: small changes of a large value, one for each execution ------------------------------------------------
 */

/* "17 xxx…": the text of change `number`, as long as that of a message. */
static tn_value changed_text(int64_t number) {
    char out[CONTENT_LENGTH];
    memset(out, 'x', sizeof(out));
    for (size_t i = 16; i > 0; number /= 10) out[--i] = (char)('0' + number % 10);
    return text_n(out, sizeof(out));
}

static tn_value message_of(tn_value id, int64_t number) {
    tn_builder *builder = value->builder(host);
    tn_value changed = changed_text(number);
    value->begin(builder, TN_OBJECT);
    put_take(builder, "id", id);
    put(builder, "role", role_assistant);
    put_take(builder, "content", changed);
    return message_end(builder);
}

/* Writes `result`, and how often this node has run. */
static int32_t finish_change(struct node *node, tn_task task, int64_t count, tn_value result) {
    tn_value next = value->make_int(host, count + 1);
    (void)task_api->write(task, node->count_written, next);
    value->release(next);
    return finish(node, task, result);
}

static int64_t executions(const struct node *node, tn_task task) {
    tn_value read = NULL;
    int64_t count = 0;
    (void)task_api->read(task, node->count_read, &read);
    (void)value->as_int(read, &count);
    value->release(read);
    return count;
}

/* bench.summary: replaces the message `summary`, which is the first, and appends one. */
static int32_t summary_start(struct node *node, tn_task task, tn_value input) {
    int64_t count = executions(node, task);
    tn_builder *both = value->builder(host);
    tn_value list = NULL, summary = message_of(text("summary"), count);
    tn_value message = message_of(numbered("m-", count), count);
    (void)input;
    value->begin(both, TN_ARRAY);
    value->add(both, summary);
    value->add(both, message);
    value->end(both);
    (void)value->finish(both, &list, NULL);
    value->release(summary);
    value->release(message);
    return finish_change(node, task, count, list);
}

/* Changes go to places all over the value: a prime step through `number` of them. */
static int64_t place(const struct node *node, int64_t count) { return count * 7919 % node->number; }

/* bench.edit: replaces one of `number` messages. */
static int32_t edit_start(struct node *node, tn_task task, tn_value input) {
    int64_t count = executions(node, task);
    (void)input;
    return finish_change(node, task, count, message_of(numbered("m-", place(node, count)), count));
}

/* bench.member: writes one of `number` members; with an input channel the whole object, in which it is changed. */
static int32_t member_start(struct node *node, tn_task task, tn_value input) {
    int64_t count = executions(node, task);
    tn_value object = NULL, name = numbered("k-", place(node, count)), item = changed_text(count);
    (void)input;
    if (node->reads) {
        object = read_input(node, task);
    } else {
        tn_builder *builder = value->builder(host);
        value->begin(builder, TN_OBJECT);
        value->end(builder);
        (void)value->finish(builder, &object, NULL);
    }
    int32_t status = value->set(&object, value->as_text(name, NULL), TN_Z, item);
    value->release(name);
    value->release(item);
    if (status == TN_OK) return finish_change(node, task, count, object);
    value->release(object);
    return status;
}

/* ---- react: the tool that agents look things up with ------------------------------------------------------------
 */

static int32_t lookup_start(struct node *node, tn_task task, tn_value input) {
    static const char result[] = "result for ";
    uint64_t length = 0;
    const char *query = value->as_text(value->get(input, "query", TN_Z), &length);
    char text[256];
    (void)node;
    if (query == NULL || length > sizeof(text) - sizeof(result)) return TN_INVALID;
    memcpy(text, result, sizeof(result) - 1);
    memcpy(text + sizeof(result) - 1, query, length);
    tn_value made = text_n(text, sizeof(result) - 1 + length);
    (void)task_api->complete(task, made);
    value->release(made);
    return TN_OK;
}

/* ---- stream: events, all at once or one a turn of the loop ----------------------------------------------------------
 */

struct emission {
    struct emission *next;
    struct node *node;
    tn_task task;
    int64_t sent;
};

static tn_value token;

static void emission_free(struct emission *emission) {
    struct emission **link = &emission->node->open;
    while (*link != emission) link = &(*link)->next;
    *link = emission->next;
    free(emission);
}

static void emission_step(void *argument) {
    struct emission *emission = argument;
    tn_task task = emission->task;
    while (emission->sent < emission->node->number) {
        tn_builder *builder = value->builder(host);
        value->begin(builder, TN_OBJECT);
        put_take(builder, "i", value->make_int(host, emission->sent));
        put(builder, "text", token);
        tn_value event = message_end(builder);
        int32_t status = task_api->emit(task, event);
        value->release(event);
        if (status == TN_AGAIN) return; /* ready comes */
        if (status != TN_OK) break;
        emission->sent++;
        if (emission->node->paced && core->post(host, 0, emission_step, NULL, emission, NULL) == TN_OK) return;
    }
    emission_free(emission);
    (void)task_api->complete(task, NULL);
}

static int32_t emit_start(struct node *node, tn_task task, tn_value input) {
    struct emission *emission = malloc(sizeof(*emission));
    (void)input;
    if (emission == NULL) return TN_NO_MEMORY;
    emission->next = node->open;
    emission->node = node;
    emission->task = task;
    emission->sent = 0;
    node->open = emission;
    emission_step(emission);
    return TN_OK;
}

/* ---- The component interface --------------------------------------------------------------------------------------
 */

static const struct kind {
    const char *id;
    int32_t (*start)(struct node *node, tn_task task, tn_value input);
} kinds[] = {
    {"bench.add", add_start},         {"bench.add_blocking", add_start}, {"bench.append", append_start},
    {"bench.length", length_start},   {"bench.noop", noop_start},        {"bench.agent", agent_start},
    {"bench.tools", tools_start},     {"bench.emit", emit_start},        {"bench.lookup", lookup_start},
    {"bench.summary", summary_start}, {"bench.edit", edit_start},        {"bench.member", member_start},
    {"bench.copy", copy_start},
};

static const char *config_text(tn_value config, const char *key) {
    return value->as_text(value->get(config, key, TN_Z), NULL);
}

static int32_t create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                      void **instance) {
    const char *input = config_text(config, "input_key"), *output = config_text(config, "output_key");
    const char *pace = config_text(config, "pace"), *count = config_text(config, "count_key");
    int32_t status = TN_OK;
    (void)self;
    size_t i = 0;
    while (i < sizeof(kinds) / sizeof(kinds[0]) &&
           (strlen(kinds[i].id) != length || memcmp(kinds[i].id, id, length) != 0))
        i++;
    if (i == sizeof(kinds) / sizeof(kinds[0])) return TN_NOT_FOUND;
    struct node *node = calloc(1, sizeof(*node));
    if (node == NULL) return TN_NO_MEMORY;
    node->start = kinds[i].start;
    if (input != NULL) status = task_api->bind_read(binder, input, TN_Z, &node->input);
    if (status == TN_OK && output != NULL) status = task_api->bind_write(binder, output, TN_Z, &node->output);
    if (status == TN_OK && count != NULL) status = task_api->bind_read(binder, count, TN_Z, &node->count_read);
    if (status == TN_OK && count != NULL) status = task_api->bind_write(binder, count, TN_Z, &node->count_written);
    node->reads = input != NULL;
    (void)value->as_int(value->get(config, "number", TN_Z), &node->number);
    node->paced = pace != NULL && strcmp(pace, "paced") == 0;
    node->constant = value->retain(value->get(config, "value", TN_Z));
    if (status == TN_OK) {
        *instance = node;
    } else {
        value->release(node->constant);
        free(node);
    }
    return status;
}

static int32_t start(void *instance, tn_task task, tn_value input) {
    struct node *node = instance;
    return node->start(node, task, input);
}

static void ready(void *instance, tn_task task) {
    struct node *node = instance;
    struct emission *emission = node->open;
    while (emission != NULL && emission->task != task) emission = emission->next;
    if (emission != NULL) emission_step(emission);
}

static void destroy(void *instance) {
    struct node *node = instance;
    value->release(node->constant);
    free(node);
}

/* ---- The manifest --------------------------------------------------------------------------------------------------
 */

#define READ   "\"input_key\": {\"type\": \"string\", \"x-tenon\": \"channel-read\"}"
#define WRITE  "\"output_key\": {\"type\": \"string\", \"x-tenon\": \"channel-write\"}"
#define COUNT  "\"count_key\": {\"type\": \"string\", \"x-tenon\": \"channel-write\"}"
#define NUMBER "\"number\": {\"type\": \"integer\", \"minimum\": 0}"

#define NODE(name, id, title, extra, properties, required)                                                             \
    TN_NOTE_AS(name, "{\"component\": {\"kind\": \"node\", \"id\": \"" id "\", \"title\": \"" title                    \
                     "\", \"effects\": []," extra " \"config\": {\"type\": \"object\", \"properties\": {" properties   \
                     "}, \"required\": [" required "], \"additionalProperties\": false}}}");

TN_NOTE("{\"plugin\": {\"id\": \"test.bench\", \"version\": \"0.1.0\", \"title\": \"Components of the workloads\", "
        "\"requires\": [\"tenon.core/1\", \"tenon.value/1\", \"tenon.task/1\"]}}")
NODE(add, "bench.add", "Adds one", "\"style\": \"async\",", READ ", " WRITE, "\"input_key\", \"output_key\"")
NODE(add_blocking, "bench.add_blocking", "Adds one, on a worker", "\"style\": \"blocking\", \"reentrant\": true,",
     READ ", " WRITE, "\"input_key\", \"output_key\"")
NODE(append, "bench.append", "Writes its value, or its input", "\"style\": \"async\",", WRITE ", \"value\": {}",
     "\"output_key\"")
NODE(length, "bench.length", "Writes how many items a channel has", "\"style\": \"async\",", READ ", " WRITE,
     "\"input_key\", \"output_key\"")
NODE(copy, "bench.copy", "Writes what it reads", "\"style\": \"async\",", READ ", " WRITE,
     "\"input_key\", \"output_key\"")
NODE(noop, "bench.noop", "Does nothing", "\"style\": \"async\",", "", "")
NODE(agent, "bench.agent", "Asks for calls of a tool, then answers", "\"style\": \"async\",",
     READ ", " WRITE ", " NUMBER, "\"input_key\", \"output_key\", \"number\"")
NODE(tools, "bench.tools", "Answers the last message's call", "\"style\": \"async\",", READ ", " WRITE,
     "\"input_key\", \"output_key\"")
NODE(summary, "bench.summary", "Replaces the first message and appends one", "\"style\": \"async\",", WRITE ", " COUNT,
     "\"output_key\", \"count_key\"")
NODE(edit, "bench.edit", "Replaces one of `number` messages", "\"style\": \"async\",", WRITE ", " COUNT ", " NUMBER,
     "\"output_key\", \"count_key\", \"number\"")
NODE(member, "bench.member", "Changes one of `number` members of an object", "\"style\": \"async\",",
     READ ", " WRITE ", " COUNT ", " NUMBER, "\"output_key\", \"count_key\", \"number\"")
NODE(emit, "bench.emit", "Emits events {i, text}", "\"style\": \"async\",",
     NUMBER ", \"pace\": {\"enum\": [\"burst\", \"paced\"], \"default\": \"burst\"}", "\"number\"")

TN_NOTE_AS(lookup, "{\"component\": {\"kind\": \"tool\", \"id\": \"bench.lookup\", \"title\": \"Looks something up\", "
                   "\"style\": \"async\", \"effects\": [], \"input\": {\"type\": \"object\", \"properties\": "
                   "{\"query\": {\"type\": \"string\"}}, \"required\": [\"query\"]}}}");

/* ---- The plugin
 * ------------------------------------------------------------------------------------------------------ */

static int32_t init(void *self, tn_value config) {
    (void)self, (void)config;
    memset(content_text, 'x', sizeof(content_text));
    content = text_n(content_text, sizeof(content_text));
    role_assistant = text("assistant");
    role_tool = text("tool");
    name_lookup = text("lookup");
    token = text("token");
    return TN_OK;
}

static void deinit(void *self) {
    (void)self;
    value->release(content);
    value->release(role_assistant);
    value->release(role_tool);
    value->release(name_lookup);
    value->release(token);
}

static const void *offer(void *self, const char *id) {
    static const tn_component_1 components = {sizeof(components), create, start, NULL, ready, destroy};
    static const tn_lifecycle_1 lifecycle = {sizeof(lifecycle), init, NULL, deinit};
    (void)self;
    if (strcmp(id, TN_COMPONENT_1) == 0) return &components;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *given) {
    static const tn_plugin plugin = {sizeof(plugin), NULL, offer};
    host = given;
    core = given->get(given->self, TN_CORE_1);
    value = given->get(given->self, TN_VALUE_1);
    task_api = given->get(given->self, TN_TASK_1);
    return core != NULL && value != NULL && task_api != NULL ? &plugin : NULL;
}
