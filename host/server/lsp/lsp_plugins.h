/*
 * lsp_plugins.h - the plugins of the hosts for documents: what methods have changed in the server's host, and the files
 * on the disk.
 *
 *     lsp_plugins_follow(project, server, &followed);             // plugin/load, plugin/upgrade, plugin/unload
 *     uint64_t before = lsp_plugins_fingerprint(project);
 *     …
 *     if (lsp_plugins_fingerprint(project) != before) open_again(project);
 *
 * Only manifests are read; no code of a plugin runs. Thread: every function is [loop].
 */
#ifndef TENON_HOST_SERVER_LSP_LSP_PLUGINS_H
#define TENON_HOST_SERVER_LSP_LSP_PLUGINS_H

#include "adl/value/value.h"
#include <stdint.h>

struct host;

/*
 * Does in `host` what methods have done in `server`, if it is not done yet: plugins that they loaded or upgraded are
 * added, and those that they unloaded are removed. A plugin that the tenon.yaml of the project names itself stays.
 * *followed is an object that remembers what was done: a new one for a new host.
 */
void lsp_plugins_follow(struct host *host, struct host *server, tn_value *followed);
/*
 * A hash of the names, sizes and times of the plugin files where the host has searched. Plugins that came with Tenon do
 * not count: they are those of the running program.
 */
uint64_t lsp_plugins_fingerprint(const struct host *host);
/* Visits the files and folders that the fingerprint depends on. They need not exist. */
void lsp_plugins_each_place(const struct host *host, void (*visit)(void *user, const char *path), void *user);

#endif
