/*
 * interactions_read.c - reads interactions and the events of their streams, in the shape of 2026 (`steps`, step.delta)
 * and in the older one (`outputs`, content.delta).
 *
 * Both shapes, and streams and whole interactions, go through the same functions: a step begins, has contents or
 * deltas, and ends. Steps of the service's own tools are counted; what they found is cited in the text. Unknown types
 * of steps, deltas and events are not errors, because the service adds some with every release.
 */
#include "interactions.h"

static const struct {
    const char *word;
    enum research_state state;
} statuses[] = {{"queued", RESEARCH_RUNNING},
                {"in_progress", RESEARCH_RUNNING},
                {"completed", RESEARCH_COMPLETED},
                {"requires_action", RESEARCH_REQUIRES_ACTION},
                {"requires_continuation", RESEARCH_REQUIRES_CONTINUATION},
                {"incomplete", RESEARCH_INCOMPLETE},
                {"budget_exceeded", RESEARCH_BUDGET_EXCEEDED},
                {"cancelled", RESEARCH_CANCELLED},
                {"failed", RESEARCH_FAILED}};

static void interactions_read_status(struct research_job *job, tn_value word) {
    enum research_state state = RESEARCH_RUNNING; /* the list of statuses has grown before */
    if (!research_is_text(word)) return;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (strcmp(statuses[i].word, tn_chars(word, NULL)) == 0) state = statuses[i].state;
    research_set_status(job, word, state);
}

static int64_t sum_of_counts(int64_t first, int64_t second) {
    if (first < 0) return second;
    return second > 0 ? first + second : first;
}

/* Tokens of thought are output, tokens that the service's tools have read are input. */
static void interactions_read_usage(struct research_job *job, tn_value usage) {
    struct tn_answer_usage counts = TN_ANSWER_USAGE;
    if (tn.value->kind(usage) != TN_OBJECT) return;
    counts.reasoning = tn_answer_get_count(usage, "total_thought_tokens");
    counts.cached = tn_answer_get_count(usage, "total_cached_tokens");
    counts.total = tn_answer_get_count(usage, "total_tokens");
    counts.input = sum_of_counts(tn_answer_get_count(usage, "total_input_tokens"),
                                 tn_answer_get_count(usage, "total_tool_use_tokens"));
    counts.output = sum_of_counts(tn_answer_get_count(usage, "total_output_tokens"), counts.reasoning);
    tn_answer_set_usage(&job->answer, &counts);
}

/* All members but the steps. */
static void interactions_read_head(struct research_job *job, tn_value interaction) {
    tn_value errors = tn_get(interaction, "errors"), error = tn_get(interaction, "error");
    tn_value model = tn_get(interaction, "agent");
    research_set_id(job, tn_get(interaction, "id"));
    interactions_read_status(job, tn_get(interaction, "status"));
    interactions_read_usage(job, tn_get(interaction, "usage"));
    research_set_continuation(job, tn_get(interaction, "continuation_token"));
    research_set_error(job, tn.value->kind(errors) == TN_ARRAY ? tn.value->at(errors, 0) : error);
    tn_answer_set_model(&job->answer, research_is_text(model) ? model : tn_get(interaction, "model"));
}

/* ---- Contents ---- */

static void interactions_read_annotations(struct research_job *job, tn_value list) {
    for (uint64_t i = 0, count = tn.value->kind(list) == TN_ARRAY ? tn.value->count(list) : 0; i < count; i++) {
        static const char *const urls[] = {"url", "document_uri"};
        static const char *const titles[] = {"title", "file_name", "name", "source"};
        tn_value citation = tn.value->at(list, i), url = NULL, title = NULL;
        for (size_t k = 0; k < 2 && url == NULL; k++)
            if (research_is_text(tn_get(citation, urls[k]))) url = tn_get(citation, urls[k]);
        for (size_t k = 0; k < 4 && title == NULL; k++)
            if (research_is_text(tn_get(citation, titles[k]))) title = tn_get(citation, titles[k]);
        research_add_source(job, url, title, citation);
    }
}

static bool is_media(const char *type) {
    return strcmp(type, "image") == 0 || strcmp(type, "audio") == 0 || strcmp(type, "video") == 0 ||
           strcmp(type, "document") == 0;
}

