/*
 * tree_test.c - reading YAML and JSON: the cases of tests/corpus/tree, and cases that are easier in C.
 *
 * A case has a section `yaml` or `json`, an optional section `limits` (a name and a number on each line), and the
 * results:
 *   value   the tree as JSON; "broken" if the root is broken
 *   tree    the same, with `!` for a broken value, and with `…` at the end of a list or mapping that lacks items
 *   text    for every scalar and key in document order, the source text of its span
 *   found   each diagnostic as `line:column-line:column CODE message`, columns in characters
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/tree/tree.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "corpus.h"

struct reading {
    struct source *source;
    struct diagnostics *found;
    struct tree *tree;
};

static struct reading read_text(const char *name, const char *text, size_t length, const struct tree_limits *limits) {
    struct reading reading = {source_new(name, text, length), diagnostics_new(), NULL};
    reading.tree = tree_read(reading.source, limits, reading.found);
    assert_non_null(reading.tree);
    return reading;
}

static void reading_finish(struct reading *reading) {
    tree_free(reading->tree);
    diagnostics_free(reading->found);
    source_unref(reading->source);
}

/* ---- The corpus ---- */

static struct tree_limits parse_limits(const char *text) {
    struct tree_limits limits = {0};
    const struct {
        const char *name;
        uint32_t *member;
    } names[] = {{"size", &limits.size},
                 {"depth", &limits.depth},
                 {"scalar", &limits.scalar},
                 {"items", &limits.items},
                 {"nodes", &limits.nodes}};
    char name[32];
    unsigned number;
    int used;
    while (text && sscanf(text, " %31s %u%n", name, &number, &used) == 2) {
        bool known = false;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            if (strcmp(names[i].name, name) != 0) continue;
            *names[i].member = number;
            known = true;
        }
        assert_true(known);
        text += used;
    }
    return limits;
}

static void write_value(struct buffer *out, const struct tree *tree) {
    if (tree_root(tree)->kind == TREE_BROKEN) {
        buffer_text(out, "broken");
        return;
    }
    tn_value value = tree_to_value(tree_root(tree));
    json_write(out, value, JSON_COMPACT);
    value_unref(value);
}

static void write_tree(struct buffer *out, const struct tree_node *node) {
    if (node->kind == TREE_BROKEN) {
        buffer_char(out, '!');
    } else if (node->kind != TN_ARRAY && node->kind != TN_OBJECT) {
        json_write(out, node->value, JSON_COMPACT);
    } else {
        buffer_char(out, node->kind == TN_ARRAY ? '[' : '{');
        for (uint32_t i = 0; i < node->count; i++) {
            if (i > 0) buffer_char(out, ',');
            if (node->items[i].key) json_write(out, node->items[i].key, JSON_COMPACT);
            if (node->items[i].key) buffer_char(out, ':');
            write_tree(out, node->items[i].node);
        }
        if (node->incomplete) buffer_text(out, node->count > 0 ? ",…" : "…");
        buffer_char(out, node->kind == TN_ARRAY ? ']' : '}');
    }
}

static void write_text(struct buffer *out, const struct tree *tree, const struct tree_node *node) {
    const char *text = source_text(tree_source(tree));
    if (node->kind != TN_ARRAY && node->kind != TN_OBJECT) {
        bool absent = node->span.start == node->span.end;
        buffer_format(out, "%s%.*s\n", absent ? "" : " ", (int)(node->span.end - node->span.start),
                      text + node->span.start);
        return;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (item->key)
            buffer_format(out, "%.*s:", (int)(item->key_span.end - item->key_span.start), text + item->key_span.start);
        bool block = item->node->style == TREE_BLOCK && item->node->kind >= TN_ARRAY;
        if (item->node->kind >= TN_ARRAY)
            buffer_format(out, " %s%.*s%s\n", block ? "{{" : "", (int)(item->node->span.end - item->node->span.start),
                          text + item->node->span.start, block ? "}}" : "");
        write_text(out, tree, item->node);
    }
}

