/*
 * document_test.c - documents that are read and checked: a corpus of mistakes with the expected output, and one of
 * valid documents; the typed document; limits.
 *
 * tests/corpus/diagnostics has a document for each code, NAME.yaml or NAME.json, and its expected output in
 * NAME.expected. Run with TENON_CORPUS_UPDATE=1 to rewrite the expected output, and review the difference. Every fix of
 * a diagnostic is applied and must reduce the number of problems.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/diagnostic/print.h"
#include "adl/document/document.h"
#include "adl/document/graph_schema.h"
#include "adl/document/keys.h"
#include "adl/document/strategy.h"
#include "adl/schema/schema.h"
#include "adl/source/source.h"
#include "adl/tree/tree.h"
#include "tests/unit/corpus.h"
#include "tests/unit/fake_catalog.h"
#include <dirent.h>

#define DIAGNOSTICS_FOLDER TENON_SOURCE_DIR "/tests/corpus/diagnostics"
#define STRATEGIES_FOLDER  TENON_SOURCE_DIR "/tests/corpus/strategies"
#define DOCUMENTS_FOLDER   TENON_SOURCE_DIR "/tests/corpus/documents"

static struct fake_catalog fake;
static bool seen[DIAGNOSTIC_CODES];

struct checked {
    struct source *source;
    struct diagnostics *found;
    struct document *document;
};

static struct checked check_n(const char *name, const char *text, size_t length) {
    struct checked checked = {source_new(name, text, length), diagnostics_new(), NULL};
    checked.document = document_read(checked.source, &fake.catalog, checked.found);
    for (size_t i = 0; i < diagnostics_count(checked.found); i++) seen[diagnostics_at(checked.found, i)->code] = true;
    return checked;
}

static struct checked check(const char *name, const char *text) { return check_n(name, text, strlen(text)); }

static void checked_finish(struct checked *checked) {
    document_unref(checked->document);
    diagnostics_free(checked->found);
    source_unref(checked->source);
}

static char *printed(const struct diagnostics *found) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    diagnostics_print(&out, found, NULL);
    char *text = buffer_detach(&out, NULL);
    return text ? text : mem_text("");
}

/* ---- Corpora ---- */

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static size_t list_folder(const char *folder, char *names[], size_t most) {
    DIR *dir = opendir(folder);
    if (!dir) fail_msg("%s cannot be read", folder);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || (strcmp(dot, ".yaml") != 0 && strcmp(dot, ".json") != 0)) continue;
        assert_true(count < most);
        names[count++] = mem_text(entry->d_name);
    }
    closedir(dir);
    qsort(names, count, sizeof *names, by_name);
    return count;
}

static size_t problems(const struct diagnostics *found) {
    return diagnostics_errors(found) + diagnostics_warnings(found);
}

/* A fix must reduce the number of problems. */
static void try_fixes(const char *name, const char *text, size_t length, const struct checked *checked) {
    for (size_t i = 0; i < diagnostics_count(checked->found); i++) {
        const struct diagnostic *it = diagnostics_at(checked->found, i);
        if (!it->fix || it->source != checked->source) continue;
        struct buffer fixed;
        buffer_init(&fixed, SIZE_MAX);
        buffer_append(&fixed, text, it->fix->span.start);
        buffer_text(&fixed, it->fix->replacement);
        buffer_append(&fixed, text + it->fix->span.end, length - it->fix->span.end);
        struct checked again = check_n(name, buffer_cstr(&fixed), fixed.length);
        bool gone = true;
        for (size_t k = 0; k < diagnostics_count(again.found); k++) {
            const struct diagnostic *other = diagnostics_at(again.found, k);
            if (other->code == it->code && strcmp(other->message, it->message) == 0) gone = false;
        }
        if (!gone || problems(again.found) >= problems(checked->found)) {
            char *now = printed(again.found);
            fail_msg("%s: the fix `%s` of \"%s\" leaves\n%s", name, it->fix->title, it->message, now);
        }
        checked_finish(&again);
        buffer_finish(&fixed);
    }
}

