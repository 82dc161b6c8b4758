/*
 * vector_codes.c - writes and searches the index for searches by vector.
 *
 * A slot is written with incremental I/O, which changes one or two pages of a block. A search keeps the best candidates
 * in a heap. How many depends on what else the selection has: records outside of its range of keys, and those that do
 * not match its filter, are candidates, too, and are left out when their records are read.
 */
#include "vector_codes.h"
#include "sql.h"
#include <endian.h>
#include <math.h>

#define SLOT_HEAD 12u /* bytes before the codes: the id (8) and the factor (4), both little-endian */

/* ---- Slots ---- */

struct space {
    int64_t id; /* 0: it does not exist */
    int64_t count;
    uint64_t dimensions;
};

static uint64_t slot_size(uint64_t dimensions) { return SLOT_HEAD + dimensions; }

static int64_t slots_per_block(uint64_t dimensions) {
    uint64_t slots = CODES_BLOCK / slot_size(dimensions);
    return slots < 1 ? 1 : slots > CODES_SLOTS_MAX ? CODES_SLOTS_MAX : (int64_t)slots;
}

/* Scales a vector to length 1, and its largest number to 127. Returns the factor that undoes the second; 0 for a zero
 * vector. */
static float codes_of_vector(const float *vector, uint64_t count, int8_t *out) {
    double length = 0, largest = 0;
    for (uint64_t i = 0; i < count; i++) {
        length += (double)vector[i] * (double)vector[i];
        if (fabs((double)vector[i]) > largest) largest = fabs((double)vector[i]);
    }
    memset(out, 0, count);
    if (!(length > 0)) return 0;
    for (uint64_t i = 0; i < count; i++) out[i] = (int8_t)lrint((double)vector[i] / largest * 127);
    return (float)(largest / 127 / sqrt(length));
}

static int32_t codes_product(const int8_t *a, const int8_t *b, uint64_t count) {
    int32_t sum = 0; /* at most 127 * 127 * TN_STORE_VECTOR_MAX */
    for (uint64_t i = 0; i < count; i++) sum += (int32_t)a[i] * (int32_t)b[i];
    return sum;
}

static void slot_write(unsigned char *slot, int64_t id, float factor) {
    uint64_t number = htole64((uint64_t)id);
    uint32_t bits;
    memcpy(&bits, &factor, sizeof bits);
    bits = htole32(bits);
    memcpy(slot, &number, sizeof number);
    memcpy(slot + sizeof number, &bits, sizeof bits);
}

static int64_t slot_id(const unsigned char *slot) {
    uint64_t number;
    memcpy(&number, slot, sizeof number);
    return (int64_t)le64toh(number);
}

static float slot_factor(const unsigned char *slot) {
    uint32_t bits;
    float factor;
    memcpy(&bits, slot + sizeof(uint64_t), sizeof bits);
    bits = le32toh(bits);
    memcpy(&factor, &bits, sizeof factor);
    return factor;
}

/* ---- Statements ---- */

/* Prepares a statement and binds integers to its parameters. */
static tn_value codes_prepare(tn_store *store, const char *sql, int count, const int64_t *numbers, sqlite3_stmt **out) {
    tn_value why = database_prepare(store, sql, out);
    for (int i = 0; why == NULL && i < count; i++) (void)sqlite3_bind_int64(*out, i + 1, numbers[i]);
    return why;
}

static tn_value codes_run(tn_store *store, const char *sql, int count, const int64_t *numbers) {
    sqlite3_stmt *statement = NULL;
    tn_value why = codes_prepare(store, sql, count, numbers, &statement);
    return why != NULL ? why : database_run(store, statement);
}

