/*
 * text_tools.h - tools for models that have none of their own: told in the prompt, called in the text.
 *
 * The generator describes the tools, how one is called and what time it is; the answer is searched for calls; and a
 * conversation with calls and results is turned into one of texts alone, as such models are trained on no other.
 * A call is written
 *
 *     ```tool
 *     {"name": "calc.add", "arguments": {"a": 1, "b": 2}}
 *     ```
 *
 * and understood as well as <tool_call>{…}</tool_call>, <function=NAME>{…}</function>, <NAME><a>1</a></NAME>, in a
 * fence with another word, and bare, at the end of the text. `tool`, `function`, `parameters`, `args` and `input` are
 * understood for `name` and `arguments`.
 */
#ifndef TENON_PLUGINS_AGENTS_TEXT_TOOLS_H
#define TENON_PLUGINS_AGENTS_TEXT_TOOLS_H

#include "agents.h"

#define TEXT_TOOLS_CALLS_MAX 16u /* calls taken from one answer; what follows them stays text */

/* The prompt: `tools` are definitions (tenon/tool.h), `now` ms since 1970 UTC. NULL without memory. */
tn_value text_tools_prompt(tn_value tools, int64_t now);
/*
 * The ai message with the calls that are in its text as `tool_calls`, and without them in its content; itself where
 * there are none. Ids begin with `id`. Takes `message`; NULL without memory.
 */
tn_value text_tools_extract_take(tn_value message, tn_value tools, const char *id);
/* Messages of the types system, user and ai alone, calls and results in their texts. NULL without memory. */
tn_value text_tools_plain(tn_value messages);

#endif
