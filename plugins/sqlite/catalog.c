/*
 * catalog.c - looks up and adds collections and indexed members, and creates indexes.
 *
 * The tables `collections` and `members` have them. A number is never used for another collection, and a place never
 * for another member, so what is in memory stays right; only new members make it incomplete.
 */
#include "catalog.h"
#include "schema.h"
#include "sql.h"

#define MEMBER_TYPE "tenon member" /* struct member: the second argument of tn_indexed */

/* ---- Reading ---- */

static void collection_free(struct collection *collection) {
    if (collection == NULL) return;
    tn_arena_free(&collection->arena);
    tn_store_free(collection);
}

void catalog_forget(tn_store *store) {
    for (unsigned i = 0; i < CATALOG_KNOWN; i++) {
        collection_free(store->known[i]);
        store->known[i] = NULL;
    }
}

static tn_value read_schema_version(tn_store *store, int64_t *out) {
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(store, "PRAGMA schema_version", &statement);
    if (why == NULL && database_step(store, statement, &why)) *out = sqlite3_column_int64(statement, 0);
    if (statement != NULL) (void)sqlite3_reset(statement);
    return why;
}

tn_value catalog_refresh(tn_store *store) {
    int64_t version = store->schema_version;
    tn_value why = read_schema_version(store, &version);
    if (why == NULL && version != store->schema_version) {
        catalog_forget(store);
        store->schema_version = version;
    }
    return why;
}

static struct tn_store_text text_copy(struct tn_arena *arena, struct tn_store_text text) {
    char *copy = tn_arena_alloc(arena, text.length + 1);
    if (copy == NULL) return (struct tn_store_text){NULL, 0};
    memcpy(copy, text.data, text.length);
    return (struct tn_store_text){copy, text.length};
}

/* Reads the current row: path, prefix, place, leads. */
static tn_value member_read(tn_store *store, struct collection *collection, sqlite3_stmt *row) {
    struct tn_store_text path = text_copy(&collection->arena, database_column_text(row, 0));
    int64_t prefix = sqlite3_column_int64(row, 1), place = sqlite3_column_int64(row, 2);
    if (path.data == NULL) return tn_store_failure_memory();
    if (collection->count == CATALOG_PLACES || place < 1 || place > CATALOG_PLACES || prefix < 0)
        return database_damaged(store, "its list of indexed members is not valid");
    struct member *member = &collection->members[collection->count++];
    tn_value text = tn_text_n(path.data, path.length);
    tn_value why = tn_store_path_read(&collection->arena, text, "indexes", &member->path);
    tn_release(text);
    member->path.text = path;
    member->prefix = (uint64_t)prefix;
    member->place = (int)place;
    member->leads = sqlite3_column_int(row, 3) != 0;
    return why;
}

static tn_value members_read(tn_store *store, struct collection *collection) {
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(
        store, "SELECT path, prefix, place, leads FROM members WHERE collection = ? ORDER BY place", &statement);
    if (why != NULL) return why;
    (void)sqlite3_bind_int64(statement, 1, collection->id);
    while (why == NULL && database_step(store, statement, &why)) why = member_read(store, collection, statement);
    (void)sqlite3_reset(statement);
    return why;
}

static tn_value collection_read_id(tn_store *store, struct collection *collection) {
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(store, "SELECT id FROM collections WHERE name = ?", &statement);
    if (why != NULL) return why;
    collection->id = -1;
    database_bind_text(statement, 1, collection->name);
    if (database_step(store, statement, &why)) collection->id = sqlite3_column_int64(statement, 0);
    (void)sqlite3_reset(statement);
    return why != NULL || collection->id < 0 ? why : members_read(store, collection);
}

static tn_value collection_add(tn_store *store, struct tn_store_text name) {
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(store, "INSERT INTO collections (name) VALUES (?)", &statement);
    if (why != NULL) return why;
    database_bind_text(statement, 1, name);
    return database_run(store, statement);
}

