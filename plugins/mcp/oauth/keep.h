/*
 * keep.h - what an authorization has come to, between one process and the next: a file that only its owner reads.
 *
 * It has tokens, the client that was registered, and what a person is being asked. One file for each server and client,
 * mode 0600, in a folder of mode 0700; written beside itself and renamed, so that it is whole at any time. One that
 * others could read, or that is another's, is not read; nor is one that is no JSON object.
 *
 *     char *file = keep_file(folder, url, client_id);       // NULL: there is nowhere to keep anything
 *     tn_value record = keep_read(file, why, sizeof why);
 *     if (!keep_write(file, record, why, sizeof why)) say(TN_LOG_WARN, …);
 */
#ifndef MCP_OAUTH_KEEP_H
#define MCP_OAUTH_KEEP_H

#include "base.h"
#include "bounds.h"

/* `folder` NULL: tenon/mcp in XDG_STATE_HOME, or in ~/.local/state. Give it back with `give`. */
char *keep_file(const char *folder, const char *url, const char *client);
/* A new reference; NULL: there is none (*why is ""), or it cannot be used. */
tn_value keep_read(const char *file, char *why, size_t size);
bool keep_write(const char *file, tn_value record, char *why, size_t size);

#endif
