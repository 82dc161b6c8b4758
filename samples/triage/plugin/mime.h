/*
 * mime.h - reads a mail message: decoded headers, and its text.
 *
 * Supported: folded headers; encoded words (RFC 2047) in B and Q; quoted-printable and base64 bodies; every charset
 * that iconv supports; multipart messages. The text is the first text/plain part, or else the first text/html part
 * without its tags. A malformed message is read as far as possible.
 */
#ifndef TRIAGE_MIME_H
#define TRIAGE_MIME_H

#include "text.h"

#define MIME_DEPTH_MAX  8               /* nested multiparts */
#define MIME_HEADER_MAX ((size_t)8192)  /* bytes of one header that are read */
#define MIME_TEXT_MAX   ((size_t)65536) /* bytes of a message's text that are kept */

struct mail {
    struct text from, subject, date, id, body; /* valid UTF-8 */
};

/* Reads one message with its headers. Free the result with mail_free. */
void mail_read(struct mail *mail, const char *message, size_t length);
void mail_free(struct mail *mail);

#endif
