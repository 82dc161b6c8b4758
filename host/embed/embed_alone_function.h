/*
 * embed_alone_function.h - a node of the embedding program by itself: its state is the input, its writes the output.
 */
#ifndef TENON_HOST_EMBED_EMBED_ALONE_FUNCTION_H
#define TENON_HOST_EMBED_EMBED_ALONE_FUNCTION_H

#include "host/embed/embed_internal.h"

struct component;

/* True for a node of the plugin `tenon.program`: it reads the whole state and binds no names. */
bool embed_alone_is_function(const struct component *component);
/* NULL with the error of the handle. */
tenon_runnable *embed_alone_function(tenon *handle, struct component *component, tn_value config);

#endif
