/*
 * embed_alone.h - a node without a graph around it, for tenon_component.
 *
 * A node type gets a graph that contains only this node. What it binds in its create, tried once without effect, are
 * the channels of that graph. A node of the embedding program itself reads the input, and its writes are the output.
 */
#ifndef TENON_HOST_EMBED_EMBED_ALONE_H
#define TENON_HOST_EMBED_EMBED_ALONE_H

#include "host/embed/embed_internal.h"

struct component;

/*
 * A runnable, or NULL with the error of the handle. *output becomes the names of the channels that it writes, an array;
 * a new reference. NULL if they are not known.
 */
tenon_runnable *embed_alone(tenon *handle, struct component *component, tn_value config, tn_value *output);

#endif
