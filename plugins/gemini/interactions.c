/*
 * interactions.c - the tools `interactions.…`: their requests, at AI Studio with a key, or on Vertex with credentials.
 *
 * The plugin's section of tenon.yaml decides which, as for models (gemini.c), because a tool has no configuration of
 * its own. A key is sent to Google's own host, and to `interactions_url` if the operator has set one.
 */
#include "interactions.h"

#include <stdlib.h>

#define FIRST_SECRET  "GEMINI_API_KEY"
#define SECOND_SECRET "GOOGLE_API_KEY" /* used if the first does not exist */

static bool uses_second_secret; /* the first did not exist when it was last needed */

/* ---- Address and credentials ---- */

/* Sets the address of the job. Returns false if the job has failed. */
static bool interactions_set_address(struct research_job *job) {
    struct interactions *state = job->data;
    const char *base = gemini_get_setting(NULL, "interactions_url", NULL);
    const char *project = base == NULL ? gemini_get_setting(NULL, "project", "VERTEX_PROJECT_ID") : NULL;
    const char *location = gemini_get_setting(NULL, "location", "VERTEX_LOCATION");
    char message[256];
    if (state->has_address) return true;
    if (project != NULL) base = gemini_get_setting(NULL, "vertex_url", NULL);
    if (!gemini_build_address(&state->address, "interactions", base, project,
                              location != NULL ? location : GEMINI_LOCATION, message)) {
        research_fail(job, "INVALID_CONFIG", "%s", message);
        return false;
    }
    state->job = job;
    state->has_address = true;
    if (project == NULL) return true;
    state->address.project = tn_text(project);
    state->address.source = token_source_new(gemini_get_setting(NULL, "credentials", NULL),
                                             gemini_get_setting(NULL, "token_url", NULL), job->http);
    if (state->address.project != NULL && state->address.source != NULL) return true;
    research_fail(job, "NO_MEMORY", "not enough memory for the credentials");
    return false;
}

static void interactions_on_token(struct token_wait *wait, tn_value header, const struct token_failure *failure) {
    struct interactions *state = (struct interactions *)((char *)wait - offsetof(struct interactions, wait));
    if (failure != NULL) {
        research_fail(state->job, failure->code, "%s", failure->message);
        return;
    }
    tn_release(state->header);
    state->header = tn_retain(header);
    research_send(state->job);
}

static bool interactions_authorize(struct research_job *job) {
    struct interactions *state = job->data;
    if (!interactions_set_address(job)) return false;
    if (state->address.source == NULL) return true;
    tn_value header = token_get_cached(state->address.source);
    tn_release(state->header);
    state->header = tn_retain(header);
    if (header != NULL) return true;
    state->wait.ready = interactions_on_token;
    token_wait(state->address.source, &state->wait);
    return false;
}

static bool interactions_retry(struct research_job *job, int64_t status, const char *code) {
    struct interactions *state = job->data;
    bool first = !state->retried;
    state->retried = true;
    if (first && state->address.source != NULL && status == 401) {
        token_discard(state->address.source, state->header);
        if (interactions_authorize(job)) research_send(job);
        return true;
    }
    if (strcmp(code, "SECRET_NOT_FOUND") != 0) return false;
    uses_second_secret = !uses_second_secret;
    if (first)
        research_send(job);
    else
        research_fail(job, "AUTH",
                      "gemini has no key: neither the secret " FIRST_SECRET " nor " SECOND_SECRET
                      " is available; set one of them, or for Vertex `project` (or VERTEX_PROJECT_ID)");
    return true;
}

static void interactions_put_headers(const struct interactions *state, tn_builder *out) {
    tn_put_begin(out, "headers", TN_OBJECT);
    if (state->header != NULL) {
        tn_put(out, "authorization", state->header);
        if (token_get_billing_project(state->address.source) != NULL)
            tn_put(out, "x-goog-user-project", token_get_billing_project(state->address.source));
    } else {
        tn_put_begin(out, "x-goog-api-key", TN_OBJECT);
        tn_put_text(out, "secret", uses_second_secret ? SECOND_SECRET : FIRST_SECRET);
        tn.value->end(out);
    }
    tn.value->end(out);
}

