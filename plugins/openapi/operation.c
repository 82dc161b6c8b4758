/*
 * operation.c - converts the description of an operation to a component's manifest.
 */
#include "operation.h"
#include "form.h"
#include "idempotency.h"
#include "page.h"
#include "upload.h"
#include <ctype.h>
#include <stdio.h>
#include <strings.h>
#include <tenon/util/build.h>

#define TITLE_MAX         190
#define DOCUMENTATION_MAX 8000

/* ---- Parameters ---- */

static const char *const ins[] = {
    [IN_PATH] = "path", [IN_QUERY] = "query", [IN_HEADER] = "header", [IN_COOKIE] = "cookie"};

static bool read_in(const char *word, enum parameter_location *in) {
    for (int i = IN_PATH; i <= IN_COOKIE; i++) {
        if (strcmp(word, ins[i]) != 0) continue;
        *in = (enum parameter_location)i;
        return true;
    }
    return false;
}

static enum style read_style(enum parameter_location in, const char *word) {
    static const struct {
        const char *word;
        enum style style;
    } styles[] = {{"simple", STYLE_SIMPLE},  {"label", STYLE_LABEL},          {"matrix", STYLE_MATRIX},
                  {"form", STYLE_FORM},      {"spaceDelimited", STYLE_SPACE}, {"pipeDelimited", STYLE_PIPE},
                  {"deepObject", STYLE_DEEP}};
    for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
        if (strcmp(word, styles[i].word) == 0) return styles[i].style;
    return in == IN_QUERY || in == IN_COOKIE ? STYLE_FORM : STYLE_SIMPLE;
}

static int32_t operation_read_bool(tn_value object, const char *key, int32_t otherwise) {
    int32_t found = otherwise;
    (void)tn.value->as_bool(tn_get(object, key), &found);
    return found;
}

/* OpenAPI defines these headers by other members of an operation; the idempotency key is the host's. */
static bool is_ignored_header(const struct operation *operation, enum parameter_location in, const char *name) {
    static const char *const names[] = {"accept", "content-type", "authorization"};
    tn_value configured = operation->service->idempotency_header;
    if (in == IN_HEADER && idempotency_applies(configured, tn_chars(operation->method, NULL)) &&
        strcasecmp(name, idempotency_header_name(configured)) == 0)
        return true;
    for (size_t i = 0; in == IN_HEADER && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(name, names[i]) == 0) return true;
    return false;
}

static const struct parameter *find_property(const struct operation *operation, const char *property) {
    for (uint32_t i = 0; i < operation->count; i++)
        if (strcmp(tn_chars(operation->parameters[i].property, NULL), property) == 0) return &operation->parameters[i];
    return NULL;
}

/* Returns the name, or NAME_IN (id_query) if a parameter at another location has the same name. */
static tn_value add_property(const struct operation *operation, const char *name, enum parameter_location in) {
    if (find_property(operation, name) == NULL) return tn_text(name);
    struct tn_text_buffer property = {.limit = 1024};
    tn_text_append(&property, name);
    tn_text_append(&property, "_");
    tn_text_append(&property, ins[in]);
    return tn_text_finish(&property);
}

/* Returns the schema of a parameter: its `schema`, or that of its only `content`. */
static struct document_node parameter_schema(struct document_node parameter, bool *json) {
    struct document_node schema = {parameter.document, tn_get(parameter.value, "schema")};
    tn_value content = tn_get(parameter.value, "content"), key, value;
    *json = schema.value == NULL && tn.value->entry(content, 0, &key, &value) == TN_OK;
    if (*json) schema = (struct document_node){parameter.document, tn_get(value, "schema")};
    return schema;
}

/* Puts a schema; adds `description` if the schema has none. */
static void put_described(tn_builder *out, const char *key, tn_value schema, const char *description) {
    if (description != NULL && *description != 0 && tn.value->kind(schema) == TN_OBJECT &&
        tn_get(schema, "description") == NULL && tn_get(schema, "$ref") == NULL) {
        tn_put_take(out, key, tn_set_take(tn_retain(schema), "description", tn_text(description)));
    } else {
        tn_put(out, key, schema);
    }
}

