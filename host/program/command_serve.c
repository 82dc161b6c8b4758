/*
 * command_serve.c - `tenon serve` and `tenon lsp`: a host that stays up, for clients of HTTP, of a socket, or of stdin
 * and stdout. serve_web.c has what only HTTP needs.
 *
 * The first signal drains the host: it accepts no more clients, runs end after their super-step, and connections are
 * closed when all runs and requests have ended, or after the time of --drain. The second signal ends the drain. From
 * then on, isolated plugins, as of a store, have little time for each answer (host_limit_end). A host whose loop is
 * stuck ends, too (command_limit_end).
 */
#include "host/assembly/host.h"
#include "host/base/clock.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/program/command.h"
#include "host/program/command_lsp.h"
#include "host/program/serve_web.h"
#include "host/program/service_notify.h"
#include "host/server/connections.h"
#include "host/server/lsp/lsp.h"
#include "host/server/server.h"
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STUCK_SECONDS 5 /* a loop that has not noticed a signal after this time, or that of --drain, is stuck */

struct served_host {
    struct host *host;
    struct connections *connections;
    struct lsp_hosts *editors;
    struct serve_web *web; /* NULL without HTTP */
    int64_t drain_until_ms;
    size_t unsaved;          /* at the end: runs, and uses of keys */
    bool stdio;              /* ends with the connection of stdin */
    bool drains_for_sigterm; /* the first signal was SIGTERM, so the second one is reported as SIGINT */
};

static bool serve_is_done(void *user) {
    const struct served_host *served = user;
    if (command_got_signal()) return true;
    return served->stdio && connections_count(served->connections) == 0;
}

/* ---- Draining ---- */

/* The wait ends at the time limit, too: a timer makes the loop look again. */
static bool drain_is_done(void *user) {
    const struct served_host *served = user;
    return command_got_sigint() || (command_got_sigterm() && !served->drains_for_sigterm) ||
           (server_is_drained(server_of(served->host)) && serve_web_is_drained(served->web)) ||
           loop_now_ms(host_loop(served->host)) >= served->drain_until_ms;
}

static void drain_look_again(struct loop_timer *timer) { (void)timer; }

static void drain_host(struct served_host *served, int64_t seconds) {
    struct loop *loop = host_loop(served->host);
    struct loop_timer alarm = {0};
    command_end_began();
    served->drains_for_sigterm = command_got_sigterm();
    if (!served->drains_for_sigterm) command_reset_sigint(); /* the next signal ends the drain, not the process */
    service_notify("STOPPING=1");
    connections_refuse(served->connections);
    serve_web_drain(served->web);
    served->drain_until_ms = loop_now_ms(loop) + seconds * 1000;
    /* The other half is for the process that replaces one that does not answer: it can still save what runs have. */
    host_limit_end(served->host, clock_now_ms() + seconds * 500);
    loop_timer_start(loop, &alarm, seconds * 1000, drain_look_again);
    server_drain(server_of(served->host));
    (void)loop_run(loop, drain_is_done, served);
    if (command_got_sigint()) host_limit_end(served->host, clock_now_ms());
    loop_timer_stop(loop, &alarm);
}

/* ---- The commands ---- */

static int finish_serving(struct served_host *served, int code) {
    serve_web_free(served->web);
    connections_stop(served->connections);
    (void)loop_run(host_loop(served->host), connections_are_closed, served->connections);
    if (served->stdio && code == COMMAND_OK) code = connections_last_code(served->connections);
    connections_free(served->connections);
    lsp_hosts_free(served->editors);
    host_free(served->host);
    if (!served->unsaved || code != COMMAND_OK) return code;
    return command_report(COMMAND_RUN_FAILED,
                          "the store did not take everything at the end (%zu failures, see above): the next host "
                          "continues the runs from their last checkpoint that it has",
                          served->unsaved);
}

/* For documents of a project with another tenon.yaml, and after plugins were installed. */
static struct host *open_project(void *user, const char *config, struct error *error) {
    return command_open_served(user, config, error);
}

static bool open_served(struct served_host *served, const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    *served = (struct served_host){.host = command_open_served(arguments, NULL, &error)};
    if (!served->host) (void)command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    error_finish(&error);
    if (!served->host) return false;
    command_watch_signals(served->host);
    server_count_unsaved(server_of(served->host), &served->unsaved);
    bool fixed = argument_given(arguments, "config") || argument_given(arguments, "no-config");
    served->editors = lsp_hosts_new(served->host, open_project, (void *)(uintptr_t)arguments);
    if (fixed) lsp_hosts_fix_config(served->editors);
    if (argument_given(arguments, "tools")) lsp_hosts_start_tools(served->editors);
    served->connections = connections_new(server_of(served->host), &lsp_service, served->editors);
    return true;
}

static void serve_until_done(struct served_host *served, int64_t drain_seconds) {
    command_limit_end((unsigned)(drain_seconds > STUCK_SECONDS ? drain_seconds : STUCK_SECONDS));
    (void)loop_run(host_loop(served->host), serve_is_done, served);
    if (command_got_signal()) drain_host(served, drain_seconds);
}