static void compare_expected(const char *folder, const char *name, const char *got) {
    char path[1024];
    const char *dot = strrchr(name, '.');
    snprintf(path, sizeof path, "%s/%.*s.expected", folder, (int)(dot - name), name);
    if (getenv("TENON_CORPUS_UPDATE")) {
        FILE *file = fopen(path, "wb");
        if (!file) fail_msg("%s cannot be written", path);
        fwrite(got, 1, strlen(got), file);
        fclose(file);
        return;
    }
    char *expected = corpus_load(path, NULL);
    if (strcmp(expected, got) != 0) fail_msg("%s\nexpected:\n%s\nfound:\n%s", name, expected, got);
    free(expected);
}

static void mistakes_are_printed(void **state) {
    (void)state;
    char *names[512];
    size_t count = list_folder(DIAGNOSTICS_FOLDER, names, 512);
    fake.folder = DIAGNOSTICS_FOLDER;
    for (size_t i = 0; i < count; i++) {
        char path[1024];
        size_t length;
        snprintf(path, sizeof path, DIAGNOSTICS_FOLDER "/%s", names[i]);
        char *text = corpus_load(path, &length);
        struct checked checked = check_n(names[i], text, length);
        char *got = printed(checked.found);
        compare_expected(DIAGNOSTICS_FOLDER, names[i], got);
        /* The file's name contains the code. */
        bool has = false;
        for (size_t k = 0; k < diagnostics_count(checked.found); k++)
            has |= strncmp(diagnostic_info(diagnostics_at(checked.found, k)->code)->code, names[i], 8) == 0;
        if (!has) fail_msg("%s does not trigger the code in its name:\n%s", names[i], got);
        try_fixes(names[i], text, length, &checked);
        mem_free(got);
        checked_finish(&checked);
        free(text);
        mem_free(names[i]);
    }
    fake.folder = NULL;
}

/* tests/corpus/strategies has valid documents that keep the contract of strategies (`good-…`), or break it. */
static void strategies_keep_the_contract(void **state) {
    (void)state;
    char *names[128];
    size_t count = list_folder(STRATEGIES_FOLDER, names, 128);
    assert_true(count >= 10);
    fake.folder = STRATEGIES_FOLDER;
    for (size_t i = 0; i < count; i++) {
        char path[1024];
        size_t length;
        snprintf(path, sizeof path, STRATEGIES_FOLDER "/%s", names[i]);
        char *text = corpus_load(path, &length);
        struct checked checked = check_n(names[i], text, length);
        bool broken_text = strncmp(names[i], "text-", 5) == 0;
        if (!broken_text) assert_int_equal(problems(checked.found), 0);
        document_check_strategy(checked.document, checked.found);
        for (size_t k = 0; k < diagnostics_count(checked.found); k++)
            seen[diagnostics_at(checked.found, k)->code] = true;
        char *got = printed(checked.found);
        compare_expected(STRATEGIES_FOLDER, names[i], got);
        bool good = strncmp(names[i], "good-", 5) == 0;
        if (good != (*got == '\0')) fail_msg("%s: %s", names[i], *got ? got : "found no problem");
        mem_free(got);
        checked_finish(&checked);
        free(text);
        mem_free(names[i]);
    }
    fake.folder = NULL;
}

static void valid_documents_are_silent(void **state) {
    (void)state;
    char *names[128];
    size_t count = list_folder(DOCUMENTS_FOLDER, names, 128);
    assert_true(count >= 10);
    fake.folder = DOCUMENTS_FOLDER;
    tn_value value = document_json_schema(&fake.catalog);
    struct error error = ERROR_INIT;
    struct schema *schema;
    if (schema_compile(value, NULL, &schema, &error) != TN_OK) fail_msg("%s", error.message);
    for (size_t i = 0; i < count; i++) {
        char path[1024];
        size_t length;
        snprintf(path, sizeof path, DOCUMENTS_FOLDER "/%s", names[i]);
        char *text = corpus_load(path, &length);
        struct checked checked = check_n(names[i], text, length);
        char *got = printed(checked.found);
        if (*got) fail_msg("%s:\n%s", names[i], got);
        struct tree *tree = tree_read(checked.source, NULL, checked.found);
        tn_value document = tree_to_value(tree_root(tree));
        struct schema_errors errors = SCHEMA_ERRORS_INIT;
        if (schema_validate(schema, document, &errors) != TN_OK && strncmp(names[i], "plain-", 6) != 0)
            fail_msg("%s does not fit `tenon schema`: %s: %s", names[i], errors.items[0].pointer,
                     errors.items[0].message);
        schema_errors_finish(&errors);
        value_unref(document);
        tree_free(tree);
        mem_free(got);
        checked_finish(&checked);
        free(text);
        mem_free(names[i]);
    }
    schema_unref(schema);
    value_unref(value);
    fake.folder = NULL;
}

