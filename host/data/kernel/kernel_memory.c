/*
 * kernel_memory.c - puts, gets, deletes and searches memories, and lists namespaces.
 *
 * An operation reads its arguments, validates them, and makes one query or commit of the store. Only a put can conflict
 * with another writer: it keeps `created_at` of the existing record, so it reads that record, commits on the condition
 * that it has not changed, and tries again if it has. kernel_memory.h describes the keys, which make a namespace one
 * range. All functions run on the store's thread.
 */
#include "host/data/kernel/kernel_memory.h"
#include "adl/value/buffer.h"
#include "host/data/kernel/kernel_filter.h"
#include "host/data/kernel/kernel_words.h"
#include <string.h>
#include <tenon/store.h>

/* ---- Keys ---- */

/* Appends a name with `%` and `/` written as %25 and %2F. */
static void append_escaped(struct buffer *out, tn_value name) {
    size_t length;
    const char *text = value_chars(name, &length);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '%' || text[i] == '/')
            buffer_text(out, text[i] == '/' ? "%2F" : "%25");
        else
            buffer_char(out, text[i]);
    }
}

/* Describes what is wrong with a name or a key. NULL if it is valid. */
static const char *name_fault(tn_value name) {
    size_t length = 0;
    const char *text = value_is(name, TN_STRING) ? value_chars(name, &length) : NULL;
    if (!text) return value_kind_name(value_kind(name));
    if (length == 0) return "an empty string";
    if (length > MEMORY_NAME_MAX) return "a longer string";
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20) return "a control character in it";
    return NULL;
}

/* Appends the prefix of all keys in the namespace: each name, followed by `/`. Nothing for the empty namespace. */
static int32_t read_namespace(const struct request *request, struct buffer *out, struct error *error) {
    tn_value names = request_get(request, "namespace");
    size_t own = request->owner ? 1 : 0; /* the owner's name, which the caller has not given */
    if (value_count(names) < own)        /* not completed: never read the memories of others */
        return request_invalid(request, error, "namespace", "it is missing");
    if (value_count(names) > MEMORY_DEPTH_MAX + own)
        return request_invalid(request, error, "namespace", "found %zu names, expected %d at most",
                               value_count(names) - own, MEMORY_DEPTH_MAX);
    for (size_t i = 0; i < value_count(names); i++) {
        const char *fault = name_fault(value_at(names, i));
        if (fault)
            return request_invalid(request, error, "namespace", "item %zu: found %s, expected a name of 1 to %d bytes",
                                   i - own, fault, MEMORY_NAME_MAX);
        append_escaped(out, value_at(names, i));
        buffer_char(out, '/');
    }
    if (out->overflow || out->length > TN_STORE_KEY_MAX)
        return error_set(error, TN_LIMIT, "LIMIT",
                         "%s: `namespace`: it has more than %d bytes after `/` and `%%` are escaped",
                         request->operation, TN_STORE_KEY_MAX);
    return TN_OK;
}

/* Initialises `out` and sets it to the key in the store. The caller finishes `out`, also after a failure. */
static int32_t read_memory_key(const struct request *request, struct buffer *out, struct error *error) {
    tn_value key = request_get(request, "key");
    buffer_init(out, (size_t)4 * TN_STORE_KEY_MAX);
    if (value_count(request_get(request, "namespace")) == 0)
        return request_invalid(request, error, "namespace",
                               "it is empty; expected at least one name, for example [\"users\"]");
    const char *fault = name_fault(key);
    if (fault)
        return request_invalid(request, error, "key", "found %s, expected a key of 1 to %d bytes", fault,
                               MEMORY_NAME_MAX);
    int32_t status = read_namespace(request, out, error);
    if (status != TN_OK) return status;
    append_escaped(out, key);
    if (out->overflow || out->length > TN_STORE_KEY_MAX)
        return error_set(error, TN_LIMIT, "LIMIT",
                         "%s: namespace and key together have more than %d bytes after `/` and `%%` are escaped",
                         request->operation, TN_STORE_KEY_MAX);
    return TN_OK;
}

/* The part of a record that the caller sees; a new reference. */
static tn_value memory_public(tn_value record) {
    static const char *const members[] = {"namespace", "key", "value", "created_at", "updated_at", "expires_at", NULL};
    tn_value shown = value_object_reserve(7);
    for (size_t i = 0; members[i]; i++) {
        tn_value value = value_get(record, members[i]);
        shown = value_set_take(shown, members[i], value ? value_ref(value) : value_null());
    }
    return shown;
}

