/*
 * definition.c - reads a description and takes the missing members from its document (input, name, description). The
 * host has checked descriptions in tenon.yaml against the plugin's schema. Descriptions in files were not checked, so
 * all members are checked here.
 */
#include "definition.h"
#include "fill.h"
#include "idempotency.h"
#include "yaml_file.h"
#include <stdarg.h>
#include <stdio.h>

static bool log_description_error(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool log_description_error(const char *where, const char *format, ...) {
    char text[1024];
    va_list args;
    int length = snprintf(text, sizeof(text), "%.500s: ", where);
    va_start(args, format);
    (void)vsnprintf(text + length, sizeof(text) - (size_t)length, format, args);
    va_end(args);
    tn_log(TN_LOG_ERROR, text);
    return false;
}

static bool is_string(tn_value value) { return tn.value->kind(value) == TN_STRING; }
static bool is_mapping(tn_value value) { return tn.value->kind(value) == TN_OBJECT; }

/* ---- Members of define.json ---- */

struct member {
    const char *name;
    int32_t kind; /* ANY: every kind is accepted */
};

enum { ANY = -1 };

static const struct member tool_members[] = {{"name", TN_STRING},
                                             {"title", TN_STRING},
                                             {"description", TN_STRING},
                                             {"input", TN_OBJECT},
                                             {"output", TN_OBJECT},
                                             {"effects", TN_ARRAY},
                                             {"tool", TN_STRING},
                                             {"arguments", TN_OBJECT},
                                             {"http", TN_OBJECT},
                                             {"command", TN_ARRAY},
                                             {"stdin", TN_STRING},
                                             {"output_as", TN_STRING},
                                             {"timeout_ms", TN_INT},
                                             {"document", TN_STRING},
                                             {"result", TN_STRING},
                                             {"env", TN_OBJECT},
                                             {"inherit_env", TN_ARRAY},
                                             {"sandbox", TN_BOOL},
                                             {NULL, ANY}};
static const struct member http_members[] = {
    {"url", TN_STRING}, {"method", TN_STRING},  {"query", TN_OBJECT},  {"headers", TN_OBJECT},      {"body", TN_STRING},
    {"json", ANY},      {"timeout_ms", TN_INT}, {"max_bytes", TN_INT}, {"idempotency_header", ANY}, {NULL, ANY}};

/* Refuses unknown keys, because a misspelt limit would otherwise be ignored. */
static bool description_check_members(tn_value value, const struct member *members, const char *where,
                                      const char *prefix) {
    for (uint64_t i = 0, count = tn.value->count(value); i < count; i++) {
        tn_value key, item;
        if (tn.value->entry(value, i, &key, &item) != TN_OK) return false;
        const struct member *member = members;
        while (member->name != NULL && strcmp(member->name, tn_chars(key, NULL)) != 0) member++;
        if (member->name == NULL)
            return log_description_error(where, "found the unknown key `%s%.100s`", prefix, tn_chars(key, NULL));
        if (member->kind != ANY && tn.value->kind(item) != member->kind)
            return log_description_error(
                where, "`%s%s` is of the wrong kind; `tenon plugin show tenon.define` shows the expected one", prefix,
                member->name);
        if (member->kind == TN_INT && tn_get_int(value, member->name, 0) < 1)
            return log_description_error(where, "`%s%s`: expected at least 1", prefix, member->name);
    }
    return true;
}

/* ---- Implementation ---- */

static bool is_list_of_strings(tn_value list) {
    bool good = tn.value->kind(list) == TN_ARRAY;
    for (uint64_t i = 0, count = tn.value->count(list); good && i < count; i++) good = is_string(tn.value->at(list, i));
    return good;
}

static bool is_command(tn_value command) {
    uint64_t count = tn.value->count(command);
    return is_list_of_strings(command) && count > 0 && count <= 256;
}

/* What concerns only commands. A file of descriptions may come from elsewhere: it cannot switch off the sandbox. */
static bool definition_read_command(struct definition *definition, const char *where, bool in_config) {
    static const char *const names[] = {"env", "inherit_env", "sandbox"};
    tn_value sandbox = tn_get(definition->value, "sandbox");
    tn_value inherited = tn_get(definition->value, "inherit_env");
    bool command = definition->implementation == BY_COMMAND;
    for (size_t i = 0; !command && i < sizeof(names) / sizeof(names[0]); i++)
        if (tn_get(definition->value, names[i]) != NULL)
            return log_description_error(where, "`%s`: expected only with `command`", names[i]);
    if (inherited != NULL && !is_list_of_strings(inherited))
        return log_description_error(where, "`inherit_env`: expected a list of names of variables");
    int32_t wanted = 1;
    if (sandbox != NULL) (void)tn.value->as_bool(sandbox, &wanted);
    definition->sandboxed = command && wanted != 0;
    if (command && !definition->sandboxed && !in_config)
        return log_description_error(where, "found `sandbox: false`, which is allowed only in tenon.yaml itself");
    return true;
}

static bool is_header_setting(tn_value value) {
    static const char token[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint64_t length = 0;
    const char *name = tn_chars(value, &length);
    int32_t on = 1;
    if (value == NULL) return true;
    if (name == NULL) return tn.value->as_bool(value, &on) == TN_OK && on == 0;
    return length > 0 && length <= 100 && strspn(name, token) == length;
}

static bool definition_read_implementation(struct definition *definition, const char *where) {
    static const char *const names[] = {"tool", "http", "command", "document"};
    uint32_t found = 0;
    for (int i = BY_TOOL; i <= BY_DOCUMENT; i++) {
        if (tn_get(definition->value, names[i]) == NULL) continue;
        definition->implementation = (enum implementation)i;
        found++;
    }
    if (found != 1)
        return log_description_error(where,
                                     "found %s of `tool`, `http`, `command` and `document`, expected exactly one, the "
                                     "implementation of the tool",
                                     found == 0 ? "none" : "several");
    tn_value by = tn_get(definition->value, names[definition->implementation]);
    switch (definition->implementation) {
    case BY_HTTP:
        if (!is_mapping(by) || !is_string(tn_get(by, "url")))
            return log_description_error(where, "`http`: expected a mapping with `url`");
        return is_header_setting(tn_get(by, "idempotency_header")) ||
               log_description_error(where, "`http.idempotency_header`: expected the name of a header, or false");
    case BY_COMMAND:
        return is_command(by) || log_description_error(where, "`command`: expected a list of 1 to 256 strings");
    default:
        return is_string(by) ||
               log_description_error(where, "`%s`: expected a string", names[definition->implementation]);
    }
}

/* ---- Documents ---- */

/* `pack:NAME/FILE` or `tenon:NAME`, which only the host can resolve. */
static bool is_installed_name(const char *name) {
    return strncmp(name, "pack:", 5) == 0 || strncmp(name, "tenon:", 6) == 0;
}

static tn_value document_path(tn_value document, const char *folder) {
    const char *name = tn_chars(document, NULL);
    if (name[0] == '/' || folder == NULL || is_installed_name(name)) return tn_retain(document);
    struct tn_text_buffer path = {.limit = 4096};
    tn_text_append(&path, folder);
    tn_text_append(&path, "/");
    tn_text_append(&path, name);
    return tn_text_finish(&path);
}

struct document_parts { /* borrowed from `root`, which is owned */
    tn_value root, name, description, input, output;
};

/* The host resolves and verifies an installed name when the tool is called, so the document is not read here. */
static bool definition_read_document(struct definition *definition, struct document_parts *document_parts,
                                     const char *where, const char *folder) {
    definition->document = document_path(tn_get(definition->value, "document"), folder);
    if (definition->document == NULL) return log_description_error(where, "`document`: out of memory");
    const char *path = tn_chars(definition->document, NULL);
    if (is_installed_name(path)) return true;
    struct tn_text_buffer name = {.limit = 8192};
    tn_text_append(&name, where);
    tn_text_append(&name, ": `document`: ");
    tn_text_append(&name, path);
    document_parts->root = yaml_read_file(path, tn_text_chars(&name));
    tn_text_free(&name);
    if (document_parts->root == NULL) return false;
    tn_value agent = tn_get(document_parts->root, "agent");
    document_parts->name = tn_get(agent, "name");
    document_parts->description = tn_get(agent, "description");
    document_parts->input = tn_get(document_parts->root, "input");
    document_parts->output = tn_get(document_parts->root, "output");
    return true;
}

/* ---- The component ---- */

/* The right to call the tool or document that implements this one. */
static void definition_put_call(tn_builder *out, const struct definition *definition) {
    struct tn_text_buffer right = {.limit = 8192};
    if (definition->implementation == BY_TOOL) {
        tn_text_append(&right, "calls.tool:");
        tn_text_append(&right, tn_get_text(definition->value, "tool", ""));
    } else {
        tn_text_append(&right, "calls.document:");
        tn_text_append(&right, tn_chars(definition->document, NULL));
    }
    tn_put_take(out, NULL, tn_text_finish(&right));
}

static void definition_put_effects(tn_builder *out, const struct definition *definition) {
    tn_value declared = tn_get(definition->value, "effects"), http = tn_get(definition->value, "http");
    bool calls = definition->implementation == BY_TOOL || definition->implementation == BY_DOCUMENT;
    tn_put_begin(out, "effects", TN_ARRAY);
    if (tn.value->kind(declared) == TN_ARRAY) {
        for (uint64_t i = 0, count = tn.value->count(declared); i < count; i++)
            tn_put(out, NULL, tn.value->at(declared, i));
    } else if (definition->implementation != BY_HTTP) {
        tn_put_text(out, NULL, "unknown"); /* it has the effects of the implementation, whatever these are */
    } else {
        const char *url = tn_get_text(http, "url", ""), *method = tn_get_text(http, "method", "GET");
        const char *host = strstr(url, "://");
        struct tn_text_buffer effect = {.limit = 900};
        host = host != NULL ? host + 3 : url;
        tn_text_append(&effect, "network.http:");
        tn_text_append_n(&effect, host, strcspn(host, "/?#"));
        /* An argument in the host part can name any host. */
        if (memchr(host, '{', strcspn(host, "/?#")) != NULL) {
            tn_text_free(&effect);
            tn_text_append(&effect, "network.http");
        }
        tn_put_take(out, NULL, tn_text_finish(&effect));
        if (strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0 || strcmp(method, "DELETE") == 0)
            tn_put_text(out, NULL, "destructive");
    }
    if (calls) definition_put_call(out, definition);
    tn.value->end(out);
}

/* True if the tool changes something and its request has no header for an idempotency key. */
static bool definition_has_no_key(const struct definition *definition) {
    tn_value http = tn_get(definition->value, "http");
    bool sends = tn_get(http, "body") != NULL || tn_get(http, "json") != NULL;
    return definition->implementation == BY_HTTP &&
           !method_is_safe(tn_get_text(http, "method", sends ? "POST" : "GET")) &&
           idempotency_header_name(tn_get(http, "idempotency_header")) == NULL;
}

/* One line of at most 200 bytes. */
static tn_value definition_title(const struct definition *definition, tn_value description) {
    const char *source = tn_get_text(definition->value, "title", NULL), *text = tn_chars(description, NULL);
    struct tn_text_buffer title = {.limit = 400};
    if (source == NULL) source = text != NULL && *text != 0 ? text : tn_chars(definition->id, NULL);
    tn_text_append_n(&title, source, tn_utf8_cut(source, strcspn(source, "\r\n"), 190));
    return tn_text_finish(&title);
}

static bool definition_make_component(struct definition *definition, const struct document_parts *document_parts) {
    static const char anything[] = "{\"type\": \"object\"}";
    tn_value description = tn_get(definition->value, "description"), any = NULL;
    tn_value input = tn_get(definition->value, "input"), output = tn_get(definition->value, "output");
    if (!is_string(description)) description = document_parts->description;
    if (!is_mapping(input)) input = document_parts->input;
    if (!is_mapping(output) && definition->result == NULL) output = document_parts->output;
    any = tn_from_json(anything, sizeof(anything) - 1);
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "kind", "tool");
    tn_put(out, "id", definition->id);
    tn_put_take(out, "title", definition_title(definition, description));
    if (is_string(description) && tn_chars(description, NULL)[0] != 0) tn_put(out, "documentation", description);
    tn_put_text(out, "style", "async");
    definition_put_effects(out, definition);
    if (definition_has_no_key(definition)) tn_put_bool(out, "idempotency_key", 0);
    tn_put(out, "input", is_mapping(input) && tn.value->count(input) > 0 ? input : any);
    if (is_mapping(output) && tn.value->count(output) > 0) tn_put(out, "output", output);
    tn.value->end(out);
    definition->component = tn_finish(out);
    tn_release(any);
    return definition->component != NULL;
}

/* ---- Reading ---- */

static bool definition_read_members(struct definition *definition, struct document_parts *document_parts,
                                    const char *where, const char *folder, bool in_config) {
    if (!description_check_members(definition->value, tool_members, where, "")) return false;
    if (!description_check_members(tn_get(definition->value, "http"), http_members, where, "http.")) return false;
    if (!definition_read_implementation(definition, where)) return false;
    if (!definition_read_command(definition, where, in_config)) return false;
    if (definition->implementation == BY_DOCUMENT &&
        !definition_read_document(definition, document_parts, where, folder))
        return false; /* logged */
    tn_value name = tn_get(definition->value, "name");
    if (!is_string(name)) name = document_parts->name;
    if (!is_string(name)) return log_description_error(where, "`name` is missing; expected the name of the tool");
    definition->id = tn_retain(name);
    definition->result = tn_get_text(definition->value, "result", NULL);
    tn_value arguments = tn_get(definition->value, "arguments");
    if (is_mapping(arguments)) definition->arguments = tn_retain(arguments);
    tn_value input = tn_get(definition->value, "input");
    char unknown[FILL_NAME_MAX];
    const char *why =
        fill_check_placeholders(definition->value, is_mapping(input) ? input : document_parts->input, unknown);
    if (unknown[0] != 0) {
        char text[1024];
        (void)snprintf(text, sizeof(text),
                       "%.500s: `%.100s`: `input` has no argument {%.200s}; it is replaced by nothing", where,
                       tn_chars(name, NULL), unknown);
        tn_log(TN_LOG_WARN, text);
    }
    if (why != NULL) return log_description_error(where, "`%s`: %s", tn_chars(name, NULL), why);
    return definition_make_component(definition, document_parts);
}

struct definition *definition_read(tn_value value, const char *where, const char *folder, bool in_config) {
    struct document_parts document_parts = {0};
    if (!is_mapping(value)) {
        (void)log_description_error(where, "expected a mapping that describes a tool");
        return NULL;
    }
    struct definition *definition = tn.core->alloc(tn.host, sizeof(*definition));
    if (definition == NULL) return NULL;
    memset(definition, 0, sizeof(*definition));
    definition->value = tn_retain(value);
    bool good = definition_read_members(definition, &document_parts, where, folder, in_config);
    tn_release(document_parts.root);
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

tn_value definition_select_result(const struct definition *definition, tn_value output) {
    const char *path = definition->result;
    while (path != NULL && *path != 0) {
        char name[256];
        size_t length = strcspn(path, ".");
        if (length >= sizeof(name)) return tn_null();
        memcpy(name, path, length);
        name[length] = 0;
        output = tn_get(output, name);
        path += length + (path[length] == '.');
    }
    return output != NULL ? tn_retain(output) : tn_null();
}
