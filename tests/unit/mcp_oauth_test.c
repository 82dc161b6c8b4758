/*
 * mcp_oauth_test.c - the parts of the plugin tenon.mcp's authorization that need neither a server nor a loop.
 *
 * Challenges, scopes, URLs and the returned queries of a browser are in tests/corpus/mcp. The behaviour of servers is
 * tested from outside: tests/mcp/authorization.py.
 */
#include "tests/unit/corpus.h"
#include "tests/unit/fake_core.h"

#include "plugins/mcp/oauth/address.h"
#include "plugins/mcp/oauth/authorize.h"
#include "plugins/mcp/oauth/challenge.h"
#include "plugins/mcp/oauth/client.h"
#include "plugins/mcp/oauth/metadata.h"
#include "plugins/mcp/oauth/redact.h"
#include "plugins/mcp/oauth/token.h"
#include "plugins/sign/sign.h"

TN_EASY_HIDDEN const tn_http_1 *mcp_http; /* nothing is sent here */

static int64_t wall = INT64_C(1800000000000);

static int64_t moved_wall_ms(const tn_host *host) {
    (void)host;
    return wall;
}

static const tn_core_1 core = {.size = sizeof(tn_core_1),
                               .wall_ms = moved_wall_ms,
                               .alloc = fake_alloc,
                               .resize = fake_resize,
                               .release = fake_release};

static int setup(void **state) {
    (void)state;
    fake_core_open();
    tn.core = &core;
    return 0;
}

static tn_value json(const char *text) {
    tn_value value = tn_from_json(text, TN_Z);
    assert_non_null(value);
    return value;
}

static void expect_text(const struct corpus_case *test, tn_value value) { /* takes `value` */
    corpus_expect(test, "out", value != NULL ? tn_chars(value, NULL) : "none");
    tn_release(value);
}

/* ---- Text ---- */

static void check_challenge(const struct corpus_case *test, void *user) {
    tn_value challenge = challenge_read(corpus_need(test, "in"));
    (void)user;
    expect_text(test, challenge != NULL ? tn_to_json(challenge) : NULL);
    tn_release(challenge);
}

static void check_scope(const struct corpus_case *test, void *user) {
    const char *a = corpus_section(test, "a"), *b = corpus_section(test, "b");
    tn_value both = scopes_join(a, b);
    (void)user;
    assert_true(both == NULL || scopes_include(tn_chars(both, NULL), "") == 1);
    expect_text(test, both);
}

static void test_challenges(void **state) {
    (void)state;
    corpus_each("tests/corpus/mcp/challenge.txt", check_challenge, NULL);
    corpus_each("tests/corpus/mcp/scope.txt", check_scope, NULL);
    assert_null(challenge_read(NULL));
    assert_true(scopes_include("a b c", "c a"));
    assert_false(scopes_include("a b", "a bb"));
    assert_false(scopes_include(NULL, "a"));
    assert_true(scopes_include(NULL, NULL));
    char many[OAUTH_SCOPES_MAX * 8];
    *many = '\0';
    for (int i = 0; i < OAUTH_SCOPES_MAX + 10; i++)
        (void)snprintf(many + strlen(many), sizeof many - strlen(many), "s%d ", i);
    tn_value set = scopes_join(many, NULL);
    assert_true(scopes_include(tn_chars(set, NULL), "s63"));
    assert_false(scopes_include(tn_chars(set, NULL), "s64"));
    tn_release(set);
}

static void check_covers(const char *resource, const char *line) {
    char url[200], answer[8];
    assert_int_equal(sscanf(line, "%199s %7s", url, answer), 2);
    if (address_covers(resource, url) != (strcmp(answer, "yes") == 0)) fail_msg("%s and %s", resource, line);
}

static void check_address(const struct corpus_case *test, void *user) {
    static const char *const names[] = {"root", "inserted", "appended"};
    struct address address;
    char out[2000];
    const char *in = corpus_need(test, "in"), *covers = corpus_section(test, "covers");
    (void)user;
    if (covers != NULL) {
        for (const char *line = covers; line != NULL; line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL)
            check_covers(in, line);
        return;
    }
    if (!address_read(in, &address)) {
        corpus_expect(test, "out", "none");
        return;
    }
    tn_value origin = address_origin(&address), resource = address_resource(&address);
    (void)snprintf(out, sizeof out, "%s%s resource %s", tn_chars(origin, NULL),
                   address_is_local(&address) ? " local" : "", tn_chars(resource, NULL));
    for (int i = 0; i < 3; i++) {
        tn_value known = address_well_known(&address, "x", (enum well_known)i);
        (void)snprintf(out + strlen(out), sizeof out - strlen(out), "\n%s %s", names[i], tn_chars(known, NULL));
        tn_release(known);
    }
    corpus_expect(test, "out", out);
    tn_release(origin);
    tn_release(resource);
}

