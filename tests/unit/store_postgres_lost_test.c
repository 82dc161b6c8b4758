/*
 * store_postgres_lost_test.c - a connection to PostgreSQL that is lost at any point loses nothing and repeats nothing.
 *
 * A proxy stands between the store and the server. It cuts the connection at the N-th message of the store, either
 * before the server has it, or after: then the server applies it, and the answer is lost. The tests do this for every N
 * until no connection is cut any more. Every batch has conditions on versions, so that applying it twice is a CONFLICT.
 */
#include "tests/unit/postgres_fixture.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#define BATCHES 2

/* ---- The proxy ---- */

static struct {
    char folder[160];
    int listener;
    pthread_t thread;
    atomic_bool stops;
    atomic_int messages; /* of clients, since the test began */
    atomic_int cut_at;   /* 0: never */
    atomic_bool deliver; /* the message that is cut reaches the server */
    atomic_int cuts;
} proxy;

static struct sockaddr_un socket_at(const char *folder) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.90s/.s.PGSQL.5432", folder);
    return address;
}

/* Returns false if the connection has ended, or was cut. */
static bool proxy_forward(int from, int to, bool of_client) {
    static _Thread_local char bytes[1 << 16];
    ssize_t length = read(from, bytes, sizeof bytes);
    if (length <= 0) return false;
    bool cuts = of_client && atomic_fetch_add(&proxy.messages, 1) + 1 == atomic_load(&proxy.cut_at);
    if (cuts) atomic_fetch_add(&proxy.cuts, 1);
    for (ssize_t sent = 0; sent < length && !(cuts && !atomic_load(&proxy.deliver));) {
        ssize_t more = send(to, bytes + sent, (size_t)(length - sent), MSG_NOSIGNAL);
        if (more <= 0) return false;
        sent += more;
    }
    return !cuts;
}

static void *proxy_connection(void *user) {
    int client = (int)(intptr_t)user, server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = socket_at(postgres_folder);
    bool good = connect(server, (struct sockaddr *)&address, sizeof address) == 0;
    struct pollfd ready[2] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    while (good && !atomic_load(&proxy.stops)) {
        if (poll(ready, 2, 20) <= 0) continue;
        if (ready[0].revents) good = proxy_forward(client, server, true);
        if (good && ready[1].revents) good = proxy_forward(server, client, false);
    }
    close(client);
    close(server);
    return NULL;
}

static void *proxy_main(void *user) {
    pthread_t threads[512];
    size_t count = 0;
    (void)user;
    while (!atomic_load(&proxy.stops)) {
        struct pollfd ready = {.fd = proxy.listener, .events = POLLIN};
        if (poll(&ready, 1, 20) <= 0) continue;
        int client = accept4(proxy.listener, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0 || count == sizeof threads / sizeof *threads) break;
        if (pthread_create(&threads[count], NULL, proxy_connection, (void *)(intptr_t)client) != 0) break; /* NOLINT */
        count++;
    }
    while (count > 0) pthread_join(threads[--count], NULL);
    return NULL;
}

static void proxy_start(void) {
    memset(&proxy, 0, sizeof proxy);
    snprintf(proxy.folder, sizeof proxy.folder, "%s/proxy", fixture_folder);
    assert_int_equal(mkdir(proxy.folder, 0700), 0);
    struct sockaddr_un address = socket_at(proxy.folder);
    proxy.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(proxy.listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(proxy.listener, 64), 0);
    assert_int_equal(pthread_create(&proxy.thread, NULL, proxy_main, NULL), 0);
}

static void proxy_stop(void) {
    atomic_store(&proxy.stops, true);
    pthread_join(proxy.thread, NULL);
    close(proxy.listener);
}

static void proxy_arm(int cut_at, bool deliver) {
    atomic_store(&proxy.messages, 0);
    atomic_store(&proxy.cuts, 0);
    atomic_store(&proxy.deliver, deliver);
    atomic_store(&proxy.cut_at, cut_at);
}

/* ---- Tests ---- */

/* Opens through the proxy. An open that fails because its connection was cut changes nothing: it is repeated. */
static struct opened open_through_proxy(const char *more) {
    char options[1024];
    snprintf(options, sizeof options, "{\"url\": \"host=%s dbname=tenon user=tenon\", \"schema\": \"%s\"%s}",
             proxy.folder, postgres_schema(), more);
    struct opened store = fixture_open_path("postgres", NULL, options);
    if (!store.store) store = fixture_open("postgres", options);
    return store;
}

