/*
 * catalogue.c - tools, prompts and resources of the served graphs.
 *
 * Lists do not depend on a connection, and have a fixed order, as 2026-07-28 demands. If two graphs declare the same
 * name or URI, the first one is used.
 */
#include "catalogue.h"
#include "plugins/mcp/header.h"
#include <inttypes.h>
#include <stdlib.h>

static bool name_is_valid(const char *name) {
    size_t length = strlen(name);
    if (length == 0 || length > MCPS_NAME_MAX) return false;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!alphanumeric && strchr("_./-", c) == NULL) return false;
    }
    return true;
}

/* The name of a graph or tool as MCP allows it: other characters become `_`. */
static tn_value tool_name(const char *name) {
    char text[MCPS_NAME_MAX + 1];
    size_t length = strlen(name);
    if (length > MCPS_NAME_MAX) length = MCPS_NAME_MAX;
    for (size_t i = 0; i < length; i++) {
        char one[2] = {name[i], '\0'};
        text[i] = name_is_valid(one) ? name[i] : '_';
    }
    return tn_text_n(text, length);
}

static bool marks_are_valid(tn_value schema, const char *name) {
    char why[256], line[400];
    if (header_check_schema(schema, why, sizeof why)) return true;
    (void)snprintf(line, sizeof line, "tool `%.64s` is left out: %s", name, why);
    tn_log(TN_LOG_WARN, line);
    return false;
}

/* ---- A graph as one tool ---- */

static tn_value graph_schema(const struct serving_graph *graph) {
    tn_value input = tn_get(graph->item, "input");
    if (value_is_object(input) && serving_is(tn_get(input, "type"), "object")) return value_without(input, "x-mcp");
    if (value_is_object(input) && value_is_object(tn_get(input, "properties")))
        return tn_set_take(value_without(input, "x-mcp"), "type", tn_text("object"));
    if (graph->input == SERVING_MESSAGES || graph->input == SERVING_ONE_TEXT)
        return tn_build("{s:s, s:{s:{s:s, s:s}}, s:[s]}", "type", "object", "properties", "message", "type", "string",
                        "description", "What to say to it.", "required", "message");
    return tn_build("{s:s}", "type", "object");
}

/* Members that the declaration of one tool adds to what is shown. */
static tn_value with_declared_take(tn_value shown, tn_value declared) {
    static const char *const members[] = {"name", "title", "description", "annotations", "icons", "_meta", "execution"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = tn_get(declared, members[i]);
        if (member != NULL) shown = tn_set_take(shown, members[i], tn_retain(member));
    }
    return shown;
}

static tn_value graph_entry(tn_value item, tn_value declared) {
    struct serving_graph graph;
    serving_graph_read(item, &graph);
    tn_value output = tn_get(item, "output"), input = tn_get(item, "input");
    bool has_output = value_is_object(output) && serving_is(tn_get(output, "type"), "object") &&
                      tn_get(tn_get(output, "properties"), "mcp_result") == NULL;
    char fallback[160]; /* models choose a tool by its description */
    (void)snprintf(fallback, sizeof fallback, "Runs the graph `%.128s`.", graph.name);
    const char *text = graph.description != NULL ? graph.description : fallback;
    tn_value schema = graph_schema(&graph);
    tn_value shown =
        tn_build("{s:V, s:s*, s:V, s:v, s:v*}", "name", tool_name(graph.name), "title", graph.title, "description",
                 tn_text_lossy(text, strlen(text)), "inputSchema", schema, "outputSchema", has_output ? output : NULL);
    shown = with_declared_take(shown, declared);
    bool valid = schema != NULL && shown != NULL && name_is_valid(tn_get_text(shown, "name", "")) &&
                 marks_are_valid(schema, graph.name);
    bool wraps = !value_is_object(input) && graph.input != SERVING_JSON_INPUT;
    tn_value entry = valid
                         ? tn_build("{s:v, s:s, s:b, s:v, s:s*, s:b, s:v}", "shown", shown, "document", graph.document,
                                    "declared", 0, "schema", schema, "channel", wraps ? graph.channel : NULL,
                                    "messages", graph.input == SERVING_MESSAGES, "graph", item)
                         : NULL;
    tn_release(schema);
    tn_release(shown);
    return entry;
}

/* ---- Declarations ---- */

struct catalogue {
    tn_value tools, prompts, resources, templates; /* arrays; NULL: empty */
};

/* Appends an entry unless the list has one with the same name or URI. Takes it. */
static void add_entry_take(tn_value *list, const char *member, tn_value entry) {
    const char *text = tn_get_text(tn_get(entry, "shown"), member, NULL);
    bool known = text == NULL;
    for (uint64_t i = 0, count = tn.value->count(*list); !known && i < count; i++)
        known = serving_is(tn_get(tn_get(tn.value->at(*list, i), "shown"), member), text);
    if (known)
        tn_release(entry);
    else
        (void)tn_append_take(list, entry);
}

