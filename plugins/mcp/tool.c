/*
 * tool.c - converts definitions of the protocol to components of Tenon.
 *
 * A server's statements about a tool's effects are only hints. If it states that a tool writes, but not whether it is
 * destructive, the worst case holds, as the protocol defines. If it states nothing, the effects are unknown:
 * `unknown:SERVER`, so that messages can say who declares nothing. Ids keep the valid characters of names; if two names
 * result in the same id, one gets a number, in the order of the server's list.
 */
#include "tool.h"
#include "content.h"
#include "header.h"
#include <tenon/util/utf8.h>

#define TITLE_MAX         160
#define DOCUMENTATION_MAX 65536

struct tool *tool_ref(struct tool *tool) {
    tool->references++;
    return tool;
}

void tool_unref(struct tool *tool) {
    if (tool == NULL || --tool->references > 0) return;
    if (tool->left != NULL) --*tool->left;
    tn_release(tool->definition);
    tn_release(tool->component);
    mcp_free(tool->name);
    mcp_free(tool);
}

/* ---- Ids ---- */

static bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Replaces characters that ids cannot have by `_`; a part between dots starts with a letter or digit. */
static size_t append_id_part(char *out, size_t room, const char *name) {
    size_t used = 0;
    for (const char *at = name; *at != '\0'; at++) {
        bool first = at == name || at[-1] == '.';
        bool last = at[1] == '\0' || at[1] == '.';
        char c = is_alphanumeric(*at) || *at == '-' || *at == '_' ? *at : '_';
        if (*at == '.' && !first && !last) c = '.';
        if (first && !is_alphanumeric(c)) {
            if (used == room) return room;
            out[used++] = 'x';
        }
        if (used == room) return room;
        out[used++] = c;
    }
    return used;
}

bool tool_id(char id[MCP_ID_MAX + 1], const char *prefix, const char *name, unsigned number) {
    int start = snprintf(id, MCP_ID_MAX + 1, "%s.", prefix);
    if (start <= 1 || start >= MCP_ID_MAX - 8 || *name == '\0') return false;
    size_t used = (size_t)start, room = MCP_ID_MAX - 8 - used;
    size_t length = append_id_part(id + used, room, name);
    if (length == room) return false;
    used += length;
    id[used] = '\0';
    if (number > 1) (void)snprintf(id + used, MCP_ID_MAX + 1 - used, "_%u", number);
    return true;
}

static bool choose_tool_id(const struct tool_naming *naming, const char *name, char *id) {
    for (unsigned number = 1; number <= MCP_TOOLS_MAX + 1; number++) {
        if (!tool_id(id, naming->prefix, name, number)) return false;
        if (!naming->taken(naming->user, id, name)) return true;
    }
    return false;
}

/* ---- Components ---- */

/* Returns the hint, or the protocol's default. */
static bool read_hint(tn_value annotations, const char *name, bool otherwise) {
    tn_value value = tn_get(annotations, name);
    return tn.value->kind(value) == TN_BOOL ? value_is_true(value) : otherwise;
}

bool tool_is_annotated(tn_value definition) {
    tn_value annotations = tn_get(definition, "annotations");
    return tn.value->kind(tn_get(annotations, "readOnlyHint")) == TN_BOOL ||
           tn.value->kind(tn_get(annotations, "destructiveHint")) == TN_BOOL;
}

/* `definition` is NULL for a method, which only reads. */
static void put_tool_effects(tn_builder *builder, const struct tool_naming *naming, tn_value definition) {
    tn_value annotations = tn_get(definition, "annotations");
    bool reads = definition == NULL, annotated = reads || tool_is_annotated(definition);
    bool read_only = reads || read_hint(annotations, "readOnlyHint", false);
    bool destroys = annotated ? read_hint(annotations, "destructiveHint", true) : false;
    char unknown[sizeof "unknown:" + 64];
    (void)snprintf(unknown, sizeof unknown, "unknown:%.64s", naming->server);
    tn_put_begin(builder, "effects", TN_ARRAY);
    tn_put_text(builder, NULL, naming->effect);
    if (!read_only)
        tn_put_text(builder, NULL, destroys ? "destructive" : annotated || naming->trusted ? "mcp.write" : unknown);
    if (!naming->http && read_hint(annotations, "openWorldHint", !reads)) tn_put_text(builder, NULL, "network.http");
    if (naming->role != NULL) {
        char right[MCP_ID_MAX + sizeof "calls.model:"];
        (void)snprintf(right, sizeof right, "calls.model:%s", naming->role);
        tn_put_text(builder, NULL, right);
    }
    tn.value->end(builder);
}

