/*
 * backend.c - `commit` and `query` of tenon/store.h, on top of a backend.
 *
 * A batch is read completely before the backend is called, so that a malformed batch takes no lock. The result is built
 * while the operations are applied. If one fails, both the writes and the result are discarded.
 */
#include "backend.h"
#include "patch.h"
#include <math.h>

/* ---- Pages ---- */

struct page {
    tn_builder *builder; /* NULL: copy only the first record, to *first */
    struct tn_arena *arena;
    struct record *first;
    bool keys_only, scored, more, failed;
    int64_t remaining; /* records until the limit */
    uint64_t size;     /* bytes of the values so far */
};

static void page_put_record(tn_builder *builder, const struct page *page, const struct record *record) {
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, "key", tn_text_n(record->key.data, record->key.length));
    tn_put_int(builder, "version", record->version);
    if (!page->keys_only) tn_put(builder, "value", record->value);
    if (page->scored) tn_put_num(builder, "score", record->score);
    tn.value->end(builder);
}

bool page_add(struct page *page, const struct record *record) {
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
    if (page->remaining == 0 || (page->size > 0 && page->size + record->size > TN_STORE_PAGE_MAX)) {
        page->more = true;
        return false;
    }
    page->remaining--;
    if (!page->keys_only) page->size += record->size;
    page_put_record(page->builder, page, record);
    return true;
}

/* ---- Operations ---- */

struct commit {
    const struct backend *backend;
    tn_store *store;
    struct tn_arena *arena;
    tn_builder *results;
    int64_t now;
};

static tn_value commit_conflict(const struct operation *operation, int64_t version, const char *expected) {
    struct excerpt key, collection;
    char found[64] = "no version";
    if (version > 0) (void)snprintf(found, sizeof found, "version %lld", (long long)version);
    tn_value why =
        failure("CONFLICT", "the record `%s` of `%s`: found %s, expected %s; read it again and retry",
                text_excerpt(operation->key, &key), text_excerpt(operation->collection, &collection), found, expected);
    why = failure_detail_take(why, "key", tn_text_n(operation->key.data, operation->key.length));
    return failure_detail_take(why, "version", tn_int(version));
}

static tn_value commit_check_condition(const struct operation *operation, const struct record *found) {
    const struct precondition *condition = &operation->condition;
    char expected[64] = "no record";
    if (condition->has_version && condition->version != found->version) {
        if (condition->version > 0)
            (void)snprintf(expected, sizeof expected, "version %lld", (long long)condition->version);
        return commit_conflict(operation, found->version, expected);
    }
    if (condition->where == NULL || (found->version > 0 && filter_matches(condition->where, found->value))) return NULL;
    return commit_conflict(operation, found->version, "one that matches `if`");
}

/* Finds the operation's record and checks the operation's `if`. */
static tn_value commit_find(const struct commit *commit, const struct operation *operation, bool want_value,
                            struct record *out) {
    bool want = want_value || operation->condition.where != NULL;
    tn_value why = commit->backend->find(commit->store, operation->collection, operation->key, commit->now, want, out);
    return why != NULL ? why : commit_check_condition(operation, out);
}

