/*
 * store_sqlite_test.c - one SQLite file under concurrent processes, sudden death, damage and a full disk.
 *
 * Processes are forked before they open the store. The tests damage files at offsets of SQLite's documented file
 * format: in the header, user_version is at byte 60 and application_id at byte 68; the lock for writing the log is byte
 * 120 of FILE-shm.
 */
#include "tests/unit/store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define RECORDS 2000
#define STORES  3 /* open in each process */

/* ---- Processes ---- */

struct child {
    pid_t process;
    int from; /* its output */
};

/* Runs `body` in a child process and exits there. */
static struct child run(void (*body)(int to, unsigned seed), unsigned seed) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    (void)fflush(NULL);
    pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        (void)close(ends[0]);
        body(ends[1], seed);
        _exit(0);
    }
    (void)close(ends[1]);
    return (struct child){process, ends[0]};
}

static void expect_child_succeeded(struct child *child) {
    int status = 0;
    (void)close(child->from);
    assert_int_equal(waitpid(child->process, &status, 0), child->process);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("a process ended with status %x", (unsigned)status);
}

/* A child process cannot fail the test: it exits with a status. */
static void child_expect(bool good, const char *what) {
    if (good) return;
    (void)fprintf(stderr, "in a child process: %s: %s: %s\n", what, fixture_code(), fixture_message());
    _exit(1);
}

static struct opened child_open(const char *options) {
    struct opened store = fixture_open_path("sqlite", NULL, options);
    child_expect(store.store != NULL, "open");
    return store;
}

static void child_write(int to, const void *what, size_t size) {
    child_expect(write(to, what, size) == (ssize_t)size, "write");
}

/* Each record is taken exactly once, by any process. */
static void child_take_records(int to, unsigned seed) {
    struct opened stores[STORES];
    for (int i = 0; i < STORES; i++)
        stores[i] = child_open("{\"busy_ms\": 60000, \"sync\": \"off\", \"indexes\": {\"t\": [[\"state\"]]}}");
    for (unsigned turn = seed;; turn++) {
        tn_value result = fixture_commit(
            &stores[turn % STORES], "[{\"op\": \"take\", \"collection\": \"t\", \"where\": {\"state\": \"ready\"}, "
                                    "\"patch\": {\"state\": \"taken\"}}]");
        child_expect(result != NULL, "take");
        tn_value key = value_get(value_at(result, 0), "key");
        int number = value_is(key, TN_STRING) ? atoi(value_chars(key, NULL)) : -1;
        value_unref(result);
        if (number < 0) break;
        child_write(to, &number, sizeof number);
    }
    for (int i = 0; i < STORES; i++) fixture_close(&stores[i]);
}

static void each_record_is_taken_once(void **state) {
    (void)state;
    static int taken[RECORDS];
    memset(taken, 0, sizeof taken);
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{\"busy_ms\": 60000}");
    struct buffer batch;
    buffer_init(&batch, SIZE_MAX);
    for (int i = 0; i < RECORDS; i++)
        buffer_format(
            &batch, "%c{\"op\": \"put\", \"collection\": \"t\", \"key\": \"%04d\", \"value\": {\"state\": \"ready\"}}",
            i > 0 ? ',' : '[', i);
    buffer_char(&batch, ']');
    fixture_do(&store, buffer_cstr(&batch));
    buffer_finish(&batch);
    struct child children[2] = {run(child_take_records, 0), run(child_take_records, 1)};
    int number, by[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        while (read(children[i].from, &number, sizeof number) == sizeof number) {
            assert_in_range(number, 0, RECORDS - 1);
            taken[number]++;
            by[i]++;
        }
        expect_child_succeeded(&children[i]);
    }
    assert_int_equal(by[0] + by[1], RECORDS);
    for (int i = 0; i < RECORDS; i++) assert_int_equal(taken[i], 1);
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"t\", \"where\": {\"state\": \"taken\"}}}"),
                     RECORDS);
    fixture_close(&store);
    fixture_end();
}

