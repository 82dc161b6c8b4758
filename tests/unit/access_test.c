/*
 * access_test.c - keys: the form of their texts, their records in a store, and the keys that a server knows while
 * another process creates and revokes them.
 */
#include "tests/unit/server_fixture.h"

#include "adl/value/json.h"
#include "host/base/time_text.h"
#include "host/data/access/access_keys.h"
#include "host/data/access/access_secret.h"
#include "host/data/store/store_collections.h"
#include "host/server/web/access.h"

#define STORE_YAML "store: memory\nplugins: {path: \"" TENON_STORE_PLUGINS "/memory.so\"}\n"

/* ---- Texts ---- */

static void texts_have_a_form(void **state) {
    (void)state;
    char secret[ACCESS_SECRET_TEXT], other[ACCESS_SECRET_TEXT];
    access_secret_make(secret);
    access_secret_make(other);
    assert_string_not_equal(secret, other);
    assert_int_equal(strlen(secret), ACCESS_SECRET_LENGTH);
    assert_memory_equal(secret, "tn_", 3);
    assert_int_equal(strspn(secret + 3, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
                     ACCESS_SECRET_LENGTH - 3);
    assert_true(access_secret_is_formed(secret, ACCESS_SECRET_LENGTH));
    assert_false(access_secret_is_formed(secret, ACCESS_SECRET_LENGTH - 1));
    /* Any other character is noticed: the first three must be the prefix, and the last six depend on all before. */
    for (size_t i = 0; i < ACCESS_SECRET_LENGTH; i++) {
        char wrong[ACCESS_SECRET_TEXT];
        memcpy(wrong, secret, sizeof wrong);
        wrong[i] = wrong[i] == 'A' ? 'B' : 'A';
        assert_false(access_secret_is_formed(wrong, ACCESS_SECRET_LENGTH));
    }
}

static void hashes_are_written_and_read(void **state) {
    (void)state;
    unsigned char hash[ACCESS_HASH_BYTES], read[ACCESS_HASH_BYTES];
    char text[ACCESS_HASH_TEXT];
    access_secret_hash("abc", 3, hash); /* FIPS 180-4 */
    access_hash_write(hash, text);
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(access_hash_read(text, 64, read));
    assert_memory_equal(read, hash, sizeof hash);
    assert_false(access_hash_read(text, 63, read));
    text[10] = 'A';
    assert_false(access_hash_read(text, 64, read));
}

static void names_have_a_form(void **state) {
    (void)state;
    static const char *const good[] = {"a", "0", "alice", "a.b-c_1", "abcdefghijklmnopqrstuvwxyz012345"};
    static const char *const bad[] = {
        "", "-a", ".a", "_a", "A", "a b", "a:b", "@a", "a/b", "ä", "abcdefghijklmnopqrstuvwxyz0123456"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(access_name_is_valid(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(access_name_is_valid(bad[i], strlen(bad[i])));
    assert_false(access_name_is_valid("a\0b", 3));
}

/* ---- Records ---- */

static struct store *store_of(const struct served *served) {
    struct error error = ERROR_INIT;
    struct store *store = host_store(served->host, &error);
    if (!store) fail_msg("%s", error.message);
    return store;
}

/* The text of a new key; free it. */
static char *created(struct served *served, const char *params) {
    tn_value result = served_result_take(served, "key/create", served_json(params));
    char *secret = mem_text(value_chars(value_get(result, "secret"), NULL));
    assert_true(access_secret_is_formed(secret, strlen(secret)));
    value_unref(result);
    return secret;
}

static void put_record_take(struct served *served, const char *name, tn_value record) {
    struct store_wait wait = {.done = false};
    struct error error = ERROR_INIT;
    tn_value batch = value_push_take(value_array(), store_put(STORE_KEYS, name, record));
    store_commit_take(store_of(served), batch, store_wait_done, &wait);
    if (store_wait_end(&wait, host_loop(served->host), NULL, &error) != TN_OK) fail_msg("%s", error.message);
}

static tn_value record_of(struct served *served, const char *name) {
    struct error error = ERROR_INIT;
    tn_value found = NULL;
    if (store_query_wait(store_of(served), store_get(STORE_KEYS, name), &found, &error) != TN_OK)
        fail_msg("%s", error.message);
    return found;
}

static void keys_are_created_listed_and_revoked(void **state) {
    struct served served;
    (void)state;
    served_open_with(&served, METHOD_ADMIN, STORE_YAML);
    loop_fake_clock(host_loop(served.host));
    served_expect(&served, "key/list", "{}", "{\"keys\":[]}");
    char *secret = created(&served, "{\"name\":\"bob\",\"limits\":{\"runs\":2}}");
    mem_free(created(&served, "{\"name\":\"alice\",\"owner\":\"team\",\"scope\":\"read\",\"expires_days\":1}"));
    mem_free(created(&served, "{\"name\":\"root\",\"scope\":\"admin\"}"));
    served_expect(&served, "key/list", "{}",
                  "{\"keys\":["
                  "{\"name\":\"alice\",\"scope\":\"read\",\"owner\":\"team\",\"limits\":{},"
                  "\"created_at\":\"2026-01-01T00:00:00.000Z\",\"expires_at\":\"2026-01-02T00:00:00.000Z\","
                  "\"revoked_at\":null,\"state\":\"active\"},"
                  "{\"name\":\"bob\",\"scope\":\"run\",\"owner\":\"bob\",\"limits\":{\"runs\":2},"
                  "\"created_at\":\"2026-01-01T00:00:00.000Z\",\"expires_at\":null,\"revoked_at\":null,"
                  "\"state\":\"active\"},"
                  "{\"name\":\"root\",\"scope\":\"admin\",\"owner\":null,\"limits\":{},"
                  "\"created_at\":\"2026-01-01T00:00:00.000Z\",\"expires_at\":null,\"revoked_at\":null,"
                  "\"state\":\"active\"}]}");
    /* The record has the hash of the text, and nothing else of it. */
    tn_value record = record_of(&served, "bob");
    char *json = json_text(record, JSON_COMPACT), hash[ACCESS_HASH_TEXT];
    unsigned char bytes[ACCESS_HASH_BYTES];
    access_secret_hash(secret, strlen(secret), bytes);
    access_hash_write(bytes, hash);
    assert_non_null(strstr(json, hash));
    assert_null(strstr(json, secret + 3));
    mem_free(json);
    value_unref(record);
    mem_free(secret);
    /* A name is taken until long after its key has ended. */
    served_expect_error(&served, "key/create", "{\"name\":\"bob\"}", "EXISTS", "there is a key `bob` already");
    loop_fake_advance(host_loop(served.host), 86400000);
    served_expect_error(&served, "key/create", "{\"name\":\"alice\"}", "EXISTS", "a key that is expired");
    tn_value revoked = served_result_take(&served, "key/revoke", served_json("{\"name\":\"bob\"}"));
    assert_true(value_text_is(value_get(revoked, "state"), "revoked"));
    assert_true(value_text_is(value_get(revoked, "revoked_at"), "2026-01-02T00:00:00.000Z"));
    loop_fake_advance(host_loop(served.host), 1000);
    tn_value again = served_result_take(&served, "key/revoke", served_json("{\"name\":\"bob\"}"));
    assert_true(value_equal(revoked, again));
    value_unref(revoked);
    value_unref(again);
    served_expect_error(&served, "key/create", "{\"name\":\"bob\"}", "EXISTS", "a key that is revoked");
    loop_fake_advance(host_loop(served.host), ACCESS_KEPT_DAYS * INT64_C(86400000));
    mem_free(created(&served, "{\"name\":\"bob\"}"));
    mem_free(created(&served, "{\"name\":\"alice\"}"));
    served_close(&served);
}

static void wrong_keys_are_refused(void **state) {
    static const struct {
        const char *params, *code, *message;
    } cases[] = {
        {"{\"name\":\"Bob\"}", "INVALID_INPUT", "`name`: found `Bob`, expected 1 to 32 characters"},
        {"{\"name\":\"generated\"}", "INVALID_INPUT", "is the key of a server without keys"},
        {"{\"name\":\"a\",\"owner\":\"a:b\"}", "INVALID_INPUT", "`owner`: found `a:b`"},
        {"{\"name\":\"a\",\"scope\":\"all\"}", "INVALID_INPUT", "at /scope"},
        {"{\"name\":\"a\",\"expires_days\":0}", "INVALID_INPUT", "at /expires_days"},
        {"{\"name\":\"a\",\"expires_days\":3651}", "INVALID_INPUT", "at /expires_days"},
        {"{\"name\":\"a\",\"limits\":{\"run\":1}}", "INVALID_INPUT", "at /limits"},
        {"{\"name\":\"a\",\"limits\":{\"cost_per_day\":-1}}", "INVALID_INPUT", "at /limits/cost_per_day"},
        {"{}", "INVALID_INPUT", "`name`"},
    };
    struct served served;
    (void)state;
    served_open_with(&served, METHOD_ADMIN, STORE_YAML);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        served_expect_error(&served, "key/create", cases[i].params, cases[i].code, cases[i].message);
    served_expect_error(&served, "key/revoke", "{\"name\":\"a\"}", "NOT_FOUND", "the store has no key `a`");
    served_expect_error(&served, "key/revoke", "{\"name\":\"@changes\"}", "NOT_FOUND", "no key");
    served_expect(&served, "key/list", "{}", "{\"keys\":[]}");
    served_close(&served);
}

/* Other scopes must not create keys with more rights. */
static void only_administrators_have_keys(void **state) {
    static const char *const methods[][2] = {
        {"key/create", "{\"name\":\"a\"}"}, {"key/list", "{}"}, {"key/revoke", "{\"name\":\"a\"}"}};
    struct served served;
    (void)state;
    served_open_with(&served, METHOD_RUN, STORE_YAML);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        served_expect_error(&served, methods[i][0], methods[i][1], "PERMISSION_DENIED", "admin");
    served_close(&served);
}

static void keys_are_limited(void **state) {
    struct served served;
    (void)state;
    served_open_with(&served, METHOD_ADMIN, STORE_YAML);
    tn_value batch = value_array();
    for (int i = 0; i < ACCESS_KEYS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        batch = value_push_take(batch, store_put(STORE_KEYS, name, value_object()));
    }
    struct store_wait wait = {.done = false};
    store_commit_take(store_of(&served), batch, store_wait_done, &wait);
    assert_int_equal(store_wait_end(&wait, host_loop(served.host), NULL, NULL), TN_OK);
    mem_free(created(&served, "{\"name\":\"one\"}")); /* the record about changes did not exist */
    served_expect_error(&served, "key/create", "{\"name\":\"more\"}", "LIMIT", "the store has 10000 keys");
    served_close(&served);
}

/* ---- What a server knows ---- */

struct access_watch {
    struct access *access;
    struct loop *loop;
    const char *name;
    bool wanted; /* that the key exists */
    int64_t until_ms;
};

static bool watch_is_over(void *user) {
    const struct access_watch *watch = user;
    return (access_find(watch->access, watch->name) != NULL) == watch->wanted ||
           loop_now_ms(watch->loop) > watch->until_ms;
}

/* Waits at most for two polls until the key is known, or is not known. */
static void expect_key(const struct served *served, struct access *access, const char *name, bool wanted) {
    struct loop *loop = host_loop(served->host);
    struct access_watch watch = {access, loop, name, wanted, loop_now_ms(loop) + 2 * ACCESS_POLL_MS};
    (void)loop_run(loop, watch_is_over, &watch);
    assert_int_equal(access_find(access, name) != NULL, wanted);
}

static struct access *access_of(const struct served *served, char **generated) {
    struct error error = ERROR_INIT;
    struct access *access = access_new(served->server, generated, &error);
    if (!access) fail_msg("%s", error.message);
    return access;
}

static const struct access_key *checked(const struct access *access, const char *text) {
    return access_check(access, text, strlen(text));
}

static void changes_are_noticed(void **state) {
    struct served served;
    char *generated = (char *)1;
    (void)state;
    served_open_with(&served, METHOD_ADMIN,
                     STORE_YAML "serve: {limits: {runs: 5, requests_per_minute: 60, open_requests: 7}}\n");
    loop_fake_clock(host_loop(served.host));
    char *first = created(&served, "{\"name\":\"first\",\"limits\":{\"runs\":2,\"cost_per_day\":0.5}}");
    struct access *access = access_of(&served, &generated);
    assert_null(generated);
    assert_false(access_is_empty(access));
    const struct access_key *key = checked(access, first);
    assert_non_null(key);
    assert_string_equal(key->name, "first");
    assert_string_equal(key->owner, "first");
    assert_int_equal(key->scope, METHOD_RUN);
    char *limits = json_text(key->limits, JSON_COMPACT);
    assert_string_equal(limits, "{\"requests_per_minute\":60,\"runs\":2,\"cost_per_day\":0.5}");
    mem_free(limits);
    /* Another process creates keys: those that exist keep their address. */
    char *second = created(&served, "{\"name\":\"second\",\"scope\":\"admin\"}");
    char *third = created(&served, "{\"name\":\"third\",\"owner\":\"first\",\"expires_days\":1}");
    assert_null(checked(access, second));
    expect_key(&served, access, "third", true);
    assert_ptr_equal(checked(access, first), key);
    assert_null(checked(access, second)->owner);
    assert_string_equal(checked(access, third)->owner, "first");
    assert_ptr_equal(access_find(access, "first"), key);
    /* Texts that are almost the key's. */
    assert_null(access_check(access, first, strlen(first) - 1));
    assert_null(access_check(access, "", 0));
    first[20] ^= 1;
    assert_null(checked(access, first));
    first[20] ^= 1;
    /* Revoked, and expired. */
    value_unref(served_result_take(&served, "key/revoke", served_json("{\"name\":\"first\"}")));
    assert_non_null(checked(access, first));
    expect_key(&served, access, "first", false);
    assert_null(checked(access, first));
    assert_non_null(checked(access, third));
    loop_fake_move_wall(host_loop(served.host), 86400000);
    assert_null(checked(access, third));
    assert_null(access_find(access, "third"));
    assert_non_null(checked(access, second));
    access_free(access);
    mem_free(first);
    mem_free(second);
    mem_free(third);
    served_close(&served);
}

static void a_host_without_keys_generates_one(void **state) {
    struct served served;
    char *text = NULL;
    (void)state;
    served_open_with(&served, METHOD_ADMIN, STORE_YAML);
    loop_fake_clock(host_loop(served.host));
    struct access *access = access_of(&served, NULL);
    assert_true(access_is_empty(access));
    access_free(access);
    access = access_of(&served, &text);
    assert_non_null(text);
    assert_true(access_secret_is_formed(text, strlen(text)));
    const struct access_key *key = checked(access, text);
    assert_string_equal(key->name, ACCESS_GENERATED);
    assert_string_equal(key->owner, ACCESS_GENERATED_OWNER);
    assert_int_equal(key->scope, METHOD_RUN);
    /* It stays when the store gets keys, and is not in the store. */
    mem_free(created(&served, "{\"name\":\"a\"}"));
    expect_key(&served, access, "a", true);
    assert_ptr_equal(checked(access, text), key);
    value_unref(served_result_take(&served, "key/revoke", served_json("{\"name\":\"a\"}")));
    expect_key(&served, access, "a", false);
    assert_ptr_equal(checked(access, text), key);
    access_free(access);
    /* All keys are revoked. */
    char *other = NULL;
    access = access_of(&served, &other);
    assert_non_null(other);
    assert_null(checked(access, text));
    access_free(access);
    mem_free(text);
    mem_free(other);
    served_close(&served);
}

#define MORE "\"limits\":{},\"created_at\":\"2026-01-01T00:00:00.000Z\","

/* Records that this host has not written: none of them may give more rights, or two of them be freed twice. */
static void strange_records_are_left_out(void **state) {
    static const char *const records[][2] = {
        {"no-hash", "{" MORE "\"scope\":\"run\",\"owner\":\"a\"}"},
        {"short", "{" MORE "\"hash\":\"ab\",\"scope\":\"run\",\"owner\":\"a\"}"},
        {"ownerless", "{" MORE "\"hash\":\"HASH\",\"scope\":\"run\",\"owner\":null}"},
        {"odd-owner", "{" MORE "\"hash\":\"HASH\",\"scope\":\"admin\",\"owner\":\"@x\"}"},
        {"odd-scope", "{" MORE "\"hash\":\"HASH\",\"scope\":\"root\",\"owner\":\"a\"}"},
        {"odd-end", "{" MORE "\"hash\":\"HASH\",\"scope\":\"run\",\"owner\":\"a\",\"expires_at\":\"soon\"}"},
        {"Upper", "{" MORE "\"hash\":\"HASH\",\"scope\":\"run\",\"owner\":\"a\"}"},
        {"number", "5"},
    };
    struct served served;
    unsigned char bytes[ACCESS_HASH_BYTES];
    char hash[ACCESS_HASH_TEXT];
    (void)state;
    served_open_with(&served, METHOD_ADMIN, STORE_YAML);
    loop_fake_clock(host_loop(served.host));
    access_secret_hash("x", 1, bytes);
    access_hash_write(bytes, hash);
    struct access *access = access_of(&served, NULL);
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        tn_value record = served_json(records[i][1]);
        if (value_text_is(value_get(record, "hash"), "HASH")) record = value_set_take(record, "hash", value_text(hash));
        put_record_take(&served, records[i][0], record);
    }
    mem_free(created(&served, "{\"name\":\"good\"}"));
    expect_key(&served, access, "good", true);
    assert_null(access_check(access, "x", 1));
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) assert_null(access_find(access, records[i][0]));
    /* Two records with one hash. */
    for (int round = 0; round < 3; round++) {
        tn_value twin =
            value_set_take(served_json("{" MORE "\"scope\":\"run\",\"owner\":\"a\"}"), "hash", value_text(hash));
        put_record_take(&served, round == 1 ? "twin-1" : "twin-2", twin);
        char name[32], params[48];
        snprintf(name, sizeof name, "next-%d", round);
        snprintf(params, sizeof params, "{\"name\":\"%s\"}", name);
        mem_free(created(&served, params));
        expect_key(&served, access, name, true);
        assert_string_equal(access_check(access, "x", 1)->owner, "a");
    }
    access_free(access);
    value_unref(served_result_take(&served, "key/list", served_json("{}")));
    served_close(&served);
}

static void many_keys_are_found(void **state) {
    enum { KEYS = 200 };
    struct served served;
    char *texts[KEYS];
    (void)state;
    served_open_with(&served, METHOD_ADMIN, STORE_YAML);
    for (int i = 0; i < KEYS; i++) {
        char params[48];
        snprintf(params, sizeof params, "{\"name\":\"k%d\"}", i);
        texts[i] = created(&served, params);
    }
    struct access *access = access_of(&served, NULL);
    for (int i = 0; i < KEYS; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        assert_string_equal(checked(access, texts[i])->name, name);
        assert_ptr_equal(access_find(access, name), checked(access, texts[i]));
        mem_free(texts[i]);
    }
    access_free(access);
    served_close(&served);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_have_a_form),
        cmocka_unit_test(hashes_are_written_and_read),
        cmocka_unit_test(names_have_a_form),
        cmocka_unit_test(keys_are_created_listed_and_revoked),
        cmocka_unit_test(wrong_keys_are_refused),
        cmocka_unit_test(only_administrators_have_keys),
        cmocka_unit_test(keys_are_limited),
        cmocka_unit_test(changes_are_noticed),
        cmocka_unit_test(a_host_without_keys_generates_one),
        cmocka_unit_test(strange_records_are_left_out),
        cmocka_unit_test(many_keys_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
