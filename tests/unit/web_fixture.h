/*
 * web_fixture.h - a web with two plugins of the test: a provider of HTTP, which records what it is asked to send, and a
 * protocol, which records the events that it gets.
 *
 *     web_open(&(struct web_setup){.config = "{\"log\": false}"});
 *     route("{\"method\":\"GET\",\"path\":\"/v1/echo\",\"scope\":\"read\"}");
 *     uint64_t number = get("/v1/echo", "{\"x-api-key\":\"…\"}");          // as a client would send it
 *     respond(number, "{\"status\":200,\"json\":{}}");
 *     expect_sent(number, 200, "{}");
 *     web_shut();
 *
 * The clock is a fake one. A request gets the answer of `auto_respond` inside of its handler if that is set.
 */
#ifndef TENON_TESTS_WEB_FIXTURE_H
#define TENON_TESTS_WEB_FIXTURE_H

#include "host/data/access/access_keys.h"
#include "host/plugin/abi/abi_host.h"
#include "host/plugin/abi/abi_server.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include "host/server/web/access.h"
#include "host/server/web/web.h"
#include "host/server/web/web_internal.h"
#include "tests/unit/server_run_fixture.h"

#define HOST_HEADER "localhost:8700"

/* ---- The provider ---- */

#define SENT_MAX 600

static struct sent {
    int status;
    tn_value headers; /* [[name, text], …] */
    struct buffer body;
    int64_t limit; /* of receive; -1: not called */
    bool more, finished, aborted, paused, accepted, closed, received;
    int32_t close_code;
} sent[SENT_MAX];
static uint64_t sent_count;
static tn_http_server_handler http_handler;
static void *http_user;
static tn_value http_options;
static bool http_full, http_draining; /* write and send return FULL */

static int32_t fake_listen(void *self, tn_value options, tn_http_server_handler handler, void *user, uint64_t *listener,
                           tn_value *address, tn_value *error) {
    (void)self;
    if (value_text_is(value_get(options, "address"), "192.0.2.1")) {
        *error = value_set_take(value_object(), "code", value_text("IO"));
        *error = value_set_take(*error, "message", value_text("no such address"));
        return TN_FAILED;
    }
    http_handler = handler;
    http_user = user;
    value_unref(http_options);
    http_options = value_ref(options);
    *listener = 1;
    *address =
        value_set_take(value_set_take(value_object(), "address", value_text("127.0.0.1")), "port", value_int(8700));
    return TN_OK;
}

static int32_t fake_drain(void *self, uint64_t listener) {
    (void)self, (void)listener;
    http_draining = true;
    return TN_OK;
}

static void http_close(uint64_t number, const char *reason) {
    if (sent[number].closed) return;
    sent[number].closed = true;
    tn_value value = value_set_take(value_object(), "reason", value_text(reason));
    value = value_set_take(value, "sent", value_int((int64_t)sent[number].body.length));
    http_handler(http_user, number, TN_HTTP_SERVER_CLOSED, value);
    value_unref(value);
}

static int32_t fake_unlisten(void *self, uint64_t listener) {
    (void)self, (void)listener;
    for (uint64_t i = 1; i <= sent_count; i++) http_close(i, "closed");
    return TN_OK;
}

static int32_t fake_receive(void *self, uint64_t request, uint64_t limit) {
    (void)self;
    sent[request].limit = (int64_t)limit;
    return TN_OK;
}

static int32_t fake_pause(void *self, uint64_t request) {
    (void)self;
    sent[request].paused = true;
    return TN_OK;
}

static int32_t fake_resume(void *self, uint64_t request) {
    (void)self;
    sent[request].paused = false;
    return TN_OK;
}

static int32_t fake_respond(void *self, uint64_t request, int32_t status, tn_value headers, const void *data,
                            uint64_t length, int32_t more) {
    struct sent *to = &sent[request];
    (void)self;
    if (to->closed) return TN_STALE;
    assert_int_equal(to->status, 0);
    to->status = status;
    to->headers = value_ref(headers);
    to->more = more;
    to->finished = !more;
    buffer_append(&to->body, data, length);
    return TN_OK;
}

