/*
 * tree_recovery_test.c - what a syntax error costs: the samples with one mistake at every place, large documents with
 * many.
 *
 * A *part* is what a mistake may cost at most: an item of a list or mapping in a top-level section, or another value of
 * the top level. What must hold for a text that is cut, has one character less, or one more:
 *
 *   1. The reader ends; spans are in the text, and in the span of the collection around them, in the order of the text.
 *   2. A tree that is not whole has an error, and a whole tree has no error of syntax.
 *   3. The parts on lines above the mistake are read as before.
 *   4. If a character was added behind the start of a part, and this is an error, all parts below are read as before;
 *      except that a mistake in the key of a section can cost the section.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/tree/tree.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "corpus.h"
#include <dlfcn.h>
#include <glob.h>
#include <yaml.h>

struct reading {
    struct source *source;
    struct diagnostics *found;
    struct tree *tree;
};

static struct reading read_text(const char *name, const char *text, size_t length) {
    struct reading reading = {source_new(name, text, length), diagnostics_new(), NULL};
    reading.tree = tree_read(reading.source, NULL, reading.found);
    return reading;
}

static void reading_finish(struct reading *reading) {
    tree_free(reading->tree);
    diagnostics_free(reading->found);
    source_unref(reading->source);
}

/* ---- Spans ---- */

/* The samples have no aliases, whose nodes are elsewhere. */
static void check_spans(const struct tree_node *node, struct span around) {
    assert_true(around.start <= node->span.start && node->span.start <= node->span.end && node->span.end <= around.end);
    if (node->kind != TN_ARRAY && node->kind != TN_OBJECT) return;
    uint32_t last = node->span.start;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (item->key) {
            assert_true(last <= item->key_span.start && item->key_span.start <= item->key_span.end);
            last = item->key_span.end;
        }
        assert_true(last <= item->node->span.start);
        check_spans(item->node, node->span);
        last = item->node->span.end;
    }
}

static void check_tree(const struct reading *reading) {
    struct span all = {0, (uint32_t)source_length(reading->source)};
    check_spans(tree_root(reading->tree), all);
    bool syntax = false;
    for (size_t i = 0; i < diagnostics_count(reading->found); i++) {
        enum diagnostic_code code = diagnostics_at(reading->found, i)->code;
        syntax |= code == ADL_E001 || code == ADL_E017; /* a comma that JSON lacks costs nothing */
    }
    if (tree_is_whole(reading->tree)) assert_false(syntax);
    if (!tree_is_whole(reading->tree)) assert_true(diagnostics_errors(reading->found) > 0);
}

/* ---- Parts ---- */

#define PARTS_MAX 256

struct part {
    uint32_t start, end; /* its lines */
    uint32_t text;       /* of its first key or value */
    const struct tree_node *section;
    const struct tree_item *member; /* of the root */
    uint32_t index;                 /* in the section; UINT32_MAX if the member is the part */
};

struct parts {
    struct part items[PARTS_MAX];
    size_t count;
};

static uint32_t line_start(const struct source *source, uint32_t at) {
    return source_line_span(source, source_locate(source, at).line).start;
}

static void add_part(struct parts *parts, const struct source *source, struct part part) {
    assert_true(parts->count < PARTS_MAX);
    part.start = line_start(source, part.text);
    if (parts->count > 0) parts->items[parts->count - 1].end = part.start;
    parts->items[parts->count++] = part;
}

static struct parts parts_of(const struct reading *reading) {
    struct parts parts = {.count = 0};
    const struct tree_node *root = tree_root(reading->tree);
    for (uint32_t i = 0; i < root->count; i++) {
        const struct tree_item *member = &root->items[i];
        struct part part = {
            .member = member, .section = member->node, .text = member->key_span.start, .index = UINT32_MAX};
        bool divided = part.section->kind >= TN_ARRAY && part.section->style == TREE_BLOCK;
        add_part(&parts, reading->source, part);
        for (uint32_t j = 0; divided && j < part.section->count; j++) {
            const struct tree_item *item = &part.section->items[j];
            part.text = item->key ? item->key_span.start : item->node->span.start;
            part.index = j;
            add_part(&parts, reading->source, part);
        }
    }
    parts.items[parts.count - 1].end = (uint32_t)source_length(reading->source) + 1;
    return parts;
}

