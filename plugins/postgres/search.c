/*
 * search.c - searches by words, which use an index, and by vector, which read all vectors of the collection.
 */
#include "list_read.h"
#include "schema.h"
#include "terms.h"
#include <tenon/store/words.h>

/*
 * The fraction of the words of a text that were searched for. Every record has all of them, because the index has found
 * it.
 */
static void search_add_score(struct sql *sql, struct array *terms) {
    sql_add(sql, "(SELECT sum(t.counts[array_position(t.terms, w)]) FROM unnest(");
    sql_bind_array(sql, terms);
    sql_add(sql, ") AS w)::float8 / greatest(t.total, 1)");
}

/* Reads the next rows of a search by words: those after the cursor, if it is set. */
static tn_value search_query_words(struct list *list, int rows) {
    struct array terms;
    struct sql sql;
    struct tn_store_text words = list->selection->words, word;
    sql_init(&sql, &list->chunk);
    array_init(&terms, &list->chunk, SQL_BYTEA);
    while (tn_store_words_next(&words, &word)) {
        char term[TERM_MAX];
        array_add_bytes(&terms, (struct tn_store_text){term, terms_of_word(word, term)});
    }
    sql_add(&sql,
            "SELECT key, version, json, bytes, score FROM (SELECT r.key, r.version,"
            " CASE WHEN octet_length(r.json) <= %d THEN r.json END AS json,"
            " CASE WHEN octet_length(r.bytes) <= %d THEN r.bytes END AS bytes, ",
            LIST_INLINE_MAX, LIST_INLINE_MAX);
    search_add_score(&sql, &terms);
    sql_add(&sql, " AS score");
    narrow_from(&sql, list->store, list->collection, list->selection, "texts", list->now);
    sql_add(&sql, " AND t.terms @> ");
    sql_bind_array(&sql, &terms);
    sql_add(&sql, ") q");
    if (list->cursor.key.data != NULL) {
        sql_add(&sql, " WHERE score < ");
        sql_bind_double(&sql, list->score);
        sql_add(&sql, " OR (score = ");
        sql_bind_double(&sql, list->score);
        sql_add(&sql, " AND key > ");
        sql_bind_bytes(&sql, list->cursor.key);
        sql_add(&sql, ")");
    }
    sql_add(&sql, " ORDER BY score DESC, key LIMIT %d", rows);
    return schema_query(list->store, list->collection, &sql);
}

static double search_read_score(const PGresult *result, int row) {
    uint64_t bits = (uint64_t)result_int(result, row, 4);
    double score;
    memcpy(&score, &bits, sizeof score);
    return score;
}

static tn_value search_words(struct list *list, struct found *found) {
    tn_value why = NULL;
    while (why == NULL && !list->ended && found->count < (uint64_t)list->selection->limit) {
        struct tn_store_record *records = NULL;
        int count = 0;
        tn_arena_free(&list->chunk);
        why = search_query_words(list, LIST_CHUNK);
        if (why == NULL) why = list_read_rows(list, &records, &count);
        if (why != NULL) return why;
        const PGresult *result = connection_result(list->store, 0);
        for (int row = 0; row < count; row++) records[row].score = search_read_score(result, row);
        list->ended = count < LIST_CHUNK;
        if (count > 0) {
            list->score = records[count - 1].score;
            why = list_move_cursor(list, false, result, count - 1, records[count - 1].key);
        }
        tn_value failed = list_each_record(list, records, count, list_collect, found);
        if (why == NULL)
            why = failed;
        else
            tn_release(failed);
    }
    return why;
}

