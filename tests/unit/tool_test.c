/*
 * tool_test.c - the parts of the tool kernel: policy, validation, search, gates, instances, audit log. The corpus
 * tests/corpus/engine/tools.txt tests them together.
 */
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/engine/engine.h"
#include "host/engine/tool/tool.h"
#include "host/engine/tool/tool_audit.h"
#include "host/engine/tool/tool_gate.h"
#include "host/engine/tool/tool_policy.h"
#include "host/engine/tool/tool_set.h"
#include "host/engine/tool/tool_validate.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include "tests/unit/engine_fixture.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The policy ---- */

static const struct {
    const char *entries, *rules, *name, *effects;
    bool chosen;
    const char *expected; /* approval, and who decided */
} policies[] = {
    /* No rules. */
    {NULL, NULL, "a.b", "[]", true, "auto default"},
    {NULL, NULL, "a.b", "[\"network.http\"]", true, "auto default"},
    {NULL, NULL, "a.b", "[\"destructive\"]", true, "ask effects"},
    {NULL, NULL, "a.b", "[\"destructive:files\"]", true, "ask effects"},
    {NULL, NULL, "a.b", NULL, true, "ask effects"},
    {NULL, NULL, "a.b", NULL, false, "auto default"},
    {NULL, NULL, "a.b", "[\"destructive\"]", false, "auto default"},
    /* The document: the most exact entry counts. */
    {"[{\"name\": \"a.b\"}]", NULL, "a.b", NULL, true, "ask effects"},
    {"[{\"name\": \"*\", \"approval\": \"deny\"}, {\"name\": \"a.*\", \"approval\": \"auto\"}]", NULL, "a.b", NULL,
     true, "auto document"},
    {"[{\"name\": \"a.b\", \"approval\": \"ask\"}, {\"name\": \"a.*\", \"approval\": \"deny\"}]", NULL, "a.b", "[]",
     false, "ask document"},
    {"[{\"name\": \"a.b\", \"approval\": \"never\"}]", NULL, "a.b", "[]", false, "auto default"},
    /* The operator: the strictest of the longest pattern and all matching effects. */
    {NULL, "{\"*\": \"deny\", \"a.*\": \"auto\"}", "a.b", NULL, true, "auto operator"},
    {NULL, "{\"a.*\": \"auto\", \"effect:unknown\": \"ask\"}", "a.b", NULL, true, "ask operator"},
    {NULL, "{\"a.*\": \"deny\", \"effect:unknown\": \"ask\"}", "a.b", NULL, true, "deny operator"},
    {NULL, "{\"effect:x\": \"ask\", \"effect:y*\": \"deny\"}", "a.b", "[\"x\", \"yes\"]", false, "deny operator"},
    {NULL, "{\"effect:network.http\": \"ask\"}", "a.b", "[\"network.http:example.com\"]", false, "ask operator"},
    {NULL, "{\"effect:network.http\": \"ask\"}", "a.b", "[\"network.https\"]", false, "auto default"},
    {NULL, "{\"effect:*\": \"deny\"}", "a.b", "[]", true, "auto default"},
    {NULL, "{\"effect:*\": \"deny\"}", "a.b", NULL, true, "deny operator"},
    /* A rule for the exact name overrides all others. */
    {NULL, "{\"a.b\": \"auto\", \"effect:unknown\": \"deny\", \"*\": \"deny\"}", "a.b", NULL, true, "auto operator"},
    /* Document and operator: the stricter one. */
    {"[{\"name\": \"a.b\", \"approval\": \"auto\"}]", "{\"a.*\": \"ask\"}", "a.b", "[]", true, "ask operator"},
    {"[{\"name\": \"a.b\", \"approval\": \"deny\"}]", "{\"a.b\": \"auto\"}", "a.b", "[]", true, "deny document"},
    {"[{\"name\": \"a.b\", \"approval\": \"ask\"}]", "{\"a.b\": \"ask\"}", "a.b", "[]", true, "ask operator"},
    {"[{\"name\": \"a.b\", \"approval\": \"auto\"}]", "{\"effect:x\": \"deny\"}", "a.b", "[\"x\"]", true,
     "deny operator"},
};

