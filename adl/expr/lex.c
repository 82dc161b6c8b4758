/*
 * lex.c - tokens of CEL text: names, numbers, strings in their sixteen spellings, signs.
 *
 * Text is bytes that were found to be UTF-8; outside strings and comments only ASCII has a meaning. Numbers are read
 * here, since what is too large is known at its place; strings are only measured, and decoded when one is used.
 */
#include "adl/expr/lex.h"
#include "adl/expr/expr.h"
#include "adl/value/json.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 400 /* characters of a number; more digits than any double needs */

static const struct {
    const char *text;
    uint8_t length;
} signs[] = {
#define LEX_ROW(name, text) {text, sizeof(text) - 1},
    LEX_SIGNS(LEX_ROW)
#undef LEX_ROW
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The character `ahead` of the place; NUL past the end. */
static char peek(const struct lexer *lexer, size_t ahead) {
    return lexer->at + ahead < lexer->length ? lexer->text[lexer->at + ahead] : 0;
}

static struct token finish(const struct lexer *lexer, struct token token) {
    token.end = (uint32_t)lexer->at;
    return token;
}

static struct token invalid(struct lexer *lexer, struct token token, const char *wrong) {
    token.kind = LEX_INVALID;
    token.wrong = wrong;
    token = finish(lexer, token);
    if (token.end == token.start) token.end++;
    lexer->at = lexer->length;
    return token;
}

/* Skips white space, and comments unless they are wanted. True where a comment is next. */
static bool skip_space(struct lexer *lexer) {
    for (;;) {
        char c = peek(lexer, 0);
        bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
        if (space && lexer->at < lexer->length) {
            lexer->at++;
        } else if (c == '/' && peek(lexer, 1) == '/') {
            if (lexer->comments) return true;
            while (lexer->at < lexer->length && peek(lexer, 0) != '\n') lexer->at++;
        } else {
            return false;
        }
    }
}

/* ---- Numbers ---- */

static struct token lex_hex(struct lexer *lexer, struct token token) {
    size_t digits = 0;
    lexer->at += 2;
    for (; hex_digit(peek(lexer, 0)) >= 0; lexer->at++, digits++) {
        if (token.natural >> 60) return invalid(lexer, token, "a number that does not fit 64 bits");
        token.natural = token.natural << 4 | (uint64_t)hex_digit(peek(lexer, 0));
    }
    if (digits == 0) return invalid(lexer, token, "`0x` without hexadecimal digits");
    return token;
}

static struct token lex_real(struct lexer *lexer, struct token token) {
    char text[NUMBER_MAX + 1];
    size_t length = lexer->at - token.start;
    if (length > NUMBER_MAX) return invalid(lexer, token, "a number of too many digits");
    memcpy(text, lexer->text + token.start, length);
    text[length] = 0;
    token.kind = LEX_DOUBLE;
    token.real = strtod(text, NULL);
    if (!isfinite(token.real)) return invalid(lexer, token, "a number too large for a double");
    return token;
}

static struct token lex_decimal(struct lexer *lexer, struct token token) {
    bool real = false, large = false;
    for (; is_digit(peek(lexer, 0)); lexer->at++)
        large |= __builtin_mul_overflow(token.natural, 10u, &token.natural) ||
                 __builtin_add_overflow(token.natural, (uint64_t)(peek(lexer, 0) - '0'), &token.natural);
    if (peek(lexer, 0) == '.' && is_digit(peek(lexer, 1))) {
        real = true;
        for (lexer->at++; is_digit(peek(lexer, 0));) lexer->at++;
    }
    char c = peek(lexer, 0);
    if (c == 'e' || c == 'E') {
        size_t sign = peek(lexer, 1) == '+' || peek(lexer, 1) == '-';
        if (!is_digit(peek(lexer, 1 + sign))) return invalid(lexer, token, "an exponent without digits");
        real = true;
        for (lexer->at += 1 + sign; is_digit(peek(lexer, 0));) lexer->at++;
    }
    if (real) return lex_real(lexer, token);
    if (large) return invalid(lexer, token, "a number that does not fit 64 bits");
    return token;
}

static struct token lex_number(struct lexer *lexer, struct token token) {
    bool hex = peek(lexer, 0) == '0' && (peek(lexer, 1) == 'x' || peek(lexer, 1) == 'X');
    token.kind = LEX_INT;
    token = hex ? lex_hex(lexer, token) : lex_decimal(lexer, token);
    if (token.kind == LEX_INVALID) return token;
    if (token.kind == LEX_INT && (peek(lexer, 0) == 'u' || peek(lexer, 0) == 'U')) {
        token.kind = LEX_UINT;
        lexer->at++;
    }
    if (is_letter(peek(lexer, 0)) || is_digit(peek(lexer, 0))) {
        lexer->at++;
        return invalid(lexer, token, "a number followed by a letter");
    }
    if (token.kind == LEX_INT && token.natural > (uint64_t)INT64_MAX + 1)
        return invalid(lexer, token, "an int above 9223372036854775807 (a double is written with a point: 1e19)");
    return finish(lexer, token);
}

/* ---- Strings ---- */

static struct token lex_string(struct lexer *lexer, struct token token) {
    char quote = peek(lexer, 0);
    bool triple = peek(lexer, 1) == quote && peek(lexer, 2) == quote;
    lexer->at += triple ? 3 : 1;
    token.from = (uint32_t)lexer->at;
    for (; lexer->at < lexer->length; lexer->at++) {
        char c = peek(lexer, 0);
        if (c == '\\' && !token.raw && lexer->at + 1 < lexer->length) {
            lexer->at++;
        } else if (!triple && (c == '\n' || c == '\r')) {
            return invalid(lexer, token, "a line break in a string (write \\n, or use three quotes)");
        } else if (c == quote && (!triple || (peek(lexer, 1) == quote && peek(lexer, 2) == quote))) {
            token.to = (uint32_t)lexer->at;
            lexer->at += triple ? 3 : 1;
            return finish(lexer, token);
        }
    }
    return invalid(lexer, token, "a string that is not closed");
}

/* At a letter: is it the prefix of a string? r, b, rb, br in either case. */
static size_t string_prefix(const struct lexer *lexer, bool *raw, bool *bytes) {
    size_t length = 0;
    *raw = *bytes = false;
    for (; length < 2; length++) {
        char c = peek(lexer, length);
        bool is_raw = c == 'r' || c == 'R', is_bytes = c == 'b' || c == 'B';
        if ((!is_raw && !is_bytes) || (is_raw && *raw) || (is_bytes && *bytes)) break;
        *raw |= is_raw;
        *bytes |= is_bytes;
    }
    return peek(lexer, length) == '"' || peek(lexer, length) == '\'' ? length : SIZE_MAX;
}

static struct token lex_quoted(struct lexer *lexer, struct token token) {
    token.kind = LEX_QUOTED;
    token.from = (uint32_t)++lexer->at;
    for (; lexer->at < lexer->length && peek(lexer, 0) != '`'; lexer->at++)
        if (peek(lexer, 0) == '\n') break;
    token.to = (uint32_t)lexer->at;
    if (peek(lexer, 0) != '`') return invalid(lexer, token, "a quoted name that is not closed with `");
    lexer->at++;
    if (token.from == token.to) return invalid(lexer, token, "an empty quoted name");
    return finish(lexer, token);
}

static struct token lex_name(struct lexer *lexer, struct token token) {
    while (is_letter(peek(lexer, 0)) || is_digit(peek(lexer, 0))) lexer->at++;
    token = finish(lexer, token);
    token.from = token.start;
    token.to = token.end;
    bool in = token.end - token.start == 2 && memcmp(lexer->text + token.start, "in", 2) == 0;
    token.kind = in ? LEX_IN : LEX_NAME;
    return token;
}

static struct token lex_sign(struct lexer *lexer, struct token token) {
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t length = signs[i].length;
        if (length > lexer->length - lexer->at || memcmp(lexer->text + lexer->at, signs[i].text, length) != 0) continue;
        lexer->at += length;
        token.kind = LEX_AND + (enum lex_kind)i;
        return finish(lexer, token);
    }
    char c = peek(lexer, 0);
    uint32_t code_point;
    size_t length = utf8_decode(lexer->text + lexer->at, lexer->length - lexer->at, &code_point);
    lexer->at += length ? length : 1;
    if (c == '&') return invalid(lexer, token, "`&`; and is `&&`");
    if (c == '|') return invalid(lexer, token, "`|`; or is `||`");
    if (c == '=') return invalid(lexer, token, "`=`; equality is `==`, and nothing can be assigned");
    return invalid(lexer, token, "a character that has no meaning here");
}

