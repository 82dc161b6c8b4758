/*
 * pack_listing.h - installed packs as data, for `tenon pack list` and the methods pack/list and pack/show.
 *
 * A part is a file that pack.json lists as a plugin, document, prompt or schema. Its bytes are compared with the hash
 * in pack.json. A plugin must also be usable by this host, and a document must have no mistakes. Of versions that are
 * not in use, only the bytes are checked.
 *
 *     static void add_pack(void *rows, const struct installed_pack *pack) {
 *         *(tn_value *)rows = value_push_take(*(tn_value *)rows, pack_listing_row(pack));
 *     }
 *     packs_each(host_config(host), add_pack, &rows);
 */
#ifndef TENON_HOST_SERVER_PACK_LISTING_H
#define TENON_HOST_SERVER_PACK_LISTING_H

#include "adl/value/value.h"

struct host;
struct installed_pack;

/* [any] {name, version, folder, in_use, error} or {…, title, key, trusted, from?}; a new reference. */
tn_value pack_listing_row(const struct installed_pack *pack);
/*
 * [any] [{kind, file, error?}]: the parts in the order of pack.json, then other files that were altered; a new
 * reference. Reads all files of the pack.
 */
tn_value pack_listing_verify(const struct installed_pack *pack);
/*
 * [loop] These parts of the version in use, whose files are in `folder`, with an error for each that this host cannot
 * use. A new reference. PLUGIN_SHADOWED: a plugin of an earlier place has its components, which is not a fault of the
 * pack.
 */
tn_value pack_listing_check(const struct host *host, const char *folder, tn_value parts);

#endif