/* Stores the columns of the first row. *found: there is a row. */
static tn_value codes_read_row(tn_store *store, const char *sql, int count, const int64_t *numbers, int columns,
                               int64_t *out, bool *found) {
    sqlite3_stmt *statement = NULL;
    tn_value why = codes_prepare(store, sql, count, numbers, &statement);
    if (why != NULL) return why;
    *found = database_step(store, statement, &why);
    for (int i = 0; *found && i < columns; i++) out[i] = sqlite3_column_int64(statement, i);
    (void)sqlite3_reset(statement);
    return why;
}

/* Opens the block of a slot. *at is the slot's offset in it. */
static tn_value block_open(tn_store *store, const struct space *space, int64_t slot, bool writes, sqlite3_blob **out,
                           int *at) {
    int64_t row = 0, per_block = slots_per_block(space->dimensions);
    bool found = false;
    tn_value why = codes_read_row(store, "SELECT id FROM codes WHERE space = ? AND block = ?", 2,
                                  (const int64_t[]){space->id, slot / per_block}, 1, &row, &found);
    if (why != NULL) return why;
    *at = (int)((uint64_t)(slot % per_block) * slot_size(space->dimensions));
    if (!found) return database_damaged(store, "a block of the index of vectors is missing");
    if (sqlite3_blob_open(store->database, "main", "codes", "data", row, writes, out) != SQLITE_OK) {
        why = database_failure(store);
        (void)sqlite3_blob_close(*out);
        return why;
    }
    if ((uint64_t)sqlite3_blob_bytes(*out) >= (uint64_t)*at + slot_size(space->dimensions)) return NULL;
    (void)sqlite3_blob_close(*out);
    return database_damaged(store, "a block of the index of vectors is too short");
}

static tn_value block_access(tn_store *store, const struct space *space, int64_t slot, bool writes,
                             unsigned char *bytes) {
    sqlite3_blob *blob = NULL;
    int at = 0, size = (int)slot_size(space->dimensions);
    tn_value why = block_open(store, space, slot, writes, &blob, &at);
    if (why != NULL) return why;
    int code = writes ? sqlite3_blob_write(blob, bytes, size, at) : sqlite3_blob_read(blob, bytes, size, at);
    if (code != SQLITE_OK) why = database_failure(store);
    (void)sqlite3_blob_close(blob);
    return why;
}

/* ---- Adding and removing ---- */

static tn_value space_find(tn_store *store, int64_t collection, uint64_t dimensions, struct space *out) {
    int64_t row[2] = {0, 0};
    bool found = false;
    tn_value why = codes_read_row(store, "SELECT id, count FROM spaces WHERE collection = ? AND dimensions = ?", 2,
                                  (const int64_t[]){collection, (int64_t)dimensions}, 2, row, &found);
    *out = (struct space){row[0], row[1], dimensions};
    return why;
}

static tn_value space_require(tn_store *store, int64_t collection, uint64_t dimensions, struct space *out) {
    tn_value why = space_find(store, collection, dimensions, out);
    if (why != NULL || out->id != 0) return why;
    why = codes_run(store, "INSERT INTO spaces (collection, dimensions, count) VALUES (?, ?, 0)", 2,
                    (const int64_t[]){collection, (int64_t)dimensions});
    out->id = sqlite3_last_insert_rowid(store->database);
    return why;
}

static tn_value space_set_count(tn_store *store, const struct space *space) {
    return codes_run(store, "UPDATE spaces SET count = ? WHERE id = ?", 2, (const int64_t[]){space->count, space->id});
}

tn_value codes_add(tn_store *store, int64_t collection, int64_t id, const float *vector, uint64_t count) {
    struct space space;
    tn_value why = space_require(store, collection, count, &space);
    int64_t slot = space.count, per_block = slots_per_block(count);
    unsigned char *bytes = why == NULL ? tn_store_alloc(slot_size(count)) : NULL;
    if (bytes == NULL) return why != NULL ? why : tn_store_failure_memory();
    slot_write(bytes, id, codes_of_vector(vector, count, (int8_t *)bytes + SLOT_HEAD));
    if (slot % per_block == 0)
        why = codes_run(store, "INSERT INTO codes (space, block, data) VALUES (?, ?, zeroblob(?))", 3,
                        (const int64_t[]){space.id, slot / per_block, per_block * (int64_t)slot_size(count)});
    if (why == NULL) why = block_access(store, &space, slot, true, bytes);
    tn_store_free(bytes);
    space.count++;
    if (why == NULL) why = space_set_count(store, &space);
    if (why == NULL)
        why = codes_run(store, "INSERT INTO slots (id, space, slot) VALUES (?, ?, ?)", 3,
                        (const int64_t[]){id, space.id, slot});
    return why;
}

