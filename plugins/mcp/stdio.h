/*
 * stdio.h - a server that is a child of ours: a message a line, in through its standard input, out of its output.
 *
 * Its standard error goes to the log. It has a process group of its own, so that what it starts goes with it. It ends
 * by the end of its input; where that is not heeded, by SIGTERM, and then by SIGKILL, MCP_GRACE_MS apart.
 *
 *     struct stdio_options options = {.name = "files", .command = command};
 *     struct transport *pipe = stdio_new(&options, &events, why, sizeof why);
 *     if (pipe == NULL) say(TN_LOG_ERROR, "server `files`: %s", why);
 */
#ifndef MCP_STDIO_H
#define MCP_STDIO_H

#include "transport.h"

struct stdio_options {
    const char *name; /* the server's, for the log */
    tn_value command; /* [program, argument…] */
    tn_value env;     /* {name: text}, added to our own; may be NULL */
    const char *cwd;  /* NULL: ours */
};

/* NULL: it could not be started, and `why` says so. The options are not kept. */
struct transport *stdio_new(const struct stdio_options *options, const struct transport_events *events, char *why,
                            size_t size);
/* Children that are told to end from now on are only waited for by stdio_end_all. */
void stdio_last(void);
/* Waits for all children that have been told to end, harder and harder. Before the plugin ends. */
void stdio_end_all(void);

#endif
