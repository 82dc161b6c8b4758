/*
 * picture_test.c - documents as SVG and HTML: expected pictures, hostile names, documents inside nodes, limits, and the
 * widths of texts.
 *
 * tests/corpus/draw has documents, and the expected picture of each in NAME.svg. Run with TENON_CORPUS_UPDATE=1 to
 * rewrite the pictures, and look at them.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/draw/draw.h"
#include "adl/draw/text_width.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "tests/unit/corpus.h"
#include "tests/unit/fake_catalog.h"

static struct document *read_text(const char *text, size_t length) {
    struct fake_catalog fake;
    fake_catalog_init(&fake);
    struct source *source = source_new("drawn.yaml", text, length);
    struct diagnostics *found = diagnostics_new();
    struct document *document = document_read(source, &fake.catalog, found);
    for (size_t i = 0; i < diagnostics_count(found); i++)
        if (diagnostics_at(found, i)->severity == DIAGNOSTIC_ERROR) fail_msg("%s", diagnostics_at(found, i)->message);
    diagnostics_free(found);
    source_unref(source);
    fake_catalog_finish(&fake);
    return document;
}

/* Free it with mem_free. */
static char *drawing(const struct document *document, const struct draw_inside *inside, enum draw_format format) {
    struct error error = ERROR_INIT;
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    assert_int_equal(draw_document(&out, document, inside, format, &error), TN_OK);
    return buffer_detach(&out, NULL);
}

static char *drawing_of(const char *text, enum draw_format format) {
    struct document *document = read_text(text, strlen(text));
    char *drawn = drawing(document, NULL, format);
    document_unref(document);
    return drawn;
}

static unsigned count(const char *text, const char *word) {
    unsigned found = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word)) found++;
    return found;
}

/* ---- The corpus ---- */

static void expect_picture(const char *name) {
    char path[256], absolute[1024];
    size_t length;
    snprintf(path, sizeof path, "tests/corpus/draw/%s.yaml", name);
    corpus_path(path, absolute, sizeof absolute);
    char *text = corpus_load(absolute, &length);
    struct document *document = read_text(text, length);
    char *got = drawing(document, NULL, DRAW_SVG);
    snprintf(path, sizeof path, "tests/corpus/draw/%s.svg", name);
    corpus_path(path, absolute, sizeof absolute);
    if (getenv("TENON_CORPUS_UPDATE")) {
        FILE *file = fopen(absolute, "wb");
        assert_non_null(file);
        fwrite(got, 1, strlen(got), file);
        fclose(file);
    }
    char *expected = corpus_load(absolute, NULL);
    assert_string_equal(got, expected);
    free(expected);
    free(text);
    mem_free(got);
    document_unref(document);
}

static void draws_the_corpus(void **state) {
    (void)state;
    expect_picture("loop");
    expect_picture("every_line");
}

/* ---- Elements ---- */

static void elements_have_data(void **state) {
    (void)state;
    char *svg = drawing_of("version: \"1.0\"\nagent: {name: data, description: It has data.}\nnodes:\n"
                           "  - {id: a.b, type: passthrough}\n  - type: passthrough\n    id: a_b\n"
                           "edges: [{from: START, to: a.b}, {from: a.b, to: a_b}, {from: a_b, to: END}]\n",
                           DRAW_SVG);
    assert_non_null(strstr(svg, " role=\"img\""));
    assert_non_null(strstr(svg, "<title>data</title>\n<desc>It has data. (A graph of 2 nodes.)</desc>"));
    assert_non_null(strstr(svg, "<g class=\"node\" id=\"node-a:2eb\" data-node=\"a.b\" data-type=\"passthrough\" "
                                "data-line=\"4\"><title>a.b (passthrough)</title>"));
    assert_non_null(strstr(svg, "<g class=\"node\" id=\"node-a_b\" data-node=\"a_b\" data-type=\"passthrough\" "
                                "data-line=\"6\">"));
    assert_non_null(strstr(
        svg, "<g class=\"edge plain\" data-from=\"a.b\" data-to=\"a_b\" data-line=\"7\"><title>a.b → a_b</title>"));
    assert_int_equal(count(svg, "class=\"end\""), 1);
    assert_null(strstr(svg, "<script"));
    mem_free(svg);
}

