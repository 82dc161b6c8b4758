/*
 * assist_rename_test.c - renames of the symbols of whole workspaces to random names, and back: from each definition,
 * and from some of the other places.
 *
 * The workspaces are the folders of samples/, and one that names each other's channels, roles of the configuration,
 * a prompt in a file, and anchors. Each symbol gets a fresh name: all documents must have the same diagnostics then,
 * and the same texts after the rename back.
 */
#include "adl/assist/rename.h"
#include "adl/value/memory.h"
#include "tests/unit/assist_fixture.h"

#define SEED      0x7e0a0u
#define TEXTS_MAX FIXTURE_DOCUMENTS_MAX

static uint32_t random_state = SEED;
static size_t renamed, refused, restored; /* `restored`: renames back that must return the same texts */
static size_t across;                     /* renames that change several files */

static uint32_t next_random(uint32_t below) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % below;
}

/* A name that no document has: the kind decides which characters can be in it. */
static void random_name(enum use_kind kind, char out[64]) {
    static const char simple[] = "abcxyzABCXYZ_0189-";
    static const char *const other[] = {"é", " ", ".", "/", "ß", "漢", "🙂"};
    size_t count = 2 + next_random(12), length = 0;
    out[length++] = 'q'; /* no YAML word and no number */
    for (size_t i = 0; i < count; i++) {
        if (kind != USE_ANCHOR && i + 1 < count && next_random(6) == 0) {
            const char *text = other[next_random(sizeof other / sizeof *other)];
            memcpy(out + length, text, strlen(text));
            length += strlen(text);
        } else {
            out[length++] = simple[next_random(sizeof simple - 1)];
        }
    }
    out[length] = '\0';
}

/* ---- Texts ---- */

/* The text of each file that an edit changes. */
struct changed_texts {
    char *paths[TEXTS_MAX], *texts[TEXTS_MAX];
    size_t count;
};

static const char *text_of_path(const struct changed_texts *changed, const char *path) {
    for (size_t i = 0; i < changed->count; i++)
        if (strcmp(changed->paths[i], path) == 0) return changed->texts[i];
    return NULL;
}

static void apply_all(const struct assist_edits *edits, struct changed_texts *changed) {
    changed->count = 0;
    for (size_t i = 0; i < edits->count; i++) {
        const struct source *source = edits->items[i].source;
        if (text_of_path(changed, source_name(source))) continue;
        struct buffer out;
        buffer_init(&out, SIZE_MAX);
        assist_edits_apply(edits, source, &out);
        assert_true(changed->count < TEXTS_MAX);
        changed->paths[changed->count] = mem_text(source_name(source));
        changed->texts[changed->count++] = mem_text(buffer_cstr(&out));
        buffer_finish(&out);
    }
}

static void changed_finish(struct changed_texts *changed) {
    for (size_t i = 0; i < changed->count; i++) {
        mem_free(changed->paths[i]);
        mem_free(changed->texts[i]);
    }
}

/* ---- One rename ---- */

/* The workspace with some changed files. The fixture serves these files while `later` is used. */
struct later {
    struct assist_fixture *fixture;
    struct assist_names *names[FIXTURE_DOCUMENTS_MAX];
    struct assist_workspace workspace;
    struct tree *config, *config_before;
    struct fake_catalog files; /* those of the fixture before */
};

static void later_init(struct later *later, struct assist_fixture *fixture, const struct changed_texts *changed) {
    *later = (struct later){.fixture = fixture, .config_before = fixture->config, .files = fixture->fake};
    fixture->fake.file_count = 0; /* the changed files are found first */
    for (size_t i = 0; i < changed->count; i++) fake_catalog_file(&fixture->fake, changed->paths[i], changed->texts[i]);
    for (size_t i = 0; i < later->files.file_count; i++)
        fake_catalog_file(&fixture->fake, later->files.files[i].path, value_chars(later->files.files[i].text, NULL));
    const char *config = fixture->config ? source_name(tree_source(fixture->config)) : NULL;
    const char *config_text = config ? text_of_path(changed, config) : NULL;
    if (config_text) {
        fixture_set_config(fixture, config_text, strlen(config_text));
        later->config = fixture->config;
    }
    for (size_t i = 0; i < fixture->count; i++) {
        const struct source *source = fixture->names[i]->sources[0];
        const char *text = text_of_path(changed, source_name(source));
        if (!text) text = source_text(source);
        later->names[i] = fixture_read(fixture, source_name(source), text, strlen(text));
    }
    later->workspace =
        (struct assist_workspace){(const struct assist_names *const *)later->names, fixture->count, fixture->config};
}

static void later_finish(struct later *later) {
    struct assist_fixture *fixture = later->fixture;
    for (size_t i = 0; i < fixture->count; i++) assist_names_free(later->names[i]);
    fake_catalog_clear_files(&fixture->fake);
    fixture->fake = later->files;
    tree_free(later->config);
    fixture->config = later->config_before;
    fixture->workspace.config = fixture->config;
}

