/* version.c - the order of Semantic Versioning, and version constraints. */
#include "adl/document/version.h"
#include <string.h>

#define PART_MAX 999999999u

static bool version_is_digit(char character) { return character >= '0' && character <= '9'; }

static bool is_identifier(char character) {
    return version_is_digit(character) || (character >= 'a' && character <= 'z') ||
           (character >= 'A' && character <= 'Z') || character == '-' || character == '.';
}

/* Reads a version at the start of the text; returns its length, or 0. */
static size_t version_read(const char *text, size_t length, struct version *out) {
    struct version version = {{0, 0, 0}, 0, NULL, 0};
    size_t at = 0;
    while (version.count < 3) {
        uint32_t part = 0;
        size_t start = at;
        for (; at < length && version_is_digit(text[at]); at++) {
            if (part > PART_MAX / 10) return 0;
            part = part * 10 + (uint32_t)(text[at] - '0');
        }
        if (at == start) return 0;
        version.parts[version.count++] = part;
        if (at + 1 >= length || text[at] != '.' || !version_is_digit(text[at + 1])) break;
        if (version.count < 3) at++;
    }
    if (at < length && text[at] == '-') {
        version.pre = text + ++at;
        while (at < length && is_identifier(text[at])) at++;
        version.pre_length = (size_t)(text + at - version.pre);
        if (version.pre_length == 0) return 0;
    }
    if (at < length && text[at] == '+')
        for (at++; at < length && is_identifier(text[at]);) at++;
    *out = version;
    return at;
}

bool version_parse(const char *text, size_t length, struct version *out) {
    struct version version;
    size_t end = version_read(text, length, &version);
    if (end == 0 || end != length) return false;
    *out = version;
    return true;
}

/* ---- Order ---- */

static size_t identifier_length(const char *text, size_t length, bool *numeric) {
    size_t at = 0;
    *numeric = true;
    for (; at < length && text[at] != '.'; at++) *numeric &= version_is_digit(text[at]);
    return at;
}

static int compare_identifiers(const char *a, size_t a_length, bool a_numeric, const char *b, size_t b_length,
                               bool b_numeric) {
    if (a_numeric != b_numeric) return a_numeric ? -1 : 1;
    if (a_numeric && a_length != b_length) return a_length < b_length ? -1 : 1;
    size_t common = a_length < b_length ? a_length : b_length;
    int order = memcmp(a, b, common);
    if (order != 0) return order < 0 ? -1 : 1;
    return a_length == b_length ? 0 : a_length < b_length ? -1 : 1;
}

static int compare_pre(const char *a, size_t a_length, const char *b, size_t b_length) {
    while (a_length && b_length) {
        bool a_numeric, b_numeric;
        size_t a_part = identifier_length(a, a_length, &a_numeric), b_part = identifier_length(b, b_length, &b_numeric);
        int order = compare_identifiers(a, a_part, a_numeric, b, b_part, b_numeric);
        if (order != 0) return order;
        a_part += a_part < a_length; /* the dot */
        b_part += b_part < b_length;
        a += a_part, a_length -= a_part;
        b += b_part, b_length -= b_part;
    }
    return a_length ? 1 : b_length ? -1 : 0;
}

int version_compare(const struct version *a, const struct version *b) {
    for (int i = 0; i < 3; i++)
        if (a->parts[i] != b->parts[i]) return a->parts[i] < b->parts[i] ? -1 : 1;
    if (!a->pre || !b->pre) return a->pre ? -1 : b->pre ? 1 : 0;
    return compare_pre(a->pre, a->pre_length, b->pre, b->pre_length);
}

/* ---- Constraints ---- */

enum operation { OP_AT_LEAST, OP_AT_MOST, OP_NOT, OP_EQUAL, OP_MORE, OP_LESS, OP_CARET, OP_TILDE, OP_NONE };

/* Longer operators first. */
static const struct {
    const char *text;
    enum operation operation;
} operations[] = {{">=", OP_AT_LEAST}, {"<=", OP_AT_MOST}, {"!=", OP_NOT},  {"==", OP_EQUAL}, {"=", OP_EQUAL},
                  {">", OP_MORE},      {"<", OP_LESS},     {"^", OP_CARET}, {"~", OP_TILDE}};

