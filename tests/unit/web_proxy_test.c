/*
 * web_proxy_test.c - trusted proxies: addresses and networks, the client that X-Forwarded-For names, hostile headers,
 * and the limit of one client.
 */
#include "tests/unit/web_fixture.h"

static void addresses(void **state) {
    static const char *const rows[][2] = {
        {"192.0.2.1", "192.0.2.1"},
        {"192.0.2.1:80", "192.0.2.1:80"},
        {"::ffff:192.0.2.1", "192.0.2.1"},
        {"[::ffff:192.0.2.1]:65535", "192.0.2.1:65535"},
        {"2001:DB8:0::1", "[2001:db8::1]"},
        {"[2001:db8::1]", "[2001:db8::1]"},
        {"[2001:db8::1]:0", "[2001:db8::1]:0"},
    };
    static const char *const wrong[] = {
        "",
        "unknown",
        "_hidden",
        "192.0.2",
        "192.0.2.1:",
        "192.0.2.1:65536",
        "192.0.2.1:1x",
        "192.0.2.1:-1",
        "010.0.0.1",
        "0x7f.1",
        "192.0.2.1:000001",
        "fe80::1%eth0",
        "[fe80::1%25eth0]",
        "[::1",
        "[::1]x",
        "[::1]:",
        "[192.0.2.1]",
        "::1]:80",
        ":80",
        "\"192.0.2.1\"",
        "1:2:3:4:5:6:7:8:9",
        "[]",
        "192.0.2.1\n",
        "192.0.2.1 ",
        "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct network_address address;
        char text[NETWORK_TEXT];
        if (!network_read_address(rows[i][0], strlen(rows[i][0]), &address)) fail_msg("%s", rows[i][0]);
        network_write_address(&address, text);
        assert_string_equal(text, rows[i][1]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct network_address address;
        if (network_read_address(wrong[i], strlen(wrong[i]), &address)) fail_msg("%s", wrong[i]);
    }
}

static void networks(void **state) {
    static const struct {
        const char *network, *in, *out;
    } rows[] = {{"10.0.0.0/8", "10.255.0.1", "11.0.0.0"},
                {"10.9.9.9/8", "10.0.0.0", "9.255.255.255"},
                {"192.0.2.128/25", "192.0.2.129", "192.0.2.127"},
                {"192.0.2.1", "192.0.2.1", "192.0.2.2"},
                {"0.0.0.0/0", "203.0.113.1", "::1"},
                {"::/0", "2001:db8::1", "203.0.113.1"},
                {"::1", "::1", "::2"},
                {"2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"},
                {"::ffff:10.0.0.0/104", "10.1.1.1", "11.1.1.1"}};
    static const char *const wrong[] = {
        "",       "/8",   "10.0.0.0/",   "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8",
        "::/129", "10/8", "fe80::%1/64", "[::1]",       "10.0.0.1:80", "10.0.0.0/000008"};
    struct network network;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct network_address in, out;
        assert_true(network_read(rows[i].network, strlen(rows[i].network), &network));
        assert_true(network_read_address(rows[i].in, strlen(rows[i].in), &in));
        assert_true(network_read_address(rows[i].out, strlen(rows[i].out), &out));
        if (!network_contains(&network, &in) || network_contains(&network, &out)) fail_msg("%s", rows[i].network);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (network_read(wrong[i], strlen(wrong[i]), &network)) fail_msg("%s", wrong[i]);
}

/* ---- Headers ---- */

static tn_value head_of(const char *peer, const char *forwarded, const char *scheme) {
    tn_value headers = value_object(), head = value_object();
    if (forwarded) headers = value_set_take(headers, "x-forwarded-for", value_text(forwarded));
    if (scheme) headers = value_set_take(headers, "x-forwarded-proto", value_text(scheme));
    head = value_set_take(head, "address", value_text(peer));
    head = value_set_take(head, "secure", value_bool(false));
    return value_set_take(head, "headers", headers);
}

/* `address`: NULL if no client is found, so that the address is that of the peer. */
static void check_head(struct web_proxies *proxies, const char *peer, const char *forwarded, const char *address) {
    tn_value head = head_of(peer, forwarded, NULL);
    struct web_client *client = web_proxies_open(proxies, &head);
    if (!value_text_is(value_get(head, "address"), address ? address : peer))
        fail_msg("%.80s: %.200s: %s", peer, forwarded, value_chars(value_get(head, "address"), NULL));
    assert_int_equal(client != NULL, address != NULL);
    web_proxies_close(proxies, client);
    value_unref(head);
}

static void open_proxies(struct web_proxies *proxies, const char *texts) {
    tn_value list = served_json(texts);
    web_proxies_init(proxies, list);
    value_unref(list);
}

static void clients(void **state) {
    static const struct {
        const char *peer, *forwarded, *address;
    } rows[] = {
        {"127.0.0.1:4711", "203.0.113.7", "203.0.113.7"},
        {"127.0.0.1:4711", " 203.0.113.7:5678\t", "203.0.113.7:5678"},
        {"127.0.0.1:4711", "1.1.1.1, 203.0.113.7", "203.0.113.7"}, /* the client wrote the first one */
        {"127.0.0.1:4711", "1.1.1.1, 203.0.113.7, 10.1.2.3", "203.0.113.7"},
        {"127.0.0.1:4711", "1.1.1.1,203.0.113.7,10.1.2.3,10.0.0.1", "203.0.113.7"},
        {"127.0.0.1:4711", "10.0.0.9, 10.0.0.1", "10.0.0.9"}, /* all are trusted: the left-most one */
        {"127.0.0.1:4711", "[2001:db8::1]:443, ::ffff:10.0.0.1", "[2001:db8::1]:443"},
        {"127.0.0.1:4711", ",, 203.0.113.7 , ,", "203.0.113.7"},
        {"127.0.0.1:4711", "1.1.1.1, unknown, 10.0.0.1", "10.0.0.1"}, /* nothing is known beyond it */
        {"127.0.0.1:4711", "1.1.1.1, unknown", NULL},
        {"127.0.0.1:4711", "1.1.1.1, fe80::1%eth0", NULL},
        {"127.0.0.1:4711", "203.0.113.7 x", NULL},
        {"127.0.0.1:4711", "", NULL},
        {"127.0.0.1:4711", " , ,", NULL},
        {"127.0.0.1:4711", NULL, NULL},
        {"[::1]:4711", "203.0.113.7", "203.0.113.7"},
        {"127.0.0.2:4711", "203.0.113.7", NULL}, /* the peer is not trusted */
        {"[::2]:4711", "203.0.113.7", NULL},
        {"somewhere", "203.0.113.7", NULL},
    };
    struct web_proxies proxies;
    (void)state;
    open_proxies(&proxies, "[\"127.0.0.1\",\"10.0.0.0/8\",\"::1\",\"nonsense\",7]");
    assert_int_equal(proxies.count, 3);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_head(&proxies, rows[i].peer, rows[i].forwarded, rows[i].address);
    web_proxies_finish(&proxies);
    web_proxies_init(&proxies, NULL);
    check_head(&proxies, "127.0.0.1:4711", "203.0.113.7", NULL);
    web_proxies_finish(&proxies);
}

static void schemes(void **state) {
    static const struct {
        const char *peer, *scheme;
        bool secure;
    } rows[] = {
        {"127.0.0.1:1", "https", true},       {"127.0.0.1:1", "HTTPS", true},   {"127.0.0.1:1", "http", false},
        {"127.0.0.1:1", "http, https", true}, {"127.0.0.1:1", "https,", true},  {"127.0.0.1:1", "https, http", false},
        {"127.0.0.1:1", "wss", false},        {"127.0.0.1:1", "httpsx", false}, {"127.0.0.2:1", "https", false}};
    struct web_proxies proxies;
    (void)state;
    open_proxies(&proxies, "[\"127.0.0.1\"]");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_value head = head_of(rows[i].peer, NULL, rows[i].scheme);
        assert_null(web_proxies_open(&proxies, &head));
        if (value_to_bool(value_get(head, "secure")) != rows[i].secure) fail_msg("%s %s", rows[i].peer, rows[i].scheme);
        value_unref(head);
    }
    web_proxies_finish(&proxies);
}

