/*
 * model.c - `tenon model list` and `tenon model test`: which models there are, what roles lead to, and whether one
 * answers.
 *
 * A test is one call of the model, without a document: what a node of a graph would get from it, and how long it took.
 */
#include "host/model/model.h"
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/call/call.h"
#include "host/command/command.h"
#include "host/config/config.h"
#include "host/host.h"
#include "host/loop/loop.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define TEST_PROMPT     "Answer with the one word OK."
#define TEST_TIMEOUT_MS 60000

/* ---- list ---- */

static bool add_provider(void *user, const struct component_info *info) {
    tn_value *list = user, row = value_set_take(value_object_reserve(3), "provider", value_text(info->id));
    row = value_set_take(row, "title", value_text(info->title));
    row = value_set_take(row, "plugin", value_text(info->plugin_id));
    *list = value_push_take(*list, row);
    return true;
}

/* Whether what a member holds is usually secret: "api_key", "authorization". */
static bool is_secret_name(const char *name) {
    static const char *const ends[] = {"key", "token", "secret", "password", "authorization", "credentials", "cookie"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (length >= strlen(ends[i]) && strcasecmp(name + length - strlen(ends[i]), ends[i]) == 0) return true;
    return false;
}

static bool is_secret_schema(tn_value schema) {
    return schema && value_is(schema, TN_OBJECT) &&
           (value_get(schema, "writeOnly") == value_bool(true) ||
            value_text_is(value_get(schema, "x-tenon"), "secret"));
}

/* What may be shown of an option: no text that stands where a secret does; {secret: NAME} says which it is. */
static tn_value shown(tn_value value, tn_value schema, bool secret) {
    tn_value properties = schema && value_is(schema, TN_OBJECT) ? value_get(schema, "properties") : NULL, out;
    if (value_is(value, TN_STRING)) return secret ? value_text("(hidden)") : value_ref(value);
    if (value_is(value, TN_ARRAY)) {
        out = value_array();
        for (size_t i = 0; i < value_count(value); i++)
            out = value_push_take(out, shown(value_at(value, i), NULL, secret));
        return out;
    }
    if (!value_is(value, TN_OBJECT) || (value_count(value) == 1 && value_is(value_get(value, "secret"), TN_STRING)))
        return value_ref(value);
    out = value_object();
    for (size_t i = 0; i < value_count(value); i++) {
        tn_value key = value_key_at(value, i), inside = properties ? value_get_key(properties, key) : NULL;
        bool hidden = secret || is_secret_name(value_chars(key, NULL)) || is_secret_schema(inside);
        out = value_set_key_take(out, value_ref(key), shown(value_value_at(value, i), inside, hidden));
    }
    return out;
}

/* A binding, or a list of them, without secrets; a new reference. */
static tn_value shown_binding(const struct host *host, tn_value binding) {
    if (value_is(binding, TN_ARRAY)) {
        tn_value list = value_array();
        for (size_t i = 0; i < value_count(binding); i++)
            list = value_push_take(list, shown_binding(host, value_at(binding, i)));
        return list;
    }
    size_t length = 0;
    tn_value named = value_is(binding, TN_OBJECT) ? value_get(binding, "provider") : NULL;
    const char *id = named && value_is(named, TN_STRING) ? value_chars(named, &length) : "";
    const struct component_info *info = host->catalog.find(host->catalog.self, "model", id, length);
    return shown(binding, info && info->config ? schema_document(info->config) : NULL, false);
}

static tn_value shown_roles(const struct host *host) {
    tn_value roles = config_models(host->config), out = value_object();
    for (size_t i = 0; roles && i < value_count(roles); i++)
        out = value_set_key_take(out, value_ref(value_key_at(roles, i)), shown_binding(host, value_value_at(roles, i)));
    return out;
}

/* "openai:gpt-4o, else anthropic:…"; the JSON of what is neither. mem_free it. */
static char *binding_text(tn_value binding) {
    if (value_is(binding, TN_STRING)) return mem_text(value_chars(binding, NULL));
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
        command_say(stdout, "  %-16s %s\n", value_chars(value_key_at(roles, i), NULL), text);
        mem_free(text);
    }
}

