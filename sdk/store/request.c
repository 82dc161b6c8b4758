/*
 * request.c - reads batches and queries.
 *
 * A table lists the members that each operation and query requires and allows. One function reads each kind of member.
 */
#include <math.h>
#include <tenon/store/request.h>
#include <tenon/store/words.h>

#define JSON_KEPT_MAX 65536 /* bytes of the JSON of a put that is kept until it is written */

/* ---- Members ---- */

/* X(constant, name): the members of all operations, queries and conditions. */
#define MEMBERS(X)                                                                                                     \
    X(OP, "op")                                                                                                        \
    X(COLLECTION, "collection")                                                                                        \
    X(KEY, "key")                                                                                                      \
    X(VALUE, "value")                                                                                                  \
    X(PATCH, "patch")                                                                                                  \
    X(IF, "if")                                                                                                        \
    X(TEXT, "text")                                                                                                    \
    X(VECTOR, "vector")                                                                                                \
    X(EXPIRES_AT, "expires_at")                                                                                        \
    X(FROM, "from")                                                                                                    \
    X(TO, "to")                                                                                                        \
    X(WHERE, "where")                                                                                                  \
    X(ORDER, "order")                                                                                                  \
    X(REVERSE, "reverse")                                                                                              \
    X(LIMIT, "limit")                                                                                                  \
    X(AFTER, "after")                                                                                                  \
    X(KEYS_ONLY, "keys_only")                                                                                          \
    X(ATTRIBUTES, "attributes")                                                                                        \
    X(VERSION, "version")                                                                                              \
    X(EXACT, "exact")

enum {
#define X(name, text) AT_##name,
    MEMBERS(X)
#undef X
        AT_COUNT
};
enum {
#define X(name, text) HAS_##name = 1u << AT_##name,
    MEMBERS(X)
#undef X
};
static const struct {
    const char *text;
    uint64_t length;
} member_names[] = {
#define X(name, text) {(text), sizeof(text) - 1},
    MEMBERS(X)
#undef X
};

struct members {
    tn_value at[AT_COUNT]; /* NULL if absent */
};

struct shape {
    const char *name;
    uint32_t required, allowed;
};

static const struct shape operations[] = {
    [TN_STORE_OP_PUT] = {"put", HAS_COLLECTION | HAS_KEY | HAS_VALUE,
                         HAS_OP | HAS_IF | HAS_TEXT | HAS_VECTOR | HAS_EXPIRES_AT | HAS_VERSION},
    [TN_STORE_OP_MERGE] = {"merge", HAS_COLLECTION | HAS_KEY | HAS_PATCH,
                           HAS_OP | HAS_IF | HAS_TEXT | HAS_VECTOR | HAS_EXPIRES_AT},
    [TN_STORE_OP_DELETE] = {"delete", HAS_COLLECTION | HAS_KEY, HAS_OP | HAS_IF},
    [TN_STORE_OP_DELETE_RANGE] = {"delete_range", HAS_COLLECTION, HAS_OP | HAS_FROM | HAS_TO},
    [TN_STORE_OP_EXPECT] = {"expect", HAS_COLLECTION | HAS_KEY | HAS_IF, HAS_OP},
    [TN_STORE_OP_TAKE] = {"take", HAS_COLLECTION | HAS_PATCH, HAS_OP | HAS_WHERE | HAS_ORDER},
};
#define OPERATIONS (sizeof operations / sizeof *operations)

static const struct shape queries[] = {
    [TN_STORE_QUERY_GET] = {"get", HAS_COLLECTION | HAS_KEY, 0},
    [TN_STORE_QUERY_LIST] = {"list", HAS_COLLECTION,
                             HAS_FROM | HAS_TO | HAS_WHERE | HAS_ORDER | HAS_REVERSE | HAS_LIMIT | HAS_AFTER |
                                 HAS_KEYS_ONLY | HAS_ATTRIBUTES},
    [TN_STORE_QUERY_COUNT] = {"count", HAS_COLLECTION, HAS_FROM | HAS_TO | HAS_WHERE},
    [TN_STORE_QUERY_SEARCH] = {"search", HAS_COLLECTION,
                               HAS_TEXT | HAS_VECTOR | HAS_WHERE | HAS_FROM | HAS_TO | HAS_LIMIT | HAS_EXACT},
    [TN_STORE_QUERY_COLLECTIONS] = {"collections", 0, 0},
    [TN_STORE_QUERY_FORMAT] = {"format", 0, 0},
};
#define QUERIES (sizeof queries / sizeof *queries)