/* Moves the last slot into the free one. */
static tn_value slot_fill(tn_store *store, const struct space *space, int64_t slot, int64_t last) {
    unsigned char *bytes = tn_store_alloc(slot_size(space->dimensions));
    if (bytes == NULL) return tn_store_failure_memory();
    tn_value why = block_access(store, space, last, false, bytes);
    if (why == NULL) why = block_access(store, space, slot, true, bytes);
    if (why == NULL)
        why = codes_run(store, "UPDATE slots SET slot = ? WHERE id = ?", 2, (const int64_t[]){slot, slot_id(bytes)});
    tn_store_free(bytes);
    return why;
}

tn_value codes_remove(tn_store *store, int64_t id) {
    int64_t row[4] = {0};
    bool found = false;
    tn_value why = codes_read_row(store,
                                  "SELECT slot, space, count, dimensions FROM slots JOIN spaces ON spaces.id = space"
                                  " WHERE slots.id = ?",
                                  1, &id, 4, row, &found);
    if (why != NULL || !found) return why;
    struct space space = {row[1], row[2] - 1, (uint64_t)row[3]};
    int64_t slot = row[0], per_block = slots_per_block(space.dimensions);
    if (slot > space.count || space.count < 0)
        return database_damaged(store, "the index of vectors has more slots than vectors");
    if (slot != space.count) why = slot_fill(store, &space, slot, space.count);
    if (why == NULL) why = codes_run(store, "DELETE FROM slots WHERE id = ?", 1, &id);
    if (why == NULL && space.count % per_block == 0)
        why = codes_run(store, "DELETE FROM codes WHERE space = ? AND block = ?", 2,
                        (const int64_t[]){space.id, space.count / per_block});
    return why != NULL ? why : space_set_count(store, &space);
}

tn_value codes_remove_all(tn_store *store, sqlite3_stmt *ids) {
    struct tn_arena arena = TN_ARENA;
    uint64_t count = 0, capacity = 0;
    int64_t *list = NULL;
    tn_value why = NULL;
    while (why == NULL && database_step(store, ids, &why)) {
        if (count == capacity) {
            capacity = 2 * capacity + 64;
            int64_t *larger = tn_arena_alloc(&arena, capacity * sizeof *larger);
            if (larger == NULL) {
                why = tn_store_failure_memory();
                break;
            }
            if (count > 0) memcpy(larger, list, count * sizeof *larger);
            list = larger;
        }
        list[count++] = sqlite3_column_int64(ids, 0);
    }
    (void)sqlite3_reset(ids);
    for (uint64_t i = 0; why == NULL && i < count; i++) why = codes_remove(store, list[i]);
    tn_arena_free(&arena);
    return why;
}

