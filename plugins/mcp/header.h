/*
 * header.h - parts of a message that HTTP also carries as headers: names, and parameters that a tool's schema marks.
 *
 * A value that is not plain header text (not ASCII, control characters, outer spaces, or a text that looks encoded) is
 * sent as =?base64?…?=. An invalid mark (`x-mcp-header`) makes the whole tool invalid.
 *
 *     if (!header_check_schema(schema, why, sizeof why)) skip_tool(server, tool, why);
 *     tn_value extra = headers_from_arguments(schema, arguments);   // {"Mcp-Param-Region": "us-west1"}
 */
#ifndef MCP_HEADER_H
#define MCP_HEADER_H

#include "base.h"

bool header_check_schema(tn_value schema, char *why, size_t size);
/* Returns a new object, or NULL if no parameter is sent as a header. `schema` has been checked. */
tn_value headers_from_arguments(tn_value schema, tn_value arguments);
/* Encodes a value for a header. Returns a new reference. */
tn_value header_encode(const char *text, uint64_t length);

#endif
