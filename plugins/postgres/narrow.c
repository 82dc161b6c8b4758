/*
 * narrow.c - see narrow.h.
 */
#include "narrow.h"

/* Returns the number of the member's column, from 1; 0 if it has none. */
static uint64_t narrow_column(const struct collection *collection, const struct tn_store_path *path) {
    for (uint64_t i = 0; collection->hot && i < collection->member_count; i++)
        if (collection->starts[i] == 0 && tn_store_text_compare(collection->members[i].text, path->text) == 0)
            return i + 1;
    return 0;
}

uint64_t narrow_start_column(const struct collection *collection, const struct tn_store_path *path) {
    for (uint64_t i = 0; collection->hot && i < collection->member_count; i++)
        if (collection->starts[i] > 0 && tn_store_text_compare(collection->members[i].text, path->text) == 0)
            return i + 1;
    return 0;
}

static void narrow_bind_encoded(struct sql *sql, tn_value operand) {
    char encoded[ENCODE_MAX];
    uint64_t length = encode_member(operand, encoded);
    char *copy = tn_arena_copy(sql->arena, encoded, length);
    sql->failed |= copy == NULL;
    sql_bind_bytes(sql, (struct tn_store_text){copy, length});
}

/* True if equal values have the same encoding. Objects have their members in any order. */
static bool narrow_is_plain(tn_value value) {
    switch (tn.value->kind(value)) {
    case TN_NULL:
    case TN_BOOL:
    case TN_INT:
    case TN_DOUBLE:
    case TN_STRING: return true;
    default: return false;
    }
}

/* ---- Tests of columns: append " AND …" or nothing ---- */

static void narrow_compare(struct sql *sql, uint64_t column, const char *operator, tn_value operand) {
    sql_add(sql, " AND r.m%llu %s ", (unsigned long long)column, operator);
    narrow_bind_encoded(sql, operand);
}

static void narrow_in(struct sql *sql, uint64_t column, tn_value list) {
    struct array values;
    array_init(&values, sql->arena, SQL_BYTEA);
    for (uint64_t i = 0; i < tn.value->count(list); i++) {
        char encoded[ENCODE_MAX];
        if (!narrow_is_plain(tn.value->at(list, i))) return;
        array_add_bytes(&values, (struct tn_store_text){encoded, encode_member(tn.value->at(list, i), encoded)});
    }
    sql_add(sql, " AND r.m%llu = ANY (", (unsigned long long)column);
    sql_bind_array(sql, &values);
    sql_add(sql, ")");
}

/* A text that was cut equals the cut operand, so the bounds are inclusive. */
static void narrow_column_test(struct sql *sql, uint64_t column, const struct tn_store_condition *condition) {
    bool text = tn.value->kind(condition->operand) == TN_STRING;
    switch (condition->test) {
    case TN_STORE_TEST_EQ:
        if (narrow_is_plain(condition->operand)) narrow_compare(sql, column, "=", condition->operand);
        return;
    case TN_STORE_TEST_NE:
        if (tn.value->kind(condition->operand) == TN_NULL) narrow_compare(sql, column, "<>", condition->operand);
        return;
    case TN_STORE_TEST_LT:
    case TN_STORE_TEST_LE:
        narrow_compare(sql, column, "<=", condition->operand);
        sql_add(sql, " AND r.m%llu >= '\\x%s'", (unsigned long long)column, text ? "02" : "01");
        return;
    case TN_STORE_TEST_GT:
    case TN_STORE_TEST_GE:
        narrow_compare(sql, column, ">=", condition->operand);
        if (!text) sql_add(sql, " AND r.m%llu < '\\x02'", (unsigned long long)column);
        return;
    case TN_STORE_TEST_IN: narrow_in(sql, column, condition->operand); return;
    default: return;
    }
}

/* A column with the start of a text: equal and smaller texts have equal and smaller starts, or equal ones. */
static void narrow_start_test(struct sql *sql, const struct collection *collection, uint64_t column,
                              const struct tn_store_condition *condition) {
    static const char *const operators[] = {
        [TN_STORE_TEST_EQ] = "=",  [TN_STORE_TEST_LT] = "<=", [TN_STORE_TEST_LE] = "<=",
        [TN_STORE_TEST_GT] = ">=", [TN_STORE_TEST_GE] = ">=",
    };
    char encoded[ENCODE_MAX];
    if (condition->test >= sizeof operators / sizeof *operators || operators[condition->test] == NULL) return;
    if (tn.value->kind(condition->operand) != TN_STRING) return;
    uint64_t length = encode_member_start(condition->operand, collection->starts[column - 1], encoded);
    char *copy = tn_arena_copy(sql->arena, encoded, length);
    sql->failed |= copy == NULL;
    sql_add(sql, " AND r.m%llu %s ", (unsigned long long)column, operators[condition->test]);
    sql_bind_bytes(sql, (struct tn_store_text){copy, length});
    if (*operators[condition->test] == '<') sql_add(sql, " AND r.m%llu >= '\\x02'", (unsigned long long)column);
}

