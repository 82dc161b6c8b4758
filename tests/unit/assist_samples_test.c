/*
 * assist_samples_test.c - properties of the features about names, for the samples and the documents of other corpora.
 *
 * Each name is renamed and renamed back; each range of nodes is extracted; everything is asked at every offset, and of
 * texts that end anywhere.
 */
#include "adl/assist/action.h"
#include "adl/assist/calls.h"
#include "adl/assist/complete.h"
#include "adl/assist/lens.h"
#include "adl/assist/outline.h"
#include "adl/assist/rename.h"
#include "adl/assist/tokens.h"
#include "tests/unit/assist_fixture.h"

/* ---- Renames ---- */

static bool is_renameable(const struct assist_name *name) {
    bool kind = name->kind == USE_NODE || name->kind == USE_CHANNEL || name->kind == USE_ITEM || name->kind == USE_ROLE;
    return kind && (name->access & USE_DEFINES) && name->file == 0;
}

/* Returns the text of a document after the edits. Fails if another document is changed. */
static char *apply_to_document(const struct assist_names *names, const struct assist_edits *edits) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    assist_edits_apply(edits, names->sources[0], &out);
    return buffer_detach(&out, NULL);
}

/* The message with the new name replaced by the old one. */
static char *with_old_name(const char *message, const char *new_name, const char *old_name) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    for (const char *at = message; *at;) {
        bool here = strncmp(at, new_name, strlen(new_name)) == 0;
        if (here)
            buffer_text(&out, old_name);
        else
            buffer_char(&out, *at);
        at += here ? strlen(new_name) : 1;
    }
    if (!out.data) return mem_text("");
    return buffer_detach(&out, NULL);
}

static void expect_same_diagnostics(const struct assist *before, const struct assist *after, const char *new_name,
                                    const char *old_name) {
    assert_int_equal(diagnostics_count(before->found), diagnostics_count(after->found));
    for (size_t i = 0; i < diagnostics_count(before->found); i++) {
        const struct diagnostic *a = diagnostics_at(before->found, i), *b = diagnostics_at(after->found, i);
        char *message = with_old_name(b->message, new_name, old_name);
        assert_int_equal(a->code, b->code);
        if (strcmp(a->message, message) != 0 && strstr(a->message, old_name))
            fail_msg("`%s` became `%s`", a->message, b->message);
        mem_free(message);
    }
}

static void expect_same_graph(const struct document *before, const struct document *after) {
    assert_int_equal(before->node_count, after->node_count);
    assert_int_equal(before->channel_count, after->channel_count);
    assert_int_equal(before->edge_count, after->edge_count);
    assert_int_equal(before->link_count, after->link_count);
    for (uint32_t i = 0; i < before->edge_count; i++) {
        const struct document_edge *a = &before->edges[i], *b = &after->edges[i];
        assert_int_equal(a->from_count, b->from_count);
        assert_int_equal(a->to_count, b->to_count);
        assert_int_equal(a->condition_count, b->condition_count);
        if (a->from_count) assert_memory_equal(a->from, b->from, a->from_count * sizeof *a->from);
        if (a->to_count) assert_memory_equal(a->to, b->to, a->to_count * sizeof *a->to);
        for (uint32_t k = 0; k < a->condition_count; k++) assert_int_equal(a->conditions[k].to, b->conditions[k].to);
    }
    for (uint32_t i = 0; i < before->node_count; i++)
        assert_int_equal(before->nodes[i].on_error, after->nodes[i].on_error);
}

static size_t renamed_names, refused_names, awkward_names, extracted;

