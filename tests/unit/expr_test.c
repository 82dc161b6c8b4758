/*
 * expr_test.c - expressions: the corpus, allocations during evaluation, every limit, hostile texts, tokens and tables.
 *
 * A corpus file (tests/corpus/expr) consists of cases of three lines, with blank lines and `#` comments between them:
 *
 *     state.score > 80                 the expression
 *     {"state": {"score": 81}}         variables; the host resolves the fields of `state`
 *     true                             the result as JSON, or an error:
 *     ! 6-11 has no value              evaluation fails at bytes [6, 11) with a message that contains these words
 *     ? 6-11 has no field              compilation fails in the same way
 *
 * Besides variables, the second line may contain "kinds" (the possible kinds of fields of state, present or not),
 * "limits", "unchecked", "open" (then "names" are resolved) and "bare" (fields of state without `state.`).
 */
#include "adl/expr/expr.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "tests/unit/corpus.h"
#include <dirent.h>
#include <pthread.h>

#define VARIABLES_MAX 16
#define FOLDER        TENON_SOURCE_DIR "/tests/corpus/expr"

static tn_value json(const char *text) {
    tn_value value = NULL;
    if (json_read(text, strlen(text), NULL, &value, NULL) != TN_OK) fail_msg("not JSON: %s", text);
    return value;
}

/* ---- A host: variables of an object, of which `state` has fields ---- */

struct host {
    tn_value bindings, state, names;
    tn_value fields; /* an array of the names of fields */
    uint32_t *kinds;
    struct expr_variable variables[VARIABLES_MAX];
    struct expr_fields table;
    struct expr_scope scope;
    struct expr_env env;
    struct expr_limits limits;
    uint32_t whole; /* number of uses of the whole state */
};

static uint32_t kinds_of(const char *text) {
    uint32_t kinds = 0;
    for (int kind = TN_NULL; kind <= TN_OBJECT; kind++)
        if (strstr(text, expr_kind_name(kind))) kinds |= EXPR_KIND(kind);
    return kinds;
}

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

static uint32_t field_kinds(void *self, uint32_t index) { return ((struct host *)self)->kinds[index]; }

static tn_value host_variable(void *self, uint32_t variable) {
    struct host *host = self;
    if (host->variables[variable].fields) host->whole++;
    return value_get(host->bindings, host->variables[variable].name);
}

static tn_value host_field(void *self, uint32_t variable, uint32_t field) {
    struct host *host = self;
    assert_non_null(host->variables[variable].fields);
    return value_get_key(host->state, value_at(host->fields, field));
}

static tn_value host_name(void *self, const char *name, size_t length) {
    return value_get_n(((struct host *)self)->names, name, length);
}

static const char *host_name_at(void *self, uint32_t index) {
    struct host *host = self;
    return index < value_count(host->names) ? value_chars(value_key_at(host->names, index), NULL) : NULL;
}

static void add_field(struct host *host, tn_value name, uint32_t kinds) {
    host->fields = value_push_take(host->fields, value_ref(name));
    host->kinds = mem_array(host->kinds, value_count(host->fields), sizeof *host->kinds);
    host->kinds[value_count(host->fields) - 1] = kinds;
}

static void add_fields(struct host *host) {
    tn_value kinds = value_get(host->bindings, "kinds");
    for (size_t i = 0; i < value_count(kinds); i++)
        add_field(host, value_key_at(kinds, i), kinds_of(value_chars(value_value_at(kinds, i), NULL)));
    for (size_t i = 0; i < value_count(host->state); i++) {
        tn_value name = value_key_at(host->state, i);
        if (!value_get_key(kinds, name)) add_field(host, name, 0);
    }
}

static uint32_t limit_of(tn_value limits, const char *name) {
    tn_value limit = value_get(limits, name);
    return limit ? (uint32_t)value_to_int(limit) : 0;
}

static int64_t host_now(void *self) {
    (void)self;
    return 1700000000123;
}

