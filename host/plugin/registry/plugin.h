/*
 * plugin.h - one plugin: its manifest, its origin, and, after loading, its code.
 *
 * A plugin that cannot be used is refused, with an error. Otherwise its states are:
 *
 *     known ──▶ loaded ◀──▶ quiesced ──▶ unloaded        registry_quiesce, registry_resume, registry_unload
 *
 * A quiesced plugin creates no instances; it can be resumed until the lifecycle's quiesce was called. Loaded code stays
 * mapped until the process ends. A struct plugin lives as long as its registry; its number is never reused in the
 * process.
 *
 *     if (plugin_load(plugin, &error) != TN_OK) return report(&error);
 *     plugin_ref(plugin);                   // an instance exists
 *     ...
 *     plugin_unref(plugin);
 */
#ifndef TENON_HOST_PLUGIN_REGISTRY_PLUGIN_H
#define TENON_HOST_PLUGIN_REGISTRY_PLUGIN_H

#include "adl/value/error.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <tenon.h>

struct plugin;
struct registry;

#define PLUGIN_GRANTS_MAX 200u /* effects granted in a section; further ones are ignored */

enum plugin_state {
    PLUGIN_KNOWN,    /* manifest read, no code loaded */
    PLUGIN_LOADED,   /* can create instances */
    PLUGIN_QUIESCED, /* creates no instances; its instances and tasks continue */
    PLUGIN_UNLOADED,
    PLUGIN_REFUSED, /* plugin_refusal has the error */
    PLUGIN_SHADOWED /* a plugin of the same id is in an earlier place of the search path (plugin_shadowed_by) */
};

/* Results are borrowed from the plugin. Thread: [any] unless stated. */
const char *plugin_id(const struct plugin *plugin);
const char *plugin_version(const struct plugin *plugin);
const char *plugin_title(const struct plugin *plugin);
const char *plugin_path(const struct plugin *plugin); /* "" if it is part of the process */
/* True if another file is at the path now, or none. */
bool plugin_file_replaced(const struct plugin *plugin);
/*
 * [loop] The SHA-256 of its file, in hexadecimal; read once. NULL if it is part of the process, if the file cannot be
 * read, or if the file was changed or replaced since the plugin was found.
 */
const char *plugin_file_hash(struct plugin *plugin);
const char *plugin_source(const struct plugin *plugin);  /* its origin: "--plugins", "TENON_PLUGIN_PATH", … */
bool plugin_bundled(const struct plugin *plugin);        /* came with the host */
bool plugin_may_use_drafts(const struct plugin *plugin); /* draft interfaces */
bool plugin_isolated(const struct plugin *plugin);       /* runs in a separate process */
/* {"plugin": {…}, "components": […]}. [loop] until the plugin is loaded: it may be read from the cache now. */
tn_value plugin_manifest(const struct plugin *plugin);
bool plugin_has_provides(const struct plugin *plugin);           /* it provides interfaces to the host */
bool plugin_has_secrets(const struct plugin *plugin);            /* an effect of it may be `secret:NAME` */
enum plugin_state plugin_state(const struct plugin *plugin);     /* [loop] */
const char *plugin_state_name(enum plugin_state state);          /* "known", "loaded", … */
const struct error *plugin_refusal(const struct plugin *plugin); /* [loop] NULL unless refused */
/* [loop] The plugin that is used instead; NULL unless shadowed. */
const struct plugin *plugin_shadowed_by(const struct plugin *plugin);
/* Effects that the operator grants in addition to the manifest's (`x-tenon: effect` and `file` in its section). May be
 * NULL. */
tn_value plugin_grants(const struct plugin *plugin);
/* True if `test` is true for an effect that a component declares, that the manifest has beside `dynamic`, or that the
 * operator has granted. */
typedef bool plugin_effect_test(const char *effect, const void *subject);
bool plugin_declares(const struct plugin *plugin, plugin_effect_test *test, const void *subject);
bool plugin_may_use_secret(const struct plugin *plugin, const char *name); /* "secret" or "secret:NAME" */
struct registry *plugin_registry(const struct plugin *plugin);
/* At least 1 and unique in the process. Tokens contain it to identify their owner. */
uint32_t plugin_number(const struct plugin *plugin);
const tn_host *plugin_host(const struct plugin *plugin);
/* The plugin that this tn_host belongs to; NULL if `host` is NULL or not one of ours. */
struct plugin *plugin_of(const tn_host *host);

/*
 * [loop] Loads and initialises the code; does nothing if it is loaded. A failure refuses the plugin for good, except
 * TN_AGAIN (PLUGIN_BUSY): it is being loaded (registry_defer_loads).
 */
int32_t plugin_load(struct plugin *plugin, struct error *error);
/*
 * [loop] Validates its section of the configuration like plugin_load, and calls `missing` for each program and
 * folder that it, or a file of descriptions, names and that cannot be used. Secrets are fetched, but no code of the
 * plugin runs. Returns TN_OK, or the first error.
 */
typedef void plugin_missing_fn(void *user, const char *message);
int32_t plugin_check_section(struct plugin *plugin, plugin_missing_fn *missing, void *user, struct error *error);
/* [loop] An interface that the loaded plugin provides, or NULL. Call it once and keep the result. */
const void *plugin_interface(const struct plugin *plugin, const char *interface_id);
/* [loop] The loaded plugin's `self`, the first argument of functions that it provides. */
void *plugin_self(const struct plugin *plugin);

/*
 * [loop] Where tn_core_1.refuse stores the reason, while the plugin's entry, init or create is called; NULL: nowhere.
 * Returns the previous place, which the caller sets again afterwards, because creates nest.
 */
struct error *plugin_set_refusal_place(struct plugin *plugin, struct error *place);
/* [loop] Stores the reason. TN_FAILED, or TN_UNSUPPORTED if no place is set. */
int32_t plugin_note_refusal(struct plugin *plugin, tn_value error);

/* [loop] Calls the lifecycle's quiesce, once: the plugin never creates an instance again. */
void plugin_quiesce(struct plugin *plugin);

/* [any] Counts instances, and anything else that must prevent unloading the plugin. */
void plugin_ref(struct plugin *plugin);
void plugin_unref(struct plugin *plugin);
/* [any] Counts open tasks. */
void plugin_task_begin(struct plugin *plugin);
void plugin_task_end(struct plugin *plugin);
uint64_t plugin_refs(const struct plugin *plugin);
uint64_t plugin_tasks(const struct plugin *plugin);
/* [any] Bytes that it has allocated with tn_core_1.alloc. */
_Atomic uint64_t *plugin_memory(struct plugin *plugin);
/* [loop] The descriptors that it watches, for abi_poll.c; NULL at first. */
struct poll_watches;
struct poll_watches **plugin_watches(struct plugin *plugin);

#endif
