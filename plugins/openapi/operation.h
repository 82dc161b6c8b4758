/*
 * operation.h - an Operation Object as a tool: the schema of its arguments, its effects, and their use in a request.
 *
 * The arguments are the parameters by name, and `body`. If parameters at two locations (path, query, header, cookie)
 * have the same name, the location is appended to one of them (id_query). The media type of the body is the first
 * available of JSON, forms, text and any other.
 */
#ifndef TENON_PLUGINS_OPENAPI_OPERATION_H
#define TENON_PLUGINS_OPENAPI_OPERATION_H

#include "document.h"
#include "schema.h"
#include "service.h"

struct service_reader {
    struct documents documents;
    struct schema_library library; /* of its schemas */
    struct service *service;
    struct document_node root;
    uint32_t nodes; /* values in the schemas of arguments so far */
};

/*
 * Fills the identity (id, method, path) of `operation`, which is zeroed. The caller calls operation_finish later.
 */
void operation_set_identity(const struct service_reader *reader, struct operation *operation, const char *method,
                            const char *path, struct document_node node);
/* Names the operation after its method and path, and not after its operationId. */
void operation_rename(struct operation *operation);
/*
 * Fills the rest of `operation` from the Operation Object `node` of the Path Item `item`. Returns false if the
 * operation cannot be a tool; the reason has been logged.
 */
bool operation_read(struct service_reader *reader, struct operation *operation, struct document_node item,
                    struct document_node node);
void operation_finish(struct operation *operation);

#endif
