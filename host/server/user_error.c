/*
 * user_error.c - what users read instead of a failure of the store.
 */
#include "host/server/user_error.h"
#include <string.h>

bool user_error_is_hidden(const char *code) { return code && strncmp(code, "STORE_", strlen("STORE_")) == 0; }

int32_t user_error_set(struct error *error, int32_t status, const char *code) {
    return error_set(error, status, code, "the store of this server cannot be used now; try again later");
}

tn_value user_error_hide_take(tn_value object) {
    tn_value error = value_get(object, "error"), code = value_get(error, "code");
    struct error shown = ERROR_INIT;
    if (!code || !value_is(code, TN_STRING) || !user_error_is_hidden(value_chars(code, NULL))) return object;
    user_error_set(&shown, TN_FAILED, value_chars(code, NULL));
    object = value_set_take(object, "error", error_to_value(&shown));
    error_finish(&shown);
    return object;
}
