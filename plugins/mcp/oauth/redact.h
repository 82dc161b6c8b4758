/*
 * redact.h - removes the token that was sent from a server's JSON, so that it is not stored anywhere.
 *
 *     struct tn_text_buffer safe = {.limit = MCP_MESSAGE_MAX};
 *     if (redact_token(header, json, length, &safe)) json = safe.bytes, length = safe.length;
 *     tn_text_free(&safe);
 */
#ifndef MCP_OAUTH_REDACT_H
#define MCP_OAUTH_REDACT_H

#include "base.h"
#include <tenon/util/text.h>

#define REDACT_MIN 8 /* bytes of a token; a shorter text could occur by chance */

/*
 * `header` is what was sent, "Bearer …"; may be NULL. Returns true if the token occurred (also with \/ for slashes);
 * `out` is then the text with {redacted} in its place, cut at the limit of `out`.
 */
bool redact_token(tn_value header, const char *json, uint64_t length, struct tn_text_buffer *out);

#endif
