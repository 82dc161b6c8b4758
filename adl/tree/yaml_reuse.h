/*
 * yaml_reuse.h - reading a YAML text from the tree of an earlier version of it; private to adl/tree.
 *
 *     struct yaml_reuse *reuse = yaml_reuse_new(builder, before);
 *     if (!reuse || !yaml_reuse_read(reuse, &result, &problem)) result = read_everything(builder, &problem);
 *     if (result == YAML_FAILED) yaml_recover(builder, whole, &problem);   // calls yaml_reuse_item
 *     yaml_reuse_free(reuse);
 *
 * The builder ends in the same state as if everything had been read. Both trees must have the same limits.
 */
#ifndef TENON_ADL_YAML_REUSE_H
#define TENON_ADL_YAML_REUSE_H

#include "adl/tree/yaml_block.h"
#include "adl/tree/yaml_read.h"

struct yaml_reuse;

/* Compares the builder's source with that of `before`. NULL if no part of it can be reused. Frees nothing of `before`.
 */
struct yaml_reuse *yaml_reuse_new(struct builder *builder, const struct tree *before);
void yaml_reuse_free(struct yaml_reuse *reuse); /* NULL is allowed */

/*
 * Reads the document. False if it must be read as a whole: then the builder is as before. *result is YAML_READ: the
 * document is in the builder, closed; or YAML_FAILED: what is before *problem is in the builder.
 */
bool yaml_reuse_read(struct yaml_reuse *reuse, enum yaml_result *result, struct yaml_problem *problem);

/*
 * If the lines of an item of the block are an item of the earlier version, adds a copy to the innermost open collection
 * and returns true.
 */
bool yaml_reuse_item(struct yaml_reuse *reuse, const struct yaml_block *block, struct span lines);

#endif
