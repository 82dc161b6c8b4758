/*
 * internal.h - declarations that the files of this library share. Services do not include it.
 */
#ifndef TENON_PLUGINS_RESEARCH_INTERNAL_H
#define TENON_PLUGINS_RESEARCH_INTERNAL_H

#include "research.h"

/* Replaces *member by a new reference to `value`. */
void research_replace(tn_value *member, tn_value value);

/* failure.c: true if an ERROR may be transient. */
bool research_error_is_retryable(tn_value error);

#endif
