/*
 * check_config.c - checks each node's config against its component's schema, and the names in its strings.
 *
 * The schema annotation `x-tenon` defines the meaning of a string (or a key) of the config: one row of the table below
 * each. The annotations are evaluated on the config with its defaults, because a default can name a channel, too.
 * Beside `template`, `x-tenon-variables` lists names that the component adds to its template (`true` allows any name).
 * Beside `expression`, the list says whether the component passes an `item`.
 * `schema` is for any value, which must be a JSON Schema. References (config.h) are resolved first: a prompt in a file
 * is checked like one in the document.
 */
#include "adl/document/config.h"
#include "adl/document/inner_file.h"
#include "adl/document/reader.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "adl/value/pointer.h"
#include <stdio.h>
#include <string.h>

/* A reference in the config that is being checked. */
struct reference {
    char *pointer;         /* owned; JSON Pointer of its place in the config */
    struct source *source; /* owned; the file's text; NULL for secrets and unreadable files */
};

/* The check of one node's config. */
struct config_check {
    struct reader *reader;
    uint32_t node; /* index of the node in the document */
    const struct node_type *type;
    const struct tree_node *tree; /* the config in the document; NULL if absent */
    struct span span;             /* span of its key or of the node's type: the fallback for reports */
    struct tree_finder finder;    /* of members of `tree` */
    struct reference *references; /* owned */
    uint32_t reference_count;
    tn_value reference_index; /* owned; object: the pointer of a reference → its index */
    tn_value filled;          /* owned; the config with defaults and with the texts of files */
    tn_value variables;       /* owned; object: a pointer → x-tenon-variables there; NULL until the first use */
    tn_value expressions;     /* owned; object whose keys are pointers of expressions; NULL until the first use */
    char document[1024];      /* pointer of the string that names a document; "" without one */
    struct document *inner;   /* borrowed; that document, or NULL */
    char arguments[256];      /* pointer of the arguments of the tool that the node calls; "" without them */
};

/* ---- References ---- */

static const struct reference *reference_at(const struct config_check *check, const char *pointer) {
    tn_value index = check->reference_count ? value_get(check->reference_index, pointer) : NULL;
    return index ? &check->references[value_to_int(index)] : NULL;
}

/* The member of the config in the document, or NULL for a default. *item is the item that contains it, or NULL. */
static const struct tree_node *member_node(struct config_check *check, const char *pointer,
                                           const struct tree_item **item) {
    *item = NULL;
    return check->tree ? tree_finder_at(&check->finder, pointer, item) : NULL;
}

/* The text of the document to report for a member of the config: its key if `on_key`, else its value. */
static struct span span_of(const struct config_check *check, const struct tree_node *node, const struct tree_item *item,
                           bool on_key) {
    if (!node) return check->span;
    if (on_key && item) return item->key_span;
    return node->span.start < node->span.end ? node->span : item ? item->key_span : check->span;
}

static struct span span_at(struct config_check *check, const char *pointer, bool on_key) {
    const struct tree_item *item;
    const struct tree_node *node = member_node(check, pointer, &item);
    return span_of(check, node, item, on_key);
}

static void tell_reference(struct config_check *check, const char *pointer, const char *path) {
    const struct tree_item *item;
    const struct tree_node *node = member_node(check, pointer, &item);
    const struct tree_node *name = node ? tree_get(node, "file") : NULL;
    if (!name) return;
    const struct config_use use = {.node = check->node, .pointer = pointer, .scalar = name};
    use_in_config(check->reader, &use, USE_FILE, 0, path);
}