static bool is_equal(const struct tree_node *a, const struct tree_node *b, uint32_t shift) {
    if (a->kind != b->kind || a->count != b->count || a->span.start + shift != b->span.start ||
        a->span.end + shift != b->span.end || a->incomplete != b->incomplete)
        return false;
    if (a->kind != TN_ARRAY && a->kind != TN_OBJECT) return value_identical(a->value, b->value);
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->items[i].key && (!value_identical(a->items[i].key, b->items[i].key) ||
                                a->items[i].key_span.start + shift != b->items[i].key_span.start))
            return false;
        if (!is_equal(a->items[i].node, b->items[i].node, shift)) return false;
    }
    return true;
}

/* The part is in the other tree, with its spans moved by `shift`. It is counted from the end of its list if it moved.
 */
static bool has_part(const struct reading *other, const struct part *part, uint32_t shift) {
    const struct tree_node *section = tree_get(tree_root(other->tree), value_chars(part->member->key, NULL));
    if (!section) return false;
    if (part->index == UINT32_MAX) {
        bool divided = part->section->kind >= TN_ARRAY && part->section->style == TREE_BLOCK;
        return divided || is_equal(part->section, section, shift);
    }
    const struct tree_item *item = &part->section->items[part->index];
    if (item->key) {
        const struct tree_node *node = tree_get(section, value_chars(item->key, NULL));
        return node && is_equal(item->node, node, shift);
    }
    uint32_t from_end = part->section->count - part->index;
    uint32_t index = shift ? section->count - from_end : part->index;
    return section->kind == TN_ARRAY && index < section->count &&
           is_equal(item->node, section->items[index].node, shift);
}

/* ---- Samples with a mistake ---- */

struct sample {
    const char *name;
    char *text;
    size_t length;
    struct reading reading;
    struct parts parts;
};

static void check_mistake(const struct sample *sample, const char *text, size_t length, uint32_t at, const char *what) {
    struct reading reading = read_text(sample->name, text, length);
    check_tree(&reading);
    bool added = length > sample->length, error = diagnostics_errors(reading.found) > 0;
    for (size_t i = 0; i < sample->parts.count; i++) {
        const struct part *part = &sample->parts.items[i];
        bool below = false;
        if (added && error && part->start > at)
            for (size_t j = 0; j < i; j++) {
                const struct part *damaged = &sample->parts.items[j];
                below |= damaged->start <= at && at < damaged->end && at > damaged->text &&
                         (damaged->index < UINT32_MAX || damaged->member != part->member) &&
                         at - line_start(sample->reading.source, at) > damaged->text - damaged->start;
            }
        if (part->end <= line_start(sample->reading.source, at) && !has_part(&reading, part, 0))
            fail_msg("%s: with %s at %u, the part at %u above is lost:\n%s", sample->name, what, at, part->start, text);
        if (below && !has_part(&reading, part, 1))
            fail_msg("%s: with %s at %u, the part at %u below is lost:\n%s", sample->name, what, at, part->start, text);
    }
    reading_finish(&reading);
}

/* At each place, one of these is added: all of them come after each other. `#` is not an error. */
static const char added[] = "\"'{[}*@`&%\\!|";

static void check_sample(const struct sample *sample, size_t step) {
    char *text = mem_alloc(sample->length + 2);
    for (size_t at = 0, turn = 0; at <= sample->length; at += step, turn++) {
        if ((unsigned char)sample->text[at] >= 0x80) continue; /* half a character is an error of the whole text */
        memcpy(text, sample->text, at);
        text[at] = '\0';
        check_mistake(sample, text, at, (uint32_t)at, "the end");
        if (at < sample->length) {
            memcpy(text + at, sample->text + at + 1, sample->length - at);
            check_mistake(sample, text, sample->length - 1, (uint32_t)at, "a character less");
        }
        char what[2] = {added[turn % (sizeof added - 1)], '\0'};
        text[at] = *what;
        memcpy(text + at + 1, sample->text + at, sample->length - at + 1);
        check_mistake(sample, text, sample->length + 1, (uint32_t)at, what);
    }
    mem_free(text);
}

