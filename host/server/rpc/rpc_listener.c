/*
 * rpc_listener.c - opens, locks and removes the socket, and accepts connections.
 */
#include "host/server/rpc/rpc_listener.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/server/rpc/rpc_stream.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#define BACKLOG 128

struct rpc_listener {
    uv_pipe_t pipe;
    struct loop *loop;
    char *path, *lock_path;
    int lock; /* descriptor of PATH.lock */
    void (*accepted)(void *user, struct rpc_stream *stream);
    void *user;
};

static int32_t fail_to_listen(struct error *error, const char *path, const char *reason) {
    return error_set(error, TN_FAILED, "IO", "cannot listen on %s: %s", path, reason);
}

/* ---- The lock ---- */

/* The file may have been removed between opening and locking it: then it must be opened again. */
static bool is_locked_file(int descriptor, const char *path) {
    struct stat ours, there;
    return fstat(descriptor, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino &&
           ours.st_dev == there.st_dev;
}

/* The folder of the socket is wrong more often than the lock. */
static int32_t fail_to_lock(const struct rpc_listener *listener, int failure, struct error *error) {
    const char *slash = strrchr(listener->path, '/');
    int length = slash ? (int)(slash - listener->path) : 0;
    if (failure == ENOENT && slash)
        return error_set(error, TN_FAILED, "IO", "cannot listen on %s: the folder %.*s does not exist", listener->path,
                         length ? length : 1, listener->path);
    return error_set(error, TN_FAILED, "IO", "cannot listen on %s: cannot create %s: %s", listener->path,
                     listener->lock_path, strerror(failure));
}

static int32_t take_lock(struct rpc_listener *listener, struct error *error) {
    for (;;) {
        listener->lock = open(listener->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (listener->lock < 0) return fail_to_lock(listener, errno, error);
        if (flock(listener->lock, LOCK_EX | LOCK_NB) != 0) {
            bool busy = errno == EWOULDBLOCK;
            int32_t status =
                busy ? error_set(error, TN_FAILED, "IO",
                                 "another host listens on %s; stop it, or choose another socket", listener->path)
                     : fail_to_listen(error, listener->lock_path, strerror(errno));
            (void)close(listener->lock);
            listener->lock = -1;
            return status;
        }
        if (is_locked_file(listener->lock, listener->lock_path)) return TN_OK;
        (void)close(listener->lock);
    }
}

static void release_lock(struct rpc_listener *listener) {
    if (listener->lock < 0) return;
    (void)unlink(listener->lock_path);
    (void)close(listener->lock);
    listener->lock = -1;
}

/* ---- The socket ---- */

static int32_t set_address(const char *path, struct sockaddr_un *address, struct error *error) {
    if (strlen(path) == 0 || strlen(path) > RPC_SOCKET_PATH_MAX)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "the path of a socket has 1 to %u bytes; `%s` has %zu: use a shorter folder, such as "
                         "$XDG_RUNTIME_DIR",
                         RPC_SOCKET_PATH_MAX, path, strlen(path));
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, path, strlen(path) + 1);
    return TN_OK;
}

/* True if a program accepts connections there: one that has no lock is not a host. */
static bool is_in_use(const struct sockaddr_un *address) {
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool used =
        probe >= 0 && (connect(probe, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EAGAIN);
    if (probe >= 0) (void)close(probe);
    return used;
}

/* With the lock held, a socket at the path belongs to a host that has ended, or to another program. */
static int32_t remove_old_socket(const char *path, struct error *error) {
    struct stat old;
    struct sockaddr_un address;
    if (set_address(path, &address, error) != TN_OK) return TN_INVALID;
    if (lstat(path, &old) != 0) return TN_OK;
    if (!S_ISSOCK(old.st_mode))
        return error_set(error, TN_FAILED, "IO", "%s exists and is not a socket; choose another path", path);
    if (is_in_use(&address))
        return error_set(error, TN_FAILED, "IO", "another program listens on %s; choose another path", path);
    return unlink(path) == 0 ? TN_OK : fail_to_listen(error, path, strerror(errno));
}

/* Returns the bound descriptor, or -1. No client can connect before it listens, so the mode is in force before. */
static int bind_socket(const char *path, mode_t mode, struct error *error) {
    struct sockaddr_un address;
    if (set_address(path, &address, error) != TN_OK) return -1;
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made >= 0 && bind(made, (const struct sockaddr *)&address, sizeof address) == 0) {
        if (chmod(path, mode) == 0) return made;
        (void)unlink(path);
    }
    (void)fail_to_listen(error, path, strerror(errno));
    if (made >= 0) (void)close(made);
    return -1;
}

