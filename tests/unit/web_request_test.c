/* Requests of server/web until a plugin gets them: routes, paths, hosts, origins, keys, limits and bodies. */
#include "tests/unit/web_fixture.h"

static char *reader, *runner; /* headers with a key */

static int open_each(void **state) {
    (void)state;
    web_open_host(NULL);
    reader = key_headers("{\"name\":\"ada\",\"scope\":\"read\"}");
    runner =
        key_headers("{\"name\":\"bob\",\"scope\":\"run\",\"owner\":\"team\",\"limits\":{\"requests_per_minute\":60}}");
    web_open_web("{\"log\":false,\"hosts\":[\"chat.example\"],\"origins\":[\"https://app.example\"]}");
    return 0;
}

static int close_each(void **state) {
    (void)state;
    mem_free(reader);
    mem_free(runner);
    web_shut();
    return 0;
}

static void expect_not_routed(const tn_host *plugin, const char *json, const char *part) {
    char why[512];
    assert_int_equal(route_as(plugin, json, why, sizeof why), TN_FAILED);
    expect_in(why, part);
}

static void refuses_malformed_routes(void **state) {
    static const char *const wrong[][2] = {
        {"[]", "must be an object"},
        {"{\"path\":\"/v1\",\"scope\":\"none\"}", "`method`"},
        {"{\"method\":\"BREW\",\"path\":\"/v1\",\"scope\":\"none\"}", "`method`"},
        {"{\"method\":\"GET\",\"path\":\"v1\",\"scope\":\"none\"}", "`path`"},
        {"{\"method\":\"GET\",\"path\":\"/v1/{}\",\"scope\":\"none\"}", "`path`"},
        {"{\"method\":\"GET\",\"path\":\"/v1/a{b}\",\"scope\":\"none\"}", "`path`"},
        {"{\"method\":\"GET\",\"path\":\"/v1/{b*}/c\",\"scope\":\"none\"}", "`path`"},
        {"{\"method\":\"GET\",\"path\":\"/v1?a\",\"scope\":\"none\"}", "`path`"},
        {"{\"method\":\"GET\",\"path\":\"/v1\"}", "`scope`"},
        {"{\"method\":\"GET\",\"path\":\"/v1\",\"scope\":\"write\"}", "`scope`"},
        {"{\"method\":\"POST\",\"path\":\"/v1\",\"scope\":\"none\",\"body\":{\"max\":0}}", "`body.max`"},
        {"{\"method\":\"POST\",\"path\":\"/v1\",\"scope\":\"none\",\"body\":{\"max\":67108865}}", "`body.max`"},
        {"{\"method\":\"POST\",\"path\":\"/v1\",\"scope\":\"none\",\"body\":{\"types\":[1]}}", "`body.types`"},
        {"{\"method\":\"GET\",\"path\":\"/v1\",\"scope\":\"none\",\"origins\":[]}", "`origins`"},
        {"{\"method\":\"GET\",\"path\":\"/v1\",\"scope\":\"none\",\"expose\":[\"a\\nb\"]}", "`expose`"},
        {"{\"method\":\"POST\",\"path\":\"/v1\",\"scope\":\"none\",\"websocket\":true}", "`method`"},
        {"{\"method\":\"GET\",\"path\":\"/v2\",\"scope\":\"none\"}", "\"server.route:/v2\""},
        {"{\"method\":\"GET\",\"path\":\"/healthz\",\"scope\":\"none\"}", "effect"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) expect_not_routed(protocol, wrong[i][0], wrong[i][1]);
    route("{\"method\":\"GET\",\"path\":\"/v1/{a}\",\"scope\":\"none\"}");
    expect_not_routed(other_protocol, "{\"method\":\"GET\",\"path\":\"/v1/{b}\",\"scope\":\"none\"}",
                      "`test.protocol`");
    route("{\"method\":\"GET\",\"path\":\"/\",\"scope\":\"none\"}"); /* replaces the list of the host */
    expect_not_routed(protocol, "{\"method\":\"GET\",\"path\":\"/\",\"scope\":\"none\"}", "already");
}

static void limits_the_routes_of_a_plugin(void **state) {
    char json[128], why[256];
    (void)state;
    for (int i = 0; i < TN_SERVER_ROUTES_MAX; i++) {
        snprintf(json, sizeof json, "{\"method\":\"GET\",\"path\":\"/v1/%d\",\"scope\":\"none\"}", i);
        route(json);
    }
    assert_int_equal(route_as(protocol, "{\"method\":\"GET\",\"path\":\"/v1/x\",\"scope\":\"none\"}", why, sizeof why),
                     TN_FAILED);
    expect_in(why, "256 routes");
    assert_int_equal(route_as(other_protocol, "{\"method\":\"GET\",\"path\":\"/v1/x\",\"scope\":\"none\"}", NULL, 0),
                     TN_OK);
}

static void expect_route(const char *method, const char *target, const char *pattern, const char *params) {
    request_with(method, target, NULL, 0);
    expect_text(&events, "REQUEST\n");
    char *found = json_text(value_get(last_request, "params"), JSON_COMPACT);
    assert_string_equal(value_chars(value_get(last_request, "route"), NULL), pattern);
    assert_string_equal(found, params);
    mem_free(found);
}

static void finds_the_route_of_a_path(void **state) {
    static const char *const patterns[] = {"/v1/items",     "/v1/items/{id}", "/v1/items/{id}/parts",
                                           "/v1/items/new", "/v1/files/{p*}", "/v1/{kind}/{id}/x"};
    char json[256];
    (void)state;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        snprintf(json, sizeof json, "{\"method\":\"GET\",\"path\":\"%s\",\"scope\":\"none\"}", patterns[i]);
        route(json);
    }
    route("{\"method\":\"DELETE\",\"path\":\"/v1/items/{id}\",\"scope\":\"none\"}");
    expect_route("GET", "/v1/items", "/v1/items", "{}");
    expect_route("HEAD", "/v1/items", "/v1/items", "{}");
    expect_route("GET", "/v1/items/new", "/v1/items/new", "{}");
    expect_route("DELETE", "/v1/items/new", "/v1/items/{id}", "{\"id\":\"new\"}");
    expect_route("GET", "/v1/items/a%2Fb%20%C3%A9", "/v1/items/{id}", "{\"id\":\"a/b é\"}");
    expect_route("GET", "/v1/items/7/parts", "/v1/items/{id}/parts", "{\"id\":\"7\"}");
    expect_route("GET", "/v1/items/7/x", "/v1/{kind}/{id}/x", "{\"kind\":\"items\",\"id\":\"7\"}");
    expect_route("GET", "/v1/files/a/b/c", "/v1/files/{p*}", "{\"p\":\"a/b/c\"}");
    expect_refused(get("/v1/items/", NULL), 404, "\"NOT_FOUND\"");
    expect_refused(get("/v2", NULL), 404, "/v2");
    expect_refused(get("/v1/items/%ff", NULL), 400, "path is malformed");
    expect_refused(get("/v1/items/%00", NULL), 400, "path is malformed");
    expect_refused(get("/v1/items/%4", NULL), 400, "path is malformed");
    expect_refused(get("/v1/items/%2e%2e", NULL), 400, "path is malformed");
    expect_refused(get("/v1/files/../items", NULL), 400, "path is malformed");
    uint64_t wrong = request_with("POST", "/v1/items/7", NULL, 0);
    expect_refused(wrong, 405, "\"METHOD_NOT_ALLOWED\"");
    expect_header(wrong, "allow", "GET, HEAD, DELETE");
    uint64_t options = request_with("OPTIONS", "/v1/items/7", NULL, 0);
    expect_sent(options, 204, "");
    expect_header(options, "allow", "GET, HEAD, DELETE");
}

