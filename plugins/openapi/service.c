/*
 * service.c - reading a service: its description, where it is, how it is to be told who we are, and its operations.
 */
#include "service.h"
#include "operation.h"
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

void service_say(const struct service *service, int32_t level, const char *format, ...) {
    char text[1024];
    va_list args;
    int length = snprintf(text, sizeof(text), "%s: ", service->name);
    va_start(args, format);
    (void)vsnprintf(text + length, sizeof(text) - (size_t)length, format, args);
    va_end(args);
    tn.core->log(tn.host, level, text);
}

/* ---- Where it is ---- */

/* {name} in a server's url stands for its variable's default. */
static tn_value server_url(tn_value server) {
    const char *url = tn_get_text(server, "url", "");
    tn_value variables = tn.value->get(server, "variables");
    struct text text = {.limit = 4000};
    while (*url != 0) {
        size_t plain = strcspn(url, "{"), name = url[plain] == '{' ? strcspn(url + plain + 1, "}") : 0;
        char variable[256];
        text_add(&text, url, plain);
        url += plain;
        if (*url == 0) break;
        if (name >= sizeof(variable) || url[name + 1] != '}') break;
        memcpy(variable, url + 1, name);
        variable[name] = 0;
        text_put(&text, tn_get_text(tn.value->get(variables, variable), "default", ""));
        url += name + 2;
    }
    return text_finish(&text);
}

static bool is_absolute(const char *url) { return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0; }

static bool read_base_url(struct service *service, tn_value section, struct reading *reading) {
    tn_value given = tn.value->get(section, "base_url");
    struct place servers = place_get(&reading->documents, reading->root, "servers");
    tn_value url = given != NULL ? tn_retain(given) : server_url(tn.value->at(servers.value, 0));
    uint64_t length = 0;
    const char *chars = tn_chars(url, &length);
    if (chars == NULL || !is_absolute(chars)) {
        service_say(service, TN_LOG_ERROR, "the description %s; say where the service is with `base_url`",
                    chars == NULL || *chars == 0 ? "names no server" : "names a server without its host");
        tn_release(url);
        return false;
    }
    while (length > 0 && chars[length - 1] == '/') length--;
    service->base_url = tn_text_n(chars, length);
    tn_release(url);
    return true;
}

/* ---- Who we are ---- */

static tn_value bearer(tn_value token) {
    struct text text = {.limit = 1u << 20};
    text_put(&text, "Bearer ");
    text_put(&text, tn_chars(token, NULL));
    return text_finish(&text);
}

static bool refuse_auth(const struct service *service, const char *scheme, const char *expected) {
    service_say(service, TN_LOG_ERROR, "auth.%s: expected %s", scheme, expected);
    return false;
}

static bool read_key(struct auth *auth, tn_value scheme, tn_value given, const struct service *service) {
    const char *in = tn_get_text(scheme, "in", "header");
    auth->in = strcmp(in, "query") == 0 ? IN_QUERY : strcmp(in, "cookie") == 0 ? IN_COOKIE : IN_HEADER;
    auth->key = tn_text(tn_get_text(scheme, "name", "authorization"));
    auth->value = tn_chars(given, NULL) != NULL ? tn_retain(given) : NULL;
    return auth->value != NULL ||
           refuse_auth(service, tn_chars(auth->name, NULL), "a text: the key, as {secret: NAME}");
}

static bool read_http(struct auth *auth, tn_value scheme, tn_value given, const struct service *service) {
    const char *user = tn_get_text(given, "user", NULL), *password = tn_get_text(given, "password", "");
    auth->in = IN_HEADER;
    auth->key = tn_text("authorization");
    if (strcasecmp(tn_get_text(scheme, "scheme", ""), "basic") == 0) {
        if (user == NULL)
            return refuse_auth(service, tn_chars(auth->name, NULL), "{user: TEXT, password: {secret: NAME}}");
        auth->value = text_basic(user, password);
        return auth->value != NULL;
    }
    if (tn_chars(given, NULL) == NULL)
        return refuse_auth(service, tn_chars(auth->name, NULL), "a text: the token, as {secret: NAME}");
    auth->value = bearer(given);
    return auth->value != NULL;
}

/* A token that is there, or what one is fetched with (RFC 6749, 4.4). */
static bool read_oauth(struct auth *auth, tn_value scheme, tn_value given, const struct service *service) {
    tn_value flow = tn.value->get(tn.value->get(scheme, "flows"), "clientCredentials"), url;
    if (tn_chars(given, NULL) != NULL) return read_http(auth, scheme, given, service);
    auth->in = IN_HEADER;
    auth->key = tn_text("authorization");
    url = tn.value->get(given, "token_url");
    if (url == NULL) url = tn.value->get(flow, "tokenUrl");
    auth->client_id = tn_retain(tn.value->get(given, "client_id"));
    auth->client_secret = tn_retain(tn.value->get(given, "client_secret"));
    auth->scope = tn_retain(tn.value->get(given, "scope"));
    if (tn_chars(url, NULL) == NULL || !is_absolute(tn_chars(url, NULL)) || auth->client_id == NULL ||
        auth->client_secret == NULL)
        return refuse_auth(service, tn_chars(auth->name, NULL),
                           "a token, or {client_id, client_secret}, and token_url where the description has none");
    auth->token_url = tn_retain(url);
    return true;
}

