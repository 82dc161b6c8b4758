/*
 * research.c - the tools `scripted.create|get|stream|cancel`: preset work in the background, without a network.
 *
 * They have the arguments and results of `interactions.…`, so that the node `deep_research` runs offline. The agent
 * says what happens: `completed` at once, `with_polling` after `steps` requests, `failing`. The id contains all of it,
 * so that the work outlives the process, as at a service. Only the number of requests so far is kept here.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <tenon/base64.h>
#include <tenon/message.h>
#include <tenon/util/answer.h>

#define WORK_PREFIX   "scripted-"
#define WORK_STEPS    3      /* of `with_polling` without `steps` */
#define WORK_ID_MAX   100000 /* bytes of an id */
#define WORKS_COUNTED 256    /* works whose requests are counted at a time */
#define WORK_PIECE    16     /* bytes of a piece of text in a stream */

/* Requests so far, by the hash of the id. The oldest is replaced. */
static struct {
    uint64_t hash;
    int64_t requests;
    bool cancelled;
} works[WORKS_COUNTED];
static uint64_t works_next;

static uint64_t work_hash(const char *id) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (; *id != '\0'; id++) hash = (hash ^ (unsigned char)*id) * 1099511628211u;
    return hash;
}

static uint64_t work_index(const char *id) {
    uint64_t hash = work_hash(id);
    for (uint64_t i = 0; i < WORKS_COUNTED; i++)
        if (works[i].hash == hash) return i;
    uint64_t index = works_next++ % WORKS_COUNTED;
    works[index].hash = hash;
    works[index].requests = 0;
    works[index].cancelled = false;
    return index;
}

/* ---- Ids ---- */

static tn_value work_make_id(tn_value work) {
    tn_value json = tn_to_json(work), id = NULL;
    uint64_t length = 0;
    const char *text = tn_chars(json, &length);
    char *out = text != NULL && length < WORK_ID_MAX / 2
                    ? tn.core->alloc(tn.host, sizeof WORK_PREFIX + (length + 2) / 3 * 4 + 1)
                    : NULL;
    if (out != NULL) {
        memcpy(out, WORK_PREFIX, sizeof WORK_PREFIX - 1);
        char *end = tn_base64url_put(out + sizeof WORK_PREFIX - 1, text, length);
        id = tn_text_n(out, (uint64_t)(end - out));
        tn.core->release(tn.host, out);
    }
    tn_release(json);
    return id;
}

/* The work of an id; a new reference, or NULL. */
static tn_value work_of_id(tn_value id) {
    uint64_t length = 0;
    const char *text = tn_chars(id, &length);
    size_t skip = sizeof WORK_PREFIX - 1;
    if (text == NULL || length > WORK_ID_MAX || strncmp(text, WORK_PREFIX, skip) != 0) return NULL;
    char *out = tn.core->alloc(tn.host, length);
    if (out == NULL) return NULL;
    uint64_t size = tn_base64_take(text + skip, length - skip, out, length);
    tn_value work = size <= length ? tn_from_json(out, size) : NULL;
    tn.core->release(tn.host, out);
    if (tn.value->kind(work) == TN_OBJECT) return work;
    tn_release(work);
    return NULL;
}

/* ---- Create ---- */

/* "with_polling(5)" has its number of steps in its name. */
static int64_t agent_steps(const char *agent, tn_value config) {
    const char *bracket = strchr(agent, '(');
    int64_t steps = bracket != NULL ? strtoll(bracket + 1, NULL, 10) : tn_get_int(config, "steps", WORK_STEPS);
    if (strncmp(agent, "with_polling", 12) != 0) steps = 0;
    return steps < 0 ? 0 : steps < 1000000 ? steps : 1000000;
}

/* The question as a text. A new reference. */
static tn_value work_question(tn_value input) {
    tn_value first = tn.value->kind(input) == TN_ARRAY ? tn_get(tn.value->at(input, 0), "text") : input;
    return tn.value->kind(first) == TN_STRING ? tn_retain(first) : tn_text("");
}

static tn_value work_default_text(tn_value question) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(4096);
    uint64_t length = 0;
    const char *words = tn_chars(question, &length);
    (void)tn_text_append(&text, "Report: ");
    (void)tn_text_append_cut(&text, words, length);
    return tn_text_finish_cut(&text);
}

