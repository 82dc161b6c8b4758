/*
 * secret.c - fetching what {secret: NAME} refers to: a variable, a file, or what a command prints.
 *
 * The text goes to whoever asked and nowhere else: no message, log or cache has it. One line end is taken off the end,
 * as files and commands have one. A command gets no input, its standard error is the operator's. What has not come to
 * an end within CONFIG_SECRET_MS is given up: a command that waits for somebody, a pipe that nobody writes to.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/clock.h"
#include "host/config/config.h"
#include "host/config/config_internal.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int32_t refuse(struct error *error, const char *name, const char *how, const char *why) {
    return error_set(error, TN_NOT_FOUND, "SECRET_NOT_FOUND", "the secret `%s` cannot be had: %s: %s", name, how, why);
}

/* How long what comes is waited for, and what ends it before. */
struct patience {
    int64_t until_ms;
    int stop;  /* a descriptor: once it can be read, nobody wants the secret any more; -1: none */
    int child; /* a descriptor of the process that writes; -1: none */
};

enum came { SOMETHING, ENDED, LATE, STOPPED };

/* ENDED: the process has, and nothing more is to be waited for; a child of it may hold its end for ever. */
static enum came wait_for(int descriptor, const struct patience *patience) {
    struct pollfd ready[] = {{.fd = descriptor, .events = POLLIN},
                             {.fd = patience->stop, .events = POLLIN},
                             {.fd = patience->child, .events = POLLIN}};
    int got;
    do {
        int64_t left = patience->until_ms - clock_now_ms();
        got = poll(ready, sizeof ready / sizeof *ready, left > 0 ? (int)left : 0);
    } while (got < 0 && errno == EINTR);
    if (ready[0].revents) return SOMETHING;
    if (ready[1].revents) return STOPPED;
    return ready[2].revents ? ENDED : LATE;
}

static const char *given_up(enum came came) {
    return came == STOPPED ? "nobody waits for it any more" : "it had not come to an end within 60 seconds";
}

/* Everything `descriptor` gives, as a string. Fails with a static reason. */
static tn_value drain(int descriptor, const struct patience *patience, const char **why) {
    struct buffer text;
    char chunk[1024];
    ssize_t got = 1;
    enum came came = SOMETHING;
    tn_value secret = NULL;
    buffer_init(&text, CONFIG_SECRET_MAX);
    while (got != 0 && (came = wait_for(descriptor, patience)) == SOMETHING) {
        got = read(descriptor, chunk, sizeof chunk);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got < 0) break;
        buffer_append(&text, chunk, (size_t)got);
        if (text.overflow) break;
    }
    if (came == LATE || came == STOPPED) {
        *why = given_up(came);
    } else if (got < 0) {
        *why = "it cannot be read";
    } else if (text.overflow) {
        *why = "it is longer than 64 KiB";
    } else {
        size_t length = text.length;
        if (length > 0 && text.data[length - 1] == '\n') length--;
        if (length > 0 && text.data[length - 1] == '\r') length--;
        secret = value_string(buffer_cstr(&text), length);
        if (!secret) *why = "it is not UTF-8";
    }
    /* Copies are not kept lying about in freed memory. */
    explicit_bzero(chunk, sizeof chunk);
    if (text.data) explicit_bzero(text.data, text.length);
    buffer_finish(&text);
    return secret;
}

static int32_t from_environment(const char *name, const char *variable, tn_value *out, struct error *error) {
    const char *text = getenv(variable);
    tn_value how = value_format("the environment variable %s", variable);
    int32_t status = TN_OK;
    if (!text)
        status = refuse(error, name, value_chars(how, NULL), "it is not set");
    else if ((*out = value_string(text, strlen(text))) == NULL)
        status = refuse(error, name, value_chars(how, NULL), "it is not UTF-8");
    value_unref(how);
    return status;
}

static int32_t from_file(const char *name, const char *path, const struct patience *patience, tn_value *out,
                         struct error *error) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) return refuse(error, name, path, strerror(errno));
    const char *why = NULL;
    tn_value secret = drain(descriptor, patience, &why);
    close(descriptor);
    if (!secret) return refuse(error, name, path, why);
    *out = secret;
    return TN_OK;
}

