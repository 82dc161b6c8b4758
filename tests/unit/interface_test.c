/* Every function of every interface for plugins, with valid arguments, invalid arguments, and NULL. */
#include "call_fixture.h"

#include <pthread.h>

#include "host/assembly/abi_table.h"
#include "host/base/log.h"
#include "host/data/kernel/kernel_abi.h"
#include "host/engine/graph/graph_abi.h"
#include "host/net/http_abi.h"
#include "host/plugin/abi/abi_host.h"
#include "host/plugin/abi/abi_server.h"
#include "host/plugin/call/instance_internal.h"
#include "host/plugin/isolate/launch_program.h"

static tn_task last_task;
static tn_binder *last_binder;
static const tn_value_1 *const v = &interface_value;
static const tn_eval_1 *const eval = &interface_eval;

static int32_t open_start(void *instance, tn_task task, tn_value input) {
    (void)instance, (void)input;
    last_task = task;
    return TN_OK;
}

const struct fake_component fake_components[] = {
    {.id = "open", .style = "async", .start = open_start},
    {.id = NULL},
};

static int setup(void **state) {
    (void)state;
    fixture_begin();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    fixture_end();
    return 0;
}

static tn_value json(const char *text) {
    tn_value value = NULL;
    assert_int_equal(v->from_json(NULL, text, TN_Z, &value, NULL), TN_OK);
    return value;
}

/* ---- The table ---- */

static void test_the_table(void **state) {
    (void)state;
    static const struct {
        const char *id;
        uint64_t size;
    } wanted[] = {
        {TN_CORE_1, sizeof(tn_core_1)},
        {TN_VALUE_1, sizeof(tn_value_1)},
        {TN_TASK_1, sizeof(tn_task_1)},
        {TN_EVAL_1, sizeof(tn_eval_1)},
        {TN_HTTP_1, sizeof(tn_http_1)},
        {TN_POLL_1, sizeof(tn_poll_1)},
        {TN_REGISTRY_1, sizeof(tn_registry_1)},
        {TN_TOOL_1, sizeof(tn_tool_1)},
        {TN_HOST_1, sizeof(tn_host_1)},
        {TN_DOCUMENT_DRAFT, sizeof(tn_document_draft)},
        {TN_GRAPH_DRAFT, sizeof(tn_graph_draft)},
        {TN_LAUNCH_DRAFT, sizeof(tn_launch_draft)},
        {TN_STATE_DRAFT, sizeof(tn_state_draft)},
        {TN_DEMAND_DRAFT, sizeof(tn_demand_draft)},
        {TN_SERVER_DRAFT, sizeof(tn_server_draft)},
    };
    size_t rows = 0;
    while (interface_table[rows].id) rows++;
    assert_int_equal(rows, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < rows; i++) {
        const uint64_t *size = interface_find(wanted[i].id); /* every vtable begins with its size */
        if (!size) fail_msg("%s is missing", wanted[i].id);
        assert_int_equal(*size, wanted[i].size);
    }
    assert_null(interface_find("tenon.value/2"));
}

/* ---- tenon.value/1 ---- */

static void test_reading_values(void **state) {
    (void)state;
    tn_value all = json("[null, true, -5, 2.0, 2.5, \"t\\u0000x\", {\"$bytes\": \"AQI=\"}, [1], {\"k\": 1}]");
    static const int kinds[] = {TN_NULL,   TN_BOOL,  TN_INT,   TN_DOUBLE, TN_DOUBLE,
                                TN_STRING, TN_BYTES, TN_ARRAY, TN_OBJECT};
    for (uint64_t i = 0; i < 9; i++) assert_int_equal(v->kind(v->at(all, i)), kinds[i]);
    assert_int_equal(v->kind(NULL), TN_NONE);
    int32_t truth = 9;
    int64_t number = 9;
    double real = 9;
    uint64_t length = 9;
    assert_int_equal(v->as_bool(v->at(all, 1), &truth), TN_OK);
    assert_int_equal(truth, 1);
    assert_int_equal(v->as_bool(v->at(all, 0), &truth), TN_TYPE);
    assert_int_equal(v->as_int(v->at(all, 2), &number), TN_OK);
    assert_int_equal(number, -5);
    assert_int_equal(v->as_int(v->at(all, 3), &number), TN_OK);
    assert_int_equal(number, 2);
    assert_int_equal(v->as_int(v->at(all, 4), &number), TN_TYPE);
    assert_int_equal(v->as_int(v->at(all, 5), &number), TN_TYPE);
    assert_int_equal(number, 2); /* untouched */
    assert_int_equal(v->as_double(v->at(all, 2), &real), TN_OK);
    assert_true(real == -5.0);
    assert_int_equal(v->as_double(v->at(all, 0), &real), TN_TYPE);
    assert_memory_equal(v->as_text(v->at(all, 5), &length), "t\0x", 4);
    assert_int_equal(length, 3);
    assert_null(v->as_text(v->at(all, 0), NULL));
    assert_memory_equal(v->as_bytes(v->at(all, 6), &length), "\1\2", 2);
    assert_int_equal(length, 2);
    assert_null(v->as_bytes(v->at(all, 5), NULL));
    assert_int_equal(v->count(all), 9);
    assert_int_equal(v->count(v->at(all, 8)), 1);
    assert_int_equal(v->count(v->at(all, 5)), 0);
    assert_null(v->at(all, 9));
    assert_null(v->at(v->at(all, 8), 0));
    tn_value key = NULL, value = NULL;
    assert_int_equal(v->entry(v->at(all, 8), 0, &key, &value), TN_OK);
    assert_string_equal(v->as_text(key, NULL), "k");
    assert_int_equal(v->entry(v->at(all, 8), 0, NULL, NULL), TN_OK);
    assert_int_equal(v->entry(v->at(all, 8), 1, &key, &value), TN_NOT_FOUND);
    assert_int_equal(v->entry(all, 0, &key, &value), TN_TYPE);
    assert_non_null(v->get(v->at(all, 8), "k", TN_Z));
    assert_null(v->get(v->at(all, 8), "K", TN_Z));
    assert_null(v->get(all, "k", TN_Z));
    assert_ptr_equal(v->retain(all), all);
    v->release(all);
    v->release(all);
}

