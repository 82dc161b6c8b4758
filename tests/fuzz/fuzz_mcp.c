/*
 * fuzz_mcp.c - everything that an MCP server can send: lines, messages, definitions of tools, contents, questions.
 *
 * The bytes come in two pieces; the first byte selects the cut. Each line that is JSON is a message in a conversation
 * with two open requests. Each value is used as every kind of value of a server and of an authorization server; the
 * whole input as a header, an address and a query. Nothing may leak, and every request must end exactly once.
 */
#include "plugins/mcp/content.h"
#include "plugins/mcp/elicit.h"
#include "plugins/mcp/header.h"
#include "plugins/mcp/lines.h"
#include "plugins/mcp/oauth/address.h"
#include "plugins/mcp/oauth/challenge.h"
#include "plugins/mcp/oauth/client.h"
#include "plugins/mcp/oauth/metadata.h"
#include "plugins/mcp/oauth/token.h"
#include "plugins/mcp/rpc.h"
#include "plugins/mcp/tool.h"
#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const tn_value_1 interface_value;
extern int64_t value_live_count(void);

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;
TN_EASY_HIDDEN const tn_http_1 *mcp_http; /* nothing is sent here */

static int64_t blocks;
static int ended;

static void log_nothing(const tn_host *host, int32_t level, const char *message, uint64_t length) {
    (void)host, (void)level, (void)message, (void)length;
}
static void *resize(const tn_host *host, void *memory, uint64_t size) {
    (void)host;
    blocks += memory == NULL;
    return realloc(memory, size > 0 ? size : 1);
}
static void *alloc(const tn_host *host, uint64_t size) { return resize(host, NULL, size); }
static void release(const tn_host *host, void *memory) {
    (void)host;
    blocks -= memory != NULL;
    free(memory);
}

static int32_t on_send(void *user, tn_value message, int64_t id, tn_value extra) {
    (void)user, (void)message, (void)id, (void)extra;
    return TN_OK;
}
static void on_request(void *user, tn_value id, const char *method, tn_value params, int64_t origin) {
    (void)method, (void)params, (void)origin;
    rpc_refuse(*(struct rpc **)user, id, RPC_METHOD_NOT_FOUND, "no");
}
static void on_notification(void *user, const char *method, tn_value params) { (void)user, (void)method, (void)params; }
static void on_stray(void *user, const char *what) { (void)user, (void)what; }
static void on_done(void *user, const struct rpc_answer *answer) {
    (void)user;
    assert(answer->result != NULL || answer->message != NULL);
    ended++;
}
static bool never_taken(void *user, const char *id, const char *name) {
    (void)user, (void)id, (void)name;
    return false;
}

static void take_for_everything(tn_value value) {
    char why[200];
    const char *reason;
    const struct tool_naming naming = {"s", "process.spawn", true, NULL, "s", false, never_taken, NULL};
    tn_release(content_part(value));
    tn_release(content_from_blocks(value));
    tn_release(content_resources(value));
    tn_release(content_messages(value));
    tn_release(sample_input(value, &reason));
    tn_release(sample_result(value, true));
    tn_release(sample_result(value, false));
    tn_release(elicit_payload(value, "s", "t"));
    tn_release(elicit_schema(value));
    tn_release(elicit_result(value, value));
    (void)elicit_same(value, value);
    if (header_check_schema(value, why, sizeof why)) tn_release(headers_from_arguments(value, value));
    struct tool *tool = tool_new(&naming, value, why, sizeof why);
    if (tool != NULL) assert(strncmp(tool->id, "s.", 2) == 0);
    tool_unref(tool);
    for (size_t i = 0; i < tool_method_count; i++) tn_release(mcp_tool_methods[i].result(value));
}

static int64_t no_time(const tn_host *host) {
    (void)host;
    return 1;
}

/* Uses the value as a document and as an answer of an authorization server. */
static void take_for_authorization(tn_value value) {
    char why[OAUTH_WHY_MAX];
    struct token_fault fault;
    const struct token_params params = {.server = value, .key = value};
    struct fetched answer = {.status = 200, .json = value, .headers = value};
    tn_value resource = metadata_read_resource(value, "https://a.example/mcp", false, why, sizeof why);
    tn_value server = metadata_read_server(value, tn_get_text(value, "issuer", ""), true, true, why, sizeof why);
    tn_value client = client_read_registration(value, value, "http://127.0.0.1/", why, sizeof why);
    tn_value token = tn.value->kind(value) == TN_OBJECT ? token_read(&answer, &params, &fault) : NULL;
    if (token != NULL) tn_release(token_make_header(token, 1));
    answer.status = 400;
    if (tn.value->kind(value) == TN_OBJECT) assert(token_read(&answer, &params, &fault) == NULL && *fault.why != '\0');
    (void)token_read_nonce(&answer);
    tn_release(resource);
    tn_release(server);
    tn_release(client);
    tn_release(token);
}

/* The same as text: a header, an address, a query. */
static void take_as_text(const char *bytes, size_t length) {
    char text[3001];
    struct address address;
    if (length >= sizeof text) length = sizeof text - 1;
    memcpy(text, bytes, length);
    text[length] = '\0';
    tn_value challenge = challenge_read(text), scopes = scopes_join(text, text), query = address_query(text);
    if (scopes != NULL) assert(scopes_include(tn_chars(scopes, NULL), tn_chars(scopes, NULL)));
    if (address_read(text, &address)) {
        tn_value resource = address_resource(&address);
        assert(resource == NULL || address_covers(tn_chars(resource, NULL), text));
        tn_release(resource);
        for (int i = 0; i < 3; i++) tn_release(address_well_known(&address, "x", (enum well_known)i));
    }
    tn_release(challenge);
    tn_release(scopes);
    tn_release(query);
}

static bool on_line(void *user, const char *line, uint64_t length) {
    tn_value value = NULL;
    if (line == NULL || tn.value->from_json(tn.host, line, length, &value, NULL) != TN_OK) return true;
    rpc_receive(*(struct rpc **)user, value, 0);
    take_for_everything(value);
    take_for_authorization(value);
    tn_release(value);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const tn_core_1 core = {.size = sizeof(tn_core_1),
                                   .log = log_nothing,
                                   .wall_ms = no_time,
                                   .alloc = alloc,
                                   .resize = resize,
                                   .release = release};
    tn.value = &interface_value;
    tn.core = &core;
    if (size == 0) return 0;
    int64_t live = value_live_count();
    struct rpc *rpc = NULL;
    const struct rpc_events events = {&rpc, on_send, on_request, on_notification, NULL, on_stray};
    struct lines lines = {.partial = {.limit = 4096}};
    const char *text = (const char *)data + 1;
    size_t length = size - 1, first = length > 0 ? data[0] % (length + 1) : 0;
    rpc = rpc_new(&events);
    ended = 0;
    assert(rpc_call(rpc, "a", NULL, NULL, 0, on_done, NULL) == 1);
    assert(rpc_call(rpc, "b", NULL, NULL, 0, on_done, NULL) == 2);
    (void)lines_feed(&lines, text, first, on_line, &rpc);
    (void)lines_feed(&lines, text + first, length - first, on_line, &rpc);
    rpc_fail_all(rpc, "SERVER_LOST", "the end");
    assert(ended == 2);
    rpc_free(rpc);
    lines_free(&lines);
    take_as_text(text, length);
    log_format(TN_LOG_INFO, "%.*s", (int)(length < 3000 ? length : 3000), text);
    assert(blocks == 0 && value_live_count() == live);
    return 0;
}
