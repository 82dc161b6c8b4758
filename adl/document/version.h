/*
 * version.h - versions of plugins, and the constraints in a document's `requires`.
 *
 * A version is major.minor.patch with an optional -pre-release, ordered by Semantic Versioning; missing parts are 0. A
 * constraint is a list of terms, separated by commas or blanks, that must all hold:
 *
 *     >= 1.2    < 2     at least 1.2.0; before 2.0.0
 *     > 1.2     <= 2    after every 1.2; up to every 2: missing parts match anything
 *     != 1.4    not 1.4
 *     = 1.2     1.2.0 and every other 1.2: only the written parts are compared (== is the same)
 *     ^1.2      1.2 or newer, before 2: the first part that is not 0 is fixed
 *     ~1.2      1.2 or newer, before 1.3: the last written part may grow, of three the third
 *     1.x  1.*  any version that starts with 1;  * any version
 *
 * A pre-release matches a term only if the term names a pre-release of the same version, or with `=` and `*`.
 */
#ifndef TENON_ADL_DOCUMENT_VERSION_H
#define TENON_ADL_DOCUMENT_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct version {
    uint32_t parts[3];
    uint32_t count;  /* number of written parts */
    const char *pre; /* borrowed, or NULL */
    size_t pre_length;
};

/* Returns false if `text` is not a version. */
bool version_parse(const char *text, size_t length, struct version *out);
int version_compare(const struct version *a, const struct version *b); /* -1 0 1 */

/*
 * Returns 1 if the constraint holds, 0 if not, -1 if it is malformed at byte *at. `version` NULL only checks the form.
 */
int constraint_holds(const char *constraint, size_t length, const struct version *version, size_t *at);

#endif