static void interactions_read_media(struct research_job *job, const char *type, tn_value media) {
    bool own = strcmp(type, "image") == 0 || strcmp(type, "audio") == 0;
    tn_value data = tn_get(media, "data"), uri = tn_get(media, "uri");
    if (!research_is_text(data) && !research_is_text(uri)) return;
    tn_value part =
        tn_build("{s:s,s:v*,s:v*,s:v*}", "type", own ? type : "file", "media_type", tn_get(media, "mime_type"), "data",
                 research_is_text(data) ? data : NULL, "url", research_is_text(data) ? NULL : uri);
    research_end_part(job);
    tn_answer_add_part(&job->answer, part);
    tn_release(part);
}

/* One item of a content, of a summary, or a delta of the same form. */
static void interactions_read_content(struct research_job *job, tn_value item, bool thought) {
    const char *type = tn_get_text(item, "type", "");
    if (is_media(type)) {
        interactions_read_media(job, type, item);
    } else if (strcmp(type, "text") == 0) {
        (thought ? tn_answer_add_reasoning : tn_answer_add_text)(&job->answer, tn_get(item, "text"));
        interactions_read_annotations(job, tn_get(item, "annotations"));
    }
}

static void interactions_read_contents(struct research_job *job, tn_value list, bool thought) {
    for (uint64_t i = 0, count = tn.value->kind(list) == TN_ARRAY ? tn.value->count(list) : 0; i < count; i++) {
        if (i > 0) research_end_part(job);
        interactions_read_content(job, tn.value->at(list, i), thought);
    }
}

/* ---- Steps ---- */

static bool step_is(const struct interactions *state, const char *kind) { return strcmp(state->kind, kind) == 0; }

static void interactions_add_call(struct research_job *job, int64_t index, tn_value call) {
    tn_answer_add_call(&job->answer, index, tn_get(call, "id"), tn_get(call, "name"), NULL);
}

/* A thought's signature belongs to the reasoning part, which it adds if the service shows no summary. */
static void interactions_end_thought(struct research_job *job, tn_value signature) {
    const struct tn_answer *answer = &job->answer;
    bool shown = answer->is_open && answer->parts[answer->part_count - 1].kind == TN_ANSWER_REASONING;
    if (signature == NULL) return;
    if (!shown) {
        tn_value part = tn_build("{s:s}", "type", "reasoning");
        tn_answer_add_part(&job->answer, part);
        tn_release(part);
    }
    tn_answer_set_part_extra(&job->answer, "signature", signature);
}

static void interactions_end_call(struct research_job *job, const struct interactions *state, tn_value signature) {
    const struct tn_answer_call *call = tn_answer_find_call(&job->answer, state->index);
    tn_value arguments = tn_get(state->start, "arguments");
    /* A stream starts with empty arguments, and sends them as pieces. */
    if (call != NULL && call->arguments.length == 0 && tn.value->count(arguments) > 0)
        tn_answer_add_call(&job->answer, state->index, NULL, NULL, arguments);
    if (signature != NULL) tn_answer_set_call_extra(&job->answer, state->index, "signature", signature);
}

static void interactions_end_step(struct research_job *job) {
    struct interactions *state = job->data;
    tn_value signature = state->signature != NULL ? state->signature : tn_get(state->start, "signature");
    if (state->kind[0] == '\0') return;
    if (!research_is_text(signature)) signature = NULL;
    if (step_is(state, "thought"))
        interactions_end_thought(job, signature);
    else if (step_is(state, "function_call"))
        interactions_end_call(job, state, signature);
    research_end_part(job);
    state->kind[0] = '\0';
    tn_release(state->start);
    tn_release(state->signature);
    state->start = state->signature = NULL;
}

static void interactions_begin_step(struct research_job *job, int64_t index, tn_value step) {
    struct interactions *state = job->data;
    interactions_end_step(job);
    const char *kind = tn_get_text(step, "type", "");
    (void)snprintf(state->kind, sizeof state->kind, "%s", *kind != '\0' ? kind : "unknown");
    state->index = index;
    state->start = tn_retain(step);
    state->received = true;
    research_end_part(job);
    if (step_is(state, "user_input")) return;
    research_count_step(job, state->kind);
    if (step_is(state, "thought"))
        interactions_read_contents(job, tn_get(step, "summary"), true);
    else if (step_is(state, "model_output"))
        interactions_read_contents(job, tn_get(step, "content"), false);
    else if (step_is(state, "function_call"))
        interactions_add_call(job, index, step);
    else
        interactions_read_content(job, step, false); /* an item of `outputs` is a content */
}

