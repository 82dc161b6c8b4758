/* <tenon/testkit.h> with its own values: JSON both ways, builders, mistakes, and a node on it. */
#include <float.h>
#include <tenon/easy.h>
#include <tenon/util/build.h>
#include <tenon/util/merge_patch.h>

TN_PLUGIN("test.kit", "1.0.0", "A plugin for the test of the test kit")
TN_NODE(words, "test.words", "Counts blanks.", TN_PURE, (READ, from, "text"), (WRITE, to, "number")) {
    tn_value text = tn_read_text(task, config->from);
    int64_t count = 0;
    if (text == NULL) return TN_FAILED;
    for (const char *at = tn_chars(text, NULL); *at != '\0'; at++) count += *at == ' ';
    tn_release(text);
    return tn_done_written(task, tn_write_int(task, config->to, count));
}

TN_TOOL(refuses, "test.refuses", "Refuses in a task, where it has no effect.", TN_PURE) {
    tn_value reason = tn_build("{s:s,s:s}", "code", "LATE", "message", "late");
    int32_t status = tn.core->refuse(tn.host, reason);
    tn_release(reason);
    return tn_done_int(task, status);
}

#include <tenon/testkit.h>

/* What is read is written again in this form; NULL: it is not JSON. */
static void expect_json(const char *json, const char *again) {
    tn_value value = NULL;
    int32_t status = tn_test_from_json(NULL, json, strlen(json), &value, NULL);
    TN_TEST_ASSERT((status == TN_OK) == (again != NULL));
    TN_TEST_ASSERT(again == NULL || tn_test_is(value, again));
    tn_test_release(value);
    TN_TEST_ASSERT(tn_test_value_count == 0);
}

static void test_json(void) {
    expect_json(" { \"a\" : [ 1 , -2.50 , 1e3 , true , false , null ] , \"b\" : { } } ",
                "{\"a\":[1,-2.5,1000.0,true,false,null],\"b\":{}}");
    expect_json("\"\\u00e9\\ud83d\\ude00\\n\\u0001\\\"\\\\\\/\"", "\"\xC3\xA9\xF0\x9F\x98\x80\\n\\u0001\\\"\\\\/\"");
    expect_json("9223372036854775807", "9223372036854775807");
    expect_json("9223372036854775808", "9.223372036854776e+18");
    expect_json("{\"$bytes\":\"aGk=\"}", "{\"$bytes\":\"aGk=\"}");
    expect_json("\"a\\u0000b\"", "\"a\\u0000b\"");
    static const char *const bad[] = {"",
                                      " ",
                                      "[",
                                      "]",
                                      "[1,]",
                                      "[,1]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{a:1}",
                                      "{\"a\":1,}",
                                      "{\"a\":1,\"a\":2}",
                                      "01",
                                      "1.",
                                      "-",
                                      "+1",
                                      ".5",
                                      "1e",
                                      "nul",
                                      "truex",
                                      "\"",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\ud800\"",
                                      "\"\xFF\"",
                                      "\"\n\"",
                                      "1 2",
                                      "[1 2]",
                                      "1e999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) expect_json(bad[i], NULL);
    char deep[2 * TN_TEST_DEPTH + 3];
    memset(deep, '[', sizeof(deep));
    memset(deep + TN_TEST_DEPTH, ']', TN_TEST_DEPTH);
    deep[2 * TN_TEST_DEPTH] = '\0';
    expect_json(deep, deep);
    memset(deep, '[', TN_TEST_DEPTH + 1);
    memset(deep + TN_TEST_DEPTH + 1, ']', TN_TEST_DEPTH + 1);
    deep[2 * TN_TEST_DEPTH + 2] = '\0';
    expect_json(deep, NULL);
    tn_value made = NULL, error = NULL;
    TN_TEST_ASSERT(tn_test_from_json(NULL, deep, TN_Z, &made, &error) == TN_FAILED);
    TN_TEST_ASSERT(strcmp(tn_test_member(error, "code"), "LIMIT") == 0);
    tn_test_release(error);
}

static void test_values(void) {
    TN_TEST_ASSERT(tn_test_enter() != NULL);
    TN_TEST_ASSERT(tn_build("{s:s", "a", "b") == NULL);
    tn_value value = tn_build("{s:[ifb],s:{s:s}}", "a", 1, 0.5, 1, "b", "c", "d");
    TN_TEST_ASSERT(tn_test_is(value, "{\"a\":[1,0.5,true],\"b\":{\"c\":\"d\"}}"));
    tn_value patch = tn_build("{s:n,s:{s:n,s:i}}", "a", "b", "c", "e", 2), merged = NULL;
    TN_TEST_ASSERT(tn_merge_patch(value, patch, &merged) == TN_OK && tn_test_is(merged, "{\"b\":{\"e\":2}}"));
    TN_TEST_ASSERT(tn_test_is(value, "{\"a\":[1,0.5,true],\"b\":{\"c\":\"d\"}}")); /* unchanged */
    tn_value one = tn_build("{s:i,s:i}", "a", 1, "b", 2), two = tn_build("{s:f,s:f}", "b", 2.0, "a", 1.0);
    TN_TEST_ASSERT(tn_test_equal(one, two) && !tn_test_equal(one, value) && !tn_test_equal(one, NULL));
    int64_t integer = 7;
    TN_TEST_ASSERT(tn_test_as_int(tn_test_get(two, "b", TN_Z), &integer) == TN_OK && integer == 2);
    TN_TEST_ASSERT(tn_test_as_int(two, &integer) == TN_TYPE && tn_test_as_int(NULL, &integer) == TN_INVALID);
    TN_TEST_ASSERT(tn_test_make_double(NULL, DBL_MAX * 2, &one) == TN_INVALID);
    TN_TEST_ASSERT(tn_test_make_text(NULL, "\xFF", 1, &one) == TN_INVALID);
    tn_value all[] = {value, patch, merged, one, two};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) tn_release(all[i]);
    TN_TEST_ASSERT(tn_test_value_count == 0);
    tn_test_finish();
}

