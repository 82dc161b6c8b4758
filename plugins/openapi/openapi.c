/*
 * openapi.c - the plugin `tenon.openapi`: every operation of a REST service that has an OpenAPI description, as a tool.
 *
 *     plugins:
 *       config:
 *         tenon.openapi:
 *           services:
 *             petstore: {document: petstore.yaml, auth: {api_key: {secret: PETSTORE_KEY}}}
 *
 * Its components are known once it is initialised: `petstore.getPetById`. A call is one request. What the service
 * answers is the result; an answer that is no success is an error, with what the service said, for the model to read.
 */
#include "call.h"
#include <tenon/registry.h>

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

static const tn_registry_draft *registry;
static struct service *services;

/*
 * One whose arguments have a schema that is none costs itself, as nobody could say what it takes; the host has logged
 * what is wrong with it. What a service answers is given as it is: its schemas are not looked at.
 */
static void offer(const struct service *service) {
    for (uint32_t i = 0; i < service->count; i++) {
        const struct operation *operation = &service->operations[i];
        if (registry->add(tn.host, operation->component) != TN_OK)
            service_say(service, TN_LOG_WARN, "%s %s is left out: as the tool `%s` it is refused, for the reason above",
                        tn_chars(operation->method, NULL), tn_chars(operation->path, NULL),
                        tn_chars(operation->id, NULL));
    }
}

static void forget(void) {
    while (services != NULL) {
        struct service *service = services;
        services = service->next;
        for (uint32_t i = 0; i < service->auth_count; i++)
            if (service->auths[i].exchange != 0) (void)call_http->cancel(tn.host, service->auths[i].exchange);
        service_free(service);
    }
}

static int32_t init(void *self, tn_value config) {
    tn_value list = tn.value->get(config, "services");
    (void)self;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        tn_value name, section;
        if (tn.value->entry(list, i, &name, &section) != TN_OK) break;
        if (tn.value->kind(section) == TN_NULL) continue; /* left out by the host, which has said so */
        struct service *service = service_read(tn_chars(name, NULL), section);
        if (service == NULL) continue; /* what is wrong has been said; the others are there */
        service->next = services;
        services = service;
    }
    for (const struct service *service = services; service != NULL; service = service->next) offer(service);
    return TN_OK;
}

static void deinit(void *self) {
    (void)self;
    forget();
}

/* An instance is its operation. */
static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **instance) {
    (void)self, (void)config;
    for (struct service *service = services; service != NULL; service = service->next) {
        for (uint32_t i = 0; i < service->count; i++) {
            if (strcmp(tn_chars(service->operations[i].id, NULL), id) != 0) continue;
            *instance = &service->operations[i];
            return TN_OK;
        }
    }
    return tn.task->refuse(binder, "TOOL_NOT_FOUND", "no service has this operation");
}

static void destroy(void *instance) { (void)instance; }

static const tn_component_1 components = {sizeof(tn_component_1), 0, create, call_start, call_cancel, NULL, destroy};
static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), 0, init, NULL, deinit};

static const void *offers(void *self, const char *id) {
    (void)self;
    if (strcmp(id, TN_COMPONENT_1) == 0) return &components;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static const tn_plugin plugin = {sizeof(tn_plugin), 0, NULL, offers};
    tn.host = host;
    tn.value = tn_easy_interface(host, TN_VALUE_1, sizeof(*tn.value));
    tn.task = tn_easy_interface(host, TN_TASK_1, sizeof(*tn.task));
    tn.core = tn_easy_interface(host, TN_CORE_1, sizeof(*tn.core));
    registry = tn_easy_interface(host, TN_REGISTRY_DRAFT, sizeof(*registry));
    call_http = tn_easy_interface(host, TN_HTTP_DRAFT, sizeof(*call_http));
    return tn.value != NULL && tn.task != NULL && tn.core != NULL && registry != NULL && call_http != NULL ? &plugin
                                                                                                           : NULL;
}