static void host_init(struct host *host, const char *bindings) {
    *host = (struct host){.bindings = json(bindings), .fields = value_array()};
    tn_value limits = value_get(host->bindings, "limits");
    host->state = value_get(host->bindings, "state");
    host->names = value_get(host->bindings, "names");
    host->limits = (struct expr_limits){limit_of(limits, "operations"), limit_of(limits, "depth"),
                                        limit_of(limits, "string_length"), limit_of(limits, "list_length"),
                                        limit_of(limits, "memory")};
    host->table = (struct expr_fields){host, field_index, field_name, field_kinds, NULL};
    add_fields(host);
    size_t count = value_count(host->bindings);
    assert_true(count <= VARIABLES_MAX);
    for (size_t i = 0; i < count; i++) {
        const char *name = value_chars(value_key_at(host->bindings, i), NULL);
        bool state = strcmp(name, "state") == 0;
        host->variables[i] = (struct expr_variable){
            .name = name, .fields = state ? &host->table : NULL, .bare = state && value_get(host->bindings, "bare")};
    }
    host->scope = (struct expr_scope){.variables = host->variables,
                                      .variable_count = count,
                                      .open = value_get(host->bindings, "open") != NULL,
                                      .unchecked = value_get(host->bindings, "unchecked") != NULL};
    host->env = (struct expr_env){
        .self = host, .variable = host_variable, .field = host_field, .name = host_name, .name_at = host_name_at};
    host->env.now = host_now;
}

static void host_finish(struct host *host) {
    value_unref(host->bindings);
    value_unref(host->fields);
    mem_free(host->kinds);
}

/* ---- The corpus ---- */

static bool fails_as(const struct error *error, const char *wanted, char *shown, size_t size) {
    unsigned start, end;
    int words = 0;
    snprintf(shown, size, "%u-%u %s", error->span.start, error->span.end, error->message);
    if (sscanf(wanted + 1, " %u-%u %n", &start, &end, &words) < 2) return false;
    return error->span.start == start && error->span.end == end && strstr(error->message, wanted + 1 + words);
}

static bool run_case(const char *text, const char *bindings, const char *wanted) {
    struct host host;
    struct error error = ERROR_INIT;
    struct expr *expr = NULL;
    tn_value result = NULL;
    char shown[4200] = "";
    bool passed = false;
    host_init(&host, bindings);
    int32_t status = expr_compile(text, strlen(text), &host.scope, &host.limits, &expr, &error);
    bool compiled = status == TN_OK;
    if (compiled) status = expr_eval(expr, &host.env, &result, &error);
    if (status != TN_OK) {
        passed = fails_as(&error, wanted, shown + 2, sizeof shown - 2) && *wanted == (compiled ? '!' : '?');
        shown[0] = compiled ? '!' : '?';
        shown[1] = ' ';
        assert_string_equal(error.code, status == TN_LIMIT ? "LIMIT" : "EXPRESSION_ERROR");
    } else {
        char *got = json_text(result, JSON_COMPACT);
        tn_value expected = *wanted == '!' || *wanted == '?' ? NULL : json(wanted);
        passed = expected && value_identical(result, expected);
        assert_true(expr_kinds(expr) & EXPR_ANY);
        snprintf(shown, sizeof shown, "%s", got);
        mem_free(got);
        value_unref(expected);
    }
    if (compiled) expr_unref(expr);
    value_unref(result);
    error_finish(&error);
    host_finish(&host);
    if (!passed) print_message("%s\n%s\nexpected: %s\nfound:    %s\n\n", text, bindings, wanted, shown);
    return passed;
}

/*
 * Returns the next line that is neither blank nor a comment; NULL at the end. Inside a case, comments are ordinary
 * lines.
 */
static char *next_line(char **rest, bool first) {
    char *line;
    while ((line = strsep(rest, "\n")) != NULL)
        if (!first || (*line && *line != '#')) return line;
    return NULL;
}

static void run_file(const char *name, int *cases, int *failures) {
    char path[1024];
    snprintf(path, sizeof path, FOLDER "/%s", name);
    char *text = corpus_load(path, NULL), *rest = text, *expression;
    while ((expression = next_line(&rest, true)) != NULL) {
        char *bindings = next_line(&rest, false), *wanted = next_line(&rest, false);
        if (!bindings || !wanted || !*wanted) fail_msg("%s: `%s` is not followed by two lines", name, expression);
        ++*cases;
        if (run_case(expression, bindings, wanted)) continue;
        print_message("^ in %s\n\n", name);
        ++*failures;
    }
    free(text);
}

static void test_corpus(void **state) {
    (void)state;
    int cases = 0, failures = 0;
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strstr(entry->d_name, ".txt")) run_file(entry->d_name, &cases, &failures);
    closedir(folder);
    print_message("%d cases of the corpus, %d failed\n", cases, failures);
    assert_true(cases > 0);
    assert_int_equal(failures, 0);
    assert_int_equal(value_live_count(), 0);
}

/* ---- What evaluating costs ---- */

static struct expr *compiled(const struct host *host, const char *text) {
    struct error error = ERROR_INIT;
    struct expr *expr = NULL;
    if (expr_compile(text, strlen(text), &host->scope, &host->limits, &expr, &error) != TN_OK)
        fail_msg("%s: %s", text, error.message);
    return expr;
}