static void test_policy(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        tn_value entries = policies[i].entries ? parse_json(policies[i].entries) : NULL;
        tn_value rules = policies[i].rules ? parse_json(policies[i].rules) : NULL;
        tn_value effects = policies[i].effects ? parse_json(policies[i].effects) : NULL;
        struct tool_policy policy;
        char found[64];
        struct authority *document = authority_of_document(NULL, "a document", entries, false);
        tool_policy_of(document, rules, policies[i].name, effects, policies[i].chosen, &policy);
        authority_unref(document);
        snprintf(found, sizeof found, "%s %s", tool_approval_name(policy.approval), policy.by);
        if (strcmp(found, policies[i].expected) != 0)
            fail_msg("row %zu: expected %s, found %s: %s", i, policies[i].expected, found,
                     value_chars(policy.why, NULL));
        assert_true(*value_chars(policy.why, NULL));
        tool_policy_finish(&policy);
        value_unref(entries);
        value_unref(rules);
        value_unref(effects);
    }
}

static void test_limits_of_entries(void **state) {
    (void)state;
    tn_value entries = parse_json("[{\"name\": \"a.*\", \"timeout\": \"1.5s\", \"concurrency\": 4, \"max_calls\": 10}, "
                                  "{\"name\": \"b\", \"timeout\": 2, \"max_calls\": 99999999999}, {\"name\": \"c\"}]");
    struct authority *document = authority_of_document(NULL, "a document", entries, false);
    struct tool_policy policy;
    tool_policy_of(document, NULL, "a.b", value_array(), true, &policy);
    assert_int_equal(policy.timeout_ms, 1500);
    assert_int_equal(policy.concurrency, 4);
    assert_int_equal(policy.max_calls, 10);
    assert_false(tool_policy_is_plain(&policy));
    tool_policy_finish(&policy);
    tool_policy_of(document, NULL, "b", value_array(), true, &policy);
    assert_int_equal(policy.timeout_ms, 2000);
    assert_int_equal(policy.max_calls, UINT32_MAX);
    tool_policy_finish(&policy);
    tool_policy_of(document, NULL, "c", value_array(), true, &policy);
    assert_true(tool_policy_is_plain(&policy));
    tool_policy_finish(&policy);
    struct authority *inner = authority_of_document(document, "inside", value_array(), false);
    assert_true(authority_allows_tool(document, "a.x"));
    assert_false(authority_allows_tool(document, "d"));
    assert_false(authority_allows_tool(inner, "a.x"));
    assert_true(authority_allows_tool(NULL, "d"));
    authority_unref(inner);
    authority_unref(document);
    value_unref(entries);
}

/* ---- Validation ---- */

static void test_violations(void **state) {
    (void)state;
    struct error error = ERROR_INIT;
    struct schema *schema = NULL;
    tn_value document = parse_json("{\"items\": {\"type\": \"integer\"}}"), bad = value_array();
    assert_int_equal(schema_compile(document, NULL, &schema, &error), TN_OK);
    for (int i = 0; i < 200; i++) bad = value_push_take(bad, value_text("x"));
    assert_int_equal(tool_validate(schema, bad, TOOL_ARGUMENTS, "many", &error), TN_INVALID);
    assert_string_equal(error.code, "INVALID_INPUT");
    assert_non_null(strstr(error.message, "at /7: "));
    assert_null(strstr(error.message, "at /8: "));
    assert_non_null(strstr(error.message, "; and more"));
    tn_value detail = value_get(error.more, "detail");
    assert_int_equal(value_count(value_get(detail, "violations")), SCHEMA_ERRORS_MAX);
    assert_true(value_to_bool(value_get(detail, "more")));
    assert_int_equal(tool_validate(schema, bad, TOOL_RESULT, "many", NULL), TN_INVALID);
    assert_int_equal(tool_validate(NULL, bad, TOOL_RESULT, "many", NULL), TN_OK);
    error_finish(&error);
    schema_unref(schema);
    value_unref(bad);
    value_unref(document);
}

/* ---- Search ---- */

static void add_id(void *user, const struct component_info *info) {
    struct buffer *found = user;
    buffer_format(found, "%s ", info->id);
}

static void expect_found(struct host *host, const char *query, size_t limit, const char *expected) {
    struct buffer found;
    buffer_init(&found, SIZE_MAX);
    tool_search(host_engine(host), query, NULL, limit, add_id, &found);
    if (strcmp(buffer_cstr(&found), expected) != 0)
        fail_msg("`%.100s`: expected %s, found %s", query, expected, buffer_cstr(&found));
    buffer_finish(&found);
}