/* Renames to a name that does not exist, and back. */
static void rename_and_back(struct assist_fixture *fixture, const struct assist_names *names,
                            const struct assist_name *name) {
    static const char new_name[] = "quite_new_name";
    const struct assist_workspace one = {&names, 1, NULL};
    struct assist_edits *edits = assist_rename(names, name->span.start, new_name, strlen(new_name), &one);
    renamed_names++;
    if (edits->refusal) {
        refused_names++;
        if (!strstr(edits->refusal, "cannot be read") && !strstr(edits->refusal, "whole state"))
            fail_msg("%s: `%s`: %s", source_name(names->sources[0]), name->text, edits->refusal);
        assist_edits_free(edits);
        return;
    }
    bool changed_form = !assist_plain_safe(name->text, name->length); /* such a name is quoted afterwards */
    size_t count, places = 0;
    const uint32_t *with = assist_names_with(names, name->text, name->length, &count);
    for (size_t i = 0; i < count; i++) {
        changed_form |= names->items[with[i]].kind == name->kind && names->items[with[i]].form >= USE_DEFAULT;
        places += names->items[with[i]].kind == name->kind;
    }
    assert_int_equal(edits->count, places);
    char *text = apply_to_document(names, edits);
    struct assist_names *after = fixture_read(fixture, source_name(names->sources[0]), text, strlen(text));
    expect_same_diagnostics(names->assist, after->assist, new_name, name->text);
    expect_same_graph(names->assist->document, after->assist->document);
    const struct assist_name *there = assist_names_definition(after, name->kind, new_name, strlen(new_name));
    assert_non_null(there);
    const struct assist_workspace two = {(const struct assist_names *const *)&after, 1, NULL};
    struct assist_edits *back = assist_rename(after, there->span.start, name->text, name->length, &two);
    if (back->refusal) fail_msg("%s: back to `%s`: %s", source_name(names->sources[0]), name->text, back->refusal);
    char *original = apply_to_document(after, back);
    if (!changed_form) assert_string_equal(original, source_text(names->sources[0]));
    mem_free(original);
    mem_free(text);
    assist_edits_free(back);
    assist_edits_free(edits);
    assist_names_free(after);
}

/* Checks each file; with the manifests of the plugins, or with the components of the fixture. */
static void each_file(const char *pattern, bool manifests,
                      void (*check)(struct assist_fixture *fixture, const struct assist_names *names)) {
    glob_t files;
    if (glob(pattern, 0, NULL, &files) != 0) fail_msg("no files `%s`", pattern);
    struct assist_fixture fixture;
    fixture_init(&fixture);
    if (manifests) fixture_use_manifests(&fixture);
    fixture.fake.folder = "/";
    for (size_t i = 0; i < files.gl_pathc; i++) {
        size_t length;
        char *text = corpus_load(files.gl_pathv[i], &length);
        fixture.world.catalog = &fixture.catalog;
        struct assist_names *names = fixture_read(&fixture, files.gl_pathv[i], text, length);
        check(&fixture, names);
        assist_names_free(names);
        free(text);
    }
    fixture_close(&fixture);
    globfree(&files);
}

static void rename_all(struct assist_fixture *fixture, const struct assist_names *names) {
    for (size_t i = 0; i < names->own_count && tree_is_whole(names->assist->tree); i++)
        if (is_renameable(&names->items[i])) rename_and_back(fixture, names, &names->items[i]);
}

/* Names that need quotes somewhere, or that have another meaning in an expression. */
static void rename_awkward(struct assist_fixture *fixture, const struct assist_names *names) {
    static const char *const awkward[] = {"a b",  "it's",  "a\"b",  "x: y", "- z", "größe", "yes", "null", "12",
                                          "in",   "input", "state", "#a",   "a,b", "[a]",   " a",  "a ",   "{x}",
                                          "a\\b", "é/è",   "&a",    "*a",   "!a",  "%a",    "@a",  "`a"};
    const struct assist_workspace one = {&names, 1, NULL};
    if (!tree_is_whole(names->assist->tree)) return;
    for (size_t i = 0; i < names->own_count; i++) {
        const struct assist_name *name = &names->items[i];
        if (!is_renameable(name)) continue;
        const char *text = awkward[i % (sizeof awkward / sizeof *awkward)];
        struct assist_edits *edits = assist_rename(names, name->span.start, text, strlen(text), &one);
        if (!edits->refusal) {
            char *changed = apply_to_document(names, edits);
            struct assist_names *after =
                fixture_read(fixture, source_name(names->sources[0]), changed, strlen(changed));
            assert_non_null(assist_names_definition(after, name->kind, text, strlen(text)));
            assert_int_equal(diagnostics_count(after->assist->found), diagnostics_count(names->assist->found));
            expect_same_graph(names->assist->document, after->assist->document);
            awkward_names++;
            mem_free(changed);
            assist_names_free(after);
        } else if (strstr(edits->refusal, "mean the same")) {
            fail_msg("%s: `%s` to `%s`: %s", source_name(names->sources[0]), name->text, text, edits->refusal);
        }
        assist_edits_free(edits);
    }
}

/* The same with the line ends of Windows. */
static void rename_with_carriage_returns(struct assist_fixture *fixture, const struct assist_names *names) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    for (const char *at = source_text(names->sources[0]); *at; at++) {
        if (*at == '\n') buffer_char(&text, '\r');
        buffer_char(&text, *at);
    }
    struct assist_names *windows =
        fixture_read(fixture, source_name(names->sources[0]), buffer_cstr(&text), text.length);
    rename_all(fixture, windows);
    assist_names_free(windows);
    buffer_finish(&text);
}

