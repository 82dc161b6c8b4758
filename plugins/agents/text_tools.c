/*
 * text_tools.c - the fourth seed's prompt generator and extraction of tool calls.
 *
 * Extraction is tolerant of form and strict about meaning: what has a marker of its own (a `tool` fence, a tag) is a
 * call whatever it names, so that a misspelt tool is told to the model; what could be an answer in JSON is one unless
 * it names a tool that was offered. Every way of writing is a row of `forms`, each given the text once.
 */
#include "text_tools.h"
#include "structured.h"

/* ---- The prompt ---- */

/* Days since 1970 as a date, by the proleptic Gregorian calendar. */
static void civil(int64_t days, int64_t *year, int *month, int *day) {
    int64_t shifted = days + 719468, era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t of_era = shifted - era * 146097;
    int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * years + years / 4 - years / 100), part = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * part + 2) / 5 + 1);
    *month = (int)(part < 10 ? part + 3 : part - 9);
    *year = years + era * 400 + (*month <= 2);
}

static void add_now(struct text *out, int64_t now) {
    int64_t seconds = now / 1000, days = seconds / 86400, rest = seconds % 86400, year;
    static const char *const names[] = {"Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"};
    int month, day;
    if (rest < 0) rest += 86400, days--;
    civil(days, &year, &month, &day);
    text_format(out, "The current time is %04lld-%02d-%02dT%02d:%02d:%02dZ, a %s.\n", (long long)year, month, day,
                (int)(rest / 3600), (int)(rest / 60 % 60), (int)(rest % 60), names[(days % 7 + 7) % 7]);
}

tn_value text_tools_prompt(tn_value tools, int64_t now) {
    struct text out = {0};
    add_now(&out, now);
    if (tn.value->count(tools) == 0) {
        text_add(&out, "There are no tools to call now: answer with what you have.\n");
        return text_take(&out);
    }
    text_add(&out, "\nYou may call these tools:\n");
    for (uint64_t i = 0, count = tn.value->count(tools); i < count; i++) {
        tn_value tool = tn.value->at(tools, i);
        text_format(&out, "\n## %s\n", tn_get_text(tool, "tool_name", ""));
        const char *description = tn_get_text(tool, "description", "");
        text_add(&out, description);
        text_add(&out, *description != '\0' ? "\nArguments, as a JSON Schema: " : "Arguments, as a JSON Schema: ");
        text_add_value(&out, tn.value->get(tool, "input_schema"));
        text_add(&out, "\n");
    }
    text_add(&out, "\nTo call a tool, end your answer with a block like this one, and write nothing after it:\n\n"
                   "```tool\n{\"name\": \"NAME\", \"arguments\": {}}\n```\n\n"
                   "Its result is the next message. When you need no tool, answer without such a block.\n");
    return text_take(&out);
}

/* ---- The calls in an answer ---- */

struct call {
    uint64_t begins, ends; /* in the text */
    tn_value name, arguments;
};

struct search {
    const char *text;
    uint64_t length;
    tn_value tools;
    struct call calls[TEXT_TOOLS_CALLS_MAX];
    uint32_t count;
};

static bool is_offered(const struct search *search, const char *name) {
    for (uint64_t i = 0, count = tn.value->count(search->tools); i < count; i++)
        if (strcmp(tn_get_text(tn.value->at(search->tools, i), "tool_name", ""), name) == 0) return true;
    return false;
}

/* The first of the members that is there. */
static tn_value member(tn_value object, const char *const *names) {
    for (; *names != NULL; names++) {
        tn_value value = tn.value->get(object, *names);
        if (value != NULL) return value;
    }
    return NULL;
}

