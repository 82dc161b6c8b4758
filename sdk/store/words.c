/*
 * words.c - tables of word characters and of case folding, and the function that splits texts.
 *
 * Every character from U+0080 on is part of a word, unless a range of `signs` contains it. The tables cover commonly
 * used scripts, not all of Unicode. A punctuation character that the table lacks joins the words around it into one.
 */
#include <tenon/store/words.h>

struct range {
    uint32_t first, last;
};

/* Punctuation, symbols, spaces. */
static const struct range signs[] = {
    {0x80, 0xa9},     {0xab, 0xb1},     {0xb4, 0xb4},     {0xb6, 0xb8},     {0xbb, 0xbb},     {0xbf, 0xbf},
    {0xd7, 0xd7},     {0xf7, 0xf7},     {0x37e, 0x37e},   {0x387, 0x387},   {0x55a, 0x55f},   {0x589, 0x58f},
    {0x5be, 0x5be},   {0x5c0, 0x5c0},   {0x5c3, 0x5c3},   {0x5f3, 0x5f4},   {0x60c, 0x60d},   {0x61b, 0x61f},
    {0x66a, 0x66d},   {0x6d4, 0x6d4},   {0x964, 0x965},   {0x970, 0x970},   {0xe3f, 0xe3f},   {0xe4f, 0xe4f},
    {0x1680, 0x1680}, {0x2000, 0x206f}, {0x20a0, 0x20cf}, {0x2190, 0x2bff}, {0x2e00, 0x2e7f}, {0x3000, 0x3004},
    {0x3008, 0x3020}, {0x3030, 0x3030}, {0x303d, 0x303f}, {0x30a0, 0x30a0}, {0x30fb, 0x30fb}, {0xfe30, 0xfe6f},
    {0xff00, 0xff0f}, {0xff1a, 0xff20}, {0xff3b, 0xff40}, {0xff5b, 0xff65}, {0xffe0, 0xffff}, {0x1f000, 0x1faff},
};

/* Scripts without spaces between words. */
static const struct range single[] = {
    {0xe00, 0xeff},   {0xf00, 0xfff},   {0x1000, 0x109f}, {0x1780, 0x17ff},   {0x2e80, 0x2fdf},
    {0x3005, 0x3007}, {0x3021, 0x302f}, {0x3031, 0x30ff}, {0x31f0, 0x31ff},   {0x3400, 0x4dbf},
    {0x4e00, 0x9fff}, {0xf900, 0xfaff}, {0xff66, 0xff9f}, {0x1b000, 0x1b16f}, {0x20000, 0x3ffff},
};

/* Upper-case letters, and the distance to their lower-case letters. */
static const struct {
    uint32_t first, last;
    uint32_t step; /* added to the code point. EVEN, ODD: cases alternate; 1 is added to even or odd code points */
} capitals[] = {
#define EVEN 0x10000u
#define ODD  0x10001u
    {'A', 'Z', 32},       {0xc0, 0xd6, 32},     {0xd8, 0xde, 32},       {0x100, 0x12f, EVEN},   {0x132, 0x137, EVEN},
    {0x139, 0x148, ODD},  {0x14a, 0x177, EVEN}, {0x179, 0x17e, ODD},    {0x1cd, 0x1dc, ODD},    {0x1de, 0x1ef, EVEN},
    {0x1f8, 0x21f, EVEN}, {0x222, 0x233, EVEN}, {0x388, 0x38a, 37},     {0x38e, 0x38f, 63},     {0x391, 0x3a1, 32},
    {0x3a3, 0x3ab, 32},   {0x400, 0x40f, 80},   {0x410, 0x42f, 32},     {0x460, 0x481, EVEN},   {0x48a, 0x4bf, EVEN},
    {0x4d0, 0x52f, EVEN}, {0x531, 0x556, 48},   {0x1e00, 0x1e95, EVEN}, {0x1ea0, 0x1eff, EVEN}, {0xff21, 0xff3a, 32},
};

static bool words_in_ranges(uint32_t point, const struct range *ranges, size_t count) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (point > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && point >= ranges[low].first;
}

static bool words_is_part(uint32_t point) {
    if (point >= 0x80) return !words_in_ranges(point, signs, sizeof signs / sizeof *signs);
    return (point >= '0' && point <= '9') || (point >= 'A' && point <= 'Z') || (point >= 'a' && point <= 'z');
}

static uint32_t words_fold(uint32_t point) {
    if (point == 0x130) return 'i';
    if (point == 0x178) return 0xff;
    if (point == 0x386) return 0x3ac;
    if (point == 0x38c) return 0x3cc;
    if (point == 0x3c2) return 0x3c3; /* a final sigma */
    if (point == 0x1e9e) return 0xdf;
    for (size_t i = 0; i < sizeof capitals / sizeof *capitals && point >= capitals[i].first; i++) {
        if (point > capitals[i].last) continue;
        if (capitals[i].step < EVEN) return point + capitals[i].step;
        return (point & 1) == (capitals[i].step & 1) ? point + 1 : point;
    }
    return point;
}

/* `at` is valid UTF-8. */
static uint32_t words_decode(const unsigned char *at, uint64_t *length) {
    if (*at < 0x80) return *length = 1, *at;
    *length = *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
    uint32_t point = *at & (0xffu >> (*length + 1));
    for (uint64_t i = 1; i < *length; i++) point = point << 6 | (at[i] & 0x3fu);
    return point;
}

static uint64_t words_encode(uint32_t point, char *out) {
    if (point < 0x80) return *out = (char)point, 1;
    uint64_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (uint64_t i = length - 1; i > 0; i--, point >>= 6) out[i] = (char)(0x80 | (point & 0x3f));
    *out = (char)((0xf00u >> length & 0xff) | point);
    return length;
}

bool tn_store_words_split(struct tn_arena *arena, struct tn_store_text text, struct tn_store_text *out) {
    /* Folding never makes a text longer, but spaces may be inserted. */
    char *words = tn_arena_alloc(arena, text.length * 2 + 1);
    uint64_t used = 0, length;
    bool open = false;
    if (words == NULL) return false;
    for (uint64_t at = 0; at < text.length; at += length) {
        uint32_t point = words_decode((const unsigned char *)text.data + at, &length);
        bool is_single = words_in_ranges(point, single, sizeof single / sizeof *single);
        if (!words_is_part(point)) {
            open = false;
            continue;
        }
        if ((!open || is_single) && used > 0) words[used++] = ' ';
        used += words_encode(words_fold(point), words + used);
        open = !is_single;
    }
    *out = (struct tn_store_text){words, used};
    return true;
}

bool tn_store_words_next(struct tn_store_text *words, struct tn_store_text *word) {
    if (words->length == 0) return false;
    const char *space = memchr(words->data, ' ', words->length);
    uint64_t length = space != NULL ? (uint64_t)(space - words->data) : words->length;
    *word = (struct tn_store_text){words->data, length};
    words->data += length + (space != NULL);
    words->length -= length + (space != NULL);
    return true;
}