/* With CORPUS_EVERY=N, at every Nth of the places that are tried otherwise. */
static void test_samples(void **state) {
    (void)state;
    const char *every = getenv("CORPUS_EVERY");
    size_t stride = every ? strtoul(every, NULL, 10) : 1;
    glob_t found;
    assert_int_equal(glob(TENON_SOURCE_DIR "/samples/*/*.yaml", 0, NULL, &found), 0);
    assert_true(found.gl_pathc > 10);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct sample sample = {.name = found.gl_pathv[i]};
        sample.text = corpus_load(sample.name, &sample.length);
        sample.reading = read_text(sample.name, sample.text, sample.length);
        assert_int_equal(diagnostics_errors(sample.reading.found), 0);
        sample.parts = parts_of(&sample.reading);
        check_sample(&sample, stride * (sample.length < 400 ? 1 : sample.length < 1000 ? 11 : 43));
        reading_finish(&sample.reading);
        free(sample.text);
    }
    globfree(&found);
}

/* ---- Typing ---- */

/* JSON may be laid out in any way: after `"id":`, `[` and `["a",`, the object below is what comes next. */
static bool takes_next(const char *text, size_t typed) {
    char open[8] = "";
    size_t depth = 0;
    bool quoted = false;
    char last = '\0';
    for (size_t i = 0; i < typed; i++) {
        if (text[i] == '\\') i++;
        if (text[i] == '"') quoted = !quoted;
        if (!quoted && strchr("[{", text[i])) open[depth++] = text[i];
        if (!quoted && strchr("]}", text[i])) depth--;
        if (!strchr(" \n", text[i])) last = text[i];
    }
    if (quoted) return false;
    return last == ':' || last == '[' || (last == ',' && depth > 0 && open[depth - 1] == '[');
}

/* Types `text` between `above` and `below`: after each character there is at most one error, in neither of them. */
static void check_typing(const char *name, const char *above, const char *text, const char *below) {
    for (size_t typed = 0; typed <= strlen(text); typed++) {
        if (tree_name_is_json(name) && takes_next(text, typed)) continue;
        struct buffer whole;
        buffer_init(&whole, SIZE_MAX);
        buffer_format(&whole, "%s%.*s\n%s", above, (int)typed, text, below);
        struct reading reading = read_text(name, whole.data, whole.length);
        check_tree(&reading);
        const struct tree_node *nodes = tree_get(tree_root(reading.tree), "nodes");
        const struct tree_node *last = nodes->items[nodes->count - 1].node;
        if (diagnostics_errors(reading.found) > 1) fail_msg("two errors after\n%.*s", (int)typed, text);
        assert_true(value_text_is(tree_get(nodes->items[0].node, "id")->value, "a"));
        assert_true(value_text_is(tree_get(last, "id")->value, "b"));
        assert_false(nodes->items[0].node->incomplete || last->incomplete);
        assert_int_equal(tree_get(tree_root(reading.tree), "edges")->count, 1);
        reading_finish(&reading);
        buffer_finish(&whole);
    }
}

static void test_typing(void **state) {
    (void)state;
    check_typing("a.yaml", "version: \"1.0\"\nnodes:\n  - id: a\n    type: llm\n    config:\n      prompt: \"x\"\n",
                 "  - id: n\n    type: llm\n    retry: {max_attempts: 3, on: [A, B]}\n    config:\n"
                 "      prompt: \"Hello {name}: \\\"you\\\"\"\n      text: |\n        line: one\n        two\n"
                 "      'quoted': 'it''s'\n      tools: [a, \"b\", {c: d}]\n      x: &anchor\n        y: !tag z",
                 "  - id: b\n    type: set\nedges:\n  - {from: START, to: a}\n");
    check_typing(
        "a.json", "{\n  \"nodes\": [\n    {\n      \"id\": \"a\"\n    },\n",
        "    {\n      \"id\": \"n\",\n      \"retry\": {\"max\": 3, \"on\": [\"A\", \"B\"]},\n      \"config\": {\n"
        "        \"prompt\": \"Hello {x} \\\"y\\\"\",\n        \"tools\": [\n          \"a\",\n"
        "          {\"b\": null}\n        ]\n      }\n    },",
        "    {\n      \"id\": \"b\"\n    }\n  ],\n  \"edges\": [\n    {\"from\": \"START\"}\n  ]\n}\n");
}

