/*
 * store_vectors_test.c - the index of vectors of the SQLite store: what a search finds with it, compared with a search
 * that is exact, after inserts, updates, deletes, expiry, a group that failed, a kill, and an upgrade.
 *
 * TENON_VECTORS=COUNTxDIMENSIONS measures recall and time with so many vectors, instead of testing.
 */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

/* cmocka.h needs the ones above. */
#include <cmocka.h>

#include <sqlite3.h>

#include "tests/unit/store_fixture.h"

#define COUNT      5000 /* more than CODES_EXACT_MAX */
#define DIMENSIONS 12
#define CLUSTERS   50

/* ---- Vectors ---- */

static uint64_t random_state = 1;

static double random_unit(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

static double random_normal(void) { return sqrt(-2 * log(1 - random_unit())) * cos(6.283185307179586 * random_unit()); }

/* A vector near the centre of a cluster: texts about one subject. `spread` 0: no clusters. */
static tn_value random_vector(int dimensions, double spread) {
    uint64_t after;
    tn_value vector = value_array_reserve((size_t)dimensions);
    uint64_t cluster = (uint64_t)(random_unit() * CLUSTERS) + 77;
    double centre[4096];
    after = random_state;
    random_state = cluster;
    for (int i = 0; i < dimensions; i++) centre[i] = spread > 0 ? random_normal() : 0;
    random_state = after;
    for (int i = 0; i < dimensions; i++)
        vector = value_push_take(vector, value_double(centre[i] + (spread > 0 ? spread : 1) * random_normal()));
    return vector;
}

static tn_value put_take(const char *key, tn_value vector) {
    tn_value put = value_set_take(value_object_reserve(6), "op", value_text("put"));
    put = value_set_take(put, "collection", value_text("c"));
    put = value_set_take(put, "key", value_text(key));
    put =
        value_set_take(put, "value", value_set_take(value_object(), "even", value_bool(key[strlen(key) - 1] % 2 == 0)));
    return value_set_take(put, "vector", vector);
}

static void commit_take(const struct opened *store, tn_value batch) {
    tn_value result = fixture_commit_value(store, batch);
    if (!result) fail_msg("commit: %s", fixture_message());
    value_unref(result);
    value_unref(batch);
}

static void fill(const struct opened *store, int count, int dimensions, double spread) {
    char key[32];
    for (int i = 0; i < count;) {
        tn_value batch = value_array();
        for (int end = i + 500; i < count && i < end; i++) {
            snprintf(key, sizeof key, "%c/%06d", i % 3 ? 'a' : 'b', i);
            batch = value_push_take(batch, put_take(key, random_vector(dimensions, spread)));
        }
        commit_take(store, batch);
    }
}

/* ---- Searches ---- */

static tn_value search(const struct opened *store, tn_value vector, bool exact, const char *more) {
    tn_value query = value_set_take(fixture_json(more), "collection", value_text("c"));
    query = value_set_take(query, "vector", value_ref(vector));
    if (exact) query = value_set_take(query, "exact", value_bool(true));
    query = value_set_take(value_object(), "search", query);
    tn_value result = fixture_query_value(store, query);
    if (!result) fail_msg("search: %s", fixture_message());
    value_unref(query);
    return result;
}

static int in_common(tn_value some, tn_value others) {
    int common = 0;
    for (size_t i = 0; i < value_count(some); i++)
        for (size_t k = 0; k < value_count(others); k++)
            if (value_equal(value_get(value_at(some, i), "key"), value_get(value_at(others, k), "key")))
                common += value_equal(value_at(some, i), value_at(others, k)) ? 1 : -1000; /* a record is the same */
    return common;
}

/* The recall of some searches with the options `more`. */
static double recall(const struct opened *store, int searches, int dimensions, double spread, const char *more) {
    int common = 0, all = 0;
    for (int i = 0; i < searches; i++) {
        tn_value vector = random_vector(dimensions, spread);
        tn_value quick = search(store, vector, false, more), exact = search(store, vector, true, more);
        assert_int_equal(value_count(value_get(quick, "records")), value_count(value_get(exact, "records")));
        common += in_common(value_get(quick, "records"), value_get(exact, "records"));
        all += (int)value_count(value_get(exact, "records"));
        value_unref(quick);
        value_unref(exact);
        value_unref(vector);
    }
    return all ? (double)common / all : 1;
}

static void expect_recall(const struct opened *store) {
    static const char *const selections[] = {
        "{\"limit\": 10}",
        "{\"limit\": 10, \"from\": \"a/\", \"to\": \"a0\"}",
        "{\"limit\": 10, \"from\": \"b/\", \"to\": \"b0\"}",
        "{\"limit\": 10, \"where\": {\"even\": true}}",
        "{\"limit\": 10, \"where\": {\"none\": true}}",
        "{\"limit\": 1000}",
    };
    for (size_t i = 0; i < sizeof selections / sizeof *selections; i++) {
        double found = recall(store, 6, DIMENSIONS, 0.5, selections[i]);
        if (found < 0.95) fail_msg("%s: recall %.3f", selections[i], found);
    }
}

/* ---- The tables ---- */

static int64_t number_in_file(const char *sql) {
    char path[4200];
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    snprintf(path, sizeof path, "%s/store", fixture_folder);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK) fail_msg("%s", sqlite3_errmsg(database));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return number;
}

