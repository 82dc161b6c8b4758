/*
 * lsp_position.h - offsets of a source as positions of the Language Server Protocol, and back; paths as URIs.
 *
 * A position is {line, character}, from 0. The client and the server agree on the unit of `character` in `initialize`
 * (positionEncoding): UTF-16 unless the client offers another one.
 */
#ifndef TENON_HOST_SERVER_LSP_LSP_POSITION_H
#define TENON_HOST_SERVER_LSP_LSP_POSITION_H

#include "adl/source/source.h"
#include "adl/value/value.h"
#include <stdbool.h>

struct lsp_place;

tn_value lsp_position(const struct source *source, uint32_t offset, enum source_unit unit);
tn_value lsp_range(const struct source *source, struct span span, enum source_unit unit);
/* False if the value is not a position. */
bool lsp_read_place(tn_value position, struct lsp_place *out);
/* False if the value is not a position, or a range. What is past the end of a line or of the text means that end. */
bool lsp_read_position(const struct source *source, tn_value position, enum source_unit unit, uint32_t *out);
bool lsp_read_range(const struct source *source, tn_value range, enum source_unit unit, struct span *out);

/* The path of a file URI, free it with mem_free; NULL for another URI. */
char *lsp_uri_path(const char *uri);
/* The URI of an absolute path. */
tn_value lsp_path_uri(const char *path);

#endif
