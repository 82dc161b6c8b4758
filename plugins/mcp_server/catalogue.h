/*
 * catalogue.h - what a user can see: tools, prompts, resources and templates, from the served graphs and tools.
 *
 * A graph is one tool, unless the schema of its input declares others in `x-mcp` (README.md). An entry is an object
 * {shown, document?, tool?, declared, schema?, mode, channel?}: `shown` is what the client sees, `document` is what is
 * run, `tool` is a tool of the host, `declared` is true for an entry of `x-mcp`.
 *
 *     tn_value catalogue = catalogue_new(graphs, tools);
 *     tn_value entry = catalogue_find(catalogue, "tools", "name", "search");
 */
#ifndef MCPS_CATALOGUE_H
#define MCPS_CATALOGUE_H

#include "base.h"

/*
 * {tools, prompts, resources, templates}, each an array of entries, tools in order of name. `graphs`: the items of
 * graph/list. `tools`: the items of tool/list, or NULL. A new reference; NULL if memory runs out.
 */
tn_value catalogue_new(tn_value graphs, tn_value tools);
/* The entry of the list whose `shown` has the member with this text. Borrowed; NULL if there is none. */
tn_value catalogue_find(tn_value catalogue, const char *list, const char *member, const char *text);
/*
 * The entry of a resource: one with this URI, or a template that matches. *variables (new, may be set to NULL): the
 * values of the template's variables. Borrowed; NULL if there is none.
 */
tn_value catalogue_find_resource(tn_value catalogue, const char *uri, tn_value *variables);
/*
 * A page of a list as the client sees it: {MEMBER: [shown, …], nextCursor?}. `cursor` is NULL for the first page. NULL
 * and *problem if the cursor is not one of this server. `more`: there are more items than the list has.
 */
tn_value catalogue_page(tn_value catalogue, const char *list, const char *member, tn_value cursor,
                        struct problem *problem);
/* The names for an argument of a prompt or a template that begin with `value`: {values, total, hasMore}. New. */
tn_value catalogue_complete(tn_value entry, const char *argument, const char *value);
/* What the graph of an entry is started with. `request`: {method, name or uri, arguments, …}. New. */
tn_value catalogue_input(tn_value entry, const char *method, tn_value params, tn_value variables);
/* The values of the variables of a URI template: a new object, or NULL if the URI does not match it. */
tn_value template_match(const char *uri_template, const char *uri);

#endif
