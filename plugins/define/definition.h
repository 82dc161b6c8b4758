/*
 * definition.h - one description of a tool: read, checked and converted to a component for the registry.
 *
 *     struct definition *definition = definition_read(value, "tools.yaml", "/etc/acme", false); // NULL: error logged
 *     registry->add(tn.host, definition->component);
 *     definition_free(definition);
 */
#ifndef TENON_PLUGINS_DEFINE_DEFINITION_H
#define TENON_PLUGINS_DEFINE_DEFINITION_H

#include "encode.h"

enum implementation { BY_TOOL, BY_HTTP, BY_COMMAND, BY_DOCUMENT };

struct definition {
    struct definition *next;
    enum implementation implementation;
    tn_value value;     /* the description */
    tn_value id;        /* of the tool */
    tn_value component; /* for registry->add */
    tn_value document;  /* BY_DOCUMENT: path; absolute if the folder of the description is */
    tn_value arguments; /* what the callee gets; NULL: the input itself */
    const char *result; /* path of names, separated by dots; NULL: the whole output */
    bool sandboxed;     /* BY_COMMAND: the program runs in the sandbox */
};

/* `where` names the description in messages: a file, or a place in tenon.yaml; `in_config` is true for the latter,
 * which only the operator writes. Relative paths start in `folder`, which may be NULL. Returns NULL if the description
 * is invalid or memory runs out; the reason has been logged. */
struct definition *definition_read(tn_value value, const char *where, const char *folder, bool in_config);
void definition_free(struct definition *definition); /* NULL is allowed */

/* Returns the part of `output` that `result` names, or null if it does not exist; a new reference. */
tn_value definition_select_result(const struct definition *definition, tn_value output);

#endif
