/*
 * embed.c - hosts: opening and closing them, and what belongs to the whole library.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/diagnostic/print.h"
#include "adl/value/memory.h"
#include "host/assembly/abi_table.h"
#include "host/assembly/host.h"
#include "host/base/environment.h"
#include "host/base/loop.h"
#include "host/embed/embed_internal.h"
#include "host/embed/embed_program.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

const char *tenon_version(void) { return TENON_VERSION; }

const tn_value_1 *tenon_values(void) { return interface_find(TN_VALUE_1); }

void tenon_free(void *memory) { mem_free(memory); }

void tenon_set_memory_handler(tenon_memory_handler handler, void *user) { mem_set_handler(handler, user); }

/* ---- The host ---- */

static const char *embed_option_text(tn_value options, const char *key) {
    tn_value value = options ? value_get(options, key) : NULL;
    return value_is(value, TN_STRING) ? value_chars(value, NULL) : NULL;
}

static bool embed_option_is_true(tn_value options, const char *key) {
    tn_value value = options ? value_get(options, key) : NULL;
    return value && value_is(value, TN_BOOL) && value_to_bool(value);
}

/* The strings of a list, terminated by NULL. Free it with mem_free. */
static const char **embed_option_list(tn_value options, const char *key) {
    tn_value list = options ? value_get(options, key) : NULL;
    size_t count = value_is(list, TN_ARRAY) ? value_count(list) : 0;
    const char **texts = mem_zalloc((count + 1) * sizeof *texts);
    for (size_t i = 0; i < count; i++)
        texts[i] = value_is(value_at(list, i), TN_STRING) ? value_chars(value_at(list, i), NULL) : "";
    return texts;
}

tenon *tenon_open(tn_value options, char **why) {
    struct host_options host_options = {0};
    const char **paths = embed_option_list(options, "plugin_paths"), **roots = embed_option_list(options, "file_roots");
    host_options.plugin_paths = paths;
    host_options.file_roots = roots;
    host_options.config_file = embed_option_text(options, "config");
    host_options.no_config = embed_option_is_true(options, "no_config");
    if (embed_option_is_true(options, "protect_secrets")) environment_protect();
    const char **drafts = embed_option_list(options, "drafts");
    host_options.drafts = drafts;
    host_options.allow_drafts = embed_option_is_true(options, "allow_drafts");
    host_options.record_dir = embed_option_text(options, "record_dir");
    host_options.replay_dir = embed_option_text(options, "replay_dir");
    struct error error = ERROR_INIT;
    struct host *host = host_new(&host_options, &error);
    mem_free((void *)paths);
    mem_free((void *)roots);
    mem_free((void *)drafts);
    if (!host) {
        if (why) *why = mem_text(error.message ? error.message : "cannot open the host");
        embed_thread_error_move(&error);
        return NULL;
    }
    tenon *handle = mem_zalloc(sizeof *handle);
    handle->host = host;
    handle->thread = loop_this_thread();
    loop_enter(host_loop(host));
    return handle;
}

void embed_object_add(tenon *handle) { handle->objects++; }

/* Frees a closed handle that no object refers to. */
static void embed_free_closed(tenon *handle) {
    if (!handle->host && !handle->objects) mem_free(handle);
}

void embed_object_remove(tenon *handle) {
    handle->objects--;
    embed_free_closed(handle);
}

int32_t tenon_close(tenon *handle) {
    if (!handle) return TN_OK;
    if (!embed_enter(handle)) return TN_INVALID;
    if (loop_running(host_loop(handle->host)))
        return error_set(&handle->error, TN_INVALID, "NESTED",
                         "tenon_close was called in a callback of this host; call it after the callback has returned");
    embed_runnables_close(handle);
    embed_program_release(handle);
    host_free(handle->host);
    handle->host = NULL;
    embed_program_free(handle);
    diagnostics_free(handle->diagnostics);
    error_finish(&handle->error);
    value_unref(handle->error_value);
    embed_free_closed(handle);
    return TN_OK;
}

tn_value tenon_diagnostics(tenon *handle) {
    bool may = handle && embed_check_thread(handle);
    tn_value list = may && handle->diagnostics ? diagnostics_to_value(handle->diagnostics) : value_array();
    return value_set_take(value_object_reserve(1), "diagnostics", list);
}

int64_t tenon_reset_plugin(tenon *handle, const char *plugin_id) {
    int64_t deaths = 0;
    if (!embed_enter(handle)) return -1;
    if (!plugin_id) plugin_id = "";
    int32_t status = registry_reset_plugin(host_registry(handle->host), plugin_id, &deaths, &handle->error);
    return status == TN_OK ? deaths : -1;
}