static void test_no_allocations(void **state) {
    (void)state;
    static const char *const expressions[] = {
        "state.score > 80 && \"urgent\" in state.tags",
        "state.user.name == 'ada' || state.score == 81.0",
        "has(state.user.age) ? state.user.age > 30 : state.score != 3",
        "state.tags[1] == \"urgent\" && !(state.score in [1, 2, 3])",
        "state.tags.exists(t, t.startsWith('u')) && state.tags.all(t, size(t) < 10)",
        "state.user == {'name': 'ada'} && state.tags != ['x']",
        "state[key] == 81 && key in state",
        "1 / 0 > 1 || state.user.missing == 2 || true",
        "state.user.name < 'b' && state.score * 2 + 1 > 100 && -state.score < 0",
        "type(state.score) == int && state.user.name.contains('d')",
        "timestamp('2009-02-13T23:31:30Z') - duration('1h') < timestamp(state.score)",
        "state.user.name.size() == 3 ? state.tags.len() == 2 : false",
    };
    struct host host;
    struct expr_cost cost;
    host_init(&host, "{\"state\": {\"score\": 81, \"tags\": [\"a\", \"urgent\"], \"user\": {\"name\": \"ada\"}}, "
                     "\"key\": \"score\"}");
    host.env.cost = &cost;
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        struct expr *expr = compiled(&host, expressions[i]);
        bool truth;
        int64_t live = value_live_count();
        int32_t status = expr_eval_bool(expr, &host.env, &truth, NULL);
        if (status != TN_OK || cost.allocations || value_live_count() != live)
            fail_msg("%s: status %d, %u allocations", expressions[i], status, (unsigned)cost.allocations);
        assert_true(cost.operations > 0);
        expr_unref(expr);
    }
    /* Built values are counted, so that the test above can fail. */
    struct expr *expr =
        compiled(&host, "[1, 2, 3, 4, 5, 6, 7, 8].map(x, [x, x, x, x, x, x, x, x]).map(y, y.map(z, z)) == []");
    bool truth;
    assert_int_equal(expr_eval_bool(expr, &host.env, &truth, NULL), TN_OK);
    assert_true(cost.allocations > 0 && cost.memory > 1024);
    expr_unref(expr);
    host_finish(&host);
}

static void test_results_are_shared(void **state) {
    (void)state;
    struct host host;
    host_init(&host, "{\"state\": {\"text\": \"a text long enough\", \"list\": [1, 2]}}");
    const char *const names[] = {"state.text", "state.list", "state.list == [] ? [] : state.text"};
    const char *const fields[] = {"text", "list", "text"};
    for (size_t i = 0; i < 3; i++) {
        struct expr *expr = compiled(&host, names[i]);
        int64_t live = value_live_count();
        tn_value result;
        assert_int_equal(expr_eval(expr, &host.env, &result, NULL), TN_OK);
        assert_ptr_equal(result, value_get(host.state, fields[i]));
        assert_int_equal(value_live_count(), live);
        value_unref(result);
        expr_unref(expr);
    }
    assert_int_equal(host.whole, 0);
    host_finish(&host);
}

/* ---- Conditions, uses, problems ---- */

static void test_conditions(void **state) {
    (void)state;
    struct host host;
    struct error error = ERROR_INIT;
    bool truth = true;
    host_init(&host, "{\"state\": {\"score\": 81}}");
    struct expr *expr = compiled(&host, "state.score");
    assert_int_equal(expr_eval_bool(expr, &host.env, &truth, &error), TN_FAILED);
    assert_string_equal(error.code, "EXPRESSION_ERROR");
    assert_non_null(strstr(error.message, "returns int; it must return bool"));
    assert_true(truth);
    assert_int_equal(expr_eval_bool(expr, NULL, &truth, &error), TN_FAILED);
    assert_non_null(strstr(error.message, "`score` has no value"));
    expr_unref(expr);
    expr = compiled(&host, "default");
    assert_int_equal(expr_eval_bool(expr, NULL, &truth, NULL), TN_OK);
    assert_true(truth);
    assert_int_equal(expr_kinds(expr), EXPR_KIND(TN_BOOL));
    assert_string_equal(expr_text(expr), "default");
    assert_ptr_equal(expr_ref(expr), expr);
    expr_unref(expr);
    expr_unref(expr);
    assert_null(expr_ref(NULL));
    expr_unref(NULL);
    error_finish(&error);
    host_finish(&host);
}

