/*
 * threads.c - saved threads: a run asks a question, its program ends, and another one answers. Then the history, a fork
 * of an earlier checkpoint, and a changed state.
 *
 *     cc threads.c $(pkg-config --cflags --libs tenon) -o threads && ./threads refunds.db
 *
 * The program brings a tool that pays money back. The document sets `approval: ask` for it, so a person decides.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/embed.h>

static const char document[] =
    "version: '1.0'\n"
    "agent: {name: refunds}\n"
    "channels:\n"
    "  - {name: order, type: last_value}\n"
    "  - {name: amount, type: last_value, default: 0}\n"
    "  - {name: receipt, type: last_value}\n"
    "tools: [{name: shop.refund, approval: ask}]\n"
    "nodes:\n"
    "  - {id: price, type: set, config: {values: {amount: 'size(state.order) * 10'}}}\n"
    "  - id: refund\n"
    "    type: tool\n"
    "    config: {tool: shop.refund, arguments: {order: state.order, amount: state.amount}, output_key: receipt}\n"
    "edges: [{from: START, to: price}, {from: price, to: refund}, {from: refund, to: END}]\n";

static const tn_value_1 *value;

/* A value from JSON text. */
static tn_value parse(const char *text) {
    tn_value result = NULL;
    if (value->from_json(NULL, text, TN_Z, &result, NULL) != TN_OK) abort();
    return result;
}

/* Releases the value. */
static void print(const char *what, tn_value result) {
    tn_value text = NULL;
    value->to_json(result, NULL, &text);
    printf("%s: %s\n", what, text ? value->as_text(text, NULL) : "nothing");
    value->release(text);
    value->release(result);
}

static void fail(tenon *host, const char *what) {
    fprintf(stderr, "%s: %s\n", what, tenon_error(host));
    exit(1);
}

/* The tool. */
static tn_value refund(void *user, tenon_task *task, tn_value input, tn_value *error) {
    char receipt[100];
    int64_t amount = 0;
    (void)user, (void)task, (void)error;
    value->as_int(value->get(input, "amount", TN_Z), &amount);
    snprintf(receipt, sizeof receipt, "refunded %lld for %s", (long long)amount,
             value->as_text(value->get(input, "order", TN_Z), NULL));
    tn_value text = NULL;
    value->make_text(NULL, receipt, TN_Z, &text);
    return text;
}

static tenon *open_shop(const char *store, tenon_runnable **graph) {
    char text[1000], *why = NULL;
    snprintf(text, sizeof text, "{\"no_config\": true, \"store\": \"%s\"}", store);
    tn_value options = parse(text);
    tenon *host = tenon_open(options, &why);
    value->release(options);
    if (!host) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    tn_value description = parse("{\"documentation\": \"Pays money back.\", \"effects\": [\"destructive\"], \"input\": "
                                 "{\"type\": \"object\", \"properties\": {\"order\": {\"type\": \"string\"}, "
                                 "\"amount\": {\"type\": \"integer\"}}}}");
    if (tenon_register(host, "tool", "shop.refund", description, refund, NULL, NULL) != TN_OK) fail(host, "register");
    value->release(description);
    *graph = tenon_graph_text(host, "refunds.yaml", document, sizeof document - 1);
    if (!*graph) fail(host, "document");
    return host;
}

/* Waits for the run, and prints what it asks or returns. */
static void finish(tenon *host, tenon_run *run) {
    if (!run || tenon_run_wait(run, -1) != TN_OK) fail(host, "run");
    tn_value questions = NULL;
    switch (tenon_run_status(run)) {
    case TENON_RUN_DONE: print("  done", tenon_run_output(run)); break;
    case TENON_RUN_INTERRUPTED:
        questions = tenon_run_questions(run);
        print("  asks about", value->retain(value->get(value->at(questions, 0), "node", TN_Z)));
        value->release(questions);
        break;
    default: print("  failed", value->retain(value->get(tenon_run_error(run), "code", TN_Z)));
    }
}

int main(int argc, char **argv) {
    const char *store = argc > 1 ? argv[1] : "refunds.db";
    tenon_runnable *graph;
    value = tenon_values();

    puts("first program: the run waits for a person");
    tenon *host = open_shop(store, &graph);
    tn_value config = parse("{\"thread_id\": \"order-7\"}"), input = parse("{\"order\": \"7 books\"}");
    tenon_run *run = tenon_start(graph, input, config);
    finish(host, run);
    tenon_run_release(run);
    tenon_release(graph);
    tenon_close(host);

    puts("second program: the person approves");
    host = open_shop(store, &graph);
    run = tenon_resume(graph, NULL, config); /* without answers: asks again */
    finish(host, run);
    tn_value yes = parse("true"), no = parse("{\"approved\": false, \"reason\": \"too much\"}");
    if (tenon_run_answer(run, yes) != TN_OK) fail(host, "answer");
    finish(host, run);
    tenon_run_release(run);

    puts("what happened");
    tn_value history = tenon_thread_history(host, "order-7", 0);
    for (size_t i = value->count(history); i-- > 0;) {
        tn_value line = value->at(history, i);
        int64_t seq = -1;
        value->as_int(value->get(line, "seq", TN_Z), &seq);
        printf("  checkpoint %lld, ", (long long)seq);
        print("next", value->retain(value->get(line, "next", TN_Z)));
    }
    value->release(history);
    print("  state at checkpoint 1", tenon_thread_state(host, "order-7", 1));

    puts("a fork of checkpoint 1, with another amount");
    tn_value change = parse("{\"amount\": 5}"), fork_config = parse("{\"thread_id\": \"order-7-again\"}");
    if (tenon_thread_fork(host, "order-7", 1, "order-7-again") != TN_OK) fail(host, "fork");
    if (tenon_thread_update(graph, "order-7-again", NULL, change) != TN_OK) fail(host, "update");
    run = tenon_resume(graph, NULL, fork_config);
    finish(host, run);
    if (tenon_run_answer(run, no) != TN_OK) fail(host, "answer");
    finish(host, run);
    tenon_run_release(run);
    if (tenon_thread_delete(host, "order-7-again") != TN_OK) fail(host, "delete");
    if (tenon_thread_delete(host, "order-7") != TN_OK) fail(host, "delete");

    value->release(yes);
    value->release(no);
    value->release(change);
    value->release(fork_config);
    value->release(config);
    value->release(input);
    tenon_release(graph);
    tenon_close(host);
    return 0;
}