static void listener_on_connection(uv_stream_t *handle, int status) {
    struct rpc_listener *listener = handle->data;
    struct error error = ERROR_INIT;
    struct rpc_stream *stream = status == 0 ? rpc_stream_accept(listener->loop, handle, &error) : NULL;
    if (stream)
        listener->accepted(listener->user, stream);
    else
        log_write(LOG_WARN, NULL, "%s", status ? uv_strerror(status) : error.message);
    error_finish(&error);
}

static void listener_on_closed(uv_handle_t *handle) { mem_free(handle->data); }

static int32_t listener_start(struct rpc_listener *listener, mode_t mode, struct error *error) {
    int32_t status = take_lock(listener, error);
    if (status == TN_OK) status = remove_old_socket(listener->path, error);
    if (status != TN_OK) return status;
    int bound = bind_socket(listener->path, mode, error);
    if (bound < 0) return TN_FAILED;
    int failed = uv_pipe_open(&listener->pipe, bound);
    if (failed) (void)close(bound);
    if (!failed) failed = uv_listen((uv_stream_t *)&listener->pipe, BACKLOG, listener_on_connection);
    if (!failed) return TN_OK;
    (void)unlink(listener->path);
    return fail_to_listen(error, listener->path, uv_strerror(failed));
}

static void listener_free_later(struct rpc_listener *listener) {
    release_lock(listener);
    mem_free(listener->path);
    mem_free(listener->lock_path);
    uv_close((uv_handle_t *)&listener->pipe, listener_on_closed);
}

struct rpc_listener *rpc_listener_open(struct loop *loop, const char *path, mode_t mode,
                                       void (*accepted)(void *user, struct rpc_stream *stream), void *user,
                                       struct error *error) {
    struct sockaddr_un address;
    if (set_address(path, &address, error) != TN_OK) return NULL;
    struct rpc_listener *listener = mem_zalloc(sizeof *listener);
    listener->loop = loop;
    listener->path = mem_text(path);
    listener->lock_path = mem_alloc(strlen(path) + sizeof ".lock");
    (void)sprintf(listener->lock_path, "%s.lock", path);
    listener->lock = -1;
    listener->accepted = accepted;
    listener->user = user;
    (void)uv_pipe_init(loop_uv(loop), &listener->pipe, 0);
    listener->pipe.data = listener;
    if (listener_start(listener, mode, error) == TN_OK) return listener;
    listener_free_later(listener);
    return NULL;
}

/* libuv may remove the socket itself; the lock is released last. */
void rpc_listener_close(struct rpc_listener *listener) {
    if (!listener) return;
    (void)unlink(listener->path);
    listener_free_later(listener);
}

struct rpc_stream *rpc_connect(struct loop *loop, const char *path, struct error *error) {
    struct sockaddr_un address;
    if (set_address(path, &address, error) != TN_OK) return NULL;
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made >= 0 && connect(made, (const struct sockaddr *)&address, sizeof address) == 0)
        return rpc_stream_open(loop, made, made, error);
    bool absent = errno == ENOENT || errno == ECONNREFUSED;
    if (absent)
        error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                  "cannot connect to %s: %s; start a host there with `tenon serve --socket %s`", path, strerror(errno),
                  path);
    else
        error_set(error, TN_FAILED, "IO", "cannot connect to %s: %s", path, strerror(errno));
    if (made >= 0) (void)close(made);
    return NULL;
}