/* The picture has END only if something leads there. A node that nothing leads to is drawn, too. */
static void draws_what_is_there(void **state) {
    (void)state;
    char *svg = drawing_of("version: \"1.0\"\nnodes: [{id: only, type: command}, {id: other, type: command}]\n"
                           "edges: [{from: START, to: only}]\n",
                           DRAW_SVG);
    assert_int_equal(count(svg, "class=\"end\""), 0);
    assert_int_equal(count(svg, "class=\"node\""), 2);
    assert_int_equal(count(svg, "class=\"edge "), 1);
    mem_free(svg);
}

/* One bar for an edge from two nodes to two nodes: four lines, and arrow heads only at the nodes. */
static void a_join_has_a_bar(void **state) {
    (void)state;
    char *svg = drawing_of("version: \"1.0\"\nnodes:\n  - {id: a, type: passthrough}\n  - {id: b, type: passthrough}\n"
                           "  - {id: c, type: passthrough}\n  - {id: d, type: passthrough}\n"
                           "edges: [{from: START, to: [a, b]}, {from: [a, b], to: [c, d]}]\n",
                           DRAW_SVG);
    assert_int_equal(count(svg, "class=\"bar\""), 1);
    assert_int_equal(count(svg, "class=\"edge join\""), 4);
    assert_int_equal(count(svg, "class=\"head\""), 4);
    mem_free(svg);
}

/* ---- Hostile texts ---- */

static const char hostile[] =
    "version: \"1.0\"\n"
    "agent: {name: \"</title></svg><script>alert(1)</script>\", description: \"]]> & \\\" ' \\u202e\"}\n"
    "nodes:\n"
    "  - {id: \"<img src=x onerror=alert(1)>\", type: \"a&b\\\"c\"}\n"
    "  - {id: \"quote\\\" onload=\\\"x\", type: passthrough}\n"
    "  - {id: \"\\u202eevil\\t\\u0001\\ufffe\", type: passthrough}\n"
    "  - {id: \"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xe4\xb8\x96\xe7\x95\x8c \xf0\x9f\x98\x80\", type: passthrough}\n"
    "edges:\n"
    "  - {from: START, to: \"<img src=x onerror=alert(1)>\"}\n";

/* Only these elements are in a picture, and no text can begin one. */
static void check_elements(const char *svg) {
    static const char *const known[] = {"svg", "g", "path", "rect", "text", "title", "desc", "style"};
    for (const char *at = svg; (at = strchr(at, '<')) != NULL;) {
        at++;
        if (*at == '/') at++;
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz");
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            found = found || (strlen(known[i]) == length && memcmp(known[i], at, length) == 0);
        if (!found) fail_msg("unexpected: %.60s", at);
    }
    for (const char *at = svg; *at; at++) assert_true((unsigned char)*at >= ' ' || *at == '\n');
}

static void texts_cannot_become_elements(void **state) {
    (void)state;
    struct source *source = source_new("hostile.yaml", hostile, sizeof hostile - 1);
    struct diagnostics *found = diagnostics_new();
    struct document *document = document_read(source, NULL, found);
    char *svg = drawing(document, NULL, DRAW_SVG);
    check_elements(svg);
    assert_non_null(strstr(svg, "<title>&#60;/title&#62;&#60;/svg&#62;&#60;script&#62;alert(1)"));
    assert_non_null(strstr(svg, "data-type=\"a&#38;b&#34;c\""));
    assert_non_null(strstr(svg, "data-node=\"quote&#34; onload=&#34;x\""));
    assert_null(strstr(svg, "\xef\xbf\xbe"));              /* XML does not allow U+FFFE */
    assert_non_null(strstr(svg, ">&#60;U+202E&#62;evil")); /* shown, without its effect */
    assert_non_null(strstr(svg, "data-node=\"&#8238;evil&#9;\xef\xbf\xbd\xef\xbf\xbd\""));
    assert_null(strstr(svg, "\u202e"));
    mem_free(svg);
    char *html = drawing(document, NULL, DRAW_HTML);
    assert_int_equal(count(html, "<script"), 1);
    assert_int_equal(count(html, "<title>&#60;/title&#62;"), 2);
    mem_free(html);
    document_unref(document);
    diagnostics_free(found);
    source_unref(source);
}

static void long_texts_are_cut(void **state) {
    (void)state;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "version: \"1.0\"\nnodes: [{id: ");
    for (int i = 0; i < 200; i++) buffer_char(&text, 'n');
    buffer_text(&text,
                ", type: command}]\nedges: [{from: START, type: conditional, conditions: [{expression: \"1 == 1");
    for (int i = 0; i < 200; i++) buffer_text(&text, " && 1 == 1");
    buffer_text(&text, "\", to: END}]}, {from: START, to: ");
    for (int i = 0; i < 200; i++) buffer_char(&text, 'n');
    buffer_text(&text, "}]\n");
    char *svg = drawing_of(buffer_cstr(&text), DRAW_SVG);
    assert_non_null(strstr(svg, "nnn…</text>"));
    assert_int_equal(count(svg, "class=\"words\""), 3);
    assert_non_null(strstr(svg, "1 == 1 &#38;&#38; 1 == 1</title>")); /* the whole text is in the title */
    mem_free(svg);
    buffer_finish(&text);
}