static const struct shape condition_shape = {"if", 0, HAS_VERSION | HAS_WHERE};

/* Returns the failure for an unknown member, with the nearest name that this shape may have. */
static tn_value request_unknown_member(const struct shape *shape, struct tn_store_text name) {
    const char *allowed[AT_COUNT + 1];
    unsigned count = 0;
    struct tn_store_excerpt excerpt;
    for (unsigned i = 0; i < AT_COUNT; i++)
        if ((shape->required | shape->allowed) >> i & 1) allowed[count++] = member_names[i].text;
    allowed[count] = NULL;
    const char *near = tn_store_nearest_word(name, allowed);
    if (near != NULL)
        return tn_store_failure("INVALID", "`%s` has no member `%s`; did you mean `%s`?", shape->name,
                                tn_store_text_excerpt(name, &excerpt), near);
    if (count == 0)
        return tn_store_failure("INVALID", "`%s` has no member `%s`; it must be empty", shape->name,
                                tn_store_text_excerpt(name, &excerpt));
    char list[256] = "";
    size_t used = 0;
    for (unsigned i = 0; i < count; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", allowed[i]);
    return tn_store_failure("INVALID", "`%s` has no member `%s`; it has %s", shape->name,
                            tn_store_text_excerpt(name, &excerpt), list);
}

static unsigned member_lookup(struct tn_store_text name) {
    unsigned at = 0;
    while (at < AT_COUNT &&
           (member_names[at].length != name.length || memcmp(member_names[at].text, name.data, name.length) != 0))
        at++;
    return at;
}

static tn_value request_read_members(tn_value object, const struct shape *shape, struct members *out) {
    memset(out, 0, sizeof *out);
    if (tn.value->kind(object) != TN_OBJECT)
        return tn_store_failure("INVALID", "`%s` must be an object; found %s", shape->name, tn_kind_name(object));
    for (uint64_t i = 0; i < tn.value->count(object); i++) {
        tn_value key = NULL, value = NULL;
        (void)tn.value->entry(object, i, &key, &value);
        unsigned at = member_lookup(tn_store_text_of(key));
        if (at == AT_COUNT || !((shape->required | shape->allowed) >> at & 1))
            return request_unknown_member(shape, tn_store_text_of(key));
        out->at[at] = value;
    }
    for (unsigned at = 0; at < AT_COUNT; at++)
        if (shape->required >> at & 1 && out->at[at] == NULL)
            return tn_store_failure("INVALID", "`%s` needs the member `%s`", shape->name, member_names[at].text);
    return NULL;
}

static bool member_is_absent(tn_value value) { return value == NULL || tn.value->kind(value) == TN_NULL; }

/* ---- Kinds of members ---- */

static tn_value request_read_key(const struct shape *shape, const char *name, tn_value value,
                                 struct tn_store_text *out) {
    struct tn_store_text text = tn_store_text_of(value);
    struct tn_store_excerpt excerpt;
    if (text.data == NULL)
        return tn_store_failure("INVALID", "`%s`: `%s` must be a string; found %s", shape->name, name,
                                tn_kind_name(value));
    if (text.length > TN_STORE_KEY_MAX)
        return tn_store_failure("LIMIT", "`%s`: `%s` has %llu bytes; at most %d are allowed: `%s`", shape->name, name,
                                (unsigned long long)text.length, TN_STORE_KEY_MAX,
                                tn_store_text_excerpt(text, &excerpt));
    *out = text;
    return NULL;
}

static tn_value request_read_optional_key(const struct shape *shape, const char *name, tn_value value,
                                          struct tn_store_text *out) {
    return member_is_absent(value) ? NULL : request_read_key(shape, name, value, out);
}

static tn_value request_read_bool(const struct shape *shape, const char *name, tn_value value, bool *out) {
    int32_t truth = 0;
    if (member_is_absent(value)) return NULL;
    if (tn.value->as_bool(value, &truth) != TN_OK)
        return tn_store_failure("INVALID", "`%s`: `%s` must be true or false; found %s", shape->name, name,
                                tn_kind_name(value));
    *out = truth != 0;
    return NULL;
}

static tn_value request_read_int(const struct shape *shape, const char *name, tn_value value, int64_t least,
                                 int64_t *out) {
    int64_t number = 0;
    if (tn.value->as_int(value, &number) != TN_OK)
        return tn_store_failure("INVALID", "`%s`: `%s` must be an integer; found %s", shape->name, name,
                                tn_kind_name(value));
    if (number < least)
        return tn_store_failure("INVALID", "`%s`: `%s` must be at least %lld; found %lld", shape->name, name,
                                (long long)least, (long long)number);
    *out = number;
    return NULL;
}

static tn_value request_read_limit(const struct shape *shape, tn_value value, int64_t *out) {
    *out = TN_STORE_LIMIT;
    if (member_is_absent(value)) return NULL;
    tn_value why = request_read_int(shape, "limit", value, 1, out);
    if (why == NULL && *out > TN_STORE_LIMIT_MAX)
        why = tn_store_failure(
            "LIMIT", "`%s`: the limit is %lld; at most %d are returned at once: continue with the last key as `after`",
            shape->name, (long long)*out, TN_STORE_LIMIT_MAX);
    return why;
}

static tn_value request_read_order(struct tn_arena *arena, const struct shape *shape, tn_value value,
                                   struct tn_store_selection *out) {
    if (member_is_absent(value)) return NULL;
    uint64_t count = tn.value->count(value);
    if (tn.value->kind(value) != TN_ARRAY)
        return tn_store_failure("INVALID", "`%s`: `order` must be an array of member paths; found %s", shape->name,
                                tn_kind_name(value));
    if (count > TN_STORE_ORDER_MAX)
        return tn_store_failure("LIMIT", "`%s`: `order` has %llu members; at most %d are allowed", shape->name,
                                (unsigned long long)count, TN_STORE_ORDER_MAX);
    struct tn_store_path *order = tn_arena_alloc(arena, (count + 1) * sizeof *order);
    tn_value why = order == NULL ? tn_store_failure_memory() : NULL;
    for (uint64_t i = 0; why == NULL && i < count; i++)
        why = tn_store_path_read(arena, tn.value->at(value, i), "order", &order[i]);
    out->order = order;
    out->order_count = count;
    return why;
}

static tn_value request_read_words(struct tn_arena *arena, const struct shape *shape, tn_value value,
                                   struct tn_store_text *out) {
    struct tn_store_text text = tn_store_text_of(value);
    if (text.data == NULL)
        return tn_store_failure("INVALID", "`%s`: `text` must be a string; found %s", shape->name, tn_kind_name(value));
    if (text.length > TN_STORE_TEXT_MAX)
        return tn_store_failure("LIMIT", "`%s`: `text` has %llu bytes; at most %d are allowed", shape->name,
                                (unsigned long long)text.length, TN_STORE_TEXT_MAX);
    return tn_store_words_split(arena, text, out) ? NULL : tn_store_failure_memory();
}

static tn_value request_read_search(struct tn_arena *arena, const struct shape *shape, tn_value value,
                                    struct tn_store_text *out) {
    tn_value why = request_read_words(arena, shape, value, out);
    struct tn_store_text rest = *out, word;
    uint64_t count = 0;
    while (why == NULL && tn_store_words_next(&rest, &word)) count++;
    if (count > TN_STORE_WORDS_MAX)
        why = tn_store_failure("LIMIT", "`%s`: `text` has %llu words; at most %d can be searched for at once",
                               shape->name, (unsigned long long)count, TN_STORE_WORDS_MAX);
    return why;
}

static tn_value request_read_vector(struct tn_arena *arena, const struct shape *shape, tn_value value,
                                    const float **out, uint64_t *count) {
    uint64_t items = tn.value->count(value);
    if (tn.value->kind(value) != TN_ARRAY || items == 0)
        return tn_store_failure("INVALID", "`%s`: `vector` must be an array of numbers; found %s", shape->name,
                                items == 0 && tn.value->kind(value) == TN_ARRAY ? "an empty array"
                                                                                : tn_kind_name(value));
    if (items > TN_STORE_VECTOR_MAX)
        return tn_store_failure("LIMIT", "`%s`: `vector` has %llu numbers; at most %d are allowed", shape->name,
                                (unsigned long long)items, TN_STORE_VECTOR_MAX);
    float *vector = tn_arena_alloc(arena, items * sizeof *vector);
    if (vector == NULL) return tn_store_failure_memory();
    for (uint64_t i = 0; i < items; i++) {
        tn_value item = tn.value->at(value, i);
        double number = 0;
        if (tn.value->as_double(item, &number) != TN_OK)
            return tn_store_failure("INVALID", "`%s`: `vector[%llu]` must be a number; found %s", shape->name,
                                    (unsigned long long)i, tn_kind_name(item));
        if (fabs(number) > 1e18) /* so that the sum of their squares does not overflow */
            return tn_store_failure("INVALID", "`%s`: `vector[%llu]` is %g; expected at most 1e18 in absolute value",
                                    shape->name, (unsigned long long)i, number);
        vector[i] = (float)number;
    }
    *out = vector;
    *count = items;
    return NULL;
}

static tn_value request_read_condition(struct tn_arena *arena, tn_value value, struct tn_store_precondition *out) {
    struct members members;
    struct tn_store_filter *where = NULL;
    if (member_is_absent(value)) return NULL;
    tn_value why = request_read_members(value, &condition_shape, &members);
    if (why == NULL && member_is_absent(members.at[AT_VERSION]) && member_is_absent(members.at[AT_WHERE]))
        why = tn_store_failure("INVALID", "`if` needs a `version`, a `where` or both");
    if (why == NULL && !member_is_absent(members.at[AT_VERSION])) {
        out->has_version = true;
        why = request_read_int(&condition_shape, "version", members.at[AT_VERSION], 0, &out->version);
    }
    if (why == NULL) why = tn_store_filter_read(arena, members.at[AT_WHERE], "`if`: `where`", &where);
    out->where = where;
    return why;
}

/* In a merge, an absent attribute stays and null removes it. In a put, both remove it. */
static enum tn_store_action request_attribute_action(tn_value value, bool merge) {
    if (!member_is_absent(value)) return TN_STORE_SET;
    return merge && value == NULL ? TN_STORE_KEEP : TN_STORE_REMOVE;
}

static tn_value request_read_attributes(struct tn_arena *arena, const struct shape *shape,
                                        const struct members *members, bool merge, struct tn_store_attributes *out) {
    tn_value text = members->at[AT_TEXT], vector = members->at[AT_VECTOR], expires_at = members->at[AT_EXPIRES_AT];
    *out = (struct tn_store_attributes){.words_action = request_attribute_action(text, merge),
                                        .vector_action = request_attribute_action(vector, merge),
                                        .expires_action = request_attribute_action(expires_at, merge)};
    tn_value why = NULL;
    if (out->words_action == TN_STORE_SET) why = request_read_words(arena, shape, text, &out->words);
    if (why == NULL && out->words.length == 0 && out->words_action == TN_STORE_SET) out->words_action = TN_STORE_REMOVE;
    if (why == NULL && out->vector_action == TN_STORE_SET)
        why = request_read_vector(arena, shape, vector, &out->vector, &out->vector_count);
    if (why == NULL && out->expires_action == TN_STORE_SET)
        why = request_read_int(shape, "expires_at", expires_at, INT64_MIN, &out->expires_at);
    return why;
}

static tn_value request_read_selection(struct tn_arena *arena, const struct shape *shape, const struct members *members,
                                       struct tn_store_selection *out) {
    struct tn_store_filter *where = NULL;
    tn_value why = request_read_key(shape, "collection", members->at[AT_COLLECTION], &out->collection);
    if (why == NULL) why = request_read_optional_key(shape, "from", members->at[AT_FROM], &out->range.from);
    if (why == NULL) why = request_read_optional_key(shape, "to", members->at[AT_TO], &out->range.to);
    if (why == NULL) why = request_read_optional_key(shape, "after", members->at[AT_AFTER], &out->after);
    if (why == NULL) why = tn_store_filter_read(arena, members->at[AT_WHERE], "`where`", &where);
    if (why == NULL) why = request_read_order(arena, shape, members->at[AT_ORDER], out);
    if (why == NULL) why = request_read_bool(shape, "reverse", members->at[AT_REVERSE], &out->reverse);
    if (why == NULL) why = request_read_bool(shape, "keys_only", members->at[AT_KEYS_ONLY], &out->keys_only);
    if (why == NULL) why = request_read_bool(shape, "attributes", members->at[AT_ATTRIBUTES], &out->attributes);
    if (why == NULL) why = request_read_limit(shape, members->at[AT_LIMIT], &out->limit);
    out->where = where;
    return why;
}

/* The `version` of a put. The largest integer is refused, because no version could follow. */
static tn_value request_read_version(const struct shape *shape, tn_value value, int64_t *out) {
    if (member_is_absent(value)) return NULL;
    tn_value why = request_read_int(shape, "version", value, 1, out);
    if (why == NULL && *out == INT64_MAX)
        why = tn_store_failure("INVALID", "`%s`: `version` must be less than %lld", shape->name, (long long)INT64_MAX);
    return why;
}

/* ---- Batches ---- */

static tn_value request_read_operation(struct tn_arena *arena, tn_value source, struct tn_store_operation *out) {
    const char *names[OPERATIONS + 1] = {NULL};
    struct tn_store_excerpt excerpt;
    struct tn_store_text name = tn_store_text_of(tn_get(source, "op"));
    for (unsigned i = 0; i < OPERATIONS; i++) names[i] = operations[i].name;
    if (tn.value->kind(source) != TN_OBJECT)
        return tn_store_failure("INVALID", "an operation must be an object; found %s", tn_kind_name(source));
    if (name.data == NULL)
        return tn_store_failure("INVALID", "an operation needs the member `op`, a string: put, merge, …");
    unsigned kind = 0;
    while (kind < OPERATIONS && !tn_store_text_is(name, names[kind])) kind++;
    if (kind == OPERATIONS) {
        const char *near = tn_store_nearest_word(name, names);
        return tn_store_failure(
            "INVALID", "unknown operation `%s`; expected put, merge, delete, delete_range, expect or take%s%s%s",
            tn_store_text_excerpt(name, &excerpt), near != NULL ? " (did you mean `" : "", near != NULL ? near : "",
            near != NULL ? "`?)" : "");
    }
    const struct shape *shape = &operations[kind];
    struct members members;
    tn_value why = request_read_members(source, shape, &members);
    out->kind = (enum tn_store_operation_kind)kind;
    out->value = kind == TN_STORE_OP_PUT ? members.at[AT_VALUE] : members.at[AT_PATCH];
    if (why == NULL) why = request_read_key(shape, "collection", members.at[AT_COLLECTION], &out->collection);
    if (why == NULL && shape->required & HAS_KEY) why = request_read_key(shape, "key", members.at[AT_KEY], &out->key);
    if (why == NULL) why = request_read_condition(arena, members.at[AT_IF], &out->condition);
    if (why == NULL && kind == TN_STORE_OP_EXPECT && member_is_absent(members.at[AT_IF]))
        why = tn_store_failure("INVALID", "`expect` needs the member `if`");
    if (why == NULL)
        why = request_read_attributes(arena, shape, &members, kind == TN_STORE_OP_MERGE || kind == TN_STORE_OP_TAKE,
                                      &out->attributes);
    if (why == NULL) why = request_read_version(shape, members.at[AT_VERSION], &out->version);
    if (why == NULL && (kind == TN_STORE_OP_DELETE_RANGE || kind == TN_STORE_OP_TAKE))
        why = request_read_selection(arena, shape, &members, &out->selection);
    /* What a merge makes is checked when it is known. */
    if (why == NULL && kind == TN_STORE_OP_PUT) why = tn_store_check_value(out->value, &out->json, &out->size);
    if (out->size > JSON_KEPT_MAX) {
        tn_release(out->json);
        out->json = NULL;
    }
    return why;
}

void tn_store_release_batch(struct tn_store_operation *batch, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) tn_release(batch[i].json);
}

