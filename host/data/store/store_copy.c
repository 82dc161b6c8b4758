/*
 * store_copy.c - see store_copy.h.
 *
 *     store_copy_run      copy_check_stores   hosts, collections, an earlier copy
 *                         copy_begin          writes the note, clears the target
 *                         copy_all            pages of the source become batches; each moves the note
 *                         compare_all         both stores record by record
 *                         copy_end            removes the note
 *
 * Each batch has the note with the version that this copy wrote last as its condition: a second copy into the same
 * target makes the first one fail. While a batch is written, the next page is read. The size of pages adapts to the
 * records.
 */
#include "host/data/store/store_copy.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "host/base/loop.h"
#include "host/base/random.h"
#include "host/base/time_text.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/store/store_state.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAGE_BYTES      ((int64_t)4 << 20) /* of a page, about: the limit of records follows from the page before */
#define PAGE_FIRST      16                 /* records of the first page */
#define PAGE_RECORDS    1000
#define EXPIRES_SOON_MS 60000 /* a record that expires before may be missing in one store, because clocks differ */
#define NAMES_SHOWN     200   /* bytes of a key in a message */

/* ---- Reading: all records of a store, page by page ---- */

struct reader {
    struct store *store;
    tn_value names; /* the collections that remain; the first one is read. Owned */
    tn_value after; /* the last key that was read of it; NULL: none. Owned */
    int64_t limit;  /* records of the next page */
    bool asked;     /* `wait` is under way */
    struct store_wait wait;
    tn_value page; /* the last page; owned */
    size_t at;     /* the next record of it */
};

static tn_value reader_name(const struct reader *reader) { return value_at(reader->names, 0); }

/* Sends the query for the next page, if there is one. */
static void reader_ask(struct reader *reader) {
    if (reader->asked || !value_count(reader->names)) return;
    tn_value list = value_set_take(value_object_reserve(4), "collection", value_ref(reader_name(reader)));
    if (reader->after) list = value_set_take(list, "after", value_ref(reader->after));
    list = value_set_take(list, "limit", value_int(reader->limit));
    list = value_set_take(list, "attributes", value_bool(true));
    reader->wait = (struct store_wait){.done = false};
    reader->asked = true;
    store_query_take(reader->store, value_set_take(value_object_reserve(1), "list", list), store_wait_done,
                     &reader->wait);
}

static int32_t reader_receive(struct reader *reader, tn_value *out, struct error *error) {
    reader->asked = false;
    return store_wait_end(&reader->wait, store_loop(reader->store), out, error);
}

static void reader_finish(struct reader *reader) {
    struct error ignored = ERROR_INIT;
    tn_value page = NULL;
    if (reader->asked) (void)reader_receive(reader, &page, &ignored);
    error_finish(&ignored);
    value_unref(page);
    value_unref(reader->names);
    value_unref(reader->after);
    value_unref(reader->page);
}

/* So many records that the next page has about PAGE_BYTES; it grows slowly, because the next records can be larger. */
static int64_t reader_next_limit(const struct reader *reader, tn_value records) {
    int64_t count = (int64_t)value_count(records), weight = value_weight(records);
    int64_t fits = weight > 0 ? count * PAGE_BYTES / weight : PAGE_RECORDS;
    if (fits > 4 * reader->limit) fits = 4 * reader->limit;
    return fits < 1 ? 1 : fits > PAGE_RECORDS ? PAGE_RECORDS : fits;
}

/* The next page that has records, and its collection; *records is NULL at the end. Both are owned by the caller. */
static int32_t reader_next_page(struct reader *reader, tn_value *name, tn_value *records, struct error *error) {
    *name = *records = NULL;
    while (value_count(reader->names)) {
        tn_value page = NULL;
        reader_ask(reader);
        int32_t status = reader_receive(reader, &page, error);
        if (status != TN_OK) return status;
        tn_value found = value_get(page, "records");
        size_t count = value_count(found);
        if (count) {
            *name = value_ref(reader_name(reader));
            *records = value_ref(found);
            reader->limit = reader_next_limit(reader, found);
        }
        value_unref(reader->after);
        reader->after = count ? value_ref(value_get(value_at(found, count - 1), "key")) : NULL;
        if (!count || value_get(page, "more") != value_bool(true)) {
            tn_value rest = value_slice(reader->names, 1, value_count(reader->names));
            value_unref(reader->names);
            value_unref(reader->after);
            reader->names = rest;
            reader->after = NULL;
        }
        value_unref(page);
        reader_ask(reader); /* while the caller handles this page */
        if (count) return TN_OK;
    }
    return TN_OK;
}

