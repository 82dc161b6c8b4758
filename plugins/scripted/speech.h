/*
 * speech.h - a message piece by piece: its deltas in order, as <tenon/message.h> has them.
 *
 * The deltas are made one by one, when they are asked for, and put together they are the message. Texts are cut between
 * characters.
 *
 *     struct speech speech;
 *     speech_init(&speech, message, finish_reason, usage, 16);
 *     while ((delta = speech_next(&speech)) != NULL) …     // one reference; NULL: all said, or no memory
 *     speech_finish(&speech);
 */
#ifndef TENON_PLUGINS_SCRIPTED_SPEECH_H
#define TENON_PLUGINS_SCRIPTED_SPEECH_H

#include <stdbool.h>
#include <tenon/message.h>

struct speech {
    tn_value message, usage, finish_reason; /* owned; a speech that breaks off has no finish_reason */
    tn_value arguments;                     /* of the call that is being said, as JSON text */
    uint64_t chunk;                         /* characters of a delta */
    uint64_t part, call, offset;            /* what is next, and the byte of it */
    bool began, done;                       /* the call's name was said; all was */
};

/* `finish_reason` NULL: the message breaks off, without a last delta. */
void speech_init(struct speech *speech, tn_value message, const char *finish_reason, tn_value usage, uint64_t chunk);
void speech_finish(struct speech *speech);
tn_value speech_next(struct speech *speech);
/* Whether all of it was said: false after NULL for want of memory. */
bool speech_said(const struct speech *speech);

/* What holes of a reply stand for; each may be NULL: an empty text. */
struct holes {
    tn_value input, last, call, model;
};
#define HOLES_TEXT_MAX  1048576 /* bytes of a text that is filled in */
#define HOLES_DEPTH_MAX 64      /* deeper than that nothing is filled in */
/*
 * `value` with {input}, {last}, {call} and {model} filled in, in every text at any depth; any other brace stays. A new
 * reference; NULL without memory, or with *too_long set where a text would be longer than HOLES_TEXT_MAX.
 */
tn_value holes_fill(const struct holes *holes, tn_value value, bool *too_long);

#endif
