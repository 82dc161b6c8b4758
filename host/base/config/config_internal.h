/*
 * config_internal.h - the configuration as its files see it: config.c (memory, values), the readers of keys
 * (config_reader.h), config_load.c (files), config_secret.c (secrets) and config_trust.c.
 */
#ifndef TENON_HOST_BASE_CONFIG_CONFIG_INTERNAL_H
#define TENON_HOST_BASE_CONFIG_CONFIG_INTERNAL_H

#include "host/base/config/config.h"

#define CONFIG_LOG_UNSET     (-1)
#define CONFIG_HISTORY_UNSET (-2)
#define CONFIG_LOOPS_UNSET   (-1)

/*
 * A resolved path starts at the folder of its tenon.yaml, at the home folder (`~/`) or at `/`. It is relative only if
 * the name of the tenon.yaml is.
 */
struct config {
    char *file;   /* the project's tenon.yaml; may be NULL */
    char **paths; /* plugin paths, resolved */
    size_t path_count;
    tn_value plugins;    /* id -> section */
    tn_value folders;    /* id -> folder of the file that has its section */
    tn_value models;     /* role -> binding */
    tn_value providers;  /* name -> {provider, …configuration} */
    tn_value prices;     /* "provider:model", or a pattern -> {input, output, cached?, cache_write?} */
    tn_value calls;      /* key of `model_calls` -> its value */
    tn_value secrets;    /* name -> {env} | {file} | {command}, and hosts?; paths resolved */
    tn_value limits;     /* name -> integer */
    tn_value work;       /* Task type -> {strategy | runner, …}, as config_work returns it */
    tn_value isolation;  /* id or "*" -> "process" | "none" */
    tn_value drafts;     /* id -> true */
    tn_value admins;     /* id -> true */
    tn_value processes;  /* id or "*" -> number */
    tn_value store;      /* {use, path, …}; NULL if not configured */
    tn_value memory;     /* as config_memory returns it */
    tn_value http;       /* {use}; NULL if not configured */
    tn_value tools;      /* key of `tools` -> its value; audit resolved */
    tn_value trust;      /* packs.trust: public keys in base64, and resolved paths of files that contain one */
    tn_value installs;   /* packs.install: pinned references */
    tn_value registries; /* packs.registries: host -> {user?, password?, plain_http?} */
    tn_value roots;      /* files.roots: resolved paths */
    tn_value schedules;  /* name -> {cron | every | at, task, …}, as in the file */
    tn_value serve;      /* as config_serve returns it; NULL if not configured */
    int64_t history;     /* as config_history, or CONFIG_HISTORY_UNSET */
    int32_t log;         /* TN_LOG_…, or CONFIG_LOG_UNSET */
    int32_t loops;       /* as config_loops, or CONFIG_LOOPS_UNSET */
    int64_t secret_ms;   /* for tests: replaces CONFIG_SECRET_MS, unless it is 0 */
};

/* Adds a folder or file to the search path of plugins. The path is copied. */
void config_add_path(struct config *config, const char *path);

#endif
