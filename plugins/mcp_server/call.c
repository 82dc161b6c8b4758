/*
 * call.c - tools/call, prompts/get and resources/read: a run of a graph, a tool of the host, or an Artifact.
 *
 *   method_call ─▶ catalogue ─▶ entry ─┬─▶ run ─▶ events ─▶ call_end ─┬─▶ result
 *                                      │    ▲                         └─▶ answer.c: questions
 *                                      │    └────────── answers ──────────────┘
 *                                      ├─▶ tool/call
 *                                      └─▶ artifact/read
 */
#include "catalogue.h"
#include "methods.h"
#include "result.h"
#include "session.h"
#include "stream.h"
#include "tasks.h"

/* ---- Events of the run ---- */

static void on_notify(void *user, tn_value notification) { exchange_notify(user, notification); }

static void on_changed(void *user, const char *list) {
    const struct exchange *exchange = user;
    plugin_list_changed(exchange->plugin, exchange->owner, list);
}

static void on_updated(void *user, const char *uri) {
    const struct exchange *exchange = user;
    plugin_resource_updated(exchange->plugin, exchange->owner, uri);
}

static void on_disconnect(void *user) {
    struct exchange *exchange = user;
    struct stream *stream = exchange->session != NULL ? exchange_stream(exchange) : NULL;
    if (stream == NULL) return;
    stream_disconnect(stream);
    exchange->http = 0;
    if (exchange->run != NULL) serving_run_flow(exchange->run);
}

static void on_event(void *user, tn_value event, uint64_t seq, uint64_t missed) {
    static const struct events_handler handler = {on_notify, on_changed, on_updated, on_disconnect};
    struct exchange *exchange = user;
    (void)seq, (void)missed;
    events_map(&exchange->events, event, &handler, exchange);
}

static void on_started(void *user, const char *run_id) {
    struct exchange *exchange = user;
    exchange->answering = false; /* the answers were accepted */
    serving_free(exchange->run_id);
    exchange->run_id = serving_text_copy(run_id);
}

static void on_end(void *user, tn_value report) { call_end(user, report); }

void call_run(struct exchange *exchange, const char *method, tn_value params) {
    static const struct serving_run_handler handler = {on_started, on_event, on_end};
    struct problem problem = {0};
    serving_run_close(exchange->run);
    exchange->run = serving_run_start(&exchange->plugin->serving, exchange->caller, method, params, &handler, exchange);
    if (exchange->run != NULL) return;
    (void)problem_set(&problem, 500, MCPS_INTERNAL, "memory ran out");
    exchange_fail(exchange, &problem);
}

/* ---- The end of the run ---- */

static bool is_method(const struct exchange *exchange, const char *name) {
    return strcmp(exchange->method->name, name) == 0;
}

/* The host has refused the run: limits and rights are errors of the protocol, a wrong input is a result. */
static bool was_refused(tn_value report) {
    tn_value started = tn_get(report, "started"), error = tn_get(report, "error");
    int32_t status = serving_error_status(error);
    return started != NULL && !serving_true(started) && (status == 403 || status == 429 || status == 503);
}

void call_end(struct exchange *exchange, tn_value report) {
    struct problem problem = {0};
    tn_value result = NULL;
    if (serving_is(tn_get(report, "status"), "interrupted")) {
        call_ask(exchange, report);
        return;
    }
    if (exchange->answering && call_answer_was_wrong(exchange, report)) return;
    if (was_refused(report)) {
        exchange_fail_with(exchange, tn_get(report, "error"));
        return;
    }
    if (is_method(exchange, "tools/call"))
        result = result_of_tool(exchange->entry, report, &problem);
    else if (is_method(exchange, "tasks/result"))
        result = task_result_take(exchange, result_of_tool(exchange->entry, report, &problem));
    else if (is_method(exchange, "prompts/get"))
        result = result_of_prompt(report, &problem);
    else
        result = result_of_resource(report, tn_get_text(exchange->params, "uri", ""), exchange->modern, &problem);
    if (problem.status != 0)
        exchange_fail(exchange, &problem);
    else
        exchange_result_take(exchange, result);
}

/* ---- Tools of the host ---- */

