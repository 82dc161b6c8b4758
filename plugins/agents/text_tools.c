/*
 * text_tools.c - builds the prompt that describes tools, and extracts tool calls from texts.
 *
 * Text with an explicit marker (a `tool` fence, a tag) is a call even if the tool is unknown, so that the model
 * receives an error for a misspelt name. JSON without a marker could be an answer, so it is a call only if it names an
 * offered tool. Each accepted form is a row of `forms`, a function that searches the text once.
 */
#include "text_tools.h"
#include "structured.h"
#include <tenon/util/time.h>

/* ---- The prompt ---- */

static void text_tools_append_time(struct tn_text_buffer *out, int64_t now) {
    static const char *const days[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
    char time[TN_TIME_TEXT];
    (void)tn_time_format_seconds(now, time);
    tn_text_append_format(out, "The current time is %s, a %s.\n", time, days[tn_time_split(now).weekday]);
}

tn_value text_tools_build_prompt(tn_value tools, int64_t now) {
    struct tn_text_buffer out = {0};
    text_tools_append_time(&out, now);
    if (tn.value->count(tools) == 0) {
        tn_text_append(&out, "There are no tools to call now: answer with what you have.\n");
        return tn_text_finish(&out);
    }
    tn_text_append(&out, "\nYou may call these tools:\n");
    for (uint64_t i = 0, count = tn.value->count(tools); i < count; i++) {
        tn_value tool = tn.value->at(tools, i);
        tn_text_append_format(&out, "\n## %s\n", tn_get_text(tool, "tool_name", ""));
        const char *description = tn_get_text(tool, "description", "");
        tn_text_append(&out, description);
        tn_text_append(&out,
                       *description != '\0' ? "\nArguments, as a JSON Schema: " : "Arguments, as a JSON Schema: ");
        tn_text_append_value(&out, tn_get(tool, "input_schema"));
        tn_text_append(&out, "\n");
    }
    tn_text_append(&out, "\nTo call a tool, end your answer with a block like this one, and write nothing after it:\n\n"
                         "```tool\n{\"name\": \"NAME\", \"arguments\": {}}\n```\n\n"
                         "Its result is the next message. When you need no tool, answer without such a block.\n");
    return tn_text_finish(&out);
}

/* ---- The calls in an answer ---- */

struct call {
    uint64_t begin_offset, end_offset; /* offsets in the text */
    tn_value name, arguments;
};

struct search {
    const char *text;
    uint64_t length;
    tn_value tools;
    struct call calls[TEXT_TOOLS_CALLS_MAX];
    uint32_t count;
};

static bool search_is_offered(const struct search *search, const char *name) {
    for (uint64_t i = 0, count = tn.value->count(search->tools); i < count; i++)
        if (strcmp(tn_get_text(tn.value->at(search->tools, i), "tool_name", ""), name) == 0) return true;
    return false;
}

/* Returns the first of the named members that exists. */
static tn_value search_first_member(tn_value object, const char *const *names) {
    for (; *names != NULL; names++) {
        tn_value value = tn_get(object, *names);
        if (value != NULL) return value;
    }
    return NULL;
}

/* Adds a call for this range, unless it overlaps with another call. `name` is borrowed, `arguments` (NULL: {}) is
 * taken. */
static void search_add_call(struct search *search, uint64_t begin_offset, uint64_t end_offset, tn_value name,
                            tn_value arguments) {
    bool taken = search->count == TEXT_TOOLS_CALLS_MAX;
    for (uint32_t i = 0; i < search->count; i++)
        taken |= begin_offset < search->calls[i].end_offset && search->calls[i].begin_offset < end_offset;
    if (taken) {
        tn_release(arguments);
        return;
    }
    if (arguments == NULL) arguments = tn_from_json("{}", 2);
    search->calls[search->count++] = (struct call){begin_offset, end_offset, tn_retain(name), arguments};
}

/* Adds the call in {name, arguments} or in an array with one such object. Returns false if it is not a call. If
 * `marked` is false, the JSON may be an answer, so only calls of offered tools are accepted. */
static bool search_add_json(struct search *search, tn_value json, uint64_t begin_offset, uint64_t end_offset,
                            bool marked) {
    static const char *const names[] = {"name", "tool", "tool_name", "function", NULL};
    static const char *const arguments[] = {"arguments", "parameters", "args", "input", NULL};
    if (tn.value->kind(json) == TN_ARRAY && tn.value->count(json) == 1) json = tn.value->at(json, 0);
    tn_value name = search_first_member(json, names), given = search_first_member(json, arguments), read = NULL;
    if (tn.value->kind(name) == TN_OBJECT) { /* {function: {name, arguments}} */
        given = search_first_member(name, arguments);
        name = tn_get(name, "name");
    }
    const char *text = tn_chars(name, NULL);
    if (text == NULL || *text == '\0' || (!marked && !search_is_offered(search, text))) return false;
    uint64_t length;
    const char *written = tn_chars(given, &length);
    if (written != NULL) read = tn_from_json(written, length);
    if (read != NULL) given = read;
    search_add_call(search, begin_offset, end_offset, name, tn_retain(given));
    tn_release(read);
    return true;
}

static void search_fences(struct search *search) {
    static const char *const words[] = {"tool", "tool_call", "tool_code", "工具"};
    struct fence fence;
    for (uint64_t at = 0; structured_next_fence(search->text, search->length, &at, &fence);) {
        bool marked = false;
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            marked |= fence.word_length == strlen(words[i]) && memcmp(fence.word, words[i], fence.word_length) == 0;
        tn_value json = structured_find(fence.body, fence.body_length);
        if (json != NULL) (void)search_add_json(search, json, fence.begin_offset, fence.end_offset, marked);
        tn_release(json);
    }
}

static const char *search_find_text(const char *text, const char *end, const char *what) {
    size_t length = strlen(what);
    for (; (size_t)(end - text) >= length; text++)
        if (memcmp(text, what, length) == 0) return text;
    return NULL;
}

/* <tool_call>{…}</tool_call>; the end tag may be missing. */
static void search_tags(struct search *search) {
    const char *end = search->text + search->length, *at = search->text;
    while ((at = search_find_text(at, end, "<tool_call>")) != NULL) {
        const char *body = at + strlen("<tool_call>"), *close = search_find_text(body, end, "</tool_call>");
        const char *stop = close != NULL ? close : end;
        tn_value json = structured_find(body, (uint64_t)(stop - body));
        const char *after = close != NULL ? close + strlen("</tool_call>") : end;
        if (json != NULL)
            (void)search_add_json(search, json, (uint64_t)(at - search->text), (uint64_t)(after - search->text), true);
        tn_release(json);
        at = after;
    }
}

/* <function=NAME>{…}</function> */
static void search_functions(struct search *search) {
    const char *end = search->text + search->length, *at = search->text;
    while ((at = search_find_text(at, end, "<function=")) != NULL) {
        const char *name = at + strlen("<function="), *name_end = search_find_text(name, end, ">");
        if (name_end == NULL) return;
        const char *close = search_find_text(name_end, end, "</function>"), *stop = close != NULL ? close : end;
        tn_value json = structured_find(name_end + 1, (uint64_t)(stop - name_end - 1));
        const char *after = close != NULL ? close + strlen("</function>") : end;
        tn_value called = tn_text_n(name, (uint64_t)(name_end - name));
        if (called != NULL && name_end > name)
            search_add_call(search, (uint64_t)(at - search->text), (uint64_t)(after - search->text), called, json);
        else
            tn_release(json);
        tn_release(called);
        at = after;
    }
}

/* Reads <a>1</a><b>two</b> as {a: 1, b: "two"}. A text that is a number or a boolean is converted unless the schema
 * expects a string. */
static tn_value search_read_xml_arguments(const char *body, const char *end, tn_value schema) {
    tn_value properties = tn_get(schema, "properties"), members = tn_from_json("{}", 2);
    for (uint64_t i = 0, count = tn.value->count(properties); members != NULL && i < count; i++) {
        tn_value key, property, value = NULL;
        char open[136], close[136];
        if (tn.value->entry(properties, i, &key, &property) != TN_OK) continue;
        const char *name = tn_chars(key, NULL);
        if (strlen(name) > 128) continue;
        (void)snprintf(open, sizeof(open), "<%s>", name);
        (void)snprintf(close, sizeof(close), "</%s>", name);
        const char *from = search_find_text(body, end, open),
                   *to = from != NULL ? search_find_text(from, end, close) : NULL;
        if (to == NULL) continue;
        from += strlen(open);
        bool text = strcmp(tn_get_text(property, "type", ""), "string") == 0;
        if (!text) value = tn_from_json(from, (uint64_t)(to - from));
        if (value == NULL) value = tn_text_n(from, (uint64_t)(to - from));
        members = tn_set_take(members, name, value);
    }
    return members;
}

/* <calc.add><a>1</a></calc.add>, only for offered tools. */
static void search_elements(struct search *search) {
    const char *end = search->text + search->length;
    for (uint64_t i = 0, count = tn.value->count(search->tools); i < count; i++) {
        tn_value tool = tn.value->at(search->tools, i), name = tn_get(tool, "tool_name");
        char open[264], close[264];
        const char *text = tn_chars(name, NULL), *at = search->text;
        if (text == NULL || strlen(text) > 256) continue;
        (void)snprintf(open, sizeof(open), "<%s>", text);
        (void)snprintf(close, sizeof(close), "</%s>", text);
        while ((at = search_find_text(at, end, open)) != NULL) {
            const char *body = at + strlen(open), *stop = search_find_text(body, end, close);
            if (stop == NULL) break;
            const char *first = body;
            while (first < stop && strchr(" \t\r\n", *first) != NULL) first++;
            bool json = first < stop && *first == '{';
            tn_value arguments = json ? structured_find(first, (uint64_t)(stop - first))
                                      : search_read_xml_arguments(body, stop, tn_get(tool, "input_schema"));
            const char *after = stop + strlen(close);
            search_add_call(search, (uint64_t)(at - search->text), (uint64_t)(after - search->text), name, arguments);
            at = after;
        }
    }
}

/* Finds JSON without a marker at the end of the text, if it names an offered tool. */
static void search_bare_json(struct search *search) {
    uint64_t length = search->length, taken = 0;
    while (length > 0 && strchr(" \t\r\n", search->text[length - 1]) != NULL) length--;
    for (uint64_t i = 0; i<length; i += taken> 0 ? taken : 1) {
        taken = 0;
        tn_value json = structured_parse_at(search->text + i, length - i, &taken);
        if (json != NULL && i + taken == length) (void)search_add_json(search, json, i, length, false);
        if (json == NULL && taken == 0 && (search->text[i] == '{' || search->text[i] == '[')) return;
        tn_release(json);
    }
}

static void (*const forms[])(struct search *search) = {search_fences, search_tags, search_functions, search_elements,
                                                       search_bare_json};

static void search_sort_calls(struct search *search) {
    for (uint32_t i = 1; i < search->count; i++)
        for (uint32_t k = i; k > 0 && search->calls[k].begin_offset < search->calls[k - 1].begin_offset; k--) {
            struct call call = search->calls[k];
            search->calls[k] = search->calls[k - 1];
            search->calls[k - 1] = call;
        }
}

/* Returns the text without the calls and without surrounding spaces. */
static tn_value search_remaining_text(const struct search *search) {
    struct tn_text_buffer left = {0};
    uint64_t at = 0;
    for (uint32_t i = 0; i < search->count; i++) {
        tn_text_append_n(&left, search->text + at, search->calls[i].begin_offset - at);
        at = search->calls[i].end_offset;
    }
    tn_text_append_n(&left, search->text + at, search->length - at);
    while (left.length > 0 && strchr(" \t\r\n", left.bytes[left.length - 1]) != NULL) left.length--;
    uint64_t lead = 0;
    while (lead < left.length && strchr(" \t\r\n", left.bytes[lead]) != NULL) lead++;
    tn_value value = NULL;
    if (left.status == TN_OK)
        value = lead < left.length ? tn_text_n(left.bytes + lead, left.length - lead) : tn_text("");
    tn_text_free(&left);
    return value;
}

static tn_value search_calls_value(const struct search *search, const char *id) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (uint32_t i = 0; i < search->count; i++) {
        char call_id[96];
        (void)snprintf(call_id, sizeof(call_id), "%.80s_%u", id, (unsigned)i + 1);
        tn_put_begin(builder, NULL, TN_OBJECT);
        tn_put_text(builder, "id", call_id);
        tn_put(builder, "name", search->calls[i].name);
        tn_put(builder, "arguments", search->calls[i].arguments);
        tn.value->end(builder);
    }
    tn.value->end(builder);
    return tn_finish(builder);
}