/* ---- Put ---- */

/* The record to store; a new reference. `before` is the existing record with its version, or NULL. */
static tn_value memory_record(const struct request *request, tn_value before, int64_t ttl_ms) {
    tn_value created = value_get(value_get(before, "value"), "created_at");
    tn_value record =
        value_set_take(value_object_reserve(6), "namespace", value_ref(request_get(request, "namespace")));
    record = value_set_take(record, "key", value_ref(request_get(request, "key")));
    record = value_set_take(record, "value", value_ref(value_get(request->arguments, "value")));
    record = value_set_take(record, "created_at", created ? value_ref(created) : time_value(request->now_ms));
    record = value_set_take(record, "updated_at", time_value(request->now_ms));
    return value_set_take(record, "expires_at", ttl_ms ? time_value(request->now_ms + ttl_ms) : value_null());
}

/* The text that search covers: a new reference, or NULL. */
static tn_value search_text_of(const struct request *request) {
    tn_value text = request_get(request, "text");
    if (!text || text == value_bool(true))
        return kernel_words_of(value_get(request->arguments, "value"), MEMORY_TEXT_MAX);
    return value_is(text, TN_STRING) ? value_ref(text) : NULL;
}

/* `text` must not be longer than what a search covers. */
static int32_t check_search_text(const struct request *request, struct error *error) {
    tn_value text = request_get(request, "text");
    size_t length = 0;
    if (value_is(text, TN_STRING)) (void)value_chars(text, &length);
    if (length <= MEMORY_TEXT_MAX) return TN_OK;
    return error_set(error, TN_LIMIT, "LIMIT", "%s: `text`: found %zu bytes, expected at most %d KiB",
                     request->operation, length, MEMORY_TEXT_MAX >> 10);
}

static int32_t check_vector(const struct request *request, struct error *error) {
    tn_value vector = request_get(request, "vector");
    if (!vector) return TN_OK;
    if (value_is(vector, TN_BOOL)) {
        if (!value_to_bool(vector)) return TN_OK;
        return request_invalid(request, error, "vector", "found true, expected an array of numbers, or false for none");
    }
    if (value_count(vector) == 0 || value_count(vector) > TN_STORE_VECTOR_MAX)
        return request_invalid(request, error, "vector", "found %zu numbers, expected 1 to %d", value_count(vector),
                               TN_STORE_VECTOR_MAX);
    for (size_t i = 0; i < value_count(vector); i++)
        if (!value_is_number(value_at(vector, i)))
            return request_invalid(request, error, "vector", "item %zu: found %s, expected a number", i,
                                   value_kind_name(value_kind(value_at(vector, i))));
    return TN_OK;
}

/* One attempt: fails with a conflict if another writer has changed the record in between. */
static int32_t try_memory_put(struct request *request, const char *key, int64_t ttl_ms, tn_value *result,
                              struct error *error) {
    tn_value before = NULL, vector = request_get(request, "vector");
    int32_t status = request_find(request, STORE_MEMORIES, key, &before, error);
    if (status != TN_OK) return status;
    tn_value record = memory_record(request, before, ttl_ms), text = search_text_of(request);
    tn_value put = store_put(STORE_MEMORIES, key, value_ref(record));
    put = store_if_version(put, before ? value_to_int(value_get(before, "version")) : 0);
    if (text) put = value_set_take(put, "text", text);
    if (value_is(vector, TN_ARRAY)) put = value_set_take(put, "vector", value_ref(vector));
    if (ttl_ms) put = store_expires_at(put, request->now_ms + ttl_ms);
    status = request_commit_take(request, put, NULL, error);
    if (status == TN_OK)
        *result = record;
    else
        value_unref(record);
    value_unref(before);
    return status;
}

/* Repeats try_memory_put after a conflict, KERNEL_TRIES_MAX times in all. */
static int32_t commit_memory_put(struct request *request, const char *key, int64_t ttl_ms, tn_value *result,
                                 struct error *error) {
    for (int tries = 1;; tries++) {
        struct error why = ERROR_INIT;
        int32_t status = try_memory_put(request, key, ttl_ms, result, &why);
        bool again = request_conflict(status, &why) && tries < KERNEL_TRIES_MAX;
        if (!again) error_move(error, &why);
        error_finish(&why);
        if (!again) return status;
    }
}