/* Replaces an entry of store->known; those that are used first stay. */
static void catalog_keep(tn_store *store, struct collection *collection) {
    unsigned at = 0;
    while (at < CATALOG_KNOWN && store->known[at] != NULL) at++;
    if (at == CATALOG_KNOWN) at = CATALOG_KNOWN / 2 + (unsigned)(store->clock % (CATALOG_KNOWN / 2));
    collection_free(store->known[at]);
    store->known[at] = collection;
}

static tn_value catalog_read(tn_store *store, struct tn_store_text name, bool create, const struct collection **out) {
    struct collection *collection = tn_store_alloc(sizeof *collection);
    if (collection == NULL) return tn_store_failure_memory();
    collection->name = text_copy(&collection->arena, name);
    tn_value why = collection->name.data != NULL ? collection_read_id(store, collection) : tn_store_failure_memory();
    if (why == NULL && collection->id < 0 && create) {
        why = collection_add(store, name);
        store->added_collection = true;
        if (why == NULL) collection->id = sqlite3_last_insert_rowid(store->database);
    }
    if (why == NULL && collection->id >= 0) {
        catalog_keep(store, collection);
        *out = collection;
        return NULL;
    }
    collection_free(collection);
    return why;
}

static tn_value catalog_lookup(tn_store *store, struct tn_store_text name, bool create, const struct collection **out) {
    static const struct collection none = {.id = -1};
    *out = &none;
    for (unsigned i = 0; i < CATALOG_KNOWN && store->known[i] != NULL; i++) {
        if (tn_store_text_compare(store->known[i]->name, name) != 0) continue;
        *out = store->known[i];
        return NULL;
    }
    return catalog_read(store, name, create, out);
}

tn_value catalog_find(tn_store *store, struct tn_store_text name, const struct collection **out) {
    return catalog_lookup(store, name, false, out);
}

tn_value catalog_require(tn_store *store, struct tn_store_text name, const struct collection **out) {
    return catalog_lookup(store, name, true, out);
}

const struct member *catalog_member(const struct collection *collection, const struct tn_store_path *path) {
    for (unsigned i = 0; i < collection->count; i++)
        if (tn_store_text_compare(collection->members[i].path.text, path->text) == 0) return &collection->members[i];
    return NULL;
}

/* ---- Values ---- */

static uint64_t prefix_length(const struct member *member, struct tn_store_text text) {
    return member->prefix > 0 && text.length > member->prefix ? member->prefix : text.length;
}

/* The kinds are those of json_extract: true is 1, and other values than texts and numbers are their JSON. */
void catalog_bind(sqlite3_stmt *statement, int at, const struct member *member, tn_value value) {
    tn_value found = tn_store_path_get(&member->path, value);
    int32_t kind = tn.value->kind(found), truth = 0;
    int64_t integer = 0;
    double real = 0;
    if (kind == TN_BOOL && tn.value->as_bool(found, &truth) == TN_OK) {
        (void)sqlite3_bind_int(statement, at, truth != 0);
    } else if (kind == TN_INT && tn.value->as_int(found, &integer) == TN_OK) {
        (void)sqlite3_bind_int64(statement, at, integer);
    } else if (kind == TN_DOUBLE && tn.value->as_double(found, &real) == TN_OK) {
        (void)sqlite3_bind_double(statement, at, real);
    } else if (kind == TN_STRING) {
        struct tn_store_text text = tn_store_text_of(found);
        text.length = prefix_length(member, text);
        database_bind_text(statement, at, text);
    } else if (kind > TN_NULL) {
        tn_value json = tn_to_json(found);
        struct tn_store_text text = tn_store_text_of(json);
        (void)sqlite3_bind_text64(statement, at, text.data != NULL ? text.data : "", prefix_length(member, text),
                                  SQLITE_TRANSIENT, SQLITE_UTF8);
        tn_release(json);
    } else {
        (void)sqlite3_bind_null(statement, at);
    }
}

/* tn_indexed(json, member): what catalog_bind binds. */
static void sql_tn_indexed(sqlite3_context *context, int count, sqlite3_value **arguments) {
    const struct member *member = sqlite3_value_pointer(arguments[1], MEMBER_TYPE);
    (void)count;
    if (member != NULL) sql_result_member(context, arguments[0], &member->path, member->prefix);
}

