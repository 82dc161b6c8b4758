/*
 * command_model.c - `tenon model list` and `tenon model test`: lists providers and roles, and sends a prompt to a
 * model.
 *
 * A test is one call of the model without a document. It shows the answer that a node would receive, and the time.
 */
#include "adl/document/model_role.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/engine/model/model.h"
#include "host/engine/model/model_listing.h"
#include "host/engine/model/model_test.h"
#include "host/plugin/call/call.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include "host/program/command.h"
#include "host/program/command_chat_media.h"
#include "host/program/command_run.h"
#include "host/program/method_caller.h"
#include <stdio.h>
#include <string.h>

/* ---- list ---- */

/* "openai:gpt-4o, else anthropic:…", or JSON for a binding with options. Free it with mem_free. */
static char *binding_text(tn_value binding) {
    if (value_is(binding, TN_STRING)) return mem_text(value_chars(binding, NULL));
    if (model_role_is_mapping(binding)) return binding_text(value_get(binding, "models"));
    if (!value_is(binding, TN_ARRAY)) return json_text(binding, JSON_COMPACT);
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    for (size_t i = 0; i < value_count(binding); i++) {
        char *one = binding_text(value_at(binding, i));
        buffer_format(&text, "%s%s", i ? ", else " : "", one);
        mem_free(one);
    }
    return buffer_detach(&text, NULL);
}

static void print_roles(tn_value roles) {
    for (size_t i = 0; roles && i < value_count(roles); i++) {
        char *text = binding_text(value_value_at(roles, i));
        command_printf(stdout, "  %-16s %s\n", value_chars(value_key_at(roles, i), NULL), text);
        mem_free(text);
    }
}

static void print_providers(tn_value providers) {
    for (size_t i = 0; i < value_count(providers); i++) {
        tn_value row = value_at(providers, i);
        command_printf(stdout, "  %-16s %s\n", value_chars(value_get(row, "provider"), NULL),
                       value_chars(value_get(row, "title"), NULL));
    }
}

int command_model_list(const struct arguments *arguments) {
    struct method_caller *caller;
    tn_value all = NULL;
    int code = method_caller_open(&caller, arguments, NULL, NULL);
    if (!code) code = method_caller_call_take(caller, "model/list", value_object(), &all);
    tn_value providers = value_get(all, "providers"), roles = value_get(all, "roles");
    if (!code && argument_given(arguments, "json")) {
        command_print(all);
    } else if (!code) {
        if (value_count(providers)) puts("providers:");
        print_providers(providers);
        if (value_count(roles)) puts("roles, bound by tenon.yaml and --model:");
        print_roles(roles);
        if (!value_count(providers)) command_warn("no plugin provides a model; `tenon doctor` shows the search path");
    }
    value_unref(all);
    method_caller_free(caller);
    return code;
}

/* ---- test ---- */

struct model_test {
    struct host *host;
    struct model_test_time time;
    bool ended;
    bool streaming; /* the answer is printed as it comes */
    bool printed;   /* a part of the answer has been printed */
};

/* Ends the text on standard output before anything is written to standard error. */
static void end_text(void) {
    putchar('\n');
    fflush(stdout);
}

/* A model has failed during its answer, and another answer follows. */
static void model_test_discard_answer(struct model_test *test) {
    if (!test->printed) return;
    test->printed = false;
    end_text();
    command_warn("the text above is discarded, because another answer follows");
}

static bool model_test_on_chunk(struct call *call, tn_value chunk) {
    struct model_test *test = call_owner(call);
    tn_value content = value_get(chunk, "content");
    if (model_test_note_chunk(&test->time, chunk, loop_clock_us(host_loop(test->host)))) {
        model_test_discard_answer(test);
        return true;
    }
    if (test->streaming && value_is(content, TN_STRING)) {
        command_printf(stdout, "%s", value_chars(content, NULL));
        fflush(stdout);
        test->printed = true;
    }
    return true;
}

