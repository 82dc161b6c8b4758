/*
 * partial.c - the arguments as a tree that can change: values cannot, and a text of a thousand pieces would be copied
 * a thousand times.
 *
 * A container finds a child by looking at the newest first, where the next piece nearly always belongs. Invariant: an
 * item of an array has all those before it as well; a place that was jumped over is null.
 */
#include "partial.h"

enum kind { EMPTY, LEAF, TEXT, OBJECT, ARRAY };

struct node {
    struct node *next, *first, *last; /* siblings; children */
    char *key;                        /* in an object */
    uint64_t count;                   /* of children */
    tn_value leaf;
    char *text;
    uint64_t length, capacity;
    enum kind kind;
    bool open; /* more of the text will come */
};

struct partial {
    struct node root; /* always an object */
    uint64_t nodes, text;
};

struct partial *partial_new(void) {
    struct partial *partial = tn.core->alloc(tn.host, sizeof *partial);
    if (partial == NULL) return NULL;
    memset(partial, 0, sizeof *partial);
    partial->root.kind = OBJECT;
    return partial;
}

/* Everything below a node; the tree is at most PARTIAL_DEPTH_MAX deep. */
static void clear(struct node *node) {
    for (struct node *child = node->first, *next; child != NULL; child = next) {
        next = child->next;
        clear(child);
        tn.core->release(tn.host, child);
    }
    tn.core->release(tn.host, node->key);
    tn.core->release(tn.host, node->text);
    tn_release(node->leaf);
}

void partial_free(struct partial *partial) {
    if (partial == NULL) return;
    clear(&partial->root);
    tn.core->release(tn.host, partial);
}

/* ---- Places --------------------------------------------------------------------------------------------------- */