static void reads_the_query(void **state) {
    (void)state;
    route("{\"method\":\"GET\",\"path\":\"/v1/q\",\"scope\":\"none\"}");
    get("/v1/q?a=1&b=x+y%21&&c&b=2&b=3", NULL);
    char *found = json_text(value_get(last_request, "query"), JSON_COMPACT);
    assert_string_equal(found, "{\"a\":\"1\",\"b\":[\"x y!\",\"2\",\"3\"],\"c\":\"\"}");
    mem_free(found);
    expect_text(&events, "REQUEST\n");
    expect_refused(get("/v1/q?a=%zz", NULL), 400, "query is malformed");
    expect_refused(get("/v1/q?a=%ff", NULL), 400, "query is malformed");
    struct buffer many;
    buffer_init(&many, SIZE_MAX);
    buffer_text(&many, "/v1/q?");
    for (int i = 0; i < 257; i++) buffer_format(&many, "a%d=&", i);
    expect_refused(get(buffer_cstr(&many), NULL), 400, "at most 256 members");
    buffer_finish(&many);
}

static void answers_only_for_its_hosts(void **state) {
    static const char *const good[] = {"localhost", "LOCALHOST:1",  "127.0.0.1:9",
                                       "[::1]:80",  "chat.example", "chat.example:443"};
    static const char *const bad[] = {
        "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "localhost:x", "[::1", "::1",
        "192.0.2.1"};
    char headers[128];
    (void)state;
    route("{\"method\":\"GET\",\"path\":\"/v1/a\",\"scope\":\"none\"}");
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(headers, sizeof headers, "{\"host\":\"%s\"}", good[i]);
        get("/v1/a", headers);
        expect_text(&events, "REQUEST\n");
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(headers, sizeof headers, "{\"host\":\"%s\"}", bad[i]);
        expect_refused(get("/v1/a", headers), 403, "\"HOST\"");
    }
    uint64_t probe = get("/healthz", "{\"host\":\"10.0.0.7:8700\"}"); /* a probe knows only the address */
    expect_sent(probe, 200, "{\"status\":\"ok\"}");
}

