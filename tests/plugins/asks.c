/*
 * asks.c - uses HTTP, on the loop and on a worker; the events become a list in the channel `out`.
 *
 * test.asks.stream sends `request` and writes "HEAD …", "DATA …", "END …" or "FAILED …", each with its JSON. `slow`
 * pauses at each piece of data and resumes a little later; `die` ends the process at that piece; `leave` cancels the
 * exchange there. test.asks.wait does the same by send_wait, "OK …" or "FAILED …". Times are omitted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon.h>
#include <tenon/http.h>
#include <tenon/note.h>

#define CONFIG                                                                                                         \
    "\"config\":{\"type\":\"object\",\"properties\":{\"request\":{},\"slow\":{\"type\":\"boolean\"},\"die\":{"         \
    "\"type\":"                                                                                                        \
    "\"integer\"},\"leave\":{\"type\":\"integer\"}},\"required\":[\"request\"],\"additionalProperties\":false}"
#define EFFECTS "\"effects\":[\"network.http:acme.example\",\"network.http:127.0.0.1\",\"secret:KEY\"]"

TN_NOTE("{\"plugin\":{\"id\":\"test.asks\",\"version\":\"1.0.0\",\"title\":\"Asks for HTTP\",\"requires\":"
        "[\"" TN_HTTP_1 "\"]}}")
TN_NOTE("{\"component\":{\"kind\":\"node\",\"id\":\"test.asks.stream\",\"title\":\"Asks\",\"documentation\":\"Asks.\","
        "\"style\":\"async\"," CONFIG "," EFFECTS "}}")
TN_NOTE("{\"component\":{\"kind\":\"node\",\"id\":\"test.asks.wait\",\"title\":\"Waits\",\"documentation\":\"Waits.\","
        "\"style\":\"blocking\"," CONFIG "," EFFECTS "}}")

static const tn_host *host;
static const tn_value_1 *values;
static const tn_task_1 *tasks;
static const tn_core_1 *core;
static const tn_http_1 *http;

struct node {
    tn_value request;
    int32_t slow, blocking;
    int64_t die, leave;
};

struct asked {
    const struct node *node;
    tn_task task;
    uint64_t exchange, resume;
    tn_value list;
    int64_t pieces;
    struct asked *next;
};

static struct asked *open_ones;

static tn_value without_time(tn_value value) {
    tn_value zero = values->make_int(host, 0), made = values->retain(value);
    if (values->get(value, "ms", TN_Z)) (void)values->set(&made, "ms", TN_Z, zero);
    values->release(zero);
    return made;
}

static tn_value add_take(tn_value list, const char *word, tn_value value) {
    tn_value plain = without_time(value), json = NULL, item = NULL;
    uint64_t length;
    (void)values->to_json(plain, NULL, &json);
    const char *text = values->as_text(json, &length);
    size_t size = strlen(word) + length + 2;
    char *line = malloc(size);
    if (!line) abort();
    snprintf(line, size, "%s %s", word, text);
    if (values->make_text(host, line, size - 1, &item) != TN_OK || values->append(&list, item) != TN_OK) abort();
    free(line);
    values->release(item);
    values->release(json);
    values->release(plain);
    return list;
}

static tn_value empty(int32_t kind) {
    tn_builder *builder = values->builder(host);
    values->begin(builder, kind);
    values->end(builder);
    tn_value made = NULL;
    (void)values->finish(builder, &made, NULL);
    return made;
}

/* {"writes": {"out": list}} */
static void complete_take(tn_task task, tn_value list) {
    tn_value output = empty(TN_OBJECT), writes = empty(TN_OBJECT);
    (void)values->set(&writes, "out", TN_Z, list);
    (void)values->set(&output, "writes", TN_Z, writes);
    tasks->complete(task, output);
    values->release(output);
    values->release(writes);
    values->release(list);
}

