/*
 * head.h - checks the head of a request, strictly, and turns it into a value.
 *
 * libmicrohttpd is lenient: it accepts a bare LF as the end of a line, folded lines, NUL bytes, several spaces, names
 * that are not tokens, and repeated or conflicting framing headers. A server that accepts what a proxy in front of it
 * reads differently can be made to see other requests than the proxy has checked (request smuggling), so such a head is
 * refused. libmicrohttpd parses in place; the places of the names and values in its buffer show what it has skipped.
 *
 *     struct head head = {.method = method, .target_at = where the target was, .target = its copy, …};
 *     if (!head_read(&head, connection)) refuse(head.status, head.message);
 *     tn_value value = head_value(&head, "127.0.0.1:4711", false);
 */
#ifndef TENON_PLUGINS_SERVE_HEAD_H
#define TENON_PLUGINS_SERVE_HEAD_H

#include "base.h"

struct head_field {
    const char *name, *value;
    size_t name_length, value_length; /* the value with blanks at its end */
};

struct head {
    const char *method, *version; /* from libmicrohttpd; valid as long as the request */
    const char *target;           /* as received */
    uintptr_t target_at;          /* where it was in the buffer of libmicrohttpd */
    size_t size;                  /* bytes of the head, from libmicrohttpd */
    /* Results of head_read: */
    int64_t body; /* length of the body; -1: chunked */
    bool websocket;
    char key[32]; /* Sec-WebSocket-Key, if `websocket` */
    /* If head_read returns false: */
    int status;
    const char *message;
    /* All header fields, in order. */
    struct head_field fields[HEADERS_MAX];
    size_t count;
};

/* Reads the fields from the connection and checks everything; false: refused, `status` and `message` describe why. */
bool head_read(struct head *head, struct MHD_Connection *connection);
/* Checks the trailer fields after a chunked body; false if they are malformed. */
bool head_trailer_is_valid(struct MHD_Connection *connection);
/* The value of TN_HTTP_SERVER_REQUEST; NULL if memory ran out. */
tn_value head_value(const struct head *head, const char *address, bool secure);
bool head_is_token(const char *text, size_t length);
/* No control characters but tabs. */
bool head_is_field_value(const char *text, size_t length);

#endif
