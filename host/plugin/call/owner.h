/*
 * owner.h - which user an id belongs to: ids of what an owner has created begin with `@OWNER:`.
 *
 *     owner_complete(out, "alice", "t1", &error);          // "@alice:t1"
 *     owner_of("@alice:t1", out);                          // "alice"
 *
 * An owner is 1 to 32 characters of a-z, 0-9, `_`, `.` and `-`, and begins with a letter or digit. Thread: any.
 */
#ifndef TENON_HOST_PLUGIN_CALL_OWNER_H
#define TENON_HOST_PLUGIN_CALL_OWNER_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <stddef.h>

#define OWNER_MAX  32
#define OWNER_TEXT (OWNER_MAX + 1)

bool owner_is_valid(const char *owner);
/* Copies the owner of the id; returns false if it has none, because the operator owns it. */
bool owner_of(const char *id, char out[OWNER_TEXT]);
/*
 * The id as the owner's: with the prefix, unless `id` has it already. Free it with mem_free. NULL with NOT_FOUND if the
 * id begins with the prefix of another owner. `owner` NULL: a copy of `id`.
 */
char *owner_complete(const char *owner, const char *id, struct error *error);

#endif
