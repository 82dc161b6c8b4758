/*
 * reference_event.h - the topics events, annotations and reducers of the reference, and their single entries.
 *
 *     reference_print_event("#", "updates");
 */
#ifndef TENON_HOST_PROGRAM_REFERENCE_EVENT_H
#define TENON_HOST_PROGRAM_REFERENCE_EVENT_H

#include "adl/document/reducers.h"
#include "adl/schema/annotations.h"
#include <stddef.h>

/* The types of events, in the order of their schema; a new reference to an array of texts. */
tn_value reference_event_types(void);
/* The first sentence about an event of that type; a new reference. */
tn_value reference_event_summary(const char *type);
/* `mark` is "#" or more: the level of the heading. */
void reference_print_event(const char *mark, const char *type);
void reference_print_annotation(const char *mark, const struct schema_annotation *annotation);
void reference_print_reducer(const char *mark, const struct document_reducer *reducer);

#endif
