/*
 * components.c - components of the program: a tool, a node type, a reducer and a model as C functions, and a tool that
 * is written like a plugin. An agent in a document uses them.
 *
 *     cc components.c $(pkg-config --cflags --libs tenon) -o components && ./components
 */
#include <stdio.h>
#include <string.h>
#include <tenon/easy.h>
#include <tenon/embed.h>

/* ---- Written like a plugin: it could use expressions, stream, and call others, as in a file ---- */

TN_PLUGIN("shop.text", "1.0.0", "Texts of the shop")

TN_TOOL(label, "shop.label", "The label of an article.", TN_PURE, (TEXT, article, "its name"),
        (INT, cents, "its price")) {
    char text[100];
    snprintf(text, sizeof text, "%s: %d.%02d EUR", args->article, (int)(args->cents / 100), (int)(args->cents % 100));
    return tn_done_text(task, text);
}

/* ---- C functions ---- */

static const tn_value_1 *value;

static tn_value json(const char *text) {
    tn_value made = NULL;
    value->from_json(NULL, text, TN_Z, &made, NULL);
    return made;
}

/* A tool: its arguments -> its result. `user` is what tenon_register was given. */
static tn_value find_price(void *user, tenon_task *task, tn_value arguments, tn_value *error) {
    const char *article = value->as_text(value->get(arguments, "article", TN_Z), NULL);
    (void)task;
    if (strcmp(article, user) == 0) return value->make_int(NULL, 1250);
    *error = json("{\"code\": \"NOT_FOUND\", \"message\": \"the shop has no such article\"}");
    return NULL;
}

/* A node: the state -> {channel: value}. */
static tn_value count_words(void *user, tenon_task *task, tn_value state, tn_value *error) {
    const char *text = value->as_text(value->get(state, "answer", TN_Z), NULL);
    int64_t words = 0;
    (void)user, (void)task, (void)error;
    for (; text && *text; text++) words += *text != ' ' && (text[1] == ' ' || !text[1]);
    tn_value writes = json("{}"), number = value->make_int(NULL, words);
    value->set(&writes, "words", TN_Z, number);
    value->release(number);
    return writes;
}

/* A reducer: {current, update} -> the new value. */
static tn_value keep_largest(void *user, tenon_task *task, tn_value input, tn_value *error) {
    tn_value current = value->get(input, "current", TN_Z), update = value->get(input, "update", TN_Z);
    int64_t a = 0, b = 0;
    (void)user, (void)task, (void)error;
    value->as_int(current, &a);
    value->as_int(update, &b);
    return value->retain(b > a ? update : current);
}

/* A model: calls the tools one after the other, and then answers. */
static tn_value clerk(void *user, tenon_task *task, tn_value input, tn_value *error) {
    tn_value messages = value->get(input, "messages", TN_Z);
    uint64_t count = value->count(messages);
    tn_value last = value->get(value->at(messages, count - 1), "content", TN_Z);
    (void)user, (void)task, (void)error;
    if (count == 1)
        return json("{\"type\": \"ai\", \"content\": \"\", \"tool_calls\": [{\"id\": \"1\", \"name\": \"shop.price\","
                    " \"arguments\": {\"article\": \"lamp\"}}]}");
    if (count == 3)
        return json("{\"type\": \"ai\", \"content\": \"\", \"tool_calls\": [{\"id\": \"2\", \"name\": \"shop.label\","
                    " \"arguments\": {\"article\": \"lamp\", \"cents\": 1250}}]}");
    return value->retain(last); /* a text is an answer */
}

static const char document[] = "version: \"1.0\"\n"
                               "models: {default: shop.clerk}\n"
                               "tools: [shop.price, shop.label]\n"
                               "channels:\n"
                               "  - {name: question, type: last_value}\n"
                               "  - {name: answer, type: last_value}\n"
                               "  - {name: words, type: reduce, reducer: shop.largest, default: 2}\n"
                               "nodes:\n"
                               "  - {id: ask, type: agent, config: {input_key: question, output_key: answer,\n"
                               "     tools: [shop.price, shop.label]}}\n"
                               "  - {id: count, type: shop.words}\n"
                               "edges:\n"
                               "  - {from: START, to: ask}\n"
                               "  - {from: ask, to: count}\n";

/* Registers a function with a description as JSON. */
static int add(tenon *host, const char *kind, const char *id, const char *description,
               tenon_component_function function, void *user) {
    tn_value described = json(description);
    int32_t status = tenon_register(host, kind, id, described, function, user, NULL);
    value->release(described);
    return status == TN_OK;
}

int main(void) {
    static char article[] = "lamp";
    tenon *host = tenon_open(NULL, NULL);
    value = tenon_values();
    int good =
        add(host, "tool", "shop.price",
            "{\"title\": \"The price of an article in cents\", \"effects\": [], \"input\": {\"type\": \"object\","
            " \"properties\": {\"article\": {\"type\": \"string\"}}, \"required\": [\"article\"]}}",
            find_price, article) &&
        add(host, "node", "shop.words", "{\"title\": \"Counts words\", \"effects\": []}", count_words, NULL) &&
        add(host, "reducer", "shop.largest", "{\"effects\": []}", keep_largest, NULL) &&
        add(host, "model", "shop.clerk", "{\"title\": \"A clerk\"}", clerk, NULL) &&
        tenon_add_plugin(host, tn_plugin_entry_1, NULL) == TN_OK;
    tenon_runnable *graph = good ? tenon_graph_text(host, "shop.yaml", document, sizeof document - 1) : NULL;
    char *result = graph ? tenon_invoke_json(graph, "{\"question\": \"What is a lamp?\"}") : NULL;
    printf("agent: %s\n", result ? result : tenon_error(host));
    tenon_free(result);
    tenon_release(graph);

    /* The same tool by itself, with arguments that do not fit its schema. */
    tenon_runnable *tool = tenon_component(host, "tool", "shop.price", NULL);
    result = tenon_invoke_json(tool, "{\"artikel\": \"lamp\"}");
    printf("tool: %s\n", result ? result : tenon_error(host));
    tenon_free(result);
    tenon_release(tool);
    tenon_close(host);
    return 0;
}
