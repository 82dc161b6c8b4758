/*
 * plugin.h - one plugin as the host knows it: its manifest, where it came from, and, once loaded, its code.
 *
 * States only go forwards: known (manifest read), loaded (entry called, lifecycle initialised), quiesced, unloaded; a
 * plugin that could not be used is refused, and says why. The code of a plugin that was loaded stays mapped for ever.
 * A struct plugin lives as long as its registry; its number is never used again in the process.
 *
 *     if (plugin_load(plugin, &error) != TN_OK) return report(&error);
 *     plugin_ref(plugin);                   // an instance exists
 *     ...
 *     plugin_unref(plugin);
 */
#ifndef TENON_HOST_PLUGIN_PLUGIN_H
#define TENON_HOST_PLUGIN_PLUGIN_H

#include "adl/value/error.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <tenon.h>

struct plugin;
struct registry;

#define PLUGIN_GRANTS_MAX 200u /* effects granted in a section; further ones are not */

enum plugin_state {
    PLUGIN_KNOWN,    /* manifest read, no code loaded */
    PLUGIN_LOADED,   /* ready to make instances */
    PLUGIN_QUIESCED, /* makes no new ones */
    PLUGIN_UNLOADED,
    PLUGIN_REFUSED /* plugin_refusal says why */
};

/* Everything here is borrowed from the plugin, and [any] unless it says otherwise. */
const char *plugin_id(const struct plugin *plugin);
const char *plugin_version(const struct plugin *plugin);
const char *plugin_title(const struct plugin *plugin);
const char *plugin_path(const struct plugin *plugin);        /* "" where it is part of the process */
const char *plugin_source(const struct plugin *plugin);      /* who led to it: "--plugins", "TENON_PLUGIN_PATH", … */
bool plugin_bundled(const struct plugin *plugin);            /* came with the host */
bool plugin_isolated(const struct plugin *plugin);           /* runs in a process of its own */
tn_value plugin_manifest(const struct plugin *plugin);       /* {"plugin": {…}, "components": […]} */
enum plugin_state plugin_state(const struct plugin *plugin); /* [loop] */
const char *plugin_state_name(enum plugin_state state);      /* "known", "loaded", … */
const struct error *plugin_refusal(const struct plugin *plugin); /* [loop] NULL unless refused */
/* Effects that the operator grants it beyond its manifest's: `x-tenon: effect` and `file` in its section. May be NULL.
 */
tn_value plugin_grants(const struct plugin *plugin);
struct registry *plugin_registry(const struct plugin *plugin);
uint32_t plugin_number(const struct plugin *plugin); /* from 1; unique in the process: the owner of tokens */
const tn_host *plugin_host(const struct plugin *plugin);
/* The plugin that was given this host; NULL for NULL and for what is no host of ours. */
struct plugin *plugin_of(const tn_host *host);

/* [loop] Loads the code and initialises it; nothing where that was done. The failure is remembered. */
int32_t plugin_load(struct plugin *plugin, struct error *error);
/*
 * [loop] Its section of the configuration, checked as plugin_load does, and programs that it names looked for; nothing
 * of the plugin runs, secrets are fetched. TN_OK, or the first thing that is wrong.
 */
int32_t plugin_check_section(struct plugin *plugin, struct error *error);
/* [loop] An interface the loaded plugin provides, asked for once and remembered by the caller; NULL where it does not.
 */
const void *plugin_interface(const struct plugin *plugin, const char *interface_id);
/* [loop] The loaded plugin's own pointer, for functions of an interface that it provides. */
void *plugin_self(const struct plugin *plugin);

/* [any] Instances (and whatever else must keep the plugin from being unloaded). */
void plugin_ref(struct plugin *plugin);
void plugin_unref(struct plugin *plugin);
/* [any] Open tasks, counted by the call layer. */
void plugin_task_begin(struct plugin *plugin);
void plugin_task_end(struct plugin *plugin);
uint64_t plugin_refs(const struct plugin *plugin);
uint64_t plugin_tasks(const struct plugin *plugin);
/* [any] Bytes of the host's allocator that it holds (tn_core_1.alloc). */
_Atomic uint64_t *plugin_memory(struct plugin *plugin);
/* [loop] The descriptors that it watches: interface/poll.c's; NULL to begin with. */
struct watches;
struct watches **plugin_watches(struct plugin *plugin);

#endif