/* ---- Codes whose documents are too large to be kept as files ---- */

static void expect_code(const char *text, size_t length, enum diagnostic_code code) {
    struct checked checked = check_n("large.yaml", text, length);
    for (size_t i = 0; i < diagnostics_count(checked.found); i++) {
        if (diagnostics_at(checked.found, i)->code != code) continue;
        checked_finish(&checked);
        return;
    }
    char *got = printed(checked.found);
    fail_msg("%s was not reported, but:\n%s", diagnostic_info(code)->code, got);
}

static void repeat(struct buffer *out, const char *text, size_t times) {
    for (size_t i = 0; i < times; i++) buffer_text(out, text);
}

static void expect_repeated(const char *before, const char *item, size_t times, const char *after,
                            enum diagnostic_code code) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, before);
    repeat(&text, item, times);
    buffer_text(&text, after);
    expect_code(buffer_cstr(&text), text.length, code);
    buffer_finish(&text);
}

static void bounds_are_reported(void **state) {
    (void)state;
    expect_repeated("version: \"1.0\"\n", "# a comment of some length\n", TREE_SIZE_MAX / 20, "", ADL_E012);
    expect_repeated("x: \"", "0123456789abcdef", TREE_SCALAR_MAX / 16 + 1, "\"\n", ADL_E013);
    expect_repeated("x: [", "1,", TREE_ITEMS_MAX + 1, "]\n", ADL_E014);
    expect_repeated("version: \"1.0\"\nnodes: []\nedges: []\nchannels: [", "{name: a, type: append},",
                    DOCUMENT_CHANNELS_MAX + 1, "]\n", ADL_E027);
    expect_repeated("version: \"1.0\"\nedges: []\nnodes: [", "{id: a, type: b},", DOCUMENT_NODES_MAX + 1, "]\n",
                    ADL_E027);
    expect_repeated("version: \"1.0\"\nnodes: [{id: a, type: passthrough}]\nedges: [{from: START, to: a}, {from: a, "
                    "type: conditional, conditions: [",
                    "{expression: a, to: a},", DOCUMENT_CONDITIONS_MAX + 1, "]}]\n", ADL_E027);
    expect_repeated("version: \"1.0\"\nedges: []\nnodes: [", "{id: a, typo: b},", DIAGNOSTICS_MAX + 1, "]\n", ADL_H001);
    expect_repeated("version: \"1.0\"\nnodes: []\nedges: []\ntools: [", "calc.add,", DOCUMENT_TOOLS_MAX + 1, "]\n",
                    ADL_E027);
    expect_repeated("version: \"1.0\"\nnodes: []\nedges: []\nrequires: [", "tenon.core,", DOCUMENT_REQUIREMENTS_MAX + 1,
                    "]\n", ADL_E027);
    expect_repeated("version: \"1.0\"\nnodes: []\nedges: [", "{},", DOCUMENT_EDGES_MAX + 1, "]\n", ADL_E027);
}

#define PLAIN                                                                                                          \
    "version: \"1.0\"\nnodes: [{id: a, type: passthrough}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n"