static void write_found(struct buffer *out, struct diagnostics *found) {
    diagnostics_sort(found);
    for (size_t i = 0; i < diagnostics_count(found); i++) {
        const struct diagnostic *it = diagnostics_at(found, i);
        struct source_place start = source_locate(it->source, it->span.start);
        struct source_place end = source_locate(it->source, it->span.end);
        buffer_format(out, "%u:%u-%u:%u %s %s\n", start.line + 1, start.point + 1, end.line + 1, end.point + 1,
                      diagnostic_info(it->code)->code + 4, it->message);
    }
}

static void check_case(const struct corpus_case *test, void *user) {
    (void)user;
    bool json = corpus_section(test, "json") != NULL;
    const char *text = json ? corpus_section(test, "json") : corpus_need(test, "yaml");
    struct tree_limits limits = parse_limits(corpus_section(test, "limits"));
    struct reading reading = read_text(json ? "case.json" : "case.yaml", text, strlen(text), &limits);
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    if (corpus_section(test, "value")) {
        write_value(&out, reading.tree);
        corpus_expect(test, "value", buffer_cstr(&out));
    }
    if (corpus_section(test, "tree")) {
        buffer_clear(&out);
        write_tree(&out, tree_root(reading.tree));
        corpus_expect(test, "tree", buffer_cstr(&out));
    }
    if (corpus_section(test, "text")) {
        buffer_clear(&out);
        write_text(&out, reading.tree, tree_root(reading.tree));
        corpus_expect(test, "text", buffer_cstr(&out));
    }
    buffer_clear(&out);
    write_found(&out, reading.found);
    if (corpus_section(test, "found"))
        corpus_expect(test, "found", buffer_cstr(&out));
    else if (out.length > 0)
        fail_msg("%s:%zu: `%s` found\n%s", test->path, test->line, test->name, buffer_cstr(&out));
    if (diagnostics_errors(reading.found) == 0) assert_true(tree_is_whole(reading.tree));
    buffer_finish(&out);
    reading_finish(&reading);
}

static void test_yaml(void **state) {
    (void)state;
    corpus_each("tests/corpus/tree/yaml.txt", check_case, NULL);
}

static void test_json(void **state) {
    (void)state;
    corpus_each("tests/corpus/tree/json.txt", check_case, NULL);
}

static void test_recovery(void **state) {
    (void)state;
    corpus_each("tests/corpus/tree/recovery.txt", check_case, NULL);
}

static void test_limits(void **state) {
    (void)state;
    corpus_each("tests/corpus/tree/limits.txt", check_case, NULL);
}

/* ---- What text files cannot hold ---- */

static void expect_only(const char *name, const char *text, size_t length, enum diagnostic_code code, uint32_t at) {
    struct reading reading = read_text(name, text, length, NULL);
    assert_int_equal(diagnostics_count(reading.found), 1);
    assert_int_equal(diagnostics_at(reading.found, 0)->code, code);
    assert_int_equal(diagnostics_at(reading.found, 0)->span.start, at);
    assert_int_equal(tree_root(reading.tree)->kind, TREE_BROKEN);
    assert_false(tree_is_whole(reading.tree));
    reading_finish(&reading);
}

static void test_characters(void **state) {
    (void)state;
    expect_only("a.yaml", "a: \xff", 4, ADL_E003, 3);
    expect_only("a.yaml", "a: \xed\xa0\x80", 6, ADL_E003, 3); /* a surrogate */
    expect_only("a.json", "\"\xc3\"", 3, ADL_E003, 1);
    expect_only("a.yaml", "a: b\0c", 6, ADL_E004, 4);
    expect_only("a.json", "\"a\0\"", 4, ADL_E004, 2);
    expect_only("a.yaml", "a: \x1b[31m", 8, ADL_E004, 3);
    expect_only("a.yaml", "a: \x7f", 4, ADL_E004, 3);
    expect_only("a.yaml", "a: \xc2\x85", 5, ADL_E004, 3);        /* NEL */
    expect_only("a.yaml", "a: 'b\xe2\x80\xa8'", 9, ADL_E004, 5); /* LS */
    expect_only("a.yaml", "a: b\xef\xbb\xbf", 7, ADL_E004, 4);   /* a byte order mark that is not first */
    struct reading reading = read_text("a.json", "\"\xe2\x80\xa8\x7f\"", 6, NULL); /* both are JSON */
    assert_int_equal(diagnostics_count(reading.found), 0);
    assert_true(value_text_is(tree_root(reading.tree)->value, "\xe2\x80\xa8\x7f"));
    reading_finish(&reading);
}