/* A call from here to there, unless one is there already. `name` is borrowed, `arguments` (NULL: {}) taken. */
static void add_call(struct search *search, uint64_t begins, uint64_t ends, tn_value name, tn_value arguments) {
    bool taken = search->count == TEXT_TOOLS_CALLS_MAX;
    for (uint32_t i = 0; i < search->count; i++)
        taken |= begins < search->calls[i].ends && search->calls[i].begins < ends;
    if (taken) {
        tn_release(arguments);
        return;
    }
    if (arguments == NULL) (void)tn.value->from_json("{}", 2, &arguments);
    search->calls[search->count++] = (struct call){begins, ends, tn_retain(name), arguments};
}

/* {name, arguments} or an array of them, which may be an answer rather than a call unless it is `marked` as one. */
static bool take_json(struct search *search, tn_value json, uint64_t begins, uint64_t ends, bool marked) {
    static const char *const names[] = {"name", "tool", "tool_name", "function", NULL};
    static const char *const arguments[] = {"arguments", "parameters", "args", "input", NULL};
    if (tn.value->kind(json) == TN_ARRAY && tn.value->count(json) == 1) json = tn.value->at(json, 0);
    tn_value name = member(json, names), given = member(json, arguments), read = NULL;
    if (tn.value->kind(name) == TN_OBJECT) { /* {function: {name, arguments}} */
        given = member(name, arguments);
        name = tn.value->get(name, "name");
    }
    const char *text = tn_chars(name, NULL);
    if (text == NULL || *text == '\0' || (!marked && !is_offered(search, text))) return false;
    uint64_t length;
    const char *written = tn_chars(given, &length);
    if (written != NULL && tn.value->from_json(written, length, &read) == TN_OK) given = read;
    add_call(search, begins, ends, name, tn_retain(given));
    tn_release(read);
    return true;
}

static void find_fences(struct search *search) {
    static const char *const words[] = {"tool", "tool_call", "tool_code", "工具"};
    struct fence fence;
    for (uint64_t at = 0; structured_fence(search->text, search->length, &at, &fence);) {
        bool marked = false;
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            marked |= fence.word_length == strlen(words[i]) && memcmp(fence.word, words[i], fence.word_length) == 0;
        tn_value json = structured_find(fence.body, fence.body_length);
        if (json != NULL) (void)take_json(search, json, fence.begins, fence.ends, marked);
        tn_release(json);
    }
}

static const char *find(const char *text, const char *end, const char *what) {
    size_t length = strlen(what);
    for (; (size_t)(end - text) >= length; text++)
        if (memcmp(text, what, length) == 0) return text;
    return NULL;
}

/* <tool_call>{…}</tool_call>; the end may be missing. */
static void find_tags(struct search *search) {
    const char *end = search->text + search->length, *at = search->text;
    while ((at = find(at, end, "<tool_call>")) != NULL) {
        const char *body = at + strlen("<tool_call>"), *close = find(body, end, "</tool_call>");
        const char *stop = close != NULL ? close : end;
        tn_value json = structured_find(body, (uint64_t)(stop - body));
        const char *after = close != NULL ? close + strlen("</tool_call>") : end;
        if (json != NULL)
            (void)take_json(search, json, (uint64_t)(at - search->text), (uint64_t)(after - search->text), true);
        tn_release(json);
        at = after;
    }
}

/* <function=NAME>{…}</function> */
static void find_functions(struct search *search) {
    const char *end = search->text + search->length, *at = search->text;
    while ((at = find(at, end, "<function=")) != NULL) {
        const char *name = at + strlen("<function="), *name_end = find(name, end, ">");
        if (name_end == NULL) return;
        const char *close = find(name_end, end, "</function>"), *stop = close != NULL ? close : end;
        tn_value json = structured_find(name_end + 1, (uint64_t)(stop - name_end - 1));
        const char *after = close != NULL ? close + strlen("</function>") : end;
        tn_value called = tn_text_n(name, (uint64_t)(name_end - name));
        if (called != NULL && name_end > name)
            add_call(search, (uint64_t)(at - search->text), (uint64_t)(after - search->text), called, json);
        else
            tn_release(json);
        tn_release(called);
        at = after;
    }
}

