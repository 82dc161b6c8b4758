/*
 * partial.c - the arguments as a tree that can change: values cannot, and a text of a thousand pieces would be copied
 * a thousand times.
 *
 * A container finds a child by looking at the newest first, where the next piece nearly always belongs. Invariant: an
 * item of an array has all those before it as well; a place that was jumped over is null.
 *
 * Beside it the JSON text of the tree is written as it grows, as long as pieces come in its order: `at` is the node
 * that was written last, and all around it is open. A piece for what is closed already ends that: the text is then not
 * of the tree, and nothing more is written. A place that nothing came for is in the tree, as null, and not in the text.
 */
#include "partial.h"

enum kind { EMPTY, LEAF, TEXT, OBJECT, ARRAY };

struct node {
    struct node *parent, *next, *first, *last; /* `next` a sibling; children */
    char *key;                                 /* in an object */
    uint64_t count;                            /* of children */
    tn_value leaf;
    char *text;
    uint64_t length, capacity;
    uint64_t told; /* bytes of the text that are written; of a container, children that are */
    enum kind kind;
    bool open;    /* more of the text will come */
    bool written; /* its key, and where it begins */
};

struct partial {
    struct node root; /* always an object */
    uint64_t nodes, text;
    struct node *at;
    char *json; /* what partial_take has not given yet */
    uint64_t length, capacity;
    bool lost; /* it is no text of the tree any more */
};

struct partial *partial_new(void) {
    struct partial *partial = tn.core->alloc(tn.host, sizeof *partial);
    if (partial == NULL) return NULL;
    memset(partial, 0, sizeof *partial);
    partial->root.kind = OBJECT;
    partial->at = &partial->root;
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
    tn.core->release(tn.host, partial->json);
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
    child->parent = parent;
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

static tn_value value_of(const struct node *node) {
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, node->key != NULL ? TN_OBJECT : TN_ARRAY); /* a builder makes whole values */
    build(node, out);
    tn.value->end(out);
    tn_value around = tn.value->finish(out);
    tn_value value = tn_retain(node->key != NULL ? tn.value->get(around, node->key) : tn.value->at(around, 0));
    tn_release(around);
    return value;
}

/* ---- Their text ----------------------------------------------------------------------------------------------- */

static void write_n(struct partial *partial, const char *text, uint64_t length) {
    if (partial->lost) return;
    if (partial->length + length > partial->capacity) {
        uint64_t capacity = (partial->length + length) * 2 + 64;
        char *grown = tn.core->resize(tn.host, partial->json, capacity);
        partial->lost = grown == NULL;
        if (grown == NULL) return;
        partial->json = grown;
        partial->capacity = capacity;
    }
    if (length > 0) memcpy(partial->json + partial->length, text, length);
    partial->length += length;
}

static void write(struct partial *partial, const char *text) { write_n(partial, text, strlen(text)); }

/* A value as JSON, without so many characters at either end. */
static void write_json_take(struct partial *partial, tn_value value, uint64_t without) {
    tn_value json = value != NULL ? tn.value->to_json(value) : NULL;
    uint64_t length = 0;
    const char *text = tn_chars(json, &length);
    if (text != NULL)
        write_n(partial, text + without, length - 2 * without);
    else
        partial->lost = true;
    tn_release(json);
    tn_release(value);
}

/* Ends what is open below `until`, which is around it. */
static void write_ends(struct partial *partial, const struct node *until) {
    for (; partial->at != until; partial->at = partial->at->parent) {
        const struct node *node = partial->at;
        if (node->kind == TEXT)
            write(partial, "\"");
        else if (node->kind != LEAF)
            write(partial, node->kind == OBJECT ? "}" : "]");
    }
}

static bool is_around(const struct node *around, const struct node *node) {
    while (node != NULL && node != around) node = node->parent;
    return node != NULL;
}

