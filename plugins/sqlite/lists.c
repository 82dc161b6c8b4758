/*
 * lists.c - lists, counts and searches. Each is one statement, so it reads one consistent state.
 *
 * There are two exceptions. A list with `order` and `after` reads the record `after` first; a search by vector may look
 * for candidates first (vector_codes.h). The reads of each are in one transaction.
 */
#include "narrow.h"
#include "records.h"
#include "sql.h"
#include "vector_codes.h"
#include <endian.h>
#include <math.h>
#include <tenon/store/words.h>

/* The columns of row_read_attributes. */
#define ATTRIBUTES                                                                                                     \
    ", expires_at, CASE WHEN found_by & 1 THEN (SELECT words FROM texts WHERE texts.rowid = entries.id) END,"          \
    " CASE WHEN found_by & 2 THEN (SELECT vector FROM vectors WHERE vectors.id = entries.id) END"

/* Reads the columns of ATTRIBUTES, from `at` on. The words and the vector are valid until the next step. */
static tn_value row_read_attributes(tn_store *store, sqlite3_stmt *statement, int at, struct tn_arena *arena,
                                    struct tn_store_record *record) {
    record->expires = sqlite3_column_type(statement, at) != SQLITE_NULL;
    record->expires_at = sqlite3_column_int64(statement, at);
    if (sqlite3_column_type(statement, at + 1) != SQLITE_NULL) record->words = database_column_text(statement, at + 1);
    if (sqlite3_column_type(statement, at + 2) == SQLITE_NULL) return NULL;
    const unsigned char *packed = sqlite3_column_blob(statement, at + 2);
    uint64_t size = (uint64_t)sqlite3_column_bytes(statement, at + 2), count = size / sizeof(float);
    if (count == 0 || size % sizeof(float) != 0 || count > TN_STORE_VECTOR_MAX)
        return database_damaged(store, "the length of a record's vector is not valid");
    float *vector = tn_arena_alloc(arena, size);
    if (vector == NULL) return tn_store_failure_memory();
    for (uint64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, packed + i * sizeof bits, sizeof bits);
        bits = le32toh(bits);
        memcpy(&vector[i], &bits, sizeof bits);
        if (!isfinite(vector[i])) return database_damaged(store, "a record's vector has a number that is not finite");
    }
    record->vector = vector;
    record->vector_count = count;
    return NULL;
}

/*
 * Adds rows to the page until it is full, and resets the statement. Columns: key, version; json and bytes, unless
 * keys_only; score, if scored; ATTRIBUTES, if attributes.
 */
static tn_value page_add_rows(tn_store *store, sqlite3_stmt *statement, bool keys_only, bool scored, bool attributes,
                              struct tn_store_page *page) {
    tn_value why = NULL;
    bool more = true;
    while (more && why == NULL && database_step(store, statement, &why)) {
        struct tn_store_record record = {.key = database_column_text(statement, 0),
                                         .version = sqlite3_column_int64(statement, 1)};
        if (scored) record.score = sqlite3_column_double(statement, 4);
        why = database_check_row(store, record.key, record.version);
        if (why == NULL && !isfinite(record.score))
            why = database_damaged(store, "the score of a record is not a number");
        if (why == NULL && !keys_only) why = database_read_value(store, statement, 2, 3, &record.value, &record.size);
        struct tn_arena arena = TN_ARENA; /* for one row: vectors of a whole page can be large */
        if (why == NULL && attributes) why = row_read_attributes(store, statement, keys_only ? 2 : 4, &arena, &record);
        if (why == NULL) more = tn_store_page_add(page, &record);
        tn_arena_free(&arena);
        tn_release(record.value);
    }
    (void)sqlite3_reset(statement);
    return why;
}

/* ---- Lists ---- */

/* Reads the record `after`. The columns of the current row of *out are the order's members; the caller resets *out. */
static tn_value lists_find_after(tn_store *store, struct tn_arena *arena, const struct collection *collection,
                                 const struct tn_store_selection *selection, int64_t now, sqlite3_stmt **out) {
    struct tn_store_selection collection_only = {.collection = selection->collection};
    struct tn_store_excerpt excerpt;
    struct sql sql;
    tn_value why = NULL;
    sql_init(&sql, arena, collection);
    sql_add(&sql, "SELECT ");
    sql_add_members(&sql, selection);
    sql_add(&sql, " FROM entries");
    sql_add_where(&sql, &collection_only, now);
    sql_add(&sql, " AND key = ");
    sql_bind_text(&sql, selection->after);
    why = sql_prepare(&sql, store, out);
    if (why != NULL || database_step(store, *out, &why)) return why;
    if (why == NULL)
        why = tn_store_failure("NOT_FOUND", "the record `%s`, which `after` names, no longer exists; restart the list",
                               tn_store_text_excerpt(selection->after, &excerpt));
    (void)sqlite3_reset(*out);
    return why;
}

