/*
 * metrics_test.c - the parts of plugins/metrics: series and their limits, the text format, spans of OTLP.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/fake_core.h"

#include "plugins/metrics/observe.h"
#include "plugins/metrics/otlp.h"
#include "plugins/metrics/prometheus.h"
#include <tenon/util/build.h>

static struct series_set set;

static int set_up(void **state) {
    (void)state;
    fake_core_open();
    return series_init(&set) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    series_finish(&set);
    return blocks == 0 ? 0 : -1;
}

/* The line of the text that begins like this; fails if there is none. */
static void has_line(const char *wanted) {
    struct tn_text_buffer text = {0};
    prometheus_write(&text, &set, NULL);
    const char *found = strstr(tn_text_chars(&text), wanted);
    if (found == NULL) fail_msg("no %s in\n%s", wanted, tn_text_chars(&text));
    tn_text_free(&text);
}

static void values_are_escaped_and_cut(void **state) {
    const char *odd[] = {"a\"b\\c\nd", "done"};
    char text[SERIES_LABEL_MAX + 8];
    (void)state;
    series_add(&set, FAMILY_RUNS, odd, 1);
    has_line("\ntenon_runs_total{graph=\"a\\\"b\\\\c\\nd\",status=\"done\"} 1\n");
    memset(text, 'x', sizeof text);
    memcpy(text + SERIES_LABEL_MAX - 1, "\xc3\xa9", 3); /* a character of two bytes on the limit */
    const char *cut[] = {text, "done"};
    series_add(&set, FAMILY_RUNS, cut, 1);
    text[SERIES_LABEL_MAX - 1] = '\0';
    char wanted[SERIES_LABEL_MAX + 32];
    (void)snprintf(wanted, sizeof wanted, "{graph=\"%s\",", text);
    has_line(wanted);
}

static void a_family_is_bounded(void **state) {
    (void)state;
    for (int i = 0; i < SERIES_FAMILY_MAX + 50; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "graph%d", i);
        const char *labels[] = {name, "done"};
        series_add(&set, FAMILY_RUNS, labels, 1);
        series_add(&set, FAMILY_RUNS, labels, 1); /* those that are in it are found again */
    }
    assert_int_equal(set.counts[FAMILY_RUNS], SERIES_FAMILY_MAX + 1);
    has_line("tenon_runs_total{graph=\"graph999\",status=\"done\"} 2\n");
    has_line("tenon_runs_total{graph=\"other\",status=\"other\"} 100\n");
}

static void all_series_are_bounded(void **state) {
    (void)state;
    for (int i = 0; i < FAMILIES; i++)
        for (int k = 0; k < SERIES_FAMILY_MAX; k++) {
            char name[32];
            (void)snprintf(name, sizeof name, "%d", k);
            const char *labels[SERIES_LABELS] = {name, name, name, name};
            series_add(&set, (enum family_id)i, labels, 1);
        }
    assert_in_range(set.count, SERIES_MAX, SERIES_MAX + FAMILIES);
}

static void histograms_are_cumulative(void **state) {
    const char *labels[] = {"tool"};
    (void)state;
    series_observe(&set, FAMILY_TOOL_SECONDS, labels, 0.001); /* on a bound: within it */
    series_observe(&set, FAMILY_TOOL_SECONDS, labels, 0.002);
    series_observe(&set, FAMILY_TOOL_SECONDS, labels, 1000);
    series_observe(&set, FAMILY_TOOL_SECONDS, labels, -1); /* the clock was set back: not counted */
    has_line("_bucket{tool=\"tool\",le=\"0.001\"} 1\n");
    has_line("_bucket{tool=\"tool\",le=\"0.005\"} 2\n");
    has_line("_bucket{tool=\"tool\",le=\"81.92\"} 2\n");
    has_line("_bucket{tool=\"tool\",le=\"+Inf\"} 3\n");
    has_line("_count{tool=\"tool\"} 3\n");
}

static void write_names(struct tn_text_buffer *out, const char *const *names) {
    for (uint32_t i = 0; names[i] != NULL; i++) (void)tn_text_append_format(out, "%s`%s`", i > 0 ? ", " : "", names[i]);
}