static void test_nulls_where_values_are_needed(void **state) {
    (void)state;
    int32_t truth;
    int64_t number;
    double real;
    tn_value out = NULL;
    assert_int_equal(v->as_bool(NULL, &truth), TN_INVALID);
    assert_int_equal(v->as_bool(value_bool(true), NULL), TN_INVALID);
    assert_int_equal(v->as_int(NULL, &number), TN_INVALID);
    assert_int_equal(v->as_int(value_int(1), NULL), TN_INVALID);
    assert_int_equal(v->as_double(NULL, &real), TN_INVALID);
    assert_int_equal(v->as_double(value_int(1), NULL), TN_INVALID);
    assert_null(v->as_text(NULL, NULL));
    assert_null(v->as_bytes(NULL, NULL));
    assert_int_equal(v->count(NULL), 0);
    assert_null(v->at(NULL, 0));
    assert_null(v->get(NULL, "x", TN_Z));
    assert_null(v->get(value_object(), NULL, TN_Z));
    assert_int_equal(v->entry(NULL, 0, NULL, NULL), TN_INVALID);
    assert_int_equal(v->equal(NULL, NULL), 1);
    assert_int_equal(v->equal(NULL, value_null()), 0);
    assert_null(v->retain(NULL));
    v->release(NULL);
    tn_value array = value_array(), object = value_object(), none = NULL;
    assert_int_equal(v->append(NULL, object), TN_INVALID);
    assert_int_equal(v->append(&none, object), TN_INVALID);
    assert_int_equal(v->append(&array, NULL), TN_INVALID);
    assert_int_equal(v->append(&object, array), TN_TYPE);
    assert_int_equal(v->set(&none, "x", TN_Z, array), TN_INVALID);
    assert_int_equal(v->set(&object, NULL, TN_Z, array), TN_INVALID);
    assert_int_equal(v->set(&object, "x", TN_Z, NULL), TN_INVALID);
    assert_int_equal(v->set(&object, "\xff", TN_Z, array), TN_INVALID);
    assert_int_equal(v->set(&array, "x", TN_Z, object), TN_TYPE);
    assert_int_equal(v->make_text(NULL, NULL, 1, &out), TN_INVALID);
    assert_int_equal(v->make_text(NULL, "\xff", 1, &out), TN_INVALID);
    assert_int_equal(v->make_text(NULL, "x", 1, NULL), TN_INVALID);
    assert_int_equal(v->make_bytes(NULL, NULL, 1, &out), TN_INVALID);
    assert_int_equal(v->make_double(NULL, 1.0 / 0.0, &out), TN_INVALID);
    v->release(array);
    v->release(object);
    assert_int_equal(v->from_json(NULL, NULL, 1, &out, NULL), TN_INVALID);
    assert_int_equal(v->from_json(NULL, "[", 1, &out, NULL), TN_FAILED);
    assert_int_equal(v->from_json(NULL, "1", 1, NULL, NULL), TN_INVALID);
    assert_null(out);
    assert_int_equal(v->to_json(NULL, NULL, &out), TN_INVALID);
    assert_null(out);
    v->begin(NULL, TN_ARRAY);
    v->key(NULL, "x", TN_Z);
    v->add(NULL, value_null());
    v->end(NULL);
    v->add_text(NULL, "x", TN_Z);
    assert_int_equal(v->finish(NULL, &out, NULL), TN_INVALID);
}