static tn_value work_new(tn_task task, tn_value input) {
    tn_value config = tn_get(input, "agent_config"), question = work_question(tn_get(input, "input"));
    const char *agent = tn_get_text(input, "agent", "completed");
    int32_t planning = 0;
    (void)tn.value->as_bool(tn_get(config, "collaborative_planning"), &planning);
    tn_value plan = tn_get(config, "plan"), text = tn_get(config, "text"), error = tn_get(config, "error");
    bool fails = strcmp(agent, "failing") == 0 || error != NULL;
    tn_value shown = planning != 0 && plan != NULL ? tn_retain(plan)
                     : text != NULL                ? tn_retain(text)
                                                   : work_default_text(question);
    tn_value context = tn_context(task);
    tn_value message = error != NULL ? tn_retain(error) : tn_text("the script says so");
    tn_value work =
        tn_build("{s:s,s:I,s:V,s:v*,s:v*,s:v*,s:v*,s:v*}", "agent", agent, "steps", agent_steps(agent, config), "text",
                 shown, "sources", tn_get(config, "sources"), "status", tn_get(config, "status"), "error",
                 fails ? message : NULL, "usage", tn_get(config, "usage"), "task", tn_get(context, "task_id"));
    tn_release(message);
    tn_release(context);
    tn_release(question);
    return work;
}

/* ---- Results ---- */

static const char *work_state(tn_value work, const char *id, bool counts) {
    uint64_t index = work_index(id);
    if (works[index].cancelled) return "cancelled";
    if (counts) works[index].requests++;
    if (works[index].requests <= tn_get_int(work, "steps", 0)) return "running";
    if (tn_get(work, "error") != NULL) return "failed";
    return tn_get_text(work, "status", "completed");
}

static void work_add_answer(struct tn_answer *answer, tn_value work, bool reports_steps) {
    uint64_t length = 0;
    const char *text = tn_get_text(work, "text", "");
    tn_value sources = tn_get(work, "sources");
    char thought[64];
    for (int64_t i = 0, steps = tn_get_int(work, "steps", 0); reports_steps && i < steps && i < 100; i++) {
        (void)snprintf(thought, sizeof thought, "Step %lld of %lld\n", (long long)i + 1, (long long)steps);
        tn_value value = tn_text(thought);
        tn_answer_add_reasoning(answer, value);
        tn_release(value);
    }
    (void)tn_chars(tn_get(work, "text"), &length);
    while (length > 0) {
        uint64_t size = tn_utf8_cut(text, length, WORK_PIECE);
        tn_value piece = tn_text_n(text, size);
        tn_answer_add_text(answer, piece);
        tn_release(piece);
        text += size;
        length -= size;
    }
    for (uint64_t i = 0, count = tn.value->kind(sources) == TN_ARRAY ? tn.value->count(sources) : 0; i < count; i++) {
        tn_value source = tn.value->at(sources, i);
        tn_value part = tn_build("{s:s,s:v*,s:v*}", "type", "source", "url", tn_get(source, "url"), "title",
                                 tn_get(source, "title"));
        tn_answer_add_part(answer, part);
        tn_release(part);
    }
    tn_answer_finish(answer, "stop");
}

static tn_value work_sources(tn_value message) {
    tn_value list = tn_build("[]"), content = tn_get(message, "content");
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++)
        if (strcmp(tn_get_text(tn.value->at(content, i), "type", ""), "source") == 0)
            (void)tn_append_take(&list, tn_retain(tn.value->at(content, i)));
    return list;
}

static tn_value work_result(tn_value id, const char *state, tn_value work, const struct tn_answer *answer,
                            tn_value input) {
    if (strcmp(state, "running") == 0 || answer == NULL)
        return tn_build("{s:v,s:s,s:s}", "id", id, "state", state, "status", state);
    tn_value output = tn_answer_output(answer), message = tn_get(output, "message");
    tn_value reason = tn_get(work, "error");
    tn_value error = reason != NULL ? tn_build("{s:s,s:v}", "code", "scripted", "message", reason) : NULL;
    tn_value usage = tn_get(work, "usage"), spent = NULL;
    int32_t counted = 0; /* another call reports what the work has used */
    (void)tn.value->as_bool(tn_get(input, "counted"), &counted);
    if (counted == 0 && tn.value->kind(usage) == TN_OBJECT)
        spent = tn_set_take(tn_retain(usage), "model", tn_text("scripted"));
    tn_value result = tn_build("{s:v,s:s,s:s,s:v,s:V,s:V,s:V*,s:v*,s:V*}", "id", id, "state", state, "status", state,
                               "message", message, "text", tn_content_text(tn_get(message, "content")), "sources",
                               work_sources(message), "error", error, "usage", usage, "spent", spent);
    tn_release(output);
    return result;
}

static int32_t work_fail_unknown(tn_task task, tn_value id) {
    char message[200];
    (void)snprintf(message, sizeof message, "`id` is \"%.60s\"; expected an id that `scripted.create` has returned",
                   tn_chars(id, NULL));
    return tn_fail(task, "NOT_FOUND", message);
}

/* Completes the task with the state, and with the answer if the work has ended. */
static int32_t work_complete(tn_task task, tn_value id, tn_value work, tn_value input, bool counts) {
    const char *state = work_state(work, tn_chars(id, NULL), counts);
    struct tn_answer answer;
    tn_answer_init(&answer, task, NULL, "scripted");
    answer.is_silent = true;
    work_add_answer(&answer, work, false);
    tn_value result = work_result(id, state, work, &answer, input);
    tn_answer_free(&answer);
    return tn_done_take(task, result);
}

