/*
 * check_config.c - each node's config: against the schema that its component publishes, and what its texts name.
 *
 * The schema's annotation `x-tenon` says what a text (or a key) of the config is: one row of the table below each. It
 * is looked for in the config with its defaults filled in, since a default names a channel as well as the author does.
 * Beside `template`, `x-tenon-variables` lists names that the component itself gives its template (true: any name).
 * References (config.h) are followed first: a prompt in a file is checked like one in the document.
 */
#include "adl/document/config.h"
#include "adl/document/reader.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <string.h>

/* A reference of the config that is being checked. */
struct reference {
    char *pointer;
    struct source *source; /* the file's text; NULL for secrets, and for files that could not be read */
};

struct config_check {
    struct reader *reader;
    uint32_t node;
    const struct node_type *type;
    const struct tree_node *tree; /* the config as it is written; NULL: there is none */
    struct span span;             /* of its key, or of the node's type: where nothing better is known */
    struct reference *references;
    uint32_t reference_count;
    tn_value filled;     /* the config with defaults and texts of files */
    char document[1024]; /* pointer of the text that names a document; "" where none does */
    struct document *inner;
};

/* ---- References ---- */

static const struct reference *reference_at(const struct config_check *check, const char *pointer) {
    for (uint32_t i = 0; i < check->reference_count; i++)
        if (strcmp(check->references[i].pointer, pointer) == 0) return &check->references[i];
    return NULL;
}

static struct span span_at(const struct config_check *check, const char *pointer, bool on_key) {
    const struct tree_item *item = NULL;
    const struct tree_node *node = check->tree ? find_pointer(check->tree, pointer, &item) : NULL;
    if (!node) return check->span;
    if (on_key && item) return item->key_span;
    return node->span.start < node->span.end ? node->span : item ? item->key_span : check->span;
}

static tn_value follow(void *self, const char *pointer, const char *kind, tn_value name) {
    struct config_check *check = self;
    struct reader *reader = check->reader;
    check->references = mem_array(check->references, check->reference_count + 1u, sizeof *check->references);
    struct reference *reference = &check->references[check->reference_count++];
    *reference = (struct reference){mem_text(pointer), NULL};
    const struct catalog *catalog = reader->catalog;
    if (strcmp(kind, "file") != 0 || !catalog->read) return value_text("");
    const char *why = "it is not there", *file = value_chars(name, NULL);
    char *path = NULL;
    tn_value text = catalog->read(catalog->self, source_name(reader->source), file, &path, &why);
    if (text) {
        size_t length;
        const char *bytes = value_chars(text, &length);
        if (length <= SOURCE_LENGTH_MAX) reference->source = source_new(path ? path : file, bytes, length);
    } else {
        char inner[1100];
        snprintf(inner, sizeof inner, "%.1024s/file", pointer);
        report(reader, ADL_E063, span_at(check, inner, false), "the file `%.200s` cannot be read: %s", file, why);
    }
    mem_free(path);
    return text ? text : value_text("");
}

static bool hidden(void *self, const char *pointer) {
    const struct reference *reference = reference_at(self, pointer);
    return reference && !reference->source;
}

/* ---- What texts name ---- */

struct named {
    struct config_check *check;
    const char *pointer;
    bool on_key;
    const char *text;
    size_t length;
    struct span span;
};

static const char *where_of(const struct named *named, char out[256]) {
    return where_in_config(named->check->reader, named->check->node, named->pointer, out);
}

static struct expr_place place_of(const struct named *named) {
    const struct config_check *check = named->check;
    const struct tree_item *item = NULL;
    const struct reference *reference = reference_at(check, named->pointer);
    struct expr_place place = {.source = check->reader->source,
                               .span = named->span,
                               .text = named->text,
                               .length = named->length,
                               .pointer = named->pointer,
                               .node = check->node};
    if (reference) {
        if (!reference->source) return place;
        place.source = reference->source;
        place.exact = true;
        return place;
    }
    if (check->tree && !named->on_key) place.scalar = find_pointer(check->tree, named->pointer, &item);
    size_t length = 0;
    const char *text = place.scalar ? tree_text(check->reader->tree, place.scalar, &length) : NULL;
    place.exact = text && length == named->length && memcmp(text, named->text, length) == 0;
    return place;
}

static void name_expression(const struct named *named) {
    struct expr_place place = place_of(named);
    check_config_expression(named->check->reader, named->check->node, &place);
}

