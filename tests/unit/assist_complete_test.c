/*
 * assist_complete_test.c - completion at the cursors of tests/corpus/assist/complete_*.txt.
 *
 * A case has the sections `text` (with ‸) and `complete`, and optionally `file` (the name of the document) and
 * `options`
 * (`base`, `crlf`: see fixture_text). The lines of `complete` are rules:
 *
 *     = a, b, c             exactly these labels, in this order          first: a, b     they are the first ones
 *     + label (kind) => text   an item; kind and text are optional       - label         no such item
 *     $ label => snippet       its snippet                               ~ text          what is replaced
 *     empty                    no item
 *
 * In a text, `⏎` is the end of a line, and spaces at its end are left out.
 */
#include "adl/assist/complete.h"
#include "adl/assist/cursor.h"
#include "adl/value/buffer.h"
#include "tests/unit/complete_fixture.h"

static struct assist_world world = {
    .each_role = fixture_each_role, .each_file = fixture_each_file, .each_document = fixture_each_document};

static size_t failures; /* rules that do not hold: all are printed */

static const struct assist_completion *find_item(const struct assist_completions *list, const char *label,
                                                 size_t length) {
    for (uint32_t i = 0; i < list->count; i++)
        if (strlen(list->items[i].label) == length && memcmp(list->items[i].label, label, length) == 0)
            return &list->items[i];
    return NULL;
}

/* Appends a text with its line ends visible. */
static void write_visible(struct buffer *out, const char *text) {
    for (; *text; text++) {
        if (*text == '\n')
            buffer_text(out, "⏎");
        else if (*text == '\r')
            buffer_text(out, "␍");
        else
            buffer_char(out, *text);
    }
}

static void list_labels(const struct assist_completions *list, uint32_t most, struct buffer *out) {
    for (uint32_t i = 0; i < list->count && i < most; i++)
        buffer_format(out, "%s%s", i ? ", " : "", list->items[i].label);
}

static void fail_rule(const struct corpus_case *test, const char *rule, const struct assist_completions *list,
                      const char *found) {
    struct buffer labels;
    buffer_init(&labels, 4000);
    list_labels(list, 60, &labels);
    (void)fprintf(stderr, "%s:%zu: `%s`\nrule:  %s\nfound: %s\nlabels: %s\n\n", test->path, test->line, test->name,
                  rule, found, buffer_cstr(&labels));
    buffer_finish(&labels);
    failures++;
}

static void expect_labels(const struct corpus_case *test, const char *rule, const char *labels,
                          const struct assist_completions *list, bool only_first) {
    struct buffer found;
    uint32_t count = 1;
    for (const char *at = labels; *at; at++) count += *at == ',';
    buffer_init(&found, SIZE_MAX);
    list_labels(list, only_first ? count : UINT32_MAX, &found);
    if (strcmp(buffer_cstr(&found), labels) != 0) fail_rule(test, rule, list, buffer_cstr(&found));
    buffer_finish(&found);
}

/* `label (kind) => text` */
static void expect_item(const struct corpus_case *test, const char *rule, const struct assist_completions *list) {
    const char *label = rule + 2, *text = strstr(label, " => "), *kind = strstr(label, " (");
    size_t length = text ? (size_t)(text - label) : strlen(label);
    if (kind && kind < label + length) length = (size_t)(kind - label);
    const struct assist_completion *item = find_item(list, label, length);
    if (!item) {
        fail_rule(test, rule, list, "no such item");
        return;
    }
    const char *found = completion_kind_name(item->kind);
    bool other =
        kind == label + length && (strncmp(kind + 2, found, strlen(found)) != 0 || kind[2 + strlen(found)] != ')');
    if (other) fail_rule(test, rule, list, found);
    if (!text) return;
    struct buffer visible;
    buffer_init(&visible, SIZE_MAX);
    write_visible(&visible, *rule == '$' ? item->snippet ? item->snippet : "(none)" : item->text);
    /* Spaces at the end of a line of the corpus are left out. */
    while (visible.length > 0 && visible.data[visible.length - 1] == ' ') visible.data[--visible.length] = '\0';
    const char *expected = text + strlen(" => ");
    if (strcmp(buffer_cstr(&visible), expected) != 0) fail_rule(test, rule, list, buffer_cstr(&visible));
    buffer_finish(&visible);
}

static void expect_replaced(const struct corpus_case *test, const char *rule, const struct assist_completions *list,
                            const struct source *source) {
    if (list->count == 0) {
        fail_rule(test, rule, list, "no item");
        return;
    }
    struct span span = list->items[0].span;
    char *text = mem_text_n(source_text(source) + span.start, span.end - span.start);
    if (strcmp(text, rule[1] ? rule + 2 : "") != 0) fail_rule(test, rule, list, text);
    mem_free(text);
}

static void check_rule(const struct corpus_case *test, const char *rule, const struct assist_completions *list,
                       const struct source *source) {
    switch (*rule) {
    case '=': expect_labels(test, rule, rule + 2, list, false); break;
    case 'f': expect_labels(test, rule, rule + strlen("first: "), list, true); break;
    case '+':
    case '$': expect_item(test, rule, list); break;
    case '-':
        if (find_item(list, rule + 2, strlen(rule + 2))) fail_rule(test, rule, list, "it is offered");
        break;
    case '~': expect_replaced(test, rule, list, source); break;
    case 'e':
        if (list->count > 0) fail_rule(test, rule, list, "items");
        break;
    default: fail_msg("%s:%zu: unknown rule: %s", test->path, test->line, rule);
    }
}

static void check_case(const struct corpus_case *test, void *user) {
    const char *name = corpus_section(test, "file");
    char *text = fixture_text(test);
    struct assist_place place;
    assist_place_init(&place, &world, name ? name : "doc.yaml", text);
    struct assist_completions *list = assist_complete(place.assist, place.offset);
    fixture_check_list(list, place.assist, place.offset);
    char *rules = mem_text(corpus_need(test, "complete")), *rest = rules;
    for (char *rule; (rule = strsep(&rest, "\n"));)
        if (*rule) check_rule(test, rule, list, place.assist->source);
    mem_free(rules);
    assist_completions_free(list);
    assist_place_finish(&place);
    mem_free(text);
    ++*(size_t *)user;
}

static void corpus_holds(void **state) {
    static const char *const files[] = {"key", "value", "config", "expression", "template", "incomplete", "json"};
    size_t cases = 0;
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[200];
        snprintf(path, sizeof path, "tests/corpus/assist/complete_%s.txt", files[i]);
        corpus_each(path, check_case, &cases);
    }
    assert_int_equal(failures, 0);
    assert_true(cases >= 100);
}

int main(void) {
    struct manifest_catalog *catalog = manifest_catalog_new("tests/corpus/assist/acme.json");
    catalog->catalog.read = fixture_read_file;
    world.catalog = &catalog->catalog;
    const struct CMUnitTest tests[] = {cmocka_unit_test(corpus_holds)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    manifest_catalog_free(catalog);
    return failed;
}