static void counts_of_names_are_bounded(void **state) {
    (void)state;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, PLAIN "models:\n");
    for (unsigned i = 0; i <= DOCUMENT_MODELS_MAX; i++) buffer_format(&text, "  role_%u: scripted\n", i);
    expect_code(buffer_cstr(&text), text.length, ADL_E027);
    buffer_clear(&text);
    buffer_text(&text, "version: \"1.0\"\nnodes:\n");
    for (unsigned i = 0; i <= DOCUMENT_SUBGRAPHS_MAX; i++) {
        char name[32];
        snprintf(name, sizeof name, "d%u.yaml", i);
        fake_catalog_file(&fake, name, PLAIN);
        buffer_format(&text, "  - {id: n%u, type: subgraph, config: {document: %s}}\n", i, name);
    }
    buffer_text(&text, "edges: [{from: START, to: n0}]\n");
    expect_code(buffer_cstr(&text), text.length, ADL_E065);
    fake_catalog_clear_files(&fake);
    buffer_finish(&text);
}

/* A chain of documents, each naming the next. */
static void subgraphs_are_bounded_in_depth(void **state) {
    (void)state;
    static const char form[] = "version: \"1.0\"\nnodes: [{id: a, type: subgraph, config: {document: d%u.yaml}}]\n"
                               "edges: [{from: START, to: a}, {from: a, to: END}]\n";
    char name[32], text[512];
    for (unsigned i = 0; i <= DOCUMENT_SUBGRAPH_DEPTH_MAX + 1; i++) {
        snprintf(name, sizeof name, "d%u.yaml", i);
        if (i <= DOCUMENT_SUBGRAPH_DEPTH_MAX)
            snprintf(text, sizeof text, form, i + 1);
        else
            snprintf(text, sizeof text,
                     "version: \"1.0\"\nnodes: [{id: a, type: passthrough}]\n"
                     "edges: [{from: START, to: a}, {from: a, to: END}]\n");
        fake_catalog_file(&fake, name, text);
    }
    snprintf(text, sizeof text, form, 1u);
    struct checked deep = check("d0.yaml", text);
    assert_int_equal(diagnostics_errors(deep.found), 1);
    assert_int_equal(diagnostics_at(deep.found, 0)->code, ADL_E065);
    checked_finish(&deep);
    snprintf(text, sizeof text, form, 2u); /* one less */
    struct checked allowed = check("d1.yaml", text);
    assert_int_equal(diagnostics_errors(allowed.found), 0);
    struct document *inner = document_subgraph(allowed.document, 0);
    assert_non_null(inner);
    assert_string_equal(source_name(inner->source), "d2.yaml");
    checked_finish(&allowed);
    fake_catalog_clear_files(&fake);
}

static void every_code_has_a_document(void **state) {
    (void)state;
    /* The formatter reports it about its own output; no document causes it. */
    seen[ADL_E016] = true;
    seen[ADL_E069] = true; /* the engine reports it, when it creates the nodes: engine_test */
    for (enum diagnostic_code i = 0; i < DIAGNOSTIC_CODES; i++)
        if (!seen[i]) print_error("%s has no document in tests/corpus/diagnostics\n", diagnostic_info(i)->code);
    for (size_t i = 0; i < DIAGNOSTIC_CODES; i++) assert_true(seen[i]);
}

/* The check of a config is linear in its members; when it was quadratic, this took ten seconds. */
static void configs_of_many_members_are_checked(void **state) {
    (void)state;
    enum { MEMBERS = 9000 };
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "version: \"1.0\"\nchannels:\n");
    for (unsigned i = 0; i < MEMBERS; i++) buffer_format(&text, "  - {name: c%u, type: last_value}\n", i);
    buffer_text(&text, "nodes:\n  - id: a\n    type: set\n    config:\n      values:\n");
    for (unsigned i = 0; i < MEMBERS; i++)
        buffer_format(&text, "        c%u: %s\n", i, i % 2 ? "state.c0" : "{file: text}");
    buffer_text(&text, "edges: [{from: START, to: a}, {from: a, to: END}]\n");
    struct checked many = check_n("many.yaml", buffer_cstr(&text), text.length);
    for (size_t i = 0; i < diagnostics_count(many.found); i++)
        if (diagnostics_at(many.found, i)->severity == DIAGNOSTIC_ERROR)
            fail_msg("%s", diagnostics_at(many.found, i)->message);
    assert_int_equal(diagnostics_errors(many.found), 0);
    checked_finish(&many);
    buffer_finish(&text);
}

