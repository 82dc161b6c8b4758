/*
 * store_sqlite_test.c - one SQLite file under what happens to files: other processes, sudden death, damage, no room.
 *
 * Processes are forked before they open the store. What is damaged is damaged by hand, at offsets of SQLite's
 * documented file format: the header's user_version is at byte 60, its application_id at 68, the lock for writing to
 * the log is byte 120 of FILE-shm.
 */
#include "tests/unit/store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define RECORDS 2000
#define STORES  3 /* that each process has open */

/* ---- Processes ---- */

struct child {
    pid_t process;
    int from; /* what it says */
};

/* Runs `body` in a process of its own; it never returns there. */
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

static void ended_well(struct child *child) {
    int status = 0;
    (void)close(child->from);
    assert_int_equal(waitpid(child->process, &status, 0), child->process);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("a process ended with status %x", (unsigned)status);
}

/* In a child there is no test to fail. */
static void must(bool good, const char *what) {
    if (good) return;
    (void)fprintf(stderr, "in a process of its own: %s: %s: %s\n", what, fixture_code(), fixture_message());
    _exit(1);
}

static struct opened child_open(const char *options) {
    struct opened store = fixture_open_path("sqlite", NULL, options);
    must(store.store != NULL, "open");
    return store;
}

static void say(int to, const void *what, size_t size) { must(write(to, what, size) == (ssize_t)size, "write"); }

/* Each record is taken once, by whoever it is, and none is left. */
static void taker(int to, unsigned seed) {
    struct opened stores[STORES];
    for (int i = 0; i < STORES; i++)
        stores[i] = child_open("{\"busy_ms\": 60000, \"sync\": \"off\", \"indexes\": {\"t\": [[\"state\"]]}}");
    for (unsigned turn = seed;; turn++) {
        tn_value result = fixture_commit(
            &stores[turn % STORES], "[{\"op\": \"take\", \"collection\": \"t\", \"where\": {\"state\": \"ready\"}, "
                                    "\"patch\": {\"state\": \"taken\"}}]");
        must(result != NULL, "take");
        tn_value key = value_get(value_at(result, 0), "key");
        int number = value_is(key, TN_STRING) ? atoi(value_chars(key, NULL)) : -1;
        value_unref(result);
        if (number < 0) break;
        say(to, &number, sizeof number);
    }
    for (int i = 0; i < STORES; i++) fixture_close(&stores[i]);
}

static void each_is_taken_once(void **state) {
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
    struct child children[2] = {run(taker, 0), run(taker, 1)};
    int number, by[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        while (read(children[i].from, &number, sizeof number) == sizeof number) {
            assert_in_range(number, 0, RECORDS - 1);
            taken[number]++;
            by[i]++;
        }
        ended_well(&children[i]);
    }
    assert_int_equal(by[0] + by[1], RECORDS);
    for (int i = 0; i < RECORDS; i++) assert_int_equal(taken[i], 1);
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"t\", \"where\": {\"state\": \"taken\"}}}"),
                     RECORDS);
    fixture_close(&store);
    fixture_end();
}

/* Reads, adds one, and writes if nobody has written meanwhile. */
static void counter(int to, unsigned seed) {
    struct opened store = child_open("{\"busy_ms\": 60000, \"sync\": \"off\"}");
    (void)to, (void)seed;
    for (int done = 0; done < 200;) {
        char batch[256];
        tn_value found = fixture_query(&store, "{\"get\": {\"collection\": \"c\", \"key\": \"n\"}}");
        must(found != NULL, "get");
        int64_t version = value_is(found, TN_OBJECT) ? value_to_int(value_get(found, "version")) : 0;
        int64_t number = version > 0 ? value_to_int(value_get(found, "value")) : 0;
        value_unref(found);
        snprintf(
            batch, sizeof batch,
            "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"n\", \"value\": %lld, \"if\": {\"version\": %lld}}]",
            (long long)number + 1, (long long)version);
        tn_value result = fixture_commit(&store, batch);
        must(result || strcmp(fixture_code(), "CONFLICT") == 0, "put");
        done += result != NULL;
        value_unref(result);
    }
    fixture_close(&store);
}

/* The file does not even exist when the two begin. */
static void no_increment_is_lost(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct child children[2] = {run(counter, 0), run(counter, 1)};
    for (int i = 0; i < 2; i++) ended_well(&children[i]);
    struct opened store = fixture_open("sqlite", "{}");
    tn_value found = fixture_query(&store, "{\"get\": {\"collection\": \"c\", \"key\": \"n\"}}");
    assert_int_equal(value_to_int(value_get(found, "value")), 400);
    assert_int_equal(value_to_int(value_get(found, "version")), 400);
    value_unref(found);
    fixture_close(&store);
    fixture_end();
}

