/*
 * plugin.cpp - the plugin @ID@: a model that repeats what the user says.
 *
 * The shapes of input, deltas and output are in <tenon/message.h>. This model is blocking: it runs on a worker thread,
 * and emit waits. A model that calls a service over <tenon/http.h> is async: it works on the loop, and must not wait.
 */
#include <exception>
#include <string>
#include <tenon/message.h>
#include <vector>

TN_PLUGIN("@ID@", "0.1.0", "What the plugin is for, in one line")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")

/* A reference to a value, released at the end of its scope. */
class Value {
  public:
    explicit Value(tn_value owned) : value(owned) {}
    ~Value() { tn_release(value); }
    Value(const Value &) = delete;
    Value &operator=(const Value &) = delete;
    operator tn_value() const { return value; }

  private:
    tn_value value;
};

static std::string text_of(tn_value content) {
    uint64_t length = 0;
    const Value text(tn_content_text(content));
    const char *bytes = tn_chars(text, &length);
    return bytes != nullptr ? std::string(bytes, static_cast<std::size_t>(length)) : std::string();
}

/* The text of the last message of the user. */
static std::string last_question(tn_value input) {
    tn_value messages = tn_get(input, "messages");
    std::string found;
    if (tn.value->kind(messages) == TN_STRING) return text_of(messages);
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++) {
        const Value message(tn_message_normal(tn.value->at(messages, i)));
        if (tn_message_is(message, "user")) found = text_of(tn_get(message, "content"));
    }
    return found;
}

/* The words of a text; each includes the blank after it. */
static std::vector<std::string> words_of(const std::string &text) {
    std::vector<std::string> words;
    for (std::size_t start = 0, end; start < text.size(); start = end) {
        end = text.find(' ', start);
        end = end == std::string::npos ? text.size() : end + 1;
        words.push_back(text.substr(start, end - start));
    }
    return words;
}

/* Emits {content: text}. */
static int32_t emit_text(tn_task task, const std::string &text) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, "content", tn_text_n(text.data(), text.size()));
    tn.value->end(builder);
    const Value delta(tn_finish(builder));
    return tn.task->emit(task, delta);
}

/* {message, usage, finish_reason}: a token is a word here. */
static tn_value result(const std::string &answer, int64_t input_tokens, int64_t output_tokens) {
    tn_builder *builder = tn_builder_new();
    const Value content(tn_text_n(answer.data(), answer.size()));
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, "message", tn_message("ai", content));
    tn_put_begin(builder, "usage", TN_OBJECT);
    tn_put_int(builder, "input_tokens", input_tokens);
    tn_put_int(builder, "output_tokens", output_tokens);
    tn_put_int(builder, "total_tokens", input_tokens + output_tokens);
    tn.value->end(builder);
    tn_put_text(builder, "finish_reason", "stop");
    tn.value->end(builder);
    return tn_finish(builder);
}

static int32_t model_create(tn_value, tn_binder *, void **self) {
    *self = nullptr; /* the configuration's `model` is the name; options such as `temperature` are beside it */
    return TN_OK;
}

static int32_t model_start(void *, tn_task task, tn_value input) {
    if (tn_get(input, "embed") != nullptr) return tn_fail(task, "UNSUPPORTED", "this model makes no embeddings");
    try { /* no exception may reach the host, because its frames cannot unwind */
        const std::string answer = "You said: " + last_question(input);
        const std::vector<std::string> words = words_of(answer);
        for (const std::string &word : words) {
            const int32_t status = emit_text(task, word);
            if (status != TN_OK) return status;
        }
        const auto count = static_cast<int64_t>(words.size());
        return tn_done_take(task, result(answer, count - 2, count));
    } catch (const std::exception &exception) {
        return tn_fail(task, "EXCEPTION", exception.what());
    }
}

TN_COMPONENT(echo, "@ID@", model_create, model_start, nullptr, nullptr, nullptr)