static void expect_same_codes(const struct assist_names *before, const struct assist_names *after) {
    const struct diagnostics *a = before->assist->found, *b = after->assist->found;
    const char *path = source_name(before->sources[0]);
    if (diagnostics_count(a) != diagnostics_count(b))
        fail_msg("%s: %zu diagnostics became %zu", path, diagnostics_count(a), diagnostics_count(b));
    for (size_t i = 0; i < diagnostics_count(a); i++)
        if (diagnostics_at(a, i)->code != diagnostics_at(b, i)->code)
            fail_msg("%s: `%s` became `%s`", path, diagnostics_at(a, i)->message, diagnostics_at(b, i)->message);
}

/* The rename back must restore every file that the rename has changed, and change no other. */
static void expect_restored(const struct changed_texts *changed, const struct assist_edits *back,
                            const struct assist_edits *edits) {
    struct changed_texts after;
    apply_all(back, &after);
    assert_int_equal(after.count, changed->count);
    for (size_t i = 0; i < edits->count; i++) {
        const struct source *source = edits->items[i].source;
        const char *text = text_of_path(&after, source_name(source));
        assert_non_null(text);
        assert_string_equal(text, source_text(source));
    }
    changed_finish(&after);
}

static const struct assist_name *name_at_again(const struct assist_names *after, const struct assist_name *name,
                                               const char *text) {
    size_t count;
    const uint32_t *with = assist_names_with(after, text, strlen(text), &count);
    for (size_t i = 0; i < count; i++)
        if (after->items[with[i]].kind == name->kind && after->items[with[i]].file == 0) return &after->items[with[i]];
    fail_msg("%s: `%s` is not there after the rename", source_name(after->sources[0]), text);
    return NULL;
}

/* A default that only a schema contains is written into the config by a rename, and stays there. */
static bool has_place(const struct assist_fixture *fixture, const struct assist_name *name) {
    for (size_t i = 0; i < fixture->count; i++) {
        size_t count;
        const uint32_t *with = assist_names_with(fixture->names[i], name->text, name->length, &count);
        for (size_t k = 0; k < count; k++)
            if (fixture->names[i]->items[with[k]].form >= USE_DEFAULT) return false;
    }
    return true;
}

/* A bare name in a template becomes state.`name` if it is not an identifier, and `state.name` with the rename back. */
static bool keeps_form(const struct assist_fixture *fixture, const struct assist_name *name, const char *text) {
    if (assist_is_identifier(text, strlen(text))) return true;
    for (size_t i = 0; i < fixture->count; i++) {
        size_t count;
        const uint32_t *with = assist_names_with(fixture->names[i], name->text, name->length, &count);
        for (size_t k = 0; k < count; k++) {
            if (fixture->names[i]->items[with[k]].form == USE_BARE) return false;
        }
    }
    return true;
}

static void rename_once(struct assist_fixture *fixture, size_t document, const struct assist_name *name) {
    char text[64];
    struct changed_texts changed;
    struct later later;
    random_name(name->kind, text);
    struct assist_edits *edits =
        assist_rename(fixture->names[document], name->span.start, text, strlen(text), &fixture->workspace);
    renamed++;
    if (edits->refusal) {
        refused++;
        if (!strstr(edits->refusal, "cannot be read") && !strstr(edits->refusal, "whole state") &&
            !strstr(edits->refusal, "in an expression"))
            fail_msg("%s: `%s` to `%s`: %s", source_name(fixture->names[document]->sources[0]), name->text, text,
                     edits->refusal);
        assist_edits_free(edits);
        return;
    }
    bool restores = has_place(fixture, name) && keeps_form(fixture, name, text) &&
                    assist_plain_safe(name->text, name->length) && assist_plain_safe(text, strlen(text));
    apply_all(edits, &changed);
    across += changed.count > 1;
    later_init(&later, fixture, &changed);
    for (size_t i = 0; i < fixture->count; i++) expect_same_codes(fixture->names[i], later.names[i]);
    const struct assist_name *again = name_at_again(later.names[document], name, text);
    struct assist_edits *back =
        assist_rename(later.names[document], again->span.start, name->text, name->length, &later.workspace);
    if (back->refusal) fail_msg("`%s` back to `%s`: %s", text, name->text, back->refusal);
    restored += restores;
    if (restores) expect_restored(&changed, back, edits);
    assist_edits_free(back);
    assist_edits_free(edits);
    later_finish(&later);
    changed_finish(&changed);
}

static void rename_workspace(struct assist_fixture *fixture) {
    for (size_t i = 0; i < fixture->count; i++) {
        const struct assist_names *names = fixture->names[i];
        for (size_t k = 0; k < names->own_count; k++) {
            enum use_kind kind = names->items[k].kind;
            bool symbol = kind == USE_NODE || kind == USE_CHANNEL || kind == USE_ITEM || kind == USE_ROLE ||
                          kind == USE_ANCHOR || kind == USE_INNER_CHANNEL;
            if (symbol && (next_random(3) == 0 || (names->items[k].access & USE_DEFINES)))
                rename_once(fixture, i, &names->items[k]);
        }
    }
}

/* ---- The workspaces ---- */