/* Every edit, on a value with one reference, and on one that is shared and therefore stays as it is. */
static void expect_edits(bool shared) {
    tn_value list = tn_build("[iii]", 1, 2, 3), more = tn_build("[s]", "x"), kept = shared ? tn_retain(list) : NULL;
    TN_TEST_ASSERT(tn.value->append(&list, list) == TN_OK && tn_test_is(list, "[1,2,3,[1,2,3]]"));
    TN_TEST_ASSERT(tn.value->splice(&list, 3, 1, NULL) == TN_OK && tn_test_is(list, "[1,2,3]"));
    TN_TEST_ASSERT(tn.value->splice(&list, 1, 1, more) == TN_OK && tn_test_is(list, "[1,\"x\",3]"));
    TN_TEST_ASSERT(tn.value->splice(&list, 2, 2, more) == TN_NOT_FOUND && tn.value->splice(&list, 4, 0, more) != TN_OK);
    TN_TEST_ASSERT(tn.value->concat(&list, more) == TN_OK && tn_test_is(list, "[1,\"x\",3,\"x\"]"));
    TN_TEST_ASSERT(tn.value->concat(&list, list) == TN_OK && tn.value->count(list) == 8);
    TN_TEST_ASSERT(tn.value->set(&list, "a", TN_Z, more) == TN_TYPE && tn.value->append(&list, NULL) == TN_INVALID);
    TN_TEST_ASSERT(!shared || tn_test_is(kept, "[1,2,3]"));
    tn_release(kept), tn_release(list), tn_release(more);

    tn_value object = tn_build("{s:i,s:i}", "a", 1, "b", 2), text = tn_text("h\xC3\xA9"), part = NULL;
    kept = shared ? tn_retain(object) : NULL;
    TN_TEST_ASSERT(tn.value->set(&object, "a", TN_Z, text) == TN_OK);
    TN_TEST_ASSERT(tn.value->set(&object, "b\0c", 3, text) == TN_OK && tn.value->get(object, "b\0c", 3) == text);
    TN_TEST_ASSERT(tn_test_is(object, "{\"a\":\"h\xC3\xA9\",\"b\":2,\"b\\u0000c\":\"h\xC3\xA9\"}"));
    TN_TEST_ASSERT(tn.value->remove(&object, "b", TN_Z) == TN_OK && tn.value->count(object) == 2);
    TN_TEST_ASSERT(tn.value->remove(&object, "b", TN_Z) == TN_NOT_FOUND);
    TN_TEST_ASSERT(!shared || tn_test_is(kept, "{\"a\":1,\"b\":2}"));
    TN_TEST_ASSERT(tn.value->slice(text, 1, 2, &part) == TN_OK && tn_test_is(part, "\"\xC3\xA9\""));
    TN_TEST_ASSERT(tn.value->concat(&part, text) == TN_OK && tn_test_is(part, "\"\xC3\xA9h\xC3\xA9\""));
    TN_TEST_ASSERT(tn.value->slice(text, 0, 2, &part) == TN_INVALID && tn.value->slice(text, 3, 1, &part) != TN_OK);
    tn_release(kept), tn_release(object), tn_release(text), tn_release(part);
    TN_TEST_ASSERT(tn_test_value_count == 0);
}

