/*
 * request.h - one operation of the kernel on its way: its arguments, the session with the store, the time.
 *
 * Everything here runs on the store's thread, and touches nothing else. Arguments are checked as a whole before the
 * store is asked for anything.
 *
 *     static const struct field fields[] = {{"task_id", FIELD_TEXT, true}, {NULL, 0, false}};
 *     int32_t status = request_check(request, fields, error);
 *     if (status == TN_OK) status = request_id(request, "task_id", &id, error);
 */
#ifndef TENON_HOST_STATE_REQUEST_H
#define TENON_HOST_STATE_REQUEST_H

#include "host/store/collections.h"
#include "host/store/store.h"

struct request {
    const char *operation;
    struct session *session;
    tn_value arguments; /* an object */
    int64_t now_ms;
};

typedef int32_t operation_fn(struct request *request, tn_value *result, struct error *error);

/* Conflicts with others over one record, after which a change is given up as CONFLICT. */
#define STATE_TRIES_MAX 64
#define STATE_ID_MAX    128 /* bytes of an id that is asked for */
#define STATE_KEY_MAX   512 /* bytes of an idempotency key */
#define STATE_KEY_DAYS  30  /* an idempotency key is remembered for so long */
/* Of a time to live: a millisecond to ten years. */
#define STATE_TTL_MIN_SECONDS 0.001
#define STATE_TTL_MAX_SECONDS 315360000.0

/* ---- Arguments ---- */

enum {
    FIELD_TEXT = 1 << TN_STRING,
    FIELD_BYTES = 1 << TN_BYTES,
    FIELD_BOOL = 1 << TN_BOOL,
    FIELD_INT = 1 << TN_INT,
    FIELD_NUMBER = 1 << TN_INT | 1 << TN_DOUBLE,
    FIELD_ARRAY = 1 << TN_ARRAY,
    FIELD_OBJECT = 1 << TN_OBJECT,
    FIELD_ANY = ~0,
};

struct field {
    const char *name; /* NULL ends a table */
    int kinds;
    bool required;
};

/* That there are those arguments and no others, of those kinds. An argument that is null is as one that is not there,
 * unless it may be anything. */
int32_t request_check(struct request *request, const struct field *fields, struct error *error);
/* "a string or bytes": for messages; valid until the next call on this thread. */
const char *request_kinds(int kinds);
/* The member, or NULL where it is not there or null. Borrowed. */
tn_value request_get(const struct request *request, const char *name);
/* INVALID_INPUT: "task.create: `name`: " and the rest. */
int32_t request_invalid(const struct request *request, struct error *error, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A text of 1 to `max` bytes without control characters. */
int32_t request_text(const struct request *request, const char *name, size_t max, const char **out,
                     struct error *error);
/* An integer within bounds; `otherwise` where it is not there. */
int32_t request_int(const struct request *request, const char *name, int64_t min, int64_t max, int64_t otherwise,
                    int64_t *out, struct error *error);
/* Seconds, as milliseconds; *out stays where it is not there. */
int32_t request_ttl(const struct request *request, double max_seconds, int64_t *out, struct error *error);
/* An array of 0 to `max` texts of 1 to STATE_ID_MAX bytes. */
int32_t request_ids(const struct request *request, const char *name, tn_value list, size_t max, struct error *error);
/* Whether the value is at most so many bytes as JSON; LIMIT, with `advice`. */
int32_t request_size(const struct request *request, const char *name, tn_value value, size_t max, const char *advice,
                     struct error *error);
/*
 * A filter for the store: member paths that begin with one of `members` (a NULL-terminated list; NULL: any member),
 * with `prefix` before each, and arrays as {in: …}. *out is a new reference; NULL where none was given.
 */
int32_t request_filter(const struct request *request, const char *const *members, const char *prefix, tn_value *out,
                       struct error *error);

/* ---- The store ---- */

/* {value, version} as an object, or *out NULL where there is none. */
int32_t request_find(struct request *request, const char *collection, const char *key, tn_value *out,
                     struct error *error);
/* Commits one operation; *result is its own, not the array. */
int32_t request_commit_take(struct request *request, tn_value operation, tn_value *result, struct error *error);
/* A query's answer as a list's: {NAME: [shown(value) with its `score`, …], more}. */
tn_value request_found_take(tn_value found, const char *name, tn_value (*shown)(tn_value value));
bool request_conflict(int32_t status, const struct error *error); /* somebody else was faster */
/*
 * Commits `made` (an operation that puts `key`), once for each `idempotency_key`: where that was used before, *before
 * is the key of what was made then. `more`, operations to go before it, is taken as well; NULL: none.
 */
int32_t request_make_take(struct request *request, const char *key, tn_value more, tn_value made, char before[64],
                          struct error *error);

/* ---- Ids and times ---- */

#define ID_TEXT   37 /* with the NUL */
#define TIME_TEXT 32
/* A UUID of version 7, RFC 9562: later ones are greater, within a process always. */
void id_make(int64_t now_ms, char out[ID_TEXT]);
/* 128 random bits, in hexadecimal. */
void token_make(char out[33]);
/* "2026-01-01T00:00:00.000Z" */
void time_text(int64_t ms, char out[TIME_TEXT]);
tn_value time_value(int64_t ms); /* a new reference */

#endif
