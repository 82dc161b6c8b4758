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
    bool old;       /* OpenAPI 3.0 */
    uint32_t nodes; /* of the arguments' schemas made so far */
};

/*
 * What it is called, and where: fills that much of `operation` (zeroed). operation_finish is due afterwards.
 */
void operation_name(const struct reading *reading, struct operation *operation, const char *method, const char *path,
                    struct place place);
/*
 * Fills the rest of `operation` from the Operation Object `place`, of the Path Item `item`. False: it cannot be a tool,
 * which has been logged.
 */
bool operation_read(struct reading *reading, struct operation *operation, struct place item, struct place place);
void operation_finish(struct operation *operation);

#endif
