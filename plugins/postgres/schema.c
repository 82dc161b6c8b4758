/*
 * schema.c - see schema.h.
 *
 *   meta         one row: the application, the version of the schema, a number that a new schema draws at random
 *                (`incarnation`), and one that counts changes of the collections (`epoch`)
 *   collections  names and numbers of collections; the members whose values are in the columns m1 … of `hot`
 *   records      records that are written once: checkpoints, journals, bodies
 *   hot          records that change often and are found by their members: Tasks, threads. Free space in each page, so
 *                that an update finds room beside the old row, and vacuum runs early. A separate table, so that vacuum
 *                does not read the indexes of all checkpoints
 *   texts, vectors  search data, which few records have
 *   commits      one row for each commit, so that a host whose connection was lost during COMMIT finds out whether it
 *                was applied
 *   readable     a view for people
 *
 * To change the schema, add a step; never edit a released one. A step must be such that a host of an older release
 * fails with STORE_VERSION, not with wrong data: each transaction compares the version (batch.c).
 */
#include "schema.h"
#include "encode.h"
#include <endian.h>

#define SCHEMA_APPLICATION "tenon"
#define SCHEMA_LOCK        "6061712493452329294" /* of pg_advisory_xact_lock, for creating and upgrading */
#define INDEX_COLUMNS      4                     /* of members; with more, an entry might be too large for a page */
#define BACKFILL_ROWS      500

/* `@` stands for the quoted name of the schema. */
static const char *const step_1[] = {
    "CREATE TABLE @.meta (application text NOT NULL, version int4 NOT NULL, incarnation int8 NOT NULL, epoch int8 NOT "
    "NULL)",
    "INSERT INTO @.meta VALUES ('" SCHEMA_APPLICATION "', 0, (random() * 4611686018427387904)::int8, 0)",
    "CREATE TABLE @.collections (id int4 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name bytea NOT NULL UNIQUE,"
    " hot bool NOT NULL, members bytea[] NOT NULL DEFAULT '{}')",
    "CREATE TABLE @.records (collection int4 NOT NULL, key bytea NOT NULL, version int8 NOT NULL, expires_at int8,"
    " found_by int2 NOT NULL, json bytea, bytes bytea, PRIMARY KEY (collection, key))",
    "CREATE TABLE @.hot (collection int4 NOT NULL, key bytea NOT NULL, version int8 NOT NULL, expires_at int8,"
    " found_by int2 NOT NULL, json bytea, bytes bytea, m1 bytea, m2 bytea, m3 bytea, m4 bytea, m5 bytea, m6 bytea,"
    " PRIMARY KEY (collection, key))"
    " WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,"
    " autovacuum_analyze_scale_factor = 0.2, autovacuum_vacuum_cost_delay = 0)",
    "CREATE INDEX records_expire ON @.records (expires_at) WHERE expires_at IS NOT NULL",
    "CREATE INDEX hot_expire ON @.hot (expires_at) WHERE expires_at IS NOT NULL",
    "CREATE TABLE @.texts (collection int4 NOT NULL, key bytea NOT NULL, words bytea NOT NULL, total int4 NOT NULL,"
    " terms bytea[] NOT NULL, counts int4[] NOT NULL, PRIMARY KEY (collection, key))",
    "CREATE INDEX texts_terms ON @.texts USING gin (terms)",
    "CREATE TABLE @.vectors (collection int4 NOT NULL, key bytea NOT NULL, vector bytea NOT NULL,"
    " PRIMARY KEY (collection, key))",
    "CREATE TABLE @.commits (writer int8 NOT NULL, number int8 NOT NULL, at timestamptz NOT NULL DEFAULT now(),"
    " PRIMARY KEY (writer, number))",
    "CREATE VIEW @.readable AS SELECT convert_from(c.name, 'UTF8') AS collection,"
    " replace(encode(r.key, 'escape'), E'\\\\000', '?') AS key, r.version, to_timestamp(r.expires_at / 1000.0) AS"
    " expires_at, encode(r.json, 'escape') AS json, r.bytes FROM (SELECT collection, key, version, expires_at, json, "
    "bytes"
    " FROM @.records UNION ALL SELECT collection, key, version, expires_at, json, bytes FROM @.hot) r"
    " JOIN @.collections c ON c.id = r.collection",
    NULL};