/* config_reference_fn: remembers the reference, and returns the text of its file; "" for all others. */
static tn_value read_reference(void *self, const char *pointer, const char *kind, tn_value name) {
    struct config_check *check = self;
    struct reader *reader = check->reader;
    MEM_EXTEND(check->references, check->reference_count);
    if (!check->reference_index) check->reference_index = value_object();
    check->reference_index = value_set_take(check->reference_index, pointer, value_int(check->reference_count));
    struct reference *reference = &check->references[check->reference_count++];
    *reference = (struct reference){mem_text(pointer), NULL};
    const struct catalog *catalog = reader->catalog;
    if (strcmp(kind, "file") != 0 || !catalog->read) return value_text("");
    struct catalog_file found = {NULL, NULL};
    struct error error = ERROR_INIT;
    size_t length;
    const char *file = value_chars(name, &length);
    tn_value text = read_named_file(reader, file, length, &found, &error);
    if (text) {
        reference->source = inner_file_source(reader->source, &found, text, SOURCE_LINES_HIDDEN);
    } else {
        char inner[1100];
        snprintf(inner, sizeof inner, "%.1024s/file", pointer);
        report(reader, ADL_E063, span_at(check, inner, false), "the file `%.200s` cannot be read: %s", file,
               error.message);
    }
    tell_reference(check, pointer, found.path);
    catalog_file_finish(&found);
    error_finish(&error);
    return text ? text : value_text("");
}

/* The text of a secret or of an unreadable file is not known: it is not reported if it does not fit. */
static enum value_stand_in reference_stand_in(void *self, const char *pointer) {
    const struct reference *reference = reference_at(self, pointer);
    if (!reference) return STAND_IN_NONE;
    return reference->source ? STAND_IN_FILE : STAND_IN_UNKNOWN;
}

/* ---- What texts name ---- */

/* A string or a key of the config, to which an annotation of the schema assigns a meaning. Borrowed by the checks. */
struct annotated_string {
    struct config_check *check;
    const char *pointer; /* JSON Pointer of the member */
    bool on_key;         /* the key of the member is meant, not its value */
    const char *text;
    size_t length;
    const struct tree_node *node; /* the member in the document, and the item that has it; NULL for a default */
    const struct tree_item *item;
    struct span span;   /* to report */
    tn_value subschema; /* that annotates it */
};

static struct annotated_string annotated_string(struct config_check *check, const char *pointer, bool on_key,
                                                tn_value where, tn_value subschema) {
    struct annotated_string string = {.check = check, .pointer = pointer, .on_key = on_key, .subschema = subschema};
    string.text = value_chars(where, &string.length);
    string.node = member_node(check, pointer, &string.item);
    string.span = span_of(check, string.node, string.item, on_key);
    return string;
}

static const char *annotated_describe(const struct annotated_string *string, char out[256]) {
    return where_in_config(string->check->reader, string->check->node, string->pointer, out);
}

/* Tells the name to the observer. A name in a file is reported instead. */
static void annotated_tell(const struct annotated_string *string, enum use_kind kind, uint32_t access,
                           const char *path) {
    const struct config_check *check = string->check;
    if (!check->reader->observer || reference_at(check, string->pointer)) return;
    const struct config_use use = {.node = check->node,
                                   .pointer = string->pointer,
                                   .scalar = string->on_key ? NULL : string->node,
                                   .item = string->on_key && string->node ? string->item : NULL,
                                   .text = string->text,
                                   .length = string->length,
                                   .span = string->span};
    use_in_config(check->reader, &use, kind, access, path);
}

/*
 * Where an expression or template is written, so that a report can point into it: in a file, in a scalar of the
 * document, or neither, for a default.
 */
static struct expr_place annotated_locate(const struct annotated_string *string) {
    const struct config_check *check = string->check;
    const struct reference *reference = reference_at(check, string->pointer);
    struct expr_place place = {.source = check->reader->source,
                               .span = string->span,
                               .text = string->text,
                               .length = string->length,
                               .pointer = string->pointer,
                               .node = check->node};
    if (reference) {
        if (!reference->source) return place;
        place.source = reference->source;
        place.exact = true;
        return place;
    }
    if (!string->on_key) place.scalar = string->node;
    size_t length = 0;
    const char *text = place.scalar ? tree_text(check->reader->tree, place.scalar, &length) : NULL;
    place.exact = text && length == string->length && memcmp(text, string->text, length) == 0;
    return place;
}

static void note_variables(void *self, const char *pointer, bool on_key, tn_value where, tn_value subschema) {
    tn_value *variables = self;
    (void)where;
    if (!on_key) *variables = value_set_take(*variables, pointer, value_ref(value_get(subschema, "x-tenon-variables")));
}

