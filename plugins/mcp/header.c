/*
 * header.c - finds the marks in a schema, and encodes header values.
 *
 * One walk over the whole schema finds marks in invalid places; another along `properties` collects the values. Both
 * are bounded in depth.
 */
#include "header.h"
#include <tenon/base64.h>

#define MARK      "x-mcp-header"
#define DEPTH_MAX 64
#define SAFE_MAX  9007199254740991 /* JavaScript's largest safe integer */

struct header_check {
    const char *names[MCP_HEADERS_MAX];
    uint32_t count;
    char *why;
    size_t size;
};

static bool header_check_fail(struct header_check *header_check, const char *name, const char *what) {
    (void)snprintf(header_check->why, header_check->size, "`" MARK "` of `%.60s` %s", name, what);
    return false;
}

static bool is_header_token(const char *text, uint64_t length) {
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (uint64_t i = 0; i < length; i++) {
        char c = text[i];
        bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!alphanumeric && (c == '\0' || strchr(others, c) == NULL)) return false;
    }
    return length > 0 && length <= MCP_NAME_MAX;
}

static bool check_header_mark(struct header_check *header_check, const char *name, tn_value schema) {
    uint64_t length = 0;
    const char *mark = tn_chars(tn_get(schema, MARK), &length);
    const char *type = tn_get_text(schema, "type", "");
    bool primitive = strcmp(type, "string") == 0 || strcmp(type, "integer") == 0 || strcmp(type, "boolean") == 0;
    if (mark == NULL || !is_header_token(mark, length))
        return header_check_fail(header_check, name, "is not a header name");
    if (!primitive)
        return header_check_fail(header_check, name, "is on a parameter that is not a string, an integer or a boolean");
    for (uint32_t i = 0; i < header_check->count; i++)
        if (strcasecmp(header_check->names[i], mark) == 0)
            return header_check_fail(header_check, name, "is also the mark of another parameter");
    if (header_check->count == MCP_HEADERS_MAX)
        return header_check_fail(header_check, name, "exceeds the limit of 32 marks");
    header_check->names[header_check->count++] = mark;
    return true;
}

static bool has_header_mark(tn_value schema, int depth) {
    if (depth > DEPTH_MAX) return false;
    if (tn.value->kind(schema) == TN_ARRAY) {
        for (uint64_t i = 0, count = tn.value->count(schema); i < count; i++)
            if (has_header_mark(tn.value->at(schema, i), depth + 1)) return true;
        return false;
    }
    if (tn.value->kind(schema) != TN_OBJECT) return false;
    for (uint64_t i = 0, count = tn.value->count(schema); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(schema, i, &key, &value) != TN_OK) break;
        if (value_is(key, MARK) || has_header_mark(value, depth + 1)) return true;
    }
    return false;
}

/* Checks a schema that is reached only by properties; `name` is its parameter's, NULL for the root. */
static bool check_reachable_schema(struct header_check *header_check, const char *name, tn_value schema, int depth) {
    if (depth > DEPTH_MAX || tn.value->kind(schema) != TN_OBJECT) return true;
    for (uint64_t i = 0, count = tn.value->count(schema); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(schema, i, &key, &value) != TN_OK) break;
        if (value_is(key, MARK)) {
            if (!check_header_mark(header_check, name != NULL ? name : "the root", schema)) return false;
        } else if (value_is(key, "properties") && tn.value->kind(value) == TN_OBJECT) {
            for (uint64_t k = 0, members = tn.value->count(value); k < members; k++) {
                tn_value member, inner;
                if (tn.value->entry(value, k, &member, &inner) != TN_OK) break;
                if (!check_reachable_schema(header_check, tn_chars(member, NULL), inner, depth + 1)) return false;
            }
        } else if (!value_is(key, "default") && !value_is(key, "examples") && !value_is(key, "enum") &&
                   !value_is(key, "const") && has_header_mark(value, depth + 1)) {
            return header_check_fail(header_check, tn_chars(key, NULL), "is not on a parameter");
        }
    }
    return true;
}

bool header_check_schema(tn_value schema, char *why, size_t size) {
    struct header_check header_check = {.why = why, .size = size};
    return check_reachable_schema(&header_check, NULL, schema, 0);
}

/* ---- Values ---- */

static bool is_plain_header_text(const char *text, uint64_t length) {
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
    if (is_plain_header_text(text, length)) return tn_text_n(text, length);
    char *encoded = mcp_alloc(TN_BASE64_SIZE(length) + 12);
    if (encoded == NULL) return NULL;
    char *end = tn_base64_put(stpcpy(encoded, "=?base64?"), text, length);
    tn_value result = tn_text_n(encoded, (uint64_t)(stpcpy(end, "?=") - encoded));
    mcp_free(encoded);
    return result;
}

static tn_value header_value_text(tn_value value) {
    char digits[32];
    uint64_t length = 0;
    int64_t number = 0;
    const char *text = tn_chars(value, &length);
    if (text != NULL) return header_encode(text, length);
    if (tn.value->kind(value) == TN_BOOL) return tn_text(value_is_true(value) ? "true" : "false");
    if (tn.value->as_int(value, &number) != TN_OK || number > SAFE_MAX || number < -SAFE_MAX) return NULL;
    (void)snprintf(digits, sizeof digits, "%lld", (long long)number);
    return tn_text(digits);
}

static void collect_header_values(tn_builder *builder, tn_value schema, tn_value arguments, int depth,
                                  uint32_t *count) {
    tn_value properties = tn_get(schema, "properties");
    if (depth > DEPTH_MAX || tn.value->kind(properties) != TN_OBJECT) return;
    for (uint64_t i = 0, members = tn.value->count(properties); i < members; i++) {
        tn_value key, inner;
        if (tn.value->entry(properties, i, &key, &inner) != TN_OK) break;
        tn_value value = tn_get_key(arguments, key);
        const char *mark = tn_chars(tn_get(inner, MARK), NULL);
        if (tn.value->kind(value) <= TN_NULL) continue;
        tn_value text = mark != NULL ? header_value_text(value) : NULL;
        if (text != NULL) {
            char name[MCP_NAME_MAX + 16];
            (void)snprintf(name, sizeof name, "Mcp-Param-%s", mark);
            tn_put_take(builder, name, text);
            ++*count;
        }
        collect_header_values(builder, inner, value, depth + 1, count);
    }
}

tn_value headers_from_arguments(tn_value schema, tn_value arguments) {
    uint32_t count = 0;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    collect_header_values(builder, schema, arguments, 0, &count);
    tn.value->end(builder);
    tn_value result = tn_finish(builder);
    if (count > 0) return result;
    tn_release(result);
    return NULL;
}
