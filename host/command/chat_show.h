/*
 * chat_show.h - what a conversation shows of a run: words as they come on standard output, tools on standard error.
 *
 *     chat_show_init(&show, colour, true);
 *     chat_show_event(&show, event);          // of CHAT_MODES
 *     chat_show_rest(&show, messages, from);  // what no model has streamed
 *     chat_show_finish(&show);
 */
#ifndef TENON_HOST_COMMAND_CHAT_SHOW_H
#define TENON_HOST_COMMAND_CHAT_SHOW_H

#include "adl/value/buffer.h"
#include "adl/value/value.h"
#include "host/engine/run.h"
#include <stdbool.h>

#define CHAT_MODES ((unsigned)(RUN_MODE_MESSAGES | RUN_MODE_UPDATES | RUN_MODE_TASKS))

struct chat_show {
    bool colour, streams;
    bool inside;        /* the line on standard output is begun */
    struct buffer said; /* since the last end of an answer */
    tn_value last;      /* the last whole text that was streamed; owned, or NULL */
    tn_value shown;     /* keys of calls and results that have been (chat_show.c); owned */
    tn_value inside_of; /* {path: true} of nodes in whose graphs something has happened; owned */
};

/* `streams`: words are shown as they come. Else, for a pipe, when an answer is whole: it may begin anew until then. */
void chat_show_init(struct chat_show *show, bool colour, bool streams);
void chat_show_finish(struct chat_show *show);
void chat_show_event(struct chat_show *show, tn_value event);
/* The calls that a thread waits with, which another process has told: `interrupts` as of run_interrupts, or NULL. */
void chat_show_waiting(struct chat_show *show, tn_value interrupts);
/* Answers among messages[from…] that were not streamed, as a node made them from something else. */
void chat_show_rest(struct chat_show *show, tn_value messages, size_t from);
/* Ends a line that is begun. */
void chat_show_line(struct chat_show *show);
/* The conversation so far, for people. */
void chat_show_history(tn_value messages);
/* A message's text; a new reference. */
tn_value chat_text(tn_value message);

#endif
