/*
 * call.h - one call of a described function. The arguments and the result are values.
 *
 *     struct call *call = function_call_new(function);
 *     tn_value result = function_call_run(call, input);   // one reference; NULL on failure
 *     if (result == NULL) return tn_fail_take(task, function_call_error(call));
 *     function_call_free(call);
 *
 * Thread: a worker. The library's lock is held while its code runs, unless the library is declared `thread_safe`.
 */
#ifndef TENON_PLUGINS_FFI_CALL_H
#define TENON_PLUGINS_FFI_CALL_H

#include "describe.h"

struct call;
struct call *function_call_new(const struct function *function); /* NULL if memory is exhausted */
tn_value function_call_run(struct call *call, tn_value input);
tn_value function_call_error(const struct call *call); /* an ERROR, one reference, after function_call_run failed */
void function_call_free(struct call *call);

#endif