/* The README has this table; a family that is added, or changes, fails here. */
static void the_readme_lists_the_families(void **state) {
    struct tn_text_buffer table = {0};
    static char readme[64 << 10];
    (void)state;
    (void)tn_text_append(&table, "\n| metric | type | labels | in OTLP | what |\n|---|---|---|---|---|\n");
    for (int i = 0; i < FAMILIES; i++) {
        (void)tn_text_append_format(&table, "| `%s` | %s | ", families[i].name,
                                    families[i].bounds != NULL ? "histogram" : "counter");
        write_names(&table, families[i].labels);
        (void)tn_text_append_format(&table, " | `%s` | %s |\n", families[i].otlp, families[i].help);
    }
    (void)tn_text_append_char(&table, '\n');
    FILE *file = fopen(TENON_SOURCE_DIR "/plugins/metrics/README.md", "r");
    assert_non_null(file);
    size_t length = fread(readme, 1, sizeof readme - 1, file);
    assert_int_equal(fclose(file), 0);
    assert_in_range(length, 1, sizeof readme - 2); /* it is complete */
    bool same = strstr(readme, tn_text_chars(&table)) != NULL;
    if (!same) fputs(tn_text_chars(&table), stderr); /* fail_msg would cut it */
    tn_text_free(&table);
    if (!same) fail_msg("plugins/metrics/README.md must have the table above");
}

static void providers_have_the_names_of_the_conventions(void **state) {
    static const char *const rows[][3] = {{"openai:gpt-4o", "openai", "gpt-4o"},
                                          {"bedrock:a.b:0", "aws.bedrock", "a.b:0"},
                                          {"gemini:x", "gcp.gemini", "x"},
                                          {"scripted", "scripted", "scripted"},
                                          {"odd:", "odd", "odd:"},
                                          {"", "", ""}};
    char provider[PROVIDER_MAX], longest[200];
    const char *model;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        observe_provider(rows[i][0], provider, &model);
        assert_string_equal(provider, rows[i][1]);
        assert_string_equal(model, rows[i][2]);
    }
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    observe_provider(longest, provider, &model);
    assert_int_equal(strlen(provider), PROVIDER_MAX - 1);
}

