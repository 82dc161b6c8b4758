/*
 * backend.c - `commit` and `query` of tenon/store.h, on top of a backend.
 *
 * A batch is read completely before the backend is called, so that a malformed batch takes no lock. The result is built
 * while the operations are applied. If one fails, both the writes and the result are discarded.
 */
#include "patch.h"
#include <math.h>
#include <stdlib.h>
#include <tenon/store/backend.h>
#include <tenon/store/words.h>

#define VECTOR_ITEM_SIZE 32 /* bytes that a number of a vector takes as a value */

/* ---- Pages ---- */

struct tn_store_page {
    tn_builder *builder; /* NULL: copy only the first record, to *first */
    struct tn_arena *arena;
    struct tn_store_record *first;
    bool keys_only, scored, attributes, more, failed;
    int64_t remaining; /* records until the limit */
    uint64_t size;     /* bytes of the values so far */
};

static int compare_words(const void *a, const void *b) {
    return tn_store_text_compare(*(const struct tn_store_text *)a, *(const struct tn_store_text *)b);
}

/* Stores differ in the order in which they keep words. Returns NULL if allocation fails. */
static tn_value words_in_order(struct tn_store_text words) {
    struct tn_store_text rest = words, word;
    uint64_t count = 0, length = 0;
    while (tn_store_words_next(&rest, &word)) count++;
    struct tn_store_text *list = tn_store_alloc((count + 1) * sizeof *list);
    char *text = tn_store_alloc(words.length + count + 1);
    if (list != NULL && text != NULL) {
        rest = words;
        for (uint64_t i = 0; tn_store_words_next(&rest, &word); i++) list[i] = word;
        qsort(list, count, sizeof *list, compare_words);
        for (uint64_t i = 0; i < count; i++) {
            if (i > 0) text[length++] = ' ';
            memcpy(text + length, list[i].data, list[i].length);
            length += list[i].length;
        }
    }
    tn_value result = list != NULL && text != NULL ? tn_text_n(text, length) : NULL;
    tn_store_free(list);
    tn_store_free(text);
    return result;
}

static void page_put_attributes(tn_builder *builder, const struct tn_store_record *record) {
    if (record->words.data != NULL) tn_put_take(builder, "text", words_in_order(record->words));
    if (record->vector != NULL) {
        tn_put_begin(builder, "vector", TN_ARRAY);
        for (uint64_t i = 0; i < record->vector_count; i++) tn_put_num(builder, NULL, (double)record->vector[i]);
        tn.value->end(builder);
    }
    if (record->expires) tn_put_int(builder, "expires_at", record->expires_at);
}

static void page_put_record(tn_builder *builder, const struct tn_store_page *page,
                            const struct tn_store_record *record) {
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, "key", tn_text_n(record->key.data, record->key.length));
    tn_put_int(builder, "version", record->version);
    if (!page->keys_only) tn_put(builder, "value", record->value);
    if (page->scored) tn_put_num(builder, "score", record->score);
    if (page->attributes) page_put_attributes(builder, record);
    tn.value->end(builder);
}

bool tn_store_page_add(struct tn_store_page *page, const struct tn_store_record *record) {
    if (page->builder == NULL) {
        char *copy = tn_arena_alloc(page->arena, record->key.length + 1);
        page->failed = copy == NULL;
        if (copy == NULL) return false;
        memcpy(copy, record->key.data, record->key.length);
        *page->first = *record;
        page->first->key.data = copy;
        tn_retain(record->value);
        return false;
    }
    uint64_t size = page->keys_only ? 0 : record->size;
    if (page->attributes) size += record->words.length + record->vector_count * VECTOR_ITEM_SIZE;
    if (page->remaining == 0 || (page->size > 0 && page->size + size > TN_STORE_PAGE_MAX)) {
        page->more = true;
        return false;
    }
    page->remaining--;
    page->size += size;
    page_put_record(page->builder, page, record);
    return true;
}