struct step {
    tn_value name; /* owned; NULL: an index */
    uint64_t index;
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* 'it''s quoted' or "so", as JSONPath has it: read as the JSON string that it nearly is. NULL: it does not end. */
static tn_value quoted_name(const char **at) {
    char json[PARTIAL_PATH_MAX * 2 + 3], quote = *(*at)++;
    size_t length = 0;
    tn_value name = NULL;
    json[length++] = '"';
    for (; **at != quote; ++*at) {
        if (**at == '\0') return NULL;
        if (**at == '\\' && (*at)[1] == '\'')
            ++*at;
        else if (**at == '\\' && (*at)[1] != '\0')
            json[length++] = *(*at)++;
        else if (**at == '"')
            json[length++] = '\\';
        json[length++] = **at;
    }
    ++*at;
    json[length++] = '"';
    return tn.value->from_json(json, length, &name) == TN_OK ? name : NULL;
}

/* One step of a path; false where it is none. */
static bool read_step(const char **at, struct step *step) {
    *step = (struct step){NULL, 0};
    if (**at == '.') {
        const char *from = ++*at;
        while (**at != '\0' && **at != '.' && **at != '[') ++*at;
        if (*at == from) return false;
        step->name = tn_text_n(from, (uint64_t)(*at - from));
        return step->name != NULL;
    }
    if (**at != '[') return false;
    ++*at;
    if (**at == '\'' || **at == '"') {
        step->name = quoted_name(at);
        if (step->name == NULL) return false;
    } else {
        const char *from = *at;
        for (; is_digit(**at) && *at - from < 9; ++*at) step->index = step->index * 10 + (uint64_t)(**at - '0');
        if (*at == from) return false;
    }
    if (**at == ']') return ++*at, true;
    tn_release(step->name);
    return false;
}

static struct node *add_child(struct partial *partial, struct node *parent, const char *key, const char **why) {
    struct node *child = NULL;
    *why = "the arguments have more values than may be";
    if (partial->nodes >= PARTIAL_NODES_MAX) return NULL;
    *why = "there is no memory for the arguments";
    child = tn.core->alloc(tn.host, sizeof *child);
    if (child == NULL) return NULL;
    memset(child, 0, sizeof *child);
    if (key != NULL) {
        child->key = tn.core->alloc(tn.host, strlen(key) + 1);
        if (child->key == NULL) {
            tn.core->release(tn.host, child);
            return NULL;
        }
        memcpy(child->key, key, strlen(key) + 1);
    }
    if (parent->last != NULL)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->count++;
    partial->nodes++;
    return child;
}

static struct node *member(struct partial *partial, struct node *object, const char *key, const char **why) {
    if (object->last != NULL && strcmp(object->last->key, key) == 0) return object->last;
    for (struct node *child = object->first; child != NULL; child = child->next)
        if (strcmp(child->key, key) == 0) return child;
    return add_child(partial, object, key, why);
}

static struct node *item(struct partial *partial, struct node *array, uint64_t index, const char **why) {
    if (index + 1 == array->count) return array->last;
    if (index < array->count) {
        struct node *child = array->first;
        while (index-- > 0) child = child->next;
        return child;
    }
    if (index > PARTIAL_NODES_MAX) {
        *why = "an index in the arguments is larger than may be";
        return NULL;
    }
    while (array->count <= index)
        if (add_child(partial, array, NULL, why) == NULL) return NULL;
    return array->last;
}

/* The node at a path, made where it is not there; NULL with the reason. */
static struct node *find(struct partial *partial, const char *path, const char **why) {
    struct node *node = &partial->root;
    uint32_t depth = 0;
    *why = "a jsonPath is not of the form $.name[0]['name']";
    if (*path++ != '$' || *path == '\0' || strlen(path) > PARTIAL_PATH_MAX) return NULL;
    while (*path != '\0' && node != NULL) {
        struct step step;
        *why = "a jsonPath is not of the form $.name[0]['name']";
        if (!read_step(&path, &step)) return NULL;
        enum kind wanted = step.name != NULL ? OBJECT : ARRAY;
        if (node->kind == EMPTY) node->kind = wanted;
        if (node->kind != wanted || ++depth > PARTIAL_DEPTH_MAX) {
            *why = depth > PARTIAL_DEPTH_MAX ? "the arguments are nested too deeply"
                                             : "one place of the arguments is of two kinds";
            node = NULL;
        } else if (step.name != NULL) {
            node = member(partial, node, tn_chars(step.name, NULL), why);
        } else {
            node = item(partial, node, step.index, why);
        }
        tn_release(step.name);
    }
    return node;
}

/* ---- Values --------------------------------------------------------------------------------------------------- */

static bool add_text(struct partial *partial, struct node *node, tn_value piece, const char **why) {
    uint64_t length = 0;
    const char *text = tn_chars(piece, &length);
    *why = "the texts of the arguments are longer than may be";
    if (length > PARTIAL_TEXT_MAX - partial->text) return false;
    if (node->length + length > node->capacity) {
        uint64_t capacity = (node->length + length) * 2 + 32;
        char *grown = tn.core->resize(tn.host, node->text, capacity);
        *why = "there is no memory for the arguments";
        if (grown == NULL) return false;
        node->text = grown;
        node->capacity = capacity;
    }
    if (length > 0) memcpy(node->text + node->length, text, length);
    node->length += length;
    partial->text += length;
    return true;
}

bool partial_put(struct partial *partial, tn_value piece, const char **why) {
    static const char *const scalars[] = {"numberValue", "boolValue"};
    const char *path = tn_get_text(piece, "jsonPath", NULL);
    tn_value text = tn.value->get(piece, "stringValue"), leaf = NULL;
    int32_t goes_on = 0;
    *why = "a partial argument has no jsonPath";
    if (path == NULL) return false;
    struct node *node = find(partial, path, why);
    if (node == NULL) return false;
    (void)tn.value->as_bool(tn.value->get(piece, "willContinue"), &goes_on);
    *why = "one place of the arguments is of two kinds";
    if (node->kind == OBJECT || node->kind == ARRAY) return false;
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (leaf == NULL) leaf = tn_retain(tn.value->get(piece, scalars[i]));
    if (tn.value->kind(text) == TN_STRING) {
        tn_release(leaf);
        if (!node->open) node->length = 0;
        if (!add_text(partial, node, text, why)) return false;
        node->kind = TEXT;
        node->open = goes_on != 0;
        return true;
    }
    if (leaf == NULL && tn.value->get(piece, "nullValue") != NULL) leaf = tn.value->make_null();
    if (leaf == NULL) return true; /* a place, and nothing to put there yet */
    tn_release(node->leaf);
    node->leaf = leaf;
    node->kind = LEAF;
    node->open = false;
    return true;
}

static void build(const struct node *node, tn_builder *out) {
    switch (node->kind) {
    case EMPTY: tn_put_take(out, node->key, tn.value->make_null()); return;
    case LEAF: tn_put(out, node->key, node->leaf); return;
    case TEXT: tn_put_take(out, node->key, tn_text_n(node->length > 0 ? node->text : "", node->length)); return;
    case OBJECT:
    case ARRAY:
        tn_put_begin(out, node->key, node->kind == OBJECT ? TN_OBJECT : TN_ARRAY);
        for (const struct node *child = node->first; child != NULL; child = child->next) build(child, out);
        tn.value->end(out);
    }
}

tn_value partial_value(const struct partial *partial) {
    tn_builder *out = tn.value->builder();
    build(&partial->root, out);
    return tn.value->finish(out);
}
