/*
 * credentials.h - application-default credentials for Google Cloud, found where Google's own libraries look.
 *
 * The order: the file that the configuration names; GOOGLE_APPLICATION_CREDENTIALS; gcloud's
 * application_default_credentials.json (in CLOUDSDK_CONFIG, or ~/.config/gcloud); the metadata server of the machine. A
 * file is of type `authorized_user` (gcloud auth application-default login) or `service_account` (a key).
 */
#ifndef TENON_PLUGINS_GOOGLE_CREDENTIALS_H
#define TENON_PLUGINS_GOOGLE_CREDENTIALS_H

#include <stdbool.h>
#include <tenon/easy.h>

#define CREDENTIALS_FILE_MAX    65536 /* bytes of a file */
#define CREDENTIALS_MESSAGE_MAX 512

#define CREDENTIALS_SCOPE     "https://www.googleapis.com/auth/cloud-platform"
#define CREDENTIALS_TOKEN_URL "https://oauth2.googleapis.com/token"
#define CREDENTIALS_METADATA  "metadata.google.internal"

enum credentials_kind { CREDENTIALS_USER, CREDENTIALS_SERVICE, CREDENTIALS_MACHINE };

struct credentials {
    enum credentials_kind kind;
    tn_value json; /* the file's content; NULL: use the metadata server */
};

/* Reads the credentials. `file` may be NULL. On failure, returns false with the reason in `message`; there is nothing
 * to finish. Does not use the network. */
bool credentials_find(const char *file, struct credentials *out, char message[CREDENTIALS_MESSAGE_MAX]);
void credentials_finish(struct credentials *credentials);

/*
 * Returns the request of tenon/http.h that gets an access token, a new reference. `token_url` overrides the
 * credentials' address; may be NULL. On failure, returns NULL with the reason in `message`.
 */
tn_value credentials_request(const struct credentials *credentials, const char *token_url,
                             char message[CREDENTIALS_MESSAGE_MAX]);

#endif
