/*
 * assist_typing_test.c - samples that are typed character by character, and documents with mistakes: completion, hover
 * and signature help answer at every place, and completion is not silent where it must not be.
 *
 * Places where it must offer something, at each prefix of a sample:
 *
 *     type:_       in `nodes`      every node type            from:_      in `edges`      START
 *     type:_       in `channels`   the four types             to:_        in `edges`      END
 *     state.       anywhere        the channels               a new line at the start     the keys that are missing
 */
#include "adl/assist/complete.h"
#include "adl/assist/hover.h"
#include "adl/assist/inlay.h"
#include "adl/assist/link.h"
#include "adl/assist/signature.h"
#include "tests/unit/complete_fixture.h"

static struct assist_world world = {
    .each_role = fixture_each_role, .each_file = fixture_each_file, .each_document = fixture_each_document};
static struct manifest_catalog *manifests;

static const struct {
    const char *path;
    size_t stride; /* of the prefixes */
} samples[] = {
    {"samples/from-langgraph/review.yaml", 1}, {"samples/triage/triage.yaml", 7},
    {"samples/first-agent/agent.yaml", 2},     {"samples/triage/mail.yaml", 17},
    {"samples/agent/agent.yaml", 11},          {"samples/from-langgraph/react.yaml", 11},
    {"samples/hello/hello.yaml", 1},           {"samples/provider/agent.yaml", 11},
};

static uint32_t count_kind(const struct assist_completions *list, enum completion_kind kind) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++) count += list->items[i].kind == kind;
    return count;
}

static bool has_label(const struct assist_completions *list, const char *label) {
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].label, label) == 0) return true;
    return false;
}

static bool ends_with(const char *text, size_t length, const char *end) {
    size_t size = strlen(end);
    return length >= size && memcmp(text + length - size, end, size) == 0;
}

/* The name of the section that the last line belongs to. */
static void section_of(const char *text, size_t length, char out[64]) {
    out[0] = '\0';
    for (size_t at = 0; at < length;) {
        size_t end = at;
        while (end < length && text[end] != '\n') end++;
        size_t key = at;
        while (key < end && text[key] >= 'a' && text[key] <= 'z') key++;
        if (key > at && key < end && text[key] == ':' && key - at < 60)
            snprintf(out, 64, "%.*s", (int)(key - at), text + at);
        at = end + 1;
    }
}

static uint32_t node_types(void) {
    uint32_t count = 0;
    for (size_t i = 0; i < manifests->count; i++) count += strcmp(manifests->components[i].kind, "node") == 0;
    return count;
}

/* True if the end of the text is in a comment, a text in quotes or a block scalar of the line. */
static bool in_prose(const char *text, size_t length) {
    size_t line = length, quotes = 0;
    while (line > 0 && text[line - 1] != '\n') line--;
    for (size_t i = line; i < length; i++) {
        if (text[i] == '#') return true;
        quotes += text[i] == '"' || text[i] == '\'';
    }
    return quotes % 2 == 1;
}

static void check_not_silent(const char *path, const char *text, size_t length, const struct assist_completions *list) {
    char section[64];
    bool fine = true;
    section_of(text, length, section);
    bool nodes = strcmp(section, "nodes") == 0, edges = strcmp(section, "edges") == 0;
    if (in_prose(text, length)) return;
    if (nodes && ends_with(text, length, "type: ")) /* or a type of a JSON Schema */
        fine &= count_kind(list, COMPLETION_NODE_TYPE) == node_types() || has_label(list, "integer");
    if (strcmp(section, "channels") == 0 && ends_with(text, length, "type: ")) fine &= has_label(list, "ephemeral");
    if (edges && ends_with(text, length, "from: ")) fine &= has_label(list, "START");
    if (edges && ends_with(text, length, " to: ")) fine &= has_label(list, "END");
    if (ends_with(text, length, "state.")) fine &= count_kind(list, COMPLETION_CHANNEL) > 0;
    if (length > 0 && text[length - 1] == '\n') fine &= edges || has_label(list, "edges");
    if (!fine) fail_msg("%s: silent behind: …%s", path, text + (length > 100 ? length - 100 : 0));
}