static const char *const *const steps[] = {step_1};
#define NEWEST ((int64_t)(sizeof steps / sizeof *steps))

/* ---- Versions ---- */

#define SELECT_META        "SELECT application = '" SCHEMA_APPLICATION "', version, incarnation, epoch FROM @.meta"
#define SELECT_COLLECTIONS "SELECT id, name, hot, members FROM @.collections"

struct identity {
    bool schema;           /* the schema exists */
    int64_t tables, metas; /* in it */
    bool ours;
    int64_t version, incarnation, epoch;
};

static void sql_add_schema(struct sql *sql, const tn_store *store, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '@')
            sql_add(sql, "%s", store->settings.schema_sql);
        else
            sql_add(sql, "%c", *text);
    }
}

static tn_value schema_send(tn_store *store, const char *text) {
    struct tn_arena arena = TN_ARENA;
    struct sql sql;
    sql_init(&sql, &arena);
    sql_add_schema(&sql, store, text);
    tn_value why = connection_send(store, &sql);
    tn_arena_free(&arena);
    return why;
}

static tn_value schema_execute(tn_store *store, const char *text) {
    tn_value why = schema_send(store, text);
    return why != NULL ? why : connection_run(store);
}

static tn_value schema_identify(tn_store *store, struct identity *out) {
    struct tn_arena arena = TN_ARENA;
    struct sql sql;
    sql_init(&sql, &arena);
    *out = (struct identity){.schema = false};
    sql_add(&sql,
            "SELECT (SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = %s), count(k.oid),"
            " count(k.oid) FILTER (WHERE k.relname = 'meta') FROM pg_catalog.pg_class k JOIN pg_catalog.pg_namespace n"
            " ON n.oid = k.relnamespace WHERE n.nspname = %s",
            store->settings.schema_text, store->settings.schema_text);
    tn_value why = connection_query(store, &sql);
    if (why == NULL) {
        const PGresult *result = connection_result(store, 0);
        out->schema = result_int(result, 0, 0) > 0;
        out->tables = result_int(result, 0, 1);
        out->metas = result_int(result, 0, 2);
    }
    if (why == NULL && out->metas > 0) {
        why = schema_execute(store, SELECT_META);
        const PGresult *result = why == NULL ? connection_result(store, 0) : NULL;
        if (why == NULL && PQntuples(result) != 1)
            why = connection_damaged(store, "its table `meta` must have one row");
        if (why == NULL) {
            out->ours = result_int(result, 0, 0) != 0;
            out->version = result_int(result, 0, 1);
            out->incarnation = result_int(result, 0, 2);
            out->epoch = result_int(result, 0, 3);
        }
    }
    tn_arena_free(&arena);
    return why;
}

/* Returns NULL if the schema can be used: it is empty, or of this release or an older one. */
static tn_value schema_check(tn_store *store, const struct identity *found) {
    const struct settings *settings = &store->settings;
    bool writes = !settings->read_only && !store->standby;
    if (found->tables == 0) {
        if (writes) return NULL;
        return tn_store_failure("STORE_READ_ONLY", "%s: the schema %s is empty and %s", store->place,
                                settings->schema_sql,
                                store->standby ? "the server is a standby" : "the store was opened with read_only");
    }
    if (!found->ours)
        return tn_store_failure("STORE_ERROR",
                                "%s: the schema %s belongs to another application; nothing was changed: give the store "
                                "another `schema`",
                                store->place, settings->schema_sql);
    if (found->version < 1) return connection_damaged(store, "its version is not positive");
    if (found->version > NEWEST)
        return tn_store_failure(
            "STORE_VERSION",
            "%s: the schema %s was written by a newer release (it has version %lld, this release "
            "supports %lld); nothing was changed: use that release, or give the store another schema",
            store->place, settings->schema_sql, (long long)found->version, (long long)NEWEST);
    if (found->version < NEWEST && !writes)
        return tn_store_failure(
            "STORE_READ_ONLY",
            "%s: the schema %s was written by an older release (it has version %lld, this release needs "
            "%lld): open it once for writing",
            store->place, settings->schema_sql, (long long)found->version, (long long)NEWEST);
    return NULL;
}

