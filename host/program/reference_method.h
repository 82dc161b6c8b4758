/*
 * reference_method.h - the topic methods of the reference, and the entries of single methods and their events.
 *
 *     reference_print_method("#", method_find("thread/list"));
 *
 * Everything comes from the method table (host/server/method.h). The functions print Markdown to standard output.
 */
#ifndef TENON_HOST_PROGRAM_REFERENCE_METHOD_H
#define TENON_HOST_PROGRAM_REFERENCE_METHOD_H

#include "host/server/method.h"

/* `mark` is "#" or more: the level of the heading. */
void reference_print_method(const char *mark, const struct method *method);
/* An event that a subscription sends, such as "run/ended"; it must be in the table. */
void reference_print_method_event(const char *mark, const char *name);

#endif
