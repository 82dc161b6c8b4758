/*
 * assist_hover_test.c - hover, signature help, hints, links and the places of cursors, by the cases of
 * tests/corpus/assist.
 *
 * A case has the section `text`, and one that names the question and has the answer:
 *
 *     place        the kind of the place, its path, and what is written there
 *     hover        the span, and the Markdown; `hover has`: the span, and lines that are in it
 *     signature    the signature with its active parameter in ‹›
 *     hints        the text with its hints in «»
 *     links        each span with its target
 *
 * `nothing` is the answer if there is no answer. `file` and `options` are as in assist_complete_test.c.
 */
#include "adl/assist/cursor.h"
#include "adl/assist/hover.h"
#include "adl/assist/inlay.h"
#include "adl/assist/link.h"
#include "adl/assist/signature.h"
#include "tests/unit/complete_fixture.h"

static struct assist_world world = {
    .each_role = fixture_each_role, .each_file = fixture_each_file, .each_document = fixture_each_document};

static size_t failures; /* all are printed */

static void write_span(const struct source *source, struct span span, struct buffer *out) {
    assert_true(span.start <= span.end && span.end <= source_length(source));
    buffer_append(out, source_text(source) + span.start, span.end - span.start);
}

static void answer_place(const struct assist_place *place, struct buffer *out) {
    static const char *const kinds[] = {"nothing", "key", "value", "alias"}, *const quotes[] = {"", " in '", " in \"",
                                                                                                " in block"};
    struct cursor cursor;
    cursor_find(place->assist->source, place->offset, &cursor);
    buffer_text(out, kinds[cursor.kind]);
    if (cursor.kind == CURSOR_NOTHING) return;
    buffer_char(out, ' ');
    for (uint32_t i = 0; i < cursor.depth; i++) {
        const struct cursor_step *step = &cursor.steps[i];
        if (step->key)
            buffer_format(out, "/%.*s", (int)step->length, step->key);
        else
            buffer_format(out, "/%u", step->index);
    }
    buffer_text(out, ": ");
    write_span(place->assist->source, cursor.inner, out);
    buffer_format(out, "|%s%s%s%s%s%s", quotes[cursor.quote], cursor.flow ? " flow" : "", cursor.fresh ? " fresh" : "",
                  cursor.dash ? " dash" : "", cursor.space ? " space" : "", cursor.colon ? " colon" : "");
}

static void answer_hover(const struct assist_place *place, struct buffer *out) {
    struct assist_hover *hover = assist_hover(place->assist, place->offset);
    if (!hover) {
        buffer_text(out, "nothing");
        return;
    }
    assert_true(hover->span.start <= place->offset && place->offset <= hover->span.end);
    write_span(place->assist->source, hover->span, out);
    buffer_format(out, "\n%s", hover->markdown);
    assert_null(strchr(hover->text, '`'));
    assist_hover_free(hover);
}

static void answer_signature(const struct assist_place *place, struct buffer *out) {
    struct assist_signature *signature = assist_signature(place->assist, place->offset);
    if (!signature) {
        buffer_text(out, "nothing");
        return;
    }
    for (size_t i = 0; i <= strlen(signature->label); i++) {
        bool active = signature->active < signature->parameter_count;
        if (active && signature->parameters[signature->active].start == i) buffer_text(out, "‹");
        if (active && signature->parameters[signature->active].end == i) buffer_text(out, "›");
        if (signature->label[i]) buffer_char(out, signature->label[i]);
    }
    assist_signature_free(signature);
}

static void answer_hints(const struct assist_place *place, size_t skip, struct buffer *out) {
    const struct source *source = place->assist->source;
    struct assist_hints *hints = assist_hints(place->assist, (struct span){0, (uint32_t)source_length(source)});
    uint32_t at = 0;
    for (uint32_t i = 0; i < hints->count; i++) {
        assert_true(hints->items[i].at >= at);
        write_span(source, (struct span){at, hints->items[i].at}, out);
        buffer_format(out, "«%s»", hints->items[i].text);
        at = hints->items[i].at;
    }
    write_span(source, (struct span){at, (uint32_t)source_length(source)}, out);
    assist_hints_free(hints);
    memmove(out->data, out->data + skip, out->length - skip + 1);
    out->length -= skip;
}

static void answer_links(const struct assist_place *place, struct buffer *out) {
    struct assist_links *links = assist_links(place->assist);
    if (links->count == 0) buffer_text(out, "nothing");
    for (uint32_t i = 0; i < links->count; i++) {
        write_span(place->assist->source, links->items[i].span, out);
        buffer_format(out, " -> %s%s\n", links->items[i].target, links->items[i].document ? " (document)" : "");
    }
    assist_links_free(links);
}

static bool has_lines(const char *found, const char *lines) {
    char *copy = mem_text(lines), *rest = copy;
    bool all = true;
    for (char *line; (line = strsep(&rest, "\n"));) all &= strstr(found, line) != NULL;
    mem_free(copy);
    return all;
}

static void check_case(const struct corpus_case *test, void *user) {
    static const char *const questions[] = {"place", "hover", "hover has", "signature", "hints", "links"};
    size_t question = 0, count = sizeof questions / sizeof *questions;
    while (question < count && !corpus_section(test, questions[question])) question++;
    if (question == count) fail_msg("%s:%zu: no question", test->path, test->line);
    const char *name = corpus_section(test, "file"), *options = corpus_section(test, "options");
    char *text = fixture_text(test);
    struct assist_place place;
    struct buffer found;
    assist_place_init(&place, &world, name ? name : "doc.yaml", text);
    buffer_init(&found, SIZE_MAX);
    buffer_text(&found, "");
    switch (question) {
    case 0: answer_place(&place, &found); break;
    case 1:
    case 2: answer_hover(&place, &found); break;
    case 3: answer_signature(&place, &found); break;
    case 4: answer_hints(&place, options ? strlen(fixture_base) : 0, &found); break;
    default: answer_links(&place, &found); break;
    }
    while (found.length > 0 && strchr(" \n", found.data[found.length - 1])) found.data[--found.length] = '\0';
    const char *expected = corpus_section(test, questions[question]);
    bool same = question == 2 ? has_lines(buffer_cstr(&found), expected) : strcmp(buffer_cstr(&found), expected) == 0;
    if (!same) {
        (void)fprintf(stderr, "%s:%zu: `%s`: found:\n%s\n@@\n", test->path, test->line, test->name,
                      buffer_cstr(&found));
        failures++;
    }
    buffer_finish(&found);
    assist_place_finish(&place);
    mem_free(text);
    ++*(size_t *)user;
}

static void corpus_holds(void **state) {
    static const char *const files[] = {"place", "hover", "signature", "hints", "links"};
    size_t cases = 0;
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[200];
        snprintf(path, sizeof path, "tests/corpus/assist/%s.txt", files[i]);
        corpus_each(path, check_case, &cases);
    }
    assert_int_equal(failures, 0);
    assert_true(cases >= 80);
}

int main(void) {
    struct manifest_catalog *catalog = manifest_catalog_new("tests/corpus/assist/acme.json");
    catalog->catalog.read = fixture_read_file;
    world.catalog = &catalog->catalog;
    const struct CMUnitTest tests[] = {cmocka_unit_test(corpus_holds)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    manifest_catalog_free(catalog);
    return failed;
}
