/* base64_test.c - tenon/base64.h: the vectors of RFC 4648, what is not of an alphabet, and the host's own, byte by
 * byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <tenon/base64.h>

#include "adl/value/base64.h"

static void is_put(const char *bytes, const char *plain, const char *url) {
    char out[64], back[64];
    uint64_t length = strlen(bytes), size = (uint64_t)(tn_base64_put(out, bytes, length) - out);
    assert_int_equal(size, TN_BASE64_SIZE(length));
    assert_int_equal(size, strlen(plain));
    assert_memory_equal(out, plain, size);
    assert_int_equal(tn_base64_take(out, size, back, sizeof back), length);
    assert_memory_equal(back, bytes, length);
    size = (uint64_t)(tn_base64url_put(out, bytes, length) - out);
    assert_int_equal(size, strlen(url));
    assert_memory_equal(out, url, size);
    assert_int_equal(tn_base64_take(out, size, back, sizeof back), length);
    assert_memory_equal(back, bytes, length);
    assert_true(tn_is_base64(plain, strlen(plain)) == (length > 0));
}

static void vectors(void **state) { /* section 10 */
    (void)state;
    is_put("", "", "");
    is_put("f", "Zg==", "Zg");
    is_put("fo", "Zm8=", "Zm8");
    is_put("foo", "Zm9v", "Zm9v");
    is_put("foob", "Zm9vYg==", "Zm9vYg");
    is_put("fooba", "Zm9vYmE=", "Zm9vYmE");
    is_put("foobar", "Zm9vYmFy", "Zm9vYmFy");
    is_put("\xfb\xff\xbf", "+/+/", "-_-_");
}

static void others(void **state) {
    (void)state;
    static const char *const not_any[] = {"", "Zm9v\n", "Zm 9v", "Zg===", "Zg=a", "Zm-v", "Zm_v", "Z\x80==", "====="};
    char out[8];
    for (size_t i = 0; i < sizeof not_any / sizeof *not_any; i++)
        assert_false(tn_is_base64(not_any[i], strlen(not_any[i])));
    assert_true(tn_is_base64("Zg", 2)); /* some leave the padding out */
    assert_false(tn_is_base64("Zg\0=", 4));
    assert_int_equal(tn_base64_take("Zm9v!Zm9v", 9, out, sizeof out), 3);
    assert_int_equal(tn_base64_take("Zm9vYmFy", 8, out, 4), 4);
    assert_memory_equal(out, "foob", 4);
    assert_int_equal(tn_base64_take("Z", 1, out, sizeof out), 0);
}

static void matches_the_encoder_of_the_host(void **state) {
    (void)state;
    unsigned char bytes[300];
    char out[TN_BASE64_SIZE(sizeof bytes)];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 167 + i / 7);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        struct buffer text;
        buffer_init(&text, SIZE_MAX);
        base64_write(&text, bytes, length);
        assert_int_equal(tn_base64_put(out, bytes, length) - out, text.length);
        assert_memory_equal(out, buffer_cstr(&text), text.length);
        buffer_finish(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors), cmocka_unit_test(others),
                                       cmocka_unit_test(matches_the_encoder_of_the_host)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
