/*
 * editor.c - tenon-editor: what the language server computes for a document of 1,000 nodes.
 *
 *     tenon-editor keystroke 100 --nodes=1000     a character is typed in a node, the text is read and checked
 *     tenon-editor mistype 100                    the same; every second version has a syntax error
 *     tenon-editor complete 100                   completion in an expression of the last node
 *     tenon-editor rename 10                      renaming a channel that every node uses
 *
 * Only adl/ is measured: threads and messages are not. Every result is checked inside the timed section.
 */
#include "adl/assist/complete.h"
#include "adl/assist/rename.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/value/buffer.h"
#include "host/assembly/host.h"
#include "tests/bench/harness.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct assist_world world;

/* Nodes of several kinds, each with an expression or a template; one edge after each. `typed` is in the middle. */
static struct source *document_of(int64_t nodes, const char *typed) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    buffer_text(&out, "version: '1.0'\nagent: {name: editor}\nchannels:\n"
                      "  - {name: score, type: last_value, default: 0}\n  - {name: text, type: last_value}\nnodes:\n");
    for (int64_t i = 0; i < nodes; i++)
        buffer_format(
            &out, "  - id: step_%lld\n    type: %s\n    config:\n      %s%s\n", (long long)i, i % 2 ? "set" : "prompt",
            i % 2 ? "values: {score: \"state.score + 1\"}" : "{template: \"Round {score}.\", output_key: text}",
            i == nodes / 2 ? typed : "");
    buffer_text(&out, "edges:\n  - {from: START, to: step_0}\n");
    for (int64_t i = 0; i + 1 < nodes; i++)
        buffer_format(&out, "  - {from: step_%lld, to: step_%lld}\n", (long long)i, (long long)i + 1);
    buffer_format(&out, "  - {from: step_%lld, to: END}\n", (long long)nodes - 1);
    struct source *source = source_new("editor.yaml", out.data, out.length);
    buffer_finish(&out);
    return source;
}

static struct assist *checked(struct source *source, struct assist *before, bool correct) {
    struct assist *assist = assist_next_take(source, &world, before);
    if ((diagnostics_errors(assist->found) == 0) != correct) die("editor", correct ? "an error" : "no error");
    return assist;
}

static void type(const char *workload, int64_t count, int64_t nodes, const char *typed, bool correct) {
    struct source *texts[] = {document_of(nodes, ""), document_of(nodes, typed)};
    struct assist *assist = checked(texts[0], NULL, true);
    struct measure measure;
    measure_begin(&measure);
    for (int64_t i = 0; i < count; i++) assist = checked(texts[(i + 1) % 2], assist, correct || i % 2);
    report(&measure, workload, count, (double)count, "\"unit\":\"keystroke\"");
    assist_unref(assist);
    source_unref(texts[0]);
    source_unref(texts[1]);
}

static void keystroke(int64_t count, int64_t nodes) { type("keystroke", count, nodes, " ", true); }
static void mistype(int64_t count, int64_t nodes) { type("mistype", count, nodes, " x", false); }

static uint32_t offset_of(const struct source *source, const char *text) {
    const char *found = strstr(source_text(source), text);
    if (!found) die("editor", text);
    return (uint32_t)(found - source_text(source));
}

static void complete(int64_t count, int64_t nodes) {
    struct source *source = document_of(nodes, "");
    struct assist *assist = checked(source, NULL, true);
    uint32_t offset = offset_of(source, "edges:") - (uint32_t)strlen("core + 1\"}\n"); /* behind `state.s` */
    struct measure measure;
    measure_begin(&measure);
    for (int64_t i = 0; i < count; i++) {
        struct assist_completions *list = assist_complete(assist, offset);
        if (list->count == 0 || strcmp(list->items[0].label, "score") != 0) die("complete", "the channel is missing");
        assist_completions_free(list);
    }
    report(&measure, "complete", count, (double)count, "\"unit\":\"completion\"");
    assist_unref(assist);
    source_unref(source);
}

static void rename_channel(int64_t count, int64_t nodes) {
    struct source *source = document_of(nodes, "");
    struct assist *assist = checked(source, NULL, true);
    struct assist_names *names = assist_names_new(assist);
    const struct assist_names *all[] = {names};
    const struct assist_workspace workspace = {all, 1, NULL};
    uint32_t offset = offset_of(source, "score, type");
    struct measure measure;
    measure_begin(&measure);
    for (int64_t i = 0; i < count; i++) {
        struct assist_edits *edits = assist_rename(names, offset, "points", 6, &workspace);
        if (edits->refusal || edits->count < (size_t)nodes)
            die("rename", edits->refusal ? edits->refusal : "too few edits");
        assist_edits_free(edits);
    }
    report(&measure, "rename", count, (double)count, "\"unit\":\"rename\"");
    assist_names_free(names);
    assist_unref(assist);
    source_unref(source);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(int64_t count, int64_t nodes);
    } workloads[] = {
        {"keystroke", keystroke}, {"mistype", mistype}, {"complete", complete}, {"rename", rename_channel}};
    struct error error = ERROR_INIT;
    int64_t count = argc > 2 ? strtoll(argv[2], NULL, 10) : 0;
    if (count <= 0) die("usage", "tenon-editor keystroke|mistype|complete|rename N [--nodes=1000]");
    harness_options(argc, argv, 3);
    host = host_new(&(struct host_options){.plugin_paths = (const char *const[]){TENON_CORE_PLUGIN, NULL},
                                           .no_installed = true,
                                           .no_config = true},
                    &error);
    if (!host) die("host", error.message);
    world.catalog = host_catalog(host);
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        if (strcmp(argv[1], workloads[i].name) == 0)
            workloads[i].run(count, strtoll(option("nodes", "1000"), NULL, 10));
    host_free(host);
    return 0;
}
