/*
 * agents.c - the plugin `tenon.agents`: nodes that talk to models and let them use tools.
 *
 * One file for each node, NAME.c with its row of the component table and NAME.json with its part of the manifest. What
 * a model is sent and what is made of its answer is chat.c's, conversations are conversation.c's, tools written into
 * texts text_tools.c's. Providers, tools and graphs are reached through the host's interfaces alone.
 */
#include "agents.h"
#include <stdarg.h>

TN_PLUGIN("tenon.agents", "0.1.0",
          "Nodes that talk to models and let them use tools: llm, tools, agent, router and more")

const tn_tool_draft *agents_tool;
const tn_graph_draft_2 *agents_graph;

static int32_t agents_init(void *self, tn_value config) {
    (void)self, (void)config;
    agents_tool = tn_easy_interface(tn.host, TN_TOOL_DRAFT, sizeof(tn_tool_draft));
    agents_graph = tn_easy_interface(tn.host, TN_GRAPH_DRAFT_2, sizeof(tn_graph_draft_2));
    return TN_OK;
}

TN_LIFECYCLE(agents_init, NULL, NULL)

/* ---- Create ---- */

int32_t agents_needs(const void *interface, tn_binder *binder, const char *id) {
    char message[128];
    if (interface != NULL) return TN_OK;
    (void)snprintf(message, sizeof(message), "this node needs the interface %s, which this host does not offer", id);
    return tn.task->refuse(binder, "INTERFACE_MISSING", message);
}

int32_t agents_refuse(tn_binder *binder, const char *message) {
    return tn.task->refuse(binder, "INVALID_CONFIG", message);
}

int32_t agents_read(tn_value config, const char *key, tn_binder *binder, uint32_t *channel) {
    const char *name = tn_get_text(config, key, NULL);
    *channel = TN_UNBOUND;
    return name != NULL ? tn.task->bind_read(binder, name, channel) : TN_OK;
}

int32_t agents_write(tn_value config, const char *key, tn_binder *binder, uint32_t *channel) {
    const char *name = tn_get_text(config, key, NULL);
    *channel = TN_UNBOUND;
    return name != NULL ? tn.task->bind_write(binder, name, channel) : TN_OK;
}

int32_t agents_template(tn_value config, const char *key, tn_binder *binder, uint32_t *template_index) {
    const char *text = tn_get_text(config, key, NULL);
    *template_index = TN_UNBOUND;
    return text != NULL ? tn.eval->bind_template(binder, text, template_index) : TN_OK;
}

/* ---- Memory ---- */

void *agents_alloc(uint64_t size) {
    void *memory = tn.core->alloc(tn.host, size);
    if (memory != NULL) memset(memory, 0, size);
    return memory;
}

void agents_free(void *memory) { tn.core->release(tn.host, memory); }

/* ---- Ending ---- */

int32_t agents_fail_with(tn_task task, int32_t status, tn_value error) {
    if (status == TN_CANCELLED) return tn_fail(task, "CANCELLED", "cancelled");
    if (status == TN_FAILED && error != NULL) (void)tn.eval->fail_with(task, error);
    return status == TN_FAILED && error != NULL ? TN_FAILED : status;
}

int32_t agents_fail(tn_task task, const char *code, tn_value more, const char *format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    (void)(tn.task->fail)(task, code, message, more);
    return TN_FAILED;
}

/* ---- Texts ---- */

static bool text_room(struct text *text, uint64_t more) {
    if (text->failed) return false;
    if (text->length + more + 1 <= text->capacity) return true;
    uint64_t capacity = text->capacity > 0 ? text->capacity : 256;
    while (capacity < text->length + more + 1) capacity *= 2;
    char *bytes = tn.core->resize(tn.host, text->bytes, capacity);
    text->failed = bytes == NULL;
    if (bytes == NULL) return false;
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void text_add_n(struct text *text, const char *bytes, uint64_t length) {
    if (!text_room(text, length)) return;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void text_add(struct text *text, const char *bytes) { text_add_n(text, bytes, strlen(bytes)); }

void text_add_value(struct text *text, tn_value value) {
    uint64_t length = 0;
    const char *bytes = tn_chars(value, &length);
    tn_value json = bytes == NULL && value != NULL ? tn.value->to_json(value) : NULL;
    if (bytes == NULL) bytes = tn_chars(json, &length);
    if (bytes != NULL) text_add_n(text, bytes, length);
    tn_release(json);
}

void text_format(struct text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || !text_room(text, (uint64_t)length)) return;
    va_start(args, format);
    (void)vsnprintf(text->bytes + text->length, (size_t)length + 1, format, args);
    va_end(args);
    text->length += (uint64_t)length;
}

tn_value text_take(struct text *text) {
    tn_value value = text->failed ? NULL : tn_text_n(text->bytes != NULL ? text->bytes : "", text->length);
    text_finish(text);
    return value;
}

void text_finish(struct text *text) {
    tn.core->release(tn.host, text->bytes);
    memset(text, 0, sizeof(*text));
}

/* ---- Names ---- */

bool name_fits(const char *pattern, const char *name) {
    const char *star = NULL, *again = NULL; /* the last star so far is the only one that ever has to give more */
    while (*name != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            again = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star;
            name = ++again;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == '\0';
}

bool names_have(tn_value patterns, const char *name) {
    for (uint64_t i = 0, count = tn.value->count(patterns); i < count; i++) {
        const char *pattern = tn_chars(tn.value->at(patterns, i), NULL);
        if (pattern != NULL && name_fits(pattern, name)) return true;
    }
    return false;
}

tn_value agents_set_take(tn_value object, const char *key, tn_value value) {
    if (object == NULL) {
        tn_builder *builder = tn.value->builder();
        tn.value->begin(builder, TN_OBJECT);
        tn.value->end(builder);
        object = tn.value->finish(builder);
    }
    tn_value with = object != NULL && value != NULL ? tn.value->set(object, key, value) : NULL;
    tn_release(object);
    tn_release(value);
    return with;
}
