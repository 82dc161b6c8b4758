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
#include "host/embed/embed_options.h"
#include "host/embed/embed_program.h"
#include "host/loops/loops.h"
#include "host/plugin/call/worker.h"
#include "host/plugin/registry/registry.h"
#include "host/server/server.h"

const char *tenon_version(void) { return TENON_VERSION; }

const tn_value_1 *tenon_values(void) { return interface_find(TN_VALUE_1); }

void tenon_free(void *memory) { mem_free(memory); }

void tenon_set_memory_handler(tenon_memory_handler handler, void *user) { mem_set_handler(handler, user); }

/* ---- The host ---- */

static void embed_on_member(void *user, struct host *host) {
    (void)user;
    server_new(host);
}

/* NULL without an error if the options ask for one loop. */
static struct loops *embed_open_loops(struct host *host, const struct embed_options *read, struct error *error) {
    if (read->loops == 1) return NULL;
    const struct loops_options options = {.count = read->loops, .host = read->host, .opened = embed_on_member};
    return loops_new(host, &options, error);
}

tenon *tenon_open(tn_value options, char **why) {
    struct embed_options read;
    struct error error = ERROR_INIT;
    struct host *host = NULL;
    struct loops *loops = NULL;
    if (embed_options_read(options, &read, &error) == TN_OK) {
        if (read.protect_secrets) environment_protect();
        host = host_new(&read.host, &error);
        if (host) server_new(host);
    }
    if (host && read.store) host_set_store_options_take(host, value_ref(read.store));
    if (host) loops = embed_open_loops(host, &read, &error);
    if (error.code) {
        host_free(host);
        host = NULL;
    }
    embed_options_finish(&read);
    if (!host) {
        if (why) *why = mem_text(error.message ? error.message : "cannot open the host");
        embed_thread_error_move(&error);
        return NULL;
    }
    tenon *handle = mem_zalloc(sizeof *handle);
    handle->host = host;
    handle->loop = host_loop(host);
    handle->engine = host_engine(host);
    handle->loops = loops;
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
    if (!embed_may_wait(handle)) return TN_INVALID;
    struct host *host = handle->host;
    embed_object_add(handle); /* a function of the program may release the last object meanwhile */
    embed_runs_close(handle);
    embed_runnables_close(handle);
    embed_program_release(handle);
    workers_settle(handle->loop);
    loops_free(handle->loops);
    handle->loops = NULL;
    handle->host = NULL; /* from here on, calls of plugins that end and of `destroy` functions fail with CLOSED */
    host_free(host);
    embed_program_free(handle);
    diagnostics_free(handle->diagnostics);
    handle->diagnostics = NULL;
    error_finish(&handle->error);
    value_unref(handle->error_value);
    embed_object_remove(handle);
    return TN_OK;
}

tn_value tenon_diagnostics(tenon *handle) {
    if (handle && !embed_check_thread(handle)) return NULL;
    tn_value list = handle && handle->diagnostics ? diagnostics_to_value(handle->diagnostics) : value_array();
    return value_set_take(value_object_reserve(1), "diagnostics", list);
}

int64_t tenon_reset_plugin(tenon *handle, const char *plugin_id) {
    int64_t deaths = 0;
    if (!embed_enter(handle)) return -1;
    if (!plugin_id) plugin_id = "";
    int32_t status = registry_reset_plugin(host_registry(handle->host), plugin_id, &deaths, &handle->error);
    return status == TN_OK ? deaths : -1;
}