/* The variables that any subschema of the place names. All places are searched once, because there can be many. */
static tn_value variables_at(struct config_check *check, const char *pointer) {
    if (!check->variables) {
        check->variables = value_object();
        schema_each_possible(check->type->component->config, check->filled, "x-tenon-variables", note_variables,
                             &check->variables);
    }
    return value_get(check->variables, pointer);
}

/* The names are usually beside the annotation; then no other subschema of the place must be searched. */
static struct expr_place locate_with_variables(const struct annotated_string *string) {
    struct expr_place place = annotated_locate(string);
    if (string->subschema) place.variables = value_get(string->subschema, "x-tenon-variables");
    if (!place.variables && string->check->type->has_variables)
        place.variables = variables_at(string->check, string->pointer);
    return place;
}

static void check_annotated_expression(const struct annotated_string *string) {
    struct expr_place place = locate_with_variables(string);
    check_config_expression(string->check->reader, string->check->node, &place);
}

static void check_annotated_template(const struct annotated_string *string) {
    struct expr_place place = locate_with_variables(string);
    const struct reference *reference = reference_at(string->check, string->pointer);
    if (!reference || reference->source) check_config_template(string->check->reader, string->check->node, &place);
}

/* The string is a default of the schema: it is not in the document. */
static bool annotated_is_default(const struct annotated_string *string) {
    return !reference_at(string->check, string->pointer) && !string->node;
}

/* `state.answer` is an expression; the name of the channel is meant. */
static void suggest_channel_of_state(struct reader *reader, struct diagnostic *it,
                                     const struct annotated_string *string) {
    static const char prefix[] = "state.";
    const size_t skip = sizeof prefix - 1;
    if (string->length <= skip || memcmp(string->text, prefix, skip) != 0) return;
    if (document_find_field(reader->document, string->text + skip, string->length - skip) < 0) return;
    const struct nearest meant = {.best = string->text + skip, .best_length = string->length - skip};
    suggest_nearest(reader, it, string->span, &meant);
}

/* Returns the field that the string names; reports an unknown one and returns -1. `locals`: map items are allowed. */
static int32_t annotated_resolve_channel(const struct annotated_string *string, bool locals) {
    struct reader *reader = string->check->reader;
    int32_t field = document_find_field(reader->document, string->text, string->length);
    if (field >= 0) return field;
    struct nearest nearest;
    nearest_init(&nearest, string->text, string->length);
    names_nearest(&reader->whole->fields, &nearest);
    if (may_be_unread(reader, reader->channels_whole, "channels", &nearest, string->text, string->length)) return -1;
    char where[256];
    int length = string->length > 80 ? 80 : (int)string->length;
    struct diagnostic *it =
        report(reader, ADL_E047, string->span, "%s %s the channel `%.*s`, which is not declared",
               annotated_describe(string, where), annotated_is_default(string) ? "is missing and defaults to" : "names",
               length, string->text);
    suggest_nearest(reader, it, string->span, &nearest);
    suggest_channel_of_state(reader, it, string);
    bool messages = string->length == strlen("messages") && memcmp(string->text, "messages", string->length) == 0;
    if (!it->suggestion)
        diagnostic_suggest(it, "add `{name: %.*s, type: %s}` to `channels`%s", length, string->text,
                           messages ? "reduce, reducer: messages" : "last_value",
                           locals && !annotated_is_default(string) ? "" : ", or name another one");
    return -1;
}

static void check_annotated_read(const struct annotated_string *string) {
    struct reader *reader = string->check->reader;
    char where[256];
    int32_t field = annotated_resolve_channel(string, true);
    bool item = field >= 0 && (uint32_t)field >= reader->document->channel_count;
    annotated_tell(string, item ? USE_ITEM : USE_CHANNEL, USE_READS, NULL);
    if (field < 0 || (uint32_t)field < reader->document->channel_count) return;
    if (local_reaches(reader, string->check->node, (uint32_t)field)) return;
    report(reader, ADL_E048, string->span, "%s names `%.*s`, the item of a map edge that does not lead to this node",
           annotated_describe(string, where), (int)string->length, string->text);
}

