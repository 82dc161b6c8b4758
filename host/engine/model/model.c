/*
 * model.c - one call of a model: tries the role's providers in order until one answers.
 *
 * Each attempt is a separate call that the model's call owns. Its deltas are forwarded, and its end is checked.
 * Attempts have no parent, so the journal of a run has the answer once, under the call that the task made. After a
 * fallback the deltas restart, and a delta {reset} announces that.
 */
#include "host/engine/model/model.h"
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/log.h"
#include "host/engine/engine.h"
#include "host/engine/model/model_embed.h"
#include "host/engine/model/usage.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

#define FALLBACKS_LOGGED_MAX 1024u /* fallbacks remembered; then the set is cleared, and they may be logged again */

struct models {
    tn_value fallbacks_logged; /* {run and model: true} */
};

struct models *models_new(void) {
    struct models *models = mem_zalloc(sizeof *models);
    models->fallbacks_logged = value_object();
    return models;
}

void models_free(struct models *models) {
    if (!models) return;
    value_unref(models->fallbacks_logged);
    mem_free(models);
}

struct model_provider {
    struct callable *callable;
    struct callable *embedder; /* calls it in batches */
    char *name;                /* "openai:gpt-4o-mini"; without a model, the component's id */
};

struct model {
    struct callable callable; /* first */
    struct engine *engine;
    char *name;
    uint32_t count;
    struct model_provider providers[MODEL_FALLBACKS_MAX];
};

/* One call of a model, and its current attempt. */
struct model_call {
    struct model *model;
    struct call *call;    /* the model's call */
    struct call *attempt; /* NULL between attempts */
    tn_value input;
    uint32_t at;
    bool emitted; /* this attempt has emitted deltas */
};

/* ---- The answer ---- */

/* Returns USAGE with its cost, if a price is configured. */
static tn_value add_cost(const struct model *model, const struct model_provider *provider, tn_value usage) {
    double cost;
    bool known = value_is(usage, TN_OBJECT);
    if (!known || !usage_price(config_prices(model->engine->config), provider->name, usage, &cost))
        return known ? value_ref(usage) : value_object();
    return value_set_take(value_ref(usage), "cost", value_double(cost));
}

/* Adds model, usage and finish_reason to the message, because a history keeps only the messages of a call. */
static tn_value signed_message(tn_value message, const char *name, tn_value usage, tn_value reason) {
    tn_value out = value_ref(message);
    if (!value_get(message, "model")) out = value_set_take(out, "model", value_text(name));
    out = value_set_take(out, "usage", value_ref(usage));
    bool usual = value_text_is(reason, "stop") || value_text_is(reason, "tool_calls");
    if (value_is(reason, TN_STRING) && !usual) out = value_set_take(out, "finish_reason", value_ref(reason));
    return out;
}

static const char *malformed_output(tn_value output) {
    if (!value_is(output, TN_OBJECT)) return "it is not an object";
    if (value_is(value_get(output, "embeddings"), TN_ARRAY)) return NULL;
    return value_is(value_get(output, "message"), TN_OBJECT) ? NULL : "`message` is not an object";
}

/* Call this before the call ends: ending it may free it. Returns its token. */
static uint64_t model_call_detach(struct model_call *self) {
    call_set_data(self->call, NULL);
    return call_token(self->call);
}

static void model_call_complete(struct model_call *self, tn_value output) {
    const struct model *model = self->model;
    const struct model_provider *provider = &model->providers[self->at];
    uint64_t token = model_call_detach(self);
    tn_value message = value_get(output, "message");
    if (message && !value_text_is(value_get(message, "type"), "ai")) {
        (void)call_complete(token, output); /* a provider older than tenon/message.h: unchanged */
        return;
    }
    tn_value usage = add_cost(model, provider, value_get(output, "usage"));
    tn_value out = value_set_take(value_ref(output), "usage", usage);
    if (message)
        out = value_set_take(out, "message",
                             signed_message(message, provider->name, usage, value_get(output, "finish_reason")));
    out = value_set_take(out, "model", value_text(provider->name));
    (void)call_complete(token, out);
    value_unref(out);
}

/* ---- Attempts ---- */

static void model_call_free(struct model_call *self) {
    call_free(self->attempt);
    value_unref(self->input);
    callable_unref(&self->model->callable);
    mem_free(self);
}

/* True if another provider is left and may succeed. */
static bool can_fall_back(const struct model_call *self, const struct error *error) {
    return self->at + 1 < self->model->count && error_retryable(error);
}