static void test_uses(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t variable, field;
        bool guarded;
    } expected[] = {
        {"a", 0, 0, false},
        {"b", 0, 1, true},
        {"\"b\"", 0, 1, false},
        {"input", 1, EXPR_WHOLE, false},
        {"state", 0, EXPR_WHOLE, false},
        {"other", EXPR_FREE, EXPR_WHOLE, false},
    };
    struct host host;
    host_init(&host, "{\"state\": {\"a\": 1, \"b\": 2}, \"input\": 3, \"open\": true}");
    struct expr *expr = compiled(&host, "state.a > 1 && (has(state.b) ? state[\"b\"] > 1 : input == state) || other");
    const size_t count = sizeof expected / sizeof *expected;
    assert_int_equal(expr_use_count(expr), count);
    for (size_t i = 0; i < count; i++) {
        const struct expr_use *use = expr_use_at(expr, i);
        assert_int_equal(use->variable, expected[i].variable);
        assert_int_equal(use->field, expected[i].field);
        assert_int_equal(use->guarded, expected[i].guarded);
        assert_int_equal(use->span.end - use->span.start, strlen(expected[i].text));
        assert_memory_equal(expr_text(expr) + use->span.start, expected[i].text, strlen(expected[i].text));
    }
    expr_unref(expr);
    host_finish(&host);
}

static void test_uses_beyond(void **state) {
    static const struct {
        const char *text;
        bool beyond;
    } cases[] = {
        {"run.a", false},
        {"run.a.b + input.c", false},
        {"has(run.a) && run.a[0]", false},
        {"run", true},
        {"run.ab", true},
        {"run.a_", true},
        {"run[\"a\"]", true},
        {"run.a + run.b", true},
        {"[1].exists(run, run.b == 1)", false},
        {"\"run.b\" + x", false},
        {"run.A", true},
        {"run .a", true},
    };
    static const struct expr_variable variables[] = {{.name = "input"}, {.name = "run"}, {.name = "x"}};
    const struct expr_scope scope = {.variables = variables, .variable_count = 3};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct expr *expr = NULL;
        assert_int_equal(expr_compile(cases[i].text, strlen(cases[i].text), &scope, NULL, &expr, NULL), TN_OK);
        if (expr_uses_beyond(expr, 1, "a") != cases[i].beyond) fail_msg("%s", cases[i].text);
        assert_false(expr_uses_beyond(expr, 7, "a"));
        expr_unref(expr);
    }
}

struct problems {
    size_t count;
    char text[1024];
};

static void collect(void *self, const struct expr_problem *problem) {
    struct problems *problems = self;
    size_t length = strlen(problems->text);
    problems->count++;
    snprintf(problems->text + length, sizeof problems->text - length, "%d %u-%u %s\n", problem->mistake,
             problem->span.start, problem->span.end, problem->nearest ? problem->nearest : "-");
}

static void test_problems(void **state) {
    (void)state;
    struct host host;
    struct problems problems = {0};
    struct expr *expr = NULL;
    host_init(&host, "{\"state\": {\"score\": 1}, \"kinds\": {\"name\": \"string\"}}");
    host.scope.problem = collect;
    host.scope.self = &problems;
    const char *text =
        "state.scor > 1 && stat.x == 2 && state.name - 1 > 0 && state.name.beginsWith('a') && size() == (";
    assert_int_equal(expr_compile(text, strlen(text), &host.scope, NULL, &expr, NULL), TN_INVALID);
    assert_null(expr);
    assert_string_equal(problems.text, "1 6-10 score\n1 18-22 state\n3 44-45 -\n2 66-76 -\n2 85-89 -\n0 96-96 -\n");
    assert_int_equal(problems.count, 6);
    host_finish(&host);
}

/* ---- Bounds and hostile texts ---- */

static char *repeated(const char *before, const char *unit, size_t count, const char *after) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    buffer_text(&out, before);
    for (size_t i = 0; i < count; i++) buffer_text(&out, unit);
    buffer_text(&out, after);
    return buffer_detach(&out, NULL);
}

/* Compiles and evaluates without checks; returns the status of the first failure. */
static int32_t outcome(const char *text, size_t length, const struct expr_limits *limits) {
    struct expr_scope scope = {.unchecked = true};
    struct expr *expr;
    tn_value result;
    struct error error = ERROR_INIT;
    int32_t status = expr_compile(text, length, &scope, limits, &expr, &error);
    if (status == TN_OK) {
        status = expr_eval(expr, NULL, &result, &error);
        if (status == TN_OK) value_unref(result);
        expr_unref(expr);
    }
    assert_int_equal(status != TN_OK, error.code != NULL);
    assert_int_equal(status == TN_LIMIT, error.code && strcmp(error.code, "LIMIT") == 0);
    error_finish(&error);
    return status;
}

