/*
 * content.h - what a server gives, in the words of tenon/message.h, and the other way round for what it asks a model.
 *
 *   text          {type: "text", text}                 resource, text   {type: "text", text, extra: {mcp: {uri, …}}}
 *   image, audio  {type, media_type, data}             resource, blob   {type: "file" (or image), media_type, name,
 * data} resource_link {type: "source", url, title, extra}  what is unknown  {type: "text", its JSON}
 *
 * Everything that is made is a new reference, NULL without memory.
 */
#ifndef MCP_CONTENT_H
#define MCP_CONTENT_H

#include "base.h"

tn_value content_part(tn_value block);
/* A list of blocks: a text where that is all there is, else an array of parts. */
tn_value content_of(tn_value blocks);
bool content_only_text(tn_value blocks);
tn_value content_resources(tn_value contents); /* of resources/read */
tn_value content_messages(tn_value messages);  /* of prompts/get: an array of MESSAGEs */

/* sampling/createMessage: what a model is started with; NULL with `why` where it cannot be. */
tn_value sample_input(tn_value params, const char **why);
/* …and the model's output as the result. `list`: more than one block is allowed (2025-11-25 and later). */
tn_value sample_result(tn_value output, bool list);

#endif
