/*
 * page.c - reads how a description declares pages, and finds the next page in an answer.
 *
 * All declarations become one of three kinds: expressions for parameters, a place of a URL in the body, or the header.
 */
#include "page.h"
#include "location.h"
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>
#include <tenon/util/build.h>

#define POINTER_MAX 1000u /* bytes of a place in a body */

/* ---- Places in a body ---- */

/* The value at a JSON Pointer, for example "/data/0/id"; NULL if there is none. */
static tn_value value_at_pointer(tn_value value, const char *pointer) {
    while (value != NULL && *pointer == '/') {
        struct tn_text_buffer name = TN_TEXT_BUFFER(POINTER_MAX);
        size_t length = strcspn(++pointer, "/");
        for (size_t i = 0; i < length; i++) {
            bool coded = pointer[i] == '~' && i + 1 < length && (pointer[i + 1] == '0' || pointer[i + 1] == '1');
            tn_text_append_char(&name, !coded ? pointer[i] : pointer[++i] == '0' ? '~' : '/');
        }
        if (tn.value->kind(value) == TN_ARRAY)
            value = isdigit((unsigned char)*tn_text_chars(&name))
                        ? tn.value->at(value, strtoull(tn_text_chars(&name), NULL, 10))
                        : NULL;
        else
            value = tn_get(value, tn_text_chars(&name));
        tn_text_free(&name);
        pointer += length;
    }
    return *pointer == 0 ? value : NULL;
}

/* "$response.data.next" or "$.data.next" as a pointer, after `prefix`. NULL if it is something else. */
static tn_value pointer_of_path(const char *path, const char *prefix) {
    struct tn_text_buffer pointer = TN_TEXT_BUFFER(POINTER_MAX);
    size_t length = strlen(prefix);
    if (path == NULL || strncmp(path, prefix, length) != 0 || path[length] == 0) return NULL;
    tn_text_append(&pointer, "/");
    for (path += length; *path != 0; path++) {
        if (strchr("[]*?~/ ", *path) != NULL) { /* a query of JSONPath, which is not supported */
            tn_text_free(&pointer);
            return NULL;
        }
        tn_text_append_char(&pointer, *path == '.' ? '/' : *path);
    }
    return tn_text_finish(&pointer);
}

/* ---- Reading the description ---- */

static bool has_parameter(const struct operation *operation, const char *name) {
    for (uint32_t i = 0; i < operation->count; i++)
        if (strcmp(tn_chars(operation->parameters[i].property, NULL), name) == 0) return true;
    return false;
}

static const char *argument_name(const struct operation *operation, const char *name) {
    static const char *const prefixes[] = {"query.", "path.", "header.", "cookie."};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) name += strlen(prefixes[i]);
    return has_parameter(operation, name) ? name : NULL;
}

/* A Link Object whose target is the operation itself, and whose parameters are its own. */
static bool read_link(struct operation *operation, tn_value link) {
    const char *target = tn_get_text(link, "operationId", NULL), *own = tn_chars(operation->operation_id, NULL);
    tn_value parameters = tn_get(link, "parameters"), made = tn_build("{}");
    bool response = false;
    if (target == NULL || own == NULL || strcmp(target, own) != 0) parameters = NULL;
    for (uint64_t i = 0, count = tn.value->count(parameters); i < count && made != NULL; i++) {
        tn_value key, value;
        if (tn.value->entry(parameters, i, &key, &value) != TN_OK) break;
        const char *name = argument_name(operation, tn_chars(key, NULL)), *text = tn_chars(value, NULL);
        if (name == NULL) continue;
        response = response || (text != NULL && strncmp(text, "$response.", 10) == 0);
        made = tn_set_take(made, name, tn_retain(value));
    }
    if (response) operation->paging = (struct paging){.kind = PAGING_PARAMETERS, .parameters = made};
    if (!response) tn_release(made);
    return response;
}