/* ---- The stores ---- */

static bool is_copied(tn_value name) { return !value_text_is(name, STORE_HOSTS) && !value_text_is(name, STORE_STATE); }

/* The collections that are copied; owned by the caller. */
static int32_t copy_list_collections(struct store *store, const char *what, tn_value *out, struct error *error) {
    tn_value result = NULL, names = value_array();
    int32_t status =
        store_query_wait(store, value_set_take(value_object_reserve(1), "collections", value_object()), &result, error);
    if (status != TN_OK && (strcmp(error->code, "INVALID") == 0 || strcmp(error->code, "UNSUPPORTED") == 0)) {
        value_unref(names);
        return error_set(error, status, "UNSUPPORTED",
                         "the plugin of %s does not list its collections, so this store cannot be copied", what);
    }
    tn_value all = value_get(result, "collections");
    for (size_t i = 0; i < value_count(all); i++)
        if (is_copied(value_at(all, i))) names = value_push_take(names, value_ref(value_at(all, i)));
    value_unref(result);
    if (status == TN_OK)
        *out = names;
    else
        value_unref(names);
    return status;
}

static int32_t copy_set_used(const char *what, tn_value host, const char *remedy, struct error *error) {
    tn_value name = value_get(host, "host"), pid = value_get(host, "pid"), seen_at = value_get(host, "seen_at");
    return error_set(
        error, TN_FAILED, "CONFLICT",
        "a host uses %s: process %" PRId64 " on `%.100s`, seen at %.40s; %s (the entry of a host that was killed "
        "expires after %d seconds)",
        what, value_is(pid, TN_INT) ? value_to_int(pid) : 0, value_is(name, TN_STRING) ? value_chars(name, NULL) : "?",
        value_is(seen_at, TN_STRING) ? value_chars(seen_at, NULL) : "?", remedy, STORE_PRESENCE_EXPIRE_MS / 1000);
}

/* Fails if a host uses the store. */
static int32_t copy_check_hosts(struct store *store, const char *what, const char *remedy, struct error *error) {
    tn_value page = NULL;
    int32_t status = store_query_wait(store, store_list(STORE_HOSTS, NULL, NULL, 1), &page, error);
    tn_value records = value_get(page, "records");
    if (status == TN_OK && value_count(records))
        status = copy_set_used(what, value_get(value_at(records, 0), "value"), remedy, error);
    value_unref(page);
    return status;
}

/* *note is the value of the note in the store, or NULL; owned by the caller. */
static int32_t copy_read_note(struct store *store, tn_value *note, int64_t *version, struct error *error) {
    tn_value found = NULL;
    int32_t status = store_query_wait(store, store_get(STORE_STATE, STORE_STATE_COPY), &found, error);
    tn_value value = value_get(found, "value"), number = value_get(found, "version");
    *note = value_is(value, TN_OBJECT) ? value_ref(value) : NULL;
    *version = value_is(number, TN_INT) ? value_to_int(number) : 0;
    value_unref(found);
    return status;
}

/* ---- Writing ---- */

struct copying {
    struct store_copy *copy;
    tn_value note;        /* the value of the note; owned */
    int64_t note_version; /* 0: the target has none */
    tn_value names;       /* of the source; owned */
};

