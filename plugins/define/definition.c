/*
 * definition.c - what a description says, and what it leaves to its implementation: a document's own input and name.
 *
 * Descriptions in tenon.yaml have been checked by the plugin's schema; those in files have not, so their members and
 * all that is used are looked at here.
 */
#include "definition.h"
#include "fill.h"
#include "yaml_file.h"
#include <stdarg.h>
#include <stdio.h>

static bool refuse(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(const char *where, const char *format, ...) {
    char text[1024];
    va_list args;
    int length = snprintf(text, sizeof(text), "%.500s: ", where);
    va_start(args, format);
    (void)vsnprintf(text + length, sizeof(text) - (size_t)length, format, args);
    va_end(args);
    tn.core->log(tn.host, TN_LOG_ERROR, text);
    return false;
}

static bool is_text(tn_value value) { return tn.value->kind(value) == TN_STRING; }
static bool is_object(tn_value value) { return tn.value->kind(value) == TN_OBJECT; }

/* ---- Members, as define.json has them ---- */

struct member {
    const char *name;
    int32_t kind; /* ANY: of every kind */
};

enum { ANY = -1 };

static const struct member of_tools[] = {
    {"name", TN_STRING},    {"title", TN_STRING},    {"description", TN_STRING}, {"input", TN_OBJECT},
    {"output", TN_OBJECT},  {"effects", TN_ARRAY},   {"tool", TN_STRING},        {"arguments", TN_OBJECT},
    {"http", TN_OBJECT},    {"command", TN_ARRAY},   {"stdin", TN_STRING},       {"output_as", TN_STRING},
    {"timeout_ms", TN_INT}, {"document", TN_STRING}, {"result", TN_STRING},      {NULL, ANY}};
static const struct member of_requests[] = {{"url", TN_STRING},     {"method", TN_STRING}, {"query", TN_OBJECT},
                                            {"headers", TN_OBJECT}, {"body", TN_STRING},   {"json", ANY},
                                            {"timeout_ms", TN_INT}, {"max_bytes", TN_INT}, {NULL, ANY}};

/* What is misspelt would else be passed over: a limit, say. */
static bool check_members(tn_value value, const struct member *members, const char *where, const char *inside) {
    for (uint64_t i = 0, count = tn.value->count(value); i < count; i++) {
        tn_value key, item;
        if (tn.value->entry(value, i, &key, &item) != TN_OK) return false;
        const struct member *member = members;
        while (member->name != NULL && strcmp(member->name, tn_chars(key, NULL)) != 0) member++;
        if (member->name == NULL) return refuse(where, "found the unknown key `%s%.100s`", inside, tn_chars(key, NULL));
        if (member->kind != ANY && tn.value->kind(item) != member->kind)
            return refuse(where, "`%s%s` is of the wrong kind; `tenon plugin show tenon.define` has what is expected",
                          inside, member->name);
        if (member->kind == TN_INT && tn_get_int(value, member->name, 0) < 1)
            return refuse(where, "`%s%s`: expected at least 1", inside, member->name);
    }
    return true;
}

/* ---- What implements it ---- */

static bool is_command(tn_value command) {
    uint64_t count = tn.value->count(command);
    bool good = tn.value->kind(command) == TN_ARRAY && count > 0 && count <= 256;
    for (uint64_t i = 0; good && i < count; i++) good = is_text(tn.value->at(command, i));
    return good;
}

static bool read_implementation(struct definition *definition, const char *where) {
    static const char *const names[] = {"tool", "http", "command", "document"};
    uint32_t found = 0;
    for (int i = BY_TOOL; i <= BY_DOCUMENT; i++) {
        if (tn.value->get(definition->value, names[i]) == NULL) continue;
        definition->by = (enum implementation)i;
        found++;
    }
    if (found != 1)
        return refuse(where,
                      "found %s of `tool`, `http`, `command` and `document`, expected one: what implements the tool",
                      found == 0 ? "none" : "several");
    tn_value by = tn.value->get(definition->value, names[definition->by]);
    switch (definition->by) {
    case BY_HTTP:
        return (is_object(by) && is_text(tn.value->get(by, "url"))) ||
               refuse(where, "`http`: expected a mapping with `url`");
    case BY_COMMAND: return is_command(by) || refuse(where, "`command`: expected a list of 1 to 256 texts");
    default: return is_text(by) || refuse(where, "`%s`: expected a text", names[definition->by]);
    }
}

/* ---- Documents ---- */

static tn_value path_of(tn_value document, const char *folder) {
    const char *name = tn_chars(document, NULL);
    if (name[0] == '/' || folder == NULL) return tn_retain(document);
    struct text path = {.limit = 4096};
    text_put(&path, folder);
    text_put(&path, "/");
    text_put(&path, name);
    return text_finish(&path);
}

struct drawn { /* from a document */
    tn_value root, name, description, input, output;
};

static bool read_document(struct definition *definition, struct drawn *drawn, const char *folder) {
    definition->document = path_of(tn.value->get(definition->value, "document"), folder);
    if (definition->document == NULL) return false;
    drawn->root = yaml_read_file(tn_chars(definition->document, NULL));
    if (drawn->root == NULL) return false;
    tn_value agent = tn.value->get(drawn->root, "agent");
    drawn->name = tn.value->get(agent, "name");
    drawn->description = tn.value->get(agent, "description");
    drawn->input = tn.value->get(drawn->root, "input");
    drawn->output = tn.value->get(drawn->root, "output");
    return true;
}

/* ---- The component ---- */

static void put_effects(tn_builder *out, const struct definition *definition) {
    tn_value given = tn.value->get(definition->value, "effects"), http = tn.value->get(definition->value, "http");
    if (tn.value->kind(given) == TN_ARRAY) {
        tn_put(out, "effects", given);
        return;
    }
    if (definition->by != BY_HTTP && definition->by != BY_COMMAND) return; /* the worst */
    tn_put_begin(out, "effects", TN_ARRAY);
    if (definition->by == BY_COMMAND) {
        tn_put_text(out, NULL, "process.spawn");
    } else {
        const char *url = tn_get_text(http, "url", ""), *method = tn_get_text(http, "method", "GET");
        const char *host = strstr(url, "://");
        struct text effect = {.limit = 900};
        host = host != NULL ? host + 3 : url;
        text_put(&effect, "network.http:");
        text_add(&effect, host, strcspn(host, "/?#"));
        /* A host that an argument names may be any. */
        if (memchr(host, '{', strcspn(host, "/?#")) != NULL) {
            text_free(&effect);
            text_put(&effect, "network.http");
        }
        tn_put_take(out, NULL, text_finish(&effect));
        if (strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0 || strcmp(method, "DELETE") == 0)
            tn_put_text(out, NULL, "destructive");
    }
    tn.value->end(out);
}

/* One line of at most 200 bytes. */
static tn_value title_of(const struct definition *definition, tn_value description) {
    const char *given = tn_get_text(definition->value, "title", NULL), *text = tn_chars(description, NULL);
    struct text title = {.limit = 400};
    if (given == NULL) given = text != NULL && *text != 0 ? text : tn_chars(definition->id, NULL);
    size_t length = strcspn(given, "\r\n");
    if (length > 190) {
        length = 190;
        while (length > 0 && ((unsigned char)given[length] & 0xc0) == 0x80) length--;
    }
    text_add(&title, given, length);
    return text_finish(&title);
}

static bool make_component(struct definition *definition, const struct drawn *drawn) {
    static const char anything[] = "{\"type\": \"object\"}";
    tn_value description = tn.value->get(definition->value, "description"), any = NULL;
    tn_value input = tn.value->get(definition->value, "input"), output = tn.value->get(definition->value, "output");
    if (!is_text(description)) description = drawn->description;
    if (!is_object(input)) input = drawn->input;
    if (!is_object(output) && definition->result == NULL) output = drawn->output;
    (void)tn.value->from_json(anything, sizeof(anything) - 1, &any);
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "kind", "tool");
    tn_put(out, "id", definition->id);
    tn_put_take(out, "title", title_of(definition, description));
    if (is_text(description) && tn_chars(description, NULL)[0] != 0) tn_put(out, "documentation", description);
    tn_put_text(out, "style", "async");
    put_effects(out, definition);
    tn_put(out, "input", is_object(input) && tn.value->count(input) > 0 ? input : any);
    if (is_object(output) && tn.value->count(output) > 0) tn_put(out, "output", output);
    tn.value->end(out);
    definition->component = tn.value->finish(out);
    tn_release(any);
    return definition->component != NULL;
}