int32_t memory_put(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"namespace", FIELD_ARRAY, true},
                                          {"key", FIELD_TEXT, true},
                                          {"value", FIELD_ANY, true},
                                          {"ttl_seconds", FIELD_NUMBER, false},
                                          {"text", FIELD_TEXT | FIELD_BOOL, false},
                                          {"vector", FIELD_ARRAY | FIELD_BOOL, false},
                                          {NULL, 0, false}};
    struct buffer key = {0};
    int64_t ttl_ms = 0;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = read_memory_key(request, &key, error);
    if (status == TN_OK) status = request_ttl(request, KERNEL_TTL_MAX_SECONDS, &ttl_ms, error);
    if (status == TN_OK) status = check_vector(request, error);
    if (status == TN_OK)
        status = request_size(request, "value", value_get(request->arguments, "value"), MEMORY_VALUE_MAX,
                              "write an Artifact, and store its id", error);
    if (status == TN_OK) status = check_search_text(request, error);
    if (status == TN_OK) status = commit_memory_put(request, buffer_cstr(&key), ttl_ms, result, error);
    buffer_finish(&key);
    return status;
}

/* ---- Get, delete ---- */

static const struct field one_fields[] = {
    {"namespace", FIELD_ARRAY, true}, {"key", FIELD_TEXT, true}, {NULL, 0, false}};

int32_t memory_get(struct request *request, tn_value *result, struct error *error) {
    struct buffer key = {0};
    tn_value found = NULL;
    int32_t status = request_check(request, one_fields, error);
    if (status == TN_OK) status = read_memory_key(request, &key, error);
    if (status == TN_OK) status = request_find(request, STORE_MEMORIES, buffer_cstr(&key), &found, error);
    if (status == TN_OK) *result = found ? memory_public(value_get(found, "value")) : value_null();
    value_unref(found);
    buffer_finish(&key);
    return status;
}

int32_t memory_delete(struct request *request, tn_value *result, struct error *error) {
    struct buffer key = {0};
    int32_t status = request_check(request, one_fields, error);
    if (status == TN_OK) status = read_memory_key(request, &key, error);
    if (status == TN_OK)
        status = request_commit_take(request, store_delete(STORE_MEMORIES, buffer_cstr(&key)), NULL, error);
    if (status == TN_OK) *result = value_object();
    buffer_finish(&key);
    return status;
}

/* ---- Search ---- */

/* Limits a query to a namespace and all namespaces below it: [NAME/, NAME0), because `0` follows `/` in ASCII. */
static tn_value set_namespace_range_take(tn_value query_take, struct buffer *from) {
    if (!from->length) return query_take;
    query_take = value_set_take(query_take, "from", value_text_n(from->data, from->length));
    from->data[from->length - 1] = '0';
    query_take = value_set_take(query_take, "to", value_text_n(from->data, from->length));
    from->data[from->length - 1] = '/';
    return query_take;
}

/* `after` is the {namespace, key} of the last memory of the previous page. */
static int32_t read_memory_after(const struct request *request, tn_value *out, struct error *error) {
    tn_value after = request_get(request, "after");
    struct buffer key;
    if (!after) return TN_OK;
    if (request_get(request, "query") || request_get(request, "similar") || request_get(request, "vector"))
        return request_invalid(request, error, "after", "it continues a list; a search has no further pages");
    tn_value argument = value_set_take(
        value_object(), "namespace",
        value_is(value_get(after, "namespace"), TN_ARRAY) ? value_ref(value_get(after, "namespace")) : value_array());
    if (value_get(after, "key")) argument = value_set_take(argument, "key", value_ref(value_get(after, "key")));
    struct request other = *request;
    other.arguments = argument;
    int32_t status = read_memory_key(&other, &key, error);
    if (status == TN_OK) *out = value_text_n(key.data, key.length);
    buffer_finish(&key);
    value_unref(argument);
    return status;
}

/* kernel_embed.c has replaced `similar` by a vector if it can. */
static int32_t refuse_similar(const struct request *request, struct error *error) {
    tn_value similar = request_get(request, "similar");
    if (!similar) return TN_OK;
    if (request_get(request, "query") || request_get(request, "vector"))
        return request_invalid(request, error, "similar",
                               "found also `query` or `vector`, expected only one of the three");
    if (!*value_chars(similar, NULL)) return request_invalid(request, error, "similar", "found an empty text");
    return request_invalid(request, error, "similar",
                           "no model makes vectors of texts; set `memory: {embed: ROLE}` in tenon.yaml, or search by "
                           "words with `query`");
}