static void test_addresses(void **state) {
    struct address far, near;
    char longest[OAUTH_URL_MAX + 2] = "https://a.example/";
    (void)state;
    corpus_each("tests/corpus/mcp/address.txt", check_address, NULL);
    assert_true(address_read("http://far.example", &far));
    assert_true(address_read("http://localhost:1", &near));
    assert_false(address_is_safe(&far, true));
    assert_false(address_is_safe(&near, false));
    assert_true(address_is_safe(&near, true));
    memset(longest + strlen(longest), 'x', sizeof longest - strlen(longest) - 1);
    assert_false(address_read(longest, &far));
    longest[OAUTH_URL_MAX] = '\0';
    assert_true(address_read(longest, &far));
    assert_false(address_read(NULL, &far));
}

/* ---- Metadata ---- */

static void test_metadata(void **state) {
    char why[OAUTH_WHY_MAX];
    tn_value document = json("{\"resource\":\"https://a.example\",\"authorization_servers\":[\"http://127.0.0.1:1\",7,"
                             "\"https://as.example\"],\"scopes_supported\":[\"b\",\"a\",\"b\",3]}");
    (void)state;
    tn_value made = metadata_read_resource(document, "https://a.example/mcp", false, why, sizeof why), text;
    text = tn_to_json(made);
    assert_string_equal(tn_chars(text, NULL), "{\"resource\":\"https://a.example\",\"authorization_servers\":["
                                              "\"https://as.example\"],\"scope\":\"b a\"}");
    tn_release(text);
    tn_release(made);
    tn_release(document);
    made = metadata_make_default("https://a.example");
    assert_string_equal(tn_get_text(made, "token_endpoint", ""), "https://a.example/token");
    tn_release(made);
    document = json("{\"issuer\":\"i\",\"token_endpoint\":\"https://a.example/t\"}");
    made = metadata_read_server(document, "i", false, false, why, sizeof why); /* without a person: no PKCE, no page */
    assert_string_equal(tn_get_text(made, "token_endpoint", ""), "https://a.example/t");
    tn_release(made);
    assert_null(metadata_read_server(document, "i", false, true, why, sizeof why));
    assert_non_null(strstr(why, "authorization_endpoint"));
    tn_release(document);
}

/* ---- A person ---- */

#define PENDING                                                                                                        \
    "{\"state\":\"st\",\"verifier\":\"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk\",\"redirect_uri\":"                 \
    "\"http://127.0.0.1:1/c\",\"resource\":\"https://a.example/mcp\",\"scope\":\"a offline_access\",\"client\":"       \
    "{\"client_id\":\"me & you\"},\"made_at\":1800000000000,\"server\":{\"issuer\":\"https://as.example\",\"iss\":%s," \
    "\"authorization_endpoint\":\"https://as.example/a?x=1\"}}"

static tn_value pending_request(bool iss) {
    char text[1000];
    (void)snprintf(text, sizeof text, PENDING, iss ? "true" : "false");
    return json(text);
}

static void check_redirect(const struct corpus_case *test, void *user) {
    char why[OAUTH_WHY_MAX];
    bool ours;
    tn_value asked = pending_request(corpus_section(test, "iss") != NULL);
    tn_value code = authorize_read_code(asked, corpus_need(test, "in"), &ours, why, sizeof why);
    (void)user;
    corpus_expect(test, "out", code != NULL ? tn_chars(code, NULL) : why);
    assert_true(code == NULL || ours);
    tn_release(code);
    tn_release(asked);
}

