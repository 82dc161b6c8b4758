/*
 * config_secret.c - fetches the text of a secret: an environment variable, a file, or the output of a command.
 *
 * Only the caller receives the text: no message, log or cache contains it. One line end is removed from the end. A
 * command has no input, and its standard error is that of this process. After CONFIG_SECRET_MS a command is killed, and
 * reading of a pipe is given up.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/clock.h"
#include "host/base/config/config.h"
#include "host/base/config/config_internal.h"
#include "host/base/environment.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int32_t secret_fail(struct error *error, const char *name, const char *how, const char *why) {
    return error_set(error, TN_NOT_FOUND, "SECRET_NOT_FOUND", "the secret `%s` is not available: %s: %s", name, how,
                     why);
}

/* When to stop waiting for the text. */
struct secret_wait {
    int64_t until_ms;
    int stop;  /* a descriptor; the wait is cancelled when it is readable; -1 if not used */
    int child; /* a pidfd of the process that writes; -1 if there is no process */
};

enum secret_event { SECRET_READABLE, SECRET_CHILD_ENDED, SECRET_TIMEOUT, SECRET_STOPPED };

/* After SECRET_CHILD_ENDED nothing more is read: a child of the process may keep the pipe open forever. */
static enum secret_event secret_wait_readable(int descriptor, const struct secret_wait *wait) {
    struct pollfd ready[] = {{.fd = descriptor, .events = POLLIN},
                             {.fd = wait->stop, .events = POLLIN},
                             {.fd = wait->child, .events = POLLIN}};
    int got;
    do {
        int64_t left = wait->until_ms - clock_now_ms();
        got = poll(ready, sizeof ready / sizeof *ready, left > 0 ? (int)left : 0);
    } while (got < 0 && errno == EINTR);
    if (ready[0].revents) return SECRET_READABLE;
    if (ready[1].revents) return SECRET_STOPPED;
    return ready[2].revents ? SECRET_CHILD_ENDED : SECRET_TIMEOUT;
}

static const char *secret_wait_reason(enum secret_event event) {
    return event == SECRET_STOPPED ? "the host no longer needs it" : "it did not end within 60 seconds";
}

/* Reads `descriptor` to its end. Returns NULL with a static text in *why on failure. */
static tn_value secret_read_all(int descriptor, const struct secret_wait *wait, const char **why) {
    struct buffer text;
    char chunk[1024];
    ssize_t got = 1;
    enum secret_event event = SECRET_READABLE;
    tn_value secret = NULL;
    buffer_init(&text, CONFIG_SECRET_MAX);
    while (got != 0 && (event = secret_wait_readable(descriptor, wait)) == SECRET_READABLE) {
        got = read(descriptor, chunk, sizeof chunk);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got < 0) break;
        buffer_append(&text, chunk, (size_t)got);
        if (text.overflow) break;
    }
    if (event == SECRET_TIMEOUT || event == SECRET_STOPPED) {
        *why = secret_wait_reason(event);
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
    /* Leave no copy in freed memory. */
    explicit_bzero(chunk, sizeof chunk);
    buffer_wipe(&text);
    return secret;
}

static int32_t secret_from_environment(const char *name, const char *variable, tn_value *out, struct error *error) {
    tn_value text = environment_get(variable), how = value_format("the environment variable %s", variable);
    int32_t status = TN_OK;
    if (value_is(text, TN_STRING))
        *out = value_ref(text);
    else
        status = secret_fail(error, name, value_chars(how, NULL), text ? "it is not UTF-8" : "it is not set");
    value_unref(text);
    value_unref(how);
    return status;
}

static int32_t secret_from_file(const char *name, const char *path, const struct secret_wait *wait, tn_value *out,
                                struct error *error) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) return secret_fail(error, name, path, strerror(errno));
    const char *why = NULL;
    tn_value secret = secret_read_all(descriptor, wait, &why);
    close(descriptor);
    if (!secret) return secret_fail(error, name, path, why);
    *out = secret;
    return TN_OK;
}

