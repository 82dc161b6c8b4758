/*
 * operation.h - an Operation Object as a tool: its arguments' schema, its effects, and how they become a request.
 *
 * Arguments are its parameters by name (one that another place has as well gets the place behind its name, id_query),
 * and `body`. The description's media type is the first of JSON, forms, text and anything else that it offers.
 */
#ifndef TENON_PLUGINS_OPENAPI_OPERATION_H
#define TENON_PLUGINS_OPENAPI_OPERATION_H

#include "document.h"
#include "service.h"

struct reading {
    struct documents documents;
    struct service *service;
    struct place root;
    bool old; /* OpenAPI 3.0 */
};

/*
 * Fills `operation` (zeroed) from the Operation Object `place`, of the Path Item `item`. False: it cannot be a tool,
 * which has been logged; operation_finish is due all the same.
 */
bool operation_read(struct reading *reading, struct operation *operation, const char *method, const char *path,
                    struct place item, struct place place);
void operation_finish(struct operation *operation);

#endif
