/*
 * base.c - texts, memory and failures.
 *
 * tn_store_failure() never returns NULL: the message is made valid, the host allocates values, and it ends the process
 * if it has no memory left.
 */
#include <stdarg.h>
#include <tenon/store/base.h>
#include <tenon/util/utf8.h>

#define MESSAGE_MAX 400

/* ---- Texts ---- */

int tn_store_text_compare(struct tn_store_text a, struct tn_store_text b) {
    uint64_t shorter = a.length < b.length ? a.length : b.length;
    int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;
    if (order != 0 || a.length == b.length) return order;
    return a.length < b.length ? -1 : 1;
}

bool tn_store_text_is(struct tn_store_text text, const char *word) {
    return text.data != NULL && text.length == strlen(word) && memcmp(text.data, word, text.length) == 0;
}

struct tn_store_text tn_store_text_of(tn_value value) {
    struct tn_store_text text = {NULL, 0};
    text.data = tn.value->as_text(value, &text.length);
    return text;
}

const char *tn_store_text_excerpt(struct tn_store_text text, struct tn_store_excerpt *out) {
    uint64_t length = tn_utf8_cut(text.data, text.length, 60);
    memcpy(out->text, text.data, length);
    for (uint64_t i = 0; i < length; i++)
        if ((unsigned char)out->text[i] < ' ') out->text[i] = '?';
    memcpy(out->text + length, "…", length < text.length ? sizeof "…" : 0);
    if (length == text.length) out->text[length] = '\0';
    return out->text;
}

/* ---- Memory ---- */

void *tn_store_alloc(uint64_t size) {
    void *memory = tn.core->alloc(tn.host, size);
    if (memory != NULL) memset(memory, 0, size);
    return memory;
}

void tn_store_free(void *memory) { tn.core->release(tn.host, memory); }

/* ---- Failures ---- */

tn_value tn_store_failure(const char *code, const char *format, ...) {
    char message[MESSAGE_MAX + 8];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (length > MESSAGE_MAX) message[tn_utf8_cut(message, (uint64_t)MESSAGE_MAX + 1, MESSAGE_MAX)] = '\0';
    return tn_error(code, message);
}

tn_value tn_store_failure_memory(void) {
    return tn_store_failure("LIMIT", "not enough memory for this; use smaller requests");
}

tn_value tn_store_failure_detail_take(tn_value failure, const char *key, tn_value value) {
    tn_value detail = tn_retain(tn_get(failure, "detail"));
    if (detail == NULL) detail = tn_build("{}");
    if (tn.value->set(&detail, key, TN_Z, value) == TN_OK) (void)tn.value->set(&failure, "detail", TN_Z, detail);
    tn_release(detail);
    tn_release(value);
    return failure;
}

tn_value tn_store_failure_retryable_take(tn_value failure) {
    tn_value truth = tn_bool(1);
    (void)tn.value->set(&failure, "retryable", TN_Z, truth);
    tn_release(truth);
    return failure;
}

/* Returns the edit distance of two short words; a swap of neighbours counts as one edit. */
static unsigned word_distance(struct tn_store_text a, const char *b) {
    enum { MOST = 24 };
    unsigned rows[3][MOST + 1];
    unsigned width = (unsigned)strlen(b), height = (unsigned)a.length;
    if (a.length > MOST || width > MOST) return MOST;
    for (unsigned j = 0; j <= width; j++) rows[0][j] = j;
    for (unsigned i = 1; i <= height; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= width; j++) {
            unsigned least = above[j - 1] + (a.data[i - 1] != b[j - 1]);
            if (above[j] + 1 < least) least = above[j] + 1;
            if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
            if (i > 1 && j > 1 && a.data[i - 1] == b[j - 2] && a.data[i - 2] == b[j - 1] && before[j - 2] + 1 < least)
                least = before[j - 2] + 1;
            row[j] = least;
        }
    }
    return rows[height % 3][width];
}

const char *tn_store_nearest_word(struct tn_store_text wrong, const char *const *words) {
    const char *nearest = NULL;
    unsigned least = wrong.length < 4 ? 2 : 3; /* the distance must be less than this */
    for (; *words != NULL; words++) {
        unsigned changes = word_distance(wrong, *words);
        if (changes < least) {
            least = changes;
            nearest = *words;
        }
    }
    return nearest;
}