/* Reads, adds one, and writes on condition that the record is unchanged. */
static void child_count(int to, unsigned seed) {
    struct opened store = child_open("{\"busy_ms\": 60000, \"sync\": \"off\"}");
    (void)to, (void)seed;
    for (int done = 0; done < 200;) {
        char batch[256];
        tn_value found = fixture_query(&store, "{\"get\": {\"collection\": \"c\", \"key\": \"n\"}}");
        child_expect(found != NULL, "get");
        int64_t version = value_is(found, TN_OBJECT) ? value_to_int(value_get(found, "version")) : 0;
        int64_t number = version > 0 ? value_to_int(value_get(found, "value")) : 0;
        value_unref(found);
        snprintf(
            batch, sizeof batch,
            "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"n\", \"value\": %lld, \"if\": {\"version\": %lld}}]",
            (long long)number + 1, (long long)version);
        tn_value result = fixture_commit(&store, batch);
        child_expect(result || strcmp(fixture_code(), "CONFLICT") == 0, "put");
        done += result != NULL;
        value_unref(result);
    }
    fixture_close(&store);
}

/* The file does not exist when the two processes start. */
static void no_increment_is_lost(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct child children[2] = {run(child_count, 0), run(child_count, 1)};
    for (int i = 0; i < 2; i++) expect_child_succeeded(&children[i]);
    struct opened store = fixture_open("sqlite", "{}");
    tn_value found = fixture_query(&store, "{\"get\": {\"collection\": \"c\", \"key\": \"n\"}}");
    assert_int_equal(value_to_int(value_get(found, "value")), 400);
    assert_int_equal(value_to_int(value_get(found, "version")), 400);
    value_unref(found);
    fixture_close(&store);
    fixture_end();
}

/* The second process finds the file at any stage of its creation. */
static void child_create_stores(int to, unsigned seed) {
    (void)to, (void)seed;
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "new-%d", i);
        struct opened store = fixture_open_path("sqlite", name, "{\"busy_ms\": 60000, \"sync\": \"off\"}");
        child_expect(store.store != NULL, "open");
        fixture_close(&store);
    }
}

static void created_by_two_processes_at_once(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct child children[2] = {run(child_create_stores, 0), run(child_create_stores, 1)};
    for (int i = 0; i < 2; i++) expect_child_succeeded(&children[i]);
    fixture_end();
}

/* ---- Sudden death ---- */

enum { BATCH = 8 };

static void child_write_batches(int to, unsigned seed) {
    struct opened store = child_open("{\"busy_ms\": 60000}");
    struct buffer batch;
    for (int number = (int)seed + 1;; number++) {
        buffer_init(&batch, SIZE_MAX);
        for (int i = 0; i < BATCH; i++)
            buffer_format(
                &batch,
                "%c{\"op\": \"put\", \"collection\": \"c\", \"key\": \"%d\", \"value\": [%d, \"%0*d\"], \"text\": "
                "\"word%d\"}",
                i > 0 ? ',' : '[', i, number, 1 + number * 37 % 4000, 7, number);
        buffer_char(&batch, ']');
        tn_value result = fixture_commit(&store, buffer_cstr(&batch));
        child_expect(result != NULL, "put");
        value_unref(result);
        buffer_finish(&batch);
        child_write(to, &number, sizeof number);
    }
}

/* The number of the last batch, which must be the same in all records and indexes. 0: no batch. */
static int check_batch(const struct opened *store) {
    char query[128];
    tn_value list = fixture_query(store, "{\"list\": {\"collection\": \"c\"}}");
    if (!list) fail_msg("%s", fixture_message());
    tn_value records = value_get(list, "records");
    size_t count = value_count(records);
    int number = count ? (int)value_to_int(value_at(value_get(value_at(records, 0), "value"), 0)) : 0;
    assert_true(count == 0 || count == BATCH);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(value_to_int(value_at(value_get(value_at(records, i), "value"), 0)), number);
    value_unref(list);
    snprintf(query, sizeof query, "{\"search\": {\"collection\": \"c\", \"text\": \"word%d\"}}", number);
    tn_value found = fixture_query(store, query);
    assert_int_equal(value_count(value_get(found, "records")), count);
    value_unref(found);
    return number;
}

