/*
 * walk.c - queries: what a schema says about the parts of an instance besides its validity.
 *
 * Annotations and applicable subschemas come from a watched validation (struct visitor), which shows every node with
 * its place and continues after errors.
 */
#include <string.h>

#include "adl/schema/internal.h"
#include "adl/value/memory.h"

#define KINDS_DEPTH_MAX    16u  /* depth of in-place subschemas searched for kinds */
#define POINTER_TOKENS_MAX 256u /* steps of the pointer of schema_at */

/* ---- Annotations ----------------------------------------------------------------------------------------------- */

struct annotations {
    struct visitor visitor;
    const char *keyword;
    schema_annotated_fn callback;
    void *self;
};

static void annotation_visit(struct visitor *visitor, const struct node *node, tn_value instance,
                             const struct place *place) {
    const struct annotations *annotations = (const struct annotations *)(const void *)visitor;
    if (!value_get(node->value, annotations->keyword)) return;
    char *pointer = place_pointer(place);
    annotations->callback(annotations->self, pointer, place && place->on_key, instance, node->value);
    mem_free(pointer);
}

static void annotations_run(struct annotations *annotations, const struct schema *schema, tn_value instance) {
    struct run run;
    run_init(&run, schema);
    run.visitor = &annotations->visitor;
    (void)evaluate(&run, schema->root, instance, NULL, NULL);
    run_finish(&run);
}

void schema_each_annotated(const struct schema *schema, tn_value instance, const char *keyword,
                           schema_annotated_fn callback, void *self) {
    struct annotations annotations = {{annotation_visit, NULL, false}, keyword, callback, self};
    annotations_run(&annotations, schema, instance);
}

void schema_each_possible(const struct schema *schema, tn_value instance, const char *keyword,
                          schema_annotated_fn callback, void *self) {
    struct annotations annotations = {{annotation_visit, NULL, true}, keyword, callback, self};
    annotations_run(&annotations, schema, instance);
}

struct annotation_values {
    const char *keyword;
    schema_annotation_fn callback;
    void *self;
};

static void annotation_value(void *self, const char *pointer, bool on_key, tn_value where, tn_value subschema) {
    const struct annotation_values *values = self;
    values->callback(values->self, pointer, on_key, where, value_get(subschema, values->keyword));
}

void schema_each_annotation(const struct schema *schema, tn_value instance, const char *keyword,
                            schema_annotation_fn callback, void *self) {
    struct annotation_values values = {keyword, callback, self};
    schema_each_annotated(schema, instance, keyword, annotation_value, &values);
}

/* ---- What applies at a place ----------------------------------------------------------------------------------- */

struct at {
    struct visitor visitor;
    tn_value tokens; /* tokens of the pointer, an array of strings */
    schema_at_fn callback;
    void *self;
    tn_value seen; /* array of the subschemas visited so far, by identity */
};

static size_t place_depth(const struct place *place) {
    size_t depth = 0;
    for (; place; place = place->parent) depth++;
    return depth;
}

/* True if a place is the target or on the way to it. */
static bool on_the_way(struct visitor *visitor, const struct place *place) {
    const struct at *at = (const struct at *)(const void *)visitor;
    size_t depth = place_depth(place);
    if (depth > value_count(at->tokens) || (place && place->on_key)) return false;
    for (; place; place = place->parent) {
        tn_value token = value_at(at->tokens, --depth);
        if (place->key) {
            if (value_compare_strings(place->key, token) != 0) return false;
            continue;
        }
        tn_value index = value_format("%zu", place->index);
        bool same = value_equal(index, token);
        value_unref(index);
        if (!same) return false;
    }
    return true;
}

static void at_visit(struct visitor *visitor, const struct node *node, tn_value instance, const struct place *place) {
    struct at *at = (struct at *)(void *)visitor;
    (void)instance;
    if (place_depth(place) != value_count(at->tokens)) return;
    for (size_t i = 0; i < value_count(at->seen); i++)
        if (value_at(at->seen, i) == node->value) return;
    at->seen = value_push_take(at->seen, value_ref(node->value));
    at->callback(at->self, node->value);
}