static void finish(struct asked *asked) {
    struct asked **at = &open_ones;
    while (*at != asked) at = &(*at)->next;
    *at = asked->next;
    if (asked->resume) core->unpost(host, asked->resume);
    tn_task task = asked->task;
    tn_value list = asked->list;
    free(asked);
    complete_take(task, list);
}

static void go_on(void *user) {
    struct asked *asked = user;
    asked->resume = 0;
    http->resume(host, asked->exchange);
}

static void on_event(void *user, int32_t event, tn_value value) {
    static const char *const words[] = {"", "HEAD", "DATA", "END", "FAILED"};
    struct asked *asked = user;
    asked->list = add_take(asked->list, words[event], value);
    if (event == TN_HTTP_DATA) {
        asked->pieces++;
        if (asked->node->die == asked->pieces) abort();
        if (asked->node->leave == asked->pieces) {
            http->cancel(host, asked->exchange);
            finish(asked);
            return;
        }
        if (asked->node->slow && !asked->resume) {
            http->pause(host, asked->exchange);
            (void)core->post(host, (uint64_t)(asked->pieces % 2), go_on, NULL, asked, &asked->resume);
        }
    }
    if (event == TN_HTTP_END || event == TN_HTTP_FAILED) finish(asked);
}

static int32_t create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                      void **instance) {
    struct node *node = calloc(1, sizeof *node);
    uint32_t index;
    (void)self;
    if (!node) return TN_NO_MEMORY;
    node->request = values->retain(values->get(config, "request", TN_Z));
    node->blocking = length == strlen("test.asks.wait") && memcmp(id, "test.asks.wait", length) == 0;
    values->as_bool(values->get(config, "slow", TN_Z), &node->slow);
    values->as_int(values->get(config, "die", TN_Z), &node->die);
    values->as_int(values->get(config, "leave", TN_Z), &node->leave);
    *instance = node;
    return tasks->bind_write(binder, "out", TN_Z, &index);
}

static int32_t start(void *instance, tn_task task, tn_value input) {
    const struct node *node = instance;
    (void)input;
    if (node->blocking) {
        tn_value result = NULL, error = NULL;
        int32_t status = http->send_wait(host, task, node->request, &result, &error);
        if (status != TN_OK && status != TN_FAILED) return status;
        complete_take(task, add_take(empty(TN_ARRAY), status == TN_OK ? "OK" : "FAILED", result ? result : error));
        values->release(result);
        values->release(error);
        return TN_OK;
    }
    struct asked *asked = calloc(1, sizeof *asked);
    if (!asked) return TN_NO_MEMORY;
    *asked = (struct asked){.node = node, .task = task, .list = empty(TN_ARRAY), .next = open_ones};
    open_ones = asked;
    int32_t status = http->send(host, node->request, on_event, asked, &asked->exchange);
    if (status == TN_OK) return TN_OK;
    open_ones = asked->next;
    values->release(asked->list);
    free(asked);
    return status;
}

static void cancel(void *instance, tn_task task) {
    (void)instance;
    for (struct asked *asked = open_ones; asked; asked = asked->next) {
        if (asked->task != task) continue;
        http->cancel(host, asked->exchange);
        finish(asked);
        return;
    }
}

static void destroy(void *instance) {
    struct node *node = instance;
    values->release(node->request);
    free(node);
}

static const tn_component_1 components = {sizeof components, create, start, cancel, NULL, destroy};

static const void *offer(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_COMPONENT_1) == 0 ? &components : NULL;
}

static const tn_plugin plugin = {sizeof plugin, NULL, offer};

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *given) {
    host = given;
    values = (const tn_value_1 *)host->get(host->self, TN_VALUE_1);
    tasks = (const tn_task_1 *)host->get(host->self, TN_TASK_1);
    core = (const tn_core_1 *)host->get(host->self, TN_CORE_1);
    http = (const tn_http_1 *)host->get(host->self, TN_HTTP_1);
    return values && tasks && core && http ? &plugin : NULL;
}