/* ---- What a document holds ---- */

static void a_document_is_typed(void **state) {
    (void)state;
    fake.folder = DOCUMENTS_FOLDER;
    char *text = corpus_load(DOCUMENTS_FOLDER "/language.yaml", NULL);
    struct checked checked = check("language.yaml", text);
    const struct document *document = checked.document;
    assert_int_equal(problems(checked.found), 0);
    assert_true(value_text_is(document->name, "triage"));
    assert_int_equal(document->recursion_limit, 40);
    assert_int_equal(document->concurrency, 8);
    assert_int_equal(document->timeout_ms, 600000);
    assert_int_equal(document->strategy, STRATEGY_PICK_FIRST);
    assert_int_equal(document->requirement_count, 1);
    assert_true(value_text_is(document->requirements[0].plugin, "tenon.core"));
    assert_true(value_text_is(document->requirements[0].constraint, ">= 1.2"));
    assert_non_null(document->input);
    assert_int_equal(value_to_int(value_get(document->budget, "tokens")), 200000);

    const struct document_model *model = document_find_model(document, "reasoning");
    assert_true(value_text_is(value_get(model->binding, "model"), "o3"));
    assert_null(document_find_model(document, "missing"));
    assert_int_equal(document->tool_count, 3);
    assert_true(document->tools_given);
    assert_true(value_text_is(document->tools[2].pattern, "files.write"));
    assert_true(value_text_is(value_get(document->tools[2].options, "approval"), "ask"));

    int32_t score = document_find_channel(document, "score", 5);
    assert_true(document->channels[score].has_initial);
    assert_int_equal(value_to_int(document->channels[score].initial), 0);
    int32_t seen_channel = document_find_channel(document, "seen", 4);
    assert_int_equal(document->channels[seen_channel].reducer, REDUCER_UNION);
    assert_true(value_is(document->channels[seen_channel].initial, TN_ARRAY));
    assert_int_equal(document->channels[document_find_channel(document, "log", 3)].type, CHANNEL_APPEND);
    int32_t longest = document_find_channel(document, "longest", 7);
    assert_string_equal(document->channels[longest].reducer_component->id, "acme.longest");
    int32_t error = document_find_channel(document, "error", 5);
    assert_int_equal(error, (int32_t)document->channel_count - 1);
    assert_true(document->channels[error].implicit);
    assert_int_equal(document_find_channel(document, "task", 4), -1);
    assert_int_equal(document_find_field(document, "task", 4), (int32_t)document->channel_count);

    const struct document_node *judge = &document->nodes[document_find_node(document, "judge", 5)];
    assert_int_equal(judge->retry.max_attempts, 3);
    assert_int_equal(judge->retry.initial_ms, 500);
    assert_int_equal(judge->retry.max_ms, 45000); /* from the defaults */
    assert_true(judge->retry.factor == 1.5);
    assert_int_equal(judge->timeout_total_ms, 20000); /* from the defaults, too */
    assert_int_equal(judge->timeout_idle_ms, 5000);
    assert_int_equal(judge->cache_ttl_ms, 600000);
    assert_true(judge->interrupt_before && !judge->interrupt_after && judge->defer);
    assert_int_equal(judge->on_error, document_find_node(document, "fallback", 8));
    const struct document_node *merge = &document->nodes[document_find_node(document, "merge", 5)];
    assert_int_equal(merge->retry.max_attempts, 2);
    assert_int_equal(merge->timeout_total_ms, 1500);
    assert_int_equal(merge->cache_ttl_ms, -1);
    assert_int_equal(merge->on_error, DOCUMENT_NOWHERE);
    assert_true(merge->interrupt_before && merge->interrupt_after);

    assert_int_equal(document->edges[0].from[0], DOCUMENT_START);
    assert_int_equal(document->edges[1].to_count, 2);
    assert_int_equal(document->edges[2].from_count, 2);
    const struct document_edge *branch = &document->edges[3], *map = &document->edges[5];
    assert_int_equal(branch->kind, EDGE_CONDITIONAL);
    assert_int_equal(branch->condition_count, 2);
    assert_non_null(branch->conditions[0].expression);
    assert_null(branch->conditions[1].expression);
    assert_int_equal(branch->conditions[1].to, DOCUMENT_END);
    assert_int_equal(map->kind, EDGE_MAP);
    assert_int_equal(map->as_field, document->channel_count);
    assert_int_equal(map->empty, document_find_node(document, "done", 4));
    assert_non_null(map->over);
    checked_finish(&checked);
    free(text);
    fake.folder = NULL;
}

