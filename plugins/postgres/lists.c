/*
 * lists.c - see lists.h.
 *
 * If a list has an order that no columns have, or a text in a column was cut, all records of the range are read and the
 * first ones are kept.
 */
#include "list_read.h"
#include "schema.h"

/* ---- Lists ---- */

/* Reads the record `after`, and sets the cursor behind it. *value is its value. */
static tn_value list_find_after(struct list *list, bool ordered, tn_value *value) {
    struct tn_store_selection only = {.collection = list->selection->collection};
    struct tn_store_selection members = *list->selection;
    struct tn_store_excerpt excerpt;
    struct tn_store_record record = {.key = list->selection->after};
    struct sql sql;
    if (!ordered) members.order_count = 0;
    sql_init(&sql, &list->chunk);
    sql_add(&sql, "SELECT r.key, r.version, NULL::bytea, NULL::bytea");
    narrow_add_members(&sql, list->collection, &members);
    narrow_from(&sql, list->store, list->collection, &only, NULL, list->now);
    sql_add(&sql, " AND r.key = ");
    sql_bind_bytes(&sql, list->selection->after);
    tn_value why = schema_query(list->store, list->collection, &sql);
    if (why != NULL) return why;
    const PGresult *result = connection_result(list->store, 0);
    if (PQntuples(result) == 0)
        return tn_store_failure("NOT_FOUND", "the record `%s`, which `after` names, no longer exists; restart the list",
                                tn_store_text_excerpt(list->selection->after, &excerpt));
    if (ordered) list_look_for_cuts(list, result);
    if (ordered) return list_move_cursor(list, true, result, 0, list->selection->after);
    why = list_read_large(list, &record);
    *value = record.value;
    return why;
}

static uint64_t list_record_size(const struct list *list, const struct tn_store_record *record) {
    uint64_t size = list->selection->keys_only ? 0 : record->size;
    return size + record->words.length + record->vector_count * sizeof(float);
}

/* Reads in the order of columns, until there are `limit` + 1 records or a page is full. */
static tn_value list_read_ordered(struct list *list, struct found *found) {
    uint64_t wanted = (uint64_t)list->selection->limit + 1, size = 0;
    int most = list->selection->attributes ? LIST_ATTRIBUTED : LIST_CHUNK;
    int rows = wanted < (uint64_t)most ? (int)wanted : most;
    bool seeks = list->selection->after.data != NULL && list->selection->order_count > 0;
    tn_value why = NULL, after = NULL;
    if (!seeks) { /* without a transaction: mostly, one chunk is enough */
        list->cursor.key = list->selection->after;
        why = list_read_chunk(list, true, rows, list_collect, found);
        tn_arena_free(&list->chunk);
        if (why != NULL || list->cut) return why;
        if (!list->missed && (list->ended || found->count >= wanted)) return NULL;
        found_free(found);
        list->missed = false;
    }
    why = list_begin(list);
    list->cursor.key = list->selection->after;
    list->ended = false;
    if (why == NULL && seeks) why = list_find_after(list, true, &after);
    for (uint64_t i = 0;
         why == NULL && !list->cut && !list->ended && found->count < wanted && size <= TN_STORE_PAGE_MAX;) {
        why = list_read_chunk(list, true, most, list_collect, found);
        for (; i < found->count; i++) size += list_record_size(list, &found->records[i]);
    }
    list_end(list);
    return why;
}

/* Compares two records in the order of the list, reversed if it is. */
static int list_compare(const struct tn_store_selection *selection, const struct tn_store_record *a,
                        const struct tn_store_record *b) {
    int order = 0;
    for (uint64_t i = 0; order == 0 && i < selection->order_count; i++)
        order = tn_store_order_compare(tn_store_path_get(&selection->order[i], a->value),
                                       tn_store_path_get(&selection->order[i], b->value));
    if (order == 0) order = tn_store_text_compare(a->key, b->key);
    return selection->reverse ? -order : order;
}

struct sorting {
    struct found *found;
    struct tn_store_record after; /* key.data NULL: from the start */
};