static tn_value schema_apply_steps(tn_store *store, const struct identity *found) {
    tn_value why = found->schema ? NULL : schema_execute(store, "CREATE SCHEMA @");
    for (int64_t i = found->version; why == NULL && i < NEWEST; i++)
        for (const char *const *text = steps[i]; why == NULL && *text != NULL; text++)
            why = schema_execute(store, *text);
    char update[64];
    (void)snprintf(update, sizeof update, "UPDATE @.meta SET version = %lld", (long long)NEWEST);
    return why != NULL ? why : schema_execute(store, update);
}

/* Identifies the schema again under the lock, because another host may be upgrading it. */
static tn_value schema_upgrade(tn_store *store, struct identity *found) {
    tn_value why = connection_send_text(store, "BEGIN");
    if (why == NULL) why = connection_send_text(store, "SELECT pg_advisory_xact_lock(" SCHEMA_LOCK ")");
    if (why == NULL) why = connection_run(store);
    if (why == NULL) why = schema_identify(store, found);
    if (why == NULL) why = schema_check(store, found);
    if (why == NULL && found->version < NEWEST) {
        why = schema_apply_steps(store, found);
        if (why == NULL) why = schema_identify(store, found);
    }
    if (why == NULL) why = schema_execute(store, "COMMIT");
    if (why != NULL) connection_rollback(store);
    return why;
}

/* ---- Collections ---- */

struct collection *schema_collection(tn_store *store, struct tn_store_text name) {
    struct collection *collection = store->collections;
    while (collection != NULL && tn_store_text_compare(collection->name, name) != 0) collection = collection->next;
    return collection;
}

/* Splits "updated_at:13" into a path and a number of bytes, which it returns; 0: there is none. */
static uint64_t path_split(struct tn_store_text *path) {
    uint64_t at = path->length, number = 0, scale = 1;
    while (at > 0 && path->data[at - 1] >= '0' && path->data[at - 1] <= '9' && scale < 1000000000) {
        number += (uint64_t)(path->data[--at] - '0') * scale;
        scale *= 10;
    }
    if (at == 0 || at == path->length || path->data[at - 1] != ':' || number == 0) return 0;
    path->length = at - 1;
    return number;
}

/*
 * Reads a member as it is in the table `collections`: a path, or "updated_at:13:" for the start of a text. (Without the
 * colon at the end, it would be the member that an earlier version of this plugin made of an index over a start.)
 */
static tn_value path_read(tn_store *store, struct tn_store_text text, struct tn_store_path *out, uint64_t *start) {
    struct tn_store_path borrowed;
    *start = 0;
    if (text.length > 0 && text.data[text.length - 1] == ':') {
        text.length--;
        *start = path_split(&text);
    }
    tn_value source = tn_text_n(text.data, text.length);
    tn_value why = tn_store_path_read(&store->collection_arena, source, "indexes", &borrowed);
    if (why == NULL) {
        char *copy = tn_arena_copy(&store->collection_arena, text.data, text.length);
        *out = borrowed;
        out->text = (struct tn_store_text){copy, text.length};
        if (copy == NULL) why = tn_store_failure_memory();
    }
    tn_release(source);
    return why;
}

/* The elements of a bytea[] in binary form. False if it has another form, or too many. */
static bool array_next(struct tn_store_text *rest, struct tn_store_text *element) {
    uint32_t length;
    if (rest->length < 4) return false;
    memcpy(&length, rest->data, 4);
    length = be32toh(length);
    if (length > rest->length - 4) return false;
    *element = (struct tn_store_text){rest->data + 4, length};
    *rest = (struct tn_store_text){rest->data + 4 + length, rest->length - 4 - length};
    return true;
}