static void record_channel_write(struct reader *reader, uint32_t channel, struct span span) {
    MEM_GROW(reader->writes, reader->write_count, reader->write_capacity);
    reader->writes[reader->write_count++] = (struct node_write){channel, span};
}

/* ---- Values that are known ---- */

static tn_value member_at(tn_value value, const char *pointer) {
    while (value && *pointer == '/') {
        char token[DOCUMENT_NAME_MAX + 1];
        size_t length = 0;
        for (pointer++; *pointer && *pointer != '/'; pointer++) {
            bool escape = *pointer == '~' && (pointer[1] == '0' || pointer[1] == '1');
            if (length >= sizeof token - 1) return NULL;
            token[length++] = escape ? (*++pointer == '0' ? '~' : '/') : *pointer;
        }
        token[length] = '\0';
        value = value_is(value, TN_OBJECT) ? value_get(value, token) : NULL;
    }
    return value;
}

/* Describes the member at `pointer` for messages. `of` and `path` hold texts of the result. */
static struct value_check describe_member(struct config_check *check, const char *pointer, char of[160],
                                          char path[320]) {
    const struct tree_item *item;
    const struct document_node *def = &check->reader->document->nodes[check->node];
    struct value_check place = {.span = span_at(check, pointer, true), .path = path, .of = of};
    place.node = member_node(check, pointer, &item);
    snprintf(of, 160, "node `%.120s`", value_chars(def->id, NULL));
    snprintf(path, 320, "config%.300s", pointer);
    for (char *at = path; *at; at++)
        if (*at == '/') *at = '.';
    return place;
}

static void note_expression(void *self, const char *pointer, bool on_key, tn_value where, tn_value subschema) {
    tn_value *expressions = self;
    (void)where;
    if (!on_key && value_text_is(value_get(subschema, "x-tenon"), "expression"))
        *expressions = value_set_take(*expressions, pointer, value_bool(true));
}

static bool is_expression(struct config_check *check, const char *pointer) {
    if (!check->expressions) {
        check->expressions = value_object();
        schema_each_possible(check->type->component->config, check->filled, "x-tenon", note_expression,
                             &check->expressions);
    }
    return value_get(check->expressions, pointer) != NULL;
}

/* The key names the channel, and the value is the expression or literal that is written to it. */
static void check_written_literal(const struct annotated_string *string, const struct document_channel *channel) {
    struct config_check *check = string->check;
    char of[160], path[320];
    tn_value member = member_at(check->filled, string->pointer);
    tn_value value = member && is_expression(check, string->pointer) ? literal_value(member) : NULL;
    if (!value) return;
    struct value_check place = describe_member(check, string->pointer, of, path);
    place.missing = place.unknown = place.wrong = ADL_E070;
    char type[DOCUMENT_NAME_MAX + 16];
    snprintf(type, sizeof type, "channel `%.256s`", value_chars(channel->name, NULL));
    place.type = type;
    check_channel_literal(check->reader, &place, channel, value);
    value_unref(value);
}

static void check_arguments(struct config_check *check) {
    const struct component_info *tool = check->reader->notes[check->node].tool;
    tn_value written = check->arguments[0] ? member_at(check->filled, check->arguments) : NULL;
    if (!tool || !tool->input || !value_is(written, TN_OBJECT)) return;
    char of[160], path[320], type[160];
    struct value_check place = describe_member(check, check->arguments, of, path);
    snprintf(type, sizeof type, "the tool `%.120s`", tool->id);
    place.schema = tool->input;
    place.type = type;
    place.missing = ADL_E032;
    place.unknown = ADL_E033;
    place.wrong = ADL_E034;
    check_tool_arguments(check->reader, &place, written);
}

static void check_annotated_write(const struct annotated_string *string) {
    struct reader *reader = string->check->reader;
    const struct document *document = reader->document;
    char where[256];
    int32_t field = annotated_resolve_channel(string, false);
    bool local = field >= 0 && (uint32_t)field >= document->channel_count;
    annotated_tell(string, local ? USE_ITEM : USE_CHANNEL, USE_WRITES, NULL);
    if (field < 0) return;
    if (local || document->channels[field].implicit) {
        report(reader, ADL_E048, string->span, "%s writes `%.*s`, which %s", annotated_describe(string, where),
               (int)string->length, string->text,
               local ? "is the item of a map edge and can only be read" : "only the engine writes; declare a channel");
        return;
    }
    record_channel_write(reader, (uint32_t)field, string->span);
    if (string->on_key) check_written_literal(string, &document->channels[field]);
}