/* <a>1</a><b>two</b> as {a: 1, b: "two"}: a number or truth where it is one and the schema wants no text. */
static tn_value read_members(const char *body, const char *end, tn_value schema) {
    tn_value properties = tn.value->get(schema, "properties"), members = NULL;
    (void)tn.value->from_json("{}", 2, &members);
    for (uint64_t i = 0, count = tn.value->count(properties); members != NULL && i < count; i++) {
        tn_value key, property, value = NULL;
        char open[136], close[136];
        if (tn.value->entry(properties, i, &key, &property) != TN_OK) continue;
        const char *name = tn_chars(key, NULL);
        if (strlen(name) > 128) continue;
        (void)snprintf(open, sizeof(open), "<%s>", name);
        (void)snprintf(close, sizeof(close), "</%s>", name);
        const char *from = find(body, end, open), *to = from != NULL ? find(from, end, close) : NULL;
        if (to == NULL) continue;
        from += strlen(open);
        bool text = strcmp(tn_get_text(property, "type", ""), "string") == 0;
        if (text || tn.value->from_json(from, (uint64_t)(to - from), &value) != TN_OK)
            value = tn_text_n(from, (uint64_t)(to - from));
        members = agents_set_take(members, name, value);
    }
    return members;
}

/* <calc.add><a>1</a></calc.add>, of tools that were offered. */
static void find_elements(struct search *search) {
    const char *end = search->text + search->length;
    for (uint64_t i = 0, count = tn.value->count(search->tools); i < count; i++) {
        tn_value tool = tn.value->at(search->tools, i), name = tn.value->get(tool, "tool_name");
        char open[264], close[264];
        const char *text = tn_chars(name, NULL), *at = search->text;
        if (text == NULL || strlen(text) > 256) continue;
        (void)snprintf(open, sizeof(open), "<%s>", text);
        (void)snprintf(close, sizeof(close), "</%s>", text);
        while ((at = find(at, end, open)) != NULL) {
            const char *body = at + strlen(open), *stop = find(body, end, close);
            if (stop == NULL) break;
            const char *first = body;
            while (first < stop && strchr(" \t\r\n", *first) != NULL) first++;
            bool json = first < stop && *first == '{';
            tn_value arguments = json ? structured_find(first, (uint64_t)(stop - first))
                                      : read_members(body, stop, tn.value->get(tool, "input_schema"));
            const char *after = stop + strlen(close);
            add_call(search, (uint64_t)(at - search->text), (uint64_t)(after - search->text), name, arguments);
            at = after;
        }
    }
}

/* Bare JSON that names a tool, at the end of the text. */
static void find_bare(struct search *search) {
    uint64_t length = search->length, taken = 0;
    while (length > 0 && strchr(" \t\r\n", search->text[length - 1]) != NULL) length--;
    for (uint64_t i = 0; i<length; i += taken> 0 ? taken : 1) {
        taken = 0;
        tn_value json = structured_at(search->text + i, length - i, &taken);
        if (json != NULL && i + taken == length) (void)take_json(search, json, i, length, false);
        if (json == NULL && taken == 0 && (search->text[i] == '{' || search->text[i] == '[')) return;
        tn_release(json);
    }
}

static void (*const forms[])(struct search *search) = {find_fences, find_tags, find_functions, find_elements,
                                                       find_bare};

static void sort_calls(struct search *search) {
    for (uint32_t i = 1; i < search->count; i++)
        for (uint32_t k = i; k > 0 && search->calls[k].begins < search->calls[k - 1].begins; k--) {
            struct call call = search->calls[k];
            search->calls[k] = search->calls[k - 1];
            search->calls[k - 1] = call;
        }
}

