/*
 * form.h - the body of an operation as multipart/form-data (OpenAPI 3.1, 4.8.14.3): which of its properties are files,
 * and the media types of its parts.
 *
 * A property is a file if its schema has `format: binary`, or a `contentMediaType` that is not text or JSON. With
 * `contentEncoding` base64 or base64url, or `format: byte`, the service expects the file encoded. An array of files is
 * one part for each of them.
 */
#ifndef TENON_PLUGINS_OPENAPI_FORM_H
#define TENON_PLUGINS_OPENAPI_FORM_H

#include "schema.h"
#include "service.h"

#define FORM_PARTS_MAX 256u /* of a body, that are files or have a media type */

/* True if a property of the schema is a file. */
bool form_has_files(struct documents *documents, struct document_node schema);
/*
 * Converts the schema of the body, and fills body->parts. `encoding` is that of the media type (may be empty). A new
 * reference, or NULL.
 */
tn_value form_convert(struct schema_maker *maker, const struct service *service, struct document_node schema,
                      struct document_node encoding, struct body *body);
void form_finish(struct body *body);

#endif
