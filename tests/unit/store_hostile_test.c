/*
 * store_hostile_test.c - malformed, extreme and random requests to a store.
 *
 * Limits at and above their edges; malformed options and arguments; and a walk of random operations over all stores,
 * which must return equal results. A failing walk prints its seed; TENON_SEED repeats it.
 */
#include "tests/unit/store_fixture.h"
#include <inttypes.h>

/* ---- Limits, at and one above ---- */

static tn_value text_object(const char *first, ...) { /* an object of keys and values, ended by NULL */
    tn_value object = value_object();
    va_list more;
    va_start(more, first);
    for (const char *key = first; key; key = va_arg(more, const char *))
        object = value_set_take(object, key, va_arg(more, tn_value));
    va_end(more);
    return object;
}

static tn_value text_of_length(size_t length) {
    char *text = mem_alloc(length + 1);
    memset(text, 'x', length);
    text[length] = '\0';
    tn_value value = value_text_n(text, length);
    mem_free(text);
    return value;
}

static tn_value put(tn_value key, tn_value value) {
    return text_object("op", value_text("put"), "collection", value_text("c"), "key", key, "value", value, NULL);
}

static void commit_take(const struct opened *store, tn_value operation, const char *code) {
    tn_value batch = value_push_take(value_array(), operation), result = fixture_commit_value(store, batch);
    if (code)
        fixture_is_error(result, code, NULL);
    else if (!result)
        fail_msg("%s", fixture_message());
    value_unref(result);
    value_unref(batch);
}

static void query_take(const struct opened *store, const char *kind, tn_value body, const char *code) {
    body = value_set_take(body, "collection", value_text("c"));
    tn_value query = value_set_take(value_object(), kind, body), result = fixture_query_value(store, query);
    if (code)
        fixture_is_error(result, code, NULL);
    else if (!result)
        fail_msg("%s", fixture_message());
    value_unref(result);
    value_unref(query);
}

static tn_value nested(int depth) {
    tn_value value = value_int(1);
    for (int i = 0; i < depth; i++)
        value = i % 2 ? value_push_take(value_array(), value) : value_set_take(value_object(), "x", value);
    return value;
}

static tn_value repeated(size_t count, tn_value item) {
    tn_value array = value_array_reserve(count);
    for (size_t i = 0; i < count; i++) array = value_push_take(array, value_ref(item));
    value_unref(item);
    return array;
}

static tn_value conditions(int count) {
    tn_value filter = value_object();
    char name[16];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "m%d", i);
        filter = value_set_take(filter, name, value_int(i));
    }
    return filter;
}

