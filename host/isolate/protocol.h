/*
 * protocol.h - what both ends of the component protocol (sdk/protocol.md) agree on.
 */
#ifndef TENON_HOST_PROTOCOL_H
#define TENON_HOST_PROTOCOL_H

#include "adl/value/value.h"

#define PROTOCOL_VERSION   "tenon.component-protocol/1-draft.1"
#define PROTOCOL_CHUNKS    64     /* chunks of a task that may be on the way */
#define PROTOCOL_CREDIT    16     /* room is given back in portions of this many */
#define PROTOCOL_EVENTS    64     /* of an exchange over HTTP: data that may be on the way */
#define PROTOCOL_EXCHANGES 65536u /* of a plugin, open at once */
#define PROTOCOL_CALLS     65536u /* calls of a plugin's tasks that may be open at once */
#define TASK_BUCKETS       1024u

/*
 * What a channel that only grows has become: {"from": n, "items": […]} is the first n items of `before`, and the items.
 * A new reference.
 */
tn_value protocol_grow(tn_value before, tn_value grown);
/* The other way: {"from", "items"} where `now` begins with what `before` was, and saying so is shorter; else NULL. */
tn_value protocol_grown(tn_value before, tn_value now);

#endif
