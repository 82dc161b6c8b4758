/*
 * secrets_stream.h - removes secrets from a text that arrives in pieces, also if a secret spans several pieces.
 *
 * The end of a piece that can be the start of a secret is held back until the next piece. To keep ordinary text moving,
 * less than SECRETS_STREAM_HELD_MIN bytes are not held back; so at most that many bytes of a secret, less one, can be
 * in the result.
 *
 *     struct secrets_stream *stream = secrets_stream_of(secrets, call, true);
 *     secrets_stream_next(stream, secrets, piece, length, &out);    // for each piece: out is what can be passed on
 *     secrets_stream_rest(stream, &out);                            // at the end: what was held back
 *     secrets_stream_remove(secrets, call);
 *
 * Thread: the loop's.
 */
#ifndef TENON_HOST_BASE_SECRETS_SECRETS_STREAM_H
#define TENON_HOST_BASE_SECRETS_SECRETS_STREAM_H

#include "adl/value/buffer.h"
#include "adl/value/value.h"

struct secrets;

#define SECRETS_STREAM_HELD_MIN 4u

struct secrets_stream {
    struct secrets_stream *next; /* in the list of the secrets */
    const void *owner;
    tn_value last;                        /* for the owner; released with the stream */
    char passed[SECRETS_STREAM_HELD_MIN]; /* the last bytes that were passed on, which are searched again */
    size_t passed_length;                 /* less than SECRETS_STREAM_HELD_MIN */
    struct buffer held;
};

/* The stream of this owner. Adds one if there is none and `add` is true; otherwise returns NULL. */
struct secrets_stream *secrets_stream_of(struct secrets *secrets, const void *owner, bool add);
/* Frees the stream of this owner, if there is one, with what it holds back. */
void secrets_stream_remove(struct secrets *secrets, const void *owner);
/* Appends to `out`, which is empty at first, what can be passed on. */
void secrets_stream_next(struct secrets_stream *stream, struct secrets *secrets, const char *piece, size_t length,
                         struct buffer *out);
/* Appends what is held back. It is not a secret. The stream can be used again. */
void secrets_stream_rest(struct secrets_stream *stream, struct buffer *out);

#endif
