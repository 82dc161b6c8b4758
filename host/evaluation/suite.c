/* suite.c - reads a suite, and validates it with suite.schema.json. */
#include "host/evaluation/suite.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/schema/schema.h"
#include "adl/source/source.h"
#include "adl/tree/tree.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/evaluation/grade.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char evaluation_suite_text[];
extern const unsigned evaluation_suite_length;

tn_value suite_schema(void) {
    tn_value schema = NULL;
    (void)json_read(evaluation_suite_text, evaluation_suite_length, NULL, &schema, NULL);
    return schema;
}

/* ---- Mistakes and their places ---- */

/* Where the members of a suite come from: its text, and the lines of a file of cases. */
struct origin {
    const struct tree *tree;
    const char *file; /* of the cases; NULL if they are in the suite */
    size_t *lines;    /* the line of each case of the file; owned */
    size_t line_count, line_capacity;
};

static int32_t suite_error(struct source *source, struct span span, struct error *error, const char *message) {
    struct source_place place = source_locate(source, span.start);
    return error_set(error, TN_INVALID, "INVALID_SUITE", "%s:%u:%u: %s", source_name(source), place.line + 1,
                     place.point + 1, message);
}

/* Reports a mistake at a JSON Pointer in the suite. Returns TN_INVALID. */
static int32_t origin_error(const struct origin *origin, const char *pointer, bool on_key, const char *message,
                            struct error *error) {
    static const char cases[] = "/cases";
    if (origin->file && strncmp(pointer, cases, sizeof cases - 1) == 0) {
        char *rest;
        const char *number = pointer + sizeof cases - 1 + (pointer[sizeof cases - 1] == '/');
        size_t index = (size_t)strtoull(number, &rest, 10);
        if (rest == number || index >= origin->line_count)
            return error_set(error, TN_INVALID, "INVALID_SUITE", "%s: %s", origin->file, message);
        return error_set(error, TN_INVALID, "INVALID_SUITE", "%s:%zu: %s%s%s", origin->file, origin->lines[index], rest,
                         *rest ? ": " : "", message);
    }
    const struct tree_item *item = NULL;
    const struct tree_node *node = tree_at_pointer(tree_root(origin->tree), pointer, &item);
    tn_value text = value_format("%s%s%s", pointer, *pointer ? ": " : "", message);
    int32_t status = suite_error(tree_source(origin->tree), on_key && item ? item->key_span : node->span, error,
                                 value_chars(text, NULL));
    value_unref(text);
    return status;
}

/* Reports the first violation of the schema. */
static int32_t check_schema(const struct origin *origin, tn_value suite, struct error *error) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    struct schema *schema = NULL;
    tn_value document = suite_schema();
    int32_t status = schema_compile(document, NULL, &schema, error);
    errors.limit = 1;
    if (status == TN_OK && schema_validate(schema, suite, &errors) != TN_OK) {
        const struct schema_error *first = errors.count ? &errors.items[0] : NULL;
        status = origin_error(origin, first ? first->pointer : "", first && first->on_key,
                              first ? first->message : "the suite is not valid", error);
    }
    schema_errors_finish(&errors);
    schema_unref(schema);
    value_unref(document);
    return status;
}

/* Reads the text. NULL with an error at the place of the first mistake. */
static struct tree *read_tree(struct source *source, struct error *error) {
    struct diagnostics *found = diagnostics_new();
    struct tree *tree = tree_read(source, NULL, found);
    diagnostics_sort(found);
    if (diagnostics_errors(found)) {
        const struct diagnostic *first = diagnostics_at(found, 0);
        (void)suite_error(source, first->span, error, first->message);
        tree_free(tree);
        tree = NULL;
    }
    diagnostics_free(found);
    return tree;
}

/* ---- Cases ---- */

/* Appends the expectations of an `expect`, each of one kind and one value. */
static tn_value add_expectations(tn_value list, tn_value expect, bool *judges) {
    for (size_t i = 0; value_is(expect, TN_OBJECT) && i < value_count(expect); i++) {
        tn_value kind = value_key_at(expect, i), value = value_value_at(expect, i);
        bool several = value_is(value, TN_ARRAY) && !value_text_is(kind, "equals");
        for (size_t k = 0; k < (several ? value_count(value) : 1); k++) {
            tn_value one = value_set_take(value_object_reserve(2), "kind", value_ref(kind));
            one = value_set_take(one, "value", value_ref(several ? value_at(value, k) : value));
            list = value_push_take(list, one);
        }
        *judges = *judges || value_text_is(kind, "rubric");
    }
    return list;
}