static void absent_fields_have_defaults(void **state) {
    (void)state;
    struct checked checked = check("folder/plain.yaml", PLAIN);
    const struct document *document = checked.document;
    assert_int_equal(problems(checked.found), 0);
    assert_true(value_text_is(document->name, "plain"));
    assert_int_equal(document->recursion_limit, 25);
    assert_int_equal(document->concurrency, 16);
    assert_int_equal(document->timeout_ms, 0);
    assert_false(document->tools_given);
    assert_null(document->output);
    assert_int_equal(document->nodes[0].retry.max_attempts, 1);
    assert_int_equal(document->nodes[0].timeout_total_ms, 0);
    assert_true(value_is(document->nodes[0].config, TN_OBJECT));
    struct document *again = document_ref(checked.document);
    assert_ptr_equal(again, checked.document);
    document_unref(again);
    document_unref(NULL);
    checked_finish(&checked);
}

static void without_a_catalog_components_are_not_checked(void **state) {
    (void)state;
    static const char text[] = "version: \"1.0\"\nrequires: [who.knows >= 3]\nmodels: {default: who:knows}\n"
                               "tools: [whatever]\nnodes: [{id: a, type: unknown, config: {any: thing}}]\n"
                               "edges: [{from: START, to: a}, {from: a, to: nowhere}]\n";
    struct source *source = source_new("none.yaml", text, strlen(text));
    struct diagnostics *found = diagnostics_new();
    struct document *document = document_read(source, NULL, found);
    assert_int_equal(diagnostics_count(found), 1);
    assert_int_equal(diagnostics_at(found, 0)->code, ADL_E035);
    assert_null(document->nodes[0].component);
    document_unref(document);
    diagnostics_free(found);
    source_unref(source);
}

/* The config of a node whose type is not known can name successors, as that of a router does. */
static void without_a_catalog_paths_are_not_checked(void **state) {
    (void)state;
    static const char text[] = "version: \"1.0\"\nnodes:\n  - {id: route, type: router, config: {targets: {a: A}}}\n"
                               "  - {id: a, type: b}\nedges: [{from: START, to: route}, {from: a, to: END}]\n";
    struct source *source = source_new("router.yaml", text, strlen(text));
    struct diagnostics *found = diagnostics_new();
    document_unref(document_read(source, NULL, found));
    assert_int_equal(diagnostics_count(found), 0);
    diagnostics_free(found);
    source_unref(source);
}

static void configs_name_successors(void **state) {
    (void)state;
    struct checked checked = check("links.yaml", "version: \"1.0\"\nnodes:\n  - {id: a, type: go, config: {to: b}}\n"
                                                 "  - {id: b, type: act, config: {ends: [x, y]}}\n"
                                                 "edges: [{from: START, to: a}]\n");
    assert_int_equal(problems(checked.found), 0);
    assert_int_equal(checked.document->link_count, 2);
    assert_int_equal(checked.document->links[0].from, 0);
    assert_int_equal(checked.document->links[0].to, 1);
    assert_int_equal(checked.document->links[1].from, 1);
    assert_int_equal(checked.document->links[1].to, DOCUMENT_END);
    checked_finish(&checked);
}