static tn_value context_of(struct call *call) { return call_context(call); }

/* An agent may fall back at each of many calls in one run. Only the first one is logged. */
static bool is_first_fallback(const struct model_call *self, const struct error *error) {
    struct models *models = self->model->engine->models;
    tn_value context = context_of(self->call), run = value_get(context, "run_id");
    bool first = true;
    if (value_is(run, TN_STRING)) {
        tn_value key = value_format("%s\n%s\n%u\n%s", value_chars(run, NULL), self->model->name, self->at, error->code);
        if (value_count(models->fallbacks_logged) >= FALLBACKS_LOGGED_MAX) {
            value_unref(models->fallbacks_logged);
            models->fallbacks_logged = value_object();
        }
        first = !value_get_key(models->fallbacks_logged, key);
        models->fallbacks_logged = value_set_key_take(models->fallbacks_logged, key, value_bool(true));
    }
    value_unref(context);
    return first;
}

static void report_fallback(struct model_call *self, const struct error *error) {
    const struct model *model = self->model;
    if (is_first_fallback(self, error))
        log_write(LOG_WARN, NULL, "models.%s: `%s` failed (%s); falling back to `%s`", model->name,
                  model->providers[self->at].name, error->code, model->providers[self->at + 1].name);
    if (!self->emitted) return;
    tn_value reason = value_set_take(value_object_reserve(2), "code", value_text(error->code));
    reason = value_set_take(reason, "model", value_text(model->providers[self->at + 1].name));
    tn_value delta = value_set_take(value_object_reserve(1), "reset", reason);
    (void)call_emit(call_token(self->call), delta);
    value_unref(delta);
}

static void model_call_fail(struct model_call *self, const struct error *error) {
    const struct model *model = self->model;
    struct error all = ERROR_INIT;
    error_copy(&all, error);
    if (model->count > 1) {
        error_set(&all, TN_FAILED, error->code, "`%s`%s: %s", model->providers[self->at].name,
                  self->at ? ", the last fallback" : "", error->message);
        value_unref(all.more);
        all.more = error->more ? value_ref(error->more) : NULL;
    }
    (void)call_fail(model_call_detach(self), &all);
    error_finish(&all);
}

/* Returns true if the next attempt must be started. Otherwise the call has failed. */
static bool fail_attempt(struct model_call *self, const struct error *error) {
    if (!can_fall_back(self, error)) {
        model_call_fail(self, error);
        return false;
    }
    report_fallback(self, error);
    call_free(self->attempt);
    self->attempt = NULL;
    self->at++;
    self->emitted = false;
    return true;
}

static bool complete_attempt(struct model_call *self, tn_value output) {
    const char *wrong = malformed_output(output);
    struct error error = ERROR_INIT;
    if (!wrong) {
        model_call_complete(self, output);
        return false;
    }
    error_set(&error, TN_INVALID, "INVALID_RESPONSE",
              "the model `%s` returned a malformed answer: %s; expected {message, usage, finish_reason}",
              self->model->providers[self->at].name, wrong);
    bool another = fail_attempt(self, &error);
    error_finish(&error);
    return another;
}

/* Handles the end of an attempt. Returns true if the next attempt must be started. */
static bool handle_attempt_end(struct model_call *self) {
    struct error cancelled = ERROR_INIT;
    const struct error *error = call_error(self->attempt);
    switch (call_outcome(self->attempt)) {
    case CALL_COMPLETED: return complete_attempt(self, call_output(self->attempt));
    case CALL_INTERRUPTED:
        (void)call_interrupt_take(model_call_detach(self), value_ref(call_interrupt_value(self->attempt)));
        return false;
    case CALL_CANCELLED:
        error_set(&cancelled, TN_CANCELLED, "CANCELLED", "the call was cancelled");
        (void)call_fail(model_call_detach(self), error && error->code ? error : &cancelled);
        error_finish(&cancelled);
        return false;
    default: return fail_attempt(self, error);
    }
}

static void attempt_ended(struct call *attempt);

static bool attempt_chunk(struct call *attempt, tn_value chunk) {
    struct model_call *self = call_owner(attempt);
    if (!call_wants_chunks(self->call)) return true;
    self->emitted = true;
    return call_emit(call_token(self->call), chunk) != TN_AGAIN;
}

static tn_value attempt_context(struct call *attempt) {
    return context_of(((struct model_call *)call_owner(attempt))->call);
}

