/*
 * embed_component.c - tenon_register and tenon_add_plugin: components that the embedding program brings along.
 */
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/assembly/host.h"
#include "host/embed/embed_function.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/registry.h"
#include "host/plugin/registry/reserved.h"
#include <string.h>

static const char *const function_kinds[] = {
    [FUNCTION_NODE] = "node", [FUNCTION_TOOL] = "tool", [FUNCTION_MODEL] = "model", [FUNCTION_REDUCER] = "reducer"};

static int32_t register_find_kind(const char *kind, enum embed_function_kind *out, struct error *error) {
    struct nearest nearest;
    if (kind) nearest_init(&nearest, kind, strlen(kind));
    for (size_t i = 0; kind && i < sizeof function_kinds / sizeof *function_kinds; i++) {
        *out = (enum embed_function_kind)i;
        if (strcmp(function_kinds[i], kind) == 0) return TN_OK;
        nearest_add_candidate(&nearest, function_kinds[i], strlen(function_kinds[i]));
    }
    return error_set(error, TN_INVALID, "INVALID_INPUT",
                     "tenon_register: found the kind `%s`, expected node, tool, model or reducer%s",
                     kind ? kind : "NULL", kind ? nearest_hint(&nearest).text : "");
}

/* The object of a manifest: the description, and what it need not say. A new reference. */
static tn_value register_component(const char *kind, tn_value id, tn_value description) {
    tn_value component = value_set_take(value_object_reserve(8), "kind", value_text(kind));
    component = value_set_take(component, "id", value_ref(id));
    component = value_set_take(component, "title", value_ref(id));
    component = value_set_take(component, "style", value_text("async"));
    tn_value object = value_set_take(value_object_reserve(1), "type", value_text("object"));
    if (strcmp(kind, "tool") == 0) component = value_set_take(component, "input", value_ref(object));
    if (strcmp(kind, "model") == 0) component = value_set_take(component, "config", value_ref(object));
    value_unref(object);
    for (size_t i = 0, n = description ? value_count(description) : 0; i < n; i++)
        component = value_set_key_take(component, value_ref(value_key_at(description, i)),
                                       value_ref(value_value_at(description, i)));
    return component;
}

/* Keeps the first finding of the check. */
static void register_on_finding(void *user, const char *message) {
    tn_value *first = user;
    if (!*first) *first = value_string_lossy(message, strlen(message));
}

/* Checks it as strictly as `tenon plugin check` does, because no other check will see it. */
static int32_t register_check(tenon *handle, tn_value component) {
    tn_value plugin = value_set_take(value_object_reserve(3), "id", value_text(EMBED_PROGRAM_ID));
    plugin = value_set_take(value_set_take(plugin, "version", value_text("1.0.0")), "title", value_text("-"));
    tn_value manifest = value_set_take(value_object_reserve(2), "plugin", plugin);
    tn_value components = value_push_take(value_array(), value_ref(component));
    manifest = value_set_take(manifest, "components", components);
    tn_value finding = NULL;
    int32_t status = TN_OK;
    if (manifest_validate("tenon_register", manifest, register_on_finding, &finding) > 0)
        status = error_set(&handle->error, TN_INVALID, "MANIFEST_INVALID", "%s", value_chars(finding, NULL));
    value_unref(finding);
    value_unref(manifest);
    return status;
}

/* Returns TN_OK if the id is neither reserved nor in use. */
static int32_t register_check_name(tenon *handle, const char *kind, const char *id, tn_value component) {
    int32_t status = reserved_check_component("tenon_register", EMBED_PROGRAM_ID, component, &handle->error);
    if (status == TN_OK)
        status = registry_check_free(host_registry(handle->host), "tenon_register", kind, id, &handle->error);
    if (status == TN_OK && embed_program_find(handle, id))
        status = error_set(
            &handle->error, TN_INVALID, "PLUGIN_DUPLICATE",
            "tenon_register: the program has registered `%s` already, as another kind; choose another id", id);
    return status;
}

static int32_t register_function(tenon *handle, const char *kind_name, const char *id, tn_value description,
                                 tenon_component_function function, void *user, void (**destroy)(void *user)) {
    enum embed_function_kind kind = FUNCTION_NODE;
    int32_t status = register_find_kind(kind_name, &kind, &handle->error);
    tn_value name = id ? value_string(id, strlen(id)) : NULL;
    if (status == TN_OK && !name)
        status = error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "tenon_register: the id is NULL or not UTF-8");
    if (status == TN_OK && !function)
        status =
            error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "tenon_register: the function of `%s` is NULL", id);
    if (status == TN_OK && description && !value_is(description, TN_OBJECT))
        status = error_set(&handle->error, TN_TYPE, "INVALID_INPUT",
                           "tenon_register: the description of `%s` is %s, expected an object", id,
                           value_kind_name(value_kind(description)));
    if (status == TN_OK && kind == FUNCTION_REDUCER && value_text_is(value_get(description, "style"), "blocking"))
        status = error_set(&handle->error, TN_INVALID, "INVALID_INPUT",
                           "tenon_register: the description of `%s` has the style `blocking`, but a reducer cannot be "
                           "`blocking`: it is called between two super-steps, and must end at once",
                           id);
    for (int i = 0; status == TN_OK && i < 2; i++)
        if (value_get(description, i ? "kind" : "id"))
            status = error_set(&handle->error, TN_INVALID, "INVALID_INPUT",
                               "tenon_register: the description of `%s` has `%s`, which is an argument of the function",
                               id, i ? "kind" : "id");
    if (status == TN_OK) {
        tn_value component = register_component(kind_name, name, description);
        status = register_check(handle, component);
        if (status == TN_OK) status = register_check_name(handle, kind_name, id, component);
        if (status == TN_OK) {
            status = embed_function_add(handle, kind, mem_text(id), component, function, user, *destroy);
            *destroy = NULL; /* the function is kept, or was destroyed */
        }
        value_unref(component);
    }
    value_unref(name);
    return status;
}

int32_t tenon_register(tenon *handle, const char *kind, const char *id, tn_value description,
                       tenon_component_function function, void *user, void (*destroy)(void *user)) {
    int32_t status = TN_INVALID;
    if (embed_enter(handle)) status = register_function(handle, kind, id, description, function, user, &destroy);
    if (destroy) destroy(user); /* it was not kept */
    return status;
}

int32_t tenon_add_plugin(tenon *handle, tenon_plugin_entry entry, tn_value manifest) {
    if (!embed_enter(handle)) return TN_INVALID;
    if (!entry)
        return error_set(&handle->error, TN_INVALID, "INVALID_INPUT",
                         "tenon_add_plugin: the entry is NULL; pass tn_plugin_entry_1");
    if (manifest && !value_is(manifest, TN_OBJECT))
        return error_set(&handle->error, TN_TYPE, "INVALID_INPUT",
                         "tenon_add_plugin: the manifest is %s, expected an object",
                         value_kind_name(value_kind(manifest)));
    return registry_add_linked(host_registry(handle->host), entry, manifest, "tenon_add_plugin", &handle->error);
}
