/*
 * command_chat_show.h - prints a run of a conversation: the answer on standard output as it is streamed, tool calls on
 * standard error.
 *
 * On a terminal, reasoning and sources are folded: one line says that they are there, and chat_show_folded prints them.
 * Images are shown (command_chat_media.h). In a pipe they are left out.
 *
 *     chat_show_init(&show, colour, true);
 *     chat_show_event(&show, event);          // events of CHAT_MODES
 *     chat_show_rest(&show, messages, from);  // answers that were not streamed
 *     chat_show_finish(&show);
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_CHAT_SHOW_H
#define TENON_HOST_PROGRAM_COMMAND_CHAT_SHOW_H

#include "adl/value/buffer.h"
#include "adl/value/value.h"
#include "host/engine/graph/run.h"
#include "host/program/command_chat_media.h"
#include <stdbool.h>

#define CHAT_MODES ((unsigned)(RUN_MODE_MESSAGES | RUN_MODE_UPDATES | RUN_MODE_TASKS))

struct chat_show {
    bool colour, streams;
    bool quiet;            /* print only the answers */
    bool terminal;         /* a person reads: fold and show what is not text */
    bool thinking;         /* the line about reasoning has been printed since the last text */
    bool line_open;        /* the last line on standard output has no line end yet */
    struct buffer answer;  /* the text since the end of the last answer */
    tn_value last;         /* the last complete text that was streamed; owned; NULL at the start of a turn */
    tn_value shown;        /* keys of calls and results that have been printed; owned */
    struct buffer thought; /* the reasoning of this turn */
    tn_value sources;      /* the sources of this turn; an array; owned */
    size_t media_shown;    /* images and other media of this turn that were shown */
    struct chat_media media;
    tn_value nested_paths; /* {path: true}: nested graphs that have reported events; owned */
};

/*
 * If `streams` is true, text is printed as it arrives. Otherwise (for a pipe) it is printed when the answer is
 * complete, because a model's answer can restart until then.
 */
void chat_show_init(struct chat_show *show, bool colour, bool streams);
void chat_show_finish(struct chat_show *show);
/* A turn begins: what the last one has folded is forgotten. */
void chat_show_begin(struct chat_show *show);
void chat_show_event(struct chat_show *show, tn_value event);
/*
 * Prints the tool calls that a thread waits for, which another process has reported. `interrupts` is what
 * run_interrupts returns; NULL prints nothing.
 */
void chat_show_waiting(struct chat_show *show, tn_value interrupts);
/* Prints the answers among messages[from…] that were not streamed, for example because a node composed them. */
void chat_show_rest(struct chat_show *show, tn_value messages, size_t from);
/* A turn has ended: prints the tokens that it used, and their cost, on a terminal. NULL: no model was called. */
void chat_show_usage(struct chat_show *show, tn_value before, tn_value after);
/* Prints the reasoning and the sources of the last turn. */
void chat_show_folded(struct chat_show *show);
/* Ends the open line, if there is one. */
void chat_show_line(struct chat_show *show);
/* Prints the conversation so far. */
void chat_show_history(tn_value messages);

#endif
