/*
 * command_shared.c - what commands share: errors, opening a host, reading files, printing and signals.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/diagnostic/print.h"
#include "adl/document/inner_file.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/terminal.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/files.h"
#include "host/base/loop.h"
#include "host/loops/loops.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/plugin/pack/pack_sign.h"
#include "host/plugin/registry/manifest_cache.h"
#include "host/program/command.h"
#include "host/program/line_wait.h"
#include "host/server/server.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TENON_DATADIR
#define TENON_DATADIR "share" /* relative to the prefix, as the build installs */
#endif

/* ---- The installation ---- */

char *command_data_folder(const char *name) {
    char program[PATH_MAX], resolved[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) return NULL;
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    tn_value path = value_format("%s/../" TENON_DATADIR "/tenon/%s", program, name);
    bool found = realpath(value_chars(path, NULL), resolved) != NULL;
    value_unref(path);
    return found ? mem_text(resolved) : NULL;
}

/* ---- Errors and text ---- */

__attribute__((format(printf, 1, 0))) static void command_vwarn(const char *format, va_list args) {
    struct buffer text, safe;
    buffer_init(&text, COMMAND_FILE_MAX);
    buffer_init(&safe, SIZE_MAX);
    buffer_vformat(&text, format, args);
    terminal_text(&safe, buffer_cstr(&text), text.length, TERMINAL_LINE);
    fprintf(stderr, "tenon: %s\n", buffer_cstr(&safe));
    buffer_finish(&text);
    buffer_finish(&safe);
}

void command_warn(const char *format, ...) {
    va_list args;
    va_start(args, format);
    command_vwarn(format, args);
    va_end(args);
}

int command_report(int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    command_vwarn(format, args);
    va_end(args);
    return code;
}