static void add_case(struct suite *suite, tn_value all, tn_value one) {
    struct suite_case *out = &suite->cases[suite->case_count++];
    tn_value id = value_get(one, "id"), input = value_get(one, "input"), answer = value_get(one, "answer");
    if (!answer) answer = value_get(all, "answer");
    out->id = id ? value_ref(id) : value_format("%zu", suite->case_count);
    out->input = input ? value_ref(input) : value_object();
    out->answer = answer ? value_ref(answer) : NULL;
    out->expect = add_expectations(value_array(), value_get(all, "expect"), &suite->judges);
    out->expect = add_expectations(out->expect, value_get(one, "expect"), &suite->judges);
}

/* Reads one case on each line; a new reference to the list, or NULL. */
static tn_value read_case_lines(struct origin *origin, tn_value text, struct error *error) {
    size_t length, number = 0;
    const char *at = value_chars(text, &length), *end = at + length;
    tn_value list = value_array();
    while (list && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = stop ? (size_t)(stop - at) : (size_t)(end - at);
        struct error inner = ERROR_INIT;
        tn_value one = NULL;
        number++;
        if (strspn(at, " \t\r") < size && json_read(at, size, NULL, &one, &inner) != TN_OK) {
            error_set(error, TN_INVALID, "INVALID_SUITE", "%s:%zu: %s", origin->file, number, inner.message);
            value_unref(list);
            list = NULL;
        } else if (one) {
            MEM_GROW(origin->lines, origin->line_count, origin->line_capacity);
            origin->lines[origin->line_count++] = number;
            list = value_push_take(list, one);
        }
        error_finish(&inner);
        at += size + 1;
    }
    return list;
}

/* The suite with the cases of the file that it names; a new reference. A case of a file is validated like any other. */
static tn_value add_file(tn_value all, struct origin *origin, suite_read_fn *read, void *user, struct error *error) {
    tn_value text = read(user, origin->file, error);
    tn_value list = text ? read_case_lines(origin, text, error) : NULL;
    value_unref(text);
    if (!list) return NULL;
    tn_value whole = value_set_take(value_ref(all), "cases", list);
    if (check_schema(origin, whole, error) == TN_OK) return whole;
    value_unref(whole);
    return NULL;
}

/* ---- Expressions and schemas of expectations: a mistake in one is found before anything runs ---- */

static int32_t check_expectations(const struct origin *origin, const char *holder, tn_value member,
                                  struct error *error) {
    bool judges = false;
    tn_value answer = value_get(member, "answer");
    tn_value list = add_expectations(value_array(), value_get(member, "expect"), &judges);
    struct error inner = ERROR_INIT;
    int32_t status = TN_OK;
    char pointer[64];
    if (answer && grade_check_answer(answer, &inner) != TN_OK) {
        snprintf(pointer, sizeof pointer, "%s/answer", holder);
        status = origin_error(origin, pointer, false, inner.message, error);
    }
    for (size_t i = 0; status == TN_OK && i < value_count(list); i++) {
        tn_value kind = value_get(value_at(list, i), "kind");
        if (grade_check_expectation(kind, value_get(value_at(list, i), "value"), &inner) == TN_OK) continue;
        snprintf(pointer, sizeof pointer, "%s/expect/%s", holder, value_chars(kind, NULL));
        status = origin_error(origin, pointer, false, inner.message, error);
    }
    error_finish(&inner);
    value_unref(list);
    return status;
}

static int32_t check_cases(const struct origin *origin, tn_value all, struct error *error) {
    tn_value cases = value_get(all, "cases");
    int32_t status = check_expectations(origin, "", all, error);
    for (size_t i = 0; status == TN_OK && i < value_count(cases); i++) {
        char holder[40];
        snprintf(holder, sizeof holder, "/cases/%zu", i);
        status = check_expectations(origin, holder, value_at(cases, i), error);
    }
    return status;
}

static int32_t check_ids(const struct suite *suite, struct error *error) {
    tn_value seen = value_object();
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < suite->case_count; i++) {
        tn_value id = suite->cases[i].id;
        if (value_get_key(seen, id))
            status = error_set(error, TN_INVALID, "INVALID_SUITE",
                               "two cases have the id `%s`; ids must differ, so that results can be compared",
                               value_chars(id, NULL));
        seen = value_set_key_take(seen, value_ref(id), value_bool(true));
    }
    value_unref(seen);
    return status;
}