static void test_people(void **state) {
    (void)state;
    corpus_each("tests/corpus/mcp/redirect.txt", check_redirect, NULL);
    tn_value asked = pending_request(true), url = authorize_url(asked);
    if (!sign_is_available()) {
        assert_null(url);
        tn_release(asked);
        skip();
    }
    /* The challenge is that of RFC 7636, appendix B. */
    assert_string_equal(tn_chars(url, NULL),
                        "https://as.example/a?x=1&response_type=code&client_id=me%20%26%20you&redirect_uri="
                        "http%3A%2F%2F127.0.0.1%3A1%2Fc&state=st&code_challenge="
                        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256&resource="
                        "https%3A%2F%2Fa.example%2Fmcp&scope=a%20offline_access&prompt=consent");
    tn_release(url);
    tn_value client = tn_get(asked, "client"), server = tn_get(asked, "server");
    tn_value made = authorize_begin(client, server, "https://a.example/mcp", "a", "http://127.0.0.1:1/c");
    tn_value other = authorize_begin(client, server, "https://a.example/mcp", "a", "http://127.0.0.1:1/c");
    assert_int_equal(strlen(tn_get_text(made, "state", "")), 43);
    assert_int_equal(strlen(tn_get_text(made, "verifier", "")), 43);
    assert_string_not_equal(tn_get_text(made, "state", ""), tn_get_text(other, "state", ""));
    assert_string_not_equal(tn_get_text(made, "verifier", ""), tn_get_text(other, "verifier", ""));
    assert_true(authorize_matches(made, client, server, "https://a.example/mcp", "a"));
    assert_false(authorize_matches(made, client, server, "https://a.example/mcp", NULL));
    assert_false(authorize_matches(made, client, server, "https://a.example/mcp", "a b"));
    assert_false(authorize_matches(made, client, server, "https://a.example", "a"));
    assert_false(authorize_matches(NULL, client, server, "https://a.example", "a"));
    wall += OAUTH_PENDING_MS;
    assert_false(authorize_is_recent(made));
    wall -= OAUTH_PENDING_MS;
    tn_release(other);
    tn_release(made);
    tn_release(asked);
}

/* ---- Clients and tokens ---- */

static void expect_proof(const char *client, const char *form, const char *authorization) {
    char why[OAUTH_WHY_MAX];
    struct tn_text_buffer text = {.limit = 10000};
    tn_value header = NULL, known = json(client), server = json("{\"issuer\":\"i\"}");
    assert_true(client_authenticate(known, NULL, server, &text, &header, why, sizeof why));
    assert_string_equal(tn_text_chars(&text), form);
    if (authorization == NULL)
        assert_null(header);
    else
        assert_string_equal(tn_chars(header, NULL), authorization);
    tn_text_free(&text);
    tn_release(header);
    tn_release(known);
    tn_release(server);
}

static void test_clients(void **state) {
    char why[OAUTH_WHY_MAX];
    (void)state;
    expect_proof("{\"client_id\":\"a b\",\"method\":\"none\"}", "client_id=a%20b", NULL);
    expect_proof("{\"client_id\":\"a\",\"client_secret\":\"s&\",\"method\":\"client_secret_post\"}",
                 "client_id=a&client_secret=s%26", NULL);
    /* Both are encoded before they are joined: "a%3Ab:s%2Ft". */
    expect_proof("{\"client_id\":\"a:b\",\"client_secret\":\"s/t\",\"method\":\"client_secret_basic\"}", "",
                 "Basic YSUzQWI6cyUyRnQ=");
    struct tn_text_buffer text = {.limit = 10000};
    tn_value header, without = json("{\"client_id\":\"a\",\"method\":\"client_secret_post\"}"), server = json("{}");
    assert_false(client_authenticate(without, NULL, server, &text, &header, why, sizeof why));
    assert_non_null(strstr(why, "`client_secret`"));
    tn_text_free(&text);
    tn_release(without);
    tn_value config = json("{\"private_key\":\"no key\"}"),
             signs = json("{\"client_id\":\"a\",\"method\":\"private_key_jwt\"}");
    assert_false(client_authenticate(signs, config, server, &text, &header, why, sizeof why));
    assert_non_null(strstr(why, "`private_key` cannot"));
    tn_text_free(&text);
    tn_release(config);
    tn_release(signs);
    tn_release(server);
    tn_value old = json("{\"client_id\":\"a\",\"expires_at\":1}");
    assert_false(client_is_valid(old));
    assert_false(client_is_valid(NULL));
    tn_release(old);
}

static tn_value read_token(const char *text, struct token_fault *fault) {
    tn_value answer = json(text), server = json("{\"issuer\":\"i\"}");
    const struct token_params params = {.server = server, .scope = "asked", .refresh = "old"};
    const struct fetched fetched = {.status = 200, .json = answer};
    tn_value token = token_read(&fetched, &params, fault);
    tn_release(answer);
    tn_release(server);
    return token;
}

