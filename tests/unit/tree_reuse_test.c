/*
 * tree_reuse_test.c - a tree that is read from the tree of an earlier version is the tree of the whole text.
 *
 * The samples and the corpora are edited at random places with the characters that have a meaning in YAML; each version
 * is read from the one before it and by itself. Trees, places, diagnostics and limits must be the same.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/tree/tree.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "corpus.h"
#include <glob.h>

struct reading {
    struct source *source;
    struct diagnostics *found;
    struct tree *tree;
};

static struct reading read_next(const char *text, size_t length, const struct tree *before,
                                const struct tree_limits *limits) {
    struct reading reading = {source_new("reuse.yaml", text, length), diagnostics_new(), NULL};
    reading.tree = tree_read_next(reading.source, before, limits, reading.found);
    return reading;
}

static void reading_finish(struct reading *reading) {
    tree_free(reading->tree);
    diagnostics_free(reading->found);
    source_unref(reading->source);
}

/* ---- Comparing ---- */

static bool same_span(struct span a, struct span b) { return a.start == b.start && a.end == b.end; }

static bool same_node(const struct tree_node *a, const struct tree_node *b) {
    if (a->kind != b->kind || a->style != b->style || a->incomplete != b->incomplete || a->count != b->count ||
        !same_span(a->span, b->span))
        return false;
    if (a->kind != TN_ARRAY && a->kind != TN_OBJECT) return value_equal(a->value, b->value);
    for (uint32_t i = 0; i < a->count; i++) {
        const struct tree_item *left = &a->items[i], *right = &b->items[i];
        if (!left->key != !right->key || !same_span(left->key_span, right->key_span)) return false;
        if (left->key && !value_equal(left->key, right->key)) return false;
        if (!same_node(left->node, right->node)) return false;
    }
    return true;
}

static bool same_reading(const struct reading *a, const struct reading *b) {
    if (tree_is_whole(a->tree) != tree_is_whole(b->tree) ||
        diagnostics_count(a->found) != diagnostics_count(b->found) ||
        !same_node(tree_root(a->tree), tree_root(b->tree)))
        return false;
    for (size_t i = 0; i < diagnostics_count(a->found); i++) {
        const struct diagnostic *left = diagnostics_at(a->found, i), *right = diagnostics_at(b->found, i);
        if (left->code != right->code || !same_span(left->span, right->span) ||
            strcmp(left->message, right->message) != 0)
            return false;
    }
    return true;
}

/* True if the two trees have the same string object somewhere at the end: that part was copied. */
static bool shares_a_value(const struct tree_node *a, const struct tree_node *b) {
    if (a->kind != b->kind) return false;
    if (a->kind != TN_ARRAY && a->kind != TN_OBJECT) return a->value == b->value && value_kind(a->value) == TN_STRING;
    for (uint32_t i = 1; i <= a->count && i <= b->count; i++)
        if (shares_a_value(a->items[a->count - i].node, b->items[b->count - i].node)) return true;
    return false;
}

/* ---- Editing ---- */

static uint32_t random_state;

static uint32_t random_below(uint32_t limit) {
    random_state = random_state * 1664525u + 1013904223u;
    return limit ? (random_state >> 8) % limit : 0;
}

static const char *const pieces[] = {
    "x",         " ",
    "\n",        "-",
    ":",         "\"",
    "'",         "{",
    "}",         "[",
    "]",         ",",
    "#",         "&a ",
    "*a",        "|\n",
    ">-\n",      "? ",
    "- ",        "\n- ",
    "\n  - ",    "\n  - id: b\n",
    ": ",        "\n---\n",
    "...\n",     "%",
    "!!str ",    "<<: ",
    "\t",        "\r",
    "\r\n",      "\xc3\xa9",
    "null",      "0x1F",
    "\n  ",      "\nkey: 1\n",
    "\n\n",      "\n#c\n",
    "|+\n\n",    "1e999",
    "id: 1\n",   "- a\n",
    "  - ? a\n", "\xef\xbb\xbf",
};

/* One to three places change: something is removed, and something is added. */
static void edit(struct buffer *text) {
    for (uint32_t edits = 1 + random_below(8) / 7; edits > 0; edits--) {
        uint32_t at = random_below((uint32_t)text->length + 1), rest = (uint32_t)text->length - at;
        uint32_t removed = random_below(4) ? 0 : random_below(rest < 12 ? rest + 1 : 12);
        const char *added = random_below(5) ? pieces[random_below(sizeof pieces / sizeof *pieces)] : "";
        struct buffer next;
        buffer_init(&next, SIZE_MAX);
        buffer_append(&next, text->data, at);
        buffer_text(&next, added);
        buffer_append(&next, text->data + at + removed, rest - removed);
        buffer_finish(text);
        *text = next;
    }
}

static size_t compared, reused;

static void check_edits(const char *path, const char *start, size_t length, uint32_t seed, uint32_t count,
                        const struct tree_limits *limits) {
    random_state = seed;
    for (uint32_t i = 0; i < count; i++) {
        struct buffer text;
        buffer_init(&text, SIZE_MAX);
        buffer_append(&text, start, length);
        struct reading before = read_next(text.data, text.length, NULL, limits);
        for (int version = 0; version < 4; version++) {
            edit(&text);
            struct reading next = read_next(text.data, text.length, before.tree, limits);
            struct reading whole = read_next(text.data, text.length, NULL, limits);
            if (!same_reading(&next, &whole))
                fail_msg("%s, seed %u, document %u, version %d: the trees differ for:\n%s\n--- from:\n%s", path, seed,
                         i, version, buffer_cstr(&text), source_text(before.source));
            compared++;
            reused += shares_a_value(tree_root(next.tree), tree_root(before.tree));
            reading_finish(&whole);
            bool newer = tree_is_whole(next.tree) || random_below(2); /* else the version before that one is kept */
            reading_finish(newer ? &before : &next);
            if (newer) before = next;
        }
        reading_finish(&before);
        buffer_finish(&text);
    }
}