/* Adds a row (id, name, hot, members) to the collections of the store, or updates what is known. */
static tn_value collection_add_row(tn_store *store, const PGresult *result, int row, struct collection **out) {
    struct tn_store_text name = result_bytes(result, row, 1), rest = result_bytes(result, row, 3), path;
    struct collection *collection = schema_collection(store, name);
    if (collection == NULL) {
        collection = tn_arena_alloc(&store->collection_arena, sizeof *collection);
        char *copy = tn_arena_copy(&store->collection_arena, name.data, name.length);
        if (collection == NULL || copy == NULL) return tn_store_failure_memory();
        *collection = (struct collection){.next = store->collections, .name = {copy, name.length}};
        store->collections = collection;
    }
    collection->id = (int32_t)result_int(result, row, 0);
    collection->hot = result_int(result, row, 2) != 0;
    collection->member_count = 0;
    if (rest.length > 20) {
        rest = (struct tn_store_text){rest.data + 20, rest.length - 20};
        while (collection->member_count < CONNECTION_MEMBERS && array_next(&rest, &path)) {
            tn_value why = path_read(store, path, &collection->members[collection->member_count],
                                     &collection->starts[collection->member_count]);
            if (why != NULL) return why;
            collection->member_count++;
        }
    }
    if (out != NULL) *out = collection;
    return NULL;
}

/* Reads the collections of the n-th result of the round. */
static tn_value collections_read_result(tn_store *store, uint64_t n) {
    const PGresult *result = connection_result(store, n);
    tn_value why = NULL;
    store->collections = NULL;
    tn_arena_free(&store->collection_arena);
    for (int row = 0; why == NULL && row < PQntuples(result); row++) why = collection_add_row(store, result, row, NULL);
    store->stale = why != NULL;
    return why;
}

static tn_value collections_read(tn_store *store) {
    tn_value why = schema_send(store, "SELECT epoch FROM @.meta");
    if (why == NULL) why = schema_send(store, SELECT_COLLECTIONS);
    if (why == NULL) why = connection_run(store);
    if (why != NULL) return why;
    store->epoch = result_int(connection_result(store, 0), 0, 0);
    return collections_read_result(store, 1);
}

tn_value schema_query(tn_store *store, const struct collection *collection, const struct sql *sql) {
    tn_value why = connection_send(store, sql);
    /* A collection that is hot stays so, and batch.c checks for the whole transaction. */
    bool checks = !collection->hot && store->batch == NULL;
    if (why == NULL && checks) why = schema_send(store, "SELECT epoch FROM @.meta");
    if (why == NULL) why = connection_run(store);
    if (why != NULL || !checks) return why;
    const PGresult *epoch = connection_result(store, 1);
    if (PQntuples(epoch) == 1 && result_int(epoch, 0, 0) == store->epoch) return NULL;
    store->stale = true;
    store->retry = RETRY_CONFLICT;
    return tn_store_failure("STORE_BUSY", "%s: another host has changed the collections", store->place);
}

tn_value schema_refresh(tn_store *store) { return store->stale ? collections_read(store) : NULL; }

tn_value schema_lookup(tn_store *store, struct tn_store_text name, bool create, struct collection **out) {
    struct tn_arena arena = TN_ARENA;
    struct sql sql;
    tn_value why = NULL;
    *out = schema_collection(store, name);
    if (*out != NULL) return NULL;
    if (create) {
        sql_init(&sql, &arena);
        sql_add(&sql, "INSERT INTO %s.collections (name, hot) VALUES (", store->settings.schema_sql);
        sql_bind_bytes(&sql, name);
        sql_add(&sql, ", false) ON CONFLICT (name) DO NOTHING");
        why = connection_query(store, &sql);
    }
    if (why == NULL) {
        sql_init(&sql, &arena);
        sql_add(&sql, "SELECT id, name, hot, members FROM %s.collections WHERE name = ", store->settings.schema_sql);
        sql_bind_bytes(&sql, name);
        why = connection_query(store, &sql);
    }
    const PGresult *result = why == NULL ? connection_result(store, 0) : NULL;
    if (why == NULL && PQntuples(result) > 0) why = collection_add_row(store, result, 0, out);
    tn_arena_free(&arena);
    return why;
}