/* Writes the operations and the note, which must not have been changed by another copy. Takes `batch`. */
static int32_t copying_commit_take(struct copying *copying, tn_value batch, struct error *error) {
    tn_value note = store_put(STORE_STATE, STORE_STATE_COPY, value_ref(copying->note)), results = NULL;
    struct store *to = copying->copy->to;
    struct store_wait wait = {.done = false};
    size_t count = value_count(batch);
    batch = value_push_take(batch, store_if_version(note, copying->note_version));
    store_commit_take(to, batch, store_wait_done, &wait);
    int32_t status = store_wait_end(&wait, store_loop(to), &results, error);
    tn_value version = status == TN_OK ? value_get(value_at(results, count), "version") : NULL;
    if (value_is(version, TN_INT)) copying->note_version = value_to_int(version);
    value_unref(results);
    if (status != TN_OK && strcmp(error->code, "CONFLICT") == 0)
        error_set(error, status, "CONFLICT",
                  "%s: another process writes to it at the same time, perhaps a second copy; this one has ended",
                  copying->copy->to_name);
    return status;
}

static void copying_note_take(struct copying *copying, const char *member, tn_value value) {
    copying->note = value_set_take(copying->note, member, value);
}

/* Deletes the records of the target, one collection at a time. */
static int32_t copying_clear(struct copying *copying, struct error *error) {
    tn_value names = NULL;
    int32_t status = copy_list_collections(copying->copy->to, copying->copy->to_name, &names, error);
    for (size_t i = 0; status == TN_OK && i < value_count(names); i++) {
        tn_value operation = value_set_take(value_object_reserve(2), "op", value_text("delete_range"));
        operation = value_set_take(operation, "collection", value_ref(value_at(names, i)));
        status = copying_commit_take(copying, value_push_take(value_array_reserve(2), operation), error);
    }
    value_unref(names);
    return status;
}

/* Both names can lead to the same store: then the source has the note that was written to the target. */
static int32_t copying_check_distinct(struct copying *copying, struct error *error) {
    tn_value note = NULL;
    int64_t version;
    int32_t status = copy_read_note(copying->copy->from, &note, &version, error);
    bool same = note && value_equal(note, copying->note);
    value_unref(note);
    if (status != TN_OK || !same) return status;
    struct store_wait wait = {.done = false};
    store_commit_take(copying->copy->to,
                      value_push_take(value_array_reserve(1), store_delete(STORE_STATE, STORE_STATE_COPY)),
                      store_wait_done, &wait);
    status = store_wait_end(&wait, store_loop(copying->copy->to), NULL, error);
    return status != TN_OK ? status
                           : error_set(error, TN_INVALID, "INVALID", "%s and %s are the same store",
                                       copying->copy->from_name, copying->copy->to_name);
}

static bool note_is(const struct copying *copying, const char *state) {
    return value_text_is(value_get(copying->note, "state"), state);
}

/* Refuses a target that has other records; continues the copy that `note` describes, if it is of the same source. */
static int32_t copying_check_target(struct copying *copying, struct error *error) {
    struct store_copy *copy = copying->copy;
    tn_value from = value_get(copying->note, "from"), names = NULL;
    if (copy->replace) return TN_OK;
    if (copying->note && value_text_is(from, copy->from_name)) {
        copy->continued = !note_is(copying, "clearing");
        return TN_OK;
    }
    if (copying->note)
        return error_set(error, TN_FAILED, "CONFLICT",
                         "%s: has an unfinished copy of %.300s; finish that one, or replace it with --replace",
                         copy->to_name, value_is(from, TN_STRING) ? value_chars(from, NULL) : "another store");
    int32_t status = copy_list_collections(copy->to, copy->to_name, &names, error);
    for (size_t i = 0; status == TN_OK && i < value_count(names); i++) {
        tn_value count = NULL,
                 body = value_set_take(value_object_reserve(1), "collection", value_ref(value_at(names, i)));
        status = store_query_wait(copy->to, value_set_take(value_object_reserve(1), "count", body), &count, error);
        if (status == TN_OK && value_is(count, TN_INT) && value_to_int(count) > 0)
            status =
                error_set(error, TN_FAILED, "CONFLICT",
                          "%s: is not empty: it has %" PRId64 " records in `%.100s`; delete them with --replace, or "
                          "choose another target",
                          copy->to_name, value_to_int(count), value_chars(value_at(names, i), NULL));
        value_unref(count);
    }
    value_unref(names);
    return status;
}