/* The JSON of a record contains the JSON of a string that is a member of it, or in an array in it. */
static void narrow_json_test(struct sql *sql, const struct tn_store_condition *condition) {
    if (condition->test != TN_STORE_TEST_EQ && condition->test != TN_STORE_TEST_CONTAINS) return;
    if (tn.value->kind(condition->operand) != TN_STRING) return;
    tn_value json = tn_to_json(condition->operand);
    struct tn_store_text text = tn_store_text_of(json);
    char *copy = tn_arena_copy(sql->arena, text.data, text.length);
    sql->failed |= copy == NULL;
    sql_add(sql, " AND position(");
    sql_bind_bytes(sql, (struct tn_store_text){copy, text.length});
    sql_add(sql, " IN r.json) > 0");
    tn_release(json);
}

void narrow_from(struct sql *sql, const tn_store *store, const struct collection *collection,
                 const struct tn_store_selection *selection, const char *joined, int64_t now) {
    const struct tn_store_range *range = &selection->range;
    sql_add(sql, " FROM %s.%s r", store->settings.schema_sql, collection->hot ? "hot" : "records");
    if (joined != NULL)
        sql_add(sql, " JOIN %s.%s t ON t.collection = r.collection AND t.key = r.key", store->settings.schema_sql,
                joined);
    if (selection->attributes)
        sql_add(sql,
                " LEFT JOIN %s.texts w ON r.found_by & 1 <> 0 AND w.collection = r.collection AND w.key = r.key"
                " LEFT JOIN %s.vectors v ON r.found_by & 2 <> 0 AND v.collection = r.collection AND v.key = r.key",
                store->settings.schema_sql, store->settings.schema_sql);
    sql_add(sql, " WHERE r.collection = %d", collection->id);
    if (range->from.data != NULL) {
        sql_add(sql, " AND r.key >= ");
        sql_bind_bytes(sql, range->from);
    }
    if (range->to.data != NULL) {
        sql_add(sql, " AND r.key < ");
        sql_bind_bytes(sql, range->to);
    }
    sql_add(sql, " AND (r.expires_at IS NULL OR r.expires_at > ");
    sql_bind_int8(sql, now);
    sql_add(sql, ")");
    for (uint64_t i = 0; selection->where != NULL && i < selection->where->count; i++) {
        const struct tn_store_condition *condition = &selection->where->conditions[i];
        if (condition->test == TN_STORE_TEST_ANY || sql->count > SQL_PARAMETERS - 40) continue;
        uint64_t column = narrow_column(collection, &condition->path);
        uint64_t start = narrow_start_column(collection, &condition->path);
        if (start > 0) narrow_start_test(sql, collection, start, condition);
        if (column > 0)
            narrow_column_test(sql, column, condition);
        else
            narrow_json_test(sql, condition);
    }
}

/* ---- Order ---- */

/* The column of a member of the order; that of its start, if the caller has no other. */
static uint64_t narrow_order_column(const struct collection *collection, const struct tn_store_selection *selection,
                                    uint64_t i) {
    uint64_t column = narrow_column(collection, &selection->order[i]);
    return column > 0 ? column : narrow_start_column(collection, &selection->order[i]);
}

bool narrow_has_order(const struct collection *collection, const struct tn_store_selection *selection) {
    for (uint64_t i = 0; i < selection->order_count; i++)
        if (narrow_column(collection, &selection->order[i]) == 0) return false;
    return true;
}

void narrow_add_members(struct sql *sql, const struct collection *collection,
                        const struct tn_store_selection *selection) {
    for (uint64_t i = 0; i < selection->order_count; i++)
        sql_add(sql, ", r.m%llu", (unsigned long long)narrow_order_column(collection, selection, i));
}

void narrow_after(struct sql *sql, const struct collection *collection, const struct tn_store_selection *selection,
                  const struct narrow_cursor *cursor) {
    if (cursor->key.data == NULL) return;
    sql_add(sql, " AND (");
    for (uint64_t i = 0; i < selection->order_count; i++)
        sql_add(sql, "r.m%llu, ", (unsigned long long)narrow_order_column(collection, selection, i));
    sql_add(sql, "r.key) %s (", selection->reverse ? "<" : ">");
    for (uint64_t i = 0; i < selection->order_count; i++) {
        sql_bind_bytes(sql, cursor->members[i]);
        sql_add(sql, ", ");
    }
    sql_bind_bytes(sql, cursor->key);
    sql_add(sql, ")");
}

void narrow_order(struct sql *sql, const struct collection *collection, const struct tn_store_selection *selection) {
    const char *direction = selection->reverse ? " DESC" : "";
    sql_add(sql, " ORDER BY ");
    for (uint64_t i = 0; i < selection->order_count; i++)
        sql_add(sql, "r.m%llu%s, ", (unsigned long long)narrow_order_column(collection, selection, i), direction);
    sql_add(sql, "r.key%s", direction);
}
