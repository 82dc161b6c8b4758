/*
 * thread_test.c - changes of a state, keys, and a thread's log in the memory store. Each checkpoint can be read as it
 * was committed, wherever the snapshots are; and a replaced writer writes nothing.
 */
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_delta.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_log.h"
#include "host/data/thread/thread_owner.h"
#include "tests/unit/thread_fixture.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void expect(tn_value value, const char *expected) {
    char *text = json_text(value, JSON_COMPACT);
    assert_string_equal(text, expected);
    mem_free(text);
    value_unref(value);
}

/* ---- Changes ---- */

static tn_value channel_delta(tn_value before, tn_value after, bool ephemeral) {
    tn_value name = value_text("c"), delta = delta_channel_take(value_object(), name, before, after, ephemeral);
    value_unref(name);
    return delta;
}

static void test_changes(void **state) {
    (void)state;
    tn_value list = json("[1,2,3]"), longer = value_push_take(value_ref(list), value_text("new"));
    tn_value shorter = value_slice(longer, 0, 2), text = value_text("x");
    expect(channel_delta(list, longer, false), "{\"c\":{\"keep\":3,\"add\":[\"new\"]}}");
    expect(channel_delta(longer, shorter, false), "{\"c\":{\"keep\":2,\"add\":[]}}");
    expect(channel_delta(list, list, false), "{}");
    expect(channel_delta(NULL, list, false), "{\"c\":{\"set\":[1,2,3]}}");
    expect(channel_delta(list, text, false), "{\"c\":{\"set\":\"x\"}}");
    expect(channel_delta(list, text, true), "{\"c\":{\"once\":\"x\"}}");
    tn_value replaced = value_replace_take(value_ref(longer), 1, value_int(9));
    expect(channel_delta(longer, replaced, false), "{\"c\":{\"edit\":[[1,{\"set\":9}]]}}");
    value_unref(replaced);
    value_unref(text);
    value_unref(shorter);
    value_unref(longer);
    value_unref(list);
}

static void test_once(void **state) {
    (void)state;
    tn_value now = value_object(), next = json("{\"a\":{\"set\":1},\"e\":{\"once\":\"brief\"}}");
    assert_int_equal(delta_apply_take(now, next, &now, NULL), TN_OK);
    expect(value_ref(now), "{\"a\":1,\"e\":\"brief\",\"\":[\"e\"]}");
    value_unref(next);
    next = json("{\"a\":{\"set\":2}}");
    assert_int_equal(delta_apply_take(now, next, &now, NULL), TN_OK);
    expect(now, "{\"a\":2}");
    value_unref(next);
}

static void test_broken_changes(void **state) {
    (void)state;
    static const char *const broken[] = {"{\"c\":{\"keep\":3,\"add\":[]}}",
                                         "{\"c\":{\"keep\":-1,\"add\":[]}}",
                                         "{\"c\":{\"add\":[]}}",
                                         "{\"c\":{}}",
                                         "{\"c\":7}",
                                         "{\"c\":{\"keep\":\"1\",\"add\":[]}}",
                                         "{\"other\":{\"keep\":0,\"add\":[1]}}"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        tn_value delta = json(broken[i]), out = NULL;
        struct error error = ERROR_INIT;
        assert_int_equal(delta_apply_take(json("{\"c\":[1,2]}"), delta, &out, &error), TN_INVALID);
        assert_string_equal(error.code, "INVALID_STATE");
        error_finish(&error);
        value_unref(delta);
    }
}

