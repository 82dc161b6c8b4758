/*
 * lists.c - reading: lists, counts and searches, each one statement, and so of one moment.
 *
 * A list that goes on behind a record, in an order, asks for that record first; both are one transaction.
 */
#include "records.h"
#include "sql.h"
#include "words.h"

/* key, version, json, bytes and, of a search, score; each goes to the page until that is full. */
static tn_value give(tn_store *store, sqlite3_stmt *statement, bool keys_only, bool scored, struct page *page) {
    tn_value why = NULL;
    bool more = true;
    while (more && why == NULL && database_step(store, statement, &why)) {
        struct record record = {.key = database_text(statement, 0), .version = sqlite3_column_int64(statement, 1)};
        if (!keys_only) why = database_value(store, statement, 2, 3, &record.value, &record.size);
        if (scored) record.score = sqlite3_column_double(statement, 4);
        if (why == NULL) more = page_add(page, &record);
        tn_release(record.value);
    }
    (void)sqlite3_reset(statement);
    return why;
}

/* ---- Lists ---- */

/* The order's members of the record `after`, as a row of *out. */
static tn_value find_after(tn_store *store, struct arena *arena, const struct selection *selection, int64_t now,
                           sqlite3_stmt **out) {
    struct selection alone = {.collection = selection->collection};
    struct shown shown;
    struct sql sql;
    tn_value why = NULL;
    sql_init(&sql, arena);
    sql_add(&sql, "SELECT ");
    sql_members(&sql, store, selection);
    sql_add(&sql, " FROM records");
    sql_where(&sql, store, &alone, now);
    sql_add(&sql, " AND key = ");
    sql_text(&sql, selection->after);
    why = sql_statement(&sql, store, out);
    if (why != NULL || database_step(store, *out, &why)) return why;
    if (why == NULL)
        why = failure("NOT_FOUND", "the record `%s`, which `after` names, is gone; begin the list anew",
                      show(selection->after, &shown));
    (void)sqlite3_reset(*out);
    return why;
}

static tn_value list(tn_store *store, struct arena *arena, const struct selection *selection, int64_t now,
                     struct page *page) {
    sqlite3_stmt *after = NULL, *statement = NULL;
    struct sql sql;
    tn_value why = NULL;
    bool behind = selection->after.data != NULL;
    if (behind && selection->order_count > 0) why = find_after(store, arena, selection, now, &after);
    if (why != NULL) return why;
    sql_init(&sql, arena);
    sql_add(&sql, selection->keys_only ? "SELECT key, version FROM records"
                                       : "SELECT key, version, json, bytes"
                                         " FROM records");
    sql_where(&sql, store, selection, now);
    if (after != NULL) {
        sql_after(&sql, store, selection, after);
        (void)sqlite3_reset(after);
    } else if (behind) {
        sql_add(&sql, selection->reverse ? " AND key < " : " AND key > ");
        sql_text(&sql, selection->after);
    }
    sql_order(&sql, store, selection);
    sql_add(&sql, " LIMIT ");
    sql_int(&sql, selection->limit + 1); /* one more, to know whether there are */
    why = sql_statement(&sql, store, &statement);
    return why != NULL ? why : give(store, statement, selection->keys_only, false, page);
}

tn_value lists_list(tn_store *store, const struct selection *selection, int64_t now, struct page *page) {
    struct arena arena = ARENA_INIT;
    bool together =
        selection->after.data != NULL && selection->order_count > 0 && sqlite3_get_autocommit(store->database) != 0;
    store->row.known = false;
    tn_value why = together ? database_execute(store, "BEGIN") : NULL;
    if (why == NULL) why = list(store, &arena, selection, now, page);
    if (together && !sqlite3_get_autocommit(store->database))
        (void)sqlite3_exec(store->database, "COMMIT", NULL, NULL, NULL);
    arena_finish(&arena);
    return why;
}

tn_value lists_count(tn_store *store, const struct selection *selection, int64_t now, int64_t *count) {
    struct arena arena = ARENA_INIT;
    sqlite3_stmt *statement = NULL;
    struct sql sql;
    sql_init(&sql, &arena);
    sql_add(&sql, "SELECT count(*) FROM records");
    sql_where(&sql, store, selection, now);
    tn_value why = sql_statement(&sql, store, &statement);
    if (why == NULL && database_step(store, statement, &why)) *count = sqlite3_column_int64(statement, 0);
    (void)sqlite3_reset(statement);
    arena_finish(&arena);
    return why;
}

/* ---- Searches ---- */

/* "one" AND "two": words have no quotes in them. */
static struct text match_of(struct arena *arena, struct text words) {
    struct sql match;
    sql_init(&match, arena);
    for (struct text word; words_next(&words, &word);) {
        char *copy = arena_alloc(arena, word.length + 1);
        if (copy == NULL) return (struct text){NULL, 0};
        memcpy(copy, word.data, word.length);
        sql_add(&match, match.length > 0 ? " AND \"" : "\"");
        sql_add(&match, copy);
        sql_add(&match, "\"");
    }
    return match.failed ? (struct text){NULL, 0} : (struct text){match.text, match.length};
}

/* bm25 is less the better it fits. CROSS JOIN: the search comes first. */
static tn_value by_words(struct sql *sql, tn_store *store, const struct selection *selection, int64_t now) {
    struct text match = match_of(sql->arena, selection->words);
    if (match.data == NULL) return failure_memory();
    sql_add(sql, "SELECT key, version, json, bytes, -bm25(texts) AS score"
                 " FROM texts CROSS JOIN records ON records.id = texts.rowid");
    sql_where(sql, store, selection, now);
    sql_add(sql, " AND texts MATCH ");
    sql_text(sql, match);
    return NULL;
}

static tn_value by_vector(struct sql *sql, tn_store *store, const struct selection *selection, int64_t now) {
    uint64_t size = selection->vector_count * sizeof(float);
    sql_add(sql, "SELECT key, version, json, bytes, tn_likeness(vector, ");
    sql_blob(sql, selection->vector, size);
    sql_add(sql, ") AS score FROM records CROSS JOIN vectors ON vectors.id = records.id");
    sql_where(sql, store, selection, now);
    sql_add(sql, " AND found_by & 2 AND length(vector) = ");
    sql_int(sql, (int64_t)size);
    return NULL;
}

tn_value lists_search(tn_store *store, const struct selection *selection, int64_t now, struct page *page) {
    struct arena arena = ARENA_INIT;
    sqlite3_stmt *statement = NULL;
    struct sql sql;
    store->row.known = false;
    if (selection->vector == NULL && selection->words.length == 0) return NULL; /* no word: nothing has it */
    sql_init(&sql, &arena);
    tn_value why =
        selection->vector != NULL ? by_vector(&sql, store, selection, now) : by_words(&sql, store, selection, now);
    sql_add(&sql, " ORDER BY score DESC, key LIMIT ");
    sql_int(&sql, selection->limit);
    if (why == NULL) why = sql_statement(&sql, store, &statement);
    if (why == NULL) why = give(store, statement, false, true, page);
    arena_finish(&arena);
    return why;
}
