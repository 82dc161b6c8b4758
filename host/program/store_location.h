/*
 * store_location.h - what the commands `tenon store …` call a store: an operand becomes options of the store, and the
 * configuration that belongs to them.
 *
 *     PATH                        a SQLite file
 *     postgres://… postgresql://… a PostgreSQL database
 *     FILE.yaml, a folder         the store that this configuration names, or the one of hosts in that folder
 *     {"use": …}                  options, as `store` in tenon.yaml
 *
 *     struct store_location location;
 *     if (store_location_read(&location, "s.db", true, &error) != TN_OK) return report(&error);
 *     struct store *store = store_location_open(&location, host, &error);
 *     store_close(store);
 *     store_location_finish(&location);
 */
#ifndef TENON_HOST_PROGRAM_STORE_LOCATION_H
#define TENON_HOST_PROGRAM_STORE_LOCATION_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>

struct config;
struct host;
struct store;

struct store_location {
    char *name;            /* for messages and for the note in a target: without passwords */
    tn_value options;      /* {use, path, …}; NULL: the default of `config` */
    struct config *config; /* owned; NULL: that of the host */
};

/* With `must_exist`, a SQLite file that does not exist is NOT_FOUND. On failure *out is empty. */
int32_t store_location_read(struct store_location *out, const char *text, bool must_exist, struct error *error);
/* Opens the store for maintenance, with the plugins of `host`. The caller closes it before the location and the host.
 */
struct store *store_location_open(const struct store_location *location, struct host *host, struct error *error);
void store_location_finish(struct store_location *location);

#endif
