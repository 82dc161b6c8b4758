/*
 * fuzz_document_text.c - reads any bytes as YAML and as JSON: no crash, spans inside the text and inside the span of
 * the collection around them (unless the text has aliases), printable diagnostics.
 *
 * An incomplete tree must have an error. JSON that is read without errors must be what json_read reads.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/diagnostic/print.h"
#include "adl/tree/tree.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

static void check_span(struct span span, size_t size) { require(span.start <= span.end && span.end <= size); }

static bool nested;

static void check_node(const struct tree_node *node, size_t size, struct span around) {
    check_span(node->span, size);
    require(!nested || (around.start <= node->span.start && node->span.end <= around.end));
    if (node->kind != TN_ARRAY && node->kind != TN_OBJECT) return;
    for (uint32_t i = 0; i < node->count; i++) {
        require((node->items[i].key != NULL) == (node->kind == TN_OBJECT));
        if (node->items[i].key) check_span(node->items[i].key_span, size);
        check_node(node->items[i].node, size, node->span);
    }
}

static void check_json(const struct tree *tree, const char *text, size_t size) {
    struct json_limits limits = {.depth = TREE_DEPTH_MAX};
    tn_value expected = NULL, got = tree_to_value(tree_root(tree));
    if (size < 3 || text[0] != '\xef') { /* a byte order mark is allowed in documents only */
        int32_t status = json_read(text, size, &limits, &expected, NULL);
        /* {"$bytes": …} is an object in a tree, and its text may not be base64. */
        char *written = json_text(got, JSON_COMPACT);
        bool bytes = strstr(written, "\"$bytes\"") != NULL;
        mem_free(written);
        require(bytes || (status == TN_OK && value_identical(expected, got)));
    }
    value_unref(expected);
    value_unref(got);
}

static void read_as(const char *name, const char *text, size_t size) {
    struct source *source = source_new(name, text, size);
    struct diagnostics *found = diagnostics_new();
    struct tree_limits limits = {.size = 1 << 20, .nodes = 20000};
    struct tree *tree = tree_read(source, &limits, found);
    nested = !memchr(text, '*', size);
    check_node(tree_root(tree), size, (struct span){0, (uint32_t)size});
    require(tree_is_whole(tree) || diagnostics_errors(found) > 0);
    if (tree_name_is_json(name) && diagnostics_errors(found) == 0) check_json(tree, text, size);
    diagnostics_sort(found);
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    diagnostics_print(&out, found, NULL);
    for (size_t i = 0; i < diagnostics_count(found); i++) check_span(diagnostics_at(found, i)->span, size);
    value_unref(diagnostics_to_value(found));
    buffer_finish(&out);
    tree_free(tree);
    diagnostics_free(found);
    source_unref(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_as("fuzz.yaml", (const char *)data, size);
    read_as("fuzz.json", (const char *)data, size);
    return 0;
}