static void test_making_values(void **state) {
    (void)state;
    tn_builder *builder = v->builder(NULL);
    v->begin(builder, TN_OBJECT);
    v->key(builder, "list", TN_Z);
    v->begin(builder, TN_ARRAY);
    tn_value text = NULL, bytes = NULL;
    assert_int_equal(v->make_text(NULL, "x", 1, &text), TN_OK);
    assert_int_equal(v->make_bytes(NULL, "\1", 1, &bytes), TN_OK);
    v->add(builder, text);
    v->add(builder, bytes);
    v->add(builder, v->make_bool(NULL, 7));
    v->add(builder, v->make_null(NULL));
    v->end(builder);
    v->key(builder, "n", TN_Z);
    v->add(builder, v->make_int(NULL, 3));
    v->end(builder);
    tn_value made = NULL;
    assert_int_equal(v->finish(builder, &made, NULL), TN_OK);
    tn_value expected = json("{\"n\": 3, \"list\": [\"x\", {\"$bytes\": \"AQ==\"}, true, null]}");
    assert_int_equal(v->equal(made, expected), 1);
    tn_value longer = v->retain(v->get(made, "list", TN_Z)), more = v->retain(made);
    assert_int_equal(v->append(&longer, text), TN_OK);
    assert_int_equal(v->count(longer), 5);
    assert_int_equal(v->count(v->get(made, "list", TN_Z)), 4);
    assert_int_equal(v->set(&more, "n", 1, v->make_int(NULL, 4)), TN_OK);
    tn_value shown = NULL, real = NULL;
    assert_int_equal(v->to_json(more, NULL, &shown), TN_OK);
    assert_string_equal(v->as_text(shown, NULL), "{\"list\":[\"x\",{\"$bytes\":\"AQ==\"},true,null],\"n\":4}");
    assert_int_equal(v->make_double(NULL, 0.5, &real), TN_OK);
    assert_int_equal(v->kind(real), TN_DOUBLE);
    tn_value values[] = {text, bytes, made, expected, longer, more, shown, real};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) v->release(values[i]);
}

static void test_mistakes_of_builders(void **state) {
    (void)state;
    /* b/B begin an array or object, k a key, a add, e end, n add NULL, K a NULL key, x begin an unknown kind */
    static const char *const wrong[] = {"",       "b", "bea", "aa", "e",  "Ba",  "Bke", "Bkkae", "bke",
                                        "Bkakae", "n", "BK",  "x",  "bn", "bee", "Bee", "k",     "beb"};
    static const char *const right[] = {"a", "be", "Be", "bae", "Bkae", "BkBkbeee"};
    for (int good = 0; good < 2; good++) {
        size_t count = good ? sizeof right / sizeof *right : sizeof wrong / sizeof *wrong;
        for (size_t i = 0; i < count; i++) {
            tn_builder *builder = v->builder(NULL);
            for (const char *step = good ? right[i] : wrong[i]; *step; step++) {
                switch (*step) {
                case 'b': v->begin(builder, TN_ARRAY); break;
                case 'B': v->begin(builder, TN_OBJECT); break;
                case 'x': v->begin(builder, 99); break;
                case 'k': v->key(builder, "k", TN_Z); break;
                case 'K': v->key(builder, NULL, TN_Z); break;
                case 'a': v->add(builder, value_int(1)); break;
                case 'n': v->add(builder, NULL); break;
                default: v->end(builder); break;
                }
            }
            tn_value made = NULL, error = NULL;
            assert_int_equal(v->finish(builder, &made, &error), good ? TN_OK : TN_FAILED);
            if (!good) assert_true(value_text_is(value_get(error, "code"), "INVALID_VALUE"));
            v->release(made);
            v->release(error);
        }
    }
    tn_builder *deep = v->builder(NULL);
    for (int i = 0; i < 100000; i++) v->begin(deep, TN_ARRAY);
    tn_value none = NULL;
    assert_int_equal(v->finish(deep, &none, NULL), TN_FAILED);
}

/* ---- tenon.core/1 ---- */

static char logged[LOG_LINE_MAX + 64];
static int log_lines;
static void log_sink(void *user, int32_t level, const char *who, const char *line) {
    (void)user;
    log_lines++;
    snprintf(logged, sizeof logged, "%d %s %s", level, who, line);
}

