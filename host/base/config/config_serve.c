/*
 * config_serve.c - reads the key `serve` of tenon.yaml: what `tenon serve` offers over HTTP, where, and its limits.
 *
 * The files of graphs and certificates are not opened here, and names of plugins and tools are not looked up.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/base/config/config_internal.h"
#include "host/base/config/config_reader.h"
#include "host/base/network.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static void serve_set_take(struct config_reader *reader, const char *key, tn_value value) {
    reader->config->serve = value_set_take(reader->config->serve, key, value);
}

void config_read_serve(struct config_reader *reader, const struct tree_node *node) {
    if (node->kind != TN_OBJECT && node->kind != TN_NULL)
        config_report_kind(reader, node, "serve", "a mapping, for example with `graphs`");
    else if (!reader->config->serve)
        reader->config->serve = value_object(); /* an empty section counts, too */
    if (node->kind == TN_OBJECT) config_read_keys(reader, node, "serve");
}

/* ---- Texts and numbers ---- */

/* Not empty, and without a NUL. */
static bool is_text(const struct tree_node *node) {
    size_t length = 0;
    const char *text = node->kind == TN_STRING ? value_chars(node->value, &length) : "";
    return length > 0 && strlen(text) == length;
}

void config_read_serve_use(struct config_reader *reader, const struct tree_node *node) {
    if (is_text(node))
        serve_set_take(reader, "use", value_ref(node->value));
    else
        config_report_kind(reader, node, "serve.use", "the name of a plugin that provides an HTTP server");
}

bool config_is_address(const char *text) {
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

bool config_is_loopback(const char *text) {
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET, text, &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, text, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

void config_read_serve_address(struct config_reader *reader, const struct tree_node *node) {
    if (is_text(node) && config_is_address(value_chars(node->value, NULL)))
        serve_set_take(reader, "address", value_ref(node->value));
    else
        config_report_value(reader, node, "serve.address",
                            "an IP address of this machine, for example 127.0.0.1, 0.0.0.0 or \"::1\"");
}

static void serve_set_number(struct config_reader *reader, const char *key, const struct tree_node *node,
                             const char *where, int64_t least, int64_t most) {
    if (config_expect_integer(reader, node, where, least, most)) serve_set_take(reader, key, value_ref(node->value));
}

void config_read_serve_port(struct config_reader *reader, const struct tree_node *node) {
    serve_set_number(reader, "port", node, "serve.port", 0, 65535);
}

void config_read_serve_drain(struct config_reader *reader, const struct tree_node *node) {
    serve_set_number(reader, "drain_seconds", node, "serve.drain_seconds", 0, 86400);
}

/* ---- TLS and the log ---- */

void config_read_serve_tls(struct config_reader *reader, const struct tree_node *node) {
    static const char *const members[] = {"certificate", "key"};
    static const char expected[] = "{certificate: FILE, key: FILE}, or false if a proxy encrypts";
    tn_value tls = value_object();
    bool good = node->kind == TN_OBJECT;
    if (node->kind == TN_BOOL && !value_to_bool(node->value)) {
        serve_set_take(reader, "tls", value_ref(node->value));
        return;
    }
    for (uint32_t i = 0; good && i < node->count; i++)
        good = config_expect_key(reader, &node->items[i], "`serve.tls`", members, 2) != KEY_UNKNOWN;
    if (node->kind == TN_OBJECT && !good) return;
    for (size_t i = 0; good && i < 2; i++) {
        const struct tree_node *file = tree_get(node, members[i]);
        good = file && is_text(file);
        if (good) tls = value_set_take(tls, members[i], config_resolve_node(reader, file));
    }
    if (good) {
        serve_set_take(reader, "tls", tls);
        return;
    }
    value_unref(tls);
    config_report_kind(reader, node, "serve.tls", expected);
}

void config_read_serve_log(struct config_reader *reader, const struct tree_node *node) {
    bool is_word = node->kind == TN_BOOL ? !value_to_bool(node->value) : value_text_is(node->value, "-");
    if (is_word)
        serve_set_take(reader, "log", value_ref(node->value));
    else if (is_text(node))
        serve_set_take(reader, "log", config_resolve_node(reader, node));
    else
        config_report_value(reader, node, "serve.log", "the path of a file, `-` for standard error, or false");
}

/* ---- Lists ---- */

/* Reads a list of texts, of which each must be `valid`. */
static void serve_set_texts(struct config_reader *reader, const char *key, const struct tree_node *node,
                            bool (*valid)(const char *text), const char *expected) {
    char where[64];
    tn_value texts = value_array();
    snprintf(where, sizeof where, "serve.%s", key);
    const struct tree_node *one = node;
    bool list = node->kind == TN_ARRAY;
    uint32_t count = list ? config_usable_count(reader, node, where, CONFIG_SERVE_LIST_MAX, "entries") : 1;
    for (uint32_t i = 0; i < count; i++) {
        if (list) one = node->items[i].node;
        if (is_text(one) && valid(value_chars(one->value, NULL)))
            texts = value_push_take(texts, value_ref(one->value));
        else
            config_report_value(reader, one, where, expected);
    }
    serve_set_take(reader, key, texts);
}

/* A name or address with or without a port, as in a `Host` header. */
static bool is_host(const char *text) {
    size_t length = strcspn(text, "/@?#\\ \t*");
    return text[length] == '\0' && length <= 255;
}

static bool is_origin(const char *text) {
    const char *host = strstr(text, "://");
    return strcmp(text, "*") == 0 || (host && host != text && host[3] && is_host(host + 3));
}

static bool is_network(const char *text) {
    struct network network;
    return network_read(text, strlen(text), &network);
}

static bool is_any_text(const char *text) { return *text != '\0'; }

void config_read_serve_hosts(struct config_reader *reader, const struct tree_node *node) {
    serve_set_texts(reader, "hosts", node, is_host, "a host name as browsers send it, for example agents.example:8443");
}

void config_read_serve_origins(struct config_reader *reader, const struct tree_node *node) {
    serve_set_texts(reader, "origins", node, is_origin,
                    "the origin of a web page, for example https://app.example, or \"*\"");
}

void config_read_serve_trusted_proxies(struct config_reader *reader, const struct tree_node *node) {
    serve_set_texts(reader, "trusted_proxies", node, is_network,
                    "an IP address or a network, for example 127.0.0.1, 10.0.0.0/8 or \"::1\"");
}

void config_read_serve_protocols(struct config_reader *reader, const struct tree_node *node) {
    serve_set_texts(reader, "protocols", node, is_any_text, "the name of a plugin that serves a protocol");
}

void config_read_serve_authenticators(struct config_reader *reader, const struct tree_node *node) {
    if (node->kind == TN_ARRAY && node->count > CONFIG_AUTHENTICATORS_MAX)
        config_report_value(reader, node, "serve.authenticators", "at most 8 names of plugins");
    else
        serve_set_texts(reader, "authenticators", node, is_any_text, "the name of a plugin that checks tokens");
}

void config_read_serve_tools(struct config_reader *reader, const struct tree_node *node) {
    serve_set_texts(reader, "tools", node, is_any_text, "the id of a tool, or a pattern such as \"files.*\"");
}

/* ---- Graphs ---- */

bool config_is_graph_name(const char *name, size_t length) {
    if (!length || length > CONFIG_GRAPH_NAME_MAX) return false;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && (i == 0 || c == '\0' || !strchr("._-", c))) return false;
    }
    return true;
}

