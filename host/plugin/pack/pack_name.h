/*
 * pack_name.h - `pack:NAME/FILE`, the name of a file of an installed pack: a document, a prompt, a schema.
 *
 * NAME is the name of a pack; its version in use is meant (pack_installed.h). FILE is a path of `files` of its
 * pack.json.
 *
 *     struct pack_location found = {NULL, NULL};
 *     if (pack_locate("pack:acme-text/triage.yaml", config, &found, &error) != TN_OK) return report(&error);
 *     open(found.path, …);          // <packs>/acme-text/1.2.0/triage.yaml
 *     pack_location_finish(&found);
 *
 * Thread: any.
 */
#ifndef TENON_HOST_PLUGIN_PACK_PACK_NAME_H
#define TENON_HOST_PLUGIN_PACK_PACK_NAME_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <stdint.h>

#define PACK_NAME_PREFIX "pack:"

struct config;

struct pack_location {
    char *path; /* canonical; owned */
    char *root; /* the folder of the pack's version; owned */
};

bool pack_is_name(const char *name); /* it begins with `pack:` */
/*
 * Looks up the file. NOT_FOUND if the pack or the file does not exist; INVALID_INPUT if the name has another form;
 * PACK_ALTERED if pack.json was altered. The bytes of the file are not checked (packs_verify_read). `config` has the
 * trusted keys and may be NULL.
 */
int32_t pack_locate(const char *name, const struct config *config, struct pack_location *out, struct error *error);
void pack_location_finish(struct pack_location *location);

#endif