static int32_t copying_count(struct copying *copying, struct error *error) {
    struct store_copy *copy = copying->copy;
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(copying->names); i++) {
        tn_value count = NULL,
                 body = value_set_take(value_object_reserve(1), "collection", value_ref(value_at(copying->names, i)));
        status = store_query_wait(copy->from, value_set_take(value_object_reserve(1), "count", body), &count, error);
        if (status == TN_OK && value_is(count, TN_INT)) copy->total += value_to_int(count);
        value_unref(count);
    }
    return status;
}

static int32_t copying_begin(struct copying *copying, struct error *error) {
    struct store_copy *copy = copying->copy;
    int32_t status;
    if (copy->continued) return TN_OK;
    uint64_t token = 0;
    random_fill(&token, sizeof token);
    value_unref(copying->note);
    copying->note =
        value_set_take(value_object_reserve(6), "from", value_string_lossy(copy->from_name, strlen(copy->from_name)));
    copying_note_take(copying, "token", value_format("%016" PRIx64, token));
    copying_note_take(copying, "started_at", time_value(store_wall_ms(copy->to)));
    copying_note_take(copying, "state", value_text("clearing"));
    if ((status = copying_commit_take(copying, value_array(), error)) != TN_OK) return status;
    if ((status = copying_check_distinct(copying, error)) != TN_OK) return status;
    if ((status = copying_clear(copying, error)) != TN_OK) return status;
    copying_note_take(copying, "state", value_text("copying"));
    copying_note_take(copying, "records", value_int(0));
    return copying_commit_take(copying, value_array(), error);
}

/* ---- Copying ---- */

static tn_value copy_operation(tn_value collection, tn_value record) {
    static const char *const kept[] = {"key", "value", "version", "text", "vector", "expires_at"};
    tn_value put = value_set_take(value_object_reserve(8), "op", value_text("put"));
    put = value_set_take(put, "collection", value_ref(collection));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        tn_value member = value_get(record, kept[i]);
        if (member) put = value_set_take(put, kept[i], value_ref(member));
    }
    return put;
}

static int32_t copying_write_page(struct copying *copying, tn_value name, tn_value records, struct error *error) {
    size_t count = value_count(records);
    tn_value batch = value_array_reserve(count + 1);
    for (size_t i = 0; i < count; i++) batch = value_push_take(batch, copy_operation(name, value_at(records, i)));
    copying->copy->records += (int64_t)count;
    copying_note_take(copying, "collection", value_ref(name));
    copying_note_take(copying, "after", value_ref(value_get(value_at(records, count - 1), "key")));
    copying_note_take(copying, "records", value_int(copying->copy->records));
    return copying_commit_take(copying, batch, error);
}

static int32_t copy_report_progress(struct store_copy *copy, struct error *error) {
    if (!copy->progress || copy->progress(copy->user, copy)) return TN_OK;
    return error_set(
        error, TN_CANCELLED, "CANCELLED",
        "%s: the copy was interrupted; no host uses the store before the same copy, started again, has ended",
        copy->to_name);
}

/* Skips what an interrupted copy has written. */
static void copying_continue(struct copying *copying, struct reader *reader) {
    tn_value name = value_get(copying->note, "collection"), after = value_get(copying->note, "after"),
             records = value_get(copying->note, "records");
    if (value_is(records, TN_INT)) copying->copy->records = value_to_int(records);
    if (!value_is(name, TN_STRING) || !value_is(after, TN_STRING)) return;
    size_t first = 0, count = value_count(reader->names);
    while (first < count && value_compare_strings(value_at(reader->names, first), name) < 0) first++;
    tn_value rest = value_slice(reader->names, first, count);
    value_unref(reader->names);
    reader->names = rest;
    if (first < count && value_equal(reader_name(reader), name)) reader->after = value_ref(after);
}

static int32_t copying_copy_all(struct copying *copying, struct error *error) {
    struct reader reader = {.store = copying->copy->from, .names = value_ref(copying->names), .limit = PAGE_FIRST};
    int32_t status = TN_OK;
    tn_value name = NULL, records = NULL;
    copying_continue(copying, &reader);
    while (status == TN_OK && (status = reader_next_page(&reader, &name, &records, error)) == TN_OK && records) {
        status = copying_write_page(copying, name, records, error);
        if (status == TN_OK) status = copy_report_progress(copying->copy, error);
        value_unref(name);
        value_unref(records);
    }
    reader_finish(&reader);
    if (status != TN_OK) return status;
    copying_note_take(copying, "state", value_text("comparing"));
    return copying_commit_take(copying, value_array(), error);
}

