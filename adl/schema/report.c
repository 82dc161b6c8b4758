/*
 * report.c - error messages: found, expected, and where.
 *
 * Values are described by kind, with long text cut; keys are in back quotes, values are JSON. A message is formatted
 * only if a caller needs it. The list is bounded: further errors only set `more`, except for the error that reports
 * that a limit ended the validation, which always has room.
 */
#include <stdio.h>
#include <string.h>

#include "adl/schema/internal.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/pointer.h"

#define TEXT_MAX        40u  /* bytes of a string in a message */
#define LIST_MAX        200u /* bytes of a list of allowed values or names */
#define NAMES_DEPTH_MAX 8u   /* depth of in-place subschemas searched for known names */

/* ---- Values in words ------------------------------------------------------------------------------------------- */

/* Returns the longest prefix of at most `limit` bytes that ends between characters. */
static size_t report_cut(const char *text, size_t length, size_t limit) {
    if (length <= limit) return length;
    while (limit && ((unsigned char)text[limit] & 0xc0) == 0x80) limit--;
    return limit;
}

void describe_short(struct buffer *out, tn_value value) {
    if (value_is(value, TN_STRING)) {
        size_t length;
        const char *text = value_chars(value, &length);
        size_t shown = report_cut(text, length, TEXT_MAX);
        json_write_string(out, text, shown);
        if (shown < length) buffer_text(out, "…");
        return;
    }
    struct buffer text;
    buffer_init(&text, LIST_MAX);
    json_write(&text, value, JSON_COMPACT);
    size_t shown = report_cut(buffer_cstr(&text), text.length, LIST_MAX - 3);
    buffer_append(out, buffer_cstr(&text), shown);
    if (text.overflow || shown < text.length) buffer_text(out, "…");
    buffer_finish(&text);
}

void describe(struct buffer *out, tn_value value) {
    size_t count = value_count(value);
    switch (value_kind(value)) {
    case TN_INT:
    case TN_DOUBLE: buffer_text(out, "the number "); break;
    case TN_STRING: buffer_text(out, "the string "); break;
    case TN_ARRAY:
        if (count == 0)
            buffer_text(out, "an empty array");
        else
            buffer_format(out, "an array of %zu item%s", count, count == 1 ? "" : "s");
        return;
    case TN_OBJECT: buffer_text(out, count == 0 ? "an empty object" : "an object"); return;
    case TN_BYTES: buffer_text(out, "bytes"); return;
    default: break;
    }
    describe_short(out, value);
}

static const char *type_words(tn_value name) {
    static const char *const words[][2] = {
        {"null", "null"},       {"boolean", "a boolean"}, {"number", "a number"},  {"integer", "an integer"},
        {"string", "a string"}, {"array", "an array"},    {"object", "an object"}, {"bytes", "bytes"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (value_text_is(name, words[i][0])) return words[i][1];
    return "nothing";
}

static const char *separator(size_t index, size_t count) {
    if (index == 0) return "";
    return index + 1 == count ? " or " : ", ";
}

void describe_types(struct buffer *out, tn_value type) {
    if (!value_is(type, TN_ARRAY)) {
        buffer_text(out, type_words(type));
        return;
    }
    size_t count = value_count(type);
    for (size_t i = 0; i < count; i++) buffer_format(out, "%s%s", separator(i, count), type_words(value_at(type, i)));
}

void describe_values(struct buffer *out, tn_value array) {
    size_t count = value_count(array), start = out->length;
    if (count == 0) buffer_text(out, "nothing: no value is allowed");
    for (size_t i = 0; i < count; i++) {
        if (out->length - start > LIST_MAX) {
            buffer_format(out, ", … (%zu in all)", count);
            return;
        }
        buffer_text(out, separator(i, count));
        describe_short(out, value_at(array, i));
    }
}

/* ---- Places ---------------------------------------------------------------------------------------------------- */

void pointer_append(struct buffer *out, tn_value key) {
    if (value_is(key, TN_INT)) {
        buffer_format(out, "/%lld", (long long)value_to_int(key));
        return;
    }
    size_t length;
    const char *text = value_chars(key, &length);
    pointer_append_key(out, text, length);
}

static void place_append(struct buffer *out, const struct place *place) {
    if (!place) return;
    place_append(out, place->parent);
    if (place->key)
        pointer_append(out, place->key);
    else
        buffer_format(out, "/%zu", place->index);
}

char *place_pointer(const struct place *place) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    place_append(&out, place);
    return out.data ? buffer_detach(&out, NULL) : mem_text("");
}

/* The location of a keyword: a plain pointer in the main document, with a URI in another one. */
static char *schema_pointer(const struct schema *schema, const struct node *node, const char *keyword) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    size_t document = node->resource->document;
    if (document) buffer_format(&out, "%s#", schema->documents[document].uri);
    buffer_text(&out, node->pointer);
    if (*keyword && strcmp(keyword, "false") != 0) buffer_format(&out, "/%s", keyword);
    return out.data ? buffer_detach(&out, NULL) : mem_text("");
}

