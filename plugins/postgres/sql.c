/*
 * sql.c - see sql.h.
 */
#include "sql.h"
#include <endian.h>
#include <limits.h>
#include <stdarg.h>

/* PostgreSQL's messages have 32-bit lengths and its values less than 1 GiB. */
#define SQL_VALUE_MAX ((uint64_t)1 << 29)

void sql_init(struct sql *sql, struct tn_arena *arena) {
    sql->arena = arena;
    sql->text = NULL;
    sql->length = sql->capacity = 0;
    sql->count = 0;
    sql->failed = false;
}

/* Doubles the capacity until `more` bytes fit. The old block stays in the arena. */
static bool sql_grow(struct tn_arena *arena, char **data, uint64_t length, uint64_t *capacity, uint64_t more) {
    if (length + more <= *capacity) return true;
    uint64_t larger = (length + more) * 2 + 200;
    char *copy = tn_arena_alloc(arena, larger);
    if (copy == NULL) return false;
    if (length > 0) memcpy(copy, *data, length);
    *data = copy;
    *capacity = larger;
    return true;
}

void sql_add(struct sql *sql, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !sql_grow(sql->arena, &sql->text, sql->length, &sql->capacity, (uint64_t)length + 1)) {
        sql->failed = true;
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(sql->text + sql->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    sql->length += (uint64_t)length;
}

static void sql_bind(struct sql *sql, Oid type, const char *data, uint64_t length) {
    if (sql->count == SQL_PARAMETERS || length > SQL_VALUE_MAX) {
        sql->failed = true;
        return;
    }
    sql->types[sql->count] = type;
    sql->values[sql->count] = data;
    sql->lengths[sql->count++] = (int)length;
    sql_add(sql, "$%d", sql->count);
}

void sql_bind_bytes(struct sql *sql, struct tn_store_text bytes) { sql_bind(sql, SQL_BYTEA, bytes.data, bytes.length); }

static void sql_bind_bits(struct sql *sql, Oid type, uint64_t bits) {
    bits = htobe64(bits);
    char *copy = tn_arena_alloc(sql->arena, sizeof bits);
    sql->failed |= copy == NULL;
    if (copy != NULL) memcpy(copy, &bits, sizeof bits);
    sql_bind(sql, type, copy, sizeof bits);
}

void sql_bind_int8(struct sql *sql, int64_t number) { sql_bind_bits(sql, SQL_INT8, (uint64_t)number); }

void sql_bind_double(struct sql *sql, double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    sql_bind_bits(sql, SQL_FLOAT8, bits);
}

bool sql_same(const struct sql *a, const struct sql *b) {
    if (a->failed || b->failed || a->count != b->count || a->length != b->length ||
        memcmp(a->text, b->text, a->length) != 0)
        return false;
    for (int i = 0; i < a->count; i++)
        if (a->lengths[i] != b->lengths[i] || memcmp(a->values[i], b->values[i], (size_t)a->lengths[i]) != 0)
            return false;
    return true;
}

/* ---- Arrays: in the form of array_send of PostgreSQL ---- */

#define ARRAY_HEADER 20 /* dimensions, has nulls, type of the elements, length, lower bound */

void array_init(struct array *array, struct tn_arena *arena, Oid element) {
    *array = (struct array){.arena = arena, .element = element, .length = ARRAY_HEADER};
    array->failed = !sql_grow(arena, &array->data, 0, &array->capacity, ARRAY_HEADER);
}

static void array_put32(char *at, uint32_t number) {
    number = htobe32(number);
    memcpy(at, &number, sizeof number);
}

static void array_add(struct array *array, const void *data, uint64_t length) {
    if (array->failed || length > SQL_VALUE_MAX ||
        !sql_grow(array->arena, &array->data, array->length, &array->capacity, length + 4)) {
        array->failed = true;
        return;
    }
    array_put32(array->data + array->length, data != NULL ? (uint32_t)length : UINT32_MAX);
    if (length > 0) memcpy(array->data + array->length + 4, data, length);
    array->length += 4 + length;
    array->count++;
}

void array_add_null(struct array *array) {
    array_add(array, NULL, 0);
    array->has_null = true;
}

void array_add_bytes(struct array *array, struct tn_store_text bytes) {
    if (bytes.data == NULL)
        array_add_null(array);
    else
        array_add(array, bytes.data, bytes.length);
}

void array_add_int(struct array *array, int64_t number) {
    uint64_t bits = htobe64((uint64_t)number);
    uint64_t size = array->element == SQL_INT8 ? 8 : array->element == SQL_INT4 ? 4 : 2;
    array_add(array, (const char *)&bits + sizeof bits - size, size);
}

void sql_bind_array(struct sql *sql, struct array *array) {
    static const struct {
        Oid element, array;
    } types[] = {{SQL_BYTEA, SQL_BYTEA_ARRAY},
                 {SQL_INT4, SQL_INT4_ARRAY},
                 {SQL_INT8, SQL_INT8_ARRAY},
                 {SQL_INT2, SQL_INT2_ARRAY}};
    Oid type = SQL_BYTEA_ARRAY;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].element == array->element) type = types[i].array;
    sql->failed |= array->failed;
    if (array->failed) return;
    array_put32(array->data, array->count > 0);
    array_put32(array->data + 4, array->has_null);
    array_put32(array->data + 8, array->element);
    array_put32(array->data + 12, (uint32_t)array->count);
    array_put32(array->data + 16, 1);
    /* An empty array has no dimensions. */
    sql_bind(sql, type, array->data, array->count > 0 ? array->length : 12);
}
