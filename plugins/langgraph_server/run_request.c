/*
 * run_request.c - what a request for a run may have, and the parameters of run/start and run/resume that it becomes.
 */
#include "langgraph.h"

/* ---- What the request may have ---- */

bool is_set(tn_value value) {
    int32_t kind = value != NULL ? tn.value->kind(value) : TN_NULL;
    if (kind == TN_ARRAY || kind == TN_OBJECT) return tn.value->count(value) > 0;
    return kind != TN_NULL;
}

/* What the body must have at `name`, unless it is not set; answered if it has something else. */
static bool check_kind(struct exchange *exchange, const char *name, int32_t kind, const char *expected) {
    tn_value value = tn_get(exchange->body, name);
    if (!is_set(value) || tn.value->kind(value) == kind) return true;
    refuse(exchange, 422, "`%s` must be %s", name, expected);
    return false;
}

/* `interrupt_before`, `interrupt_after`: "*", or an array of names. */
static bool check_nodes(struct exchange *exchange, const char *name) {
    tn_value nodes = tn_get(exchange->body, name);
    bool fits = !is_set(nodes) || serving_is(nodes, "*") || tn.value->kind(nodes) == TN_ARRAY;
    for (uint64_t i = 0, count = fits ? tn.value->count(nodes) : 0; i < count; i++)
        fits = fits && tn_chars(tn.value->at(nodes, i), NULL) != NULL;
    if (!fits) refuse(exchange, 422, "`%s` must be \"*\", or an array of names of nodes", name);
    return fits;
}

/* One of `goto`: a name, or {node, input}. */
static bool is_target(tn_value target) {
    tn_value node = tn.value->kind(target) == TN_OBJECT ? tn_get(target, "node") : target;
    uint64_t length = 0;
    return tn_chars(node, &length) != NULL && length > 0;
}

static bool check_command(struct exchange *exchange) {
    tn_value command = tn_get(exchange->body, "command"), to = tn_get(command, "goto");
    bool fits = !is_set(to) || is_target(to) || tn.value->kind(to) == TN_ARRAY;
    for (uint64_t i = 0, count = tn.value->kind(to) == TN_ARRAY ? tn.value->count(to) : 0; i < count; i++)
        fits = fits && is_target(tn.value->at(to, i));
    if (!fits)
        refuse(exchange, 422, "`command.goto` must be the name of a node, {node, input}, or an array of them");
    else if (is_set(tn_get(command, "update")) && tn.value->kind(tn_get(command, "update")) != TN_OBJECT)
        refuse(exchange, 422, "`command.update` must be an object, the channels by their names");
    else
        return true;
    return false;
}

static bool check_delay(struct exchange *exchange) {
    tn_value seconds = tn_get(exchange->body, "after_seconds");
    double number = tn_get_num(exchange->body, "after_seconds", -1);
    if (!is_set(seconds) || (number >= 0 && number <= DELAY_MAX)) return true;
    refuse(exchange, 422, "`after_seconds` must be a number from 0 to %d", DELAY_MAX);
    return false;
}

bool check_run_request(struct exchange *exchange) {
    tn_value body = exchange->body;
    if (tn_chars(tn_get(body, "assistant_id"), NULL) == NULL) {
        refuse(exchange, 422, "`assistant_id` is missing: the id of an assistant, or the name of a graph");
        return false;
    }
    if (modes_read(tn_get(body, "stream_mode")) == 0) {
        refuse(exchange, 422,
               "`stream_mode`: expected values, updates, messages, messages-tuple, custom, events, tasks, "
               "checkpoints or debug, or an array of them");
        return false;
    }
    return webhook_check(exchange) &&
           check_kind(exchange, "input", TN_OBJECT, "an object, the channels by their names") &&
           check_kind(exchange, "command", TN_OBJECT, "an object") &&
           check_kind(exchange, "config", TN_OBJECT, "an object") &&
           check_kind(exchange, "context", TN_OBJECT, "an object") &&
           check_kind(exchange, "checkpoint", TN_OBJECT, "an object") && check_nodes(exchange, "interrupt_before") &&
           check_nodes(exchange, "interrupt_after") && check_command(exchange) && check_delay(exchange);
}

const char *run_checkpoint(const struct exchange *exchange) {
    tn_value body = exchange->body, configurable = tn_get(tn_get(body, "config"), "configurable");
    const char *id = tn_get_text(tn_get(body, "checkpoint"), "checkpoint_id", NULL);
    if (id == NULL) id = tn_get_text(body, "checkpoint_id", NULL);
    return id != NULL ? id : tn_get_text(configurable, "checkpoint_id", NULL);
}

/* ---- The parameters of run/start and run/resume ---- */

