/*
 * assist_names_test.c - names, definitions, references and edits of names, from tests/corpus/assist-names.
 *
 * The form of a case is in assist_fixture.h. Run with TENON_CORPUS_UPDATE=1 to write the expected sections again.
 */
#include "adl/assist/action.h"
#include "adl/assist/calls.h"
#include "adl/assist/lens.h"
#include "adl/assist/outline.h"
#include "adl/assist/rename.h"
#include "adl/assist/tokens.h"
#include "adl/value/memory.h"
#include "tests/unit/assist_fixture.h"

/* ---- Answers as text ---- */

static void print_access(struct buffer *out, uint32_t access) {
    if (access & USE_DEFINES) buffer_text(out, " defines");
    if (access & USE_READS) buffer_text(out, " reads");
    if (access & USE_WRITES) buffer_text(out, " writes");
}

static void print_names(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    static const char *const forms[] = {"",           " (key)",  " (part)",    " (field)",
                                        " (indexed)", " (bare)", " (default)", " (in a default)"};
    (void)argument;
    const struct assist_names *names = fixture->focus;
    for (size_t i = 0; i < names->count; i++) {
        const struct assist_name *name = &names->items[i];
        if (name->kind == USE_EXPRESSION || name->kind == USE_TEMPLATE) continue;
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

static const struct source *source_of_path(const struct assist_fixture *fixture, const char *path) {
    if (fixture->config && strcmp(source_name(tree_source(fixture->config)), path) == 0)
        return tree_source(fixture->config);
    for (size_t i = 0; i < fixture->count; i++)
        for (size_t k = 0; k < fixture->names[i]->source_count; k++)
            if (strcmp(source_name(fixture->names[i]->sources[k]), path) == 0) return fixture->names[i]->sources[k];
    fail_msg("an edit of an unknown file `%s`", path);
    return NULL;
}

/* Prints the changed files whole. Takes the edits. */
static void print_edits(struct assist_fixture *fixture, struct assist_edits *edits, struct buffer *out) {
    if (edits->refusal) buffer_format(out, "refused: %s\n", edits->refusal);
    if (edits->refusal && (edits->count || edits->file_count)) fail_msg("a refusal has edits");
    if (edits->note) buffer_format(out, "note: %s\n", edits->note);
    if (!edits->refusal && !edits->count && !edits->file_count) buffer_text(out, "no edits\n");
    for (size_t i = 0; i < edits->count; i++) {
        const char *path = source_name(edits->items[i].source);
        if (i > 0 && strcmp(path, source_name(edits->items[i - 1].source)) == 0) continue;
        buffer_format(out, ">>> %s\n", path);
        assist_edits_apply(edits, source_of_path(fixture, path), out);
    }
    for (size_t i = 0; i < edits->file_count; i++)
        buffer_format(out, ">>> new %s\n%s", edits->files[i].path, edits->files[i].text);
    assist_edits_free(edits);
}

static void print_prepare(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    struct assist_rename_target target;
    (void)argument;
    if (assist_rename_prepare(fixture->focus, fixture->cursor, &fixture->workspace, &target)) {
        buffer_format(out, "%s\n", target.text);
        fixture_print_span(out, fixture->focus->sources[0], target.span);
    } else {
        buffer_format(out, "refused: %s\n", target.refusal);
    }
    assist_rename_target_finish(&target);
}

static void print_rename(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    print_edits(fixture,
                assist_rename(fixture->focus, fixture->cursor, argument, strlen(argument), &fixture->workspace), out);
}

static void print_rename_role(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    struct assist_symbol symbol;
    const struct tree_item *first = &tree_get(tree_root(fixture->config), "models")->items[0];
    if (!assist_symbol_in_config(fixture->config, first->key_span.start, &symbol)) fail_msg("no role");
    print_edits(fixture, assist_rename_symbol(&symbol, argument, strlen(argument), &fixture->workspace), out);
}

/* The argument is "FROM TO". */
static void print_move(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    char from[256];
    const char *space = strchr(argument, ' ');
    snprintf(from, sizeof from, "%.*s", (int)(space - argument), argument);
    const struct assist_move move = {from, space + 1};
    print_edits(fixture, assist_rename_files(&move, 1, &fixture->workspace), out);
}

/* ---- Structure as text ---- */

static void print_outline(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    static const char *const kinds[] = {"section", "node", "channel", "edge", "role", "tool", "plugin", "property"};
    (void)argument;
    const struct source *source = fixture->focus->sources[0];
    struct assist_outline *outline = assist_outline(fixture->focus->assist);
    for (size_t i = 0; i < outline->count; i++) {
        const struct assist_outline_item *item = &outline->items[i];
        buffer_format(out, "%*s%s %s%s%s%s, lines %u-%u, ", (int)item->depth * 2, "", kinds[item->kind], item->name,
                      item->detail[0] ? " (" : "", item->detail, item->detail[0] ? ")" : "",
                      source_locate(source, item->span.start).line + 1, source_locate(source, item->span.end).line + 1);
        fixture_print_span(out, source, item->name_span);
    }
    assist_outline_free(outline);
}

static void print_symbols(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    struct assist_found found[ASSIST_SYMBOLS_MAX];
    size_t count = assist_find_symbols(&fixture->workspace, argument, strlen(argument), found);
    for (size_t i = 0; i < count; i++)
        buffer_format(out, "%s %s in %s\n", assist_kind_name(found[i].name->kind), found[i].name->text,
                      source_name(found[i].names->sources[0]));
}

static void print_folding(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    (void)argument;
    const struct source *source = fixture->focus->sources[0];
    struct assist_folds *folds = assist_folds(fixture->focus->assist);
    for (size_t i = 0; i < folds->count; i++) {
        size_t length;
        const char *line = source_line(source, folds->items[i].first_line, &length);
        buffer_format(out, "%u-%u%s: %.*s\n", folds->items[i].first_line + 1, folds->items[i].last_line + 1,
                      folds->items[i].comment ? " comment" : "", (int)length, line);
    }
    assist_folds_free(folds);
}

/* Prints a part of the text in one line. */
static void print_part(struct buffer *out, const struct source *source, struct span span) {
    for (uint32_t at = span.start; at < span.end; at++) {
        char letter = source_text(source)[at];
        if (letter == '\n')
            buffer_text(out, "⏎");
        else
            buffer_char(out, letter);
    }
}

static void print_selection(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    (void)argument;
    struct span spans[ASSIST_SELECTIONS_MAX];
    size_t count = assist_selection(fixture->focus->assist, fixture->cursor, spans);
    for (size_t i = 0; i < count; i++) {
        print_part(out, fixture->focus->sources[0], spans[i]);
        buffer_text(out, "\n");
    }
}

static void print_tokens(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    const struct source *source = fixture->focus->sources[0];
    struct span range = {0, UINT32_MAX};
    if (strcmp(argument, "range") == 0) range = (struct span){fixture->cursor, fixture->selection_end};
    struct assist_tokens *tokens = assist_tokens(fixture->focus, range);
    for (size_t i = 0; i < tokens->count; i++) {
        const struct assist_token *token = &tokens->items[i];
        buffer_format(out, "%u: ", source_locate(source, token->span.start).line + 1);
        print_part(out, source, token->span);
        buffer_format(out, " %s", assist_token_type_name(token->type));
        for (uint32_t bit = 0; bit < ASSIST_TOKEN_MODIFIER_COUNT; bit++)
            if (token->modifiers & (1u << bit)) buffer_format(out, " %s", assist_token_modifier_name(bit));
        buffer_text(out, "\n");
    }
    assist_tokens_free(tokens);
}

static void print_lenses(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    (void)argument;
    struct assist_lenses *lenses = assist_lenses(fixture->focus, &fixture->workspace);
    for (size_t i = 0; i < lenses->count; i++) {
        const struct assist_lens *lens = &lenses->items[i];
        if (lens->kind == ASSIST_LENS_RUN)
            buffer_text(out, lens->has_errors ? "run (errors): " : "run: ");
        else
            buffer_format(out, "%u references: ", lens->references);
        fixture_print_span(out, fixture->focus->sources[0], lens->span);
    }
    assist_lenses_free(lenses);
}

/* ---- Actions as text ---- */

static struct span selection_of(const struct assist_fixture *fixture) {
    return (struct span){fixture->cursor, fixture->selection_end};
}

/* The titles of all actions; "actions TITLE": the result of the first one whose title contains it. */
static void print_actions(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    struct assist_actions *actions = assist_actions(fixture->focus, selection_of(fixture), &fixture->workspace);
    for (size_t i = 0; i < actions->count; i++) {
        struct assist_action *action = &actions->items[i];
        assist_action_resolve(action, fixture->focus, selection_of(fixture));
        if (argument[0] == '\0') {
            buffer_format(out, "%s%s%s\n", action->title, action->edits->refusal ? "; refused: " : "",
                          action->edits->refusal ? action->edits->refusal : "");
        } else if (strstr(action->title, argument)) {
            print_edits(fixture, action->edits, out);
            action->edits = NULL;
            break;
        }
    }
    if (!out->length) buffer_text(out, "no actions");
    assist_actions_free(actions);
}

static void print_extract(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    (void)argument;
    print_edits(fixture, assist_extract(fixture->focus, selection_of(fixture)), out);
}

static void print_router(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    (void)argument;
    struct assist_edits *edits = assist_to_router(fixture->focus, fixture->cursor);
    if (edits)
        print_edits(fixture, edits, out);
    else
        buffer_text(out, "nothing");
}

static void print_conditions(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    (void)argument;
    struct assist_edits *edits = assist_to_conditions(fixture->focus, fixture->cursor);
    if (edits)
        print_edits(fixture, edits, out);
    else
        buffer_text(out, "nothing");
}

/* The conditional edge at the cursor becomes a router, and the router conditions: prints the text if it differs. */
static void print_mirror(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    struct assist_edits *edits = assist_to_router(fixture->focus, fixture->cursor);
    const struct source *source = fixture->focus->sources[0];
    struct buffer text, again;
    assert_non_null(edits);
    assert_null(edits->refusal);
    buffer_init(&text, SIZE_MAX);
    buffer_init(&again, SIZE_MAX);
    assist_edits_apply(edits, source, &text);
    assist_edits_free(edits);
    struct assist_names *after = fixture_read(fixture, source_name(source), buffer_cstr(&text), text.length);
    const struct assist_name *router = assist_names_definition(after, USE_NODE, argument, strlen(argument));
    assert_non_null(router);
    edits = assist_to_conditions(after, router->span.start);
    assert_non_null(edits);
    if (edits->refusal) fail_msg("%s", edits->refusal);
    assist_edits_apply(edits, after->sources[0], &again);
    bool same = strcmp(buffer_cstr(&again), source_text(source)) == 0;
    buffer_text(out, same ? "the same" : buffer_cstr(&again));
    assist_edits_free(edits);
    assist_names_free(after);
    buffer_finish(&text);
    buffer_finish(&again);
}

static void print_calls(struct assist_fixture *fixture, const char *argument, struct buffer *out) {
    struct assist_call_item item;
    const struct source *source = fixture->focus->sources[0];
    enum assist_calls_direction direction =
        strcmp(argument, "incoming") == 0 ? ASSIST_CALLS_INCOMING : ASSIST_CALLS_OUTGOING;
    if (!assist_calls_prepare(fixture->focus, fixture->cursor, &item)) {
        buffer_text(out, "nothing");
        return;
    }
    struct assist_calls *calls = assist_calls(fixture->focus, &item, direction);
    for (size_t i = 0; i < calls->count; i++) {
        const struct assist_call *call = &calls->items[i];
        buffer_format(out, "%s%s%s%s\n", call->item.name, call->edge ? " by an edge" : "",
                      call->channels[0] ? " by " : "", call->channels);
        for (size_t k = 0; k < call->range_count; k++) {
            buffer_text(out, "  ");
            fixture_print_span(out, source, call->ranges[k]);
        }
    }
    assist_calls_free(calls);
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
    {"prepare", print_prepare},
    {"rename", print_rename},
    {"rename-role", print_rename_role},
    {"move", print_move},
    {"outline", print_outline},
    {"symbols", print_symbols},
    {"folding", print_folding},
    {"selection", print_selection},
    {"tokens", print_tokens},
    {"lenses", print_lenses},
    {"actions", print_actions},
    {"extract", print_extract},
    {"router", print_router},
    {"conditions", print_conditions},
    {"mirror", print_mirror},
    {"calls", print_calls},
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

static void test_rename(void **state) {
    (void)state;
    run_file("tests/corpus/assist-names/rename.txt");
}

static void test_structure(void **state) {
    (void)state;
    run_file("tests/corpus/assist-names/structure.txt");
}

static void test_actions(void **state) {
    (void)state;
    run_file("tests/corpus/assist-names/action.txt");
    run_file("tests/corpus/assist-names/extract.txt");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_rename),
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_actions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