#define FEW 1000 /* keys of a range; sorting more records takes longer than reading those of others by an index */

/* Decides whether a list of a range of keys uses the index of keys, or that of its order or filter. */
static tn_value lists_measure_range(tn_store *store, struct sql *sql, const struct tn_store_selection *selection) {
    const struct tn_store_range *range = &selection->range;
    if (range->from.data == NULL || range->to.data == NULL || !narrow_has_index(sql->collection, selection))
        return NULL;
    tn_value why = sql_range_is_small(store, sql->arena, sql->collection, range, FEW, &sql->few);
    sql->many = !sql->few;
    return why;
}

static tn_value lists_read(tn_store *store, struct tn_arena *arena, const struct tn_store_selection *selection,
                           int64_t now, struct tn_store_page *page) {
    sqlite3_stmt *after = NULL, *statement = NULL;
    const struct collection *collection = NULL;
    struct sql sql;
    tn_value why = catalog_find(store, selection->collection, &collection);
    bool has_after = selection->after.data != NULL;
    if (why == NULL && has_after && selection->order_count > 0)
        why = lists_find_after(store, arena, collection, selection, now, &after);
    if (why != NULL) return why;
    sql_init(&sql, arena, collection);
    why = lists_measure_range(store, &sql, selection);
    if (why != NULL) {
        (void)sqlite3_reset(after);
        return why;
    }
    sql_add(&sql, selection->keys_only ? "SELECT key, version" : "SELECT key, version, json, bytes");
    sql_add(&sql, selection->attributes ? ATTRIBUTES " FROM entries" : " FROM entries");
    sql_add_where(&sql, selection, now);
    if (after != NULL) {
        sql_add_after(&sql, selection, after);
        (void)sqlite3_reset(after);
    } else if (has_after) {
        sql_add(&sql, selection->reverse ? " AND key < " : " AND key > ");
        sql_bind_text(&sql, selection->after);
    }
    sql_add_order(&sql, selection);
    sql_add(&sql, " LIMIT ");
    sql_bind_int(&sql, selection->limit + 1); /* one more, to know whether there are more */
    why = sql_prepare(&sql, store, &statement);
    return why != NULL ? why
                       : page_add_rows(store, statement, selection->keys_only, false, selection->attributes, page);
}

tn_value lists_list(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                    struct tn_store_page *page) {
    struct tn_arena arena = TN_ARENA;
    bool needs_transaction =
        selection->after.data != NULL && selection->order_count > 0 && sqlite3_get_autocommit(store->database) != 0;
    store->row.known = false;
    tn_value why = needs_transaction ? database_execute(store, "BEGIN") : NULL;
    if (why == NULL) why = lists_read(store, &arena, selection, now, page);
    if (needs_transaction && !sqlite3_get_autocommit(store->database))
        (void)sqlite3_exec(store->database, "COMMIT", NULL, NULL, NULL);
    tn_arena_free(&arena);
    return why;
}

tn_value lists_count(tn_store *store, const struct tn_store_selection *selection, int64_t now, int64_t *count) {
    struct tn_arena arena = TN_ARENA;
    const struct collection *collection = NULL;
    sqlite3_stmt *statement = NULL;
    struct sql sql;
    tn_value why = catalog_find(store, selection->collection, &collection);
    if (why != NULL) return why;
    sql_init(&sql, &arena, collection);
    sql_add(&sql, "SELECT count(*) FROM entries");
    sql_add_where(&sql, selection, now);
    why = sql_prepare(&sql, store, &statement);
    if (why == NULL && database_step(store, statement, &why)) *count = sqlite3_column_int64(statement, 0);
    (void)sqlite3_reset(statement);
    tn_arena_free(&arena);
    return why;
}

tn_value lists_collections(tn_store *store, int64_t now, struct tn_store_page *page) {
    static const char sql[] = "SELECT name FROM collections WHERE EXISTS"
                              " (SELECT 1 FROM entries WHERE collection = collections.id) ORDER BY name";
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(store, sql, &statement);
    (void)now;
    if (why != NULL) return why;
    while (database_step(store, statement, &why) && tn_store_page_add_name(page, database_column_text(statement, 0)))
        continue;
    (void)sqlite3_reset(statement);
    return why;
}