/* The query of the store for the arguments of memory_search: {list: …}, or {search: …} by words or by a vector. */
static int32_t memory_query(struct request *request, tn_value *out, struct error *error) {
    tn_value where = NULL, after = NULL, words = request_get(request, "query"), vector = request_get(request, "vector");
    int64_t limit = 0;
    struct buffer from;
    buffer_init(&from, (size_t)4 * TN_STORE_KEY_MAX);
    int32_t status = request_int(request, "limit", 1, MEMORY_LIST_MAX, MEMORY_LIST, &limit, error);
    if (status == TN_OK && words && vector)
        status = request_invalid(request, error, "vector", "found `query` and `vector`, expected only one of them");
    if (status == TN_OK) status = refuse_similar(request, error);
    if (status == TN_OK) status = check_vector(request, error);
    if (status == TN_OK) status = read_namespace(request, &from, error);
    if (status == TN_OK) status = read_memory_after(request, &after, error);
    if (status == TN_OK) status = kernel_filter_read(request, NULL, "value.", &where, error);
    if (status == TN_OK) {
        tn_value query = value_set_take(value_object_reserve(6), "collection", value_text(STORE_MEMORIES));
        query = set_namespace_range_take(value_set_take(query, "limit", value_int(limit)), &from);
        if (where) query = value_set_take(query, "where", value_ref(where));
        if (after) query = value_set_take(query, "after", value_ref(after));
        if (words) query = value_set_take(query, "text", value_ref(words));
        if (vector) query = value_set_take(query, "vector", value_ref(vector));
        if (vector && request_get(request, "exact") == value_bool(true))
            query = value_set_take(query, "exact", value_bool(true));
        *out = value_set_take(value_object_reserve(1), words || vector ? "search" : "list", query);
    }
    value_unref(where);
    value_unref(after);
    buffer_finish(&from);
    return status;
}

/* A store that does not know `exact` refuses it; its searches are exact. */
static int32_t memory_ask_take(struct request *request, tn_value query, tn_value *found, struct error *error) {
    tn_value search = value_get(query, "search");
    if (!value_get(search, "exact")) return session_query_take(request->session, query, found, error);
    tn_value plain = value_remove_take(value_ref(search), value_text("exact"));
    plain = value_set_take(value_object_reserve(1), "search", plain);
    struct error why = ERROR_INIT;
    int32_t status = session_query_take(request->session, query, found, &why);
    bool refused = status != TN_OK && strcmp(why.code, "INVALID") == 0;
    if (status != TN_OK && !refused) error_move(error, &why);
    error_finish(&why);
    if (refused) return session_query_take(request->session, plain, found, error);
    value_unref(plain);
    return status;
}

int32_t memory_search(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {
        {"namespace", FIELD_ARRAY, false}, {"filter", FIELD_OBJECT, false}, {"query", FIELD_TEXT, false},
        {"similar", FIELD_TEXT, false},    {"exact", FIELD_BOOL, false},    {"vector", FIELD_ARRAY, false},
        {"limit", FIELD_INT, false},       {"after", FIELD_OBJECT, false},  {NULL, 0, false}};
    tn_value query = NULL, found = NULL;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = memory_query(request, &query, error);
    if (status == TN_OK) status = memory_ask_take(request, query, &found, error);
    if (status != TN_OK) return status;
    *result = request_found_take(found, "memories", memory_public);
    return TN_OK;
}

/* ---- Namespaces ---- */

/* The first `depth` names of a record's key, as a namespace. *end is the offset after them. */
static tn_value namespace_of_key(const char *key, int64_t depth, size_t *end) {
    tn_value names = value_array();
    struct buffer name;
    buffer_init(&name, TN_STORE_KEY_MAX + 1);
    *end = 0;
    for (const char *slash; (int64_t)value_count(names) < depth && (slash = strchr(key + *end, '/'));) {
        buffer_clear(&name);
        for (const char *at = key + *end; at < slash; at++) {
            bool escaped = *at == '%' && slash - at > 2;
            buffer_char(&name, !escaped ? *at : at[1] == '2' && at[2] == 'F' ? '/' : '%');
            if (escaped) at += 2;
        }
        names = value_push_take(names, value_text_n(name.data ? name.data : "", name.length));
        *end = (size_t)(slash - key) + 1;
    }
    buffer_finish(&name);
    return names;
}

#define NAMESPACES_PAGE 500 /* keys per query */

