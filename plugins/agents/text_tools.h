/*
 * text_tools.h - tools for models without native tool calls: described in the prompt, called in the text.
 *
 * The prompt describes the tools, the form of a call, and the current time. The answer is searched for calls. Tool
 * calls and results in a conversation are converted to texts, because such models accept only texts. A call has this
 * form:
 *
 *     ```tool
 *     {"name": "calc.add", "arguments": {"a": 1, "b": 2}}
 *     ```
 *
 * These forms are accepted too: <tool_call>{…}</tool_call>, <function=NAME>{…}</function>, <NAME><a>1</a></NAME>, JSON
 * in a fence with another word, and bare JSON at the end of the text. `tool`, `function`, `parameters`, `args` and
 * `input` are accepted for `name` and `arguments`.
 */
#ifndef TENON_PLUGINS_AGENTS_TEXT_TOOLS_H
#define TENON_PLUGINS_AGENTS_TEXT_TOOLS_H

#include "agents.h"

#define TEXT_TOOLS_CALLS_MAX 16u /* calls extracted from one answer; further calls stay text */

/* Returns the prompt, a new reference. `tools` are definitions (tenon/tool.h), `now` is in ms since 1970 UTC. NULL if
 * allocation fails. */
tn_value text_tools_build_prompt(tn_value tools, int64_t now);
/*
 * Returns the ai message with the calls of its text moved to `tool_calls`, or the message itself if it has no calls.
 * Ids of calls start with `id`. Takes `message`. NULL if allocation fails.
 */
tn_value text_tools_extract_take(tn_value message, tn_value tools, const char *id);
/* Returns the messages with only the types system, user and ai; calls and results are part of the texts. NULL if
 * allocation fails. */
tn_value text_tools_to_plain_messages(tn_value messages);

#endif