static void model_test_on_ended(struct call *call) {
    struct model_test *test = call_owner(call);
    test->ended = true;
    loop_wake(host_loop(test->host));
}

static bool model_test_has_ended(void *user) { return ((const struct model_test *)user)->ended; }

/* After a signal, the call is cancelled. */
static bool model_test_is_done(void *user) { return model_test_has_ended(user) || command_got_signal(); }

static long long model_test_tokens(tn_value usage, const char *key) {
    tn_value value = value_get(usage, key);
    return value && value_is(value, TN_INT) ? (long long)value_to_int(value) : 0;
}

/* Prints the texts, unless that was done as they arrived, and saves images and audio, as `tenon chat` does. */
static void print_parts(tn_value parts, bool printed) {
    struct chat_media media = {.mode = CHAT_MEDIA_LINK};
    for (size_t i = 0; !printed && i < value_count(parts); i++) {
        tn_value part = value_at(parts, i), type = value_get(part, "type");
        if (value_text_is(type, "text") || value_text_is(type, "refusal"))
            command_printf(stdout, "%s", command_text(part, "text", ""));
    }
    end_text();
    for (size_t i = 0; i < value_count(parts); i++)
        if (value_get(value_at(parts, i), "data")) chat_media_show(&media, value_at(parts, i));
}

static void print_report(const struct model_test *test, tn_value report) {
    tn_value message = value_get(report, "message"), content = value_get(message, "content");
    tn_value model = value_get(report, "model");
    tn_value usage = value_get(report, "usage"), cost = value_get(usage, "cost"), first = value_get(report, "first_ms");
    bool cut = value_text_is(value_get(report, "finish_reason"), "length");
    if (value_is(content, TN_ARRAY)) {
        print_parts(content, test->printed);
    } else {
        char *text = value_is(content, TN_STRING) ? mem_text(value_chars(content, NULL))
                                                  : json_text(content ? content : report, JSON_COMPACT);
        command_printf(stdout, "%s", test->printed ? "" : text);
        mem_free(text);
        end_text();
    }
    if (value_is(model, TN_STRING)) command_printf(stderr, "%s: ", value_chars(model, NULL));
    if (first) command_printf(stderr, "first text after %.0f ms, ", value_to_double(first));
    command_printf(stderr, "%.0f ms in total, %lld tokens in, %lld out", value_to_double(value_get(report, "total_ms")),
                   model_test_tokens(usage, "input_tokens"), model_test_tokens(usage, "output_tokens"));
    if (cost) command_printf(stderr, ", cost %.6g", value_to_double(cost));
    if (cut) command_printf(stderr, "; the limit of tokens ended the answer (`max_tokens`)");
    command_printf(stderr, "\n");
}

static int model_test_run(struct model_test *test, struct callable *model, const struct arguments *arguments) {
    static const struct call_ops ops = {.ended = model_test_on_ended, .chunk = model_test_on_chunk};
    const char *prompt = argument_text(arguments, "prompt");
    bool json = argument_given(arguments, "json");
    struct call *call = call_new(host_loop(test->host), model, &ops, test);
    tn_value input = model_test_input(prompt ? prompt : MODEL_TEST_PROMPT, model);
    int code = COMMAND_OK;
    test->streaming = !json;
    call_set_time_limits(call, MODEL_TEST_TIMEOUT_MS, 0);
    test->time.started_us = loop_clock_us(host_loop(test->host));
    if (call_start(call, input)) test->ended = true;
    if (!test->ended) loop_run(host_loop(test->host), model_test_is_done, test);
    if (!test->ended) { /* after a signal, or if the loop stopped: the call must end before it can be freed */
        call_cancel(call);
        loop_run(host_loop(test->host), model_test_has_ended, test);
    }
    if (call_outcome(call) == CALL_COMPLETED) {
        tn_value report = model_test_report(call_output(call), &test->time, loop_clock_us(host_loop(test->host)));
        if (json)
            command_print(report);
        else
            print_report(test, report);
        value_unref(report);
    } else {
        if (test->printed) end_text();
        code = command_report_error(command_got_signal() ? COMMAND_CANCELLED : COMMAND_RUN_FAILED, call_error(call));
    }
    value_unref(input);
    call_free(call);
    return code;
}

