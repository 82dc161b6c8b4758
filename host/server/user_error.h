/*
 * user_error.h - failures of the store, as users see them: without the path or the address of the store, which are for
 * the operator.
 *
 * All functions are [any].
 */
#ifndef TENON_HOST_SERVER_USER_ERROR_H
#define TENON_HOST_SERVER_USER_ERROR_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>

/* True if the message of an error of this code is only for the operator. `code` may be NULL. */
bool user_error_is_hidden(const char *code);
/* Sets the message that users get instead, and returns `status`. */
int32_t user_error_set(struct error *error, int32_t status, const char *code);
/* The same for the member `error` of an object, which is taken and returned. */
tn_value user_error_hide_take(tn_value object);

#endif
