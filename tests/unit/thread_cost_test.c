/*
 * thread_cost_test.c - the bytes that a thread's log writes follow the bytes that change, whatever a step changes;
 * every state can be read afterwards; and old checkpoints can be removed while the thread continues.
 *
 * All checkpoints are kept, so the records of a thread are what was written. They are counted as JSON, without the main
 * record, and without what a store adds to each. THREAD_COST_TIMES=3 takes three times as many steps.
 */
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_admin.h"
#include "tests/unit/thread_fixture.h"

#define TEXT 400 /* bytes of a message */

static const char *const collections[] = {STORE_CHECKPOINTS, STORE_SNAPSHOTS, STORE_CHUNKS};

struct counted {
    size_t bytes, records;
};

static int32_t count_record(void *user, const char *key, tn_value value, struct error *error) {
    struct counted *counted = user;
    (void)key, (void)error;
    char *text = json_text(value, JSON_COMPACT);
    counted->bytes += strlen(text);
    counted->records++;
    mem_free(text);
    return TN_OK;
}

static int32_t count_records(struct session *session, void *user, tn_value *result, struct error *error) {
    (void)result;
    for (size_t i = 0; i < 3; i++)
        (void)session_each(session, collections[i], NULL, NULL, count_record, (struct counted *)user + i, error);
    return TN_OK;
}

static size_t bytes_of(struct host *host, struct counted counted[3]) {
    memset(counted, 0, 3 * sizeof *counted);
    store_perform_wait(host_store(host, NULL), count_records, counted, NULL, NULL);
    return counted[0].bytes + counted[1].bytes + counted[2].bytes;
}

/* ---- What a step changes ---- */

static tn_value message(uint32_t number) {
    char text[TEXT + 1];
    snprintf(text, sizeof text, "%u ", number);
    memset(text + strlen(text), 'a' + (int)(number % 26), sizeof text - 1 - strlen(text));
    text[TEXT] = 0;
    tn_value made = value_set_take(value_object(), "id", value_format("m-%u", number));
    return value_set_take(made, "content", value_text(text));
}

static tn_value messages(uint32_t count) {
    tn_value list = value_array();
    for (uint32_t i = 0; i < count; i++) list = value_push_take(list, message(i));
    return list;
}

static tn_value wide(uint32_t count) {
    tn_value object = value_object();
    for (uint32_t i = 0; i < count; i++) {
        char key[24];
        snprintf(key, sizeof key, "member%u", i);
        object = value_set_take(object, key, message(i));
    }
    return object;
}

static tn_value edit(tn_value list, size_t at, uint32_t step) {
    return value_replace_take(list, at, message(step + 100000));
}

static tn_value append(tn_value list, uint32_t step) { return value_push_take(list, message(step)); }
static tn_value edit_head(tn_value list, uint32_t step) { return edit(list, 0, step); }
static tn_value edit_middle(tn_value list, uint32_t step) { return edit(list, value_count(list) / 2, step); }
static tn_value edit_end(tn_value list, uint32_t step) { return edit(list, value_count(list) - 1, step); }
static tn_value edit_anywhere(tn_value list, uint32_t step) {
    return edit(list, step * 7919 % value_count(list), step);
}
static tn_value summary(tn_value list, uint32_t step) { return value_push_take(edit_head(list, step), message(step)); }

static tn_value set_member(tn_value object, uint32_t step) {
    char key[24];
    snprintf(key, sizeof key, "member%u", step * 7919 % (uint32_t)value_count(object));
    return value_set_take(object, key, message(step + 100000));
}

static tn_value add_member(tn_value object, uint32_t step) {
    char key[24];
    snprintf(key, sizeof key, "new%u", step);
    return value_set_take(object, key, message(step));
}

static tn_value grow_text(tn_value text, uint32_t step) {
    tn_value more = message(step);
    tn_value grown = value_format("%s%s", value_chars(text, NULL), value_chars(value_get(more, "content"), NULL));
    value_unref(more);
    value_unref(text);
    return grown;
}

static tn_value text(uint32_t count) {
    tn_value made = value_text("");
    for (uint32_t i = 0; i < count; i++) made = grow_text(made, i);
    return made;
}

static const struct change {
    const char *name;
    tn_value (*start)(uint32_t);
    uint32_t size;
    tn_value (*step)(tn_value, uint32_t);
    uint32_t steps, texts; /* messages that a step changes */
} changes[] = {
    {"append", messages, 0, append, 700, 1},
    {"edit the first message", messages, 300, edit_head, 900, 1},
    {"edit a message in the middle", messages, 300, edit_middle, 900, 1},
    {"edit the last message", messages, 300, edit_end, 900, 1},
    {"edit any message", messages, 300, edit_anywhere, 900, 1},
    {"a summary at the head", messages, 10, summary, 700, 2},
    {"one member of an object of 1 MB", wide, 2500, set_member, 2600, 1},
    {"new members of an object", wide, 1, add_member, 700, 1},
    {"a text that grows", text, 1, grow_text, 400, 1},
};

static uint32_t longer = 1; /* THREAD_COST_TIMES */

static uint32_t steps_of(const struct change *change) { return longer * change->steps; }

static tn_value state_with(tn_value value) { return value_set_take(value_object(), "channel", value); }

