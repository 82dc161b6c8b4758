/*
 * call.h - one call of a tool: requests a token if necessary, sends the request and converts the answer.
 *
 * The instance is a struct operation. Thread: loop.
 */
#ifndef TENON_PLUGINS_OPENAPI_CALL_H
#define TENON_PLUGINS_OPENAPI_CALL_H

#include "service.h"

extern TN_EASY_HIDDEN const tn_http_1 *openapi_http;

int32_t operation_call_start(void *instance, tn_task task, tn_value input);
void operation_call_cancel(void *instance, tn_task task);

#endif