/* Returns the unescaped tokens of a JSON Pointer, or NULL if it is malformed. */
static tn_value tokens_of(const char *pointer) {
    tn_value tokens = value_array();
    struct buffer token;
    buffer_init(&token, SIZE_MAX);
    while (*pointer == '/') {
        buffer_clear(&token);
        for (pointer++; *pointer && *pointer != '/'; pointer++) {
            bool escape = pointer[0] == '~' && (pointer[1] == '0' || pointer[1] == '1');
            if (escape) pointer++;
            buffer_char(&token, !escape ? *pointer : *pointer == '0' ? '~' : '/');
        }
        tn_value text = value_string(buffer_cstr(&token), token.length);
        if (text) tokens = value_push_take(tokens, text);
        if (!text || value_count(tokens) > POINTER_TOKENS_MAX) pointer = "?";
    }
    buffer_finish(&token);
    if (*pointer == 0) return tokens;
    value_unref(tokens);
    return NULL;
}

static bool pointer_token_to_index(tn_value token, size_t count, size_t *index) {
    const char *text = value_chars(token, NULL);
    *index = 0;
    for (size_t i = 0; text[i]; i++) {
        if (text[i] < '0' || text[i] > '9' || i > 8) return false;
        *index = *index * 10 + (size_t)(text[i] - '0');
    }
    return *text && *index <= count;
}

/* Adds null for the missing steps of the tokens. Takes ownership of the instance. */
static tn_value with_place(tn_value instance, tn_value tokens, size_t depth) {
    if (depth == value_count(tokens)) return instance;
    tn_value token = value_at(tokens, depth);
    size_t index;
    if (value_is(instance, TN_ARRAY) && pointer_token_to_index(token, value_count(instance), &index)) {
        bool there = index < value_count(instance);
        tn_value child = there ? value_ref(value_at(instance, index)) : value_null();
        child = with_place(child, tokens, depth + 1);
        return there ? value_replace_take(instance, index, child) : value_push_take(instance, child);
    }
    if (!value_is(instance, TN_OBJECT)) {
        value_unref(instance);
        instance = value_object();
    }
    tn_value child = value_get_key(instance, token);
    child = with_place(child ? value_ref(child) : value_null(), tokens, depth + 1);
    return value_set_key_take(instance, value_ref(token), child);
}

void schema_at(const struct schema *schema, tn_value instance, const char *pointer, schema_at_fn callback, void *self) {
    struct at at = {{at_visit, on_the_way, true}, tokens_of(pointer), callback, self, value_array()};
    if (at.tokens) {
        tn_value complete = with_place(value_ref(instance), at.tokens, 0);
        struct run run;
        run_init(&run, schema);
        run.visitor = &at.visitor;
        (void)evaluate(&run, schema->root, complete, NULL, NULL);
        run_finish(&run);
        value_unref(complete);
    }
    value_unref(at.tokens);
    value_unref(at.seen);
}

/* ---- Kinds ----------------------------------------------------------------------------------------------------- */

static uint32_t node_kinds(const struct node *node, unsigned depth);

static uint32_t kinds_of_any(const struct nodes *nodes, unsigned depth) {
    uint32_t kinds = 0;
    for (size_t i = 0; i < nodes->count; i++) kinds |= node_kinds(nodes->at[i], depth);
    return kinds;
}

static uint32_t kinds_of_values(const struct check *check) {
    tn_value others = check->as.values.others;
    uint32_t kinds = value_count(check->as.values.strings) ? 1u << TN_STRING : 0;
    for (size_t i = 0; i < value_count(others); i++) kinds |= 1u << value_kind(value_at(others, i));
    return kinds;
}

static uint32_t node_kinds(const struct node *node, unsigned depth) {
    uint32_t kinds = node->kinds;
    for (size_t i = 0; depth < KINDS_DEPTH_MAX && i < node->check_count; i++) {
        const struct check *check = &node->checks[i];
        if (check->run == check_ref) kinds &= node_kinds(check->as.node, depth + 1);
        if (check->run == check_const) kinds &= 1u << value_kind(check->value);
        if (check->run == check_enum) kinds &= kinds_of_values(check);
        if (check->run == check_any_of || check->run == check_one_of)
            kinds &= kinds_of_any(&check->as.nodes, depth + 1);
        for (size_t j = 0; check->run == check_all_of && j < check->as.nodes.count; j++)
            kinds &= node_kinds(check->as.nodes.at[j], depth + 1);
    }
    return kinds;
}

int schema_kinds(const struct schema *schema) { return (int)node_kinds(schema->root, 0); }
