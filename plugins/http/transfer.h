/*
 * transfer.h - one request on the wire, as libcurl has it: its options, and what has come of its answer so far.
 *
 * A transfer takes down and says so (transfer_noticed); it calls nobody. What it holds for those who take slowly is
 * bounded: beyond TRANSFER_HELD bytes, or where its owner has said so, libcurl reads no more.
 */
#ifndef TENON_PLUGINS_HTTP_TRANSFER_H
#define TENON_PLUGINS_HTTP_TRANSFER_H

#include "request.h"

#define TRANSFER_HELD 131072 /* bytes that have come and were not taken, of a body that is given on piece by piece */
#define DISCARD_MAX   65536  /* bytes of a redirect's body that are read to keep the connection */

struct transfer {
    CURL *easy; /* NULL: not begun, or over */
    const struct request *request;
    void (*noticed)(struct transfer *transfer);
    bool hold; /* the owner's: read no more */
    bool held; /* libcurl waits for transfer_go_on */
    /* The owner's, once it has looked at the head: until then no more than TRANSFER_HELD is read behind it. */
    bool judged;
    bool piecemeal; /* the body is taken piece by piece */
    bool discard;   /* nobody wants the body */
    bool connected, headed, broken;
    int64_t began_ms, active_ms; /* active: when the last byte went or came */
    int64_t status, uploaded;
    struct bytes head; /* header lines, as they came */
    uint32_t head_lines;
    struct bytes body;
    size_t taken;      /* bytes of it that the owner has had */
    uint64_t received; /* bytes of the body in all */
    tn_value why;      /* why it was ended from here; NULL */
    char message[CURL_ERROR_SIZE];
};

/* A failure, or NULL: it has begun, and will be noticed. `noticed`, `request` are set; the rest is zero. */
tn_value transfer_begin(struct transfer *transfer);
/* Ends what has begun; what has come stays until transfer_finish. */
void transfer_end(struct transfer *transfer);
void transfer_finish(struct transfer *transfer);
/* Reads again, where it was held. Not CURLE_OK: it has ended so. */
CURLcode transfer_go_on(struct transfer *transfer);
void transfer_break(struct transfer *transfer, int32_t status); /* the host does not watch its socket */
/* Bytes have gone since it was last asked. */
bool transfer_is_sending(struct transfer *transfer);
/* The failure that a code of libcurl's is; a new reference. */
tn_value transfer_failure(struct transfer *transfer, CURLcode code);
/* {lower-case name: text}; those that came twice are joined by ", ". NULL: no memory. */
tn_value transfer_headers(const struct transfer *transfer);
struct transfer *transfer_of(CURL *easy);
void transfers_close(void); /* handles that were kept for the next */

#endif
