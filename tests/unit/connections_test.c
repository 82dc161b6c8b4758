/*
 * connections_test.c - sockets: their paths, modes, owners and leftovers; connections that are accepted, refused and
 * closed. tests/e2e/serve.sh has what needs other processes.
 */
#include "tests/unit/rpc_wire.h"

#include "host/server/connections.h"
#include "host/server/rpc/rpc_listener.h"
#include "tests/unit/server_fixture.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

static char folder[64]; /* of the test */

static char *at(const char *name) {
    static char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int folder_setup(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/tenon-connections-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_teardown(void **state) {
    (void)state;
    return rmdir(folder); /* fails if anything was left */
}

static void never_accepted(void *user, struct rpc_stream *stream) {
    (void)user, (void)stream;
    fail_msg("a connection was accepted");
}

static bool false_of(void *user) {
    (void)user;
    return false;
}

/* Opening a listener fails with the code, and a message that contains `part`. */
static void refuses(struct loop *loop, const char *path, const char *code, const char *part) {
    struct error error = ERROR_INIT;
    struct rpc_listener *listener = rpc_listener_open(loop, path, 0600, never_accepted, NULL, &error);
    if (listener) fail_msg("%s: listens", path);
    if (strcmp(error.code, code) != 0 || !strstr(error.message, part)) fail_msg("%s: %s", error.code, error.message);
    error_finish(&error);
}

static struct sockaddr_un address_of(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_true(strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    return address;
}

static int bound_socket(const char *path) {
    const struct sockaddr_un address = address_of(path);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(made, (const struct sockaddr *)&address, sizeof address), 0);
    return made;
}

static void paths_are_checked(void **state) {
    struct loop *loop = loop_new(NULL);
    char path[RPC_SOCKET_PATH_MAX + 2];
    (void)state;
    memset(path, 'x', sizeof path);
    path[RPC_SOCKET_PATH_MAX + 1] = '\0';
    refuses(loop, path, "INVALID_INPUT", "has 1 to 107 bytes");
    refuses(loop, "", "INVALID_INPUT", "has 1 to 107 bytes");
    refuses(loop, at("none/socket"), "IO", "cannot listen on");
    refuses(loop, folder, "IO", "is not a socket");
    char lock[100];
    (void)snprintf(lock, sizeof lock, "%s.lock", folder);
    assert_int_equal(access(lock, F_OK), -1);

    int file = open(at("file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    (void)close(file);
    refuses(loop, at("file"), "IO", "is not a socket");
    assert_int_equal(unlink(at("file")), 0); /* it is still there */
    assert_int_equal(symlink("nowhere", at("link")), 0);
    refuses(loop, at("link"), "IO", "is not a socket");
    assert_int_equal(unlink(at("link")), 0);

    (void)snprintf(path, sizeof path, "%s/", folder); /* the longest path is one */
    memset(path + strlen(path), 'y', RPC_SOCKET_PATH_MAX - strlen(path));
    path[RPC_SOCKET_PATH_MAX] = '\0';
    struct rpc_listener *listener = rpc_listener_open(loop, path, 0600, never_accepted, NULL, NULL);
    assert_non_null(listener);
    rpc_listener_close(listener);
    (void)loop_run(loop, false_of, NULL);
    loop_free(loop);
}

static void a_socket_has_one_owner(void **state) {
    struct loop *loop = loop_new(NULL);
    (void)state;
    struct rpc_listener *listener = rpc_listener_open(loop, at("s"), 0600, never_accepted, NULL, NULL);
    assert_non_null(listener);
    refuses(loop, at("s"), "IO", "another host listens on");
    rpc_listener_close(listener);
    rpc_listener_close(NULL);
    (void)loop_run(loop, false_of, NULL);
    assert_int_equal(access(at("s"), F_OK), -1);
    assert_int_equal(access(at("s.lock"), F_OK), -1);

    int other = bound_socket(at("s")); /* a program without the lock listens */
    assert_int_equal(listen(other, 1), 0);
    refuses(loop, at("s"), "IO", "another program listens on");
    assert_int_equal(access(at("s"), F_OK), 0);
    (void)close(other); /* now it is left behind, as by a process that was killed */
    listener = rpc_listener_open(loop, at("s"), 0600, never_accepted, NULL, NULL);
    assert_non_null(listener);
    rpc_listener_close(listener);
    (void)loop_run(loop, false_of, NULL);
    loop_free(loop);
}

/* A lock file that was left behind, without a process that holds it, and one that is held. */
static void locks_are_those_of_processes(void **state) {
    struct loop *loop = loop_new(NULL);
    (void)state;
    int lock = open(at("s.lock"), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    refuses(loop, at("s"), "IO", "another host listens on");
    (void)close(lock);
    struct rpc_listener *listener = rpc_listener_open(loop, at("s"), 0600, never_accepted, NULL, NULL);
    assert_non_null(listener);
    rpc_listener_close(listener);
    (void)loop_run(loop, false_of, NULL);
    loop_free(loop);
}

static void a_socket_has_its_mode(void **state) {
    static const mode_t modes[] = {0600, 0660, 0666, 0};
    struct loop *loop = loop_new(NULL);
    struct stat found;
    (void)state;
    mode_t mask = umask(0077);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct rpc_listener *listener = rpc_listener_open(loop, at("s"), modes[i], never_accepted, NULL, NULL);
        assert_int_equal(stat(at("s"), &found), 0);
        assert_int_equal(found.st_mode & 0777, modes[i]);
        assert_int_equal(stat(at("s.lock"), &found), 0);
        assert_int_equal(found.st_mode & 0777, 0600);
        rpc_listener_close(listener);
    }
    (void)umask(mask);
    (void)loop_run(loop, false_of, NULL);
    loop_free(loop);
}

static void nobody_listens(void **state) {
    struct loop *loop = loop_new(NULL);
    struct error error = ERROR_INIT;
    (void)state;
    assert_null(rpc_connect(loop, at("s"), &error));
    assert_string_equal(error.code, "NOT_FOUND");
    assert_non_null(strstr(error.message, "start a host there with `tenon serve --socket "));
    int other = bound_socket(at("s"));
    (void)close(other);
    assert_null(rpc_connect(loop, at("s"), &error)); /* left behind */
    assert_string_equal(error.code, "NOT_FOUND");
    assert_int_equal(unlink(at("s")), 0);
    error_finish(&error);
    loop_free(loop);
}

/* ---- Connections ---- */

struct listening {
    struct served served;
    struct connections *all;
    struct loop *loop;
};

static void listening_open(struct listening *here, enum method_scope scope) {
    struct error error = ERROR_INIT;
    served_open(&here->served, METHOD_ADMIN);
    here->loop = host_loop(here->served.host);
    here->all = connections_new(here->served.server, NULL, NULL);
    if (!connections_listen(here->all, at("s"), 0600, scope, &error)) fail_msg("%s", error.message);
}

static void listening_close(struct listening *here) {
    connections_stop(here->all);
    connections_stop(here->all); /* may be repeated */
    (void)loop_run(here->loop, connections_are_closed, here->all);
    assert_int_equal(connections_count(here->all), 0);
    connections_free(here->all);
    served_close(&here->served);
}

static void wire_connect(struct wire *wire, struct loop *loop) {
    const struct sockaddr_un address = address_of(at("s"));
    (void)signal(SIGPIPE, SIG_IGN);
    *wire = (struct wire){.loop = loop, .far = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    buffer_init(&wire->got, SIZE_MAX);
    if (connect(wire->far, (const struct sockaddr *)&address, sizeof address) != 0)
        fail_msg("connect: %s", strerror(errno));
}

static void each_client_has_a_connection(void **state) {
    struct listening here;
    struct wire lines, headers;
    (void)state;
    listening_open(&here, METHOD_READ);
    wire_connect(&lines, here.loop);
    wire_connect(&headers, here.loop);
    wire_send(&lines, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run/list\"}\n");
    wire_expect(&lines, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"runs\":[],\"more\":false}}");
    wire_send(&headers, "Content-Length: 46\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"host/info\"}  ");
    assert_non_null(strstr(buffer_cstr(&headers.got), "\"scope\":\"read\""));
    assert_int_equal(strncmp(headers.got.data, "Content-Length: ", 16), 0);
    assert_int_equal(connections_count(here.all), 2);
    wire_close(&lines);
    assert_int_equal(connections_count(here.all), 1);
    connections_refuse(here.all); /* no more, but this one stays */
    assert_int_equal(access(at("s"), F_OK), -1);
    wire_turn(&headers);
    assert_int_equal(connections_count(here.all), 1);
    listening_close(&here);
    wire_drop(&headers);
}

static void connections_are_limited(void **state) {
    struct listening here;
    struct rlimit files;
    static struct wire far[CONNECTIONS_MAX + 2];
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    if (files.rlim_max < 2 * CONNECTIONS_MAX + 100 || setrlimit(RLIMIT_NOFILE, &files) != 0) skip();
    listening_open(&here, METHOD_ADMIN);
    for (size_t i = 0; i < CONNECTIONS_MAX + 2; i++) {
        wire_connect(&far[i], here.loop);
        loop_run_turn(here.loop);
    }
    wire_turn(&far[CONNECTIONS_MAX + 1]);
    assert_int_equal(connections_count(here.all), CONNECTIONS_MAX);
    for (size_t i = CONNECTIONS_MAX; i < CONNECTIONS_MAX + 2; i++) {
        wire_turn(&far[i]);
        wire_expect_parts(&far[i], "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000", "\"code\":\"LIMIT\"");
        assert_true(far[i].ended);
        wire_close(&far[i]);
    }
    wire_close(&far[0]); /* there is room again */
    wire_connect(&far[0], here.loop);
    wire_send(&far[0], "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run/list\"}\n");
    wire_expect_parts(&far[0], "\"id\":1,\"result\":", "[]");
    listening_close(&here);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) wire_drop(&far[i]);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(paths_are_checked),       IN_FOLDER(a_socket_has_one_owner), IN_FOLDER(locks_are_those_of_processes),
        IN_FOLDER(a_socket_has_its_mode),   IN_FOLDER(nobody_listens),         IN_FOLDER(each_client_has_a_connection),
        IN_FOLDER(connections_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