static int32_t fake_write(void *self, uint64_t request, const void *data, uint64_t length) {
    (void)self;
    if (sent[request].closed) return TN_STALE;
    assert_true(sent[request].more && !sent[request].finished);
    buffer_append(&sent[request].body, data, length);
    return http_full ? TN_HTTP_SERVER_FULL : TN_OK;
}

static int32_t fake_finish(void *self, uint64_t request) {
    (void)self;
    sent[request].finished = true;
    return TN_OK;
}

static int32_t fake_accept(void *self, uint64_t request, tn_value headers) {
    (void)self;
    sent[request].accepted = true;
    sent[request].headers = value_ref(headers);
    return TN_OK;
}

static int32_t fake_send(void *self, uint64_t request, const void *data, uint64_t length, int32_t text) {
    (void)self;
    buffer_format(&sent[request].body, "%s:", text ? "text" : "bytes");
    buffer_append(&sent[request].body, data, length);
    return http_full ? TN_HTTP_SERVER_FULL : TN_OK;
}

static int32_t fake_close(void *self, uint64_t request, int32_t code, const char *reason, uint64_t length) {
    (void)self, (void)reason, (void)length;
    sent[request].close_code = code;
    return TN_OK;
}

static int32_t fake_abort(void *self, uint64_t request) {
    (void)self;
    sent[request].aborted = true;
    return TN_OK;
}

static const tn_http_server_draft fake_server = {.size = sizeof fake_server,
                                                 .listen = fake_listen,
                                                 .drain = fake_drain,
                                                 .unlisten = fake_unlisten,
                                                 .receive = fake_receive,
                                                 .pause = fake_pause,
                                                 .resume = fake_resume,
                                                 .respond = fake_respond,
                                                 .write = fake_write,
                                                 .finish = fake_finish,
                                                 .accept = fake_accept,
                                                 .send = fake_send,
                                                 .close = fake_close,
                                                 .abort = fake_abort};

static const void *fake_interface(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_HTTP_SERVER_DRAFT) == 0 ? &fake_server : NULL;
}
static const tn_plugin fake_plugin = {sizeof fake_plugin, NULL, fake_interface};

/* ---- The protocol ---- */

static const void *protocol_interface(void *self, const char *id) {
    (void)self, (void)id;
    return NULL;
}
static const tn_plugin protocol_plugin = {sizeof protocol_plugin, NULL, protocol_interface};

static struct served served;
static struct web *web;
static struct access *access_keys;
static const tn_host *protocol, *other_protocol; /* interfaces of the plugins test.protocol and test.other */
static struct buffer events;                     /* "NUMBER EVENT value\n" */
static tn_value last_request;                    /* the value of the last TN_SERVER_REQUEST */
static const char *auto_respond, *auto_refused;  /* responses inside of a handler; NULL: none */
static struct buffer results;                    /* of request_as and subscribe_as: "STATUS value\n" */

FIXTURE_UNUSED static void protocol_on_event(void *user, uint64_t request, int32_t event, tn_value value) {
    static const char *const names[] = {"?",       "REQUEST", "BODY",   "BODY_END", "ROOM",
                                        "MESSAGE", "DRAIN",   "CLOSED", "REFUSED"};
    const char *answer = event == TN_SERVER_REQUEST ? auto_respond : event == TN_SERVER_REFUSED ? auto_refused : NULL;
    char *text = value ? json_text(value, JSON_COMPACT) : NULL;
    buffer_format(&events, "%s%s", user ? (const char *)user : "", names[event]);
    if (text && event != TN_SERVER_REQUEST) buffer_format(&events, " %s", text);
    buffer_char(&events, '\n');
    mem_free(text);
    if (event == TN_SERVER_REQUEST) {
        value_unref(last_request);
        last_request = value_ref(value);
    }
    if (!answer) return;
    tn_value response = served_json(answer);
    (void)interface_server.respond(protocol, request, response);
    value_unref(response);
}

