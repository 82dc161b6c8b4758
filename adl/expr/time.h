/*
 * time.h - timestamps and durations of CEL: conversion of RFC 3339 and "1h30m" to numbers and back, in the proleptic
 * Gregorian calendar. A timestamp is seconds since 1970 UTC and nanoseconds in [0, 999999999], years 1 to 9999; a
 * duration is nanoseconds in 64 bits. These functions do not allocate, read a clock or know time zones by name.
 */
#ifndef TENON_ADL_EXPR_TIME_H
#define TENON_ADL_EXPR_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIMESTAMP_FIRST    (-62135596800) /* 0001-01-01T00:00:00Z */
#define TIMESTAMP_LAST     253402300799   /* 9999-12-31T23:59:59Z */
#define SECOND_NANOSECONDS 1000000000

struct calendar {
    int32_t year, month, day; /* month and day from 1 */
    int32_t hour, minute, second;
    int32_t weekday, day_of_year; /* both start at 0; Sunday is 0 */
};

/* Returns false if the text is not an RFC 3339 time or is out of range. */
bool timestamp_parse(const char *text, size_t length, int64_t *seconds, uint32_t *nanoseconds);
/* Writes at most 40 bytes; the fraction has as many digits as needed. Returns the length. */
size_t timestamp_text(int64_t seconds, uint32_t nanoseconds, char *out);
/* Reads one or more numbers with a unit (h, m, s, ms, us, ns) and an optional sign: "-1h30m", "3.5s". */
bool duration_parse(const char *text, size_t length, int64_t *nanoseconds);
size_t duration_text(int64_t nanoseconds, char *out); /* "3.5s"; at most 40 bytes */
/* Reads "Z", "UTC", "+02:00", "-08:00" or "02:00". Returns false for anything else, including names of zones. */
bool offset_parse(const char *text, size_t length, int32_t *seconds);
/* Days since 1970-01-01. */
int64_t days_of(int64_t year, int32_t month, int32_t day);
void calendar_of(int64_t seconds, struct calendar *out);

#endif