static void ask_everything(const struct assist *assist, uint32_t offset) {
    struct assist_completions *list = assist_complete(assist, offset);
    fixture_check_list(list, assist, offset);
    assist_completions_free(list);
    struct assist_hover *hover = assist_hover(assist, offset);
    if (hover) assert_true(hover->span.start <= offset && offset <= hover->span.end && *hover->markdown);
    if (hover) assert_true(hover->span.end <= source_length(assist->source));
    assist_hover_free(hover);
    assist_signature_free(assist_signature(assist, offset));
}

static void ask_for_document(const struct assist *assist) {
    size_t length = source_length(assist->source);
    struct assist_hints *hints = assist_hints(assist, (struct span){0, (uint32_t)length});
    struct assist_links *links = assist_links(assist);
    for (uint32_t i = 0; i < hints->count; i++) assert_true(hints->items[i].at <= length);
    for (uint32_t i = 0; i < links->count; i++) assert_true(links->items[i].span.end <= length);
    assist_hints_free(hints);
    assist_links_free(links);
}

/* Types the sample: each version follows the one before it, as in an editor. */
static void samples_are_typed(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char path[4096];
        size_t length;
        corpus_path(samples[i].path, path, sizeof path);
        char *text = corpus_load(path, &length);
        struct assist *before = NULL;
        for (size_t end = 0; end <= length; end += samples[i].stride) {
            char *prefix = mem_text_n(text, end);
            struct assist *assist = assist_of_text(&world, samples[i].path, prefix, end, before);
            struct assist_completions *list = assist_complete(assist, (uint32_t)end);
            fixture_check_list(list, assist, (uint32_t)end);
            check_not_silent(samples[i].path, prefix, end, list);
            assist_completions_free(list);
            assist_hover_free(assist_hover(assist, (uint32_t)end));
            assist_unref(before);
            before = assist;
            mem_free(prefix);
        }
        struct assist *assist = assist_of_text(&world, samples[i].path, text, length, before);
        for (size_t offset = 0; offset <= length; offset += 2 * samples[i].stride)
            ask_everything(assist, (uint32_t)offset);
        ask_for_document(assist);
        assist_unref(assist);
        assist_unref(before);
        free(text);
    }
}

static void ask_file(const char *path, const char *name, size_t stride) {
    size_t length;
    char *text = corpus_load(path, &length);
    struct assist *assist = assist_of_text(&world, name, text, length, NULL);
    for (size_t offset = 0; offset <= length && offset < 4000; offset += stride)
        ask_everything(assist, (uint32_t)offset);
    ask_for_document(assist);
    assist_unref(assist);
    free(text);
}

static void mistakes_are_answered(void **state) {
    char folder[2048], path[8192];
    size_t count = 0;
    (void)state;
    corpus_path("tests/corpus/diagnostics", folder, sizeof folder);
    DIR *files = opendir(folder);
    assert_non_null(files);
    for (const struct dirent *file; (file = readdir(files));) {
        size_t length = strlen(file->d_name);
        bool document = ends_with(file->d_name, length, ".yaml") || ends_with(file->d_name, length, ".json");
        if (!document) continue;
        snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
        ask_file(path, file->d_name, 37);
        count++;
    }
    closedir(files);
    assert_true(count > 50);
}