FIXTURE_UNUSED static void on_result(void *user, int32_t status, tn_value value) {
    char *text = value ? json_text(value, JSON_COMPACT) : mem_text("");
    buffer_format(&results, "%s%d %s\n", user ? (const char *)user : "", status, text);
    mem_free(text);
}

FIXTURE_UNUSED static void add_plugin(const char *manifest, const tn_plugin *plugin) {
    struct error error = ERROR_INIT;
    tn_value value = served_json(manifest);
    if (registry_add_native(host_registry(served.host), value, plugin, "test", &error) != TN_OK)
        fail_msg("%s", error.message);
    value_unref(value);
}

/* ---- Opening and closing ---- */

struct web_setup {
    const char *config, *effects;
    bool no_listener;
};

static bool key_done;
static tn_value key_result;

FIXTURE_UNUSED static void on_key(void *user, int32_t status, tn_value result, const struct error *error) {
    (void)user;
    if (status != TN_OK) fail_msg("%s", error->message);
    key_result = value_ref(result);
    key_done = true;
}

FIXTURE_UNUSED static bool is_key_done(void *user) {
    (void)user;
    return key_done;
}

/* {"x-api-key": SECRET}, as a text that the caller frees. Call it before web_open_web, which reads the keys. */
FIXTURE_UNUSED static char *key_headers(const char *wanted) {
    tn_value value = served_json(wanted);
    key_done = false;
    access_key_create(host_store(served.host, NULL), value, on_key, NULL);
    assert_true(loop_run(host_loop(served.host), is_key_done, NULL));
    tn_value headers = value_set_take(value_object(), "x-api-key", value_ref(value_get(key_result, "secret")));
    char *text = json_text(headers, JSON_COMPACT);
    value_unref(headers);
    value_unref(key_result);
    value_unref(value);
    return text;
}

FIXTURE_UNUSED static void key_revoke(const char *name) {
    key_done = false;
    access_key_revoke(host_store(served.host, NULL), name, on_key, NULL);
    assert_true(loop_run(host_loop(served.host), is_key_done, NULL));
    value_unref(key_result);
}

FIXTURE_UNUSED static bool time_has_come(void *user) {
    return loop_now_ms(host_loop(served.host)) >= *(const int64_t *)user;
}

/* Lets the fake clock run. */
FIXTURE_UNUSED static void pass(int64_t ms) {
    int64_t until_ms = loop_now_ms(host_loop(served.host)) + ms;
    (void)loop_run(host_loop(served.host), time_has_come, &until_ms);
}

static const char *web_yaml; /* the host's tenon.yaml; NULL: none */

FIXTURE_UNUSED static void web_open_host(const char *effects) {
    char manifest[1024];
    memset(sent, 0, sizeof sent);
    sent_count = 0;
    http_full = http_draining = false;
    auto_respond = auto_refused = NULL;
    last_request = NULL;
    buffer_init(&events, SIZE_MAX);
    buffer_init(&results, SIZE_MAX);
    if (web_yaml)
        served_open_with(&served, METHOD_ADMIN, web_yaml);
    else
        served_open(&served, METHOD_ADMIN);
    loop_fake_clock(host_loop(served.host));
    add_plugin("{\"plugin\":{\"id\":\"test.fake\",\"version\":\"1.0.0\",\"title\":\"HTTP\",\"provides\":"
               "[\"" TN_HTTP_SERVER_DRAFT "\"]}}",
               &fake_plugin);
    for (int i = 0; i < 2; i++) {
        snprintf(manifest, sizeof manifest,
                 "{\"plugin\":{\"id\":\"test.%s\",\"version\":\"1.0.0\",\"title\":\"Protocol\",\"effects\":%s}}",
                 i ? "other" : "protocol",
                 effects ? effects : "[\"server.route:/v1*\",\"server.route:/\",\"host.method\"]");
        add_plugin(manifest, &protocol_plugin);
    }
    protocol = plugin_host(registry_plugin(host_registry(served.host), "test.protocol"));
    other_protocol = plugin_host(registry_plugin(host_registry(served.host), "test.other"));
}

