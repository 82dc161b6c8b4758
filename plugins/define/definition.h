/*
 * definition.h - one description of a tool: read, checked, and as a component for the registry.
 *
 *     struct definition *definition = definition_read(value, "/etc/acme");   // NULL: what is wrong has been logged
 *     registry->add(tn.host, definition->component);
 *     definition_free(definition);
 */
#ifndef TENON_PLUGINS_DEFINE_DEFINITION_H
#define TENON_PLUGINS_DEFINE_DEFINITION_H

#include "text.h"

enum implementation { BY_TOOL, BY_HTTP, BY_COMMAND, BY_DOCUMENT };

struct definition {
    struct definition *next;
    enum implementation by;
    tn_value value;     /* the description */
    tn_value id;        /* of the tool */
    tn_value component; /* as for the registry */
    tn_value document;  /* BY_DOCUMENT: its path, absolute where the description's folder is */
    tn_value arguments; /* what is handed on; NULL: what came in */
    const char *result; /* names with dots between them; NULL: all of it */
};

/* `where`: what it is, for the log: a file's name, or a place in tenon.yaml. `folder`: of names of files; or NULL. */
struct definition *definition_read(tn_value value, const char *where, const char *folder);
void definition_free(struct definition *definition); /* NULL is allowed */

/* The part of a result that `result` names; a new reference, null where there is none. */
tn_value definition_result(const struct definition *definition, tn_value output);

#endif
