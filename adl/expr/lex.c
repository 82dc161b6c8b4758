/*
 * lex.c - tokens of CEL text: names, numbers, strings in their sixteen spellings, operators.
 *
 * The text is valid UTF-8; outside strings and comments only ASCII has a meaning. Numbers are converted here, because
 * an error must point at their position. Strings are only measured here; they are decoded when used.
 */
#include "adl/expr/lex.h"
#include "adl/expr/expr.h"
#include "adl/value/json.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 400 /* characters of a number; more than any double needs */

static const struct {
    const char *text;
    uint8_t length;
} signs[] = {
#define LEX_ROW(name, text) {text, sizeof(text) - 1},
    LEX_SIGNS(LEX_ROW)
#undef LEX_ROW
};

static bool lex_is_digit(char c) { return c >= '0' && c <= '9'; }

static bool lex_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static int lex_hex_value(char c) {
    if (lex_is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Returns the character `ahead` bytes further; NUL past the end. */
static char lex_peek(const struct lexer *lexer, size_t ahead) {
    return lexer->at + ahead < lexer->length ? lexer->text[lexer->at + ahead] : 0;
}

static struct token lex_finish(const struct lexer *lexer, struct token token) {
    token.end = (uint32_t)lexer->at;
    return token;
}

static struct token lex_invalid(struct lexer *lexer, struct token token, const char *wrong) {
    token.kind = LEX_INVALID;
    token.wrong = wrong;
    token = lex_finish(lexer, token);
    if (token.end == token.start) token.end++;
    lexer->at = lexer->length;
    return token;
}

/* Skips white space, and comments unless they are requested. Returns true if a comment is next. */
static bool lex_skip_space(struct lexer *lexer) {
    for (;;) {
        char c = lex_peek(lexer, 0);
        bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
        if (space && lexer->at < lexer->length) {
            lexer->at++;
        } else if (c == '/' && lex_peek(lexer, 1) == '/') {
            if (lexer->comments) return true;
            while (lexer->at < lexer->length && lex_peek(lexer, 0) != '\n') lexer->at++;
        } else {
            return false;
        }
    }
}

/* ---- Numbers ---- */

static struct token lex_hex(struct lexer *lexer, struct token token) {
    size_t digits = 0;
    lexer->at += 2;
    for (; lex_hex_value(lex_peek(lexer, 0)) >= 0; lexer->at++, digits++) {
        if (token.natural >> 60) return lex_invalid(lexer, token, "a number that does not fit 64 bits");
        token.natural = token.natural << 4 | (uint64_t)lex_hex_value(lex_peek(lexer, 0));
    }
    if (digits == 0) return lex_invalid(lexer, token, "`0x` without hexadecimal digits");
    return token;
}

static struct token lex_real(struct lexer *lexer, struct token token) {
    char text[NUMBER_MAX + 1];
    size_t length = lexer->at - token.start;
    if (length > NUMBER_MAX) return lex_invalid(lexer, token, "a number of too many digits");
    memcpy(text, lexer->text + token.start, length);
    text[length] = 0;
    token.kind = LEX_DOUBLE;
    token.real = strtod(text, NULL);
    if (!isfinite(token.real)) return lex_invalid(lexer, token, "a number too large for a double");
    return token;
}

static struct token lex_decimal(struct lexer *lexer, struct token token) {
    bool real = false, large = false;
    for (; lex_is_digit(lex_peek(lexer, 0)); lexer->at++)
        large |= __builtin_mul_overflow(token.natural, 10u, &token.natural) ||
                 __builtin_add_overflow(token.natural, (uint64_t)(lex_peek(lexer, 0) - '0'), &token.natural);
    if (lex_peek(lexer, 0) == '.' && lex_is_digit(lex_peek(lexer, 1))) {
        real = true;
        for (lexer->at++; lex_is_digit(lex_peek(lexer, 0));) lexer->at++;
    }
    char c = lex_peek(lexer, 0);
    if (c == 'e' || c == 'E') {
        size_t sign = lex_peek(lexer, 1) == '+' || lex_peek(lexer, 1) == '-';
        if (!lex_is_digit(lex_peek(lexer, 1 + sign))) return lex_invalid(lexer, token, "an exponent without digits");
        real = true;
        for (lexer->at += 1 + sign; lex_is_digit(lex_peek(lexer, 0));) lexer->at++;
    }
    if (real) return lex_real(lexer, token);
    if (large) return lex_invalid(lexer, token, "a number that does not fit 64 bits");
    return token;
}

static struct token lex_number(struct lexer *lexer, struct token token) {
    bool hex = lex_peek(lexer, 0) == '0' && (lex_peek(lexer, 1) == 'x' || lex_peek(lexer, 1) == 'X');
    token.kind = LEX_INT;
    token = hex ? lex_hex(lexer, token) : lex_decimal(lexer, token);
    if (token.kind == LEX_INVALID) return token;
    if (token.kind == LEX_INT && (lex_peek(lexer, 0) == 'u' || lex_peek(lexer, 0) == 'U')) {
        token.kind = LEX_UINT;
        lexer->at++;
    }
    if (lex_is_letter(lex_peek(lexer, 0)) || lex_is_digit(lex_peek(lexer, 0))) {
        lexer->at++;
        return lex_invalid(lexer, token, "a number followed by a letter");
    }
    if (token.kind == LEX_INT && token.natural > (uint64_t)INT64_MAX + 1)
        return lex_invalid(lexer, token, "an int above 9223372036854775807 (a double is written with a point: 1e19)");
    return lex_finish(lexer, token);
}

/* ---- Strings ---- */

static struct token lex_string(struct lexer *lexer, struct token token) {
    char quote = lex_peek(lexer, 0);
    bool triple = lex_peek(lexer, 1) == quote && lex_peek(lexer, 2) == quote;
    lexer->at += triple ? 3 : 1;
    token.from = (uint32_t)lexer->at;
    for (; lexer->at < lexer->length; lexer->at++) {
        char c = lex_peek(lexer, 0);
        if (c == '\\' && !token.raw && lexer->at + 1 < lexer->length) {
            lexer->at++;
        } else if (!triple && (c == '\n' || c == '\r')) {
            return lex_invalid(lexer, token, "a line break in a string (write \\n, or use three quotes)");
        } else if (c == quote && (!triple || (lex_peek(lexer, 1) == quote && lex_peek(lexer, 2) == quote))) {
            token.to = (uint32_t)lexer->at;
            lexer->at += triple ? 3 : 1;
            return lex_finish(lexer, token);
        }
    }
    return lex_invalid(lexer, token, "a string that is not closed");
}

/* Checks for the prefix of a string at a letter: r, b, rb, br in either case. */
static size_t string_prefix(const struct lexer *lexer, bool *raw, bool *bytes) {
    size_t length = 0;
    *raw = *bytes = false;
    for (; length < 2; length++) {
        char c = lex_peek(lexer, length);
        bool is_raw = c == 'r' || c == 'R', is_bytes = c == 'b' || c == 'B';
        if ((!is_raw && !is_bytes) || (is_raw && *raw) || (is_bytes && *bytes)) break;
        *raw |= is_raw;
        *bytes |= is_bytes;
    }
    return lex_peek(lexer, length) == '"' || lex_peek(lexer, length) == '\'' ? length : SIZE_MAX;
}

static struct token lex_quoted(struct lexer *lexer, struct token token) {
    token.kind = LEX_QUOTED;
    token.from = (uint32_t)++lexer->at;
    for (; lexer->at < lexer->length && lex_peek(lexer, 0) != '`'; lexer->at++)
        if (lex_peek(lexer, 0) == '\n') break;
    token.to = (uint32_t)lexer->at;
    if (lex_peek(lexer, 0) != '`') return lex_invalid(lexer, token, "a quoted name that is not closed with `");
    lexer->at++;
    if (token.from == token.to) return lex_invalid(lexer, token, "an empty quoted name");
    return lex_finish(lexer, token);
}

static struct token lex_name(struct lexer *lexer, struct token token) {
    while (lex_is_letter(lex_peek(lexer, 0)) || lex_is_digit(lex_peek(lexer, 0))) lexer->at++;
    token = lex_finish(lexer, token);
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
        return lex_finish(lexer, token);
    }
    char c = lex_peek(lexer, 0);
    uint32_t code_point;
    size_t length = utf8_decode(lexer->text + lexer->at, lexer->length - lexer->at, &code_point);
    lexer->at += length ? length : 1;
    if (c == '&') return lex_invalid(lexer, token, "`&`; use `&&` for and");
    if (c == '|') return lex_invalid(lexer, token, "`|`; use `||` for or");
    if (c == '=' && lex_peek(lexer, 0) == '<') return lex_invalid(lexer, token, "`=<`; write `<=`");
    if (c == '=' && lex_peek(lexer, 0) == '>') return lex_invalid(lexer, token, "`=>`; write `>=`");
    if (c == '=' && lex_peek(lexer, 0) == '~')
        return lex_invalid(lexer, token, "`=~`; write `text.matches(\"pattern\")`");
    if (c == '=') return lex_invalid(lexer, token, "`=`; use `==` for equality");
    return lex_invalid(lexer, token, "a character that has no meaning here");
}

struct token lex(struct lexer *lexer) {
    bool comment = lex_skip_space(lexer), raw, bytes;
    struct token token = {.kind = LEX_END, .start = (uint32_t)lexer->at};
    if (comment) {
        while (lexer->at < lexer->length && lex_peek(lexer, 0) != '\n') lexer->at++;
        token.kind = LEX_COMMENT;
        return lex_finish(lexer, token);
    }
    if (lexer->at >= lexer->length) return lex_finish(lexer, token);
    char c = lex_peek(lexer, 0);
    size_t prefix = string_prefix(lexer, &raw, &bytes);
    if (prefix != SIZE_MAX) {
        lexer->at += prefix;
        token.kind = bytes ? LEX_BYTES : LEX_STRING;
        token.raw = raw;
        return lex_string(lexer, token);
    }
    if (lex_is_letter(c)) return lex_name(lexer, token);
    if (lex_is_digit(c) || (c == '.' && lex_is_digit(lex_peek(lexer, 1)))) return lex_number(lexer, token);
    if (c == '`') return lex_quoted(lexer, token);
    return lex_sign(lexer, token);
}

/* ---- Escapes ---- */

/* Reads `count` digits of `base` at *at; returns a negative number if there are fewer. */
static int64_t read_code(const char **at, const char *end, int count, int base) {
    int64_t code = 0;
    for (int i = 0; i < count; i++, ++*at) {
        int digit = *at < end ? lex_hex_value(**at) : -1;
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
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return "an escape that is not a Unicode character";
    buffer_append(out, utf8, utf8_encode((uint32_t)code, utf8));
    return NULL;
}

/* Decodes an escape, starting at the character after the backslash. */
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
    if (digits == 0) return "an unknown escape (write a backslash as \\\\, or the string as r\"…\")";
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
