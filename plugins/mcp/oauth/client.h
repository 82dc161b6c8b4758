/*
 * client.h - who we are to an authorization server: what it calls us, and how we prove it.
 *
 * In this order: what tenon.yaml has (`client_id`, registered by somebody there beforehand); the address of a document
 * about us (`client_metadata_url`), where the server takes such; a registration made now (RFC 7591).
 *
 * A client is an object {client_id, client_secret?, method, redirect_uri?, expires_at?}: `method` is "none",
 * "client_secret_basic", "client_secret_post" or "private_key_jwt"; the key of the last stays in tenon.yaml.
 *
 *     tn_value client = client_given(config, server, why, sizeof why);
 *     if (client == NULL && *why == '\0') register with client_registration(…)
 *     client_prove(client, config, server, &form, &authorization, why, sizeof why);
 */
#ifndef MCP_OAUTH_CLIENT_H
#define MCP_OAUTH_CLIENT_H

#include "base.h"
#include "bounds.h"
#include "text.h" /* of plugins/rest */

/* NULL with *why "": there is none yet, and it may be registered; NULL with a text: it cannot be used. A new one. */
tn_value client_given(tn_value config, tn_value server, char *why, size_t size);

/* What is sent to register; `bound`: its tokens are to be bound to a key. */
tn_value client_registration(tn_value config, tn_value server, const char *redirect_uri, bool bound);
/* What came back, as a client. NULL: why. */
tn_value client_registered(tn_value answer, tn_value server, const char *redirect_uri, char *why, size_t size);

bool client_is_good(tn_value client); /* its secret has not ended; NULL is not */

/* Adds to the form what says who we are, and gives the header for it where it goes there, or NULL. False: why. */
bool client_prove(tn_value client, tn_value config, tn_value server, struct text *form, tn_value *authorization,
                  char *why, size_t size);

/* name=value of a form, percent-encoded, behind what is there. */
void form_put(struct text *form, const char *name, const char *value);

#endif
