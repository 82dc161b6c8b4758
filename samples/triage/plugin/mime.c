/*
 * mime.c - headers, encoded words, transfer encodings and multiparts (mime.h).
 *
 * Everything works on slices of the message and writes decoded text into `struct text`; nothing is changed in place.
 */
#include "mime.h"
#include <iconv.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct slice {
    const char *at;
    size_t length;
};

static struct slice slice_from(struct slice all, size_t start) {
    return start < all.length ? (struct slice){all.at + start, all.length - start} : (struct slice){all.at, 0};
}

static bool slice_starts(struct slice slice, const char *prefix) {
    size_t length = strlen(prefix);
    return slice.length >= length && strncasecmp(slice.at, prefix, length) == 0;
}

static size_t slice_find(struct slice in, const char *what, size_t from) {
    size_t length = strlen(what);
    for (size_t i = from; i + length <= in.length; i++)
        if (strncasecmp(in.at + i, what, length) == 0) return i;
    return in.length;
}

/* ---- Charsets and transfer encodings ---- */

static void add_converted(struct text *out, const char *bytes, size_t length, const char *charset) {
    iconv_t converter = iconv_open("UTF-8", charset[0] != '\0' ? charset : "UTF-8");
    struct text text = {0};
    if (converter == (iconv_t)-1) { /* an unknown charset: keep the ASCII characters */
        text_add(&text, bytes, length);
    } else {
        char buffer[512];
        char input[512];
        size_t done = 0;
        while (done < length) {
            size_t given = length - done < sizeof(input) ? length - done : sizeof(input);
            memcpy(input, bytes + done, given);
            char *in = input, *to = buffer;
            size_t left = given, room = sizeof(buffer);
            (void)iconv(converter, &in, &left, &to, &room);
            text_add(&text, buffer, sizeof(buffer) - room);
            if (left == given && room == sizeof(buffer)) { /* no progress: an invalid byte */
                text_add_code_point(&text, 0xfffd);
                left--;
            }
            done += given - left;
        }
        iconv_close(converter);
    }
    text_repair(&text);
    text_add(out, text_string(&text), text.length);
    text_free(&text);
}

static int base64_digit(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c != '\0' ? strchr(digits, c) : NULL;
    return found != NULL ? (int)(found - digits) : -1;
}

static void add_base64(struct text *out, struct slice from) {
    uint32_t bits = 0;
    int count = 0;
    for (size_t i = 0; i < from.length && from.at[i] != '='; i++) {
        int digit = base64_digit(from.at[i]);
        if (digit < 0) continue;
        bits = bits << 6 | (uint32_t)digit;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        text_add_byte(out, (char)(bits >> count & 0xff));
    }
}

static int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes quoted-printable text. With `word`, decodes the form of RFC 2047, where _ is a space. */
static void add_quoted(struct text *out, struct slice from, bool word) {
    for (size_t i = 0; i < from.length; i++) {
        char c = from.at[i];
        if (c == '=' && i + 2 < from.length && hex_digit(from.at[i + 1]) >= 0 && hex_digit(from.at[i + 2]) >= 0) {
            text_add_byte(out, (char)(hex_digit(from.at[i + 1]) << 4 | hex_digit(from.at[i + 2])));
            i += 2;
        } else if (c == '=' && !word) { /* a soft line break */
            while (i + 1 < from.length && from.at[i + 1] != '\n') i++;
            i++;
        } else {
            text_add_byte(out, word && c == '_' ? ' ' : c);
        }
    }
}

/* ---- Headers ---- */

/* Decodes =?charset?B|Q?data?= at the start of `from`. Returns its length, or 0 if there is no encoded word. */
static size_t add_encoded_word(struct text *out, struct slice from) {
    char charset[64];
    if (!slice_starts(from, "=?")) return 0;
    size_t mark = slice_find(from, "?", 2);
    if (mark + 3 >= from.length || mark - 2 >= sizeof(charset) || from.at[mark + 2] != '?') return 0;
    char encoding = (char)(from.at[mark + 1] | 0x20);
    size_t end = slice_find(from, "?=", mark + 3);
    if (end == from.length || (encoding != 'b' && encoding != 'q')) return 0;
    memcpy(charset, from.at + 2, mark - 2);
    charset[mark - 2] = '\0';
    charset[strcspn(charset, "*")] = '\0'; /* a language may follow (RFC 2231) */
    struct slice data = {from.at + mark + 3, end - mark - 3};
    struct text bytes = {0};
    if (encoding == 'b')
        add_base64(&bytes, data);
    else
        add_quoted(&bytes, data, true);
    add_converted(out, text_string(&bytes), bytes.length, charset);
    text_free(&bytes);
    return end + 2;
}