static void read_graph(struct config_reader *reader, const struct tree_item *item, tn_value *graphs) {
    size_t length;
    const char *name = value_chars(item->key, &length);
    if (!config_is_graph_name(name, length)) {
        diagnostics_add(
            reader->diagnostics, ADL_E020, reader->source, item->key_span,
            "`serve.graphs`: found the name `%.*s`, expected 1 to %u letters, digits, `.`, `_` and `-`, the "
            "first one a letter or a digit",
            config_shown_length(name, length), name, CONFIG_GRAPH_NAME_MAX);
        return;
    }
    if (!is_text(item->node)) {
        config_report_value(reader, item->node, config_where("serve.graphs", item->key).text,
                            "a document: a path, `tenon:NAME` or `pack:NAME/FILE`");
        return;
    }
    *graphs = value_set_key_take(*graphs, value_ref(item->key), config_resolve_document(reader, item->node));
}

void config_read_serve_graphs(struct config_reader *reader, const struct tree_node *node) {
    tn_value graphs = value_object();
    if (!config_expect_mapping(reader, node, "serve.graphs", "a mapping of names to documents")) return;
    uint32_t count = config_usable_count(reader, node, "serve.graphs", CONFIG_GRAPHS_MAX, "graphs");
    for (uint32_t i = 0; i < count; i++) read_graph(reader, &node->items[i], &graphs);
    serve_set_take(reader, "graphs", graphs);
}

void config_add_graph(struct config *config, const char *name, const char *file) {
    tn_value graphs = value_get(config->serve, "graphs");
    graphs = value_set_take(graphs ? value_ref(graphs) : value_object(), name, value_text(file));
    config->serve = value_set_take(config->serve ? config->serve : value_object(), "graphs", graphs);
}

/* ---- Limits ---- */

static const char *const serve_limit_names[] = {
#define SERVE_LIMIT(name, least, most, otherwise, documentation) #name,
    CONFIG_SERVE_LIMITS(SERVE_LIMIT)
#undef SERVE_LIMIT
        "cost_per_day"};

/* In the order of serve_limit_names. */
static const struct serve_range {
    int64_t least, most;
} serve_ranges[] = {
#define SERVE_LIMIT(name, least, most, otherwise, documentation) {least, most},
    CONFIG_SERVE_LIMITS(SERVE_LIMIT)
#undef SERVE_LIMIT
};
#define SERVE_NUMBERS (sizeof serve_ranges / sizeof *serve_ranges)

static void read_serve_limit(struct config_reader *reader, const struct tree_item *item, tn_value *limits) {
    size_t index = config_expect_key(reader, item, "`serve.limits`", serve_limit_names, SERVE_NUMBERS + 1);
    if (index == KEY_UNKNOWN) return;
    const struct tree_node *node = item->node;
    const struct config_where where = config_where("serve.limits", item->key);
    bool number = node->kind == TN_INT || (index == SERVE_NUMBERS && node->kind == TN_DOUBLE);
    if (!number) {
        config_report_value(reader, node, where.text, index == SERVE_NUMBERS ? "a number" : "a whole number");
        return;
    }
    double found = value_to_double(node->value), least = index == SERVE_NUMBERS ? 0 : (double)serve_ranges[index].least,
           most = index == SERVE_NUMBERS ? 1e12 : (double)serve_ranges[index].most;
    if (found >= least && found <= most) {
        *limits = value_set_key_take(*limits, value_ref(item->key), value_ref(node->value));
        return;
    }
    diagnostics_add(reader->diagnostics, ADL_E025, reader->source, node->span,
                    "`%s`: found %.15g, expected %.15g to %.15g", where.text, found, least, most);
}

void config_read_serve_limits(struct config_reader *reader, const struct tree_node *node) {
    tn_value limits = value_object();
    if (!config_expect_mapping(reader, node, "serve.limits", "a mapping of limits to numbers")) return;
    for (uint32_t i = 0; i < node->count; i++) read_serve_limit(reader, &node->items[i], &limits);
    serve_set_take(reader, "limits", limits);
}
