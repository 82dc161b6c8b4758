/*
 * words.cpp - a plugin in C++11 that uses tenon.h, classes, destructors and exceptions.
 *
 * Components are classes, values are released by destructors, errors are thrown. No exception may reach the host,
 * because its frames cannot unwind: every entry point runs inside barrier(), which converts an exception to a failed
 * task or a refused configuration. To demonstrate this, the word `panic!` in the input triggers a deliberate error.
 */
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <tenon.h>
#include <tenon/note.h>
#include <vector>

TN_NOTE(R"({
  "plugin": {"id": "sample.cpp", "version": "1.0.0", "title": "Words, counted by C++", "licence": "MIT",
             "requires": ["tenon.core/1", "tenon.task/1", "tenon.value/1"]},
  "components": [
    {
      "kind": "node", "id": "cpp.count", "title": "Counts words", "style": "blocking", "effects": [],
      "documentation": "Counts the words of a text, and emits each that is new to it.",
      "config": {
        "type": "object",
        "properties": {
          "input_key": {"type": "string", "description": "The text's channel.", "x-tenon": "channel-read"},
          "output_key": {"type": "string", "description": "Where {words, distinct} goes.", "x-tenon": "channel-write"}
        },
        "required": ["input_key", "output_key"], "additionalProperties": false
      }
    },
    {
      "kind": "tool", "id": "cpp.title", "title": "Writes a text in title case", "style": "async", "effects": [],
      "documentation": "Every word begins with a capital; a letter is one of ASCII's.",
      "input": {
        "type": "object", "properties": {"text": {"type": "string", "description": "The text."}},
        "required": ["text"], "additionalProperties": false
      },
      "output": {"type": "string"}
    }
  ]
})")

namespace {

const tn_host *tenon;
const tn_value_1 *values;
const tn_task_1 *tasks;
const tn_core_1 *core;

/* A call of the host failed: the entry point returns its status. */
struct Refused : std::exception {
    explicit Refused(int32_t status_) : status(status_) {}
    int32_t status;
};

void must(int32_t status) {
    if (status != TN_OK) throw Refused(status);
}

/* One reference to a value. */
class Value {
  public:
    explicit Value(tn_value owned) : value(owned) {}
    explicit Value(const std::string &text) { must(values->make_text(tenon, text.data(), text.size(), &value)); }
    explicit Value(std::size_t number) : value(values->make_int(tenon, static_cast<int64_t>(number))) {
        if (value == nullptr) throw std::bad_alloc();
    }
    ~Value() { values->release(value); }
    Value(const Value &) = delete;
    Value &operator=(const Value &) = delete;
    operator tn_value() const { return value; }

  private:
    tn_value value = nullptr;
};

/* An object, member by member: `Object().put("words", 3).finish()`. */
class Object {
  public:
    Object() : builder(values->builder(tenon)) {
        if (builder == nullptr) throw std::bad_alloc();
        values->begin(builder, TN_OBJECT);
    }
    ~Object() {
        if (builder != nullptr) (void)values->finish(builder, nullptr, nullptr);
    }
    Object(const Object &) = delete;
    Object &operator=(const Object &) = delete;
    template <typename T> Object &put(const char *key, const T &content) {
        const Value value(content);
        values->key(builder, key, TN_Z);
        values->add(builder, value);
        return *this;
    }
    tn_value finish() {
        tn_builder *finished = builder;
        tn_value made = nullptr;
        values->end(finished);
        builder = nullptr;
        must(values->finish(finished, &made, nullptr));
        return made;
    }

  private:
    tn_builder *builder;
};

/* An expected failure of a task. */
struct Failure : std::runtime_error {
    Failure(const char *code_, const std::string &message) : std::runtime_error(message), code(code_) {}
    const char *code;
};

/* An error object for the host. It does not throw, because it is made outside of the body of an entry point. */
class ErrorValue {
  public:
    ErrorValue(const char *code, const char *message) {
        tn_builder *builder = values->builder(tenon);
        values->begin(builder, TN_OBJECT);
        values->key(builder, "code", TN_Z);
        values->add_text(builder, code, TN_Z);
        values->key(builder, "message", TN_Z);
        values->add_text(builder, message, TN_Z);
        values->end(builder);
        (void)values->finish(builder, &value, nullptr);
    }
    ~ErrorValue() { values->release(value); }
    ErrorValue(const ErrorValue &) = delete;
    ErrorValue &operator=(const ErrorValue &) = delete;
    operator tn_value() const { return value; }