static void test_logging(void **state) {
    (void)state;
    log_lines = 0;
    log_set_sink(NULL, log_sink, NULL);
    core_1->log(fixture_plugin_host, TN_LOG_WARN, "one\nline\x1b[0m", TN_Z);
    assert_string_equal(logged, "2 test.fake one line [0m");
    core_1->log(fixture_plugin_host, TN_LOG_INFO, "not shown", TN_Z);
    assert_int_equal(log_lines, 1);
    log_set_level(NULL, TN_LOG_DEBUG);
    core_1->log(fixture_plugin_host, TN_LOG_INFO, "shown", TN_Z);
    core_1->log(fixture_plugin_host, TN_LOG_ERROR, NULL, TN_Z);
    core_1->log(NULL, TN_LOG_ERROR, "who?", TN_Z);
    core_1->log(fixture_plugin_host, 77, "unknown level", TN_Z);
    assert_int_equal(log_lines, 5);
    assert_int_equal(task_1->complete(1, NULL), TN_STALE); /* logged at debug level */
    assert_int_equal(log_lines, 6);
    assert_non_null(strstr(logged, "0 call "));
    char *longer = mem_zalloc(10000);
    memset(longer, 'x', 9999);
    core_1->log(fixture_plugin_host, TN_LOG_WARN, longer, TN_Z);
    assert_true(strlen(logged) < LOG_LINE_MAX + 20);
    mem_free(longer);
    log_set_level(NULL, TN_LOG_WARN);
    log_set_sink(NULL, NULL, NULL);
}

static void test_memory_is_accounted(void **state) {
    (void)state;
    _Atomic uint64_t *held = plugin_memory(fixture_plugin);
    uint64_t before = *held;
    char *memory = core_1->alloc(fixture_plugin_host, 100);
    memset(memory, 'x', 100);
    assert_int_equal(*held, before + 100);
    memory = core_1->resize(fixture_plugin_host, memory, 5000);
    assert_int_equal(*held, before + 5000);
    assert_int_equal(memory[99], 'x');
    assert_null(core_1->resize(fixture_plugin_host, memory, UINT64_MAX));
    core_1->release(fixture_plugin_host, memory);
    assert_int_equal(*held, before);
    memory = core_1->resize(fixture_plugin_host, NULL, 3);
    core_1->release(fixture_plugin_host, memory);
    core_1->release(fixture_plugin_host, NULL);
    memory = core_1->alloc(fixture_plugin_host, 0); /* like malloc: NULL, or memory to free */
    core_1->release(fixture_plugin_host, memory);
    assert_null(core_1->alloc(fixture_plugin_host, UINT64_MAX));
    assert_int_equal(*held, before);
}

static void test_clocks(void **state) {
    (void)state;
    assert_int_equal(core_1->wall_ms(fixture_plugin_host), INT64_C(1767225600000));
    int64_t first = core_1->monotonic_ns(fixture_plugin_host);
    assert_true(first > 0);
    assert_true(core_1->monotonic_ns(fixture_plugin_host) >= first);
    assert_int_equal(core_1->wall_ms(NULL), 0);
}

static char order[32];
static void note(void *letter) { strcat(order, letter); }

static void note_drop(void *letter) {
    strcat(order, "-");
    strcat(order, letter);
}

/* Posts `note`; 0 on failure. */
static uint64_t post(uint64_t delay_ms, char *letter) {
    uint64_t id = 0;
    int32_t status = core_1->post(fixture_plugin_host, delay_ms, note, note_drop, letter, &id);
    assert_int_equal(status == TN_OK, id != 0);
    return id;
}

static void *post_from_thread(void *argument) {
    *(uint64_t *)argument = post(0, (char *)(uintptr_t) "T");
    return NULL;
}

static void test_posting(void **state) {
    (void)state;
    static char a[] = "a", b[] = "b", c[] = "c", d[] = "d";
    order[0] = '\0';
    uint64_t ids[4] = {post(20, a), post(0, b), post(0, c), post(10, d)};
    for (int i = 0; i < 4; i++) assert_int_not_equal(ids[i], 0);
    assert_int_equal(core_1->post(fixture_plugin_host, 0, NULL, note_drop, a, NULL), TN_INVALID);
    assert_int_equal(core_1->post(NULL, 0, note, note_drop, a, NULL), TN_INVALID);
    assert_string_equal(order, "");
    fixture_run_turns();
    assert_string_equal(order, "bc");
    assert_int_equal(core_1->unpost(fixture_plugin_host, ids[1]), TN_NOT_FOUND);
    assert_int_equal(core_1->unpost(fixture_plugin_host, ids[3]), TN_OK);
    assert_int_equal(core_1->unpost(fixture_plugin_host, ids[3]), TN_NOT_FOUND);
    assert_int_equal(core_1->unpost(fixture_plugin_host, 0), TN_NOT_FOUND);
    assert_int_equal(core_1->unpost(fixture_plugin_host, UINT64_MAX), TN_NOT_FOUND);
    assert_string_equal(order, "bc-d");
    assert_int_equal(core_1->unpost(fixture_plugin_host, post(0, d)), TN_OK); /* before it runs */
    fixture_advance(20);
    assert_string_equal(order, "bc-d-da");
    pthread_t thread;
    uint64_t id = 0;
    pthread_create(&thread, NULL, post_from_thread, &id);
    pthread_join(thread, NULL);
    assert_int_not_equal(id, 0);
    fixture_run_turns();
    assert_string_equal(order, "bc-d-daT");
    assert_false(loop_run(fixture_host.loop, NULL, NULL));
}

