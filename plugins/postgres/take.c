/*
 * take.c - finds the records of `take`: locked ones are skipped, so that takers do not wait for each other.
 *
 * The takes of a batch that have the same condition in SQL share the candidates that round 1 has locked. Each one takes
 * the first that matches. This is right as long as no operation between them writes to the collection, and no record
 * that one of them has changed matches again. Otherwise the changes are written first, and the database is asked again.
 */
#include "batch.h"
#include "lists.h"
#include "narrow.h"
#include "schema.h"

#define TAKE_CANDIDATES 1000 /* at most, of a group */
#define TAKE_ROWS       16   /* of a query for one take */
#define TAKE_SORTED     64   /* candidates with an order that no columns have */

/* The condition of a take, without a limit. */
static void take_build(struct sql *sql, tn_store *store, const struct collection *collection,
                       const struct tn_store_selection *selection, const struct narrow_cursor *cursor) {
    sql_init(sql, &store->batch->arena);
    sql_add(sql, "SELECT r.key, ");
    sql_add_columns(sql, "true");
    narrow_add_members(sql, collection, selection);
    narrow_from(sql, store, collection, selection, NULL, store->batch->now);
    narrow_after(sql, collection, selection, cursor);
    narrow_order(sql, collection, selection);
}

static struct take_group *take_find_group(const struct batch *batch, const struct sql *sql) {
    struct take_group *group = batch->takes;
    while (group != NULL && !sql_same(&group->sql, sql)) group = group->next;
    return group;
}

/* True if no operation before `index` concerns the collection, except takes of the group. */
static bool take_is_independent(const struct batch *batch, uint64_t index, const struct take_group *group) {
    const struct tn_store_operation *take = &batch->operations[index];
    uint64_t takes = 0;
    if (index >= TAKE_CANDIDATES) return false;
    for (uint64_t i = 0; i < index; i++) {
        const struct tn_store_operation *other = &batch->operations[i];
        bool keyed = other->kind != TN_STORE_OP_TAKE && other->kind != TN_STORE_OP_DELETE_RANGE;
        struct tn_store_text collection = keyed ? other->collection : other->selection.collection;
        if (tn_store_text_compare(collection, take->selection.collection) != 0) continue;
        if (other->kind != TN_STORE_OP_TAKE) return false;
        takes++;
    }
    return takes == (group != NULL ? group->operations : 0);
}

tn_value take_plan(tn_store *store, uint64_t index) {
    struct batch *batch = store->batch;
    const struct tn_store_selection *selection = &batch->operations[index].selection;
    struct collection *collection = schema_collection(store, selection->collection);
    const struct narrow_cursor start = {.key = {NULL, 0}};
    struct sql sql;
    if (!narrow_has_order(collection, selection)) return NULL;
    take_build(&sql, store, collection, selection, &start);
    if (sql.failed) return tn_store_failure_memory();
    struct take_group *group = take_find_group(batch, &sql);
    if (!take_is_independent(batch, index, group)) return NULL;
    if (group == NULL) {
        group = tn_arena_alloc(&batch->arena, sizeof *group);
        if (group == NULL) return tn_store_failure_memory();
        *group = (struct take_group){.next = batch->takes, .sql = sql, .collection = collection};
        batch->takes = group;
    }
    group->operations++;
    return NULL;
}

tn_value take_send(tn_store *store, uint64_t *slot) {
    tn_value why = NULL;
    for (struct take_group *group = store->batch->takes; why == NULL && group != NULL; group = group->next) {
        struct sql sql = group->sql;
        char *text = tn_arena_copy(sql.arena, sql.text, sql.length); /* the group keeps its own */
        if (text == NULL) return tn_store_failure_memory();
        sql.text = text;
        sql.capacity = sql.length;
        sql_add(&sql, " LIMIT %llu FOR UPDATE OF r SKIP LOCKED", (unsigned long long)group->operations);
        group->limit = group->operations;
        group->slot = (*slot)++;
        why = connection_send(store, &sql);
    }
    return why;
}

