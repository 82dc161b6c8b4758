/*
 * abi_registry.c - tenon.registry/1: components that a plugin adds and removes at run time.
 */
#include "adl/value/memory.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/abi/abi_builder.h"
#include "host/plugin/abi/abi_name.h"
#include "host/plugin/registry/plugin.h"

static int32_t abi_registry_add(const tn_host *host, tn_value component, tn_value *error) {
    struct plugin *plugin = plugin_of(host);
    struct error why = ERROR_INIT;
    if (!plugin || !component) return TN_INVALID;
    if (registry_add_component(plugin, component, &why) == TN_OK) return TN_OK;
    /* A plugin that does not ask for the reason cannot report it. */
    if (why.message && !error) interface_core.log(host, TN_LOG_ERROR, why.message, TN_Z);
    return abi_give_error(&why, error);
}

static int32_t abi_registry_remove(const tn_host *host, const char *kind, uint64_t kind_length, const char *id,
                                   uint64_t id_length) {
    struct plugin *plugin = plugin_of(host);
    if (!plugin || !kind || !id) return TN_INVALID;
    char *kind_text = abi_name(kind, kind_length), *id_text = abi_name(id, id_length);
    int32_t status = registry_remove_component(plugin, kind_text, id_text, NULL);
    mem_free(kind_text);
    mem_free(id_text);
    return status;
}

static int32_t abi_registry_expect(const tn_host *host, int32_t more) {
    struct plugin *plugin = plugin_of(host);
    if (!plugin || (more != 0 && more != 1)) return TN_INVALID;
    registry_expect(plugin, more == 1);
    return TN_OK;
}

const tn_registry_1 interface_registry = {.size = sizeof(tn_registry_1),
                                          .add = abi_registry_add,
                                          .remove = abi_registry_remove,
                                          .expect = abi_registry_expect};