/* Each vector has one slot, slots have no gaps, and no block is left over. */
static void expect_consistent(void) {
    static const char *const wrong[] = {
        "SELECT count(*) FROM vectors WHERE id NOT IN (SELECT id FROM slots)",
        "SELECT count(*) FROM slots WHERE id NOT IN (SELECT id FROM vectors)",
        "SELECT count(*) FROM spaces WHERE count <> (SELECT count(*) FROM slots WHERE space = spaces.id)",
        "SELECT count(*) FROM spaces WHERE count <> (SELECT count(DISTINCT slot) FROM slots WHERE space = spaces.id)",
        "SELECT count(*) FROM slots JOIN spaces ON spaces.id = space WHERE slot >= count",
        "SELECT count(*) FROM codes JOIN spaces ON spaces.id = space WHERE block * 256 >= count + 256 * 256",
        "SELECT count(*) FROM entries WHERE (found_by & 2) / 2 <> (id IN (SELECT id FROM vectors))",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (number_in_file(wrong[i]) != 0) fail_msg("%s: %lld", wrong[i], (long long)number_in_file(wrong[i]));
}

/* ---- Tests ---- */

static void finds_what_is_there(void **state) {
    (void)state;
    char text[200];
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{\"sync\": \"off\"}");
    fill(&store, COUNT, DIMENSIONS, 0.5);
    expect_consistent();
    expect_recall(&store);
    /* Updates, one of them to another length; deletes, a range, and a record that loses its vector. */
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "%c/%06d", i * 7 % 3 ? 'a' : 'b', i * 7);
        commit_take(&store, value_push_take(value_array(), put_take(text, random_vector(DIMENSIONS + i % 2, 0.5))));
        snprintf(text, sizeof text, "[{\"op\": \"delete\", \"collection\": \"c\", \"key\": \"%c/%06d\"}]",
                 (i * 11 + 1) % 3 ? 'a' : 'b', i * 11 + 1);
        fixture_do(&store, text);
    }
    fixture_do(&store,
               "[{\"op\": \"delete_range\", \"collection\": \"c\", \"from\": \"a/004600\", \"to\": \"a/004700\"},"
               " {\"op\": \"merge\", \"collection\": \"c\", \"key\": \"a/004999\", \"patch\": {}, \"vector\": null}]");
    expect_consistent();
    expect_recall(&store);
    /* Expiry: first the records are left out, then their vectors are removed. */
    fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"z\", \"value\": 1, \"expires_at\": 5,"
                       " \"vector\": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}]");
    expect_recall(&store);
    value_unref(fixture_maintain(&store));
    expect_consistent();
    /* A batch that fails changes nothing. */
    tn_value batch = value_push_take(value_array(), put_take("a/000001", random_vector(DIMENSIONS, 0.5)));
    batch = value_push_take(batch, fixture_json("{\"op\": \"expect\", \"collection\": \"c\", \"key\": \"no\","
                                                " \"if\": {\"version\": 3}}"));
    fixture_is_error(fixture_commit_value(&store, batch), "CONFLICT", NULL);
    value_unref(batch);
    expect_consistent();
    fixture_do(&store, "[{\"op\": \"delete_range\", \"collection\": \"c\"}]");
    expect_consistent();
    assert_int_equal(number_in_file("SELECT count(*) FROM codes"), 0);
    fixture_close(&store);
    fixture_end();
}