tn_value codes_build(tn_store *store) {
    sqlite3_stmt *statement = NULL;
    tn_value why =
        database_prepare(store,
                         "SELECT entries.id, collection, vector FROM entries JOIN vectors ON vectors.id = entries.id"
                         " WHERE found_by & 2 ORDER BY entries.id",
                         &statement);
    while (why == NULL && database_step(store, statement, &why)) {
        struct tn_arena arena = TN_ARENA;
        uint64_t size = (uint64_t)sqlite3_column_bytes(statement, 2), count = size / sizeof(float);
        const unsigned char *packed = sqlite3_column_blob(statement, 2);
        float *vector = count > 0 && count <= TN_STORE_VECTOR_MAX ? tn_arena_alloc(&arena, size) : NULL;
        for (uint64_t i = 0; vector != NULL && i < count; i++) {
            uint32_t bits;
            memcpy(&bits, packed + i * sizeof bits, sizeof bits);
            bits = le32toh(bits);
            memcpy(&vector[i], &bits, sizeof bits);
        }
        if (vector != NULL) /* a damaged one is reported when it is read */
            why =
                codes_add(store, sqlite3_column_int64(statement, 1), sqlite3_column_int64(statement, 0), vector, count);
        tn_arena_free(&arena);
    }
    if (statement != NULL) (void)sqlite3_reset(statement);
    return why;
}

/* ---- Candidates ---- */

struct candidate {
    double score;
    int64_t id;
};

/* The best candidates so far; the worst of them is first: a heap. */
struct candidates {
    struct candidate *items;
    uint64_t count, most;
};

static void candidates_sink(struct candidates *heap, uint64_t at) {
    for (uint64_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && heap->items[child + 1].score < heap->items[child].score) child++;
        if (heap->items[at].score <= heap->items[child].score) return;
        struct candidate other = heap->items[at];
        heap->items[at] = heap->items[child];
        heap->items[child] = other;
    }
}

static void candidates_add(struct candidates *heap, double score, int64_t id) {
    if (heap->count == heap->most) {
        if (score <= heap->items[0].score) return;
        heap->items[0] = (struct candidate){score, id};
        candidates_sink(heap, 0);
        return;
    }
    heap->items[heap->count++] = (struct candidate){score, id};
    if (heap->count < heap->most) return;
    for (uint64_t i = heap->count / 2; i-- > 0;) candidates_sink(heap, i);
}

