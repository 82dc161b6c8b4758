/*
 * method_document.h - the method table as documents for other programs: JSON Schemas, and OpenRPC 1.3.
 *
 *     tn_value document = method_openrpc();
 *     tn_value first = value_at(value_get(document, "methods"), 0);   // {name, summary, params, result, errors, …}
 *     value_unref(document);
 *
 * The documents are made from the rows on each call; they depend on nothing else. method_types.h makes types for
 * programming languages from the same rows. Every result is a new reference. Thread: any.
 */
#ifndef TENON_HOST_SERVER_METHOD_DOCUMENT_H
#define TENON_HOST_SERVER_METHOD_DOCUMENT_H

#include "host/server/method.h"

/* The number of every error of a method over JSON-RPC. Its `data.code` is the stable code, such as "NOT_FOUND". */
#define METHOD_JSON_RPC_ERROR (-32000)

/*
 * One JSON Schema 2020-12 document. Its `$defs` are the schemas that rows share, and for the method thread/list
 * `thread_list_params` and `thread_list_result`, for the event run/ended `run_ended_event`. All references stay inside.
 */
tn_value method_json_schemas(void);

/*
 * The OpenRPC document. Extensions: `x-tenon-scope` of a method; `x-tenon-params`, the whole schema of its parameters,
 * if it has rules about several of them; `x-tenon-events`, [{name, summary, params}].
 */
tn_value method_openrpc(void);
/* The same with the methods for which `shown` returns true. */
tn_value method_openrpc_of(bool (*shown)(void *user, const struct method *method), void *user);

/* The codes that a method can fail with: those of every method, then those of its row, without duplicates. */
tn_value method_error_codes(const struct method *method);

/*
 * A copy of a schema of a row, for documents in which the shared schemas are elsewhere: `#/components/schemas/NAME`
 * becomes `place` and NAME. The type "bytes", which only this program knows, becomes {"$bytes": base64}.
 */
tn_value method_schema_for(tn_value schema, const char *place);

#endif