struct token lex(struct lexer *lexer) {
    bool comment = skip_space(lexer), raw, bytes;
    struct token token = {.kind = LEX_END, .start = (uint32_t)lexer->at};
    if (comment) {
        while (lexer->at < lexer->length && peek(lexer, 0) != '\n') lexer->at++;
        token.kind = LEX_COMMENT;
        return finish(lexer, token);
    }
    if (lexer->at >= lexer->length) return finish(lexer, token);
    char c = peek(lexer, 0);
    size_t prefix = string_prefix(lexer, &raw, &bytes);
    if (prefix != SIZE_MAX) {
        lexer->at += prefix;
        token.kind = bytes ? LEX_BYTES : LEX_STRING;
        token.raw = raw;
        return lex_string(lexer, token);
    }
    if (is_letter(c)) return lex_name(lexer, token);
    if (is_digit(c) || (c == '.' && is_digit(peek(lexer, 1)))) return lex_number(lexer, token);
    if (c == '`') return lex_quoted(lexer, token);
    return lex_sign(lexer, token);
}

/* ---- Escapes ---- */

/* `count` digits of `base` at *at; negative where there are not so many. */
static int64_t read_code(const char **at, const char *end, int count, int base) {
    int64_t code = 0;
    for (int i = 0; i < count; i++, ++*at) {
        int digit = *at < end ? hex_digit(**at) : -1;
        if (digit < 0 || digit >= base) return -1;
        code = code * base + digit;
    }
    return code;
}

