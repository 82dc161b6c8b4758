/*
 * search.h - tools that a model searches instead of receiving all of them: `tools: {search: true, …}`.
 *
 * The request has the tools of `always`, the tool `tool.search`, and the tools that the conversation has loaded: those
 * that a result of `tool.search` names, and those that were called. The conversation alone decides, so a run that is
 * resumed or replayed offers the same tools. Only tools of the node's set can be found, loaded and called.
 *
 *     search_read(config, &search);                                   // in create
 *     status = agents_tool->bind_tools(binder, names = search_names(&search), &set);
 *     offered = search_offer(&search, definitions, messages);         // llm: what the request has
 *     result = search_run(&search, definitions, arguments, &failed);  // tools: a call of `tool.search`
 */
#ifndef TENON_PLUGINS_AGENTS_SEARCH_H
#define TENON_PLUGINS_AGENTS_SEARCH_H

#include "agents.h"

#define SEARCH_TOOL "tool.search"

struct search {
    bool on;
    tn_value names, always; /* borrowed from the configuration; NULL: all tools of the document; none */
    uint32_t max_found, max_loaded;
};

/* Reads the member `tools` of a configuration: a list, or the object of a search. */
void search_read(tn_value config, struct search *search);
/* Returns the names and patterns for bind_tools: a new reference, or NULL for all tools of the document. */
tn_value search_names(const struct search *search);
/* Returns the definitions of a request, a new reference; NULL if memory runs out. `messages` and `more` are
 * conversations, in this order; each may be NULL. */
tn_value search_offer(const struct search *search, tn_value definitions, tn_value messages, tn_value more);
/* Returns the result of a call of `tool.search`, or its error, and then sets *failed. NULL if memory runs out. */
tn_value search_run(const struct search *search, tn_value definitions, tn_value arguments, bool *failed);

#endif