/* Runs batches that depend on each other, with new keys. */
static void run_batches(const char *more, int round) {
    struct opened store = open_through_proxy(more);
    for (int i = 0; i < BATCHES; i++) {
        char batch[1024];
        snprintf(
            batch, sizeof batch,
            "[{\"op\": \"put\", \"collection\": \"tasks\", \"key\": \"k%d\", \"value\": {\"n\": %d}, \"if\": "
            "{\"version\": %d}}, {\"op\": \"merge\", \"collection\": \"c\", \"key\": \"m%d\", \"patch\": {\"a%d\": "
            "1}, \"if\": {\"version\": %d}}, {\"op\": \"put\", \"collection\": \"free\", \"key\": \"f%d-%d\", "
            "\"value\": {\"of\": %d}, \"text\": \"word\"}, {\"op\": \"take\", \"collection\": \"free\", \"where\": "
            "{\"of\": %d}, \"patch\": {\"of\": null}}]",
            round, i, i, round, i, i, round, i, round, round);
        tn_value result = fixture_commit(&store, batch);
        if (!result) fail_msg("message %d, batch %d: %s", atomic_load(&proxy.cut_at), i, fixture_message());
        assert_int_equal(value_to_int(value_get(value_at(result, 0), "version")), i + 1);
        assert_int_equal(value_count(value_get(value_at(result, 1), "value")), i + 1);
        assert_true(value_get(value_at(result, 3), "version") != NULL);
        value_unref(result);
        assert_true(fixture_number(&store, "{\"count\": {\"collection\": \"tasks\"}}") > 0);
    }
    fixture_close(&store);
}

static void cut_at_every_message(const char *more) {
    postgres_begin();
    proxy_start();
    int round = 0, cuts = 0;
    for (int deliver = 0; deliver < 2; deliver++)
        for (int n = 1;; n++) {
            proxy_arm(n, deliver);
            run_batches(more, round++);
            if (!atomic_load(&proxy.cuts)) break;
            cuts++;
        }
    assert_true(cuts > 2 * 2 * BATCHES);
    print_message("cut %d times\n", cuts);
    /* Nothing was lost, and nothing was done twice. */
    assert_int_equal(postgres_sql("SELECT count(*) FROM @.records r JOIN @.collections c ON c.id = r.collection WHERE "
                                  "c.name IN ('tasks', 'c') AND version <> 2"),
                     0);
    assert_int_equal(postgres_sql("SELECT count(*) FROM @.records r JOIN @.collections c ON c.id = r.collection WHERE "
                                  "c.name = 'tasks'"),
                     round);
    assert_int_equal(postgres_sql("SELECT count(*) FROM @.texts"), (int64_t)round * BATCHES);
    proxy_stop();
    fixture_end();
}

static void a_lost_connection_loses_nothing(void **state) {
    (void)state;
    cut_at_every_message("");
}

static void a_lost_connection_of_a_pooler_loses_nothing(void **state) {
    (void)state;
    cut_at_every_message(", \"pooler\": \"session\"");
}

/* The administrator ends the session, which the store notices only when it uses it. */
static void an_ended_session_is_replaced(void **state) {
    (void)state;
    char options[512];
    postgres_begin();
    snprintf(options, sizeof options,
             "{\"url\": \"host=%s dbname=tenon user=tenon application_name=%s\", \"schema\": \"%s\"}", postgres_folder,
             postgres_schema(), postgres_schema());
    struct opened store = fixture_open("postgres", options);
    fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"a\", \"value\": 1}]");
    for (int i = 0; i < 2; i++) {
        assert_true(
            postgres_sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = "
                         "'@'") > 0);
        if (i == 0)
            assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}"), 1);
        else
            fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"a\", \"value\": 2}]");
    }
    fixture_close(&store);
    fixture_end();
}

/* No server answers: the request fails after reconnect_ms, and a later one succeeds. */
static void a_server_that_is_gone_is_reported(void **state) {
    (void)state;
    postgres_begin();
    proxy_start();
    struct opened store = open_through_proxy(", \"reconnect_ms\": 100, \"password\": \"geheim\"");
    fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"a\", \"value\": 1}]");
    proxy_stop();
    fixture_is_error(fixture_query(&store, "{\"count\": {\"collection\": \"c\"}}"), "STORE_ERROR", "cannot connect");
    assert_non_null(value_get(fixture_error, "retryable"));
    fixture_is_error(fixture_commit(&store, "[{\"op\": \"delete\", \"collection\": \"c\", \"key\": \"a\"}]"),
                     "STORE_ERROR", "cannot connect");
    assert_null(strstr(fixture_message(), "geheim"));
    char path[256];
    snprintf(path, sizeof path, "%s/.s.PGSQL.5432", proxy.folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(proxy.folder), 0);
    proxy_start();
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}"), 1);
    fixture_close(&store);
    proxy_stop();
    fixture_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_connection_loses_nothing),
        cmocka_unit_test(a_lost_connection_of_a_pooler_loses_nothing),
        cmocka_unit_test(an_ended_session_is_replaced),
        cmocka_unit_test(a_server_that_is_gone_is_reported),
    };
    return cmocka_run_group_tests(tests, postgres_start, postgres_stop);
}
