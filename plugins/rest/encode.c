/*
 * encode.c - encodes values for HTTP.
 */
#include "encode.h"
#include <tenon/base64.h>

#define USER_AND_PASSWORD_MAX 8192u /* bytes, together */

tn_value rest_basic_auth(const char *user, const char *password) {
    struct tn_text_buffer plain = TN_TEXT_BUFFER(USER_AND_PASSWORD_MAX), coded = {0};
    char encoded[TN_BASE64_SIZE(USER_AND_PASSWORD_MAX)];
    tn_text_append_format(&plain, "%s:%s", user, password);
    tn_text_append(&coded, "Basic ");
    tn_text_append_n(&coded, encoded,
                     (uint64_t)(tn_base64_put(encoded, tn_text_chars(&plain), plain.length) - encoded));
    if (plain.status != TN_OK) coded.status = plain.status;
    if (plain.bytes != NULL) memset(plain.bytes, 0, plain.length);
    tn_text_free(&plain);
    return tn_text_finish(&coded);
}

void rest_append_scalar(struct tn_text_buffer *text, tn_value value, bool percent, const char *keep) {
    uint64_t length;
    tn_value json = tn.value->kind(value) == TN_STRING ? NULL : tn_to_json(value);
    const char *chars = tn_chars(json != NULL ? json : value, &length);
    if (chars == NULL)
        text->status = TN_INVALID;
    else if (percent)
        (void)tn_text_append_percent(text, chars, length, keep);
    else
        (void)tn_text_append_n(text, chars, length);
    tn_release(json);
}
