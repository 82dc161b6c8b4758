/*
 * words.h - what records are found by: the strings of a value, as one text.
 */
#ifndef TENON_HOST_STATE_WORDS_H
#define TENON_HOST_STATE_WORDS_H

#include "adl/value/value.h"

/* Every string in the value, a line each, keys left out; cut at `max` bytes, between characters. A new string, or NULL
 * where there is none. */
tn_value words_of_value(tn_value value, size_t max);
/* The same of two values, each cut by itself; either may be NULL. */
tn_value words_of_both(tn_value first, tn_value second, size_t max);

#endif
