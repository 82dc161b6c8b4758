/*
 * service.c - reads a service: its description, base URL, credentials and operations.
 */
#include "service.h"
#include "operation.h"
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

void service_log(const struct service *service, int32_t level, const char *format, ...) {
    char text[1024];
    va_list args;
    int length = snprintf(text, sizeof(text), "%s: ", service->name);
    va_start(args, format);
    (void)vsnprintf(text + length, sizeof(text) - (size_t)length, format, args);
    va_end(args);
    tn_log(level, text);
}

/* ---- Base URL ---- */

/* Replaces {name} in a server's URL by the default of the variable. */
static tn_value server_url(tn_value server) {
    const char *url = tn_get_text(server, "url", "");
    tn_value variables = tn_get(server, "variables");
    struct tn_text_buffer text = {.limit = 4000};
    while (*url != 0) {
        size_t plain = strcspn(url, "{"), name = url[plain] == '{' ? strcspn(url + plain + 1, "}") : 0;
        char variable[256];
        tn_text_append_n(&text, url, plain);
        url += plain;
        if (*url == 0) break;
        if (name >= sizeof(variable) || url[name + 1] != '}') break;
        memcpy(variable, url + 1, name);
        variable[name] = 0;
        tn_text_append(&text, tn_get_text(tn_get(variables, variable), "default", ""));
        url += name + 2;
    }
    return tn_text_finish(&text);
}

static bool is_absolute(const char *url) { return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0; }

static bool read_base_url(struct service *service, tn_value section, struct service_reader *reader) {
    tn_value configured = tn_get(section, "base_url");
    struct document_node servers = node_get(&reader->documents, reader->root, "servers");
    tn_value url = configured != NULL ? tn_retain(configured) : server_url(tn.value->at(servers.value, 0));
    uint64_t length = 0;
    const char *chars = tn_chars(url, &length);
    if (chars == NULL || !is_absolute(chars)) {
        service_log(service, TN_LOG_ERROR, "the description %s; set `base_url`",
                    chars == NULL || *chars == 0 ? "has no server" : "has a server without a host");
        tn_release(url);
        return false;
    }
    while (length > 0 && chars[length - 1] == '/') length--;
    service->base_url = tn_text_n(chars, length);
    tn_release(url);
    return true;
}

/* ---- Credentials ---- */

static tn_value make_bearer_header(tn_value token) {
    struct tn_text_buffer text = {.limit = 1u << 20};
    tn_text_append(&text, "Bearer ");
    tn_text_append(&text, tn_chars(token, NULL));
    return tn_text_finish(&text);
}

static bool log_unusable_scheme(const struct service *service, const char *scheme, const char *expected) {
    service_log(service, TN_LOG_ERROR, "auth.%s: expected %s", scheme, expected);
    return false;
}

static bool read_api_key_auth(struct auth *auth, tn_value scheme, tn_value configured, const struct service *service) {
    const char *in = tn_get_text(scheme, "in", "header");
    auth->in = strcmp(in, "query") == 0 ? IN_QUERY : strcmp(in, "cookie") == 0 ? IN_COOKIE : IN_HEADER;
    auth->key = tn_text(tn_get_text(scheme, "name", "authorization"));
    auth->value = tn_chars(configured, NULL) != NULL ? tn_retain(configured) : NULL;
    return auth->value != NULL ||
           log_unusable_scheme(service, tn_chars(auth->name, NULL), "the key as a string, for example {secret: NAME}");
}

static bool read_http_auth(struct auth *auth, tn_value scheme, tn_value configured, const struct service *service) {
    const char *user = tn_get_text(configured, "user", NULL), *password = tn_get_text(configured, "password", "");
    auth->in = IN_HEADER;
    auth->key = tn_text("authorization");
    if (strcasecmp(tn_get_text(scheme, "scheme", ""), "basic") == 0) {
        if (user == NULL)
            return log_unusable_scheme(service, tn_chars(auth->name, NULL), "{user: STRING, password: {secret: NAME}}");
        auth->value = rest_basic_auth(user, password);
        return auth->value != NULL;
    }
    if (tn_chars(configured, NULL) == NULL)
        return log_unusable_scheme(service, tn_chars(auth->name, NULL),
                                   "the token as a string, for example {secret: NAME}");
    auth->value = make_bearer_header(configured);
    return auth->value != NULL;
}

