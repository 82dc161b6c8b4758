/*
 * transfer.h - one HTTP transfer with libcurl: its options, and what has arrived of the response.
 *
 * A transfer stores what arrives and calls `on_progress`; it calls no handlers. The unread data is bounded: libcurl
 * stops reading at TRANSFER_UNREAD_MAX bytes, or when the owner sets `pause_requested`.
 */
#ifndef TENON_PLUGINS_HTTP_TRANSFER_H
#define TENON_PLUGINS_HTTP_TRANSFER_H

#include "request.h"

#define TRANSFER_UNREAD_MAX 131072 /* unread bytes of a body that is delivered piece by piece */

struct transfer {
    CURL *easy; /* NULL: not started, or ended */
    const struct request *request;
    void (*on_progress)(struct transfer *transfer);
    bool pause_requested; /* set by the owner: stop reading */
    bool paused;          /* libcurl is paused until transfer_resume */
    /* Set by the owner after it has read the headers. Before that, at most TRANSFER_UNREAD_MAX bytes of the body are
     * read. */
    bool head_read;
    bool streamed; /* the body is delivered piece by piece */
    bool connected;
    bool has_head;                 /* all headers of the response have arrived */
    bool broken;                   /* the host cannot watch the socket; `why` has the failure */
    int64_t started_ms, active_ms; /* active: when the last byte was sent or received */
    int64_t status, uploaded;
    struct tn_text_buffer head; /* header lines, unchanged */
    uint32_t head_lines;
    struct tn_text_buffer body;
    size_t consumed;   /* bytes that the owner has read */
    uint64_t received; /* bytes of the body in all */
    tn_value why;      /* why the transfer was ended locally, or NULL */
    char message[CURL_ERROR_SIZE];
};

/* Starts the transfer; later events are reported to `on_progress`. The caller has set `on_progress` and `request`; the
 * rest is zero. Returns NULL or a failure. */
tn_value transfer_begin(struct transfer *transfer);
/* Ends a started transfer. The received data stays until transfer_finish. */
void transfer_end(struct transfer *transfer);
void transfer_finish(struct transfer *transfer);
/* Resumes a paused transfer. A result other than CURLE_OK means that the transfer has ended with it. */
CURLcode transfer_resume(struct transfer *transfer);
void transfer_set_watch_failed(struct transfer *transfer, int32_t status); /* the host cannot watch the socket */
/* Reads how much was sent. Returns true if it is more than at the last call. */
bool transfer_check_sent(struct transfer *transfer);
/* Returns the failure for a libcurl code, a new reference. */
tn_value transfer_failure(struct transfer *transfer, CURLcode code);
/* Returns {lower-case name: text}; repeated headers are joined by ", ". NULL if memory runs out. */
tn_value transfer_headers(const struct transfer *transfer);
struct transfer *transfer_from_handle(CURL *easy);
void transfers_close(void); /* frees the handles that were kept */

#endif