static void check_limits(const char *name) {
    fixture_begin(name);
    struct opened store = fixture_open(name, "{}");
    commit_take(&store, put(text_of_length(TN_STORE_KEY_MAX), value_int(1)), NULL);
    commit_take(&store, put(text_of_length(TN_STORE_KEY_MAX + 1), value_int(1)), "LIMIT");
    commit_take(&store, put(value_text("d"), nested(TN_STORE_DEPTH_MAX)), NULL);
    commit_take(&store, put(value_text("d"), nested(TN_STORE_DEPTH_MAX + 1)), "LIMIT");
    commit_take(&store, put(value_text("d"), nested(100000)), "LIMIT");
    query_take(&store, "get", text_object("key", value_text("d"), NULL), NULL);
    commit_take(&store, put(value_text("v"), text_of_length(TN_STORE_VALUE_MAX - 2)), NULL);
    query_take(&store, "get", text_object("key", value_text("v"), NULL), NULL);
    commit_take(&store, put(value_text("v"), text_of_length(TN_STORE_VALUE_MAX - 1)), "LIMIT");
    tn_value word = text_of_length(TN_STORE_TEXT_MAX), longer = text_of_length(TN_STORE_TEXT_MAX + 1);
    commit_take(&store, value_set_take(put(value_text("t"), value_int(1)), "text", value_ref(word)), NULL);
    commit_take(&store, value_set_take(put(value_text("t"), value_int(1)), "text", value_ref(longer)), "LIMIT");
    query_take(&store, "search", text_object("text", word, NULL), NULL);
    query_take(&store, "search", text_object("text", longer, NULL), "LIMIT");
    char words[2 * TN_STORE_WORDS_MAX + 2] = "";
    for (size_t i = 0; i < TN_STORE_WORDS_MAX; i++) memcpy(words + 2 * i, "w ", 3);
    query_take(&store, "search", text_object("text", value_text(words), NULL), NULL);
    words[2 * TN_STORE_WORDS_MAX] = 'w';
    query_take(&store, "search", text_object("text", value_text(words), NULL), "LIMIT");
    tn_value vector = repeated(TN_STORE_VECTOR_MAX, value_int(1));
    commit_take(&store, value_set_take(put(value_text("n"), value_int(1)), "vector", value_ref(vector)), NULL);
    query_take(&store, "search", text_object("vector", value_ref(vector), NULL), NULL);
    vector = value_push_take(vector, value_int(1));
    commit_take(&store, value_set_take(put(value_text("n"), value_int(1)), "vector", value_ref(vector)), "LIMIT");
    query_take(&store, "search", text_object("vector", vector, NULL), "LIMIT");
    query_take(&store, "count", text_object("where", conditions(TN_STORE_FILTER_MAX), NULL), NULL);
    query_take(&store, "count", text_object("where", conditions(TN_STORE_FILTER_MAX + 1), NULL), "LIMIT");
    query_take(&store, "count", text_object("where", text_object("any", repeated(200, conditions(2)), NULL), NULL),
               "LIMIT");
    tn_value list = repeated(TN_STORE_IN_MAX, value_int(1));
    query_take(&store, "count",
               text_object("where", text_object("x", text_object("in", value_ref(list), NULL), NULL), NULL), NULL);
    list = value_push_take(list, value_int(1));
    query_take(&store, "count", text_object("where", text_object("x", text_object("in", list, NULL), NULL), NULL),
               "LIMIT");
    query_take(&store, "count", text_object("where", nested(300), NULL), "INVALID");
    query_take(&store, "count",
               text_object("where", text_object("x", text_object("eq", nested(100000), NULL), NULL), NULL), NULL);
    query_take(&store, "list", text_object("limit", value_int(TN_STORE_LIMIT_MAX), NULL), NULL);
    query_take(&store, "list", text_object("limit", value_int(TN_STORE_LIMIT_MAX + 1), NULL), "LIMIT");
    tn_value operation =
        text_object("op", value_text("delete"), "collection", value_text("x"), "key", value_text("k"), NULL);
    tn_value batch = repeated(TN_STORE_BATCH_MAX, value_ref(operation)), result = fixture_commit_value(&store, batch);
    assert_int_equal(value_count(result), TN_STORE_BATCH_MAX);
    value_unref(result);
    batch = value_push_take(batch, operation);
    fixture_is_error(fixture_commit_value(&store, batch), "LIMIT", "10001 operations");
    value_unref(batch);
    fixture_close(&store);
    fixture_end();
}

static void limits(void **state) {
    (void)state;
    for (size_t i = 0; i < FIXTURE_STORES; i++) check_limits(fixture_stores[i]);
}

/* A page ends before it exceeds its limit of bytes, and `after` continues from there. */
static void pages_are_bounded(void **state) {
    (void)state;
    for (size_t i = 0; i < FIXTURE_STORES; i++) {
        fixture_begin(fixture_stores[i]);
        struct opened store = fixture_open(fixture_stores[i], "{}");
        tn_value large = text_of_length(TN_STORE_VALUE_MAX - 2);
        char key[2] = "a";
        for (; *key < 'g'; ++*key) commit_take(&store, put(value_text(key), value_ref(large)), NULL);
        value_unref(large);
        tn_value page = fixture_query(&store, "{\"list\": {\"collection\": \"c\"}}");
        assert_int_equal(value_count(value_get(page, "records")), 4);
        assert_true(value_to_bool(value_get(page, "more")));
        value_unref(page);
        page = fixture_query(&store, "{\"list\": {\"collection\": \"c\", \"after\": \"d\"}}");
        assert_int_equal(value_count(value_get(page, "records")), 2);
        assert_false(value_to_bool(value_get(page, "more")));
        value_unref(page);
        page = fixture_query(&store, "{\"list\": {\"collection\": \"c\", \"keys_only\": true}}");
        assert_int_equal(value_count(value_get(page, "records")), 6);
        value_unref(page);
        fixture_close(&store);
        fixture_end();
    }
}

