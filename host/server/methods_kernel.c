/*
 * methods_kernel.c - methods that are operations of the state kernel: methods/task.yaml, artifact.yaml and memory.yaml.
 *
 * One handler is enough, because the names correspond. The schemas of a row state the shape of the arguments; the
 * kernel checks them again, and decides.
 */
#include "host/assembly/host.h"
#include "host/data/kernel/kernel.h"
#include "host/data/kernel/kernel_embed.h"
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/method_internal.h"
#include "host/server/method_request.h"
#include "host/server/server.h"
#include <stdio.h>
#include <string.h>

#define OPERATION_TEXT 64 /* bytes of a name, with the NUL */

static const struct kernel_operation *operation_of_method(const struct method *method) {
    char name[OPERATION_TEXT];
    snprintf(name, sizeof name, "%s", method->name);
    name[strcspn(name, "/")] = '.';
    return kernel_find_operation(name);
}

/* A search with `similar` calls a model, which costs money: who may only read may not. */
static int32_t refuse_unpaid_search(const struct method_call *call, struct error *error) {
    if (strcmp(call->method->name, "memory/search") != 0 || !value_get(call->params, "similar") ||
        method_is_allowed(call, method_find("model/embed")))
        return TN_OK;
    /* An owner may put memories, which costs the same. */
    if (client_owner(call->client) && client_scope(call->client) >= METHOD_RUN) return TN_OK;
    return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                     "the method memory/search with `similar` calls a model, and needs the rights of the method "
                     "model/embed; search by words with `query`, or pass a `vector`");
}

int32_t method_kernel_start(const struct method_call *call, struct error *error) {
    const struct kernel_operation *operation = operation_of_method(call->method);
    struct kernel kernel;
    if (!operation) return kernel_refuse_unknown(call->method->name, error);
    int32_t status = refuse_unpaid_search(call, error);
    if (status == TN_OK) status = kernel_open(host_state(server_host(call->server)), &kernel, error);
    if (status != TN_OK) return status;
    const struct kernel_caller caller = {.owner = call->owner};
    kernel_call_with_vector(host_state(server_host(call->server)), &kernel, operation, call->token, &caller,
                            call->params, method_request_done, method_request_new(call));
    return TN_OK;
}

const struct method_handler task_methods[] = {
    {"task/create", method_kernel_start},
    {"task/get", method_kernel_start},
    {"task/update", method_kernel_start},
    {"task/list", method_kernel_start},
    {"task/claim", method_kernel_start},
    {"task/renew", method_kernel_start},
    {"task/complete", method_kernel_start},
    {"task/fail", method_kernel_start},
    {"task/release", method_kernel_start},
    {"task/wake", method_kernel_start},
    {NULL, NULL},
};

const struct method_handler artifact_methods[] = {
    {"artifact/write", method_kernel_start},
    {"artifact/read", method_kernel_start},
    {"artifact/search", method_kernel_start},
    {"artifact/open", method_kernel_start},
    {"artifact/append", method_kernel_start},
    {"artifact/finish", method_kernel_start},
    {"artifact/abandon", method_kernel_start},
    {"artifact/linked", method_kernel_start},
    {NULL, NULL},
};

const struct method_handler memory_methods[] = {
    {"memory/put", method_kernel_start},        {"memory/get", method_kernel_start},
    {"memory/delete", method_kernel_start},     {"memory/search", method_kernel_start},
    {"memory/namespaces", method_kernel_start}, {NULL, NULL},
};
