/*
 * fuzz_format.c - a formatted text reads as the same tree, and formatting it again does not change it; every text that
 * reads without errors can be formatted.
 *
 * format_source refuses what it cannot prove (ADL-E016). That must not happen, so it ends the process.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/format/format.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include <stdlib.h>
#include <string.h>
#include <tenon.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

/* Returns the formatted text, or NULL if there were errors. */
static char *format(const char *name, const char *text, size_t size, size_t *length) {
    struct source *source = source_new(name, text, size);
    struct diagnostics *found = diagnostics_new();
    char *out = NULL;
    int32_t status = format_source(source, found, &out, length);
    require((status == TN_OK) == (out != NULL));
    require((status == TN_OK) == (diagnostics_errors(found) == 0));
    for (size_t i = 0; i < diagnostics_count(found); i++) require(diagnostics_at(found, i)->code != ADL_E016);
    diagnostics_free(found);
    source_unref(source);
    return out;
}

static tn_value value_of(const char *name, const char *text, size_t size) {
    struct source *source = source_new(name, text, size);
    struct diagnostics *found = diagnostics_new();
    struct tree *tree = tree_read(source, NULL, found);
    tn_value value = tree_to_value(tree_root(tree));
    tree_free(tree);
    diagnostics_free(found);
    source_unref(source);
    return value;
}

static void format_as(const char *name, const char *text, size_t size) {
    size_t length, again_length;
    char *out = format(name, text, size, &length);
    if (!out) return;
    char *again = format(name, out, length, &again_length);
    require(again && again_length == length && memcmp(out, again, length) == 0);
    tn_value before = value_of(name, text, size), after = value_of(name, out, length);
    require(value_identical(before, after));
    value_unref(before);
    value_unref(after);
    mem_free(again);
    mem_free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 65536) return 0;
    format_as("fuzz.yaml", (const char *)data, size);
    format_as("fuzz.json", (const char *)data, size);
    return 0;
}
