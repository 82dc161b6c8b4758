/*
 * model.c - one call of a model: the providers it may go to, in turn, until one has answered.
 *
 * Each attempt is a call of its own, of which this one is the owner: its deltas go on to ours, its end is looked at.
 * The attempts have no parent, so that a run's journal has the answer once, under the call that the task made. After a
 * fallback the deltas begin again; {reset} says so.
 */
#include "host/model/model.h"
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/call/call.h"
#include "host/call/instance_internal.h"
#include "host/config/config.h"
#include "host/host.h"
#include "host/log.h"
#include "host/model/usage.h"
#include "host/plugin/registry.h"
#include <string.h>

#define FALLBACKS_TOLD_MAX 1024u /* that are remembered; after that they are told anew */

struct provider {
    struct callable *callable;
    char *name; /* "openai:gpt-4o-mini"; without a model, the component's id */
};

struct model {
    struct callable callable; /* first */
    struct host *host;
    char *name;
    uint32_t count;
    struct provider providers[MODEL_FALLBACKS_MAX];
};

/* One call of ours, and the attempt that is under way. */
struct asked {
    struct model *model;
    struct call *call;    /* ours */
    struct call *attempt; /* NULL before the first, and between two */
    tn_value input;
    uint32_t at;
    bool emitted; /* deltas of this attempt are out */
};

/* ---- The answer ---- */

/* USAGE with what it cost. */
static tn_value priced(const struct model *model, const struct provider *provider, tn_value usage) {
    double cost;
    bool known = value_is(usage, TN_OBJECT);
    if (!known || !usage_price(config_prices(model->host->config), provider->name, usage, &cost))
        return known ? value_ref(usage) : value_object();
    return value_set_take(value_ref(usage), "cost", value_double(cost));
}

/* The message says who gave it, and with what: all that is left of a call, in a history. */
static tn_value signed_message(tn_value message, const char *name, tn_value usage, tn_value reason) {
    tn_value out = value_ref(message);
    if (!value_get(message, "model")) out = value_set_take(out, "model", value_text(name));
    out = value_set_take(out, "usage", value_ref(usage));
    bool usual = value_text_is(reason, "stop") || value_text_is(reason, "tool_calls");
    if (value_is(reason, TN_STRING) && !usual) out = value_set_take(out, "finish_reason", value_ref(reason));
    return out;
}

static const char *misshapen(tn_value output) {
    if (!value_is(output, TN_OBJECT)) return "it gave no object";
    if (value_is(value_get(output, "embeddings"), TN_ARRAY)) return NULL;
    return value_is(value_get(output, "message"), TN_OBJECT) ? NULL : "`message` is no object";
}

/* Before our call ends: from then on it may be gone. */
static uint64_t let_go(struct asked *asked) {
    call_set_data(asked->call, NULL);
    return call_token(asked->call);
}

static void answer(struct asked *asked, tn_value output) {
    const struct model *model = asked->model;
    const struct provider *provider = &model->providers[asked->at];
    uint64_t token = let_go(asked);
    tn_value message = value_get(output, "message");
    if (message && !value_text_is(value_get(message, "type"), "ai")) {
        (void)call_complete(token, output); /* of before tenon/message.h: as it is */
        return;
    }
    tn_value usage = priced(model, provider, value_get(output, "usage"));
    tn_value out = value_set_take(value_ref(output), "usage", usage);
    if (message)
        out = value_set_take(out, "message",
                             signed_message(message, provider->name, usage, value_get(output, "finish_reason")));
    out = value_set_take(out, "model", value_text(provider->name));
    (void)call_complete(token, out);
    value_unref(out);
}

/* ---- Attempts ---- */

static void asked_free(struct asked *asked) {
    call_free(asked->attempt);
    value_unref(asked->input);
    callable_unref(&asked->model->callable);
    mem_free(asked);
}

/* Another provider might do what this one could not. */
static bool falls_back(const struct asked *asked, const struct error *error) {
    return asked->at + 1 < asked->model->count && error_retryable(error);
}

static tn_value context_of(struct call *call) {
    const struct call_ops *ops = call_ops_of(call);
    return ops->context ? ops->context(call) : instance_plain_context(call);
}

/* A model that is called again and again in one run, as an agent's is, falls back as often, and is said to once. */
static bool is_told_first(const struct asked *asked, const struct error *error) {
    struct host *host = asked->model->host;
    tn_value context = context_of(asked->call), run = value_get(context, "run_id");
    bool first = true;
    if (value_is(run, TN_STRING)) {
        tn_value key =
            value_format("%s\n%s\n%u\n%s", value_chars(run, NULL), asked->model->name, asked->at, error->code);
        if (host->fallbacks_told && value_count(host->fallbacks_told) >= FALLBACKS_TOLD_MAX) {
            value_unref(host->fallbacks_told);
            host->fallbacks_told = NULL;
        }
        if (!host->fallbacks_told) host->fallbacks_told = value_object();
        first = !value_get_key(host->fallbacks_told, key);
        host->fallbacks_told = value_set_key_take(host->fallbacks_told, key, value_bool(true));
    }
    value_unref(context);
    return first;
}