/* The operator's policy asks: as the interrupt of a run that does not exist. */
static void ask_for_approval(struct exchange *exchange, tn_value error) {
    tn_value detail = tn_get(error, "detail"), payload = tn_get(detail, "payload");
    if (!value_is_object(payload)) payload = detail;
    tn_value asked = value_is_object(payload) ? tn_retain(payload) : tn_build("{}");
    asked = tn_set_take(asked, "kind", tn_text("approval"));
    tn_value report = tn_build("{s:[{s:s, s:v, s:V}]}", "interrupts", "id", CALL_APPROVAL, "node",
                               tn_get(exchange->entry, "tool"), "payload", asked);
    call_ask(exchange, report);
    tn_release(report);
}

static void TN_ABI on_tool(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    bool structured = tn_get(tn_get(exchange->entry, "shown"), "outputSchema") != NULL;
    if (status != TN_OK && serving_is(tn_get(value, "code"), "APPROVAL_NEEDED")) {
        ask_for_approval(exchange, value);
        return;
    }
    if (status != TN_OK && serving_is(tn_get(value, "code"), "PERMISSION_DENIED"))
        exchange_fail_with(exchange, value);
    else
        exchange_result_take(exchange, status == TN_OK ? result_of_output(tn_get(value, "output"), structured)
                                                       : result_of_error(value));
}

void call_tool(struct exchange *exchange, bool approved) {
    tn_value arguments = tn_get(exchange->params, "arguments");
    tn_value params = tn_build("{s:v, s:V, s:b}", "tool", tn_get(exchange->entry, "tool"), "arguments",
                               arguments != NULL ? tn_retain(arguments) : tn_build("{}"), "approved", approved);
    serving_call_take(&exchange->plugin->serving, exchange->caller, "tool/call", params, on_tool, exchange,
                      &exchange->call);
}

/* ---- Artifacts ---- */

static void TN_ABI on_artifact(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    const char *uri = tn_get_text(exchange->params, "uri", "");
    struct problem problem = {0};
    exchange->call = 0;
    if (status == TN_OK) {
        exchange_result_take(exchange, result_of_artifact(value, uri));
    } else if (serving_is(tn_get(value, "code"), "LIMIT")) {
        exchange_fail_with(exchange, value);
    } else { /* also without a store, or without the right: there is no such resource for this user */
        problem.data = tn_build("{s:s}", "uri", uri);
        (void)problem_set(&problem, 200, exchange->modern ? MCPS_INVALID_PARAMS : MCPS_RESOURCE_NOT_FOUND,
                          "the resource `%.200s` does not exist", uri);
        exchange_fail(exchange, &problem);
    }
}

/* ---- The entry ---- */

static bool check_required(const struct exchange *exchange, struct problem *problem) {
    tn_value required = tn_get(exchange->entry, "requires"), missing = tn_build("{}");
    for (uint64_t i = 0, count = tn.value->count(required); i < count; i++) {
        const char *name = tn_chars(tn.value->at(required, i), NULL);
        if (name != NULL && tn_get(exchange->capabilities, name) == NULL)
            missing = tn_set_take(missing, name, tn_build("{}"));
    }
    if (tn.value->count(missing) == 0) {
        tn_release(missing);
        return true;
    }
    problem->data = tn_build("{s:V}", "requiredCapabilities", missing);
    return problem_set(problem, exchange->modern ? 400 : 200,
                       exchange->modern ? MCPS_MISSING_CAPABILITY : MCPS_INVALID_PARAMS,
                       "this needs capabilities that the client has not declared");
}

static bool find_entry(struct exchange *exchange, struct problem *problem) {
    const char *name = tn_get_text(exchange->params, "name", ""), *uri = tn_get_text(exchange->params, "uri", "");
    tn_value entry = NULL;
    if (is_method(exchange, "resources/read"))
        entry = catalogue_find_resource(exchange->catalogue, uri, &exchange->variables);
    else
        entry =
            catalogue_find(exchange->catalogue, is_method(exchange, "tools/call") ? "tools" : "prompts", "name", name);
    exchange->entry = tn_retain(entry);
    if (entry != NULL) return true;
    if (!is_method(exchange, "resources/read"))
        return problem_set(problem, 200, MCPS_INVALID_PARAMS, "there is no %s `%.200s`",
                           is_method(exchange, "tools/call") ? "tool" : "prompt", name);
    problem->data = tn_build("{s:s}", "uri", uri);
    return problem_set(problem, 200, exchange->modern ? MCPS_INVALID_PARAMS : MCPS_RESOURCE_NOT_FOUND,
                       "the resource `%.200s` does not exist", uri);
}

