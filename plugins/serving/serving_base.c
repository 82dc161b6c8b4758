/*
 * serving_base.c - values, errors, routes, and calls of methods.
 */
#include "serving.h"
#include <sys/random.h>

bool serving_open(struct serving *serving) {
    const void *server = tn_easy_interface(tn.host, TN_SERVER_DRAFT, sizeof(tn_server_draft));
    const void *methods = tn_easy_interface(tn.host, TN_HOST_1, sizeof(tn_host_1));
    serving->server = server;
    serving->methods = methods;
    return server != NULL && methods != NULL;
}

int32_t serving_route(const struct serving *serving, const char *method, const char *path, const char *scope,
                      const char *more, tn_server_handler handler, void *user) {
    tn_value route = tn_from_json(more, strlen(more)), error = NULL;
    uint64_t number;
    if (route != NULL) route = tn_set_take(route, "method", tn_text(method));
    if (route != NULL) route = tn_set_take(route, "path", tn_text(path));
    if (route != NULL) route = tn_set_take(route, "scope", tn_text(scope));
    if (route == NULL) return TN_NO_MEMORY;
    int32_t status = serving->server->route(tn.host, route, handler, user, &number, &error);
    if (status != TN_OK && status != TN_UNSUPPORTED) {
        struct tn_text_buffer text = TN_TEXT_BUFFER(2048);
        (void)tn_text_append_format(&text, "%s %s is not served: %s [%s]", method, path,
                                    tn_get_text(error, "message", "the host has refused the route"),
                                    tn_get_text(error, "code", "FAILED"));
        tn_log(TN_LOG_ERROR, tn_text_chars(&text));
        tn_text_free(&text);
    }
    tn_release(error);
    tn_release(route);
    return status;
}

/* ---- Values ---- */

void *serving_alloc(uint64_t size) {
    void *memory = tn.core->alloc(tn.host, size);
    if (memory != NULL) memset(memory, 0, size);
    return memory;
}

void serving_free(void *memory) {
    if (memory != NULL) tn.core->release(tn.host, memory);
}

char *serving_text_copy(const char *text) {
    size_t size = text != NULL ? strlen(text) + 1 : 0;
    char *copy = text != NULL ? tn.core->alloc(tn.host, size) : NULL;
    if (copy != NULL) memcpy(copy, text, size);
    return copy;
}

uint64_t serving_json_size(tn_value value) {
    uint64_t length = 0;
    tn_value json = tn_to_json(value);
    (void)tn_chars(json, &length);
    tn_release(json);
    return length;
}

/* The bytes of texts and keys in the value. Counting ends above `most`. */
static uint64_t text_size(tn_value value, uint64_t most) {
    uint64_t size = 0, count = tn.value->count(value);
    bool object = tn.value->kind(value) == TN_OBJECT;
    if (tn_chars(value, &size) != NULL) return size;
    for (uint64_t i = 0; i < count && size <= most; i++) {
        tn_value key = NULL, item = NULL;
        if (!object)
            item = tn.value->at(value, i);
        else if (tn.value->entry(value, i, &key, &item) == TN_OK)
            size += text_size(key, most);
        size += text_size(item, most);
    }
    return size;
}

bool serving_json_fits(tn_value value, uint64_t most) {
    if (value == NULL || text_size(value, most) > most) return false;
    uint64_t size = serving_json_size(value);
    return size > 0 && size <= most;
}

bool serving_is(tn_value value, const char *text) {
    uint64_t length = 0, expected = strlen(text);
    const char *chars = tn_chars(value, &length);
    return chars != NULL && length == expected && memcmp(chars, text, expected) == 0;
}

bool serving_true(tn_value value) {
    int32_t truth = 0;
    return tn.value->as_bool(value, &truth) == TN_OK && truth != 0;
}

void serving_random_hex(char *out, uint32_t digits) {
    static const char hex[] = "0123456789abcdef";
    unsigned char bytes[32] = {0};
    uint32_t count = digits / 2 < sizeof bytes ? digits / 2 : (uint32_t)sizeof bytes;
    (void)!getrandom(bytes, count, 0); /* at most 256 bytes are never cut short */
    for (uint32_t i = 0; i < count; i++) {
        out[2 * i] = hex[bytes[i] >> 4];
        out[2 * i + 1] = hex[bytes[i] & 15];
    }
    out[2 * count] = '\0';
}