static void join_a_post_from_a_thread(void *letter) {
    pthread_t thread;
    uint64_t id = 0;
    note(letter);
    assert_int_not_equal(post(0, (char *)(uintptr_t) "2"), 0);
    pthread_create(&thread, NULL, post_from_thread, &id);
    pthread_join(thread, NULL);
    assert_int_not_equal(post(0, (char *)(uintptr_t) "3"), 0);
}

/* Also if other threads post, and if posted functions do. */
static void test_posts_run_in_the_order_of_posting(void **state) {
    (void)state;
    static char first[] = "1", last[] = "4";
    order[0] = '\0';
    assert_int_equal(core_1->post(fixture_plugin_host, 0, join_a_post_from_a_thread, NULL, first, NULL), TN_OK);
    pthread_t thread;
    uint64_t id = 0;
    pthread_create(&thread, NULL, post_from_thread, &id);
    pthread_join(thread, NULL);
    assert_int_not_equal(post(0, last), 0);
    fixture_run_turns();
    assert_string_equal(order, "1T42T3");
}

static void test_posts_are_dropped_with_their_plugin(void **state) {
    (void)state;
    static char a[] = "a", b[] = "b", c[] = "c";
    order[0] = '\0';
    uint64_t refs = plugin_refs(plugin_of(fixture_plugin_host)), later = 0, other = 0;
    later = post(20, a);
    fixture_run_turns(); /* it waits as a timer; the next two have not arrived yet */
    assert_int_not_equal(post(0, b), 0);
    assert_int_not_equal(post(10, c), 0);
    pthread_t thread;
    pthread_create(&thread, NULL, post_from_thread, &other);
    pthread_join(thread, NULL);
    assert_int_equal(plugin_refs(plugin_of(fixture_plugin_host)), refs + 4);
    interface_core_ended(plugin_of(fixture_plugin_host));
    assert_int_equal(plugin_refs(plugin_of(fixture_plugin_host)), refs);
    assert_int_equal(core_1->unpost(fixture_plugin_host, later), TN_NOT_FOUND);
    assert_int_equal(core_1->unpost(fixture_plugin_host, other), TN_NOT_FOUND);
    fixture_advance(100);
    assert_int_equal(strlen(order), 8); /* each is dropped, once */
    for (const char *letter = "abcT"; *letter; letter++) {
        char dropped[] = {'-', *letter, '\0'};
        assert_non_null(strstr(order, dropped));
    }
    assert_false(loop_run(fixture_host.loop, NULL, NULL));
}

static void test_refusing(void **state) {
    (void)state;
    struct error error = ERROR_INIT;
    tn_value reason = json("{\"code\": \"NO_TOPIC\", \"message\": \"no topic\", \"detail\": {\"at\": \"/a\"}}");
    assert_int_equal(core_1->refuse(fixture_plugin_host, reason), TN_UNSUPPORTED); /* nothing is being created */
    struct error *before = plugin_set_refusal_place(fixture_plugin, &error);
    assert_int_equal(core_1->refuse(fixture_plugin_host, reason), TN_FAILED);
    assert_string_equal(error.code, "NO_TOPIC");
    assert_string_equal(error.message, "no topic");
    assert_true(value_text_is(value_get(value_get(error.more, "detail"), "at"), "/a"));
    assert_int_equal(core_1->refuse(fixture_plugin_host, value_object()), TN_FAILED);
    assert_string_equal(error.code, "INVALID_CONFIG");
    assert_int_equal(core_1->refuse(fixture_plugin_host, NULL), TN_INVALID);
    assert_int_equal(core_1->refuse(NULL, reason), TN_INVALID);
    (void)plugin_set_refusal_place(fixture_plugin, before);
    error_finish(&error);
    value_unref(reason);
}

/* ---- tenon.task/1: what call_test.c does not cover ---- */

static void test_binding_reports_errors(void **state) {
    (void)state;
    static const struct {
        const char *name;
        const char *message;
    } rows[] = {{"scroe", "did you mean `score`?"}, {"zzzzzz", "no such channel"}};
    struct error error = ERROR_INIT;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bindings bindings = {0};
        struct tn_binder binder = {&bindings, &fixture_scope, NULL, &error, false};
        uint32_t index = 99;
        assert_int_equal(task_1->bind_read(&binder, rows[i].name, TN_Z, &index), TN_NOT_FOUND);
        assert_int_equal(index, 99);
        assert_string_equal(error.code, "CHANNEL");
        assert_non_null(strstr(error.message, rows[i].message));
        bindings_finish(&bindings);
        error_finish(&error);
    }
}

