/*
 * tenon/http_client.h - draft: what a plugin with an HTTP client provides to the host, which lists it in `provides`.
 *
 * The host serves tenon/http.h to other plugins. It passes each request on, checked and with its secrets inserted, and
 * follows redirects itself; the client retries. Requests, events and errors are those of tenon/http.h.
 */
#ifndef TENON_HTTP_CLIENT_H
#define TENON_HTTP_CLIENT_H

#include <tenon.h>
#include <tenon/http.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_HTTP_CLIENT_DRAFT "tenon.http_client/1-draft.1"
/* From the plugin. `self` is that of its tn_plugin. Everything is [loop]; the functions are as in tn_http_1. */
typedef struct tn_http_client_draft {
    uint64_t size;
    int32_t TN_FN(send)(void *self, tn_value request, tn_http_handler handler, void *user, uint64_t *exchange);
    int32_t TN_FN(pause)(void *self, uint64_t exchange);
    int32_t TN_FN(resume)(void *self, uint64_t exchange);
    int32_t TN_FN(cancel)(void *self, uint64_t exchange);
} tn_http_client_draft;

#ifdef __cplusplus
}
#endif
#endif