int64_t serving_now_s(void) { return tn.core->wall_ms(tn.host) / 1000; }

uint64_t serving_caller(tn_value request) {
    int64_t number = tn_get_int(tn_get(request, "caller"), "number", 0);
    return number > 0 ? (uint64_t)number : 0;
}

/* ---- Errors ---- */

int32_t serving_error_status(tn_value error) {
    static const struct {
        const char *code;
        int32_t status;
    } rows[] = {{"INVALID_INPUT", 400},      {"INVALID_GRAPH", 400},   {"CONTEXT_LENGTH", 400},
                {"PERMISSION_DENIED", 403},  {"NOT_FOUND", 404},       {"EXISTS", 409},
                {"CONFLICT", 409},           {"OWNED", 409},           {"CLAIM_LOST", 409},
                {"GRAPH_CHANGED", 409},      {"INVALID_STATE", 409},   {"FENCED", 409},
                {"INVALID_TRANSITION", 409}, {"LIMIT", 429},           {"RATE_LIMITED", 429},
                {"BUDGET_EXCEEDED", 429},    {"QUOTA", 429},           {"UNSUPPORTED", 501},
                {"OVERLOADED", 503},         {"STORE_NOT_FOUND", 503}, {"STORE_BUSY", 503},
                {"STORE_FULL", 503},         {"STORE_READ_ONLY", 503}, {"STORE_CORRUPT", 503},
                {"STORE_VERSION", 503},      {"STORE_ERROR", 503},     {"STORE_INCOMPLETE", 503}};
    const char *code = tn_get_text(error, "code", "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].code, code) == 0) return rows[i].status;
    return 500;
}

/* ---- Calls of methods ---- */

/* A call that the host has not accepted: the handler is called from the loop. */
struct refused_call {
    tn_host_handler handler;
    void *user;
    tn_value error;
};

static void refused_call_drop(void *argument) {
    struct refused_call *refused = argument;
    tn_release(refused->error);
    serving_free(refused);
}

static void refused_call_report(void *argument) {
    struct refused_call *refused = argument;
    refused->handler(refused->user, TN_FAILED, refused->error);
    refused_call_drop(refused);
}

static tn_value error_of_status(int32_t status) {
    if (status == TN_STALE) return tn_error("PERMISSION_DENIED", "the key is not valid any more");
    if (status == TN_LIMIT) return tn_error("LIMIT", "too many requests of this protocol are open; try again later");
    if (status == TN_NOT_FOUND) return tn_error("UNSUPPORTED", "this host does not have the method");
    if (status == TN_UNSUPPORTED) return tn_error("UNSUPPORTED", "the host has no methods");
    return tn_error("NO_MEMORY", "memory ran out");
}

/* The numbers of refused calls have this bit, because they are those of posted calls. */
#define REFUSED_BIT (UINT64_C(1) << 63)

static uint64_t refuse_call(int32_t status, tn_host_handler handler, void *user) {
    struct refused_call *refused = serving_alloc(sizeof *refused);
    uint64_t id = 0;
    if (refused == NULL) return 0;
    *refused = (struct refused_call){handler, user, error_of_status(status)};
    if (tn.core->post(tn.host, 0, refused_call_report, refused_call_drop, refused, &id) == TN_OK)
        return id | REFUSED_BIT;
    refused_call_drop(refused);
    return 0;
}

void serving_call_take(const struct serving *serving, uint64_t caller, const char *method, tn_value params,
                       tn_host_handler handler, void *user, uint64_t *number) {
    uint64_t made = 0;
    int32_t status = TN_NO_MEMORY;
    if (params != NULL && caller == SERVING_PLUGIN)
        status = serving->methods->request(tn.host, method, strlen(method), params, handler, user, &made);
    else if (params != NULL)
        status = serving->server->request_as(tn.host, caller, method, strlen(method), params, handler, user, &made);
    if (status != TN_OK) made = refuse_call(status, handler, user);
    if (number != NULL) *number = made;
    tn_release(params);
}

void serving_cancel(const struct serving *serving, uint64_t number) {
    if (number & REFUSED_BIT)
        (void)tn.core->unpost(tn.host, number & ~REFUSED_BIT);
    else if (number != 0)
        (void)serving->methods->cancel(tn.host, number);
}
