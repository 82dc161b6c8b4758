/*
 * header.h - parts of a message that HTTP carries as headers too: names, and parameters that a tool's schema marks.
 *
 * A value that is no plain header text (not ASCII, controls, spaces at its ends, or what looks encoded already) is sent
 * as =?base64?…?=. A mark (`x-mcp-header`) that is not as the protocol wants it makes the whole tool invalid.
 *
 *     if (!headers_check(schema, why, sizeof why)) skip(tool, why);
 *     tn_value extra = headers_of(schema, arguments);   // {"Mcp-Param-Region": "us-west1"}
 */
#ifndef MCP_HEADER_H
#define MCP_HEADER_H

#include "base.h"

bool headers_check(tn_value schema, char *why, size_t size);
/* A new object, NULL where no parameter is sent so. `schema` has been checked. */
tn_value headers_of(tn_value schema, tn_value arguments);
/* The value as a header's, a new reference. */
tn_value header_encode(const char *text, uint64_t length);

#endif