/* ---- Comparing ---- */

/* One side of the comparison. */
struct compared {
    struct reader reader;
    tn_value name, records; /* the current page and its collection; NULL at the end */
    size_t at;
};

static tn_value compared_record(const struct compared *side) {
    return side->records ? value_at(side->records, side->at) : NULL;
}

/* Moves to the next record; call it once before the first one. */
static int32_t compared_step(struct compared *side, struct error *error) {
    if (side->records && ++side->at < value_count(side->records)) return TN_OK;
    value_unref(side->name);
    value_unref(side->records);
    side->name = side->records = NULL;
    side->at = 0;
    return reader_next_page(&side->reader, &side->name, &side->records, error);
}

static void compared_finish(struct compared *side) {
    reader_finish(&side->reader);
    value_unref(side->name);
    value_unref(side->records);
}

/* Negative: the record of `a` is first, or `b` is at its end. Both are not at their end. */
static int compared_order(const struct compared *a, const struct compared *b) {
    if (!a->records || !b->records) return a->records ? -1 : 1;
    int order = value_compare_strings(a->name, b->name);
    return order ? order
                 : value_compare_strings(value_get(compared_record(a), "key"), value_get(compared_record(b), "key"));
}

static bool members_are_identical(tn_value a, tn_value b) {
    static const char *const members[] = {"version", "value", "text", "vector", "expires_at"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value one = value_get(a, members[i]), other = value_get(b, members[i]);
        if ((one || other) && !(one && other && value_identical(one, other))) return false;
    }
    return true;
}

static bool expires_soon(const struct store_copy *copy, tn_value record) {
    tn_value at = value_get(record, "expires_at");
    return value_is(at, TN_INT) && value_to_int(at) <= store_wall_ms(copy->from) + EXPIRES_SOON_MS;
}

/* Length and bytes, so that no two lists of texts have the same hash. */
static void hash_bytes(struct tn_sha256 *hash, const void *bytes, size_t length) {
    unsigned char prefix[8];
    for (int i = 0; i < 8; i++) prefix[i] = (unsigned char)((uint64_t)length >> (8 * i));
    tn_sha256_update(hash, prefix, sizeof prefix);
    tn_sha256_update(hash, bytes, length);
}

static void hash_value(struct tn_sha256 *hash, tn_value value) {
    size_t length = 0;
    if (value_is(value, TN_BYTES)) {
        const void *bytes = value_data(value, &length);
        hash_bytes(hash, "bytes", 5);
        hash_bytes(hash, bytes, length);
        return;
    }
    char *json = json_text(value, JSON_COMPACT);
    hash_bytes(hash, json, strlen(json));
    mem_free(json);
}

static void hash_record(struct tn_sha256 *hash, tn_value name, tn_value record) {
    static const char *const members[] = {"key", "version", "value", "text", "vector", "expires_at"};
    hash_value(hash, name);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(record, members[i]);
        if (member)
            hash_value(hash, member);
        else
            hash_bytes(hash, "", 0);
    }
}

static int32_t compared_differ(const struct store_copy *copy, const struct compared *side, const char *how,
                               struct error *error) {
    tn_value key = value_get(compared_record(side), "key");
    return error_set(error, TN_FAILED, "CONFLICT",
                     "the stores differ: the record `%.*s` of `%.100s` %s; the source has changed since it was copied: "
                     "stop its hosts, and copy again with --replace; until then no host uses %s",
                     NAMES_SHOWN, value_chars(key, NULL), value_chars(side->name, NULL), how, copy->to_name);
}

