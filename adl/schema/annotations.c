/* annotations.c - the table of the values of `x-tenon`. */
#include "adl/schema/annotations.h"
#include <string.h>

static const struct schema_annotation rows[] = {
#define ANNOTATION(name, phrase, documentation, example) {name, phrase, documentation, example},
#include "adl/schema/annotations.def"
#undef ANNOTATION
};

size_t schema_annotation_count(void) { return sizeof rows / sizeof *rows; }

const struct schema_annotation *schema_annotation_at(size_t index) { return &rows[index]; }

const struct schema_annotation *schema_annotation_find(const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}
