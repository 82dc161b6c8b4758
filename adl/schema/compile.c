/*
 * compile.c - from documents to nodes: finds every subschema, assigns its URI, and resolves references.
 *
 * Scanning a document creates a node for every place that a keyword defines as a subschema, and records $id, $anchor
 * and $dynamicAnchor; an $id inside an enum is only data. Then each node is compiled (keywords.c). A reference may load
 * another document, whose nodes are appended to the queue, so reference cycles need no special handling. A reference to
 * a place that no keyword describes creates its node when it is resolved. The first failure is reported once, with the
 * JSON Pointer in the schema, and the incomplete schema is freed.
 */
#include <stdio.h>
#include <string.h>

#include "adl/schema/plan.h"
#include "adl/schema/uri.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"

#define DRAFT       "https://json-schema.org/draft/2020-12/"
#define ANCHOR_KEYS 2

static const struct {
    const char *uri;
    uint32_t dialect;
} dialects[] = {
    {DRAFT "schema", DIALECT_STANDARD},
    {"https://json-schema.org/draft/2019-09/schema", DIALECT_STANDARD | DIALECT_LEGACY},
    {"http://json-schema.org/draft-07/schema", DIALECT_STANDARD | DIALECT_LEGACY},
    {"http://json-schema.org/draft-06/schema", DIALECT_STANDARD | DIALECT_LEGACY},
    {"http://json-schema.org/draft-04/schema", DIALECT_STANDARD | DIALECT_LEGACY},
    {"http://json-schema.org/draft-03/schema", DIALECT_STANDARD | DIALECT_LEGACY},
    {"http://json-schema.org/schema", DIALECT_STANDARD},
};

static const struct {
    const char *uri;
    uint32_t dialect;
} vocabularies[] = {
    {DRAFT "vocab/core", DIALECT_CORE},
    {DRAFT "vocab/applicator", DIALECT_APPLICATOR},
    {DRAFT "vocab/unevaluated", DIALECT_UNEVALUATED},
    {DRAFT "vocab/validation", DIALECT_VALIDATION},
    {DRAFT "vocab/meta-data", 0},
    {DRAFT "vocab/format-annotation", 0},
    {DRAFT "vocab/format-assertion", DIALECT_FORMAT},
    {DRAFT "vocab/content", 0},
};

static struct node *schema_scan(struct compiler *compiler, tn_value value, struct resource *resource, size_t document,
                                struct buffer *pointer, unsigned depth);
static struct resource *schema_load(struct compiler *compiler, const char *uri);

/* ---- Errors --------------------------------------------------------------------------------------------------- */

/* "in the schema at `/a/b`"; in a referenced document "in the schema http://… at `/a/b`". */
static bool __attribute__((format(printf, 5, 0))) vfail_at(struct compiler *compiler, int32_t status, size_t document,
                                                           const char *pointer, const char *format, va_list args) {
    if (compiler->status != TN_OK) return false;
    compiler->status = status;
    struct buffer message;
    buffer_init(&message, SCHEMA_MESSAGE_MAX * 2);
    buffer_text(&message, "the schema");
    if (document) buffer_format(&message, " %s", compiler->schema->documents[document].uri);
    if (*pointer) buffer_format(&message, " at `%s`", pointer);
    buffer_text(&message, ": ");
    buffer_vformat(&message, format, args);
    error_set(compiler->error, status, status == TN_LIMIT ? "LIMIT" : "SCHEMA", "%s", buffer_cstr(&message));
    buffer_finish(&message);
    return false;
}

static bool __attribute__((format(printf, 5, 6)))
fail_at(struct compiler *compiler, int32_t status, size_t document, const char *pointer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vfail_at(compiler, status, document, pointer, format, args);
    va_end(args);
    return false;
}

bool compile_fail(struct compiler *compiler, const struct node *node, const char *keyword, tn_value key,
                  const char *format, ...) {
    struct buffer pointer;
    buffer_init(&pointer, SCHEMA_MESSAGE_MAX);
    buffer_text(&pointer, node->pointer);
    if (keyword) buffer_format(&pointer, "/%s", keyword);
    if (key) pointer_append(&pointer, key);
    va_list args;
    va_start(args, format);
    vfail_at(compiler, TN_INVALID, node->resource->document, buffer_cstr(&pointer), format, args);
    va_end(args);
    buffer_finish(&pointer);
    return false;
}