static void test_binding(void **state) {
    (void)state;
    struct error error = ERROR_INIT;
    struct bindings bindings = {0};
    struct tn_binder binder = {&bindings, &fixture_scope, NULL, &error, false};
    uint32_t a = 9, b = 9;
    last_binder = &binder;
    assert_int_equal(task_1->bind_read(last_binder, "score", TN_Z, &a), TN_OK);
    assert_int_equal(task_1->bind_read(last_binder, "score", TN_Z, &b), TN_OK);
    assert_int_equal(a, b);
    assert_int_equal(task_1->bind_write(last_binder, "out", TN_Z, &a), TN_OK);
    assert_int_equal(task_1->bind_write(last_binder, "out", TN_Z, &b), TN_OK);
    assert_int_equal(a, b);
    assert_int_equal(task_1->bind_write(last_binder, "score", TN_Z, &a), TN_NOT_FOUND);
    assert_int_equal(task_1->bind_call(last_binder, "tool", TN_Z, "open", TN_Z, NULL, &a), TN_OK);
    assert_int_equal(task_1->bind_call(last_binder, "tool", TN_Z, "open", TN_Z, NULL, &b), TN_OK);
    assert_int_equal(a, b);
    assert_int_equal(task_1->bind_call(last_binder, "tool", TN_Z, "open", TN_Z, value_object(), &b), TN_OK);
    assert_int_not_equal(a, b);
    assert_int_equal(task_1->bind_call(last_binder, "graph", TN_Z, "open", TN_Z, NULL, &b),
                     TN_INVALID); /* only bind_document binds graphs */
    assert_int_equal(interface_graph.bind_document(last_binder, "open", TN_Z, &b), TN_OK);
    assert_int_equal(interface_graph.bind_document(last_binder, "openly", 4, &a), TN_OK);
    assert_int_equal(a, b);
    tn_value made = value_object(), other = value_set_take(value_object(), "version", value_text("1.0"));
    assert_int_equal(interface_graph.bind_value(last_binder, made, "open", TN_Z, &a), TN_OK);
    assert_int_not_equal(a, b); /* a built document differs from a document at that path */
    assert_int_equal(interface_graph.bind_value(last_binder, other, "open", TN_Z, &b), TN_OK);
    assert_int_not_equal(a, b);
    bindings.sealed = true;
    assert_int_equal(task_1->bind_read(last_binder, "score", TN_Z, &a), TN_OK);
    assert_int_equal(eval->bind_expression(last_binder, "1", TN_Z, &a), TN_INVALID);
    bindings.sealed = false;
    /* NULLs */
    assert_int_equal(task_1->bind_read(NULL, "score", TN_Z, &a), TN_INVALID);
    assert_int_equal(task_1->bind_read(last_binder, NULL, TN_Z, &a), TN_INVALID);
    assert_int_equal(task_1->bind_read(last_binder, "score", TN_Z, NULL), TN_INVALID);
    assert_int_equal(task_1->bind_write(NULL, "out", TN_Z, &a), TN_INVALID);
    assert_int_equal(task_1->bind_call(NULL, "tool", TN_Z, "x", TN_Z, NULL, &a), TN_INVALID);
    assert_int_equal(task_1->bind_call(last_binder, NULL, TN_Z, "x", TN_Z, NULL, &a), TN_INVALID);
    assert_int_equal(interface_graph.bind_document(NULL, "x", TN_Z, &a), TN_INVALID);
    assert_int_equal(interface_graph.bind_document(last_binder, NULL, TN_Z, &a), TN_INVALID);
    assert_int_equal(interface_graph.bind_value(NULL, made, "x", TN_Z, &a), TN_INVALID);
    assert_int_equal(interface_graph.bind_value(last_binder, NULL, "x", TN_Z, &a), TN_INVALID);
    assert_int_equal(interface_graph.bind_value(last_binder, made, NULL, TN_Z, &a), TN_INVALID);
    assert_int_equal(interface_graph.bind_value(last_binder, made, "x", TN_Z, NULL), TN_INVALID);
    assert_int_equal(interface_graph.bind_value(last_binder, made, "", TN_Z, &a), TN_INVALID);
    tn_value list = value_array();
    assert_int_equal(interface_graph.bind_value(last_binder, list, "x", TN_Z, &a), TN_INVALID);
    value_unref(list);
    value_unref(other);
    value_unref(made);
    assert_int_equal(eval->bind_expression(NULL, "1", TN_Z, &a), TN_INVALID);
    assert_int_equal(eval->bind_template(last_binder, NULL, TN_Z, &a), TN_INVALID);
    assert_int_equal(eval->bind_schema(last_binder, NULL, &a), TN_INVALID);
    bindings_finish(&bindings);
    error_finish(&error);
}

