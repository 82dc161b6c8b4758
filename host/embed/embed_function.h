/*
 * embed_function.h - C functions as components, for tenon_register and tenon_add_route.
 */
#ifndef TENON_HOST_EMBED_EMBED_FUNCTION_H
#define TENON_HOST_EMBED_EMBED_FUNCTION_H

#include "host/embed/embed_program.h"

enum embed_function_kind {
    FUNCTION_NODE,
    FUNCTION_TOOL,
    FUNCTION_MODEL,
    FUNCTION_REDUCER,
    FUNCTION_ROUTE /* a node that only chooses what follows: its function returns a name or a list of names */
};

/*
 * Adds a function as a component; the arguments are those of tenon_register, and `id` is taken. On failure `destroy`
 * is called and the error of the handle is set.
 */
int32_t embed_function_add(tenon *handle, enum embed_function_kind kind, char *id, tn_value component,
                           tenon_component_function function, void *user, void (*destroy)(void *user));

#endif
