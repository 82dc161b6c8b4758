/*
 * kernel_words.h - the text by which a search finds a record: the strings of a value.
 */
#ifndef TENON_HOST_DATA_KERNEL_KERNEL_WORDS_H
#define TENON_HOST_DATA_KERNEL_KERNEL_WORDS_H

#include "adl/value/value.h"

/*
 * Returns a new string with all strings in the value, one per line, without keys. It is cut at `max` bytes, between
 * characters. NULL if the value has no strings.
 */
tn_value kernel_words_of(tn_value value, size_t max);
/* As kernel_words_of, for two values. Each is cut separately; either may be NULL. */
tn_value kernel_words_of_both(tn_value first, tn_value second, size_t max);

#endif
