/*
 * base.h - what every file of this plugin shares: the limits that a server can push, and three small helpers.
 *
 * Invariant: whatever a server sends is bounded by one of these before it is kept. Everything runs on the loop's
 * thread, so nothing is locked.
 *
 *     tn_value name = value_at(message, "params", "name");      // borrowed, NULL where there is none
 *     say(TN_LOG_WARN, "server `%s`: %s", server->name, why);
 */
#ifndef MCP_BASE_H
#define MCP_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <tenon/easy.h>
#include <tenon/expect.h>
#include <tenon/http.h>
#include <tenon/message.h>
#include <tenon/poll.h>
#include <tenon/registry.h>

#define MCP_SERVERS_MAX    64       /* configured servers */
#define MCP_MESSAGE_MAX    67108864 /* bytes of one message, a line or an event */
#define MCP_UNSENT_MAX     67108864 /* bytes that a server has not read yet; more ends it */
#define MCP_REQUESTS_MAX   1024     /* requests to one server that wait at once */
#define MCP_BATCH_MAX      1024     /* messages in one array */
#define MCP_LISTS_MAX      1000     /* times that a server's list is read, for each connection */
#define MCP_TOOLS_MAX      2000     /* tools of one server; further ones are left out, and that is said */
#define MCP_PAGES_MAX      1000     /* pages of one list */
#define MCP_NAME_MAX       128      /* bytes of a tool's name, as the specification recommends, */
#define MCP_ID_MAX         200      /* and of the component's id that is made of it */
#define MCP_SUSPENDED_MAX  64       /* calls of one server that wait for a person */
#define MCP_ASKED_MAX      32       /* questions of a server that are open at once */
#define MCP_ROUNDS_MAX     32       /* times that one call may ask for more input */
#define MCP_STRAYS_MAX     20       /* lines of nonsense that are logged, for each connection */
#define MCP_HEADERS_MAX    32       /* parameters of one tool that are sent as headers */
#define MCP_RECONNECTS_MAX 5        /* in a row, of a stream that brings nothing */
#define MCP_RESTART_MS     500      /* before a server that died is started again; doubled each time, */
#define MCP_RESTART_MAX_MS 30000    /* up to this */
#define MCP_ADDED_MAX      20000    /* tools that one server may bring, counted again each time that they change */
#define MCP_PROBE_MS       5000     /* for an answer to server/discover, of a server that may be older */
#define MCP_GRACE_MS       2000     /* between closing a server's input, SIGTERM and SIGKILL */
#define MCP_LEAVE_MS       1000     /* for servers to hear that we leave */
#define MCP_EXTENSIONS     10       /* times its timeout that a request may take while it tells of progress */

#define MCP_MODERN "2026-07-28" /* the first version without a handshake */
#define MCP_LEGACY "2025-11-25" /* the last one with */

#define MCP_SESSION_ENDED "SESSION_ENDED" /* of a request that was refused for that, and may be sent again */

/* The interfaces besides those of `tn`; http is NULL where nobody offers it. */
extern TN_EASY_HIDDEN const tn_poll_draft *mcp_poll;
extern TN_EASY_HIDDEN const tn_registry_draft *mcp_registry;
extern TN_EASY_HIDDEN const tn_http_draft *mcp_http;

static inline void *take(uint64_t size) {
    void *memory = tn.core->alloc(tn.host, size);
    if (memory != NULL) memset(memory, 0, size);
    return memory;
}

static inline void give(void *memory) { tn.core->release(tn.host, memory); }

/* A copy that is given back with `give`; NULL for NULL, or without memory. */
static inline char *copy_text(const char *text) {
    size_t size = text != NULL ? strlen(text) + 1 : 0;
    char *copy = size > 0 ? tn.core->alloc(tn.host, size) : NULL;
    if (copy != NULL) memcpy(copy, text, size);
    return copy;
}

/* A line in the log, as by printf; cut at 2047 bytes. What a server says may go to a terminal: controls become spaces,
 * what is not UTF-8 a question mark. */
__attribute__((format(printf, 2, 3))) void say(int32_t level, const char *format, ...);

/* A text made as by printf, of at most 2047 bytes: cut between characters. A new reference. */
__attribute__((format(printf, 1, 2))) tn_value format_value(const char *format, ...);

static inline bool value_is(tn_value value, const char *text) {
    const char *chars = tn_chars(value, NULL);
    return chars != NULL && strcmp(chars, text) == 0;
}

static inline bool value_true(tn_value value) {
    int32_t truth = 0;
    return tn.value->as_bool(value, &truth) == TN_OK && truth != 0;
}

/* A member of a member; borrowed. */
static inline tn_value value_in(tn_value object, const char *outer, const char *inner) {
    return tn.value->get(tn.value->get(object, outer), inner);
}

/* object[key] = value, taking both references; NULL where either is, or without memory. */
static inline tn_value with_take(tn_value object, const char *key, tn_value value) {
    tn_value made = object != NULL && value != NULL ? tn.value->set(object, key, value) : NULL;
    tn_release(object);
    tn_release(value);
    return made;
}

static inline tn_value empty_object(void) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

#endif