/* ---- Large documents with many mistakes ---- */

/* The reader gives libyaml each range of the text with this function: counts their bytes, and calls the real one. */
static uint64_t bytes_read;

void yaml_parser_set_input_string(yaml_parser_t *parser, const unsigned char *input, size_t size) {
    typedef void setter(yaml_parser_t *, const unsigned char *, size_t);
    setter *real;
    void *symbol = dlsym(RTLD_NEXT, "yaml_parser_set_input_string");
    memcpy(&real, &symbol, sizeof real);
    bytes_read += size;
    real(parser, input, size);
}

/* Reads the text and checks that libyaml gets at most `times` as many bytes. Returns the tree's list `nodes`. */
static const struct tree_node *read_counted(struct reading *reading, const struct buffer *text, double times) {
    bytes_read = 0;
    *reading = read_text("large.yaml", text->data, text->length);
    assert_true(bytes_read > 0);
    if ((double)bytes_read > times * (double)text->length)
        fail_msg("libyaml read %.2f times the text; expected at most %.2f", (double)bytes_read / (double)text->length,
                 times);
    return tree_get(tree_root(reading->tree), "nodes");
}

#define LARGE_NODES 10000u

/* Writes a document of 50,000 lines; a node whose number is a multiple of `every` has the config `broken`. */
static void write_large(struct buffer *out, unsigned every, const char *broken) {
    buffer_init(out, SIZE_MAX);
    buffer_text(out, "version: \"1.0\"\nnodes:\n");
    for (unsigned i = 0; i < LARGE_NODES; i++)
        buffer_format(out, "  - id: n%u\n    type: set\n    config:\n      values:\n        x: %s\n", i,
                      i % every ? "\"one\"" : broken);
    buffer_text(out, "edges:\n  - {from: START, to: n0}\n");
}

/* One mistake in the middle: what is above it is read once, the item again, and what is below it once. */
static void test_one_mistake(void **state) {
    (void)state;
    static const char *const broken[] = {"\"one", "'one", "[a, b", "a: b"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct buffer text;
        struct reading reading;
        write_large(&text, LARGE_NODES, "1");
        char *at = memmem(text.data + text.length / 2, text.length / 2, "\"one\"", 5);
        memset(at, ' ', 5);
        memcpy(at, broken[i], strlen(broken[i]));
        const struct tree_node *nodes = read_counted(&reading, &text, 1.6);
        assert_int_equal(nodes->count, LARGE_NODES);
        assert_int_equal(diagnostics_errors(reading.found), 1);
        assert_non_null(tree_get(tree_root(reading.tree), "edges"));
        reading_finish(&reading);
        buffer_finish(&text);
    }
}

/* Mistakes in every item: each level of blocks around them is read once, and every node keeps its `id` and `type`. */
static void test_many_mistakes(void **state) {
    (void)state;
    static const char *const broken[] = {"\"one", "&a [*b", "1\n   y: z"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct buffer text;
        struct reading reading;
        write_large(&text, 1 + (unsigned)i % 3, broken[i]);
        const struct tree_node *nodes = read_counted(&reading, &text, TREE_RECOVERY_DEPTH);
        assert_int_equal(nodes->count, LARGE_NODES);
        for (uint32_t j = 0; j < nodes->count; j++) assert_true(nodes->items[j].node->count >= 3);
        assert_true(diagnostics_errors(reading.found) >= LARGE_NODES / 3);
        assert_true(diagnostics_errors(reading.found) <= LARGE_NODES + 1); /* the first `*b` has no anchor */
        reading_finish(&reading);
        buffer_finish(&text);
    }
}

/* The worst case: a mistake at the bottom of every level. */
static void test_worst_case(void **state) {
    (void)state;
    struct buffer text;
    struct reading reading;
    buffer_init(&text, SIZE_MAX);
    for (unsigned i = 0; i < 1000; i++) {
        for (unsigned level = 0; level < 25; level++)
            buffer_format(&text, "%*sk%u:\n", (int)level, "", level * (i + 1));
        buffer_text(&text, "                          [\n");
    }
    read_counted(&reading, &text, TREE_RECOVERY_DEPTH + 3);
    assert_true(diagnostics_errors(reading.found) >= 1000);
    reading_finish(&reading);
    buffer_finish(&text);
}

