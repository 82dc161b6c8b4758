/*
 * background_read.c - reads responses and the events of their streams.
 *
 * Events are numbered: the number of the last one is the `event_id` from which a stream continues. The last event has
 * the whole response, which is read again, so that the message is complete even if the stream started in the middle.
 */
#include "background.h"

static const struct {
    const char *word;
    enum research_state state;
} statuses[] = {{"queued", RESEARCH_RUNNING},      {"in_progress", RESEARCH_RUNNING},
                {"completed", RESEARCH_COMPLETED}, {"incomplete", RESEARCH_INCOMPLETE},
                {"cancelled", RESEARCH_CANCELLED}, {"failed", RESEARCH_FAILED}};

static tn_value background_item_at(tn_value list, uint64_t index) {
    return tn.value->kind(list) == TN_ARRAY ? tn.value->at(list, index) : NULL;
}
static uint64_t background_count(tn_value list) { return tn.value->kind(list) == TN_ARRAY ? tn.value->count(list) : 0; }

static void background_read_usage(struct research_job *job, tn_value usage) {
    struct tn_answer_usage counts = TN_ANSWER_USAGE;
    if (tn.value->kind(usage) != TN_OBJECT) return;
    counts.input = tn_answer_get_count(usage, "input_tokens");
    counts.output = tn_answer_get_count(usage, "output_tokens");
    counts.total = tn_answer_get_count(usage, "total_tokens");
    counts.cached = tn_answer_get_count(tn_get(usage, "input_tokens_details"), "cached_tokens");
    counts.reasoning = tn_answer_get_count(tn_get(usage, "output_tokens_details"), "reasoning_tokens");
    tn_answer_set_usage(&job->answer, &counts);
}

static void background_read_head(struct research_job *job, tn_value response) {
    tn_value word = tn_get(response, "status"), incomplete = tn_get(response, "incomplete_details");
    enum research_state state = RESEARCH_RUNNING;
    research_set_id(job, tn_get(response, "id"));
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (strcmp(statuses[i].word, tn_get_text(response, "status", "")) == 0) state = statuses[i].state;
    if (research_is_text(word)) research_set_status(job, word, state);
    research_set_error(job, tn_get(response, "error"));
    if (state == RESEARCH_INCOMPLETE) research_set_error(job, incomplete);
    background_read_usage(job, tn_get(response, "usage"));
    tn_answer_set_model(&job->answer, tn_get(response, "model"));
}

/* ---- Items ---- */

static void background_read_sources(struct research_job *job, tn_value notes) {
    for (uint64_t i = 0; i < background_count(notes); i++) {
        tn_value note = background_item_at(notes, i), title = tn_get(note, "title");
        if (!research_is_text(title)) title = tn_get(note, "filename");
        research_add_source(job, tn_get(note, "url"), title, note);
    }
}

/* `texts`: the texts themselves have already come. */
static void background_read_message(struct research_job *job, tn_value item, bool texts) {
    tn_value content = tn_get(item, "content");
    for (uint64_t i = 0; i < background_count(content); i++) {
        tn_value part = background_item_at(content, i);
        if (!texts && tn_get(part, "refusal") != NULL) tn_answer_add_refusal(&job->answer, tn_get(part, "refusal"));
        if (!texts) tn_answer_add_text(&job->answer, tn_get(part, "text"));
        background_read_sources(job, tn_get(part, "annotations"));
        research_end_part(job);
    }
}

static void background_read_reasoning(struct research_job *job, tn_value item) {
    tn_value summary = tn_get(item, "summary");
    for (uint64_t i = 0; i < background_count(summary); i++) {
        tn_answer_add_reasoning(&job->answer, tn_get(background_item_at(summary, i), "text"));
        research_end_part(job);
    }
}

static void background_read_item(struct research_job *job, int64_t index, tn_value item) {
    const struct background *state = job->data;
    const char *type = tn_get_text(item, "type", "");
    research_end_part(job);
    research_count_step(job, type);
    if (strcmp(type, "message") == 0)
        background_read_message(job, item, state->text_at == index + 1);
    else if (strcmp(type, "reasoning") == 0 && state->reasoning_at != index + 1)
        background_read_reasoning(job, item);
    else if (strcmp(type, "function_call") == 0)
        tn_answer_add_call(&job->answer, index, tn_get(item, "call_id"), tn_get(item, "name"),
                           tn_get(item, "arguments"));
    research_end_part(job);
}

/* A completed response with calls of functions waits for their results. */
static void background_check_calls(struct research_job *job, tn_value response) {
    if (job->state == RESEARCH_COMPLETED && job->answer.call_count > 0)
        research_set_status(job, tn_get(response, "status"), RESEARCH_REQUIRES_ACTION);
}

void background_read(struct research_job *job, tn_value response) {
    tn_value output = tn_get(response, "output");
    background_read_head(job, response);
    if (job->state == RESEARCH_RUNNING) return;
    background_reset(job);
    for (uint64_t i = 0; i < background_count(output); i++)
        background_read_item(job, (int64_t)i, background_item_at(output, i));
    background_check_calls(job, response);
}

/* ---- Events ---- */

static int64_t background_index(tn_value event) {
    int64_t index = tn_get_int(event, "output_index", 0);
    return index >= 0 && index < INT32_MAX ? index : INT32_MAX;
}

static void on_head(struct research_job *job, tn_value event) { background_read_head(job, tn_get(event, "response")); }

static void on_end(struct research_job *job, tn_value event) {
    tn_value response = tn_get(event, "response");
    if (background_count(tn_get(response, "output")) > 0) {
        research_reread(job);
        background_read(job, response);
        job->answer.is_silent = false;
        job->resumed = false;
    } else {
        background_read_head(job, response);
        background_check_calls(job, response);
    }
    research_set_finished(job);
}

static void on_done(struct research_job *job, tn_value event) {
    background_read_item(job, background_index(event), tn_get(event, "item"));
}

static void on_text(struct research_job *job, tn_value event) {
    ((struct background *)job->data)->text_at = background_index(event) + 1;
    tn_answer_add_text(&job->answer, tn_get(event, "delta"));
}

static void on_reasoning(struct research_job *job, tn_value event) {
    ((struct background *)job->data)->reasoning_at = background_index(event) + 1;
    tn_answer_add_reasoning(&job->answer, tn_get(event, "delta"));
}

static void on_part(struct research_job *job, tn_value event) {
    (void)event;
    research_end_part(job);
}

/* The stream failed, which does not mean that the response did. */
static void on_error(struct research_job *job, tn_value event) {
    tn_value error = tn_get(event, "error");
    research_drop(job, tn.value->kind(error) == TN_OBJECT ? error : event);
}

static const struct {
    const char *type;
    void (*read)(struct research_job *job, tn_value event);
} events[] = {
    {"response.created", on_head},
    {"response.queued", on_head},
    {"response.in_progress", on_head},
    {"response.output_item.done", on_done},
    {"response.content_part.done", on_part},
    {"response.output_text.delta", on_text},
    {"response.reasoning_summary_part.added", on_part},
    {"response.reasoning_summary_text.delta", on_reasoning},
    {"response.completed", on_end},
    {"response.incomplete", on_end},
    {"response.failed", on_end},
    {"response.cancelled", on_end},
    {"error", on_error},
};

void background_event(struct research_job *job, tn_value event) {
    const char *type = tn_get_text(event, "type", "");
    research_set_event_id(job, tn_get(event, "sequence_number"));
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (strcmp(events[i].type, type) == 0) events[i].read(job, event);
}

void background_reset(struct research_job *job) { memset(job->data, 0, sizeof(struct background)); }
