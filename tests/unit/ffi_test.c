/*
 * ffi_test.c - descriptions of tests/ffi/library.c as tools: tests/corpus/ffi, in this process and in a separate one.
 *
 * A case has a description (`name: t` and `library:` are put before it where it has none), calls in order, each with
 * its result or the code and a part of the message of its error, and what the schemas are to be; or, where it is
 * refused, what the log must say. The same is expected either way.
 */
#include "tests/unit/corpus.h"

#include <dlfcn.h>
#include <tenon/embed.h>
#include <unistd.h>

#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include "host/assembly/host.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/embed/embed_internal.h"
#include "host/plugin/call/worker.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"

static struct buffer logged;

static void keep_log(void *user, int32_t level, const char *who, const char *line) {
    (void)user, (void)who;
    if (level >= TN_LOG_ERROR) buffer_format(&logged, "%s\n", line);
}

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void write_description(const struct corpus_case *test) {
    const char *text = corpus_need(test, "description");
    struct buffer whole;
    buffer_init(&whole, SIZE_MAX);
    if (strncmp(text, "name:", 5) != 0) buffer_format(&whole, "name: t\nlibrary: %s\n", TENON_FFI_LIBRARY);
    buffer_text(&whole, text);
    write_file("described.yaml", buffer_cstr(&whole));
    buffer_finish(&whole);
}

/* `folder` is an absolute name: the child's walls and ours agree on it. */
static tenon *open_host(bool isolated) {
    char *why = NULL;
    struct buffer config;
    buffer_init(&config, SIZE_MAX);
    buffer_format(&config,
                  "plugins: {config: {tenon.ffi: {libraries: [described.yaml], grants: [\"fs.read:%s\"]}}, "
                  "isolation: {tenon.ffi: %s}}\n",
                  TENON_BINARY_DIR, isolated ? "process" : "none");
    write_file("tenon.yaml", buffer_cstr(&config));
    buffer_finish(&config);
    tn_value options = value_set_take(value_object(), "config", value_text("tenon.yaml"));
    options = value_set_take(options, "allow_drafts", value_bool(true));
    options = value_set_take(options, "plugin_paths", value_push_take(value_array(), value_text(TENON_FFI_PLUGIN)));
    tenon *host = tenon_open(options, &why);
    if (!host) fail_msg("%s", why);
    value_unref(options);
    return host;
}

/* In this process: a worker may still be on its way back from a call that has ended, and what it posts is waited for.
 */
static void close_host(tenon *host, bool isolated) {
    if (!isolated) {
        workers_stop();
        (void)loop_run(host_loop(host->host), NULL, NULL);
    }
    tenon_close(host);
}

/* "tool {input} => {output}", or "tool {input} !! CODE part of the message". */
static void check_call(const struct corpus_case *test, tenon *host, char *line, bool isolated) {
    char *input = strchr(line, ' '), *expected = strstr(line, " => "), *error = strstr(line, " !! ");
    char id[80];
    const char *way = isolated ? "apart" : "in this process";
    if (!input || (!expected && !error)) fail_msg("%s: not a call: %s", test->name, line);
    *input++ = 0;
    *(expected ? expected : error) = 0;
    snprintf(id, sizeof id, "%s%s", strchr(line, '.') ? "" : "t.", line);
    tenon_runnable *tool = tenon_component(host, "tool", id, NULL);
    if (!tool && expected) fail_msg("%s: %s: %s\n%s", test->name, id, tenon_error(host), buffer_cstr(&logged));
    char *output = tool ? tenon_invoke_json(tool, input) : NULL;
    if (expected) {
        if (!output) fail_msg("%s, %s: %s %s: %s", test->name, way, id, input, tenon_error(host));
        if (strcmp(output, expected + 4) != 0)
            fail_msg("%s, %s: %s %s\ngave     %s\nexpected %s", test->name, way, id, input, output, expected + 4);
    } else {
        char *part = strchr(error + 4, ' ');
        if (part) *part++ = 0;
        if (output) fail_msg("%s, %s: %s %s gave %s", test->name, way, id, input, output);
        tn_value why = tenon_error_value(host);
        if (!value_text_is(value_get(why, "code"), error + 4) || (part && !strstr(tenon_error(host), part)))
            fail_msg("%s, %s: %s %s failed with %s: %s\nexpected %s: %s", test->name, way, id, input,
                     value_chars(value_get(why, "code"), NULL), tenon_error(host), error + 4, part ? part : "");
    }
    tenon_free(output);
    tenon_release(tool);
}

