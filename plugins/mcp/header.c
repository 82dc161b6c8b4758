/*
 * header.c - marks in a schema, read along `properties` alone, and the text of a header.
 *
 * Two walks: one over everything a schema has, to see that no mark stands where none may; one along the properties, to
 * take the values. Both are bounded in depth.
 */
#include "header.h"
#include <tenon/base64.h>

#define MARK      "x-mcp-header"
#define DEPTH_MAX 64
#define SAFE_MAX  9007199254740991 /* JavaScript's */

struct check {
    const char *names[MCP_HEADERS_MAX];
    uint32_t count;
    char *why;
    size_t size;
};

static bool refuse(struct check *check, const char *name, const char *what) {
    (void)snprintf(check->why, check->size, "`" MARK "` of `%.60s` %s", name, what);
    return false;
}

static bool is_token(const char *text, uint64_t length) {
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (uint64_t i = 0; i < length; i++) {
        char c = text[i];
        bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!alphanumeric && (c == '\0' || strchr(others, c) == NULL)) return false;
    }
    return length > 0 && length <= MCP_NAME_MAX;
}

static bool check_mark(struct check *check, const char *name, tn_value schema) {
    uint64_t length = 0;
    const char *mark = tn_chars(tn.value->get(schema, MARK), &length);
    const char *type = tn_get_text(schema, "type", "");
    bool primitive = strcmp(type, "string") == 0 || strcmp(type, "integer") == 0 || strcmp(type, "boolean") == 0;
    if (mark == NULL || !is_token(mark, length)) return refuse(check, name, "is not a header's name");
    if (!primitive) return refuse(check, name, "stands at what is neither a string, an integer nor a boolean");
    for (uint32_t i = 0; i < check->count; i++)
        if (strcasecmp(check->names[i], mark) == 0) return refuse(check, name, "is that of another parameter as well");
    if (check->count == MCP_HEADERS_MAX) return refuse(check, name, "is one too many");
    check->names[check->count++] = mark;
    return true;
}

static bool has_mark(tn_value schema, int depth) {
    if (depth > DEPTH_MAX) return false;
    if (tn.value->kind(schema) == TN_ARRAY) {
        for (uint64_t i = 0, count = tn.value->count(schema); i < count; i++)
            if (has_mark(tn.value->at(schema, i), depth + 1)) return true;
        return false;
    }
    if (tn.value->kind(schema) != TN_OBJECT) return false;
    for (uint64_t i = 0, count = tn.value->count(schema); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(schema, i, &key, &value) != TN_OK) break;
        if (value_is(key, MARK) || has_mark(value, depth + 1)) return true;
    }
    return false;
}

/* `schema` is reached by properties alone; `name` is its parameter's, NULL for the root. */
static bool check_reached(struct check *check, const char *name, tn_value schema, int depth) {
    if (depth > DEPTH_MAX || tn.value->kind(schema) != TN_OBJECT) return true;
    for (uint64_t i = 0, count = tn.value->count(schema); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(schema, i, &key, &value) != TN_OK) break;
        if (value_is(key, MARK)) {
            if (!check_mark(check, name != NULL ? name : "the whole", schema)) return false;
        } else if (value_is(key, "properties") && tn.value->kind(value) == TN_OBJECT) {
            for (uint64_t k = 0, members = tn.value->count(value); k < members; k++) {
                tn_value member, inner;
                if (tn.value->entry(value, k, &member, &inner) != TN_OK) break;
                if (!check_reached(check, tn_chars(member, NULL), inner, depth + 1)) return false;
            }
        } else if (!value_is(key, "default") && !value_is(key, "examples") && !value_is(key, "enum") &&
                   !value_is(key, "const") && has_mark(value, depth + 1)) {
            return refuse(check, tn_chars(key, NULL), "stands where no parameter is");
        }
    }
    return true;
}

bool headers_check(tn_value schema, char *why, size_t size) {
    struct check check = {.why = why, .size = size};
    return check_reached(&check, NULL, schema, 0);
}

/* ---- Values ---- */

static bool is_plain(const char *text, uint64_t length) {
    static const char prefix[] = "=?base64?";
    if (length == 0) return true;
    if (text[0] == ' ' || text[0] == '\t' || text[length - 1] == ' ' || text[length - 1] == '\t') return false;
    for (uint64_t i = 0; i < length; i++)
        if ((text[i] < ' ' && text[i] != '\t') || text[i] > '~') return false;
    bool looks_encoded = length >= sizeof prefix + 1 && memcmp(text, prefix, sizeof prefix - 1) == 0 &&
                         memcmp(text + length - 2, "?=", 2) == 0;
    return !looks_encoded;
}

tn_value header_encode(const char *text, uint64_t length) {
    if (is_plain(text, length)) return tn_text_n(text, length);
    char *encoded = take(TN_BASE64_SIZE(length) + 12);
    if (encoded == NULL) return NULL;
    char *end = tn_base64_put(stpcpy(encoded, "=?base64?"), text, length);
    tn_value made = tn_text_n(encoded, (uint64_t)(stpcpy(end, "?=") - encoded));
    give(encoded);
    return made;
}

static tn_value value_text(tn_value value) {
    char digits[32];
    uint64_t length = 0;
    int64_t number = 0;
    const char *text = tn_chars(value, &length);
    if (text != NULL) return header_encode(text, length);
    if (tn.value->kind(value) == TN_BOOL) return tn_text(value_true(value) ? "true" : "false");
    if (tn.value->as_int(value, &number) != TN_OK || number > SAFE_MAX || number < -SAFE_MAX) return NULL;
    (void)snprintf(digits, sizeof digits, "%lld", (long long)number);
    return tn_text(digits);
}

static void collect(tn_builder *builder, tn_value schema, tn_value arguments, int depth, uint32_t *count) {
    tn_value properties = tn.value->get(schema, "properties");
    if (depth > DEPTH_MAX || tn.value->kind(properties) != TN_OBJECT) return;
    for (uint64_t i = 0, members = tn.value->count(properties); i < members; i++) {
        tn_value key, inner;
        if (tn.value->entry(properties, i, &key, &inner) != TN_OK) break;
        tn_value value = tn.value->get(arguments, tn_chars(key, NULL));
        const char *mark = tn_chars(tn.value->get(inner, MARK), NULL);
        if (tn.value->kind(value) <= TN_NULL) continue;
        tn_value text = mark != NULL ? value_text(value) : NULL;
        if (text != NULL) {
            char name[MCP_NAME_MAX + 16];
            (void)snprintf(name, sizeof name, "Mcp-Param-%s", mark);
            tn_put_take(builder, name, text);
            ++*count;
        }
        collect(builder, inner, value, depth + 1, count);
    }
}

tn_value headers_of(tn_value schema, tn_value arguments) {
    uint32_t count = 0;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    collect(builder, schema, arguments, 0, &count);
    tn.value->end(builder);
    tn_value made = tn.value->finish(builder);
    if (count > 0) return made;
    tn_release(made);
    return NULL;
}