/* Reads vectors and, for a filter, values of the next rows after the cursor: key, version, json, bytes, vector. */
static tn_value search_query_vectors(struct list *list, int rows) {
    const char *want = list->want_values ? "true" : "false";
    struct sql sql;
    sql_init(&sql, &list->chunk);
    sql_add(&sql,
            "SELECT r.key, r.version, CASE WHEN %s AND octet_length(r.json) <= %d THEN r.json END, CASE WHEN %s AND"
            " octet_length(r.bytes) <= %d THEN r.bytes END, t.vector",
            want, LIST_INLINE_MAX, want, LIST_INLINE_MAX);
    narrow_from(&sql, list->store, list->collection, list->selection, "vectors", list->now);
    sql_add(&sql, " AND octet_length(t.vector) = ");
    sql_bind_int8(&sql, (int64_t)(list->selection->vector_count * sizeof(uint32_t)));
    if (list->cursor.key.data != NULL) {
        sql_add(&sql, " AND t.key > ");
        sql_bind_bytes(&sql, list->cursor.key);
    }
    sql_add(&sql, " AND t.collection = %d ORDER BY t.key LIMIT %d", list->collection->id, rows);
    return schema_query(list->store, list->collection, &sql);
}

/* -1 if allocation fails. */
static double search_similarity(struct list *list, struct tn_store_text stored) {
    uint64_t count;
    const float *vector = list_read_vector(&list->chunk, stored, &count);
    return vector != NULL ? tn_store_vector_similarity(vector, list->selection->vector, count) : -1;
}

/* Keeps the record if it is among the best. */
static tn_value search_insert(struct list *list, struct tn_store_record *record_take, void *user) {
    struct found *found = user;
    uint64_t at = found->count;
    while (at > 0 && found->records[at - 1].score < record_take->score) at--;
    if (at >= (uint64_t)list->selection->limit) {
        tn_release(record_take->value);
        return NULL;
    }
    tn_value why = found_add_take(found, list->arena, record_take);
    if (why != NULL) return why;
    struct tn_store_record record = found->records[found->count - 1];
    memmove(&found->records[at + 1], &found->records[at], (found->count - 1 - at) * sizeof record);
    found->records[at] = record;
    if (found->count > (uint64_t)list->selection->limit) tn_release(found->records[--found->count].value);
    return NULL;
}

static tn_value search_vectors(struct list *list, struct found *found) {
    tn_value why = NULL;
    list->want_values = list->selection->where != NULL;
    while (why == NULL && !list->ended) {
        struct tn_store_record *records = NULL;
        int count = 0;
        tn_arena_free(&list->chunk);
        why = search_query_vectors(list, LIST_CHUNK);
        if (why == NULL) why = list_read_rows(list, &records, &count);
        if (why != NULL) return why;
        const PGresult *result = connection_result(list->store, 0);
        for (int row = 0; row < count; row++)
            records[row].score = search_similarity(list, result_bytes(result, row, 4));
        list->ended = count < LIST_CHUNK;
        if (count > 0) why = list_move_cursor(list, false, result, count - 1, records[count - 1].key);
        tn_value failed = list_each_record(list, records, count, search_insert, found);
        if (why == NULL)
            why = failed;
        else
            tn_release(failed);
    }
    for (uint64_t i = 0; why == NULL && i < found->count; i++)
        if (found->records[i].value == NULL) why = list_read_large(list, &found->records[i]);
    return why;
}

tn_value lists_search(tn_store *store, const struct tn_store_selection *selection, struct tn_store_page *page) {
    struct tn_arena arena = TN_ARENA;
    struct found found = {.count = 0};
    struct list list = {.store = store,
                        .arena = &arena,
                        .chunk = TN_ARENA,
                        .selection = selection,
                        .now = connection_now(store, tn.core->wall_ms(tn.host)),
                        .want_values = true};
    if (selection->vector == NULL && selection->words.length == 0) return NULL; /* without words, no record matches */
    tn_value why = lists_collection(store, selection->collection, &list.collection);
    if (why == NULL && list.collection != NULL) {
        why = list_begin(&list);
        if (why == NULL) why = selection->vector != NULL ? search_vectors(&list, &found) : search_words(&list, &found);
        list_end(&list);
    }
    for (uint64_t i = 0; why == NULL && i < found.count && i < (uint64_t)selection->limit;) {
        if (!tn_store_page_add(page, &found.records[i])) break;
        i++;
    }
    found_free(&found);
    tn_arena_free(&arena);
    return why;
}
