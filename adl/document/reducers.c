/* reducers.c - the table of the reducers that the engine has. */
#include "adl/document/reducers.h"

static const struct document_reducer rows[] = {
#define REDUCER(name, reducer, kind, documentation, before, write, after)                                              \
    {name, reducer, kind, documentation, before, write, after},
#include "adl/document/reducers.def"
#undef REDUCER
};

size_t document_reducer_count(void) { return sizeof rows / sizeof *rows; }

const struct document_reducer *document_reducer_at(size_t index) { return &rows[index]; }
