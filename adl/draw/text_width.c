/*
 * text_width.c - estimated widths of texts.
 */
#include "adl/draw/text_width.h"
#include "adl/value/terminal.h"
#include <string.h>

#define ELLIPSIS "…"

/* The characters from the space to the tilde, in thousandths of an em: Helvetica and Helvetica Bold. */
static const uint16_t width_helvetica[] = {
    278,  278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, /* space to / */
    556,  556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, /* 0 to ? */
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, /* @ to O */
    667,  778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, /* P to _ */
    333,  556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, /* ` to o */
    556,  556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,      /* p to ~ */
};
static const uint16_t width_helvetica_bold[] = {
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, /* space to / */
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611, /* 0 to ? */
    975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833, 722, 778, /* @ to O */
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556, /* P to _ */
    333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, /* ` to o */
    611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584,      /* p to ~ */
};
_Static_assert(sizeof width_helvetica == sizeof width_helvetica_bold, "both have the printable characters of ASCII");

/* The width of the first character in thousandths of an em, and its bytes in `size`. */
static uint32_t width_of_character(enum text_font font, const char *text, size_t length, size_t *size) {
    unsigned char byte = (unsigned char)text[0];
    if (byte >= ' ' && byte <= '~') {
        *size = 1;
        if (font == TEXT_MONO) return 600;
        return (font == TEXT_BOLD ? width_helvetica_bold : width_helvetica)[byte - ' '];
    }
    uint32_t columns = 1;
    *size = terminal_character(NULL, text, length, &columns);
    if (columns == 0) return 0;
    if (columns == 2) return 1000;
    return font == TEXT_MONO ? 600 : 650;
}

/* In thousandths of a pixel. */
static int64_t width_exact(enum text_font font, uint32_t size, const char *text, size_t length) {
    int64_t width = 0;
    for (size_t at = 0, bytes; at < length; at += bytes)
        width += width_of_character(font, text + at, length - at, &bytes);
    return width * size;
}

int64_t text_width(enum text_font font, uint32_t size, const char *text, size_t length) {
    return (width_exact(font, size, text, length) + 99) / 100;
}

/* The bytes of the beginning that is at most `most` wide; all of it, or leaving space for an ellipsis. */
static size_t width_fitting(enum text_font font, uint32_t size, const char *text, size_t length, int64_t most,
                            bool ellipsis) {
    int64_t width = 0, space = most * 100;
    if (ellipsis) space -= width_exact(font, size, ELLIPSIS, strlen(ELLIPSIS));
    size_t at = 0;
    while (at < length) {
        size_t bytes;
        width += (int64_t)width_of_character(font, text + at, length - at, &bytes) * size;
        if (width > space) break;
        at += bytes;
    }
    return at;
}

void text_fit(struct buffer *out, enum text_font font, uint32_t size, const char *text, int64_t most) {
    size_t length = strlen(text), fits = width_fitting(font, size, text, length, most, false);
    if (fits < length) fits = width_fitting(font, size, text, length, most, true);
    buffer_append(out, text, fits);
    if (fits < length) buffer_text(out, ELLIPSIS);
}

/* How a text was broken into lines. */
struct broken {
    struct buffer text;
    uint32_t lines;
    bool cut;  /* it ends with an ellipsis */
    bool torn; /* a word is longer than a line */
};

static bool width_ends_clause(const char *text, size_t at) {
    return at > 2 && (memcmp(text + at - 2, "&&", 2) == 0 || memcmp(text + at - 2, "||", 2) == 0);
}

/* True if a long word may be broken before the character: at a member, or after a bracket or comma. */
static bool width_may_break(const char *text, size_t at) {
    return text[at] == '.' || strchr("([{,", text[at - 1]) != NULL;
}

/* The length of the next line: up to the last space that fits; with `clauses`, to the last `&&` or `||` if there is
 * one. */
static size_t width_next_break(const char *text, size_t fits, bool clauses, bool *torn) {
    size_t space = 0, clause = 0, inner = 0;
    for (size_t at = fits; at > fits / 3; at--) {
        if (!inner && width_may_break(text, at)) inner = at;
        if (text[at] != ' ') continue;
        if (!space) space = at;
        if (!clause && width_ends_clause(text, at)) clause = at;
    }
    if (clauses && clause) return clause;
    if (space) return space;
    *torn = true;
    return inner ? inner : fits;
}

static void width_break(struct broken *broken, enum text_font font, uint32_t size, const char *text, int64_t most,
                        uint32_t lines, bool clauses) {
    buffer_clear(&broken->text);
    broken->torn = false;
    for (broken->lines = 1;; broken->lines++) {
        text += strspn(text, " ");
        size_t length = strlen(text), fits = width_fitting(font, size, text, length, most, false);
        broken->cut = fits < length;
        if (!broken->cut || broken->lines >= lines || fits == 0) break;
        size_t at = width_next_break(text, fits, clauses, &broken->torn);
        buffer_append(&broken->text, text, at);
        buffer_char(&broken->text, '\n');
        text += at;
    }
    text_fit(&broken->text, font, size, text, most);
}

uint32_t text_wrap(struct buffer *out, enum text_font font, uint32_t size, const char *text, int64_t most,
                   uint32_t lines) {
    struct broken broken = {0};
    buffer_init(&broken.text, SIZE_MAX);
    width_break(&broken, font, size, text, most, lines, true);
    if (broken.cut || broken.torn) width_break(&broken, font, size, text, most, lines, false);
    buffer_append(out, buffer_cstr(&broken.text), broken.text.length);
    buffer_finish(&broken.text);
    return broken.lines;
}
