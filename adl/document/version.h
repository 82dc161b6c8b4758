/*
 * version.h - versions of plugins, and what a document's `requires` may ask of them.
 *
 * A version is major.minor.patch with an optional -pre-release, compared as Semantic Versioning says; parts that are
 * not written are 0. A constraint is a list of terms, separated by commas or blanks, that must all hold:
 *
 *     >= 1.2    < 2     against 1.2.0 and 2.0.0
 *     > 1.2     <= 2    after every 1.2, up to every 2: parts that are not written may be any
 *     != 1.4    no 1.4
 *     = 1.2     1.2.0 and every other 1.2: only the parts that are written are compared (== is the same)
 *     ^1.2      1.2 or newer, before 2: the first part that is not 0 may not change
 *     ~1.2      1.2 or newer, before 1.3: the last part that is written may grow, of three the third
 *     1.x  1.*  any that begins so;  * any at all
 *
 * A pre-release suits a term only where the term names a pre-release of the same version, or by `=` and `*`.
 */
#ifndef TENON_ADL_DOCUMENT_VERSION_H
#define TENON_ADL_DOCUMENT_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct version {
    uint32_t parts[3];
    uint32_t count;  /* parts that were written */
    const char *pre; /* borrowed; NULL where none */
    size_t pre_length;
};

/* False where `text` is no version. */
bool version_parse(const char *text, size_t length, struct version *out);
int version_compare(const struct version *a, const struct version *b); /* -1 0 1 */

/* 1 it holds, 0 it does not, -1 it is malformed: *at is then where, in bytes. `version` NULL: is it well formed? */
int constraint_holds(const char *constraint, size_t length, const struct version *version, size_t *at);

#endif