static void test_search(void **state) {
    (void)state;
    struct host *host = host_for_tests();
    char *long_query = mem_zalloc(100000);
    expect_found(host, "t add", 10, "t.add t.block ");
    expect_found(host, "ADDS exactly", 10, "t.add ");
    expect_found(host, "adds", 10, "t.add t.block ");
    expect_found(host, "delete", 1, "t.delete ");
    expect_found(host, "add", 1, "t.add ");
    expect_found(host, "nowhere to be found", 10, "");
    expect_found(host, "t count", 1, "t.count ");
    memset(long_query, 'q', 99999);
    expect_found(host, long_query, 10, "");
    mem_free(long_query);
    host_free(host);
}

/* ---- Gates ---- */

struct visitor {
    struct tool_ticket ticket;
    struct tools *tools;
    bool leaves_at_once;
    int entered;
};

static void on_enter(struct tool_ticket *ticket) {
    struct visitor *visitor = (struct visitor *)(void *)ticket;
    visitor->entered++;
    if (visitor->leaves_at_once) tools_leave(visitor->tools, ticket);
}

static void test_gate(void **state) {
    (void)state;
    struct host *host = host_for_tests();
    struct tools *tools = host_engine(host)->tools;
    struct visitor all[6];
    memset(all, 0, sizeof all);
    for (int i = 0; i < 6; i++) {
        all[i].tools = tools;
        all[i].ticket = (struct tool_ticket){.limit = i == 3 ? 1 : 2, .enter = on_enter};
        all[i].leaves_at_once = i == 4;
        tools_enter(tools, "a", &all[i].ticket);
    }
    for (int i = 0; i < 6; i++) assert_int_equal(all[i].entered, i < 2);
    tools_leave(tools, &all[2].ticket); /* stops waiting */
    tools_leave(tools, &all[0].ticket);
    assert_int_equal(all[3].entered, 0); /* the first in the queue, with a limit of one */
    assert_int_equal(all[4].entered, 0);
    tools_leave(tools, &all[1].ticket);
    assert_int_equal(all[2].entered, 0);
    for (int i = 3; i < 6; i++) assert_int_equal(all[i].entered, 1);
    tools_leave(tools, &all[4].ticket); /* had left already */
    tools_leave(tools, &all[3].ticket);
    tools_leave(tools, &all[5].ticket);
    host_free(host); /* the gate was freed: no leak */
}

/* ---- Instances, and sets that follow the registry ---- */

static bool any_component(void *user, const struct component *component) {
    (void)user, (void)component;
    return true;
}

static void test_instances(void **state) {
    (void)state;
    struct host *host = host_for_tests();
    struct component *component;
    struct callable *one = NULL, *other = NULL;
    struct error error = ERROR_INIT;
    struct tools *tools = host_engine(host)->tools;
    assert_int_equal(registry_resolve(host_registry(host), "tool", "t.add", &component, &error), TN_OK);
    uint64_t before = plugin_refs(component->plugin);
    assert_int_equal(tools_instance(tools, component, NULL, &one, &error), TN_OK);
    assert_int_equal(tools_instance(tools, component, NULL, &other, &error), TN_OK);
    assert_ptr_equal(one, other);
    assert_int_equal(plugin_refs(component->plugin), before + 1);
    tools_sweep(tools, NULL, NULL);
    assert_int_equal(plugin_refs(component->plugin), before + 1);
    tools_sweep(tools, any_component, NULL);
    assert_int_equal(plugin_refs(component->plugin), before);
    tools_sweep(NULL, NULL, NULL);
    host_free(host);
}

static void test_sets_are_limited(void **state) {
    (void)state;
    struct host *host = host_for_tests();
    struct callable *set = NULL;
    struct error error = ERROR_INIT;
    tn_value names = value_array();
    for (unsigned i = 0; i < TOOL_SET_NAMES_MAX; i++) names = value_push_take(names, value_text("t.*"));
    assert_int_equal(tool_set_new(host_engine(host), NULL, names, &set, &error), TN_OK);
    tn_value first = tool_set_describe(set), second = tool_set_describe(set);
    assert_ptr_equal(first, second);
    assert_true(value_count(first) > 5);
    value_unref(first);
    value_unref(second);
    callable_unref(set);
    names = value_push_take(names, value_text("t.*"));
    assert_int_equal(tool_set_new(host_engine(host), NULL, names, &set, &error), TN_LIMIT);
    error_finish(&error);
    value_unref(names);
    assert_int_equal(tool_set_new(host_engine(host), NULL, value_int(1), &set, &error), TN_TYPE);
    assert_string_equal(error.code, "INVALID_INPUT");
    error_finish(&error);
    host_free(host);
}