static void test_options_and_reasons(void) {
    tn_value value = tn_build("{s:[i],s:{},s:s}", "b", 1, "c", "a", "x"),
             options = tn_build("{s:b,s:b}", "pretty", 1, "sorted", 1);
    tn_value text = NULL, error = NULL;
    TN_TEST_ASSERT(tn.value->to_json(value, options, &text) == TN_OK);
    TN_TEST_ASSERT(strcmp(tn_chars(text, NULL), "{\n  \"a\": \"x\",\n  \"b\": [\n    1\n  ],\n  \"c\": {}\n}") == 0);
    TN_TEST_ASSERT(tn.value->to_json(options, value, &text) == TN_INVALID);
    TN_TEST_ASSERT(tn.value->from_json(NULL, "{\"a\":\n 1 2}", TN_Z, &value, &error) == TN_FAILED);
    TN_TEST_ASSERT(tn_test_is(tn_get(error, "detail"), "{\"offset\":9,\"line\":2,\"column\":4}"));
    tn_release(value), tn_release(options), tn_release(text), tn_release(error);
    TN_TEST_ASSERT(tn_test_value_count == 0);
}

static void test_builder_mistakes(void) {
    static const char *const places[] = {"\"\"",   "\"\"",        "\"\"",   "\"\"",   "\"\"",
                                         "\"/a\"", "\"/x~1y/0\"", "\"/a\"", "\"/a\"", "\"/a\""};
    for (int which = 0; which < 10; which++) {
        tn_builder *builder = tn_builder_new();
        tn_value made = NULL, error = NULL;
        if (which == 0) tn.value->end(builder);
        if (which == 1) tn.value->key(builder, "a", TN_Z);
        if (which == 2) tn.value->add(builder, NULL);
        if (which == 3) tn.value->begin(builder, TN_STRING);
        if (which >= 4) tn.value->begin(builder, TN_OBJECT);
        if (which == 5) tn.value->key(builder, "a", TN_Z), tn.value->end(builder);
        if (which == 6) tn.value->key(builder, "x/y", TN_Z), tn.value->begin(builder, TN_ARRAY);
        if (which == 7) tn.value->key(builder, "a", TN_Z), tn.value->key(builder, "b", TN_Z);
        if (which == 8) tn.value->key(builder, "a", TN_Z), tn.value->add_text(builder, "\xFF", 1);
        if (which == 9) tn_put_int(builder, "a", 1), tn_put_int(builder, "a", 2);
        TN_TEST_ASSERT(tn.value->finish(builder, &made, &error) == TN_FAILED && made == NULL);
        TN_TEST_ASSERT(strcmp(tn_test_member(error, "code"), "INVALID_VALUE") == 0);
        TN_TEST_ASSERT(tn_test_is(tn_get(tn_get(error, "detail"), "at"), places[which]));
        tn_release(error);
        TN_TEST_ASSERT(tn_test_value_count == 0);
    }
}

static char order[8];
static void note(void *mark) { strncat(order, (const char *)mark, 1); }

/* Posted calls are made in order; one that is not made is dropped. */
static void test_posts(void) {
    static char a[] = "a", b[] = "b", c[] = "c", d[] = "d";
    uint64_t id = 0;
    TN_TEST_ASSERT(tn_post(5, note, c) != 0 && tn_post(0, note, a) != 0 && tn_post(0, note, b) != 0);
    TN_TEST_ASSERT(tn.core->post(tn.host, 0, NULL, note, d, &id) == TN_INVALID);
    tn_test_advance(5);
    TN_TEST_ASSERT(tn.core->post(tn.host, 0, note, note, d, &id) == TN_OK && tn.core->unpost(tn.host, id) == TN_OK);
    TN_TEST_ASSERT(tn.core->unpost(tn.host, id) == TN_NOT_FOUND && strcmp(order, "abcd") == 0);
}