static void add_disk(struct assist_fixture *fixture, const char *path) {
    size_t length;
    char *text = corpus_load(path, &length);
    if (strcmp(strrchr(path, '/'), "/tenon.yaml") == 0)
        fixture_set_config(fixture, text, length);
    else
        fixture_add(fixture, path, text, length);
    free(text);
}

static void test_samples(void **state) {
    glob_t folders, files;
    (void)state;
    if (glob(TENON_SOURCE_DIR "/samples/*/", 0, NULL, &folders) != 0) fail_msg("no samples");
    struct assist_fixture all;
    fixture_init(&all);
    fixture_use_manifests(&all);
    for (size_t i = 0; i < folders.gl_pathc; i++) {
        char pattern[4096];
        snprintf(pattern, sizeof pattern, "%s*.yaml", folders.gl_pathv[i]);
        if (glob(pattern, 0, NULL, &files) != 0) continue;
        all.fake.folder = "/";
        all.config = NULL;
        all.workspace = (struct assist_workspace){0};
        all.count = 0;
        for (size_t k = files.gl_pathc; k-- > 0;) add_disk(&all, files.gl_pathv[k]); /* tenon.yaml before the others */
        rename_workspace(&all);
        for (size_t k = 0; k < all.count; k++) assist_names_free(all.names[k]);
        tree_free(all.config);
        globfree(&files);
    }
    all.count = 0;
    all.config = NULL;
    fixture_close(&all);
    globfree(&folders);
    assert_true(renamed > 100);
    assert_true(refused * 4 < renamed);
    assert_true(restored * 2 > renamed);
}

static const char *const texts[][2] = {
    {"tenon.yaml", "models: {fast: openai:gpt-4o, default: openai:gpt-4o}\n"},
    {"prompt.md", "About {topic}: {state.notes} {for n in notes}{n}{end}\n"},
    {"outer.yaml",
     "version: \"1.0\"\n"
     "agent: {name: outer}\n"
     "channels:\n"
     "  - &keep {name: topic, type: last_value}\n"
     "  - {name: notes, type: append}\n"
     "  - {name: items, type: last_value, default: []}\n"
     "nodes:\n"
     "  - id: research\n"
     "    type: subgraph\n"
     "    config: {document: inner.yaml, input: {topic: query}, output: {found: notes}}\n"
     "    retry: &tries {max_attempts: 3}\n"
     "    on_error: {to: write}\n"
     "  - {id: write, type: llm, config: {model: fast, prompt: {file: prompt.md}, output_key: topic}, retry: "
     "*tries}\n"
     "  - {id: each, type: llm, config: {prompt: \"{state.item_of} {topic}\", output_key: topic}}\n"
     "edges:\n"
     "  - {from: START, to: research}\n"
     "  - from: research\n"
     "    type: conditional\n"
     "    conditions:\n"
     "      - {expression: 'state.topic == \"x\" && state[\"notes\"].size() > 1', to: write}\n"
     "      - {expression: default, to: END}\n"
     "  - {from: write, type: map, over: state.items, as: item_of, to: each, empty: END}\n"
     "  - {from: each, to: END}\n"},
    {"inner.yaml", "version: \"1.0\"\n"
                   "agent: {name: inner}\n"
                   "models: {own: openai:gpt-4o}\n"
                   "channels:\n"
                   "  - {name: query, type: last_value}\n"
                   "  - {name: found, type: append}\n"
                   "nodes:\n"
                   "  - {id: look, type: llm, config: {model: own, prompt: \"{query}\", output_key: found}}\n"
                   "edges: [{from: START, to: look}, {from: look, to: END}]\n"},
    {"third.json", "{\"version\": \"1.0\", \"agent\": {\"name\": \"third\"},\n"
                   " \"channels\": [{\"name\": \"topic\", \"type\": \"last_value\"}],\n"
                   " \"nodes\": [{\"id\": \"a\", \"type\": \"subgraph\", \"config\": {\"document\": \"inner.yaml\", "
                   "\"input\": {\"topic\": \"query\"}}}],\n"
                   " \"edges\": [{\"from\": \"START\", \"to\": \"a\"}, {\"from\": \"a\", \"to\": \"END\"}]}\n"},
};

static void test_workspace(void **state) {
    struct assist_fixture fixture;
    (void)state;
    fixture_init(&fixture);
    fixture_use_manifests(&fixture);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        fake_catalog_file(&fixture.fake, texts[i][0], texts[i][1]);
    fixture_set_config(&fixture, texts[0][1], strlen(texts[0][1]));
    for (size_t i = 2; i < sizeof texts / sizeof *texts; i++)
        fixture_add(&fixture, texts[i][0], texts[i][1], strlen(texts[i][1]));
    for (size_t i = 0; i < fixture.count; i++)
        if (diagnostics_errors(fixture.names[i]->assist->found))
            fail_msg("%s: %s", texts[i + 2][0], diagnostics_at(fixture.names[i]->assist->found, 0)->message);
    renamed = restored = across = 0;
    for (size_t round = 0; round < 5; round++) rename_workspace(&fixture);
    assert_true(renamed >= 5 * 17);
    assert_true(across >= 10);
    assert_true(restored * 2 > renamed);
    fixture_close(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_samples), cmocka_unit_test(test_workspace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