/* The schema of an operation's arguments while it is being built. */
struct schema_inputs {
    struct service_reader *reader;
    struct operation *operation;
    struct schema_maker maker;
    tn_builder *properties, *required;
};

static bool log_omitted(const struct operation *operation, const char *why) {
    service_log(operation->service, TN_LOG_WARN, "%s %s is left out: %s", tn_chars(operation->method, NULL),
                tn_chars(operation->path, NULL), why);
    return false;
}

static bool operation_add_parameter(struct schema_inputs *inputs, struct document_node node) {
    struct operation *operation = inputs->operation;
    const char *name = tn_get_text(node.value, "name", ""), *where = tn_get_text(node.value, "in", "");
    enum parameter_location in;
    if (*name == 0 || !read_in(where, &in))
        return log_omitted(operation, "a parameter has no `name`, or its `in` is not path, query, header or cookie");
    for (uint32_t i = 0; i < operation->count;
         i++) /* an operation's own parameters come first and override its path's */
        if (operation->parameters[i].in == in && strcmp(tn_chars(operation->parameters[i].name, NULL), name) == 0)
            return true;
    if (is_ignored_header(operation, in, name)) return true;
    if (operation->count >= PARAMETERS_MAX) return log_omitted(operation, "the operation has too many parameters");
    struct parameter parameter = {.name = tn_text(name), .property = add_property(operation, name, in), .in = in};
    parameter.style = read_style(in, tn_get_text(node.value, "style", ""));
    parameter.explode = operation_read_bool(node.value, "explode", parameter.style == STYLE_FORM) != 0;
    parameter.reserved = operation_read_bool(node.value, "allowReserved", 0) != 0;
    struct document_node schema = parameter_schema(node, &parameter.json);
    operation->parameters[operation->count++] = parameter;
    tn_value converted = schema.value != NULL ? schema_convert(&inputs->maker, schema) : tn_bool(1);
    put_described(inputs->properties, tn_chars(parameter.property, NULL), converted,
                  tn_get_text(node.value, "description", NULL));
    tn_release(converted);
    if (in == IN_PATH || operation_read_bool(node.value, "required", 0))
        tn_put(inputs->required, NULL, parameter.property);
    return true;
}

static bool operation_add_parameters(struct schema_inputs *inputs, struct document_node list) {
    for (uint64_t i = 0, count = tn.value->count(list.value); i < count; i++) {
        struct document_node node = node_get_item(&inputs->reader->documents, list, i);
        if (node.value == NULL) return log_omitted(inputs->operation, "a parameter is a reference without a target");
        if (!operation_add_parameter(inputs, node)) return false;
    }
    return true;
}

/* ---- The body ---- */

enum media_rank { RANK_JSON, RANK_OTHER_JSON, RANK_FILES, RANK_FORM, RANK_MULTIPART, RANK_TEXT, RANK_BYTES };

/* The lower, the better. A form with files is better as multipart, which can have them. */
static enum media_rank media_type_rank(struct documents *documents, const char *media_type,
                                       struct document_node schema) {
    size_t length = strcspn(media_type, ";");
    if (strncmp(media_type, "application/json", 16) == 0) return RANK_JSON;
    if (length > 5 && strncmp(media_type + length - 5, "+json", 5) == 0) return RANK_OTHER_JSON;
    if (strncmp(media_type, "application/x-www-form-urlencoded", 33) == 0) return RANK_FORM;
    if (strncmp(media_type, "multipart/form-data", 19) == 0)
        return form_has_files(documents, schema) ? RANK_FILES : RANK_MULTIPART;
    return strncmp(media_type, "text/", 5) == 0 ? RANK_TEXT : RANK_BYTES;
}

