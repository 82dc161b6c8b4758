/*
 * content.h - converts a server's content to the messages of tenon/message.h, and back for models that it asks.
 *
 *   text           {type: "text", text}
 *   image, audio   {type, media_type, data}
 *   resource       {type: "text", text, extra: {mcp: {uri, …}}} if it is text
 *                  {type: "file" (or image), media_type, name, data} if it is a blob
 *   resource_link  {type: "source", url, title, extra}
 *   unknown        {type: "text", text: its JSON}
 *
 * All functions return new references; NULL if memory runs out.
 */
#ifndef MCP_CONTENT_H
#define MCP_CONTENT_H

#include "base.h"

tn_value content_part(tn_value block);
/* Converts a list of blocks: to a string if all are text, else to an array of parts. */
tn_value content_from_blocks(tn_value blocks);
bool content_only_text(tn_value blocks);
tn_value content_resources(tn_value contents); /* of resources/read */
tn_value content_messages(tn_value messages);  /* of prompts/get: an array of messages */

/* Converts the params of sampling/createMessage to the input of a model. Returns NULL with `why` if they are invalid.
 */
tn_value sample_input(tn_value params, const char **why);
/* Converts the output of a model to the result. `list`: more than one block is allowed (2025-11-25 and later). */
tn_value sample_result(tn_value output, bool list);

#endif