/* Reads a token, or the credentials to request one (RFC 6749, 4.4). */
static bool read_oauth_auth(struct auth *auth, tn_value scheme, tn_value configured, const struct service *service) {
    tn_value flow = tn_get(tn_get(scheme, "flows"), "clientCredentials"), url;
    if (tn_chars(configured, NULL) != NULL) return read_http_auth(auth, scheme, configured, service);
    auth->in = IN_HEADER;
    auth->key = tn_text("authorization");
    url = tn_get(configured, "token_url");
    if (url == NULL) url = tn_get(flow, "tokenUrl");
    auth->client_id = tn_retain(tn_get(configured, "client_id"));
    auth->client_secret = tn_retain(tn_get(configured, "client_secret"));
    auth->scope = tn_retain(tn_get(configured, "scope"));
    if (tn_chars(url, NULL) == NULL || !is_absolute(tn_chars(url, NULL)) || auth->client_id == NULL ||
        auth->client_secret == NULL)
        return log_unusable_scheme(
            service, tn_chars(auth->name, NULL),
            "a token, or {client_id, client_secret} and, if the description has no token URL, token_url");
    auth->token_url = tn_retain(url);
    return true;
}

static bool read_security_schemes(struct service *service, tn_value section, struct service_reader *reader) {
    struct document_node components = node_get(&reader->documents, reader->root, "components");
    struct document_node schemes = node_get(&reader->documents, components, "securitySchemes");
    tn_value configured = tn_get(section, "auth");
    for (uint64_t i = 0, count = tn.value->count(configured); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(configured, i, &key, &value) != TN_OK) break;
        const char *name = tn_chars(key, NULL);
        struct document_node scheme = node_get(&reader->documents, schemes, name);
        if (scheme.value == NULL) {
            service_log(service, TN_LOG_ERROR, "auth.%s: the description has no security scheme of that name", name);
            return false;
        }
        if (service->auth_count >= AUTHS_MAX) return log_unusable_scheme(service, name, "at most 32 schemes");
        struct auth *auth = &service->auths[service->auth_count++];
        const char *type = tn_get_text(scheme.value, "type", "");
        auth->name = tn_retain(key);
        bool good = strcmp(type, "apiKey") == 0 ? read_api_key_auth(auth, scheme.value, value, service)
                    : strcmp(type, "http") == 0 ? read_http_auth(auth, scheme.value, value, service)
                                                : read_oauth_auth(auth, scheme.value, value, service);
        if (!good) return false;
    }
    return true;
}

static struct auth *find_security_scheme(struct service *service, const char *name) {
    for (uint32_t i = 0; i < service->auth_count; i++)
        if (strcmp(tn_chars(service->auths[i].name, NULL), name) == 0) return &service->auths[i];
    return NULL;
}

/* Adds all schemes of one alternative. Returns false if tenon.yaml has no credentials for one of them. */
static bool read_security_alternative(struct operation *operation, tn_value alternative) {
    const size_t most = sizeof(operation->auths) / sizeof(operation->auths[0]) - 1;
    memset(operation->auths, 0, sizeof(operation->auths));
    for (uint64_t i = 0, count = tn.value->count(alternative); i < count; i++) {
        tn_value key, scopes;
        if (i >= most || tn.value->entry(alternative, i, &key, &scopes) != TN_OK) return false;
        operation->auths[i] = find_security_scheme(operation->service, tn_chars(key, NULL));
        if (operation->auths[i] == NULL) return false;
    }
    return true;
}

/* Chooses the first alternative with credentials; an alternative without requirements comes last. */
static void read_security_requirements(struct operation *operation, tn_value own, tn_value shared) {
    tn_value list = own != NULL ? own : shared;
    struct tn_text_buffer names = {.limit = 400};
    bool free_of_charge = tn.value->count(list) == 0;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        tn_value alternative = tn.value->at(list, i), key, scopes;
        if (tn.value->count(alternative) == 0) {
            free_of_charge = true;
            continue;
        }
        if (read_security_alternative(operation, alternative)) {
            tn_text_free(&names);
            return;
        }
        if (tn.value->entry(alternative, 0, &key, &scopes) != TN_OK) continue;
        if (names.length > 0) tn_text_append(&names, " or ");
        tn_text_append(&names, tn_chars(key, NULL));
    }
    memset(operation->auths, 0, sizeof(operation->auths));
    if (!free_of_charge && names.length > 0)
        operation->missing = tn_text_finish(&names);
    else
        tn_text_free(&names);
}

/* ---- Operations ---- */