/* ---- Reading ---- */

static bool read_rest(struct definition *definition, struct drawn *drawn, const char *where, const char *folder) {
    if (!check_members(definition->value, of_tools, where, "")) return false;
    if (!check_members(tn.value->get(definition->value, "http"), of_requests, where, "http.")) return false;
    if (!read_implementation(definition, where)) return false;
    if (definition->by == BY_DOCUMENT && !read_document(definition, drawn, folder))
        return refuse(where, "its document cannot be used, as the line before says; this tool is left out");
    tn_value name = tn.value->get(definition->value, "name");
    if (!is_text(name)) name = drawn->name;
    if (!is_text(name)) return refuse(where, "`name` is missing: what is the tool called?");
    definition->id = tn_retain(name);
    definition->result = tn_get_text(definition->value, "result", NULL);
    tn_value arguments = tn.value->get(definition->value, "arguments");
    if (is_object(arguments)) definition->arguments = tn_retain(arguments);
    tn_value input = tn.value->get(definition->value, "input");
    char unknown[FILL_NAME_MAX];
    const char *why = fill_check(definition->value, is_object(input) ? input : drawn->input, unknown);
    if (unknown[0] != 0) {
        char text[1024];
        (void)snprintf(text, sizeof(text),
                       "%.500s: `%.100s`: {%.200s} is none of the arguments that `input` has, and stands for nothing",
                       where, tn_chars(name, NULL), unknown);
        tn.core->log(tn.host, TN_LOG_WARN, text);
    }
    if (why != NULL) return refuse(where, "`%s`: %s", tn_chars(name, NULL), why);
    return make_component(definition, drawn);
}