/* What the host refuses is not a crash here. */
static void test_mistakes_are_statuses(void) {
    tn_value number = tn_int(1);
    TN_TEST_ASSERT(tn.value->as_int(number, NULL) == TN_INVALID && tn.value->as_double(number, NULL) == TN_INVALID);
    TN_TEST_ASSERT(tn.value->as_bool(number, NULL) == TN_INVALID && tn.value->as_int(NULL, NULL) == TN_INVALID);
    TN_TEST_ASSERT(tn.value->finish(NULL, &number, NULL) == TN_INVALID);
    tn_release(number);
    struct tn_test_task *task = tn_test_run("test.refuses", "{}", "{}");
    TN_TEST_ASSERT(tn_test_is(task->output, "-11")); /* TN_UNSUPPORTED */
    tn_test_finish();
}

static void test_node(void) {
    tn_test_set_channel("in", "\"a b c\"");
    tn_test_set_channel("out", "0");
    tn_test_run("test.words", "{\"from\": \"in\", \"to\": \"out\"}", "null");
    TN_TEST_ASSERT(tn_test_wrote("out", "2"));
    tn_test_set_channel("in", "1");
    TN_TEST_ASSERT(tn_test_failed(tn_test_start("null"), "TYPE"));
    tn_test_finish();
}

/* A call is a handle: its chunks are received and paused, and it is cancelled alone. */
static int32_t reply = TN_OK;
static char seen[64];
static int32_t on_call(void *user, int32_t status, tn_value value) {
    tn_value text = tn_to_json(value);
    (void)user;
    (void)snprintf(seen, sizeof seen, "%d %s", (int)status, text != NULL ? tn_chars(text, NULL) : "-");
    tn_release(text);
    return reply;
}

static void test_calls(void) {
    tn_test_set_channel("in", "\"a\"");
    tn_test_set_channel("out", "0");
    TN_TEST_ASSERT(tn_test_create("test.words", "{\"from\": \"in\", \"to\": \"out\"}") == TN_OK);
    uint32_t callee = 9;
    tn_call first = 0, second = 0;
    tn_task task = ++tn_test.task_count; /* one that the plugin does not know */
    tn_value options = tn_build("{s:s,s:i}", "chunks", "receive", "timeout_ms", 50);
    TN_TEST_ASSERT(tn.task->bind_call(NULL, "tool", TN_Z, "calc.add", TN_Z, NULL, &callee) == TN_OK);
    TN_TEST_ASSERT(tn.task->call(task, callee, options, options, on_call, NULL, &first) == TN_OK);
    TN_TEST_ASSERT(tn_test_last_call()->timeout_ms == 50);
    TN_TEST_ASSERT(tn.task->call(task, callee, options, NULL, on_call, NULL, &second) == TN_OK && second != first);
    tn_release(options);
    reply = TN_AGAIN;
    TN_TEST_ASSERT(tn_test_call_emit(&tn_test.calls[0], "1") == TN_OK && strcmp(seen, "1 1") == 0);
    TN_TEST_ASSERT(tn_test_call_emit(&tn_test.calls[0], "2") == TN_AGAIN && strcmp(seen, "1 1") == 0);
    TN_TEST_ASSERT(tn.task->resume_call(task, first) == TN_OK);
    TN_TEST_ASSERT(tn_test_call_emit(&tn_test.calls[0], "2") == TN_OK && strcmp(seen, "1 2") == 0);
    tn_test.room = 1;
    TN_TEST_ASSERT(tn_test_call_emit(&tn_test.calls[1], "3") == TN_OK && tn_test_is(tn_test.emitted, "[3]"));
    TN_TEST_ASSERT(tn.task->cancel_call(task, first) == TN_OK && tn_test.calls[0].cancelled);
    tn_test_call_end(&tn_test.calls[0], TN_CANCELLED, NULL);
    TN_TEST_ASSERT(strcmp(seen, "-8 -") == 0 && tn.task->cancel_call(task, first) == TN_NOT_FOUND);
    tn_test_call_end(&tn_test.calls[1], TN_OK, "\"done\"");
    TN_TEST_ASSERT(strcmp(seen, "0 \"done\"") == 0 && tn_done(task) == TN_OK);
    tn_test_finish();
}

int main(void) {
    test_json();
    test_values();
    expect_edits(true);
    expect_edits(false);
    test_options_and_reasons();
    test_builder_mistakes();
    test_posts();
    test_mistakes_are_statuses();
    test_node();
    test_calls();
    return 0;
}
