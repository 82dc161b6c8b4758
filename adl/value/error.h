/*
 * error.h - how a function says what went wrong: a status returned, and this, filled last.
 *
 * `code` is one of the stable codes (codes.h), or a plugin's own; `message` is one sentence or two in the form found,
 * expected, where, what to do. An error holds nothing until error_set, and is emptied by error_finish.
 *
 *     struct error error = ERROR_INIT;
 *     if (graph_build(document, &graph, &error) != TN_OK) { report(&error); }
 *     error_finish(&error);
 *
 * Every `struct error *` parameter may be NULL: the caller wants the status alone.
 */
#ifndef TENON_ADL_ERROR_H
#define TENON_ADL_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <tenon.h>

/* Bytes [start, end) of a source text; both 0 where there is no position. */
struct span {
    uint32_t start, end;
};

struct error {
    char *code;    /* owned; NULL while nothing is wrong */
    char *message; /* owned */
    tn_value more; /* owned; NULL or {retryable, retry_after_ms, detail} */
    struct span span;
};

#define ERROR_INIT                                                                                                     \
    {                                                                                                                  \
        NULL, NULL, NULL, { 0, 0 }                                                                                     \
    }

#define ERROR_MESSAGE_MAX 4096 /* bytes; longer messages are cut, between characters */

/* Sets or replaces (arguments may come from the error itself). Messages are cut at ERROR_MESSAGE_MAX. Returns status,
 * so that a failure is one line. */
int32_t error_set(struct error *error, int32_t status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int32_t error_vset(struct error *error, int32_t status, const char *code, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));
/* Moves what `from` holds, if anything, to `error`; `from` is empty after. */
void error_move(struct error *error, struct error *from);
void error_copy(struct error *error, const struct error *from);
void error_finish(struct error *error);
/* {code, message, retryable, retry_after_ms?, detail?}, retryable as error_retryable has it; a new reference. */
tn_value error_to_value(const struct error *error);
/*
 * From such an object, as a component or a document gives it; unknown members are kept in more.detail. Any other kind
 * becomes the message, with the code ERROR. No code is ERROR, too.
 */
void error_from_value(struct error *error, tn_value value);
/* What `more` says, else the code's row in codes.h, else no. */
bool error_retryable(const struct error *error);

#endif
