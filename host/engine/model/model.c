/*
 * model.c - creates models from the bindings of roles, and validates bindings. model_call.c calls them.
 */
#include "host/engine/model/model.h"
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/log.h"
#include "host/engine/cache.h"
#include "host/engine/engine.h"
#include "host/engine/model/model_embed.h"
#include "host/engine/model/model_internal.h"
#include "host/engine/model/model_options.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <string.h>
#include <tenon/util/sha256.h>

struct models *models_new(struct loop *loop) {
    struct models *models = mem_zalloc(sizeof *models);
    models->fallbacks_logged = value_object();
    model_gate_side_init_take(&models->side, model_gates_new(), loop);
    return models;
}

void models_share_limits(struct models *models, struct models *with) {
    struct model_gates *gates = model_gates_ref(with->side.gates);
    struct loop *loop = models->side.loop;
    model_gate_side_finish(&models->side);
    model_gate_side_init_take(&models->side, gates, loop);
}

void models_free(struct models *models) {
    if (!models) return;
    model_gate_side_finish(&models->side);
    cache_free(models->answers);
    value_unref(models->fallbacks_logged);
    mem_free(models);
}

void model_free(struct callable *callable) {
    struct model *model = (struct model *)callable;
    for (uint32_t i = 0; i < model->count; i++) {
        callable_unref(model->providers[i].embedder);
        callable_unref(model->providers[i].callable);
        mem_free(model->providers[i].name);
        mem_free(model->providers[i].key.name);
        mem_free(model->providers[i].key.gate);
    }
    value_unref(model->binding);
    value_unref(model->config);
    mem_free(model->name);
    mem_free(model);
}

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

/* Adds the members of a binding that are options of its provider. */
static tn_value add_options_take(tn_value options, tn_value object) {
    for (size_t i = 0; i < value_count(object); i++) {
        tn_value key = value_key_at(object, i);
        const char *const *own = model_role_members;
        while (*own && !value_text_is(key, *own)) own++;
        if (!*own) options = value_set_key_take(options, value_ref(key), value_ref(value_value_at(object, i)));
    }
    return options;
}

int32_t model_check(struct engine *engine, tn_value binding, struct error *error) {
    tn_value object = binding_object(binding), named = value_get(object, "provider");
    size_t length = 0;
    const char *id = value_is(named, TN_STRING) ? value_chars(named, &length) : "";
    const struct component_info *info = engine->catalog.find(engine->catalog.self, "model", id, length);
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    int32_t status = info ? TN_OK : TN_NOT_FOUND;
    tn_value own = add_options_take(value_object(), object), options = model_options(engine, id, own, NULL);
    if (info && info->config) (void)schema_validate(info->config, options, &errors);
    for (size_t i = 0; status == TN_OK && i < errors.count; i++) {
        if (!is_reportable(&errors.items[i])) continue;
        status = error_set(error, TN_INVALID, "INVALID_CONFIG", "the configuration of the model `%s`: %s%s%s", id,
                           errors.items[i].pointer, *errors.items[i].pointer ? ": " : "", errors.items[i].message);
        explain_secrets(options, error);
    }
    schema_errors_finish(&errors);
    value_unref(own);
    value_unref(options);
    value_unref(object);
    return status;
}

/* True for a component that has no effect outside of this machine: a failure would repeat itself. */
static bool component_is_local(const struct component_info *info) {
    if (!info || !info->effects) return false;
    for (size_t i = 0; i < value_count(info->effects); i++)
        if (strncmp(value_chars(value_at(info->effects, i), NULL), "network", 7) == 0) return false;
    return true;
}

/* The name of the secret that a provider with these options uses; NULL if it has a key in plain text, or none. */
static const char *provider_secret(const struct component *component, tn_value options) {
    tn_value key = value_get(options, "api_key"), secret = value_get(key, "secret");
    if (!key && !value_get(options, "base_url")) { /* the default is for the service's own address */
        tn_value config = value_get(component->info->manifest, "config");
        secret = value_get(value_get(value_get(config, "properties"), "api_key"), "x-tenon-secret");
    }
    return value_is(secret, TN_STRING) ? value_chars(secret, NULL) : NULL;
}

/* What providers with the same limits and the same key have in common: a hash, because the key can be in plain text. */
static char *provider_source(const char *id, const char *secret, tn_value options) {
    static const char *const names[] = {"base_url", "api_key", "credentials"};
    tn_value source = value_push_take(value_array_reserve(5), value_text(id));
    source = value_push_take(source, secret ? value_text(secret) : value_null());
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tn_value member = value_get(options, names[i]);
        source = value_push_take(source, member ? value_ref(member) : value_null());
    }
    char hash[TN_SHA256_TEXT];
    json_hash(source, JSON_SORTED, hash);
    value_unref(source);
    return mem_text(hash);
}

/*
 * The limits of tenon.yaml for the key in these options. A row for a secret is for all requests with that secret; a row
 * for a provider is for the requests with each of its keys and addresses.
 */
static void provider_find_key(struct engine *engine, const char *id, const struct component *component,
                              tn_value options, struct model_key *out) {
    tn_value all = config_model_limits(engine->config);
    const char *secret = provider_secret(component, options), *name = secret ? secret : id;
    tn_value found = value_get(all, name);
    if (!found) found = value_get(all, name = id);
    if (!found || model_limits_read(found, name, &out->limits, NULL) != TN_OK) return;
    out->name = mem_text(name);
    out->gate = name == secret ? mem_text(name) : provider_source(id, secret, options);
}