static uint64_t preflight(const char *origin, const char *more) {
    char headers[512];
    snprintf(headers, sizeof headers, "{\"origin\":\"%s\",\"access-control-request-method\":\"POST\"%s}", origin, more);
    return request_with("OPTIONS", "/v1/a", headers, 0);
}

static void pages_of_other_origins_need_to_be_allowed(void **state) {
    (void)state;
    route("{\"method\":\"GET\",\"path\":\"/v1/a\",\"scope\":\"none\",\"expose\":[\"Content-Location\",\"X-Next\"]}");
    route("{\"method\":\"POST\",\"path\":\"/v1/a\",\"scope\":\"none\"}");
    route("{\"method\":\"GET\",\"path\":\"/v1/any\",\"scope\":\"none\",\"origins\":\"*\"}");
    expect_refused(get("/v1/a", "{\"origin\":\"https://evil.example\"}"), 403, "https://evil.example");
    expect_refused(get("/v1/a", "{\"origin\":\"null\"}"), 403, "\"ORIGIN\"");
    auto_respond = "{\"status\":200,\"json\":1}";
    uint64_t own = get("/v1/a", "{\"origin\":\"http://localhost:8700\"}");
    expect_header(own, "access-control-allow-origin", NULL);
    uint64_t listed = get("/v1/a", "{\"origin\":\"https://app.example\"}");
    expect_header(listed, "access-control-allow-origin", "https://app.example");
    expect_header(listed, "access-control-expose-headers", "Content-Location, X-Next");
    expect_header(listed, "access-control-allow-credentials", NULL);
    expect_header(listed, "vary", "Origin");
    uint64_t any = get("/v1/any", "{\"origin\":\"https://evil.example\"}");
    expect_header(any, "access-control-allow-origin", "*");
    buffer_clear(&events);
    uint64_t asked = preflight("https://app.example", ",\"access-control-request-headers\":\"x-api-key, content-type\","
                                                      "\"access-control-request-private-network\":\"true\"");
    expect_sent(asked, 204, "");
    expect_header(asked, "access-control-allow-origin", "https://app.example");
    expect_header(asked, "access-control-allow-methods", "GET, HEAD, POST");
    expect_header(asked, "access-control-allow-headers", "x-api-key, content-type");
    expect_header(asked, "access-control-allow-private-network", "true");
    expect_header(preflight("https://app.example", ""), "access-control-allow-private-network", NULL);
    expect_refused(preflight("https://evil.example", ""), 403, "\"ORIGIN\"");
    uint64_t rebound = preflight("http://evil.example", ",\"host\":\"evil.example\",\"access-control-request-private-"
                                                        "network\":\"true\"");
    expect_refused(rebound, 403, "\"ORIGIN\""); /* a name of the site that has the address of this machine */
    expect_header(preflight("https://evil.example", ""), "access-control-allow-origin", NULL);
    expect_header(preflight("https://app.example", ",\"access-control-request-headers\":\"a\\r\\nb\""),
                  "access-control-allow-headers", NULL);
}

