/*
 * annotations.h - the table of the values of `x-tenon`, for the reference and for listings of members.
 *
 *     const struct schema_annotation *row = schema_annotation_find("channel-read", 12);
 *
 * What a value does is in the code that reads it: adl/document/check_annotated.c for configurations of nodes,
 * host/plugin/registry/plugin_section.c for sections of tenon.yaml, host/plugin/call/authority.c for rights to call.
 */
#ifndef TENON_ADL_SCHEMA_ANNOTATIONS_H
#define TENON_ADL_SCHEMA_ANNOTATIONS_H

#include <stddef.h>

struct schema_annotation {
    const char *name;          /* "channel-read" */
    const char *phrase;        /* "a channel that is read" */
    const char *documentation; /* Markdown */
    const char *example;       /* a JSON Schema */
};

size_t schema_annotation_count(void);
const struct schema_annotation *schema_annotation_at(size_t index);
/* NULL if there is no such annotation. */
const struct schema_annotation *schema_annotation_find(const char *name);

#endif