struct definition *definition_read(tn_value value, const char *where, const char *folder) {
    struct drawn drawn = {0};
    if (!is_object(value)) {
        (void)refuse(where, "expected a mapping: a tool's description");
        return NULL;
    }
    struct definition *definition = tn.core->alloc(tn.host, sizeof(*definition));
    if (definition == NULL) return NULL;
    memset(definition, 0, sizeof(*definition));
    definition->value = tn_retain(value);
    bool good = read_rest(definition, &drawn, where, folder);
    tn_release(drawn.root);
    if (good) return definition;
    definition_free(definition);
    return NULL;
}

void definition_free(struct definition *definition) {
    if (definition == NULL) return;
    tn_release(definition->value);
    tn_release(definition->id);
    tn_release(definition->component);
    tn_release(definition->document);
    tn_release(definition->arguments);
    tn.core->release(tn.host, definition);
}

tn_value definition_result(const struct definition *definition, tn_value output) {
    const char *path = definition->result;
    while (path != NULL && *path != 0) {
        char name[256];
        size_t length = strcspn(path, ".");
        if (length >= sizeof(name)) return tn.value->make_null();
        memcpy(name, path, length);
        name[length] = 0;
        output = tn.value->get(output, name);
        path += length + (path[length] == '.');
    }
    return output != NULL ? tn_retain(output) : tn.value->make_null();
}