static tn_value attempt_run_value(struct call *attempt) {
    struct call *call = ((struct model_call *)call_owner(attempt))->call;
    const struct call_ops *ops = call_ops_of(call);
    return ops->run_value ? ops->run_value(call) : NULL;
}

static const struct call_ops attempt_ops = {
    .ended = attempt_ended, .chunk = attempt_chunk, .context = attempt_context, .run_value = attempt_run_value};

/* Starts attempts until one is pending or the call has ended. In the second case `self` is freed. */
static void run_attempts(struct model_call *self) {
    bool another = true;
    while (another) {
        const struct model_provider *provider = &self->model->providers[self->at];
        struct callable *callable = model_embed_is_wanted(self->input) ? provider->embedder : provider->callable;
        self->attempt = call_new(call_loop(self->call), callable, &attempt_ops, self);
        if (!call_start(self->attempt, self->input)) return;
        another = handle_attempt_end(self);
    }
    model_call_free(self);
}

static void attempt_ended(struct call *attempt) {
    struct model_call *self = call_owner(attempt);
    if (handle_attempt_end(self))
        run_attempts(self);
    else
        model_call_free(self);
}

/* ---- The callable ---- */

static int32_t model_start(struct callable *callable, struct call *call, tn_value input) {
    struct model *model = (struct model *)callable;
    struct call *root = call_root(call);
    struct error error = ERROR_INIT;
    const struct call_ops *ops = call_ops_of(root);
    if (ops->check_budget && ops->check_budget(root, &error) != TN_OK) {
        (void)call_fail(call_token(call), &error);
        error_finish(&error);
        return TN_OK;
    }
    struct model_call *self = mem_zalloc(sizeof *self);
    self->model = (struct model *)(void *)callable_ref(&model->callable);
    self->call = call;
    self->input = input ? value_ref(input) : value_null();
    call_set_data(call, self);
    run_attempts(self);
    return TN_OK;
}

static void model_cancel(struct callable *callable, struct call *call) {
    (void)callable;
    struct model_call *self = call_data(call);
    if (self && self->attempt) call_cancel(self->attempt);
}

static void model_ready(struct callable *callable, struct call *call) {
    (void)callable;
    struct model_call *self = call_data(call);
    if (self && self->attempt) call_resume(self->attempt);
}