static void tell_reset(struct asked *asked, const struct error *error) {
    const struct model *model = asked->model;
    if (is_told_first(asked, error))
        log_write(LOG_WARN, NULL, "models.%s: `%s` failed (%s); going on with `%s`", model->name,
                  model->providers[asked->at].name, error->code, model->providers[asked->at + 1].name);
    if (!asked->emitted) return;
    tn_value reason = value_set_take(value_object_reserve(2), "code", value_text(error->code));
    reason = value_set_take(reason, "model", value_text(model->providers[asked->at + 1].name));
    tn_value delta = value_set_take(value_object_reserve(1), "reset", reason);
    (void)call_emit(call_token(asked->call), delta);
    value_unref(delta);
}

static void fail(struct asked *asked, const struct error *error) {
    const struct model *model = asked->model;
    struct error all = ERROR_INIT;
    error_copy(&all, error);
    if (model->count > 1) {
        error_set(&all, TN_FAILED, error->code, "`%s`%s: %s", model->providers[asked->at].name,
                  asked->at ? ", the last of those to fall back on" : "", error->message);
        value_unref(all.more);
        all.more = error->more ? value_ref(error->more) : NULL;
    }
    (void)call_fail(let_go(asked), &all);
    error_finish(&all);
}

/* True: there is another one to fall back on. */
static bool fail_attempt(struct asked *asked, const struct error *error) {
    if (!falls_back(asked, error)) {
        fail(asked, error);
        return false;
    }
    tell_reset(asked, error);
    call_free(asked->attempt);
    asked->attempt = NULL;
    asked->at++;
    asked->emitted = false;
    return true;
}

static bool complete_attempt(struct asked *asked, tn_value output) {
    const char *wrong = misshapen(output);
    struct error error = ERROR_INIT;
    if (!wrong) {
        answer(asked, output);
        return false;
    }
    error_set(&error, TN_INVALID, "INVALID_RESPONSE",
              "the model `%s` answered in another shape than {message, usage, finish_reason}: %s",
              asked->model->providers[asked->at].name, wrong);
    bool another = fail_attempt(asked, &error);
    error_finish(&error);
    return another;
}

/* The attempt has ended. True: there is another one to begin. */
static bool look(struct asked *asked) {
    struct error cancelled = ERROR_INIT;
    const struct error *error = call_error(asked->attempt);
    switch (call_outcome(asked->attempt)) {
    case CALL_COMPLETED: return complete_attempt(asked, call_output(asked->attempt));
    case CALL_INTERRUPTED:
        (void)call_interrupt_take(let_go(asked), value_ref(call_interrupt_value(asked->attempt)));
        return false;
    case CALL_CANCELLED:
        error_set(&cancelled, TN_CANCELLED, "CANCELLED", "the call was cancelled");
        (void)call_fail(let_go(asked), error && error->code ? error : &cancelled);
        error_finish(&cancelled);
        return false;
    default: return fail_attempt(asked, error);
    }
}

static void attempt_ended(struct call *attempt);

static bool attempt_chunk(struct call *attempt, tn_value chunk) {
    struct asked *asked = call_owner(attempt);
    if (!call_hears(asked->call)) return true;
    asked->emitted = true;
    return call_emit(call_token(asked->call), chunk) != TN_AGAIN;
}

static tn_value attempt_context(struct call *attempt) {
    return context_of(((struct asked *)call_owner(attempt))->call);
}

static tn_value attempt_run_value(struct call *attempt) {
    struct call *call = ((struct asked *)call_owner(attempt))->call;
    const struct call_ops *ops = call_ops_of(call);
    return ops->run_value ? ops->run_value(call) : NULL;
}

static const struct call_ops attempt_ops = {
    .ended = attempt_ended, .chunk = attempt_chunk, .context = attempt_context, .run_value = attempt_run_value};

/* Attempts, until one goes on by itself or the call has ended; the asked is then gone. */
static void go_on(struct asked *asked) {
    bool another = true;
    while (another) {
        struct callable *callable = asked->model->providers[asked->at].callable;
        asked->attempt = call_new(call_loop(asked->call), callable, &attempt_ops, asked);
        if (!call_start(asked->attempt, asked->input)) return;
        another = look(asked);
    }
    asked_free(asked);
}

static void attempt_ended(struct call *attempt) {
    struct asked *asked = call_owner(attempt);
    if (look(asked))
        go_on(asked);
    else
        asked_free(asked);
}

/* ---- The callable ---- */

