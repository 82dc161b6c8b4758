/*
 * disjoint.c - compares two schemas as documents, part by part.
 *
 * Both sides are read without compiling them, because a part of a schema can be compared with a part of another one
 * only as a document. A difference in one part is a difference of the whole only if every value has that part.
 */
#include "adl/schema/disjoint.h"
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <stdlib.h>
#include <string.h>

/* A subschema, and the root of its references. */
struct part {
    tn_value schema, root;
};

/* One comparison, shared by all of its parts. */
struct comparison {
    uint32_t work;
};

/* What a value can be; an integer is a number without a fraction. */
enum {
    IS_NULL = 1,
    IS_BOOL = 2,
    IS_INTEGER = 4,
    IS_FRACTION = 8,
    IS_STRING = 16,
    IS_ARRAY = 32,
    IS_OBJECT = 64,
    IS_BYTES = 128,
    IS_ANY = 255
};

static const struct {
    const char *name, *text;
    unsigned mask;
} types[] = {{"null", "null", IS_NULL},
             {"boolean", "a boolean", IS_BOOL},
             {"number", "a number", IS_INTEGER | IS_FRACTION},
             {"integer", "an integer", IS_INTEGER},
             {"string", "a string", IS_STRING},
             {"array", "a list", IS_ARRAY},
             {"object", "an object", IS_OBJECT},
             {"bytes", "bytes", IS_BYTES}};

static unsigned type_mask(tn_value type) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (value_text_is(type, types[i].name)) return types[i].mask;
    return IS_ANY;
}

static unsigned schema_mask(tn_value schema) {
    tn_value type = value_get(schema, "type");
    if (!value_is(type, TN_ARRAY)) return type ? type_mask(type) : IS_ANY;
    unsigned mask = 0;
    for (size_t i = 0, n = value_count(type); i < n; i++) mask |= type_mask(value_at(type, i));
    return mask;
}

static void write_types(struct buffer *out, unsigned mask) {
    const char *between = "";
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        bool covered = (mask & types[i].mask) == types[i].mask;
        if (!covered || (types[i].mask == IS_INTEGER && mask & IS_FRACTION)) continue;
        buffer_format(out, "%s%s", between, types[i].text);
        between = " or ";
    }
}

/* Removes a reason that turned out not to hold. */
static void truncate_to(struct buffer *buffer, size_t length) {
    if (buffer->length <= length) return;
    buffer->length = length;
    buffer->data[length] = '\0';
}

static struct part part_of(struct part whole, tn_value schema) {
    bool root = value_is(schema, TN_OBJECT) && (value_get(schema, "$id") || value_get(schema, "$defs"));
    return (struct part){schema, root ? schema : whole.root};
}

static bool parts_disjoint(struct comparison *comparison, struct part made, struct part taken, uint32_t depth,
                           struct buffer *why);

/* ---- References and combinations ---- */

/* What a JSON Pointer without escapes names in a document; NULL if there is nothing. */
static tn_value pointed_at(tn_value document, const char *pointer) {
    tn_value at = document;
    while (at && *pointer == '/') {
        size_t length = strcspn(++pointer, "/");
        size_t digits = strspn(pointer, "0123456789");
        if (memchr(pointer, '~', length) || memchr(pointer, '%', length)) return NULL;
        if (value_is(at, TN_ARRAY))
            at = length && length < 6 && digits == length ? value_at(at, strtoul(pointer, NULL, 10)) : NULL;
        else
            at = value_get_n(at, pointer, length);
        pointer += length;
    }
    return at;
}

/* The subschema that $ref names within its document; NULL if it is elsewhere. */
static tn_value resolve(struct part part) {
    tn_value reference = value_get(part.schema, "$ref");
    if (!value_is(reference, TN_STRING)) return NULL;
    size_t length;
    const char *text = value_chars(reference, &length);
    if (text[0] != '#') return NULL;
    return length == 1 ? part.root : text[1] == '/' ? pointed_at(part.root, text + 1) : NULL;
}

