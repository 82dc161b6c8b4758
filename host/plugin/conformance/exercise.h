/*
 * exercise.h - uses a plugin in every way a host may, in a child process: the second part of `tenon plugin check`.
 *
 * Each component is created from the examples in its manifest, from configurations generated from its schema, and from
 * mutants of these; then it is created and destroyed EXERCISE_ROUNDS times. If it declares no effects on the world, it
 * is also run: its examples must give the documented output; the same input must have the same output again, while
 * other tasks run at the same time, and when the plugin is isolated; tasks are cancelled at random points; and each
 * allocation fails once. All of this happens in check mode (guard.h), whose findings are included. The same seed has
 * the same sequence.
 *
 *     exercise("acme.so", &(struct exercise_options){.open = open, .close = close, .seed = seed}, &check);
 *
 * It forks: call it before the process starts threads.
 */
#ifndef TENON_HOST_PLUGIN_CONFORMANCE_EXERCISE_H
#define TENON_HOST_PLUGIN_CONFORMANCE_EXERCISE_H

#include "host/plugin/conformance/conformance.h"

#define EXERCISE_TIMEOUT_MS 20000 /* limit for all components; each gets an equal share of half of it */

struct catalog;
struct loop;
struct registry;

/* A host with only this plugin and a store in memory. */
struct exercise_host {
    struct loop *loop;
    struct registry *registry;
    const struct catalog *catalog;
    void *host;
};

struct exercise_options {
    /* Opens a host in check mode; or, if `isolated` is the plugin's id, a host that isolates the plugin. */
    bool (*open)(const char *path, const char *isolated, bool allow_drafts, struct exercise_host *out,
                 struct error *error);
    void (*close)(struct exercise_host *host); /* does nothing if the host was not opened */
    const struct registry_options *registry;   /* as for conformance_check */
    uint64_t seed;
    bool allow_drafts;
    int timeout_ms; /* 0 means EXERCISE_TIMEOUT_MS */
    tn_value store; /* options of a store that is not in a folder; NULL: none. Borrowed */
};

/* registry_options.requested of the hosts that `open` opens. Thread: any. */
void exercise_on_requested(const struct plugin *plugin, const char *interface_id, bool offered);
/* Appends its findings to `check`. */
void exercise(const char *path, const struct exercise_options *options, struct conformance *conformance);

#endif