static int32_t model_start(struct callable *callable, struct call *call, tn_value input) {
    struct model *model = (struct model *)callable;
    struct call *root = call_root(call);
    struct error error = ERROR_INIT;
    const struct call_ops *ops = call_ops_of(root);
    if (ops->may_spend && ops->may_spend(root, &error) != TN_OK) {
        (void)call_fail(call_token(call), &error);
        error_finish(&error);
        return TN_OK;
    }
    struct asked *asked = mem_zalloc(sizeof *asked);
    asked->model = (struct model *)(void *)callable_ref(&model->callable);
    asked->call = call;
    asked->input = input ? value_ref(input) : value_null();
    call_set_data(call, asked);
    go_on(asked);
    return TN_OK;
}

static void model_cancel(struct callable *callable, struct call *call) {
    (void)callable;
    struct asked *asked = call_data(call);
    if (asked && asked->attempt) call_cancel(asked->attempt);
}

static void model_ready(struct callable *callable, struct call *call) {
    (void)callable;
    struct asked *asked = call_data(call);
    if (asked && asked->attempt) call_resume(asked->attempt);
}

static void model_free(struct callable *callable) {
    struct model *model = (struct model *)callable;
    for (uint32_t i = 0; i < model->count; i++) {
        callable_unref(model->providers[i].callable);
        mem_free(model->providers[i].name);
    }
    mem_free(model->name);
    mem_free(model);
}

static const struct callable_ops model_ops = {
    .start = model_start, .cancel = model_cancel, .ready = model_ready, .free = model_free};

struct callable *model_provider(const struct callable *callable, uint32_t index) {
    const struct model *model = (const struct model *)callable;
    return callable->ops == &model_ops && index < model->count ? model->providers[index].callable : NULL;
}

/* ---- Making one ---- */

/* "openai:gpt-4o-mini" as {provider, model}; objects as they are. A new reference. */
static tn_value binding_object(tn_value binding) {
    if (!value_is(binding, TN_STRING)) return value_is(binding, TN_OBJECT) ? value_ref(binding) : value_object();
    size_t length;
    const char *text = value_chars(binding, &length), *colon = memchr(text, ':', length);
    size_t provider = colon ? (size_t)(colon - text) : length;
    tn_value object = value_set_take(value_object_reserve(2), "provider", value_string(text, provider));
    return colon ? value_set_take(object, "model", value_string(colon + 1, length - provider - 1)) : object;
}

/* Where a secret is stands under `secrets` alone; written in a model, it is what no schema explains. */
static void explain_secrets(tn_value object, struct error *error) {
    static const char *const forms[] = {"env", "file", "command"};
    for (size_t i = 0; i < value_count(object); i++) {
        tn_value member = value_value_at(object, i);
        if (!value_is(member, TN_OBJECT) || value_count(member) != 1) continue;
        for (size_t j = 0; j < sizeof forms / sizeof *forms; j++)
            if (value_text_is(value_key_at(member, 0), forms[j]))
                error_set(error, TN_INVALID, error->code,
                          "%s; `%s` says where a secret is, which stands under `secrets` of tenon.yaml, as in "
                          "`secrets: {MY_KEY: {%s: …}}`: write {secret: MY_KEY} here",
                          error->message, value_chars(value_key_at(object, i), NULL), forms[j]);
    }
}

/* Members that are missing may come from who asks for the model. */
static bool tells(const struct schema_error *found) {
    return strcmp(found->keyword, "required") != 0 || *found->pointer;
}

int32_t model_check(struct host *host, tn_value binding, struct error *error) {
    tn_value object = binding_object(binding), named = value_get(object, "provider"), options = value_object();
    size_t length = 0;
    const char *id = value_is(named, TN_STRING) ? value_chars(named, &length) : "";
    const struct component_info *info = host->catalog.find(host->catalog.self, "model", id, length);
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    int32_t status = info ? TN_OK : TN_NOT_FOUND;
    for (size_t i = 0; i < value_count(object); i++)
        if (!value_text_is(value_key_at(object, i), "provider"))
            options =
                value_set_key_take(options, value_ref(value_key_at(object, i)), value_ref(value_value_at(object, i)));
    if (info && info->config) (void)schema_validate(info->config, options, &errors);
    for (size_t i = 0; status == TN_OK && i < errors.count; i++) {
        if (!tells(&errors.items[i])) continue;
        status = error_set(error, TN_INVALID, "INVALID_CONFIG", "the configuration of the model `%s`: %s%s%s", id,
                           errors.items[i].pointer, *errors.items[i].pointer ? ": " : "", errors.items[i].message);
        explain_secrets(object, error);
    }
    schema_errors_finish(&errors);
    value_unref(options);
    value_unref(object);
    return status;
}