static void configs_are_completed(void **state) {
    (void)state;
    fake_catalog_file(&fake, "docs/p.md", "About {text}");
    fake_catalog_file(&fake, "docs/s.json", "{\"type\": \"array\"}");
    fake_catalog_file(&fake, "docs/a", "x");
    struct checked checked =
        check("docs/main.yaml", "version: \"1.0\"\nchannels: [{name: text, type: last_value}]\nnodes:\n"
                                "  - {id: a, type: llm, config: {system_prompt: {file: p.md}, output_key: text, "
                                "output_schema: {file: s.json}, api_key: {secret: K}}}\n"
                                "  - {id: b, type: load, config: {path: a}}\n"
                                "edges: [{from: START, to: a}, {from: a, to: b}, {from: b, to: END}]\n");
    assert_int_equal(problems(checked.found), 0);
    struct error error = ERROR_INIT;
    tn_value config = document_node_config(checked.document, 0, &fake.catalog, &error);
    assert_true(value_text_is(value_get(config, "system_prompt"), "About {text}"));
    assert_true(
        value_text_is(value_get(value_get(config, "output_schema"), "type"), "array")); /* the JSON in the file */
    assert_true(value_text_is(value_get(value_get(config, "api_key"), "secret"), "K"));
    value_unref(config);
    config = document_node_config(checked.document, 1, &fake.catalog, &error);
    assert_true(value_text_is(value_get(config, "output_key"), "text"));
    value_unref(config);
    fake_catalog_clear_files(&fake);
    assert_null(document_node_config(checked.document, 0, &fake.catalog, &error));
    assert_string_equal(error.code, "INVALID_GRAPH");
    assert_non_null(strstr(error.message, "p.md"));
    error_finish(&error);
    checked_finish(&checked);
}

/* ---- Documentation ---- */

static void read_example(void *user, const struct document_mapping *mapping, const struct document_key *key) {
    (void)user;
    assert_true(*key->documentation && *mapping->documentation && *mapping->name);
    char text[512];
    snprintf(text, sizeof text, "%s: %s\n", key->name, key->example);
    struct source *source = source_new("example.yaml", text, strlen(text));
    struct diagnostics *found = diagnostics_new();
    struct tree *tree = tree_read(source, NULL, found);
    if (diagnostics_count(found)) fail_msg("the example of `%s` is not valid YAML: %s", key->name, key->example);
    assert_non_null(tree_get(tree_root(tree), key->name));
    tree_free(tree);
    diagnostics_free(found);
    source_unref(source);
}

static void keys_are_documented(void **state) {
    (void)state;
    document_each_key(read_example, NULL);
    for (enum keys_mapping i = KEYS_ROOT; i < KEYS_MAPPINGS; i++) {
        const struct document_mapping *mapping = document_mapping(i);
        for (uint32_t k = 0; k < mapping->key_count; k++) {
            assert_int_equal(mapping->keys[k].mapping, i);
            assert_ptr_equal(document_key(mapping->keys[k].key), &mapping->keys[k]);
        }
    }
    assert_int_equal(key_word(document_key(KEY_EDGE_TYPE), "map", 3), EDGE_MAP);
    assert_int_equal(key_word(document_key(KEY_EDGE_TYPE), "maps", 4), -1);
}

static void the_schema_refuses_mistakes(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "{\"nodes\":[],\"edges\":[]}",
        "{\"version\":\"1.0\",\"nodes\":[{\"id\":\"a\",\"type\":\"passthru\"}],\"edges\":[]}",
        "{\"version\":\"1.0\",\"nodes\":[{\"id\":\"a\",\"type\":\"set\"}],\"edges\":[]}",
        "{\"version\":\"1.0\",\"nodes\":[{\"id\":\"a\",\"type\":\"llm\",\"config\":{\"no\":1}}],\"edges\":[]}",
        "{\"version\":\"1.0\",\"nodes\":[],\"edges\":[],\"chanels\":[]}",
        "{\"version\":\"1.0\",\"nodes\":[],\"edges\":[{\"from\":\"a\",\"type\":\"statik\"}]}",
        "{\"version\":\"1.0\",\"nodes\":[],\"edges\":[],\"agent\":{\"timeout\":\"soon\"}}",
    };
    tn_value value = document_json_schema(&fake.catalog);
    struct schema *schema = NULL;
    assert_int_equal(schema_compile(value, NULL, &schema, NULL), TN_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_value document = NULL;
        assert_int_equal(json_read(wrong[i], strlen(wrong[i]), NULL, &document, NULL), TN_OK);
        if (schema_validate(schema, document, NULL) == TN_OK) fail_msg("%s fits", wrong[i]);
        value_unref(document);
    }
    schema_unref(schema);
    value_unref(value);
    value = document_json_schema(NULL); /* any node type */
    assert_int_equal(schema_compile(value, NULL, &schema, NULL), TN_OK);
    schema_unref(schema);
    value_unref(value);
}

