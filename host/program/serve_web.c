/*
 * serve_web.c - opens and closes the HTTP server of `tenon serve`.
 *
 * An address that other machines can reach is refused without a key in the store, and without TLS, unless tenon.yaml
 * says that a proxy encrypts.
 */
#include "host/program/serve_web.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/assembly/protocols.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/plugin/registry/plugin.h"
#include "host/server/server.h"
#include "host/server/web/access.h"
#include "host/server/web/web.h"
#include <string.h>
#include <uv.h>

#define PEM_MAX (1u << 20) /* bytes of a certificate with its chain, or of a key */

struct serve_web {
    struct host *host;
    struct access *access;
    char *generated; /* the text of a generated key, until it was printed; or NULL */
    struct web *web;
    uv_signal_t *hangup; /* opens the log again; owned by libuv from uv_close on */
};

/* Where to listen: the command line, then tenon.yaml, then the default. */
struct serve_place {
    const char *address;
    int64_t port;
    tn_value tls; /* {certificate, key}: files; false: a proxy encrypts; or NULL */
};

bool serve_web_is_wanted(const struct arguments *arguments, const struct host *host) {
    return operand_count(arguments) > 0 || argument_given(arguments, "port") || argument_given(arguments, "address") ||
           config_serve(host_config(host));
}

/* ---- Where ---- */

static int read_place(const struct arguments *arguments, const struct host *host, struct serve_place *place) {
    tn_value serve = config_serve(host_config(host)), address = value_get(serve, "address"),
             port = value_get(serve, "port");
    const char *given = argument_text(arguments, "address");
    *place = (struct serve_place){given     ? given
                                  : address ? value_chars(address, NULL)
                                            : CONFIG_SERVE_ADDRESS,
                                  port ? value_to_int(port) : CONFIG_SERVE_PORT, value_get(serve, "tls")};
    if (!config_is_address(place->address))
        return command_report(COMMAND_USAGE,
                              "--address %s: expected an IP address of this machine, such as 127.0.0.1 or 0.0.0.0",
                              place->address);
    return argument_number(arguments, "port", 0, 65535, place->port, &place->port) ? COMMAND_OK : COMMAND_USAGE;
}

static int check_place(const struct serve_place *place) {
    if (config_is_loopback(place->address) || place->tls) return COMMAND_OK;
    return command_report(
        COMMAND_USAGE,
        "other machines can reach %s, so it needs TLS: expected `serve: {tls: {certificate: FILE, key: "
        "FILE}}` in tenon.yaml, or `tls: false` if a proxy in front of it encrypts",
        place->address);
}

static bool read_pem(tn_value tls, const char *member, tn_value *texts) {
    struct error error = ERROR_INIT;
    char *text = NULL;
    size_t length = 0;
    const char *path = value_chars(value_get(tls, member), NULL);
    bool good = command_read_file(path, &text, &length, &error);
    if (good && length > PEM_MAX) {
        (void)command_report(COMMAND_USAGE, "serve.tls.%s: %s has %zu bytes, expected at most %u", member, path, length,
                             PEM_MAX);
        good = false;
    } else if (good) {
        *texts = value_set_take(*texts, member, value_string_lossy(text, length));
    } else {
        command_warn("serve.tls.%s: %s [%s]", member, error.message, error.code);
    }
    if (text) explicit_bzero(text, length);
    mem_free(text);
    error_finish(&error);
    return good;
}

/* {certificate, key} as texts; NULL without TLS. */
static int read_tls(const struct serve_place *place, tn_value *texts) {
    *texts = NULL;
    if (!value_is(place->tls, TN_OBJECT)) return COMMAND_OK;
    *texts = value_object();
    if (read_pem(place->tls, "certificate", texts) && read_pem(place->tls, "key", texts)) return COMMAND_OK;
    value_unref(*texts);
    *texts = NULL;
    return COMMAND_USAGE;
}

/* ---- Keys ---- */

static int open_access(struct serve_web *web, const struct serve_place *place) {
    struct error error = ERROR_INIT;
    bool is_public = !config_is_loopback(place->address);
    int code = COMMAND_OK;
    web->access = access_new(server_of(web->host), is_public ? NULL : &web->generated, &error);
    if (!web->access)
        code = command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    else if (is_public && access_is_empty(web->access))
        code = command_report(COMMAND_USAGE,
                              "other machines can reach %s, so clients need a key: create one with `tenon key create "
                              "NAME`, or name `serve: {authenticators}` in tenon.yaml",
                              place->address);
    error_finish(&error);
    return code;
}

static void forget_generated(struct serve_web *web) {
    if (web->generated) explicit_bzero(web->generated, strlen(web->generated));
    mem_free(web->generated);
    web->generated = NULL;
}