/* A vector of zeros, one large number, equal vectors: the order is that of a search that is exact. */
static void orders_equal_vectors_by_key(void **state) {
    (void)state;
    char key[32];
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{\"sync\": \"off\"}");
    tn_value batch = value_array();
    for (int i = 0; i < COUNT; i++) {
        snprintf(key, sizeof key, "k%05d", COUNT - i);
        batch = value_push_take(batch, put_take(key, fixture_json(i % 10 == 0  ? "[0, 0, 0]"
                                                                  : i % 10 < 3 ? "[1e15, 1, 1]"
                                                                  : i == 7     ? "[1, 2, 3]"
                                                                               : "[-1, 2, 0]")));
    }
    commit_take(&store, batch);
    static const char *const wanted[] = {"[1, 2, 3]", "[0, 0, 0]", "[0, 0, 1]"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        tn_value vector = fixture_json(wanted[i]);
        tn_value quick = search(&store, vector, false, "{\"limit\": 1}");
        tn_value exact = search(&store, vector, true, "{\"limit\": 1}");
        assert_true(value_equal(value_get(value_at(value_get(quick, "records"), 0), "score"),
                                value_get(value_at(value_get(exact, "records"), 0), "score")));
        value_unref(quick);
        value_unref(exact);
        value_unref(vector);
    }
    expect_consistent();
    fixture_close(&store);
    fixture_end();
}

/* A process that is killed while it writes and deletes vectors leaves a whole index. */
static void survives_kills(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{}");
    fixture_close(&store);
    for (int round = 0; round < 4; round++) {
        int pipes[2];
        char byte;
        assert_int_equal(pipe(pipes), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct opened mine = fixture_open("sqlite", "{\"sync\": \"off\"}");
            random_state = (uint64_t)round + 5;
            for (int i = 0;; i++) {
                char key[32], text[120];
                snprintf(key, sizeof key, "a/%06d", (int)(random_unit() * 300));
                commit_take(&mine, value_push_take(value_array(), put_take(key, random_vector(8 + i % 2, 0.5))));
                snprintf(text, sizeof text, "[{\"op\": \"delete\", \"collection\": \"c\", \"key\": \"a/%06d\"}]",
                         (int)(random_unit() * 300));
                fixture_do(&mine, text);
                if (write(pipes[1], "x", 1) != 1) _exit(1);
            }
        }
        for (int i = 0; i < 40 + 13 * round; i++) assert_int_equal(read(pipes[0], &byte, 1), 1);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        close(pipes[0]);
        close(pipes[1]);
        expect_consistent();
    }
    fixture_end();
}

/* A file of version 2 has vectors and no index: opening it makes one. */
static void upgrades_files(void **state) {
    (void)state;
    char path[4200];
    sqlite3 *database = NULL;
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{\"sync\": \"off\"}");
    fill(&store, COUNT, DIMENSIONS, 0.5);
    fixture_close(&store);
    snprintf(path, sizeof path, "%s/store", fixture_folder);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database,
                                  "DROP TABLE codes; DROP TABLE slots; DROP TABLE spaces; PRAGMA user_version = 2",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(database);
    store = fixture_open("sqlite", "{\"sync\": \"off\"}");
    expect_consistent();
    expect_recall(&store);
    fixture_close(&store);
    fixture_end();
}

/* ---- Measuring ---- */

static double seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double time_of_searches(const struct opened *store, int dimensions, double spread, bool exact) {
    double best = INFINITY;
    for (int i = 0; i < 5; i++) {
        tn_value vector = random_vector(dimensions, spread);
        double began = seconds();
        value_unref(search(store, vector, exact, "{\"limit\": 10}"));
        best = fmin(best, seconds() - began);
        value_unref(vector);
    }
    return best;
}

static void measures(void **state) {
    (void)state;
    int count = COUNT, dimensions = DIMENSIONS;
    static const double spreads[] = {0.5, 0};
    (void)sscanf(getenv("TENON_VECTORS"), "%dx%d", &count, &dimensions);
    for (int i = 0; i < 2; i++) {
        fixture_begin("sqlite");
        struct opened store = fixture_open("sqlite", "{\"sync\": \"off\"}");
        double began = seconds();
        fill(&store, count, dimensions, spreads[i]);
        double filled = seconds() - began, exact = time_of_searches(&store, dimensions, spreads[i], true);
        double quick = time_of_searches(&store, dimensions, spreads[i], false);
        print_message(
            "%d x %d, %s: filled in %.1f s; exact %.1f ms, index %.1f ms (%.1f times as quick); recall@10 %.4f\n",
            count, dimensions, spreads[i] > 0 ? "clusters" : "without structure", filled, 1e3 * exact, 1e3 * quick,
            exact / quick, recall(&store, 20, dimensions, spreads[i], "{\"limit\": 10}"));
        fixture_close(&store);
        fixture_end();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_there),
        cmocka_unit_test(orders_equal_vectors_by_key),
        cmocka_unit_test(survives_kills),
        cmocka_unit_test(upgrades_files),
    };
    const struct CMUnitTest measurements[] = {cmocka_unit_test(measures)};
    if (getenv("TENON_VECTORS")) return cmocka_run_group_tests(measurements, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