/* ---- Documents inside nodes ---- */

struct nest {
    const struct document *document;
    const struct nest *inside[3]; /* of its first node */
};

static const struct document *nest_find(const struct draw_inside *self, uint32_t node, uint32_t index,
                                        struct draw_inside *inner) {
    const struct nest *nest = self->user, *found = node == 0 ? nest->inside[index] : NULL;
    if (!found) return NULL;
    *inner = (struct draw_inside){nest_find, found};
    return found->document;
}

static void documents_are_inside_their_nodes(void **state) {
    (void)state;
    static const char outer_text[] = "version: \"1.0\"\nnodes: [{id: out er, type: passthrough}]\n"
                                     "edges: [{from: START, to: out er}, {from: out er, to: END}]\n";
    static const char inner_text[] = "version: \"1.0\"\nnodes: [{id: inner, type: passthrough}]\n"
                                     "edges: [{from: START, to: inner}, {from: inner, to: END}]\n";
    struct document *outer = read_text(outer_text, sizeof outer_text - 1);
    struct document *inner = read_text(inner_text, sizeof inner_text - 1);
    const struct nest deep = {inner, {NULL}}, middle = {inner, {&deep}}, top = {outer, {&middle, &deep}};
    char *svg = drawing(outer, &(struct draw_inside){nest_find, &top}, DRAW_SVG);
    check_elements(svg);
    assert_int_equal(count(svg, "<g class=\"inside\""), 3);
    assert_int_equal(count(svg, " data-line="), 3);
    assert_int_equal(count(svg, " id=\"node-out:20er\""), 1);
    assert_int_equal(count(svg, " id=\"node-out:20er.0.inner\""), 1);
    assert_int_equal(count(svg, " id=\"node-out:20er.0.inner.0.inner\""), 1);
    assert_int_equal(count(svg, " id=\"node-out:20er.1.inner\""), 1);
    mem_free(svg);
    document_unref(outer);
    document_unref(inner);
}

/* ---- Limits ---- */

static void pictures_stay_below_the_limit(void **state) {
    (void)state;
    static const enum draw_format formats[] = {DRAW_SVG, DRAW_HTML};
    static const char text[] = "version: \"1.0\"\nnodes: [{id: a, type: passthrough}]\n"
                               "edges: [{from: START, to: a}, {from: a, to: END}]\n";
    struct document *document = read_text(text, sizeof text - 1);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char *whole = drawing(document, NULL, formats[i]);
        size_t length = strlen(whole);
        for (size_t limit = 1; limit <= length; limit += limit + 97 > length && limit < length ? length - limit : 97) {
            struct error error = ERROR_INIT;
            struct buffer out;
            buffer_init(&out, limit);
            int32_t status = draw_document(&out, document, NULL, formats[i], &error);
            assert_int_equal(status, limit < length ? TN_LIMIT : TN_OK);
            assert_true(out.length <= limit);
            assert_memory_equal(buffer_cstr(&out), whole, out.length);
            buffer_finish(&out);
            error_finish(&error);
        }
        mem_free(whole);
    }
    document_unref(document);
}

/* A join of 300 nodes to 300 nodes has 90,000 arrows, but only 600 lines; one of 400 has more arrows than allowed. */
static void arrows_of_pictures_are_limited(void **state) {
    (void)state;
    for (unsigned nodes = 300; nodes <= 400; nodes += 100) {
        struct buffer text, out;
        struct error error = ERROR_INIT;
        buffer_init(&text, SIZE_MAX);
        buffer_init(&out, SIZE_MAX);
        buffer_text(&text, "version: \"1.0\"\nnodes:\n");
        for (unsigned i = 0; i < nodes; i++) buffer_format(&text, "  - {id: n%u, type: passthrough}\n", i);
        buffer_text(&text, "edges:\n  - {from: START, to: n0}\n  - from: [n0");
        for (unsigned i = 1; i < nodes; i++) buffer_format(&text, ", n%u", i);
        buffer_text(&text, "]\n    to: [n0");
        for (unsigned i = 1; i < nodes; i++) buffer_format(&text, ", n%u", i);
        buffer_text(&text, "]\n");
        struct document *document = read_text(buffer_cstr(&text), text.length);
        assert_int_equal(draw_document(&out, document, NULL, DRAW_SVG, &error), nodes == 300 ? TN_OK : TN_LIMIT);
        if (nodes == 300) assert_int_equal(count(buffer_cstr(&out), "class=\"edge join\""), 600);
        if (nodes == 400) assert_non_null(strstr(error.message, "more than 100000 nodes and arrows"));
        document_unref(document);
        error_finish(&error);
        buffer_finish(&text);
        buffer_finish(&out);
    }
}