/* ---- Searches ---- */

/* Returns the FTS5 query: "one" AND "two". Words never contain quotes. data is NULL if allocation fails. */
static struct tn_store_text words_to_fts_query(struct tn_arena *arena, struct tn_store_text words) {
    struct sql match;
    sql_init(&match, arena, NULL);
    for (struct tn_store_text word; tn_store_words_next(&words, &word);) {
        char *copy = tn_arena_alloc(arena, word.length + 1);
        if (copy == NULL) return (struct tn_store_text){NULL, 0};
        memcpy(copy, word.data, word.length);
        sql_add(&match, match.length > 0 ? " AND \"" : "\"");
        sql_add(&match, copy);
        sql_add(&match, "\"");
    }
    return match.failed ? (struct tn_store_text){NULL, 0} : (struct tn_store_text){match.text, match.length};
}

/* bm25 is smaller for a better match. CROSS JOIN makes SQLite run the text search before it reads records. */
static tn_value search_by_words(struct sql *sql, const struct tn_store_selection *selection, int64_t now) {
    struct tn_store_text match = words_to_fts_query(sql->arena, selection->words);
    if (match.data == NULL) return tn_store_failure_memory();
    sql_add(sql, "SELECT key, version, json, bytes, -bm25(texts) AS score"
                 " FROM texts CROSS JOIN entries ON entries.id = texts.rowid");
    sql_add_where(sql, selection, now);
    sql_add(sql, " AND texts MATCH ");
    sql_bind_text(sql, match);
    return NULL;
}

/* `ids` is a JSON array of the records to rank; if its data is NULL, all are compared. */
static void search_by_vector(struct sql *sql, const struct tn_store_selection *selection, struct tn_store_text ids,
                             int64_t now) {
    uint64_t size = selection->vector_count * sizeof(float);
    sql_add(sql, "SELECT key, version, json, bytes, tn_similarity(vector, ");
    sql_bind_blob(sql, selection->vector, size);
    if (ids.data != NULL) {
        sql_add(sql, ") AS score FROM (SELECT value AS item FROM json_each(");
        sql_bind_text(sql, ids);
        sql_add(sql, ")) AS ids CROSS JOIN entries ON entries.id = item CROSS JOIN vectors ON vectors.id = item");
        return;
    }
    sql_add(sql, ") AS score FROM entries CROSS JOIN vectors ON vectors.id = entries.id");
    sql_add_where(sql, selection, now);
    sql_add(sql, " AND found_by & 2 AND length(vector) = ");
    sql_bind_int(sql, (int64_t)size);
}

/* In a transaction, if there is a vector. */
static tn_value search_read(tn_store *store, struct tn_arena *arena, const struct collection *collection,
                            const struct tn_store_selection *selection, int64_t now, struct tn_store_page *page) {
    sqlite3_stmt *statement = NULL;
    struct tn_store_text ids = {NULL, 0};
    struct sql sql;
    tn_value why = NULL;
    sql_init(&sql, arena, collection);
    if (selection->vector == NULL)
        why = search_by_words(&sql, selection, now);
    else if (!selection->exact)
        why = codes_search(store, arena, collection, selection, now, &ids);
    if (why != NULL) return why;
    if (selection->vector != NULL) search_by_vector(&sql, selection, ids, now);
    sql_add(&sql, " ORDER BY score DESC, key LIMIT ");
    sql_bind_int(&sql, selection->limit);
    why = sql_prepare(&sql, store, &statement);
    return why != NULL ? why : page_add_rows(store, statement, false, true, false, page);
}

tn_value lists_search(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                      struct tn_store_page *page) {
    struct tn_arena arena = TN_ARENA;
    const struct collection *collection = NULL;
    bool transaction = selection->vector != NULL && sqlite3_get_autocommit(store->database) != 0;
    store->row.known = false;
    if (selection->vector == NULL && selection->words.length == 0) return NULL; /* without words, no record matches */
    tn_value why = catalog_find(store, selection->collection, &collection);
    if (why == NULL && transaction) why = database_execute(store, "BEGIN");
    if (why != NULL) return why;
    why = search_read(store, &arena, collection, selection, now, page);
    if (transaction && !sqlite3_get_autocommit(store->database))
        (void)sqlite3_exec(store->database, "COMMIT", NULL, NULL, NULL);
    tn_arena_free(&arena);
    return why;
}
