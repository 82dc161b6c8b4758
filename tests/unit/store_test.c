/*
 * store_test.c - runs tests/corpus/store with every store, and with one of them isolated.
 *
 * A case is a list of lines; each case has a new store:
 *     commit [OPERATION, …]    query {…}    maintain    reopen    advance MS (of the clock)
 *     => RESULT                the exact result of the call above, without scores
 *     !! CODE part of its message
 *     detail {…}               of the error above
 * A line that begins with a blank continues the one before it. A line that begins with # is a comment.
 */
#include "tests/unit/store_fixture.h"

#include <dirent.h>

/* ---- One case ---- */

struct script {
    const struct corpus_case *test;
    const char *name; /* of the store */
    struct opened store;
    char options[1024];
    tn_value result; /* of the last call; NULL if it failed */
    bool asked;      /* the last call has not been checked */
    int opened;
};

/*
 * Removes what differs between stores: the member `score` of a search (after checking that scores do not increase), and
 * the size of the store in bytes.
 */
static tn_value comparable(const struct script *script, tn_value result) {
    tn_value records = value_get(result, "records");
    if (value_get(result, "bytes")) return value_remove_take(value_ref(result), value_text("bytes"));
    if (!value_is(records, TN_ARRAY)) return value_ref(result);
    tn_value list = value_array();
    double before = 0;
    for (size_t i = 0; i < value_count(records); i++) {
        tn_value record = value_at(records, i), score = value_get(record, "score");
        if (score) {
            double now = value_to_double(score);
            if (i > 0 && now > before)
                fail_msg("%s: %s: the scores are not in order", script->name, script->test->name);
            before = now;
        }
        list = value_push_take(list, value_remove_take(value_ref(record), value_text("score")));
    }
    return value_set_take(value_ref(result), "records", list);
}

static void expect_result(struct script *script, const char *text) {
    if (!script->result)
        fail_msg("%s: `%s`: expected %s\nfound %s: %s", script->name, script->test->name, text, fixture_code(),
                 fixture_message());
    tn_value expected = fixture_json(text), found = comparable(script, script->result);
    if (!value_identical(expected, found)) {
        char *shown = json_text(found, JSON_COMPACT);
        fail_msg("%s: `%s`\nexpected %s\nfound    %s", script->name, script->test->name, text, shown);
    }
    value_unref(expected);
    value_unref(found);
    script->asked = false;
}

static void expect_error(struct script *script, char *text) {
    char *part = strchr(text, ' ');
    if (part) *part++ = '\0';
    if (strcmp(script->name, FIXTURE_SAMPLE) == 0) part = NULL; /* its messages are its own */
    if (script->result) {
        char *shown = json_text(script->result, JSON_COMPACT);
        fail_msg("%s: `%s`: expected %s, found %s", script->name, script->test->name, text, shown);
    }
    if (strcmp(fixture_code(), text) != 0 || (part && !strstr(fixture_message(), part)))
        fail_msg("%s: `%s`\nexpected %s: %s\nfound    %s: %s", script->name, script->test->name, text, part ? part : "",
                 fixture_code(), fixture_message());
    script->asked = false;
}

static void expect_detail(struct script *script, const char *text) {
    tn_value expected = fixture_json(text), found = value_get(fixture_error, "detail");
    if (!found || !value_equal(expected, found)) {
        char *shown = found ? json_text(found, JSON_COMPACT) : mem_text("nothing");
        fail_msg("%s: `%s`\nexpected the detail %s\nfound %s", script->name, script->test->name, text, shown);
    }
    value_unref(expected);
}

static void step(struct script *script, char *line) {
    bool answer = strncmp(line, "=> ", 3) == 0 || strncmp(line, "!! ", 3) == 0;
    if (script->asked && !answer)
        fail_msg("%s: `%s`: what is expected before `%.60s`?", script->name, script->test->name, line);
    if (strncmp(line, "commit ", 7) == 0 || strncmp(line, "query ", 6) == 0 || strcmp(line, "maintain") == 0) {
        value_unref(script->result);
        script->asked = true;
        script->result = *line == 'c'   ? fixture_commit(&script->store, line + 7)
                         : *line == 'q' ? fixture_query(&script->store, line + 6)
                                        : fixture_maintain(&script->store);
    } else if (strncmp(line, "=> ", 3) == 0) {
        expect_result(script, line + 3);
    } else if (strncmp(line, "!! ", 3) == 0) {
        expect_error(script, line + 3);
    } else if (strncmp(line, "detail ", 7) == 0) {
        expect_detail(script, line + 7);
    } else if (strncmp(line, "advance ", 8) == 0) {
        loop_fake_advance(fixture_host.loop, atoll(line + 8));
    } else if (strcmp(line, "reopen") == 0) {
        fixture_close(&script->store);
        script->store = fixture_open(script->name, script->options);
    } else {
        fail_msg("%s: `%s`: what is `%.60s`?", script->name, script->test->name, line);
    }
}