/* Reads a page of keys that begins at `from`, or after it, and ends before `to` (NULL: no end). *out is owned. */
static int32_t list_keys(struct request *request, const struct buffer *from, tn_value to, bool after, tn_value *out,
                         struct error *error) {
    tn_value query = value_set_take(value_object_reserve(6), "collection", value_text(STORE_MEMORIES));
    query = value_set_take(query, "limit", value_int(NAMESPACES_PAGE));
    query = value_set_take(query, "keys_only", value_bool(true));
    if (from->length) query = value_set_take(query, after ? "after" : "from", value_text_n(from->data, from->length));
    if (to) query = value_set_take(query, "to", value_ref(to));
    return session_query_take(request->session, value_set_take(value_object_reserve(1), "list", query), out, error);
}

/* The namespaces found so far, and where the next page of keys begins. */
struct namespace_list {
    tn_value list;      /* owned; array of namespaces, each an array of names */
    tn_value seen;      /* owned; the encoded namespaces in `list`, as the keys of an object */
    int64_t depth;      /* names after this number are cut off */
    int64_t limit;      /* of `list` */
    bool more;          /* `list` is full, and there is another namespace */
    struct buffer from; /* the next page begins here, or after this key */
    bool after;
};

/*
 * Adds the namespace of the next key. Keys of a namespace and keys of namespaces below it are mixed, so each key must
 * be read. But if the namespace has `depth` names, all further keys with this prefix are skipped.
 */
static void add_namespace_of(struct namespace_list *it, const char *key, size_t length) {
    size_t end;
    tn_value names = namespace_of_key(key, it->depth, &end), text = value_text_n(key, end);
    bool known = value_get_key(it->seen, text) != NULL;
    bool whole = (int64_t)value_count(names) == it->depth;
    it->more = !known && (int64_t)value_count(it->list) == it->limit;
    if (!known && !it->more) {
        it->list = value_push_take(it->list, value_ref(names));
        it->seen = value_set_key_take(it->seen, value_ref(text), value_bool(true));
    }
    buffer_clear(&it->from);
    buffer_append(&it->from, key, whole ? end : length);
    if (whole) it->from.data[end - 1] = '0'; /* `0` follows `/`: continue after the namespace */
    it->after = !whole;
    value_unref(names);
    value_unref(text);
}

/* Reads pages of keys until there are no more, or the list is full. */
static int32_t collect_namespaces(struct request *request, struct namespace_list *it, struct error *error) {
    tn_value range = set_namespace_range_take(value_object(), &it->from), found = NULL;
    tn_value to = range && value_get(range, "to") ? value_ref(value_get(range, "to")) : NULL;
    int32_t status = TN_OK;
    bool some = true;
    value_unref(range);
    while (some && !it->more && (status = list_keys(request, &it->from, to, it->after, &found, error)) == TN_OK) {
        tn_value records = value_get(found, "records");
        for (size_t i = 0; i < value_count(records) && !it->more; i++) {
            size_t length;
            const char *key = value_chars(value_get(value_at(records, i), "key"), &length);
            if (!it->after && it->from.length && strcmp(key, it->from.data) < 0) continue; /* in a skipped namespace */
            add_namespace_of(it, key, length);
        }
        some = value_to_bool(value_get(found, "more"));
        value_unref(found);
    }
    value_unref(to);
    return status;
}

int32_t memory_namespaces(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {
        {"namespace", FIELD_ARRAY, false}, {"depth", FIELD_INT, false}, {"limit", FIELD_INT, false}, {NULL, 0, false}};
    struct namespace_list it = {.list = value_array(), .seen = value_object()};
    buffer_init(&it.from, (size_t)4 * TN_STORE_KEY_MAX);
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK)
        status = request_int(request, "depth", 1, MEMORY_DEPTH_MAX, MEMORY_DEPTH_MAX, &it.depth, error);
    if (status == TN_OK)
        status = request_int(request, "limit", 1, MEMORY_NAMESPACES_MAX, MEMORY_LIST, &it.limit, error);
    if (request->owner) it.depth++;
    if (status == TN_OK) status = read_namespace(request, &it.from, error);
    if (status == TN_OK) status = collect_namespaces(request, &it, error);
    buffer_finish(&it.from);
    value_unref(it.seen);
    if (status != TN_OK) {
        value_unref(it.list);
        return status;
    }
    *result = value_set_take(value_object_reserve(2), "namespaces", it.list);
    *result = value_set_take(*result, "more", value_bool(it.more));
    return TN_OK;
}