static bool read_auths(struct service *service, tn_value section, struct reading *reading) {
    struct place components = place_get(&reading->documents, reading->root, "components");
    struct place schemes = place_get(&reading->documents, components, "securitySchemes");
    tn_value given = tn.value->get(section, "auth");
    for (uint64_t i = 0, count = tn.value->count(given); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(given, i, &key, &value) != TN_OK) break;
        const char *name = tn_chars(key, NULL);
        struct place scheme = place_get(&reading->documents, schemes, name);
        if (scheme.value == NULL) {
            service_say(service, TN_LOG_ERROR, "auth.%s: the description has no security scheme of that name", name);
            return false;
        }
        if (service->auth_count >= AUTHS_MAX) return refuse_auth(service, name, "at most 32 schemes");
        struct auth *auth = &service->auths[service->auth_count++];
        const char *type = tn_get_text(scheme.value, "type", "");
        auth->name = tn_retain(key);
        bool good = strcmp(type, "apiKey") == 0 ? read_key(auth, scheme.value, value, service)
                    : strcmp(type, "http") == 0 ? read_http(auth, scheme.value, value, service)
                                                : read_oauth(auth, scheme.value, value, service);
        if (!good) return false;
    }
    return true;
}

static struct auth *find_auth(struct service *service, const char *name) {
    for (uint32_t i = 0; i < service->auth_count; i++)
        if (strcmp(tn_chars(service->auths[i].name, NULL), name) == 0) return &service->auths[i];
    return NULL;
}

/* All schemes of one alternative. False: tenon.yaml has nothing for one of them. */
static bool take_alternative(struct operation *operation, tn_value alternative) {
    const size_t most = sizeof(operation->auths) / sizeof(operation->auths[0]) - 1;
    memset(operation->auths, 0, sizeof(operation->auths));
    for (uint64_t i = 0, count = tn.value->count(alternative); i < count; i++) {
        tn_value key, scopes;
        if (i >= most || tn.value->entry(alternative, i, &key, &scopes) != TN_OK) return false;
        operation->auths[i] = find_auth(operation->service, tn_chars(key, NULL));
        if (operation->auths[i] == NULL) return false;
    }
    return true;
}

/* The first alternative that can be met; one that asks for nothing comes last. */
static void read_security(struct operation *operation, tn_value own, tn_value shared) {
    tn_value list = own != NULL ? own : shared;
    struct text names = {.limit = 400};
    bool free_of_charge = tn.value->count(list) == 0;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        tn_value alternative = tn.value->at(list, i), key, scopes;
        if (tn.value->count(alternative) == 0) {
            free_of_charge = true;
            continue;
        }
        if (take_alternative(operation, alternative)) {
            text_free(&names);
            return;
        }
        if (tn.value->entry(alternative, 0, &key, &scopes) != TN_OK) continue;
        if (names.length > 0) text_put(&names, " or ");
        text_put(&names, tn_chars(key, NULL));
    }
    memset(operation->auths, 0, sizeof(operation->auths));
    if (!free_of_charge && names.length > 0)
        operation->missing = text_finish(&names);
    else
        text_free(&names);
}

/* ---- Operations ---- */

static bool fits(const char *pattern, const char *name) {
    for (; *pattern != 0; pattern++, name++) {
        if (*pattern == '*') {
            while (*pattern == '*') pattern++;
            for (; *name != 0; name++)
                if (fits(pattern, name)) return true;
            return *pattern == 0;
        }
        if (*pattern != *name) return false;
    }
    return *name == 0;
}

/* `operations` of the configuration: ids without the service's name, or patterns of them. */
static bool is_wanted(tn_value patterns, const struct operation *operation) {
    const char *id = tn_chars(operation->id, NULL) + strlen(operation->service->name) + 1;
    if (patterns == NULL) return true;
    for (uint64_t i = 0, count = tn.value->count(patterns); i < count; i++)
        if (fits(tn_chars(tn.value->at(patterns, i), NULL), id)) return true;
    return false;
}

static bool is_taken(const struct service *service, tn_value id) {
    for (uint32_t i = 0; i < service->count; i++)
        if (tn.value->equal(service->operations[i].id, id)) return true;
    return false;
}

