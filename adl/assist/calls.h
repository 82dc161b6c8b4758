/*
 * calls.h - the call hierarchy of a graph: which nodes come before and after a node, by edges and by channels.
 *
 *     struct assist_call_item item;
 *     if (!assist_calls_prepare(names, offset, &item)) return nothing();
 *     struct assist_calls *before = assist_calls(names, &item, ASSIST_CALLS_INCOMING);
 *     for (size_t i = 0; i < before->count; i++) show(before->items[i].item.name, before->items[i].channels);
 *     assist_calls_free(before);
 *
 * Incoming of a node are its predecessors and the nodes that write what it reads; outgoing are its successors and the
 * nodes that read what it writes. Incoming of a channel are the nodes that write it, outgoing those that read it.
 */
#ifndef TENON_ADL_ASSIST_CALLS_H
#define TENON_ADL_ASSIST_CALLS_H

#include "adl/assist/names.h"

#define ASSIST_CALLS_MAX  1000u /* entries of one answer; further ones are left out */
#define ASSIST_RANGES_MAX 32u   /* places of one entry */

struct assist_call_item {
    enum use_kind kind;    /* USE_NODE or USE_CHANNEL */
    const char *name;      /* borrowed from the names */
    struct span span;      /* the whole definition … */
    struct span name_span; /* … and its name */
};

enum assist_calls_direction { ASSIST_CALLS_INCOMING, ASSIST_CALLS_OUTGOING };

struct assist_call {
    struct assist_call_item item; /* a node */
    bool edge;                    /* an edge, `on_error` or a config connects the two */
    char *channels;               /* "draft, topic": the channels between them; "" when only an edge connects them */
    struct span *ranges;          /* where the node that comes first names the channels, or the edges */
    size_t range_count;
};

struct assist_calls {
    struct assist_call *items; /* in the order of the nodes */
    size_t count;
};

/* Finds the node or the channel that the name at the offset means, in this document. */
bool assist_calls_prepare(const struct assist_names *names, uint32_t offset, struct assist_call_item *item);
/* Never returns NULL. The item must be of these names. */
struct assist_calls *assist_calls(const struct assist_names *names, const struct assist_call_item *item,
                                  enum assist_calls_direction direction);
void assist_calls_free(struct assist_calls *calls); /* NULL is allowed */

#endif