/* Whoever comes second finds the file at any moment of its making. */
static void opener(int to, unsigned seed) {
    (void)to, (void)seed;
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "new-%d", i);
        struct opened store = fixture_open_path("sqlite", name, "{\"busy_ms\": 60000, \"sync\": \"off\"}");
        must(store.store != NULL, "open");
        fixture_close(&store);
    }
}

static void made_by_two_at_once(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct child children[2] = {run(opener, 0), run(opener, 1)};
    for (int i = 0; i < 2; i++) ended_well(&children[i]);
    fixture_end();
}

/* ---- Sudden death ---- */

enum { BATCH = 8 };

static void writer(int to, unsigned seed) {
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
        must(result != NULL, "put");
        value_unref(result);
        buffer_finish(&batch);
        say(to, &number, sizeof number);
    }
}

/* The batch that is there: the same in all its records, and in what finds them. 0: none yet. */
static int whole_batch(const struct opened *store) {
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
        if (round % 10 == 0) { /* from the very beginning, making the file among it */
            char path[128];
            for (int i = 0; i < 3; i++) {
                snprintf(path, sizeof path, "%s/store%s", fixture_folder, i == 0 ? "" : i == 1 ? "-wal" : "-shm");
                (void)unlink(path);
            }
            last = 0;
        }
        struct child child = run(writer, (unsigned)last);
        int told = last, number;
        for (unsigned i = 0; i < round * 7 % 11; i++)
            if (read(child.from, &number, sizeof number) == sizeof number) told = number;
        assert_int_equal(kill(child.process, SIGKILL), 0);
        assert_int_equal(waitpid(child.process, NULL, 0), child.process);
        while (read(child.from, &number, sizeof number) == sizeof number) told = number;
        (void)close(child.from);
        struct opened store = fixture_open("sqlite", "{}");
        last = whole_batch(&store);
        assert_true(last == told || last == told + 1); /* what was told is there */
        fixture_close(&store);
    }
    fixture_end();
}

/* ---- What goes wrong with a file ---- */

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

static void made(int records) {
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

static void a_newer_one_is_left_alone(void **state) {
    (void)state;
    static const unsigned char newer[] = {0, 0, 0, 99};
    made(10);
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
    overwrite("store", 60, "\0\0\0\1", 4);
    struct opened store = fixture_open("sqlite", "{}");
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}"), 10);
    fixture_close(&store);
    fixture_end();
}

static void others_files(void **state) {
    (void)state;
    made(1);
    overwrite("store", 68, "\0\0\0\7", 4);
    is_refused("STORE_ERROR", "another application (application_id 7");
    overwrite("store", 68, "\0\0\0\0", 4);
    is_refused("STORE_ERROR", "another application (application_id 0");
    (void)unlink(in_folder("store"));
    static const char text[] = "This is a letter to my aunt, and longer than what SQLite takes for nothing: it is no "
                               "database at all, whatever it is called, and has to stay as it is, to the last word.";
    overwrite("store", 0, text, sizeof text);
    is_refused("STORE_CORRUPT", "is no SQLite file");
    (void)unlink(in_folder("store"));
    assert_int_equal(mkdir(in_folder("store"), 0755), 0);
    is_refused("STORE_ERROR", "cannot be opened");
    struct opened store = fixture_open_path("sqlite", "missing/store", "{}");
    assert_null(store.store);
    fixture_is_error(NULL, "STORE_ERROR", "does its folder exist");
    store = fixture_open_path("sqlite", "none", "{\"read_only\": true}");
    assert_null(store.store);
    fixture_is_error(NULL, "STORE_ERROR", "cannot be opened");
    overwrite("empty", 0, "", 0);
    store = fixture_open_path("sqlite", "empty", "{\"read_only\": true}");
    assert_null(store.store);
    fixture_is_error(NULL, "STORE_READ_ONLY", "is empty");
    fixture_end();
}