bool tn_store_page_add_name(struct tn_store_page *page, struct tn_store_text name) {
    if (page->remaining == 0) {
        page->more = true;
        return false;
    }
    page->remaining--;
    tn_put_take(page->builder, NULL, tn_text_n(name.data, name.length));
    return true;
}

/* ---- Operations ---- */

struct commit {
    const struct tn_store_backend *backend;
    tn_store *store;
    struct tn_arena *arena;
    tn_builder *results;
    int64_t now;
};

static tn_value commit_conflict(const struct tn_store_operation *operation, int64_t version, const char *expected) {
    struct tn_store_excerpt key, collection;
    char found[64] = "no version";
    if (version > 0) (void)snprintf(found, sizeof found, "version %lld", (long long)version);
    tn_value why =
        tn_store_failure("CONFLICT", "the record `%s` of `%s`: found %s, expected %s; read it again and retry",
                         tn_store_text_excerpt(operation->key, &key),
                         tn_store_text_excerpt(operation->collection, &collection), found, expected);
    why = tn_store_failure_detail_take(why, "key", tn_text_n(operation->key.data, operation->key.length));
    return tn_store_failure_detail_take(why, "version", tn_int(version));
}

static tn_value commit_check_condition(const struct tn_store_operation *operation,
                                       const struct tn_store_record *found) {
    const struct tn_store_precondition *condition = &operation->condition;
    char expected[64] = "no record";
    if (condition->has_version && condition->version != found->version) {
        if (condition->version > 0)
            (void)snprintf(expected, sizeof expected, "version %lld", (long long)condition->version);
        return commit_conflict(operation, found->version, expected);
    }
    if (condition->where == NULL || (found->version > 0 && tn_store_filter_matches(condition->where, found->value)))
        return NULL;
    return commit_conflict(operation, found->version, "one that matches `if`");
}

/* Finds the operation's record and checks the operation's `if`. */
static tn_value commit_find(const struct commit *commit, const struct tn_store_operation *operation, bool want_value,
                            struct tn_store_record *out) {
    bool want = want_value || operation->condition.where != NULL;
    tn_value why = commit->backend->find(commit->store, operation->collection, operation->key, commit->now, want, out);
    return why != NULL ? why : commit_check_condition(operation, out);
}

/* `value` is operation->value or made of it; only then the operation's JSON is not its JSON. */
static tn_value commit_make_change(const struct tn_store_operation *operation, const struct tn_store_record *found,
                                   struct tn_store_text key, tn_value value, tn_value *json,
                                   struct tn_store_change *out) {
    *out = (struct tn_store_change){.collection = operation->collection,
                                    .key = key,
                                    .version = operation->version > 0 ? operation->version : found->version + 1,
                                    .value = value,
                                    .size = operation->size,
                                    .attributes = &operation->attributes};
    *json = value == operation->value ? tn_retain(operation->json) : NULL;
    tn_value why = *json == NULL ? tn_store_check_value(value, json, &out->size) : NULL;
    out->json = tn_store_text_of(*json);
    return why;
}

static tn_value commit_write(const struct commit *commit, const struct tn_store_operation *operation,
                             const struct tn_store_record *found, struct tn_store_text key, tn_value value) {
    struct tn_store_change change;
    tn_value json = NULL, why = commit_make_change(operation, found, key, value, &json, &change);
    if (why == NULL) why = commit->backend->write(commit->store, &change, commit->now);
    tn_release(json);
    return why;
}

static void commit_put_version(const struct commit *commit, int64_t version) {
    tn_builder *results = commit->results;
    tn.value->begin(results, TN_OBJECT);
    tn_put_int(results, "version", version);
    tn.value->end(results);
}

/* Most records are new, and need not be looked up. */
static tn_value commit_add(const struct commit *commit, const struct tn_store_operation *operation, bool *added) {
    struct tn_store_record none = {.version = 0};
    struct tn_store_change change;
    tn_value json = NULL;
    if (commit->backend->add == NULL || operation->condition.has_version || operation->condition.where != NULL)
        return NULL;
    tn_value why = commit_make_change(operation, &none, operation->key, operation->value, &json, &change);
    if (why == NULL) why = commit->backend->add(commit->store, &change, commit->now, added);
    if (why == NULL && *added) commit_put_version(commit, change.version);
    tn_release(json);
    return why;
}

