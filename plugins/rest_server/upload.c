/*
 * upload.c - PUT /api/artifacts/{name}: a body of any size becomes an Artifact. A part is taken from the client when
 * the store has the one before. An upload that does not end completely leaves nothing.
 */
#include "rest_server.h"

struct upload {
    char *id; /* of the Artifact; NULL before artifact/open has ended, and after artifact/finish */
    struct tn_text_buffer waiting;
    uint64_t size, sending; /* bytes that the store has; that are on their way */
    bool ended, finishing;
};

static void upload_next(struct exchange *exchange);

static void TN_ABI on_abandoned(void *user, int32_t status, tn_value value) { (void)user, (void)status, (void)value; }

static void upload_abandon(struct exchange *exchange) {
    struct upload *upload = exchange->object;
    if (upload->id == NULL) return;
    serving_call_take(&exchange->rest->serving, exchange->caller, "artifact/abandon",
                      tn_build("{s:s}", "artifact_id", upload->id), on_abandoned, NULL, NULL);
    serving_free(upload->id);
    upload->id = NULL;
}

/* The rest of the body is taken and dropped, so that the client reads the response. */
static void upload_fail(struct exchange *exchange, tn_value error) {
    upload_abandon(exchange);
    if (exchange->responded) return;
    exchange_fail(exchange, error);
    (void)exchange->rest->serving.server->flow(tn.host, exchange->number, 1);
}

static void upload_call(struct exchange *exchange, const char *method, tn_value params, tn_host_handler handler) {
    tn_value error = exchange_call_take(exchange, method, params, handler);
    if (error != NULL) upload_fail(exchange, error);
    tn_release(error);
}

static void TN_ABI on_finished(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    struct upload *upload = exchange->object;
    exchange->call = 0;
    if (status != TN_OK) {
        upload_fail(exchange, value);
        return;
    }
    struct tn_text_buffer place = TN_TEXT_BUFFER(2048);
    const char *id = tn_get_text(value, "artifact_id", "");
    (void)tn_text_append(&place, "/api/artifacts/");
    (void)tn_text_append_percent(&place, id, strlen(id), "");
    (void)tn_text_append(&place, "/body");
    exchange_respond(exchange, tn_build("{s:i, s:{s:s}, s:v}", "status", 201, "headers", "Location",
                                        tn_text_chars(&place), "json", value));
    tn_text_free(&place);
    serving_free(upload->id);
    upload->id = NULL;
}

static void TN_ABI on_appended(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    struct upload *upload = exchange->object;
    exchange->call = 0;
    if (status != TN_OK) {
        upload_fail(exchange, value);
        return;
    }
    tn_text_drop(&upload->waiting, upload->sending);
    upload->size += upload->sending;
    upload->sending = 0;
    upload_next(exchange);
}

static void TN_ABI on_opened(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    struct upload *upload = exchange->object;
    exchange->call = 0;
    if (status == TN_OK) upload->id = serving_text_copy(tn_get_text(value, "artifact_id", ""));
    if (status == TN_OK)
        upload_next(exchange);
    else
        upload_fail(exchange, value);
}

static void upload_next(struct exchange *exchange) {
    struct upload *upload = exchange->object;
    const tn_server_draft *server = exchange->rest->serving.server;
    if (upload->id == NULL || exchange->call != 0) return;
    if (upload->waiting.length > 0) {
        upload->sending = upload->waiting.length < PART_MAX ? upload->waiting.length : PART_MAX;
        upload_call(exchange, "artifact/append",
                    tn_build("{s:s, s:I, s:V}", "artifact_id", upload->id, "offset", (int64_t)upload->size, "data",
                             tn_bytes(tn_text_chars(&upload->waiting), upload->sending)),
                    on_appended);
    } else if (upload->ended) {
        upload_call(exchange, "artifact/finish", tn_build("{s:s}", "artifact_id", upload->id), on_finished);
    } else {
        (void)server->flow(tn.host, exchange->number, 1);
    }
}

static void on_exchange(struct exchange *exchange, int32_t event, tn_value value) {
    struct upload *upload = exchange->object;
    uint64_t length = 0;
    if (event == TN_SERVER_BODY && !exchange->responded) {
        const void *bytes = tn.value->as_bytes(value, &length);
        (void)exchange->rest->serving.server->flow(tn.host, exchange->number, 0);
        if (tn_text_append_n(&upload->waiting, bytes, length) == TN_OK)
            upload_next(exchange);
        else
            exchange_abort(exchange);
    } else if (event == TN_SERVER_BODY_END) {
        upload->ended = true;
        if (!exchange->responded) upload_next(exchange);
    } else if (event == TN_SERVER_CLOSED) {
        upload_abandon(exchange);
        tn_text_free(&upload->waiting);
        serving_free(upload);
    }
}

void upload_put(struct exchange *exchange) {
    const char *name = exchange_param(exchange, "name"), *type = exchange_header(exchange, "content-type");
    struct upload *upload = strlen(name) <= NAME_MAX_BYTES ? serving_alloc(sizeof *upload) : NULL;
    if (upload == NULL) {
        exchange_refuse(exchange, 400, "INVALID_INPUT", "the name of the file has more than %u bytes", NAME_MAX_BYTES);
        return;
    }
    upload->waiting = (struct tn_text_buffer)TN_TEXT_BUFFER(UPLOAD_MAX);
    exchange->object = upload;
    exchange->on_event = on_exchange;
    upload_call(exchange, "artifact/open",
                tn_build("{s:s, s:{s:s}}", "media_type", type != NULL && *type ? type : "application/octet-stream",
                         "metadata", "name", name),
                on_opened);
}