static void read_operation(struct reading *reading, tn_value wanted, const char *method, const char *path,
                           struct place item, struct place place) {
    struct service *service = reading->service;
    struct operation operation = {0};
    tn_value shared = tn.value->get(reading->root.value, "security");
    operation_name(reading, &operation, method, path, place);
    bool good = is_wanted(wanted, &operation);
    if (good && (service->count >= OPERATIONS_MAX || reading->nodes >= NODES_MAX)) {
        service->left_out++;
        good = false;
    } else if (good && is_taken(service, operation.id)) {
        service_say(service, TN_LOG_WARN, "%s %s: another operation has the id `%s` already: it is left out", method,
                    path, tn_chars(operation.id, NULL));
        good = false;
    }
    if (good && operation_read(reading, &operation, item, place)) {
        read_security(&operation, tn.value->get(place.value, "security"), shared);
        service->operations[service->count++] = operation;
    } else {
        operation_finish(&operation);
    }
}

static void read_item(struct reading *reading, tn_value wanted, const char *path, struct place item) {
    static const char *const methods[][2] = {{"get", "GET"},         {"put", "PUT"},     {"post", "POST"},
                                             {"delete", "DELETE"},   {"patch", "PATCH"}, {"head", "HEAD"},
                                             {"options", "OPTIONS"}, {"trace", "TRACE"}};
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        struct place place = place_get(&reading->documents, item, methods[i][0]);
        if (tn.value->kind(place.value) == TN_OBJECT) read_operation(reading, wanted, methods[i][1], path, item, place);
    }
}

static bool read_operations(struct reading *reading, tn_value section) {
    struct service *service = reading->service;
    struct place paths = place_get(&reading->documents, reading->root, "paths");
    service->operations = tn.core->alloc(tn.host, OPERATIONS_MAX * sizeof(*service->operations));
    if (service->operations == NULL) return false;
    for (uint64_t i = 0, count = tn.value->count(paths.value); i < count; i++) {
        tn_value path, item;
        if (tn.value->entry(paths.value, i, &path, &item) != TN_OK) break;
        if (tn_chars(path, NULL)[0] != '/') continue; /* x-… */
        struct place place = place_resolve(&reading->documents, (struct place){paths.document, item});
        if (place.value != NULL) read_item(reading, tn.value->get(section, "operations"), tn_chars(path, NULL), place);
    }
    if (service->left_out > 0 && service->count >= OPERATIONS_MAX)
        service_say(service, TN_LOG_WARN,
                    "the description has more than %u operations, and the rest of them (%u) is left out; choose some "
                    "with `operations`",
                    OPERATIONS_MAX, service->left_out);
    else if (service->left_out > 0)
        service_say(service, TN_LOG_WARN,
                    "the arguments of its first %u operations have schemas of %u values, the most is %u: the rest of "
                    "them (%u) is left out; choose some with `operations`",
                    service->count, reading->nodes, NODES_MAX, service->left_out);
    if (service->count == 0)
        service_say(service, TN_LOG_WARN, "no operation of the description is a tool%s",
                    tn.value->get(section, "operations") != NULL ? ": none fits `operations`" : "");
    return true;
}

/* ---- The service ---- */

static bool read_version(struct reading *reading) {
    const char *version = tn_get_text(reading->root.value, "openapi", "");
    reading->old = strncmp(version, "3.0", 3) == 0;
    if (reading->old || strncmp(version, "3.1", 3) == 0) return true;
    static const char expected[] = "expected an OpenAPI description with `openapi: 3.0.x` or `3.1.x`";
    if (tn.value->get(reading->root.value, "swagger") != NULL)
        service_say(reading->service, TN_LOG_ERROR, "found version 2.0 (Swagger), %s; convert it first", expected);
    else if (*version == 0)
        service_say(reading->service, TN_LOG_ERROR, "found no version, %s", expected);
    else
        service_say(reading->service, TN_LOG_ERROR, "found the version %.40s, %s", version, expected);
    return false;
}

static void read_limits(struct service *service, tn_value section) {
    tn_value timeout = tn.value->get(section, "timeout_ms");
    service->max_bytes = tn_get_int(section, "max_bytes", 1 << 20);
    service->connect_ms = tn_get_int(timeout, "connect", 0);
    service->idle_ms = tn_get_int(timeout, "idle", 0);
    service->total_ms = tn_get_int(timeout, "total", 120000);
    service->headers = tn_retain(tn.value->get(section, "headers"));
    service->answer_headers = tn_retain(tn.value->get(section, "answer_headers"));
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
    struct reading reading = {.service = service};
    read_limits(service, section);
    bool good = documents_open(&reading.documents, tn_get_text(section, "document", ""), &reading.root) &&
                read_version(&reading) && read_base_url(service, section, &reading) &&
                read_auths(service, section, &reading) && read_operations(&reading, section);
    documents_finish(&reading.documents);
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
    tn.core->release(tn.host, service);
}
