/*
 * server_continue.h - continues the runs that another host of `tenon serve` has left (data/thread/thread_left.h).
 *
 *     start ──▶ looks for threads ──▶ checks the graph ──▶ claims the thread ──▶ run, as run/resume would start it
 *                 ▲    │ the store is away; others run some of them; a run could not be saved
 *                 └────┘ again, after a pause
 *
 * A run keeps its id and its modes, so clients find it as before. At most CONTINUE_AT_ONCE of them run at once, the
 * others wait. A run is not continued if its graph is not served any more or has changed, or if hosts have died with it
 * several times; the log says so.
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_SERVER_CONTINUE_H
#define TENON_HOST_SERVER_SERVER_CONTINUE_H

#include "adl/value/value.h"
#include <stdbool.h>

#define CONTINUE_AT_ONCE  64u
#define CONTINUE_FIRST_MS 1000  /* the pause after the store has failed; it doubles */
#define CONTINUE_LAST_MS  60000 /* up to this one, which is also that between looks for the runs of other hosts */

struct server;
struct server_continue;

struct server_continue *server_continue_new(struct server *server);
/* No effect if it has started or was stopped. */
void server_continue_start(struct server_continue *all);
/* A run with THREAD_SERVED has ended; `continued`: one of those that were started here. `error` is that of its report.
 */
void server_continue_note_end(struct server_continue *all, bool continued, tn_value error);
/* True while the host claims the thread: it is about to continue it, and a run of a client would be fenced. */
bool server_continue_claims(const struct server_continue *all, const char *thread);
/* No run is continued from now on. */
void server_continue_stop(struct server_continue *all);
/* Stops, and runs the loop until requests to the store have ended. */
void server_continue_end(struct server_continue *all);
void server_continue_free(struct server_continue *all); /* after server_continue_end; NULL is allowed */

#endif
