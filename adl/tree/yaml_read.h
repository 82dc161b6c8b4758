/*
 * yaml_read.h - the parts of the YAML reader; private to adl/tree.
 *
 * tree_yaml.c turns a range of a text into nodes. yaml_recover.c continues after a syntax error: it divides the text by
 * its indentation, and has each part read on its own. yaml_reuse.c reads only what differs from an earlier version.
 */
#ifndef TENON_ADL_YAML_READ_H
#define TENON_ADL_YAML_READ_H

#include "adl/tree/tree_build.h"
#include "adl/tree/yaml_problem.h"

enum yaml_result {
    YAML_READ,
    YAML_FAILED, /* a syntax error, which is not reported; what was read before it is in the builder */
    YAML_ENDED,  /* a second document, or a limit (reported): reading ends */
};

/*
 * Reads a range of `text`, which has the length of the builder's source. `joins` is 0 for a whole document. TN_ARRAY or
 * TN_OBJECT: the range has items in indented form, which join the innermost open collection of that kind. *last_end is
 * set to the end of the last value, where collections without brackets end. *problem is set on YAML_FAILED.
 */
enum yaml_result yaml_read_range(struct builder *builder, const char *text, struct span range, int joins,
                                 uint32_t *last_end, struct yaml_problem *problem);

/* Reads the document again after `problem`, reports all syntax errors, and keeps what they do not touch. */
void yaml_recover(struct builder *builder, struct span whole, const struct yaml_problem *problem);

#endif