FIXTURE_UNUSED static void web_open_web(const char *config) {
    struct error error = ERROR_INIT;
    uint16_t port = 0;
    tn_value section = served_json(config ? config : "{\"log\":false}");
    access_keys = access_new(served.server, NULL, &error);
    if (!access_keys) fail_msg("%s", error.message);
    web = web_new(served.server, &(struct web_options){.access = access_keys, .config = section}, &error);
    if (!web) fail_msg("%s", error.message);
    if (web_listen(web, "127.0.0.1", 0, NULL, &port, &error) != TN_OK) fail_msg("%s", error.message);
    assert_int_equal(port, 8700);
    value_unref(section);
}

FIXTURE_UNUSED static void web_shut(void) {
    web_free(web);
    access_free(access_keys);
    for (uint64_t i = 1; i <= sent_count; i++) {
        value_unref(sent[i].headers);
        buffer_finish(&sent[i].body);
    }
    value_unref(http_options);
    http_options = NULL;
    value_unref(last_request);
    buffer_finish(&events);
    buffer_finish(&results);
    served_close(&served);
}

/* ---- Requests ---- */

FIXTURE_UNUSED static const char *web_peer = "127.0.0.1:4711"; /* the address of requests */

/* `headers` is a JSON object, or NULL; `host` is added. `body`: its length; -1: unknown. */
FIXTURE_UNUSED static uint64_t request_with(const char *method, const char *target, const char *headers, int64_t body) {
    uint64_t number = ++sent_count;
    assert_true(number < SENT_MAX);
    size_t path = strcspn(target, "?");
    sent[number] = (struct sent){.limit = -1};
    buffer_init(&sent[number].body, SIZE_MAX);
    tn_value all = served_json(headers ? headers : "{}");
    if (!value_get(all, "host")) all = value_set_take(all, "host", value_text(HOST_HEADER));
    tn_value head = value_set_take(value_object(), "method", value_text(method));
    head = value_set_take(head, "target", value_text(target));
    head = value_set_take(head, "path", value_text_n(target, path));
    head = value_set_take(head, "query", value_text(target[path] ? target + path + 1 : ""));
    head = value_set_take(head, "headers", all);
    head = value_set_take(head, "address", value_text(web_peer));
    head = value_set_take(head, "secure", value_bool(false));
    head = value_set_take(head, "body", value_int(body));
    http_handler(http_user, number, TN_HTTP_SERVER_REQUEST, head);
    value_unref(head);
    return number;
}

FIXTURE_UNUSED static uint64_t get(const char *target, const char *headers) {
    return request_with("GET", target, headers, 0);
}

FIXTURE_UNUSED static void body_part(uint64_t number, const char *text) {
    tn_value bytes = value_bytes(text, strlen(text));
    http_handler(http_user, number, TN_HTTP_SERVER_BODY, bytes);
    value_unref(bytes);
}

FIXTURE_UNUSED static void body_end(uint64_t number) { http_handler(http_user, number, TN_HTTP_SERVER_BODY_END, NULL); }

FIXTURE_UNUSED static uint64_t post(const char *target, const char *headers, const char *body) {
    uint64_t number = request_with("POST", target, headers, (int64_t)strlen(body));
    if (sent[number].limit < 0) return number;
    body_part(number, body);
    body_end(number);
    return number;
}

/* ---- What the protocol does ---- */

