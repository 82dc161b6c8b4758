/*
 * stored.c - Responses that the service stores: `previous_response_id` and `background` of `api: responses`.
 *
 * With `previous_response_id`, an answer keeps its id in extra.openai.response_id, and the next request sends this id
 * and only the messages behind it. With `background`, the service answers at once, and the response is read in
 * intervals until it has ended; a read that fails is repeated, because another response would be paid again. Both need
 * the service to store the response, so they are off by default.
 *
 * A call that is cancelled cancels its response at the service. The result of a call is saved when it has ended, so a
 * host that is killed while a response runs makes another one: the node `deep_research` does not (background.c).
 */
#include "openai.h"

#define STORED_POLL_MS      2000
#define STORED_FAILURES_MAX 5 /* reads of a response that may fail one after the other */

static bool stored_flag(const struct model_call *call, const char *name) {
    int32_t truth = 0;
    (void)tn.value->as_bool(model_get_config(call, name), &truth);
    return truth != 0;
}

bool openai_is_background(const struct model_call *call) { return stored_flag(call, "background"); }

static bool openai_is_stored(const struct model_call *call) {
    return openai_is_background(call) || stored_flag(call, "previous_response_id") || stored_flag(call, "store");
}

/* The index of the last message that has an id of this service; -1 if none has. */
static int64_t stored_lookup_previous(const struct model_call *call) {
    if (!stored_flag(call, "previous_response_id")) return -1;
    for (uint64_t i = tn.value->count(call->messages); i > 0; i--) {
        tn_value message = tn.value->at(call->messages, i - 1);
        if (openai_is_text(tn_get(model_get_extra(call, message), "response_id"))) return (int64_t)i - 1;
    }
    return -1;
}

uint64_t openai_first_message(const struct model_call *call) { return (uint64_t)(stored_lookup_previous(call) + 1); }

void openai_put_stored(const struct model_call *call, tn_builder *builder) {
    int64_t previous = stored_lookup_previous(call);
    tn_put_bool(builder, "store", openai_is_stored(call));
    if (openai_is_background(call)) tn_put_bool(builder, "background", 1);
    if (previous < 0) return;
    tn_value message = tn.value->at(call->messages, (uint64_t)previous);
    tn_put(builder, "previous_response_id", tn_get(model_get_extra(call, message), "response_id"));
}

/* ---- In the background ---- */

static void stored_request(struct model_call *call, const char *method, const char *suffix,
                           void (*send)(struct model_call *call, const struct model_request *request)) {
    const struct openai_call *state = call->provider_data;
    struct tn_text_buffer path = TN_TEXT_BUFFER(2000);
    uint64_t length = 0;
    const char *id = tn_chars(state->background_id, &length);
    (void)tn_text_append(&path, "/responses/");
    (void)tn_text_append_percent(&path, id, length, "");
    (void)tn_text_append(&path, suffix);
    if (path.status == TN_OK)
        send(call, &(struct model_request){.path = tn_text_chars(&path), .method = method, .whole = true});
    else
        model_fail_response(call, "an id of %llu bytes", (unsigned long long)length);
    tn_text_free(&path);
}

static void stored_on_timer(void *argument) {
    struct model_call *call = argument;
    struct openai_call *state = call->provider_data;
    state->poll_timer = 0;
    stored_request(call, "GET", "", model_send);
}

static void stored_forget(struct openai_call *state) {
    tn_release(state->background_id);
    state->background_id = NULL;
}

static void stored_read_later(struct model_call *call) {
    struct openai_call *state = call->provider_data;
    int64_t interval = tn_get_int(call->model->config, "poll_interval_ms", STORED_POLL_MS);
    state->poll_timer = tn_post((uint64_t)interval, stored_on_timer, call);
    call->waits = true;
    if (state->poll_timer == 0) model_fail(call, "NO_MEMORY", "not enough memory for a timer");
}

bool openai_retry_stored(struct model_call *call, int64_t status, const char *code) {
    static const char *const passing[] = {"CONNECT", "CONNECTION_LOST", "TIMEOUT", "TLS"};
    struct openai_call *state = call->provider_data;
    bool may_pass = status == 408 || status == 429 || status >= 500;
    for (size_t i = 0; status == 0 && i < sizeof(passing) / sizeof(passing[0]); i++)
        may_pass = may_pass || strcmp(passing[i], code) == 0;
    if (state->background_id == NULL || !may_pass || ++state->poll_failures > STORED_FAILURES_MAX) return false;
    stored_read_later(call);
    return true;
}

bool openai_wait_for_stored(struct model_call *call, tn_value response) {
    struct openai_call *state = call->provider_data;
    const char *status = tn_get_text(response, "status", "");
    bool running = strcmp(status, "queued") == 0 || strcmp(status, "in_progress") == 0;
    if (!openai_is_background(call)) return false;
    if (!running || !openai_is_text(tn_get(response, "id"))) {
        stored_forget(state);
        return false;
    }
    if (state->background_id == NULL) state->background_id = tn_retain(tn_get(response, "id"));
    state->poll_failures = 0;
    stored_read_later(call);
    return true;
}

void openai_keep_response_id(struct model_call *call, tn_value response) {
    if (openai_is_stored(call) && openai_is_text(tn_get(response, "id")))
        model_set_extra(call, "response_id", tn_get(response, "id"));
}

void openai_release_stored(struct model_call *call) {
    struct openai_call *state = call->provider_data;
    if (state->poll_timer != 0) (void)tn.core->unpost(tn.host, state->poll_timer);
    if (state->background_id != NULL) stored_request(call, "POST", "/cancel", model_send_detached);
    stored_forget(state);
}
