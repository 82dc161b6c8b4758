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
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_PACK_LISTING_H
#define TENON_HOST_SERVER_PACK_LISTING_H

#include "adl/value/value.h"
#include <stdbool.h>

struct host;
struct installed_pack;

/* {name, version, folder, in_use, error} or {…, title, key, trusted, from?}; a new reference. */
tn_value pack_listing_row(const struct installed_pack *pack);
/*
 * [{kind, file, error?}]: the parts in the order of pack.json, then other files that were altered; a new reference.
 * Reads all files of the pack. If `host` is NULL, only hashes are checked. *faulty, which may be NULL, becomes true if
 * a part cannot be used for another reason than that a plugin of an earlier place has its components.
 */
tn_value pack_listing_parts(const struct host *host, const struct installed_pack *pack, bool *faulty);

#endif