static void test_keys(void **state) {
    (void)state;
    char key[THREAD_KEY_MAX], from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    thread_key(key, "a/b%\n");
    assert_string_equal(key, "a%2Fb%25%0A");
    thread_key_range(from, to, "t", (const char *const[]){"-", "0000000001", NULL});
    assert_string_equal(from, "t/-/0000000001/");
    assert_string_equal(to, "t/-/00000000010");
    assert_true(strcmp(from, "t/-/0000000001/~") < 0 && strcmp("t/-/0000000001/~", to) < 0);
    assert_true(strcmp("t/-/0000000002/0", to) > 0);
    assert_int_equal(thread_check_id("", NULL), TN_INVALID);
    char longest[THREAD_ID_MAX + 2];
    memset(longest, '/', sizeof longest);
    longest[THREAD_ID_MAX + 1] = 0;
    assert_int_equal(thread_check_id(longest, NULL), TN_INVALID);
    longest[THREAD_ID_MAX] = 0;
    assert_int_equal(thread_check_id(longest, NULL), TN_OK);
    thread_key(key, longest);
    assert_int_equal(strlen(key), 3 * THREAD_ID_MAX); /* so that the rest of a key fits */
}

/* ---- The log ---- */

#define CHECKPOINTS 60

/* Reads every state. They are large enough for several snapshots. */
static void test_reads_back(void **state) {
    (void)state;
    struct host *host = open_host();
    tn_value loaded = load(host, "reads/back", THREAD_HEAD), states[CHECKPOINTS];
    struct thread_log *log = thread_log_new(host_store(host, NULL), "reads/back", loaded);
    value_unref(loaded);
    char large[8192];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    tn_value now = value_set_take(value_object(), "list", value_array());
    for (uint32_t i = 0; i < CHECKPOINTS; i++) {
        tn_value list = value_push_take(value_ref(value_get(now, "list")), value_text(large));
        tn_value next = value_set_take(value_ref(now), "list", list);
        next = value_set_take(next, "n", value_int(i));
        struct done done = commit(host, log, i, i ? now : NULL, next);
        if (done.status != TN_OK) fail_msg("checkpoint %u: %s", i, done.code);
        value_unref(now);
        states[i] = value_ref(now = next);
    }
    value_unref(now);
    thread_log_free(log);
    for (uint32_t i = 0; i < CHECKPOINTS; i++) {
        loaded = load(host, "reads/back", i);
        assert_true(value_equal(value_get(value_get(loaded, "saved"), "state"), states[i]));
        value_unref(loaded);
        value_unref(states[i]);
    }
    tn_value page = NULL, query = store_list(STORE_SNAPSHOTS, NULL, NULL, 100);
    assert_int_equal(store_query_wait(host_store(host, NULL), query, &page, NULL), TN_OK);
    size_t snapshots = value_count(value_get(page, "records"));
    if (snapshots < 2 || snapshots > 40) fail_msg("%zu snapshots of %d checkpoints", snapshots, CHECKPOINTS);
    value_unref(page);
    host_free(host);
}

static int64_t count_batches(struct host *host, const char *key) {
    tn_value found = NULL;
    assert_int_equal(store_query_wait(host_store(host, NULL), store_get(STORE_THREADS, key), &found, NULL), TN_OK);
    int64_t version = value_to_int(value_get(found, "version"));
    value_unref(found);
    return version;
}

/* Notes that are held are in one batch; a commit that ends the step needs none. */
static void test_held_notes(void **state) {
    (void)state;
    struct host *host = open_host();
    tn_value loaded = load(host, "held", THREAD_HEAD), one = json("{\"n\":1}"), two = json("{\"n\":2}");
    struct thread_log *log = thread_log_new(host_store(host, NULL), "held", loaded);
    value_unref(loaded);
    assert_int_equal(commit(host, log, 0, NULL, one).status, TN_OK);
    int64_t before = count_batches(host, "held");
    thread_log_hold_notes(log, true);
    for (uint32_t i = 0; i < 3; i++) thread_log_activation_take(log, THREAD_ROOT, 1, i, value_bool(true));
    assert_int_equal(count_batches(host, "held"), before);
    thread_log_hold_notes(log, false);
    assert_int_equal(count_batches(host, "held"), before + 1);
    thread_log_hold_notes(log, true);
    thread_log_activation_take(log, THREAD_ROOT, 1, 3, value_bool(true));
    assert_int_equal(commit(host, log, 1, one, two).status, TN_OK);
    thread_log_hold_notes(log, false);
    assert_int_equal(count_batches(host, "held"), before + 2);
    loaded = load(host, "held", THREAD_HEAD);
    expect(value_ref(value_get(value_get(loaded, "saved"), "state")), "{\"n\":2}");
    value_unref(loaded);
    thread_log_free(log);
    value_unref(one);
    value_unref(two);
    host_free(host);
}

