/*
 * runs.c - requests that start runs.
 *
 *     graph/list ─▶ the thread ─▶ its metadata ─▶ thread/update of `command.update` ─▶ run_new ─▶ the answer
 */
#include "langgraph.h"

enum how { HOW_CREATE, HOW_STREAM, HOW_WAIT, HOW_BATCH };

/* ---- Starting ---- */

/* What the run was started with: new. */
static tn_value run_kwargs(tn_value body) {
    static const char *const names[] = {
        "input",           "command",          "config",           "context",          "durability", "stream_mode",
        "interrupt_after", "interrupt_before", "stream_subgraphs", "stream_resumable", "webhook"};
    tn_value kwargs = tn_build("{}");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tn_value member = tn_get(body, names[i]);
        if (member != NULL) kwargs = tn_set_take(kwargs, names[i], tn_retain(member));
    }
    return kwargs;
}

static struct run *start(struct exchange *exchange, tn_value state) {
    char assistant[UUID_TEXT];
    const char *method = "";
    tn_value body = exchange->body, metadata = tn_get(body, "metadata"), params = run_params(exchange, &method);
    if (params == NULL) return NULL;
    bool cancels = serving_is(tn_get(body, "on_disconnect"), "cancel");
    if (cancels && (exchange->how == HOW_STREAM || exchange->how == HOW_WAIT))
        params = tn_set_take(params, "ends_with_client", tn_bool(1));
    (void)assistant_id_of(exchange, assistant);
    tn_value kwargs = run_kwargs(body);
    struct run_options options = {.assistant = assistant,
                                  .graph = exchange->graph.name,
                                  .method = method,
                                  .strategy = tn_get_text(body, "multitask_strategy", "enqueue"),
                                  .params = params,
                                  .metadata = tn.value->kind(metadata) == TN_OBJECT ? metadata : NULL,
                                  .kwargs = kwargs,
                                  .state = state,
                                  .base = exchange->thread[0] != '\0' ? exchange->head : BASE_UNKNOWN,
                                  .delay_ms = (uint64_t)(1000 * tn_get_num(body, "after_seconds", 0)),
                                  .modes = modes_read(tn_get(body, "stream_mode")),
                                  .subgraphs = serving_true(tn_get(body, "stream_subgraphs")),
                                  .resumable = serving_true(tn_get(body, "stream_resumable")),
                                  .cancel_on_disconnect = cancels};
    struct run *run = run_new(exchange, &options);
    tn_release(params);
    tn_release(kwargs);
    return run;
}

static void answer_started(struct exchange *exchange, tn_value state) {
    struct run *run = start(exchange, state);
    if (run == NULL) return;
    if (exchange->how == HOW_STREAM)
        run_follow(run, exchange, -1, true);
    else if (exchange->how == HOW_WAIT)
        run_wait(run, exchange, true);
    else
        run_tell(run, exchange);
}

static void on_state_before(struct exchange *exchange, bool ok, tn_value value) {
    answer_started(exchange, ok ? tn_get(value, "state") : NULL);
}

/* The stream of a run that continues begins with the values that the thread has. */
static void start_and_answer(struct exchange *exchange) {
    uint32_t waiting;
    bool continues = exchange->thread[0] != '\0' && exchange->record != NULL &&
                     tn.value->kind(tn_get(exchange->body, "input")) != TN_OBJECT;
    bool shows = (modes_read(tn_get(exchange->body, "stream_mode")) & MODE_VALUES) != 0;
    if (continues && shows && exchange->how == HOW_STREAM && run_active(exchange, &waiting) == NULL)
        ask(exchange, "thread/state", tn_build("{s:s}", "thread_id", exchange->thread), on_state_before);
    else
        answer_started(exchange, NULL);
}

/* The update has changed the thread. */
static void on_record_again(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok) {
        refuse_error(exchange, value);
        return;
    }
    tn_release(exchange->record);
    exchange->record = tn_retain(value);
    start_and_answer(exchange);
}

static void on_updated(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        ask(exchange, "thread/get", tn_build("{s:s}", "thread_id", exchange->thread), on_record_again);
    else
        refuse_error(exchange, value);
}

/* What `command` and `checkpoint` change comes first, in one commit. */
static void update_then_start(struct exchange *exchange) {
    tn_value command = tn_get(exchange->body, "command"), update = tn_get(command, "update");
    tn_value to = tn_get(command, "goto");
    const char *id = run_checkpoint(exchange);
    int64_t seq = id != NULL ? checkpoint_seq(id) : -1, head = tn_get_int(exchange->record, "head", -1);
    bool known = seq == CHECKPOINT_START ? exchange->record != NULL : seq >= 0 && seq <= head;
    if (id != NULL && !known) {
        refuse(exchange, 404, "Checkpoint %.80s not found in thread %s", id, exchange->thread);
        return;
    }
    bool older = id != NULL && seq < head;
    if (!is_set(update) && !is_set(to) && !older) {
        start_and_answer(exchange);
        return;
    }
    tn_value params =
        tn_build("{s:s, s:s, s:V, s:b}", "thread_id", exchange->thread, "document", exchange->graph.document,
                 "channels", is_set(update) ? state_in(update) : tn_build("{}"), "create", 1);
    if (is_set(to))
        params = tn_set_take(params, "next", tn.value->kind(to) == TN_ARRAY ? tn_retain(to) : tn_build("[v]", to));
    if (older) params = tn_set_take(params, "seq", tn_int(seq == CHECKPOINT_START ? -1 : seq));
    ask(exchange, "thread/update", params, on_updated);
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
    (void)assistant_id_of(exchange, assistant);
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

static void rolled_back_then(struct exchange *exchange) {
    exchange->head = tn_get_int(exchange->record, "head", BASE_NONE);
    note_graph(exchange);
}

/* Another run of the thread is active. */
static void thread_then(struct exchange *exchange) {
    const char *strategy = tn_get_text(exchange->body, "multitask_strategy", "enqueue");
    uint32_t waiting;
    struct run *active = run_active(exchange, &waiting), *begun = run_begun(exchange);
    exchange->head = tn_get_int(exchange->record, "head", BASE_NONE);
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
    if (begun != NULL && strcmp(strategy, "rollback") == 0)
        run_roll_back(begun, exchange, rolled_back_then);
    else
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
    if (thread_of_path(exchange) && check_run_request(exchange) && run_check_share(exchange, 1))
        find_graph(exchange, graph_then);
}

void runs_create(struct exchange *exchange) { of_thread(exchange, HOW_CREATE); }
void runs_stream(struct exchange *exchange) { of_thread(exchange, HOW_STREAM); }
void runs_wait(struct exchange *exchange) { of_thread(exchange, HOW_WAIT); }

/* ---- Runs without a thread ---- */

static void stateless(struct exchange *exchange, enum how how) {
    exchange->how = (int)how;
    if (!check_run_request(exchange) || !run_check_share(exchange, 1)) return;
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
        struct run *run = start(exchange, NULL);
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
        if (!check_run_request(exchange)) return;
    }
    exchange->how = HOW_BATCH;
    if (run_check_share(exchange, count)) find_graph(exchange, batch_then);
}