static void killed_in_the_middle(void **state) {
    (void)state;
    int last = 0;
    fixture_begin("sqlite");
    for (unsigned round = 0; round < 50; round++) {
        if (round % 10 == 0) { /* from the beginning, including the creation of the file */
            char path[128];
            for (int i = 0; i < 3; i++) {
                snprintf(path, sizeof path, "%s/store%s", fixture_folder, i == 0 ? "" : i == 1 ? "-wal" : "-shm");
                (void)unlink(path);
            }
            last = 0;
        }
        struct child child = run(child_write_batches, (unsigned)last);
        int reported = last, number;
        for (unsigned i = 0; i < round * 7 % 11; i++)
            if (read(child.from, &number, sizeof number) == sizeof number) reported = number;
        assert_int_equal(kill(child.process, SIGKILL), 0);
        assert_int_equal(waitpid(child.process, NULL, 0), child.process);
        while (read(child.from, &number, sizeof number) == sizeof number) reported = number;
        (void)close(child.from);
        struct opened store = fixture_open("sqlite", "{}");
        last = check_batch(&store);
        assert_true(last == reported || last == reported + 1); /* what was reported is there */
        fixture_close(&store);
    }
    fixture_end();
}

/* ---- Problems with the file ---- */

static char *in_folder(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", fixture_folder, name);
    return path;
}

static void overwrite(const char *name, off_t at, const void *bytes, size_t size) {
    int file = open(in_folder(name), O_WRONLY | O_CREAT, 0644);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, bytes, size, at), size);
    assert_int_equal(close(file), 0);
}

static void put_many(const struct opened *store, int first, int count) {
    struct buffer batch;
    buffer_init(&batch, SIZE_MAX);
    for (int i = 0; i < count; i++)
        buffer_format(&batch,
                      "%c{\"op\": \"put\", \"collection\": \"c\", \"key\": \"%05d\", \"value\": {\"n\": \"%0400d\"}}",
                      i > 0 ? ',' : '[', first + i, i);
    buffer_char(&batch, ']');
    tn_value result = fixture_commit(store, buffer_cstr(&batch));
    buffer_finish(&batch);
    if (result) fixture_set_error(NULL);
    value_unref(result);
}

static void create_store(int records) {
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{}");
    put_many(&store, 0, records);
    fixture_close(&store);
}

static void is_refused(const char *code, const char *part) {
    struct opened store = fixture_open_path("sqlite", NULL, "{}");
    if (store.store) fail_msg("expected %s: %s", code, part);
    fixture_is_error(NULL, code, part);
    assert_non_null(strstr(fixture_message(), in_folder("store"))); /* which file it is about */
}

static void newer_store_is_not_changed(void **state) {
    (void)state;
    static const unsigned char newer[] = {0, 0, 0, 99};
    create_store(10);
    overwrite("store", 60, newer, 4);
    size_t before_length, after_length;
    char *before = corpus_load(in_folder("store"), &before_length);
    is_refused("STORE_VERSION", "version 99");
    char *after = corpus_load(in_folder("store"), &after_length);
    assert_int_equal(before_length, after_length);
    assert_memory_equal(before, after, before_length);
    assert_int_not_equal(access(in_folder("store-wal"), F_OK), 0);
    free(before);
    free(after);
    overwrite("store", 60, "\0\0\0\3", 4);
    struct opened store = fixture_open("sqlite", "{}");
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}"), 10);
    fixture_close(&store);
    fixture_end();
}

static void others_files(void **state) {
    (void)state;
    create_store(1);
    overwrite("store", 68, "\0\0\0\7", 4);
    is_refused("STORE_ERROR", "another application (application_id 7");
    overwrite("store", 68, "\0\0\0\0", 4);
    is_refused("STORE_ERROR", "another application (application_id 0");
    (void)unlink(in_folder("store"));
    static const char text[] = "This is a letter to my aunt, and longer than what SQLite takes for nothing: it is no "
                               "database at all, whatever it is called, and has to stay as it is, to the last word.";
    overwrite("store", 0, text, sizeof text);
    is_refused("STORE_CORRUPT", "is not a SQLite file");
    (void)unlink(in_folder("store"));
    assert_int_equal(mkdir(in_folder("store"), 0755), 0);
    is_refused("STORE_ERROR", "cannot be opened");
    struct opened store = fixture_open_path("sqlite", "missing/store", "{}");
    assert_null(store.store);
    fixture_is_error(NULL, "STORE_ERROR", "check that its folder exists");
    store = fixture_open_path("sqlite", "none", "{\"read_only\": true}");
    assert_null(store.store);
    fixture_is_error(NULL, "STORE_ERROR", "cannot be opened");
    overwrite("empty", 0, "", 0);
    store = fixture_open_path("sqlite", "empty", "{\"read_only\": true}");
    assert_null(store.store);
    fixture_is_error(NULL, "STORE_READ_ONLY", "is empty");
    fixture_end();
}

