/*
 * request.h - a request as tenon/http.h describes it, checked, and turned into what libcurl takes.
 *
 *     struct request request;
 *     tn_value why = request_read(value, &request);          // NULL: it is right; else the failure, to be released
 *     request_finish(&request);                              // in either case
 */
#ifndef TENON_PLUGINS_HTTP_REQUEST_H
#define TENON_PLUGINS_HTTP_REQUEST_H

#include "base.h"
#include <curl/curl.h>

/* Beyond these: LIMIT. */
#define REQUEST_URL_MAX     65536  /* bytes, the query with it */
#define REQUEST_HEADERS_MAX 256    /* headers, and as many in an answer */
#define REQUEST_HEADER_MAX  262144 /* bytes of all of them */

enum receive { RECEIVE_WHOLE, RECEIVE_BYTES, RECEIVE_EVENTS, RECEIVE_LINES };

struct request {
    char method[24];
    char *url;    /* with the query */
    char *origin; /* "https://host:port", what connections and limits go by; shown in messages */
    bool https;
    struct curl_slist *headers;
    const void *body; /* NULL: none; points into `holds` */
    uint64_t body_length;
    tn_value holds;
    enum receive receive;
    int64_t connect_ms, idle_ms, total_ms; /* total: 0 is none */
    int64_t attempts, initial_ms, max_ms;  /* attempts: 1 where nothing is said */
    int64_t redirects, max_bytes;
};

tn_value request_read(tn_value value, struct request *out);
void request_finish(struct request *request);

/*
 * What a redirect leads to: a request of its own in *out, made of `from`. The body goes where the status says so; where
 * the origin changes, only headers that can have no secret do. *follow is false where it must not be followed: a body
 * would leave its origin, or encryption would end. A failure where `location` is no URL.
 */
tn_value request_redirect(const struct request *from, int64_t status, const char *location, struct request *out,
                          bool *follow);

#endif