static void note_variables(void *self, tn_value subschema) {
    tn_value given = value_get(subschema, "x-tenon-variables");
    if (given) *(tn_value *)self = given;
}

static void name_template(const struct named *named) {
    struct expr_place place = place_of(named);
    const struct config_check *check = named->check;
    if (check->type->has_variables)
        schema_at(check->type->component->config, check->filled, named->pointer, note_variables, &place.variables);
    const struct reference *reference = reference_at(named->check, named->pointer);
    if (!reference || reference->source) check_config_template(named->check->reader, named->check->node, &place);
}

static bool is_default(const struct named *named) {
    const struct config_check *check = named->check;
    const struct tree_item *item = NULL;
    return !reference_at(check, named->pointer) && !(check->tree && find_pointer(check->tree, named->pointer, &item));
}

static int32_t find_channel(const struct named *named, bool locals) {
    struct reader *reader = named->check->reader;
    int32_t field = document_find_field(reader->document, named->text, named->length);
    if (field >= 0) return field;
    struct nearest nearest;
    nearest_init(&nearest, named->text, named->length);
    names_nearest(&reader->whole->fields, &nearest);
    if (may_be_unread(reader, reader->channels_whole, "channels", &nearest, named->text, named->length)) return -1;
    char where[256];
    int length = named->length > 80 ? 80 : (int)named->length;
    struct diagnostic *it =
        report(reader, ADL_E047, named->span, "%s %s the channel `%.*s`, which is not declared", where_of(named, where),
               is_default(named) ? "is left out, and stands for" : "names", length, named->text);
    suggest_nearest(reader, it, named->span, &nearest);
    bool messages = named->length == strlen("messages") && memcmp(named->text, "messages", named->length) == 0;
    if (!it->suggestion)
        diagnostic_suggest(it, "add `{name: %.*s, type: %s}` to `channels`%s", length, named->text,
                           messages ? "reduce, reducer: messages" : "last_value",
                           locals && !is_default(named) ? "" : ", or name another one");
    return -1;
}

static void name_read(const struct named *named) {
    struct reader *reader = named->check->reader;
    char where[256];
    int32_t field = find_channel(named, true);
    if (field < 0 || (uint32_t)field < reader->document->channel_count) return;
    if (local_reaches(reader, named->check->node, (uint32_t)field)) return;
    report(reader, ADL_E048, named->span, "%s names `%.*s`, the item of a map edge that does not lead to this node",
           where_of(named, where), (int)named->length, named->text);
}

static void remember_write(struct reader *reader, uint32_t channel, struct span span) {
    if (reader->write_count == reader->write_capacity) {
        reader->write_capacity = reader->write_capacity ? reader->write_capacity * 2 : 64;
        reader->writes = mem_array(reader->writes, reader->write_capacity, sizeof *reader->writes);
    }
    reader->writes[reader->write_count++] = (struct node_write){channel, span};
}

static void name_write(const struct named *named) {
    struct reader *reader = named->check->reader;
    const struct document *document = reader->document;
    char where[256];
    int32_t field = find_channel(named, false);
    if (field < 0) return;
    bool local = (uint32_t)field >= document->channel_count;
    if (local || document->channels[field].implicit) {
        report(reader, ADL_E048, named->span, "%s writes `%.*s`, which %s", where_of(named, where), (int)named->length,
               named->text,
               local ? "is the item of a map edge and can only be read" : "only the engine writes; declare a channel");
        return;
    }
    remember_write(reader, (uint32_t)field, named->span);
}

/* A node, or END, by a key or a default: no scalar of the document that resolve_end could look at. */
static int32_t find_end(const struct document *document, const char *text, size_t length) {
    static const char *const ends[] = {"END", "__end__"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strlen(ends[i]) == length && memcmp(ends[i], text, length) == 0) return DOCUMENT_END;
    int32_t found = document_find_node(document, text, length);
    return found < 0 ? DOCUMENT_NOWHERE : found;
}