static void print_providers(tn_value providers) {
    for (size_t i = 0; i < value_count(providers); i++) {
        tn_value row = value_at(providers, i);
        command_say(stdout, "  %-16s %s\n", value_chars(value_get(row, "provider"), NULL),
                    value_chars(value_get(row, "title"), NULL));
    }
}

int command_model_list(const struct arguments *arguments) {
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    tn_value providers = value_array(), roles = shown_roles(host);
    host->catalog.each(host->catalog.self, "model", add_provider, &providers);
    if (argument_given(arguments, "json")) {
        tn_value all = value_set_take(value_object_reserve(2), "providers", value_ref(providers));
        all = value_set_take(all, "roles", value_ref(roles));
        command_print(all);
        value_unref(all);
    } else {
        if (value_count(providers)) puts("providers:");
        print_providers(providers);
        if (value_count(roles)) puts("roles, as tenon.yaml and --model have them:");
        print_roles(roles);
        if (!value_count(providers))
            command_fail(0, "no plugin provides a model; `tenon doctor` says where they are looked for");
    }
    value_unref(providers);
    value_unref(roles);
    host_free(host);
    return COMMAND_OK;
}

/* ---- test ---- */

struct test {
    struct host *host;
    int64_t begun_us, first_us; /* first: of a delta; 0: none came */
    bool over;
    bool streaming; /* the answer is printed as it comes */
};

static bool on_chunk(struct call *call, tn_value chunk) {
    struct test *test = call_owner(call);
    tn_value content = value_get(chunk, "content");
    if (!test->first_us) test->first_us = loop_clock_us(test->host->loop);
    if (test->streaming && value_is(content, TN_STRING)) {
        command_say(stdout, "%s", value_chars(content, NULL));
        fflush(stdout);
    }
    return true;
}

static void on_ended(struct call *call) {
    struct test *test = call_owner(call);
    test->over = true;
    loop_wake(test->host->loop);
}

static bool has_ended(void *user) { return ((const struct test *)user)->over; }

/* Ctrl-C, or SIGTERM: what was called is asked to end. */
static bool stopped(void) { return command_interrupted() || command_terminated(); }

static bool is_over(void *user) { return has_ended(user) || stopped(); }

static tn_value input_of(const char *prompt) {
    tn_value message = value_set_take(value_object_reserve(2), "type", value_text("user"));
    message = value_set_take(message, "content", value_text(prompt));
    return value_set_take(value_object_reserve(1), "messages", value_push_take(value_array(), message));
}

static tn_value report_of(const struct test *test, tn_value output, int64_t ended_us) {
    /* Of an answer that has not the shape of tenon/message.h, some of these are missing. */
    static const char *const members[] = {"model", "message", "embeddings", "finish_reason", "usage"};
    tn_value report = value_object_reserve(8);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(output, members[i]);
        if (member) report = value_set_take(report, members[i], value_ref(member));
    }
    if (test->first_us)
        report = value_set_take(report, "first_ms", value_double((double)(test->first_us - test->begun_us) / 1000));
    return value_set_take(report, "total_ms", value_double((double)(ended_us - test->begun_us) / 1000));
}

static long long tokens_of(tn_value usage, const char *key) {
    tn_value value = value_get(usage, key);
    return value && value_is(value, TN_INT) ? (long long)value_to_int(value) : 0;
}

/* Of the answer: what is said of it comes after it where both go the same way. */
static void end_line(void) {
    putchar('\n');
    fflush(stdout);
}

static void print_report(const struct test *test, tn_value report) {
    tn_value message = value_get(report, "message"), content = value_get(message, "content");
    tn_value model = value_get(report, "model");
    tn_value usage = value_get(report, "usage"), cost = value_get(usage, "cost"), first = value_get(report, "first_ms");
    if (!test->streaming || !test->first_us) {
        char *text = value_is(content, TN_STRING) ? mem_text(value_chars(content, NULL))
                                                  : json_text(content ? content : report, JSON_COMPACT);
        command_say(stdout, "%s", text);
        mem_free(text);
    }
    end_line();
    if (value_is(model, TN_STRING)) command_say(stderr, "%s: ", value_chars(model, NULL));
    if (first) command_say(stderr, "first words after %.0f ms, ", value_to_double(first));
    command_say(stderr, "%.0f ms in all, %lld tokens in, %lld out", value_to_double(value_get(report, "total_ms")),
                tokens_of(usage, "input_tokens"), tokens_of(usage, "output_tokens"));
    if (cost) command_say(stderr, ", cost %.6g", value_to_double(cost));
    command_say(stderr, "\n");
}