/* Compares each alternative of a list with the other side: how many there are, and how many are disjoint. */
static size_t count_disjoint(struct comparison *comparison, struct part whole, tn_value list, struct part other,
                             bool made, uint32_t depth, struct buffer *why) {
    size_t disjoint = 0;
    for (size_t i = 0, n = value_count(list); i < n; i++) {
        struct part alternative = part_of(whole, value_at(list, i));
        size_t before = why->length;
        bool found = made ? parts_disjoint(comparison, alternative, other, depth, why)
                          : parts_disjoint(comparison, other, alternative, depth, why);
        if (!found) continue;
        if (disjoint++) truncate_to(why, before); /* one reason is enough */
    }
    return disjoint;
}

static bool combinations_disjoint(struct comparison *comparison, struct part part, struct part other, bool made,
                                  uint32_t depth, struct buffer *why) {
    static const char *const alternatives[] = {"anyOf", "oneOf"};
    tn_value target = resolve(part), all = value_get(part.schema, "allOf");
    if (target) {
        struct part resolved = part_of(part, target);
        if (made ? parts_disjoint(comparison, resolved, other, depth, why)
                 : parts_disjoint(comparison, other, resolved, depth, why))
            return true;
    }
    if (count_disjoint(comparison, part, all, other, made, depth, why) > 0) return true;
    for (size_t i = 0; i < 2; i++) {
        tn_value list = value_get(part.schema, alternatives[i]);
        size_t before = why->length, count = value_is(list, TN_ARRAY) ? value_count(list) : 0;
        if (count && count_disjoint(comparison, part, list, other, made, depth, why) == count) return true;
        truncate_to(why, before);
    }
    return false;
}

/* ---- Constants ---- */

static bool value_refused(const struct schema *schema, tn_value value, struct buffer *why) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    bool refused = schema_validate(schema, value, &errors) == TN_INVALID;
    if (refused && errors.count) {
        char *text = json_text(value, JSON_COMPACT);
        buffer_format(why, "%.80s: %s", text, errors.items[0].message);
        mem_free(text);
    }
    schema_errors_finish(&errors);
    return refused;
}

/* `listed` allows only some values, and none of them is valid for `other`. */
static bool constants_disjoint(tn_value listed, struct part other, struct buffer *why) {
    tn_value constant = value_get(listed, "const"), list = value_get(listed, "enum");
    struct schema *schema = NULL;
    size_t start = why->length;
    if (!constant && !value_is(list, TN_ARRAY)) return false;
    if (other.root != other.schema && value_get(other.root, "$defs")) return false; /* its references need the root */
    if (schema_compile(other.schema, NULL, &schema, NULL) != TN_OK) return false;
    size_t count = constant ? 1 : value_count(list), refused = 0, before = why->length;
    while (refused < count && value_refused(schema, constant ? constant : value_at(list, refused), why)) {
        truncate_to(why, refused ? before : why->length);
        refused++;
        if (refused == 1) before = why->length; /* the reason for the first value stands for all */
    }
    schema_unref(schema);
    if (count > 0 && refused == count) return true;
    truncate_to(why, start);
    return false;
}

/* ---- Objects and lists ---- */

static bool is_false(tn_value schema) { return value_is(schema, TN_BOOL) && !value_to_bool(schema); }

/* True if an object of this schema cannot have the member. */
static bool member_is_excluded(tn_value schema, tn_value name) {
    if (value_get_key(value_get(schema, "properties"), name) || value_get(schema, "patternProperties")) return false;
    return is_false(value_get(schema, "additionalProperties"));
}

/* The member must be there on one side, and its schemas are disjoint. */
static bool member_is_disjoint(struct comparison *comparison, struct part made, struct part taken, tn_value name,
                               uint32_t depth, struct buffer *why) {
    tn_value from = value_get_key(value_get(made.schema, "properties"), name),
             to = value_get_key(value_get(taken.schema, "properties"), name);
    if (!from || !to) return false;
    size_t before = why->length;
    buffer_format(why, "`%s`: ", value_chars(name, NULL));
    if (parts_disjoint(comparison, part_of(made, from), part_of(taken, to), depth, why)) return true;
    truncate_to(why, before);
    return false;
}