/* Matching with one position to return to: only the last `*` can ever match more. */
static bool matches_pattern(const char *pattern, const char *name) {
    const char *star = NULL, *from = NULL;
    while (*name != 0) {
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == 0;
}

/*
 * Matches `operations` of the configuration: the operationId of the description, the tool's id without the service's
 * name, or patterns of them.
 */
static bool is_included(tn_value patterns, const struct operation *operation) {
    const char *id = tn_chars(operation->id, NULL) + strlen(operation->service->name) + 1;
    const char *own = tn_chars(operation->operation_id, NULL);
    if (patterns == NULL) return true;
    for (uint64_t i = 0, count = tn.value->count(patterns); i < count; i++) {
        const char *pattern = tn_chars(tn.value->at(patterns, i), NULL);
        if (matches_pattern(pattern, id) || (own != NULL && matches_pattern(pattern, own))) return true;
    }
    return false;
}

/* An operation that was renamed can be selected by its name, but not by a pattern: it would match other operations. */
static bool is_included_as_renamed(tn_value names, struct operation *operation) {
    struct operation renamed = *operation;
    renamed.id = tn_retain(operation->id);
    operation_rename(&renamed);
    const char *id = tn_chars(renamed.id, NULL) + strlen(operation->service->name) + 1;
    bool found = false;
    for (uint64_t i = 0, count = tn.value->count(names); i < count && !found; i++)
        found = strcmp(tn_chars(tn.value->at(names, i), NULL), id) == 0;
    if (!found) {
        tn_release(renamed.id);
        return false;
    }
    tn_release(operation->id);
    operation->id = renamed.id;
    return true;
}

static bool is_name_used(const struct service *service, tn_value id) {
    for (uint32_t i = 0; i < service->count; i++)
        if (tn.value->equal(service->operations[i].id, id)) return true;
    return false;
}

static void read_service_operation(struct service_reader *reader, tn_value wanted, const char *method, const char *path,
                                   struct document_node item, struct document_node node) {
    struct service *service = reader->service;
    struct operation operation = {0};
    tn_value shared = tn_get(reader->root.value, "security");
    operation_set_identity(reader, &operation, method, path, node);
    bool good = is_included(wanted, &operation) || is_included_as_renamed(wanted, &operation);
    /* Different operationIds can make the same id: the later one is named after its method and path. */
    if (good && is_name_used(service, operation.id)) operation_rename(&operation);
    if (good && (service->count >= OPERATIONS_MAX || reader->nodes >= NODES_MAX)) {
        service->left_out++;
        good = false;
    } else if (good && is_name_used(service, operation.id)) {
        service_log(service, TN_LOG_WARN, "%s %s is left out: another operation already has the id `%s`", method, path,
                    tn_chars(operation.id, NULL));
        good = false;
    }
    if (good && operation_read(reader, &operation, item, node)) {
        read_security_requirements(&operation, tn_get(node.value, "security"), shared);
        service->operations[service->count++] = operation;
    } else {
        operation_finish(&operation);
    }
}

static void read_path_item(struct service_reader *reader, tn_value wanted, const char *path,
                           struct document_node item) {
    static const char *const methods[][2] = {{"get", "GET"},         {"put", "PUT"},     {"post", "POST"},
                                             {"delete", "DELETE"},   {"patch", "PATCH"}, {"head", "HEAD"},
                                             {"options", "OPTIONS"}, {"trace", "TRACE"}};
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        struct document_node node = node_get(&reader->documents, item, methods[i][0]);
        if (tn.value->kind(node.value) == TN_OBJECT)
            read_service_operation(reader, wanted, methods[i][1], path, item, node);
    }
}

static bool read_service_operations(struct service_reader *reader, tn_value section) {
    struct service *service = reader->service;
    struct document_node paths = node_get(&reader->documents, reader->root, "paths");
    service->operations = tn.core->alloc(tn.host, OPERATIONS_MAX * sizeof(*service->operations));
    if (service->operations == NULL) return false;
    for (uint64_t i = 0, count = tn.value->count(paths.value); i < count; i++) {
        tn_value path, item;
        if (tn.value->entry(paths.value, i, &path, &item) != TN_OK) break;
        if (tn_chars(path, NULL)[0] != '/') continue; /* x-… */
        struct document_node node = node_resolve(&reader->documents, (struct document_node){paths.document, item});
        if (node.value != NULL) read_path_item(reader, tn_get(section, "operations"), tn_chars(path, NULL), node);
    }
    if (service->left_out > 0 && service->count >= OPERATIONS_MAX)
        service_log(service, TN_LOG_WARN,
                    "the description has more than %u operations, and the remaining %u are left out; select operations "
                    "with `operations`",
                    OPERATIONS_MAX, service->left_out);
    else if (service->left_out > 0)
        service_log(
            service, TN_LOG_WARN,
            "the arguments of its first %u operations have schemas of %u values, the limit is %u: the remaining "
            "%u are left out; select operations with `operations`",
            service->count, reader->nodes, NODES_MAX, service->left_out);
    if (service->count == 0)
        service_log(service, TN_LOG_WARN, "no operation of the description is a tool%s",
                    tn_get(section, "operations") != NULL ? ": none matches `operations`" : "");
    return true;
}