static void test_fence(void **state) {
    (void)state;
    struct host *host = open_host();
    tn_value loaded = load(host, "fence", THREAD_HEAD), one = json("{\"n\":1}"), two = json("{\"n\":2}");
    struct thread_log *first = thread_log_new(host_store(host, NULL), "fence", loaded);
    struct thread_log *rival = thread_log_new(host_store(host, NULL), "fence", loaded);
    value_unref(loaded);
    assert_int_equal(commit(host, first, 0, NULL, one).status, TN_OK);
    assert_string_equal(commit(host, rival, 0, NULL, two).code, "FENCED"); /* both tried to create it */
    loaded = load(host, "fence", THREAD_HEAD);
    struct thread_log *second = thread_log_new(host_store(host, NULL), "fence", loaded);
    value_unref(loaded);
    assert_int_equal(commit(host, first, 1, one, two).status, TN_OK);      /* still the only writer */
    assert_string_equal(commit(host, second, 2, two, one).code, "FENCED"); /* it loaded an older version */
    loaded = load(host, "fence", THREAD_HEAD);
    struct thread_log *third = thread_log_new(host_store(host, NULL), "fence", loaded);
    value_unref(loaded);
    assert_int_equal(commit(host, third, 2, two, one).status, TN_OK);
    assert_string_equal(commit(host, first, 2, two, two).code, "FENCED");
    /* Notes of a replaced writer change nothing, and its next commit fails. */
    thread_log_activation_take(first, THREAD_ROOT, 3, 0, value_bool(true));
    assert_string_equal(commit(host, first, 3, two, two).code, "FENCED");
    loaded = load(host, "fence", THREAD_HEAD);
    expect(value_ref(value_get(value_get(loaded, "saved"), "state")), "{\"n\":1}");
    assert_null(value_get(value_get(loaded, "saved"), "in_step"));
    value_unref(loaded);
    thread_log_free(first);
    thread_log_free(rival);
    thread_log_free(second);
    thread_log_free(third);
    value_unref(one);
    value_unref(two);
    host_free(host);
}

/* A writer takes a thread over only if it has read all of it: a note of the previous writer does not change the
 * position, but a run that does not know it would make the call again. */
static void test_takes_over_what_it_read(void **state) {
    (void)state;
    struct host *host = open_host();
    tn_value loaded = load(host, "notes", THREAD_HEAD), one = json("{\"n\":1}"), two = json("{\"n\":2}");
    struct thread_log *first = thread_log_new(host_store(host, NULL), "notes", loaded);
    value_unref(loaded);
    assert_int_equal(commit(host, first, 0, NULL, one).status, TN_OK);
    for (int kind = 0; kind < 3; kind++) {
        loaded = load(host, "notes", THREAD_HEAD);
        struct thread_log *second = thread_log_new(host_store(host, NULL), "notes", loaded);
        value_unref(loaded);
        if (kind == 0) thread_log_activation_take(first, THREAD_ROOT, 1, 0, value_object());
        if (kind == 1) thread_log_call_take(first, THREAD_ROOT, 1, 1, 0, "0", value_object());
        if (kind == 2) { /* a commit of a nested run */
            struct done done = {false, 0, ""};
            thread_log_commit(first, (struct thread_commit){.scope = "1", .checkpoint = json("{\"delta\":{}}")},
                              on_done, &done);
            loop_run(host_loop(host), is_done, &done);
            assert_int_equal(done.status, TN_OK);
        }
        assert_string_equal(commit(host, second, 1, one, two).code, "FENCED");
        thread_log_free(second);
    }
    loaded = load(host, "notes", THREAD_HEAD);
    struct thread_log *second = thread_log_new(host_store(host, NULL), "notes", loaded);
    assert_non_null(value_get(value_get(value_get(loaded, "saved"), "tasks"), "1"));
    value_unref(loaded);
    assert_int_equal(commit(host, second, 1, one, two).status, TN_OK);
    thread_log_free(second);
    thread_log_free(first);
    value_unref(one);
    value_unref(two);
    host_free(host);
}