/* Returns the channel that the string names, or NULL; an unknown one is reported as one that is written. */
static const struct document_channel *annotated_channel(const struct annotated_string *string) {
    const struct document *document = string->check->reader->document;
    int32_t field = document_find_channel(document, string->text, string->length);
    const struct document_channel *channel = field < 0 ? NULL : &document->channels[field];
    return channel && !channel->type_unread && !channel->implicit ? channel : NULL;
}

static void check_annotated_append(const struct annotated_string *string) {
    const struct document_channel *channel = annotated_channel(string);
    if (!channel || channel->reducer == REDUCER_COMPONENT) return;
    char where[256];
    bool grows = channel_is_list(channel);
    bool messages = !channel->schema || (schema_kinds(channel->schema) & (1 << TN_OBJECT));
    if (grows && messages) return;
    struct diagnostic *it =
        report(string->check->reader, grows ? ADL_E048 : ADL_W114, string->span, "%s appends messages to `%.*s`, %s",
               annotated_describe(string, where), (int)string->length, string->text,
               grows ? "whose schema does not accept a message" : "which keeps only one value");
    diagnostic_suggest(it, "declare the channel as `{name: %.*s, type: reduce, reducer: messages}`",
                       (int)string->length, string->text);
}

static void check_annotated_messages(const struct annotated_string *string) {
    const struct document_channel *channel = annotated_channel(string);
    if (!channel || channel->reducer == REDUCER_MESSAGES || channel->reducer == REDUCER_COMPONENT) return;
    char where[256];
    struct diagnostic *it = report(string->check->reader, ADL_W114, string->span,
                                   "%s removes messages of `%.*s` by their ids, which needs the reducer `messages`",
                                   annotated_describe(string, where), (int)string->length, string->text);
    diagnostic_suggest(it, "write `type: reduce, reducer: messages` for the channel, or set `output_key`");
}

#define LINKS_COMPARED 256u /* bounds the search for the same link; more links of one node can be repeated */

static void record_link(struct reader *reader, uint32_t from, int32_t to) {
    struct document *document = reader->document;
    uint32_t first = document->link_count > LINKS_COMPARED ? document->link_count - LINKS_COMPARED : 0;
    for (uint32_t i = first; i < document->link_count; i++)
        if (document->links[i].from == from && document->links[i].to == to) return;
    MEM_GROW(document->links, document->link_count, reader->link_capacity);
    document->links[document->link_count++] = (struct document_link){from, to};
}

/* Finds a node, or END, named by a key or a default, which is not a scalar of the document. */
static int32_t find_node_or_end(const struct document *document, const char *text, size_t length) {
    static const char *const ends[] = {"END", "__end__"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strlen(ends[i]) == length && memcmp(ends[i], text, length) == 0) return DOCUMENT_END;
    int32_t found = document_find_node(document, text, length);
    return found < 0 ? DOCUMENT_NOWHERE : found;
}

static void check_annotated_node(const struct annotated_string *string) {
    struct reader *reader = string->check->reader;
    const struct tree_node *node = string->on_key ? NULL : string->node;
    int32_t to = node && tree_text(reader->tree, node, NULL)
                     ? resolve_end(reader, END_TO, node)
                     : find_node_or_end(reader->document, string->text, string->length);
    if (!node && to != DOCUMENT_END) annotated_tell(string, USE_NODE, 0, NULL);
    if (!node && to == DOCUMENT_NOWHERE) {
        char where[256];
        struct nearest nearest;
        nearest_init(&nearest, string->text, string->length);
        names_nearest(&reader->whole->nodes, &nearest);
        nearest_add_candidate(&nearest, "END", strlen("END"));
        if (reader->nodes_whole) {
            struct diagnostic *it =
                report(reader, ADL_E035, string->span, "%s names the node `%.*s`, which does not exist",
                       annotated_describe(string, where), string->length > 80 ? 80 : (int)string->length, string->text);
            suggest_nearest(reader, it, string->span, &nearest);
        }
    }
    record_link(reader, string->check->node, to);
}