FIXTURE_UNUSED static int32_t route_as(const tn_host *plugin, const char *json, char *why, size_t size) {
    tn_value value = served_json(json), error = NULL;
    uint64_t number = 0;
    int32_t status = interface_server.route(plugin, value, protocol_on_event, NULL, &number, &error);
    if (why) snprintf(why, size, "%s", error ? value_chars(value_get(error, "message"), NULL) : "");
    value_unref(error);
    value_unref(value);
    return status;
}

FIXTURE_UNUSED static void route(const char *json) {
    char why[512];
    if (route_as(protocol, json, why, sizeof why) != TN_OK) fail_msg("%s: %s", json, why);
}

FIXTURE_UNUSED static int32_t respond(uint64_t number, const char *json) {
    tn_value response = served_json(json);
    int32_t status = interface_server.respond(protocol, number, response);
    value_unref(response);
    return status;
}

FIXTURE_UNUSED static int32_t event(uint64_t number, const char *json) {
    tn_value value = served_json(json);
    int32_t status = interface_server.event(protocol, number, value);
    value_unref(value);
    return status;
}

FIXTURE_UNUSED static uint64_t caller_number(void) {
    return (uint64_t)value_to_int(value_get(value_get(last_request, "caller"), "number"));
}

FIXTURE_UNUSED static int32_t request_as(uint64_t caller, const char *method, const char *params, uint64_t *number) {
    uint64_t unused;
    tn_value value = served_json(params);
    int32_t status =
        interface_server.request_as(protocol, caller, method, TN_Z, value, on_result, NULL, number ? number : &unused);
    value_unref(value);
    return status;
}

/* ---- What is expected ---- */

FIXTURE_UNUSED static void expect_text(struct buffer *buffer, const char *text) {
    if (strcmp(buffer_cstr(buffer), text) != 0) fail_msg("found:\n%s\nexpected:\n%s", buffer_cstr(buffer), text);
    buffer_clear(buffer);
}

FIXTURE_UNUSED static void expect_in(const char *found, const char *text) {
    if (!strstr(found, text)) fail_msg("found: %s\nexpected in it: %s", found, text);
}

FIXTURE_UNUSED static void expect_sent(uint64_t number, int status, const char *body) {
    if (sent[number].status != status || strcmp(buffer_cstr(&sent[number].body), body) != 0)
        fail_msg("found: %d %s\nexpected: %d %s", sent[number].status, buffer_cstr(&sent[number].body), status, body);
}

/* NULL if the response has no such header. */
FIXTURE_UNUSED static const char *sent_header(uint64_t number, const char *name) {
    for (size_t i = 0; i < value_count(sent[number].headers); i++) {
        tn_value pair = value_at(sent[number].headers, i);
        if (strcasecmp(value_chars(value_at(pair, 0), NULL), name) == 0) return value_chars(value_at(pair, 1), NULL);
    }
    return NULL;
}

FIXTURE_UNUSED static void expect_header(uint64_t number, const char *name, const char *text) {
    const char *found = sent_header(number, name);
    if ((found == NULL) != (text == NULL) || (found && strcmp(found, text) != 0))
        fail_msg("%s: found %s, expected %s", name, found ? found : "none", text ? text : "none");
}

/* The status, and a part of the body. */
FIXTURE_UNUSED static void expect_refused(uint64_t number, int status, const char *part) {
    if (sent[number].status != status) fail_msg("found: %d %s", sent[number].status, buffer_cstr(&sent[number].body));
    expect_in(buffer_cstr(&sent[number].body), part);
    expect_text(&events, "");
}

FIXTURE_UNUSED static bool has_results(void *user) {
    (void)user;
    return results.length > 0;
}

/* Waits for a report of request_as or subscribe_as. */
FIXTURE_UNUSED static const char *next_result(void) {
    static char text[65536];
    assert_true(loop_run(host_loop(served.host), has_results, NULL));
    snprintf(text, sizeof text, "%s", buffer_cstr(&results));
    buffer_clear(&results);
    return text;
}

#endif