/*
 * The sample needs longer than a case to start its process, so its cases share one, which is open here if there is one.
 * Removes the records of every collection that the case names.
 */
static struct opened sample;

static void clear_collections(const char *text) {
    static const char name[] = "\"collection\": ";
    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
        char batch[256];
        const char *begin = at + strlen(name), *end = begin + 1;
        while (*begin == '"' && *end && *end != '"') end++;
        snprintf(batch, sizeof batch, "[{\"op\": \"delete_range\", \"collection\": %.*s\"}]", (int)(end - begin),
                 begin);
        if (*begin == '"') fixture_do(&sample, batch);
    }
}

static void run_case(const struct corpus_case *test, void *user) {
    struct script script = {.test = test, .name = user};
    const char *options = corpus_section(test, "options");
    if (fixture_isolated && strstr(corpus_need(test, ""), "\nadvance ")) return;
    snprintf(script.options, sizeof script.options, "%s", options ? options : "{}");
    if (!sample.store) {
        fixture_begin(script.name);
        script.store = fixture_open(script.name, script.options);
    } else {
        script.store = sample;
    }
    char *text = mem_text(corpus_need(test, "")), *at = text;
    while (*at) {
        char *line = at, *end = strchr(at, '\n');
        while (end && (end[1] == ' ' || end[1] == '\n')) { /* the next one continues this */
            *end = ' ';
            end = strchr(end, '\n');
        }
        at = end ? end + 1 : line + strlen(line);
        if (end) *end = '\0';
        for (size_t i = strlen(line); i > 0 && line[i - 1] == ' ';) line[--i] = '\0';
        if (*line && *line != '#') step(&script, line);
    }
    if (script.asked) fail_msg("%s: `%s`: what is expected at its end?", script.name, test->name);
    mem_free(text);
    value_unref(script.result);
    if (sample.store) {
        sample = script.store;
        clear_collections(corpus_need(test, ""));
    } else {
        fixture_close(&script.store);
        fixture_end();
    }
}

/* Runs all cases of the corpus with these stores, except of the file `without`. Returns their number. */
static int run_corpus(const char *const *stores, size_t store_count, const char *without) {
    char folder[4096], file[4400];
    struct dirent **entries = NULL;
    corpus_path("tests/corpus/store", folder, sizeof folder);
    int count = scandir(folder, &entries, NULL, alphasort), cases = 0;
    for (int i = 0; i < count; i++) {
        const char *dot = strcmp(entries[i]->d_name, without) == 0 ? NULL : strrchr(entries[i]->d_name, '.');
        snprintf(file, sizeof file, "%s/%s", folder, entries[i]->d_name);
        for (size_t j = 0; dot && strcmp(dot, ".txt") == 0 && j < store_count; j++) {
            char name[16];
            snprintf(name, sizeof name, "%s", stores[j]);
            cases += corpus_each(file, run_case, name);
        }
        free(entries[i]);
    }
    free(entries);
    return cases;
}

static void corpus(void **state) {
    (void)state;
    assert_true(run_corpus(fixture_stores, FIXTURE_STORES, "") > 60);
}

/* The last store only, which keeps its records when its process ends. */
static void corpus_isolated(void **state) {
    (void)state;
    if (FIXTURE_STORES < 2) skip();
    fixture_isolated = true;
    assert_true(run_corpus(&fixture_stores[FIXTURE_STORES - 1], 1, "") > 30);
    fixture_isolated = false;
}

/* The sample does not say exactly what is wrong with a request, as the cases of wrong.txt expect. */
static void corpus_sample(void **state) {
    static const char *const name = FIXTURE_SAMPLE;
    (void)state;
    fixture_isolated = true;
    fixture_begin(name);
    sample = fixture_open(name, "{}");
    assert_true(run_corpus(&name, 1, "wrong.txt") > 30);
    fixture_close(&sample);
    fixture_end();
    fixture_isolated = false;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpus),
        cmocka_unit_test(corpus_isolated),
        cmocka_unit_test(corpus_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
