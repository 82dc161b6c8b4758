/*
 * owner.h - which user an id belongs to: ids of what an owner has created begin with `@OWNER:`.
 *
 *     owner_complete("alice", "t1", &error);          // "@alice:t1"
 *     owner_of("@alice:t1", out);                     // true: "alice"
 *
 * An owner is 1 to 32 characters of a-z, 0-9, `_`, `.` and `-`, and begins with a letter or digit. A run belongs to the
 * owner of its thread, or if that has none, of its id; so does everything that the run calls, because the context of
 * each call has both ids (call_context). `owner` may be NULL in all functions: the operator, who owns all ids.
 *
 * Ids are looked up with owner_confine, which cannot fail: an id of another owner becomes one that does not exist, so
 * the failure is the same as for any unknown id. Ids that a user chooses for something new are read with
 * owner_complete.
 *
 * Thread: any.
 */
#ifndef TENON_HOST_PLUGIN_CALL_OWNER_H
#define TENON_HOST_PLUGIN_CALL_OWNER_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>

#define OWNER_MAX         32
#define OWNER_TEXT        (OWNER_MAX + 1)
#define OWNER_PREFIX_TEXT (OWNER_MAX + 3) /* "@OWNER:" with the NUL */

bool owner_is_valid(const char *owner);
/* Copies the owner of the id; returns false if it has none, because the operator owns it. `id` may be NULL. */
bool owner_of(const char *id, char out[OWNER_TEXT]);
/* True if the id begins with the owner's prefix. */
bool owner_has(const char *owner, const char *id);
/* Writes "@OWNER:", or "" for the operator. */
void owner_prefix(const char *owner, char out[OWNER_PREFIX_TEXT]);
/* Writes the range [from, to) of all ids of an owner, who is not the operator. */
void owner_range(const char *owner, char from[OWNER_PREFIX_TEXT], char to[OWNER_PREFIX_TEXT]);
/*
 * The id as the owner's: with the prefix, unless `id` has it already. Free it with mem_free. NULL with NOT_FOUND if the
 * id begins with the prefix of another owner.
 */
char *owner_complete(const char *owner, const char *id, struct error *error);
/* The same for a lookup: an id of another owner gets the prefix, too. Free it with mem_free. */
char *owner_confine(const char *owner, const char *id);
/* The same for a value: returns a new reference. A value that is no id stays as it is. */
tn_value owner_confine_value(const char *owner, tn_value id);
/* Copies the owner of a run with these ids, each of which may be NULL; returns false if it is the operator. */
bool owner_of_run(const char *thread_id, const char *run_id, char out[OWNER_TEXT]);
/* The same for the run of a context: an object with the members `thread_id` and `run_id`, if it is in a run. */
bool owner_of_context(tn_value context, char out[OWNER_TEXT]);

#endif
