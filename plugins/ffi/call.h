/*
 * call.h - one call of a described function. The arguments and the result are values.
 *
 *     struct call *call = function_call_new(function);
 *     tn_value result = function_call_run(call, input);   // one reference; NULL on failure
 *     if (result == NULL) log(function_call_code(call), function_call_message(call));
 *     function_call_free(call);
 *
 * Thread: a worker. The library's lock is held while its code runs, unless the library is declared `thread_safe`.
 * function_call_code, function_call_message and function_call_detail describe a failure until function_call_free.
 */
#ifndef TENON_PLUGINS_FFI_CALL_H
#define TENON_PLUGINS_FFI_CALL_H

#include "describe.h"

struct call;
struct call *function_call_new(const struct function *function); /* NULL if memory is exhausted */
tn_value function_call_run(struct call *call, tn_value input);
const char *function_call_code(const struct call *call);
const char *function_call_message(const struct call *call);
tn_value function_call_detail(const struct call *call); /* borrowed; may be NULL */
void function_call_free(struct call *call);

#endif