static void add_header(struct text *out, struct slice value) {
    struct text text = {0};
    bool after_word = false;
    for (size_t i = 0; i < value.length;) {
        size_t blanks = 0;
        while (i + blanks < value.length && is_space(value.at[i + blanks])) blanks++;
        struct text word = {0};
        size_t used = add_encoded_word(&word, slice_from(value, i + blanks));
        bool joined = used > 0 && after_word; /* blanks between two encoded words are dropped */
        if (blanks > 0 && !joined && text.length > 0 && i + blanks < value.length) text_add_byte(&text, ' ');
        i += blanks;
        text_add(&text, text_string(&word), word.length);
        text_free(&word);
        after_word = used > 0;
        i += used;
        while (used == 0 && i < value.length && !is_space(value.at[i])) {
            text_add_byte(&text, value.at[i++]);
            if (i < value.length && slice_starts(slice_from(value, i), "=?")) break;
        }
    }
    text_repair(&text);
    text_add(out, text_string(&text), text.length);
    text_free(&text);
}

/* Returns the lines before the first empty line; *body is the rest. */
static struct slice split_headers(struct slice message, struct slice *body) {
    size_t i = 0;
    while (i < message.length) {
        size_t end = i;
        while (end < message.length && message.at[end] != '\n') end++;
        if (end == i || (end == i + 1 && message.at[i] == '\r')) {
            *body = slice_from(message, end + 1);
            return (struct slice){message.at, i};
        }
        i = end + 1;
    }
    *body = (struct slice){message.at, 0};
    return message;
}

/* Returns the value of a header including its folded lines; empty if the header is absent. */
static struct slice header_value(struct slice headers, const char *name) {
    size_t length = strlen(name), i = 0;
    while (i < headers.length) {
        struct slice line = slice_from(headers, i);
        bool found = slice_starts(line, name) && line.length > length && line.at[length] == ':';
        size_t end = i;
        do {
            while (end < headers.length && headers.at[end] != '\n') end++;
            end++;
        } while (end < headers.length && (headers.at[end] == ' ' || headers.at[end] == '\t'));
        if (end > headers.length) end = headers.length;
        if (found) {
            size_t size = end - i - length - 1;
            return (struct slice){line.at + length + 1, size < MIME_HEADER_MAX ? size : MIME_HEADER_MAX};
        }
        i = end;
    }
    return (struct slice){headers.at, 0};
}

/* Copies the value of the parameter `; name=value` of a header; "" if it is absent. */
static void header_parameter(struct slice value, const char *name, char out[128]) {
    size_t length = strlen(name), used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < value.length; i++) {
        if (value.at[i] != ';') continue;
        size_t at = i + 1;
        while (at < value.length && is_space(value.at[at])) at++;
        struct slice rest = slice_from(value, at);
        if (!slice_starts(rest, name) || rest.length <= length || rest.at[length] != '=') continue;
        at = length + 1;
        bool quoted = at < rest.length && rest.at[at] == '"';
        at += quoted;
        while (at < rest.length && used < 127) {
            char c = rest.at[at++];
            if (quoted ? c == '"' : c == ';' || is_space(c)) break;
            out[used++] = c;
        }
        out[used] = '\0';
        return;
    }
}

static struct slice slice_trimmed(struct slice value) {
    while (value.length > 0 && is_space(value.at[0])) value = slice_from(value, 1);
    while (value.length > 0 && is_space(value.at[value.length - 1])) value.length--;
    return value;
}

/* ---- Bodies ---- */

