/*
 * mime.h - a mail message as people see it: decoded headers, and its text.
 *
 * Understood: folded headers; encoded words (RFC 2047) in B and Q; quoted-printable and base64 bodies; every charset
 * that iconv knows; multipart messages, of which the first text/plain part counts, else the first text/html, stripped
 * of its tags. What is broken is read as far as it goes: mail is what it is.
 */
#ifndef TRIAGE_MIME_H
#define TRIAGE_MIME_H

#include "text.h"

#define MIME_DEPTH_MAX  8               /* multiparts in multiparts */
#define MIME_HEADER_MAX ((size_t)8192)  /* bytes of one header that are looked at */
#define MIME_TEXT_MAX   ((size_t)65536) /* bytes of a message's text that are kept */

struct mail {
    struct text from, subject, date, id, body; /* valid UTF-8 */
};

/* Reads one message, headers and all. Free it with mail_free. */
void mail_read(struct mail *mail, const char *message, size_t length);
void mail_free(struct mail *mail);

#endif