/* ---- The list -------------------------------------------------------------------------------------------------- */

void errors_init(struct schema_errors *errors, size_t limit) {
    *errors = (struct schema_errors)SCHEMA_ERRORS_INIT;
    errors->limit = limit;
}

static void error_item_finish(struct schema_error *error) {
    mem_free(error->pointer);
    mem_free(error->schema_pointer);
    mem_free(error->message);
    mem_free(error->suggestion);
    value_unref(error->found);
    value_unref(error->expected);
}

void schema_errors_finish(struct schema_errors *errors) {
    for (size_t i = 0; i < errors->count; i++) error_item_finish(&errors->items[i]);
    mem_free(errors->items);
    errors->items = NULL;
    errors->count = 0;
    errors->more = false;
}

/* Returns a new error, or NULL if the list is full. */
static struct schema_error *errors_add(struct schema_errors *errors, bool always) {
    size_t limit = errors->limit ? errors->limit : SCHEMA_ERRORS_MAX;
    if (errors->count >= limit && !always) {
        errors->more = true;
        return NULL;
    }
    MEM_EXTEND(errors->items, errors->count);
    return &errors->items[errors->count++];
}

void errors_move(struct schema_errors *errors, struct schema_errors *from) {
    for (size_t i = 0; i < from->count; i++) {
        struct schema_error *error = errors_add(errors, false);
        if (error)
            *error = from->items[i];
        else
            error_item_finish(&from->items[i]);
    }
    errors->more = errors->more || from->more;
    from->count = 0;
    schema_errors_finish(from);
}

bool fail_finding(struct run *run, const struct finding *finding, const char *message) {
    if (!run->errors) return false;
    struct schema_error *error = errors_add(run->errors, *finding->keyword == 0);
    if (!error) return false;
    *error = (struct schema_error){
        .pointer = finding->pointer ? mem_text(finding->pointer) : place_pointer(finding->place),
        .on_key = finding->place && finding->place->on_key,
        .keyword = finding->keyword,
        .schema_pointer = schema_pointer(run->schema, finding->node, finding->keyword),
        .message = mem_text(message),
        .found = value_ref(finding->found),
        .expected = value_ref(finding->expected),
    };
    if (finding->suggestion) error->suggestion = mem_text_n(finding->suggestion, finding->suggestion_length);
    return false;
}

bool fail(struct run *run, const struct node *node, const struct check *check, tn_value found,
          const struct place *place, const char *format, ...) {
    if (!run->errors) return false;
    struct buffer message;
    buffer_init(&message, SCHEMA_MESSAGE_MAX);
    va_list args;
    va_start(args, format);
    buffer_vformat(&message, format, args);
    va_end(args);
    const struct finding finding = {node, check->keyword, place, found, check->value, NULL, 0, NULL};
    fail_finding(run, &finding, buffer_cstr(&message));
    buffer_finish(&message);
    return false;
}

/* ---- Kinds ----------------------------------------------------------------------------------------------------- */

