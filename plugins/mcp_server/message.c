/*
 * message.c - reads and checks the message of a POST.
 *
 * The order of the checks decides which error a client gets: the form of JSON-RPC, then `_meta`, then the headers, then
 * the version. The headers Mcp-Param-… are checked later, when the tool is known.
 */
#include "message.h"
#include "plugins/mcp/header.h"
#include <stdlib.h>
#include <strings.h>
#include <tenon/base64.h>

#define META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

const char *message_header(tn_value request, const char *name) {
    return tn_get_text(tn_get(request, "headers"), name, NULL);
}

bool message_is_legacy_version(const char *version) {
    static const char *const versions[] = {MCPS_LEGACY, "2025-06-18", "2025-03-26"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (strcmp(version, versions[i]) == 0) return true;
    return false;
}

/* A media type of the header Accept, without its parameters. */
static bool type_matches(const char *text, size_t length, const char *type) {
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) length--;
    const char *slash = strchr(type, '/');
    if (length == 3 && memcmp(text, "*/*", 3) == 0) return true;
    if (length == strlen(type) && strncasecmp(text, type, length) == 0) return true;
    return length == (size_t)(slash - type) + 2 && text[length - 1] == '*' && strncasecmp(text, type, length - 1) == 0;
}

bool message_accepts(tn_value request, const char *type) {
    const char *accept = message_header(request, "accept");
    if (accept == NULL || *accept == '\0') return true;
    while (*accept != '\0') {
        accept += strspn(accept, " \t,");
        size_t length = strcspn(accept, ",;");
        if (type_matches(accept, length, type)) return true;
        accept += strcspn(accept, ",");
    }
    return false;
}

tn_value message_decode_header(const char *text) {
    static const char prefix[] = "=?base64?";
    size_t length = strlen(text), start = sizeof prefix - 1;
    bool encoded = length >= start + 2 && memcmp(text, prefix, start) == 0 && memcmp(text + length - 2, "?=", 2) == 0;
    if (!encoded) return tn_text_n(text, length);
    const char *digits = text + start;
    size_t count = length - start - 2;
    if (count == 0) return tn_text("");
    if (count % 4 != 0 || !tn_is_base64(digits, count)) return NULL;
    char *bytes = serving_alloc(count);
    if (bytes == NULL) return NULL;
    tn_value decoded = tn_text_n(bytes, tn_base64_take(digits, count, bytes, count)); /* NULL unless it is UTF-8 */
    serving_free(bytes);
    return decoded;
}

/* ---- JSON-RPC ---- */

static bool read_id(tn_value json, struct message *message, struct problem *problem) {
    tn_value id = tn_get(json, "id");
    uint64_t length = 0;
    if (id == NULL) return true;
    if (tn_chars(id, &length) != NULL ? length > MCPS_ID_MAX : tn.value->kind(id) != TN_INT)
        return problem_set(problem, 400, MCPS_INVALID_REQUEST,
                           "`id` must be an integer or a string of at most %d bytes", MCPS_ID_MAX);
    message->id = id;
    return true;
}

static bool read_json_rpc(tn_value json, struct message *message, struct problem *problem) {
    if (json == NULL) return problem_set(problem, 400, MCPS_PARSE_ERROR, "the body is not JSON");
    if (value_is_array(json))
        return problem_set(problem, 400, MCPS_INVALID_REQUEST, "expected one message, found an array: send each alone");
    if (!value_is_object(json))
        return problem_set(problem, 400, MCPS_INVALID_REQUEST, "expected an object with a JSON-RPC message");
    if (!read_id(json, message, problem)) return false;
    if (!serving_is(tn_get(json, "jsonrpc"), "2.0"))
        return problem_set(problem, 400, MCPS_INVALID_REQUEST, "`jsonrpc` must be \"2.0\"");
    tn_value method = tn_get(json, "method"), params = tn_get(json, "params");
    message->method = tn_chars(method, NULL);
    if (method == NULL && (tn_get(json, "result") != NULL || tn_get(json, "error") != NULL)) {
        if (message->id != NULL) return true;
        return problem_set(problem, 400, MCPS_INVALID_REQUEST, "a response needs an `id`");
    }
    if (message->method == NULL)
        return problem_set(problem, 400, MCPS_INVALID_REQUEST, "`method` is missing, or is not a string");
    if (params != NULL && !value_is_object(params))
        return problem_set(problem, 400, MCPS_INVALID_PARAMS, "`params` must be an object");
    message->params = params;
    message->meta = value_is_object(tn_get(params, "_meta")) ? tn_get(params, "_meta") : NULL;
    return true;
}

/* ---- 2026-07-28 ---- */

static bool is_modern(tn_value request, const struct message *message) {
    const char *header = message_header(request, "mcp-protocol-version");
    if (message->method == NULL) return false;
    if (tn_get(message->meta, META_VERSION) != NULL || strcmp(message->method, "server/discover") == 0) return true;
    return header != NULL && !message_is_legacy_version(header);
}