/* "0660"; -1 if it is not the mode of a file. */
static long read_mode(const char *text) {
    char *end;
    long mode = strtol(text, &end, 8);
    return *text == '\0' || *end != '\0' || mode < 0 || mode > 0777 ? -1 : mode;
}

static enum method_scope read_scope(const char *name) {
    enum method_scope scope = METHOD_READ;
    while (scope < METHOD_ADMIN && strcmp(method_scope_name(scope), name) != 0) scope++;
    return scope;
}

struct serve_socket {
    const char *path; /* NULL without a socket */
    long mode;
    enum method_scope scope;
};

static int read_socket(const struct arguments *arguments, struct serve_socket *out) {
    const char *mode = argument_text(arguments, "mode"), *scope = argument_text(arguments, "scope");
    *out = (struct serve_socket){argument_text(arguments, "socket"), mode ? read_mode(mode) : 0600,
                                 scope ? read_scope(scope) : METHOD_ADMIN};
    if (out->mode < 0)
        return command_report(COMMAND_USAGE, "--mode %s: expected an octal file mode from 0 to 0777, such as 0660",
                              mode);
    if ((mode || scope) && !out->path)
        return command_report(COMMAND_USAGE, "--%s is for clients of a socket; expected --socket PATH, too",
                              mode ? "mode" : "scope");
    return COMMAND_OK;
}

static int serve_open_socket(struct served_host *served, const struct serve_socket *at) {
    struct error error = ERROR_INIT;
    int code = COMMAND_OK;
    if (!at->path) return code;
    if (connections_listen(served->connections, at->path, (mode_t)at->mode, at->scope, &error))
        command_warn("listening on %s", at->path);
    else
        code = command_report_error(COMMAND_RUN_FAILED, &error);
    error_finish(&error);
    return code;
}

/* Opens everything that clients can use. The graphs come first, because other loops share the configuration. */
static int serve_open(struct served_host *served, const struct arguments *arguments, const struct serve_socket *at) {
    bool web = serve_web_is_wanted(arguments, served->host);
    if (!web && !at->path)
        return command_report(COMMAND_USAGE, "expected what to serve: a FILE, --port or --address, or `serve` in "
                                             "tenon.yaml, for HTTP; or --socket PATH");
    int code = web ? serve_graphs(arguments, served->host) : COMMAND_OK;
    if (code == COMMAND_OK) code = command_server_loops(arguments, served->host);
    if (code == COMMAND_OK) code = serve_open_socket(served, at);
    if (code == COMMAND_OK && web) code = serve_web_open(&served->web, arguments, served->host);
    return code;
}

static bool serve_read_drain(const struct arguments *arguments, const struct host *host, int64_t *drain) {
    tn_value configured = value_get(config_serve(host_config(host)), "drain_seconds");
    int64_t otherwise = configured ? value_to_int(configured) : COMMAND_DRAIN_SECONDS;
    return argument_number(arguments, "drain", 0, 86400, otherwise, drain);
}

int command_serve(const struct arguments *arguments) {
    struct serve_socket at;
    struct served_host served;
    struct error error = ERROR_INIT;
    int64_t drain;
    int code = read_socket(arguments, &at);
    if (code != COMMAND_OK) return code;
    if (!open_served(&served, arguments)) return COMMAND_PLUGIN_PROBLEM;
    code = serve_read_drain(arguments, served.host, &drain) ? serve_open(&served, arguments, &at) : COMMAND_USAGE;
    if (code == COMMAND_OK) {
        if (server_start_schedule(server_of(served.host), &error) != TN_OK)
            command_warn("no schedule runs: %s [%s]", error.message, error.code);
        if (served.web) server_start_continue(server_of(served.host));
        if (served.web) server_start_timetable(server_of(served.host));
        service_notify("READY=1");
        serve_until_done(&served, drain);
    }
    error_finish(&error);
    return finish_serving(&served, code);
}

int command_lsp(const struct arguments *arguments) {
    struct served_host served;
    struct error error = ERROR_INIT;
    int code = COMMAND_OK;
    if (isatty(STDIN_FILENO)) return command_refuse_terminal("Language Server Protocol");
    if (argument_given(arguments, "connect")) return command_lsp_sent(arguments);
    /* One arena for all threads: a text that is checked on a thread and freed on the loop leaves no memory behind. */
    (void)mallopt(M_ARENA_MAX, 1);
    if (!open_served(&served, arguments)) return COMMAND_PLUGIN_PROBLEM;
    served.stdio = true;
    if (connections_serve(served.connections, STDIN_FILENO, STDOUT_FILENO, RPC_FRAMING_DETECT, &error))
        serve_until_done(&served, 0);
    else
        code = command_report_error(COMMAND_RUN_FAILED, &error);
    error_finish(&error);
    return finish_serving(&served, code);
}