static void add_stripped(struct text *out, const struct text *html) {
    static const struct {
        const char *name, *text;
    } entities[] = {{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&nbsp;", " "}, {"&#39;", "'"}};
    struct slice all = {text_string(html), html->length};
    for (size_t i = 0; i < all.length; i++) {
        struct slice rest = slice_from(all, i);
        if (rest.at[0] == '<') {
            if (slice_starts(rest, "<style") || slice_starts(rest, "<script"))
                i = slice_find(all, slice_starts(rest, "<style") ? "</style" : "</script", i);
            if (slice_starts(rest, "<br") || slice_starts(rest, "</p") || slice_starts(rest, "</li"))
                text_add_byte(out, '\n');
            while (i < all.length && all.at[i] != '>') i++;
            continue;
        }
        size_t entity = 0;
        while (entity < 6 && !slice_starts(rest, entities[entity].name)) entity++;
        if (entity < 6) {
            text_add_string(out, entities[entity].text);
            i += strlen(entities[entity].name) - 1;
        } else {
            text_add_byte(out, rest.at[0]);
        }
    }
}

static bool add_part(struct text *out, struct slice part, const char *wanted, int depth);

static bool add_multipart(struct text *out, struct slice body, const char *boundary, const char *wanted, int depth) {
    char mark[132];
    int length = snprintf(mark, sizeof(mark), "--%s", boundary);
    if (length < 3) return false;
    size_t at = slice_find(body, mark, 0);
    while (at < body.length) {
        size_t start = slice_find(body, "\n", at) + 1, end = slice_find(body, mark, start);
        if (slice_starts(slice_from(body, at + (size_t)length), "--") || start >= body.length) return false;
        if (add_part(out, (struct slice){body.at + start, end - start}, wanted, depth + 1)) return true;
        at = end;
    }
    return false;
}

/* Appends the first part with the content type `wanted`. False if `part` has no such part. */
static bool add_part(struct text *out, struct slice part, const char *wanted, int depth) {
    struct slice body, headers = split_headers(part, &body);
    struct slice type = slice_trimmed(header_value(headers, "Content-Type"));
    struct slice encoding = slice_trimmed(header_value(headers, "Content-Transfer-Encoding"));
    char value[128];
    if (slice_starts(type, "multipart/")) {
        header_parameter(type, "boundary", value);
        return depth < MIME_DEPTH_MAX && add_multipart(out, body, value, wanted, depth);
    }
    if (type.length == 0 ? strcmp(wanted, "text/plain") != 0 : !slice_starts(type, wanted)) return false;
    struct text bytes = {0}, text = {0};
    if (slice_starts(encoding, "base64"))
        add_base64(&bytes, body);
    else if (slice_starts(encoding, "quoted-printable"))
        add_quoted(&bytes, body, false);
    else
        text_add(&bytes, body.at, body.length);
    header_parameter(type, "charset", value);
    add_converted(&text, text_string(&bytes), bytes.length, value);
    if (strcmp(wanted, "text/html") == 0)
        add_stripped(out, &text);
    else
        text_add(out, text_string(&text), text.length);
    text_free(&bytes);
    text_free(&text);
    return true;
}

/* Appends at most MIME_TEXT_MAX bytes, with \n as line ends and without trailing blanks. */
static void add_tidy(struct text *out, const struct text *from) {
    size_t length = from->length < MIME_TEXT_MAX ? from->length : MIME_TEXT_MAX;
    while (length < from->length && length > 0 && ((unsigned char)from->at[length] & 0xc0) == 0x80) length--;
    while (length > 0 && is_space(from->at[length - 1])) length--;
    for (size_t i = 0; i < length; i++)
        if (from->at[i] != '\r') text_add_byte(out, from->at[i]);
}

void mail_read(struct mail *mail, const char *message, size_t length) {
    struct slice all = {message, length}, body, headers = split_headers(all, &body);
    struct text text = {0};
    *mail = (struct mail){0};
    add_header(&mail->from, slice_trimmed(header_value(headers, "From")));
    add_header(&mail->subject, slice_trimmed(header_value(headers, "Subject")));
    add_header(&mail->date, slice_trimmed(header_value(headers, "Date")));
    add_header(&mail->id, slice_trimmed(header_value(headers, "Message-ID")));
    if (!add_part(&text, all, "text/plain", 0)) (void)add_part(&text, all, "text/html", 0);
    add_tidy(&mail->body, &text);
    text_free(&text);
}

void mail_free(struct mail *mail) {
    text_free(&mail->from);
    text_free(&mail->subject);
    text_free(&mail->date);
    text_free(&mail->id);
    text_free(&mail->body);
}