static void check_annotated_end(const struct annotated_string *string) {
    record_link(string->check->reader, string->check->node, DOCUMENT_END);
}

/* `openai:gpt-4o` names a provider, unless it is a role. */
static void tell_model(const struct annotated_string *string) {
    const struct reader *reader = string->check->reader;
    const struct tree_node *node = string->node;
    bool provider = memchr(string->text, ':', string->length) &&
                    names_find(&reader->whole->models, string->text, string->length) < 0;
    if (!provider)
        annotated_tell(string, USE_ROLE, 0, NULL);
    else if (node && !string->on_key && tree_text(reader->tree, node, NULL))
        use_provider(reader, node, string->check->node);
}

static void check_annotated_model(const struct annotated_string *string) {
    if (string->check->reader->observer) tell_model(string);
    check_model_name(string->check->reader, string->text, string->length, string->span, string->check->node,
                     string->pointer);
}

static void check_annotated_tool(const struct annotated_string *string) {
    struct reader *reader = string->check->reader;
    annotated_tell(string, USE_TOOL, 0, NULL);
    check_tool_name(reader, string->text, string->length, string->span, string->check->node, string->pointer);
    if (!reader->document->tools_given) check_tool_key(reader, string->text, string->length, string->span);
    /* A tool that is not an item of a list is called by the node itself. Of a list, a model chooses. */
    const char *token = strrchr(string->pointer, '/');
    const struct catalog *catalog = reader->catalog;
    struct node_note *note = &reader->notes[string->check->node];
    bool item = token && token[strspn(token, "/0123456789")] == '\0';
    note->model_chooses |= item;
    if (catalog && !item) note->tool = catalog->find(catalog->self, "tool", string->text, string->length);
}

static void tell_approval(const struct annotated_string *string) { annotated_tell(string, USE_TOOL, 0, NULL); }

static void check_annotated_document(const struct annotated_string *string) {
    struct config_check *check = string->check;
    size_t length = strlen(string->pointer);
    if (check->document[0] || length >= sizeof check->document) return;
    memcpy(check->document, string->pointer, length + 1);
    check->inner = subgraph_open(check->reader, check->node, string->text, string->length, string->span);
    annotated_tell(string, USE_DOCUMENT, 0, check->inner ? source_name(check->inner->source) : NULL);
}

static void check_annotated_file(const struct annotated_string *string) {
    struct reader *reader = string->check->reader;
    const struct catalog *catalog = reader->catalog;
    if (!catalog->read || reference_at(string->check, string->pointer)) return;
    struct catalog_file found = {NULL, NULL};
    struct error error = ERROR_INIT;
    char where[256];
    tn_value text = read_named_file(reader, string->text, string->length, &found, &error);
    if (!text)
        report(reader, ADL_W108, string->span, "%s names the file `%.200s`, which cannot be read now: %s",
               annotated_describe(string, where), string->text, error.message);
    annotated_tell(string, USE_FILE, 0, found.path);
    value_unref(text);
    catalog_file_finish(&found);
    error_finish(&error);
}

/* Reports of a name quote it, and the text of a file must not be quoted. */
static bool annotated_name_is_in_document(const struct annotated_string *string) {
    const struct reference *reference = reference_at(string->check, string->pointer);
    char where[256];
    if (!reference || !reference->source) return true;
    report(string->check->reader, ADL_E034, string->span, "%s: found a reference to a file, expected the name itself",
           annotated_describe(string, where));
    return false;
}

/* The values of `x-tenon` that are checked here. */
static const struct {
    const char *annotation;
    void (*check)(const struct annotated_string *string);
    bool may_be_in_file;
} annotations[] = {
    {"expression", check_annotated_expression, true},
    {"template", check_annotated_template, true},
    {"channel-read", check_annotated_read, false},
    {"channel-write", check_annotated_write, false},
    {"channel-append", check_annotated_append, false},
    {"channel-messages", check_annotated_messages, false},
    {"node", check_annotated_node, false},
    {"end", check_annotated_end, true},
    {"model", check_annotated_model, false},
    {"tool", check_annotated_tool, false},
    {"approval", tell_approval, false},
    {"document", check_annotated_document, false},
    {"file", check_annotated_file, false},
};