static void damage_is_reported(void **state) {
    (void)state;
    char noise[8192];
    memset(noise, 0xa5, sizeof noise);
    create_store(2000);
    overwrite("store", 0, noise, 100);
    is_refused("STORE_CORRUPT", "its start is destroyed");
    fixture_end();

    create_store(2000);
    for (off_t page = 12; page < 200; page += 3) overwrite("store", page * 4096, noise, 4096);
    struct opened store = fixture_open_path("sqlite", NULL, "{}");
    if (store.store) {
        fixture_is_error(fixture_query(&store, "{\"list\": {\"collection\": \"c\", \"limit\": 10000}}"),
                         "STORE_CORRUPT", ".recover");
        fixture_is_error(fixture_query(&store, "{\"count\": {\"collection\": \"c\", \"where\": {\"n\": 1}}}"),
                         "STORE_CORRUPT", "is damaged");
        fixture_close(&store);
    }
    fixture_end();

    create_store(2000); /* the end is missing */
    assert_int_equal(truncate(in_folder("store"), 64 * 4096), 0);
    store = fixture_open_path("sqlite", NULL, "{}");
    if (store.store)
        fixture_is_error(fixture_query(&store, "{\"list\": {\"collection\": \"c\", \"limit\": 10000}}"),
                         "STORE_CORRUPT", NULL);
    else
        fixture_is_error(NULL, "STORE_CORRUPT", NULL);
    if (store.store) fixture_close(&store);
    fixture_end();
}

/* A process takes and keeps the lock that a writer holds. */
static void child_hold_lock(int to, unsigned seed) {
    int file = open(in_folder("store-shm"), O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 120, .l_len = 1};
    (void)seed;
    child_expect(file >= 0 && fcntl(file, F_SETLK, &lock) == 0, "lock");
    child_write(to, "", 1);
    for (;;) (void)pause();
}

static void locked_by_another_process(void **state) {
    (void)state;
    char held;
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{\"busy_ms\": 20}");
    put_many(&store, 0, 3);
    struct child child = run(child_hold_lock, 0);
    assert_int_equal(read(child.from, &held, 1), 1);
    fixture_is_error(fixture_commit(&store, "[{\"op\": \"delete_range\", \"collection\": \"c\"}]"), "STORE_BUSY",
                     "20 ms");
    assert_true(value_to_bool(value_get(fixture_error, "retryable")));
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}"), 3); /* a reader does not wait */
    assert_int_equal(kill(child.process, SIGKILL), 0);
    assert_int_equal(waitpid(child.process, NULL, 0), child.process);
    (void)close(child.from);
    fixture_do(&store, "[{\"op\": \"delete_range\", \"collection\": \"c\"}]");
    fixture_close(&store);
    fixture_end();
}

/* Fills the store until it fails. Earlier records must remain, and writing must work again when there is room. */
static void fills(const char *options) {
    struct opened store = fixture_open_path("sqlite", NULL, options);
    if (!store.store) fail_msg("%s", fixture_message());
    int records = 0;
    for (; records < 100000; records += 50) {
        put_many(&store, records, 50);
        if (fixture_error) break;
    }
    fixture_is_error(NULL, "STORE_FULL", "earlier data is intact");
    assert_true(records > 100);
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}"), records);
    fixture_close(&store);
}

static void max_bytes_limits_the_store(void **state) {
    (void)state;
    fixture_begin("sqlite");
    fills("{\"max_bytes\": 500000}");
    struct opened store = fixture_open("sqlite", "{\"max_bytes\": 5000000}");
    put_many(&store, 0, 50);
    assert_null(fixture_error);
    fixture_close(&store);
    fixture_end();
}