static int32_t outcome_of(const char *text, const struct expr_limits *limits) {
    return outcome(text, strlen(text), limits);
}

static int32_t outcome_repeated(const char *before, const char *unit, size_t count, const char *after) {
    char *text = repeated(before, unit, count, after);
    int32_t status = outcome_of(text, NULL);
    mem_free(text);
    return status;
}

static void test_bounds(void **state) {
    (void)state;
    /* Each limit: a case that just fits, and one that does not. */
    assert_int_equal(outcome_repeated("", "(", 32, "1))))))))))))))))))))))))))))))))"), TN_OK);
    assert_int_equal(outcome_repeated("", "(", 33, "1)))))))))))))))))))))))))))))))))"), TN_LIMIT);
    assert_int_equal(outcome_of("[[1]]", &(struct expr_limits){.depth = 1}), TN_LIMIT);
    assert_int_equal(outcome_of("[[1]]", &(struct expr_limits){.depth = 2}), TN_OK);
    char *deep = repeated("", "[", EXPR_DEPTH_CEILING + 1, "");
    assert_int_equal(outcome_of(deep, &(struct expr_limits){.depth = UINT32_MAX}), TN_LIMIT);
    deep[EXPR_DEPTH_CEILING] = '1';
    assert_int_equal(outcome_of(deep, &(struct expr_limits){.depth = UINT32_MAX}), TN_INVALID);
    mem_free(deep);
    assert_int_equal(outcome_of("1 + 1", &(struct expr_limits){.operations = 4}), TN_OK);
    assert_int_equal(outcome_of("1 + 1", &(struct expr_limits){.operations = 3}), TN_LIMIT);
    assert_int_equal(outcome_of("'ab' + 'c'", &(struct expr_limits){.string_length = 3}), TN_OK);
    assert_int_equal(outcome_of("'ab' + 'cd'", &(struct expr_limits){.string_length = 3}), TN_LIMIT);
    assert_int_equal(outcome_of("string(b'abcd')", &(struct expr_limits){.string_length = 3}), TN_LIMIT);
    assert_int_equal(outcome_of("[1, 2] + [3]", &(struct expr_limits){.list_length = 3}), TN_OK);
    assert_int_equal(outcome_of("[1, 2] + [3, 4]", &(struct expr_limits){.list_length = 3}), TN_LIMIT);
    assert_int_equal(outcome_of("[1, 2, 3, 4]", &(struct expr_limits){.list_length = 3}), TN_LIMIT);
    assert_int_equal(outcome_of("{1: 1, 2: 2, 3: 3, 4: 4}", &(struct expr_limits){.list_length = 3}), TN_LIMIT);
    assert_int_equal(outcome_of("[1, 2, 3].map(x, x)", &(struct expr_limits){.memory = 64}), TN_LIMIT);
    assert_int_equal(outcome_of("{1: size('a')}", &(struct expr_limits){.memory = 16}), TN_LIMIT);
    assert_int_equal(outcome_of("'a' + 'bbbbbbbbbbbbbbbb'", &(struct expr_limits){.memory = 16}), TN_LIMIT);
    assert_int_equal(outcome_repeated("", " ", EXPR_TEXT_MAX - 1, "1"), TN_OK);
    assert_int_equal(outcome_repeated("", " ", EXPR_TEXT_MAX, "1"), TN_LIMIT);
    assert_int_equal(outcome_repeated("'a'.matches('", "a", EXPR_PATTERN_LENGTH, "')"), TN_OK);
    assert_int_equal(outcome_repeated("'a'.matches('", "a", EXPR_PATTERN_LENGTH + 1, "')"), TN_FAILED);
    /* Functions that build: one more than the limit. */
    static const struct {
        const char *fits, *exceeds;
        struct expr_limits limits;
    } built[] = {
        {"lists.range(3)", "lists.range(4)", {.list_length = 3}},
        {"lists.range(3)", "lists.range(9223372036854775807)", {.list_length = 3}},
        {"'a,b,c'.split(',')", "'a,b,c,d'.split(',')", {.list_length = 3}},
        {"[[1], [2, 3]].flatten()", "[[1], [2, 3, 4]].flatten()", {.list_length = 3}},
        {"regex.extractAll('abc', '.')", "regex.extractAll('abcd', '.')", {.list_length = 3}},
        {"[1, 2, 3].transformMap(i, v, v)",
         "lists.range(3).transformMapEntry(i, v, {i: v, i + 9: v})",
         {.list_length = 3}},
        {"'abc'.upperAscii()", "'abcd'.upperAscii()", {.string_length = 3}},
        {"'abc'.reverse()", "'abcd'.reverse()", {.string_length = 3}},
        {"'abc'.replace('a', 'b')", "'abc'.replace('a', 'bb')", {.string_length = 3}},
        {"['a', 'b'].join('-')", "['a', 'b'].join('--')", {.string_length = 3}},
        {"'%d'.format([123])", "'%d'.format([1234])", {.string_length = 3}},
        {"'%.1f'.format([1])", "'%.2f'.format([1])", {.string_length = 3}},
        {"strings.quote('a')", "strings.quote('ab')", {.string_length = 3}},
        {"regex.replace('abc', 'a', 'b')", "regex.replace('abc', 'a', 'bb')", {.string_length = 3}},
        {"base64.encode(b'abc')", "base64.encode(b'abcd')", {.string_length = 4}},
        {"json.format('a')", "json.format('ab')", {.string_length = 3}},
        {"json.parse('1')", "json.parse('[1, 2, 3, 4, 5, 6, 7, 8]')", {.memory = 128}},
        {"[1].with(0, 2)", "[1, 2, 3, 4, 5, 6, 7, 8, 9].with(0, 2)", {.memory = 280}},
        {"[1, 2].sort()", "lists.range(3).sort()", {.memory = 200}},
        {"'aab'.split('a')", "regex.extractAll('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'a')", {.operations = 120}},
        {"sets.contains([1], [1])", "sets.contains(lists.range(1000), lists.range(1000))", {0}},
    };
    for (size_t i = 0; i < sizeof built / sizeof *built; i++) {
        if (outcome_of(built[i].fits, &built[i].limits) != TN_OK) fail_msg("%s", built[i].fits);
        if (outcome_of(built[i].exceeds, &built[i].limits) != TN_LIMIT) fail_msg("%s", built[i].exceeds);
    }
    assert_int_equal(outcome_repeated("regex.extract('", "a", 60, "!', '(a+)+$')"), TN_LIMIT);
    /* || does not absorb an exceeded limit. */
    assert_int_equal(outcome_of("[1, 2, 3].map(x, x) == [] || true", &(struct expr_limits){.memory = 64}), TN_LIMIT);
    assert_int_equal(outcome_of("('ab' + 'cd') == '' || true", &(struct expr_limits){.string_length = 3}), TN_LIMIT);
    assert_int_equal(outcome_of("[1].exists(x, 'ab' + 'cd' == '') || true", &(struct expr_limits){.string_length = 3}),
                     TN_LIMIT);
    assert_int_equal(outcome_of("('ab' + 'cd') == '' ? 1 : 2", &(struct expr_limits){.string_length = 3}), TN_LIMIT);
}