tn_value catalog_register(tn_store *store) {
    return sqlite3_create_function(store->database, "tn_indexed", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
                                   sql_tn_indexed, NULL, NULL) == SQLITE_OK
               ? NULL
               : database_failure(store);
}

/* ---- Creating indexes ---- */

/* Splits "updated_at:13" into a path and a number of bytes. */
static void path_split(struct tn_store_text *path, int64_t *prefix) {
    uint64_t at = path->length, number = 0, scale = 1;
    *prefix = 0;
    while (at > 0 && path->data[at - 1] >= '0' && path->data[at - 1] <= '9' && scale < 1000000000) {
        number += (uint64_t)(path->data[--at] - '0') * scale;
        scale *= 10;
    }
    if (at == 0 || at == path->length || path->data[at - 1] != ':' || number == 0) return;
    path->length = at - 1;
    *prefix = (int64_t)number;
}

static tn_value member_fill(tn_store *store, const struct collection *collection, const struct member *member) {
    char sql[96];
    sqlite3_stmt *statement = NULL;
    union {
        const void *from;
        void *to;
    } pointer = {member}; /* SQLite's parameter is not const; tn_indexed only reads */
    (void)snprintf(sql, sizeof sql, "UPDATE entries SET m%d = tn_indexed(json, ?) WHERE collection = ?", member->place);
    tn_value why = database_prepare(store, sql, &statement);
    if (why != NULL) return why;
    (void)sqlite3_bind_pointer(statement, 1, pointer.to, MEMBER_TYPE, NULL);
    (void)sqlite3_bind_int64(statement, 2, collection->id);
    return database_run(store, statement);
}

static tn_value member_write(tn_store *store, const struct collection *collection, struct tn_store_text path,
                             int64_t prefix, int place) {
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(
        store, "INSERT INTO members (collection, path, prefix, place, leads) VALUES (?, ?, ?, ?, 0)", &statement);
    if (why != NULL) return why;
    (void)sqlite3_bind_int64(statement, 1, collection->id);
    database_bind_text(statement, 2, path);
    (void)sqlite3_bind_int64(statement, 3, prefix);
    (void)sqlite3_bind_int(statement, 4, place);
    return database_run(store, statement);
}

/* Assigns a place to the member. *out is NULL if there is none left; queries then work without an index. */
static tn_value member_require(tn_store *store, struct tn_store_text name, tn_value path,
                               const struct collection **collection, const struct member **out) {
    struct tn_arena arena = TN_ARENA;
    struct tn_store_path read;
    int64_t prefix = 0;
    tn_value why = tn_store_path_read(&arena, path, "indexes", &read);
    if (why == NULL) path_split(&read.text, &prefix);
    if (why == NULL) why = catalog_require(store, name, collection);
    *out = why == NULL ? catalog_member(*collection, &read) : NULL;
    if (why == NULL && *out == NULL && (*collection)->count < CATALOG_PLACES) {
        why = member_write(store, *collection, read.text, prefix, (int)(*collection)->count + 1);
        catalog_forget(store);
        if (why == NULL) why = catalog_find(store, name, collection);
        if (why == NULL) *out = catalog_member(*collection, &read);
        if (why == NULL && *out != NULL) why = member_fill(store, *collection, *out);
    }
    tn_arena_free(&arena);
    return why;
}

static tn_value member_set_leads(tn_store *store, const struct collection *collection, const struct member *member) {
    sqlite3_stmt *statement = NULL;
    tn_value why =
        database_prepare(store, "UPDATE members SET leads = 1 WHERE collection = ? AND place = ?", &statement);
    if (why != NULL) return why;
    (void)sqlite3_bind_int64(statement, 1, collection->id);
    (void)sqlite3_bind_int(statement, 2, member->place);
    return database_run(store, statement);
}