static void codes_are_codes(void **state) {
    static const char *const rows[][2] = {
        {"TIMEOUT", "TIMEOUT"}, {"", ""}, {"no such file /home/ada", "OTHER"}, {"timeout", "OTHER"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_value span = tn_build("{s:s}", "code", rows[i][0]);
        assert_string_equal(observe_code(span), rows[i][1]);
        tn_release(span);
    }
}

/* ---- Spans ---- */

static tn_value span_json(const char *text, double ratio) {
    tn_value span = tn_from_json(text, strlen(text)), json = otlp_span_json(span, ratio);
    assert_non_null(span);
    tn_release(span);
    return json;
}

#define RUN(more)                                                                                                      \
    "{\"kind\":\"run\",\"name\":\"g\",\"id\":\"r/1\",\"outcome\":\"done\",\"start_us\":5,\"us\":7" more "}"

static void sampling(void **state) {
    static const char sampled[] = RUN(
        ",\"context\":{\"run_id\":\"r\",\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"}");
    static const char not_sampled[] = RUN(
        ",\"context\":{\"run_id\":\"r\",\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00\"}");
    (void)state;
    tn_value json = span_json(sampled, 0); /* the client's flag counts, not the ratio */
    assert_non_null(strstr(tn_chars(json, NULL), "\"traceId\":\"0af7651916cd43dd8448eb211c80319c\""));
    assert_non_null(strstr(tn_chars(json, NULL), "\"parentSpanId\":\"b7ad6b7169203331\""));
    assert_non_null(strstr(tn_chars(json, NULL), "\"startTimeUnixNano\":\"5000\",\"endTimeUnixNano\":\"12000\""));
    tn_release(json);
    assert_null(span_json(not_sampled, 1));
    json = span_json(RUN(""), 1);
    assert_null(strstr(tn_chars(json, NULL), "parentSpanId"));
    tn_release(json);
    assert_null(span_json(RUN(""), 0));
}

static void steps_and_tasks(void **state) {
    static const struct {
        const char *span, *wanted[4];
    } rows[] = {
        {"{\"kind\":\"step\",\"name\":\"g\",\"id\":\"s\",\"parent\":\"r\",\"outcome\":\"interrupted\",\"graph\":\"g\","
         "\"nodes\":3,\"context\":{\"run_id\":\"r\",\"step\":4}}",
         {"\"name\":\"step g\",\"kind\":1,", "\"tenon.nodes\",\"value\":{\"intValue\":\"3\"}",
          "\"tenon.step\",\"value\":{\"intValue\":\"4\"}", "\"tenon.graph\",\"value\":{\"stringValue\":\"g\"}"}},
        {"{\"kind\":\"task\",\"name\":\"report\",\"id\":\"t\",\"outcome\":\"failed\",\"code\":\"BROKEN\",\"attempt\":2,"
         "\"context\":{\"thread_id\":\"t1\",\"task_id\":\"t1\"}}",
         {"\"name\":\"task report\",\"kind\":5,", "\"tenon.task.type\",\"value\":{\"stringValue\":\"report\"}",
          "\"tenon.attempt\",\"value\":{\"intValue\":\"2\"}", "\"status\":{\"code\":2,\"message\":\"BROKEN\"}"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_value json = span_json(rows[i].span, 1);
        for (size_t k = 0; k < 4; k++)
            if (strstr(tn_chars(json, NULL), rows[i].wanted[k]) == NULL)
                fail_msg("no %s in %s", rows[i].wanted[k], tn_chars(json, NULL));
        tn_release(json);
    }
}

static void contents(void **state) {
    static const char span[] =
        "{\"kind\":\"model\",\"id\":\"m\",\"name\":\"openai:x\",\"input\":{\"messages\":[\"hi\",{\"type\":\"ai\","
        "\"content\":\"\",\"tool_calls\":[{\"id\":\"c\",\"name\":\"f\",\"arguments\":{\"a\":1}}]},{\"type\":\"tool\","
        "\"tool_call_id\":\"c\",\"content\":\"7\"}]},\"output\":{\"type\":\"ai\",\"content\":[{\"type\":\"text\","
        "\"text\":"
        "\"yes\"},{\"type\":\"image\",\"data\":\"secret\"}]}}";
    static const char *const wanted[] = {
        "[{\\\"role\\\":\\\"user\\\",\\\"parts\\\":[{\\\"type\\\":\\\"text\\\",\\\"content\\\":\\\"hi\\\"}]}",
        "{\\\"type\\\":\\\"tool_call\\\",\\\"id\\\":\\\"c\\\",\\\"name\\\":\\\"f\\\",\\\"arguments\\\":{\\\"a\\\":1}}",
        "{\\\"type\\\":\\\"tool_call_response\\\",\\\"id\\\":\\\"c\\\",\\\"response\\\":\\\"7\\\"}",
        "{\\\"type\\\":\\\"text\\\",\\\"content\\\":\\\"yes\\\"},{\\\"type\\\":\\\"image\\\"}"};
    (void)state;
    tn_value json = span_json(span, 1);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strstr(tn_chars(json, NULL), wanted[i]) == NULL) fail_msg("no %s in %s", wanted[i], tn_chars(json, NULL));
    tn_release(json);
}

static void odd_spans_are_left_out_or_read(void **state) {
    static const char short_parent[] = RUN(",\"context\":{\"traceparent\":\"short\"}");
    static const char *const out[] = {"{}",        "{\"kind\":\"store\",\"id\":\"x\"}", "{\"kind\":\"run\"}", "[]", "7",
                                      short_parent};
    (void)state;
    for (size_t i = 0; i < sizeof out / sizeof *out; i++) assert_null(span_json(out[i], 1));
    tn_value json =
        span_json("{\"kind\":\"model\",\"id\":\"\",\"name\":7,\"usage\":[],\"context\":3,\"outcome\":null}", 1);
    tn_value read = tn_from_json(tn_chars(json, NULL), TN_Z);
    assert_non_null(read);
    tn_release(read);
    tn_release(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_are_escaped_and_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_family_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_series_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(histograms_are_cumulative, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_readme_lists_the_families, set_up, tear_down),
        cmocka_unit_test_setup_teardown(steps_and_tasks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(providers_have_the_names_of_the_conventions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(codes_are_codes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sampling, set_up, tear_down),
        cmocka_unit_test_setup_teardown(contents, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_spans_are_left_out_or_read, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