static void test_byte_order_mark(void **state) {
    (void)state;
    const char *texts[] = {"\xef\xbb\xbf\"\xc3\xa9\": 1", "\xef\xbb\xbf{\"\xc3\xa9\": 1}"};
    for (int i = 0; i < 2; i++) {
        struct reading reading = read_text(i ? "a.json" : "a.yaml", texts[i], strlen(texts[i]), NULL);
        assert_int_equal(diagnostics_count(reading.found), 0);
        const struct tree_item *item = tree_find(tree_root(reading.tree), "\xc3\xa9");
        assert_non_null(item);
        assert_int_equal(item->key_span.start, 3 + i);
        assert_int_equal(item->node->span.start, 9 + i);
        assert_int_equal(item->node->span.end, 10 + i);
        reading_finish(&reading);
    }
}

static void test_line_ends(void **state) {
    (void)state;
    const char *text = "a: \xc3\xa9\r\nb:\r\n  - \"x\r\n    y\"\r\nc: |\r\n  1\r\n  2\r\nd: 4\r";
    struct reading reading = read_text("a.yaml", text, strlen(text), NULL);
    assert_int_equal(diagnostics_count(reading.found), 0);
    const struct tree_node *root = tree_root(reading.tree);
    assert_true(value_text_is(tree_get(root, "b")->items[0].node->value, "x y"));
    assert_true(value_text_is(tree_get(root, "c")->value, "1\n2\n"));
    assert_int_equal(value_to_int(tree_get(root, "d")->value), 4);
    assert_int_equal(text[tree_get(root, "d")->span.start], '4');
    reading_finish(&reading);
}

static void test_empty(void **state) {
    (void)state;
    const char *texts[] = {"", "# comment", "\n---\n", "---\n...\n"};
    for (int i = 0; i < 4; i++) {
        struct reading yaml = read_text("a.yaml", texts[i], strlen(texts[i]), NULL);
        assert_int_equal(tree_root(yaml.tree)->kind, TN_NULL);
        assert_int_equal(diagnostics_count(yaml.found), 0);
        assert_true(tree_is_whole(yaml.tree));
        reading_finish(&yaml);
    }
    expect_only("a.json", "", 0, ADL_E002, 0);
}

/* ---- Limits by default ---- */

static char *repeat(const char *head, const char *part, size_t times, const char *tail) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    buffer_text(&out, head);
    for (size_t i = 0; i < times; i++) buffer_text(&out, part);
    buffer_text(&out, tail);
    return buffer_detach(&out, NULL);
}

static void expect_code(const char *name, char *text, enum diagnostic_code code, bool expected) {
    struct reading reading = read_text(name, text, strlen(text), NULL);
    bool there = false;
    for (size_t i = 0; i < diagnostics_count(reading.found); i++)
        there = there || diagnostics_at(reading.found, i)->code == code;
    if (there != expected) fail_msg("%s: %s is %s", name, diagnostic_info(code)->code, there ? "there" : "missing");
    reading_finish(&reading);
    mem_free(text);
}