/* Creates one index, in a transaction. `paths` has 1 to CATALOG_PLACES paths. */
static tn_value index_create(tn_store *store, struct tn_store_text name, tn_value paths) {
    char columns[CATALOG_PLACES * 8 + 8] = "", title[64] = "", sql[256];
    uint64_t count = tn.value->count(paths), used = 0, titled = 0;
    const struct collection *collection = NULL;
    const struct member *member = NULL;
    tn_value why = NULL;
    for (uint64_t i = 0; why == NULL && i < count; i++) {
        why = member_require(store, name, tn.value->at(paths, i), &collection, &member);
        if (why != NULL || member == NULL) return why;
        used += (uint64_t)snprintf(columns + used, sizeof columns - used, "m%d, ", member->place);
        titled += (uint64_t)snprintf(title + titled, sizeof title - titled, "_%d", member->place);
        if (i == 0) why = member_set_leads(store, collection, member);
        if (why == NULL) why = catalog_find(store, name, &collection);
    }
    if (why != NULL || collection == NULL) return why;
    (void)snprintf(sql, sizeof sql,
                   "CREATE INDEX IF NOT EXISTS entries_%lld%s ON entries (%skey) WHERE collection = %lld",
                   (long long)collection->id, title, columns, (long long)collection->id);
    why = database_execute(store, sql);
    catalog_forget(store);
    return why;
}

/* True if the file has this index. */
static tn_value index_exists(tn_store *store, struct tn_store_text name, tn_value paths, bool *out) {
    const struct collection *collection = NULL;
    struct tn_arena arena = TN_ARENA;
    char title[96] = "", sql[192];
    uint64_t count = tn.value->count(paths), titled = 0;
    int64_t found = 0, prefix = 0;
    tn_value why = catalog_find(store, name, &collection);
    *out = false;
    for (uint64_t i = 0; why == NULL && i < count; i++) {
        struct tn_store_path path;
        why = tn_store_path_read(&arena, tn.value->at(paths, i), "indexes", &path);
        if (why != NULL) break;
        path_split(&path.text, &prefix);
        const struct member *member = catalog_member(collection, &path);
        if (member == NULL) {
            *out = collection->count == CATALOG_PLACES; /* it cannot be created */
            tn_arena_free(&arena);
            return NULL;
        }
        if (i < CATALOG_PLACES)
            titled += (uint64_t)snprintf(title + titled, sizeof title - titled, "_%d", member->place);
    }
    tn_arena_free(&arena);
    if (why != NULL) return why;
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM sqlite_schema WHERE name = 'entries_%lld%s'",
                   (long long)collection->id, title);
    why = database_read_number(store, sql, &found);
    *out = found > 0;
    return why;
}

static tn_value index_require(tn_store *store, struct tn_store_text name, tn_value paths) {
    uint64_t count = tn.value->count(paths);
    bool exists = false;
    if (count == 0 || count > TN_STORE_ORDER_MAX)
        return tn_store_failure("INVALID", "`indexes`: an index must be an array of 1 to %d member paths",
                                TN_STORE_ORDER_MAX);
    tn_value why = index_exists(store, name, paths, &exists);
    if (why != NULL || exists || count > CATALOG_PLACES || store->read_only) return why;
    why = database_execute(store, "BEGIN IMMEDIATE");
    if (why == NULL) why = catalog_refresh(store);
    if (why == NULL) why = index_create(store, name, paths);
    if (why == NULL) why = database_execute(store, "COMMIT");
    if (why != NULL && !sqlite3_get_autocommit(store->database))
        (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    if (why != NULL) catalog_forget(store);
    return why;
}

tn_value catalog_create_indexes(tn_store *store, tn_value indexes) {
    tn_value key = NULL, lists = NULL, why = NULL;
    int32_t kind = tn.value->kind(indexes);
    if (kind == TN_NONE || kind == TN_NULL) return NULL;
    if (kind != TN_OBJECT)
        return tn_store_failure("INVALID", "`indexes` must be an object; found %s", tn_kind_name(indexes));
    for (uint64_t i = 0; why == NULL && tn.value->entry(indexes, i, &key, &lists) == TN_OK; i++)
        for (uint64_t j = 0; why == NULL && j < tn.value->count(lists); j++)
            why = index_require(store, tn_store_text_of(key), tn.value->at(lists, j));
    return why;
}
