/*
 * state_test.c - runs tests/corpus/state with every store.
 *
 * A case is a list of lines; each case has a new store:
 *     OPERATION {…}      a call, as task.create {"task_type": "work"}
 *     tool NAME {…}      a call of a tool of tenon.state, in the task "t" of the run "r" by the runner "w"
 *     thread NAME        from here on, this run has a thread with this id
 *     => VALUE           the expected result: the listed members of an object, all items of an array
 *     !! CODE part       or the expected error: its code, and a part of its message
 *     keep NAME a.b.0    saves a part of the result (all without a path) as $NAME for later lines
 *     advance MS         advances the clock
 *     maintain           runs the store's maintenance
 *     count COLLECTION N the expected number of records
 * In an expected result, "*" is any value except null, and "#N" a string of N bytes. "<N*x>" anywhere is N times x. A
 * line that begins with a blank continues the one before it; one that begins with # is a comment.
 */
#include "tests/unit/state_fixture.h"

#include "adl/value/buffer.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <dirent.h>

struct script {
    const struct corpus_case *test;
    const char *store;
    struct kernel_fixture kernel;
    tn_value result; /* of the last call; NULL if it failed */
    tn_value kept;   /* {NAME: value} */
    bool asked;      /* the last call has not been checked */
};

/* ---- Text to values ---- */

/* "<N*x>" and $NAME replaced; the caller frees it. */
static char *expand(const struct script *script, const char *text) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    while (*text) {
        char *end;
        unsigned long times = *text == '<' ? strtoul(text + 1, &end, 10) : 0;
        if (times > 0 && *end == '*' && end[1] && end[2] == '>') {
            for (; times > 0; times--) buffer_char(&out, end[1]);
            text = end + 3;
        } else if (*text == '$' && strncmp(text, "$bytes", 6) != 0) {
            size_t length = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_0123456789");
            tn_value value = value_get_n(script->kept, text + 1, length);
            if (!value) fail_msg("`%s`: nothing is kept as %.*s", script->test->name, (int)length + 1, text);
            char *json = json_text(value, JSON_COMPACT);
            buffer_text(&out, json);
            mem_free(json);
            text += length + 1;
        } else {
            buffer_char(&out, *text++);
        }
    }
    return buffer_detach(&out, NULL);
}

static tn_value read_value(const struct script *script, const char *text) {
    char *json = expand(script, text);
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(json, strlen(json), NULL, &value, &error) != TN_OK)
        fail_msg("`%s`: %.200s: %s", script->test->name, json, error.message);
    mem_free(json);
    return value;
}

static bool matches(tn_value expected, tn_value found) {
    if (value_text_is(expected, "*")) return found && !value_is(found, TN_NULL);
    size_t size = 0;
    const char *text = value_is(expected, TN_STRING) ? value_chars(expected, &size) : "";
    if (size > 1 && text[0] == '#' && strspn(text + 1, "0123456789") == size - 1) {
        size_t length = 0;
        if (value_is(found, TN_STRING)) (void)value_chars(found, &length);
        return length == (size_t)atoll(text + 1);
    }
    if (value_is(expected, TN_OBJECT) && value_is(found, TN_OBJECT)) {
        for (size_t i = 0; i < value_count(expected); i++)
            if (!matches(value_value_at(expected, i), value_get_key(found, value_key_at(expected, i)))) return false;
        return value_count(expected) > 0 || value_count(found) == 0;
    }
    if (value_is(expected, TN_ARRAY) && value_is(found, TN_ARRAY)) {
        bool same = value_count(expected) == value_count(found);
        for (size_t i = 0; same && i < value_count(expected); i++)
            same = matches(value_at(expected, i), value_at(found, i));
        return same;
    }
    return found && value_equal(expected, found);
}

/* ---- Lines ---- */

static void expect_result(struct script *script, const char *text) {
    if (!script->result)
        fail_msg("%s: `%s`: expected %s\nfound %s: %s", script->store, script->test->name, text,
                 script->kernel.error.code, script->kernel.error.message);
    tn_value expected = read_value(script, text);
    if (!matches(expected, script->result)) {
        char *shown = json_text(script->result, JSON_COMPACT);
        fail_msg("%s: `%s`\nexpected %.1000s\nfound    %.2000s", script->store, script->test->name, text, shown);
    }
    value_unref(expected);
}

