/*
 * background.c - the tools `responses.…`: their requests.
 *
 * They have the arguments and the results of `interactions.…` (research.h), so that the node `deep_research` works with
 * both. The key is sent to OpenAI, and to `responses_url` if the operator has set one in the plugin's section.
 */
#include "background.h"

static tn_value section; /* the plugin's section of tenon.yaml */

/* ---- The body of `create` ---- */

/* Adds a part of tenon/message.h as a content of the service. Returns false if the job has failed. */
static bool background_put_part(struct research_job *job, tn_builder *out, tn_value part, uint64_t index) {
    const char *type = tn_get_text(part, "type", "");
    bool image = strcmp(type, "image") == 0;
    struct model_media media;
    if (strcmp(type, "text") == 0) {
        tn_put_take(out, NULL, tn_build("{s:s,s:v*}", "type", "input_text", "text", tn_get(part, "text")));
        return true;
    }
    if (!image && strcmp(type, "file") != 0) {
        tn_put(out, NULL, part); /* of the service's own form, such as input_image */
        return true;
    }
    if (!model_media_init(&media, part)) {
        research_fail(job, "INVALID_REQUEST",
                      "input[%llu] has no `url`, `file_id` or `data` in base64; expected one of them",
                      (unsigned long long)index);
        return false;
    }
    tn_value data = media.data != NULL ? model_media_to_data_url(&media) : NULL;
    tn_value url = data != NULL ? data : media.url;
    if (image)
        tn_put_take(out, NULL,
                    tn_build("{s:s,s:v*,s:v*}", "type", "input_image", "image_url", url, "file_id", media.file_id));
    else
        tn_put_take(out, NULL,
                    tn_build("{s:s,s:v*,s:v*,s:v*,s:v*}", "type", "input_file", "file_data", data, "file_url",
                             data != NULL ? NULL : media.url, "file_id", media.file_id, "filename",
                             tn_get(part, "name")));
    tn_release(data);
    model_media_finish(&media);
    return true;
}

/* True for an item of the service, such as a message, in contrast to a part of one. */
static bool is_item(tn_value value) {
    const char *type = tn_get_text(value, "type", "");
    return tn_get(value, "role") != NULL || strcmp(type, "message") == 0 || strstr(type, "_call") != NULL ||
           strcmp(type, "item_reference") == 0 || strcmp(type, "reasoning") == 0;
}

static bool background_put_list(struct research_job *job, tn_builder *out, tn_value list) {
    uint64_t count = tn.value->count(list);
    bool ok = true;
    if (count > 0 && is_item(tn.value->at(list, 0))) {
        for (uint64_t i = 0; i < count; i++) tn_put(out, NULL, tn.value->at(list, i));
        return true;
    }
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "role", "user");
    tn_put_begin(out, "content", TN_ARRAY);
    for (uint64_t i = 0; i < count && ok; i++) ok = background_put_part(job, out, tn.value->at(list, i), i);
    tn.value->end(out);
    tn.value->end(out);
    return ok;
}

static void background_put_results(const struct research_job *job, tn_builder *out) {
    tn_value results = research_get(job, "results");
    for (uint64_t i = 0, count = tn.value->count(results); i < count; i++) {
        tn_value item = tn.value->at(results, i), result = tn_get(item, "result");
        tn_value text = tn.value->kind(result) == TN_STRING ? tn_retain(result) : tn_to_json(result);
        tn_put_take(
            out, NULL,
            tn_build("{s:s,s:v*,s:V?}", "type", "function_call_output", "call_id", tn_get(item, "id"), "output", text));
    }
}

static bool background_put_input(struct research_job *job, tn_builder *out) {
    tn_value input = research_get(job, "input");
    bool ok = true;
    if (research_get(job, "results") == NULL && tn.value->kind(input) != TN_ARRAY) {
        if (input != NULL) tn_put(out, "input", input);
        return true;
    }
    tn_put_begin(out, "input", TN_ARRAY);
    background_put_results(job, out);
    if (tn.value->kind(input) == TN_ARRAY)
        ok = background_put_list(job, out, input);
    else if (input != NULL)
        tn_put_take(out, NULL, tn_build("{s:s,s:v}", "role", "user", "content", input));
    tn.value->end(out);
    return ok;
}

