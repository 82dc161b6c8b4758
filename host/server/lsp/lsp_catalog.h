/*
 * lsp_catalog.h - a copy of a host's catalog, for threads that check documents while plugins come and go.
 *
 * The registry belongs to the loop. A copy is made on the loop, does not change, and keeps everything that a checked
 * document borrows: the components, their schemas and manifests.
 *
 *     struct catalog_copy *copy = catalog_copy_new(host_catalog(host), registry_generation(registry));   // [loop]
 *     catalog_copy_fill(copy, &catalog);                                    // `catalog` then answers from the copy
 *     catalog_copy_unref(copy);                                             // any thread
 */
#ifndef TENON_HOST_SERVER_LSP_LSP_CATALOG_H
#define TENON_HOST_SERVER_LSP_LSP_CATALOG_H

#include "adl/document/catalog.h"
#include <stdint.h>

struct catalog_copy;

struct catalog_copy *catalog_copy_new(const struct catalog *from, uint64_t generation); /* [loop] */
struct catalog_copy *catalog_copy_ref(struct catalog_copy *copy);
void catalog_copy_unref(struct catalog_copy *copy); /* NULL is allowed */
/* The registry_generation from which it was made. */
uint64_t catalog_copy_generation(const struct catalog_copy *copy);
/* Sets the functions that ask for components and plugins; `read` and `role_bound` are left as they are. */
void catalog_copy_fill(struct catalog_copy *copy, struct catalog *out);

#endif