static void name_node(const struct named *named) {
    struct reader *reader = named->check->reader;
    const struct tree_item *item = NULL;
    const struct tree_node *node =
        named->check->tree && !named->on_key ? find_pointer(named->check->tree, named->pointer, &item) : NULL;
    int32_t to = node && tree_text(reader->tree, node, NULL) ? resolve_end(reader, END_TO, node)
                                                             : find_end(reader->document, named->text, named->length);
    if (!node && to == DOCUMENT_NOWHERE) {
        char where[256];
        if (reader->nodes_whole)
            report(reader, ADL_E035, named->span, "%s names the node `%.*s`, which does not exist",
                   where_of(named, where), named->length > 80 ? 80 : (int)named->length, named->text);
    }
    if (reader->link_count == reader->link_capacity) {
        reader->link_capacity = reader->link_capacity ? reader->link_capacity * 2 : 16;
        reader->links = mem_array(reader->links, reader->link_capacity, sizeof *reader->links);
    }
    reader->links[reader->link_count++] = (struct node_link){named->check->node, to};
}

static void name_model(const struct named *named) {
    check_model_name(named->check->reader, named->text, named->length, named->span, named->check->node, named->pointer);
}

static void name_tool(const struct named *named) {
    check_tool_name(named->check->reader, named->text, named->length, named->span, named->check->node, named->pointer);
}

static void name_document(const struct named *named) {
    struct config_check *check = named->check;
    size_t length = strlen(named->pointer);
    if (check->document[0] || length >= sizeof check->document) return;
    memcpy(check->document, named->pointer, length + 1);
    check->inner = subgraph_open(check->reader, check->node, named->text, named->length, named->span);
}

static void name_file(const struct named *named) {
    struct reader *reader = named->check->reader;
    const struct catalog *catalog = reader->catalog;
    if (!catalog->read || reference_at(named->check, named->pointer)) return;
    const char *why = "it is not there";
    char *path = NULL, where[256];
    tn_value text = catalog->read(catalog->self, source_name(reader->source), named->text, &path, &why);
    if (!text)
        report(reader, ADL_W108, named->span, "%s names the file `%.200s`, which cannot be read now: %s",
               where_of(named, where), named->text, why);
    value_unref(text);
    mem_free(path);
}

static const struct {
    const char *annotation;
    void (*check)(const struct named *named);
} annotations[] = {
    {"expression", name_expression},
    {"template", name_template},
    {"channel-read", name_read},
    {"channel-write", name_write},
    {"node", name_node},
    {"model", name_model},
    {"tool", name_tool},
    {"document", name_document},
    {"file", name_file},
};

static void on_annotation(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct config_check *check = self;
    if (!value_is(where, TN_STRING) || !value_is(annotation, TN_STRING)) return;
    for (size_t i = 0; i < sizeof annotations / sizeof *annotations; i++) {
        if (!value_text_is(annotation, annotations[i].annotation)) continue;
        struct named named = {.check = check, .pointer = pointer, .on_key = on_key};
        named.text = value_chars(where, &named.length);
        named.span = span_at(check, pointer, on_key);
        annotations[i].check(&named);
        return;
    }
}

/* ---- Channels of an inner document ---- */

/* Whether keys of the object at `pointer` are annotated: then its values are the inner side, else its keys. */
struct sides {
    const char *pointer;
    size_t length;
    bool keys_outer;
};

static void note_side(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct sides *sides = self;
    (void)where;
    (void)annotation;
    if (on_key && strncmp(pointer, sides->pointer, sides->length) == 0 && pointer[sides->length] == '/')
        sides->keys_outer = true;
}

static void check_inner_name(struct config_check *check, tn_value ports, tn_value name, const char *pointer,
                             bool on_key) {
    if (!value_is(name, TN_STRING)) return;
    struct reader *reader = check->reader;
    size_t length;
    const char *text = value_chars(name, &length);
    struct document *inner = check->inner;
    int32_t channel = document_find_channel(inner, text, length);
    if (channel >= 0) return;
    struct nearest nearest;
    nearest_init(&nearest, text, length);
    for (uint32_t i = 0; i < inner->channel_count && i < NAMES_SCAN_MAX; i++) {
        size_t size;
        const char *candidate = value_chars(inner->channels[i].name, &size);
        if (!on_key || !value_get(ports, candidate)) nearest_offer(&nearest, candidate, size);
    }
    struct span span = span_at(check, pointer, on_key);
    struct diagnostic *it = report(reader, ADL_E066, span, "`%s` has no channel `%.*s`", source_name(inner->source),
                                   length > 80 ? 80 : (int)length, text);
    suggest_nearest(reader, it, span, &nearest);
}