static void command_vprintf(FILE *out, enum terminal_form form, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static void command_vprintf(FILE *out, enum terminal_form form, const char *format, va_list args) {
    struct buffer text, safe;
    buffer_init(&text, COMMAND_FILE_MAX);
    buffer_init(&safe, SIZE_MAX);
    buffer_vformat(&text, format, args);
    terminal_text(&safe, buffer_cstr(&text), text.length, form);
    fputs(buffer_cstr(&safe), out);
    buffer_finish(&text);
    buffer_finish(&safe);
}

void command_printf(FILE *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    command_vprintf(out, TERMINAL_LINES, format, args);
    va_end(args);
}

void command_print_line(FILE *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    command_vprintf(out, TERMINAL_LINE, format, args);
    va_end(args);
    fputc('\n', out);
}

void command_warn_error(const struct error *error) {
    command_warn("%s%s%s%s", error->message ? error->message : "failed", error->code ? " [" : "",
                 error->code ? error->code : "", error->code ? "]" : "");
}

int command_refuse_terminal(const char *protocol) {
    char *settings = command_data_folder("editors");
    command_warn("an editor starts this command, and sends messages of the %s to standard input%s%s", protocol,
                 settings ? "; settings for editors are in " : "", settings ? settings : "");
    mem_free(settings);
    return COMMAND_USAGE;
}

/* A store that is damaged, too new or not installed is a problem of the configuration, not of what was asked of it. */
static bool is_unusable_store(const struct error *error) {
    static const char *const codes[] = {"STORE_CORRUPT", "STORE_VERSION", "STORE_NOT_FOUND", "STORE_INCOMPLETE"};
    for (size_t i = 0; error->code && i < sizeof codes / sizeof *codes; i++)
        if (strcmp(error->code, codes[i]) == 0) return true;
    return false;
}

int command_report_error(int code, const struct error *error) {
    command_warn_error(error);
    return code == COMMAND_RUN_FAILED && is_unusable_store(error) ? COMMAND_PLUGIN_PROBLEM : code;
}

/* Returns all values of a repeated option, terminated by NULL. Free it with mem_free. */
static const char **option_values(const struct arguments *arguments, const char *option) {
    size_t count = argument_count(arguments, option);
    const char **all = mem_zalloc((count + 1) * sizeof *all);
    for (size_t i = 0; i < count; i++) all[i] = argument_at(arguments, option, i);
    return all;
}

/* The options of a host, from the command line. */
struct command_host_options {
    const char **paths, **isolate, **models; /* owned */
    char *manifest_cache;                    /* owned */
    struct host_options options;
};

static void host_options_init(struct command_host_options *read, const struct arguments *arguments) {
    read->paths = option_values(arguments, "plugins");
    read->isolate = option_values(arguments, "isolate");
    read->models = option_values(arguments, "model");
    read->manifest_cache = manifest_cache_place();
    read->options = (struct host_options){.plugin_paths = read->paths,
                                          .manifest_cache = read->manifest_cache,
                                          .isolate = read->isolate,
                                          .models = read->models,
                                          .config_file = argument_text(arguments, "config"),
                                          .no_config = argument_given(arguments, "no-config"),
                                          .check_plugins = argument_given(arguments, "check-plugins"),
                                          .allow_drafts = argument_given(arguments, "allow-drafts"),
                                          .quiet = argument_given(arguments, "quiet"),
                                          .record_dir = argument_text(arguments, "record"),
                                          .replay_dir = argument_text(arguments, "replay")};
}

static void host_options_finish(struct command_host_options *read) {
    mem_free((void *)read->paths);
    mem_free((void *)read->isolate);
    mem_free((void *)read->models);
    mem_free(read->manifest_cache);
}

/* Commands about plugins show what is in the files, whatever a cache says. */
static bool refreshes_manifests(const struct arguments *arguments) {
    return strncmp(argument_command_name(arguments), "plugin", strlen("plugin")) == 0;
}

/* Commands that only read documents start no programs to find tools: they use what is known of the last time. */
static bool starts_nothing(const struct arguments *arguments) {
    const char *name = argument_command_name(arguments);
    return strcmp(name, "check") == 0 || strcmp(name, "lsp") == 0;
}

static struct host *open_host(const struct arguments *arguments, bool quiet, const char *known_plugin,
                              const char *config, bool loads_later, struct error *error) {
    struct command_host_options read;
    host_options_init(&read, arguments);
    read.options.quiet = quiet;
    read.options.known_plugin = known_plugin;
    read.options.refresh_manifests = refreshes_manifests(arguments);
    read.options.known_only = starts_nothing(arguments);
    read.options.loads_later = loads_later;
    if (config) read.options.config_file = config;
    struct host *host = host_new(&read.options, error);
    if (host) server_set_sign_check(server_new(host), sign_check);
    host_options_finish(&read);
    return host;
}

/* ---- Loops ---- */

bool command_loops_count(const struct arguments *arguments, struct host *host, uint32_t *count) {
    const char *text = argument_text(arguments, "loops");
    int64_t number = CONFIG_LOOPS_AUTO;
    struct error error = ERROR_INIT;
    if (!text)
        number = config_loops(host_config(host));
    else if (strcmp(text, "auto") != 0 && !argument_number(arguments, "loops", 1, CONFIG_LOOPS_MAX, 1, &number))
        return false;
    *count = loops_resolve((int32_t)number);
    bool fits = loops_check(host, *count, &error) == TN_OK;
    if (fits)
        host_set_loops(host, *count);
    else
        command_warn_error(&error);
    error_finish(&error);
    return fits;
}

static void on_member_opened(void *user, struct host *host) {
    (void)user;
    server_set_sign_check(server_new(host), sign_check);
}

struct loops *command_loops(const struct arguments *arguments, struct host *host, uint32_t count, struct error *error) {
    struct command_host_options read;
    host_options_init(&read, arguments);
    struct loops *loops = loops_new(
        host, &(struct loops_options){.count = count, .host = read.options, .opened = on_member_opened}, error);
    host_options_finish(&read);
    return loops;
}

int command_server_loops(const struct arguments *arguments, struct host *host) {
    uint32_t count;
    struct error error = ERROR_INIT;
    if (!command_loops_count(arguments, host, &count)) return COMMAND_USAGE;
    struct loops *loops = count > 1 ? command_loops(arguments, host, count, &error) : NULL;
    int code = count == 1 || loops ? COMMAND_OK : command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    server_set_loops_take(server_of(host), loops);
    error_finish(&error);
    return code;
}

struct host *command_open(const struct arguments *arguments, struct error *error) {
    return open_host(arguments, argument_given(arguments, "quiet"), NULL, NULL, false, error);
}

struct host *command_open_served(const struct arguments *arguments, const char *config, struct error *error) {
    return open_host(arguments, argument_given(arguments, "quiet"), NULL, config, true, error);
}

struct host *command_open_quiet(const struct arguments *arguments, struct error *error) {
    return open_host(arguments, true, NULL, NULL, false, error);
}

struct host *command_host_for_plugin(const struct arguments *arguments, const char *id) {
    struct error error = ERROR_INIT;
    struct host *host = open_host(arguments, argument_given(arguments, "quiet"), id, NULL, false, &error);
    if (!host) command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    error_finish(&error);
    return host;
}

struct host *command_host(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    struct host *host = command_open(arguments, &error);
    if (!host) command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    error_finish(&error);
    return host;
}

/* ---- Reading ---- */

struct source *command_source(const char *path, struct error *error) {
    char *text;
    size_t length;
    if (!command_read_file(path, &text, &length, error)) return NULL;
    if (strcmp(path, "-") != 0 && packs_verify_read(path, text, length, error) != TN_OK) {
        mem_free(text);
        return NULL;
    }
    struct source *source = source_new(strcmp(path, "-") == 0 ? "<stdin>" : path, text, length);
    mem_free(text);
    return source;
}

struct source *command_document(const struct arguments *arguments, struct host *host, const char *path,
                                struct error *error) {
    if (!files_is_special_name(path)) return command_source(path, error);
    struct host *own = host ? NULL : command_open(arguments, error);
    if (!host && !own) return NULL;
    const struct catalog *catalog = host_catalog(host ? host : own);
    struct catalog_file found = {NULL, NULL};
    struct error why = ERROR_INIT;
    tn_value text = catalog->read(catalog->read_self, NULL, path, &found, &why);
    struct source *source = text ? inner_file_source(NULL, &found, text, SOURCE_SHOWN) : NULL;
    if (!source)
        error_set(error, TN_NOT_FOUND, why.code ? why.code : "LIMIT", "cannot open %s: %s", path,
                  why.message ? why.message : "it is too large");
    value_unref(text);
    catalog_file_finish(&found);
    error_finish(&why);
    host_free(own);
    return source;
}

static bool read_at_most(const char *path, size_t most, char **text, size_t *length, struct error *error) {
    bool standard = strcmp(path, "-") == 0;
    int descriptor = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        error_set(error, TN_NOT_FOUND, "IO", "cannot open %s: %s", path, strerror(errno));
        return false;
    }
    struct buffer buffer;
    buffer_init(&buffer, most);
    char chunk[65536];
    ssize_t got;
    while ((got = read(descriptor, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        buffer_append(&buffer, chunk, (size_t)got);
        if (buffer.overflow) break;
    }
    int failure = errno;
    if (!standard) close(descriptor);
    if (got < 0 || buffer.overflow) {
        if (buffer.overflow)
            error_set(error, TN_LIMIT, "LIMIT", "%s is larger than %zu MiB", standard ? "standard input" : path,
                      most >> 20);
        else
            error_set(error, TN_ERROR, "IO", "cannot read %s: %s", standard ? "standard input" : path,
                      strerror(failure));
        buffer_finish(&buffer);
        return false;
    }
    *text = buffer_detach(&buffer, length);
    return true;
}

bool command_read_file(const char *path, char **text, size_t *length, struct error *error) {
    return read_at_most(path, COMMAND_FILE_MAX, text, length, error);
}

char *command_locate(const struct arguments *arguments, const char *name, struct error *error) {
    if (!files_is_special_name(name)) return mem_text(name);
    struct host *host = command_open_quiet(arguments, error);
    struct error why = ERROR_INIT;
    char *path = NULL;
    if (host && host_locate_file(host, name, &path, &why) != TN_OK)
        error_set(error, TN_NOT_FOUND, why.code, "cannot open %s: %s", name, why.message);
    error_finish(&why);
    host_free(host);
    return path;
}

bool command_read_named(const struct arguments *arguments, const char *name, char **text, size_t *length,
                        struct error *error) {
    char *path = command_locate(arguments, name, error);
    bool read = path && command_read_file(path, text, length, error);
    mem_free(path);
    return read;
}

int32_t command_read_exported(const struct arguments *arguments, const char *name, tn_value *exported,
                              struct error *error) {
    char *path = command_locate(arguments, name, error), *text = NULL;
    size_t length = 0;
    bool read = path && read_at_most(path, COMMAND_EXPORTED_MAX, &text, &length, error);
    mem_free(path);
    if (!read) return TN_ERROR;
    size_t values = length / 8 < JSON_VALUES_MAX ? JSON_VALUES_MAX : length / 8;
    struct json_limits limits = {.values = values < UINT32_MAX ? (uint32_t)values : UINT32_MAX,
                                 .length = COMMAND_EXPORTED_MAX};
    int32_t status = json_read(text, length, &limits, exported, error);
    mem_free(text);
    return status;
}

tn_value command_json(const struct arguments *arguments, const char *text, const char *what, struct error *error) {
    char *read = NULL;
    size_t length = strlen(text);
    const char *where = what;
    if (text[0] == '@' || strcmp(text, "-") == 0) {
        where = text[0] == '@' ? text + 1 : "standard input";
        if (!command_read_named(arguments, text[0] == '@' ? text + 1 : "-", &read, &length, error)) return NULL;
    }
    tn_value value = NULL;
    struct error inner = ERROR_INIT;
    if (json_read(read ? read : text, length, NULL, &value, &inner) != TN_OK)
        error_set(error, TN_INVALID, "INVALID_INPUT", "%s: %s", where, inner.message);
    error_finish(&inner);
    mem_free(read);
    return value;
}

int32_t command_line_error(const char *path, size_t line, const char *message, struct error *error) {
    static const char place[] = ", at line 1, column ";
    const char *at = strstr(message, place);
    return error_set(error, TN_INVALID, "INVALID_INPUT", "%s:%zu%s%s: %.*s", path, line, at ? ":" : "",
                     at ? at + sizeof place - 1 : "", at ? (int)(at - message) : INT_MAX, message);
}

/* ---- Printing ---- */

static void put_as(FILE *out, const char *text, size_t length, enum terminal_form form) {
    struct buffer safe;
    if (!isatty(fileno(out))) {
        fwrite(text, 1, length, out);
        return;
    }
    buffer_init(&safe, SIZE_MAX);
    terminal_text(&safe, text, length, form);
    fwrite(buffer_cstr(&safe), 1, safe.length, out);
    buffer_finish(&safe);
}

void command_put(FILE *out, const char *text, size_t length) { put_as(out, text, length, TERMINAL_LINES); }

void command_put_line(tn_value text) {
    size_t length;
    const char *chars = value_chars(text, &length);
    command_put(stdout, chars, length);
    putchar('\n');
}

void command_put_json(FILE *out, tn_value value, enum json_style style) {
    char *text = json_text(value, style);
    put_as(out, text, strlen(text), TERMINAL_JSON);
    putc('\n', out);
    mem_free(text);
}

void command_print(tn_value value) {
    command_put_json(stdout, value, isatty(STDOUT_FILENO) ? JSON_INDENTED : JSON_COMPACT);
}

const char *command_text(tn_value object, const char *key, const char *otherwise) {
    tn_value value = value_get(object, key);
    return value && value_is(value, TN_STRING) ? value_chars(value, NULL) : otherwise;
}

static int write_failure; /* errno of the first failed write to standard output */

bool command_flush(void) {
    if ((fflush(stdout) != 0 || ferror(stdout)) && !write_failure) write_failure = errno ? errno : EIO;
    return write_failure == 0;
}

int command_close(int code) {
    static bool reported; /* some commands end with it, and command_main always does */
    if (command_flush()) return code;
    if (!reported) command_warn("cannot write to standard output: %s", strerror(write_failure));
    reported = true;
    return code ? code : COMMAND_RUN_FAILED;
}

bool command_colour(const struct arguments *arguments, int descriptor) {
    const char *wanted = argument_text(arguments, "color");
    if (wanted && strcmp(wanted, "always") == 0) return true;
    if (wanted && strcmp(wanted, "never") == 0) return false;
    const char *terminal = getenv("TERM"), *none = getenv("NO_COLOR");
    return isatty(descriptor) && !(none && *none) && terminal && strcmp(terminal, "dumb") != 0;
}

void command_print_diagnostics(const struct arguments *arguments, struct diagnostics *found, bool json) {
    diagnostics_sort(found);
    if (json) {
        tn_value value = value_set_take(value_object_reserve(1), "diagnostics", diagnostics_to_value(found));
        command_put_json(stdout, value, JSON_COMPACT);
        value_unref(value);
        return;
    }
    struct buffer out;
    buffer_init(&out, COMMAND_FILE_MAX);
    diagnostics_print(&out, found, &(struct diagnostic_style){.colour = command_colour(arguments, STDERR_FILENO)});
    fputs(buffer_cstr(&out), stderr);
    buffer_finish(&out);
}

/* ---- Signals ---- */

static volatile sig_atomic_t sigints;
static volatile sig_atomic_t sigterms;
static struct loop *volatile watched; /* NULL before its memory is freed */
static _Atomic bool *watched_flag;

#define END_SECONDS 15u /* for an end that has begun: after the first limit, or after another signal */

static unsigned end_seconds; /* 0: no limit */
static volatile sig_atomic_t end_signals, end_began, end_is_last;

static void on_end_alarm(int number) {
    static const char message[] =
        "tenon: the host is stuck, possibly in a plugin, and does not end in time; it exits\n";
    (void)number;
    if (end_began && !end_is_last) {
        end_is_last = 1;
        alarm(END_SECONDS);
    } else {
        ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
        (void)written;
        _exit(COMMAND_RUN_FAILED);
    }
}

/* At each signal. The loop may be stuck, so this calls only what is safe in a signal handler. */
static void limit_end(void) {
    bool first = end_signals++ == 0;
    if (!end_seconds) return;
    if (!first && end_began) end_is_last = 1;
    alarm(first ? end_seconds : end_began ? END_SECONDS : 1);
}

void command_limit_end(unsigned seconds) {
    struct sigaction action = {.sa_handler = on_end_alarm};
    end_seconds = seconds;
    sigaction(SIGALRM, &action, NULL);
}

void command_end_began(void) { end_began = 1; }

static void note_sigint(int number) {
    if (sigints++) {
        signal(number, SIG_DFL);
        raise(number); /* takes effect when the handler returns */
        return;
    }
    if (watched_flag) *watched_flag = true;
    if (watched) loop_wake(watched); /* uv_async_send is safe in a signal handler */
}

static void on_sigint(int number) {
    limit_end();
    note_sigint(number);
}

bool command_got_sigint(void) { return sigints > 0; }
void command_reset_sigint(void) { sigints = 0; }

/* The first SIGTERM requests an orderly end; the second one acts like Ctrl-C. */
static void on_sigterm(int number) {
    limit_end();
    if (sigterms++)
        note_sigint(number);
    else if (watched)
        loop_wake(watched);
}

bool command_got_sigterm(void) { return sigterms > 0; }

bool command_got_signal(void) { return sigints || sigterms; }

/*
 * The loop runs while nothing can be read: plugins' timers, servers and processes continue. Inside the loop, when a
 * person is asked for an approval, it does not.
 *
 * Signals are blocked between the check of the flags and ppoll. Otherwise a signal that arrives in between would be
 * noticed only after the next line of input.
 */
bool command_wait_line(int descriptor) {
    struct pollfd line = {.fd = descriptor, .events = POLLIN};
    sigset_t ours, before;
    int ready = 0;
    if (watched && !loop_running(watched) && poll(&line, 1, 0) == 0) line_wait(watched, descriptor, command_got_signal);
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigprocmask(SIG_BLOCK, &ours, &before);
    while (!command_got_signal() && (ready = ppoll(&line, 1, NULL, &before)) < 0 && errno == EINTR) continue;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return ready != 0 && !command_got_signal();
}

static void forget_loop(struct loop *loop) {
    if (watched == loop) watched = NULL;
}

void command_watch_signals_in(struct loop *loop) {
    struct sigaction action = {.sa_handler = on_sigint};
    loop_at_free(loop, forget_loop);
    watched = loop;
    sigaction(SIGINT, &action, NULL);
    if (!watched_flag) action.sa_handler = on_sigterm;
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void command_watch_signals(struct host *host) { command_watch_signals_in(host_loop(host)); }

void command_watch_signals_flag(struct host *host, _Atomic bool *flag) {
    watched_flag = flag;
    command_watch_signals(host);
}