static void test_default_limits(void **state) {
    (void)state;
    expect_code("a.yaml", repeat("#", "x", TREE_SIZE_MAX, ""), ADL_E012, true);
    expect_code("a.yaml", repeat("", "#x\n", TREE_SIZE_MAX / 3, ""), ADL_E012, false);
    expect_code("a.json", repeat("\"", "x", TREE_SCALAR_MAX, "\""), ADL_E013, false);
    expect_code("a.json", repeat("\"", "x", TREE_SCALAR_MAX + 1, "\""), ADL_E013, true);
    expect_code("a.yaml", repeat("a: ", "x", TREE_SCALAR_MAX, ""), ADL_E013, false);
    expect_code("a.yaml", repeat("a: ", "x", TREE_SCALAR_MAX + 1, ""), ADL_E013, true);
    expect_code("a.json", repeat("[", "1,", TREE_ITEMS_MAX - 1, "1]"), ADL_E014, false);
    expect_code("a.json", repeat("[", "1,", TREE_ITEMS_MAX, "1]"), ADL_E014, true);
    expect_code("a.json", repeat("[[],", "[0,0],", TREE_NODES_MAX / 3, "0]"), ADL_E014, true);
    expect_code("a.json", repeat("", "[", 100000, ""), ADL_E011, true);
    expect_code("a.yaml", repeat("", "[", 100000, ""), ADL_E011, true);
    expect_code("a.yaml", repeat("", "- ", 100000, ""), ADL_E011, true);
    expect_code("a.yaml", repeat("", "{a: ", 100000, ""), ADL_E011, true);
    expect_code("a.yaml", repeat("", "[? ", 100000, ""), ADL_E010, true);
}

static void test_depth_ceiling(void **state) {
    (void)state;
    struct tree_limits limits = {.depth = UINT32_MAX};
    char *fits = repeat("[", "[", TREE_DEPTH_CEILING - 1, ""), *deep = repeat("[", "[", TREE_DEPTH_CEILING, "");
    struct reading reading = read_text("a.json", fits, strlen(fits), &limits);
    assert_int_equal(diagnostics_at(reading.found, 0)->code, ADL_E002); /* not closed */
    reading_finish(&reading);
    reading = read_text("a.json", deep, strlen(deep), &limits);
    assert_int_equal(diagnostics_at(reading.found, 0)->code, ADL_E011);
    reading_finish(&reading);
    mem_free(fits);
    mem_free(deep);
}

static void test_anchors(void **state) {
    (void)state;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    for (unsigned i = 0; i < TREE_ANCHORS_MAX; i++) buffer_format(&text, "- &a%u %u\n- *a%u\n", i, i, i);
    char *fits = mem_text(buffer_cstr(&text));
    buffer_text(&text, "- &b 1\n");
    expect_code("a.yaml", fits, ADL_E014, false);
    expect_code("a.yaml", buffer_detach(&text, NULL), ADL_E014, true);
}

/* "A billion laughs" is counted, not expanded: the tree stays as small as the text. */
static void test_billion_laughs(void **state) {
    (void)state;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 60; i++) {
        buffer_format(&text, "a%d: &a%d [", i, i);
        for (int j = 0; j < 9; j++) buffer_format(&text, "*a%d, ", i - 1);
        buffer_text(&text, "]\n");
    }
    int64_t before = value_live_count();
    struct reading reading = read_text("a.yaml", text.data, text.length, NULL);
    assert_int_equal(diagnostics_count(reading.found), 1);
    assert_int_equal(diagnostics_at(reading.found, 0)->code, ADL_E014);
    assert_true(value_live_count() - before < 200);
    reading_finish(&reading);
    buffer_finish(&text);
}

static void test_recoveries(void **state) {
    (void)state;
    char *text = repeat("", "a: [\n", 3000, "b: 1\n");
    struct reading reading = read_text("a.yaml", text, strlen(text), NULL);
    assert_true(diagnostics_errors(reading.found) >= 3000);
    assert_int_equal(value_to_int(tree_get(tree_root(reading.tree), "b")->value), 1);
    assert_false(tree_is_whole(reading.tree));
    reading_finish(&reading);
    mem_free(text);
}

/* ---- Looking ---- */