static enum operation operation_read(const char *text, size_t length, size_t *at) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        size_t size = strlen(operations[i].text);
        if (length - *at < size || memcmp(text + *at, operations[i].text, size) != 0) continue;
        *at += size;
        return operations[i].operation;
    }
    return OP_NONE;
}

static bool begins_with(const struct version *version, const struct version *prefix) {
    for (uint32_t i = 0; i < prefix->count; i++)
        if (version->parts[i] != prefix->parts[i]) return false;
    return !prefix->pre || version_compare(version, prefix) == 0;
}

/* Compares the first `kept` parts. */
static bool same_parts(const struct version *a, const struct version *b, uint32_t kept) {
    for (uint32_t i = 0; i < kept; i++)
        if (a->parts[i] != b->parts[i]) return false;
    return true;
}

static bool caret_holds(const struct version *version, const struct version *base) {
    uint32_t kept = 1;
    while (kept < base->count && base->parts[kept - 1] == 0) kept++;
    return version_compare(version, base) >= 0 && same_parts(version, base, kept);
}

static bool tilde_holds(const struct version *version, const struct version *base) {
    return version_compare(version, base) >= 0 && same_parts(version, base, base->count < 2 ? 1 : 2);
}

static bool term_holds(enum operation operation, const struct version *version, const struct version *base) {
    if (version->pre && operation != OP_EQUAL && operation != OP_NOT && !(base->pre && same_parts(version, base, 3)))
        return false;
    switch (operation) {
    case OP_AT_LEAST: return version_compare(version, base) >= 0;
    case OP_AT_MOST: return version_compare(version, base) <= 0 || begins_with(version, base);
    case OP_MORE: return version_compare(version, base) > 0 && !begins_with(version, base);
    case OP_LESS: return version_compare(version, base) < 0;
    case OP_NOT: return !begins_with(version, base);
    case OP_EQUAL: return begins_with(version, base);
    case OP_CARET: return caret_holds(version, base);
    case OP_TILDE: return tilde_holds(version, base);
    default: return false;
    }
}

/* Reads "1.x", "1.2.*" or "*": the parts before the star, possibly none. Returns its length, or 0. */
static size_t wildcard_read(const char *text, size_t length, struct version *out) {
    *out = (struct version){{0, 0, 0}, 0, NULL, 0};
    size_t at = 0;
    while (at < length && out->count < 3) {
        if (text[at] == 'x' || text[at] == 'X' || text[at] == '*') {
            for (at++; at + 1 < length && text[at] == '.' && (text[at + 1] == 'x' || text[at + 1] == '*');) at += 2;
            return at;
        }
        uint32_t part = 0;
        size_t start = at;
        for (; at < length && version_is_digit(text[at]) && part <= PART_MAX / 10; at++)
            part = part * 10 + (uint32_t)(text[at] - '0');
        if (at == start || at >= length || text[at++] != '.') return 0;
        out->parts[out->count++] = part;
    }
    return 0;
}

int constraint_holds(const char *constraint, size_t length, const struct version *version, size_t *at) {
    bool holds = true;
    size_t here = 0, terms = 0;
    for (;;) {
        while (here < length && (constraint[here] == ' ' || constraint[here] == ',')) here++;
        if (here >= length) break;
        struct version base;
        size_t start = here, size;
        enum operation operation = operation_read(constraint, length, &here);
        while (here < length && constraint[here] == ' ') here++;
        if (operation == OP_NONE) {
            operation = OP_EQUAL;
            size = wildcard_read(constraint + here, length - here, &base);
        } else {
            size = version_read(constraint + here, length - here, &base);
        }
        here += size;
        if (size == 0 || (here < length && constraint[here] != ' ' && constraint[here] != ',')) {
            *at = size ? here : start;
            return -1;
        }
        terms++;
        if (version) holds &= term_holds(operation, version, &base);
    }
    *at = length;
    return terms == 0 ? -1 : holds;
}