/* Operations that walk more items cost more. */
static void test_charges(void **state) {
    (void)state;
    static const char *const expressions[] = {"3 in state.list",
                                              "state.list == [] ? 1 : 2",
                                              "state.text.size()",
                                              "state.text.contains('b')",
                                              "state.text.matches('b$')",
                                              "state.text + 'b' == ''",
                                              "state.text.split('b') == []",
                                              "state.text.trim() == ''",
                                              "state.text.lowerAscii() == ''",
                                              "state.text.reverse() == ''",
                                              "state.text.replace('b', '') == ''",
                                              "state.text.indexOf('b')",
                                              "state.text.lastIndexOf('bbbb')",
                                              "state.text.substring(0) == ''",
                                              "'%s'.format([state.text]) == ''",
                                              "state.text.format([]) == ''",
                                              "strings.quote(state.text) == ''",
                                              "[state.text].join() == ''",
                                              "regex.extract(state.text, 'b')",
                                              "regex.extractAll(state.text, 'b')",
                                              "regex.groups(state.text, 'b')",
                                              "regex.replace(state.text, 'b', '') == ''",
                                              "json.format(state.text) == ''",

                                              "state.list.sort() == []",
                                              "state.list.distinct() == []",
                                              "state.list.reverse() == []",
                                              "state.list.flatten() == []",
                                              "state.list.slice(0, size(state.list)) == []",
                                              "state.list.sum()",
                                              "sets.contains(state.list, [1])",
                                              "sets.intersects([1], state.list)",
                                              "sets.equivalent(state.list, [1])",
                                              "{'a': [1] + state.list}.with(['a', 0], 2) == {}",
                                              "math.greatest(state.list + [1])"};
    struct host host;
    host_init(&host, "{\"state\": {\"list\": [], \"text\": \"\"}}");
    char *text = repeated("", "a", 60000, "");
    tn_value list = value_array(), state_value = value_ref(host.state);
    for (int i = 0; i < 6400; i++) list = value_push_take(list, value_int(-1));
    state_value = value_set_take(value_set_take(state_value, "list", list), "text", value_text(text));
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        struct expr_cost little, much;
        struct expr *expr = compiled(&host, expressions[i]);
        tn_value result = NULL, kept = host.state;
        host.env.cost = &little;
        assert_int_equal(expr_eval(expr, &host.env, &result, NULL), TN_OK);
        value_unref(result);
        host.state = state_value;
        host.env.cost = &much;
        if (expr_eval(expr, &host.env, &result, NULL) != TN_OK) fail_msg("%s", expressions[i]);
        value_unref(result);
        host.state = kept;
        if (much.operations < little.operations + 14) fail_msg("%s: %u", expressions[i], (unsigned)much.operations);
        expr_unref(expr);
    }
    value_unref(state_value);
    mem_free(text);
    host_finish(&host);
}

