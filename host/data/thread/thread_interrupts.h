/*
 * thread_interrupts.h - validates answers to the interrupts in a thread's record, and saves them.
 *
 *     if (thread_interrupts_check(interrupts, answers, &error) != TN_OK) return report(&error);
 *     status = thread_interrupts_answer_take(session, "support-42", found, answers, NULL, &error);
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_INTERRUPTS_H
#define TENON_HOST_DATA_THREAD_THREAD_INTERRUPTS_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct session;

/* Checks `answers` ({interrupt id: answer}; may be NULL) against the open interrupts. INVALID_INPUT. */
int32_t thread_interrupts_check(tn_value interrupts, tn_value answers, struct error *error);
/*
 * Saves `answers` in the record until the thread is resumed; `found` is the result of thread_records_require.
 * `also` is an operation to commit in the same batch, or NULL; it is taken. INVALID_INPUT if the thread is not
 * interrupted, or as thread_interrupts_check; CONFLICT if the record, or what `also` expects, has changed. Thread: the
 * store's.
 */
int32_t thread_interrupts_answer_take(struct session *session, const char *id, tn_value found, tn_value answers,
                                      tn_value also, struct error *error);

#endif