bool compile_count_entries(struct compiler *compiler, const struct node *node, size_t count) {
    compiler->entries += count;
    return compiler->entries <= SCHEMA_ENTRIES_MAX ||
           fail_at(compiler, TN_LIMIT, node->resource->document, "",
                   "more than %u values of `enum` and names of `required` in all; make it smaller", SCHEMA_ENTRIES_MAX);
}

/* ---- Tables ---------------------------------------------------------------------------------------------------- */

static tn_value location_key(size_t document, const char *pointer, size_t length) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_format(&text, "%zu#", document);
    buffer_append(&text, pointer, length);
    tn_value key = value_string(text.data, text.length);
    buffer_finish(&text);
    return key;
}

/* Returns the node at a pointer of a document, or NULL. */
static struct node *compiler_lookup_node(const struct compiler *compiler, size_t document, const char *pointer,
                                         size_t length) {
    tn_value key = location_key(document, pointer, length);
    tn_value index = key ? value_get_key(compiler->locations, key) : NULL;
    value_unref(key);
    return index ? compiler->schema->nodes[value_to_int(index)] : NULL;
}

static tn_value anchor_key(const char *uri, const char *name) { return value_format("%s#%s", uri, name); }

static struct resource *resource_find(const struct compiler *compiler, const char *uri) {
    tn_value index = value_get(compiler->by_uri, uri);
    return index ? compiler->schema->resources[value_to_int(index)] : NULL;
}

static struct resource *resource_new(struct compiler *compiler, const char *uri, size_t document, uint32_t dialect) {
    struct schema *schema = compiler->schema;
    struct resource *resource = mem_zalloc(sizeof *resource);
    *resource = (struct resource){.uri = mem_text(uri), .document = document, .dialect = dialect};
    MEM_EXTEND(schema->resources, schema->resource_count);
    compiler->by_uri = value_set_take(compiler->by_uri, uri, value_int((int64_t)schema->resource_count));
    schema->resources[schema->resource_count++] = resource;
    return resource;
}

static struct node *node_new(struct compiler *compiler, tn_value value, struct resource *resource,
                             const struct buffer *pointer) {
    struct schema *schema = compiler->schema;
    size_t limit = compiler->options && compiler->options->nodes ? compiler->options->nodes : SCHEMA_NODES_MAX;
    compiler->pointer_bytes += pointer->length + 1;
    if (schema->node_count >= limit || compiler->pointer_bytes > SCHEMA_POINTERS_MAX) {
        fail_at(compiler, TN_LIMIT, resource->document, "",
                "more than %zu subschemas, or %u bytes of their JSON Pointers; make it smaller", limit,
                SCHEMA_POINTERS_MAX);
        return NULL;
    }
    struct node *node = mem_zalloc(sizeof *node);
    node->resource = resource;
    node->value = value;
    node->pointer = mem_text_n(buffer_cstr(pointer), pointer->length);
    MEM_GROW(schema->nodes, schema->node_count, schema->node_room);
    tn_value key = location_key(resource->document, node->pointer, pointer->length);
    tn_value index = value_int((int64_t)schema->node_count);
    schema->nodes[schema->node_count++] = node;
    compiler->locations = value_set_key_take(compiler->locations, key, index);
    return node;
}

/* ---- Dialects -------------------------------------------------------------------------------------------------- */

static bool dialect_of_metaschema(struct compiler *compiler, size_t document, const char *pointer, tn_value metaschema,
                                  uint32_t *dialect) {
    tn_value list = value_get(metaschema, "$vocabulary");
    if (!value_is(list, TN_OBJECT)) {
        *dialect = DIALECT_STANDARD;
        return true;
    }
    *dialect = DIALECT_CORE;
    for (size_t i = 0; i < value_count(list); i++) {
        tn_value name = value_key_at(list, i), required = value_value_at(list, i);
        size_t j = 0, count = sizeof vocabularies / sizeof *vocabularies;
        while (j < count && !value_text_is(name, vocabularies[j].uri)) j++;
        if (j < count)
            *dialect |= vocabularies[j].dialect;
        else if (value_is(required, TN_BOOL) && value_to_bool(required))
            return fail_at(compiler, TN_INVALID, document, pointer,
                           "its metaschema requires the vocabulary %s, which is not known here",
                           value_chars(name, NULL));
    }
    return true;
}