/* Only the last WEB_PROXIES_MAX addresses are read, however many there are. */
static void many_addresses(void **state) {
    struct web_proxies proxies;
    struct buffer text;
    char expected[NETWORK_TEXT];
    (void)state;
    open_proxies(&proxies, "[\"127.0.0.1\",\"10.0.0.0/8\"]");
    buffer_init(&text, SIZE_MAX);
    for (int i = 0; i < 10000; i++) buffer_format(&text, "10.0.%d.%d, ", i / 256, i % 256);
    int last = 10000 - (int)WEB_PROXIES_MAX;
    (void)snprintf(expected, sizeof expected, "10.0.%d.%d", last / 256, last % 256);
    check_head(&proxies, "127.0.0.1:1", buffer_cstr(&text), expected);
    buffer_clear(&text);
    for (int i = 0; i < 100000; i++) buffer_char(&text, ',');
    check_head(&proxies, "127.0.0.1:1", buffer_cstr(&text), NULL);
    buffer_clear(&text);
    for (int i = 0; i < 100000; i++) buffer_char(&text, '9');
    check_head(&proxies, "127.0.0.1:1", buffer_cstr(&text), NULL);
    buffer_finish(&text);
    web_proxies_finish(&proxies);
}

/* ---- In a server ---- */

static uint64_t forwarded(const char *address) {
    char headers[256];
    (void)snprintf(headers, sizeof headers, "{\"x-forwarded-for\":\"%s\",\"x-forwarded-proto\":\"https\"}", address);
    return get("/v1/items", headers);
}

