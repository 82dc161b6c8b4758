/*
 * assist_names_test.c - names, definitions, references and edits of names, from tests/corpus/assist-names.
 *
 * The form of a case is in assist_fixture.h. Run with TENON_CORPUS_UPDATE=1 to write the expected sections again.
 */
#include "adl/value/memory.h"
#include "tests/unit/assist_fixture.h"

/* ---- Answers as text ---- */

static void print_access(struct buffer *out, uint32_t access) {
    if (access & USE_DEFINES) buffer_text(out, " defines");
    if (access & USE_READS) buffer_text(out, " reads");
    if (access & USE_WRITES) buffer_text(out, " writes");
}

static void print_names(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    static const char *const forms[] = {"", " (key)", " (part)", " (field)", " (indexed)", " (bare)", " (default)"};
    (void)argument;
    const struct assist_names *names = fixture->focus;
    for (size_t i = 0; i < names->count; i++) {
        const struct assist_name *name = &names->items[i];
        buffer_format(out, "%s %s", name->kind == USE_UNREAD ? "unread" : assist_kind_name(name->kind), name->text);
        print_access(out, name->access);
        buffer_text(out, forms[name->form]);
        if (name->path) buffer_format(out, " <%s>", name->path);
        buffer_text(out, ": ");
        fixture_print_span(out, names->sources[name->file], name->span);
    }
}

static void print_places(struct assist_places *places, struct buffer *out) {
    if (!places) {
        buffer_text(out, "nothing");
        return;
    }
    if (places->component_id[0]) buffer_format(out, "component %s %s\n", places->component_kind, places->component_id);
    for (size_t i = 0; i < places->count; i++) {
        const struct assist_place *place = &places->items[i];
        if (place->source)
            fixture_print_span(out, place->source, place->span);
        else
            buffer_format(out, "%s\n", place->path);
    }
    assist_places_free(places);
}

static void print_definition(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    (void)argument;
    print_places(assist_definition(fixture->focus, fixture->cursor, &fixture->workspace), out);
}

static void print_references(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    bool definitions = strcmp(argument, "only") != 0;
    print_places(assist_references(fixture->focus, fixture->cursor, &fixture->workspace, definitions), out);
}

static void print_highlight(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    (void)argument;
    print_places(assist_highlight(fixture->focus, fixture->cursor), out);
}

/* The names of sections that ask for something; the rest of the section's name is the argument. */
static const struct {
    const char *name;
    void (*print)(struct assist_fixture *fixture, const char *argument, struct buffer *out);
} questions[] = {
    {"names", print_names},
    {"definition", print_definition},
    {"references", print_references},
    {"highlight", print_highlight},
};

/* ---- The corpus ---- */

struct corpus_run {
    struct buffer rewritten; /* the whole file with the answers that were found */
    bool update;
    size_t questions;
};

static void ask(struct assist_fixture *fixture, const struct corpus_case *test, const char *section,
                struct corpus_run *run) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    size_t length = strcspn(section, " ");
    const char *argument = section[length] ? section + length + 1 : "";
    bool known = false;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        if (strlen(questions[i].name) != length || memcmp(questions[i].name, section, length) != 0) continue;
        questions[i].print(fixture, argument, &out);
        known = true;
    }
    if (!known) fail_msg("%s:%zu: unknown section `%s`", test->path, test->line, section);
    run->questions++;
    if (!run->update) corpus_expect(test, section, buffer_cstr(&out));
    while (out.length && out.data[out.length - 1] == '\n') out.length--;
    buffer_append(&run->rewritten, out.data, out.length);
    buffer_finish(&out);
}

static void run_case(const struct corpus_case *test, void *user) {
    struct corpus_run *run = (struct corpus_run *)user;
    struct assist_fixture fixture;
    fixture_open(&fixture, test);
    buffer_format(&run->rewritten, "=== %s\n", test->name);
    for (size_t i = 0; i < test->section_count; i++) {
        const struct corpus_section *section = &test->sections[i];
        buffer_format(&run->rewritten, "--- %s\n", section->name);
        if (fixture_is_name_of_file(section->name))
            buffer_text(&run->rewritten, section->text);
        else
            ask(&fixture, test, section->name, run);
        buffer_text(&run->rewritten, "\n");
    }
    buffer_text(&run->rewritten, "\n");
    fixture_close(&fixture);
}

/* Writes the file again, with its comment. */
static void rewrite(const char *path, struct buffer *text) {
    char full[4096];
    corpus_path(path, full, sizeof full);
    char *before = corpus_load(full, NULL), *first = strstr(before, "=== ");
    FILE *file = fopen(full, "wb");
    while (text->length > 1 && text->data[text->length - 2] == '\n') text->length--;
    assert_non_null(file);
    fwrite(before, 1, (size_t)(first - before), file);
    fwrite(text->data, 1, text->length, file);
    fclose(file);
    free(before);
}

static size_t run_file(const char *path) {
    struct corpus_run run = {.update = getenv("TENON_CORPUS_UPDATE") != NULL};
    buffer_init(&run.rewritten, SIZE_MAX);
    corpus_each(path, run_case, &run);
    if (run.update) rewrite(path, &run.rewritten);
    buffer_finish(&run.rewritten);
    return run.questions;
}

static void test_names(void **state) {
    (void)state;
    run_file("tests/corpus/assist-names/names.txt");
    run_file("tests/corpus/assist-names/symbol.txt");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