/* The dialect of a resource whose root is `value`; without $schema, the dialect of the surrounding resource. */
static bool dialect_find(struct compiler *compiler, tn_value value, size_t document, const char *pointer,
                         uint32_t *dialect) {
    tn_value named = value_get(value, "$schema");
    if (!named) return true;
    if (!value_is(named, TN_STRING))
        return fail_at(compiler, TN_INVALID, document, pointer, "`$schema` must be a string, the URI of a metaschema");
    size_t length;
    const char *text = value_chars(named, &length);
    char *uri = mem_text(text);
    (void)uri_split(uri);
    bool good = true;
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        if (strcmp(uri, dialects[i].uri) != 0) continue;
        *dialect = dialects[i].dialect;
        goto out;
    }
    struct resource *resource = resource_find(compiler, uri);
    tn_value metaschema = NULL;
    if (resource && resource->root) metaschema = value_ref(resource->root->value);
    if (!metaschema) metaschema = metaschema_document(uri);
    if (!metaschema && compiler->options && compiler->options->resolve)
        metaschema = compiler->options->resolve(compiler->options->self, uri);
    if (metaschema)
        good = dialect_of_metaschema(compiler, document, pointer, metaschema, dialect);
    else
        good = fail_at(compiler, TN_INVALID, document, pointer,
                       "`$schema` is \"%.200s\", which cannot be found; expected \"" DRAFT "schema\"", text);
    value_unref(metaschema);
out:
    mem_free(uri);
    return good;
}

/* ---- Scanning -------------------------------------------------------------------------------------------------- */

static bool identify(struct compiler *compiler, tn_value value, struct resource **resource, bool at_root,
                     size_t document, const char *pointer) {
    tn_value id = value_get(value, "$id");
    if (!id) return true;
    if (!value_is(id, TN_STRING))
        return fail_at(compiler, TN_INVALID, document, pointer, "`$id` must be a string, a URI");
    char *uri = uri_resolve((*resource)->uri, value_chars(id, NULL));
    const char *fragment = uri_split(uri);
    bool good = true;
    if (*fragment) {
        if (!((*resource)->dialect & DIALECT_LEGACY))
            good = fail_at(compiler, TN_INVALID, document, pointer,
                           "`$id` is \"%.200s\", which has a fragment; use `$anchor` to name a place", uri);
        goto out;
    }
    struct resource *known = resource_find(compiler, uri);
    if (known == *resource && at_root) goto out; /* the resource's own address */
    if (known && known->root) {
        if (!value_equal(known->root->value, value)) { /* equal: bundled twice */
            good = fail_at(compiler, TN_INVALID, document, pointer, "two different schemas have the `$id` \"%.200s\"",
                           uri);
            goto out;
        }
    }
    uint32_t dialect = (*resource)->dialect;
    if (!at_root && !dialect_find(compiler, value, document, pointer, &dialect)) {
        good = false;
        goto out;
    }
    if (at_root) { /* the address of the document remains an alternative name */
        int64_t index = value_to_int(value_get(compiler->by_uri, (*resource)->uri));
        compiler->by_uri = value_set_take(compiler->by_uri, uri, value_int(index));
        mem_free((*resource)->uri);
        (*resource)->uri = mem_text(uri);
    } else {
        *resource = resource_new(compiler, uri, document, dialect);
    }
out:
    mem_free(uri);
    return good;
}