tn_value tn_store_read_batch(struct tn_arena *arena, tn_value batch, struct tn_store_operation **out, uint64_t *count) {
    uint64_t items = tn.value->count(batch);
    if (tn.value->kind(batch) != TN_ARRAY)
        return tn_store_failure("INVALID", "a batch must be an array of operations; found %s", tn_kind_name(batch));
    if (items > TN_STORE_BATCH_MAX)
        return tn_store_failure("LIMIT", "the batch has %llu operations; at most %d are allowed",
                                (unsigned long long)items, TN_STORE_BATCH_MAX);
    struct tn_store_operation *list = tn_arena_alloc(arena, (items + 1) * sizeof *list);
    tn_value why = list == NULL ? tn_store_failure_memory() : NULL;
    for (uint64_t i = 0; why == NULL && i < items; i++) {
        why = request_read_operation(arena, tn.value->at(batch, i), &list[i]);
        if (why != NULL) why = tn_store_failure_detail_take(why, "index", tn_int((int64_t)i));
    }
    if (why != NULL && list != NULL) tn_store_release_batch(list, items);
    *out = list;
    *count = why == NULL ? items : 0;
    return why;
}

/* ---- Queries ---- */

tn_value tn_store_read_query(struct tn_arena *arena, tn_value source, struct tn_store_query *out) {
    const char *names[QUERIES + 1] = {NULL};
    tn_value key = NULL, body = NULL;
    struct members members;
    struct tn_store_excerpt excerpt;
    for (unsigned i = 0; i < QUERIES; i++) names[i] = queries[i].name;
    if (tn.value->kind(source) != TN_OBJECT || tn.value->count(source) != 1)
        return tn_store_failure(
            "INVALID",
            "a query must be an object with one member, get, list, count, search, collections or format; found %s%s",
            tn_kind_name(source), tn.value->kind(source) == TN_OBJECT ? " with another number of members" : "");
    (void)tn.value->entry(source, 0, &key, &body);
    unsigned kind = 0;
    while (kind < QUERIES && !tn_store_text_is(tn_store_text_of(key), names[kind])) kind++;
    if (kind == QUERIES) {
        const char *near = tn_store_nearest_word(tn_store_text_of(key), names);
        return tn_store_failure(
            "INVALID", "unknown query `%s`; expected get, list, count, search, collections or format%s%s%s",
            tn_store_text_excerpt(tn_store_text_of(key), &excerpt), near != NULL ? " (did you mean `" : "",
            near != NULL ? near : "", near != NULL ? "`?)" : "");
    }
    const struct shape *shape = &queries[kind];
    tn_value why = request_read_members(body, shape, &members);
    memset(out, 0, sizeof *out);
    out->kind = (enum tn_store_query_kind)kind;
    if (why == NULL && kind == TN_STORE_QUERY_GET) why = request_read_key(shape, "key", members.at[AT_KEY], &out->key);
    if (why != NULL || kind == TN_STORE_QUERY_COLLECTIONS || kind == TN_STORE_QUERY_FORMAT) return why;
    why = request_read_selection(arena, shape, &members, &out->selection);
    if (why == NULL) why = request_read_bool(shape, "exact", members.at[AT_EXACT], &out->selection.exact);
    if (why != NULL || kind != TN_STORE_QUERY_SEARCH) return why;
    if (member_is_absent(members.at[AT_TEXT]) == member_is_absent(members.at[AT_VECTOR]))
        return tn_store_failure("INVALID", "`search` needs either a `text` or a `vector`");
    if (!member_is_absent(members.at[AT_TEXT]))
        return request_read_search(arena, shape, members.at[AT_TEXT], &out->selection.words);
    return request_read_vector(arena, shape, members.at[AT_VECTOR], &out->selection.vector,
                               &out->selection.vector_count);
}