static tn_value convert_body_schema(struct schema_inputs *inputs, enum media_rank rank, struct document_node media,
                                    const char *description) {
    struct body *body = &inputs->operation->body;
    struct document_node schema = {media.document, tn_get(media.value, "schema")};
    if (rank == RANK_BYTES) return upload_make_schema(inputs->operation->service, description, true);
    if (schema.value == NULL) return tn_bool(1);
    if (rank != RANK_FILES && rank != RANK_MULTIPART) return schema_convert(&inputs->maker, schema);
    struct document_node encoding = node_get(&inputs->reader->documents, media, "encoding");
    return form_convert(&inputs->maker, inputs->operation->service, schema, encoding, body);
}

static void operation_add_body(struct schema_inputs *inputs, struct document_node node) {
    struct operation *operation = inputs->operation;
    struct body *body = &operation->body;
    struct documents *documents = &inputs->reader->documents;
    struct document_node content = node_get(documents, node, "content"), best = {0};
    const char *description = tn_get_text(node.value, "description", NULL);
    enum media_rank best_rank = RANK_BYTES;
    tn_value best_type = NULL;
    for (uint64_t i = 0, count = tn.value->count(content.value); i < count; i++) {
        tn_value type, media;
        if (tn.value->entry(content.value, i, &type, &media) != TN_OK) break;
        struct document_node schema = {content.document, tn_get(media, "schema")};
        enum media_rank rank = media_type_rank(documents, tn_chars(type, NULL), schema);
        if (best_type != NULL && rank >= best_rank) continue;
        best = (struct document_node){content.document, media};
        best_type = type;
        best_rank = rank;
    }
    if (best_type == NULL) return;
    body->property = tn_text(find_property(operation, "body") == NULL ? "body" : "request_body");
    body->required = operation_read_bool(node.value, "required", 0) != 0;
    body->is_file = best_rank == RANK_BYTES;
    /* A media type range: that of the file, or one of the range. */
    body->any_type = strchr(tn_chars(best_type, NULL), '*') != NULL;
    body->media_type = body->any_type ? tn_text("application/octet-stream") : tn_retain(best_type);
    tn_value converted = convert_body_schema(inputs, best_rank, best, description);
    put_described(inputs->properties, tn_chars(body->property, NULL), converted, description);
    tn_release(converted);
    if (body->required) tn_put(inputs->required, NULL, body->property);
}

static bool operation_has_files(const struct operation *operation) {
    bool files = operation->body.is_file;
    for (uint32_t i = 0; i < operation->body.part_count; i++)
        files = files || operation->body.parts[i].file != FILE_NONE;
    return files;
}

/* ---- Names ---- */

/* Replaces characters that a component's id cannot have by `_`; a part after a dot starts with a letter or a digit. */
static void put_operation_id(struct tn_text_buffer *out, const char *name) {
    bool fresh = true;
    for (; *name != 0 && out->length < 180; name++) {
        bool plain = isalnum((unsigned char)*name) != 0;
        if (plain || (!fresh && (*name == '_' || *name == '-')))
            tn_text_append_n(out, name, 1);
        else if (!fresh && out->bytes[out->length - 1] != '_')
            tn_text_append(out, "_");
        fresh = fresh && !plain;
    }
    while (out->length > 0 && out->bytes[out->length - 1] == '_') out->bytes[--out->length] = 0;
}

/* `operation_id` may be NULL. */
static tn_value make_tool_id(const struct operation *operation, const char *operation_id) {
    struct tn_text_buffer id = {.limit = 200};
    tn_text_append(&id, operation->service->name);
    tn_text_append(&id, ".");
    uint64_t before = id.length;
    if (operation_id != NULL) put_operation_id(&id, operation_id);
    if (id.length == before) {
        struct tn_text_buffer both = {.limit = 2000};
        const char *method = tn_chars(operation->method, NULL);
        for (; *method != 0; method++) {
            char small = (char)tolower((unsigned char)*method);
            tn_text_append_n(&both, &small, 1);
        }
        tn_text_append(&both, tn_chars(operation->path, NULL));
        put_operation_id(&id, tn_text_chars(&both));
        tn_text_free(&both);
    }
    if (id.length == before) tn_text_append(&id, "operation");
    return tn_text_finish(&id);
}