static void background_put_tools(const struct research_job *job, tn_builder *out) {
    const char *model = tn_get_text(job->input, "agent", BACKGROUND_MODEL);
    tn_value tools = research_get(job, "tools");
    if (tools != NULL || strstr(model, "deep-research") == NULL) {
        research_put(job, out, "tools", "tools");
        return;
    }
    tn_put_begin(out, "tools", TN_ARRAY); /* the service refuses deep research without a source of data */
    tn_put_take(out, NULL, tn_build("{s:s}", "type", "web_search_preview"));
    tn.value->end(out);
}

static bool background_put_create(struct research_job *job, tn_builder *out) {
    const char *model = tn_get_text(job->input, "agent", BACKGROUND_MODEL);
    bool background = research_flag(job, "background", true);
    tn_builder *body = tn_builder_new();
    tn.value->begin(body, TN_OBJECT);
    tn_put_text(body, "model", model);
    bool ok = background_put_input(job, body);
    tn_put_bool(body, "background", background);
    if (background) tn_put_bool(body, "store", 1); /* otherwise it could not be read later */
    research_put(job, body, "previous_interaction_id", "previous_response_id");
    research_put(job, body, "system_instruction", "instructions");
    background_put_tools(job, body);
    if (strstr(model, "deep-research") != NULL) tn_put_take(body, "reasoning", tn_build("{s:s}", "summary", "auto"));
    tn.value->end(body);
    tn_value request = research_merge_take(tn_finish(body), research_get(job, "agent_config"));
    tn_put_take(out, "json", research_merge_take(request, research_get(job, "extra")));
    return ok;
}

/* ---- Requests ---- */

static bool background_put_request(struct research_job *job, enum research_operation operation, tn_builder *out) {
    char base[600], url[RESEARCH_PATH_MAX];
    size_t length =
        (size_t)snprintf(base, sizeof base, "%.500s", tn_get_text(section, "responses_url", BACKGROUND_BASE_URL));
    while (length > 0 && base[length - 1] == '/') base[--length] = '\0';
    (void)snprintf(base + length, sizeof base - length, "/responses");
    if (!research_format_url(job, url, base, operation == RESEARCH_CANCEL ? "/cancel" : "")) return false;
    tn_put_text(out, "url", url);
    tn_put_text(out, "method", operation == RESEARCH_GET || operation == RESEARCH_STREAM ? "GET" : "POST");
    tn_put_take(out, "headers", tn_build("{s:[s{s:s}]}", "authorization", "Bearer ", "secret", "OPENAI_API_KEY"));
    if (operation == RESEARCH_STREAM) {
        tn_put_begin(out, "query", TN_OBJECT);
        tn_put_text(out, "stream", "true");
        if (job->event_id != NULL) tn_put(out, "starting_after", job->event_id);
        tn.value->end(out);
    }
    if (operation == RESEARCH_CREATE) return background_put_create(job, out);
    if (operation == RESEARCH_CANCEL) tn_put_take(out, "json", tn_build("{}"));
    return true;
}

static const struct research_service background = {.provider = "openai",
                                                   .secret = "OPENAI_API_KEY",
                                                   .data_size = sizeof(struct background),
                                                   .put_request = background_put_request,
                                                   .read = background_read,
                                                   .event = background_event,
                                                   .reset = background_reset};

RESEARCH_TOOL(responses_create, "responses.create", &background, RESEARCH_CREATE)
RESEARCH_TOOL(responses_get, "responses.get", &background, RESEARCH_GET)
RESEARCH_TOOL(responses_stream, "responses.stream", &background, RESEARCH_STREAM)
RESEARCH_TOOL(responses_cancel, "responses.cancel", &background, RESEARCH_CANCEL)

/* ---- The plugin ---- */

static int32_t background_init(void *self, tn_value config) {
    (void)self;
    section = tn_retain(config);
    return TN_OK;
}

static void background_deinit(void *self) {
    (void)self;
    tn_release(section);
    section = NULL;
}

TN_LIFECYCLE(background_init, NULL, background_deinit)
