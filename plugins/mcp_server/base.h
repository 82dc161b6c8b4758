/*
 * base.h - shared by all files of this plugin: versions, limits, and the error of a request.
 *
 * Invariant: everything that a client can enlarge is checked against one of these limits before it is stored. All code
 * runs on the loop's thread, so there are no locks.
 */
#ifndef MCPS_BASE_H
#define MCPS_BASE_H

#include <serving.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <tenon/easy.h>
#include <tenon/util/build.h>

#define MCPS_MODERN "2026-07-28" /* the first version without sessions */
#define MCPS_LEGACY "2025-11-25" /* the last version with a handshake */

#define MCPS_BODY_MAX         4194304 /* bytes of a message */
#define MCPS_ID_MAX           256     /* bytes of an id that is a text */
#define MCPS_URI_MAX          2048    /* bytes of a URI */
#define MCPS_NAME_MAX         64      /* bytes of a tool's name, as the specification recommends */
#define MCPS_PAGE             200     /* items of one page of a list */
#define MCPS_QUESTIONS_MAX    16      /* requests for input that are open for one call */
#define MCPS_STATE_MAX        4096    /* bytes of a requestState */
#define MCPS_STATE_TTL_S      86400   /* seconds in which a requestState is accepted */
#define MCPS_SESSIONS_MAX     1024    /* sessions of a host */
#define MCPS_SESSIONS_KEY_MAX 32      /* sessions of one key; the one that was idle longest is ended for a new one */
#define MCPS_SESSION_IDLE_MS  1800000 /* milliseconds after which an idle session is ended */
#define MCPS_CALLS_MAX        64      /* open requests of one session */
#define MCPS_STREAMS_MAX      16  /* streams of one session that have ended, and are kept for clients that come back */
#define MCPS_EVENTS_MAX       256 /* events of one stream that are kept, and */
#define MCPS_EVENTS_BYTES     1048576  /* bytes of them; older ones are forgotten */
#define MCPS_KEPT_BYTES       67108864 /* bytes of the kept events of all streams */
#define MCPS_SUBSCRIPTIONS    256      /* URIs of one session or one listening stream */
#define MCPS_LISTENERS_MAX    1024     /* listening streams of a host */
#define MCPS_CATALOGUES       16       /* catalogues of users that are kept */
#define MCPS_CATALOGUE_MS     1000     /* for so long */
#define MCPS_TASKS_MAX        100      /* tasks of one user */
#define MCPS_TASK_TTL_MS      3600000  /* milliseconds that a task is kept, from its beginning */
#define MCPS_TASK_TTL_MIN_MS  1000     /* at least, if the client wishes another time */
#define MCPS_TASK_TTL_MAX_MS  86400000 /* and at most */
#define MCPS_TASK_POLL_MS     1000     /* between two looks of a client */
#define MCPS_TASK_BEGIN_MS    60000    /* a task without a thread after so long was lost */
#define MCPS_TASK_KEPT_S      86400    /* seconds that a memory is kept beyond the task's time, to remove the thread */
#define MCPS_RETRY_MS         500      /* after which a client comes back whose stream was closed on purpose */

#define MCPS_PARSE_ERROR         (-32700)
#define MCPS_INVALID_REQUEST     (-32600)
#define MCPS_METHOD_NOT_FOUND    (-32601)
#define MCPS_INVALID_PARAMS      (-32602)
#define MCPS_INTERNAL            (-32603)
#define MCPS_RESOURCE_NOT_FOUND  (-32002) /* before 2026-07-28 */
#define MCPS_HEADER_MISMATCH     (-32020)
#define MCPS_MISSING_CAPABILITY  (-32021)
#define MCPS_UNSUPPORTED_VERSION (-32022)

/* Why a request is refused: the HTTP status, and the JSON-RPC error. */
struct problem {
    int32_t status, code;
    char text[320];
    tn_value data; /* owned; NULL: none */
};

/* Sets it, with a text formatted as by printf. Returns false, so that a check can return it. */
bool problem_set(struct problem *problem, int32_t status, int32_t code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* {jsonrpc, id, result} and {jsonrpc, id, error: {code, message, data?}}. New references; the second argument of the
 * first is taken. `id` may be NULL, which becomes null. */
tn_value reply_result_take(tn_value id, tn_value result);
tn_value reply_error(tn_value id, const struct problem *problem);
/* {jsonrpc, method, params}, takes the parameters. */
tn_value reply_notification_take(const char *method, tn_value params);

/* The members of an object that are not `name`: a new reference. */
tn_value value_without(tn_value object, const char *name);
static inline bool value_is_object(tn_value value) { return tn.value->kind(value) == TN_OBJECT; }
static inline bool value_is_array(tn_value value) { return tn.value->kind(value) == TN_ARRAY; }

#endif