static void test_lookups(void **state) {
    (void)state;
    const char *text = "a: &x {b: [1, no, ~, \"q\"]}\nc: *x\n'/~': 2\n\"\": 3\n";
    struct reading reading = read_text("a.yaml", text, strlen(text), NULL);
    const struct tree_node *root = tree_root(reading.tree), *a = tree_get(root, "a");
    const struct tree_item *item;
    assert_ptr_equal(tree_get(root, "c"), a);
    assert_null(tree_get(root, "d"));
    assert_null(tree_get(NULL, "a"));
    assert_null(tree_find_n(tree_get(a, "b"), "b", 1));
    assert_ptr_equal(tree_at_pointer(root, "", &item), root);
    assert_null(item);
    assert_int_equal(value_to_int(tree_at_pointer(root, "/c/b/0", &item)->value), 1);
    assert_null(item->key);
    assert_int_equal(value_to_int(tree_at_pointer(root, "/~1~0", &item)->value), 2);
    assert_string_equal(value_chars(item->key, NULL), "/~");
    assert_int_equal(value_to_int(tree_at_pointer(root, "/", NULL)->value), 3);
    assert_ptr_equal(tree_at_pointer(root, "/a/nothing/there", NULL), a);
    assert_ptr_equal(tree_at_pointer(root, "/a/b/00", NULL), tree_get(a, "b"));
    assert_ptr_equal(tree_at_pointer(root, "/a/b/4", NULL), tree_get(a, "b"));
    size_t length;
    const struct tree_node *list = tree_get(a, "b");
    const char *number = tree_text(reading.tree, list->items[0].node, &length);
    assert_int_equal(length, 1);
    assert_int_equal(number[0], '1');
    assert_string_equal(tree_text(reading.tree, list->items[1].node, &length), "no");
    assert_null(tree_text(reading.tree, list->items[2].node, &length)); /* null is not a string */
    assert_null(tree_text(reading.tree, list, &length));
    assert_null(tree_text(reading.tree, NULL, &length));
    tn_value string = tree_to_string(reading.tree, list->items[0].node);
    assert_true(value_text_is(string, "1"));
    value_unref(string);
    assert_null(tree_to_string(reading.tree, list->items[2].node));
    assert_ptr_equal(tree_source(reading.tree), reading.source);
    reading_finish(&reading);

    reading = read_text("b.JSON", "[1.0, true]", 11, NULL);
    assert_null(
        tree_text(reading.tree, tree_root(reading.tree)->items[0].node, &length)); /* JSON scalars are not converted */
    reading_finish(&reading);
    assert_true(tree_name_is_json("x/y.Json"));
    assert_false(tree_name_is_json("json"));
    assert_false(tree_name_is_json("a.json.yaml"));
}

/* Every prefix of a complete document is read without a fault and without a leak. */
static void test_prefixes(void **state) {
    (void)state;
    size_t length;
    char *yaml = corpus_load(TENON_SOURCE_DIR "/tests/fuzz/seeds/document_text/everything.yaml", &length);
    int64_t before = value_live_count();
    for (size_t i = 0; i <= length; i++) {
        struct reading reading = read_text("a.yaml", yaml, i, NULL);
        if (!tree_is_whole(reading.tree) && i > 0) assert_true(diagnostics_errors(reading.found) > 0);
        tn_value value = tree_to_value(tree_root(reading.tree));
        value_unref(value);
        reading_finish(&reading);
    }
    free(yaml);
    char *json = corpus_load(TENON_SOURCE_DIR "/tests/fuzz/seeds/document_text/everything.json", &length);
    for (size_t i = 0; i + 2 < length; i++) {
        struct reading reading = read_text("a.json", json, i, NULL);
        assert_true(diagnostics_errors(reading.found) > 0);
        reading_finish(&reading);
    }
    free(json);
    assert_int_equal(value_live_count(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_yaml),          cmocka_unit_test(test_json),       cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_characters), cmocka_unit_test(test_byte_order_mark),
        cmocka_unit_test(test_line_ends),     cmocka_unit_test(test_empty),      cmocka_unit_test(test_default_limits),
        cmocka_unit_test(test_depth_ceiling), cmocka_unit_test(test_anchors),    cmocka_unit_test(test_billion_laughs),
        cmocka_unit_test(test_recoveries),    cmocka_unit_test(test_lookups),    cmocka_unit_test(test_prefixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
