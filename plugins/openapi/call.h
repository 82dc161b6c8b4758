/*
 * call.h - one call of a tool: a token where one is needed, the request, and what becomes of the answer.
 *
 * The instance is a struct operation. Everything is [loop].
 */
#ifndef TENON_PLUGINS_OPENAPI_CALL_H
#define TENON_PLUGINS_OPENAPI_CALL_H

#include "service.h"

extern TN_EASY_HIDDEN const tn_http_draft *call_http;

int32_t call_start(void *instance, tn_task task, tn_value input);
void call_cancel(void *instance, tn_task task);

#endif