/* A thread that was deleted and created again may have the same version, but it is another thread. */
static void test_created_again(void **state) {
    (void)state;
    struct host *host = open_host();
    struct error error = ERROR_INIT;
    tn_value loaded = load(host, "again", THREAD_HEAD), one = json("{\"n\":1}");
    struct thread_log *first = thread_log_new(host_store(host, NULL), "again", loaded);
    assert_int_equal(commit(host, first, 0, NULL, one).status, TN_OK);
    tn_value before = load(host, "again", THREAD_HEAD);
    assert_int_equal(thread_delete_wait(host_store(host, NULL), "again", false, &error), TN_OK);
    struct thread_log *other = thread_log_new(host_store(host, NULL), "again", loaded);
    assert_int_equal(commit(host, other, 0, NULL, one).status, TN_OK);
    struct thread_log *late = thread_log_new(host_store(host, NULL), "again", before);
    assert_string_equal(commit(host, late, 1, one, one).code, "FENCED");
    thread_log_free(late);
    thread_log_free(other);
    thread_log_free(first);
    value_unref(before);
    value_unref(loaded);
    value_unref(one);
    host_free(host);
}

/* A store that cannot be opened: every request fails, and nothing hangs. */
static void test_no_store(void **state) {
    (void)state;
    struct host *host = open_host();
    struct error error = ERROR_INIT;
    tn_value options = json("{\"use\":\"nothing\"}");
    assert_null(store_open(&(const struct store_from){host_loop(host), host_registry(host), host_config(host)}, options,
                           &error));
    assert_string_equal(error.code, "STORE_NOT_FOUND");
    assert_non_null(strstr(error.message, "tenon.memory"));
    value_unref(options);
    options = json("{\"use\":\"memory\",\"colour\":\"red\"}");
    struct store *store = store_open(
        &(const struct store_from){host_loop(host), host_registry(host), host_config(host)}, options, &error);
    assert_non_null(store);
    for (int i = 0; i < 2; i++) {
        error_finish(&error);
        assert_int_not_equal(store_query_wait(store, store_get("c", "k"), NULL, &error), TN_OK);
        assert_non_null(strstr(error.message, "colour"));
    }
    /* Submitted requests are reported before the store is closed. */
    struct done done = {false, 0, ""};
    store_query_take(store, store_get("c", "k"), on_done, &done);
    store_close(store);
    assert_true(done.over);
    error_finish(&error);
    value_unref(options);
    host_free(host);
}

