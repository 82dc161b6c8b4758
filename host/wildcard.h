/*
 * wildcard.h - patterns of names: `*` stands for any run of characters, everything else for itself.
 *
 *     wildcard_matches("files.*", "files.read")      // true
 */
#ifndef TENON_HOST_WILDCARD_H
#define TENON_HOST_WILDCARD_H

#include <stdbool.h>

/* Linear in the product of the lengths at worst. */
bool wildcard_matches(const char *pattern, const char *name);

#endif
