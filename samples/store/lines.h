/*
 * lines.h - records as JSON, for the lines of a log.
 *
 * A line is {format: "acme.folder", version: 1}, which is the first one, or an array of changes. A change is
 * {c: collection, k: key}, the record is removed, or {c, k, v: version, value, size, words?, vector?, expires?}.
 */
#ifndef ACME_FOLDER_LINES_H
#define ACME_FOLDER_LINES_H

#include <tenon/store/map.h>

#define LINES_VERSION 1

/* The first line's JSON. */
tn_value lines_make_header(void);
/* Adds one change to the builder of an array. `entry` NULL: the record is removed. */
void lines_put_change(tn_builder *builder, struct tn_store_text collection, struct tn_store_text key,
                      const struct tn_store_entry *entry);
/* Applies a line to the map. STORE_VERSION if the log is of a newer release. */
tn_value lines_apply(struct tn_store_map *map, const char *json, uint64_t length);

#endif