/* Gone, or killed once nobody waits any more. True: it ended well. */
static bool end_command(pid_t child, const struct patience *patience, const char **why) {
    int state = 0;
    enum came came = patience->child >= 0 ? wait_for(-1, patience) : ENDED;
    bool killed = came != ENDED && kill(child, SIGKILL) == 0;
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
    if (killed && WIFSIGNALED(state)) *why = given_up(came);
    return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

/* It stays in our process group: it may ask at the terminal, and Ctrl-C is for it as well. */
static int32_t from_command(const char *name, tn_value command, struct patience *patience, tn_value *out,
                            struct error *error) {
    size_t count = value_count(command);
    assert(count > 0); /* as the configuration was read */
    char **arguments = mem_array(NULL, count + 1, sizeof *arguments);
    for (size_t i = 0; i < count; i++) arguments[i] = mem_text(value_chars(value_at(command, i), NULL));
    arguments[count] = NULL;
    int ends[2] = {-1, -1};
    pid_t child;
    const char *why = NULL;
    tn_value secret = NULL;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        why = strerror(errno);
    } else {
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        int failure = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        if (failure) {
            why = strerror(failure);
        } else {
            patience->child = (int)syscall(SYS_pidfd_open, child, 0);
            secret = drain(ends[0], patience, &why);
            close(ends[0]); /* before waiting: one that writes on is told so */
            ends[0] = -1;
            const char *other = "the command failed";
            if (!end_command(child, patience, &other) && secret) {
                value_unref(secret);
                secret = NULL;
                why = other;
            }
            if (patience->child >= 0) close(patience->child);
        }
        if (ends[0] >= 0) close(ends[0]);
    }
    int32_t status = secret ? TN_OK : refuse(error, name, arguments[0], why);
    if (secret) *out = secret;
    for (size_t i = 0; i < count; i++) mem_free(arguments[i]);
    mem_free((void *)arguments);
    return status;
}

int32_t config_secret(const struct config *config, const char *name, int stop, tn_value *out, struct error *error) {
    tn_value row = config ? value_get(config->secrets, name) : NULL;
    tn_value env = value_get(row, "env"), file = value_get(row, "file"), command = value_get(row, "command");
    int64_t ms = config && config->secret_ms ? config->secret_ms : CONFIG_SECRET_MS;
    struct patience patience = {clock_now_ms() + ms, stop, -1};
    if (command) return from_command(name, command, &patience, out, error);
    if (file) return from_file(name, value_chars(file, NULL), &patience, out, error);
    return from_environment(name, env ? value_chars(env, NULL) : name, out, error);
}

bool config_secret_waits(const struct config *config, const char *name) {
    tn_value row = config ? value_get(config->secrets, name) : NULL, file = value_get(row, "file");
    struct stat status;
    if (file && stat(value_chars(file, NULL), &status) == 0) return !S_ISREG(status.st_mode);
    return value_get(row, "command") != NULL;
}

bool config_secret_absent(const struct config *config, const char *name) {
    tn_value row = config ? value_get(config->secrets, name) : NULL, env = value_get(row, "env");
    if (value_get(row, "command") || value_get(row, "file")) return false;
    return getenv(env ? value_chars(env, NULL) : name) == NULL;
}

tn_value config_secret_hosts(const struct config *config, const char *name) {
    return config ? value_get(value_get(config->secrets, name), "hosts") : NULL;
}

/* What cannot be had stays; *error is of the first. */
static tn_value revealed(const struct config *config, tn_value value, struct error *error) {
    if (value_is(value, TN_OBJECT)) {
        tn_value name = value_count(value) == 1 ? value_get(value, "secret") : NULL, secret = NULL;
        if (name && value_is(name, TN_STRING)) {
            struct error why = ERROR_INIT;
            int32_t status = config_secret(config, value_chars(name, NULL), -1, &secret, &why);
            if (status != TN_OK && !error->code) error_copy(error, &why);
            error_finish(&why);
            return status == TN_OK ? secret : value_ref(value);
        }
    } else if (!value_is(value, TN_ARRAY)) {
        return value_ref(value);
    }
    tn_value all = value_ref(value);
    bool object = value_is(value, TN_OBJECT);
    for (size_t i = 0; i < value_count(value); i++) {
        tn_value item = object ? value_value_at(value, i) : value_at(value, i);
        tn_value fresh = revealed(config, item, error);
        if (fresh == item)
            value_unref(fresh);
        else if (object)
            all = value_set_key_take(all, value_ref(value_key_at(value, i)), fresh);
        else
            all = value_replace_take(all, i, fresh);
    }
    return all;
}

int32_t config_reveal(const struct config *config, tn_value value, tn_value *out, struct error *error) {
    struct error why = ERROR_INIT;
    *out = revealed(config, value, &why);
    int32_t status = why.code ? TN_NOT_FOUND : TN_OK;
    if (status != TN_OK && error) error_copy(error, &why);
    error_finish(&why);
    return status;
}
