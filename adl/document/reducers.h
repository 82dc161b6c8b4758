/*
 * reducers.h - the table of the reducers that the engine has, for the reader of documents and the reference.
 *
 *     for (size_t i = 0; i < document_reducer_count(); i++) puts(document_reducer_at(i)->name);
 */
#ifndef TENON_ADL_DOCUMENT_REDUCERS_H
#define TENON_ADL_DOCUMENT_REDUCERS_H

#include "adl/document/document.h"
#include <stddef.h>

struct document_reducer {
    const char *name;
    enum channel_reducer reducer;
    int kind;                           /* kind of a default: TN_NONE any, TN_DOUBLE any number */
    const char *documentation;          /* Markdown */
    const char *before, *write, *after; /* JSON: an example */
};

size_t document_reducer_count(void);
const struct document_reducer *document_reducer_at(size_t index);

#endif