static void check_files(const char *pattern, uint32_t count) {
    glob_t files;
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        size_t length;
        char *text = corpus_load(files.gl_pathv[i], &length);
        check_edits(files.gl_pathv[i], text, length, (uint32_t)i + 1, length > 20000 ? count / 10 : count, NULL);
        free(text);
    }
    globfree(&files);
}

static void test_random_edits(void **state) {
    (void)state;
    compared = reused = 0;
    check_files(TENON_SOURCE_DIR "/samples/*/*.yaml", 15);
    check_files(TENON_SOURCE_DIR "/tests/corpus/documents/*.yaml", 15);
    check_files(TENON_SOURCE_DIR "/tests/corpus/diagnostics/*.yaml", 2);
    assert_true(compared > 2000);
    assert_true(reused > compared / 20); /* otherwise nothing was tested */
}

/* Lists that end in unusual ways, and text that has an effect below it. */
static void test_random_edits_of_small_texts(void **state) {
    (void)state;
    static const char *const texts[] = {
        "a:\n- b\n- c\n",
        "a:\n- b: 1\n  c: |\n    x\n\n- d",
        "a:\n  - b\n  - - c\n    - d\n  # end\nz: 1\n",
        "---\na:\n  - b: {c: [1, 2]}\n  -\n    d: 2\n  - e\nz:\n  - f\n  - g\n...\n",
        "\357\273\277a:\n  - \xc3\xa9: 'x'\n  - \"y\"\nz: [1]\n",
        "  a:\r\n    - b: >-\r\n        text\r\n    - c: 1\r\n  z: 1\r\n",
        "a:\n  - b: |+\n      t\n\n  - c:\n  - ? d\n  - e: 1\nz:\n",
    };
    compared = reused = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_edits("a small text", texts[i], strlen(texts[i]), (uint32_t)i, 250, NULL);
        const struct tree_limits small = {.items = 3, .nodes = 12, .depth = 4, .scalar = 8};
        check_edits("a small text with limits", texts[i], strlen(texts[i]), (uint32_t)i, 100, &small);
    }
    assert_true(reused > compared / 50);
}

static struct tree *tree_after(const char *before, const char *after, bool *shares) {
    struct reading old = read_next(before, strlen(before), NULL, NULL);
    struct reading next = read_next(after, strlen(after), old.tree, NULL);
    struct reading whole = read_next(after, strlen(after), NULL, NULL);
    assert_true(same_reading(&next, &whole));
    *shares = shares_a_value(tree_root(next.tree), tree_root(old.tree));
    reading_finish(&old);
    reading_finish(&whole);
    diagnostics_free(next.found);
    source_unref(next.source);
    return next.tree;
}

/* Items that are read again after a syntax error count once: the text has seven values with what is broken. */
static void test_values_read_again_count_once(void **state) {
    (void)state;
    static const char text[] = "a: [1,\n2]\nb: 1\nc: d: e\n";
    const struct tree_limits limits = {.nodes = 8};
    struct reading reading = read_next(text, strlen(text), NULL, &limits);
    assert_true(diagnostics_count(reading.found) > 0);
    for (size_t i = 0; i < diagnostics_count(reading.found); i++)
        assert_int_equal(diagnostics_at(reading.found, i)->code, ADL_E001);
    reading_finish(&reading);
}

static void expect_reuse(const char *before, const char *after, bool expected) {
    bool shares;
    struct tree *tree = tree_after(before, after, &shares);
    if (shares != expected)
        fail_msg("%s of the earlier tree was expected for:\n%s", expected ? "a part" : "no part", after);
    tree_free(tree);
}

static void test_what_is_reused(void **state) {
    (void)state;
    const char *before = "nodes:\n  - id: first node\n  - id: second node\nedges:\n  - from: the last string\n";
    expect_reuse(before, "nodes:\n  - id: first nod\n  - id: second node\nedges:\n  - from: the last string\n", true);
    expect_reuse(before, "nodes:\n  - id: first node\n  - id:\nedges:\n  - from: the last string\n", true);
    expect_reuse(before, "nodes:\n  - id: first node\n  - id: x\n  - id: y\nedges:\n  - from: the last string\n", true);
    expect_reuse(before, "nodes:\n  - id: first node\nedges:\n  - from: the last string\n", true);
    expect_reuse(before, "nodes:\n  - id: &a first nod\n  - id: second node\nedges:\n  - from: the last string\n",
                 false);
    expect_reuse(before, "nodes:\n  - id: 'first nod\n  - id: second node\nedges:\n  - from: the last string\n", true);
    expect_reuse(before, "nods:\n  - id: first node\n  - id: second node\nedges:\n  - from: the last string\n", true);
    expect_reuse(before, "edges:\n  - id: first node\n  - id: second node\nedges:\n  - from: the last string\n", false);
    expect_reuse(before, "xodes:\n  - id: first node\n  - id: second node\nedges:\n  - from: the last string\n", false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_edits),
        cmocka_unit_test(test_random_edits_of_small_texts),
        cmocka_unit_test(test_values_read_again_count_once),
        cmocka_unit_test(test_what_is_reused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