static int report_no_default(void) {
    return command_report(COMMAND_USAGE, "tenon.yaml has no role `default`; name a role of tenon.yaml or PROVIDER:NAME "
                                         "(`tenon model list` lists the providers)");
}

/* Of the running host: checks MODEL as in a host of the command. Prints an error, and returns the exit code. */
static int check_sent_model(struct method_caller *caller, const struct arguments *arguments, const char *name) {
    struct error error = ERROR_INIT;
    tn_value all = NULL, binding = NULL;
    int code = method_caller_call_take(caller, "model/list", value_object(), &all);
    bool role = value_get(value_get(all, "roles"), name) != NULL;
    if (!code && !role && !operand_count(arguments))
        code = report_no_default();
    else if (!code && !role && (*name == '{' || *name == '['))
        code = command_report(COMMAND_USAGE, "the model: a JSON binding cannot be used with --connect; name a role of "
                                             "the host's tenon.yaml or PROVIDER:NAME");
    else if (!code && !role && model_binding_read(name, "the model", "", &binding, &error) != TN_OK)
        code = command_report_error(COMMAND_USAGE, &error);
    value_unref(binding);
    value_unref(all);
    error_finish(&error);
    return code;
}

bool command_model_is_closed(const struct error *error) {
    return strcmp(error->code, "NOT_FOUND") == 0 || strcmp(error->code, "INVALID_CONFIG") == 0 ||
           command_is_plugin_error(error);
}

/* The answer comes as a whole. */
static int model_test_sent(const struct arguments *arguments) {
    const char *name = operand_count(arguments) ? operand_at(arguments, 0) : "default";
    const char *prompt = argument_text(arguments, "prompt");
    struct method_caller *caller;
    struct error error = ERROR_INIT;
    tn_value report = NULL;
    int code = method_caller_open(&caller, arguments, NULL, NULL);
    if (!code) code = check_sent_model(caller, arguments, name);
    if (!code) {
        tn_value params = value_set_take(value_object_reserve(2), "model", value_string_lossy(name, strlen(name)));
        if (prompt) params = value_set_take(params, "prompt", value_string_lossy(prompt, strlen(prompt)));
        method_caller_watch_signals(caller);
        if (method_caller_try_take(caller, "model/test", params, &report, &error) != TN_OK)
            code = method_caller_report(
                command_model_is_closed(&error) ? COMMAND_PLUGIN_PROBLEM : method_caller_exit_code(&error), &error);
        else if (argument_given(arguments, "json"))
            command_print(report);
        else
            print_report(&(struct model_test){0}, report);
    }
    value_unref(report);
    error_finish(&error);
    method_caller_free(caller);
    return code;
}

int command_model_test(const struct arguments *arguments) {
    if (argument_given(arguments, "connect")) return model_test_sent(arguments);
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    const char *name = operand_count(arguments) ? operand_at(arguments, 0) : "default";
    tn_value role = config_model(host_config(host), name), binding = role ? value_ref(role) : NULL;
    struct error error = ERROR_INIT;
    struct callable *model = NULL;
    bool json = !role && (*name == '{' || *name == '[');
    int code;
    command_watch_signals(host);
    if (!role && !operand_count(arguments)) {
        code = report_no_default();
    } else if (!role && model_binding_read(name, "the model", "", &binding, &error) != TN_OK) {
        code = command_report_error(COMMAND_USAGE, &error);
    } else if (model_new(host_engine(host), json ? "MODEL" : name, binding, NULL, &model, &error) != TN_OK) {
        if (!role) model_suggest_role(host_config(host), name, &error);
        code = command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    } else {
        struct model_test test = {.host = host};
        code = model_test_run(&test, model, arguments);
    }
    error_finish(&error);
    callable_unref(model);
    value_unref(binding);
    host_free(host);
    return code;
}