static void damage_is_told(void **state) {
    (void)state;
    char noise[8192];
    memset(noise, 0xa5, sizeof noise);
    made(2000);
    overwrite("store", 0, noise, 100);
    is_refused("STORE_CORRUPT", "its beginning is destroyed");
    fixture_end();

    made(2000);
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

    made(2000); /* the end is missing */
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

/* The lock that whoever writes holds, taken by a process that keeps it. */
static void holder(int to, unsigned seed) {
    int file = open(in_folder("store-shm"), O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 120, .l_len = 1};
    (void)seed;
    must(file >= 0 && fcntl(file, F_SETLK, &lock) == 0, "lock");
    say(to, "", 1);
    for (;;) (void)pause();
}

static void locked_by_another(void **state) {
    (void)state;
    char held;
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{\"busy_ms\": 20}");
    put_many(&store, 0, 3);
    struct child child = run(holder, 0);
    assert_int_equal(read(child.from, &held, 1), 1);
    fixture_is_error(fixture_commit(&store, "[{\"op\": \"delete_range\", \"collection\": \"c\"}]"), "STORE_BUSY",
                     "20 ms");
    assert_true(value_to_bool(value_get(fixture_error, "retryable")));
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}"), 3); /* reading does not wait */
    assert_int_equal(kill(child.process, SIGKILL), 0);
    assert_int_equal(waitpid(child.process, NULL, 0), child.process);
    (void)close(child.from);
    fixture_do(&store, "[{\"op\": \"delete_range\", \"collection\": \"c\"}]");
    fixture_close(&store);
    fixture_end();
}

/* Fills the store until it says so; what was there is there, and more when there is room again. */
static void fills(const char *options) {
    struct opened store = fixture_open_path("sqlite", NULL, options);
    if (!store.store) fail_msg("%s", fixture_message());
    int records = 0;
    for (; records < 100000; records += 50) {
        put_many(&store, records, 50);
        if (fixture_error) break;
    }
    fixture_is_error(NULL, "STORE_FULL", "all from before is there");
    assert_true(records > 100);
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}"), records);
    fixture_close(&store);
}

static void no_room_by_option(void **state) {
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
    must(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
    fills("{}");
}

static void no_room_on_the_disk(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct child child = run(fill_limited, 0);
    ended_well(&child);
    struct opened store = fixture_open("sqlite", "{}");
    assert_true(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}") > 100);
    put_many(&store, 0, 50);
    assert_null(fixture_error);
    fixture_close(&store);
    fixture_end();
}

static void read_only_by_option(void **state) {
    (void)state;
    made(3);
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

/* As somebody who may not write; root may everything, and so becomes nobody. */
static void outsider(int to, unsigned seed) {
    (void)to;
    if (getuid() == 0) must(setuid(65534) == 0, "setuid");
    struct opened store = fixture_open_path("sqlite", NULL, "{}");
    if (seed == 0) { /* nobody else has it open: there is no log to read */
        must(!store.store && strcmp(fixture_code(), "STORE_READ_ONLY") == 0, "a store that cannot be written to");
        return;
    }
    must(store.store != NULL, "open");
    tn_value count = fixture_query(&store, "{\"count\": {\"collection\": \"c\"}}");
    must(count && value_to_int(count) == 3, "count");
    must(!fixture_commit(&store, "[{\"op\": \"delete_range\", \"collection\": \"c\"}]"), "delete");
    must(strcmp(fixture_code(), "STORE_READ_ONLY") == 0, "delete");
    fixture_close(&store);
}

static void not_ours_to_write(void **state) {
    (void)state;
    made(3);
    assert_int_equal(chmod(in_folder("store"), 0444), 0);
    assert_int_equal(chmod(fixture_folder, 0555), 0);
    struct child child = run(outsider, 0);
    ended_well(&child);
    assert_int_equal(chmod(fixture_folder, 0755), 0);
    assert_int_equal(chmod(in_folder("store"), 0644), 0);
    struct opened store = fixture_open("sqlite", "{}");
    tn_value result = fixture_query(&store, "{\"get\": {\"collection\": \"c\", \"key\": \"00000\"}}");
    assert_non_null(result);
    value_unref(result);
    fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"d\", \"key\": \"a\", \"value\": 1}]");
    if (getuid() == 0) { /* the files of the log are root's */
        child = run(outsider, 1);
        ended_well(&child);
    }
    fixture_close(&store);
    fixture_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_taken_once),
        cmocka_unit_test(no_increment_is_lost),
        cmocka_unit_test(made_by_two_at_once),
        cmocka_unit_test(killed_in_the_middle),
        cmocka_unit_test(a_newer_one_is_left_alone),
        cmocka_unit_test(others_files),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(locked_by_another),
        cmocka_unit_test(no_room_by_option),
        cmocka_unit_test(no_room_on_the_disk),
        cmocka_unit_test(read_only_by_option),
        cmocka_unit_test(not_ours_to_write),
    };
    return FIXTURE_STORES > 1 ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