static tn_value apply_put(const struct commit *commit, const struct tn_store_operation *operation,
                          struct tn_store_record *found) {
    bool added = false;
    tn_value why = commit_add(commit, operation, &added);
    if (why != NULL || added) return why;
    why = commit_find(commit, operation, false, found);
    if (why == NULL && operation->version > 0 && operation->version <= found->version) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "one before version %lld", (long long)operation->version);
        why = commit_conflict(operation, found->version, expected);
    }
    if (why == NULL) why = commit_write(commit, operation, found, operation->key, operation->value);
    if (why == NULL) commit_put_version(commit, operation->version > 0 ? operation->version : found->version + 1);
    return why;
}

static tn_value apply_merge(const struct commit *commit, const struct tn_store_operation *operation,
                            struct tn_store_record *found) {
    tn_value merged = NULL, why = commit_find(commit, operation, true, found);
    if (why == NULL) why = tn_store_patch_merge(found->value, operation->value, &merged);
    if (why == NULL) why = commit_write(commit, operation, found, operation->key, merged);
    if (why == NULL) {
        tn.value->begin(commit->results, TN_OBJECT);
        tn_put_int(commit->results, "version", found->version + 1);
        tn_put(commit->results, "value", merged);
        tn.value->end(commit->results);
    }
    tn_release(merged);
    return why;
}

static tn_value apply_delete(const struct commit *commit, const struct tn_store_operation *operation,
                             struct tn_store_record *found) {
    tn_value why = commit_find(commit, operation, false, found);
    if (why == NULL && found->version > 0)
        why = commit->backend->remove(commit->store, operation->collection, operation->key);
    tn.value->begin(commit->results, TN_OBJECT);
    tn.value->end(commit->results);
    return why;
}

static tn_value apply_delete_range(const struct commit *commit, const struct tn_store_operation *operation,
                                   struct tn_store_record *found) {
    int64_t count = 0;
    (void)found;
    tn_value why = commit->backend->remove_range(commit->store, &operation->selection, commit->now, &count);
    tn.value->begin(commit->results, TN_OBJECT);
    tn_put_int(commit->results, "count", count);
    tn.value->end(commit->results);
    return why;
}

static tn_value apply_expect(const struct commit *commit, const struct tn_store_operation *operation,
                             struct tn_store_record *found) {
    tn_value why = commit_find(commit, operation, false, found);
    if (why == NULL) commit_put_version(commit, found->version);
    return why;
}

static tn_value apply_take(const struct commit *commit, const struct tn_store_operation *operation,
                           struct tn_store_record *found) {
    struct tn_store_page page = {.arena = commit->arena, .first = found};
    struct tn_store_selection first = operation->selection;
    tn_builder *results = commit->results;
    tn_value merged = NULL;
    first.limit = 1;
    tn_value why = commit->backend->list(commit->store, &first, commit->now, &page);
    if (why == NULL && page.failed) why = tn_store_failure_memory();
    if (why == NULL && found->version > 0) {
        why = tn_store_patch_merge(found->value, operation->value, &merged);
        if (why == NULL) why = commit_write(commit, operation, found, found->key, merged);
    }
    tn.value->begin(results, TN_OBJECT);
    if (merged != NULL) {
        tn_put_take(results, "key", tn_text_n(found->key.data, found->key.length));
        tn_put_int(results, "version", found->version + 1);
        tn_put(results, "value", merged);
    } else {
        tn.value->key(results, "key", TN_Z);
        tn.value->add(results, tn_null());
    }
    tn.value->end(results);
    tn_release(merged);
    return why;
}