tn_value text_tools_extract_take(tn_value message, tn_value tools, const char *id) {
    if (message == NULL || tn_message_calls(message) != NULL) return message; /* the model used native calls */
    tn_value content = tn_content_text(tn_get(message, "content"));
    struct search search = {.tools = tools};
    search.text = tn_chars(content, &search.length);
    for (size_t i = 0; search.text != NULL && i < sizeof(forms) / sizeof(forms[0]); i++)
        if (search.count == 0 || forms[i] != search_bare_json) forms[i](&search);
    if (search.count > 0) {
        search_sort_calls(&search);
        message = tn_set_take(message, "content", search_remaining_text(&search));
        if (message != NULL) message = tn_set_take(message, "tool_calls", search_calls_value(&search, id));
    }
    for (uint32_t i = 0; i < search.count; i++) {
        tn_release(search.calls[i].name);
        tn_release(search.calls[i].arguments);
    }
    tn_release(content);
    return message;
}

/* ---- Converting calls and results to texts ---- */

static void text_tools_append_calls(struct tn_text_buffer *out, tn_value calls) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i), arguments = tn_call_arguments(call);
        tn_value name = tn_to_json(tn_get(call, "name"));
        tn_text_append(out, out->length > 0 ? "\n\n```tool\n{\"name\": " : "```tool\n{\"name\": ");
        tn_text_append_value(out, name);
        tn_text_append(out, ", \"arguments\": ");
        tn_text_append_value(out, arguments != NULL ? arguments : tn_get(call, "arguments"));
        tn_text_append(out, "}\n```");
        tn_release(name);
        tn_release(arguments);
    }
}