/* Returns the entries of the rows of a result with the columns of take_build. */
static tn_value take_read_rows(tn_store *store, struct collection *collection, const PGresult *result,
                               struct entry ***out, uint64_t *count) {
    uint64_t rows = (uint64_t)PQntuples(result);
    struct entry **entries = tn_arena_alloc(&store->batch->arena, (rows + 1) * sizeof *entries);
    tn_value why = NULL;
    *out = entries;
    *count = 0;
    if (entries == NULL) return tn_store_failure_memory();
    for (uint64_t i = 0; why == NULL && i < rows; i++) {
        entries[i] = batch_entry(store, collection, result_bytes(result, (int)i, 0));
        why = entries[i] == NULL ? tn_store_failure_memory() : entry_read_row(store, entries[i], result, (int)i, 1);
    }
    *count = rows;
    return why;
}

/* True if a text of the order was cut: the rows may be in the wrong order. */
static bool take_is_cut(const struct tn_store_selection *selection, const PGresult *result) {
    for (int row = 0; row < PQntuples(result); row++)
        for (uint64_t i = 0; i < selection->order_count; i++)
            if (encode_is_cut(result_bytes(result, row, 6 + (int)i))) return true;
    return false;
}

tn_value take_read(tn_store *store) {
    struct batch *batch = store->batch;
    tn_value why = NULL;
    for (struct take_group *group = batch->takes; why == NULL && group != NULL; group = group->next) {
        const PGresult *result = connection_result(store, group->slot);
        why = take_read_rows(store, group->collection, result, &group->candidates, &group->count);
        group->taken = tn_arena_alloc(&batch->arena, group->count + 1);
        if (group->taken != NULL)
            memset(group->taken, 0, group->count + 1);
        else if (why == NULL)
            why = tn_store_failure_memory();
        /* Members begin at column 6. */
        for (int row = 0; row < PQntuples(result); row++)
            for (int column = 6; column < PQnfields(result); column++)
                if (encode_is_cut(result_bytes(result, row, column))) group->operations = 0;
    }
    return why;
}

static tn_value take_matches(tn_store *store, const struct tn_store_selection *selection, struct entry *entry,
                             bool *matches) {
    tn_value why = entry_need_value(store, entry);
    *matches = why == NULL && entry->version > 0 &&
               (selection->where == NULL || tn_store_filter_matches(selection->where, entry->value));
    return why;
}

static void take_add(struct tn_store_page *page, const struct entry *entry) {
    const struct tn_store_record record = {
        .key = entry->key, .version = entry->version, .value = entry->value, .size = entry->size};
    (void)tn_store_page_add(page, &record);
}

/* Takes a candidate of round 1. *done is false if that cannot decide. */
static tn_value take_from_group(tn_store *store, struct take_group *group, const struct tn_store_selection *selection,
                                struct tn_store_page *page, bool *done) {
    tn_value why = NULL;
    bool matches = false;
    *done = false;
    if (group->operations == 0) return NULL;
    group->operations--;
    for (uint64_t i = 0; why == NULL && i < group->count && !matches; i++) {
        if (group->taken[i] != TAKE_TAKEN) continue;
        why = take_matches(store, selection, group->candidates[i], &matches);
        group->taken[i] = TAKE_PASSED;
    }
    if (why != NULL || matches) {
        group->operations = 0; /* a changed record may be first: ask the database from now on */
        return why;
    }
    for (uint64_t i = 0; why == NULL && i < group->count; i++) {
        if (group->taken[i] != TAKE_FREE) continue;
        why = take_matches(store, selection, group->candidates[i], &matches);
        if (why != NULL || !matches) continue;
        group->taken[i] = TAKE_TAKEN;
        take_add(page, group->candidates[i]);
        *done = true;
        return NULL;
    }
    *done = group->count < group->limit; /* then there are no others */
    return why;
}

