/* codes.c - lookup and listing of the table in codes.h. */
#include "adl/value/codes.h"
#include <string.h>

static const struct error_code rows[] = {
#define ROW(code, retryable, family, explanation) {#code, retryable, family, explanation},
    ERROR_CODES(ROW)
#undef ROW
};

size_t error_code_count(void) { return sizeof rows / sizeof *rows; }

const struct error_code *error_code_at(size_t index) { return index < error_code_count() ? &rows[index] : NULL; }

const struct error_code *error_code_find(const char *code) {
    for (size_t i = 0; code && i < error_code_count(); i++)
        if (strcmp(rows[i].code, code) == 0) return &rows[i];
    return NULL;
}