bool fail_kind(struct run *run, const struct node *node, tn_value instance, const struct place *place) {
    if (!run->errors) return false;
    struct finding finding = {.node = node, .keyword = "type", .place = place, .found = instance};
    struct buffer message;
    buffer_init(&message, SCHEMA_MESSAGE_MAX);
    buffer_text(&message, "found ");
    describe(&message, instance);
    if (node->kinds == 0) {
        finding.keyword = "false";
        buffer_text(&message, ", expected nothing here");
    } else {
        finding.expected = value_get(node->value, "type");
        buffer_text(&message, ", expected ");
        describe_types(&message, finding.expected);
    }
    fail_finding(run, &finding, buffer_cstr(&message));
    buffer_finish(&message);
    return false;
}

/* ---- Unknown members ------------------------------------------------------------------------------------------- */

struct known {
    struct nearest near;
    const char
        *longer; /* the name that continues the unknown one after `_`: `messages_key`; NULL if it is not unique */
    size_t longer_count;
    struct buffer list; /* `a`, `b` …; cut */
    size_t count;
};

static void known_add(struct known *known, tn_value name) {
    size_t length;
    const char *text = value_chars(name, &length);
    nearest_add_candidate(&known->near, text, length);
    size_t wanted = known->near.wanted_length;
    if (length > wanted && text[wanted] == '_' && memcmp(text, known->near.wanted, wanted) == 0)
        known->longer = known->longer_count++ ? NULL : text;
    if (known->list.length < LIST_MAX)
        buffer_format(&known->list, "%s`%.*s`", known->count ? ", " : "", (int)report_cut(text, length, TEXT_MAX),
                      text);
    known->count++;
}

/* Collects the names that a node describes, and for unevaluatedProperties those of its in-place subschemas. */
static void known_names(struct known *known, const struct node *node, bool in_place, unsigned depth) {
    if (!node || depth > NAMES_DEPTH_MAX) return;
    for (size_t i = 0; i < node->check_count; i++) {
        const struct check *check = &node->checks[i];
        if (check->run == check_members) {
            tn_value index = check->as.members->index;
            for (size_t j = 0; j < value_count(index); j++) known_add(known, value_key_at(index, j));
        } else if (!in_place) {
            continue;
        } else if (check->run == check_ref) {
            known_names(known, check->as.node, true, depth + 1);
        } else if (check->run == check_all_of || check->run == check_any_of || check->run == check_one_of) {
            for (size_t j = 0; j < check->as.nodes.count; j++)
                known_names(known, check->as.nodes.at[j], true, depth + 1);
        } else if (check->run == check_if) {
            known_names(known, check->as.branch.condition, true, depth + 1);
            known_names(known, check->as.branch.then, true, depth + 1);
            known_names(known, check->as.branch.otherwise, true, depth + 1);
        }
    }
}

bool fail_unknown(struct run *run, const struct node *node, const struct check *check, const struct place *place) {
    if (!run->errors) return false;
    size_t length;
    const char *text = value_chars(place->key, &length);
    struct known known = {0};
    nearest_init(&known.near, text, length);
    buffer_init(&known.list, LIST_MAX * 2);
    bool last = check->run == check_unevaluated_properties;
    known_names(&known, node, last, 0);
    struct buffer message;
    buffer_init(&message, SCHEMA_MESSAGE_MAX);
    buffer_format(&message, "unknown property `%.*s`", (int)report_cut(text, length, TEXT_MAX), text);
    if (!nearest_result(&known.near) && known.longer)
        known.near = (struct nearest){.best = known.longer, .best_length = strlen(known.longer)};
    const char *meant = nearest_result(&known.near);
    if (meant)
        buffer_format(&message, "; did you mean `%s`?", meant);
    else if (known.count)
        buffer_format(&message, ", expected %s%s%s", known.count > 1 ? "one of " : "", buffer_cstr(&known.list),
                      known.list.length >= LIST_MAX ? ", …" : "");
    struct place key = *place;
    key.on_key = true;
    const char *keyword = last ? "unevaluatedProperties" : "additionalProperties";
    const struct finding finding = {node, keyword, &key, place->key, NULL, meant, known.near.best_length, NULL};
    fail_finding(run, &finding, buffer_cstr(&message));
    buffer_finish(&message);
    buffer_finish(&known.list);
    return false;
}