/* ---- The body of `create` ---- */

/* An item of `input`: a part of tenon/message.h becomes the service's content; everything else stays as it is. */
static tn_value interactions_convert_part(tn_value part) {
    const char *type = tn_get_text(part, "type", "");
    bool media = strcmp(type, "image") == 0 || strcmp(type, "audio") == 0 || strcmp(type, "file") == 0;
    struct model_media found;
    if (!media || tn_get(part, "uri") != NULL || tn_get(part, "mime_type") != NULL) return tn_retain(part);
    if (!model_media_init(&found, part)) return NULL;
    const char *word = found.media_type != NULL ? found.media_type : "";
    if (strcmp(type, "file") == 0) type = strncmp(word, "video/", 6) == 0 ? "video" : "document";
    tn_value uri = found.url != NULL ? found.url : found.file_id;
    tn_value content =
        tn_build("{s:s,s:v*,s:v*}", "type", type, "data", found.data, "uri", found.data != NULL ? NULL : uri);
    if (*word != '\0') content = tn_set_take(content, "mime_type", tn_text(word));
    model_media_finish(&found);
    return content;
}

static bool interactions_put_items(struct research_job *job, tn_builder *out, tn_value list) {
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        tn_value content = interactions_convert_part(tn.value->at(list, i));
        if (content == NULL) {
            research_fail(job, "INVALID_REQUEST",
                          "input[%llu] has no `url`, `file_id` or `data` in base64; expected one of them",
                          (unsigned long long)i);
            return false;
        }
        tn_put_take(out, NULL, content);
    }
    return true;
}

/* The results of functions that the interaction has called. */
static void interactions_put_results(const struct research_job *job, tn_builder *out) {
    tn_value results = research_get(job, "results");
    for (uint64_t i = 0, count = tn.value->count(results); i < count; i++) {
        tn_value item = tn.value->at(results, i);
        tn_put_take(out, NULL,
                    tn_build("{s:s,s:v*,s:v*,s:v?,s:v*}", "type", "function_result", "call_id", tn_get(item, "id"),
                             "name", tn_get(item, "name"), "result", tn_get(item, "result"), "is_error",
                             tn_get(item, "is_error")));
    }
}

/* True for a step, in contrast to a content: the service accepts a list of the one or of the other. */
static bool is_step(tn_value item) {
    static const char *const contents[] = {"text", "image", "audio", "video", "document", "file"};
    const char *type = tn_get_text(item, "type", "");
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++)
        if (strcmp(contents[i], type) == 0) return false;
    return true;
}

/* Results are steps, so the contents behind them become one, too. */
static bool interactions_put_steps(struct research_job *job, tn_builder *out, tn_value input) {
    bool ok = true, list = tn.value->kind(input) == TN_ARRAY;
    interactions_put_results(job, out);
    if (input == NULL) return true;
    if (list && is_step(tn.value->at(input, 0))) return interactions_put_items(job, out, input);
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "type", "user_input");
    tn_put_begin(out, "content", TN_ARRAY);
    if (list)
        ok = interactions_put_items(job, out, input);
    else
        tn_put_take(out, NULL, tn_build("{s:s,s:v}", "type", "text", "text", input));
    tn.value->end(out);
    tn.value->end(out);
    return ok;
}

static bool interactions_put_input(struct research_job *job, tn_builder *out) {
    tn_value input = research_get(job, "input");
    bool ok = true, list = tn.value->kind(input) == TN_ARRAY;
    if (research_get(job, "results") == NULL && !list) {
        if (input != NULL) tn_put(out, "input", input);
        return true;
    }
    tn_put_begin(out, "input", TN_ARRAY);
    ok = research_get(job, "results") != NULL ? interactions_put_steps(job, out, input)
                                              : interactions_put_items(job, out, input);
    tn.value->end(out);
    return ok;
}