/* Texts that are hard on a reader that looks at lines. */
static void strange_texts_are_answered(void **state) {
    static const char *const texts[] = {
        "",
        "\n",
        "\r\n",
        "-",
        "- ",
        "- - - - - - - - - - - - - -",
        ":",
        ": ",
        "a:",
        "a: |",
        "a: |\n",
        "a: >-\n\n\n",
        "a: \"",
        "a: '",
        "{",
        "[",
        "}",
        "]",
        "{[{[{[",
        "{a: b",
        "a: {b: [c, {d: ",
        "a: [\n- b\n",
        "\"",
        "\"\\",
        "a: \"\\u",
        "a: \"\\uD8",
        "a: '''",
        "nodes:\n\t- id: a\n\t  ty",
        "&",
        "&a",
        "&a ",
        "*",
        "*a",
        "? a\n: b",
        "<<: *a",
        "# comment",
        "a: # c",
        "%YAML 1.2\n---\na: b\n...\n",
        "<<<<<<< HEAD\na: b\n=======\na: c\n>>>>>>> x\n",
        "\xef\xbb\xbfnodes:\n  - id: a\n",
        "a: \xff\xfe\nb: \xc3",
        "nodes:\n- id: a\n-\n- ",
        "edges:\n  - from: a\n    type: conditional\n    conditions:\n      - expression: \"state.a[\" \n",
        "edges:\n  - {over: 'state.x.map(a, b, c, d.e.f['}\n",
        "nodes:\n  - id: a\n    type: llm\n    config:\n      prompt: \"{for x in {if }{end}{end}{{{\"\n",
        "nodes:\n  - id: a\n    type: set\n    config:\n      values: {a: \"b.c(d(e(f(g[h{i\"}\n",
        "models:\n  a:\n    - b\n    - c: d\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int json = 0; json < 2; json++) {
            size_t length = strlen(texts[i]);
            struct assist *assist = assist_of_text(&world, json ? "a.json" : "a.yaml", texts[i], length, NULL);
            for (uint32_t offset = 0; offset <= length + 1; offset++)
                if (offset <= length) ask_everything(assist, offset);
            assist_completions_free(assist_complete(assist, UINT32_MAX));
            ask_for_document(assist);
            assist_unref(assist);
        }
}

/* Without a host: what the language itself knows is offered. */
static void no_world_is_needed(void **state) {
    static const struct assist_world nothing;
    static const char text[] =
        "requires: [a]\ntools: [\"x*\"]\nmodels: {a: b}\nchannels:\n  - {name: a, type: append}\n"
        "nodes:\n  - {id: a, type: llm, config: {prompt: {file: b}, values: {a: state.a}}}\n"
        "edges:\n  - {from: START, to: a}\n";
    (void)state;
    struct assist *assist = assist_of_text(&nothing, "a.yaml", text, strlen(text), NULL);
    for (uint32_t offset = 0; offset < sizeof text; offset++) ask_everything(assist, offset);
    ask_for_document(assist);
    struct assist_completions *list = assist_complete(assist, (uint32_t)(strstr(text, "START") - text));
    assert_true(has_label(list, "a"));
    assist_completions_free(list);
    assist_unref(assist);
}

/* A path that is too deep is nowhere; a long list is cut. */
static void limits_hold(void **state) {
    struct buffer text;
    (void)state;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "a: ");
    for (int i = 0; i < 100; i++) buffer_text(&text, "{b: ");
    struct assist *assist = assist_of_text(&world, "a.yaml", text.data, text.length, NULL);
    struct assist_completions *list = assist_complete(assist, (uint32_t)text.length);
    assert_int_equal(list->count, 0);
    assist_completions_free(list);
    assist_unref(assist);
    buffer_clear(&text);
    buffer_text(&text, "version: \"1.0\"\nnodes:\n");
    for (int i = 0; i < 1100; i++) buffer_format(&text, "  - {id: n%d, type: passthrough}\n", i);
    buffer_text(&text, "edges:\n  - {from: START, to: n}\n");
    assist = assist_of_text(&world, "a.yaml", text.data, text.length, NULL);
    list = assist_complete(assist, (uint32_t)text.length - 2);
    assert_int_equal(list->count, COMPLETE_ITEMS_MAX);
    assert_true(list->incomplete);
    assist_completions_free(list);
    assist_unref(assist);
    buffer_finish(&text);
}

int main(void) {
    manifests = manifest_catalog_new("tests/corpus/assist/acme.json");
    world.catalog = &manifests->catalog;
    const struct CMUnitTest tests[] = {cmocka_unit_test(samples_are_typed), cmocka_unit_test(mistakes_are_answered),
                                       cmocka_unit_test(strange_texts_are_answered),
                                       cmocka_unit_test(no_world_is_needed), cmocka_unit_test(limits_hold)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    manifest_catalog_free(manifests);
    return failed;
}