static int candidate_compare(const void *a, const void *b) {
    const struct candidate *left = a, *right = b;
    if (left->score != right->score) return left->score > right->score ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

static void block_scan(const unsigned char *data, uint64_t slots, uint64_t dimensions, const int8_t *wanted,
                       struct candidates *heap) {
    for (uint64_t i = 0; i < slots; i++, data += slot_size(dimensions))
        candidates_add(heap,
                       (double)slot_factor(data) *
                           (double)codes_product((const int8_t *)data + SLOT_HEAD, wanted, dimensions),
                       slot_id(data));
}

static tn_value space_scan(tn_store *store, const struct space *space, const int8_t *wanted, struct candidates *heap) {
    sqlite3_stmt *statement = NULL;
    uint64_t left = (uint64_t)space->count, per_block = (uint64_t)slots_per_block(space->dimensions);
    tn_value why =
        codes_prepare(store, "SELECT data FROM codes WHERE space = ? ORDER BY block", 1, &space->id, &statement);
    while (why == NULL && left > 0 && database_step(store, statement, &why)) {
        const unsigned char *data = sqlite3_column_blob(statement, 0);
        uint64_t slots = (uint64_t)sqlite3_column_bytes(statement, 0) / slot_size(space->dimensions);
        if (slots > per_block) slots = per_block;
        if (slots > left) slots = left;
        if (data != NULL) block_scan(data, slots, space->dimensions, wanted, heap);
        left -= slots;
    }
    if (statement != NULL) (void)sqlite3_reset(statement);
    return why;
}

/* Moves the candidates that match the selection to the start, with their true scores, until there are `enough`. */
static tn_value candidates_check(tn_store *store, struct tn_arena *arena, const struct collection *collection,
                                 const struct tn_store_selection *selection, int64_t now, uint64_t enough,
                                 struct candidates *heap, uint64_t *matching) {
    uint64_t size = selection->vector_count * sizeof(float);
    sqlite3_stmt *statement = NULL;
    struct sql sql;
    sql_init(&sql, arena, collection);
    sql_add(&sql, "SELECT tn_similarity(vector, ");
    sql_bind_blob(&sql, selection->vector, size);
    sql_add(&sql, ") FROM entries CROSS JOIN vectors ON vectors.id = entries.id");
    sql_add_where(&sql, selection, now);
    sql_add(&sql, " AND found_by & 2 AND length(vector) = ");
    sql_bind_int(&sql, (int64_t)size);
    sql_add(&sql, " AND entries.id = ");
    sql_bind_int(&sql, 0);
    tn_value why = sql_prepare(&sql, store, &statement);
    int last = why == NULL ? sqlite3_bind_parameter_count(statement) : 0;
    *matching = 0;
    for (uint64_t i = 0; why == NULL && i < heap->count && *matching < enough; i++) {
        int64_t id = heap->items[i].id;
        (void)sqlite3_bind_int64(statement, last, id);
        if (database_step(store, statement, &why))
            heap->items[(*matching)++] = (struct candidate){sqlite3_column_double(statement, 0), id};
        (void)sqlite3_reset(statement);
    }
    return why;
}

/* Returns the ids of the best ones, and of all that are as good as the last of these: the caller orders them by key. */
static bool candidates_list(struct tn_arena *arena, struct candidate *items, uint64_t count, uint64_t limit,
                            struct tn_store_text *out) {
    char *text = tn_arena_alloc(arena, count * 21 + 3), *at = text;
    if (text == NULL) return false;
    qsort(items, count, sizeof *items, candidate_compare);
    *at++ = '[';
    for (uint64_t i = 0; i < count && (i < limit || items[i].score >= items[limit - 1].score); i++)
        at += snprintf(at, 22, "%s%lld", i > 0 ? "," : "", (long long)items[i].id);
    *at++ = ']';
    *at = '\0';
    *out = (struct tn_store_text){text, (uint64_t)(at - text)};
    return true;
}

tn_value codes_search(tn_store *store, struct tn_arena *arena, const struct collection *collection,
                      const struct tn_store_selection *selection, int64_t now, struct tn_store_text *ids) {
    struct space space;
    bool small = false,
         narrow = selection->where != NULL || selection->range.from.data != NULL || selection->range.to.data != NULL;
    *ids = (struct tn_store_text){NULL, 0};
    tn_value why = space_find(store, collection->id, selection->vector_count, &space);
    if (why != NULL || space.count <= CODES_EXACT_MAX) return why;
    uint64_t enough = 64 + 4 * (uint64_t)selection->limit, matching = 0;
    /* A range of so many records costs the same both ways: each is read, or as many candidates are. */
    double even = sqrt((double)enough * (double)space.count);
    int64_t few = even > CODES_EXACT_MAX ? (int64_t)even : CODES_EXACT_MAX;
    /* Then it is quicker to compare all vectors of the range. */
    why = sql_range_is_small(store, arena, collection, &selection->range, few, &small);
    if (why != NULL || small) return why;
    struct candidates heap = {.most = narrow ? 16 * enough + 2 * (uint64_t)few : 2 * enough};
    int8_t *wanted = tn_arena_alloc(arena, selection->vector_count);
    heap.items = tn_arena_alloc(arena, heap.most * sizeof *heap.items);
    if (wanted == NULL || heap.items == NULL) return tn_store_failure_memory();
    if (!(codes_of_vector(selection->vector, selection->vector_count, wanted) > 0)) return NULL; /* all are equal */
    why = space_scan(store, &space, wanted, &heap);
    qsort(heap.items, heap.count, sizeof *heap.items, candidate_compare);
    bool cut = heap.count == heap.most;
    if (why == NULL) why = candidates_check(store, arena, collection, selection, now, enough, &heap, &matching);
    if (why != NULL || (cut && matching < enough)) return why; /* others than these candidates may match */
    return candidates_list(arena, heap.items, matching, (uint64_t)selection->limit, ids) ? NULL
                                                                                         : tn_store_failure_memory();
}