static tn_value text_tools_message_to_text(tn_value message) {
    struct tn_text_buffer out = {0};
    tn_value content = tn_content_text(tn_get(message, "content"));
    bool tool = tn_message_is(message, "tool");
    if (tool) {
        bool failed = strcmp(tn_get_text(message, "status", "ok"), "error") == 0;
        const char *name = tn_get_text(message, "name", "");
        tn_text_append_format(&out, *name != '\0' ? "The tool %.256s %s:\n" : "A tool%s %s:\n", name,
                              failed ? "failed" : "gave");
    }
    tn_text_append_value(&out, content);
    tn_release(content);
    if (!tool) text_tools_append_calls(&out, tn_message_calls(message));
    tn_value text = tn_text_finish(&out), converted = text != NULL ? tn_message(tool ? "user" : "ai", text) : NULL;
    tn_release(text);
    return converted;
}

tn_value text_tools_to_plain_messages(tn_value messages) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++) {
        tn_value message = tn.value->at(messages, i);
        bool calls = tn_message_is(message, "ai") && tn_message_calls(message) != NULL;
        if (calls || tn_message_is(message, "tool"))
            tn_put_take(builder, NULL, text_tools_message_to_text(message));
        else
            tn_put(builder, NULL, message);
    }
    tn.value->end(builder);
    return tn_finish(builder);
}