static bool read_links(struct service_reader *reader, struct operation *operation, struct document_node response) {
    struct document_node links = node_get(&reader->documents, response, "links");
    for (uint64_t i = 0, count = tn.value->count(links.value); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(links.value, i, &key, &value) != TN_OK) break;
        struct document_node link = node_get(&reader->documents, links, tn_chars(key, NULL));
        if (read_link(operation, link.value)) return true;
    }
    return false;
}

/* A cursor at `pointer`, which is released, is the parameter `name` of the next request. */
static bool read_cursor_take(struct operation *operation, const char *name, tn_value pointer) {
    struct tn_text_buffer expression = TN_TEXT_BUFFER(POINTER_MAX + 40);
    bool good = pointer != NULL && name != NULL && has_parameter(operation, name);
    if (good) {
        tn_text_append(&expression, "$response.body#");
        tn_text_append(&expression, tn_chars(pointer, NULL));
        operation->paging.kind = PAGING_PARAMETERS;
        operation->paging.parameters = tn_set_take(tn_build("{}"), name, tn_text_finish(&expression));
    }
    tn_release(pointer);
    return good && operation->paging.parameters != NULL;
}

static bool read_url_take(struct operation *operation, tn_value pointer) {
    if (pointer == NULL) return false;
    operation->paging.kind = PAGING_URL;
    operation->paging.url = pointer;
    return true;
}

static bool read_speakeasy(struct operation *operation, tn_value paging) {
    tn_value inputs = tn_get(paging, "inputs"), outputs = tn_get(paging, "outputs");
    const char *name = NULL;
    for (uint64_t i = 0, count = tn.value->count(inputs); i < count && name == NULL; i++) {
        tn_value input = tn.value->at(inputs, i);
        if (strcmp(tn_get_text(input, "type", ""), "cursor") == 0) name = tn_get_text(input, "name", NULL);
    }
    return read_cursor_take(operation, name, pointer_of_path(tn_get_text(outputs, "nextCursor", NULL), "$.")) ||
           read_url_take(operation, pointer_of_path(tn_get_text(outputs, "nextUrl", NULL), "$."));
}

static bool read_fern(struct operation *operation, tn_value paging) {
    static const char prefix[] = "$request.";
    const char *cursor = tn_get_text(paging, "cursor", "");
    if (strncmp(cursor, prefix, sizeof(prefix) - 1) != 0) return false;
    return read_cursor_take(operation, cursor + sizeof(prefix) - 1,
                            pointer_of_path(tn_get_text(paging, "next_cursor", NULL), "$response."));
}

static bool declares_link_header(struct service_reader *reader, struct document_node response) {
    struct document_node headers = node_get(&reader->documents, response, "headers");
    for (uint64_t i = 0, count = tn.value->count(headers.value); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(headers.value, i, &key, &value) != TN_OK) break;
        if (strcasecmp(tn_chars(key, NULL), "link") == 0) return true;
    }
    return false;
}

void paging_read(struct service_reader *reader, struct operation *operation, struct document_node node) {
    struct document_node responses = node_get(&reader->documents, node, "responses");
    tn_value speakeasy = tn_get(node.value, "x-speakeasy-pagination"), fern = tn_get(node.value, "x-fern-pagination");
    tn_value pageable = tn_get(node.value, "x-ms-pageable");
    bool header = false, found = false;
    if (strcmp(tn_chars(operation->method, NULL), "GET") != 0 || has_parameter(operation, PAGES_ARGUMENT)) return;
    for (uint64_t i = 0, count = tn.value->count(responses.value); i < count && !found; i++) {
        tn_value key, value;
        if (tn.value->entry(responses.value, i, &key, &value) != TN_OK) break;
        if (tn_chars(key, NULL)[0] != '2') continue;
        struct document_node response =
            node_resolve_quietly(&reader->documents, (struct document_node){responses.document, value});
        found = read_links(reader, operation, response);
        header = header || declares_link_header(reader, response);
    }
    const char *items = NULL;
    if (!found && (found = read_speakeasy(operation, speakeasy))) {
        operation->paging.items = pointer_of_path(tn_get_text(tn_get(speakeasy, "outputs"), "results", NULL), "$.");
    } else if (!found && (found = read_fern(operation, fern))) {
        operation->paging.items = pointer_of_path(tn_get_text(fern, "results", NULL), "$response.");
    } else if (!found && (items = tn_get_text(pageable, "nextLinkName", NULL)) != NULL) {
        found = read_url_take(operation, pointer_of_path(items, ""));
        operation->paging.items = pointer_of_path(tn_get_text(pageable, "itemName", "value"), "");
    }
    if (!found && header) operation->paging.kind = PAGING_HEADER;
}