static void open_web(const char *config) {
    web_open_host(NULL);
    web_open_web(config);
    route("{\"method\":\"GET\",\"path\":\"/v1/items\",\"scope\":\"none\"}");
}

static void requests_of_a_client_are_limited(void **state) {
    (void)state;
    open_web("{\"log\":false,\"trusted_proxies\":[\"127.0.0.0/8\"],\"limits\":{\"connections_per_address\":2}}");
    tn_value trusted = value_get(http_options, "trusted");
    assert_int_equal(value_count(trusted), 1);
    assert_true(value_text_is(value_at(trusted, 0), "127.0.0.0/8"));
    uint64_t first = forwarded("203.0.113.7"), second = forwarded("203.0.113.7:99"), third = forwarded("203.0.113.7");
    is_text(last_request, "address", "203.0.113.7:99");
    is_text(last_request, "origin", "https://" HOST_HEADER);
    assert_int_equal(sent[second].status, 0);
    assert_int_equal(sent[third].status, 429);
    assert_non_null(strstr(buffer_cstr(&sent[third].body), "this address has 2 open requests"));
    http_close(third, "done");
    assert_int_equal(sent[forwarded("203.0.113.8")].status, 0);
    assert_int_equal(sent[get("/v1/items", NULL)].status, 0); /* from the proxy itself */
    assert_int_equal(sent[forwarded("2001:db8:1:2::1")].status, 0);
    assert_int_equal(sent[forwarded("2001:db8:1:2:3::1")].status, 0);
    assert_int_equal(sent[forwarded("2001:db8:1:2:4::1")].status, 429); /* the third one of its network */
    assert_int_equal(sent[forwarded("2001:db8:1:3::1")].status, 0);
    http_close(first, "client");
    assert_int_equal(sent[forwarded("203.0.113.7")].status, 0);
    web_shut();
}

static void headers_of_others_have_no_effect(void **state) {
    (void)state;
    open_web("{\"log\":false,\"limits\":{\"connections_per_address\":1}}");
    assert_null(value_get(http_options, "trusted"));
    for (int i = 0; i < 3; i++) assert_int_equal(sent[forwarded("203.0.113.7")].status, 0);
    is_text(last_request, "address", web_peer);
    is_text(last_request, "origin", "http://" HOST_HEADER);
    web_shut();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(networks),
        cmocka_unit_test(clients),
        cmocka_unit_test(schemes),
        cmocka_unit_test(many_addresses),
        cmocka_unit_test(requests_of_a_client_are_limited),
        cmocka_unit_test(headers_of_others_have_no_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