static void needs_a_key(void **state) {
    char headers[256];
    (void)state;
    route("{\"method\":\"GET\",\"path\":\"/v1/a\",\"scope\":\"read\"}");
    route("{\"method\":\"GET\",\"path\":\"/v1/b\",\"scope\":\"run\"}");
    route("{\"method\":\"GET\",\"path\":\"/v1/open\",\"scope\":\"none\"}");
    uint64_t none = get("/v1/a", NULL);
    expect_refused(none, 401, "\"UNAUTHORIZED\"");
    expect_header(none, "www-authenticate", "Bearer realm=\"tenon\"");
    uint64_t unknown = get("/v1/a", "{\"authorization\":\"Bearer tn_wrong\"}");
    expect_refused(unknown, 401, "not known");
    expect_header(unknown, "www-authenticate", "Bearer realm=\"tenon\", error=\"invalid_token\"");
    expect_refused(get("/v1/a", "{\"authorization\":\"Basic YTpi\"}"), 401, "is needed");
    expect_refused(get("/v1/a?key=tn_x", NULL), 401, "URL");
    get("/v1/a", reader);
    expect_text(&events, "REQUEST\n");
    assert_null(value_get(value_get(last_request, "headers"), "x-api-key"));
    tn_value secret = served_json(reader);
    snprintf(headers, sizeof headers, "{\"authorization\":\"bearer %s\"}",
             value_chars(value_get(secret, "x-api-key"), NULL));
    value_unref(secret);
    get("/v1/a", headers);
    expect_text(&events, "REQUEST\n");
    assert_null(value_get(value_get(last_request, "headers"), "authorization"));
    expect_refused(get("/v1/b", reader), 403, "needs a key with the scope `run`");
    get("/v1/b", runner);
    expect_text(&events, "REQUEST\n");
    assert_string_equal(value_chars(value_get(value_get(last_request, "caller"), "owner"), NULL), "team");
    get("/v1/open", "{\"authorization\":\"Bearer something else\"}");
    expect_text(&events, "REQUEST\n");
    assert_null(value_get(last_request, "caller"));
    key_revoke("ada");
    pass(2000);
    expect_refused(get("/v1/a", reader), 401, "revoked");
}

static void limits_the_requests_of_a_key(void **state) {
    (void)state;
    route("{\"method\":\"GET\",\"path\":\"/v1/a\",\"scope\":\"read\"}");
    for (int i = 0; i < 60; i++) get("/v1/a", runner);
    buffer_clear(&events);
    uint64_t late = get("/v1/a", runner);
    expect_refused(late, 429, "requests per minute");
    expect_header(late, "retry-after", "1");
    get("/v1/a", reader); /* another key has its own limit */
    expect_text(&events, "REQUEST\n");
    pass(1000);
    get("/v1/a", runner);
    expect_text(&events, "REQUEST\n");
}

#define TAKES_JSON                                                                                                     \
    "{\"method\":\"POST\",\"path\":\"/v1/json\",\"scope\":\"none\",\"body\":{\"max\":20,\"types\":"                    \
    "[\"application/json\"]}}"
#define IS_JSON "{\"content-type\":\"Application/JSON; charset=utf-8\",\"content-length\":\"1\"}"

static void checks_bodies(void **state) {
    (void)state;
    route(TAKES_JSON);
    route("{\"method\":\"POST\",\"path\":\"/v1/none\",\"scope\":\"none\"}");
    route("{\"method\":\"POST\",\"path\":\"/v1/maybe\",\"scope\":\"none\",\"body\":{\"optional\":true}}");
    post("/v1/json", IS_JSON, "{\"a\":[1]}");
    expect_text(&events, "REQUEST\n");
    assert_non_null(value_get(value_get(last_request, "json"), "a"));
    expect_refused(post("/v1/json", IS_JSON, "{\"a\":"), 400, "INVALID_JSON");
    expect_refused(post("/v1/json", NULL, "{}"), 415, "application/json");
    expect_refused(post("/v1/json", "{\"content-type\":\"text/plain\"}", "{}"), 415, "text/plain");
    expect_refused(post("/v1/json", IS_JSON, "{\"a\":\"0123456789012345\"}"), 413, "BODY_TOO_LARGE");
    expect_refused(request_with("POST", "/v1/json", NULL, 0), 411, "LENGTH_REQUIRED");
    expect_refused(request_with("POST", "/v1/json", "{\"content-length\":\"0\"}", 0), 400, "empty");
    uint64_t chunked = request_with("POST", "/v1/json", IS_JSON, -1);
    body_part(chunked, "{\"a\":\"01234");
    assert_int_equal(sent[chunked].status, 0);
    body_part(chunked, "56789012345\"}");
    expect_refused(chunked, 413, "BODY_TOO_LARGE");
    body_part(chunked, "more");
    body_end(chunked);
    expect_text(&events, "");
    expect_refused(post("/v1/none", NULL, "x"), 413, "takes 0");
    uint64_t empty = request_with("POST", "/v1/json", IS_JSON, -1);
    body_end(empty);
    expect_refused(empty, 400, "empty");
    request_with("POST", "/v1/maybe", NULL, 0);
    expect_text(&events, "REQUEST\n");
    assert_null(value_get(last_request, "body"));
    post("/v1/maybe", "{\"content-type\":\"application/x\"}", "ab");
    expect_text(&events, "REQUEST\n");
    assert_int_equal(value_kind(value_get(last_request, "body")), TN_BYTES);
    uint64_t gone = request_with("POST", "/v1/maybe", NULL, 4);
    body_part(gone, "ab");
    http_close(gone, "client");
    expect_text(&events, ""); /* the plugin has not seen it */
}