static bool note_anchors(struct compiler *compiler, struct node *node) {
    static const char *const keys[ANCHOR_KEYS] = {"$anchor", "$dynamicAnchor"};
    struct resource *resource = node->resource;
    int64_t index = (int64_t)compiler->schema->node_count - 1; /* index of `node`, the newest one */
    for (size_t i = 0; i < ANCHOR_KEYS; i++) {
        tn_value name = value_get(node->value, keys[i]);
        if (!name) continue;
        if (!value_is(name, TN_STRING) || value_chars(name, NULL)[0] == 0)
            return compile_fail(compiler, node, keys[i], NULL, "expected a name: a string that is not empty");
        tn_value key = anchor_key(resource->uri, value_chars(name, NULL));
        tn_value known = value_get_key(compiler->anchors, key);
        const struct node *other = known ? compiler->schema->nodes[value_to_int(known)] : NULL;
        if (other && other != node && !value_equal(other->value, node->value)) { /* equal: bundled twice */
            value_unref(key);
            return compile_fail(compiler, node, keys[i], NULL, "the name \"%.100s\" is taken, by `%.200s`",
                                value_chars(name, NULL), other->pointer);
        }
        if (known)
            value_unref(key);
        else
            compiler->anchors = value_set_key_take(compiler->anchors, key, value_int(index));
        if (i == 0) continue;
        MEM_EXTEND(resource->dynamic, resource->dynamic_count);
        resource->dynamic[resource->dynamic_count++] = (struct anchor){value_chars(name, NULL), node};
    }
    return true;
}

static bool scan_child(struct compiler *compiler, tn_value value, const struct node *parent, struct buffer *pointer,
                       unsigned depth, tn_value key) {
    size_t length = pointer->length;
    if (key) pointer_append(pointer, key);
    bool good = schema_scan(compiler, value, parent->resource, parent->resource->document, pointer, depth + 1) != NULL;
    pointer->length = length;
    if (pointer->data) pointer->data[length] = 0;
    return good;
}

/* Scans the subschemas of one keyword. keywords.c reports a value of the wrong kind. */
static bool scan_keyword(struct compiler *compiler, const struct node *node, const struct keyword *keyword,
                         tn_value value, struct buffer *pointer, unsigned depth) {
    int kind = value_kind(value);
    enum shape shape = keyword->shape;
    if (shape == SHAPE_ONE_OR_LIST) shape = kind == TN_ARRAY ? SHAPE_LIST : SHAPE_ONE;
    if (shape == SHAPE_ONE) return scan_child(compiler, value, node, pointer, depth, NULL);
    if (shape == SHAPE_LIST && kind == TN_ARRAY) {
        for (size_t i = 0; i < value_count(value); i++)
            if (!scan_child(compiler, value_at(value, i), node, pointer, depth, value_int((int64_t)i))) return false;
    } else if ((shape == SHAPE_MAP || shape == SHAPE_MAP_OR_NAMES) && kind == TN_OBJECT) {
        for (size_t i = 0; i < value_count(value); i++) {
            tn_value child = value_value_at(value, i);
            if (shape == SHAPE_MAP_OR_NAMES && value_is(child, TN_ARRAY)) continue;
            if (!scan_child(compiler, child, node, pointer, depth, value_key_at(value, i))) return false;
        }
    }
    return true;
}

static struct node *schema_scan(struct compiler *compiler, tn_value value, struct resource *resource, size_t document,
                                struct buffer *pointer, unsigned depth) {
    const char *where = buffer_cstr(pointer);
    if (depth > SCHEMA_DEPTH_MAX || pointer->overflow) {
        fail_at(compiler, TN_LIMIT, document, depth > SCHEMA_DEPTH_MAX ? where : "",
                "subschemas are nested deeper than %u levels, or keys are too long", SCHEMA_DEPTH_MAX);
        return NULL;
    }
    struct node *known = compiler_lookup_node(compiler, document, where, pointer->length);
    if (known) return known;
    int kind = value_kind(value);
    if (kind != TN_OBJECT && kind != TN_BOOL) {
        struct buffer found;
        buffer_init(&found, SCHEMA_MESSAGE_MAX);
        describe(&found, value);
        fail_at(compiler, TN_INVALID, document, where, "found %s, expected a schema: an object, true or false",
                buffer_cstr(&found));
        buffer_finish(&found);
        return NULL;
    }
    struct resource *outer = resource;
    bool at_root = !resource->root && pointer->length == 0;
    if (kind == TN_OBJECT && !identify(compiler, value, &resource, at_root, document, where)) return NULL;
    struct node *node = node_new(compiler, value, resource, pointer);
    if (!node) return NULL;
    if (at_root || resource != outer) resource->root = node;
    if (kind == TN_BOOL) return node;
    if (!note_anchors(compiler, node)) return NULL;
    for (size_t i = 0; i < value_count(value); i++) {
        tn_value name = value_key_at(value, i);
        const struct keyword *keyword = keyword_find(name, resource->dialect);
        if (!keyword || keyword->shape == SHAPE_NONE) continue;
        size_t length = pointer->length;
        pointer_append(pointer, name);
        bool good = scan_keyword(compiler, node, keyword, value_value_at(value, i), pointer, depth);
        pointer->length = length;
        if (pointer->data) pointer->data[length] = 0;
        if (!good) return NULL;
    }
    return node;
}