static void fill_limited(int to, unsigned seed) {
    struct rlimit limit = {1 << 20, 1 << 20};
    (void)to, (void)seed;
    (void)signal(SIGXFSZ, SIG_IGN);
    child_expect(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
    fills("{}");
}

static void full_disk(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct child child = run(fill_limited, 0);
    expect_child_succeeded(&child);
    struct opened store = fixture_open("sqlite", "{}");
    assert_true(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}") > 100);
    put_many(&store, 0, 50);
    assert_null(fixture_error);
    fixture_close(&store);
    fixture_end();
}

static void read_only_by_option(void **state) {
    (void)state;
    create_store(3);
    struct opened store = fixture_open("sqlite", "{\"read_only\": true, \"indexes\": {\"c\": [[\"n\"]]}}");
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\", \"where\": {\"n\": {\"ne\": 1}}}}"),
                     3);
    fixture_is_error(fixture_commit(&store, "[{\"op\": \"delete_range\", \"collection\": \"c\"}]"), "STORE_READ_ONLY",
                     "read_only");
    fixture_is_error(fixture_maintain(&store), "STORE_READ_ONLY", NULL);
    fixture_close(&store);
    static const unsigned char older[] = {0, 0, 0, 0};
    overwrite("store", 60, older, 4);
    store = fixture_open_path("sqlite", NULL, "{\"read_only\": true}");
    assert_null(store.store);
    fixture_is_error(NULL, "STORE_READ_ONLY", "open it once without read_only");
    fixture_end();
}

/* Runs as a user without write permission; root changes to an unprivileged user. */
static void child_without_permission(int to, unsigned seed) {
    (void)to;
    if (getuid() == 0) child_expect(setuid(65534) == 0, "setuid");
    struct opened store = fixture_open_path("sqlite", NULL, "{}");
    if (seed == 0) { /* no other process has it open, so a log does not exist */
        child_expect(!store.store && strcmp(fixture_code(), "STORE_READ_ONLY") == 0,
                     "a store that cannot be written to");
        return;
    }
    child_expect(store.store != NULL, "open");
    tn_value count = fixture_query(&store, "{\"count\": {\"collection\": \"c\"}}");
    child_expect(count && value_to_int(count) == 3, "count");
    child_expect(!fixture_commit(&store, "[{\"op\": \"delete_range\", \"collection\": \"c\"}]"), "delete");
    child_expect(strcmp(fixture_code(), "STORE_READ_ONLY") == 0, "delete");
    fixture_close(&store);
}

static void store_without_write_permission(void **state) {
    (void)state;
    create_store(3);
    assert_int_equal(chmod(in_folder("store"), 0444), 0);
    assert_int_equal(chmod(fixture_folder, 0555), 0);
    struct child child = run(child_without_permission, 0);
    expect_child_succeeded(&child);
    assert_int_equal(chmod(fixture_folder, 0755), 0);
    assert_int_equal(chmod(in_folder("store"), 0644), 0);
    struct opened store = fixture_open("sqlite", "{}");
    tn_value result = fixture_query(&store, "{\"get\": {\"collection\": \"c\", \"key\": \"00000\"}}");
    assert_non_null(result);
    value_unref(result);
    fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"d\", \"key\": \"a\", \"value\": 1}]");
    if (getuid() == 0) { /* root owns the files of the log */
        child = run(child_without_permission, 1);
        expect_child_succeeded(&child);
    }
    fixture_close(&store);
    fixture_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_record_is_taken_once),
        cmocka_unit_test(no_increment_is_lost),
        cmocka_unit_test(created_by_two_processes_at_once),
        cmocka_unit_test(killed_in_the_middle),
        cmocka_unit_test(newer_store_is_not_changed),
        cmocka_unit_test(others_files),
        cmocka_unit_test(damage_is_reported),
        cmocka_unit_test(locked_by_another_process),
        cmocka_unit_test(max_bytes_limits_the_store),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(read_only_by_option),
        cmocka_unit_test(store_without_write_permission),
    };
    return FIXTURE_STORES > 1 ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
