/*
 * config_internal.h - what config.c (the keys), load.c (the files) and secret.c (fetching what is referred to) share.
 */
#ifndef TENON_HOST_CONFIG_INTERNAL_H
#define TENON_HOST_CONFIG_INTERNAL_H

#include "host/config/config.h"

#define CONFIG_LOG_UNSET (-1)

struct config {
    char *file;   /* the project's; NULL where none */
    char **paths; /* of plugins */
    size_t path_count;
    tn_value plugins;   /* id -> section */
    tn_value folders;   /* id -> folder of the file that has its section */
    tn_value models;    /* role -> binding */
    tn_value prices;    /* "provider:model", or a pattern -> {input, output, cached?, cache_write?} */
    tn_value secrets;   /* name -> {env} | {file} | {command}, and hosts?; paths absolute */
    tn_value limits;    /* name -> integer */
    tn_value isolation; /* id or "*" -> "process" | "none" */
    tn_value store;     /* {use, path, …}; NULL where nothing is said */
    tn_value http;      /* {use}; NULL where nothing is said */
    tn_value tools;     /* key of the section `tools` -> its value; audit absolute */
    tn_value trust;     /* of packs: public keys in base64, and absolute paths of files with one */
    int32_t log;        /* TN_LOG_…, or CONFIG_LOG_UNSET */
    int64_t secret_ms;  /* instead of CONFIG_SECRET_MS, for tests; 0: that */
};

/* A folder or file where plugins are looked for; copied. */
void config_add_path(struct config *config, const char *path);

#endif
