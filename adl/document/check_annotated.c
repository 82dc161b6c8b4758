/*
 * check_annotated.c - what the strings of a config name: the meaning of the schema annotation `x-tenon`.
 *
 * The annotation defines the meaning of a string (or a key) of the config: one row of the table below each. Beside
 * `template`, `x-tenon-variables` lists names that the component adds to its template (`true` allows any name). Beside
 * `expression`, the list says whether the component passes an `item`. `schema` is for any value, which must be a JSON
 * Schema.
 */
#include "adl/document/check_config.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <string.h>

/* ---- What texts name ---- */

struct annotated_string annotated_string_at(struct config_check *check, const char *pointer, bool on_key,
                                            tn_value where, tn_value subschema) {
    struct annotated_string string = {.check = check, .pointer = pointer, .on_key = on_key, .subschema = subschema};
    string.text = value_chars(where, &string.length);
    string.node = config_member(check, pointer, &string.item);
    string.span = config_span_of(check, string.node, string.item, on_key);
    return string;
}

static const char *annotated_describe(const struct annotated_string *string, char out[256]) {
    return where_in_config(string->check->reader, string->check->node, string->pointer, out);
}

void annotated_tell(const struct annotated_string *string, enum use_kind kind, uint32_t access, const char *path) {
    const struct config_check *check = string->check;
    if (!check->reader->observer || config_reference_at(check, string->pointer)) return;
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
    const struct config_reference *reference = config_reference_at(check, string->pointer);
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
    const struct config_reference *reference = config_reference_at(string->check, string->pointer);
    if (!reference || reference->source) check_config_template(string->check->reader, string->check->node, &place);
}

/* The string is a default of the schema: it is not in the document. */
static bool annotated_is_default(const struct annotated_string *string) {
    return !config_reference_at(string->check, string->pointer) && !string->node;
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
    struct value_check place = {.span = config_span_at(check, pointer, true), .path = path, .of = of};
    place.node = config_member(check, pointer, &item);
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

void config_check_arguments(struct config_check *check) {
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
    if (!catalog->read || config_reference_at(string->check, string->pointer)) return;
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
    const struct config_reference *reference = config_reference_at(string->check, string->pointer);
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
        report(check->reader, ADL_E053, config_span_at(check, pointer, false), "%s is not a JSON Schema: %s",
               where_in_config(check->reader, check->node, pointer, where), error.message);
    schema_unref(schema);
    error_finish(&error);
}

void config_on_annotation(void *self, const char *pointer, bool on_key, tn_value where, tn_value subschema) {
    struct config_check *check = self;
    tn_value annotation = value_get(subschema, "x-tenon");
    if (!on_key && value_text_is(annotation, "schema")) check_annotated_schema(check, pointer, where);
    if (value_text_is(annotation, "arguments")) snprintf(check->arguments, sizeof check->arguments, "%s", pointer);
    if (!value_is(where, TN_STRING) || !value_is(annotation, TN_STRING)) return;
    for (size_t i = 0; i < sizeof annotations / sizeof *annotations; i++) {
        if (!value_text_is(annotation, annotations[i].annotation)) continue;
        const struct annotated_string string = annotated_string_at(check, pointer, on_key, where, subschema);
        if (annotations[i].may_be_in_file || annotated_name_is_in_document(&string)) annotations[i].check(&string);
        return;
    }
}