/* A writer is seen by others as long as it lives, also by one that has another store with the same file. */
static void test_owner(void **state) {
    (void)state;
    char path[] = "/tmp/thread_test-XXXXXX", locks[64];
    int file = mkstemp(path); /* the store's file, which a store in memory does not write */
    assert_true(file >= 0);
    close(file);
    struct error error = ERROR_INIT;
    struct host *host = open_host();
    tn_value options = value_set_take(json("{\"use\":\"memory\"}"), "path", value_text(path));
    struct store_from from = {host_loop(host), host_registry(host), host_config(host)};
    struct store *store = store_open(&from, options, &error), *other = store_open(&from, options, &error);
    tn_value loaded = json("{\"record\":{\"fence\":5,\"status\":\"running\"},\"version\":3}");
    struct thread_log *log = thread_log_new(store, "owned", loaded);
    struct thread_log *rival = thread_log_new(other, "owned", loaded);
    assert_true(thread_log_own(log, false)); /* it will have the fence 6 */
    assert_true(thread_owner_lives(other, "owned", 6));
    assert_false(thread_owner_lives(other, "owned", 5));
    assert_false(thread_owner_lives(other, "another", 6));
    assert_false(thread_log_own(rival, false));
    assert_true(thread_log_own(rival, true)); /* with the fence 7 */
    assert_true(thread_owner_lives(store, "owned", 7));
    thread_log_free(log);
    assert_false(thread_owner_lives(other, "owned", 6));
    thread_log_free(rival);
    assert_false(thread_owner_lives(other, "owned", 7));
    /* Without a file, no writer is found, and none is refused. */
    snprintf(locks, sizeof locks, "%s-owners", path);
    assert_int_equal(unlink(locks), 0);
    assert_int_equal(unlink(path), 0);
    log = thread_log_new(store, "owned", loaded);
    assert_true(thread_log_own(log, false));
    assert_false(thread_owner_lives(other, "owned", 6));
    thread_log_free(log);
    store_close(store);
    store_close(other);
    value_unref(loaded);
    value_unref(options);
    host_free(host);
}

static size_t open_descriptors(void) {
    size_t count = 0;
    for (int i = 0; i < 1000; i++) count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* Many threads that run at once need one descriptor for their locks. */
static void test_owners_share(void **state) {
    (void)state;
    char path[] = "/tmp/thread_test-XXXXXX", name[64];
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    struct error error = ERROR_INIT;
    struct host *host = open_host();
    tn_value options = value_set_take(json("{\"use\":\"memory\"}"), "path", value_text(path));
    struct store_from from = {host_loop(host), host_registry(host), host_config(host)};
    struct store *store = store_open(&from, options, &error);
    struct owner_lock *locks[200];
    size_t before = open_descriptors();
    bool taken;
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "t%d", i);
        locks[i] = thread_owner_lock(store, name, 1, &taken);
        assert_non_null(locks[i]);
    }
    assert_int_equal(open_descriptors(), before + 1);
    for (int i = 0; i < 200; i += 2) thread_owner_unlock(locks[i]);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "t%d", i);
        assert_int_equal(thread_owner_lives(store, name, 1), i % 2);
        assert_null(i % 2 ? thread_owner_lock(store, name, 1, &taken) : NULL);
    }
    assert_true(taken);
    for (int i = 1; i < 200; i += 2) thread_owner_unlock(locks[i]);
    assert_int_equal(open_descriptors(), before);
    snprintf(name, sizeof name, "%s-owners", path);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(unlink(path), 0);
    store_close(store);
    value_unref(options);
    host_free(host);
}

static int32_t check_remote(struct session *session, void *user, tn_value *result, struct error *error) {
    (void)result;
    return thread_owner_check_remote(session, "far", *(tn_value *)user, error);
}

static int32_t add_host(struct session *session, void *user, tn_value *result, struct error *error) {
    return session_commit_take(session, value_push_take(value_array(), value_ref(*(tn_value *)user)), result, error);
}

static void appears(struct store *store, const char *key, const char *text) {
    tn_value put = store_put("hosts", key, json(text)), result = NULL;
    assert_int_equal(store_perform_wait(store, add_host, &put, &result, NULL), TN_OK);
    value_unref(result);
    value_unref(put);
}

