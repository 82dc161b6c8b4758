/* template_test.c - templates: the corpus, reports of mistakes, positions of holes, limits, hostile texts. */
#include "adl/template/template.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "tests/unit/corpus.h"

/* ---- The bindings: `state`, whose fields need no prefix, and names ---- */

struct host {
    tn_value bindings, state, names, fields, needed;
    struct expr_fields table;
    struct expr_variable variable;
    struct expr_scope scope;
    struct expr_env env;
};

static int32_t field_index(void *self, const char *name, size_t length) {
    struct host *host = self;
    for (size_t i = 0; i < value_count(host->fields); i++) {
        size_t other;
        const char *chars = value_chars(value_at(host->fields, i), &other);
        if (other == length && memcmp(chars, name, length) == 0) return (int32_t)i;
    }
    return -1;
}

static const char *field_name(void *self, uint32_t index) {
    struct host *host = self;
    return index < value_count(host->fields) ? value_chars(value_at(host->fields, index), NULL) : NULL;
}

/* `needed` lists the fields that have no default. */
static bool field_nullable(void *self, uint32_t index) {
    struct host *host = self;
    for (size_t i = 0; host->needed && i < value_count(host->needed); i++)
        if (value_equal(value_at(host->needed, i), value_at(host->fields, index))) return false;
    return true;
}

static tn_value host_field(void *self, uint32_t variable, uint32_t field) {
    struct host *host = self;
    assert_int_equal(variable, 0);
    return value_get_key(host->state, value_at(host->fields, field));
}

static tn_value host_name(void *self, const char *name, size_t length) {
    return value_get_n(((struct host *)self)->names, name, length);
}

static const char *host_name_at(void *self, uint32_t index) {
    struct host *host = self;
    return index < value_count(host->names) ? value_chars(value_key_at(host->names, index), NULL) : NULL;
}

static void host_init(struct host *host, const char *bindings) {
    *host = (struct host){.fields = value_array()};
    if (json_read(bindings, strlen(bindings), NULL, &host->bindings, NULL) != TN_OK)
        fail_msg("expected JSON, found: %s", bindings);
    tn_value fields = value_get(host->bindings, "fields");
    host->state = value_get(host->bindings, "state");
    host->names = value_get(host->bindings, "names");
    host->needed = value_get(host->bindings, "needed");
    for (size_t i = 0; fields && i < value_count(fields); i++)
        host->fields = value_push_take(host->fields, value_ref(value_at(fields, i)));
    for (size_t i = 0; i < value_count(host->state); i++)
        host->fields = value_push_take(host->fields, value_ref(value_key_at(host->state, i)));
    host->table =
        (struct expr_fields){.self = host, .index = field_index, .name = field_name, .nullable = field_nullable};
    host->variable = (struct expr_variable){.name = "state", .fields = &host->table, .bare = true};
    host->scope = (struct expr_scope){.variables = &host->variable, .variable_count = 1, .open = host->names != NULL};
    host->env = (struct expr_env){.self = host, .field = host_field, .name = host_name, .name_at = host_name_at};
}

static void host_finish(struct host *host) {
    value_unref(host->bindings);
    value_unref(host->fields);
}

static void check_error(const struct corpus_case *test, const struct error *error, bool compiled) {
    const char *wanted = corpus_need(test, "error");
    struct buffer found;
    buffer_init(&found, SIZE_MAX);
    buffer_format(&found, "%c %u-%u %s %s", compiled ? '!' : '?', error->span.start, error->span.end, error->code,
                  error->message);
    if (strncmp(buffer_cstr(&found), wanted, strlen(wanted)) != 0)
        fail_msg("%s:%zu: `%s`\nexpected: %s\nfound:    %s", test->path, test->line, test->name, wanted, found.data);
    buffer_finish(&found);
}

