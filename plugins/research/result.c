/*
 * result.c - what a job has learned from the service, and the RESULT that it becomes.
 */
#include "internal.h"

/* ---- Values ---- */

bool research_is_text(tn_value value) {
    uint64_t length = 0;
    return tn_chars(value, &length) != NULL && length > 0;
}

void research_replace(tn_value *member, tn_value value) {
    tn_value before = *member;
    *member = tn_retain(value);
    tn_release(before);
}

tn_value research_get(const struct research_job *job, const char *name) {
    tn_value value = tn_get(job->input, name);
    return tn.value->kind(value) > TN_NULL ? value : NULL;
}

bool research_flag(const struct research_job *job, const char *name, bool fallback) {
    int32_t truth = fallback;
    (void)tn.value->as_bool(tn_get(job->input, name), &truth);
    return truth != 0;
}

void research_put(const struct research_job *job, tn_builder *out, const char *name, const char *as) {
    tn_value value = research_get(job, name);
    if (value != NULL) tn_put(out, as, value);
}

tn_value research_merge_take(tn_value body, tn_value members) {
    for (uint64_t i = 0, count = tn.value->count(members); i < count && body != NULL; i++) {
        tn_value key, value;
        uint64_t length = 0;
        if (tn.value->entry(members, i, &key, &value) != TN_OK) break;
        const char *name = tn_chars(key, &length);
        if (tn.value->set(&body, name, length, value) == TN_OK) continue;
        tn_release(body);
        body = NULL;
    }
    return body;
}

bool research_format_url(struct research_job *job, char out[RESEARCH_PATH_MAX], const char *base, const char *suffix) {
    struct tn_text_buffer path = TN_TEXT_BUFFER(RESEARCH_PATH_MAX - 1);
    uint64_t length = 0;
    const char *id = tn_chars(job->id, &length);
    (void)tn_text_append(&path, base);
    if (id != NULL) {
        (void)tn_text_append(&path, "/");
        (void)tn_text_append_percent(&path, id, length, "");
    }
    (void)tn_text_append(&path, suffix);
    bool fits = path.status == TN_OK;
    /* "." and ".." stay as they are, and would address something else. */
    bool dots = id != NULL && (strcmp(id, ".") == 0 || strcmp(id, "..") == 0);
    if (fits && !dots) (void)snprintf(out, RESEARCH_PATH_MAX, "%s", tn_text_chars(&path));
    tn_text_free(&path);
    if (fits && !dots) return true;
    research_fail(job, "INVALID_REQUEST", "`id` is \"%.80s\"; expected an id that `create` has returned",
                  id != NULL ? id : "");
    return false;
}

/* ---- What the service reports ---- */

void research_set_id(struct research_job *job, tn_value id) {
    if (job->id == NULL && research_is_text(id)) research_replace(&job->id, id);
}

void research_set_event_id(struct research_job *job, tn_value id) {
    if (research_is_text(id) || tn.value->kind(id) == TN_INT) research_replace(&job->event_id, id);
}

void research_set_continuation(struct research_job *job, tn_value token) {
    if (research_is_text(token)) research_replace(&job->continuation, token);
}

void research_set_status(struct research_job *job, tn_value word, enum research_state state) {
    research_replace(&job->status, word);
    job->state = state;
    job->has_status = true;
}

void research_set_finished(struct research_job *job) { job->finished = true; }

void research_set_error(struct research_job *job, tn_value error) {
    if (tn.value->kind(error) > TN_NULL) research_replace(&job->error, error);
}

void research_count_step(struct research_job *job, const char *kind) {
    if (*kind == '\0') return;
    if (job->steps == NULL) job->steps = tn_build("{}");
    int64_t count = tn_get_int(job->steps, kind, 0);
    if (count == 0 && tn.value->count(job->steps) >= RESEARCH_STEP_KINDS_MAX) return;
    job->steps = tn_set_take(job->steps, kind, tn_int(count + 1));
}

void research_reread(struct research_job *job) {
    tn_answer_clear(&job->answer);
    job->answer.is_silent = true;
    research_replace(&job->pending, NULL);
    research_replace(&job->steps, NULL);
    research_replace(&job->sources, NULL);
    research_replace(&job->seen_sources, NULL);
}

