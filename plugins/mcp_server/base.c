/*
 * base.c - JSON-RPC messages that the plugin sends, and the error of a request.
 */
#include "base.h"

bool problem_set(struct problem *problem, int32_t status, int32_t code, const char *format, ...) {
    va_list arguments;
    problem->status = status;
    problem->code = code;
    va_start(arguments, format);
    (void)vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
    return false;
}

tn_value reply_result_take(tn_value id, tn_value result) {
    return tn_build("{s:s, s:v?, s:V}", "jsonrpc", "2.0", "id", id, "result", result);
}

tn_value reply_error(tn_value id, const struct problem *problem) {
    return tn_build("{s:s, s:v?, s:{s:i, s:V, s:v*}}", "jsonrpc", "2.0", "id", id, "error", "code", (int)problem->code,
                    "message", tn_text_lossy(problem->text, strlen(problem->text)), "data", problem->data);
}

tn_value reply_notification_take(const char *method, tn_value params) {
    return tn_build("{s:s, s:s, s:V}", "jsonrpc", "2.0", "method", method, "params", params);
}

tn_value value_without(tn_value object, const char *name) {
    tn_value copy = tn_retain(object);
    (void)tn.value->remove(&copy, name, TN_Z);
    return copy;
}