/* Keeps the record if it is among the first `limit` + 1. */
static tn_value list_insert(struct list *list, struct tn_store_record *record_take, void *user) {
    struct sorting *sorting = user;
    struct found *found = sorting->found;
    uint64_t low = 0, high = found->count;
    if (sorting->after.key.data != NULL && list_compare(list->selection, record_take, &sorting->after) <= 0) {
        tn_release(record_take->value);
        return NULL;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (list_compare(list->selection, &found->records[middle], record_take) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > (uint64_t)list->selection->limit) {
        tn_release(record_take->value);
        return NULL;
    }
    struct tn_store_record record = *record_take;
    tn_value why = found_add_take(found, list->arena, &record);
    if (why != NULL) return why;
    record = found->records[found->count - 1]; /* its key is a copy */
    memmove(&found->records[low + 1], &found->records[low], (found->count - 1 - low) * sizeof record);
    found->records[low] = record;
    if (found->count > (uint64_t)list->selection->limit + 1) tn_release(found->records[--found->count].value);
    return NULL;
}

/* True if no further row can be among the first `limit` + 1: its start is beyond that of the last record. */
static bool list_has_enough(const struct list *list, const struct found *found, uint64_t column) {
    char encoded[ENCODE_MAX];
    if (found->count <= (uint64_t)list->selection->limit) return false;
    tn_value member = tn_store_path_get(&list->selection->order[0], found->records[found->count - 1].value);
    struct tn_store_text last = {encoded, encode_member_start(member, list->collection->starts[column - 1], encoded)};
    int order = tn_store_text_compare(list->cursor.members[0], last);
    return list->selection->reverse ? order < 0 : order > 0;
}

/* Begins a list whose records are sorted here, behind the record that `after` names. */
static tn_value list_begin_sorting(struct list *list, struct sorting *sorting) {
    list->want_values = true;
    list->ended = false;
    tn_value why = list_begin(list);
    list->cursor = (struct narrow_cursor){.key = {NULL, 0}};
    if (why != NULL || list->selection->after.data == NULL) return why;
    sorting->after.key = list->selection->after;
    return list_find_after(list, false, &sorting->after.value);
}

/*
 * The first member of the order has a column with its start: reads in the order of that column, and sorts the records
 * with equal starts.
 */
static tn_value list_read_by_start(struct list *list, struct found *found) {
    uint64_t column = narrow_start_column(list->collection, &list->selection->order[0]);
    struct sorting sorting = {.found = found};
    char encoded[ENCODE_MAX];
    list->starts = true;
    tn_value why = list_begin_sorting(list, &sorting);
    if (why == NULL && list->selection->after.data != NULL) {
        tn_value member = tn_store_path_get(&list->selection->order[0], sorting.after.value);
        uint64_t length = encode_member_start(member, list->collection->starts[column - 1], encoded);
        list->cursor.members[0] = (struct tn_store_text){encoded, length};
        /* Before or behind all keys, which are UTF-8. */
        list->cursor.key = list->selection->reverse ? (struct tn_store_text){"\xff", 1} : (struct tn_store_text){"", 0};
    }
    while (why == NULL && !list->ended && !list_has_enough(list, found, column))
        why = list_read_chunk(list, true, LIST_CHUNK, list_insert, &sorting);
    tn_release(sorting.after.value);
    list_end(list);
    list->starts = false;
    return why;
}

static tn_value list_read_sorted(struct list *list, struct found *found) {
    struct sorting sorting = {.found = found};
    list->cut = false;
    tn_value why = list_begin_sorting(list, &sorting);
    while (why == NULL && !list->ended) why = list_read_chunk(list, false, LIST_CHUNK, list_insert, &sorting);
    tn_release(sorting.after.value);
    list_end(list);
    return why;
}

tn_value lists_sort(tn_store *store, struct tn_arena *arena, struct collection *collection,
                    const struct tn_store_selection *selection, int64_t now, struct found *out) {
    struct list list = {.store = store,
                        .arena = arena,
                        .chunk = TN_ARENA,
                        .collection = collection,
                        .selection = selection,
                        .now = now};
    return list_read_sorted(&list, out);
}

tn_value lists_list(tn_store *store, const struct tn_store_selection *selection, struct tn_store_page *page) {
    struct tn_arena arena = TN_ARENA;
    struct found found = {.count = 0};
    struct list list = {.store = store,
                        .arena = &arena,
                        .chunk = TN_ARENA,
                        .selection = selection,
                        .now = connection_now(store, tn.core->wall_ms(tn.host)),
                        .want_values = !selection->keys_only || selection->where != NULL};
    struct tn_store_excerpt excerpt;
    tn_value why = lists_collection(store, selection->collection, &list.collection);
    if (why == NULL && list.collection == NULL && selection->after.data != NULL && selection->order_count > 0)
        why = tn_store_failure("NOT_FOUND", "the record `%s`, which `after` names, no longer exists; restart the list",
                               tn_store_text_excerpt(selection->after, &excerpt));
    if (why == NULL && list.collection != NULL) {
        list.cut = !narrow_has_order(list.collection, selection);
        bool starts = list.cut && narrow_start_column(list.collection, &selection->order[0]) > 0;
        if (starts) {
            list.cut = false;
            why = list_read_by_start(&list, &found);
        } else if (!list.cut)
            why = list_read_ordered(&list, &found);
        if (why == NULL && list.cut) {
            found_free(&found);
            why = list_read_sorted(&list, &found);
        }
    }
    for (uint64_t i = 0; why == NULL && i < found.count && tn_store_page_add(page, &found.records[i]);) i++;
    found_free(&found);
    tn_arena_free(&arena);
    return why;
}

/* ---- One record ---- */

tn_value lists_get(tn_store *store, struct tn_store_text name, struct tn_store_text key, bool want_value,
                   struct tn_store_record *out) {
    struct tn_arena arena = TN_ARENA;
    struct tn_store_selection selection = {.collection = name};
    struct list list = {.store = store, .arena = &arena, .chunk = TN_ARENA, .selection = &selection};
    struct sql sql;
    *out = (struct tn_store_record){.version = 0};
    tn_value why = lists_collection(store, name, &list.collection);
    if (why == NULL && list.collection != NULL) {
        sql_init(&sql, &arena);
        sql_add(&sql, want_value ? "SELECT r.key, r.version, r.json, r.bytes"
                                 : "SELECT r.key, r.version, NULL::bytea, NULL::bytea");
        narrow_from(&sql, store, list.collection, &selection, NULL, connection_now(store, tn.core->wall_ms(tn.host)));
        sql_add(&sql, " AND r.key = ");
        sql_bind_bytes(&sql, key);
        why = schema_query(store, list.collection, &sql);
        const PGresult *result = why == NULL ? connection_result(store, 0) : NULL;
        if (why == NULL && PQntuples(result) > 0) why = list_read_row(&list, result, 0, out);
    }
    out->key = key;
    tn_arena_free(&list.chunk);
    tn_arena_free(&arena);
    return why;
}

/* ---- Counts ---- */

static tn_value list_count_one(struct list *list, struct tn_store_record *record_take, void *user) {
    int64_t *count = user;
    (void)list;
    tn_release(record_take->value);
    ++*count;
    return NULL;
}

tn_value lists_count(tn_store *store, const struct tn_store_selection *selection, int64_t *count) {
    struct tn_arena arena = TN_ARENA;
    struct list list = {.store = store,
                        .arena = &arena,
                        .chunk = TN_ARENA,
                        .selection = selection,
                        .now = connection_now(store, tn.core->wall_ms(tn.host)),
                        .want_values = true};
    struct sql sql;
    *count = 0;
    tn_value why = lists_collection(store, selection->collection, &list.collection);
    if (why == NULL && list.collection != NULL && (selection->where == NULL || selection->where->count == 0)) {
        sql_init(&sql, &arena);
        sql_add(&sql, "SELECT count(*)");
        narrow_from(&sql, store, list.collection, selection, NULL, list.now);
        why = schema_query(store, list.collection, &sql);
        if (why == NULL) *count = result_int(connection_result(store, 0), 0, 0);
    } else if (why == NULL && list.collection != NULL) {
        why = list_begin(&list);
        while (why == NULL && !list.ended) why = list_read_chunk(&list, false, LIST_CHUNK, list_count_one, count);
        list_end(&list);
    }
    tn_arena_free(&arena);
    return why;
}

/* ---- Collections ---- */

tn_value lists_collections(tn_store *store, struct tn_store_page *page) {
    const char *schema = store->settings.schema_sql;
    struct tn_arena arena = TN_ARENA;
    struct sql sql;
    sql_init(&sql, &arena);
    sql_add(&sql,
            "SELECT c.name FROM %s.collections c WHERE EXISTS (SELECT 1 FROM %s.records r WHERE r.collection = c.id) OR"
            " EXISTS (SELECT 1 FROM %s.hot r WHERE r.collection = c.id) ORDER BY c.name",
            schema, schema, schema);
    tn_value why = connection_query(store, &sql);
    const PGresult *result = why == NULL ? connection_result(store, 0) : NULL;
    for (int row = 0; why == NULL && row < PQntuples(result); row++)
        if (!tn_store_page_add_name(page, result_bytes(result, row, 0))) break;
    tn_arena_free(&arena);
    return why;
}