static tn_value commit_write(const struct commit *commit, const struct operation *operation, const struct record *found,
                             struct text key, tn_value value) {
    struct change change = {.collection = operation->collection,
                            .key = key,
                            .version = found->version + 1,
                            .value = value,
                            .attributes = &operation->attributes};
    tn_value json = NULL, why = request_check_value(value, &json, &change.size);
    change.json = text_from_value(json);
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

static tn_value apply_put(const struct commit *commit, const struct operation *operation, struct record *found) {
    tn_value why = commit_find(commit, operation, false, found);
    if (why == NULL) why = commit_write(commit, operation, found, operation->key, operation->value);
    if (why == NULL) commit_put_version(commit, found->version + 1);
    return why;
}

static tn_value apply_merge(const struct commit *commit, const struct operation *operation, struct record *found) {
    tn_value merged = NULL, why = commit_find(commit, operation, true, found);
    if (why == NULL) why = patch_merge(found->value, operation->value, &merged);
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

static tn_value apply_delete(const struct commit *commit, const struct operation *operation, struct record *found) {
    tn_value why = commit_find(commit, operation, false, found);
    if (why == NULL && found->version > 0)
        why = commit->backend->remove(commit->store, operation->collection, operation->key);
    tn.value->begin(commit->results, TN_OBJECT);
    tn.value->end(commit->results);
    return why;
}

static tn_value apply_delete_range(const struct commit *commit, const struct operation *operation,
                                   struct record *found) {
    int64_t count = 0;
    (void)found;
    tn_value why = commit->backend->remove_range(commit->store, &operation->selection, commit->now, &count);
    tn.value->begin(commit->results, TN_OBJECT);
    tn_put_int(commit->results, "count", count);
    tn.value->end(commit->results);
    return why;
}

static tn_value apply_expect(const struct commit *commit, const struct operation *operation, struct record *found) {
    tn_value why = commit_find(commit, operation, false, found);
    if (why == NULL) commit_put_version(commit, found->version);
    return why;
}

static tn_value apply_take(const struct commit *commit, const struct operation *operation, struct record *found) {
    struct page page = {.arena = commit->arena, .first = found};
    struct selection first = operation->selection;
    tn_builder *results = commit->results;
    tn_value merged = NULL;
    first.limit = 1;
    tn_value why = commit->backend->list(commit->store, &first, commit->now, &page);
    if (why == NULL && page.failed) why = failure_memory();
    if (why == NULL && found->version > 0) {
        why = patch_merge(found->value, operation->value, &merged);
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

static tn_value (*const apply[])(const struct commit *, const struct operation *, struct record *) = {
    [OP_PUT] = apply_put,       [OP_MERGE] = apply_merge,
    [OP_DELETE] = apply_delete, [OP_DELETE_RANGE] = apply_delete_range,
    [OP_EXPECT] = apply_expect, [OP_TAKE] = apply_take,
};

static tn_value commit_apply_all(const struct commit *commit, const struct operation *operations, uint64_t count) {
    tn_value why = commit->backend->begin(commit->store);
    if (why != NULL) return why;
    for (uint64_t i = 0; why == NULL && i < count; i++) {
        struct record found = {.version = 0};
        why = apply[operations[i].kind](commit, &operations[i], &found);
        tn_release(found.value);
        if (why != NULL) why = failure_detail_take(why, "index", tn_int((int64_t)i));
    }
    if (why == NULL) why = commit->backend->commit(commit->store);
    if (why != NULL) commit->backend->rollback(commit->store);
    return why;
}

int32_t backend_commit(const struct backend *backend, tn_store *store, tn_value batch, tn_value *result,
                       tn_value *error) {
    struct tn_arena arena = TN_ARENA;
    struct operation *operations = NULL;
    uint64_t count = 0;
    struct commit commit = {backend, store, &arena, tn_builder_new(), tn.core->wall_ms(tn.host)};
    tn.value->begin(commit.results, TN_ARRAY);
    tn_value why = request_read_batch(&arena, batch, &operations, &count);
    if (why == NULL && count > 0) why = commit_apply_all(&commit, operations, count);
    tn.value->end(commit.results);
    tn_value results = tn_finish(commit.results);
    tn_arena_free(&arena);
    if (why == NULL && results == NULL) why = failure_memory();
    if (why == NULL)
        *result = results;
    else
        tn_release(results);
    return backend_fail_take(why, error);
}

/* ---- Queries ---- */

static tn_value query_get(const struct backend *backend, tn_store *store, const struct query *query, int64_t now,
                          tn_builder *out) {
    struct record found = {.version = 0};
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

static tn_value query_many(const struct backend *backend, tn_store *store, const struct query *query, int64_t now,
                           tn_builder *out) {
    bool list = query->kind == QUERY_LIST;
    struct page page = {
        .builder = out, .keys_only = query->selection.keys_only, .scored = !list, .remaining = query->selection.limit};
    tn.value->begin(out, TN_OBJECT);
    tn_put_begin(out, "records", TN_ARRAY);
    tn_value why = (list ? backend->list : backend->search)(store, &query->selection, now, &page);
    tn.value->end(out);
    if (list) tn_put_bool(out, "more", page.more);
    tn.value->end(out);
    return why;
}

static tn_value query_count(const struct backend *backend, tn_store *store, const struct query *query, int64_t now,
                            tn_builder *out) {
    int64_t number = 0;
    tn_value why = backend->count(store, &query->selection, now, &number);
    tn_put_int(out, NULL, number);
    return why;
}

int32_t backend_query(const struct backend *backend, tn_store *store, tn_value source, tn_value *result,
                      tn_value *error) {
    static tn_value (*const handlers[])(const struct backend *, tn_store *, const struct query *, int64_t,
                                        tn_builder *) = {
        [QUERY_GET] = query_get, [QUERY_LIST] = query_many, [QUERY_COUNT] = query_count, [QUERY_SEARCH] = query_many};
    struct tn_arena arena = TN_ARENA;
    struct query query;
    tn_builder *builder = tn_builder_new();
    tn_value why = request_read_query(&arena, source, &query);
    if (why == NULL) why = handlers[query.kind](backend, store, &query, tn.core->wall_ms(tn.host), builder);
    tn_value result_value = tn_finish(builder);
    if (why == NULL && result_value == NULL) why = failure_memory();
    if (why == NULL)
        *result = result_value;
    else
        tn_release(result_value);
    tn_arena_free(&arena);
    return backend_fail_take(why, error);
}

/* ---- Opening ---- */

tn_value backend_read_options(tn_value options, const char *store, const char *const *own, struct text *path) {
    const char *known[24] = {"path", "indexes", "use"};
    tn_value key = NULL;
    unsigned count = 3;
    struct excerpt excerpt;
    for (; *own != NULL && count < 23; own++) known[count++] = *own;
    for (uint64_t i = 0; tn.value->entry(options, i, &key, NULL) == TN_OK; i++) {
        unsigned at = 0;
        while (at < count && !text_is(text_from_value(key), known[at])) at++;
        if (at < count) continue;
        const char *near = nearest_word(text_from_value(key), known);
        return failure("INVALID", "the store `%s` has no option `%s`%s%s%s", store,
                       text_excerpt(text_from_value(key), &excerpt), near != NULL ? "; did you mean `" : "",
                       near != NULL ? near : "", near != NULL ? "`?" : "");
    }
    *path = text_from_value(tn_get(options, "path"));
    if (path->data == NULL || path->length == 0 || memchr(path->data, '\0', path->length) != NULL)
        return failure("INVALID", "the store `%s` needs a `path`, a string; found %s", store,
                       path->data != NULL ? "an unusable string" : tn_kind_name(tn_get(options, "path")));
    return NULL;
}

/* ---- Results ---- */

int32_t backend_fail_take(tn_value why, tn_value *error) {
    if (why == NULL) return TN_OK;
    if (error != NULL)
        *error = why;
    else
        tn_release(why);
    return TN_FAILED;
}

int32_t backend_make_maintain_result(int64_t removed, int64_t bytes, tn_value *result) {
    tn_value result_value = tn_build("{s:I,s:I}", "removed", (int64_t)removed, "bytes", (int64_t)bytes);
    if (result_value == NULL) return TN_NO_MEMORY;
    *result = result_value;
    return TN_OK;
}

double vector_similarity(const float *a, const float *b, uint64_t count) {
    double product = 0, left = 0, right = 0;
    for (uint64_t i = 0; i < count; i++) {
        double x = (double)a[i], y = (double)b[i];
        product += x * y;
        left += x * x;
        right += y * y;
    }
    return left > 0 && right > 0 ? product / (sqrt(left) * sqrt(right)) : 0;
}

const tn_plugin *backend_plugin_entry(const tn_host *host, const tn_plugin *plugin) {
    if (host == NULL || host->size != sizeof(tn_host)) return NULL;
    tn.host = host;
    tn.core = tn_easy_interface(host, TN_CORE_1, sizeof *tn.core);
    tn.value = tn_easy_interface(host, TN_VALUE_1, sizeof *tn.value);
    if (tn.core == NULL) return NULL;
    if (tn.value != NULL) return plugin;
    tn_log(TN_LOG_ERROR, "declined: the host does not provide " TN_VALUE_1);
    return NULL;
}