/* A child of what is open, up to where it begins. */
static void write_begin(struct partial *partial, struct node *node) {
    struct node *parent = node->parent;
    while (parent->kind == ARRAY && parent->told + 1 < parent->count) /* jumped over: it is the last */
        write(partial, parent->told++ > 0 ? ",null" : "null");
    if (parent->told++ > 0) write(partial, ",");
    if (parent->kind == OBJECT) {
        write_json_take(partial, tn_text(node->key), 0);
        write(partial, ":");
    }
    if (node->kind != LEAF) write(partial, node->kind == TEXT ? "\"" : node->kind == OBJECT ? "{" : "[");
    node->written = true;
    partial->at = node;
}

/* What a piece has put into `node`. */
static void write_node(struct partial *partial, struct node *node) {
    struct node *down[PARTIAL_DEPTH_MAX + 1];
    uint32_t depth = 0;
    if (partial->at == &partial->root && !partial->root.written) {
        write(partial, "{");
        partial->root.written = true;
    }
    for (struct node *up = node; !is_around(up, partial->at); up = up->parent) {
        /* An item that was jumped over is null in the text. */
        bool passed = up->written || (up->parent->kind == ARRAY && up->next != NULL);
        if (passed || depth > PARTIAL_DEPTH_MAX) partial->lost = true;
        if (partial->lost) return;
        down[depth++] = up;
    }
    if (depth > 0) {
        write_ends(partial, down[depth - 1]->parent);
        while (depth-- > 0) write_begin(partial, down[depth]);
    } else if (node != partial->at || node->kind == LEAF) {
        partial->lost = true;
        return;
    }
    if (node->kind == LEAF) {
        write_json_take(partial, tn_retain(node->leaf), 0);
    } else {
        write_json_take(partial,
                        tn_text_n(node->text != NULL ? node->text + node->told : "", node->length - node->told), 1);
        node->told = node->length;
    }
}

tn_value partial_take(struct partial *partial) {
    tn_value text = partial->length > 0 && !partial->lost ? tn_text_n(partial->json, partial->length) : NULL;
    partial->length = 0;
    return text;
}

bool partial_lost(const struct partial *partial) { return partial->lost; }

/* Those that pieces brought are as they were told; the others come last. */
static void write_rest(struct partial *partial, tn_value told) {
    for (uint64_t i = 0, count = tn.value->count(told); i < count && !partial->lost; i++) {
        tn_value key, value;
        const char *why;
        if (tn.value->entry(told, i, &key, &value) != TN_OK) return;
        struct node *node = member(partial, &partial->root, tn_chars(key, NULL), &why);
        if (node == NULL) {
            partial->lost = true;
        } else if (node->kind == EMPTY) {
            node->leaf = tn_retain(value);
            node->kind = LEAF;
            write_node(partial, node);
        } else {
            tn_value brought = value_of(node);
            partial->lost = brought == NULL || !tn.value->equal(brought, value);
            tn_release(brought);
        }
    }
}

void partial_end(struct partial *partial, tn_value told) {
    write_rest(partial, told);
    if (partial->lost) return;
    if (!partial->root.written) write(partial, "{");
    write_ends(partial, &partial->root);
    write(partial, "}");
}

/* ---- Pieces --------------------------------------------------------------------------------------------------- */

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
        if (!node->open && node->kind != EMPTY) partial->lost = true;
        if (!node->open) node->length = 0;
        if (!add_text(partial, node, text, why)) return false;
        node->kind = TEXT;
        node->open = goes_on != 0;
        if (!partial->lost) write_node(partial, node);
        return true;
    }
    if (leaf == NULL && tn.value->get(piece, "nullValue") != NULL) leaf = tn.value->make_null();
    if (leaf == NULL) return true; /* a place, and nothing to put there yet */
    if (node->kind != EMPTY) partial->lost = true;
    tn_release(node->leaf);
    node->leaf = leaf;
    node->kind = LEAF;
    node->open = false;
    if (!partial->lost) write_node(partial, node);
    return true;
}

tn_value partial_value(const struct partial *partial) { return value_of(&partial->root); }