/* NULL instead of a value or of the place of an error, and malformed options. */
static void nulls_and_options(void **state) {
    (void)state;
    static const struct {
        const char *store, *options, *code, *part;
    } wrong[] = {
        {"sqlite", "{\"snyc\": \"full\"}", "INVALID", "no option `snyc`; did you mean `sync`?"},
        {"sqlite", "{\"sync\": \"ful\"}", "INVALID", "full, normal or off; found ful"},
        {"sqlite", "{\"sync\": 1}", "INVALID", "found an int"},
        {"sqlite", "{\"busy_ms\": -1}", "INVALID", "from 0 to 600000"},
        {"sqlite", "{\"busy_ms\": \"5\"}", "INVALID", "found a string"},
        {"sqlite", "{\"max_bytes\": 5}", "INVALID", "`max_bytes`"},
        {"sqlite", "{\"read_only\": 1}", "INVALID", "true or false"},
        {"sqlite", "{\"indexes\": []}", "INVALID", "`indexes` must be an object"},
        {"sqlite", "{\"indexes\": {\"c\": [\"a\"]}}", "INVALID", "1 to 8 member paths"},
        {"sqlite", "{\"indexes\": {\"c\": [[1]]}}", "INVALID", "a member path must be a string"},
        {"memory", "{\"sync\": \"full\"}", "INVALID", "the store `memory` has no option `sync`"},
    };
    for (size_t i = 0; i < FIXTURE_STORES; i++) {
        const char *name = fixture_stores[i];
        fixture_begin(name);
        struct opened store = fixture_open(name, "{\"use\": \"x\"}");
        tn_value nothing = NULL, error = NULL;
        assert_int_equal(store.vtable->commit(store.store, NULL, &nothing, &error), TN_FAILED);
        value_unref(error);
        assert_int_equal(store.vtable->query(store.store, NULL, &nothing, &error), TN_FAILED);
        value_unref(error);
        assert_int_equal(store.vtable->commit(store.store, NULL, &nothing, NULL), TN_FAILED);
        assert_null(nothing);
        store.vtable->close(NULL);
        for (size_t j = 0; j < sizeof wrong / sizeof *wrong; j++) {
            if (strcmp(wrong[j].store, name) != 0) continue;
            struct opened refused = fixture_open_path(name, "refused", wrong[j].options);
            assert_null(refused.store);
            fixture_is_error(NULL, wrong[j].code, wrong[j].part);
        }
        fixture_close(&store);
        fixture_end();
    }
}

/* ---- A walk: equal requests to every store, equal results from every store ---- */

static uint64_t random_state;

static unsigned random_below(unsigned bound) { /* xorshift */
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state % bound);
}

static const char *choose(const char *const *words) {
    unsigned count = 0;
    while (words[count]) count++;
    return words[random_below(count)];
}

static const char *const keys[] = {"a", "b", "c", "ab", "é", "B", "", "zz", NULL};
static const char *const collections[] = {"c", "d", "i", NULL};
static const char *const paths[] = {"n", "s", "o.n", "o.s", "l", "q\\\"", "p", NULL};
static const char *const scalars[] = {"0",     "1",    "-1",   "2.5",   "0.1",   "1e18",          "9007199254740993",
                                      "true",  "null", "\"\"", "\"a\"", "\"b\"", "\"a\\u0000b\"", "false",
                                      "\"é\"", "3",    "1.0",  NULL};
static const char *const words[] = {"red", "Red green", "blue", "green blue red", "東京", "", NULL};

static void add_object(struct buffer *out, int depth) {
    buffer_char(out, '{');
    bool any = false;
    static const char *const names[] = {"n", "s", "o", "l", "q\\\"", "p", NULL};
    static const char *const sortable[] = {"0", "-3", "2.5", "true", "null", "\"a\"", "\"b\"", "\"\"", NULL};
    for (int i = 0; names[i]; i++) {
        if (random_below(3) == 0) continue;
        if (depth == 0 && i == 2) continue;
        buffer_format(out, "%s\"%s\": ", any ? ", " : "", names[i]);
        any = true;
        if (i == 2 && random_below(4))
            add_object(out, depth - 1);
        else if (i == 3)
            buffer_format(out, "[%s, %s]", choose(scalars), choose(scalars));
        else
            buffer_text(out, choose(i == 5 ? sortable : scalars));
    }
    buffer_char(out, '}');
}

