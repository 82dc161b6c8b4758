/*
 * options.c - the options of a listener, and its socket.
 */
#include "listener_internal.h"
#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024 /* connections that the system accepts before the server does */

static int32_t read_limits(tn_value limits, struct limits *out, tn_value *error) {
    const struct {
        const char *name;
        int64_t *place, least, most;
    } rows[] = {{"connections", &out->connections, 1, CONNECTIONS_MAX},
                {"connections_per_address", &out->connections_per_address, 1, CONNECTIONS_MAX},
                {"headers_bytes", &out->headers_bytes, 1024, 1 << 20},
                {"headers_ms", &out->headers_ms, 10, 3600000},
                {"idle_ms", &out->idle_ms, 10, 86400000},
                {"body_bytes", &out->body_bytes, 0, INT64_MAX},
                {"write_bytes", &out->write_bytes, 1024, 1 << 30},
                {"message_bytes", &out->message_bytes, 1, 1 << 30}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (tn.value->as_int(tn_get(limits, rows[i].name), rows[i].place) != TN_OK || *rows[i].place < rows[i].least ||
            *rows[i].place > rows[i].most)
            return serve_fail(error, "INVALID_INPUT", "`limits.%s` must be an integer from %lld to %lld", rows[i].name,
                              (long long)rows[i].least, (long long)rows[i].most);
    return TN_OK;
}

static int32_t check_tls(const struct listen_options *options, tn_value *error) {
    gnutls_certificate_credentials_t credentials;
    gnutls_datum_t certificate = {(unsigned char *)(uintptr_t)options->certificate,
                                  (unsigned)strlen(options->certificate)};
    gnutls_datum_t key = {(unsigned char *)(uintptr_t)options->key, (unsigned)strlen(options->key)};
    if (gnutls_certificate_allocate_credentials(&credentials) != 0) return TN_NO_MEMORY;
    int result = gnutls_certificate_set_x509_key_mem2(credentials, &certificate, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
    gnutls_certificate_free_credentials(credentials);
    if (result >= 0) return TN_OK;
    return serve_fail(error, "TLS",
                      "the certificate and its key cannot be used: %s; expected a PEM certificate, with "
                      "those of its authorities after it, and its PEM key without a password",
                      gnutls_strerror(result));
}

int32_t options_read(tn_value options, struct listen_options *out, tn_value *error) {
    int64_t port = tn_get_int(options, "port", -1);
    tn_value tls = tn_get(options, "tls");
    memset(out, 0, sizeof *out);
    out->address = tn_get_text(options, "address", NULL);
    if (out->address == NULL) return serve_fail(error, "INVALID_INPUT", "`address` must be a string");
    if (strcmp(out->address, "localhost") == 0) out->address = "127.0.0.1";
    if (port < 0 || port > 65535)
        return serve_fail(error, "INVALID_INPUT", "`port` must be an integer from 0 to 65535 (0: any free one)");
    out->port = (uint16_t)port;
    if (read_limits(tn_get(options, "limits"), &out->limits, error) != TN_OK) return TN_FAILED;
    out->trusted = tn_get(options, "trusted");
    if (tls == NULL) return TN_OK;
    out->certificate = tn_get_text(tls, "certificate", NULL);
    out->key = tn_get_text(tls, "key", NULL);
    if (out->certificate == NULL || out->key == NULL)
        return serve_fail(error, "INVALID_INPUT", "`tls` must have `certificate` and `key`, both PEM texts");
    return check_tls(out, error);
}

int options_open_socket(const struct listen_options *options, tn_value *error) {
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(options->port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(options->port)};
    bool is_six = inet_pton(AF_INET6, options->address, &six.sin6_addr) == 1;
    const struct sockaddr *address = (const struct sockaddr *)(is_six ? (void *)&six : (void *)&four);
    socklen_t size = is_six ? sizeof six : sizeof four;
    int on = 1;
    if (!is_six && inet_pton(AF_INET, options->address, &four.sin_addr) != 1) {
        (void)serve_fail(error, "INVALID_INPUT", "`address` must be an IPv4 or IPv6 address or localhost; found %s",
                         options->address);
        return -1;
    }
    int descriptor = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor >= 0) {
        (void)setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (is_six) (void)setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
        if (bind(descriptor, address, size) == 0 && listen(descriptor, BACKLOG) == 0) return descriptor;
    }
    (void)serve_fail(error, "IO", "cannot listen on %s, port %d: %s%s", options->address, options->port,
                     strerror(errno),
                     errno == EADDRINUSE ? "; choose another port, or end the program that uses it" : "");
    if (descriptor >= 0) (void)close(descriptor);
    return -1;
}

tn_value options_bound_address(int socket) {
    char host[INET6_ADDRSTRLEN] = "";
    struct sockaddr_in6 six; /* the larger one */
    socklen_t size = sizeof six;
    int port = 0;
    memset(&six, 0, sizeof six);
    (void)getsockname(socket, (struct sockaddr *)(void *)&six, &size);
    if (six.sin6_family == AF_INET6) {
        (void)inet_ntop(AF_INET6, &six.sin6_addr, host, sizeof host);
        port = ntohs(six.sin6_port);
    } else {
        struct sockaddr_in four;
        memcpy(&four, &six, sizeof four);
        (void)inet_ntop(AF_INET, &four.sin_addr, host, sizeof host);
        port = ntohs(four.sin_port);
    }
    return tn_build("{s:s, s:i}", "address", host, "port", port);
}