/* ---- Large documents ---- */

#define LARGE 10000u

static void write_large(struct buffer *out, bool wrong) {
    buffer_text(out, "version: \"1.0\"\nchannels: [{name: score, type: last_value, default: 0}]\nnodes:\n");
    for (unsigned i = 0; i < LARGE; i++)
        buffer_format(out, "  - {id: node_%u, type: set, config: {values: {%s: state.score + 1}}}\n", i,
                      wrong && i % 20 == 3 ? "scor" : "score");
    buffer_text(out, "edges:\n  - {from: START, to: node_0}\n");
    for (unsigned i = 0; i + 1 < LARGE; i++) {
        if (i % 10 == 0)
            buffer_format(
                out,
                "  - {from: node_%u, type: conditional, conditions: [{expression: state.score > 80, to: END}, "
                "{expression: default, to: node_%u}]}\n",
                i, i + 1);
        else
            buffer_format(out, "  - {from: node_%u, to: %s_%u}\n", i, wrong && i % 20 == 14 ? "nodee" : "node", i + 1);
    }
    buffer_format(out, "  - {from: node_%u, to: END}\n", LARGE - 1);
}

static void large_documents_are_checked_whole(void **state) {
    (void)state;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    write_large(&text, false);
    struct checked good = check_n("large.yaml", buffer_cstr(&text), text.length);
    assert_int_equal(problems(good.found), 0);
    assert_int_equal(good.document->node_count, LARGE);
    assert_int_equal(document_find_node(good.document, "node_7777", 9), 7777);
    checked_finish(&good);
    buffer_clear(&text);
    write_large(&text, true);
    struct checked bad = check_n("large.yaml", buffer_cstr(&text), text.length);
    if (diagnostics_errors(bad.found) != LARGE / 10) fail_msg("%s", printed(bad.found));
    for (size_t i = 0; i < diagnostics_count(bad.found); i++) {
        const struct diagnostic *it = diagnostics_at(bad.found, i);
        assert_true(it->code == ADL_E047 || it->code == ADL_E035);
        assert_non_null(it->fix); /* the nearest of 10,000 names, a thousand times */
    }
    checked_finish(&bad);
    buffer_finish(&text);
}

static int set_up(void **state) {
    (void)state;
    fake_catalog_init(&fake);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fake_catalog_finish(&fake);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_printed),
        cmocka_unit_test(strategies_keep_the_contract),
        cmocka_unit_test(valid_documents_are_silent),
        cmocka_unit_test(bounds_are_reported),
        cmocka_unit_test(counts_of_names_are_bounded),
        cmocka_unit_test(subgraphs_are_bounded_in_depth),
        cmocka_unit_test(every_code_has_a_document), /* after the expressions that see them */
        cmocka_unit_test(a_document_is_typed),
        cmocka_unit_test(absent_fields_have_defaults),
        cmocka_unit_test(without_a_catalog_components_are_not_checked),
        cmocka_unit_test(without_a_catalog_paths_are_not_checked),
        cmocka_unit_test(configs_name_successors),
        cmocka_unit_test(configs_are_completed),
        cmocka_unit_test(keys_are_documented),
        cmocka_unit_test(the_schema_refuses_mistakes),
        cmocka_unit_test(large_documents_are_checked_whole),
        cmocka_unit_test(configs_of_many_members_are_checked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
