/*
 * config_lint_serve.c - checks what `serve` of tenon.yaml names: documents, protocols, the server, tools, and the files
 * of TLS; and an address that needs TLS.
 *
 * The documents are read, but not built, so that no code of a plugin runs. Nothing listens.
 */
#include "adl/document/document.h"
#include "adl/value/nearest.h"
#include "adl/value/wildcard.h"
#include "host/assembly/config_lint.h"
#include "host/assembly/host.h"
#include "host/assembly/protocols.h"
#include "host/base/config/config.h"
#include "host/engine/engine.h"
#include "host/engine/graph/documents.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/providing.h"
#include "host/plugin/registry/registry.h"
#include <string.h>
#include <tenon/authenticator.h>
#include <tenon/http_server.h>
#include <unistd.h>

struct serve_lint {
    struct host *host;
    config_lint_fn *report;
    void *user;
};

static void serve_report_take(const struct serve_lint *lint, tn_value what) {
    tn_value text = value_format("tenon.yaml: serve.%s", value_chars(what, NULL));
    lint->report(lint->user, value_chars(text, NULL));
    value_unref(text);
    value_unref(what);
}

/* ---- Graphs ---- */

static void lint_graph(const struct serve_lint *lint, const char *name, const char *path) {
    struct error error = ERROR_INIT;
    struct document *document = NULL;
    int32_t status = documents_open(host_engine(lint->host), path, NULL, &document, &error);
    if (status == TN_NOT_FOUND)
        serve_report_take(lint, value_format("graphs.%s: `%s` cannot be read: %s", name, path, error.message));
    else if (status != TN_OK)
        serve_report_take(lint, value_format("graphs.%s: %s", name, error.message));
    document_unref(document);
    error_finish(&error);
}

/* ---- Plugins and tools ---- */

static void lint_protocols(const struct serve_lint *lint, tn_value names) {
    for (size_t i = 0; i < value_count(names); i++) {
        size_t length;
        const char *name = value_chars(value_at(names, i), &length);
        if (protocol_find(lint->host, name)) continue;
        struct nearest nearest;
        nearest_init(&nearest, name, length);
        protocol_offer_names(lint->host, &nearest);
        serve_report_take(
            lint, value_format("protocols: no plugin `%s` serves a protocol%s", name, nearest_hint(&nearest).text));
    }
}

static void lint_provider(const struct serve_lint *lint, tn_value use) {
    struct providing found;
    if (!use) return;
    providing_find(&found, host_registry(lint->host), TN_HTTP_SERVER_DRAFT, value_chars(use, NULL));
    if (!found.plugin)
        serve_report_take(lint, value_format("use: no plugin `%s` provides an HTTP server%s%s", value_chars(use, NULL),
                                             found.count ? "; these do: " : "", buffer_cstr(&found.names)));
    providing_finish(&found);
}

static void lint_authenticators(const struct serve_lint *lint, tn_value names) {
    for (size_t i = 0; i < value_count(names); i++) {
        struct providing found;
        const char *name = value_chars(value_at(names, i), NULL);
        providing_find(&found, host_registry(lint->host), TN_AUTHENTICATOR_DRAFT, name);
        if (!found.plugin)
            serve_report_take(lint, value_format("authenticators: no plugin `%s` checks tokens%s%s", name,
                                                 found.count ? "; these do: " : "", buffer_cstr(&found.names)));
        providing_finish(&found);
    }
}

struct tool_match {
    const char *pattern;
    bool found;
    struct nearest nearest;
};

static bool match_tool(void *user, const struct component_info *component) {
    struct tool_match *match = user;
    match->found |= wildcard_matches_tool(match->pattern, component->id);
    nearest_add_candidate(&match->nearest, component->id, strlen(component->id));
    return !match->found;
}

/* A name is unknown, unless a plugin whose code is not loaded may have it and no known name is similar. */
static void lint_tools(const struct serve_lint *lint, tn_value patterns) {
    const struct catalog *catalog = host_catalog(lint->host);
    for (size_t i = 0; i < value_count(patterns); i++) {
        size_t length;
        struct tool_match match = {.pattern = value_chars(value_at(patterns, i), &length)};
        nearest_init(&match.nearest, match.pattern, length);
        catalog->each(catalog->self, "tool", match_tool, &match);
        if (match.found || (!nearest_result(&match.nearest) && !registry_knows_all(host_registry(lint->host), "tool")))
            continue;
        serve_report_take(lint, value_format("tools: no known tool matches `%s`%s", match.pattern,
                                             nearest_hint(&match.nearest).text));
    }
}

/* ---- Addresses ---- */

static void lint_address(const struct serve_lint *lint, tn_value serve) {
    static const char *const members[] = {"certificate", "key"};
    tn_value address = value_get(serve, "address"), tls = value_get(serve, "tls");
    if (address && !tls && !config_is_loopback(value_chars(address, NULL)))
        serve_report_take(lint,
                          value_format("address: %s can be reached by other machines, expected `tls`: {certificate, "
                                       "key}, or false if a proxy encrypts",
                                       value_chars(address, NULL)));
    for (size_t i = 0; value_is(tls, TN_OBJECT) && i < 2; i++) {
        const char *file = value_chars(value_get(tls, members[i]), NULL);
        if (access(file, R_OK) != 0) serve_report_take(lint, value_format("tls.%s: cannot read %s", members[i], file));
    }
}

void config_lint_serve(struct host *host, config_lint_fn *report, void *user) {
    const struct serve_lint lint = {host, report, user};
    tn_value serve = config_serve(host_config(host)), graphs = config_graphs(host_config(host));
    if (!serve) return;
    for (size_t i = 0; i < value_count(graphs); i++)
        lint_graph(&lint, value_chars(value_key_at(graphs, i), NULL), value_chars(value_value_at(graphs, i), NULL));
    lint_protocols(&lint, value_get(serve, "protocols"));
    lint_provider(&lint, value_get(serve, "use"));
    lint_authenticators(&lint, value_get(serve, "authenticators"));
    lint_tools(&lint, value_get(serve, "tools"));
    lint_address(&lint, serve);
}