/* Extracts each range of neighbouring nodes. The new document and the old one must have no mistakes. */
static void extract_ranges(struct assist_fixture *fixture, const struct assist_names *names) {
    const struct document *document = names->assist->document;
    (void)fixture;
    if (diagnostics_errors(names->assist->found)) return;
    for (uint32_t first = 0; first < document->node_count; first++)
        for (uint32_t last = first; last < document->node_count && last < first + 4; last++) {
            const struct span selection = {document->nodes[first].span.start, document->nodes[last].span.end};
            struct assist_edits *edits = assist_extract(names, selection);
            if (edits->refusal && strstr(edits->refusal, "would have a mistake") && !strstr(edits->refusal, "anchor"))
                fail_msg("%s: %s", source_name(names->sources[0]), edits->refusal);
            extracted += !edits->refusal;
            assert_true(edits->refusal || (edits->file_count == 1 && edits->count >= 2));
            assist_edits_free(edits);
        }
}

static void test_extract_samples(void **state) {
    (void)state;
    each_file(TENON_SOURCE_DIR "/samples/*/*.yaml", true, extract_ranges);
    each_file(TENON_SOURCE_DIR "/tests/corpus/documents/*.*", false, extract_ranges);
    assert_true(extracted > 10);
}

static void test_rename_samples(void **state) {
    (void)state;
    each_file(TENON_SOURCE_DIR "/samples/*/*.yaml", true, rename_all);
    each_file(TENON_SOURCE_DIR "/tests/corpus/documents/*.*", false, rename_all);
    each_file(TENON_SOURCE_DIR "/samples/*/*.yaml", true, rename_with_carriage_returns);
    each_file(TENON_SOURCE_DIR "/samples/*/*.yaml", true, rename_awkward);
    each_file(TENON_SOURCE_DIR "/tests/corpus/documents/*.*", false, rename_awkward);
    assert_true(awkward_names > 50);
    assert_true(renamed_names > 100);
    assert_true(refused_names * 4 < renamed_names);
}

/* ---- All features at every offset ---- */

static void expect_inside(struct span span, const struct source *source) {
    assert_true(span.start <= span.end && span.end <= source_length(source));
}

static void expect_places(struct assist_places *places, const struct source *own) {
    for (size_t i = 0; places && i < places->count; i++)
        if (places->items[i].source) expect_inside(places->items[i].span, places->items[i].source);
    if (places) expect_inside(places->origin, own);
    assist_places_free(places);
}

static void expect_names(const struct assist_names *names) {
    for (size_t i = 0; i < names->count; i++) {
        const struct assist_name *name = &names->items[i];
        expect_inside(name->span, names->sources[name->file]);
        assert_true(name->token.start <= name->span.start && name->span.end <= name->token.end);
        bool sorted = i == 0 || i >= names->text_count || names->items[i - 1].file < name->file ||
                      names->items[i - 1].span.start <= name->span.start;
        assert_true(sorted);
    }
}

static void expect_structure(const struct assist_names *names, const struct assist_workspace *workspace) {
    const struct source *source = names->sources[0];
    struct assist_outline *outline = assist_outline(names->assist);
    for (size_t i = 0; i < outline->count; i++) {
        const struct assist_outline_item *item = &outline->items[i];
        expect_inside(item->span, source);
        assert_true(item->span.start <= item->name_span.start && item->name_span.end <= item->span.end);
        assert_true(item->name[0] != '\0');
    }
    assist_outline_free(outline);
    struct assist_folds *folds = assist_folds(names->assist);
    for (size_t i = 0; i < folds->count; i++) {
        assert_true(folds->items[i].first_line < folds->items[i].last_line);
        assert_true(folds->items[i].last_line < source_lines(source));
        assert_true(i == 0 || folds->items[i - 1].first_line < folds->items[i].first_line);
    }
    assist_folds_free(folds);
    struct assist_tokens *tokens = assist_tokens(names, (struct span){0, UINT32_MAX});
    for (size_t i = 0; i < tokens->count; i++) {
        struct span span = tokens->items[i].span;
        expect_inside(span, source);
        assert_true(span.start < span.end && (i == 0 || tokens->items[i - 1].span.end <= span.start));
        assert_int_equal(source_locate(source, span.start).line, source_locate(source, span.end).line);
    }
    assist_tokens_free(tokens);
    struct assist_lenses *lenses = assist_lenses(names, workspace);
    for (size_t i = 0; i < lenses->count; i++) expect_inside(lenses->items[i].span, source);
    assist_lenses_free(lenses);
}

