/*
 * token_file.h - stores the state of an authorization between processes, in a file that only its owner can read.
 *
 * The file contains tokens, the registered client and pending questions. There is one file for each server and client,
 * with mode 0600 in a folder with mode 0700. It is replaced by a rename, so that it is always complete. A file that
 * others can read, that belongs to another user, or that is not a JSON object is not used.
 *
 *     char *file = token_file_path(folder, url, client_id);       // NULL: there is no folder to store it in
 *     tn_value record = token_file_read(file, why, sizeof why);
 *     if (!token_file_write(file, record, why, sizeof why)) log_format(TN_LOG_WARN, …);
 */
#ifndef MCP_OAUTH_TOKEN_FILE_H
#define MCP_OAUTH_TOKEN_FILE_H

#include "base.h"
#include "oauth_limits.h"

/* The default for `folder` is tenon/mcp in XDG_STATE_HOME, or in ~/.local/state. Free the result with `mcp_free`. */
char *token_file_path(const char *folder, const char *url, const char *client);
/* Returns a new reference; NULL if the file does not exist (*why is "") or cannot be used. */
tn_value token_file_read(const char *file, char *why, size_t size);
bool token_file_write(const char *file, tn_value record, char *why, size_t size);

#endif
