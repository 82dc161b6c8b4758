/*
 * web_log.h - ids of requests, and the access log: one JSON object on a line for each request.
 *
 * A line never contains a header, a body, a query or a key, only the name of the key. If a line cannot be written (a
 * full disk), it is dropped, and the host's log says so once.
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_WEB_WEB_LOG_H
#define TENON_HOST_SERVER_WEB_WEB_LOG_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stddef.h>
#include <stdint.h>

#define WEB_ID_MAX   64u /* bytes of an X-Request-Id that is accepted */
#define WEB_ID_TEXT  (WEB_ID_MAX + 1)
#define WEB_LOG_TEXT 512u /* bytes of the path, and of the reason */

struct web_log;

struct web_log_line {
    int64_t time_ms, us;
    const char *id, *address, *key, *method, *route, *path; /* each may be NULL */
    const char *reason, *code;                              /* may be NULL */
    int status;
    uint64_t bytes_in, bytes_out;
};

/* `where`: a path, "-" for standard error; NULL, true or false: no log for false, else standard error. IO. */
struct web_log *web_log_new(tn_value where, struct error *error);
void web_log_free(struct web_log *log); /* NULL is allowed */
void web_log_reopen(struct web_log *log);
void web_log_write(struct web_log *log, const struct web_log_line *line);
/* `given` if it is a short token ([A-Za-z0-9._:-]), else a new id. `given` may be NULL. */
void web_log_id(const char *given, char out[WEB_ID_TEXT]);

#endif