static void check_annotated_schema(struct config_check *check, const char *pointer, tn_value value) {
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    char where[256];
    if (!value_is(value, TN_OBJECT) && !value_is(value, TN_BOOL)) return; /* reported, or a reference */
    if (schema_compile(value, NULL, &schema, &error) != TN_OK)
        report(check->reader, ADL_E053, span_at(check, pointer, false), "%s is not a JSON Schema: %s",
               where_in_config(check->reader, check->node, pointer, where), error.message);
    schema_unref(schema);
    error_finish(&error);
}

static void on_annotation(void *self, const char *pointer, bool on_key, tn_value where, tn_value subschema) {
    struct config_check *check = self;
    tn_value annotation = value_get(subschema, "x-tenon");
    if (!on_key && value_text_is(annotation, "schema")) check_annotated_schema(check, pointer, where);
    if (value_text_is(annotation, "arguments")) snprintf(check->arguments, sizeof check->arguments, "%s", pointer);
    if (!value_is(where, TN_STRING) || !value_is(annotation, TN_STRING)) return;
    for (size_t i = 0; i < sizeof annotations / sizeof *annotations; i++) {
        if (!value_text_is(annotation, annotations[i].annotation)) continue;
        const struct annotated_string string = annotated_string(check, pointer, on_key, where, subschema);
        if (annotations[i].may_be_in_file || annotated_name_is_in_document(&string)) annotations[i].check(&string);
        return;
    }
}

/* ---- Channels of an inner document ---- */

/*
 * `input` and `output` of a node with an inner document map channels of the outer one to channels of the inner one. The
 * schema annotates the side that names outer channels, so the other side names inner ones.
 */
struct port_sides {
    const char *pointer; /* JSON Pointer of the map */
    size_t length;
    bool keys_outer; /* the keys name outer channels, and the values inner ones; else the reverse */
};

static void note_port_side(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct port_sides *sides = self;
    (void)where;
    (void)annotation;
    if (on_key && strncmp(pointer, sides->pointer, sides->length) == 0 && pointer[sides->length] == '/')
        sides->keys_outer = true;
}

static void check_port_name(struct config_check *check, tn_value ports, tn_value name, const char *pointer, bool on_key,
                            uint32_t access) {
    if (!value_is(name, TN_STRING)) return;
    struct reader *reader = check->reader;
    struct document *inner = check->inner;
    const struct annotated_string string = annotated_string(check, pointer, on_key, name, NULL);
    const char *text = string.text;
    size_t length = string.length;
    annotated_tell(&string, USE_INNER_CHANNEL, access, source_name(inner->source));
    int32_t channel = document_find_channel(inner, text, length);
    if (channel >= 0) return;
    struct nearest nearest;
    nearest_init(&nearest, text, length);
    for (uint32_t i = 0; i < inner->channel_count && i < NAMES_SCAN_MAX; i++) {
        size_t size;
        const char *candidate = value_chars(inner->channels[i].name, &size);
        if (!on_key || !value_get(ports, candidate)) nearest_add_candidate(&nearest, candidate, size);
    }
    struct diagnostic *it = report(reader, ADL_E066, string.span, "`%s` has no channel `%.*s`",
                                   source_name(inner->source), length > 80 ? 80 : (int)length, text);
    suggest_nearest(reader, it, string.span, &nearest);
}