static int32_t compare_records(struct store_copy *copy, struct compared *from, struct compared *to,
                               struct tn_sha256 *hash, struct error *error) {
    tn_value last = NULL; /* the collection of the last record; owned */
    int32_t status = TN_OK;
    int64_t reported = 0;
    for (copy->collections = copy->records = 0; status == TN_OK && (from->records || to->records);) {
        int order = compared_order(from, to);
        struct compared *first = order <= 0 ? from : to;
        if (order != 0) {
            status = expires_soon(copy, compared_record(first))
                         ? compared_step(first, error)
                         : compared_differ(copy, first, order < 0 ? "is only in the source" : "is only in the target",
                                           error);
            continue;
        }
        if (!members_are_identical(compared_record(from), compared_record(to))) {
            status = compared_differ(copy, from, "is not equal in both", error);
            continue;
        }
        if (!last || !value_equal(last, from->name)) copy->collections++;
        value_unref(last);
        last = value_ref(from->name);
        hash_record(hash, last, compared_record(from));
        copy->records++;
        if (copy->records - reported >= PAGE_RECORDS) {
            reported = copy->records;
            status = copy_report_progress(copy, error);
        }
        if (status == TN_OK) status = compared_step(from, error);
        if (status == TN_OK) status = compared_step(to, error);
    }
    value_unref(last);
    return status;
}

/* Lists the collections of both stores again, because a change may have added one. */
static int32_t compare_all(struct store_copy *copy, struct error *error) {
    struct compared from = {.reader = {.store = copy->from, .limit = PAGE_FIRST}},
                    to = {.reader = {.store = copy->to, .limit = PAGE_FIRST}};
    struct tn_sha256 hash;
    tn_sha256_init(&hash);
    copy->comparing = true;
    int32_t status = copy_list_collections(copy->from, copy->from_name, &from.reader.names, error);
    if (status == TN_OK) status = copy_list_collections(copy->to, copy->to_name, &to.reader.names, error);
    if (status == TN_OK) status = compared_step(&from, error);
    if (status == TN_OK) status = compared_step(&to, error);
    if (status == TN_OK) status = compare_records(copy, &from, &to, &hash, error);
    compared_finish(&from);
    compared_finish(&to);
    if (status == TN_OK) tn_sha256_finish_text(&hash, copy->hash);
    return status;
}

/* ---- The whole ---- */

static int32_t copying_check_stores(struct copying *copying, struct error *error) {
    struct store_copy *copy = copying->copy;
    tn_value unfinished = NULL;
    int64_t version;
    int32_t status = copy_list_collections(copy->from, copy->from_name, &copying->names, error);
    if (status == TN_OK) status = copy_read_note(copy->from, &unfinished, &version, error);
    if (unfinished)
        status = error_set(error, TN_FAILED, "STORE_INCOMPLETE",
                           "%s: is the target of a copy that has not ended; finish that one first", copy->from_name);
    value_unref(unfinished);
    if (status == TN_OK && !copy->while_used)
        status = copy_check_hosts(
            copy->from, copy->from_name,
            "stop it, or copy with --while-used, which fails at its end if the source has changed", error);
    if (status == TN_OK) status = copy_check_hosts(copy->to, copy->to_name, "stop it", error);
    if (status == TN_OK) status = copy_read_note(copy->to, &copying->note, &copying->note_version, error);
    return status == TN_OK ? copying_check_target(copying, error) : status;
}

static int32_t copying_end(struct copying *copying, struct error *error) {
    struct store_wait wait = {.done = false};
    tn_value operation = store_if_version(store_delete(STORE_STATE, STORE_STATE_COPY), copying->note_version);
    store_commit_take(copying->copy->to, value_push_take(value_array_reserve(1), operation), store_wait_done, &wait);
    return store_wait_end(&wait, store_loop(copying->copy->to), NULL, error);
}

int32_t store_copy_run(struct store_copy *copy, struct error *error) {
    struct copying copying = {.copy = copy};
    copy->comparing = copy->continued = false;
    copy->total = copy->records = copy->collections = 0;
    int32_t status = copying_check_stores(&copying, error);
    if (status == TN_OK) status = copying_count(&copying, error);
    if (status == TN_OK) status = copying_begin(&copying, error);
    if (status == TN_OK && !note_is(&copying, "comparing")) status = copying_copy_all(&copying, error);
    if (status == TN_OK) status = compare_all(copy, error);
    if (status == TN_OK) status = copying_end(&copying, error);
    value_unref(copying.note);
    value_unref(copying.names);
    return status;
}