/* The usual case in one round: the schema exists and has this version. *done is false otherwise. */
static tn_value schema_open_current(tn_store *store, bool *done) {
    *done = false;
    tn_value why = schema_send(store, SELECT_META);
    if (why == NULL) why = schema_send(store, SELECT_COLLECTIONS);
    if (why == NULL) why = connection_run(store);
    if (why != NULL && store->retry == RETRY_NO && connection_is_open(store)) {
        tn_release(why); /* there is no such table: schema_identify finds out why */
        return NULL;
    }
    if (why != NULL) return why;
    const PGresult *meta = connection_result(store, 0);
    if (PQntuples(meta) != 1 || result_int(meta, 0, 0) == 0 || result_int(meta, 0, 1) != NEWEST) return NULL;
    *done = true;
    store->version = NEWEST;
    if (!store->opened) store->version_before = NEWEST;
    store->incarnation = result_int(meta, 0, 2);
    store->epoch = result_int(meta, 0, 3);
    return collections_read_result(store, 1);
}

tn_value schema_open(tn_store *store) {
    struct identity found = {.schema = false};
    bool done = false;
    tn_value why = schema_open_current(store, &done);
    if (why != NULL || done) return why;
    why = schema_identify(store, &found);
    if (why == NULL) why = schema_check(store, &found);
    if (!store->opened) store->version_before = found.version;
    if (why == NULL && found.version < NEWEST) why = schema_upgrade(store, &found);
    if (why != NULL) return why;
    store->version = found.version;
    store->incarnation = found.incarnation;
    return collections_read(store);
}

/* ---- Indexes ---- */

/* Returns the column of a member of an index, from 0; member_count if it has none. */
static uint64_t collection_member(const struct collection *collection, struct tn_store_text path) {
    uint64_t i = 0, start = path_split(&path);
    while (i < collection->member_count &&
           (collection->starts[i] != start || tn_store_text_compare(collection->members[i].text, path) != 0))
        i++;
    return i;
}

/* The last key of a page. */
struct last_key {
    uint64_t length;
    char bytes[TN_STORE_KEY_MAX];
};

/* Computes a member of `count` rows (key, json) and stores it in column `m`. */
static tn_value backfill_rows(tn_store *store, const struct collection *collection, uint64_t m,
                              const struct tn_store_path *path, uint64_t start, struct tn_arena *arena, int *count,
                              struct last_key *last) {
    const PGresult *rows = connection_result(store, 0);
    struct array keys, members;
    struct sql sql;
    *count = PQntuples(rows);
    if (*count == 0) return NULL;
    array_init(&keys, arena, SQL_BYTEA);
    array_init(&members, arena, SQL_BYTEA);
    for (int row = 0; row < *count; row++) {
        struct tn_store_text key = result_bytes(rows, row, 0), json = result_bytes(rows, row, 1);
        char encoded[ENCODE_MAX];
        tn_value value = NULL;
        if (json.data != NULL && tn.value->from_json(tn.host, json.data, json.length, &value, NULL) != TN_OK)
            return connection_damaged(store, "a record's value is not JSON");
        uint64_t length = encode_member_start(tn_store_path_get(path, value), start, encoded);
        tn_release(value);
        array_add_bytes(&keys, key);
        array_add_bytes(&members, (struct tn_store_text){encoded, length});
        if (key.data == NULL || key.length > sizeof last->bytes) return connection_damaged(store, "a key is too long");
        memcpy(last->bytes, key.data, key.length);
        last->length = key.length;
    }
    sql_init(&sql, arena);
    sql_add(&sql, "UPDATE %s.hot h SET m%llu = u.m FROM unnest(", store->settings.schema_sql,
            (unsigned long long)m + 1);
    sql_bind_array(&sql, &keys);
    sql_add(&sql, ", ");
    sql_bind_array(&sql, &members);
    sql_add(&sql, ") AS u(key, m) WHERE h.collection = %d AND h.key = u.key", collection->id);
    return connection_query(store, &sql);
}

/* Fills the new column of all records. The table is locked, so that no other host writes records without it. */
static tn_value backfill(tn_store *store, const struct collection *collection, uint64_t m,
                         const struct tn_store_path *path, uint64_t start) {
    struct last_key last = {.length = 0};
    tn_value why = NULL;
    int count = BACKFILL_ROWS;
    while (why == NULL && count == BACKFILL_ROWS) {
        struct tn_arena arena = TN_ARENA;
        struct sql sql;
        sql_init(&sql, &arena);
        sql_add(&sql, "SELECT key, json FROM %s.hot WHERE collection = %d AND key %s ", store->settings.schema_sql,
                collection->id, last.length == 0 ? ">=" : ">");
        sql_bind_bytes(&sql, (struct tn_store_text){last.bytes, last.length});
        sql_add(&sql, " ORDER BY key LIMIT %d", BACKFILL_ROWS);
        why = connection_query(store, &sql);
        if (why == NULL) why = backfill_rows(store, collection, m, path, start, &arena, &count, &last);
        tn_arena_free(&arena);
    }
    return why;
}