static tn_value run_change(struct host *host, const struct change *change, const char *id, int64_t keep) {
    tn_value loaded = load(host, id, THREAD_HEAD);
    struct thread_log *log = thread_log_new(host_store(host, NULL), id, loaded);
    thread_log_keep(log, keep);
    value_unref(loaded);
    tn_value now = state_with(change->start(change->size));
    assert_int_equal(commit(host, log, 0, NULL, now).status, TN_OK);
    for (uint32_t i = 1; i <= steps_of(change); i++) {
        tn_value next = state_with(change->step(value_ref(value_get(now, "channel")), i));
        struct done done = commit(host, log, i, now, next);
        if (done.status != TN_OK) fail_msg("%s, step %u: %s", change->name, i, done.code);
        value_unref(now);
        now = next;
    }
    thread_log_free(log);
    return now;
}

static void expect_state(struct host *host, const char *id, int64_t seq, tn_value expected) {
    tn_value loaded = load(host, id, seq);
    assert_true(value_identical(value_get(value_get(loaded, "saved"), "state"), expected));
    value_unref(loaded);
}

static void test_cost(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const struct change *change = &changes[i];
        struct host *host = open_host();
        struct counted counted[3];
        tn_value start = state_with(change->start(change->size)), now = run_change(host, change, "t", -1);
        char *first = json_text(start, JSON_COMPACT);
        size_t before = strlen(first), bytes = bytes_of(host, counted);
        mem_free(first);
        double ratio = (double)bytes / (double)(before + (size_t)steps_of(change) * change->texts * (TEXT + 30));
        printf("%-36s %.2f (%zu KB in %zu checkpoints, %zu KB in %zu snapshots, %zu KB in %zu chunks)\n", change->name,
               ratio, counted[0].bytes / 1000, counted[0].records, counted[1].bytes / 1000, counted[1].records,
               counted[2].bytes / 1000, counted[2].records);
        if (ratio > 4) fail_msg("%s: written %.1f times what changed", change->name, ratio);
        expect_state(host, "t", THREAD_HEAD, now);
        expect_state(host, "t", 0, start);
        value_unref(start);
        value_unref(now);
        host_free(host);
    }
}

/* The error of reading checkpoint `seq`. */
static void expect_removed(struct host *host, const char *id, int64_t seq) {
    struct asked asked = {id, seq};
    struct error error = ERROR_INIT;
    tn_value loaded = NULL;
    assert_int_equal(store_perform_wait(host_store(host, NULL), read_thread, &asked, &loaded, &error), TN_NOT_FOUND);
    assert_string_equal(error.code, "NOT_FOUND");
    assert_non_null(strstr(error.message, "was removed"));
    error_finish(&error);
}

/* The thread `t` as a file, and from that again. */
static void expect_import(struct host *host, tn_value now) {
    tn_value file = NULL;
    struct error error = ERROR_INIT;
    assert_int_equal(thread_export_wait(host_store(host, NULL), "t", &file, NULL), TN_OK);
    tn_value record = value_ref(value_get(file, "record"));
    static const char *const times[] = {"created_at", "updated_at"};
    for (size_t i = 0; i < 2; i++) record = value_set_take(record, times[i], value_text("2026-11-27T00:00:00.000Z"));
    record = value_set_take(record, "status", value_text("done"));
    file = value_set_take(file, "record", value_set_take(record, "graph", value_text("g")));
    if (thread_import_wait(host_store(host, NULL), "again", file, false, &error) != TN_OK)
        fail_msg("%s", error.message);
    expect_state(host, "again", THREAD_HEAD, now);
    value_unref(file);
}

static void test_removal(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        static const int64_t keeps[] = {0, 100};
        for (size_t k = 0; k < 2; k++) {
            const struct change *change = &changes[i];
            struct host *host = open_host();
            struct counted counted[3];
            tn_value now = run_change(host, change, "t", keeps[k]), record = NULL;
            bytes_of(host, counted);
            char *text = json_text(now, JSON_COMPACT);
            size_t whole = strlen(text);
            mem_free(text);
            expect_state(host, "t", THREAD_HEAD, now);
            expect_state(host, "t", steps_of(change), now);
            if (counted[1].records > 0) { /* at least one snapshot was written */
                size_t bytes = counted[0].bytes + counted[1].bytes + counted[2].bytes;
                size_t most = 3 * whole + 200000 + 2 * (size_t)keeps[k] * change->texts * (TEXT + 300);
                if (bytes > most) fail_msg("%s: %zu bytes are left, of a state of %zu", change->name, bytes, whole);
            }
            assert_int_equal(thread_show_wait(host_store(host, NULL), "t", &record, NULL), TN_OK);
            int64_t oldest = 0;
            tn_value kept = value_get(record, "oldest");
            if (kept) assert_true(value_as_int(kept, &oldest));
            assert_true(counted[0].records == steps_of(change) + 1 - (size_t)oldest);
            assert_true(counted[0].records >= (size_t)keeps[k]);
            if (keeps[k] == 0 && counted[1].records > 0) assert_true(oldest > 0);
            if (oldest > 0) expect_removed(host, "t", oldest - 1);
            tn_value first = load(host, "t", oldest);
            value_unref(first);
            /* What is left can be exported and imported, and forked. */
            assert_int_equal(thread_fork_wait(host_store(host, NULL), "t", THREAD_HEAD, "fork", NULL), TN_OK);
            expect_state(host, "fork", THREAD_HEAD, now);
            expect_import(host, now);
            value_unref(record);
            value_unref(now);
            host_free(host);
        }
    }
}

int main(void) {
    const char *more = getenv("THREAD_COST_TIMES");
    if (more) longer = (uint32_t)strtoul(more, NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cost), cmocka_unit_test(test_removal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