static void test_bindings_are_limited(void **state) {
    (void)state;
    struct error error = ERROR_INIT;
    struct bindings bindings = {0};
    struct tn_binder binder = {&bindings, &fixture_scope, NULL, &error, false};
    char text[32];
    uint32_t index;
    for (uint32_t i = 0; i < BINDINGS_MAX; i++) {
        snprintf(text, sizeof text, "{\"const\": %u}", i);
        tn_value schema = json(text);
        assert_int_equal(i % 100 ? TN_OK : eval->bind_schema(&binder, schema, &index), TN_OK);
        value_unref(schema);
    }
    bindings.write_count = BINDINGS_MAX;
    bindings.writes = mem_zalloc(BINDINGS_MAX * sizeof *bindings.writes);
    assert_int_equal(task_1->bind_write(&binder, "out", TN_Z, &index), TN_LIMIT);
    assert_string_equal(error.code, "LIMIT");
    bindings_finish(&bindings);
    error_finish(&error);
}

static void test_tasks_with_nulls(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_start(call, NULL);
    assert_int_equal(task_1->emit(last_task, NULL), TN_INVALID);
    tn_value out = NULL, context = NULL;
    assert_int_equal(task_1->call(last_task, 0, NULL, NULL, NULL, NULL, NULL), TN_INVALID);
    assert_int_equal(task_1->read(last_task, 77, &out), TN_NOT_FOUND);
    assert_int_equal(task_1->read(last_task, 0, NULL), TN_INVALID);
    assert_int_equal(task_1->context(last_task, NULL), TN_INVALID);
    assert_int_equal(task_1->context(last_task, &context), TN_OK);
    assert_int_equal(value_to_int(value_get(context, "now")), INT64_C(1767225600000));
    assert_true(value_is(value_get(context, "task_id"), TN_STRING));
    value_unref(context);
    assert_int_equal(task_1->interrupt(last_task, NULL, NULL, NULL), TN_OK);
    fixture_wait(&record);
    assert_true(value_is(value_get(call_interrupt_value(call), "payload"), TN_NULL));
    call_free(call);
    callable_unref(node);
}

/* ---- tenon.eval ---- */

static uint32_t sum, broken, whole, run_id, greeting, missing, positive;

/* An instance whose bindings the test creates. */
static struct callable *eval_instance(void) {
    struct callable *node = fixture_instance("open");
    struct instance *instance = (struct instance *)node;
    struct error error = ERROR_INIT;
    struct tn_binder binder = {&instance->bindings, &fixture_scope, NULL, &error, false};
    instance->bindings.sealed = false;
    assert_int_equal(eval->bind_expression(&binder, "state.score + input.n + item", TN_Z, &sum), TN_OK);
    assert_int_equal(eval->bind_expression(&binder, "state.score + input.n + item", TN_Z, &broken), TN_OK);
    assert_int_equal(sum, broken);
    assert_int_equal(eval->bind_expression(&binder, "1 / (state.score - 20)", TN_Z, &broken), TN_OK);
    assert_int_equal(eval->bind_expression(&binder, "state", TN_Z, &whole), TN_OK);
    assert_int_equal(eval->bind_expression(&binder, "run.run_id", TN_Z, &run_id), TN_OK);
    assert_true(instance->bindings.uses_run);
    assert_int_equal(eval->bind_template(&binder, "{score} for {name}", TN_Z, &greeting), TN_OK);
    assert_int_equal(eval->bind_template(&binder, "{missing}", TN_Z, &missing), TN_OK);
    tn_value schema = json("{\"type\": \"integer\", \"minimum\": 1}");
    assert_int_equal(eval->bind_schema(&binder, schema, &positive), TN_OK);
    value_unref(schema);
    uint32_t index = 99;
    assert_int_equal(eval->bind_expression(&binder, "state.scroe", TN_Z, &index), TN_INVALID);
    assert_string_equal(error.code, "EXPRESSION_ERROR");
    error_finish(&error);
    binder.failed = false;
    assert_int_equal(eval->bind_template(&binder, "{score", TN_Z, &index), TN_INVALID);
    assert_string_equal(error.code, "TEMPLATE_ERROR");
    error_finish(&error);
    binder.failed = false;
    tn_value bad = json("{\"type\": 5}");
    assert_int_equal(eval->bind_schema(&binder, bad, &index), TN_INVALID);
    value_unref(bad);
    assert_int_equal(index, 99);
    error_finish(&error);
    instance->bindings.sealed = true;
    return node;
}

static tn_value run_value(struct call *call) {
    (void)call;
    return value_set_take(value_object(), "run_id", value_text("r1"));
}

