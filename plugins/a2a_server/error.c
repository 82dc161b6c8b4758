/*
 * error.c - errors, as JSON-RPC and HTTP+JSON (google.rpc.Status) word them.
 */
#include "a2a_server.h"

static const struct {
    int32_t code, status; /* of JSON-RPC, of HTTP */
    const char *grpc, *reason;
} rows[] = {
    [A2A_TASK_NOT_FOUND] = {-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"},
    [A2A_NOT_CANCELABLE] = {-32002, 409, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"},
    [A2A_NO_PUSH] = {-32003, 400, "UNIMPLEMENTED", "PUSH_NOTIFICATION_NOT_SUPPORTED"},
    [A2A_UNSUPPORTED] = {-32004, 400, "UNIMPLEMENTED", "UNSUPPORTED_OPERATION"},
    [A2A_CONTENT_TYPE] = {-32005, 415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"},
    [A2A_NO_EXTENDED_CARD] = {-32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"},
    [A2A_VERSION] = {-32009, 400, "UNIMPLEMENTED", "VERSION_NOT_SUPPORTED"},
    [A2A_PARSE] = {-32700, 400, "INVALID_ARGUMENT", "PARSE_ERROR"},
    [A2A_INVALID_REQUEST] = {-32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"},
    [A2A_NO_METHOD] = {-32601, 404, "UNIMPLEMENTED", "METHOD_NOT_FOUND"},
    [A2A_INVALID_PARAMS] = {-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"},
    [A2A_INTERNAL] = {-32603, 500, "INTERNAL", "INTERNAL_ERROR"},
    [A2A_UNAUTHORIZED] = {-32600, 401, "UNAUTHENTICATED", "UNAUTHENTICATED"},
    [A2A_FORBIDDEN] = {-32600, 403, "PERMISSION_DENIED", "PERMISSION_DENIED"},
    [A2A_NO_AGENT] = {-32600, 404, "NOT_FOUND", "AGENT_NOT_FOUND"},
    [A2A_CONFLICT] = {-32004, 409, "ABORTED", "UNSUPPORTED_OPERATION"},
    [A2A_LIMIT] = {-32603, 429, "RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"},
    [A2A_UNAVAILABLE] = {-32603, 503, "UNAVAILABLE", "UNAVAILABLE"},
};

int32_t error_status(enum a2a_kind kind) { return rows[kind].status; }

tn_value error_body(enum a2a_kind kind, const char *message, tn_value id) {
    tn_value info = tn_build("{s:s, s:s, s:s}", "@type", "type.googleapis.com/google.rpc.ErrorInfo", "reason",
                             rows[kind].reason, "domain", "a2a-protocol.org");
    tn_value text = tn_text_lossy(message, strlen(message));
    if (id != NULL)
        return tn_build("{s:s, s:v, s:{s:i, s:V, s:[V]}}", "jsonrpc", "2.0", "id", id, "error", "code",
                        (int)rows[kind].code, "message", text, "data", info);
    return tn_build("{s:{s:i, s:s, s:V, s:[V]}}", "error", "code", (int)rows[kind].status, "status", rows[kind].grpc,
                    "message", text, "details", info);
}

enum a2a_kind error_kind_of_status(int32_t status) {
    static const struct {
        int32_t status;
        enum a2a_kind kind;
    } kinds[] = {{400, A2A_INVALID_PARAMS},  {401, A2A_UNAUTHORIZED},    {403, A2A_FORBIDDEN},
                 {404, A2A_NO_AGENT},        {405, A2A_INVALID_REQUEST}, {409, A2A_CONFLICT},
                 {411, A2A_INVALID_REQUEST}, {413, A2A_INVALID_REQUEST}, {415, A2A_CONTENT_TYPE},
                 {429, A2A_LIMIT},           {501, A2A_UNSUPPORTED},     {503, A2A_UNAVAILABLE}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].status == status) return kinds[i].kind;
    return A2A_INTERNAL;
}

enum a2a_kind error_kind_of(tn_value error) { return error_kind_of_status(serving_error_status(error)); }

bool problem_set(struct a2a_problem *problem, enum a2a_kind kind, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    problem->kind = kind;
    (void)vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
    return false;
}