  private:
    tn_value value = nullptr;
};

/* Runs the body of an entry point. Passes an exception to `fail` as a code and a message. */
template <typename Body, typename Fail> int32_t barrier(Body body, Fail fail) noexcept {
    try {
        body();
        return TN_OK;
    } catch (const Refused &refused) {
        return refused.status;
    } catch (const Failure &failure) {
        return fail(failure.code, failure.what());
    } catch (const std::exception &exception) {
        return fail("EXCEPTION", exception.what());
    } catch (...) {
        return fail("EXCEPTION", "caught an exception that is not a std::exception");
    }
}

tn_value member(tn_value object, const char *key) { return values->get(object, key, TN_Z); }

std::string text_of(tn_value value, const char *what) {
    uint64_t length;
    const char *text = values->as_text(value, &length);
    if (text == nullptr) throw Failure("TYPE", std::string(what) + " must hold a string");
    return std::string(text, static_cast<std::size_t>(length));
}

/* Returns the words of a text, separated by blanks. */
std::vector<std::string> words_of(const std::string &text) {
    static const char blanks[] = " \t\r\n";
    std::vector<std::string> words;
    for (std::size_t start, end = 0; (start = text.find_first_not_of(blanks, end)) != std::string::npos;) {
        end = text.find_first_of(blanks, start);
        words.push_back(text.substr(start, end == std::string::npos ? end : end - start));
        if (words.back() == "panic!") words.at(words.size()); /* the deliberate error: throws std::out_of_range */
        if (end == std::string::npos) break;
    }
    return words;
}

bool is_between(char c, char first, char last) { return c >= first && c <= last; }

struct Component {
    virtual ~Component() {}
    virtual void run(tn_task task, tn_value input) = 0;
};

/* A blocking component: emit waits until the host accepts the chunk. */
class Count : public Component {
  public:
    Count(tn_value config, tn_binder *binder) {
        const std::string input_key = text_of(member(config, "input_key"), "`input_key`");
        const std::string output_key = text_of(member(config, "output_key"), "`output_key`");
        must(tasks->bind_read(binder, input_key.data(), input_key.size(), &in));
        must(tasks->bind_write(binder, output_key.data(), output_key.size(), &out));
    }
    void run(tn_task task, tn_value) override {
        tn_value text = nullptr;
        must(tasks->read(task, in, &text));
        const std::vector<std::string> words = words_of(text_of(Value(text), "the channel to read"));
        std::set<std::string> seen;
        for (const std::string &word : words)
            if (seen.insert(word).second) must(tasks->emit(task, Value(Object().put("word", word).finish())));
        const Value counted(Object().put("words", words.size()).put("distinct", seen.size()).finish());
        must(tasks->write(task, out, counted));
        must(tasks->complete(task, nullptr));
    }

  private:
    uint32_t in, out;
};

class Title : public Component {
  public:
    void run(tn_task task, tn_value input) override {
        std::string text = text_of(member(input, "text"), "`text`");
        if (words_of(text).empty()) throw Failure("INVALID_INPUT", "`text` is blank; give it a word at least");
        bool inside = false; /* inside a word */
        for (char &c : text) {
            const bool upper = is_between(c, 'A', 'Z'), lower = is_between(c, 'a', 'z');
            if (inside ? upper : lower) c = static_cast<char>(c ^ 0x20);
            inside = std::strchr(" \t\r\n", c) == nullptr;
        }
        must(tasks->complete(task, Value(text)));
    }
};

} // namespace

/* ---- The entry points ---- */

static int32_t TN_ABI create(void *, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    const auto refuse = [](const char *code, const char *message) {
        return core->refuse(tenon, ErrorValue(code, message));
    };
    return barrier(
        [=] {
            const std::string name(id, static_cast<std::size_t>(length));
            std::unique_ptr<Component> made;
            if (name == "cpp.count") made.reset(new Count(config, binder));
            if (name == "cpp.title") made.reset(new Title());
            if (!made) throw Refused(TN_NOT_FOUND);
            *instance = made.release();
        },
        refuse);
}

static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    const auto fail = [=](const char *code, const char *message) {
        return tasks->fail(task, ErrorValue(code, message));
    };
    return barrier([=] { static_cast<Component *>(instance)->run(task, input); }, fail);
}

static void TN_ABI destroy(void *instance) {
    const auto ignore = [](const char *, const char *) -> int32_t { return TN_OK; };
    barrier([=] { delete static_cast<Component *>(instance); }, ignore);
}

static const void *TN_ABI get_interface(void *, const char *id) {
    static const tn_component_1 components = {sizeof components, create, start, nullptr, nullptr, destroy};
    return std::strcmp(id, TN_COMPONENT_1) == 0 ? &components : nullptr;
}

extern "C" TN_EXPORT const tn_plugin *TN_ABI tn_plugin_entry_1(const tn_host *host) {
    static const tn_plugin plugin = {sizeof plugin, nullptr, get_interface};
    tenon = host;
    values = static_cast<const tn_value_1 *>(host->get(host->self, TN_VALUE_1));
    tasks = static_cast<const tn_task_1 *>(host->get(host->self, TN_TASK_1));
    core = static_cast<const tn_core_1 *>(host->get(host->self, TN_CORE_1));
    return values != nullptr && tasks != nullptr && core != nullptr ? &plugin : nullptr;
}
