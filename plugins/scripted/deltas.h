/*
 * deltas.h - splits a message into deltas in the form and order of <tenon/message.h>.
 *
 * Each delta is built when it is requested. Concatenated, they contain the whole message. Texts are split between
 * characters, not inside of one.
 *
 *     struct deltas deltas;
 *     deltas_init(&deltas, message, finish_reason, usage, 16);
 *     while ((delta = deltas_next(&deltas)) != NULL) …     // a new reference; NULL: at the end, or if allocation fails
 *     deltas_finish(&deltas);
 */
#ifndef TENON_PLUGINS_SCRIPTED_DELTAS_H
#define TENON_PLUGINS_SCRIPTED_DELTAS_H

#include <stdbool.h>
#include <tenon/message.h>

struct deltas {
    tn_value message, usage, finish_reason; /* owned; finish_reason is NULL if the message is truncated */
    tn_value arguments;                     /* of the current tool call, as JSON text */
    uint64_t chunk;                         /* characters in a delta */
    uint64_t part, call, offset;            /* position of the next delta; offset in bytes */
    bool began, done;                       /* the current call's name was returned; the last delta was returned */
};

/* If `finish_reason` is NULL, the last delta {done} is left out: the message is truncated by an error. */
void deltas_init(struct deltas *deltas, tn_value message, const char *finish_reason, tn_value usage, uint64_t chunk);
void deltas_finish(struct deltas *deltas);
tn_value deltas_next(struct deltas *deltas);
/* After deltas_next returned NULL: true if all deltas were returned, false if allocation failed. */
bool deltas_are_complete(const struct deltas *deltas);

/* The values of a reply's placeholders. NULL is an empty text. */
struct placeholders {
    tn_value input, last, call, model;
};
#define PLACEHOLDERS_TEXT_MAX  1048576 /* bytes of a text after replacement */
#define PLACEHOLDERS_DEPTH_MAX 64      /* texts at a deeper level are not changed */
/*
 * Returns `value` with {input}, {last}, {call} and {model} replaced in every text at any depth. Other braces stay. A
 * new reference. NULL if allocation fails; or with *too_long set if a text would be longer than PLACEHOLDERS_TEXT_MAX.
 */
tn_value placeholders_replace(const struct placeholders *placeholders, tn_value value, bool *too_long);

#endif