/* ---- The service ---- */

static bool check_openapi_version(struct service_reader *reader) {
    const char *version = tn_get_text(reader->root.value, "openapi", "");
    reader->library.old = strncmp(version, "3.0", 3) == 0;
    if (reader->library.old || strncmp(version, "3.1", 3) == 0) return true;
    static const char expected[] = "expected an OpenAPI description with `openapi: 3.0.x` or `3.1.x`";
    if (tn_get(reader->root.value, "swagger") != NULL)
        service_log(reader->service, TN_LOG_ERROR, "found version 2.0 (Swagger), %s; convert it first", expected);
    else if (*version == 0)
        service_log(reader->service, TN_LOG_ERROR, "found no version, %s", expected);
    else
        service_log(reader->service, TN_LOG_ERROR, "found the version %.40s, %s", version, expected);
    return false;
}

static void read_service_limits(struct service *service, tn_value section) {
    tn_value timeout = tn_get(section, "timeout_ms");
    service->max_bytes = tn_get_int(section, "max_bytes", 1 << 20);
    service->max_upload_bytes = tn_get_int(section, "max_upload_bytes", 1 << 24);
    service->redirect_hosts = tn_retain(tn_get(section, "redirect_hosts"));
    service->upload_roots = tn_retain(tn_get(section, "upload_roots"));
    service->connect_ms = tn_get_int(timeout, "connect", 0);
    service->idle_ms = tn_get_int(timeout, "idle", 0);
    service->total_ms = tn_get_int(timeout, "total", 120000);
    service->headers = tn_retain(tn_get(section, "headers"));
    service->answer_headers = tn_retain(tn_get(section, "answer_headers"));
    service->idempotency_header = tn_retain(tn_get(section, "idempotency_header"));
}

struct service *service_read(const char *name, tn_value section) {
    struct service *service = tn.core->alloc(tn.host, sizeof(*service));
    uint64_t length = strlen(name) + 1;
    if (service == NULL) return NULL;
    memset(service, 0, sizeof(*service));
    service->name = tn.core->alloc(tn.host, length);
    if (service->name == NULL) {
        service_free(service);
        return NULL;
    }
    memcpy(service->name, name, length);
    struct service_reader reader = {.service = service};
    reader.library.documents = &reader.documents;
    read_service_limits(service, section);
    bool good = documents_open(&reader.documents, tn_get_text(section, "document", ""),
                               tn_get_text(section, "reference_root", NULL), &reader.root) &&
                check_openapi_version(&reader) && read_base_url(service, section, &reader) &&
                read_security_schemes(service, section, &reader) && read_service_operations(&reader, section);
    schema_library_finish(&reader.library);
    documents_finish(&reader.documents);
    if (good) return service;
    service_free(service);
    return NULL;
}

static void auth_finish(struct auth *auth) {
    tn_release(auth->name);
    tn_release(auth->key);
    tn_release(auth->value);
    tn_release(auth->token_url);
    tn_release(auth->client_id);
    tn_release(auth->client_secret);
    tn_release(auth->scope);
    tn_release(auth->token);
}

void service_free(struct service *service) {
    if (service == NULL) return;
    for (uint32_t i = 0; i < service->count; i++) operation_finish(&service->operations[i]);
    for (uint32_t i = 0; i < service->auth_count; i++) auth_finish(&service->auths[i]);
    if (service->operations != NULL) tn.core->release(tn.host, service->operations);
    if (service->name != NULL) tn.core->release(tn.host, service->name);
    tn_release(service->base_url);
    tn_release(service->headers);
    tn_release(service->answer_headers);
    tn_release(service->redirect_hosts);
    tn_release(service->upload_roots);
    tn_release(service->idempotency_header);
    tn.core->release(tn.host, service);
}