/* Sections "input NAME", "output NAME" and "component NAME": the schema, or the component without its schemas. */
static void check_schemas(const struct corpus_case *test, tenon *host) {
    for (size_t i = 0; i < test->section_count; i++) {
        char id[80], *space = strchr(test->sections[i].name, ' ');
        const char *name = test->sections[i].name;
        if (!space) continue;
        snprintf(id, sizeof id, "t%.*s%s", 1, ".", space + 1);
        const struct component_info *info =
            host_catalog(host->host)->find(host_catalog(host->host)->self, "tool", id, strlen(id));
        if (!info) fail_msg("%s: there is no tool %s", test->name, id);
        char member[16] = "";
        memcpy(member, name, (size_t)(space - name));
        tn_value part = value_get(info->manifest, member);
        char *text = json_text(part ? part : info->manifest, JSON_COMPACT);
        corpus_expect(test, name, text);
        mem_free(text);
    }
}

static void check_refused(const struct corpus_case *test, tenon *host) {
    assert_null(tenon_component(host, "tool", "t.x", NULL));
    if (!strstr(tenon_error(host), "tenon.ffi")) fail_msg("%s: %s", test->name, tenon_error(host));
    char *lines = mem_text(corpus_need(test, "refused")), *rest = lines;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (!strstr(buffer_cstr(&logged), line))
            fail_msg("%s: the log does not say: %s\nit says: %s", test->name, line, buffer_cstr(&logged));
    size_t told = 0, wanted = 1;
    for (const char *at = buffer_cstr(&logged); (at = strstr(at, "described.yaml")); at++) told++;
    for (const char *at = corpus_need(test, "refused"); (at = strchr(at, '\n')); at++) wanted++;
    if (told != wanted) fail_msg("%s: the log says more: %s", test->name, buffer_cstr(&logged));
    mem_free(lines);
}

static void check_one(const struct corpus_case *test, bool isolated) {
    buffer_finish(&logged);
    buffer_init(&logged, SIZE_MAX);
    write_description(test);
    tenon *host = open_host(isolated);
    if (corpus_section(test, "refused")) {
        check_refused(test, host);
    } else {
        char *lines = mem_text(corpus_section(test, "calls") ? corpus_section(test, "calls") : ""), *rest = lines;
        for (char *line; (line = strsep(&rest, "\n"));)
            if (*line) check_call(test, host, line, isolated);
        mem_free(lines);
        check_schemas(test, host);
    }
    close_host(host, isolated);
}

static void check_case(const struct corpus_case *test, void *user) {
    (void)user;
    check_one(test, false);
    check_one(test, true);
}

static void numbers(void **state) {
    (void)state;
    corpus_each("tests/corpus/ffi/numbers.txt", check_case, NULL);
}
static void texts_and_buffers(void **state) {
    (void)state;
    corpus_each("tests/corpus/ffi/texts.txt", check_case, NULL);
}
static void structs_and_handles(void **state) {
    (void)state;
    corpus_each("tests/corpus/ffi/structs.txt", check_case, NULL);
}
static void failures(void **state) {
    (void)state;
    corpus_each("tests/corpus/ffi/failures.txt", check_case, NULL);
}
static void faults(void **state) {
    (void)state;
    corpus_each("tests/corpus/ffi/faults.txt", check_case, NULL);
}

static tenon *open_samples(void) {
    char *why = NULL;
    tn_value options = value_set_take(value_object(), "config", value_text(TENON_SOURCE_DIR "/samples/ffi/tenon.yaml"));
    options = value_set_take(options, "allow_drafts", value_bool(true));
    options = value_set_take(options, "plugin_paths", value_push_take(value_array(), value_text(TENON_FFI_PLUGIN)));
    tenon *host = tenon_open(options, &why);
    if (!host) fail_msg("%s", why);
    value_unref(options);
    return host;
}