static tn_value run_params(struct exchange *exchange) {
    bool counts = exchange->events.counts && exchange->events.token != NULL;
    tn_value modes = counts ? tn_build("[ss]", "custom", "tasks") : tn_build("[s]", "custom");
    tn_value input = catalogue_input(exchange->entry, exchange->method->name, exchange->params, exchange->variables);
    if (!serving_true(tn_get(exchange->plugin->config, "threads")))
        return tn_build("{s:v, s:V, s:V, s:b}", "document", tn_get(exchange->entry, "document"), "input", input,
                        "modes", modes, "ends_with_client", 1);
    (void)snprintf(exchange->thread, sizeof exchange->thread, "mcp-");
    serving_random_hex(exchange->thread + 4, 32);
    return tn_build("{s:v, s:V, s:V, s:{s:s}, s:b}", "document", tn_get(exchange->entry, "document"), "input", input,
                    "modes", modes, "config", "thread_id", exchange->thread, "ends_with_client", 1);
}

static void set_events(struct exchange *exchange) {
    struct events *events = &exchange->events;
    const char *level = tn_get_text(exchange->meta, "io.modelcontextprotocol/logLevel", NULL);
    tn_value token = tn_get(exchange->meta, "progressToken");
    bool usable = tn_chars(token, NULL) != NULL || tn.value->kind(token) == TN_INT;
    events->token = usable ? token : NULL;
    events->counts = !serving_true(tn_get(exchange->entry, "declared"));
    if (exchange->modern)
        events->log_level = events_log_level(level) >= 0 ? events_log_level(level) : EVENTS_NO_LOG;
    else
        events->log_level = exchange->session->log_level;
}

static void call_entry(struct exchange *exchange) {
    struct problem problem = {0};
    tn_value arguments = tn_get(exchange->params, "arguments");
    bool known = find_entry(exchange, &problem) && check_required(exchange, &problem);
    if (known && exchange->modern && is_method(exchange, "tools/call"))
        known = message_check_parameters(exchange->request, tn_get(exchange->entry, "schema"), arguments, &problem);
    bool begins_task = false;
    if (known && is_method(exchange, "tools/call")) known = task_is_wanted(exchange, &begins_task, &problem);
    if (!known) {
        exchange_fail(exchange, &problem);
        return;
    }
    set_events(exchange);
    if (begins_task) {
        task_create(exchange);
        return;
    }
    if (call_resume(exchange)) return;
    if (tn_get(exchange->entry, "tool") != NULL)
        call_tool(exchange, false);
    else
        call_run(exchange, "run/start", run_params(exchange));
}

void method_call(struct exchange *exchange) {
    struct problem problem = {0};
    bool reads = is_method(exchange, "resources/read");
    const char *member = reads ? "uri" : "name", *text = tn_get_text(exchange->params, member, NULL);
    tn_value arguments = tn_get(exchange->params, "arguments"), responses = tn_get(exchange->params, "inputResponses");
    if (text == NULL || strlen(text) > MCPS_URI_MAX)
        (void)problem_set(&problem, exchange->modern ? 400 : 200, MCPS_INVALID_PARAMS,
                          "`%s` must be a string of at most %d bytes", member, MCPS_URI_MAX);
    else if (arguments != NULL && !value_is_object(arguments))
        (void)problem_set(&problem, 200, MCPS_INVALID_PARAMS, "`arguments` must be an object");
    else if (exchange->modern && responses != NULL && !value_is_object(responses))
        (void)problem_set(&problem, 200, MCPS_INVALID_PARAMS, "`inputResponses` must be an object");
    if (problem.status != 0) {
        exchange_fail(exchange, &problem);
        return;
    }
    if (exchange->modern) exchange->responses = tn_retain(responses);
    if (reads && strncmp(text, "artifact:", 9) == 0)
        serving_call_take(&exchange->plugin->serving, exchange->caller, "artifact/read",
                          tn_build("{s:s}", "artifact_id", text + 9), on_artifact, exchange, &exchange->call);
    else
        exchange_with_catalogue(exchange, call_entry);
}