/* Conflicts: the text is read once more, and the diagnostics are one for each. */
static void test_conflicts(void **state) {
    (void)state;
    struct buffer text;
    struct reading reading;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "nodes:\n");
    for (unsigned i = 0; i < 900; i++)
        buffer_format(&text,
                      "  - id: a%u\n    type: x\n<<<<<<< HEAD\n    config: {a: 1}\n=======\n    config: [\n  - id: b\n"
                      ">>>>>>> other\n",
                      i);
    const struct tree_node *nodes = read_counted(&reading, &text, 2.01);
    assert_int_equal(nodes->count, 900);
    assert_int_equal(diagnostics_errors(reading.found), 900);
    for (uint32_t i = 0; i < nodes->count; i++) assert_int_equal(nodes->items[i].node->count, 3);
    reading_finish(&reading);
    buffer_finish(&text);
}

/* Anchors in broken items are not known, and their aliases are not reported. */
static void test_anchors(void **state) {
    (void)state;
    struct buffer text;
    struct reading reading;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "nodes:\n");
    for (unsigned i = 0; i < TREE_ANCHORS_MAX; i++)
        buffer_format(&text, "  - id: a%u\n    x: &a%u \"b\n  - id: b%u\n    x: *a%u\n", i, i, i, i);
    const struct tree_node *nodes = read_counted(&reading, &text, 5);
    assert_int_equal(nodes->count, 2 * TREE_ANCHORS_MAX);
    assert_int_equal(diagnostics_errors(reading.found), TREE_ANCHORS_MAX);
    reading_finish(&reading);
    buffer_finish(&text);
}

/* What was reported before, for this source or another, stays. */
static void test_older_diagnostics(void **state) {
    (void)state;
    static const char *const texts[] = {"a: [\nb: {x: 1, x: 2\nc: @\n<<<<<<< a\n>>>>>>> b\n",
                                        "{\"a\": tru,\n<<<<<<< b\n>>>>>>> c"};
    for (size_t i = 0; i < 2; i++) {
        struct diagnostics *found = diagnostics_new();
        struct source *source = source_new(i ? "a.json" : "a.yaml", texts[i], strlen(texts[i]));
        struct source *other = source_new("b.yaml", texts[0], strlen(texts[0]));
        for (uint32_t at = 0; at < strlen(texts[i]); at++) {
            diagnostics_add(found, ADL_E021, source, (struct span){at, at}, "older");
            diagnostics_add(found, ADL_E021, other, (struct span){at, at}, "older");
        }
        size_t before = diagnostics_count(found);
        tree_free(tree_read(source, NULL, found));
        assert_true(diagnostics_count(found) > before + 1);
        for (size_t j = 0; j < diagnostics_count(found); j++)
            assert_int_equal(diagnostics_at(found, j)->code == ADL_E021, j < before);
        diagnostics_free(found);
        source_unref(source);
        source_unref(other);
    }
}

/* JSON on one line and on many: reading goes on after each mistake. */
static void test_json(void **state) {
    (void)state;
    static const char *const items[] = {"{\"id\": tru, \"x\": [1}, ", "{\"id\": \"a\", \"x\":\n\"y\": 1},\n"};
    for (size_t i = 0; i < 2; i++) {
        struct buffer text;
        buffer_init(&text, SIZE_MAX);
        buffer_text(&text, "{\"nodes\": [");
        for (unsigned j = 0; j < LARGE_NODES; j++) buffer_text(&text, items[i]);
        buffer_text(&text, "{}], \"edges\": []}");
        struct reading reading = read_text("large.json", text.data, text.length);
        assert_int_equal(tree_get(tree_root(reading.tree), "nodes")->count, LARGE_NODES + 1);
        assert_non_null(tree_get(tree_root(reading.tree), "edges"));
        reading_finish(&reading);
        buffer_finish(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),           cmocka_unit_test(test_typing),
        cmocka_unit_test(test_one_mistake),       cmocka_unit_test(test_many_mistakes),
        cmocka_unit_test(test_worst_case),        cmocka_unit_test(test_conflicts),
        cmocka_unit_test(test_anchors),           cmocka_unit_test(test_json),
        cmocka_unit_test(test_older_diagnostics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