/* ---- The tools ---- */

static int32_t research_create(tn_value config, tn_binder *binder, void **self) {
    (void)config, (void)binder;
    *self = NULL;
    return TN_OK;
}

static int32_t create_start(void *self, tn_task task, tn_value input) {
    int32_t prepares = 0;
    (void)self;
    (void)tn.value->as_bool(tn_get(input, "prepare"), &prepares);
    if (prepares != 0) return tn_done_take(task, tn_build("{s:s}", "guard", "scripted"));
    tn_value work = work_new(task, input), id = work_make_id(work);
    int32_t status = id != NULL ? work_complete(task, id, work, input, false)
                                : tn_fail(task, "LIMIT", "`agent_config` is larger than 50,000 bytes; expected less");
    tn_release(id);
    tn_release(work);
    return status;
}

static int32_t get_start(void *self, tn_task task, tn_value input) {
    tn_value id = tn_get(input, "id"), work = work_of_id(id);
    (void)self;
    int32_t status = work != NULL ? work_complete(task, id, work, input, true) : work_fail_unknown(task, id);
    tn_release(work);
    return status;
}

static int32_t cancel_start(void *self, tn_task task, tn_value input) {
    tn_value id = tn_get(input, "id"), work = work_of_id(id);
    (void)self;
    if (work != NULL) works[work_index(tn_chars(id, NULL))].cancelled = true;
    int32_t status = work != NULL ? work_complete(task, id, work, input, false) : work_fail_unknown(task, id);
    tn_release(work);
    return status;
}

/* A stream that the host does not accept as fast as it comes. */
struct stream {
    struct stream *next;
    struct tn_answer answer;
    tn_value id, work, input;
    const char *state;
};

static struct stream *open_streams;

static void stream_end(struct stream *stream) {
    struct stream **at = &open_streams;
    while (*at != stream) at = &(*at)->next;
    *at = stream->next;
    if (tn_answer_is_complete(&stream->answer))
        (void)tn_done_take(stream->answer.task,
                           work_result(stream->id, stream->state, stream->work, &stream->answer, stream->input));
    else
        (void)tn_fail_take(stream->answer.task, tn_answer_error(&stream->answer));
    tn_answer_free(&stream->answer);
    tn_release(stream->id);
    tn_release(stream->input);
    tn_release(stream->work);
    tn.core->release(tn.host, stream);
}

static int32_t stream_start(void *self, tn_task task, tn_value input) {
    tn_value id = tn_get(input, "id"), work = work_of_id(id);
    int32_t marked = 0;
    (void)self;
    if (work == NULL) return work_fail_unknown(task, id);
    struct stream *stream = tn.core->alloc(tn.host, sizeof *stream);
    if (stream == NULL) {
        tn_release(work);
        return TN_NO_MEMORY;
    }
    memset(stream, 0, sizeof *stream);
    stream->next = open_streams;
    open_streams = stream;
    stream->id = tn_retain(id);
    stream->input = tn_retain(input);
    stream->work = work;
    works[work_index(tn_chars(id, NULL))].requests = tn_get_int(work, "steps", 0) + 1;
    stream->state = work_state(work, tn_chars(id, NULL), false);
    (void)tn.value->as_bool(tn_get(input, "messages"), &marked);
    tn_answer_init(&stream->answer, task, NULL, "scripted");
    stream->answer.is_marked = marked != 0;
    work_add_answer(&stream->answer, work, true);
    tn_answer_end(&stream->answer);
    if (!tn_answer_is_waiting(&stream->answer)) stream_end(stream);
    return TN_OK;
}

static struct stream *stream_lookup(tn_task task) {
    struct stream *stream = open_streams;
    while (stream != NULL && stream->answer.task != task) stream = stream->next;
    return stream;
}

static void stream_ready(void *self, tn_task task) {
    struct stream *stream = stream_lookup(task);
    (void)self;
    if (stream != NULL && (tn_answer_flush(&stream->answer) || stream->answer.status != TN_OK)) stream_end(stream);
}

static void stream_cancel(void *self, tn_task task) {
    struct stream *stream = stream_lookup(task);
    (void)self;
    if (stream == NULL) return;
    tn_answer_set_failed(&stream->answer, TN_CANCELLED, NULL);
    stream_end(stream);
}

TN_COMPONENT(research_create, "scripted.create", research_create, create_start, NULL, NULL, NULL)
TN_COMPONENT(research_get, "scripted.get", research_create, get_start, NULL, NULL, NULL)
TN_COMPONENT(research_stream, "scripted.stream", research_create, stream_start, stream_cancel, stream_ready, NULL)
TN_COMPONENT(research_cancel, "scripted.cancel", research_create, cancel_start, NULL, NULL, NULL)