/* An entry that `x-mcp` declares. What only the server needs is not shown. */
static tn_value declared_entry(tn_value item, tn_value declaration) {
    tn_value shown = value_without(declaration, "requires");
    (void)tn.value->remove(&shown, "complete", TN_Z);
    tn_value entry =
        tn_build("{s:V, s:s, s:b, s:v*, s:v*, s:v*}", "shown", shown, "document", tn_get_text(item, "document", ""),
                 "declared", 1, "requires", tn_get(declaration, "requires"), "complete",
                 tn_get(declaration, "complete"), "schema", tn_get(declaration, "inputSchema"));
    return entry;
}

static tn_value declared_tool(tn_value item, tn_value declaration) {
    const char *name = tn_get_text(declaration, "name", "");
    tn_value schema = tn_get(declaration, "inputSchema");
    if (!name_is_valid(name)) {
        tn_log(TN_LOG_WARN,
               "a tool of `x-mcp` is left out: `name` must have 1 to 64 characters of A-Z a-z 0-9 _ . / -");
        return NULL;
    }
    if (schema != NULL) return marks_are_valid(schema, name) ? declared_entry(item, declaration) : NULL;
    tn_value completed = tn_set_take(tn_retain(declaration), "inputSchema", tn_build("{s:s}", "type", "object"));
    tn_value entry = declared_entry(item, completed);
    tn_release(completed);
    return entry;
}

static void add_declared(tn_value *list, const char *member, tn_value item, tn_value declarations, bool tools) {
    for (uint64_t i = 0, count = tn.value->count(declarations); i < count; i++) {
        tn_value declaration = tn.value->at(declarations, i);
        if (!value_is_object(declaration)) continue;
        tn_value entry = tools ? declared_tool(item, declaration) : declared_entry(item, declaration);
        if (entry != NULL) add_entry_take(list, member, entry);
    }
}

static void add_graph(struct catalogue *catalogue, tn_value item) {
    tn_value declared = tn_get(tn_get(item, "input"), "x-mcp");
    tn_value tools = tn_get(declared, "tools"), prompts = tn_get(declared, "prompts");
    tn_value resources = tn_get(declared, "resources"), templates = tn_get(declared, "resourceTemplates");
    if (tools == NULL && prompts == NULL && resources == NULL && templates == NULL) {
        tn_value entry = graph_entry(item, declared);
        if (entry != NULL) add_entry_take(&catalogue->tools, "name", entry);
        return;
    }
    add_declared(&catalogue->tools, "name", item, tools, true);
    add_declared(&catalogue->prompts, "name", item, prompts, false);
    add_declared(&catalogue->resources, "uri", item, resources, false);
    add_declared(&catalogue->templates, "uriTemplate", item, templates, false);
}

/* ---- Tools of the host ---- */

static bool effects_only_read(tn_value effects) {
    for (uint64_t i = 0, count = tn.value->count(effects); i < count; i++) {
        const char *effect = tn_chars(tn.value->at(effects, i), NULL);
        if (effect == NULL || (strncmp(effect, "fs.read", 7) != 0 && strcmp(effect, "network.http") != 0)) return false;
    }
    return true;
}

static void add_tool(struct catalogue *catalogue, tn_value tool) {
    const char *name = tn_get_text(tool, "tool_name", "");
    tn_value schema = tn_get(tool, "input_schema"), output = tn_get(tool, "output_schema");
    bool structured = value_is_object(output) && serving_is(tn_get(output, "type"), "object");
    if (serving_is(tn_get(tool, "approval"), "deny") || !value_is_object(schema) ||
        !serving_is(tn_get(schema, "type"), "object") || !marks_are_valid(schema, name))
        return;
    tn_value shown = tn_build("{s:V, s:s*, s:s*, s:v, s:v*, s:{s:b}}", "name", tool_name(name), "title",
                              tn_get_text(tool, "title", NULL), "description", tn_get_text(tool, "description", NULL),
                              "inputSchema", schema, "outputSchema", structured ? output : NULL, "annotations",
                              "readOnlyHint", effects_only_read(tn_get(tool, "effects")));
    tn_value entry = tn_build("{s:V, s:s, s:b, s:v}", "shown", shown, "tool", name, "declared", 0, "schema", schema);
    if (entry != NULL) add_entry_take(&catalogue->tools, "name", entry);
}

/* ---- The whole ---- */

static int compare_entries(const void *a, const void *b) {
    const tn_value *first = a, *second = b;
    return strcmp(tn_get_text(tn_get(*first, "shown"), "name", ""), tn_get_text(tn_get(*second, "shown"), "name", ""));
}

/* Sorts by name, in place. */
static void sort_by_name(tn_value *list) {
    uint64_t count = tn.value->count(*list);
    tn_value *entries = count > 1 ? serving_alloc(count * sizeof(tn_value)) : NULL;
    if (entries == NULL) return;
    for (uint64_t i = 0; i < count; i++) entries[i] = tn_retain(tn.value->at(*list, i));
    qsort(entries, count, sizeof *entries, compare_entries);
    tn_value sorted = NULL;
    for (uint64_t i = 0; i < count; i++) (void)tn_append_take(&sorted, entries[i]);
    serving_free(entries);
    tn_release(*list);
    *list = sorted;
}