/* ---- Values ---- */

static uint64_t json_depth(struct tn_store_text json) {
    uint64_t depth = 0, most = 0;
    bool quoted = false;
    for (uint64_t i = 0; i < json.length; i++) {
        char c = json.data[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{') && ++depth > most)
            most = depth;
        else if (!quoted && (c == ']' || c == '}'))
            depth--;
    }
    return most;
}

/* True if arrays and objects are nested more than `most` deep. */
static bool value_is_deeper(tn_value value, uint64_t most) {
    int32_t kind = tn.value->kind(value);
    uint64_t count = kind == TN_ARRAY || kind == TN_OBJECT ? tn.value->count(value) : 0;
    if (kind != TN_ARRAY && kind != TN_OBJECT) return false;
    if (most == 0) return true;
    for (uint64_t i = 0; i < count; i++) {
        tn_value key = NULL, item = NULL;
        if (kind == TN_ARRAY)
            item = tn.value->at(value, i);
        else
            (void)tn.value->entry(value, i, &key, &item);
        if (value_is_deeper(item, most - 1)) return true;
    }
    return false;
}

tn_value tn_store_check_value(tn_value value, tn_value *json, uint64_t *size) {
    *json = NULL;
    if (tn.value->kind(value) == TN_BYTES) {
        (void)tn.value->as_bytes(value, size);
    } else {
        tn_value written = tn_to_json(value);
        struct tn_store_text text = tn_store_text_of(written);
        if (written == NULL) return tn_store_failure_memory();
        if (value_is_deeper(value, TN_STORE_DEPTH_MAX)) {
            uint64_t depth = json_depth(text);
            tn_release(written);
            return tn_store_failure("LIMIT", "the value nests arrays or objects %llu deep; at most %d are allowed",
                                    (unsigned long long)depth, TN_STORE_DEPTH_MAX);
        }
        *size = text.length;
        *json = written;
    }
    if (*size <= TN_STORE_VALUE_MAX) return NULL;
    tn_release(*json);
    *json = NULL;
    return tn_store_failure("LIMIT", "the value has %llu bytes; a record may have at most %d: split it into several",
                            (unsigned long long)*size, TN_STORE_VALUE_MAX);
}