static bool check_meta(const struct message *message, struct problem *problem) {
    if (message->meta == NULL)
        return problem_set(problem, 400, MCPS_INVALID_PARAMS, "`_meta` of the parameters is missing");
    if (tn_get_text(message->meta, META_VERSION, NULL) == NULL)
        return problem_set(problem, 400, MCPS_INVALID_PARAMS, "`_meta` must have the string `" META_VERSION "`");
    if (!value_is_object(tn_get(message->meta, META_CAPABILITIES)))
        return problem_set(problem, 400, MCPS_INVALID_PARAMS, "`_meta` must have the object `" META_CAPABILITIES "`");
    return true;
}

static bool mismatch(struct problem *problem, const char *header, const char *found, const char *expected) {
    return problem_set(problem, 400, MCPS_HEADER_MISMATCH, "the header %s is %s%.80s%s, but the message has `%.80s`",
                       header, found != NULL ? "`" : "missing", found != NULL ? found : "", found != NULL ? "`" : "",
                       expected);
}

/* The member of the parameters that the header Mcp-Name repeats; NULL if the method has none. */
static const char *named_member(const char *method) {
    if (strcmp(method, "tools/call") == 0 || strcmp(method, "prompts/get") == 0) return "name";
    if (strcmp(method, "tasks/get") == 0 || strcmp(method, "tasks/update") == 0 || strcmp(method, "tasks/cancel") == 0)
        return "taskId";
    return strcmp(method, "resources/read") == 0 ? "uri" : NULL;
}

static bool check_name_header(tn_value request, const struct message *message, struct problem *problem) {
    const char *member = named_member(message->method);
    const char *expected = member != NULL ? tn_get_text(message->params, member, NULL) : NULL;
    if (expected == NULL) return true; /* the method reports a missing member */
    const char *found = message_header(request, "mcp-name");
    tn_value decoded = found != NULL ? message_decode_header(found) : NULL;
    bool equal = decoded != NULL && strcmp(tn_chars(decoded, NULL), expected) == 0;
    tn_release(decoded);
    return equal || mismatch(problem, "Mcp-Name", found, expected);
}

static bool check_version(tn_value request, const struct message *message, struct problem *problem) {
    const char *version = tn_get_text(message->meta, META_VERSION, "");
    const char *header = message_header(request, "mcp-protocol-version");
    if (header == NULL || strcmp(header, version) != 0)
        return mismatch(problem, "MCP-Protocol-Version", header, version);
    if (strcmp(version, MCPS_MODERN) == 0) return true;
    problem->data = tn_build("{s:[s], s:s}", "supported", MCPS_MODERN, "requested", version);
    return problem_set(problem, 400, MCPS_UNSUPPORTED_VERSION,
                       "the version `%.40s` is not supported without a session; use " MCPS_MODERN ", or `initialize`",
                       version);
}

static bool check_modern(tn_value request, const struct message *message, struct problem *problem) {
    if (!check_meta(message, problem) || !check_version(request, message, problem)) return false;
    const char *method = message_header(request, "mcp-method");
    if (method == NULL || strcmp(method, message->method) != 0)
        return mismatch(problem, "Mcp-Method", method, message->method);
    return check_name_header(request, message, problem);
}

bool message_read(tn_value request, struct message *message, struct problem *problem) {
    *message = (struct message){.json = tn_get(request, "json")};
    if (!read_json_rpc(message->json, message, problem)) return false;
    message->modern = is_modern(request, message);
    if (!message->modern) return true;
    /* Notifications of a client have no required members. */
    return message->id == NULL || check_modern(request, message, problem);
}

/* ---- Mcp-Param-… ---- */

static bool is_integer_text(const char *text, long long *number) {
    char *end = NULL;
    if (*text == '\0' || strspn(text, "-0123456789") != strlen(text)) return false;
    *number = strtoll(text, &end, 10);
    return *end == '\0';
}

static bool header_texts_equal(tn_value found, tn_value expected) {
    long long a, b;
    if (found == NULL || expected == NULL) return false;
    if (tn.value->equal(found, expected)) return true;
    return is_integer_text(tn_chars(found, NULL), &a) && is_integer_text(tn_chars(expected, NULL), &b) && a == b;
}

static bool check_parameter(tn_value request, tn_value key, tn_value encoded, struct problem *problem) {
    char name[256];
    uint64_t length = 0;
    const char *text = tn_chars(key, &length);
    if (length >= sizeof name) return true; /* longer than any mark that is valid */
    for (uint64_t i = 0; i <= length; i++)
        name[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
    const char *found = message_header(request, name);
    tn_value decoded = found != NULL ? message_decode_header(found) : NULL;
    tn_value expected = message_decode_header(tn_chars(encoded, NULL));
    bool equal = header_texts_equal(decoded, expected);
    if (!equal) (void)mismatch(problem, text, found, expected != NULL ? tn_chars(expected, NULL) : "");
    tn_release(decoded);
    tn_release(expected);
    return equal;
}

bool message_check_parameters(tn_value request, tn_value schema, tn_value arguments, struct problem *problem) {
    tn_value expected = headers_from_arguments(schema, arguments);
    bool equal = true;
    for (uint64_t i = 0, count = tn.value->count(expected); equal && i < count; i++) {
        tn_value key, encoded;
        if (tn.value->entry(expected, i, &key, &encoded) != TN_OK) break;
        equal = check_parameter(request, key, encoded, problem);
    }
    tn_release(expected);
    return equal;
}
