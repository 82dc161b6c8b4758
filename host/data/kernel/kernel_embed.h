/*
 * kernel_embed.h - operations on memories whose arguments need a vector of a text.
 *
 * If the host has a model for embeddings (kernel_source.embedder), a memory.put without `vector` gets the vector of the
 * text that a search covers, and a memory.search with `similar` becomes one with `vector`. The model is called on the
 * loop, as a child of the call that uses the operation: it counts towards the budget of a run, and a resumed run does
 * not call it again. Then the operation runs on the store's thread, as always. If the model fails, nothing is stored.
 */
#ifndef TENON_HOST_DATA_KERNEL_KERNEL_EMBED_H
#define TENON_HOST_DATA_KERNEL_KERNEL_EMBED_H

#include "host/data/kernel/kernel.h"

/*
 * As kernel_call_for, for any operation. `token` is the open call that uses the operation. `done` is called
 * once, from inside this function if the model cannot be called. The arguments are borrowed. Thread: loop.
 */
void kernel_call_with_vector(const struct kernel_source *source, const struct kernel *kernel,
                             const struct kernel_operation *operation, uint64_t token,
                             const struct kernel_caller *caller, tn_value arguments, store_done *done, void *user);

#endif
