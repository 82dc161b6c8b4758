/*
 * exercise_host.c - opens hosts for `tenon plugin check`.
 */
#include "host/assembly/exercise_host.h"
#include "host/assembly/host.h"

bool exercise_host_open(const char *path, const char *isolated, bool allow_drafts, struct exercise_host *out,
                        struct error *error) {
    const char *const paths[] = {path, NULL}, *const isolate[] = {isolated, NULL};
    struct host *host = host_new(&(struct host_options){.plugin_paths = paths,
                                                        .no_config = true,
                                                        .isolate = isolated ? isolate : NULL,
                                                        .allow_drafts = allow_drafts,
                                                        .check_plugins = !isolated,
                                                        .requested = exercise_on_requested},
                                 error);
    if (!host) return false;
    /* If this store cannot be opened, calls that need a store fail. They never reach the user's store. */
    tn_value options = value_set_take(value_object(), "use", value_text("memory"));
    host_set_store_options_take(host, value_set_take(options, "path", value_text("check")));
    (void)host_store(host, NULL);
    *out = (struct exercise_host){host_loop(host), host_registry(host), host_catalog(host), host};
    return true;
}

void exercise_host_close(struct exercise_host *host) {
    host_free(host->host);
    *host = (struct exercise_host){0};
}
