/*
 * thread_interrupts.h - validates answers to the interrupts in a thread's record.
 *
 *     if (thread_interrupts_check(interrupts, answers, &error) != TN_OK) return report(&error);
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_INTERRUPTS_H
#define TENON_HOST_DATA_THREAD_THREAD_INTERRUPTS_H

#include "adl/value/error.h"
#include "adl/value/value.h"

/* Checks `answers` ({interrupt id: answer}; may be NULL) against the open interrupts. INVALID_INPUT. */
int32_t thread_interrupts_check(tn_value interrupts, tn_value answers, struct error *error);

#endif