/* Adds to the collection a column for the member, in one transaction. It becomes hot. */
static tn_value collection_add_member(tn_store *store, struct tn_store_text name, struct tn_store_text path_text) {
    struct tn_arena arena = TN_ARENA;
    struct collection *collection = NULL;
    struct tn_store_path path;
    struct sql sql;
    const char *schema = store->settings.schema_sql;
    tn_value why = schema_execute(store, "BEGIN");
    if (why == NULL) why = schema_execute(store, "LOCK TABLE @.hot, @.records IN EXCLUSIVE MODE");
    if (why == NULL) why = collections_read(store);
    if (why == NULL) why = schema_lookup(store, name, true, &collection);
    uint64_t m = why == NULL ? collection_member(collection, path_text) : 0;
    bool missing = why == NULL && m == collection->member_count && m < CONNECTION_MEMBERS;
    uint64_t start = 0;
    char *stored = tn_arena_alloc(&arena, path_text.length + 2);
    if (stored == NULL && why == NULL) why = tn_store_failure_memory();
    if (missing && why == NULL) {
        struct tn_store_text split = path_text;
        memcpy(stored, path_text.data, path_text.length);
        if (path_split(&split) > 0) stored[path_text.length++] = ':';
        path_text.data = stored;
        why = path_read(store, path_text, &path, &start);
    }
    if (missing && why == NULL && !collection->hot) {
        sql_init(&sql, &arena);
        sql_add(
            &sql,
            "WITH moved AS (DELETE FROM %s.records WHERE collection = %d RETURNING *) INSERT INTO %s.hot (collection,"
            " key, version, expires_at, found_by, json, bytes) SELECT collection, key, version, expires_at, found_by,"
            " json, bytes FROM moved",
            schema, collection->id, schema);
        why = connection_query(store, &sql);
    }
    if (missing && why == NULL) why = backfill(store, collection, m, &path, start);
    if (missing && why == NULL) {
        sql_init(&sql, &arena);
        sql_add(&sql, "UPDATE %s.collections SET hot = true, members = members || ", schema);
        sql_bind_bytes(&sql, path_text);
        sql_add(&sql, " WHERE id = %d", collection->id);
        why = connection_query(store, &sql);
        if (why == NULL) why = schema_execute(store, "UPDATE @.meta SET epoch = epoch + 1");
        if (why == NULL) why = collections_read(store);
    }
    if (why == NULL) why = schema_execute(store, "COMMIT");
    if (why != NULL) connection_rollback(store);
    tn_arena_free(&arena);
    return why;
}

/* Names of indexes. */
struct names {
    struct tn_arena arena;
    char **list;
    uint64_t count;
};

static bool names_contain(const struct names *names, const char *name) {
    uint64_t i = 0;
    while (i < names->count && strcmp(names->list[i], name) != 0) i++;
    return i < names->count;
}

/* Reads the names of the indexes on `hot`. The caller frees the arena. */
static tn_value names_read(tn_store *store, struct names *out) {
    struct sql sql;
    sql_init(&sql, &out->arena);
    sql_add(&sql,
            "SELECT k.relname::text::bytea FROM pg_catalog.pg_class k WHERE k.relkind = 'i' AND k.relnamespace ="
            " (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = %s)",
            store->settings.schema_text);
    tn_value why = connection_query(store, &sql);
    if (why != NULL) return why;
    const PGresult *result = connection_result(store, 0);
    out->list = tn_arena_alloc(&out->arena, ((uint64_t)PQntuples(result) + 1) * sizeof *out->list);
    if (out->list == NULL) return tn_store_failure_memory();
    for (int row = 0; row < PQntuples(result); row++) {
        struct tn_store_text name = result_bytes(result, row, 0);
        out->list[out->count] = tn_arena_copy(&out->arena, name.data, name.length);
        if (out->list[out->count++] == NULL) return tn_store_failure_memory();
    }
    return NULL;
}