static void run_case(const struct corpus_case *test, void *user) {
    (void)user;
    const char *text = corpus_need(test, "in");
    struct host host;
    struct error error = ERROR_INIT;
    struct template *template = NULL;
    struct buffer out;
    host_init(&host, corpus_need(test, "bindings"));
    buffer_init(&out, TEMPLATE_OUTPUT);
    int32_t status = template_compile(text, strlen(text), &host.scope, NULL, &template, &error);
    bool compiled = status == TN_OK;
    if (compiled) status = template_render(template, &host.env, &out, &error);
    if (status == TN_OK && corpus_section(test, "error"))
        fail_msg("`%s`: expected an error, found: %s", test->name, buffer_cstr(&out));
    if (status == TN_OK)
        corpus_expect(test, "out", buffer_cstr(&out));
    else
        check_error(test, &error, compiled);
    /* Without a callback, the result is the same. */
    buffer_clear(&out);
    if (compiled) assert_int_equal(template_render(template, &host.env, &out, NULL), status);
    template_unref(template);
    buffer_finish(&out);
    error_finish(&error);
    host_finish(&host);
}

static void test_corpus(void **state) {
    (void)state;
    print_message("%d cases\n", corpus_each("tests/corpus/template/template.txt", run_case, NULL));
    assert_int_equal(value_live_count(), 0);
}

/* ---- Mistakes ---- */

static void collect(void *self, const struct expr_problem *problem) {
    char *text = self;
    size_t length = strlen(text);
    snprintf(text + length, 500 - length, "%d %u-%u %s\n", problem->mistake, problem->span.start, problem->span.end,
             problem->nearest ? problem->nearest : "-");
}

static void test_reports_all_mistakes(void **state) {
    (void)state;
    static const char text[] = "{topc} } {state.usr} {} {1 +} {size(";
    struct host host;
    char found[500] = "";
    struct template *template = NULL;
    host_init(&host, "{\"state\": {\"topic\": 1, \"user\": 2}}");
    host.scope.problem = collect;
    host.scope.self = found;
    assert_int_equal(template_compile(text, strlen(text), &host.scope, NULL, &template, NULL), TN_INVALID);
    assert_null(template);
    assert_string_equal(found, "1 1-5 topic\n0 7-8 -\n1 16-19 user\n0 21-23 -\n0 28-28 -\n0 30-31 -\n");
    host_finish(&host);
}

/* ---- Holes ---- */

static void test_holes(void **state) {
    (void)state;
    static const char text[] = "é {{x}} { topic }{user.name}";
    struct host host;
    struct template *template = NULL;
    host_init(&host, "{\"state\": {\"topic\": 1, \"user\": 2}}");
    assert_int_equal(template_compile(text, strlen(text), &host.scope, NULL, &template, NULL), TN_OK);
    assert_false(template_constant(template));
    assert_int_equal(template_hole_count(template), 2);
    const struct template_hole *hole = template_hole_at(template, 0);
    const struct expr_use *use = expr_use_at(hole->expr, 0);
    assert_memory_equal(text + hole->span.start, "{ topic }", hole->span.end - hole->span.start);
    assert_memory_equal(text + hole->start + use->span.start, "topic", use->span.end - use->span.start);
    assert_int_equal(use->field, 0);
    assert_string_equal(expr_text(template_hole_at(template, 1)->expr), "user.name");
    assert_ptr_equal(template_ref(template), template);
    template_unref(template);
    template_unref(template);
    assert_int_equal(template_compile("no {{holes}}", 12, NULL, NULL, &template, NULL), TN_OK);
    assert_true(template_constant(template));
    template_unref(template);
    assert_null(template_ref(NULL));
    template_unref(NULL);
    host_finish(&host);
}

/* ---- Limits and hostile texts ---- */

static int32_t outcome(const char *text, size_t length, const struct expr_limits *limits, size_t room) {
    struct expr_scope scope = {.open = true};
    struct template *template;
    struct error error = ERROR_INIT;
    struct buffer out;
    buffer_init(&out, room);
    int32_t status = template_compile(text, length, &scope, limits, &template, &error);
    if (status == TN_OK) {
        status = template_render(template, NULL, &out, &error);
        template_unref(template);
    }
    assert_true(out.length <= room);
    assert_int_equal(status != TN_OK, error.code != NULL);
    assert_int_equal(status == TN_LIMIT, error.code && strcmp(error.code, "LIMIT") == 0);
    error_finish(&error);
    buffer_finish(&out);
    return status;
}

