/*
 * hide.h - JSON of a server without the token that it was shown: what it says back is not kept anywhere.
 *
 *     struct buffer safe = {.limit = MCP_MESSAGE_MAX};
 *     if (hide_token(header, json, length, &safe)) json = safe.bytes, length = safe.length;
 *     buffer_free(&safe);
 */
#ifndef MCP_OAUTH_HIDE_H
#define MCP_OAUTH_HIDE_H

#include "buffer.h"

#define HIDE_MIN 8 /* bytes of a token; a shorter one is in too much that is none */

/*
 * `header`: as it was sent, "Bearer …"; may be NULL. True: it was there, as it is or with \/ for its slashes, and `out`
 * has the text with {redacted} in its place. It is cut where it does not fit.
 */
bool hide_token(tn_value header, const char *json, uint64_t length, struct buffer *out);

#endif
