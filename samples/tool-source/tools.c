/*
 * tools.c - the list of the service's tools, and the same list in the host's registry.
 */
#include "source.h"

static struct tool *tools;

static void tool_free(struct tool *tool) {
    struct tool **at = &tools;
    while (*at != tool) at = &(*at)->next;
    *at = tool->next;
    tn_release(tool->component);
    tn_release(tool->name);
    tn.core->release(tn.host, tool);
}

void tool_release(struct tool *tool) {
    tool->instances--;
    if (tool->is_removed && tool->instances == 0) tool_free(tool);
}

struct tool *tool_retain_by_id(const char *id, uint64_t length) {
    for (struct tool *tool = tools; tool != NULL; tool = tool->next) {
        uint64_t known_length = 0;
        const char *known = tn_chars(tn_get(tool->component, "id"), &known_length);
        if (tool->is_removed || known_length != length || memcmp(known, id, length) != 0) continue;
        tool->instances++;
        return tool;
    }
    return NULL;
}

/* Instances that exist continue to work; no new ones are created. */
static void tool_remove(struct tool *tool) {
    uint64_t length = 0;
    const char *id = tn_chars(tn_get(tool->component, "id"), &length);
    (void)source.registry->remove(tn.host, "tool", TN_Z, id, length);
    tool->is_removed = true;
    if (tool->instances == 0) tool_free(tool);
}

static struct tool *tool_find(tn_value name) {
    struct tool *tool = tools;
    while (tool != NULL && (tool->is_removed || !tn.value->equal(tool->name, name))) tool = tool->next;
    return tool;
}

/* The tool as a component of a manifest. The host checks it, and validates the arguments of each call with `input`. */
static tn_value tool_component(tn_value description, tn_value name) {
    tn_value effects = tn_get(description, "effects");
    struct tn_text_buffer id = TN_TEXT_BUFFER(200);
    tn_text_append_format(&id, "%s.%s", source.name, tn_chars(name, NULL));
    return tn_build("{s:s, s:V, s:v, s:s, s:v, s:V}", "kind", "tool", "id", tn_text_finish(&id), "title",
                    tn_get(description, "description"), "style", "async", "input", tn_get(description, "input"),
                    "effects", effects != NULL ? tn_retain(effects) : tn_build("[s]", "network.http"));
}

static void tool_add_take(tn_value component, tn_value name) {
    tn_value error = NULL;
    struct tool *tool;
    if (source.registry->add(tn.host, component, &error) != TN_OK) { /* its id, its schema, its effects */
        struct tn_text_buffer line = TN_TEXT_BUFFER(2000);
        tn_text_append_format(&line, "%s: a tool is left out: %s", source.name,
                              tn_get_text(error, "message", "refused"));
        tn_log(TN_LOG_WARN, tn_text_chars(&line));
        tn_text_free(&line);
        tn_release(error);
        tn_release(component);
        return;
    }
    tool = tn.core->alloc(tn.host, sizeof *tool);
    if (tool == NULL) {
        (void)source.registry->remove(tn.host, "tool", TN_Z, tn_get_text(component, "id", ""), TN_Z);
        tn_release(component);
        return;
    }
    *tool = (struct tool){.next = tools, .component = component, .name = tn_retain(name), .is_announced = true};
    tools = tool;
}

void tools_add(tn_value description) {
    tn_value name = tn_get(description, "name");
    uint64_t length = 0;
    bool is_named = tn_chars(name, &length) != NULL && length > 0;
    tn_value component = is_named ? tool_component(description, name) : NULL;
    struct tool *known = tool_find(name);
    if (component == NULL) {
        tn_log(TN_LOG_WARN, "a tool without a name is left out: expected {name, description, input}");
        return;
    }
    if (known != NULL && tn.value->equal(known->component, component)) {
        known->is_announced = true;
        tn_release(component);
        return;
    }
    if (known != NULL) tool_remove(known); /* its description has changed */
    tool_add_take(component, name);
}

void tools_remove(tn_value name) {
    struct tool *tool = tool_find(name);
    if (tool != NULL) tool_remove(tool);
}

void tools_begin(void) {
    for (struct tool *tool = tools; tool != NULL; tool = tool->next) tool->is_announced = false;
}

void tools_end_list(void) {
    for (struct tool *tool = tools, *next; tool != NULL; tool = next) {
        next = tool->next;
        if (!tool->is_announced && !tool->is_removed) tool_remove(tool);
    }
}

void tools_free(void) {
    while (tools != NULL) tool_free(tools);
}