static void model_free(struct callable *callable) {
    struct model *model = (struct model *)callable;
    for (uint32_t i = 0; i < model->count; i++) {
        callable_unref(model->providers[i].embedder);
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

/* ---- Creating a model ---- */

/* Converts "openai:gpt-4o-mini" to {provider, model}. Objects are unchanged. A new reference. */
static tn_value binding_object(tn_value binding) {
    if (!value_is(binding, TN_STRING)) return value_is(binding, TN_OBJECT) ? value_ref(binding) : value_object();
    size_t length;
    const char *text = value_chars(binding, &length), *colon = memchr(text, ':', length);
    size_t provider = colon ? (size_t)(colon - text) : length;
    tn_value object = value_set_take(value_object_reserve(2), "provider", value_string(text, provider));
    return colon ? value_set_take(object, "model", value_string(colon + 1, length - provider - 1)) : object;
}

/* {env: …} and similar objects are only valid under `secrets`. The schema's message does not explain that. */
static void explain_secrets(tn_value object, struct error *error) {
    static const char *const forms[] = {"env", "file", "command"};
    for (size_t i = 0; i < value_count(object); i++) {
        tn_value member = value_value_at(object, i);
        if (!value_is(member, TN_OBJECT) || value_count(member) != 1) continue;
        for (size_t j = 0; j < sizeof forms / sizeof *forms; j++)
            if (value_text_is(value_key_at(member, 0), forms[j]))
                error_set(error, TN_INVALID, error->code,
                          "%s; `%s` locates a secret, and belongs under `secrets` in tenon.yaml: "
                          "`secrets: {MY_KEY: {%s: …}}`; write {secret: MY_KEY} here",
                          error->message, value_chars(value_key_at(object, i), NULL), forms[j]);
    }
}

/* A missing member is not an error here: the caller may add it. */
static bool is_reportable(const struct schema_error *violation) {
    return strcmp(violation->keyword, "required") != 0 || *violation->pointer;
}

int32_t model_check(struct engine *engine, tn_value binding, struct error *error) {
    tn_value object = binding_object(binding), named = value_get(object, "provider"), options = value_object();
    size_t length = 0;
    const char *id = value_is(named, TN_STRING) ? value_chars(named, &length) : "";
    const struct component_info *info = engine->catalog.find(engine->catalog.self, "model", id, length);
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    int32_t status = info ? TN_OK : TN_NOT_FOUND;
    for (size_t i = 0; i < value_count(object); i++)
        if (!value_text_is(value_key_at(object, i), "provider"))
            options =
                value_set_key_take(options, value_ref(value_key_at(object, i)), value_ref(value_value_at(object, i)));
    if (info && info->config) (void)schema_validate(info->config, options, &errors);
    for (size_t i = 0; status == TN_OK && i < errors.count; i++) {
        if (!is_reportable(&errors.items[i])) continue;
        status = error_set(error, TN_INVALID, "INVALID_CONFIG", "the configuration of the model `%s`: %s%s%s", id,
                           errors.items[i].pointer, *errors.items[i].pointer ? ": " : "", errors.items[i].message);
        explain_secrets(object, error);
    }
    schema_errors_finish(&errors);
    value_unref(options);
    value_unref(object);
    return status;
}

static int32_t model_provider_new(struct engine *engine, tn_value binding, tn_value config, struct model_provider *out,
                                  struct error *error) {
    static const struct instance_scope scope = {.where = "a model"};
    tn_value object = binding_object(binding), named = value_get(object, "provider");
    tn_value options = config ? value_ref(config) : value_object();
    for (size_t i = 0; i < value_count(object); i++)
        if (!value_text_is(value_key_at(object, i), "provider"))
            options =
                value_set_key_take(options, value_ref(value_key_at(object, i)), value_ref(value_value_at(object, i)));
    const char *id = value_is(named, TN_STRING) ? value_chars(named, NULL) : "";
    tn_value model = value_get(options, "model");
    struct component *component;
    int32_t status = registry_resolve(engine->registry, "model", id, &component, error);
    if (status == TN_OK) status = instance_new_called(component, options, &scope, &out->callable, error);
    if (status == TN_OK) {
        out->embedder = model_embedder_new(out->callable);
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

int32_t model_new(struct engine *engine, const char *name, tn_value binding, tn_value config, struct callable **out,
                  struct error *error) {
    struct model *model = mem_zalloc(sizeof *model);
    bool list = value_is(binding, TN_ARRAY);
    size_t count = list ? value_count(binding) : 1;
    int32_t status = TN_OK;
    model->callable = (struct callable){.ops = &model_ops, .references = 1};
    model->engine = engine;
    model->name = mem_text(name);
    if (count == 0 || count > MODEL_FALLBACKS_MAX)
        status = error_set(error, TN_LIMIT, "LIMIT", "models.%s: found a list of %zu, expected 1 to %u", name, count,
                           MODEL_FALLBACKS_MAX);
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        struct error why = ERROR_INIT;
        tn_value item = list ? value_at(binding, i) : binding;
        if (model_provider_new(engine, item, config, &model->providers[model->count], &why) == TN_OK)
            model->count++;
        else if (i + 1 == count && model->count == 0)
            status = (error_move(error, &why), TN_NOT_FOUND);
        else
            log_write(LOG_WARN, NULL, "models.%s: a fallback is left out: %s", name,
                      why.message ? why.message : "its provider is not available");
        error_finish(&why);
    }
    if (status == TN_OK)
        *out = &model->callable;
    else
        model_free(&model->callable);
    return status;
}

/* ---- Binding a role ---- */

static bool is_model_binding(tn_value binding, bool in_list) {
    if (value_is(binding, TN_STRING)) return value_chars(binding, NULL)[0] != 0;
    if (value_is(binding, TN_OBJECT)) return value_is(value_get(binding, "provider"), TN_STRING);
    if (!value_is(binding, TN_ARRAY) || in_list || value_count(binding) == 0) return false;
    for (size_t i = 0; i < value_count(binding); i++)
        if (!is_model_binding(value_at(binding, i), true)) return false;
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
    if (!is_model_binding(binding, false)) {
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
    /* The name of a role ends at the first character that can only be part of a binding. */
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

int32_t model_bind_value(struct config *config, const char *role, tn_value binding, struct error *error) {
    if (!is_model_binding(binding, false))
        return error_set(error, TN_INVALID, "INVALID_CONFIG",
                         "models.%.100s: expected \"PROVIDER:NAME\", an object with `provider`, or a list of these",
                         role);
    config_bind_model_take(config, role, value_ref(binding));
    return TN_OK;
}