/* Returns the first line or sentence of a text if it is short enough for a title, else NULL. */
static tn_value make_title_line(const char *text) {
    while (*text == ' ' || *text == '\n' || *text == '\r' || *text == '\t') text++;
    size_t length = strcspn(text, "\r\n");
    const char *stop = strstr(text, ". ");
    if (stop != NULL && (size_t)(stop - text) < length) length = (size_t)(stop - text) + 1;
    length = tn_utf8_cut(text, length, TITLE_MAX);
    return length > 0 ? tn_text_n(text, length) : NULL;
}

static void put_tool_texts(tn_builder *builder, tn_value definition, const char *name) {
    const char *title = tn_get_text(tn_get(definition, "annotations"), "title", NULL);
    const char *description = tn_get_text(definition, "description", "");
    if (title == NULL || *title == '\0') title = tn_get_text(definition, "title", description);
    tn_value line = make_title_line(title);
    if (line == NULL) line = make_title_line(name);
    tn_put_take(builder, "title", line != NULL ? line : tn_text("A tool"));
    if (*description == '\0') return;
    uint64_t length = tn_utf8_cut(description, strlen(description), DOCUMENTATION_MAX);
    tn_put_take(builder, "documentation", tn_text_n(description, length));
}

static tn_builder *start_tool_component(const char *id) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "kind", "tool");
    tn_put_text(builder, "id", id);
    tn_put_text(builder, "style", "async");
    return builder;
}

static tn_value make_component(const struct tool_naming *naming, const struct tool *tool) {
    tn_value annotations = tn_get(tool->definition, "annotations");
    tn_value output = tn_get(tool->definition, "outputSchema");
    tn_builder *builder = start_tool_component(tool->id);
    put_tool_texts(builder, tool->definition, tool->name);
    put_tool_effects(builder, naming, tool->definition);
    if (read_hint(annotations, "idempotentHint", false)) tn_put_bool(builder, "idempotent", 1);
    tn_put(builder, "input", tn_get(tool->definition, "inputSchema"));
    if (tool->structured) tn_put(builder, "output", output);
    tn_put_text(builder, "x-mcp-name", tool->name);
    tn.value->end(builder);
    return tn_finish(builder);
}

static struct tool *tool_alloc(const struct tool_naming *naming, const char *name) {
    struct tool *tool = mcp_alloc(sizeof *tool);
    if (tool == NULL) return NULL;
    tool->references = 1;
    tool->name = copy_text(name);
    if (tool->name != NULL && choose_tool_id(naming, name, tool->id)) return tool;
    tool_unref(tool);
    return NULL;
}

struct tool *tool_new(const struct tool_naming *naming, tn_value definition, char *why, size_t size) {
    uint64_t length = 0;
    const char *name = tn_chars(tn_get(definition, "name"), &length);
    tn_value input = tn_get(definition, "inputSchema");
    char reason[160];
    if (name == NULL || length == 0 || length > MCP_NAME_MAX || strlen(name) != length) {
        (void)snprintf(why, size, "the name must be a string of 1 to %d bytes", MCP_NAME_MAX);
        return NULL;
    }
    if (tn.value->kind(input) != TN_OBJECT || !value_is(tn_get(input, "type"), "object")) {
        (void)snprintf(why, size, "its inputSchema must have the type `object`");
        return NULL;
    }
    if (naming->http && !header_check_schema(input, reason, sizeof reason)) {
        (void)snprintf(why, size, "%s", reason);
        return NULL;
    }
    struct tool *tool = tool_alloc(naming, name);
    if (tool != NULL) {
        tn_value output = tn_get(definition, "outputSchema");
        tool->definition = tn_retain(definition);
        tool->structured = tn.value->kind(output) == TN_OBJECT && tn.value->count(output) > 0;
        tool->component = make_component(naming, tool);
        if (tool->component != NULL) return tool;
    }
    (void)snprintf(why, size, tool == NULL ? "no id of at most %d bytes can be made of its name" : "not enough memory",
                   MCP_ID_MAX);
    tool_unref(tool);
    return NULL;
}