/* Takes ownership of `root`. */
static struct resource *document_add(struct compiler *compiler, const char *uri, tn_value root) {
    struct schema *schema = compiler->schema;
    size_t document = schema->document_count;
    MEM_EXTEND(schema->documents, document);
    schema->documents[schema->document_count++] = (struct document){mem_text(uri), root};
    uint32_t dialect = DIALECT_STANDARD;
    if (value_is(root, TN_OBJECT) && !dialect_find(compiler, root, document, "", &dialect)) return NULL;
    struct resource *resource = resource_new(compiler, uri, document, dialect);
    struct buffer pointer;
    buffer_init(&pointer, SCHEMA_POINTERS_MAX);
    struct node *node = schema_scan(compiler, root, resource, document, &pointer, 0);
    buffer_finish(&pointer);
    return node ? resource : NULL;
}

/* ---- References ------------------------------------------------------------------------------------------------ */

/*
 * Returns the resource at a URI and loads it if necessary. Returns NULL if it does not exist or on an error (status is
 * set).
 */
static struct resource *schema_load(struct compiler *compiler, const char *uri) {
    struct resource *known = resource_find(compiler, uri);
    if (known) return known;
    tn_value root = metaschema_document(uri);
    if (!root && compiler->options && compiler->options->resolve)
        root = compiler->options->resolve(compiler->options->self, uri);
    if (!root) return NULL;
    if (compiler->schema->document_count >= SCHEMA_DOCUMENTS_MAX) {
        value_unref(root);
        fail_at(compiler, TN_LIMIT, 0, "", "more than %u documents are referred to", SCHEMA_DOCUMENTS_MAX);
        return NULL;
    }
    return document_add(compiler, uri, root);
}

/* One step of a JSON Pointer: unescapes the token at *at (after its slash) and returns the value it names. */
static tn_value schema_step(tn_value value, const char **at, struct buffer *token) {
    buffer_clear(token);
    for (; **at && **at != '/'; ++*at) {
        if (**at == '~' && ((*at)[1] == '0' || (*at)[1] == '1')) {
            buffer_char(token, (*at)[1] == '0' ? '~' : '/');
            ++*at;
        } else {
            buffer_char(token, **at);
        }
    }
    if (value_is(value, TN_OBJECT)) return value_get_n(value, buffer_cstr(token), token->length);
    if (!value_is(value, TN_ARRAY) || token->length == 0 || token->length > 9) return NULL;
    size_t index = 0;
    for (size_t i = 0; i < token->length; i++) {
        if (token->data[i] < '0' || token->data[i] > '9' || (i == 0 && token->data[0] == '0' && token->length > 1))
            return NULL;
        index = index * 10 + (size_t)(token->data[i] - '0');
    }
    return index < value_count(value) ? value_at(value, index) : NULL;
}

/*
 * Returns the node at a JSON Pointer from a resource's root; creates it if no keyword describes the place. Returns NULL
 * if the place does not exist.
 */
static struct node *schema_follow(struct compiler *compiler, struct resource *resource, const char *fragment) {
    struct buffer pointer, token;
    buffer_init(&pointer, SCHEMA_POINTERS_MAX);
    buffer_init(&token, SIZE_MAX);
    buffer_text(&pointer, resource->root->pointer);
    size_t document = resource->document;
    tn_value value = resource->root->value;
    struct node *node = resource->root, *passed = resource->root;
    while (value && *fragment == '/') {
        fragment++;
        value = schema_step(value, &fragment, &token);
        tn_value key = value_string(buffer_cstr(&token), token.length);
        if (key) pointer_append(&pointer, key);
        value_unref(key);
        node = value ? compiler_lookup_node(compiler, document, buffer_cstr(&pointer), pointer.length) : NULL;
        if (node) passed = node;
    }
    if (value && !node) node = schema_scan(compiler, value, passed->resource, document, &pointer, 0);
    buffer_finish(&token);
    buffer_finish(&pointer);
    return node;
}

