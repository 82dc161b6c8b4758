/* The tokens of users that were checked: what is found, and what is forgotten first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "host/server/web/access_tokens.h"

static struct access_tokens *tokens;

static int open_each(void **state) {
    (void)state;
    tokens = access_tokens_new();
    return 0;
}

static int close_each(void **state) {
    (void)state;
    access_tokens_free(tokens);
    return 0;
}

static void hash_of(int token, unsigned char hash[ACCESS_HASH_BYTES]) {
    char text[32];
    (void)snprintf(text, sizeof text, "%d", token);
    access_secret_hash(text, strlen(text), hash);
}

static void put(int token, const char *owner, enum method_scope scope, int64_t expires_ms) {
    struct access_token made = {.key = {.scope = scope, .limits = value_object()}, .expires_ms = expires_ms};
    (void)snprintf(made.owner, sizeof made.owner, "%s", owner);
    (void)snprintf(made.name, sizeof made.name, "jwt:%s", owner);
    hash_of(token, made.hash);
    access_tokens_put(tokens, &made);
    value_unref(made.key.limits);
}

static struct access_token *got(int token) {
    unsigned char hash[ACCESS_HASH_BYTES];
    hash_of(token, hash);
    return access_tokens_get(tokens, hash);
}

static const struct access_token *found(const char *name, const char *owner, enum method_scope scope, int64_t wall_ms) {
    return access_tokens_find(tokens, &(struct access_key){.name = name, .owner = owner, .scope = scope}, wall_ms);
}

static void are_found_by_hash_and_by_user(void **state) {
    (void)state;
    assert_null(got(1));
    put(1, "ada", METHOD_RUN, 100);
    put(2, "bob", METHOD_READ, 200);
    assert_string_equal(got(1)->key.name, "jwt:ada");
    assert_string_equal(got(1)->key.owner, "ada");
    assert_string_equal(got(2)->key.name, "jwt:bob");
    assert_ptr_equal(found("jwt:ada", "ada", METHOD_RUN, 99), got(1));
    assert_null(found("jwt:ada", "ada", METHOD_RUN, 100)); /* it has expired */
    assert_null(found("jwt:ada", "ada", METHOD_READ, 99));
    assert_null(found("jwt:ada", "bob", METHOD_RUN, 99));
    assert_null(found("jwt:ada", NULL, METHOD_RUN, 99)); /* the operator has no owner */
    assert_null(found("ada", "ada", METHOD_RUN, 99));
    put(3, "ada", METHOD_RUN, 300);
    assert_ptr_equal(found("jwt:ada", "ada", METHOD_RUN, 200), got(3)); /* another token of the same user */
    access_tokens_remove(tokens, got(3));
    access_tokens_remove(tokens, NULL);
    assert_null(got(3));
    assert_ptr_equal(found("jwt:ada", "ada", METHOD_RUN, 99), got(1));
}

static void are_replaced(void **state) {
    (void)state;
    put(1, "ada", METHOD_RUN, 100);
    put(1, "bob", METHOD_READ, 200);
    assert_string_equal(got(1)->key.name, "jwt:bob");
    assert_null(found("jwt:ada", "ada", METHOD_RUN, 0));
}

static void a_user_has_a_limit(void **state) {
    const int most = ACCESS_USER_TOKENS_MAX;
    (void)state;
    put(0, "bob", METHOD_RUN, 100);
    for (int i = 1; i <= most; i++) put(i, "ada", METHOD_RUN, 100);
    assert_non_null(got(1));
    put(2, "ada", METHOD_RUN, 200); /* checked again: it is the newest now */
    put(most + 1, "ada", METHOD_RUN, 100);
    assert_null(got(1));
    assert_non_null(got(2));
    put(most + 2, "ada", METHOD_RUN, 100);
    assert_non_null(got(2));
    assert_null(got(3));
    assert_non_null(got(0)); /* of another user */
}

static void all_have_a_limit(void **state) {
    const int most = ACCESS_TOKENS_MAX;
    char owner[16];
    (void)state;
    for (int i = 0; i <= most + 1; i++) {
        (void)snprintf(owner, sizeof owner, "u%d", i);
        put(i, owner, METHOD_RUN, 100);
    }
    assert_null(got(0));
    assert_null(got(1));
    assert_non_null(got(2));
    assert_non_null(got(most + 1));
    assert_null(found("jwt:u0", "u0", METHOD_RUN, 0));
    assert_ptr_equal(found("jwt:u2", "u2", METHOD_RUN, 0), got(2));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(are_found_by_hash_and_by_user, open_each, close_each),
        cmocka_unit_test_setup_teardown(are_replaced, open_each, close_each),
        cmocka_unit_test_setup_teardown(a_user_has_a_limit, open_each, close_each),
        cmocka_unit_test_setup_teardown(all_have_a_limit, open_each, close_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