static int32_t model_provider_new(struct engine *engine, tn_value binding, tn_value config, struct model_provider *out,
                                  struct error *error) {
    static const struct instance_scope scope = {.where = "a model"};
    tn_value object = binding_object(binding), named = value_get(object, "provider");
    const char *id = value_is(named, TN_STRING) ? value_chars(named, NULL) : "";
    tn_value own = add_options_take(value_object(), object), options = model_options(engine, id, own, config);
    tn_value model = value_get(options, "model");
    struct component *component;
    int32_t status = registry_resolve(engine->registry, "model", id, &component, error);
    if (status == TN_OK) status = instance_new_called(component, options, &scope, &out->callable, error);
    if (status == TN_OK) provider_find_key(engine, id, component, options, &out->key);
    if (status == TN_OK) out->embedder = model_embedder_new(out->callable, options, &engine->models->side, &out->key);
    if (status == TN_OK) {
        struct buffer name;
        buffer_init(&name, SIZE_MAX);
        buffer_text(&name, id);
        if (value_is(model, TN_STRING)) buffer_format(&name, ":%s", value_chars(model, NULL));
        out->name = buffer_detach(&name, NULL);
    } else if (error->code && strcmp(error->code, "INVALID_CONFIG") == 0) {
        explain_secrets(options, error);
    }
    out->remote = !component_is_local(status == TN_OK ? component->info : NULL);
    value_unref(own);
    value_unref(options);
    value_unref(object);
    return status;
}

/* The retry that applies: of the binding, of the role, of tenon.yaml; a local model is not retried unless one is set.
 */
static void model_choose_retry(const struct model *model, const struct model_role_model *chosen,
                               struct model_provider *provider) {
    struct model_retry general = MODEL_RETRY_INIT;
    (void)model_retry_read(config_model_retry(model->engine->config), "retry", &general, NULL);
    provider->retry = chosen->retry.set ? chosen->retry : model->role.retry.set ? model->role.retry : general;
    if (!provider->retry.set && !provider->remote) provider->retry.attempts = 0;
}

/* Creates the providers. Those that are not available are left out, if there are others. */
static int32_t model_create_providers(struct model *model, struct error *error) {
    const struct model_role *role = &model->role;
    int32_t status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < role->count; i++) {
        const struct model_role_model *chosen = &role->models[i];
        struct model_provider *provider = &model->providers[model->count];
        struct error why = ERROR_INIT;
        bool shared = (i > 0 && role->models[i - 1].group == chosen->group) ||
                      (i + 1 < role->count && role->models[i + 1].group == chosen->group);
        if (model_provider_new(model->engine, chosen->binding, model->config, provider, &why) == TN_OK) {
            provider->group = chosen->group;
            provider->context_tokens = chosen->context_tokens;
            provider->deployment =
                shared ? model_deployments_find(models_deployments(model->engine->models), chosen->binding) : NULL;
            model_choose_retry(model, chosen, provider);
            model->count++;
        } else if (i + 1 == role->count && model->count == 0)
            status = (error_move(error, &why), TN_NOT_FOUND);
        else
            log_write(LOG_WARN, NULL, "models.%s: a fallback is left out: %s", model->name,
                      why.message ? why.message : "its provider is not available");
        error_finish(&why);
    }
    return status;
}

int32_t model_new(struct engine *engine, const char *name, tn_value binding, tn_value config, struct callable **out,
                  struct error *error) {
    static const struct model_role none = MODEL_ROLE_INIT;
    struct model *model = mem_zalloc(sizeof *model);
    struct error why = ERROR_INIT;
    model->callable = (struct callable){.ops = &model_ops, .references = 1};
    model->engine = engine;
    model->name = mem_text(name);
    model->binding = value_ref(binding);
    model->config = config ? value_ref(config) : NULL;
    model->role = none;
    int32_t status = model_role_read(model->binding, &model->role, &why);
    if (status != TN_OK)
        error_set(error, status, why.code, "models.%s: %s", name, why.message);
    else
        status = model_create_providers(model, error);
    error_finish(&why);
    if (status == TN_OK)
        *out = &model->callable;
    else
        model_free(&model->callable);
    return status;
}

/* ---- Binding a role ---- */

static bool is_model_list(tn_value list, bool nested);

static bool is_model_binding(tn_value binding, bool in_list) {
    if (value_is(binding, TN_STRING)) return value_chars(binding, NULL)[0] != 0;
    if (!in_list && model_role_is_mapping(binding)) return is_model_list(value_get(binding, "models"), true);
    if (value_is(binding, TN_OBJECT)) return value_is(value_get(binding, "provider"), TN_STRING);
    return !in_list && is_model_list(binding, false);
}

/* A list of bindings; in `models` of a mapping an item can be a list of deployments. */
static bool is_model_list(tn_value list, bool nested) {
    if (!value_is(list, TN_ARRAY) || value_count(list) == 0) return false;
    for (size_t i = 0; i < value_count(list); i++) {
        tn_value item = value_at(list, i);
        if (!is_model_binding(item, true) && !(nested && is_model_list(item, false))) return false;
    }
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
