/*
 * format.h - the values of `format` that can be asserted, each with a function that checks a string.
 *
 *     format_fn is_uuid = format_find("uuid");          // NULL for a name that is only an annotation
 *     if (is_uuid && !is_uuid(text, length)) report();
 */
#ifndef TENON_ADL_SCHEMA_FORMAT_H
#define TENON_ADL_SCHEMA_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

typedef bool (*format_fn)(const char *text, size_t length);

format_fn format_find(const char *name);

#endif
