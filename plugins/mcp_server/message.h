/*
 * message.h - reads the message of a POST: which era it belongs to, and whether its headers agree with it.
 *
 * In 2026-07-28 every request names its version in `_meta` and in a header; a request that does neither belongs to the
 * sessions of 2025-11-25 and before. No function here knows a session or a method.
 *
 *     struct message message;
 *     struct problem problem = {0};
 *     if (!message_read(request, &message, &problem)) respond(problem.status, reply_error(message.id, &problem));
 */
#ifndef MCPS_MESSAGE_H
#define MCPS_MESSAGE_H

#include "base.h"

/* All values are borrowed from the request. */
struct message {
    tn_value json;
    tn_value id;        /* NULL: a notification or a response */
    const char *method; /* NULL: a response of the client */
    tn_value params;    /* an object, or NULL */
    tn_value meta;      /* params._meta, an object, or NULL */
    bool modern;
};

/* `request` is that of TN_SERVER_REQUEST. On failure message->id is set if the message has a valid one. */
bool message_read(tn_value request, struct message *message, struct problem *problem);
/* A header by its lower-case name; NULL if it is absent. Borrowed. */
const char *message_header(tn_value request, const char *name);
/* True for a version of the era with sessions that this server speaks. */
bool message_is_legacy_version(const char *version);
/* True if the client reads answers of this type; a client without the header reads all. */
bool message_accepts(tn_value request, const char *type);
/*
 * 2026-07-28: checks the headers Mcp-Param-… of a call against the arguments, as the marks x-mcp-header of the tool's
 * schema demand.
 */
bool message_check_parameters(tn_value request, tn_value schema, tn_value arguments, struct problem *problem);
/* Decodes =?base64?…?=, or copies any other text. A new reference; NULL if the encoding is wrong. */
tn_value message_decode_header(const char *text);

#endif
