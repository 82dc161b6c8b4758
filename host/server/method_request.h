/*
 * method_request.h - a request of a method to the store, the kernel or the engine.
 *
 * Its result ends the call. If the call was cancelled, the request ends without an effect on it. The server is not
 * freed before all requests have ended, because they use the store and the engine of the host.
 *
 *     thread_show(store, id, method_request_done, method_request_new(call));
 *     return TN_OK;
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_METHOD_REQUEST_H
#define TENON_HOST_SERVER_METHOD_REQUEST_H

#include "host/server/method.h"

/* The `user` of one request, which must call one of the functions below once, later. It is owned by the request. */
void *method_request_new(const struct method_call *call);
struct server *method_request_server(const void *user);
/* The result of the method is that of the request. */
void method_request_done(void *user, int32_t status, tn_value result, const struct error *error);
/* For a request without a result: the result of the method is {}. */
void method_request_done_empty(void *user, int32_t status, tn_value result, const struct error *error);

#endif
