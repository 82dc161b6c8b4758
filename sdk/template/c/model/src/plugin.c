/*
 * plugin.c - the plugin @ID@: a model that repeats what the user says.
 *
 * The shapes of input, deltas and output are in <tenon/message.h>. This model is blocking: it runs on a worker thread,
 * and emit waits. A model that calls a service over <tenon/http.h> is async: it works on the loop, and must not wait.
 */
#include <tenon/message.h>

TN_PLUGIN("@ID@", "0.1.0", "What the plugin is for, in one line")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")

/* The text of the last message of the user: a new reference to a string. */
static tn_value last_question(tn_value input) {
    tn_value messages = tn_get(input, "messages"), found = NULL;
    if (tn.value->kind(messages) == TN_STRING) return tn_retain(messages);
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++) {
        tn_value message = tn_message_normal(tn.value->at(messages, i));
        if (tn_message_is(message, "user")) {
            tn_release(found);
            found = tn_content_text(tn_get(message, "content"));
        }
        tn_release(message);
    }
    return found != NULL ? found : tn_text("");
}

/* Emits {content: text}. */
static int32_t emit_text(tn_task task, tn_value text) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put(builder, "content", text);
    tn.value->end(builder);
    tn_value delta = tn_finish(builder);
    int32_t status = tn.task->emit(task, delta);
    tn_release(delta);
    return status;
}

/* Emits the text word by word; a word includes the blank after it. Returns how many there were, or a status. */
static int64_t emit_words(tn_task task, tn_value text) {
    uint64_t length = 0, start = 0;
    int64_t count = 0;
    const char *at = tn_chars(text, &length);
    for (uint64_t end = 1; end <= length; end++) {
        if (end < length && at[end - 1] != ' ') continue;
        tn_value word = tn_text_n(at + start, end - start);
        int32_t status = word != NULL ? emit_text(task, word) : TN_NO_MEMORY;
        tn_release(word);
        if (status != TN_OK) return status;
        start = end;
        count++;
    }
    return count;
}

/* {message, usage, finish_reason}: a token is a word here. */
static tn_value result(tn_value answer, int64_t input_tokens, int64_t output_tokens) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, "message", tn_message("ai", answer));
    tn_put_begin(builder, "usage", TN_OBJECT);
    tn_put_int(builder, "input_tokens", input_tokens);
    tn_put_int(builder, "output_tokens", output_tokens);
    tn_put_int(builder, "total_tokens", input_tokens + output_tokens);
    tn.value->end(builder);
    tn_put_text(builder, "finish_reason", "stop");
    tn.value->end(builder);
    return tn_finish(builder);
}

static int32_t model_create(tn_value config, tn_binder *binder, void **self) {
    (void)config, (void)binder; /* config.model is the name; options such as `temperature` are beside it */
    *self = NULL;
    return TN_OK;
}

static int32_t model_start(void *self, tn_task task, tn_value input) {
    (void)self;
    if (tn_get(input, "embed") != NULL) return tn_fail(task, "UNSUPPORTED", "this model makes no embeddings");
    tn_value question = last_question(input), answer = tn_text("You said: ");
    int32_t status = answer != NULL ? tn.value->concat(&answer, question) : TN_NO_MEMORY;
    int64_t words = status == TN_OK ? emit_words(task, answer) : status;
    tn_value output = words >= 0 ? result(answer, words - 2, words) : NULL;
    tn_release(question);
    tn_release(answer);
    return words >= 0 ? tn_done_take(task, output) : (int32_t)words;
}

TN_COMPONENT(echo, "@ID@", model_create, model_start, NULL, NULL, NULL)