static void check_ports(struct config_check *check, const struct schema *schema, const char *key) {
    char pointer[32];
    snprintf(pointer, sizeof pointer, "/%s", key);
    if (strrchr(check->document, '/') != check->document) return; /* a document is named at the top level of a config */
    tn_value ports = value_get(check->filled, key);
    if (!ports || !value_is(ports, TN_OBJECT)) return;
    struct port_sides sides = {pointer, strlen(pointer), false};
    schema_each_annotation(schema, check->filled, "x-tenon", note_port_side, &sides);
    for (size_t i = 0, n = value_count(ports); i < n; i++) {
        tn_value name = value_key_at(ports, i);
        size_t length;
        const char *text = value_chars(name, &length);
        struct buffer member;
        buffer_init(&member, SIZE_MAX);
        buffer_text(&member, pointer);
        pointer_append_key(&member, text, length);
        check_port_name(check, ports, sides.keys_outer ? value_value_at(ports, i) : name, buffer_cstr(&member),
                        !sides.keys_outer, sides.keys_outer ? USE_WRITES : USE_READS);
        buffer_finish(&member);
    }
}

/* ---- One config ---- */

/* True if the key occurs anywhere in the schema. Nodes whose schema does not are not walked. */
static bool schema_mentions(tn_value schema, const char *key) {
    int kind = value_kind(schema);
    if (kind != TN_OBJECT && kind != TN_ARRAY) return false;
    if (kind == TN_OBJECT && value_get(schema, key)) return true;
    for (size_t i = 0, n = value_count(schema); i < n; i++)
        if (schema_mentions(kind == TN_OBJECT ? value_value_at(schema, i) : value_at(schema, i), key)) return true;
    return false;
}

static void note_annotated_types(struct reader *reader) {
    for (uint32_t i = 0; i < reader->types.count; i++) {
        struct node_type *type = reader->node_types ? &reader->node_types[i] : NULL;
        if (!type || !type->component) continue;
        tn_value schema = schema_document(type->component->config);
        type->annotated = schema_mentions(schema, "x-tenon");
        type->has_defaults = schema_mentions(schema, "default");
        type->has_variables = schema_mentions(schema, "x-tenon-variables");
    }
}

static void check_annotations(struct config_check *check) {
    const struct schema *schema = check->type->component->config;
    if (!check->type->annotated) return;
    tn_value config = check->reader->document->nodes[check->node].config;
    check->filled = check->reference_count ? check->filled : value_ref(config);
    if (check->type->has_defaults) {
        tn_value filled = schema_with_defaults(schema, check->filled);
        value_unref(check->filled);
        check->filled = filled;
    }
    schema_each_annotated(schema, check->filled, "x-tenon", on_annotation, check);
    check_arguments(check);
    if (!check->inner) return;
    check_ports(check, schema, "input");
    check_ports(check, schema, "output");
}

static void report_misfits(struct config_check *check) {
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
    check->filled = check_value_take(check->reader, &value, check->filled, reference_stand_in, check);
}

/*
 * Checks one node's config: replaces references by the texts that they name, validates the result, adds defaults, and
 * then checks each annotated string. Without references the result replaces the config of the document.
 */
static void check_config(struct reader *reader, uint32_t index) {
    struct document_node *def = &reader->document->nodes[index];
    struct node_note *note = &reader->notes[index];
    note->first_write = reader->write_count;
    if (!def->component || !def->component->config) {
        if (note->config) use_unread(reader, reader->source, note->config->node->span, index);
        return;
    }
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
    check.finder.root = check.tree;
    check_placeholders(reader, check.tree);
    check.filled = config_resolve_take(type->component->config, value_ref(def->config), read_reference, &check);
    if (schema_validate(type->component->config, check.filled, NULL) != TN_OK) report_misfits(&check);
    if (check.reference_count == 0) {
        value_unref(def->config); /* plain scalars may have become strings */
        def->config = check.filled;
        check.filled = NULL;
    }
    check_annotations(&check);
    note->write_count = reader->write_count - note->first_write;
    value_unref(check.filled);
    for (uint32_t i = 0; i < check.reference_count; i++) {
        mem_free(check.references[i].pointer);
        source_unref(check.references[i].source);
    }
    mem_free(check.references);
    value_unref(check.reference_index);
    value_unref(check.variables);
    value_unref(check.expressions);
}

void check_configs(struct reader *reader) {
    if (!reader->catalog && !reader->observer) return;
    if (reader->catalog) note_annotated_types(reader);
    for (uint32_t i = 0; i < reader->document->node_count; i++) check_config(reader, i);
}