static void check_sample(const struct corpus_case *test, void *user) {
    (void)user;
    buffer_finish(&logged);
    buffer_init(&logged, SIZE_MAX);
    tenon *host = open_samples();
    char *lines = mem_text(corpus_need(test, "calls")), *rest = lines;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line) check_call(test, host, line, true);
    mem_free(lines);
    tenon_close(host);
}

static void samples(void **state) {
    static const char *const needed[] = {"libm.so.6", "libz.so.1", "libsqlite3.so.0"};
    (void)state;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        void *handle = dlopen(needed[i], RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            print_message("skipped: %s\n", dlerror());
            skip();
        }
        (void)dlclose(handle);
    }
    corpus_each("tests/corpus/ffi/samples.txt", check_sample, NULL);
}

/* No one said anything of isolation: its manifest does. */
static void runs_in_a_process_of_its_own(void **state) {
    static const char config[] = "plugins: {config: {tenon.ffi: {libraries: [{name: t, library: " TENON_FFI_LIBRARY
                                 ", functions: [{name: crash}, {name: echo_int8, parameters: [{name: v, type: int8}],"
                                 " returns: int8}]}]}}}\n";
    static const char *const paths[] = {TENON_FFI_PLUGIN, NULL};
    struct error error = ERROR_INIT;
    (void)state;
    write_file("tenon.yaml", config);
    struct host *host = host_new(
        &(struct host_options){.plugin_paths = paths, .config_file = "tenon.yaml", .allow_drafts = true}, &error);
    if (!host) fail_msg("%s", error.message);
    assert_true(plugin_isolated(registry_plugin(host_registry(host), "tenon.ffi")));
    host_free(host);
}

/* What a wrong signature can do: the run fails, the host goes on, and the tools are there again. */
static void survives_a_crash(void **state) {
    char *why = NULL;
    (void)state;
    tn_value options = value_set_take(value_object(), "config", value_text("tenon.yaml"));
    options = value_set_take(options, "allow_drafts", value_bool(true));
    options = value_set_take(options, "plugin_paths", value_push_take(value_array(), value_text(TENON_FFI_PLUGIN)));
    tenon *host = tenon_open(options, &why);
    if (!host) fail_msg("%s", why);
    value_unref(options);
    tenon_runnable *crash = tenon_component(host, "tool", "t.crash", NULL);
    tenon_runnable *echo = tenon_component(host, "tool", "t.echo_int8", NULL);
    if (!crash || !echo) fail_msg("%s", tenon_error(host));
    assert_null(tenon_invoke_json(crash, "{}"));
    assert_true(value_text_is(value_get(tenon_error_value(host), "code"), "PLUGIN_CRASHED"));
    char *output = NULL;
    /* It is started again after a pause, which the error tells. */
    for (int tries = 0; !output && tries < 100; tries++) {
        output = tenon_invoke_json(echo, "{\"v\":5}");
        if (!output) usleep(20000);
    }
    if (!output) fail_msg("%s", tenon_error(host));
    assert_string_equal(output, "{\"result\":5}");
    tenon_free(output);
    tenon_release(crash);
    tenon_release(echo);
    tenon_close(host);
}

static int set_up(void **state) {
    static char folder[] = "/tmp/tenon-ffi-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    *state = folder;
    setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 1);
    buffer_init(&logged, SIZE_MAX);
    log_set_sink(NULL, keep_log, NULL);
    return 0;
}

static int tear_down(void **state) {
    log_set_sink(NULL, NULL, NULL);
    buffer_finish(&logged);
    (void)unlink("described.yaml");
    (void)unlink("tenon.yaml");
    return chdir("/") != 0 || rmdir(*state) != 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(texts_and_buffers),
        cmocka_unit_test(structs_and_handles),
        cmocka_unit_test(failures),
        cmocka_unit_test(faults),
        cmocka_unit_test(samples),
        cmocka_unit_test(runs_in_a_process_of_its_own),
        cmocka_unit_test(survives_a_crash),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