static void test_evaluating(void **state) {
    (void)state;
    static const struct call_ops ops = {.ended = record_ended, .read = record_read, .run_value = run_value};
    struct callable *node = eval_instance();
    struct record record = {0};
    struct call *call = call_new(fixture_host.loop, node, &ops, &record);
    tn_value input = json("{\"n\": 2}"), out = NULL, error = NULL;
    call_start(call, input);
    assert_int_equal(eval->evaluate(last_task, sum, value_int(100), &out, &error), TN_OK);
    assert_int_equal(value_to_int(out), 122);
    assert_int_equal(eval->evaluate(last_task, sum, NULL, &out, &error), TN_FAILED); /* `item` is unset */
    assert_true(value_text_is(value_get(error, "code"), "EXPRESSION_ERROR"));
    value_unref(error);
    assert_int_equal(eval->evaluate(last_task, broken, NULL, &out, &error), TN_FAILED);
    assert_true(value_text_is(value_get(error, "code"), "EXPRESSION_ERROR"));
    value_unref(error);
    assert_int_equal(eval->evaluate(last_task, whole, NULL, &out, &error), TN_OK);
    assert_int_equal(value_to_int(value_get(out, "score")), 20);
    value_unref(out);
    assert_int_equal(eval->evaluate(last_task, run_id, NULL, &out, &error), TN_OK);
    assert_true(value_text_is(out, "r1"));
    value_unref(out);
    assert_int_equal(eval->evaluate(last_task, 99, NULL, &out, &error), TN_NOT_FOUND);
    assert_int_equal(eval->evaluate(last_task, sum, NULL, NULL, &error), TN_INVALID);
    assert_int_equal(eval->evaluate(0, sum, NULL, &out, &error), TN_STALE);
    value_unref(input);
    call_complete(last_task, NULL);
    fixture_wait(&record);
    call_free(call);
    callable_unref(node);
}

static void test_rendering_and_validating(void **state) {
    (void)state;
    struct callable *node = eval_instance();
    struct record record;
    struct call *call = fixture_call(node, &record);
    tn_value out = NULL, error = NULL, variables = json("{\"name\": \"ada\"}"),
             both = json("{\"name\": \"bob\", \"score\": 1}");
    call_start(call, NULL);
    assert_int_equal(eval->render(last_task, greeting, variables, &out, &error), TN_OK);
    assert_true(value_text_is(out, "20 for ada"));
    value_unref(out);
    assert_int_equal(eval->render(last_task, greeting, both, &out, &error), TN_OK); /* a variable hides a channel */
    assert_true(value_text_is(out, "1 for bob"));
    value_unref(out);
    assert_int_equal(eval->render(last_task, missing, variables, &out, &error), TN_FAILED);
    assert_true(value_text_is(value_get(error, "code"), "MISSING_VARIABLE"));
    value_unref(error);
    assert_int_equal(eval->render(last_task, 99, NULL, &out, &error), TN_NOT_FOUND);
    assert_int_equal(eval->render(last_task, greeting, value_int(1), &out, &error), TN_INVALID);
    assert_int_equal(eval->render(last_task, greeting, NULL, NULL, &error), TN_INVALID);
    assert_int_equal(eval->render(0, greeting, NULL, &out, &error), TN_STALE);
    assert_int_equal(eval->validate(last_task, positive, value_int(3), &error), TN_OK);
    assert_int_equal(eval->validate(last_task, positive, value_int(0), &error), TN_FAILED);
    assert_int_equal(value_count(value_get(value_get(error, "detail"), "violations")), 1);
    assert_int_equal(eval->validate(last_task, 99, value_int(0), &error), TN_NOT_FOUND);
    assert_int_equal(eval->validate(last_task, positive, NULL, &error), TN_INVALID);
    assert_int_equal(eval->validate(0, positive, value_int(1), &error), TN_STALE);
    assert_int_equal(task_1->fail(last_task, error), TN_OK);
    assert_int_equal(task_1->fail(last_task, error), TN_STALE);
    value_unref(error);
    fixture_wait(&record);
    assert_string_equal(code_of(call), "INVALID_OUTPUT");
    assert_non_null(value_get(call_error(call)->more, "detail"));
    call_free(call);
    value_unref(variables);
    value_unref(both);
    callable_unref(node);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_the_table),
        TEST(test_reading_values),
        TEST(test_nulls_where_values_are_needed),
        TEST(test_making_values),
        TEST(test_mistakes_of_builders),
        TEST(test_logging),
        TEST(test_memory_is_accounted),
        TEST(test_clocks),
        TEST(test_posting),
        TEST(test_posts_run_in_the_order_of_posting),
        TEST(test_posts_are_dropped_with_their_plugin),
        TEST(test_refusing),
        TEST(test_binding_reports_errors),
        TEST(test_binding),
        TEST(test_bindings_are_limited),
        TEST(test_tasks_with_nulls),
        TEST(test_evaluating),
        TEST(test_rendering_and_validating),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
