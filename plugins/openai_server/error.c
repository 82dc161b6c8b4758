/*
 * error.c - errors in the protocol's shape.
 */
#include "openai_server.h"

tn_value openai_error_value(const char *message, const char *type, const char *param, const char *code) {
    tn_value text = tn_text_lossy(message, strlen(message));
    return tn_build("{s:{s:V, s:s, s:s?, s:s?}}", "error", "message", text, "type", type, "param", param, "code", code);
}

tn_value openai_error_json(const struct openai_error *error) {
    return openai_error_value(error->text, error->type, error->param, error->code);
}

bool openai_invalid(struct openai_error *error, const char *param, const char *code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    error->status = 400;
    error->type = "invalid_request_error";
    (void)snprintf(error->param_text, sizeof error->param_text, "%s", param != NULL ? param : "");
    error->param = param != NULL ? error->param_text : NULL;
    error->code = code;
    return false;
}

/* The protocol's words for a status. */
static const struct error_row {
    int32_t status;
    const char *type, *code;
} rows[] = {{401, "invalid_request_error", "invalid_api_key"},
            {403, "invalid_request_error", "insufficient_permissions"},
            {404, "invalid_request_error", "not_found"},
            {405, "invalid_request_error", "method_not_allowed"},
            {409, "invalid_request_error", "conflict"},
            {413, "invalid_request_error", "request_too_large"},
            {415, "invalid_request_error", "unsupported_media_type"},
            {429, "rate_limit_error", "rate_limit_exceeded"},
            {501, "server_error", "unsupported"},
            {503, "server_error", "service_unavailable"}};

static const struct error_row *row_of(int32_t status) {
    static const struct error_row invalid = {400, "invalid_request_error", "invalid_request"},
                                  server = {500, "server_error", "server_error"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].status == status) return &rows[i];
    return status >= 400 && status < 500 ? &invalid : &server;
}

void openai_error_of(struct openai_error *error, tn_value of) {
    const char *message = tn_get_text(of, "message", "the server could not do this");
    error->status = serving_error_status(of);
    const struct error_row *row = row_of(error->status);
    (void)snprintf(error->text, sizeof error->text, "%s [%s]", message, tn_get_text(of, "code", "FAILED"));
    error->type = row->type;
    error->code = row->code;
    error->param = NULL;
}

tn_value openai_refusal(tn_value refused) {
    int32_t status = (int32_t)tn_get_int(refused, "status", 500);
    const struct error_row *row = row_of(status);
    tn_value error =
        openai_error_value(tn_get_text(refused, "message", "the request was refused"), row->type, NULL, row->code);
    return tn_build("{s:i, s:V}", "status", (int)status, "json", error);
}
