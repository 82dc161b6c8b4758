/*
 * methods_key.c - methods about the keys of clients over HTTP: methods/key.yaml.
 */
#include "host/assembly/host.h"
#include "host/data/access/access_keys.h"
#include "host/server/method_internal.h"
#include "host/server/method_request.h"
#include "host/server/server.h"

static int32_t key_create_start(const struct method_call *call, struct error *error) {
    struct store *store = host_store(server_host(call->server), error);
    if (!store) return TN_NOT_FOUND;
    access_key_create(store, call->params, method_request_done, method_request_new(call));
    return TN_OK;
}

static int32_t key_list_start(const struct method_call *call, struct error *error) {
    struct store *store = host_store(server_host(call->server), error);
    if (!store) return TN_NOT_FOUND;
    access_keys_list(store, method_request_done, method_request_new(call));
    return TN_OK;
}

static int32_t key_revoke_start(const struct method_call *call, struct error *error) {
    struct store *store = host_store(server_host(call->server), error);
    if (!store) return TN_NOT_FOUND;
    access_key_revoke(store, method_text(call, "name"), method_request_done, method_request_new(call));
    return TN_OK;
}

const struct method_handler key_methods[] = {
    {"key/create", key_create_start}, {"key/list", key_list_start}, {"key/revoke", key_revoke_start}, {NULL, NULL}};
