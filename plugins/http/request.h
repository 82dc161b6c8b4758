/*
 * request.h - a request of tenon/http.h, checked and converted to what libcurl needs.
 *
 *     struct request request;
 *     tn_value why = request_read(value, &request);          // NULL on success, else a failure to release
 *     request_finish(&request);                              // in either case
 */
#ifndef TENON_PLUGINS_HTTP_REQUEST_H
#define TENON_PLUGINS_HTTP_REQUEST_H

#include "base.h"
#include <curl/curl.h>

/* Beyond these limits: LIMIT. */
#define REQUEST_URL_MAX     65536  /* bytes, query included */
#define REQUEST_HEADERS_MAX 256    /* headers of a request, and also of a response */
#define REQUEST_HEADER_MAX  262144 /* bytes of all headers */

enum receive { RECEIVE_WHOLE, RECEIVE_BYTES, RECEIVE_EVENTS, RECEIVE_LINES };

struct request {
    char method[24];
    char *url;    /* query included */
    char *origin; /* "https://host:port": connections and limits are per origin; shown in messages */
    bool https;
    struct curl_slist *headers;
    const void *body; /* NULL: no body; points into `body_owner` */
    uint64_t body_length;
    tn_value body_owner;
    enum receive receive;
    int64_t connect_ms, idle_ms, total_ms; /* total: 0 means unlimited */
    int64_t attempts;                      /* the default is 1 */
    int64_t initial_ms, max_ms;            /* the delays between attempts, see retry_delay_ms */
    int64_t max_bytes;
};

tn_value request_read(tn_value value, struct request *out);
void request_finish(struct request *request);

#endif