static int32_t outcome_repeated(const char *unit, size_t count, size_t room) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    for (size_t i = 0; i < count; i++) buffer_text(&text, unit);
    int32_t status = outcome(text.data, text.length, NULL, room);
    buffer_finish(&text);
    return status;
}

/* Loops inside each other, around a text. */
static int32_t outcome_text(const char *loop, size_t count, const char *inside) {
    char text[1000] = "";
    for (size_t i = 0; i < count; i++) strcat(text, loop);
    strcat(text, inside);
    for (size_t i = 0; i < count; i++) strcat(text, "{end}");
    return outcome(text, strlen(text), NULL, TEMPLATE_OUTPUT);
}

/* Costs more than a thousand operations. */
#define TENS        "[1,2,3,4,5,6,7,8,9,0]"
#define TEN_MATCHES "{if " TENS ".all(a, " TENS ".all(b, " TENS ".all(c, true)))}{end}"

static void test_limits(void **state) {
    (void)state;
    assert_int_equal(outcome("abc{1}", 6, NULL, 4), TN_OK);
    assert_int_equal(outcome("abc{1}", 6, NULL, 3), TN_LIMIT);
    assert_int_equal(outcome("abc{1}", 6, NULL, 2), TN_LIMIT);
    for (size_t blocks = TEMPLATE_BLOCKS_MAX; blocks <= TEMPLATE_BLOCKS_MAX + 1; blocks++) {
        char text[1000] = "";
        for (size_t i = 0; i < blocks; i++) strcat(text, "{for x in [1]}");
        strcat(text, "{x}");
        for (size_t i = 0; i < blocks; i++) strcat(text, "{end}");
        assert_int_equal(outcome(text, strlen(text), NULL, 10), blocks > TEMPLATE_BLOCKS_MAX ? TN_LIMIT : TN_OK);
    }
    assert_int_equal(outcome_text("{for x in [1,2,3,4,5,6,7,8,9,0]}", 4, "."), TN_OK);
    assert_int_equal(outcome_text("{for x in [1,2,3,4,5,6,7,8,9,0]}", 5, "."), TN_LIMIT);         /* steps */
    assert_int_equal(outcome_text("{for x in [1,2,3,4,5,6,7,8,9,0]}", 4, TEN_MATCHES), TN_LIMIT); /* operations */
    assert_int_equal(outcome("{[[1]]}", 7, &(struct expr_limits){.depth = 1}, 100), TN_LIMIT);
    assert_int_equal(outcome("{1 + 1}", 7, &(struct expr_limits){.operations = 3}, 100), TN_LIMIT);
    assert_int_equal(outcome_repeated("{1}", TEMPLATE_HOLES_MAX, 10000), TN_OK);
    assert_int_equal(outcome_repeated("{1}", TEMPLATE_HOLES_MAX + 1, 10000), TN_LIMIT);
    assert_int_equal(outcome_repeated("a", TEMPLATE_TEXT_MAX, TEMPLATE_TEXT_MAX), TN_OK);
    assert_int_equal(outcome_repeated("a", TEMPLATE_TEXT_MAX + 1, SIZE_MAX), TN_LIMIT);
}

static void test_hostile(void **state) {
    (void)state;
    static const char text[] = "a{x.y}{{ {\"}\"} }}{ {'a': [1]}.a }{'''}'''}";
    for (size_t length = 0; length <= strlen(text); length++) (void)outcome(text, length, NULL, 1000);
    assert_int_equal(outcome("\xff", 1, NULL, 10), TN_INVALID);
    assert_int_equal(outcome("", 0, NULL, 10), TN_OK);
    assert_int_equal(outcome("a\0b", 3, NULL, 10), TN_OK);
    assert_int_equal(outcome("{a\0b}", 5, NULL, 10), TN_INVALID);
    /* Many unclosed holes are found in one pass, not in one pass per hole. */
    assert_int_equal(outcome_repeated("{ ", 200000, 10), TN_INVALID);
    assert_int_equal(outcome_repeated("{'", 200000, 10), TN_INVALID);
    assert_int_equal(outcome_repeated("} ", 200000, 10), TN_INVALID);
    assert_int_equal(value_live_count(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corpus),  cmocka_unit_test(test_reports_all_mistakes),
        cmocka_unit_test(test_holes),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
