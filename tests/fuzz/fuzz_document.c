/*
 * fuzz_document.c - checks a malformed document with a few components; its only other file is itself.
 *
 * Every diagnostic must lie within its source and be printable, and every fix must be applicable. A document without
 * errors must have an identity and configurations, and can be drawn.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/diagnostic/print.h"
#include "adl/document/document.h"
#include "adl/draw/draw.h"
#include "adl/source/source.h"
#include "tests/unit/fake_catalog.h"

#define INPUT_MAX  (64u * 1024u)
#define ARROWS_MAX 2000u /* of a drawing */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_span(const struct source *source, struct span span) {
    if (source && (span.start > span.end || span.end > source_length(source))) abort();
}

static void check_diagnostics(const struct diagnostics *found) {
    for (size_t i = 0; i < diagnostics_count(found); i++) {
        const struct diagnostic *it = diagnostics_at(found, i);
        check_span(it->source, it->span);
        if (!*it->message) abort();
        if (it->fix) check_span(it->source, it->fix->span);
        for (size_t k = 0; k < it->related_count; k++) check_span(it->related[k].source, it->related[k].span);
    }
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    diagnostics_print(&out, found, NULL);
    buffer_finish(&out);
    value_unref(diagnostics_to_value(found));
}

static void check_document(const struct document *document, const struct catalog *catalog) {
    for (uint32_t i = 0; i < document->node_count; i++) {
        tn_value config = document_node_config(document, i, catalog, NULL);
        if (!config) abort();
        value_unref(config);
    }
}

static void check_drawings(const struct document *document) {
    struct error error = ERROR_INIT;
    bool small = draw_check_arrows(document, NULL, ARROWS_MAX, &error) == TN_OK;
    for (int format = DRAW_TEXT; small && format <= DRAW_HTML; format++) {
        struct buffer out;
        buffer_init(&out, SIZE_MAX);
        if (draw_document(&out, document, NULL, (enum draw_format)format, &error) != TN_OK) abort();
        buffer_finish(&out);
    }
    error_finish(&error);
}

static void read_as(const struct fake_catalog *fake, const char *name, const uint8_t *data, size_t size) {
    struct source *source = source_new(name, (const char *)data, size);
    struct diagnostics *found = diagnostics_new();
    struct document *document = document_read(source, &fake->catalog, found);
    check_diagnostics(found);
    if (diagnostics_errors(found) == 0) {
        check_document(document, &fake->catalog);
        check_drawings(document);
    }
    document_unref(document);
    diagnostics_free(found);
    source_unref(source);
    found = diagnostics_new();
    source = source_new(name, (const char *)data, size);
    document_unref(document_read(source, NULL, found));
    diagnostics_free(found);
    source_unref(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct fake_catalog fake;
    if (!fake.catalog.find) fake_catalog_init(&fake);
    if (size > INPUT_MAX) return 0;
    tn_value text = value_string((const char *)data, size);
    if (text) {
        fake.files[0].path = mem_text("self.yaml");
        fake.files[0].text = text;
        fake.file_count = 1;
    }
    read_as(&fake, "fuzz.yaml", data, size);
    read_as(&fake, "fuzz.json", data, size);
    fake_catalog_clear_files(&fake);
    return 0;
}
