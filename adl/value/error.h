/*
 * error.h - how functions report failures: a returned status and a `struct error`, which is filled last.
 *
 * `code` is a stable code (codes.h) or a plugin's own code. `message` is one or two sentences: found, expected, where,
 * what to do. An error owns nothing before error_set; error_finish frees what it owns.
 *
 *     struct error error = ERROR_INIT;
 *     if (graph_build(document, &graph, &error) != TN_OK) { report(&error); }
 *     error_finish(&error);
 *
 * Every `struct error *` parameter may be NULL if the caller only needs the status.
 */
#ifndef TENON_ADL_ERROR_H
#define TENON_ADL_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <tenon.h>

/* Bytes [start, end) of a source text; both 0 without a position. */
struct span {
    uint32_t start, end;
};

struct error {
    char *code;    /* owned; NULL without an error */
    char *message; /* owned */
    tn_value more; /* owned; NULL or {retryable, retry_after_ms, detail} */
    struct span span;
};

#define ERROR_INIT                                                                                                     \
    {                                                                                                                  \
        NULL, NULL, NULL, { 0, 0 }                                                                                     \
    }

#define ERROR_MESSAGE_MAX 4096 /* bytes; longer messages are cut between characters */

/*
 * Sets or replaces the error; the arguments may point into the error itself. Messages are cut at ERROR_MESSAGE_MAX.
 * Returns `status`, so that a failure is one line.
 */
int32_t error_set(struct error *error, int32_t status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int32_t error_vset(struct error *error, int32_t status, const char *code, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));
/* After error_set: `more` becomes {detail}, and has no other member. Takes `detail`. */
void error_set_detail_take(struct error *error, tn_value detail);
/* Moves the contents of `from`, if any, to `error`, and leaves `from` empty. */
void error_move(struct error *error, struct error *from);
void error_copy(struct error *error, const struct error *from);
void error_finish(struct error *error);
/*
 * Returns {code, message, retryable, retry_after_ms?, detail?} as a new reference; `retryable` is error_retryable's
 * result.
 */
tn_value error_to_value(const struct error *error);
/*
 * Reads such an object from a component or a document; unknown members are kept in more.detail. A value of another kind
 * becomes the message, with the code ERROR. An object without a code gets the code ERROR.
 */
void error_from_value(struct error *error, tn_value value);
/* The member `retryable` if it is set, else the row in codes.h, else false. */
bool error_retryable(const struct error *error);

#endif
