/*
 * template.c - matches a URI with a template (RFC 6570): literal text and {variables}.
 *
 * {name} is one or more characters without `/`, `?` and `#`; {+name} and {name*} may contain them. Other operators
 * match nothing. The first match from the left is used, and a variable ends where the literal text after it begins.
 */
#include "catalogue.h"

#define VARIABLES_MAX 16

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static tn_value percent_decode(const char *text, size_t length) {
    char *out = serving_alloc(length + 1);
    size_t used = 0;
    if (out == NULL) return NULL;
    for (size_t i = 0; i < length; i++) {
        bool escaped = text[i] == '%' && i + 2 < length && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
        out[used++] = escaped ? (char)(hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2])) : text[i];
        if (escaped) i += 2;
    }
    tn_value decoded = tn_text_lossy(out, used);
    serving_free(out);
    return decoded;
}

/* The end of the value that begins at `uri`; the literal text after the variable is `rest`, up to the next brace. */
static const char *variable_end(const char *uri, const char *rest, bool any) {
    size_t literal = strcspn(rest, "{"), most = any ? strlen(uri) : strcspn(uri, "/?#");
    if (literal == 0) return *rest == '\0' ? uri + most : NULL; /* two variables in a row: where one ends is unknown */
    for (size_t i = 1; i <= most; i++)
        if (strncmp(uri + i, rest, literal) == 0 && (rest[literal] != '\0' || uri[i + literal] == '\0')) return uri + i;
    return NULL;
}

tn_value template_match(const char *uri_template, const char *uri) {
    tn_value variables = tn_build("{}");
    uint32_t count = 0;
    while (variables != NULL && *uri_template != '\0') {
        if (*uri_template != '{') {
            if (*uri_template++ != *uri++) goto differs;
            continue;
        }
        bool any = uri_template[1] == '+';
        const char *name = uri_template + 1 + any, *close = strchr(name, '}');
        if (close == NULL || close == name || ++count > VARIABLES_MAX || strchr("#./;?&", *name) != NULL) goto differs;
        size_t length = (size_t)(close - name);
        if (name[length - 1] == '*') any = true, length--;
        const char *end = variable_end(uri, close + 1, any);
        if (end == NULL || end == uri) goto differs;
        tn_value value = percent_decode(uri, (size_t)(end - uri));
        if (value == NULL || tn.value->set(&variables, name, length, value) != TN_OK) {
            tn_release(value);
            goto differs;
        }
        tn_release(value);
        uri_template = close + 1;
        uri = end;
    }
    if (variables != NULL && *uri == '\0') return variables;
differs:
    tn_release(variables);
    return NULL;
}