static tn_value (*const apply[])(const struct commit *, const struct tn_store_operation *, struct tn_store_record *) = {
    [TN_STORE_OP_PUT] = apply_put,       [TN_STORE_OP_MERGE] = apply_merge,
    [TN_STORE_OP_DELETE] = apply_delete, [TN_STORE_OP_DELETE_RANGE] = apply_delete_range,
    [TN_STORE_OP_EXPECT] = apply_expect, [TN_STORE_OP_TAKE] = apply_take,
};

static tn_value commit_apply_all(const struct commit *commit, const struct tn_store_operation *operations,
                                 uint64_t count) {
    tn_value why = NULL;
    if (commit->backend->prepare != NULL) why = commit->backend->prepare(commit->store, operations, count, commit->now);
    if (why == NULL) why = commit->backend->begin(commit->store);
    if (why != NULL) return why;
    for (uint64_t i = 0; why == NULL && i < count; i++) {
        struct tn_store_record found = {.version = 0};
        why = apply[operations[i].kind](commit, &operations[i], &found);
        tn_release(found.value);
        if (why != NULL) why = tn_store_failure_detail_take(why, "index", tn_int((int64_t)i));
    }
    if (why == NULL) why = commit->backend->commit(commit->store);
    if (why != NULL) commit->backend->rollback(commit->store);
    return why;
}

int32_t tn_store_backend_commit(const struct tn_store_backend *backend, tn_store *store, tn_value batch,
                                tn_value *result, tn_value *error) {
    struct tn_arena arena = TN_ARENA;
    struct tn_store_operation *operations = NULL;
    uint64_t count = 0;
    struct commit commit = {backend, store, &arena, tn_builder_new(), tn.core->wall_ms(tn.host)};
    tn.value->begin(commit.results, TN_ARRAY);
    tn_value why = tn_store_read_batch(&arena, batch, &operations, &count);
    if (why == NULL && count > 0) why = commit_apply_all(&commit, operations, count);
    tn.value->end(commit.results);
    tn_value results = tn_finish(commit.results);
    tn_store_release_batch(operations, count);
    tn_arena_free(&arena);
    if (why == NULL && results == NULL) why = tn_store_failure_memory();
    if (why == NULL)
        *result = results;
    else
        tn_release(results);
    return tn_store_fail_take(why, error);
}

/* ---- Queries ---- */

static tn_value query_get(const struct tn_store_backend *backend, tn_store *store, const struct tn_store_query *query,
                          int64_t now, tn_builder *out) {
    struct tn_store_record found = {.version = 0};
    tn_value why = backend->find(store, query->selection.collection, query->key, now, true, &found);
    if (why == NULL && found.version > 0) {
        tn.value->begin(out, TN_OBJECT);
        tn_put_int(out, "version", found.version);
        tn_put(out, "value", found.value);
        tn.value->end(out);
    } else if (why == NULL) {
        tn.value->add(out, tn_null());
    }
    tn_release(found.value);
    return why;
}

static tn_value query_many(const struct tn_store_backend *backend, tn_store *store, const struct tn_store_query *query,
                           int64_t now, tn_builder *out) {
    bool list = query->kind == TN_STORE_QUERY_LIST;
    struct tn_store_page page = {.builder = out,
                                 .keys_only = query->selection.keys_only,
                                 .scored = !list,
                                 .attributes = query->selection.attributes,
                                 .remaining = query->selection.limit};
    tn.value->begin(out, TN_OBJECT);
    tn_put_begin(out, "records", TN_ARRAY);
    tn_value why = (list ? backend->list : backend->search)(store, &query->selection, now, &page);
    tn.value->end(out);
    if (list) tn_put_bool(out, "more", page.more);
    tn.value->end(out);
    return why;
}

static tn_value query_count(const struct tn_store_backend *backend, tn_store *store, const struct tn_store_query *query,
                            int64_t now, tn_builder *out) {
    int64_t number = 0;
    tn_value why = backend->count(store, &query->selection, now, &number);
    tn_put_int(out, NULL, number);
    return why;
}

