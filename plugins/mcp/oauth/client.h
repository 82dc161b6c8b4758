/*
 * client.h - this client's identity at an authorization server, and its authentication.
 *
 * The first of these that exists: `client_id` of tenon.yaml (registered manually); the URL of a document about the
 * client (`client_metadata_url`), if the server supports it; a new registration (RFC 7591).
 *
 * A client is an object {client_id, client_secret?, method, redirect_uri?, expires_at?}: `method` is "none",
 * "client_secret_basic", "client_secret_post" or "private_key_jwt"; the key of the last stays in tenon.yaml.
 *
 *     tn_value client = client_from_config(config, server, why, sizeof why);
 *     if (client == NULL && *why == '\0') send client_make_registration(…)
 *     client_authenticate(client, config, server, &form, &authorization, why, sizeof why);
 */
#ifndef MCP_OAUTH_CLIENT_H
#define MCP_OAUTH_CLIENT_H

#include "base.h"
#include "encode.h" /* in plugins/rest */
#include "oauth_limits.h"

/* Returns the client, a new reference. Returns NULL with *why "" if it must be registered, or NULL with the reason if
 * it cannot be used. */
tn_value client_from_config(tn_value config, tn_value server, char *why, size_t size);

/* Returns the registration request. `bound`: tokens are to be bound to a key. */
tn_value client_make_registration(tn_value config, tn_value server, const char *redirect_uri, bool bound);
/* Converts the answer to a client. Returns NULL with the reason in `why` on failure. */
tn_value client_read_registration(tn_value answer, tn_value server, const char *redirect_uri, char *why, size_t size);

bool client_is_valid(tn_value client); /* its secret has not expired; false for NULL */

/* Adds the client's authentication to the form, or returns it as a header in `authorization`, which is NULL otherwise.
 * Returns false with the reason in `why` on failure. */
bool client_authenticate(tn_value client, tn_value config, tn_value server, struct tn_text_buffer *form,
                         tn_value *authorization, char *why, size_t size);

/* Appends name=value to a form, percent-encoded. */
void form_put(struct tn_text_buffer *form, const char *name, const char *value);

#endif