static int ask(struct test *test, struct callable *model, const struct arguments *arguments) {
    static const struct call_ops ops = {.ended = on_ended, .chunk = on_chunk};
    const char *prompt = argument_text(arguments, "prompt");
    bool json = argument_given(arguments, "json");
    struct call *call = call_new(test->host->loop, model, &ops, test);
    tn_value input = input_of(prompt ? prompt : TEST_PROMPT);
    int code = COMMAND_OK;
    test->streaming = !json;
    call_timeout(call, TEST_TIMEOUT_MS, 0);
    test->begun_us = loop_clock_us(test->host->loop);
    if (call_start(call, input)) test->over = true;
    if (!test->over && loop_run(test->host->loop, is_over, test) && !test->over) {
        call_cancel(call); /* the end comes soon */
        loop_run(test->host->loop, has_ended, test);
    }
    if (!test->over) {
        code = command_fail(stopped() ? COMMAND_CANCELLED : COMMAND_RUN_FAILED, "the model did not answer");
        value_unref(input);
        return code; /* the call belongs to the loop, which ends with the host */
    }
    if (call_outcome(call) == CALL_COMPLETED) {
        tn_value report = report_of(test, call_output(call), loop_clock_us(test->host->loop));
        if (json)
            command_print(report);
        else
            print_report(test, report);
        value_unref(report);
    } else {
        if (test->streaming && test->first_us) end_line();
        code = command_fail_error(stopped() ? COMMAND_CANCELLED : COMMAND_RUN_FAILED, call_error(call));
    }
    value_unref(input);
    call_free(call);
    return code;
}

/* What is neither a role nor a provider may have been meant as a role. */
static void offer_roles(const struct host *host, const char *name, struct error *error) {
    tn_value roles = config_models(host->config);
    struct nearest near;
    nearest_init(&near, name, strlen(name));
    for (size_t i = 0; roles && i < value_count(roles); i++) {
        size_t length;
        const char *role = value_chars(value_key_at(roles, i), &length);
        nearest_offer(&near, role, length);
    }
    if (nearest_result(&near))
        error_set(error, TN_NOT_FOUND, "NOT_FOUND", "no role of tenon.yaml is called `%s`; did you mean `%s`? And %s",
                  name, nearest_result(&near), error->message);
}

int command_model_test(const struct arguments *arguments) {
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    const char *name = operand_count(arguments) ? operand_at(arguments, 0) : "default";
    tn_value role = config_model(host->config, name), binding = role ? value_ref(role) : NULL;
    struct error error = ERROR_INIT;
    struct callable *model = NULL;
    bool json = !role && (*name == '{' || *name == '[');
    int code;
    command_watch_signals(host);
    if (!role && !operand_count(arguments)) {
        code =
            command_fail(COMMAND_USAGE, "which model? Name a role of tenon.yaml, or provider:name; `tenon model list` "
                                        "has the providers there are");
    } else if (!role && model_binding_read(name, "the model", "", &binding, &error) != TN_OK) {
        code = command_fail_error(COMMAND_USAGE, &error);
    } else if (model_new(host, json ? "MODEL" : name, binding, NULL, &model, &error) != TN_OK) {
        if (!role && error.code && strcmp(error.code, "NOT_FOUND") == 0) offer_roles(host, name, &error);
        code = command_fail_error(COMMAND_PLUGIN_PROBLEM, &error);
    } else {
        struct test test = {.host = host};
        code = ask(&test, model, arguments);
    }
    error_finish(&error);
    callable_unref(model);
    value_unref(binding);
    host_free(host);
    return code;
}
