/*
 * agents.h - functions that the components of `tenon.agents` share: interfaces, memory, and errors of create and of
 * tasks.
 *
 * An instance is allocated in create and is freed with its graph. Any number of tasks of one instance may be open at
 * the same time. All of them run on the loop's thread, so no locks are needed. Each task has a separate memory block,
 * which is freed before the task's end is reported.
 *
 *     struct node *node = agents_alloc_zeroed(sizeof *node);
 *     if (node == NULL) return TN_NO_MEMORY;
 */
#ifndef TENON_PLUGINS_AGENTS_H
#define TENON_PLUGINS_AGENTS_H

#include <stdbool.h>
#include <tenon/document.h>
#include <tenon/graph.h>
#include <tenon/message.h>
#include <tenon/tool.h>
#include <tenon/util/build.h>
#include <tenon/util/text.h>

extern TN_EASY_HIDDEN const tn_tool_1 *agents_tool;
extern TN_EASY_HIDDEN const tn_graph_draft *agents_graph;        /* NULL if the host does not provide it */
extern TN_EASY_HIDDEN const tn_document_draft *agents_documents; /* the same */

/* ---- Create ---- */

/* Returns TN_OK if the host provides tenon.graph. Otherwise refuses to create the node and returns the failure. */
int32_t agents_require_graph(void);
/* Refuses to create the node with INVALID_CONFIG. Returns the status that create must return. */
int32_t agents_refuse(const char *message);
/* Binds the channel that the member `key` names, for reading or for writing. If the member is absent, returns TN_OK and
 * sets *channel to TN_UNBOUND. */
int32_t agents_bind_read(tn_value config, const char *key, tn_binder *binder, uint32_t *channel);
int32_t agents_bind_write(tn_value config, const char *key, tn_binder *binder, uint32_t *channel);
/* The same, for the template in the member `key`. */
int32_t agents_bind_template(tn_value config, const char *key, tn_binder *binder, uint32_t *template_index);

/* ---- Memory ---- */

void *agents_alloc_zeroed(uint64_t size); /* NULL if allocation fails */
void agents_release(void *memory);

/* ---- Ending ---- */

/* Ends the task with the error of a call or of the host's evaluation. Returns what start must return. */
int32_t agents_fail_with(tn_task task, int32_t status, tn_value error);
/* Ends the task with an error whose message has a printf format. `detail` may be NULL. Returns TN_FAILED. */
int32_t agents_fail(tn_task task, const char *code, tn_value detail, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* deep_research.c: Keeps the operator's defaults; `config` is the plugin's section of tenon.yaml, or NULL. */
void deep_research_set_section(tn_value config);

/* ---- Names ---- */

/* True if a pattern of the list matches the tool's name (tenon/util/tool_pattern.h). A NULL list matches nothing. */
bool names_match(tn_value patterns, const char *name);

#endif