static void check_ports(struct config_check *check, const struct schema *schema, const char *key) {
    char pointer[32];
    snprintf(pointer, sizeof pointer, "/%s", key);
    if (strrchr(check->document, '/') != check->document) return; /* a document is named at the top of a config */
    tn_value ports = value_get(check->filled, key);
    if (!ports || !value_is(ports, TN_OBJECT)) return;
    struct sides sides = {pointer, strlen(pointer), false};
    schema_each_annotation(schema, check->filled, "x-tenon", note_side, &sides);
    for (size_t i = 0, n = value_count(ports); i < n; i++) {
        tn_value name = value_key_at(ports, i);
        char member[320];
        snprintf(member, sizeof member, "%s/%.256s", pointer, value_chars(name, NULL));
        check_inner_name(check, ports, sides.keys_outer ? value_value_at(ports, i) : name, member, !sides.keys_outer);
    }
}

/* ---- One config ---- */

static bool mentions(tn_value schema, const char *key) {
    int kind = value_kind(schema);
    if (kind != TN_OBJECT && kind != TN_ARRAY) return false;
    if (kind == TN_OBJECT && value_get(schema, key)) return true;
    for (size_t i = 0, n = value_count(schema); i < n; i++)
        if (mentions(kind == TN_OBJECT ? value_value_at(schema, i) : value_at(schema, i), key)) return true;
    return false;
}

static void look_at_types(struct reader *reader) {
    for (uint32_t i = 0; i < reader->types.count; i++) {
        struct node_type *type = reader->node_types ? &reader->node_types[i] : NULL;
        if (!type || !type->component) continue;
        tn_value schema = schema_document(type->component->config);
        type->annotated = mentions(schema, "x-tenon");
        type->has_defaults = mentions(schema, "default");
        type->has_variables = mentions(schema, "x-tenon-variables");
    }
}

static void check_names(struct config_check *check) {
    const struct schema *schema = check->type->component->config;
    if (!check->type->annotated) return;
    tn_value config = check->reader->document->nodes[check->node].config;
    check->filled = check->reference_count ? check->filled : value_ref(config);
    if (check->type->has_defaults) {
        tn_value filled = schema_with_defaults(schema, check->filled);
        value_unref(check->filled);
        check->filled = filled;
    }
    schema_each_annotation(schema, check->filled, "x-tenon", on_annotation, check);
    if (!check->inner) return;
    check_ports(check, schema, "input");
    check_ports(check, schema, "output");
}

static void check_fits(struct config_check *check) {
    const struct document_node *def = &check->reader->document->nodes[check->node];
    char of[160], type_text[160];
    snprintf(of, sizeof of, "node `%.120s`", value_chars(def->id, NULL));
    snprintf(type_text, sizeof type_text, "node type `%.120s`", value_chars(def->type, NULL));
    const struct value_check value = {
        .schema = check->type->component->config,
        .node = check->tree,
        .span = check->span,
        .path = "config",
        .of = of,
        .type = type_text,
        .missing = ADL_E032,
        .unknown = ADL_E033,
        .wrong = ADL_E034,
    };
    check->filled = check_value_take(check->reader, &value, check->filled, hidden, check);
}

static void check_config(struct reader *reader, uint32_t index) {
    struct document_node *def = &reader->document->nodes[index];
    struct node_note *note = &reader->notes[index];
    note->first_write = reader->write_count;
    if (!def->component || !def->component->config) return;
    size_t length;
    const char *type_name = value_chars(def->type, &length);
    const struct node_type *type = &reader->node_types[names_find(&reader->types, type_name, length)];
    struct config_check check = {
        .reader = reader,
        .node = index,
        .type = type,
        .tree = note->config ? note->config->node : NULL,
        .span = note->config ? note->config->key_span : def->type_span,
    };
    check.filled = config_resolve_take(type->component->config, value_ref(def->config), follow, &check);
    if (schema_validate(type->component->config, check.filled, NULL) != TN_OK) check_fits(&check);
    if (check.reference_count == 0) {
        value_unref(def->config); /* plain scalars may have become texts */
        def->config = check.filled;
        check.filled = NULL;
    }
    check_names(&check);
    note->write_count = reader->write_count - note->first_write;
    value_unref(check.filled);
    for (uint32_t i = 0; i < check.reference_count; i++) {
        mem_free(check.references[i].pointer);
        source_unref(check.references[i].source);
    }
    mem_free(check.references);
}

void check_configs(struct reader *reader) {
    if (!reader->catalog) return;
    look_at_types(reader);
    for (uint32_t i = 0; i < reader->document->node_count; i++) check_config(reader, i);
}