static void expect_error(struct script *script, char *text) {
    char *part = strchr(text, ' ');
    const struct error *error = &script->kernel.error;
    if (part) *part++ = '\0';
    if (script->result) {
        char *shown = json_text(script->result, JSON_COMPACT);
        fail_msg("%s: `%s`: expected %s, found %.500s", script->store, script->test->name, text, shown);
    }
    if (strcmp(error->code, text) != 0 || (part && !strstr(error->message, part)))
        fail_msg("%s: `%s`\nexpected %s: %s\nfound    %s: %s", script->store, script->test->name, text,
                 part ? part : "", error->code, error->message);
}

static void save_variable(struct script *script, char *name) {
    tn_value at = script->result;
    char *path = strchr(name, ' ');
    if (path) *path++ = '\0';
    for (char *step = path ? strtok(path, ".") : NULL; step; step = strtok(NULL, "."))
        at = value_is(at, TN_ARRAY) && (size_t)atoll(step) < value_count(at) ? value_at(at, (size_t)atoll(step))
                                                                             : value_get(at, step);
    if (!at) fail_msg("%s: `%s`: there is nothing to keep as %s", script->store, script->test->name, name);
    script->kept = value_set_take(script->kept, name, value_ref(at));
}

static void expect_count(struct script *script, const char *collection, long long expected) {
    tn_value query = value_set_take(value_object(), "collection", value_text(collection)), found = NULL;
    query = value_set_take(value_object(), "count", query);
    if (store_query_wait(script->kernel.kernel.store, query, &found, NULL) != TN_OK) fail_msg("the store cannot count");
    if (value_to_int(found) != expected)
        fail_msg("%s: `%s`: expected %lld records in %s, found %lld", script->store, script->test->name, expected,
                 collection, (long long)value_to_int(found));
    value_unref(found);
}

static void on_ended(struct call *task) { *(bool *)call_owner(task) = true; }

static const char *tool_thread; /* of the run that calls tools, or NULL */

static tn_value on_context(struct call *task) {
    tn_value context = value_set_take(value_object(), "task_id", value_text("t"));
    (void)task;
    context = value_set_take(context, "run_id", value_text("r"));
    if (tool_thread) context = value_set_take(context, "thread_id", value_text(tool_thread));
    return value_set_take(context, "runner_id", value_text("w"));
}

static const struct call_ops tool_ops = {.ended = on_ended, .context = on_context};

static struct callable *find_tool(const struct kernel_fixture *kernel, const char *name) {
    static const struct instance_scope scope = {.where = "a test"};
    struct component *component = NULL;
    struct callable *tool = NULL;
    struct error error = ERROR_INIT;
    if (registry_resolve(host_registry(kernel->host), "tool", name, &component, &error) != TN_OK ||
        instance_new(component, value_object(), &scope, &tool, &error) != TN_OK)
        fail_msg("%s", error.message);
    return tool;
}

/* A new reference, or NULL and the kernel's error. */
static tn_value call_tool(struct script *script, const char *name, tn_value input) {
    struct kernel_fixture *kernel = &script->kernel;
    bool over = false;
    struct callable *tool = find_tool(kernel, name);
    struct call *task = call_new(kernel->kernel.loop, tool, &tool_ops, &over);
    over = call_start(task, input);
    loop_run(kernel->kernel.loop, kernel_flag_is_set, &over);
    assert_true(over);
    tn_value result = call_outcome(task) == CALL_COMPLETED ? value_ref(call_output(task)) : NULL;
    error_finish(&kernel->error);
    if (!result) error_copy(&kernel->error, call_error(task));
    call_free(task);
    callable_unref(tool);
    return result;
}

static void call(struct script *script, char *line) {
    bool tool = strncmp(line, "tool ", 5) == 0;
    if (tool) line += 5;
    char *arguments = strchr(line, ' ');
    if (arguments) *arguments++ = '\0';
    value_unref(script->result);
    script->asked = true;
    if (tool) {
        tn_value input = read_value(script, arguments ? arguments : "{}");
        script->result = call_tool(script, line, input);
        value_unref(input);
        return;
    }
    script->result = kernel_call_take(&script->kernel, line, read_value(script, arguments ? arguments : "{}"));
}

static void step(struct script *script, char *line) {
    char collection[64];
    long long number;
    bool expects = strncmp(line, "=> ", 3) == 0 || strncmp(line, "!! ", 3) == 0;
    if (script->asked && !script->result && strncmp(line, "!! ", 3) != 0) expect_result(script, expects ? line : "");
    if (expects && *line == '=')
        expect_result(script, line + 3);
    else if (expects)
        expect_error(script, line + 3);
    else if (strncmp(line, "keep ", 5) == 0)
        save_variable(script, line + 5);
    else if (strncmp(line, "advance ", 8) == 0)
        loop_fake_advance(script->kernel.kernel.loop, atoll(line + 8));
    else if (strncmp(line, "thread ", 7) == 0)
        tool_thread = line + 7;
    else if (strcmp(line, "maintain") == 0)
        kernel_fixture_maintain(&script->kernel);
    else if (sscanf(line, "count %63s %lld", collection, &number) == 2)
        expect_count(script, collection, number);
    else
        call(script, line);
    if (expects) script->asked = false;
}

