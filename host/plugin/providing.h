/*
 * providing.h - which plugin provides something that the host itself uses: a store, HTTP.
 *
 * A plugin says so in its manifest (`provides`), and operators call it by its id or by the last word of that: "sqlite"
 * is tenon.sqlite. An id is found before a last word that somebody else's shares.
 *
 *     struct providing found;
 *     providing_find(&found, registry, TN_STORE_DRAFT, "sqlite");
 *     if (!found.plugin) error_set(…, "there is: %s", buffer_cstr(&found.names));
 *     providing_finish(&found);
 */
#ifndef TENON_HOST_PLUGIN_PROVIDING_H
#define TENON_HOST_PLUGIN_PROVIDING_H

#include "adl/value/buffer.h"
#include "host/plugin/registry.h"

struct providing {
    const char *interface_id, *name;
    struct plugin *plugin; /* that is called so; NULL: none */
    struct plugin *only;   /* that provides it, whatever it is called; NULL: there are none, or several */
    uint32_t count;
    struct buffer names; /* ids of all that do, with commas; cut where they are many */
};

/* [loop] Both texts are borrowed. */
void providing_find(struct providing *found, struct registry *registry, const char *interface_id, const char *name);
void providing_finish(struct providing *found);

#endif