static void streams_uploads(void **state) {
    (void)state;
    route("{\"method\":\"POST\",\"path\":\"/v1/up\",\"scope\":\"none\",\"body\":{\"stream\":true,\"max\":6}}");
    uint64_t number = request_with("POST", "/v1/up", NULL, -1);
    expect_text(&events, "REQUEST\n");
    assert_int_equal(interface_server.flow(protocol, number, 0), TN_OK);
    assert_true(sent[number].paused);
    assert_int_equal(interface_server.flow(protocol, number, 1), TN_OK);
    assert_false(sent[number].paused);
    body_part(number, "abc");
    body_end(number);
    expect_text(&events, "BODY {\"$bytes\":\"YWJj\"}\nBODY_END\n");
    uint64_t large = request_with("POST", "/v1/up", NULL, -1);
    body_part(large, "abcdefg");
    expect_text(&events, "REQUEST\n");
    assert_int_equal(sent[large].status, 500);
}

static void plugins_word_refusals(void **state) {
    (void)state;
    route("{\"method\":\"POST\",\"path\":\"/v1/own/a\",\"scope\":\"read\",\"refusals\":true,\"body\":{\"types\":"
          "[\"application/json\"]}}");
    auto_refused =
        "{\"status\":200,\"json\":{\"oops\":true},\"headers\":{\"x-a\":\"b\",\"WWW-Authenticate\":\"Bearer x\"}}";
    uint64_t none = request_with("POST", "/v1/own/a", "{\"content-length\":\"2\"}", 2);
    expect_sent(none, 401, "{\"oops\":true}");
    expect_header(none, "x-a", "b");
    expect_header(none, "www-authenticate", "Bearer x");
    expect_in(buffer_cstr(&events), "REFUSED {\"id\":");
    expect_in(buffer_cstr(&events), "\"status\":401,\"code\":\"UNAUTHORIZED\"");
    buffer_clear(&events);
    (void)request_with("POST", "/v1/own/a", "{\"x-api-key\":\"wrong\",\"authorization\":\"Bearer k\",\"a\":\"b\"}", 2);
    expect_in(buffer_cstr(&events), "\"headers\":{\"a\":\"b\",\"host\":\"" HOST_HEADER "\"}");
    uint64_t number = request_with("PUT", "/v1/own/a", NULL, 0);
    expect_sent(number, 405, "{\"oops\":true}");
    expect_header(number, "allow", "POST");
    expect_sent(get("/v1/own/b", NULL), 404, "{\"oops\":true}");
    uint64_t other = get("/v9", NULL); /* no route begins like this */
    expect_in(buffer_cstr(&sent[other].body), "\"NOT_FOUND\"");
    http_close(none, "done");
    assert_null(strstr(buffer_cstr(&events), "CLOSED"));
    assert_int_equal(respond(none, "{\"status\":200}"), TN_STALE);
    auto_refused = "{\"stream\":\"events\"}"; /* not possible: the host answers */
    expect_in(buffer_cstr(&sent[get("/v1/own/c", NULL)].body), "\"NOT_FOUND\"");
    auto_refused = NULL;
    expect_in(buffer_cstr(&sent[get("/v1/own/c", NULL)].body), "\"NOT_FOUND\"");
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, open_each, close_each)

int main(void) {
    const struct CMUnitTest tests[] = {
        EACH(refuses_malformed_routes),
        EACH(limits_the_routes_of_a_plugin),
        EACH(finds_the_route_of_a_path),
        EACH(reads_the_query),
        EACH(answers_only_for_its_hosts),
        EACH(pages_of_other_origins_need_to_be_allowed),
        EACH(needs_a_key),
        EACH(limits_the_requests_of_a_key),
        EACH(checks_bodies),
        EACH(streams_uploads),
        EACH(plugins_word_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