static void run_case(const struct corpus_case *test, void *user) {
    struct script script = {.test = test, .store = user, .kept = value_object()};
    kernel_fixture_open(&script.kernel, user);
    char *text = mem_text(corpus_need(test, "")), *at = text;
    while (*at) {
        char *line = at, *end = strchr(at, '\n');
        while (end && end[1] == ' ') *end = ' ', end = strchr(end, '\n');
        if (end) *end = '\0';
        at = end ? end + 1 : line + strlen(line);
        if (*line && *line != '#') step(&script, line);
    }
    if (script.asked && !script.result) expect_result(&script, "");
    tool_thread = NULL;
    mem_free(text);
    value_unref(script.result);
    value_unref(script.kept);
    kernel_fixture_close(&script.kernel);
}

static void corpus_of(const char *store) {
    struct dirent *entry;
    DIR *folder = opendir(TENON_SOURCE_DIR "/tests/corpus/state");
    int files = 0;
    assert_non_null(folder);
    if (!kernel_has(store)) {
        closedir(folder);
        skip();
    }
    while ((entry = readdir(folder))) {
        char path[512];
        if (!strstr(entry->d_name, ".txt")) continue;
        snprintf(path, sizeof path, "tests/corpus/state/%s", entry->d_name);
        corpus_each(path, run_case, (void *)(uintptr_t)store);
        files++;
    }
    closedir(folder);
    assert_true(files > 0);
}

static void corpus_over_memory(void **user) {
    (void)user;
    corpus_of("memory");
}

static void corpus_over_sqlite(void **user) {
    (void)user;
    corpus_of("sqlite");
}

/* ---- The table ---- */

static void every_row_has_its_effect(void **user) {
    (void)user;
    for (size_t i = 0; kernel_operation_at(i); i++) {
        const struct kernel_operation *row = kernel_operation_at(i);
        const char *effect = kernel_operation_effect(row);
        assert_ptr_equal(kernel_find_operation(kernel_operation_name(row)), row);
        if (effect) assert_memory_equal(effect, "state.", 6);
    }
    assert_null(kernel_find_operation("task.claims"));
    struct error error = ERROR_INIT;
    assert_int_equal(kernel_refuse_unknown("task.claims", &error), TN_NOT_FOUND);
    assert_non_null(strstr(error.message, "did you mean `task.claim`?"));
    error_finish(&error);
}

/* ---- Cancelling ---- */

/* The task ends as cancelled; the submitted operation still takes place. */
static void cancel_ends_a_tool(void **user) {
    struct kernel_fixture kernel;
    bool over = false;
    (void)user;
    kernel_fixture_open(&kernel, "memory");
    struct callable *tool = find_tool(&kernel, "task.create");
    tn_value input = value_set_take(value_object(), "task_type", value_text("work"));
    struct call *task = call_new(kernel.kernel.loop, tool, &tool_ops, &over);
    assert_false(call_start(task, input));
    call_cancel(task);
    loop_run(kernel.kernel.loop, kernel_flag_is_set, &over);
    assert_int_equal(call_outcome(task), CALL_CANCELLED);
    call_free(task);
    callable_unref(tool);
    value_unref(input);
    tn_value list = kernel_ask(&kernel, "task.list", "{}");
    assert_int_equal(value_count(value_get(list, "tasks")), 1);
    value_unref(list);
    kernel_fixture_close(&kernel);
}

/* The host is freed while an operation is pending: it takes place, and its callback is NULL. */
static void kernel_closes_with_open_requests(void **user) {
    struct kernel_fixture kernel;
    (void)user;
    kernel_fixture_open(&kernel, "memory");
    tn_value given = value_set_take(value_object(), "task_type", value_text("work"));
    kernel_call(&kernel.kernel, kernel_find_operation("task.create"), given, NULL, NULL);
    kernel_maintain(&kernel.kernel, NULL, NULL);
    value_unref(given);
    kernel_fixture_close(&kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpus_over_memory),
        cmocka_unit_test(corpus_over_sqlite),
        cmocka_unit_test(every_row_has_its_effect),
        cmocka_unit_test(cancel_ends_a_tool),
        cmocka_unit_test(kernel_closes_with_open_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