void paging_finish(struct paging *paging) {
    tn_release(paging->parameters);
    tn_release(paging->url);
    tn_release(paging->items);
    *paging = (struct paging){0};
}

/* ---- The next page ---- */

bool pages_add(struct pages *pages, const struct service *service, tn_value body, int64_t bytes) {
    if (pages->count > 0 && pages->bytes + bytes > service->max_bytes) {
        pages->more = true;
        return false;
    }
    if (pages->bodies == NULL) pages->bodies = tn_build("[]");
    if (pages->bodies == NULL) return false;
    tn_append_take(&pages->bodies, tn_retain(body));
    pages->bytes += bytes;
    pages->count++;
    return true;
}

/* True if the page may be requested; else `more` says that there is one. */
static bool pages_allow(struct pages *pages, bool permitted) {
    pages->more = !permitted || pages->count >= pages->limit;
    return !pages->more;
}

tn_value pages_next_url(struct pages *pages, const struct paging *paging, const char *url, tn_value end,
                        tn_value body) {
    struct tn_text_buffer target = TN_TEXT_BUFFER(LOCATION_MAX), next = TN_TEXT_BUFFER(LOCATION_MAX);
    const char *link = tn_get_text(tn_get(end, "headers"), "link", NULL);
    if (paging->kind == PAGING_URL) {
        tn_value found = value_at_pointer(body, tn_chars(paging->url, NULL));
        tn_text_append(&target, tn_chars(found, NULL) != NULL ? tn_chars(found, NULL) : "");
    } else if (paging->kind == PAGING_HEADER && link != NULL) {
        uint64_t length = 0;
        const char *found = location_find_next(link, &length);
        if (found != NULL) tn_text_append_n(&target, found, length);
    }
    bool valid = target.length > 0 && location_resolve(&next, url, tn_text_chars(&target));
    /* The page itself is no next page: it would never end. */
    bool good = valid && strcmp(tn_text_chars(&next), url) != 0 &&
                pages_allow(pages, location_same_origin(url, tn_text_chars(&next)));
    tn_value made = good ? tn_text_finish(&next) : NULL;
    tn_text_free(&next);
    tn_text_free(&target);
    return made;
}

/* The value of a runtime expression (OpenAPI 3.1, 4.8.20.4), a new reference. NULL if it has none. */
static tn_value evaluate_expression(tn_value expression, tn_value arguments, tn_value end, tn_value body) {
    static const char of_body[] = "$response.body#", of_header[] = "$response.header.", of_query[] = "$request.query.",
                      of_path[] = "$request.path.";
    const char *text = tn_chars(expression, NULL);
    if (text == NULL || *text != '$') return tn_retain(expression);
    if (strncmp(text, of_body, sizeof(of_body) - 1) == 0)
        return tn_retain(value_at_pointer(body, text + sizeof(of_body) - 1));
    if (strncmp(text, of_query, sizeof(of_query) - 1) == 0)
        return tn_retain(tn_get(arguments, text + sizeof(of_query) - 1));
    if (strncmp(text, of_path, sizeof(of_path) - 1) == 0)
        return tn_retain(tn_get(arguments, text + sizeof(of_path) - 1));
    if (strncmp(text, of_header, sizeof(of_header) - 1) != 0) return NULL;
    struct tn_text_buffer name = TN_TEXT_BUFFER(POINTER_MAX);
    for (text += sizeof(of_header) - 1; *text != 0; text++)
        tn_text_append_char(&name, (char)tolower((unsigned char)*text));
    tn_value found = tn_retain(tn_get(tn_get(end, "headers"), tn_text_chars(&name)));
    tn_text_free(&name);
    return found;
}