/* Asks the database, in the order of columns. */
static tn_value take_search(tn_store *store, struct collection *collection, const struct tn_store_selection *selection,
                            struct tn_store_page *page, bool *cut) {
    struct narrow_cursor cursor = {.key = {NULL, 0}};
    uint64_t count = TAKE_ROWS;
    tn_value why = NULL;
    while (why == NULL && count == TAKE_ROWS) {
        struct entry **entries = NULL;
        struct sql sql;
        take_build(&sql, store, collection, selection, &cursor);
        sql_add(&sql, " LIMIT %d FOR UPDATE OF r SKIP LOCKED", TAKE_ROWS);
        why = connection_query(store, &sql);
        if (why != NULL) return why;
        const PGresult *result = connection_result(store, 0);
        *cut = take_is_cut(selection, result);
        if (*cut) return NULL;
        why = take_read_rows(store, collection, result, &entries, &count);
        for (uint64_t i = 0; why == NULL && count > 0 && i < selection->order_count; i++) {
            struct tn_store_text member = result_bytes(result, (int)count - 1, 6 + (int)i);
            const char *bytes = member.data != NULL ? member.data : "";
            char *copy = tn_arena_copy(&store->batch->arena, bytes, member.length);
            if (copy == NULL) why = tn_store_failure_memory();
            cursor.members[i] = (struct tn_store_text){copy, member.length};
        }
        if (why == NULL && count > 0) cursor.key = entries[count - 1]->key;
        for (uint64_t i = 0; why == NULL && i < count; i++) {
            bool matches = false;
            why = take_matches(store, selection, entries[i], &matches);
            if (!matches) continue;
            take_add(page, entries[i]);
            return NULL;
        }
    }
    return why;
}

/* Locks the record, unless another transaction has locked it. */
static tn_value take_lock(tn_store *store, struct collection *collection, struct tn_store_text key,
                          struct entry **out) {
    struct sql sql;
    sql_init(&sql, &store->batch->arena);
    sql_add(&sql, "SELECT r.key, ");
    sql_add_columns(&sql, "true");
    sql_add(&sql, " FROM %s.%s r WHERE r.collection = %d AND r.key = ", store->settings.schema_sql,
            collection->hot ? "hot" : "records", collection->id);
    sql_bind_bytes(&sql, key);
    sql_add(&sql, " FOR UPDATE SKIP LOCKED");
    tn_value why = connection_query(store, &sql);
    struct entry **entries = NULL;
    uint64_t count = 0;
    if (why == NULL) why = take_read_rows(store, collection, connection_result(store, 0), &entries, &count);
    *out = why == NULL && count > 0 ? entries[0] : NULL;
    return why;
}

/* For an order that no columns have: sorts the records, and locks the first that is free. */
static tn_value take_sorted(tn_store *store, struct collection *collection, const struct tn_store_selection *selection,
                            struct tn_store_page *page) {
    struct tn_store_selection several = *selection;
    struct found found = {.count = 0};
    bool matches = false;
    several.limit = TAKE_SORTED;
    tn_value why = lists_sort(store, &store->batch->arena, collection, &several, store->batch->now, &found);
    for (uint64_t i = 0; why == NULL && !matches && i < found.count; i++) {
        struct entry *entry = NULL;
        why = take_lock(store, collection, found.records[i].key, &entry);
        if (why == NULL && entry != NULL) why = take_matches(store, selection, entry, &matches);
        if (matches) take_add(page, entry);
    }
    found_free(&found);
    return why;
}

tn_value take_list(tn_store *store, const struct tn_store_selection *selection, struct tn_store_page *page) {
    struct collection *collection = schema_collection(store, selection->collection);
    const struct narrow_cursor start = {.key = {NULL, 0}};
    struct take_group *group = NULL;
    struct sql sql;
    bool done = false, sorted = !narrow_has_order(collection, selection);
    tn_value why = NULL;
    if (!sorted) {
        take_build(&sql, store, collection, selection, &start);
        group = take_find_group(store->batch, &sql);
    }
    if (group != NULL) why = take_from_group(store, group, selection, page, &done);
    if (why != NULL || done) return why;
    why = batch_flush(store);
    if (why == NULL && !sorted) why = take_search(store, collection, selection, page, &sorted);
    return why == NULL && sorted ? take_sorted(store, collection, selection, page) : why;
}
