/*
 * embed_alone.h - a node without a graph around it, for tenon_component.
 *
 * A node type gets a graph that contains only this node. What it binds in its create, tried once without effect, are
 * the channels of that graph. A node of the embedding program may read and write any names: its graph keeps all of them
 * in one channel.
 */
#ifndef TENON_HOST_EMBED_EMBED_ALONE_H
#define TENON_HOST_EMBED_EMBED_ALONE_H

#include "host/embed/embed_internal.h"

struct component;

/* A runnable with its schemas, or NULL with the error of the handle. */
tenon_runnable *embed_alone(tenon *handle, struct component *component, tn_value config);

#endif