static void interactions_read_delta(struct research_job *job, int64_t index, tn_value delta) {
    struct interactions *state = job->data;
    const char *type = tn_get_text(delta, "type", "");
    if (state->kind[0] == '\0' || state->index != index) { /* the stream started in the middle of a step */
        interactions_end_step(job);
        (void)snprintf(state->kind, sizeof state->kind, "%s", strncmp(type, "thought", 7) == 0 ? "thought" : "unknown");
        state->index = index;
    }
    state->received = true;
    if (step_is(state, "user_input")) return;
    if (strcmp(type, "thought_summary") == 0) {
        interactions_read_content(job, tn_get(delta, "content"), true);
    } else if (strcmp(type, "thought_signature") == 0) {
        tn_release(state->signature);
        state->signature = tn_retain(tn_get(delta, "signature"));
    } else if (strcmp(type, "text_annotation_delta") == 0) {
        interactions_read_annotations(job, tn_get(delta, "annotations"));
    } else if (strcmp(type, "arguments_delta") == 0) {
        if (tn_answer_find_call(&job->answer, index) != NULL)
            tn_answer_add_call(&job->answer, index, NULL, NULL, tn_get(delta, "arguments"));
    } else if (strcmp(type, "function_call") == 0) { /* the older shape */
        tn_answer_add_call(&job->answer, index, tn_get(delta, "id"), tn_get(delta, "name"), tn_get(delta, "arguments"));
    } else {
        interactions_read_content(job, delta, step_is(state, "thought"));
    }
}

/* ---- Whole interactions, and events ---- */

static void interactions_read_steps(struct research_job *job, tn_value interaction) {
    tn_value steps = tn_get(interaction, "steps");
    if (tn.value->kind(steps) != TN_ARRAY) steps = tn_get(interaction, "outputs");
    for (uint64_t i = 0, count = tn.value->kind(steps) == TN_ARRAY ? tn.value->count(steps) : 0; i < count; i++)
        interactions_begin_step(job, (int64_t)i, tn.value->at(steps, i));
    interactions_end_step(job);
}

void interactions_read(struct research_job *job, tn_value interaction) {
    const struct interactions *state = job->data;
    interactions_read_head(job, interaction);
    if (!state->received && job->state != RESEARCH_RUNNING) interactions_read_steps(job, interaction);
}

static void on_created(struct research_job *job, tn_value event) {
    interactions_read_head(job, tn_get(event, "interaction"));
}

static void on_status(struct research_job *job, tn_value event) {
    research_set_id(job, tn_get(event, "interaction_id"));
    interactions_read_status(job, tn_get(event, "status"));
    research_set_continuation(job, tn_get(event, "continuation_token"));
    interactions_read_usage(job, tn_get(event, "usage"));
}

static void on_start(struct research_job *job, tn_value event) {
    tn_value step = tn_get(event, "step");
    interactions_begin_step(job, tn_get_int(event, "index", 0), step != NULL ? step : tn_get(event, "content"));
}

static void on_delta(struct research_job *job, tn_value event) {
    interactions_read_delta(job, tn_get_int(event, "index", 0), tn_get(event, "delta"));
}

static void on_stop(struct research_job *job, tn_value event) {
    (void)event;
    interactions_end_step(job);
}

static void on_completed(struct research_job *job, tn_value event) {
    interactions_end_step(job);
    if (job->resumed)
        interactions_read_head(job, tn_get(event, "interaction"));
    else
        interactions_read(job, tn_get(event, "interaction"));
    research_set_finished(job);
}

/* The stream failed, which does not mean that the interaction did. */
static void on_error(struct research_job *job, tn_value event) { research_drop(job, tn_get(event, "error")); }

static const struct {
    const char *type;
    void (*read)(struct research_job *job, tn_value event);
} events[] = {
    {"interaction.created", on_created},
    {"interaction.start", on_created},
    {"interaction.status_update", on_status},
    {"step.start", on_start},
    {"content.start", on_start},
    {"step.delta", on_delta},
    {"content.delta", on_delta},
    {"step.stop", on_stop},
    {"content.stop", on_stop},
    {"interaction.completed", on_completed},
    {"interaction.complete", on_completed},
    {"error", on_error},
};

void interactions_event(struct research_job *job, tn_value event) {
    const char *type = tn_get_text(event, "event_type", "");
    research_set_event_id(job, tn_get(event, "event_id"));
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (strcmp(events[i].type, type) == 0) events[i].read(job, event);
}

void interactions_reset(struct research_job *job) {
    struct interactions *state = job->data;
    tn_release(state->start);
    tn_release(state->signature);
    state->start = state->signature = NULL;
    state->kind[0] = '\0';
    state->received = false;
}