/* The first line that has a text, cut between characters. */
static tn_value operation_make_title(const struct operation *operation, tn_value node) {
    const char *summary = tn_get_text(node, "summary", "");
    struct tn_text_buffer title = {.limit = 600};
    summary += strspn(summary, " \t\r\n");
    if (*summary == 0) {
        tn_text_append(&title, tn_chars(operation->method, NULL));
        tn_text_append(&title, " ");
        summary = tn_chars(operation->path, NULL);
    }
    tn_text_append_n(&title, summary, tn_utf8_cut(summary, strcspn(summary, "\r\n"), TITLE_MAX));
    return tn_text_finish(&title);
}

static tn_value operation_make_documentation(const struct operation *operation, tn_value node) {
    const char *description = tn_get_text(node, "description", "");
    uint64_t length = tn_utf8_cut(description, strlen(description), DOCUMENTATION_MAX);
    struct tn_text_buffer text = {.limit = DOCUMENTATION_MAX + 4096};
    tn_text_append_n(&text, description, length);
    tn_text_append(&text, length > 0 ? "\n\n`" : "`");
    tn_text_append(&text, tn_chars(operation->method, NULL));
    tn_text_append(&text, " ");
    uint64_t path = strlen(tn_chars(operation->path, NULL));
    tn_text_append_n(&text, tn_chars(operation->path, NULL), path < 2000 ? path : 0);
    tn_text_append(&text, "`");
    return tn_text_finish(&text);
}

/* ---- The component ---- */

static void put_prefixed_effects(tn_builder *out, const char *prefix, tn_value list) {
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        struct tn_text_buffer effect = TN_TEXT_BUFFER(8192);
        tn_text_append(&effect, prefix);
        tn_text_append(&effect, tn_chars(tn.value->at(list, i), NULL));
        tn_put_take(out, NULL, tn_text_finish(&effect));
    }
}

static void put_operation_effects(tn_builder *out, const struct operation *operation) {
    const char *url = tn_chars(operation->service->base_url, NULL), *method = tn_chars(operation->method, NULL);
    const char *host = strstr(url, "://");
    struct tn_text_buffer effect = {.limit = 900};
    host = host != NULL ? host + 3 : url;
    tn_text_append(&effect, "network.http:");
    tn_text_append_n(&effect, host, strcspn(host, "/?#"));
    tn_put_begin(out, "effects", TN_ARRAY);
    tn_put_take(out, NULL, tn_text_finish(&effect));
    put_prefixed_effects(out, "network.http:", operation->service->redirect_hosts);
    if (operation_has_files(operation)) {
        put_prefixed_effects(out, "fs.read:", operation->service->upload_roots);
        if (openapi_state != NULL) tn_put_text(out, NULL, "state.read");
    }
    if (strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0 || strcmp(method, "DELETE") == 0)
        tn_put_text(out, NULL, "destructive");
    tn.value->end(out);
}

static tn_value make_input_schema(struct schema_inputs *inputs) {
    tn_builder *out = tn_builder_new();
    tn_value defs = schema_make_definitions(&inputs->maker);
    tn_value properties, required;
    tn.value->end(inputs->properties);
    tn.value->end(inputs->required);
    properties = tn_finish(inputs->properties);
    required = tn_finish(inputs->required);
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "type", "object");
    tn_put_take(out, "properties", properties);
    if (tn.value->count(required) > 0) tn_put(out, "required", required);
    tn_put_bool(out, "additionalProperties", 0);
    if (defs != NULL) tn_put_take(out, "$defs", defs);
    tn.value->end(out);
    tn_release(required);
    return tn_finish(out);
}

static tn_value make_tool_component(const struct operation *operation, tn_value node, tn_value input) {
    const char *method = tn_chars(operation->method, NULL);
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "kind", "tool");
    tn_put(out, "id", operation->id);
    tn_put_take(out, "title", operation_make_title(operation, node));
    tn_put_take(out, "documentation", operation_make_documentation(operation, node));
    tn_put_text(out, "style", "async");
    put_operation_effects(out, operation);
    if (!method_is_safe(method) && !idempotency_applies(operation->service->idempotency_header, method))
        tn_put_bool(out, "idempotency_key", 0);
    /* Idempotent methods of HTTP (RFC 9110, 9.2.2). */
    if (strcmp(method, "POST") != 0 && strcmp(method, "PATCH") != 0) tn_put_bool(out, "idempotent", 1);
    if (operation_read_bool(node, "deprecated", 0))
        tn_put_text(out, "deprecated", "The service's description says so.");
    tn_put(out, "input", input);
    tn.value->end(out);
    return tn_finish(out);
}

