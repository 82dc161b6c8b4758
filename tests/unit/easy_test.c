/* easy_test.c - the macros of <tenon/easy.h> at run time: reading fields, defaults, errors, the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* the contract has a function of this name */

#include "tests/abi/fields.c"

#include "tests/unit/fake_host.h"

TN_TOOL(show, "test.show", "Returns its fields", TN_PURE, (INT, i, "i"), (INT_OR, j, LIMIT, "j"), (NUM_OR, n, 2.5, "n"),
        (BOOL_OR, b, true, "b"), (TEXT_OR, t, "a\"b", "t"), (TEXT_OPT, o, "o"), (VALUE_OPT, v, "v")) {
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_int(out, "i", args->i);
    tn_put_int(out, "j", args->j);
    tn_put_num(out, "n", args->n);
    tn_put_bool(out, "b", args->b);
    tn_put_text(out, "t", args->t);
    tn_put_int(out, "t_length", (int64_t)args->t_length);
    if (args->o) tn_put_text(out, "o", args->o);
    if (args->v) tn_put(out, "v", args->v);
    tn.value->end(out);
    return tn_done_take(task, tn_finish(out));
}

TN_NODE(route, "test.route", "Copies, rendered", TN_PURE, (READ_OR, from, "in", "from"), (READ_OPT, also, "also"),
        (EXPR_OPT, when, "when"), (WRITE, to, "to"), (TEXT_OR, mark, "!", "mark")) {
    tn_value text = tn_read_text(task, config->from);
    if (text == NULL) return TN_FAILED;
    tn_release(text);
    if (config->also != TN_UNBOUND) return tn_fail(task, "ALSO", "was bound");
    if (config->when != TN_UNBOUND) {
        tn_value truth = tn_evaluate(task, config->when);
        if (truth == NULL) return TN_FAILED;
        tn_release(truth);
    }
    return tn_done_written(task, tn_write_text(task, config->to, config->mark));
}

TN_CHECK(route) {
    if (config->mark_length > 0) return TN_OK;
    return tn_refuse_at("/mark", "INVALID_CONFIG", "`mark` must not be empty");
}

TN_NODE(twice, "test.twice", "Evaluates with an item", TN_PURE, (EXPR, value, "value")) {
    tn_value item = tn_int(7), found = tn_evaluate_item(task, config->value, item);
    tn_release(item);
    return found != NULL ? tn_done_take(task, found) : TN_FAILED;
}

static void arguments_and_defaults(void **state) {
    (void)state;
    assert_int_equal(tn_test_create("test.show", "{}"), TN_OK);
    assert_true(tn_test_is(tn_test_start("{\"i\": 3}")->output,
                           "{\"i\":3,\"j\":5,\"n\":2.5,\"b\":true,\"t\":\"a\\\"b\",\"t_length\":3}"));
    assert_true(tn_test_is(
        tn_test_start("{\"i\": 3.0, \"j\": -1, \"n\": 1, \"b\": false, \"t\": \"\", \"o\": \"x\", \"v\": [null]}")
            ->output,
        "{\"i\":3,\"j\":-1,\"n\":1.0,\"b\":false,\"t\":\"\",\"t_length\":0,\"o\":\"x\",\"v\":[null]}"));
    tn_test_finish();
}

static void wrong_arguments_are_named(void **state) {
    (void)state;
    static const struct {
        const char *input, *name;
    } cases[] = {
        {"{\"i\": 1.5}", "`i` must be an integer"},
        {"{\"i\": 1, \"n\": \"x\"}", "`n` must be a number"},
        {"{\"i\": 1, \"b\": 1}", "`b` must be true or false"},
        {"{\"i\": 1, \"t\": null}", "`t` must be a string"},
    };
    assert_int_equal(tn_test_create("test.show", "{}"), TN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tn_test_task *task = tn_test_start(cases[i].input);
        assert_true(tn_test_failed(task, "INVALID_INPUT"));
        assert_string_equal(value_chars(value_get(task->error, "message"), NULL), cases[i].name);
    }
    tn_test_finish();
}

