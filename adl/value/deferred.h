/*
 * deferred.h - an array whose items are read when one of them is needed.
 *
 * A deferred array has a length and a source. Every function that needs an item reads all of them first, once;
 * appending, counting, and comparing with an array that has grown from the same one do not. What is appended to it is
 * kept beside it, so that the items stay unread. Like every value it is immutable, and any thread may be the one that
 * needs an item.
 *
 *     static const struct value_source chunks = {.load = chunks_load, .release = chunks_release};
 *     tn_value history = value_deferred(80000, 32000000, &chunks, context);
 *     history = value_push_take(history, message);          // reads nothing
 *     first = value_at(history, 0);                         // calls chunks_load
 */
#ifndef TENON_ADL_DEFERRED_H
#define TENON_ADL_DEFERRED_H

#include "adl/value/value.h"

struct value_source {
    /*
     * Returns the items, a new reference to an array of exactly `count` items. It cannot fail: a source that cannot
     * read them returns nulls and reports that by its own means. May be called by several threads at once.
     */
    tn_value (*load)(void *context, size_t count);
    void (*release)(void *context); /* the last reference has gone */
};

/* `count` must be above 0; `weight` is what value_weight would return. Takes `context`. */
tn_value value_deferred(size_t count, int64_t weight, const struct value_source *source, void *context);
/* True for an array whose items have not been read; false for every other value. Looks at the value itself only. */
bool value_is_deferred(tn_value value);
/* The first item of an array that is known without reading: 0, or the number of items that are not. */
size_t value_known_from(tn_value array);
/* Reads all deferred arrays in a value, down to 256 levels. The value itself does not change. */
void value_read_all(tn_value value);

#endif