/* A writer on another machine lives as long as its record in `hosts`. */
static void test_owner_on_another_machine(void **state) {
    (void)state;
    struct host *host = open_host();
    struct store *store = host_store(host, NULL);
    struct error error = ERROR_INIT;
    tn_value record = json("{\"status\":\"running\",\"owner\":{\"pid\":7,\"start\":1,\"host\":\"elsewhere.invalid\"}}");
    tn_value done = json("{\"status\":\"done\",\"owner\":{\"pid\":7,\"start\":1,\"host\":\"elsewhere.invalid\"}}");
    assert_int_equal(store_perform_wait(store, check_remote, &record, NULL, &error), TN_OK);
    appears(store, "a", "{\"host\":\"elsewhere.invalid\",\"pid\":8}");
    appears(store, "b", "{\"host\":\"other.invalid\",\"pid\":7}");
    assert_int_equal(store_perform_wait(store, check_remote, &record, NULL, &error), TN_OK);
    appears(store, "c", "{\"host\":\"elsewhere.invalid\",\"pid\":7}");
    assert_int_equal(store_perform_wait(store, check_remote, &done, NULL, &error), TN_OK);
    assert_int_equal(store_perform_wait(store, check_remote, &record, NULL, &error), TN_INVALID);
    assert_string_equal(error.code, "OWNED");
    assert_non_null(strstr(error.message, "process 7 on elsewhere.invalid"));
    error_finish(&error);
    value_unref(done);
    value_unref(record);
    host_free(host);
}

static void test_owner_text(void **state) {
    (void)state;
    char text[THREAD_OWNER_TEXT], expected[THREAD_OWNER_TEXT];
    tn_value own = thread_owner_describe(), far = json("{\"pid\":7,\"host\":\"no such host\"}");
    snprintf(expected, sizeof expected, "process %d", (int)getpid());
    thread_owner_text(own, text);
    assert_string_equal(text, expected);
    thread_owner_text(far, text);
    assert_string_equal(text, "process 7 on no such host");
    thread_owner_text(NULL, text);
    assert_string_equal(text, "another process");
    value_unref(own);
    value_unref(far);
}

/*
 * The result of an activation is noted, and its step ends before the note is written: the checkpoint has the same large
 * value, whose chunks the dropped note would have written.
 */
static void test_dropped_note(void **state) {
    (void)state;
    struct host *host = open_host();
    tn_value loaded = load(host, "dropped", THREAD_HEAD), before = json("{\"n\":1}");
    struct thread_log *log = thread_log_new(host_store(host, NULL), "dropped", loaded);
    value_unref(loaded);
    assert_int_equal(commit(host, log, 0, NULL, before).status, TN_OK);
    char *large = mem_alloc(3000001);
    memset(large, 'x', 3000000);
    large[3000000] = 0;
    tn_value text = value_text(large), after = value_set_take(value_object(), "n", value_ref(text));
    mem_free(large);
    tn_value done = value_set_take(value_object(), "done", value_ref(text));
    thread_log_activation_take(log, THREAD_ROOT, 1, 0, value_object()); /* is being written while the others wait */
    thread_log_activation_take(log, THREAD_ROOT, 1, 1, done);
    assert_int_equal(commit(host, log, 1, before, after).status, TN_OK);
    loaded = load(host, "dropped", THREAD_HEAD);
    assert_true(value_identical(value_get(value_get(value_get(loaded, "saved"), "state"), "n"), text));
    thread_log_free(log);
    value_unref(loaded);
    value_unref(text);
    value_unref(after);
    value_unref(before);
    host_free(host);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes),
                                       cmocka_unit_test(test_once),
                                       cmocka_unit_test(test_broken_changes),
                                       cmocka_unit_test(test_keys),
                                       cmocka_unit_test(test_reads_back),
                                       cmocka_unit_test(test_fence),
                                       cmocka_unit_test(test_takes_over_what_it_read),
                                       cmocka_unit_test(test_created_again),
                                       cmocka_unit_test(test_dropped_note),
                                       cmocka_unit_test(test_owner),
                                       cmocka_unit_test(test_owners_share),
                                       cmocka_unit_test(test_owner_on_another_machine),
                                       cmocka_unit_test(test_held_notes),
                                       cmocka_unit_test(test_owner_text),
                                       cmocka_unit_test(test_no_store)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
