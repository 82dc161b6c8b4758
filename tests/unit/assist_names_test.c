/*
 * assist_names_test.c - names, definitions, references and edits of names, from tests/corpus/assist-names.
 *
 * The form of a case is in assist_names_fixture.h. Run with TENON_CORPUS_UPDATE=1 to write the expected sections again.
 */
#include "adl/assist/action.h"
#include "adl/assist/calls.h"
#include "adl/assist/lens.h"
#include "adl/assist/outline.h"
#include "adl/assist/rename.h"
#include "adl/assist/tokens.h"
#include "adl/value/memory.h"
#include "tests/unit/assist_names_fixture.h"

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

/* ---- Properties, for the samples ---- */

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
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct assist_fixture fixture;
        size_t length;
        char *text = corpus_load(files.gl_pathv[i], &length);
        fixture_init(&fixture);
        if (manifests) fixture_use_manifests(&fixture);
        fixture.fake.folder = "/";
        struct assist_names *names = fixture_read(&fixture, files.gl_pathv[i], text, length);
        check(&fixture, names);
        assist_names_free(names);
        fixture_close(&fixture);
        free(text);
    }
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
    for (uint32_t end = 0; end < length; end += 61) {
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),          cmocka_unit_test(test_rename),
        cmocka_unit_test(test_structure),      cmocka_unit_test(test_actions),
        cmocka_unit_test(test_rename_samples), cmocka_unit_test(test_extract_samples),
        cmocka_unit_test(test_every_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