/* Adds the source to the list of different sources. */
static void research_note_source(struct research_job *job, tn_value source) {
    const char *key = tn_get_text(source, "url", NULL);
    if (key == NULL) key = tn_get_text(source, "title", "");
    if (*key == '\0' || tn.value->count(job->sources) >= RESEARCH_SOURCES_MAX) return;
    if (job->seen_sources == NULL) job->seen_sources = tn_build("{}");
    if (tn_get(job->seen_sources, key) != NULL) return;
    job->seen_sources = tn_set_take(job->seen_sources, key, tn_bool(1));
    (void)tn_append_take(&job->sources, tn_build("{s:s,s:v*,s:v*}", "type", "source", "url", tn_get(source, "url"),
                                                 "title", tn_get(source, "title")));
}

void research_add_source(struct research_job *job, tn_value url, tn_value title, tn_value citation) {
    if (!research_is_text(url)) url = NULL;
    if (!research_is_text(title)) title = NULL;
    if (url == NULL && title == NULL) return;
    tn_value source = tn_build("{s:s,s:v*,s:v*,s:{s:v}}", "type", "source", "url", url, "title", title, "extra",
                               job->service->provider, citation);
    research_note_source(job, source);
    (void)tn_append_take(&job->pending, source);
}

void research_end_part(struct research_job *job) {
    tn_value pending = job->pending;
    job->pending = NULL;
    tn_answer_end_part(&job->answer);
    for (uint64_t i = 0, count = tn.value->count(pending); i < count; i++)
        tn_answer_add_part(&job->answer, tn.value->at(pending, i));
    tn_release(pending);
}

/* ---- The result ---- */

static const char *const state_names[] = {
    [RESEARCH_RUNNING] = "running",
    [RESEARCH_COMPLETED] = "completed",
    [RESEARCH_REQUIRES_ACTION] = "requires_action",
    [RESEARCH_REQUIRES_CONTINUATION] = "requires_continuation",
    [RESEARCH_INCOMPLETE] = "incomplete",
    [RESEARCH_BUDGET_EXCEEDED] = "budget_exceeded",
    [RESEARCH_CANCELLED] = "cancelled",
    [RESEARCH_FAILED] = "failed",
};

/* Puts `spent`: the usage, and the name of the model for its price. */
static void result_put_spent(const struct research_job *job, tn_builder *out, tn_value message, tn_value usage) {
    const char *model = tn_get_text(message, "model", NULL);
    char name[RESEARCH_MODEL_MAX];
    if (research_flag(job, "counted", false)) return;
    (void)snprintf(name, sizeof name, "%s%s%s", job->service->provider, model != NULL ? ":" : "",
                   model != NULL ? model : "");
    tn_put_take(out, "spent", tn_set_take(tn_retain(usage), "model", tn_text(name)));
}

static void result_put_message(const struct research_job *job, tn_builder *out) {
    tn_value output = tn_answer_output(&job->answer), message = tn_get(output, "message");
    tn_put(out, "message", message);
    tn_put_take(out, "text", tn_content_text(tn_get(message, "content")));
    tn_put_take(out, "sources", job->sources != NULL ? tn_retain(job->sources) : tn_build("[]"));
    if (tn_message_calls(message) != NULL) tn_put(out, "calls", tn_message_calls(message));
    if (tn_get(output, "usage") != NULL) {
        tn_put(out, "usage", tn_get(output, "usage"));
        result_put_spent(job, out, message, tn_get(output, "usage"));
    }
    tn_release(output);
}

/* A running research has no message: the pieces so far were emitted, and every step of a graph would save them again.
 */
tn_value research_result(const struct research_job *job) {
    const struct {
        const char *name;
        tn_value value;
    } members[] = {{"event_id", job->event_id},
                   {"steps", job->steps},
                   {"continuation_token", job->continuation},
                   {"error", job->error}};
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_take(out, "id", job->id != NULL ? tn_retain(job->id) : tn_text(""));
    tn_put_text(out, "state", state_names[job->state]);
    tn_put_take(out, "status",
                research_is_text(job->status) ? tn_retain(job->status) : tn_text(state_names[job->state]));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (members[i].value != NULL) tn_put(out, members[i].name, members[i].value);
    if (job->stalled) tn_put_bool(out, "stalled", 1);
    if (job->state != RESEARCH_RUNNING) {
        result_put_message(job, out);
        if (job->resumed) tn_put_bool(out, "partial", 1);
    }
    tn.value->end(out);
    return tn_finish(out);
}