/* A cursor that is missing, null, false or empty: the page was the last one. */
static bool is_end_value(tn_value value) {
    int32_t truth = 1;
    const char *text = tn_chars(value, NULL);
    return tn.value->kind(value) <= TN_NULL || (tn.value->as_bool(value, &truth) == TN_OK && !truth) ||
           (text != NULL && *text == 0);
}

tn_value pages_next_arguments(struct pages *pages, const struct operation *operation, tn_value arguments, tn_value end,
                              tn_value body) {
    tn_value next = tn_retain(arguments), parameters = operation->paging.parameters;
    bool ends = operation->paging.kind != PAGING_PARAMETERS;
    for (uint64_t i = 0, count = tn.value->count(parameters); i < count && !ends; i++) {
        tn_value key, expression;
        if (tn.value->entry(parameters, i, &key, &expression) != TN_OK) break;
        const char *text = tn_chars(expression, NULL);
        tn_value value = evaluate_expression(expression, arguments, end, body);
        bool response = text != NULL && strncmp(text, "$response.", 10) == 0;
        if (response && is_end_value(value))
            ends = true;
        else if (value != NULL)
            next = tn_set_take(next, tn_chars(key, NULL), tn_retain(value));
        tn_release(value);
    }
    /* The same arguments would never end. */
    if (!ends && !tn.value->equal(next, arguments) && pages_allow(pages, true)) return next;
    tn_release(next);
    return NULL;
}

/* ---- The result ---- */

/* The list of a page: the body itself, what the description names, or the only member that is a list. NULL if none. */
static tn_value page_items(const struct paging *paging, tn_value body) {
    tn_value found = NULL;
    if (tn.value->kind(body) == TN_ARRAY) return body;
    if (paging->items != NULL) {
        found = value_at_pointer(body, tn_chars(paging->items, NULL));
        return tn.value->kind(found) == TN_ARRAY ? found : NULL;
    }
    for (uint64_t i = 0, count = tn.value->kind(body) == TN_OBJECT ? tn.value->count(body) : 0; i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(body, i, &key, &value) != TN_OK) break;
        if (tn.value->kind(value) != TN_ARRAY) continue;
        if (found != NULL) return NULL;
        found = value;
    }
    return found;
}

tn_value pages_make_result(const struct pages *pages, const struct paging *paging) {
    tn_builder *out = tn_builder_new();
    bool lists = true;
    for (uint64_t i = 0; i < pages->count; i++)
        lists = lists && page_items(paging, tn.value->at(pages->bodies, i)) != NULL;
    tn.value->begin(out, TN_OBJECT);
    tn_put_begin(out, lists ? "items" : "bodies", TN_ARRAY);
    for (uint64_t i = 0; i < pages->count; i++) {
        tn_value body = tn.value->at(pages->bodies, i), items = lists ? page_items(paging, body) : NULL;
        if (!lists) tn_put(out, NULL, body);
        for (uint64_t k = 0, count = lists ? tn.value->count(items) : 0; k < count; k++)
            tn_put(out, NULL, tn.value->at(items, k));
    }
    tn.value->end(out);
    tn_put_int(out, "pages", pages->count);
    tn_put_bool(out, "more", pages->more);
    tn.value->end(out);
    return tn_finish(out);
}

void pages_finish(struct pages *pages) {
    tn_release(pages->bodies);
    *pages = (struct pages){0};
}