static void test_tokens(void **state) {
    struct token_fault fault;
    (void)state;
    tn_value token = read_token("{\"access_token\":\"t\",\"expires_in\":100}", &fault);
    assert_string_equal(tn_get_text(token, "refresh_token", ""), "old");
    assert_string_equal(tn_get_text(token, "scope", ""), "asked");
    assert_int_equal(tn_get_int(token, "expires_at", 0), wall + 100000);
    assert_int_equal(tn_get_int(token, "renew_at", 0), wall + 100000 - OAUTH_EARLY_MS);
    tn_value header = token_make_header(token, wall);
    assert_string_equal(tn_chars(header, NULL), "Bearer t");
    tn_release(header);
    assert_null(token_make_header(token, wall + 100000));
    tn_release(token);
    token = read_token("{\"access_token\":\"t\",\"expires_in\":10,\"refresh_token\":\"new\",\"scope\":\"s\"}", &fault);
    assert_int_equal(tn_get_int(token, "renew_at", 0), wall + 5000);
    assert_string_equal(tn_get_text(token, "refresh_token", ""), "new");
    assert_string_equal(tn_get_text(token, "scope", ""), "s");
    tn_release(token);
    static const char *const lives[] = {"0", "-5", "99999999999", "9223372036854775807"};
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        char text[100];
        (void)snprintf(text, sizeof text, "{\"access_token\":\"t\",\"expires_in\":%s}", lives[i]);
        token = read_token(text, &fault);
        assert_int_equal(tn_get_int(token, "expires_at", 0), wall + OAUTH_LIFETIME_S * 1000);
        tn_release(token);
    }
    assert_null(read_token("{\"access_token\":\"a b\"}", &fault));
    assert_null(read_token("{\"access_token\":\"\"}", &fault));
    assert_null(read_token("{\"access_token\":7}", &fault));
    assert_null(token_make_header(NULL, 0));
    assert_string_equal(token_error_name("invalid_grant"), "invalid_grant");
    assert_string_equal(token_error_name("secret of 9"), "an error without a name");
}

/* ---- Without memory: every allocation fails once, nothing is left behind ---- */

/* ---- What servers say back ---- */

static void test_hiding(void **state) {
    (void)state;
    static const struct {
        const char *header, *json, *safe; /* safe NULL: the token does not occur */
    } cases[] = {
        {"Bearer abc/def+gh=", "[\"abc/def+gh=\"]", "[\"{redacted}\"]"},
        {"DPoP abc/def+gh=", "{\"abc\\/def+gh=\": \"xabc/def+gh=abc/def+gh=y\"}",
         "{\"{redacted}\": \"x{redacted}{redacted}y\"}"},
        {"Bearer aaaaaaab", "\"aaaaaaaab\"", "\"a{redacted}\""},
        {"Bearer abc/def+gh=", "\"abc/def+gh", NULL},
        {"Bearer abc/def+gh=", "\"abc\\", NULL},
        {"Bearer abc/def+gh=", "", NULL},
        {"Bearer short", "\"short\"", NULL},
        {NULL, "\"\"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tn_text_buffer safe = {.limit = 1000};
        tn_value header = cases[i].header != NULL ? tn_text(cases[i].header) : NULL;
        bool found = redact_token(header, cases[i].json, strlen(cases[i].json), &safe);
        assert_true(found == (cases[i].safe != NULL));
        assert_int_equal(safe.length, found ? strlen(cases[i].safe) : 0);
        if (found) assert_memory_equal(safe.bytes, cases[i].safe, safe.length);
        tn_text_free(&safe);
        tn_release(header);
    }
    struct tn_text_buffer small = {.limit = 12};
    tn_value header = tn_text("Bearer abc/def+gh=");
    assert_true(redact_token(header, "\"abc/def+gh=abc/def+gh=\"", 24, &small));
    assert_true(small.status == TN_LIMIT && small.length <= 12);
    tn_text_free(&small);
    tn_release(header);
}

static void test_without_memory(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 1000; n++) {
        tn_value asked = pending_request(true);
        fails_at = n;
        tn_value url = authorize_url(asked), query = address_query("a=b&c=%20"), scopes = scopes_join("a", "b");
        tn_value challenge = challenge_read("Bearer scope=\"a b\"");
        bool all = fails_at > 0;
        fails_at = 0;
        tn_release(challenge);
        tn_release(scopes);
        tn_release(query);
        tn_release(url);
        tn_release(asked);
        assert_int_equal(blocks, 0);
        if (all) break;
        assert_true(n < 1000);
    }
}

static int expect_no_memory_left(void **state) {
    (void)state;
    assert_int_equal(blocks, 0);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_challenges, expect_no_memory_left),
                                       cmocka_unit_test_teardown(test_addresses, expect_no_memory_left),
                                       cmocka_unit_test_teardown(test_metadata, expect_no_memory_left),
                                       cmocka_unit_test_teardown(test_people, expect_no_memory_left),
                                       cmocka_unit_test_teardown(test_clients, expect_no_memory_left),
                                       cmocka_unit_test_teardown(test_tokens, expect_no_memory_left),
                                       cmocka_unit_test_teardown(test_hiding, expect_no_memory_left),
                                       cmocka_unit_test(test_without_memory)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
