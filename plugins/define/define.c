/*
 * define.c - the plugin `tenon.define`: tools from descriptions in tenon.yaml, or in files that it names.
 *
 *     plugins:
 *       config:
 *         tenon.define:
 *           tools:
 *             - {document: research.yaml}
 *             - {name: disk.free, command: [df, -h, "{path}"], input: {type: object, properties: {path: {type:
 * string}}}}
 *             - tools/weather.yaml
 *
 * The components are known when the plugin is initialised. An invalid description is logged with its place and left
 * out; the others are registered.
 */
#include "call.h"
#include "orphans.h"
#include "yaml_file.h"
#include <stdio.h>
#include <tenon/registry.h>

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

static const tn_registry_1 *registry;
static struct definition *definitions;
static struct definition **definitions_end = &definitions; /* where the next one is added */

/* ---- Reading ---- */

/* An invalid description is logged and left out. */
static void add_description(tn_value value, const char *where, const char *folder, bool in_config) {
    struct definition *definition = definition_read(value, where, folder, in_config);
    *definitions_end = definition;
    if (definition != NULL) definitions_end = &definition->next;
}

/* One description, or a list of them. */
static void add_description_file(const char *path) {
    const char *slash = strrchr(path, '/');
    struct tn_text_buffer folder = {.limit = 4096};
    tn_value root = yaml_read_file(path, path);
    if (slash != NULL) tn_text_append_n(&folder, path, (uint64_t)(slash > path ? slash - path : 1));
    const char *from = slash != NULL ? tn_text_chars(&folder) : NULL;
    if (root != NULL && tn.value->kind(root) != TN_ARRAY) add_description(root, path, from, false);
    for (uint64_t i = 0, count = root != NULL ? tn.value->count(root) : 0; i < count; i++) {
        char where[4200];
        if (tn.value->kind(root) != TN_ARRAY) break;
        (void)snprintf(where, sizeof(where), "%.4096s: [%llu]", path, (unsigned long long)i);
        add_description(tn.value->at(root, i), where, from, false);
    }
    tn_text_free(&folder);
    tn_release(root);
}

static void register_components(void) {
    for (struct definition **at = &definitions; *at != NULL;) {
        struct definition *definition = *at;
        if (registry->add(tn.host, definition->component, NULL) == TN_OK) {
            at = &definition->next;
            continue;
        }
        *at = definition->next; /* the registry has logged the reason */
        if (*at == NULL) definitions_end = at;
        definition_free(definition);
    }
}

static void free_definitions(void) {
    while (definitions != NULL) {
        struct definition *definition = definitions;
        definitions = definition->next;
        definition_free(definition);
    }
    definitions_end = &definitions;
}

static int32_t define_init(void *self, tn_value config) {
    tn_value list = tn_get(config, "tools");
    (void)self;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        tn_value item = tn.value->at(list, i);
        const char *path = tn_chars(item, NULL);
        if (tn.value->kind(item) == TN_NULL) continue; /* the host has logged it and left it out */
        char where[96];
        (void)snprintf(where, sizeof(where), "tenon.yaml: plugins.config.tenon.define.tools[%llu]",
                       (unsigned long long)i);
        if (path != NULL)
            add_description_file(path);
        else
            add_description(item, where, NULL, true);
    }
    register_components();
    return TN_OK;
}

static void define_deinit(void *self) {
    (void)self;
    free_definitions();
    orphans_finish();
}

/* ---- Components ---- */

static int32_t define_create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    (void)self, (void)config;
    for (const struct definition *definition = definitions; definition != NULL; definition = definition->next) {
        uint64_t known_length;
        const char *known = tn_chars(definition->id, &known_length);
        if (known_length == length && memcmp(known, id, length) == 0)
            return define_call_create(definition, binder, instance);
    }
    return tn_refuse("TOOL_NOT_FOUND", "no tool of this name is defined");
}

static const tn_component_1 components = {sizeof(tn_component_1), define_create, define_call_start,
                                          define_call_cancel,     NULL,          define_call_destroy};
static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), define_init, NULL, define_deinit};

static const void *define_get_interface(void *self, const char *id) {
    (void)self;
    if (strcmp(id, TN_COMPONENT_1) == 0) return &components;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static const tn_plugin plugin = {sizeof(tn_plugin), NULL, define_get_interface};
    if (tn_easy_entry(host) == NULL) return NULL; /* it fills `tn` */
    registry = tn_easy_interface(host, TN_REGISTRY_1, sizeof(*registry));
    define_graph = tn_easy_interface(host, TN_GRAPH_DRAFT, sizeof(*define_graph));
    define_http = tn_easy_interface(host, TN_HTTP_1, sizeof(*define_http));
    define_poll = tn_easy_interface(host, TN_POLL_1, sizeof(*define_poll));
    define_launch = tn_easy_interface(host, TN_LAUNCH_DRAFT, sizeof(*define_launch));
    if (registry != NULL && define_graph != NULL) return &plugin;
    tn_log(TN_LOG_ERROR, "declined: the host does not offer " TN_REGISTRY_1 " and " TN_GRAPH_DRAFT);
    return NULL;
}