static tn_value list_or_empty(tn_value list) { return list != NULL ? list : tn_build("[]"); }

tn_value catalogue_new(tn_value graphs, tn_value tools) {
    struct catalogue catalogue = {NULL, NULL, NULL, NULL};
    for (uint64_t i = 0, count = tn.value->count(graphs); i < count; i++)
        add_graph(&catalogue, tn.value->at(graphs, i));
    for (uint64_t i = 0, count = tn.value->count(tools); i < count; i++) add_tool(&catalogue, tn.value->at(tools, i));
    sort_by_name(&catalogue.tools);
    return tn_build("{s:V, s:V, s:V, s:V}", "tools", list_or_empty(catalogue.tools), "prompts",
                    list_or_empty(catalogue.prompts), "resources", list_or_empty(catalogue.resources), "templates",
                    list_or_empty(catalogue.templates));
}

tn_value catalogue_find(tn_value catalogue, const char *list, const char *member, const char *text) {
    tn_value entries = tn_get(catalogue, list);
    for (uint64_t i = 0, count = tn.value->count(entries); i < count; i++) {
        tn_value entry = tn.value->at(entries, i);
        if (serving_is(tn_get(tn_get(entry, "shown"), member), text)) return entry;
    }
    return NULL;
}

tn_value catalogue_find_resource(tn_value catalogue, const char *uri, tn_value *variables) {
    tn_value entry = catalogue_find(catalogue, "resources", "uri", uri), templates = tn_get(catalogue, "templates");
    for (uint64_t i = 0, count = tn.value->count(templates); entry == NULL && i < count; i++) {
        tn_value one = tn.value->at(templates, i);
        *variables = template_match(tn_get_text(tn_get(one, "shown"), "uriTemplate", ""), uri);
        if (*variables != NULL) return one;
    }
    return entry;
}

tn_value catalogue_page(tn_value catalogue, const char *list, const char *member, tn_value cursor,
                        struct problem *problem) {
    tn_value entries = tn_get(catalogue, list), page = tn_build("[]");
    uint64_t count = tn.value->count(entries), from = 0;
    const char *text = cursor != NULL ? tn_chars(cursor, NULL) : "0";
    if (text != NULL && strspn(text, "0123456789") == strlen(text) && strlen(text) > 0 && strlen(text) < 10)
        from = (uint64_t)strtol(text, NULL, 10);
    else
        from = UINT64_MAX;
    if (from > count || (cursor != NULL && from == 0)) {
        (void)problem_set(problem, 400, MCPS_INVALID_PARAMS, "`cursor` is not one that this server has returned");
        tn_release(page);
        return NULL;
    }
    for (uint64_t i = from; i < count && i < from + MCPS_PAGE; i++)
        (void)tn_append_take(&page, tn_retain(tn_get(tn.value->at(entries, i), "shown")));
    char next[24];
    (void)snprintf(next, sizeof next, "%" PRIu64, from + MCPS_PAGE);
    return tn_build("{s:V, s:s*}", member, page, "nextCursor", from + MCPS_PAGE < count ? next : NULL);
}

tn_value catalogue_complete(tn_value entry, const char *argument, const char *value) {
    tn_value known = tn_get(tn_get(entry, "complete"), argument), values = tn_build("[]");
    uint64_t total = 0, size = strlen(value);
    for (uint64_t i = 0, count = tn.value->count(known); i < count; i++) {
        tn_value one = tn.value->at(known, i);
        const char *text = tn_chars(one, NULL);
        if (text == NULL || strncmp(text, value, size) != 0) continue;
        if (total++ < 100) (void)tn_append_take(&values, tn_retain(one));
    }
    return tn_build("{s:V, s:I, s:b}", "values", values, "total", (int64_t)total, "hasMore", total > 100);
}

/* ---- Input ---- */

static tn_value request_of(const char *method, tn_value params, tn_value variables) {
    tn_value arguments = tn_get(params, "arguments");
    return tn_build("{s:s, s:v*, s:v*, s:V, s:v*}", "method", method, "name", tn_get(params, "name"), "uri",
                    tn_get(params, "uri"), "arguments", arguments != NULL ? tn_retain(arguments) : tn_build("{}"),
                    "variables", variables);
}

tn_value catalogue_input(tn_value entry, const char *method, tn_value params, tn_value variables) {
    tn_value arguments = tn_get(params, "arguments");
    const char *channel = tn_get_text(entry, "channel", NULL);
    if (serving_true(tn_get(entry, "declared"))) return tn_build("{s:V}", "mcp", request_of(method, params, variables));
    if (channel == NULL) return arguments != NULL ? tn_retain(arguments) : tn_build("{}");
    const char *message = tn_get_text(arguments, "message", "");
    if (serving_true(tn_get(entry, "messages")))
        return tn_build("{s:[{s:s, s:s}]}", channel, "type", "user", "content", message);
    return tn_build("{s:s}", channel, message);
}
