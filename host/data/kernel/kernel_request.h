/*
 * kernel_request.h - one running operation of the kernel: its arguments, its session with the store, the time.
 *
 * Operations run on the store's thread and use only the request. They check all arguments before the first query.
 *
 *     static const struct field fields[] = {{"task_id", FIELD_TEXT, true}, {NULL, 0, false}};
 *     int32_t status = request_check(request, fields, error);
 *     if (status == TN_OK) status = request_text(request, "task_id", KERNEL_ID_MAX, &id, error);
 */
#ifndef TENON_HOST_DATA_KERNEL_KERNEL_REQUEST_H
#define TENON_HOST_DATA_KERNEL_KERNEL_REQUEST_H

#include "host/base/time_text.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/plugin/call/owner.h"

struct request {
    const char *operation;
    struct session *session;
    tn_value arguments; /* an object */
    int64_t now_ms;
    const char *thread_id; /* of the run whose call this is, or NULL; callers cannot set it (kernel_call_for) */
    const char *owner;     /* whose records it reaches; NULL: all. The arguments have complete ids (kernel_owner.h) */
    /*
     * Operations that request_make_take commits together with the record that it creates; NULL without any. Owned by
     * the caller until then. Afterwards NULL, so the caller knows whether they were committed.
     */
    tn_value with;
};

typedef int32_t kernel_operation_fn(struct request *request, tn_value *result, struct error *error);

/* A change fails with CONFLICT after so many conflicts with other writers of the record. */
#define KERNEL_TRIES_MAX 64
#define KERNEL_ID_TEXT   37                                   /* bytes of a new id, with the NUL */
#define REQUEST_ID_TEXT  (KERNEL_ID_TEXT + OWNER_PREFIX_TEXT) /* the same with the prefix of its owner */
#define KERNEL_ID_MAX    128                                  /* bytes of an id in an argument */
#define KERNEL_KEY_MAX   512                                  /* bytes of an idempotency key */
#define KERNEL_KEY_DAYS  30                                   /* days that an idempotency key is remembered */
/* Limits of a time to live: a millisecond to ten years. */
#define KERNEL_TTL_MIN_SECONDS 0.001
#define KERNEL_TTL_MAX_SECONDS 315360000.0

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

/*
 * Checks that the arguments are in `fields` and have the right kinds, and that no required one is missing. A null
 * counts as missing, except for FIELD_ANY. A double without a fraction is an integer, as in a JSON Schema.
 */
int32_t request_check(struct request *request, const struct field *fields, struct error *error);
/* True for {"$bytes": …}: what JSON has for bytes, but not base64, so that it was read as an object. */
bool request_is_bad_bytes(tn_value value);
/* The argument, or NULL if it is missing or null. Borrowed. */
tn_value request_get(const struct request *request, const char *name);
/* Sets INVALID_INPUT with the message "OPERATION: `name`: …", and returns TN_INVALID. */
int32_t request_invalid(const struct request *request, struct error *error, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Reads a string of 1 to `max` bytes without control characters. */
int32_t request_text(const struct request *request, const char *name, size_t max, const char **out,
                     struct error *error);
/* Reads an integer within bounds; `otherwise` is the default. */
int32_t request_int(const struct request *request, const char *name, int64_t min, int64_t max, int64_t otherwise,
                    int64_t *out, struct error *error);
/* Reads `ttl_seconds` as milliseconds. *out does not change if the argument is missing. */
int32_t request_ttl(const struct request *request, double max_seconds, int64_t *out, struct error *error);
/* Reads a time (time_text_read_ms). *out does not change if the argument is missing. */
int32_t request_time(const struct request *request, const char *name, int64_t *out, struct error *error);
/* Checks an array of up to `max` strings of 1 to KERNEL_ID_MAX bytes. */
int32_t request_ids(const struct request *request, const char *name, tn_value list, size_t max, struct error *error);
/* Fails with LIMIT and `advice` if the value has more than `max` bytes as JSON. */
int32_t request_size(const struct request *request, const char *name, tn_value value, size_t max, const char *advice,
                     struct error *error);

/* ---- The store ---- */

/* Reads a record as {value, version}. *out is NULL if it does not exist. */
int32_t request_find(struct request *request, const char *collection, const char *key, tn_value *out,
                     struct error *error);
/*
 * Reads `after`, the id of the last record of the previous page; *out is NULL if it is missing. The record must exist,
 * so this is only for collections whose records are never deleted. `noun` names a record in messages.
 */
int32_t request_after(struct request *request, const char *collection, const char *noun, const char **out,
                      struct error *error);
/* Commits one operation. *result is the result of this operation. */
int32_t request_commit_take(struct request *request, tn_value operation, tn_value *result, struct error *error);
/* Converts the result of a query into {NAME: [shown(value) with its `score`, …], more}. */
tn_value request_found_take(tn_value found, const char *name, tn_value (*shown)(tn_value value));
/* True if another writer has changed the record first. */
bool request_conflict(int32_t status, const struct error *error);
/*
 * Commits `made`, an operation that puts `key`, once per `idempotency_key`. If that was used before, nothing is
 * committed and `before` receives the key of the record that was created then; otherwise "". `more` (may be NULL) is an
 * array of operations to commit before it.
 */
int32_t request_make_take(struct request *request, const char *key, tn_value more, tn_value made,
                          char before[REQUEST_ID_TEXT], struct error *error);
/* Adds to a list or search, which it takes, the range of keys that begin with the owner's prefix. */
tn_value request_owned_range_take(const struct request *request, tn_value query);

/* ---- Ids ---- */

/* Writes a new id for a record of the request's owner. */
void request_id_make(const struct request *request, char out[REQUEST_ID_TEXT]);
/* Writes a UUID of version 7 (RFC 9562). Ids grow with time, and always within one process. */
void kernel_id_make(int64_t now_ms, char out[KERNEL_ID_TEXT]);
/* Writes 128 random bits in hexadecimal. */
void kernel_token_make(char out[33]);

#endif
