/*
 * values.c - tenon-values: JSON Schema over values, and doubles to text and back.
 *
 *     tenon-values schema 1000 --cases=tests/bench/schema_cases.json --case=tool     N validations of each instance
 *     tenon-values report 1000 --cases=tests/bench/schema_cases.json                 the same; errors are collected
 *     tenon-values compile 100 --cases=tests/bench/schema_cases.json                 N times from a value to a schema
 *     tenon-values write 1000000 --kind=random|short|coordinates                     N doubles to text
 *     tenon-values read 1000000 --kind=random|short|coordinates                      and back
 *
 * One JSON line a case. Without --case, all cases run. Every result is checked inside the timed section. Each line is
 * the best of --rounds=5 rounds, because other processes can only add time; --rounds=1 for callgrind.
 */
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "tests/bench/harness.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Schemas --------------------------------------------------------------------------------------------------- */

static tn_value read_cases(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) die("cannot open", path);
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    char piece[65536];
    for (size_t got; (got = fread(piece, 1, sizeof piece, file)) > 0;) buffer_append(&text, piece, got);
    (void)fclose(file);
    tn_value cases = NULL;
    struct error error = ERROR_INIT;
    if (json_read(buffer_cstr(&text), text.length, NULL, &cases, &error) != TN_OK) die(path, error.message);
    buffer_finish(&text);
    return cases;
}

static struct schema *compiled(tn_value document) {
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    if (schema_compile(document, NULL, &schema, &error) != TN_OK) die("schema", error.message);
    return schema;
}

static void round_of(const char *workload, const struct schema *schema, tn_value one, int64_t count) {
    tn_value instances = value_get(one, "instances");
    bool valid = value_to_bool(value_get(one, "valid"));
    if (strcmp(workload, "compile") == 0)
        for (int64_t i = 0; i < count; i++) schema_unref(compiled(value_get(one, "schema")));
    for (int64_t i = 0; i < count && strcmp(workload, "schema") == 0; i++)
        for (size_t j = 0; j < value_count(instances); j++)
            if ((schema_validate(schema, value_at(instances, j), NULL) == TN_OK) != valid) die("schema", "wrong");
    for (int64_t i = 0; i < count && strcmp(workload, "report") == 0; i++)
        for (size_t j = 0; j < value_count(instances); j++) {
            struct schema_errors errors = SCHEMA_ERRORS_INIT;
            if ((schema_validate(schema, value_at(instances, j), &errors) == TN_OK) != valid) die("report", "wrong");
            if ((errors.count == 0) != valid) die("report", "the number of errors");
            schema_errors_finish(&errors);
        }
}

static void measured(const char *workload, tn_value one, int64_t count) {
    struct schema *schema = compiled(value_get(one, "schema"));
    const char *name = value_chars(value_get(one, "name"), NULL);
    double each = strcmp(workload, "compile") == 0 ? 1 : (double)value_count(value_get(one, "instances"));
    double wall = INFINITY, cpu = INFINITY;
    for (int64_t left = strtoll(option("rounds", "5"), NULL, 10); left > 0; left--) {
        struct measure measure;
        measure_begin(&measure);
        round_of(workload, schema, one, count);
        wall = fmin(wall, seconds(&measure.wall, CLOCK_MONOTONIC));
        cpu = fmin(cpu, seconds(&measure.cpu, CLOCK_PROCESS_CPUTIME_ID));
    }
    char notes[200];
    (void)snprintf(notes, sizeof notes, "\"case\":\"%s\",\"unit\":\"%s\"", name,
                   strcmp(workload, "compile") == 0 ? "schema" : "instance");
    report_of(wall, cpu, workload, count, (double)count * each, notes);
    schema_unref(schema);
}

static void schemas(const char *workload, int64_t count) {
    tn_value cases = read_cases(option("cases", "tests/bench/schema_cases.json"));
    const char *wanted = option("case", "");
    bool found = false;
    for (size_t i = 0; i < value_count(cases); i++) {
        tn_value one = value_at(cases, i);
        if (*wanted && !value_text_is(value_get(one, "name"), wanted)) continue;
        found = true;
        measured(workload, one, count);
    }
    if (!found) die("there is no case", wanted);
    value_unref(cases);
}

/* ---- Doubles --------------------------------------------------------------------------------------------------- */

#define DOUBLES 4096

static uint64_t random_64(void) {
    static uint64_t state = 15;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double double_of_kind(const char *kind) {
    if (strcmp(kind, "short") == 0) return (double)(random_64() % 100000) / 100;
    if (strcmp(kind, "coordinates") == 0) return ((double)(random_64() >> 11) * 0x1p-53 - 0.5) * 360;
    for (;;) { /* random bits */
        uint64_t bits = random_64();
        double number;
        memcpy(&number, &bits, sizeof number);
        if (isfinite(number)) return number;
    }
}

static void doubles(const char *workload, int64_t count) {
    static double numbers[DOUBLES];
    static char texts[DOUBLES][32];
    static size_t lengths[DOUBLES];
    const char *kind = option("kind", "random");
    for (size_t i = 0; i < DOUBLES; i++) {
        numbers[i] = double_of_kind(kind);
        lengths[i] = json_double_text(numbers[i], texts[i]);
    }
    double wall = INFINITY, cpu = INFINITY;
    size_t bytes = 0;
    for (int64_t left = strtoll(option("rounds", "5"), NULL, 10); left > 0; left--) {
        struct measure measure;
        measure_begin(&measure);
        bytes = 0;
        for (int64_t i = 0; i < count; i++) {
            size_t at = (size_t)i % DOUBLES;
            char text[32];
            double back = 0;
            bool good = strcmp(workload, "write") == 0
                            ? json_double_text(numbers[at], text) == lengths[at]
                            : json_double_read(texts[at], lengths[at], &back) && back == numbers[at];
            if (!good) die(workload, texts[at]);
            bytes += lengths[at];
        }
        wall = fmin(wall, seconds(&measure.wall, CLOCK_MONOTONIC));
        cpu = fmin(cpu, seconds(&measure.cpu, CLOCK_PROCESS_CPUTIME_ID));
    }
    char notes[200];
    (void)snprintf(notes, sizeof notes, "\"kind\":\"%s\",\"unit\":\"double\",\"mb_s\":%.1f", kind,
                   (double)bytes / wall / 1e6);
    report_of(wall, cpu, workload, count, (double)count, notes);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(const char *workload, int64_t count);
    } workloads[] = {
        {"schema", schemas}, {"report", schemas}, {"compile", schemas}, {"write", doubles}, {"read", doubles}};
    int64_t count = argc > 2 ? strtoll(argv[2], NULL, 10) : 0;
    if (count <= 0) die("usage", "tenon-values schema|report|compile|write|read N [--cases=FILE] [--case=NAME]");
    harness_options(argc, argv, 3);
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        if (strcmp(argv[1], workloads[i].name) != 0) continue;
        workloads[i].run(workloads[i].name, count);
        return 0;
    }
    die("there is no such workload", argv[1]);
}
