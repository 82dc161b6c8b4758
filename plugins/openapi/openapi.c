/*
 * openapi.c - the plugin `tenon.openapi`: each operation of a REST service with an OpenAPI description is a tool.
 *
 *     plugins:
 *       config:
 *         tenon.openapi:
 *           services:
 *             petstore: {document: petstore.yaml, auth: {api_key: {secret: PETSTORE_KEY}}}
 *
 * The components (`petstore.getPetById`) are known when the plugin is initialised. A call is one request. The answer of
 * the service is the result; an unsuccessful answer is an error with the start of its body.
 */
#include "call.h"
#include "upload.h"
#include <tenon/registry.h>

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

static const tn_registry_1 *registry;
static struct service *services;

/*
 * If the schema of an operation's arguments is invalid, the operation is left out and the host has logged the reason.
 * The schemas of answers are not used: an answer is returned unchanged.
 */
static void register_service_tools(const struct service *service) {
    for (uint32_t i = 0; i < service->count; i++) {
        const struct operation *operation = &service->operations[i];
        if (registry->add(tn.host, operation->component, NULL) != TN_OK)
            service_log(
                service, TN_LOG_WARN, "%s %s is left out: the host rejected the tool `%s` (see the previous line)",
                tn_chars(operation->method, NULL), tn_chars(operation->path, NULL), tn_chars(operation->id, NULL));
    }
}

static void free_services(void) {
    while (services != NULL) {
        struct service *service = services;
        services = service->next;
        for (uint32_t i = 0; i < service->auth_count; i++)
            if (service->auths[i].exchange != 0) (void)openapi_http->cancel(tn.host, service->auths[i].exchange);
        service_free(service);
    }
}

static int32_t openapi_init(void *self, tn_value config) {
    tn_value list = tn_get(config, "services");
    (void)self;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        tn_value name, section;
        if (tn.value->entry(list, i, &name, &section) != TN_OK) break;
        if (tn.value->kind(section) == TN_NULL) continue; /* the host has logged it and left it out */
        struct service *service = service_read(tn_chars(name, NULL), section);
        if (service == NULL) continue; /* logged; the other services still work */
        service->next = services;
        services = service;
    }
    for (const struct service *service = services; service != NULL; service = service->next)
        register_service_tools(service);
    return TN_OK;
}

static void openapi_deinit(void *self) {
    (void)self;
    free_services();
}

/* An instance is its operation. */
static int32_t openapi_create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                              void **instance) {
    (void)self, (void)config, (void)binder;
    for (struct service *service = services; service != NULL; service = service->next) {
        for (uint32_t i = 0; i < service->count; i++) {
            uint64_t known_length;
            const char *known = tn_chars(service->operations[i].id, &known_length);
            if (known_length != length || memcmp(known, id, length) != 0) continue;
            *instance = &service->operations[i];
            return TN_OK;
        }
    }
    return tn_refuse("TOOL_NOT_FOUND", "no service has this operation");
}

static void openapi_destroy(void *instance) { (void)instance; }

static const tn_component_1 components = {sizeof(tn_component_1), openapi_create, operation_call_start,
                                          operation_call_cancel,  NULL,           openapi_destroy};
static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), openapi_init, NULL, openapi_deinit};

static const void *openapi_get_interface(void *self, const char *id) {
    (void)self;
    if (strcmp(id, TN_COMPONENT_1) == 0) return &components;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static const tn_plugin plugin = {sizeof(tn_plugin), NULL, openapi_get_interface};
    if (tn_easy_entry(host) == NULL) return NULL; /* it fills `tn` */
    registry = tn_easy_interface(host, TN_REGISTRY_1, sizeof(*registry));
    openapi_http = tn_easy_interface(host, TN_HTTP_1, sizeof(*openapi_http));
    openapi_state = tn_easy_interface(host, TN_STATE_DRAFT, sizeof(*openapi_state)); /* NULL: no Artifacts */
    if (registry != NULL && openapi_http != NULL) return &plugin;
    tn_log(TN_LOG_ERROR, "declined: the host does not offer " TN_REGISTRY_1 " and " TN_HTTP_1);
    return NULL;
}
