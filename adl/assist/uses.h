/*
 * uses.h - the names of a document as assist_new records them; private to uses.c and names.c.
 */
#ifndef TENON_ADL_ASSIST_USES_H
#define TENON_ADL_ASSIST_USES_H

#include "adl/assist/names.h"
#include "adl/document/names.h"

struct recorded_use {
    uint8_t kind, form, access;
    uint32_t file;
    struct span span, token;
    uint32_t node;
    uint32_t text;          /* index in `texts` … */
    uint32_t pointer, path; /* … and this plus 1; 0 means none */
};

struct assist_uses {
    struct recorded_use *items;
    uint32_t count, capacity;
    struct names texts;
    char **blocks, *block; /* memory of the texts */
    uint32_t block_count;
    size_t block_left;
    struct source **files;   /* [0] is the document's */
    struct names file_names; /* the index of a name is its file */
    uint32_t file_count;
};

#endif
