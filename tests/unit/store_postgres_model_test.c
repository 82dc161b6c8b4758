/*
 * store_postgres_model_test.c - random batches and queries in PostgreSQL and in memory have the same results.
 *
 * A store in PostgreSQL reads what a batch needs in one round, foresees the effects of its operations, and orders
 * records by encoded members. The store in memory does none of this. POSTGRES_MODEL_SEED and POSTGRES_MODEL_ROUNDS
 * repeat a failure and run longer.
 */
#include "tests/unit/postgres_fixture.h"

static uint64_t random_state;

static unsigned random_below(unsigned limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % limit;
}

static tn_value text_of(const char *const *words, unsigned count) { return value_text(words[random_below(count)]); }

static const char *const collections[] = {"hot", "hot", "cold", "other"};
static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g/1", "g/2", "g/3"};
#define KEYS (sizeof keys / sizeof *keys)

static tn_value random_scalar(void) {
    switch (random_below(14)) {
    case 0: return value_null();
    case 1: return value_bool(random_below(2) != 0);
    case 2: return value_double(0.5 + random_below(3));
    case 3: return value_double(-0.0);
    case 4: return value_int(INT64_MAX - (int64_t)random_below(3));
    case 5: return value_double(9223372036854775808.0);
    case 6: return value_text("");
    case 7: return value_text("b\xc3\xa9");
    case 8: return value_string("a\0b", 3);
    case 9: return fixture_json("[1, \"x\"]");
    case 10: return fixture_json("{\"k\": 1}");
    case 11: return value_int(-(int64_t)random_below(3));
    default: return random_below(2) ? value_int(random_below(4)) : text_of(keys, KEYS);
    }
}

/* Members n, s and x; in `hot`, the first two are indexed, and the first byte of x. Some are missing. */
static tn_value random_value(void) {
    static const char *const names[] = {"n", "s", "x"};
    if (random_below(20) == 0) return random_scalar();
    if (random_below(20) == 0) return fixture_json("{\"$bytes\": \"AAEC\"}");
    tn_value value = value_object();
    for (int i = 0; i < 3; i++)
        if (random_below(4)) value = value_set_take(value, names[i], random_scalar());
    return value;
}

static tn_value random_filter(unsigned depth) {
    static const char *const names[] = {"n", "s", "x", "x.k"};
    static const char *const tests[] = {"eq", "ne", "lt", "le", "gt", "ge", "in", "exists", "contains"};
    tn_value filter = value_object();
    for (unsigned i = random_below(3); i > 0; i--) {
        const char *test = tests[random_below(9)];
        tn_value operand = random_scalar();
        bool ordered = test[0] == 'l' || test[0] == 'g';
        if (ordered) value_unref(operand), operand = random_below(2) ? value_int(random_below(4)) : text_of(keys, KEYS);
        if (strcmp(test, "exists") == 0) value_unref(operand), operand = value_bool(random_below(2) != 0);
        if (strcmp(test, "in") == 0)
            operand = value_push_take(value_push_take(value_array(), operand), random_scalar());
        tn_value condition = value_set_take(value_object(), test, operand);
        filter = value_set_take(filter, names[random_below(4)], condition);
    }
    if (depth && random_below(4) == 0) {
        tn_value any = value_push_take(value_array(), random_filter(0));
        filter = value_set_take(filter, "any", value_push_take(any, random_filter(0)));
    }
    return filter;
}

static tn_value random_order(void) {
    static const char *const orders[] = {"[\"n\"]", "[\"s\", \"n\"]", "[\"x\"]", "[\"n\", \"x\"]", "[\"s\"]"};
    return fixture_json(orders[random_below(5)]);
}

static tn_value random_attributes_take(tn_value operation, bool merge) {
    static const char *const words[] = {"one two", "two two three", "Three", "", "four one"};
    if (random_below(4) == 0) operation = value_set_take(operation, "text", text_of(words, 5));
    if (random_below(6) == 0) operation = value_set_take(operation, "vector", fixture_json("[1, 2, 3]"));
    if (random_below(6) == 0) operation = value_set_take(operation, "vector", fixture_json("[3.5, -2, 1]"));
    if (random_below(10) == 0)
        operation = value_set_take(operation, "expires_at", value_int(random_below(2) ? 1 : 4000000000000));
    if (merge && random_below(10) == 0) operation = value_set_take(operation, "text", value_null());
    return operation;
}

static tn_value random_range_take(tn_value operation) {
    if (random_below(2)) operation = value_set_take(operation, "from", text_of(keys, KEYS));
    return random_below(2) ? value_set_take(operation, "to", text_of(keys, KEYS)) : operation;
}