static bool objects_disjoint(struct comparison *comparison, struct part made, struct part taken, uint32_t depth,
                             struct buffer *why) {
    for (int side = 0; side < 2; side++) {
        tn_value required = value_get(side ? made.schema : taken.schema, "required");
        for (size_t i = 0, n = value_is(required, TN_ARRAY) ? value_count(required) : 0; i < n; i++) {
            tn_value name = value_at(required, i);
            if (!value_is(name, TN_STRING)) continue;
            if (member_is_excluded(side ? taken.schema : made.schema, name)) {
                buffer_format(why, side ? "`%s` is always there and not accepted" : "`%s` is required and never there",
                              value_chars(name, NULL));
                return true;
            }
            if (member_is_disjoint(comparison, made, taken, name, depth, why)) return true;
        }
    }
    return false;
}

static int64_t count_limit(tn_value schema, const char *key, int64_t absent) {
    int64_t number;
    tn_value value = value_get(schema, key);
    return value && value_is_number(value) && value_as_int(value, &number) ? number : absent;
}

/* The schema of an item by index; NULL if it may be anything. */
static tn_value item_schema(tn_value schema, size_t index) {
    tn_value list = value_get(schema, "prefixItems"), rest = value_get(schema, "items");
    if (value_is(list, TN_ARRAY) && index < value_count(list)) return value_at(list, index);
    return value_is(rest, TN_OBJECT) ? rest : NULL;
}

static bool arrays_disjoint(struct comparison *comparison, struct part made, struct part taken, uint32_t depth,
                            struct buffer *why) {
    int64_t least = count_limit(made.schema, "minItems", 0), least_taken = count_limit(taken.schema, "minItems", 0);
    int64_t most = count_limit(made.schema, "maxItems", INT64_MAX),
            most_taken = count_limit(taken.schema, "maxItems", INT64_MAX);
    if (most < least_taken || least > most_taken) {
        buffer_format(why, "found %s %lld items, expected %s %lld", most < least_taken ? "at most" : "at least",
                      (long long)(most < least_taken ? most : least), most < least_taken ? "at least" : "at most",
                      (long long)(most < least_taken ? least_taken : most_taken));
        return true;
    }
    if (least_taken > least) least = least_taken;
    for (size_t i = 0; i < (size_t)least && i < SCHEMA_DISJOINT_DEPTH_MAX; i++) {
        tn_value from = item_schema(made.schema, i), to = item_schema(taken.schema, i);
        size_t before = why->length;
        if (!from || !to) continue;
        buffer_format(why, "item %zu: ", i);
        if (parts_disjoint(comparison, part_of(made, from), part_of(taken, to), depth, why)) return true;
        truncate_to(why, before);
    }
    return false;
}

/* ---- Everything ---- */

static bool parts_disjoint(struct comparison *comparison, struct part made, struct part taken, uint32_t depth,
                           struct buffer *why) {
    if (depth == SCHEMA_DISJOINT_DEPTH_MAX || comparison->work == SCHEMA_DISJOINT_WORK_MAX) return false;
    comparison->work++;
    if (is_false(taken.schema)) {
        buffer_text(why, "no value is accepted");
        return true;
    }
    if (!value_is(made.schema, TN_OBJECT) || !value_is(taken.schema, TN_OBJECT)) return false;
    unsigned from = schema_mask(made.schema), to = schema_mask(taken.schema), both = from & to;
    if (!both) {
        buffer_text(why, "found ");
        write_types(why, from);
        buffer_text(why, ", expected ");
        write_types(why, to);
        return true;
    }
    depth++;
    return combinations_disjoint(comparison, made, taken, true, depth, why) ||
           combinations_disjoint(comparison, taken, made, false, depth, why) ||
           (both == IS_OBJECT && objects_disjoint(comparison, made, taken, depth, why)) ||
           (both == IS_ARRAY && arrays_disjoint(comparison, made, taken, depth, why)) ||
           constants_disjoint(made.schema, taken, why) || constants_disjoint(taken.schema, made, why);
}

bool schema_disjoint(tn_value made, tn_value taken, struct buffer *why) {
    struct comparison comparison = {0};
    if (!made || !taken) return false;
    return parts_disjoint(&comparison, (struct part){made, made}, (struct part){taken, taken}, 0, why);
}
