/*
 * postgres_fixture.h - a PostgreSQL server for tests, and stores in it.
 *
 * tests/postgres/server starts the server, on a socket in a folder. CTest does this once for all tests, and names the
 * folder in TENON_TEST_POSTGRES; otherwise, each program starts its own. Without PostgreSQL, all tests are skipped.
 * Each test uses a separate schema.
 *
 *     cmocka_run_group_tests(tests, postgres_start, postgres_stop);
 *
 *     postgres_begin();                                              // or skips
 *     struct opened store = postgres_open("\"busy_ms\": 50");        // further options
 *     postgres_sql("UPDATE @.meta SET version = 99");                // @: the schema
 *     fixture_close(&store);
 *     fixture_end();
 */
#ifndef TENON_TESTS_POSTGRES_FIXTURE_H
#define TENON_TESTS_POSTGRES_FIXTURE_H

#include "tests/unit/store_fixture.h"

#include <libpq-fe.h>
#include <sys/wait.h>

static char postgres_folder[128];
static bool postgres_runs, postgres_is_own;
static unsigned postgres_schemas;
static char postgres_url[256];      /* another way to the server, through a pooler; or empty */
static PGconn *postgres_connection; /* for postgres_sql */

/* Runs tests/postgres/server; returns its exit code. */
static int postgres_call(const char *action, const char *more) {
    char command[1024];
    snprintf(command, sizeof command, "%s/tests/postgres/server %s %s %s >/dev/null", TENON_SOURCE_DIR, action,
             postgres_folder, more);
    int status = system(command); /* NOLINT(cert-env33-c): a test */
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

FIXTURE_UNUSED static int postgres_start(void **state) {
    const char *shared = getenv("TENON_TEST_POSTGRES");
    (void)state;
    if (shared) {
        snprintf(postgres_folder, sizeof postgres_folder, "%s", shared);
        char path[256];
        snprintf(path, sizeof path, "%s/.s.PGSQL.5432", shared);
        postgres_runs = access(path, F_OK) == 0;
        return 0;
    }
    snprintf(postgres_folder, sizeof postgres_folder, "%s/tenon-postgres-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    assert_non_null(mkdtemp(postgres_folder));
    int status = postgres_call("start", "");
    if (status != 0 && status != 77) fail_msg("the server does not start: %d", status);
    postgres_runs = postgres_is_own = status == 0;
    return 0;
}

FIXTURE_UNUSED static int postgres_stop(void **state) {
    (void)state;
    if (postgres_connection) PQfinish(postgres_connection);
    if (!postgres_is_own) return 0;
    (void)postgres_call("stop", "immediate");
    (void)nftw(postgres_folder, fixture_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}

/* Starts or stops pgbouncer in a mode, and sets postgres_url. False if it is not installed. */
FIXTURE_UNUSED static bool postgres_pool(const char *action, const char *mode) {
    char command[1024];
    snprintf(command, sizeof command, "%s/tests/postgres/pooler %s %s %s >/dev/null", TENON_SOURCE_DIR, action,
             postgres_folder, mode);
    int status = system(command); /* NOLINT(cert-env33-c): a test */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return false;
    if (status != 0) fail_msg("pgbouncer: %s %s: %d", action, mode, status);
    postgres_url[0] = 0;
    if (strcmp(action, "start") == 0)
        snprintf(postgres_url, sizeof postgres_url, "host=%s/%s port=6432 dbname=tenon user=tenon", postgres_folder,
                 mode);
    return true;
}

/* The name of the test's schema. */
static const char *postgres_schema(void) {
    static char name[64];
    snprintf(name, sizeof name, "test_%ld_%u", (long)getpid(), postgres_schemas);
    return name;
}

/* Options for the test's schema, and more of them. */
static const char *postgres_options(const char *more) {
    static char text[2048];
    char url[256];
    snprintf(url, sizeof url, "host=%s dbname=tenon user=tenon", postgres_folder);
    snprintf(text, sizeof text, "{\"url\": \"%s\", \"schema\": \"%s\"%s%s}", *postgres_url ? postgres_url : url,
             postgres_schema(), *more ? ", " : "", more);
    return text;
}

static void postgres_begin(void) {
    if (!postgres_runs) skip();
    postgres_schemas++;
    fixture_begin("postgres");
}

FIXTURE_UNUSED static struct opened postgres_open(const char *more) {
    return fixture_open("postgres", postgres_options(more));
}

/* Runs a statement in which @ is the schema. Returns the first column of its first row as a number, or 0. */
FIXTURE_UNUSED static int64_t postgres_sql(const char *text) {
    char url[256];
    struct buffer full;
    if (!postgres_connection) {
        snprintf(url, sizeof url, "host=%s dbname=tenon user=tenon", postgres_folder);
        postgres_connection = PQconnectdb(url);
    }
    buffer_init(&full, SIZE_MAX);
    for (; *text; text++) {
        if (*text == '@')
            buffer_text(&full, postgres_schema());
        else
            buffer_char(&full, *text);
    }
    PGresult *result = PQexec(postgres_connection, buffer_cstr(&full));
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("%s: %s", buffer_cstr(&full), PQerrorMessage(postgres_connection));
    int64_t number = PQntuples(result) > 0 ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : 0;
    PQclear(result);
    buffer_finish(&full);
    return number;
}

#endif