/* Waits for the command, or kills it at the end of the wait. Returns true if it exited with 0. */
static bool secret_command_end(pid_t child, const struct secret_wait *wait, const char **why) {
    int state = 0;
    enum secret_event event = wait->child >= 0 ? secret_wait_readable(-1, wait) : SECRET_CHILD_ENDED;
    bool killed = event != SECRET_CHILD_ENDED && kill(child, SIGKILL) == 0;
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
    if (killed && WIFSIGNALED(state)) *why = secret_wait_reason(event);
    return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

/*
 * Starts the command with `output` as its standard output. It stays in our process group, so it can use the terminal,
 * and Ctrl-C reaches it. No signal is blocked, and SIGPIPE is not ignored, also if that is so in this process. Returns
 * 0 or an errno value.
 */
static int secret_command_spawn(pid_t *child, char **arguments, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int failure = posix_spawnp(child, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

static int32_t secret_from_command(const char *name, tn_value command, struct secret_wait *wait, tn_value *out,
                                   struct error *error) {
    size_t count = value_count(command);
    assert(count > 0); /* config_read.c checks that */
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
        int failure = secret_command_spawn(&child, arguments, ends[1]);
        close(ends[1]);
        if (failure) {
            why = strerror(failure);
        } else {
            wait->child = (int)syscall(SYS_pidfd_open, child, 0);
            secret = secret_read_all(ends[0], wait, &why);
            close(ends[0]); /* before waiting: a command that continues to write gets SIGPIPE */
            ends[0] = -1;
            const char *other = "the command failed";
            if (!secret_command_end(child, wait, &other) && secret) {
                value_unref(secret);
                secret = NULL;
                why = other;
            }
            if (wait->child >= 0) close(wait->child);
        }
        if (ends[0] >= 0) close(ends[0]);
    }
    int32_t status = secret ? TN_OK : secret_fail(error, name, arguments[0], why);
    if (secret) *out = secret;
    for (size_t i = 0; i < count; i++) mem_free(arguments[i]);
    mem_free((void *)arguments);
    return status;
}

int32_t config_secret(const struct config *config, const char *name, int stop, tn_value *out, struct error *error) {
    tn_value row = config ? value_get(config->secrets, name) : NULL;
    tn_value file = value_get(row, "file"), command = value_get(row, "command");
    int64_t ms = config && config->secret_ms ? config->secret_ms : CONFIG_SECRET_MS;
    struct secret_wait wait = {clock_now_ms() + ms, stop, -1};
    if (command) return secret_from_command(name, command, &wait, out, error);
    if (file) return secret_from_file(name, value_chars(file, NULL), &wait, out, error);
    return secret_from_environment(name, config_secret_variable(config, name), out, error);
}

bool config_secret_waits(const struct config *config, const char *name) {
    tn_value row = config ? value_get(config->secrets, name) : NULL, file = value_get(row, "file");
    struct stat status;
    if (file && stat(value_chars(file, NULL), &status) == 0) return !S_ISREG(status.st_mode);
    return value_get(row, "command") != NULL;
}

const char *config_secret_variable(const struct config *config, const char *name) {
    tn_value row = config ? value_get(config->secrets, name) : NULL, env = value_get(row, "env");
    if (value_get(row, "command") || value_get(row, "file")) return NULL;
    return env ? value_chars(env, NULL) : name;
}

tn_value config_secret_where(const struct config *config, const char *name) {
    tn_value row = config ? value_get(config->secrets, name) : NULL, file = value_get(row, "file");
    tn_value command = value_get(row, "command");
    if (value_is(file, TN_STRING)) return value_format("the file %.200s", value_chars(file, NULL));
    if (value_is(command, TN_ARRAY) && value_count(command) && value_is(value_at(command, 0), TN_STRING))
        return value_format("the command `%.200s`", value_chars(value_at(command, 0), NULL));
    if (command) return value_text("a command");
    return value_format("the environment variable %.200s", config_secret_variable(config, name));
}

bool config_secret_absent(const struct config *config, const char *name) {
    const char *variable = config_secret_variable(config, name);
    return variable && !environment_has(variable);
}

tn_value config_secret_hosts(const struct config *config, const char *name) {
    return config ? value_get(value_get(config->secrets, name), "hosts") : NULL;
}

/* ---- The variables of all secrets ---- */

void config_each_reference(const struct config *config, tn_value value, void (*each)(const char *variable)) {
    bool object = value_is(value, TN_OBJECT);
    if (!object && !value_is(value, TN_ARRAY)) return;
    tn_value name = object ? value_get(value, "secret") : NULL;
    const char *variable = value_is(name, TN_STRING) ? config_secret_variable(config, value_chars(name, NULL)) : NULL;
    if (variable) each(variable);
    for (size_t i = 0; i < value_count(value); i++)
        config_each_reference(config, object ? value_value_at(value, i) : value_at(value, i), each);
}

void config_each_secret_variable(const struct config *config, void (*each)(const char *variable)) {
    if (!config) return;
    for (size_t i = 0; i < value_count(config->secrets); i++) {
        const char *variable = config_secret_variable(config, value_chars(value_key_at(config->secrets, i), NULL));
        if (variable) each(variable);
    }
    config_each_reference(config, config->plugins, each);
    config_each_reference(config, config->models, each);
    config_each_reference(config, config->providers, each);
    config_each_reference(config, config->registries, each);
}

/* ---- The check of secrets ---- */

/* Adds {name: where} for each {secret: NAME} in `value` that is not among them yet. */
static tn_value collect_secrets_take(tn_value names, tn_value value, const char *where) {
    bool object = value_is(value, TN_OBJECT);
    if (!object && !value_is(value, TN_ARRAY)) return names;
    tn_value name = object && value_count(value) == 1 ? value_get(value, "secret") : NULL;
    if (value_is(name, TN_STRING) && !value_get_key(names, name))
        return value_set_key_take(names, value_ref(name), value_text(where));
    for (size_t i = 0; i < value_count(value); i++)
        names = collect_secrets_take(names, object ? value_value_at(value, i) : value_at(value, i), where);
    return names;
}

void config_check_secrets(const struct config *config, void (*report)(void *user, const char *message), void *user) {
    if (!config) return;
    tn_value in_plugins = collect_secrets_take(value_object(), config->plugins, "plugins.config");
    tn_value names = value_object();
    names = collect_secrets_take(names, config->models, "models");
    names = collect_secrets_take(names, config->providers, "providers");
    names = collect_secrets_take(names, config->registries, "packs.registries");
    for (size_t i = 0; i < value_count(config->secrets); i++) {
        tn_value name = value_key_at(config->secrets, i);
        if (!value_get_key(names, name)) names = value_set_key_take(names, value_ref(name), value_text("secrets"));
    }
    for (size_t i = 0; i < value_count(names); i++) {
        struct error error = ERROR_INIT;
        tn_value name = value_key_at(names, i), secret = NULL;
        if (value_get_key(in_plugins, name)) continue;
        if (config_secret(config, value_chars(name, NULL), -1, &secret, &error) != TN_OK) {
            tn_value message =
                value_format("tenon.yaml: %s: %s", value_chars(value_value_at(names, i), NULL), error.message);
            report(user, value_chars(message, NULL));
            value_unref(message);
        }
        value_unref(secret);
        error_finish(&error);
    }
    value_unref(names);
    value_unref(in_plugins);
}

/* ---- Configuration with texts of secrets ---- */

/* A secret that is not available stays a reference; *error describes the first. */
static tn_value config_reveal_value(const struct config *config, tn_value value, struct error *error) {
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
        tn_value fresh = config_reveal_value(config, item, error);
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
    *out = config_reveal_value(config, value, &why);
    int32_t status = why.code ? TN_NOT_FOUND : TN_OK;
    if (status != TN_OK && error) error_copy(error, &why);
    error_finish(&why);
    return status;
}
