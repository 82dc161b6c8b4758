/*
 * agents.c - the plugin `tenon.agents`: nodes that call models and let them use tools.
 *
 * There is one file for each node: NAME.c contains its row of the component table, NAME.json its part of the manifest.
 * chat.c builds requests and handles answers, conversation.c handles lists of messages, text_tools.c handles tools that
 * are called in texts. Providers, tools and graphs are reached only through the host's interfaces.
 */
#include "agents.h"
#include <stdarg.h>
#include <tenon/util/tool_pattern.h>

TN_PLUGIN("tenon.agents", "0.1.0", "Nodes that call models and let them use tools: llm, tools, agent, router and more")

const tn_tool_1 *agents_tool;
const tn_graph_draft *agents_graph;
const tn_document_draft *agents_documents;

static int32_t agents_init(void *self, tn_value config) {
    (void)self;
    deep_research_set_section(config);
    agents_tool = tn_easy_interface(tn.host, TN_TOOL_1, sizeof(tn_tool_1));
    agents_graph = tn_easy_interface(tn.host, TN_GRAPH_DRAFT, sizeof(tn_graph_draft));
    agents_documents = tn_easy_interface(tn.host, TN_DOCUMENT_DRAFT, sizeof(tn_document_draft));
    if (agents_tool != NULL) return TN_OK;
    return tn_refuse("INTERFACE_MISSING", "this plugin needs the interface " TN_TOOL_1);
}

static void agents_deinit(void *self) {
    (void)self;
    deep_research_set_section(NULL);
}

TN_LIFECYCLE(agents_init, NULL, agents_deinit)

/* ---- Create ---- */

int32_t agents_require_graph(void) {
    if (agents_graph != NULL) return TN_OK;
    return tn_refuse("INTERFACE_MISSING",
                     "this node needs the interface " TN_GRAPH_DRAFT ", which this host does not provide");
}

int32_t agents_refuse(const char *message) { return tn_refuse("INVALID_CONFIG", message); }

int32_t agents_bind_read(tn_value config, const char *key, tn_binder *binder, uint32_t *channel) {
    const char *name = tn_get_text(config, key, NULL);
    *channel = TN_UNBOUND;
    return name != NULL ? tn.task->bind_read(binder, name, TN_Z, channel) : TN_OK;
}

int32_t agents_bind_write(tn_value config, const char *key, tn_binder *binder, uint32_t *channel) {
    const char *name = tn_get_text(config, key, NULL);
    *channel = TN_UNBOUND;
    return name != NULL ? tn.task->bind_write(binder, name, TN_Z, channel) : TN_OK;
}

int32_t agents_bind_template(tn_value config, const char *key, tn_binder *binder, uint32_t *template_index) {
    const char *text = tn_get_text(config, key, NULL);
    *template_index = TN_UNBOUND;
    return text != NULL ? tn.eval->bind_template(binder, text, TN_Z, template_index) : TN_OK;
}

/* ---- Memory ---- */

void *agents_alloc_zeroed(uint64_t size) {
    void *memory = tn.core->alloc(tn.host, size);
    if (memory != NULL) memset(memory, 0, size);
    return memory;
}

void agents_release(void *memory) { tn.core->release(tn.host, memory); }

/* ---- Ending ---- */

int32_t agents_fail_with(tn_task task, int32_t status, tn_value error) {
    if (status == TN_CANCELLED) return tn_fail(task, "CANCELLED", "cancelled");
    return status == TN_FAILED ? tn_fail_with(task, error) : status;
}

int32_t agents_fail(tn_task task, const char *code, tn_value detail, const char *format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    tn_value error = tn_error(code, message);
    if (detail != NULL) error = tn_set_take(error, "detail", tn_retain(detail));
    return tn_fail_take(task, error);
}

/* ---- Names ---- */

bool names_match(tn_value patterns, const char *name) {
    for (uint64_t i = 0, count = tn.value->count(patterns); i < count; i++) {
        uint64_t length = 0;
        const char *pattern = tn_chars(tn.value->at(patterns, i), &length);
        if (pattern != NULL && tn_tool_pattern_matches(pattern, length, name)) return true;
    }
    return false;
}
