/*
 * serve_web.h - the HTTP server of `tenon serve`: the graphs that it offers, its keys, its protocols and its listener.
 *
 *     int code = serve_graphs(arguments, host);             // before the loops of the host are opened
 *     if (code == COMMAND_OK) code = serve_web_open(&web, arguments, host);
 *     serve_web_drain(web);
 *     serve_web_free(web);                                  // before host_free
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_PROGRAM_SERVE_WEB_H
#define TENON_HOST_PROGRAM_SERVE_WEB_H

#include "host/program/command.h"

struct host;
struct serve_web;

/* True if the command line or tenon.yaml asks for HTTP. Call it before serve_graphs. */
bool serve_web_is_wanted(const struct arguments *arguments, const struct host *host);
/*
 * Adds the documents of the operands to those of tenon.yaml, and checks all of them. Returns an exit code: after a
 * message, COMMAND_INVALID if a document has errors, COMMAND_USAGE if two have one name.
 */
int serve_graphs(const struct arguments *arguments, struct host *host);
/* Reads the keys, loads the plugins of the protocols, listens, and prints the address. *out may be NULL on failure. */
int serve_web_open(struct serve_web **out, const struct arguments *arguments, struct host *host);
/* Waits for open requests; new ones are refused. NULL is allowed in all functions below. */
void serve_web_drain(struct serve_web *web);
bool serve_web_is_drained(const struct serve_web *web);
/* Closes all connections. */
void serve_web_free(struct serve_web *web);

#endif