/* A plugin in this process that adds and removes tools. */
static int32_t dynamic_create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                              void **instance) {
    (void)self, (void)id, (void)length, (void)config, (void)binder;
    *instance = NULL;
    return TN_OK;
}

static int32_t dynamic_start(void *instance, tn_task task, tn_value input) {
    (void)instance;
    return interface_task.complete(task, input);
}

static void dynamic_destroy(void *instance) { (void)instance; }

static const void *dynamic_interface(void *self, const char *id) {
    static const tn_component_1 components = {sizeof components, dynamic_create, dynamic_start, NULL, NULL,
                                              dynamic_destroy};
    (void)self;
    return strcmp(id, TN_COMPONENT_1) == 0 ? &components : NULL;
}

static tn_value dynamic_tool(unsigned number) {
    tn_value text = value_format("{\"kind\": \"tool\", \"id\": \"come.%04u\", \"title\": \"Comes.\", \"style\": "
                                 "\"async\", \"effects\": [], \"input\": {\"type\": \"object\"}}",
                                 number);
    tn_value tool = parse_json(value_chars(text, NULL));
    value_unref(text);
    return tool;
}

static void on_call_ended(struct call *call) { *(bool *)call_owner(call) = true; }

static bool flag_is_set(void *user) { return *(bool *)user; }

/* "ok" or the code that a call of the set ended with. */
static const char *call_dynamic_tool(struct host *host, struct callable *set, const char *name) {
    static const struct call_ops ops = {.ended = on_call_ended};
    static char code[64];
    bool over = false;
    struct call *call = call_new(host_loop(host), set, &ops, &over);
    tn_value request = value_set_take(value_object(), "name", value_text(name));
    over = call_start(call, request);
    loop_run(host_loop(host), flag_is_set, &over);
    assert_true(over);
    snprintf(code, sizeof code, "%s", call_outcome(call) == CALL_COMPLETED ? "ok" : call_error(call)->code);
    call_free(call);
    value_unref(request);
    return code;
}

static void test_tools_are_added_and_removed(void **state) {
    (void)state;
    static const tn_plugin plugin = {sizeof plugin, NULL, dynamic_interface};
    struct host *host = host_for_tests();
    struct error error = ERROR_INIT;
    struct callable *set = NULL;
    tn_value names = parse_json("[\"come.*\"]"), manifest = parse_json("{\"plugin\": {\"id\": \"test.come\", "
                                                                       "\"version\": \"1.0.0\", \"title\": \"Come\", "
                                                                       "\"dynamic\": [\"tool\"]}, \"components\": []}");
    assert_int_equal(registry_add_native(host_registry(host), manifest, &plugin, "test", &error), TN_OK);
    assert_int_equal(tool_set_new(host_engine(host), NULL, names, &set, &error), TN_OK);
    tn_value none = tool_set_describe(set);
    assert_int_equal(value_count(none), 0);
    assert_string_equal(call_dynamic_tool(host, set, "come.0001"), "TOOL_NOT_FOUND");
    struct plugin *come = registry_plugin(host_registry(host), "test.come");
    for (unsigned i = 0; i < TN_TOOL_SET_MAX + 10; i++) {
        tn_value tool = dynamic_tool(i);
        assert_int_equal(registry_add_component(come, tool, &error), TN_OK);
        value_unref(tool);
    }
    tn_value many = tool_set_describe(set);
    assert_int_equal(value_count(many), TN_TOOL_SET_MAX); /* the first, by name */
    assert_true(value_text_is(value_get(value_at(many, 7), "tool_name"), "come.0007"));
    assert_string_equal(call_dynamic_tool(host, set, "come.0001"), "ok");
    assert_int_equal(plugin_refs(come), 1); /* the instance is cached */
    assert_string_equal(call_dynamic_tool(host, set, "come.0001"), "ok");
    assert_int_equal(plugin_refs(come), 1);
    assert_int_equal(registry_remove_component(come, "tool", "come.0001", &error), TN_OK);
    assert_string_equal(call_dynamic_tool(host, set, "come.0001"), "TOOL_NOT_FOUND");
    assert_string_equal(call_dynamic_tool(host, set, "come.0002"), "ok");
    assert_int_equal(plugin_refs(come), 1); /* the removed tool's instance was released */
    tn_value fewer = tool_set_describe(set);
    assert_true(value_text_is(value_get(value_at(fewer, 1), "tool_name"), "come.0002"));
    value_unref(none);
    value_unref(many);
    value_unref(fewer);
    callable_unref(set);
    value_unref(names);
    value_unref(manifest);
    host_free(host);
}