static tn_value random_operation(void) {
    static const char *const names[] = {"put",          "put",    "put",  "merge", "merge", "delete",
                                        "delete_range", "expect", "take", "take",  "take"};
    const char *name = names[random_below(11)];
    tn_value operation = value_set_take(value_object(), "op", value_text(name));
    operation = value_set_take(operation, "collection", text_of(collections, 4));
    if (strcmp(name, "delete_range") == 0) return random_range_take(operation);
    if (strcmp(name, "take") == 0) {
        if (random_below(3)) operation = value_set_take(operation, "where", random_filter(1));
        if (random_below(2)) operation = value_set_take(operation, "order", random_order());
        return value_set_take(operation, "patch",
                              random_below(2) ? fixture_json("{\"n\": 7, \"s\": null}") : fixture_json("{\"t\": 1}"));
    }
    operation = value_set_take(operation, "key", text_of(keys, KEYS));
    bool put = strcmp(name, "put") == 0, merge = strcmp(name, "merge") == 0;
    if (put) operation = value_set_take(operation, "value", random_value());
    if (merge) operation = value_set_take(operation, "patch", random_value());
    if (put || merge) operation = random_attributes_take(operation, merge);
    if (strcmp(name, "expect") == 0 || random_below(8) == 0) {
        tn_value condition = value_object();
        if (random_below(2))
            condition = value_set_take(condition, "version", value_int(random_below(3)));
        else
            condition = value_set_take(condition, "where", random_filter(1));
        operation = value_set_take(operation, "if", condition);
    }
    return operation;
}

static tn_value random_batch(void) {
    tn_value batch = value_array();
    tn_value again = NULL;
    for (unsigned i = 1 + random_below(6); i > 0; i--) {
        tn_value operation = again && random_below(3) == 0 ? value_ref(again) : random_operation();
        value_unref(again);
        again = value_ref(operation); /* several equal takes are usual */
        batch = value_push_take(batch, operation);
    }
    value_unref(again);
    return batch;
}

static tn_value random_query(void) {
    tn_value body = value_set_take(value_object(), "collection", text_of(collections, 4));
    unsigned kind = random_below(6);
    if (kind == 0) return value_set_take(value_object(), "get", value_set_take(body, "key", text_of(keys, KEYS)));
    if (kind == 1 && random_below(2))
        return value_set_take(value_object(), "search",
                              value_set_take(body, "text", value_text(random_below(2) ? "two" : "one two")));
    if (random_below(2)) body = value_set_take(body, "where", random_filter(1));
    if (kind == 1)
        return value_set_take(value_object(), "search", value_set_take(body, "vector", fixture_json("[1, 1, 0]")));
    body = random_range_take(body);
    if (kind == 2) return value_set_take(value_object(), "count", body);
    if (random_below(2)) body = value_set_take(body, "order", random_order());
    if (random_below(3) == 0) body = value_set_take(body, "reverse", value_bool(true));
    if (random_below(3) == 0) body = value_set_take(body, "limit", value_int(1 + (int64_t)random_below(3)));
    if (random_below(4) == 0) body = value_set_take(body, "after", text_of(keys, KEYS));
    if (random_below(4) == 0) body = value_set_take(body, "keys_only", value_bool(true));
    if (random_below(4) == 0) body = value_set_take(body, "attributes", value_bool(true));
    return value_set_take(value_object(), "list", body);
}

/* The result, or the error without what may differ. Scores are equal, because both compute them in the same way. */
static tn_value outcome_take(tn_value result) {
    if (result) return result;
    tn_value error = value_set_take(value_object(), "code", value_text(fixture_code()));
    return value_set_take(error, "message", value_text(fixture_message()));
}

static void compare_take(tn_value request, tn_value expected, tn_value found, uint64_t seed) {
    if (!value_identical(expected, found)) {
        char *asked = json_text(request, JSON_COMPACT), *memory = json_text(expected, JSON_COMPACT),
             *database = json_text(found, JSON_COMPACT);
        fail_msg("seed %llu: %s\nmemory:   %s\ndatabase: %s", (unsigned long long)seed, asked, memory, database);
    }
    value_unref(request);
    value_unref(expected);
    value_unref(found);
}

static void run(const char *more, uint64_t seed, unsigned rounds) {
    postgres_begin();
    fixture_load("memory");
    random_state = seed;
    struct opened database = postgres_open(more), memory = fixture_open("memory", "{}");
    for (unsigned i = 0; i < rounds; i++) {
        tn_value request = random_below(3) ? random_batch() : random_query();
        bool batch = value_is(request, TN_ARRAY);
        tn_value expected =
            outcome_take(batch ? fixture_commit_value(&memory, request) : fixture_query_value(&memory, request));
        tn_value found =
            outcome_take(batch ? fixture_commit_value(&database, request) : fixture_query_value(&database, request));
        compare_take(request, expected, found, seed);
    }
    fixture_close(&memory);
    fixture_close(&database);
    fixture_end();
}

static uint64_t number_of(const char *variable, uint64_t otherwise) {
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

#define INDEXES "\"clock\": \"host\", \"indexes\": {\"hot\": [[\"n\"], [\"s\", \"n\"], [\"x:1\"]]}"

static void results_are_those_of_memory(void **state) {
    (void)state;
    run(INDEXES, number_of("POSTGRES_MODEL_SEED", 1), (unsigned)number_of("POSTGRES_MODEL_ROUNDS", 400));
}

static void results_behind_a_pooler_are_those_of_memory(void **state) {
    (void)state;
    run(INDEXES ", \"pooler\": \"session\"", number_of("POSTGRES_MODEL_SEED", 2),
        (unsigned)number_of("POSTGRES_MODEL_ROUNDS", 200));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_memory),
        cmocka_unit_test(results_behind_a_pooler_are_those_of_memory),
    };
    return cmocka_run_group_tests(tests, postgres_start, postgres_stop);
}
