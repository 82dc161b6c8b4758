/*
 * isolate_protocol.h - names, limits and encodings that both ends of the component protocol (sdk/guide/protocol.md)
 * share.
 *
 *     tn_value grown = protocol_grown(sent, now);          // host: NULL if `now` must be sent whole
 *     tn_value value = protocol_grow(received, grown);     // child: the same array as `now`
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_ISOLATE_PROTOCOL_H
#define TENON_HOST_PLUGIN_ISOLATE_ISOLATE_PROTOCOL_H

#include "adl/value/value.h"

#define PROTOCOL_HTTP_SEND "http.send" /* the operation behind tenon.http's send_wait */
#define PROTOCOL_METHOD    "method:"   /* before the name of a method: the operation that calls it */
#define PROTOCOL_VERSION   "tenon.component-protocol/1-draft.1"
#define PROTOCOL_CHUNKS    64     /* chunks of a task that the child may send before it gets credit */
#define PROTOCOL_CREDIT    16     /* the host grants credit in portions of this many chunks */
#define PROTOCOL_EVENTS    64     /* data of an HTTP exchange, or events of a subscription, sent without credit */
#define PROTOCOL_EXCHANGES 65536u /* HTTP exchanges of a plugin that may be open at once */
#define PROTOCOL_CALLS     65536u /* calls of a plugin's tasks that may be open at once */
#define PROTOCOL_LOG_MARK  '\1'   /* first byte of a line of the child's log; the second is its level, a digit */
#define TASK_BUCKETS       1024u  /* lists in the hash tables of tasks, calls and exchanges */

/*
 * Decodes `grown`, {"from": n, "items": […]}: returns the first n items of `before` followed by the items. A new
 * reference.
 */
tn_value protocol_grow(tn_value before, tn_value grown);
/*
 * Encodes `now` as {"from", "items"} if it begins with the items of `before`. Otherwise returns NULL; then send `now`
 * whole.
 */
tn_value protocol_grown(tn_value before, tn_value now);

#endif
