/*
 * operation.c - from the description of an operation to a component's manifest.
 */
#include "operation.h"
#include "schema.h"
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#define DOCUMENTATION_MAX 8000

/* ---- Parameters ---- */

static const char *const ins[] = {
    [IN_PATH] = "path", [IN_QUERY] = "query", [IN_HEADER] = "header", [IN_COOKIE] = "cookie"};

static bool read_in(const char *word, enum place_in *in) {
    for (int i = IN_PATH; i <= IN_COOKIE; i++) {
        if (strcmp(word, ins[i]) != 0) continue;
        *in = (enum place_in)i;
        return true;
    }
    return false;
}

static enum style read_style(enum place_in in, const char *word) {
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

static int32_t truth(tn_value object, const char *key, int32_t otherwise) {
    int32_t found = otherwise;
    (void)tn.value->as_bool(tn.value->get(object, key), &found);
    return found;
}

/* OpenAPI leaves these to other members of an operation. */
static bool is_ignored(enum place_in in, const char *name) {
    static const char *const names[] = {"accept", "content-type", "authorization"};
    for (size_t i = 0; in == IN_HEADER && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(name, names[i]) == 0) return true;
    return false;
}

static const struct parameter *find_property(const struct operation *operation, const char *property) {
    for (uint32_t i = 0; i < operation->count; i++)
        if (strcmp(tn_chars(operation->parameters[i].property, NULL), property) == 0) return &operation->parameters[i];
    return NULL;
}

/* The name itself, or with its place behind it where another place has the name too. */
static tn_value property_of(const struct operation *operation, const char *name, enum place_in in) {
    if (find_property(operation, name) == NULL) return tn_text(name);
    struct text property = {.limit = 1024};
    text_put(&property, name);
    text_put(&property, "_");
    text_put(&property, ins[in]);
    return text_finish(&property);
}

/* The schema of a parameter: its own, or that of its one content. */
static struct place schema_of(struct reading *reading, struct place parameter, bool *json) {
    struct place schema = {parameter.document, tn.value->get(parameter.value, "schema")};
    tn_value content = tn.value->get(parameter.value, "content"), key, value;
    *json = schema.value == NULL && tn.value->entry(content, 0, &key, &value) == TN_OK;
    if (*json) schema = (struct place){parameter.document, tn.value->get(value, "schema")};
    (void)reading;
    return schema;
}

/* Puts a schema with a description of its own where it has none. */
static void put_described(tn_builder *out, const char *key, tn_value schema, const char *description) {
    if (description != NULL && *description != 0 && tn.value->kind(schema) == TN_OBJECT &&
        tn.value->get(schema, "description") == NULL && tn.value->get(schema, "$ref") == NULL) {
        tn_value text = tn_text(description);
        tn_put_take(out, key, tn.value->set(schema, "description", text));
        tn_release(text);
    } else {
        tn_put(out, key, schema);
    }
}

struct making {
    struct reading *reading;
    struct operation *operation;
    struct schema_maker maker;
    tn_builder *properties, *required;
};

static bool leave_out(const struct operation *operation, const char *why) {
    service_say(operation->service, TN_LOG_WARN, "%s %s is left out: %s", tn_chars(operation->method, NULL),
                tn_chars(operation->path, NULL), why);
    return false;
}

static bool add_parameter(struct making *making, struct place place) {
    struct operation *operation = making->operation;
    const char *name = tn_get_text(place.value, "name", ""), *where = tn_get_text(place.value, "in", "");
    enum place_in in;
    if (*name == 0 || !read_in(where, &in))
        return leave_out(operation, "a parameter has no `name`, or `in` is none of path, query, header and cookie");
    for (uint32_t i = 0; i < operation->count; i++) /* an operation's own comes first, and hides its path's */
        if (operation->parameters[i].in == in && strcmp(tn_chars(operation->parameters[i].name, NULL), name) == 0)
            return true;
    if (is_ignored(in, name)) return true;
    if (operation->count >= PARAMETERS_MAX) return leave_out(operation, "it has too many parameters");
    struct parameter parameter = {.name = tn_text(name), .property = property_of(operation, name, in), .in = in};
    parameter.style = read_style(in, tn_get_text(place.value, "style", ""));
    parameter.explode = truth(place.value, "explode", parameter.style == STYLE_FORM) != 0;
    parameter.reserved = truth(place.value, "allowReserved", 0) != 0;
    struct place schema = schema_of(making->reading, place, &parameter.json);
    operation->parameters[operation->count++] = parameter;
    tn_value converted = schema.value != NULL ? schema_convert(&making->maker, schema) : tn_bool(1);
    put_described(making->properties, tn_chars(parameter.property, NULL), converted,
                  tn_get_text(place.value, "description", NULL));
    tn_release(converted);
    if (in == IN_PATH || truth(place.value, "required", 0)) tn_put(making->required, NULL, parameter.property);
    return true;
}

static bool add_parameters(struct making *making, struct place list) {
    for (uint64_t i = 0, count = tn.value->count(list.value); i < count; i++) {
        struct place place = place_at(&making->reading->documents, list, i);
        if (place.value == NULL)
            return leave_out(making->operation, "what is to be a parameter is a reference that leads nowhere");
        if (!add_parameter(making, place)) return false;
    }
    return true;
}

/* ---- The body ---- */

static int32_t rank(const char *media_type) {
    size_t length = strcspn(media_type, ";");
    if (strncmp(media_type, "application/json", 16) == 0) return 0;
    if (length > 5 && strncmp(media_type + length - 5, "+json", 5) == 0) return 1;
    if (strncmp(media_type, "application/x-www-form-urlencoded", 33) == 0) return 2;
    if (strncmp(media_type, "multipart/form-data", 19) == 0) return 3;
    if (strncmp(media_type, "text/", 5) == 0) return 4;
    return 5;
}

static void add_body(struct making *making, struct place body) {
    struct operation *operation = making->operation;
    struct place content = place_get(&making->reading->documents, body, "content");
    tn_value best = NULL, best_type = NULL;
    for (uint64_t i = 0, count = tn.value->count(content.value); i < count; i++) {
        tn_value type, media;
        if (tn.value->entry(content.value, i, &type, &media) != TN_OK) break;
        if (best_type != NULL && rank(tn_chars(type, NULL)) >= rank(tn_chars(best_type, NULL))) continue;
        best = media;
        best_type = type;
    }
    if (best_type == NULL) return;
    operation->body.property = tn_text(find_property(operation, "body") == NULL ? "body" : "request_body");
    operation->body.required = truth(body.value, "required", 0) != 0;
    const char *type = tn_chars(best_type, NULL);
    /* A range of types: some one of them. */
    operation->body.media_type = strchr(type, '*') != NULL ? tn_text("application/octet-stream") : tn_retain(best_type);
    struct place schema = {content.document, tn.value->get(best, "schema")};
    tn_value converted = schema.value != NULL && rank(type) < 5 ? schema_convert(&making->maker, schema) : NULL;
    if (converted == NULL) {
        /* Bytes, as base64: what a model can write. */
        static const char base64[] = "{\"type\": \"string\", \"contentEncoding\": \"base64\"}", any[] = "true";
        bool bytes = rank(type) == 5;
        (void)tn.value->from_json(bytes ? base64 : any, bytes ? sizeof(base64) - 1 : 4, &converted);
    }
    put_described(making->properties, tn_chars(operation->body.property, NULL), converted,
                  tn_get_text(body.value, "description", NULL));
    tn_release(converted);
    if (operation->body.required) tn_put(making->required, NULL, operation->body.property);
}

/* ---- Names ---- */

/* What a component's id may have, the rest as `_`; a part after a dot begins with a letter or a digit. */
static void put_id(struct text *out, const char *name) {
    bool fresh = true;
    for (; *name != 0 && out->length < 180; name++) {
        bool plain = isalnum((unsigned char)*name) != 0;
        if (plain || (!fresh && (*name == '_' || *name == '-')))
            text_add(out, name, 1);
        else if (!fresh && out->data[out->length - 1] != '_')
            text_put(out, "_");
        fresh = fresh && !plain;
    }
    while (out->length > 0 && out->data[out->length - 1] == '_') out->data[--out->length] = 0;
}

static tn_value id_of(const struct operation *operation, tn_value place) {
    const char *given = tn_get_text(place, "operationId", NULL);
    struct text id = {.limit = 200};
    text_put(&id, operation->service->name);
    text_put(&id, ".");
    uint64_t before = id.length;
    if (given != NULL) put_id(&id, given);
    if (id.length == before) {
        struct text both = {.limit = 2000};
        const char *method = tn_chars(operation->method, NULL);
        for (; *method != 0; method++) {
            char small = (char)tolower((unsigned char)*method);
            text_add(&both, &small, 1);
        }
        text_put(&both, tn_chars(operation->path, NULL));
        put_id(&id, text_chars(&both));
        text_free(&both);
    }
    if (id.length == before) text_put(&id, "operation");
    return text_finish(&id);
}

/* One line of at most 200 bytes, cut between characters. */
static tn_value title_of(const struct operation *operation, tn_value place) {
    const char *summary = tn_get_text(place, "summary", "");
    struct text title = {.limit = 600};
    if (summary[strspn(summary, " \t\r\n")] == 0) {
        text_put(&title, tn_chars(operation->method, NULL));
        text_put(&title, " ");
        summary = tn_chars(operation->path, NULL);
    }
    for (size_t i = 0; summary[i] != 0 && summary[i] != '\n' && summary[i] != '\r' && i < 190; i++)
        text_add(&title, &summary[i], 1);
    while (title.length > 180 && ((unsigned char)title.data[title.length - 1] & 0x80) != 0)
        title.data[--title.length] = 0;
    return text_finish(&title);
}

static tn_value documentation_of(const struct operation *operation, tn_value place) {
    const char *description = tn_get_text(place, "description", "");
    uint64_t length = strlen(description);
    struct text text = {.limit = DOCUMENTATION_MAX + 4096};
    if (length > DOCUMENTATION_MAX) {
        length = DOCUMENTATION_MAX;
        while (length > 0 && ((unsigned char)description[length] & 0xc0) == 0x80) length--;
    }
    text_add(&text, description, length);
    text_put(&text, length > 0 ? "\n\n`" : "`");
    text_put(&text, tn_chars(operation->method, NULL));
    text_put(&text, " ");
    uint64_t path = strlen(tn_chars(operation->path, NULL));
    text_add(&text, tn_chars(operation->path, NULL), path < 2000 ? path : 0);
    text_put(&text, "`");
    return text_finish(&text);
}

/* ---- The component ---- */

static void put_effects(tn_builder *out, const struct operation *operation) {
    const char *url = tn_chars(operation->service->base_url, NULL), *method = tn_chars(operation->method, NULL);
    const char *host = strstr(url, "://");
    struct text effect = {.limit = 900};
    host = host != NULL ? host + 3 : url;
    text_put(&effect, "network.http:");
    text_add(&effect, host, strcspn(host, "/?#"));
    tn_put_begin(out, "effects", TN_ARRAY);
    tn_put_take(out, NULL, text_finish(&effect));
    if (strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0 || strcmp(method, "DELETE") == 0)
        tn_put_text(out, NULL, "destructive");
    tn.value->end(out);
}

static tn_value input_of(struct making *making) {
    tn_builder *out = tn.value->builder();
    tn_value defs = schema_defs(&making->maker);
    tn_value properties, required;
    tn.value->end(making->properties);
    tn.value->end(making->required);
    properties = tn.value->finish(making->properties);
    required = tn.value->finish(making->required);
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "type", "object");
    tn_put_take(out, "properties", properties);
    if (tn.value->count(required) > 0) tn_put(out, "required", required);
    tn_put_bool(out, "additionalProperties", 0);
    if (defs != NULL) tn_put_take(out, "$defs", defs);
    tn.value->end(out);
    tn_release(required);
    return tn.value->finish(out);
}