/* ---- The audit log ---- */

static char folder[] = "/tmp/tenon-audit-XXXXXX";

/* The configuration: `more`, and the path of the log if it is not NULL. */
static struct config *read_tools_config(const char *more, const char *path) {
    struct diagnostics *found = diagnostics_new();
    tn_value text = value_format("tools: {%s%s%s}", more, path ? "audit: " : "", path ? path : "");
    size_t length;
    const char *chars = value_chars(text, &length);
    struct config *config = config_read("/tenon.yaml", chars, length, found);
    assert_int_equal(diagnostics_errors(found), 0);
    diagnostics_free(found);
    value_unref(text);
    return config;
}

static tn_value audit_line(const char *arguments) {
    tn_value line = value_set_take(value_object(), "tool", value_text("a"));
    return value_set_take(line, "arguments", value_text(arguments));
}

#define LINES 400

/* Each line is one write, so the lines of two processes are complete. */
static void test_two_processes(void **state) {
    (void)state;
    char path[64], *text = NULL;
    snprintf(path, sizeof path, "%s/both", folder);
    struct config *config = read_tools_config("", path);
    char arguments[3000];
    memset(arguments, 'x', sizeof arguments - 1);
    arguments[sizeof arguments - 1] = 0;
    pid_t child = fork();
    struct audit audit = AUDIT_INIT;
    for (int i = 0; i < LINES; i++)
        if (audit_note_take(&audit, config, audit_line(arguments), NULL) != TN_OK) _exit(1);
    audit_finish(&audit);
    if (child == 0) _exit(0);
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    FILE *file = fopen(path, "r");
    size_t capacity = 0, count = 0;
    while (getline(&text, &capacity, file) > 0) {
        tn_value line = parse_json(text);
        assert_true(value_text_is(value_get(line, "tool"), "a"));
        value_unref(line);
        count++;
    }
    assert_int_equal(count, 2 * LINES);
    free(text);
    fclose(file);
    config_free(config);
}

static void test_long_lines_and_failures(void **state) {
    (void)state;
    char path[64], line[200] = "";
    struct audit audit = AUDIT_INIT;
    struct error error = ERROR_INIT;
    snprintf(path, sizeof path, "%s/long", folder);
    struct config *config = read_tools_config("", path);
    char *arguments = mem_zalloc(AUDIT_LINE_MAX);
    memset(arguments, 'x', AUDIT_LINE_MAX - 1);
    assert_true(audit_is_enabled(config));
    assert_int_equal(audit_note_take(&audit, config, audit_line(arguments), &error), TN_OK);
    mem_free(arguments);
    FILE *file = fopen(path, "r");
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(line, "{\"tool\":\"a\",\"arguments\":\"too long for the audit log\"}\n");
    fclose(file);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    audit_finish(&audit);
    config_free(config);
    assert_false(audit_is_enabled(NULL));
    assert_int_equal(audit_ready(&audit, NULL, &error), TN_OK);
    /* If the log is required, a file that cannot be opened is an error. */
    snprintf(path, sizeof path, "%s/none/there", folder);
    config = read_tools_config("audit_required: true, ", path);
    assert_int_equal(audit_ready(&audit, config, &error), TN_FAILED);
    assert_string_equal(error.code, "AUDIT_FAILED");
    error_finish(&error);
    config_free(config);
    config = read_tools_config("audit_required: true, ", "/dev/full");
    assert_int_equal(audit_note_take(&audit, config, audit_line("x"), &error), TN_FAILED);
    assert_string_equal(error.code, "AUDIT_FAILED");
    error_finish(&error);
    audit_finish(&audit);
    config_free(config);
    config = read_tools_config("audit_required: true", NULL);
    assert_int_equal(audit_ready(&audit, config, &error), TN_FAILED);
    error_finish(&error);
    config_free(config);
}

static int setup(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state) {
    char path[64];
    static const char *const names[] = {"both", "long"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policy),
        cmocka_unit_test(test_limits_of_entries),
        cmocka_unit_test(test_violations),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_instances),
        cmocka_unit_test(test_sets_are_limited),
        cmocka_unit_test(test_tools_are_added_and_removed),
        cmocka_unit_test(test_two_processes),
        cmocka_unit_test(test_long_lines_and_failures),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