static void add_filter(struct buffer *out, int depth) {
    static const char *const orders[] = {"lt", "le", "gt", "ge", NULL};
    static const char *const comparable[] = {
        "1", "2.5", "0.1", "1e18", "\"a\"", "\"\"", "\"a\\u0000b\"", "9007199254740992", NULL};
    buffer_char(out, '{');
    unsigned count = random_below(3);
    for (unsigned i = 0; i < count; i++) {
        buffer_format(out, "%s\"%s%s\": ", i ? ", " : "", paths[(random_below(3) + i * 3) % 7], "");
        switch (random_below(8)) {
        case 0: buffer_format(out, "{\"ne\": %s}", choose(scalars)); break;
        case 1: buffer_format(out, "{\"in\": [%s, %s]}", choose(scalars), choose(scalars)); break;
        case 2: buffer_format(out, "{\"exists\": %s}", random_below(2) ? "true" : "false"); break;
        case 3: buffer_format(out, "{\"contains\": %s}", choose(scalars)); break;
        case 4:
        case 5: buffer_format(out, "{\"%s\": %s}", choose(orders), choose(comparable)); break;
        default: buffer_text(out, choose(scalars));
        }
    }
    if (depth > 0 && random_below(3) == 0) {
        buffer_text(out, count ? ", \"any\": [" : "\"any\": [");
        add_filter(out, depth - 1);
        buffer_text(out, ", ");
        add_filter(out, depth - 1);
        buffer_char(out, ']');
    }
    buffer_char(out, '}');
}

static void add_if(struct buffer *out) {
    if (random_below(3)) return;
    if (random_below(2)) {
        buffer_format(out, ", \"if\": {\"version\": %u}", random_below(3));
    } else {
        buffer_text(out, ", \"if\": {\"where\": ");
        add_filter(out, 0);
        buffer_char(out, '}');
    }
}

static void add_record_fields(struct buffer *out, int64_t now) {
    if (random_below(3) == 0) buffer_format(out, ", \"text\": \"%s\"", choose(words));
    if (random_below(4) == 0) buffer_format(out, ", \"vector\": [%u, %u]", random_below(4), random_below(4));
    if (random_below(6) == 0) buffer_format(out, ", \"expires_at\": %" PRId64, now + random_below(40));
}

static void add_range(struct buffer *out) {
    if (random_below(3) == 0) buffer_format(out, ", \"from\": \"%s\"", choose(keys));
    if (random_below(3) == 0) buffer_format(out, ", \"to\": \"%s\"", choose(keys));
}

static void add_operation(struct buffer *out, int64_t now) {
    const char *collection = choose(collections), *key = choose(keys);
    unsigned kind = random_below(12);
    const char *name = kind < 5     ? "put"
                       : kind < 8   ? "merge"
                       : kind == 8  ? "delete"
                       : kind == 9  ? "take"
                       : kind == 10 ? "expect"
                                    : "delete_range";
    buffer_format(out, "{\"op\": \"%s\", \"collection\": \"%s\"", name, collection);
    if (kind < 9 || kind == 10) buffer_format(out, ", \"key\": \"%s\"", key);
    if (kind < 9) add_if(out);
    if (kind < 8) {
        buffer_text(out, kind < 5 ? ", \"value\": " : ", \"patch\": ");
        if (random_below(8))
            add_object(out, 1);
        else
            buffer_text(out, kind < 5 ? "{\"$bytes\": \"AAEC\"}" : "{\"o\": {\"n\": null, \"s\": 5}}");
        add_record_fields(out, now);
    } else if (kind == 9) {
        buffer_text(out, ", \"patch\": {\"n\": 7}, \"where\": ");
        add_filter(out, 1);
        if (random_below(2)) buffer_format(out, ", \"order\": [\"%s\"]", random_below(2) ? "p" : "l");
    } else if (kind == 10) {
        buffer_format(out, ", \"if\": {\"version\": %u}", random_below(3));
    } else if (kind == 11) {
        add_range(out);
    }
    buffer_char(out, '}');
}

static void add_query(struct buffer *out) {
    unsigned kind = random_below(8);
    const char *name = kind < 1 ? "get" : kind < 5 ? "list" : kind < 6 ? "count" : "search";
    buffer_format(out, "{\"%s\": {\"collection\": \"%s\"", name, choose(collections));
    if (kind < 1) {
        buffer_format(out, ", \"key\": \"%s\"", choose(keys));
    } else {
        add_range(out);
        if (random_below(3)) {
            buffer_text(out, ", \"where\": ");
            add_filter(out, 2);
        }
    }
    if (kind >= 1 && kind < 5) {
        /* Releases of SQLite order strings with a NUL differently, so do not order by `s`. */
        if (random_below(2)) buffer_format(out, ", \"order\": [\"p\"%s]", random_below(2) ? ", \"l\"" : "");
        if (random_below(3) == 0) buffer_format(out, ", \"after\": \"%s\"", choose(keys));
        if (random_below(2)) buffer_text(out, ", \"reverse\": true");
        if (random_below(2)) buffer_format(out, ", \"limit\": %u", 1 + random_below(4));
        if (random_below(3) == 0) buffer_text(out, ", \"keys_only\": true");
    } else if (kind == 6) {
        buffer_format(out, ", \"text\": \"%s\"", choose(words));
    } else if (kind == 7) {
        buffer_format(out, ", \"vector\": [%u, %u]", random_below(4), 1 + random_below(4));
    }
    buffer_text(out, "}}");
}