static void expect_at(const struct assist_names *names, uint32_t offset, const struct assist_workspace *workspace) {
    struct span spans[ASSIST_SELECTIONS_MAX];
    struct assist_call_item item;
    const struct source *source = names->sources[0];
    expect_places(assist_definition(names, offset, workspace), source);
    expect_places(assist_references(names, offset, workspace, true), source);
    expect_places(assist_highlight(names, offset), source);
    size_t count = assist_selection(names->assist, offset, spans);
    for (size_t i = 0; i < count; i++) {
        expect_inside(spans[i], source);
        bool larger = i == 0 || (spans[i].start <= spans[i - 1].start && spans[i].end >= spans[i - 1].end &&
                                 spans[i].end - spans[i].start > spans[i - 1].end - spans[i - 1].start);
        assert_true(larger && spans[i].start <= offset && offset <= spans[i].end);
    }
    if (!assist_calls_prepare(names, offset, &item)) return;
    assist_calls_free(assist_calls(names, &item, ASSIST_CALLS_INCOMING));
    assist_calls_free(assist_calls(names, &item, ASSIST_CALLS_OUTGOING));
}

/* The edits of an action are sorted, inside of the text, and without new errors. */
static void expect_actions(const struct assist_names *names, struct span selection,
                           const struct assist_workspace *workspace) {
    struct assist_actions *actions = assist_actions(names, selection, workspace);
    for (size_t i = 0; i < actions->count; i++) {
        assist_action_resolve(&actions->items[i], names, selection);
        const struct assist_edits *edits = actions->items[i].edits;
        for (size_t k = 0; k < edits->count; k++) {
            expect_inside(edits->items[k].span, edits->items[k].source);
            assert_true(k == 0 || edits->items[k].source != edits->items[k - 1].source ||
                        edits->items[k - 1].span.end <= edits->items[k].span.start);
        }
    }
    assist_actions_free(actions);
}

static void at_every_offset(struct assist_fixture *fixture, const struct assist_names *names) {
    const struct assist_workspace one = {&names, 1, NULL};
    const char *text = source_text(names->sources[0]), *name = source_name(names->sources[0]);
    uint32_t length = (uint32_t)source_length(names->sources[0]);
    expect_names(names);
    expect_structure(names, &one);
    for (uint32_t offset = 0; offset <= length; offset++) expect_at(names, offset, &one);
    for (uint32_t offset = 0; offset < length; offset += 97) {
        expect_actions(names, (struct span){offset, offset}, &one);
        expect_actions(names, (struct span){offset, offset + (length - offset) / 2}, &one);
    }
    for (uint32_t end = 0; end < length; end += 101) {
        struct assist_names *part = fixture_read(fixture, name, text, end);
        const struct assist_workspace of_part = {(const struct assist_names *const *)&part, 1, NULL};
        expect_names(part);
        expect_structure(part, &of_part);
        expect_at(part, end, &of_part);
        expect_actions(part, (struct span){end, end}, &of_part);
        assist_names_free(part);
    }
}

/* For documents with mistakes. */
static void at_some_offsets(struct assist_fixture *fixture, const struct assist_names *names) {
    const struct assist_workspace one = {&names, 1, NULL};
    uint32_t length = (uint32_t)source_length(names->sources[0]);
    (void)fixture;
    if (length > 100000) return; /* about limits of size */
    expect_names(names);
    expect_structure(names, &one);
    for (uint32_t offset = 0; offset <= length; offset += 7) {
        expect_at(names, offset, &one);
        if (offset % 35 == 0) expect_actions(names, (struct span){offset, length}, &one);
    }
}

static void test_every_offset(void **state) {
    (void)state;
    each_file(TENON_SOURCE_DIR "/samples/*/*.yaml", true, at_every_offset);
    each_file(TENON_SOURCE_DIR "/tests/corpus/diagnostics/*.yaml", false, at_some_offsets);
    each_file(TENON_SOURCE_DIR "/tests/corpus/documents/*.*", false, at_every_offset);
}

/* Without a catalog, components are not known. */
static void without_catalog(struct assist_fixture *fixture, const struct assist_names *names) {
    fixture->world.catalog = NULL;
    const struct source *source = names->sources[0];
    struct assist_names *bare = fixture_read(fixture, source_name(source), source_text(source), source_length(source));
    at_some_offsets(fixture, bare);
    assist_names_free(bare);
}

static void test_without_catalog(void **state) {
    (void)state;
    each_file(TENON_SOURCE_DIR "/samples/*/*.yaml", false, without_catalog);
}