static void interactions_put_agent(const struct research_job *job, tn_builder *out) {
    const char *agent = tn_get_text(job->input, "agent", INTERACTIONS_AGENT);
    tn_value config = research_get(job, "agent_config");
    if (research_get(job, "model") != NULL)
        research_put(job, out, "model", "model");
    else
        tn_put_text(out, "agent", agent);
    if (strncmp(agent, "deep-research", 13) != 0 || research_get(job, "model") != NULL) {
        if (config != NULL) tn_put(out, "agent_config", config);
        return;
    }
    tn_value defaults = tn_build("{s:s,s:s}", "type", "deep-research", "thinking_summaries", "auto");
    tn_put_take(out, "agent_config", research_merge_take(defaults, config));
}

static bool interactions_put_create(struct research_job *job, tn_builder *out) {
    static const char *const same[] = {"previous_interaction_id", "continuation_token", "tools",
                                       "system_instruction",      "response_format",    "store"};
    tn_builder *body = tn_builder_new();
    tn.value->begin(body, TN_OBJECT);
    bool ok = interactions_put_input(job, body);
    interactions_put_agent(job, body);
    tn_put_bool(body, "background", research_flag(job, "background", true));
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) research_put(job, body, same[i], same[i]);
    tn.value->end(body);
    tn_put_take(out, "json", research_merge_take(tn_finish(body), research_get(job, "extra")));
    return ok;
}

/* ---- Requests ---- */

static bool interactions_put_request(struct research_job *job, enum research_operation operation, tn_builder *out) {
    const struct interactions *state = job->data;
    bool vertex = state->address.source != NULL, reads = operation == RESEARCH_GET;
    const char *suffix = operation == RESEARCH_CANCEL ? "/cancel" : reads && vertex ? ":poll" : "";
    char base[GEMINI_PATH_MAX + 32], url[RESEARCH_PATH_MAX];
    (void)snprintf(base, sizeof base, "%s/interactions", state->address.base);
    if (!research_format_url(job, url, base, suffix)) return false;
    tn_put_text(out, "url", url);
    tn_put_text(out, "method", operation == RESEARCH_GET || operation == RESEARCH_STREAM ? "GET" : "POST");
    interactions_put_headers(state, out);
    if (operation == RESEARCH_STREAM) {
        tn_put_begin(out, "query", TN_OBJECT);
        tn_put_text(out, "stream", "true");
        if (job->event_id != NULL) tn_put(out, "last_event_id", job->event_id);
        tn.value->end(out);
    }
    if (operation == RESEARCH_CREATE) return interactions_put_create(job, out);
    if (operation == RESEARCH_CANCEL) {
        tn_put_begin(out, "json", TN_OBJECT);
        tn.value->end(out);
    }
    return true;
}

static void interactions_release(struct research_job *job) {
    struct interactions *state = job->data;
    if (state->address.source != NULL) token_cancel(state->address.source, &state->wait);
    token_source_free(state->address.source);
    tn_release(state->address.project);
    tn_release(state->header);
}

static const struct research_service interactions = {.provider = "gemini",
                                                     .secret = FIRST_SECRET,
                                                     .data_size = sizeof(struct interactions),
                                                     .put_request = interactions_put_request,
                                                     .authorize = interactions_authorize,
                                                     .retry = interactions_retry,
                                                     .read = interactions_read,
                                                     .event = interactions_event,
                                                     .reset = interactions_reset,
                                                     .release = interactions_release};

RESEARCH_TOOL(interactions_create, "interactions.create", &interactions, RESEARCH_CREATE)
RESEARCH_TOOL(interactions_get, "interactions.get", &interactions, RESEARCH_GET)
RESEARCH_TOOL(interactions_stream, "interactions.stream", &interactions, RESEARCH_STREAM)
RESEARCH_TOOL(interactions_cancel, "interactions.cancel", &interactions, RESEARCH_CANCEL)