/* What is left of the text without the calls, and without spaces around it. */
static tn_value text_left(const struct search *search) {
    struct text left = {0};
    uint64_t at = 0;
    for (uint32_t i = 0; i < search->count; i++) {
        text_add_n(&left, search->text + at, search->calls[i].begins - at);
        at = search->calls[i].ends;
    }
    text_add_n(&left, search->text + at, search->length - at);
    while (left.length > 0 && strchr(" \t\r\n", left.bytes[left.length - 1]) != NULL) left.length--;
    uint64_t lead = 0;
    while (lead < left.length && strchr(" \t\r\n", left.bytes[lead]) != NULL) lead++;
    tn_value value = left.failed ? NULL : tn_text_n(left.bytes + lead, left.length - lead);
    text_finish(&left);
    return value;
}

static tn_value calls_value(const struct search *search, const char *id) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_ARRAY);
    for (uint32_t i = 0; i < search->count; i++) {
        char own[96];
        (void)snprintf(own, sizeof(own), "%.80s_%u", id, (unsigned)i + 1);
        tn_put_begin(builder, NULL, TN_OBJECT);
        tn_put_text(builder, "id", own);
        tn_put(builder, "name", search->calls[i].name);
        tn_put(builder, "arguments", search->calls[i].arguments);
        tn.value->end(builder);
    }
    tn.value->end(builder);
    return tn.value->finish(builder);
}

tn_value text_tools_extract_take(tn_value message, tn_value tools, const char *id) {
    if (message == NULL || tn_message_calls(message) != NULL) return message; /* it has some of its own after all */
    tn_value content = tn_content_text(tn.value->get(message, "content"));
    struct search search = {.tools = tools};
    search.text = tn_chars(content, &search.length);
    for (size_t i = 0; search.text != NULL && i < sizeof(forms) / sizeof(forms[0]); i++)
        if (search.count == 0 || forms[i] != find_bare) forms[i](&search);
    if (search.count > 0) {
        sort_calls(&search);
        message = agents_set_take(message, "content", text_left(&search));
        if (message != NULL) message = agents_set_take(message, "tool_calls", calls_value(&search, id));
    }
    for (uint32_t i = 0; i < search.count; i++) {
        tn_release(search.calls[i].name);
        tn_release(search.calls[i].arguments);
    }
    tn_release(content);
    return message;
}

/* ---- A conversation of texts ---- */

static void add_calls(struct text *out, tn_value calls) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i), arguments = tn_call_arguments(call);
        tn_value name = tn.value->to_json(tn.value->get(call, "name"));
        text_add(out, out->length > 0 ? "\n\n```tool\n{\"name\": " : "```tool\n{\"name\": ");
        text_add_value(out, name);
        text_add(out, ", \"arguments\": ");
        text_add_value(out, arguments != NULL ? arguments : tn.value->get(call, "arguments"));
        text_add(out, "}\n```");
        tn_release(name);
        tn_release(arguments);
    }
}

static tn_value plain(tn_value message) {
    struct text out = {0};
    tn_value content = tn_content_text(tn.value->get(message, "content"));
    bool tool = tn_message_is(message, "tool");
    if (tool) {
        bool failed = strcmp(tn_get_text(message, "status", "ok"), "error") == 0;
        text_format(&out, "The tool %.256s %s:\n", tn_get_text(message, "name", ""), failed ? "failed" : "gave");
    }
    text_add_value(&out, content);
    tn_release(content);
    if (!tool) add_calls(&out, tn_message_calls(message));
    tn_value text = text_take(&out), made = text != NULL ? tn_message(tool ? "user" : "ai", text) : NULL;
    tn_release(text);
    return made;
}

tn_value text_tools_plain(tn_value messages) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++) {
        tn_value message = tn.value->at(messages, i);
        bool calls = tn_message_is(message, "ai") && tn_message_calls(message) != NULL;
        if (calls || tn_message_is(message, "tool"))
            tn_put_take(builder, NULL, plain(message));
        else
            tn_put(builder, NULL, message);
    }
    tn.value->end(builder);
    return tn.value->finish(builder);
}