static void put_pages_argument(tn_builder *properties) {
    tn_put_begin(properties, PAGES_ARGUMENT, TN_OBJECT);
    tn_put_text(properties, "type", "integer");
    tn_put_int(properties, "minimum", 1);
    tn_put_int(properties, "maximum", PAGES_MAX);
    tn_put_text(properties, "description",
                "How many pages of the result to get. 1, the default: the answer of the service. More: {items, pages, "
                "more} with the items of all pages; `more` says whether there are further ones.");
    tn.value->end(properties);
}

void operation_set_identity(const struct service_reader *reader, struct operation *operation, const char *method,
                            const char *path, struct document_node node) {
    operation->service = reader->service;
    operation->method = tn_text(method);
    operation->path = tn_text(path);
    operation->id = make_tool_id(operation, tn_get_text(node.value, "operationId", NULL));
    operation->operation_id = tn_retain(tn_get(node.value, "operationId"));
    if (tn_chars(operation->operation_id, NULL) == NULL) {
        tn_release(operation->operation_id);
        operation->operation_id = NULL;
    }
}

void operation_rename(struct operation *operation) {
    tn_release(operation->id);
    operation->id = make_tool_id(operation, NULL);
}

bool operation_read(struct service_reader *reader, struct operation *operation, struct document_node item,
                    struct document_node node) {
    struct schema_inputs inputs = {.reader = reader, .operation = operation};
    operation->parameters = tn.core->alloc(tn.host, PARAMETERS_MAX * sizeof(*operation->parameters));
    if (operation->parameters == NULL) return false;
    inputs.maker = (struct schema_maker){.library = &reader->library};
    inputs.properties = tn_builder_new();
    inputs.required = tn_builder_new();
    tn.value->begin(inputs.properties, TN_OBJECT);
    tn.value->begin(inputs.required, TN_ARRAY);
    struct document_node own = node_get(&reader->documents, node, "parameters");
    struct document_node shared = node_get(&reader->documents, item, "parameters");
    struct document_node body = node_get(&reader->documents, node, "requestBody");
    bool good = operation_add_parameters(&inputs, own) && operation_add_parameters(&inputs, shared);
    if (good && body.value == NULL && tn_get(node.value, "requestBody") != NULL)
        good = log_omitted(operation, "the request body is a reference without a target");
    if (good && body.value != NULL) operation_add_body(&inputs, body);
    if (good) paging_read(reader, operation, node);
    if (good && operation->paging.kind != PAGING_NONE) put_pages_argument(inputs.properties);
    tn_value input = make_input_schema(&inputs);
    if (good) operation->component = make_tool_component(operation, node.value, input);
    tn_release(input);
    reader->nodes += inputs.maker.nodes;
    schema_finish(&inputs.maker);
    /* Release the unused memory. */
    uint64_t size = (operation->count > 0 ? operation->count : 1) * sizeof(*operation->parameters);
    struct parameter *fitting = tn.core->resize(tn.host, operation->parameters, size);
    if (fitting != NULL) operation->parameters = fitting;
    return operation->component != NULL;
}

void operation_finish(struct operation *operation) {
    for (uint32_t i = 0; i < operation->count; i++) {
        tn_release(operation->parameters[i].name);
        tn_release(operation->parameters[i].property);
    }
    if (operation->parameters != NULL) tn.core->release(tn.host, operation->parameters);
    tn_release(operation->id);
    tn_release(operation->operation_id);
    tn_release(operation->method);
    tn_release(operation->path);
    tn_release(operation->component);
    paging_finish(&operation->paging);
    form_finish(&operation->body);
    tn_release(operation->body.property);
    tn_release(operation->body.media_type);
    tn_release(operation->missing);
}
