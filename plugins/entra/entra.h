/*
 * entra.h - access tokens of Microsoft Entra: of an application with a secret, or of the machine's managed identity.
 *
 *     entra: {tenant?, client_id?, client_secret?: TEXT, managed_identity?: bool, scope?}
 *
 * The tenant and the client's id are also found in AZURE_TENANT_ID and AZURE_CLIENT_ID. The secret is inserted by the
 * host; its default is the secret AZURE_CLIENT_SECRET. The operator's section may have `entra_authority` and
 * `identity_url`, which replace Microsoft's addresses; a document cannot, because the secret is sent there.
 *
 *     const char *fault = entra_fault(entra, base_url, trusted_url);
 *     if (fault != NULL) return tn_refuse("INVALID_CONFIG", fault);
 *     model->tokens = entra_source_new(&maker, entra, section, http);
 */
#ifndef TENON_PLUGINS_ENTRA_H
#define TENON_PLUGINS_ENTRA_H

#include "token.h"

#define ENTRA_AUTHORITY "https://login.microsoftonline.com"
#define ENTRA_IDENTITY  "http://169.254.169.254/metadata/identity/oauth2/token"
#define ENTRA_SCOPE     "https://cognitiveservices.azure.com/.default"

/* A maker for a provider. */
#define ENTRA_MAKER(name)                                                                                              \
    {                                                                                                                  \
        name, "Entra", entra_build_token_request,                                                                      \
            ": check `tenant`, `client_id` and `client_secret` of `entra`, and whether the secret has expired; for a " \
            "managed identity, whether the machine has it",                                                            \
            "found no managed identity: the machine's token server cannot be reached; it exists only on machines of "  \
            "Azure. Elsewhere set `tenant`, `client_id` and `client_secret` of `entra`"                                \
    }

/* `build` of a maker. */
bool entra_build_token_request(tn_value settings, struct token_request *out, char message[TOKEN_MESSAGE_MAX]);
/* Returns NULL, or why tokens of these settings cannot be sent to `base_url`: they are sent only to Azure's hosts, and
 * to `trusted_url`, the operator's (or NULL). */
const char *entra_fault(tn_value entra, const char *base_url, const char *trusted_url);
/* `section` is the operator's, or NULL. Returns NULL if allocation fails. */
struct token_source *entra_source_new(const struct token_maker *maker, tn_value entra, tn_value section,
                                      const tn_http_1 *http);

#endif