static tn_value component_of(const struct operation *operation, tn_value place, tn_value input) {
    const char *method = tn_chars(operation->method, NULL);
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "kind", "tool");
    tn_put(out, "id", operation->id);
    tn_put_take(out, "title", title_of(operation, place));
    tn_put_take(out, "documentation", documentation_of(operation, place));
    tn_put_text(out, "style", "async");
    put_effects(out, operation);
    /* As HTTP has it (RFC 9110, 9.2.2): twice is as once. */
    if (strcmp(method, "POST") != 0 && strcmp(method, "PATCH") != 0) tn_put_bool(out, "idempotent", 1);
    if (truth(place, "deprecated", 0)) tn_put_text(out, "deprecated", "The service's description says so.");
    tn_put(out, "input", input);
    tn.value->end(out);
    return tn.value->finish(out);
}

void operation_name(const struct reading *reading, struct operation *operation, const char *method, const char *path,
                    struct place place) {
    operation->service = reading->service;
    operation->method = tn_text(method);
    operation->path = tn_text(path);
    operation->id = id_of(operation, place.value);
}

bool operation_read(struct reading *reading, struct operation *operation, struct place item, struct place place) {
    struct making making = {.reading = reading, .operation = operation};
    operation->parameters = tn.core->alloc(tn.host, PARAMETERS_MAX * sizeof(*operation->parameters));
    if (operation->parameters == NULL) return false;
    schema_init(&making.maker, &reading->documents, reading->old);
    making.properties = tn.value->builder();
    making.required = tn.value->builder();
    tn.value->begin(making.properties, TN_OBJECT);
    tn.value->begin(making.required, TN_ARRAY);
    struct place own = place_get(&reading->documents, place, "parameters");
    struct place shared = place_get(&reading->documents, item, "parameters");
    struct place body = place_get(&reading->documents, place, "requestBody");
    bool good = add_parameters(&making, own) && add_parameters(&making, shared);
    if (good && body.value == NULL && tn.value->get(place.value, "requestBody") != NULL)
        good = leave_out(operation, "what is to be its body is a reference that leads nowhere");
    if (good && body.value != NULL) add_body(&making, body);
    tn_value input = input_of(&making);
    if (good) operation->component = component_of(operation, place.value, input);
    tn_release(input);
    reading->nodes += making.maker.nodes;
    schema_finish(&making.maker);
    /* Only as much as there is. */
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
    tn_release(operation->method);
    tn_release(operation->path);
    tn_release(operation->component);
    tn_release(operation->body.property);
    tn_release(operation->body.media_type);
    tn_release(operation->missing);
}
