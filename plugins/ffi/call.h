/*
 * call.h - one call of a described function: arguments from a value, the result as one.
 *
 *     struct call *call = call_new(function);
 *     tn_value result = call_run(call, input);            // one reference; NULL: call_code, call_message, call_detail
 *     call_free(call);
 *
 * [worker] The library's lock is held while its code runs, unless it is declared safe for threads.
 */
#ifndef TENON_PLUGINS_FFI_CALL_H
#define TENON_PLUGINS_FFI_CALL_H

#include "describe.h"

struct call;
struct call *call_new(const struct function *function); /* NULL without memory */
tn_value call_run(struct call *call, tn_value input);
const char *call_code(const struct call *call);
const char *call_message(const struct call *call);
tn_value call_detail(const struct call *call); /* borrowed; may be NULL */
void call_free(struct call *call);

#endif