static const char *decode_code(int64_t code, bool byte, struct buffer *out) {
    if (byte) {
        if (code > 0xff) return "an escape above \\377 in bytes";
        buffer_char(out, (char)code);
        return NULL;
    }
    char utf8[4];
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return "an escape that is no Unicode character";
    buffer_append(out, utf8, utf8_encode((uint32_t)code, utf8));
    return NULL;
}

/* At the character after the backslash. */
static const char *decode_escape(const char **at, const char *end, bool bytes, struct buffer *out) {
    static const char plain[] = "abfnrtv\\?\"'`", meant[] = "\a\b\f\n\r\t\v\\?\"'`";
    char c = **at;
    const char *found = c ? strchr(plain, c) : NULL;
    if (found) {
        ++*at;
        buffer_char(out, meant[found - plain]);
        return NULL;
    }
    if (c >= '0' && c <= '3') {
        int64_t code = read_code(at, end, 3, 8);
        return code < 0 ? "an octal escape of fewer than three digits" : decode_code(code, bytes, out);
    }
    int digits = c == 'x' || c == 'X' ? 2 : c == 'u' && !bytes ? 4 : c == 'U' && !bytes ? 8 : 0;
    if (digits == 0) return "an unknown escape (a backslash itself is written \\\\, or the string as r\"…\")";
    ++*at;
    int64_t code = read_code(at, end, digits, 16);
    return code < 0 ? "an escape with too few hexadecimal digits" : decode_code(code, bytes, out);
}

const char *lex_decode(const struct lexer *lexer, const struct token *token, struct buffer *out, uint32_t *where) {
    const char *at = lexer->text + token->from, *end = lexer->text + token->to;
    while (at < end) {
        const char *escape = token->raw ? NULL : memchr(at, '\\', (size_t)(end - at));
        const char *stop = escape ? escape : end;
        buffer_append(out, at, (size_t)(stop - at));
        at = stop;
        if (!escape) break;
        *where = (uint32_t)(at - lexer->text);
        at++;
        const char *wrong = decode_escape(&at, end, token->kind == LEX_BYTES, out);
        if (wrong) return wrong;
    }
    return NULL;
}

bool lex_reserved(const char *name, size_t length) {
    static const char *const words[] = {"as",        "break", "const",  "continue", "else", "false", "for",
                                        "function",  "if",    "import", "in",       "let",  "loop",  "package",
                                        "namespace", "null",  "return", "true",     "var",  "void",  "while"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], name, length) == 0) return true;
    return false;
}
