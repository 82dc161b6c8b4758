/*
 * fuzz_assist.c - asks for everything at a place of any text: no crash, spans inside the text, lists within their caps.
 *
 * The first two bytes choose the place, and the lowest bit of the first whether the text is JSON.
 */
#include "adl/assist/complete.h"
#include "adl/assist/cursor.h"
#include "adl/assist/hover.h"
#include "adl/assist/inlay.h"
#include "adl/assist/link.h"
#include "adl/assist/signature.h"
#include "tests/unit/fake_catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

static void check_span(struct span span, const struct assist *assist) {
    require(span.start <= span.end && span.end <= source_length(assist->source));
}

static void check_completions(const struct assist *assist, uint32_t offset) {
    struct assist_completions *list = assist_complete(assist, offset);
    uint32_t line = cursor_line_of(assist->source, offset);
    require(list->count <= COMPLETE_ITEMS_MAX);
    for (uint32_t i = 0; i < list->count; i++) {
        struct span span = list->items[i].span;
        check_span(span, assist);
        require(span.start <= offset && offset <= span.end);
        require(cursor_line_of(assist->source, span.start) == line && cursor_line_of(assist->source, span.end) == line);
    }
    assist_completions_free(list);
}

static void check_place(const struct assist *assist, uint32_t offset) {
    check_completions(assist, offset);
    struct assist_hover *hover = assist_hover(assist, offset);
    if (hover) check_span(hover->span, assist);
    assist_hover_free(hover);
    struct assist_signature *signature = assist_signature(assist, offset);
    if (signature) require(signature->active <= signature->parameter_count);
    assist_signature_free(signature);
}

static void check_document(const struct assist *assist) {
    struct assist_hints *hints = assist_hints(assist, (struct span){0, UINT32_MAX});
    struct assist_links *links = assist_links(assist);
    for (uint32_t i = 0; i < hints->count; i++) require(hints->items[i].at <= source_length(assist->source));
    for (uint32_t i = 0; i < links->count; i++) check_span(links->items[i].span, assist);
    assist_hints_free(hints);
    assist_links_free(links);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    struct fake_catalog fake;
    fake_catalog_init(&fake);
    const struct assist_world world = {.catalog = &fake.catalog};
    bool json = data[0] & 1;
    uint32_t length = (uint32_t)size - 2, offset = length * (uint32_t)(data[0] / 2 + 128u * data[1]) / 32768u;
    struct source *source = source_new(json ? "fuzz.json" : "fuzz.yaml", (const char *)data + 2, length);
    struct assist *assist = assist_new(source, &world, NULL);
    check_place(assist, offset);
    check_place(assist, length);
    check_document(assist);
    assist_unref(assist);
    source_unref(source);
    fake_catalog_finish(&fake);
    return 0;
}
