/*
 * stdio.h - a server that is a child process: one message per line on its standard input and output.
 *
 * Its standard error goes to the log. It has its own process group, so that its children end with it. It is stopped by
 * the end of its input, then by SIGTERM, then by SIGKILL, with MCP_GRACE_MS between them.
 *
 *     struct stdio_options options = {.name = "files", .command = command};
 *     struct transport *pipe = stdio_new(&options, &events, why, sizeof why);
 *     if (pipe == NULL) log_format(TN_LOG_ERROR, "server `files`: %s", why);
 */
#ifndef MCP_STDIO_H
#define MCP_STDIO_H

#include "transport.h"

struct stdio_options {
    const char *name;     /* the server's name, for the log */
    tn_value command;     /* [program, argument…] */
    tn_value env;         /* {name: string}, added to what every program gets; may be NULL */
    tn_value inherit_env; /* [name]: variables of the host's environment that it gets, too; may be NULL */
    const char *cwd;      /* NULL: our folder */
};

/* Returns NULL with the reason in `why` on failure. The options are not kept. */
struct transport *stdio_new(const struct stdio_options *options, const struct transport_events *events, char *why,
                            size_t size);
/* From now on, children that are ended are only waited for by stdio_end_all. */
void stdio_stop_timers(void);
/* Waits for all children that must end, and kills them if necessary. Call it before the plugin ends. */
void stdio_end_all(void);

#endif