static void test_hostile(void **state) {
    (void)state;
    /* Chains of maximum length do not nest; a limit ends them at the latest. */
    assert_int_equal(outcome_repeated("1", "+1", 32000, ""), TN_LIMIT);
    assert_int_equal(outcome_repeated("true", "&&true", 3000, ""), TN_OK);
    assert_int_equal(outcome_repeated("", "true?1:", 9000, "2"), TN_OK);
    assert_int_equal(outcome_repeated("", "!", 65000, "true"), TN_OK);
    assert_int_equal(outcome_repeated("", "-", 65001, "1"), TN_OK);
    assert_int_equal(outcome_repeated("a", ".b", 30000, ""), TN_LIMIT);
    assert_int_equal(outcome_repeated("[1]", "[0]", 2, ""), TN_FAILED);
    static const char *const openers[] = {"(", "[", "{", "f(", "a.f(", "a[", "{1:", "!(", "-(", "a.all(x,", "has("};
    for (size_t i = 0; i < sizeof openers / sizeof *openers; i++) {
        int32_t status = outcome_repeated("", openers[i], 8000, "");
        assert_true(status == TN_LIMIT || status == TN_INVALID);
    }
    /* Small texts that would build or walk a huge value. */
    assert_int_equal(outcome_repeated("[1]", ".map(a,[a,a])", 30, ""), TN_LIMIT);
    assert_int_equal(outcome_repeated("[1]", ".map(a,[a,a])", 200, ""), TN_LIMIT);
    assert_int_equal(outcome_of("[1,2].map(a,[a,a]).map(b,[b,b]).map(c,[c,c]).map(d,[d,d]).map(e,[e,e]).map(f,[f,f])"
                                ".map(g,[g,g]).map(h,[h,h]).map(i,[i,i]).map(j,[j,j]).map(k,[k,k]).map(l,[l,l])"
                                ".map(m,[m,m]).map(n,[n,n]).map(o,[o,o]).map(p,[p,p]).map(q,[q,q]).map(r,[r,r])"
                                ".map(s,[s,s]).map(t,[t,t]).map(u,[u,u]).map(v,[v,v]).all(w, w == [w])",
                                NULL),
                     TN_LIMIT);
    assert_int_equal(outcome_of("[1,2,3,4,5,6,7,8,9].map(a,[1,2,3,4,5,6,7,8,9].map(b,[1,2,3,4,5,6,7,8,9].map(c,"
                                "[1,2,3,4,5,6,7,8,9].map(d,[1,2,3,4,5,6,7,8,9].map(e,a)))))",
                                NULL),
                     TN_LIMIT);
    assert_int_equal(outcome_repeated("[1]", ".map(a,[a])", 100, ""), TN_OK);
    assert_int_equal(outcome_repeated("[1]", ".map(a,[a])", 150, ""), TN_LIMIT);
    assert_int_equal(outcome_repeated("[1]", ".map(a,{1:a})", 150, ""), TN_LIMIT);
    assert_int_equal(outcome_repeated("'", "é", 30000, "'.nothing()()"), TN_INVALID);
    assert_int_equal(outcome_of("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('(a+)+$')", NULL), TN_LIMIT);
    assert_int_equal(outcome_of("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('(a+)+' + '$')", NULL), TN_LIMIT);
    assert_int_equal(outcome_of("'a'.matches('(*LIMIT_MATCH=999999999)' + '(a+)+$')", NULL), TN_OK);
    /* Bytes that are not UTF-8. */
    assert_int_equal(outcome("\xff", 1, NULL), TN_INVALID);
    assert_int_equal(outcome("'\xc3'", 3, NULL), TN_INVALID);
    assert_int_equal(outcome("1\0", 2, NULL), TN_INVALID);
    assert_int_equal(outcome("'a\0b' == 'a\\x00b'", 17, NULL), TN_OK);
    assert_int_equal(outcome("", 0, NULL), TN_INVALID);
}