struct node *compile_reference(struct compiler *compiler, const struct node *node, const char *keyword, tn_value value,
                               bool *to_dynamic_anchor) {
    *to_dynamic_anchor = false;
    if (!value_is(value, TN_STRING)) {
        compile_fail(compiler, node, keyword, NULL, "expected a string, a URI or `#` and a place in this schema");
        return NULL;
    }
    const char *text = value_chars(value, NULL);
    char *uri = uri_resolve(node->resource->uri, text);
    char *fragment = uri_split(uri);
    struct node *target = NULL;
    struct resource *resource = schema_load(compiler, uri);
    if (!resource || !resource->root) {
        compile_fail(compiler, node, keyword, NULL, "\"%.300s\" refers to a document that cannot be found", text);
    } else if (!uri_decode(fragment)) {
        compile_fail(compiler, node, keyword, NULL, "\"%.300s\" has a malformed %% escape", text);
    } else if (*fragment == 0 || *fragment == '/') {
        target = schema_follow(compiler, resource, fragment);
    } else {
        tn_value key = anchor_key(resource->uri, fragment);
        tn_value index = value_get_key(compiler->anchors, key);
        value_unref(key);
        if (index) target = compiler->schema->nodes[value_to_int(index)];
        *to_dynamic_anchor = target && value_text_is(value_get(target->value, "$dynamicAnchor"), fragment);
    }
    if (!target) compile_fail(compiler, node, keyword, NULL, "\"%.300s\" refers to nothing in that schema", text);
    mem_free(uri);
    return target;
}

struct node *compile_child(struct compiler *compiler, const struct node *node, const char *keyword, tn_value key) {
    struct buffer pointer;
    buffer_init(&pointer, SCHEMA_POINTERS_MAX);
    buffer_text(&pointer, node->pointer);
    buffer_format(&pointer, "/%s", keyword);
    if (key) pointer_append(&pointer, key);
    struct node *child =
        compiler_lookup_node(compiler, node->resource->document, buffer_cstr(&pointer), pointer.length);
    buffer_finish(&pointer);
    if (!child) compile_fail(compiler, node, keyword, key, "expected a schema: an object, true or false");
    return child;
}

/* ---- The schema ------------------------------------------------------------------------------------------------ */

int32_t schema_compile(tn_value document, const struct schema_options *options, struct schema **out,
                       struct error *error) {
    struct schema *schema = mem_zalloc(sizeof *schema);
    schema->references = 1;
    schema->work = options && options->work ? options->work : SCHEMA_WORK_MAX;
    schema->assert_format = options && options->assert_format;
    schema->spare = mem_zalloc(sizeof *schema->spare);
    struct compiler compiler = {.schema = schema, .options = options, .error = error, .quick = QUICK_BUDGET_INIT};
    compiler.locations = compiler.anchors = compiler.by_uri = value_object();
    const char *uri = options && options->uri ? options->uri : "";
    struct resource *main_resource = document_add(&compiler, uri, value_ref(document));
    if (main_resource) {
        schema->root = main_resource->root;
        for (size_t i = 0; i < schema->node_count && keywords_compile(&compiler, schema->nodes[i]); i++) continue;
    }
    value_unref(compiler.locations);
    value_unref(compiler.anchors);
    value_unref(compiler.by_uri);
    if (compiler.status != TN_OK) {
        schema_unref(schema);
        return compiler.status;
    }
    schema_plan(schema);
    *out = schema;
    return TN_OK;
}

struct schema *schema_ref(struct schema *schema) {
    atomic_fetch_add_explicit(&schema->references, 1, memory_order_relaxed);
    return schema;
}

tn_value schema_document(const struct schema *schema) { return schema->documents[0].root; }