/* ---- Resources and prompts ---- */

static tn_value make_list_result(tn_value result, const char *member) {
    tn_value items = tn_get(result, member), cursor = tn_get(result, "nextCursor");
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, member, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(items); i < count; i++) tn_put(builder, NULL, tn.value->at(items, i));
    tn.value->end(builder);
    if (tn.value->kind(cursor) == TN_STRING) tn_put(builder, "cursor", cursor);
    tn.value->end(builder);
    return tn_finish(builder);
}

static tn_value resources_result(tn_value result) { return make_list_result(result, "resources"); }
static tn_value templates_result(tn_value result) { return make_list_result(result, "resourceTemplates"); }
static tn_value prompts_result(tn_value result) { return make_list_result(result, "prompts"); }
static tn_value make_read_result(tn_value result) { return content_resources(tn_get(result, "contents")); }

static tn_value prompt_result(tn_value result) {
    const char *description = tn_get_text(result, "description", NULL);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    if (description != NULL) tn_put_text(builder, "description", description);
    tn_put_take(builder, "messages", content_messages(tn_get(result, "messages")));
    tn.value->end(builder);
    return tn_finish(builder);
}

#define PAGE                                                                                                           \
    "{\"type\":\"object\",\"properties\":{\"cursor\":{\"type\":\"string\",\"description\":\"Where the page before "    \
    "ended.\"}},\"additionalProperties\":false}"
#define LIST(name)                                                                                                     \
    "{\"type\":\"object\",\"properties\":{\"" name                                                                     \
    "\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},\"cursor\":{\"type\":\"string\"}},\"required\":[\"" name  \
    "\"]}"

const struct tool_method mcp_tool_methods[] = {
    {"resources.list", "resources", "resources/list", "Lists the server's resources",
     "Each has a `uri` for `resources.read` and a name. A `cursor` in the result is for the next "
     "page.",
     PAGE, LIST("resources"), resources_result},
    {"resources.templates", "resources", "resources/templates/list", "Lists the server's templates of resources",
     "Each has a `uriTemplate` (RFC 6570). Expand it to a `uri` for `resources.read`.", PAGE, LIST("resourceTemplates"),
     templates_result},
    {"resources.read", "resources", "resources/read", "Reads a resource of the server",
     "Returns a text, or parts of a message: texts, images, files.",
     "{\"type\":\"object\",\"properties\":{\"uri\":{\"type\":\"string\",\"description\":\"As in "
     "`resources.list`.\",\"minLength\":1}},\"required\":[\"uri\"],\"additionalProperties\":false}",
     "{\"description\":\"A text, or parts of a message.\"}", make_read_result},
    {"prompts.list", "prompts", "prompts/list", "Lists the server's prompts",
     "Each has a `name`, for `prompts.get`, and the arguments that it takes.", PAGE, LIST("prompts"), prompts_result},
    {"prompts.get", "prompts", "prompts/get", "Returns a prompt of the server with its arguments filled in",
     "Returns the prompt's messages.",
     "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"description\":\"As in "
     "`prompts.list`.\",\"minLength\":1},\"arguments\":{\"type\":\"object\",\"description\":\"What it is filled in "
     "with.\",\"additionalProperties\":{\"type\":\"string\"}}},\"required\":[\"name\"],\"additionalProperties\":false}",
     "{\"type\":\"object\",\"properties\":{\"description\":{\"type\":\"string\"},\"messages\":{\"type\":\"array\"}},"
     "\"required\":[\"messages\"]}",
     prompt_result}};
const size_t tool_method_count = sizeof mcp_tool_methods / sizeof *mcp_tool_methods;

struct tool *tool_new_method(const struct tool_naming *naming, const struct tool_method *method) {
    struct tool *tool = tool_alloc(naming, method->suffix);
    if (tool == NULL) return NULL;
    tool->method = method;
    tn_builder *builder = start_tool_component(tool->id);
    tn_put_text(builder, "title", method->title);
    tn_put_text(builder, "documentation", method->documentation);
    put_tool_effects(builder, naming, NULL);
    tn_put_take(builder, "input", tn_from_json(method->input, TN_Z));
    tn_put_take(builder, "output", tn_from_json(method->output, TN_Z));
    tn.value->end(builder);
    tool->component = tn_finish(builder);
    if (tool->component != NULL) return tool;
    tool_unref(tool);
    return NULL;
}