/* Every prefix of an expression, and the expression with each byte changed, yields a value or an error. */
static void test_mutants(void **state) {
    (void)state;
    static const char text[] = "has({'a': [1u, 2.5e1]}.a) && [1, 2].exists(x, x in [r'q', b\"\\x01\"]) ? -1 : "
                               "timestamp('2009-02-13T23:31:30Z').getHours('+01:00') // end";
    static const char bytes[] = "(){}[].,:?!'\"\\`&|=<>+-*/%0x\n";
    char copy[sizeof text];
    for (size_t length = 0; length < sizeof text; length++) (void)outcome(text, length, NULL);
    for (size_t i = 0; i < sizeof text - 1; i++)
        for (size_t j = 0; j < sizeof bytes; j++) {
            memcpy(copy, text, sizeof text);
            copy[i] = bytes[j];
            (void)outcome(copy, sizeof text - 1, NULL);
        }
    assert_int_equal(value_live_count(), 0);
}

/* ---- Tokens and tables ---- */

static bool token_text(void *self, enum expr_token_kind kind, struct span span) {
    static const char letters[] = "vpfmkns+.c?";
    struct problems *found = self;
    size_t length = strlen(found->text);
    snprintf(found->text + length, sizeof found->text - length, "%c%u-%u ", letters[kind], span.start, span.end);
    return ++found->count < 30;
}

static void test_tokens(void **state) {
    (void)state;
    const char *text = "state.tags.exists(t, size(t) > 1) in x // why";
    struct problems found = {0};
    expr_each_token(text, strlen(text), token_text, &found);
    assert_string_equal(found.text,
                        "v0-5 .5-6 p6-10 .10-11 m11-17 .17-18 v18-19 .19-20 f21-25 .25-26 v26-27 .27-28 +29-30 "
                        "n31-32 .32-33 k34-36 v37-38 c39-45 ");
    found = (struct problems){0};
    expr_each_token("'a' + `b` = 1", 13, token_text, &found);
    assert_string_equal(found.text, "s0-3 +4-5 p6-9 ?10-11 ");
    found = (struct problems){.count = 29};
    expr_each_token("1 2 3", 5, token_text, &found);
    assert_string_equal(found.text, "n0-1 ");
}

static void test_tables(void **state) {
    (void)state;
    char text[160];
    assert_true(expr_function_count() > 30);
    for (size_t i = 0; i < expr_function_count(); i++) {
        const struct expr_function *row = expr_function_at(i);
        assert_true(row->minimum <= row->maximum && (row->on || row->maximum == 0) && row->result);
        assert_non_null(strstr(row->signature, row->name));
        assert_true(strlen(row->documentation) > 10);
    }
    assert_string_equal(expr_kind_name(TN_ARRAY), "list");
    assert_string_equal(expr_kind_name(99), "nothing");
    assert_string_equal(
        expr_kinds_text(EXPR_KIND(TN_INT) | EXPR_KIND(TN_DOUBLE) | EXPR_KIND(TN_STRING), text, sizeof text),
        "int, double or string");
    assert_string_equal(expr_kinds_text(EXPR_ANY, text, sizeof text), "any kind");
    assert_string_equal(expr_kinds_text(EXPR_JSON, text, 8), "null, b");
}

/* ---- Threads share an expression ---- */

static void *evaluate_often(void *argument) {
    struct host *host = ((void **)argument)[0];
    const struct expr *expr = ((void **)argument)[1];
    struct expr_env env = host->env;
    for (int i = 0; i < 500; i++) {
        bool truth = false;
        expr_ref(expr);
        assert_int_equal(expr_eval_bool(expr, &env, &truth, NULL), TN_OK);
        assert_true(truth);
        expr_unref(expr);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    struct host host;
    host_init(&host, "{\"state\": {\"name\": \"ada\", \"list\": [3, 4]}}");
    struct expr *expr = compiled(&host, "state.name.matches('^a.a$') && state.list.map(x, x * 2) == [6, 8]");
    void *arguments[] = {&host, expr};
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, evaluate_often, arguments), 0);
    for (size_t i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    expr_unref(expr);
    host_finish(&host);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_no_allocations),
        cmocka_unit_test(test_results_are_shared),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_uses),
        cmocka_unit_test(test_uses_beyond),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_charges),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_mutants),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