/* Stores order the records of a search by words differently: compare them by key, without scores. */
static tn_value canonical(tn_value result, bool search) {
    tn_value records = value_get(result, "records");
    if (!search || !records) return result;
    tn_value sorted = value_object();
    for (size_t i = 0; i < value_count(records); i++) {
        tn_value record = value_remove_take(value_ref(value_at(records, i)), value_text("score"));
        char key[64];
        snprintf(key, sizeof key, "%s", value_chars(value_get(record, "key"), NULL));
        sorted = value_set_take(sorted, key, record);
    }
    value_unref(result);
    return sorted;
}

static void compare(uint64_t seed, int step, const char *text, tn_value first, const char *first_error,
                    tn_value second) {
    if (first && second && value_equal(first, second)) return;
    if (!first && !second && strcmp(first_error, fixture_code()) == 0) return;
    char *a = first ? json_text(first, JSON_COMPACT) : mem_text(first_error);
    char *b = second ? json_text(second, JSON_COMPACT) : mem_text(fixture_message());
    fail_msg("TENON_SEED=%llu, step %d: %s\n%s: %s\n%s: %s", (unsigned long long)seed, step, text, fixture_stores[0], a,
             fixture_stores[1], b);
}

static void random_walk(uint64_t seed, int steps) {
    random_state = seed * 2654435769u + 88172645463325252u;
    fixture_begin("memory");
    fixture_load("sqlite");
    struct opened stores[2] = {fixture_open_path("memory", "m", "{}"),
                               fixture_open_path("sqlite", "s",
                                                 "{\"sync\": \"off\", \"indexes\": {\"i\": [[\"n\"], "
                                                 "[\"s:1\", \"o.n\"], [\"q\\\"\"], [\"p\"]]}}")};
    if (!stores[1].store) fail_msg("%s", fixture_message());
    for (int step = 0; step < steps; step++) {
        struct buffer text;
        bool query = random_below(2), search = false;
        int64_t now = loop_wall_ms(fixture_host.loop);
        buffer_init(&text, SIZE_MAX);
        if (query) {
            add_query(&text);
            search = strstr(buffer_cstr(&text), "\"search\"") != NULL;
        } else {
            buffer_char(&text, '[');
            for (unsigned i = 0, count = 1 + random_below(4); i < count; i++) {
                if (i > 0) buffer_text(&text, ", ");
                add_operation(&text, now);
            }
            buffer_char(&text, ']');
        }
        tn_value results[2];
        char code[64] = "";
        for (int i = 0; i < 2; i++) {
            bool grouped = i == 1 && !query && seed % 2; /* a group of one batch is as good as the batch */
            if (grouped) assert_int_equal(stores[i].vtable->group(stores[i].store, 1, NULL), TN_OK);
            results[i] =
                query ? fixture_query(&stores[i], buffer_cstr(&text)) : fixture_commit(&stores[i], buffer_cstr(&text));
            if (grouped && stores[i].vtable->group(stores[i].store, 0, NULL) != TN_OK) assert_null(results[i]);
            if (results[i]) results[i] = canonical(results[i], search);
            if (i == 0) snprintf(code, sizeof code, "%s", fixture_code());
        }
        compare(seed, step, buffer_cstr(&text), results[0], code, results[1]);
        value_unref(results[0]);
        value_unref(results[1]);
        buffer_finish(&text);
        loop_fake_advance(fixture_host.loop, random_below(3));
        if (random_below(50) == 0) {
            tn_value a = fixture_maintain(&stores[0]), b = fixture_maintain(&stores[1]);
            assert_true(value_equal(value_get(a, "removed"), value_get(b, "removed")));
            value_unref(a);
            value_unref(b);
        }
    }
    fixture_close(&stores[0]);
    fixture_close(&stores[1]);
    fixture_end();
}

static void random_walks(void **state) {
    (void)state;
    const char *seed = getenv("TENON_SEED");
    if (FIXTURE_STORES < 2) skip();
    if (seed) {
        random_walk(strtoull(seed, NULL, 10), 2000);
        return;
    }
    for (uint64_t i = 1; i <= 6; i++) random_walk(i, 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits),
        cmocka_unit_test(pages_are_bounded),
        cmocka_unit_test(nulls_and_options),
        cmocka_unit_test(random_walks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