/* ---- The page ---- */

static void the_page_allows_only_its_own_parts(void **state) {
    (void)state;
    char *html = drawing_of("version: \"1.0\"\nagent: {name: page}\nnodes: [{id: a, type: passthrough}]\n"
                            "edges: [{from: START, to: a}]\n",
                            DRAW_HTML);
    assert_int_equal(strncmp(html, "<!DOCTYPE html>\n", 16), 0);
    assert_non_null(strstr(html, "content=\"default-src 'none'; script-src 'sha256-"));
    assert_int_equal(count(html, "'sha256-"), 3);
    assert_int_equal(count(html, "unsafe"), 0);
    assert_int_equal(count(html, "<style>"), 2);
    assert_int_equal(count(html, "<script>"), 1);
    assert_int_equal(count(html, "://"), 1); /* the name space of SVG: nothing is loaded */
    assert_int_equal(count(html, " style="), 0);
    mem_free(html);
}

/* ---- Widths ---- */

static void widths_are_those_of_helvetica(void **state) {
    (void)state;
    static const struct {
        enum text_font font;
        uint32_t size;
        const char *text;
        int64_t width;
    } cases[] = {
        {TEXT_SANS, 10, "", 0},     {TEXT_SANS, 10, "il", 45},  {TEXT_SANS, 10, "W~", 153},
        {TEXT_BOLD, 10, "il", 56},  {TEXT_BOLD, 20, " ~", 173}, {TEXT_MONO, 10, "il W", 240},
        {TEXT_SANS, 10, "世", 100}, {TEXT_SANS, 10, "😀", 100},  {TEXT_SANS, 10, "e\u0301", 56},
        {TEXT_SANS, 10, "é", 65},   {TEXT_MONO, 10, "é", 60},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(text_width(cases[i].font, cases[i].size, cases[i].text, strlen(cases[i].text)),
                         cases[i].width);
}

static void expect_fit(const char *text, int64_t most, const char *expected) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    text_fit(&out, TEXT_MONO, 10, text, most);
    assert_string_equal(buffer_cstr(&out), expected);
    buffer_finish(&out);
}

static void expect_lines(const char *text, int64_t most, uint32_t lines, const char *expected) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    uint32_t got = text_wrap(&out, TEXT_MONO, 10, text, most, lines);
    assert_string_equal(buffer_cstr(&out), expected);
    assert_int_equal(got, count(expected, "\n") + 1);
    buffer_finish(&out);
}

static void texts_are_made_to_fit(void **state) {
    (void)state;
    expect_fit("abcde", 300, "abcde");
    expect_fit("abcde", 299, "abc…");
    expect_fit("世界人", 259, "世…");
    expect_fit("abc", 10, "…");
    expect_lines("", 300, 3, "");
    expect_lines("one two", 420, 3, "one two");
    expect_lines("one two three", 420, 3, "one two\nthree");
    expect_lines("a || b && c", 420, 3, "a ||\nb && c");
    expect_lines("aa || bbb cc || dd", 500, 2, "aa ||\nbbb cc …");
    expect_lines("one two three four", 300, 2, "one\ntwo …");
    expect_lines("abcdefgh", 300, 3, "abcde\nfgh");
    expect_lines("state.messages.size()", 600, 3, "state\n.messages\n.size()");
    expect_lines("abc", 10, 3, "…");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_the_corpus),
        cmocka_unit_test(elements_have_data),
        cmocka_unit_test(draws_what_is_there),
        cmocka_unit_test(a_join_has_a_bar),
        cmocka_unit_test(texts_cannot_become_elements),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(documents_are_inside_their_nodes),
        cmocka_unit_test(pictures_stay_below_the_limit),
        cmocka_unit_test(arrows_of_pictures_are_limited),
        cmocka_unit_test(the_page_allows_only_its_own_parts),
        cmocka_unit_test(widths_are_those_of_helvetica),
        cmocka_unit_test(texts_are_made_to_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
