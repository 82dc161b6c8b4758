/*
 * failure.c - errors of services, in the classes of tenon/message.h.
 */
#include "internal.h"

static struct tn_model_failure failure_of(const struct research_job *job) {
    struct tn_model_failure failure = TN_MODEL_FAILURE(job->service->provider);
    failure.status = job->http_status;
    failure.headers = tn_get(job->head, "headers");
    failure.secret = job->service->secret;
    return failure;
}

/* Reads {error: {message, code | status | type}}, {error: TEXT}, {message}, or an array with one of these. */
static void failure_read_body(tn_value body, struct tn_model_failure *failure) {
    tn_value from = tn.value->kind(body) == TN_ARRAY ? tn.value->at(body, 0) : body, error = tn_get(from, "error");
    if (tn.value->kind(error) == TN_OBJECT) from = error;
    failure->message = tn.value->kind(error) == TN_STRING ? error : tn_get(from, "message");
    if (!research_is_text(failure->message)) failure->message = tn_get(from, "detail");
    static const char *const names[] = {"status", "code", "type"};
    for (size_t i = 0; i < sizeof names / sizeof *names && failure->type == NULL; i++)
        if (research_is_text(tn_get(from, names[i]))) failure->type = tn_get(from, names[i]);
}

/* What is missing is not a model: a research that has expired, an agent, or the research that another one continues. */
static tn_value failure_not_found(const struct research_job *job, struct tn_model_failure *failure) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(2048);
    const char *id = tn_chars(job->id, NULL), *before = tn_get_text(job->input, "previous_interaction_id", NULL);
    bool creates = job->sent == RESEARCH_CREATE;
    (void)tn_text_append_format(&text, "%s does not have ", job->service->provider);
    if (!creates)
        (void)tn_text_append_format(&text, "`%.100s`", id != NULL ? id : "");
    else if (before != NULL)
        (void)tn_text_append_format(&text, "the agent, or the research before it, `%.100s`", before);
    else
        (void)tn_text_append(&text, "the agent");
    (void)tn_text_append(&text, " (status 404)");
    if (research_is_text(failure->message)) {
        (void)tn_text_append(&text, ": \"");
        tn_model_append_quote(&text, failure->message, failure->key);
        (void)tn_text_append(&text, "\"");
    }
    (void)tn_text_append(&text, !creates ? "; it may have expired, or been deleted there: start another research"
                                : before != NULL
                                    ? "; check `agent` and `previous_interaction_id`, which may have expired"
                                    : "; check `agent`, and the address of the service");
    failure->code = "NOT_FOUND";
    tn_value error = tn_model_error_text(failure, tn_text_chars(&text));
    tn_text_free(&text);
    return error;
}

tn_value research_error_of_response(const struct research_job *job, tn_value end) {
    struct tn_model_failure failure = failure_of(job);
    tn_value body = tn_get(end, "body"), json = NULL, text = NULL;
    uint64_t length = 0;
    const char *bytes = tn.value->as_bytes(body, &length);
    if (bytes == NULL) bytes = tn_chars(body, &length);
    if (bytes != NULL) json = tn_from_json(bytes, length);
    if (json != NULL)
        failure_read_body(json, &failure);
    else if (bytes != NULL && length > 0)
        failure.message = text = tn_text_lossy(bytes, length); /* the error quotes a bounded part */
    bool missing = failure.status == 404 && strcmp(tn_model_classify(&failure), "NOT_FOUND") == 0;
    tn_value error = missing ? failure_not_found(job, &failure) : tn_model_error(&failure);
    tn_release(json);
    tn_release(text);
    return error;
}

tn_value research_error_of_exchange(const struct research_job *job, tn_value http_error) {
    struct tn_model_failure failure = failure_of(job);
    return tn_model_error_http(&failure, http_error);
}

bool research_error_is_retryable(tn_value error) {
    int32_t truth = 0;
    (void)tn.value->as_bool(tn_get(error, "retryable"), &truth);
    return truth != 0;
}
