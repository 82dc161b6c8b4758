/*
 * embed_options.h - reads the options of tenon_open.
 *
 *     struct embed_options options;
 *     if (embed_options_read(value, &options, &error) == TN_OK) host = host_new(&options.host, &error);
 *     embed_options_finish(&options);                 // also after a failure
 */
#ifndef TENON_HOST_EMBED_EMBED_OPTIONS_H
#define TENON_HOST_EMBED_EMBED_OPTIONS_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/assembly/host.h"

struct embed_options {
    struct host_options host; /* borrows the texts of the object */
    tn_value store;           /* owned; {use, path, …}, or NULL for the configured store */
    uint32_t loops;           /* resolved; 1 without the option */
    bool protect_secrets;
};

/* INVALID_INPUT if an option is unknown or has the wrong kind. `options` may be NULL. */
int32_t embed_options_read(tn_value options, struct embed_options *out, struct error *error);
void embed_options_finish(struct embed_options *options);

#endif