static void names_are_bound(void **state) {
    (void)state;
    tn_test_set_channel("in", "\"x\"");
    tn_test_set_channel("out", "null");
    assert_int_equal(tn_test_run("test.route", "{\"to\": \"out\", \"when\": \"true\"}", "null")->state,
                     TN_TEST_COMPLETED);
    assert_true(tn_test_wrote("out", "\"!\""));
    tn_test_set_channel("in", "[1]");
    struct tn_test_task *task = tn_test_start("null");
    assert_true(tn_test_failed(task, "TYPE"));
    assert_non_null(strstr(value_chars(value_get(task->error, "message"), NULL), "holds an array"));
    tn_test_finish();

    tn_test_set_channel("in", "\"x\"");
    tn_test_set_channel("out", "null");
    assert_true(
        tn_test_failed(tn_test_run("test.route", "{\"to\": \"out\", \"when\": \"fail\"}", "null"), "EXPRESSION_ERROR"));
    tn_test_finish();
}

static void invalid_bindings_are_refused(void **state) {
    (void)state;
    tn_test_set_channel("in", "\"x\"");
    assert_int_equal(tn_test_create("test.route", "{\"to\": \"nowhere\"}"), TN_NOT_FOUND);
    assert_int_equal(tn_test_create("test.route", "{\"to\": 7}"), TN_FAILED);
    assert_string_equal(tn_test.refusal, "INVALID_CONFIG: `to` must be a name, as a string");
    assert_string_equal(tn_test.refused_at, "/to");
    assert_int_equal(tn_test_create("test.nothing", "{}"), TN_FAILED);
    assert_non_null(strstr(tn_test.refusal, "NOT_FOUND"));
    tn_test_finish();
}

static void a_configuration_is_checked(void **state) {
    (void)state;
    tn_test_set_channel("in", "\"x\"");
    tn_test_set_channel("out", "null");
    assert_int_equal(tn_test_create("test.route", "{\"to\": \"out\", \"mark\": \"\"}"), TN_FAILED);
    assert_string_equal(tn_test.refusal, "INVALID_CONFIG: `mark` must not be empty");
    assert_string_equal(tn_test.refused_at, "/mark");
    assert_int_equal(tn_test_create("test.nothing", "{}"), TN_FAILED);
    assert_string_equal(tn_test.refused_at, "");
    assert_int_equal(tn_test_create("test.route", "{\"to\": \"out\"}"), TN_OK);
    tn_test_finish();
}

static void an_expression_has_an_item(void **state) {
    (void)state;
    assert_true(tn_test_is(tn_test_run("test.twice", "{\"value\": \"item\"}", "null")->output, "7"));
    tn_test_finish();
}

static void own_functions_and_lifecycle(void **state) {
    (void)state;
    assert_true(tn_test_failed(tn_test_run("fields.own", "{}", "null"), "OWN"));
    const tn_plugin *plugin = tn_plugin_entry_1(&tn_test_the_host);
    const tn_lifecycle_1 *lifecycle = plugin->get(plugin->self, TN_LIFECYCLE_1);
    assert_ptr_equal(lifecycle->init, on_init);
    assert_null(lifecycle->deinit);
    assert_ptr_equal(plugin->get(plugin->self, "test.service/1"), &service);
    assert_null(plugin->get(plugin->self, "tenon.unknown/1"));
    tn_test_finish();
}

static void components_that_are_added_at_run_time(void **state) {
    (void)state;
    assert_true(tn_test_is(tn_test_run("dynamic.one", "{}", "null")->output, "\"dynamic.one\""));
    tn_test_finish();
    assert_true(tn_test_failed(tn_test_run("fields.own", "{}", "null"), "OWN")); /* a macro's id takes precedence */
    tn_test_finish();
}

static void declines_a_host_without_the_basics(void **state) {
    (void)state;
    static const char *const basics[] = {TN_CORE_1, TN_VALUE_1, TN_TASK_1, TN_EVAL_1};
    for (size_t i = 0; i < sizeof basics / sizeof *basics; i++) {
        snprintf(tn_test.missing, sizeof tn_test.missing, "%s", basics[i]);
        assert_null(tn_test_enter());
        memset(&tn_test, 0, sizeof tn_test);
    }
    tn_host broken = tn_test_the_host;
    broken.size++;
    assert_null(tn_plugin_entry_1(&broken));
    assert_null(tn_plugin_entry_1(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_and_defaults),
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(names_are_bound),
        cmocka_unit_test(invalid_bindings_are_refused),
        cmocka_unit_test(a_configuration_is_checked),
        cmocka_unit_test(an_expression_has_an_item),
        cmocka_unit_test(own_functions_and_lifecycle),
        cmocka_unit_test(components_that_are_added_at_run_time),
        cmocka_unit_test(declines_a_host_without_the_basics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
