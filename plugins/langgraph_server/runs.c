/*
 * runs.c - requests that start runs.
 *
 *     graph/list ─▶ the thread ─▶ its metadata ─▶ thread/update of `command.update` ─▶ run_new ─▶ the answer
 */
#include "langgraph.h"

enum how { HOW_CREATE, HOW_STREAM, HOW_WAIT, HOW_BATCH };

/* ---- What the request may have ---- */

static bool is_set(tn_value value) {
    int32_t kind = value != NULL ? tn.value->kind(value) : TN_NULL;
    if (kind == TN_ARRAY || kind == TN_OBJECT) return tn.value->count(value) > 0;
    return kind != TN_NULL;
}

/* False if the request has what this server does not have; it was answered. */
static bool check_request(struct exchange *exchange) {
    static const char *const absent[] = {"interrupt_before", "interrupt_after", "webhook",
                                         "after_seconds",    "checkpoint",      "checkpoint_id"};
    tn_value body = exchange->body, input = tn_get(body, "input"), command = tn_get(body, "command");
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
    if (is_set(input) && tn.value->kind(input) != TN_OBJECT) {
        refuse(exchange, 422, "`input` must be an object, the channels by their names");
        return false;
    }
    if (is_set(command) && tn.value->kind(command) != TN_OBJECT) {
        refuse(exchange, 422, "`command` must be an object");
        return false;
    }
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (is_set(tn_get(body, absent[i]))) {
            refuse(exchange, 501, "`%s` is not supported", absent[i]);
            return false;
        }
    if (is_set(tn_get(command, "goto"))) {
        refuse(exchange, 501, "`command.goto` is not supported");
        return false;
    }
    return true;
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

static tn_value config_of(const struct exchange *exchange, bool replace) {
    tn_value body = exchange->body, given = tn_get(body, "config"), made = tn_build("{}");
    tn_value configurable = add_configurable(tn_build("{}"), tn_get(given, "configurable"));
    tn_value limit = tn_get(given, "recursion_limit"), tags = tn_get(given, "tags");
    configurable = add_configurable(configurable, tn_get(body, "context"));
    made = tn_set_take(made, "configurable", configurable);
    if (exchange->thread[0] != '\0') made = tn_set_take(made, "thread_id", tn_text(exchange->thread));
    if (replace) made = tn_set_take(made, "replace", tn_bool(1));
    if (is_set(limit)) made = tn_set_take(made, "recursion_limit", tn_retain(limit));
    if (is_set(tags)) made = tn_set_take(made, "tags", tn_retain(tags));
    if (serving_is(tn_get(body, "durability"), "exit")) made = tn_set_take(made, "durability", tn_text("exit"));
    return made;
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

/* The parameters: new; NULL if that was answered. */
static tn_value run_params(struct exchange *exchange, const char **method) {
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
    tn_value params = tn_build("{s:s, s:V, s:V, s:V*}", "document", exchange->graph.document, "config",
                               config_of(exchange, !continues && exchange->record != NULL), "modes",
                               modes_of_run(modes_read(tn_get(exchange->body, "stream_mode"))), "answers", answers);
    if (!continues && params != NULL) params = tn_set_take(params, "input", given ? state_in(input) : tn_build("{}"));
    return params;
}

/* ---- Starting ---- */

static struct run *start(struct exchange *exchange) {
    char assistant[UUID_TEXT];
    const char *method = "";
    tn_value body = exchange->body, metadata = tn_get(body, "metadata"), params = run_params(exchange, &method);
    if (params == NULL) return NULL;
    uuid_of_name(exchange->graph.name, assistant);
    tn_value kwargs = tn_build("{s:v?, s:v?, s:v?}", "input", tn_get(body, "input"), "command", tn_get(body, "command"),
                               "stream_mode", tn_get(body, "stream_mode"));
    struct run_options options = {.assistant = assistant,
                                  .graph = exchange->graph.name,
                                  .method = method,
                                  .strategy = tn_get_text(body, "multitask_strategy", "enqueue"),
                                  .params = params,
                                  .metadata = tn.value->kind(metadata) == TN_OBJECT ? metadata : NULL,
                                  .kwargs = kwargs,
                                  .modes = modes_read(tn_get(body, "stream_mode")),
                                  .subgraphs = serving_true(tn_get(body, "stream_subgraphs")),
                                  .cancel_on_disconnect = serving_is(tn_get(body, "on_disconnect"), "cancel")};
    struct run *run = run_new(exchange, &options);
    tn_release(params);
    tn_release(kwargs);
    if (run == NULL) refuse(exchange, 503, "the server has too many runs; try again later");
    return run;
}

static void start_and_answer(struct exchange *exchange) {
    struct run *run = start(exchange);
    if (run == NULL) return;
    if (exchange->how == HOW_STREAM)
        run_follow(run, exchange, -1, true);
    else if (exchange->how == HOW_WAIT)
        run_wait(run, exchange);
    else
        run_tell(run, exchange);
}

static void on_updated(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        start_and_answer(exchange);
    else
        refuse_error(exchange, value);
}

/* `command.update` is written first. */
static void update_then_start(struct exchange *exchange) {
    tn_value update = tn_get(tn_get(exchange->body, "command"), "update");
    if (!is_set(update))
        start_and_answer(exchange);
    else if (tn.value->kind(update) != TN_OBJECT || exchange->record == NULL)
        refuse(exchange, 422, "`command.update` must be an object, and the thread must have had a run");
    else
        ask(exchange, "thread/update",
            tn_build("{s:s, s:s, s:V}", "thread_id", exchange->thread, "document", exchange->graph.document, "channels",
                     state_in(update)),
            on_updated);
}

static void on_noted(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        update_then_start(exchange);
    else
        refuse_error(exchange, value);
}

/* The thread's metadata name its graph. */
static void note_graph(struct exchange *exchange) {
    char assistant[UUID_TEXT];
    tn_value metadata = known_member(exchange->known, "metadata");
    uuid_of_name(exchange->graph.name, assistant);
    if (metadata != NULL && serving_is(tn_get(metadata, "assistant_id"), assistant)) {
        update_then_start(exchange);
        return;
    }
    metadata = metadata != NULL ? tn_retain(metadata) : tn_build("{}");
    metadata = tn_set_take(metadata, "graph_id", tn_text(exchange->graph.name));
    metadata = tn_set_take(metadata, "assistant_id", tn_text(assistant));
    ask(exchange, "memory/put",
        tn_build("{s:V, s:s, s:{s:V}, s:b}", "namespace", threads_namespace(), "key", exchange->thread, "value",
                 "metadata", metadata, "text", 0),
        on_noted);
}

/* Another run of the thread is active. */
static void thread_then(struct exchange *exchange) {
    const char *strategy = tn_get_text(exchange->body, "multitask_strategy", "enqueue");
    uint32_t waiting;
    struct run *active = run_active(exchange, &waiting);
    if (active != NULL && strcmp(strategy, "reject") == 0) {
        refuse(exchange, 409,
               "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.");
        return;
    }
    if (waiting >= WAITING_MAX) {
        refuse(exchange, 429, "%u runs of the thread wait already", waiting);
        return;
    }
    if (active != NULL && (strcmp(strategy, "interrupt") == 0 || strcmp(strategy, "rollback") == 0))
        runs_cancel(exchange, false);
    note_graph(exchange);
}

static void graph_then(struct exchange *exchange) {
    bool create = serving_is(tn_get(exchange->body, "if_not_exists"), "create");
    if (exchange->thread[0] == '\0')
        start_and_answer(exchange);
    else
        find_thread(exchange, create || exchange->made != NULL, thread_then);
}

static void of_thread(struct exchange *exchange, enum how how) {
    exchange->how = (int)how;
    if (thread_of_path(exchange) && check_request(exchange)) find_graph(exchange, graph_then);
}

void runs_create(struct exchange *exchange) { of_thread(exchange, HOW_CREATE); }
void runs_stream(struct exchange *exchange) { of_thread(exchange, HOW_STREAM); }
void runs_wait(struct exchange *exchange) { of_thread(exchange, HOW_WAIT); }

/* ---- Runs without a thread ---- */

static void stateless(struct exchange *exchange, enum how how) {
    exchange->how = (int)how;
    if (!check_request(exchange)) return;
    if (is_set(tn_get(exchange->body, "command"))) {
        refuse(exchange, 422, "`command` needs a thread");
        return;
    }
    if (serving_is(tn_get(exchange->body, "on_completion"), "keep")) {
        uuid_new(exchange->thread);
        exchange->made = tn_bool(1); /* the thread is made */
    }
    find_graph(exchange, graph_then);
}

void stateless_create(struct exchange *exchange) { stateless(exchange, HOW_CREATE); }
void stateless_stream(struct exchange *exchange) { stateless(exchange, HOW_STREAM); }
void stateless_wait(struct exchange *exchange) { stateless(exchange, HOW_WAIT); }

/* ---- Several at once ---- */

static void batch_then(struct exchange *exchange) {
    tn_value all = exchange->made, started = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(all); i < count; i++) {
        exchange->body = tn.value->at(all, i);
        if (!select_graph(exchange, tn_get_text(exchange->body, "assistant_id", ""))) {
            refuse(exchange, 404, "Assistant of run %llu not found", (unsigned long long)i);
            tn_release(started);
            return;
        }
    }
    for (uint64_t i = 0, count = tn.value->count(all); i < count; i++) {
        exchange->body = tn.value->at(all, i);
        (void)select_graph(exchange, tn_get_text(exchange->body, "assistant_id", ""));
        struct run *run = start(exchange);
        if (run == NULL) {
            tn_release(started);
            return;
        }
        (void)tn_append_take(&started, run_value(run));
    }
    reply(exchange, 200, started);
}

void runs_batch(struct exchange *exchange) {
    tn_value all = exchange->body;
    uint64_t count = tn.value->count(all);
    if (tn.value->kind(all) != TN_ARRAY || count == 0 || count > BATCH_MAX) {
        refuse(exchange, 422, "the body must be an array of 1 to %u runs", BATCH_MAX);
        return;
    }
    exchange->made = tn_retain(all);
    for (uint64_t i = count; i-- > 0;) {
        exchange->body = tn.value->at(all, i);
        if (tn.value->kind(exchange->body) != TN_OBJECT) {
            refuse(exchange, 422, "run %llu is not an object", (unsigned long long)i);
            return;
        }
        if (!check_request(exchange)) return;
    }
    exchange->how = HOW_BATCH;
    find_graph(exchange, batch_then);
}
