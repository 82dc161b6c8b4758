/*
 * wildcard.h - patterns of names: `*` stands for any run of characters, everything else for itself.
 *
 *     wildcard_matches("files.*", "files.read")      // true
 */
#ifndef TENON_ADL_WILDCARD_H
#define TENON_ADL_WILDCARD_H

#include <stdbool.h>
#include <stddef.h>

/* Linear in the product of the lengths at worst. */
bool wildcard_matches(const char *pattern, const char *name);
bool wildcard_matches_n(const char *pattern, size_t pattern_length, const char *name);

#endif
