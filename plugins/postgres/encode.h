/*
 * encode.h - the columns m1 … of the table `hot`: members of a record in a form whose byte order is the order of lists.
 *
 *     00                       missing or null
 *     01 DOUBLE REST           a number, or false and true as 0 and 1: 8 bytes that order doubles, and 2 bytes for the
 *                              difference of an integer that no double equals
 *     02 BYTES                 a string, or the JSON of another value; at most ENCODE_TEXT_MAX bytes of it
 *
 * PostgreSQL compares bytea like memcmp. So `ORDER BY m1, key` is the order that tenon/store.h defines, if no text was
 * cut. This form is stored: never change it without a migration.
 */
#ifndef TENON_PLUGINS_POSTGRES_ENCODE_H
#define TENON_PLUGINS_POSTGRES_ENCODE_H

#include <tenon/store/base.h>

#define ENCODE_TEXT_MAX 400 /* an entry of an index has at most about 2,700 bytes: four members and a key */
#define ENCODE_MAX      (ENCODE_TEXT_MAX + 1)

/* `member` may be NULL. Returns the length. */
uint64_t encode_member(tn_value member, char out[ENCODE_MAX]);
/* The same, with at most `start` bytes of a text; 0: no such limit. */
uint64_t encode_member_start(tn_value member, uint64_t start, char out[ENCODE_MAX]);
/* True if a text may have been cut. */
bool encode_is_cut(struct tn_store_text encoded);

#endif
