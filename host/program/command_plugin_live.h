/*
 * command_plugin_live.h - the part of `tenon plugin upgrade` that changes a host that runs.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_PLUGIN_LIVE_H
#define TENON_HOST_PROGRAM_COMMAND_PLUGIN_LIVE_H

struct arguments;

/* With --connect: upgrades the plugin in that host; no file is replaced. Returns the exit code. */
int plugin_upgrade_live(const struct arguments *arguments);

#endif