/* Creates the index over columns of `hot` whose numbers are `columns`. */
static tn_value index_create(tn_store *store, const struct names *existing, const struct collection *collection,
                             const uint64_t *columns, uint64_t count) {
    struct tn_arena arena = TN_ARENA;
    struct sql sql;
    char name[64] = "";
    uint64_t used = (uint64_t)snprintf(name, sizeof name, "hot_%d", collection->id);
    for (uint64_t i = 0; i < count && used < sizeof name; i++)
        used += (uint64_t)snprintf(name + used, sizeof name - used, "_m%llu", (unsigned long long)columns[i] + 1);
    tn_value why = NULL;
    if (!names_contain(existing, name)) {
        sql_init(&sql, &arena);
        sql_add(&sql, "CREATE INDEX IF NOT EXISTS %s ON %s.hot (", name, store->settings.schema_sql);
        for (uint64_t i = 0; i < count; i++) sql_add(&sql, "m%llu, ", (unsigned long long)columns[i] + 1);
        sql_add(&sql, "key) WHERE collection = %d", collection->id);
        /* Two hosts may create it at the same time. */
        why = connection_send_text(store, "BEGIN");
        if (why == NULL) why = connection_send_text(store, "SELECT pg_advisory_xact_lock(" SCHEMA_LOCK ")");
        if (why == NULL) why = connection_send(store, &sql);
        if (why == NULL) why = connection_send_text(store, "COMMIT");
        if (why == NULL) why = connection_run(store);
        if (why != NULL) connection_rollback(store);
    }
    tn_arena_free(&arena);
    return why;
}

static tn_value index_ensure(tn_store *store, const struct names *existing, struct tn_store_text name, tn_value paths) {
    uint64_t count = tn.value->count(paths), columns[TN_STORE_ORDER_MAX];
    if (count == 0 || count > TN_STORE_ORDER_MAX)
        return tn_store_failure("INVALID", "`indexes`: an index must be an array of 1 to %d member paths",
                                TN_STORE_ORDER_MAX);
    for (uint64_t i = 0; i < count; i++) {
        struct tn_store_path checked;
        struct tn_arena arena = TN_ARENA;
        tn_value why = tn_store_path_read(&arena, tn.value->at(paths, i), "indexes", &checked);
        tn_arena_free(&arena);
        struct tn_store_text path = tn_store_text_of(tn.value->at(paths, i));
        if (why == NULL && path.length > 0 && path.data[path.length - 1] == ':') return NULL; /* see path_read */
        struct collection *collection = schema_collection(store, name);
        bool known = collection != NULL && collection_member(collection, path) < collection->member_count;
        if (why == NULL && !known && !store->settings.read_only && !store->standby)
            why = collection_add_member(store, name, path);
        if (why != NULL) return why;
        collection = schema_collection(store, name);
        columns[i] = collection != NULL ? collection_member(collection, path) : 0;
        if (collection == NULL || columns[i] == collection->member_count)
            return NULL; /* queries work without an index */
    }
    if (store->settings.read_only || store->standby) return NULL;
    if (count > INDEX_COLUMNS) count = INDEX_COLUMNS;
    return index_create(store, existing, schema_collection(store, name), columns, count);
}

tn_value schema_create_indexes(tn_store *store, tn_value indexes) {
    tn_value key = NULL, lists = NULL, why = NULL;
    int32_t kind = tn.value->kind(indexes);
    if (kind == TN_NONE || kind == TN_NULL) return NULL;
    if (kind != TN_OBJECT)
        return tn_store_failure("INVALID", "`indexes` must be an object; found %s", tn_kind_name(indexes));
    struct names existing = {.arena = TN_ARENA};
    why = names_read(store, &existing);
    for (uint64_t i = 0; why == NULL && tn.value->entry(indexes, i, &key, &lists) == TN_OK; i++)
        for (uint64_t j = 0; why == NULL && j < tn.value->count(lists); j++)
            why = index_ensure(store, &existing, tn_store_text_of(key), tn.value->at(lists, j));
    tn_arena_free(&existing.arena);
    return why;
}