/* ---- Protocols ---- */

static const char *shown_name(const struct plugin *plugin) {
    const char *id = plugin_id(plugin), *dot = strrchr(id, '.');
    return plugin_bundled(plugin) && dot ? dot + 1 : id;
}

struct served_protocols {
    const struct web *web;
    struct buffer names;
};

/* An isolated plugin may add its routes later. One that adds none is not mentioned. */
static int32_t load_protocol(void *user, struct plugin *plugin, struct error *error) {
    struct served_protocols *served = user;
    struct buffer *names = &served->names;
    int32_t status = plugin_load(plugin, error);
    if (status == TN_OK && (plugin_isolated(plugin) || web_has_route_of(served->web, plugin)))
        buffer_format(names, "%s%s", names->length ? ", " : "", shown_name(plugin));
    return status;
}

/* "tenon: http://127.0.0.1:8700 serves plan, hello by openai_server, rest_server" */
static void print_served(struct serve_web *web, const struct serve_place *place, bool tls, uint16_t port,
                         const char *protocols) {
    tn_value graphs = config_graphs(host_config(web->host));
    struct buffer names;
    bool six = strchr(place->address, ':') != NULL;
    if (web->generated)
        command_warn("key %s (until this host ends; `tenon key create` makes lasting ones)", web->generated);
    forget_generated(web);
    buffer_init(&names, SIZE_MAX);
    for (size_t i = 0; i < value_count(graphs); i++)
        buffer_format(&names, "%s%s", i ? ", " : "", value_chars(value_key_at(graphs, i), NULL));
    command_warn("%s://%s%s%s:%u serves %s by %s", tls ? "https" : "http", six ? "[" : "", place->address,
                 six ? "]" : "", port, names.length ? buffer_cstr(&names) : "no graph",
                 *protocols ? protocols : "no protocol: no plugin serves one");
    buffer_finish(&names);
}

/* ---- SIGHUP ---- */

static void on_hangup(uv_signal_t *signal, int number) {
    (void)number;
    web_reopen_log(((struct serve_web *)signal->data)->web);
}

static void on_hangup_closed(uv_handle_t *handle) { mem_free(handle); }

static void watch_hangup(struct serve_web *web) {
    uv_signal_t *signal = mem_zalloc(sizeof *signal);
    if (uv_signal_init(loop_uv(host_loop(web->host)), signal) != 0) {
        mem_free(signal);
        return;
    }
    signal->data = web;
    (void)uv_signal_start(signal, on_hangup, SIGHUP);
    web->hangup = signal;
}

/* ---- Opening and closing ---- */

static int listen_web(struct serve_web *web, const struct serve_place *place) {
    struct error error = ERROR_INIT;
    struct served_protocols protocols = {.web = NULL};
    uint16_t port = 0;
    tn_value tls = NULL;
    buffer_init(&protocols.names, SIZE_MAX);
    const struct web_options options = {.access = web->access, .config = config_serve(host_config(web->host))};
    int code = read_tls(place, &tls);
    if (code == COMMAND_OK && !(web->web = web_new(server_of(web->host), &options, &error)))
        code = command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    protocols.web = web->web;
    if (code == COMMAND_OK && protocols_each(web->host, load_protocol, &protocols, &error) != TN_OK)
        code = command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    if (code == COMMAND_OK && web_listen(web->web, place->address, (uint16_t)place->port, tls, &port, &error) != TN_OK)
        code = command_report_error(COMMAND_RUN_FAILED, &error);
    if (code == COMMAND_OK) print_served(web, place, tls != NULL, port, buffer_cstr(&protocols.names));
    value_unref(tls);
    buffer_finish(&protocols.names);
    error_finish(&error);
    return code;
}

int serve_web_open(struct serve_web **out, const struct arguments *arguments, struct host *host) {
    struct serve_place place;
    int code = read_place(arguments, host, &place);
    if (code == COMMAND_OK) code = check_place(&place);
    if (code != COMMAND_OK) return code;
    struct serve_web *web = mem_zalloc(sizeof *web);
    web->host = host;
    *out = web;
    code = open_access(web, &place);
    if (code == COMMAND_OK) code = listen_web(web, &place);
    if (code == COMMAND_OK) watch_hangup(web);
    return code;
}

void serve_web_drain(struct serve_web *web) {
    if (web) web_drain(web->web);
}

bool serve_web_is_drained(const struct serve_web *web) { return !web || web_is_drained(web->web); }

void serve_web_free(struct serve_web *web) {
    if (!web) return;
    if (web->hangup) uv_close((uv_handle_t *)web->hangup, on_hangup_closed);
    web_free(web->web);
    access_free(web->access);
    forget_generated(web);
    mem_free(web);
}