static tn_value query_collections(const struct tn_store_backend *backend, tn_store *store,
                                  const struct tn_store_query *query, int64_t now, tn_builder *out) {
    struct tn_store_page page = {.builder = out, .remaining = TN_STORE_COLLECTIONS_MAX};
    (void)query;
    if (backend->collections == NULL)
        return tn_store_failure("UNSUPPORTED", "this store does not list its collections");
    tn.value->begin(out, TN_OBJECT);
    tn_put_begin(out, "collections", TN_ARRAY);
    tn_value why = backend->collections(store, now, &page);
    tn.value->end(out);
    tn.value->end(out);
    if (why == NULL && page.more)
        why = tn_store_failure("LIMIT", "the store has more than %d collections", TN_STORE_COLLECTIONS_MAX);
    return why;
}

static tn_value query_format(const struct tn_store_backend *backend, tn_store *store,
                             const struct tn_store_query *query, int64_t now, tn_builder *out) {
    int64_t version = 1, before = 1;
    (void)query, (void)now;
    tn_value why = backend->format != NULL ? backend->format(store, &version, &before) : NULL;
    tn.value->begin(out, TN_OBJECT);
    tn_put_int(out, "version", version);
    tn_put_int(out, "before", before);
    tn.value->end(out);
    return why;
}

int32_t tn_store_backend_query(const struct tn_store_backend *backend, tn_store *store, tn_value source,
                               tn_value *result, tn_value *error) {
    static tn_value (*const handlers[])(const struct tn_store_backend *, tn_store *, const struct tn_store_query *,
                                        int64_t, tn_builder *) = {[TN_STORE_QUERY_GET] = query_get,
                                                                  [TN_STORE_QUERY_LIST] = query_many,
                                                                  [TN_STORE_QUERY_COUNT] = query_count,
                                                                  [TN_STORE_QUERY_SEARCH] = query_many,
                                                                  [TN_STORE_QUERY_COLLECTIONS] = query_collections,
                                                                  [TN_STORE_QUERY_FORMAT] = query_format};
    struct tn_arena arena = TN_ARENA;
    struct tn_store_query query;
    tn_builder *builder = tn_builder_new();
    tn_value why = tn_store_read_query(&arena, source, &query);
    if (why == NULL) why = handlers[query.kind](backend, store, &query, tn.core->wall_ms(tn.host), builder);
    tn_value result_value = tn_finish(builder);
    if (why == NULL && result_value == NULL) why = tn_store_failure_memory();
    if (why == NULL)
        *result = result_value;
    else
        tn_release(result_value);
    tn_arena_free(&arena);
    return tn_store_fail_take(why, error);
}

/* ---- Results ---- */

int32_t tn_store_fail_take(tn_value why, tn_value *error) {
    if (why == NULL) return TN_OK;
    if (error != NULL)
        *error = why;
    else
        tn_release(why);
    return TN_FAILED;
}

int32_t tn_store_make_maintained(int64_t removed, int64_t bytes, tn_value *result) {
    tn_value result_value = tn_build("{s:I,s:I}", "removed", (int64_t)removed, "bytes", (int64_t)bytes);
    if (result_value == NULL) return TN_NO_MEMORY;
    *result = result_value;
    return TN_OK;
}

/* Four sums of products, so that an addition does not wait for the one before it. */
static double vector_product(const float *a, const float *b, uint64_t count) {
    double first = 0, second = 0, third = 0, fourth = 0;
    uint64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        first += (double)a[i] * (double)b[i];
        second += (double)a[i + 1] * (double)b[i + 1];
        third += (double)a[i + 2] * (double)b[i + 2];
        fourth += (double)a[i + 3] * (double)b[i + 3];
    }
    for (; i < count; i++) first += (double)a[i] * (double)b[i];
    return (first + second) + (third + fourth);
}

double tn_store_vector_similarity(const float *a, const float *b, uint64_t count) {
    double left = vector_product(a, a, count), right = vector_product(b, b, count);
    return left > 0 && right > 0 ? vector_product(a, b, count) / (sqrt(left) * sqrt(right)) : 0;
}