static int32_t provider_new(struct host *host, tn_value binding, tn_value config, struct provider *out,
                            struct error *error) {
    static const struct instance_scope nothing = {.where = "a model"};
    tn_value object = binding_object(binding), named = value_get(object, "provider");
    tn_value options = config ? value_ref(config) : value_object();
    for (size_t i = 0; i < value_count(object); i++)
        if (!value_text_is(value_key_at(object, i), "provider"))
            options =
                value_set_key_take(options, value_ref(value_key_at(object, i)), value_ref(value_value_at(object, i)));
    const char *id = value_is(named, TN_STRING) ? value_chars(named, NULL) : "";
    tn_value model = value_get(options, "model");
    struct component *component;
    int32_t status = registry_resolve(host->registry, "model", id, &component, error);
    if (status == TN_OK) status = instance_new_called(component, options, &nothing, &out->callable, error);
    if (status == TN_OK) {
        struct buffer name;
        buffer_init(&name, SIZE_MAX);
        buffer_text(&name, id);
        if (value_is(model, TN_STRING)) buffer_format(&name, ":%s", value_chars(model, NULL));
        out->name = buffer_detach(&name, NULL);
    } else if (error->code && strcmp(error->code, "INVALID_CONFIG") == 0) {
        explain_secrets(object, error);
    }
    value_unref(options);
    value_unref(object);
    return status;
}

int32_t model_new(struct host *host, const char *name, tn_value binding, tn_value config, struct callable **out,
                  struct error *error) {
    struct model *model = mem_zalloc(sizeof *model);
    bool list = value_is(binding, TN_ARRAY);
    size_t count = list ? value_count(binding) : 1;
    int32_t status = TN_OK;
    model->callable = (struct callable){.ops = &model_ops, .references = 1};
    model->host = host;
    model->name = mem_text(name);
    if (count == 0 || count > MODEL_FALLBACKS_MAX)
        status = error_set(error, TN_LIMIT, "LIMIT", "models.%s: found a list of %zu, expected 1 to %u", name, count,
                           MODEL_FALLBACKS_MAX);
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        struct error why = ERROR_INIT;
        tn_value item = list ? value_at(binding, i) : binding;
        if (provider_new(host, item, config, &model->providers[model->count], &why) == TN_OK)
            model->count++;
        else if (i + 1 == count && model->count == 0)
            status = (error_move(error, &why), TN_NOT_FOUND);
        else
            log_write(LOG_WARN, NULL, "models.%s: one to fall back on is left out: %s", name,
                      why.message ? why.message : "its provider cannot be had");
        error_finish(&why);
    }
    if (status == TN_OK)
        *out = &model->callable;
    else
        model_free(&model->callable);
    return status;
}

/* ---- Binding a role ---- */

static bool is_binding(tn_value binding, bool in_list) {
    if (value_is(binding, TN_STRING)) return value_chars(binding, NULL)[0] != 0;
    if (value_is(binding, TN_OBJECT)) return value_is(value_get(binding, "provider"), TN_STRING);
    if (!value_is(binding, TN_ARRAY) || in_list || value_count(binding) == 0) return false;
    for (size_t i = 0; i < value_count(binding); i++)
        if (!is_binding(value_at(binding, i), true)) return false;
    return true;
}

int32_t model_binding_read(const char *text, const char *what, const char *before, tn_value *out, struct error *error) {
    struct error inner = ERROR_INIT;
    tn_value binding = NULL;
    if (*text != '{' && *text != '[')
        binding = value_string(text, strlen(text));
    else if (json_read(text, strlen(text), NULL, &binding, &inner) != TN_OK)
        error_set(error, TN_INVALID, inner.code, "%s %.100s: %s", what, text, inner.message);
    bool broken = inner.code != NULL;
    error_finish(&inner);
    if (broken) return TN_INVALID;
    if (!is_binding(binding, false)) {
        value_unref(binding);
        return error_set(
            error, TN_INVALID, "INVALID_CONFIG",
            "%s %.100s: expected %sPROVIDER:NAME, or %sJSON: an object with `provider`, or a list of these", what, text,
            before, before);
    }
    *out = binding;
    return TN_OK;
}

int32_t model_bind(struct config *config, const char *text, struct error *error) {
    /* A role's name ends before anything that a binding may have in it. */
    size_t length = strcspn(text, "=:{[");
    bool named = text[length] == '=';
    tn_value binding = NULL;
    if (named && length == 0)
        return error_set(error, TN_INVALID, "INVALID_CONFIG",
                         "--model %.100s: found no role before `=`, expected [ROLE=]PROVIDER:NAME", text);
    int32_t status = model_binding_read(named ? text + length + 1 : text, "--model", "[ROLE=]", &binding, error);
    if (status != TN_OK) return status;
    char *role = named ? mem_text_n(text, length) : mem_text("default");
    config_bind_model_take(config, role, binding);
    mem_free(role);
    return TN_OK;
}