/* Adds the members of `more` that are not about the thread. */
static tn_value add_configurable(tn_value made, tn_value more) {
    static const char *const own[] = {"thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "run_id"};
    tn_value key, member;
    for (uint64_t i = 0, count = tn.value->count(more); made != NULL && i < count; i++) {
        bool skip = tn.value->entry(more, i, &key, &member) != TN_OK;
        for (size_t k = 0; !skip && k < sizeof own / sizeof *own; k++) skip = serving_is(key, own[k]);
        if (!skip) made = tn_set_take(made, tn_chars(key, NULL), tn_retain(member));
    }
    return made;
}

/* Takes the configuration. */
static tn_value add_nodes(tn_value config, tn_value body, const char *name) {
    tn_value nodes = tn_get(body, name);
    if (!is_set(nodes)) return config;
    return tn_set_take(config, name, tn.value->kind(nodes) == TN_ARRAY ? tn_retain(nodes) : tn_build("[s]", "*"));
}

tn_value run_config(tn_value body, tn_value assistant, const char *thread, bool replace) {
    tn_value base = tn_get(tn_get(assistant, "value"), "config"), given = tn_get(body, "config"), made = tn_build("{}");
    tn_value configurable = add_configurable(tn_build("{}"), tn_get(base, "configurable"));
    tn_value limit = tn_get(given, "recursion_limit"), tags = tn_get(given, "tags");
    if (!is_set(limit)) limit = tn_get(base, "recursion_limit");
    if (!is_set(tags)) tags = tn_get(base, "tags");
    configurable = add_configurable(configurable, tn_get(tn_get(assistant, "value"), "context"));
    configurable = add_configurable(configurable, tn_get(given, "configurable"));
    configurable = add_configurable(configurable, tn_get(body, "context"));
    made = tn_set_take(made, "configurable", configurable);
    if (*thread != '\0') made = tn_set_take(made, "thread_id", tn_text(thread));
    if (replace) made = tn_set_take(made, "replace", tn_bool(1));
    if (is_set(limit)) made = tn_set_take(made, "recursion_limit", tn_retain(limit));
    if (is_set(tags)) made = tn_set_take(made, "tags", tn_retain(tags));
    if (serving_is(tn_get(body, "durability"), "exit")) made = tn_set_take(made, "durability", tn_text("exit"));
    made = add_nodes(made, body, "interrupt_before");
    return add_nodes(made, body, "interrupt_after");
}

/* Each key is the id of what the thread waits for. */
static bool has_ids(tn_value resume, tn_value asked) {
    tn_value key, member;
    uint64_t count = tn.value->kind(resume) == TN_OBJECT ? tn.value->count(resume) : 0;
    for (uint64_t i = 0; i < count; i++) {
        bool known = false;
        if (tn.value->entry(resume, i, &key, &member) != TN_OK) return false;
        for (uint64_t k = 0; k < tn.value->count(asked); k++)
            known |= tn.value->equal(tn_get(tn.value->at(asked, k), "id"), key) == 1;
        if (!known) return false;
    }
    return count > 0;
}

/* The answers of `command.resume`: new; NULL with the reason. */
static tn_value answers_of(const struct exchange *exchange, tn_value resume, const char **reason) {
    tn_value asked = tn_get(exchange->record, "interrupts");
    uint64_t count = tn.value->count(asked);
    *reason = "the thread waits for several answers: give `resume` as {ID: answer}";
    if (has_ids(resume, asked)) return tn_retain(resume);
    if (count == 1)
        return tn_set_take(tn_build("{}"), tn_get_text(tn.value->at(asked, 0), "id", ""), tn_retain(resume));
    if (count == 0) *reason = "the thread does not wait for an answer";
    return NULL;
}

tn_value run_params(struct exchange *exchange, const char **method) {
    tn_value input = tn_get(exchange->body, "input"), answers = NULL;
    tn_value resume = tn_get(tn_get(exchange->body, "command"), "resume");
    const char *reason;
    bool resumes = resume != NULL && tn.value->kind(resume) != TN_NULL;
    bool given = tn.value->kind(input) == TN_OBJECT;
    bool continues = resumes || (exchange->record != NULL && !given);
    if (resumes) answers = answers_of(exchange, resume, &reason);
    if (resumes && answers == NULL) {
        refuse(exchange, 422, "%s", reason);
        return NULL;
    }
    *method = continues ? "run/resume" : "run/start";
    tn_value params = tn_build(
        "{s:s, s:V, s:V, s:V*}", "document", exchange->graph.document, "config",
        run_config(exchange->body, exchange->assistant, exchange->thread, !continues && exchange->record != NULL),
        "modes",
        modes_of_run(modes_read(tn_get(exchange->body, "stream_mode")),
                     serving_true(tn_get(exchange->body, "stream_subgraphs"))),
        "answers", answers);
    if (!continues && params != NULL) params = tn_set_take(params, "input", given ? state_in(input) : tn_build("{}"));
    return params;
}
