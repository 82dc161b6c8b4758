/*
 * base.h - shared by all files of this plugin: the limits for what a server can enlarge, and small helpers.
 *
 * Invariant: everything that a server sends is checked against one of these limits before it is stored. All code runs
 * on the loop's thread, so there are no locks.
 *
 *     tn_value name = value_at(message, "params", "name");      // borrowed, NULL if it is missing
 *     log_format(TN_LOG_WARN, "server `%s`: %s", server->name, why);
 */
#ifndef MCP_BASE_H
#define MCP_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <tenon/demand.h>
#include <tenon/easy.h>
#include <tenon/http.h>
#include <tenon/launch.h>
#include <tenon/message.h>
#include <tenon/poll.h>
#include <tenon/registry.h>
#include <tenon/util/build.h>

#define MCP_SERVERS_MAX    64       /* configured servers */
#define MCP_MESSAGE_MAX    67108864 /* bytes of one message, a line or an event */
#define MCP_UNSENT_MAX     67108864 /* bytes that a server has not read yet; beyond this the server is stopped */
#define MCP_REQUESTS_MAX   1024     /* waiting requests to one server */
#define MCP_BATCH_MAX      1024     /* messages in one array */
#define MCP_LIST_MS        500      /* between two reads of a list of tools that changes all the time */
#define MCP_LISTS_AT_ONCE  5        /* reads, after a start, that need not wait */
#define MCP_LOGS_MAX       100      /* logged messages of a server, within */
#define MCP_LOGS_MS        10000    /* this time */
#define MCP_TOOLS_MAX      2000     /* tools of one server; further ones are left out with a warning */
#define MCP_PAGES_MAX      1000     /* pages of one list */
#define MCP_NAME_MAX       128      /* bytes of a tool's name, as the specification recommends */
#define MCP_ID_MAX         200      /* bytes of the component's id that is made of the name */
#define MCP_SUSPENDED_MAX  64       /* calls of one server that wait for a person */
#define MCP_QUESTIONS_MAX  32       /* open questions of one server */
#define MCP_ROUNDS_MAX     32       /* requests for more input, per call */
#define MCP_STRAYS_MAX     20       /* logged lines that are not messages, per connection */
#define MCP_HEADERS_MAX    32       /* parameters of one tool that are sent as headers */
#define MCP_RECONNECTS_MAX 5        /* in a row, of a stream without events */
#define MCP_RESTART_MS     500      /* before a failed server is restarted; doubled each time, */
#define MCP_RESTART_MAX_MS 30000    /* up to this limit */
#define MCP_ADDED_MAX      20000    /* tools that one server may register, counted again after each change */
#define MCP_PROBE_MS       2000     /* before initialize is sent to a server that has not answered server/discover */
#define MCP_GRACE_MS       2000     /* between the end of the input, SIGTERM and SIGKILL */
#define MCP_END_SESSION_MS 1000     /* for servers to receive the end of the session */
#define MCP_EXTENSIONS     10       /* how often progress may extend the timeout of a request */

#define MCP_MODERN "2026-07-28" /* the first version without a handshake */
#define MCP_LEGACY "2025-11-25" /* the last version with a handshake */

#define MCP_SESSION_ENDED                                                                                              \
    "SESSION_ENDED" /* code of a request that failed because its session ended; it may be sent again */

/* Interfaces that `tn` does not have; mcp_http and mcp_launch are NULL if the host does not offer them. */
extern TN_EASY_HIDDEN const tn_poll_1 *mcp_poll;
extern TN_EASY_HIDDEN const tn_registry_1 *mcp_registry;
extern TN_EASY_HIDDEN const tn_http_1 *mcp_http;
extern TN_EASY_HIDDEN const tn_launch_draft *mcp_launch;

static inline void *mcp_alloc(uint64_t size) {
    void *memory = tn.core->alloc(tn.host, size);
    if (memory != NULL) memset(memory, 0, size);
    return memory;
}

static inline void mcp_free(void *memory) { tn.core->release(tn.host, memory); }

/* Copies a text, to be freed with `mcp_free`. Returns NULL for NULL or if memory runs out. */
static inline char *copy_text(const char *text) {
    size_t size = text != NULL ? strlen(text) + 1 : 0;
    char *copy = size > 0 ? tn.core->alloc(tn.host, size) : NULL;
    if (copy != NULL) memcpy(copy, text, size);
    return copy;
}

/* Logs a line, formatted as by printf and cut at 2047 bytes. Because a server's text may reach a terminal, control
 * characters become spaces, and bytes that are not UTF-8 become question marks. */
__attribute__((format(printf, 2, 3))) void log_format(int32_t level, const char *format, ...);

/* Formats a string as by printf, cut at 2047 bytes between characters. Returns a new reference. */
__attribute__((format(printf, 1, 2))) tn_value format_value(const char *format, ...);

static inline bool value_is(tn_value value, const char *text) {
    const char *chars = tn_chars(value, NULL);
    return chars != NULL && strcmp(chars, text) == 0;
}

static inline bool value_is_true(tn_value value) {
    int32_t truth = 0;
    return tn.value->as_bool(value, &truth) == TN_OK && truth != 0;
}

/* Returns a member of a member, borrowed. */
static inline tn_value value_get_nested(tn_value object, const char *outer, const char *inner) {
    return tn_get(tn_get(object, outer), inner);
}

#endif