/* ---- The suite ---- */

/* {name: {role: binding}}: a binding alone is for the role `default`. */
static tn_value read_models(tn_value models) {
    tn_value out = value_object();
    if (!models) return value_set_take(out, "", value_object());
    for (size_t i = 0; i < value_count(models); i++) {
        tn_value given = value_value_at(models, i);
        bool roles = value_is(given, TN_OBJECT) && !value_get(given, "provider") && !value_get(given, "models");
        tn_value bound =
            roles ? value_ref(given) : value_set_take(value_object_reserve(1), "default", value_ref(given));
        out = value_set_key_take(out, value_ref(value_key_at(models, i)), bound);
    }
    return out;
}

static double number_or(tn_value value, double otherwise) { return value ? value_to_double(value) : otherwise; }

static void read_members(struct suite *suite, tn_value all) {
    tn_value document = value_get(all, "document"), documents = value_get(all, "documents");
    tn_value thresholds = value_get(all, "thresholds"), judge = value_get(all, "judge");
    suite->documents =
        documents ? value_ref(documents) : value_set_key_take(value_object(), value_ref(document), value_ref(document));
    suite->models = read_models(value_get(all, "models"));
    suite->judge = judge ? value_ref(judge) : NULL;
    suite->repeat = (uint32_t)number_or(value_get(all, "repeat"), 1);
    suite->concurrency = (uint32_t)number_or(value_get(all, "concurrency"), 4);
    suite->pass_rate = number_or(value_get(thresholds, "pass_rate"), 1);
    suite->cost = number_or(value_get(thresholds, "cost"), -1);
    suite->p95_ms = number_or(value_get(thresholds, "p95_ms"), -1);
}

static int32_t suite_fill(struct suite *suite, tn_value all, struct error *error) {
    tn_value cases = value_get(all, "cases");
    size_t count = value_count(cases), runs;
    read_members(suite, all);
    suite->cases = mem_zalloc((count + 1) * sizeof *suite->cases);
    for (size_t i = 0; i < count; i++) add_case(suite, all, value_at(cases, i));
    runs = count * suite->repeat * value_count(suite->documents) * value_count(suite->models);
    if (runs > SUITE_RUNS_MAX)
        return error_set(error, TN_LIMIT, "LIMIT",
                         "found %zu runs (cases × repeat × documents × models), expected at most %u", runs,
                         SUITE_RUNS_MAX);
    return check_ids(suite, error);
}

/* The checked suite, with the cases of its file; a new reference, or NULL. */
static tn_value read_checked(const struct tree *tree, suite_read_fn *read, void *user, struct error *error) {
    tn_value all = tree_to_value(tree_root(tree));
    struct origin origin = {.tree = tree};
    bool valid = check_schema(&origin, all, error) == TN_OK;
    tn_value file = value_get(value_get(all, "cases"), "file");
    if (valid && file) {
        origin.file = value_chars(file, NULL);
        tn_value whole = add_file(all, &origin, read, user, error);
        valid = whole != NULL && check_cases(&origin, whole, error) == TN_OK;
        value_unref(all); /* `file` belongs to it */
        all = whole;
    } else if (valid) {
        valid = check_cases(&origin, all, error) == TN_OK;
    }
    mem_free(origin.lines);
    if (valid) return all;
    value_unref(all);
    return NULL;
}

struct suite *suite_read(struct source *source, suite_read_fn *read, void *user, struct error *error) {
    struct tree *tree = read_tree(source, error);
    tn_value all = tree ? read_checked(tree, read, user, error) : NULL;
    struct suite *suite = all ? mem_zalloc(sizeof *suite) : NULL;
    if (suite && suite_fill(suite, all, error) != TN_OK) {
        suite_free(suite);
        suite = NULL;
    }
    value_unref(all);
    tree_free(tree);
    return suite;
}

void suite_free(struct suite *suite) {
    if (!suite) return;
    for (size_t i = 0; i < suite->case_count; i++) {
        value_unref(suite->cases[i].id);
        value_unref(suite->cases[i].input);
        value_unref(suite->cases[i].answer);
        value_unref(suite->cases[i].expect);
    }
    mem_free(suite->cases);
    value_unref(suite->documents);
    value_unref(suite->models);
    value_unref(suite->judge);
    mem_free(suite);
}