/* An id with an anchor, and a thousand edges that name it by an alias: one place. */
static void test_thousand_aliases(void **state) {
    (void)state;
    struct assist_fixture fixture;
    struct buffer text;
    fixture_init(&fixture);
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "version: \"1.0\"\nagent: {name: a}\nnodes:\n  - {id: &n one, type: passthrough}\n");
    for (int i = 0; i < 1000; i++) buffer_format(&text, "  - {id: n%d, type: go, config: {to: *n}}\n", i);
    buffer_text(&text, "edges:\n  - {from: START, to: *n}\n");
    struct assist_names *names = fixture_read(&fixture, "a.yaml", buffer_cstr(&text), text.length);
    const struct assist_workspace one = {(const struct assist_names *const *)&names, 1, NULL};
    const struct assist_name *definition = assist_names_definition(names, USE_NODE, "one", 3);
    assert_non_null(definition);
    struct assist_edits *edits = assist_rename(names, definition->span.start, "first", 5, &one);
    assert_null(edits->refusal);
    assert_int_equal(edits->count, 1);
    expect_names(names);
    expect_structure(names, &one);
    for (uint32_t offset = 0; offset < text.length; offset += 501) expect_at(names, offset, &one);
    assist_edits_free(edits);
    assist_names_free(names);
    buffer_finish(&text);
    fixture_close(&fixture);
}

/* Names that are defined 20,000 times: the cost must not grow with the square of this number. */
static void test_repeated_definitions(void **state) {
    (void)state;
    struct assist_fixture fixture;
    struct buffer text;
    fixture_init(&fixture);
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "version: \"1.0\"\nx-a:\n");
    for (int i = 0; i < 20000; i++) buffer_text(&text, "  - &same 1\n");
    buffer_text(&text, "nodes:\n");
    for (int i = 0; i < 20000; i++) buffer_text(&text, "  - {id: same, type: passthrough}\n");
    buffer_text(&text, "edges: [{from: START, to: *same}]\n");
    struct assist_names *names = fixture_read(&fixture, "a.yaml", buffer_cstr(&text), text.length);
    const struct assist_workspace one = {(const struct assist_names *const *)&names, 1, NULL};
    struct assist_lenses *lenses = assist_lenses(names, &one);
    assert_int_equal(lenses->count, 20001); /* with that of the document */
    assert_int_equal(lenses->items[1].references, lenses->items[20000].references);
    struct assist_completions *list =
        assist_complete(names->assist, (uint32_t)text.length - (uint32_t)strlen("same}]\n"));
    assert_int_equal(list->count, 1);
    assert_string_equal(list->items[0].label, "same");
    assist_completions_free(list);
    assist_lenses_free(lenses);
    assist_names_free(names);
    buffer_finish(&text);
    fixture_close(&fixture);
}

/* A file in the middle of a merge: names are found around the markers, but nothing is renamed. */
static void test_conflict_markers(void **state) {
    (void)state;
    static const char text[] = "version: \"1.0\"\n"
                               "agent: {name: a}\n"
                               "nodes:\n"
                               "  - {id: one, type: passthrough}\n"
                               "<<<<<<< HEAD\n"
                               "  - {id: two, type: passthrough}\n"
                               "=======\n"
                               "  - {id: three, type: passthrough}\n"
                               ">>>>>>> branch\n"
                               "edges:\n"
                               "  - {from: START, to: one}\n";
    struct assist_fixture fixture;
    fixture_init(&fixture);
    struct assist_names *names = fixture_read(&fixture, "a.yaml", text, strlen(text));
    const struct assist_workspace one = {(const struct assist_names *const *)&names, 1, NULL};
    uint32_t last = (uint32_t)(strstr(text, "to: one") - text) + 4;
    expect_names(names);
    expect_structure(names, &one);
    for (uint32_t offset = 0; offset <= strlen(text); offset++) expect_at(names, offset, &one);
    assert_string_equal(assist_names_at(names, last)->text, "one");
    struct assist_edits *edits = assist_rename(names, last, "first", 5, &one);
    assert_non_null(edits->refusal);
    assist_edits_free(edits);
    assist_names_free(names);
    fixture_close(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rename_samples),       cmocka_unit_test(test_extract_samples),
        cmocka_unit_test(test_every_offset),         cmocka_unit_test(test_without_catalog),
        cmocka_unit_test(test_thousand_aliases),     cmocka_unit_test(test_conflict_markers),
        cmocka_unit_test(test_repeated_definitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
