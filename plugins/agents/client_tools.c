/*
 * client_tools.c - tools that the client of a run executes: a channel has their definitions. They are offered to the
 * model beside those of the graph; a call of one of them has no result until the client sends it.
 */
#include "chat.h"

#define CLIENT_TOOLS_MAX  128u
#define CLIENT_TOOLS_FORM "[{name, description?, input_schema?}]"

static bool client_tools_have(tn_value definitions, const char *name) {
    for (uint64_t i = 0, count = tn.value->count(definitions); i < count; i++)
        if (strcmp(tn_get_text(tn.value->at(definitions, i), "tool_name", ""), name) == 0) return true;
    return false;
}

/* A definition as tn_tool's `describe` returns it: new. NULL if the tool is malformed. */
static tn_value client_tools_definition(tn_value tool) {
    tn_value schema = tn_get(tool, "input_schema");
    const char *name = tn_get_text(tool, "name", "");
    if (*name == '\0' || (schema != NULL && tn.value->kind(schema) != TN_OBJECT)) return NULL;
    return tn_build("{s:s, s:s*, s:V}", "tool_name", name, "description", tn_get_text(tool, "description", NULL),
                    "input_schema", schema != NULL ? tn_retain(schema) : tn_build("{s:s}", "type", "object"));
}

tn_value client_tools_add_take(tn_task task, uint32_t field, const char *channel, tn_value definitions) {
    tn_value tools = tn_read(task, field), all = definitions != NULL ? definitions : tn_build("[]");
    int32_t kind = tn.value->kind(tools), status = all != NULL ? TN_OK : TN_NO_MEMORY;
    uint64_t count = tn.value->count(tools), bad = 0;
    bool wrong = (kind > TN_NULL && kind != TN_ARRAY) || count > CLIENT_TOOLS_MAX;
    for (uint64_t i = 0; !wrong && kind == TN_ARRAY && status == TN_OK && i < count; i++) {
        tn_value tool = tn.value->at(tools, i), definition;
        if (client_tools_have(all, tn_get_text(tool, "name", ""))) continue;
        definition = client_tools_definition(tool);
        bad = i;
        wrong = definition == NULL;
        if (!wrong) status = tn_append_take(&all, definition);
    }
    const char *kind_name = tn_kind_name(tools);
    tn_release(tools);
    if (!wrong && status == TN_OK) return all;
    tn_release(all);
    if (status != TN_OK)
        (void)tn_fail(task, "NO_MEMORY", "memory ran out");
    else if (kind != TN_ARRAY || count > CLIENT_TOOLS_MAX)
        (void)agents_fail(task, "TYPE", NULL,
                          "the channel `%.80s` is %s, expected at most %u tools: " CLIENT_TOOLS_FORM, channel,
                          kind == TN_ARRAY ? "a longer list" : kind_name, CLIENT_TOOLS_MAX);
    else
        (void)agents_fail(task, "TYPE", NULL,
                          "the channel `%.80s` must have at most %u tools, " CLIENT_TOOLS_FORM
                          "; the one at the place %llu is malformed",
                          channel, CLIENT_TOOLS_MAX, (unsigned long long)bad);
    return NULL;
}
