/*
 * agents.h - what the components of `tenon.agents` share: the interfaces, memory, texts that grow, failing and
 * refusing.
 *
 * Instances are made in create and live as long as their graph. Any number of tasks of one instance may be open at
 * once, all on the loop's thread, so nothing here locks; what a task needs is in a block of its own, freed before the
 * task's end is told.
 *
 *     struct text text = {0};
 *     text_add(&text, "- ");
 *     text_format(&text, "%s (%d)\n", name, count);
 *     tn_value value = text_take(&text);      // NULL: no memory
 */
#ifndef TENON_PLUGINS_AGENTS_H
#define TENON_PLUGINS_AGENTS_H

#include <stdbool.h>
#include <tenon/message.h>
#include <tenon/tool.h>

/* NULL where the host does not offer them. */
extern TN_EASY_HIDDEN const tn_tool_draft *agents_tool;
extern TN_EASY_HIDDEN const tn_graph_draft_2 *agents_graph;

/* ---- Create ---- */

/* TN_OK, or refuses to create: `interface` is NULL and the node cannot do without. */
int32_t agents_needs(const void *interface, tn_binder *binder, const char *id);
/* Refuses to create with INVALID_CONFIG; returns what create returns. */
int32_t agents_refuse(tn_binder *binder, const char *message);
/* The member's name as a channel to read or write: TN_UNBOUND where it is absent. */
int32_t agents_read(tn_value config, const char *key, tn_binder *binder, uint32_t *channel);
int32_t agents_write(tn_value config, const char *key, tn_binder *binder, uint32_t *channel);
int32_t agents_template(tn_value config, const char *key, tn_binder *binder, uint32_t *template_index);

/* ---- Memory ---- */

void *agents_alloc(uint64_t size); /* zeroed; NULL where there is no memory */
void agents_free(void *memory);

/* ---- Ending ---- */

/* Ends the task with what a call, or the host's evaluation, failed with; returns TN_FAILED. */
int32_t agents_fail_with(tn_task task, int32_t status, tn_value error);
/* The same with a message of printf's kind. */
int32_t agents_fail(tn_task task, const char *code, tn_value more, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- Texts ---- */

struct text {
    char *bytes; /* NUL-terminated where length > 0 */
    uint64_t length, capacity;
    bool failed; /* no memory: nothing more is added */
};

void text_add_n(struct text *text, const char *bytes, uint64_t length);
void text_add(struct text *text, const char *bytes);
void text_add_value(struct text *text, tn_value value); /* a string itself; anything else as JSON */
void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A string, and lets go of the bytes; NULL without memory. */
tn_value text_take(struct text *text);
void text_finish(struct text *text);

/* ---- Names ---- */

/* Whether `name` fits the pattern: `*` is any part of it. */
bool name_fits(const char *pattern, const char *name);
/* Whether a list of patterns has one that fits; NULL is an empty list. */
bool names_have(tn_value patterns, const char *name);

/* A copy of `object` (NULL: {}) with the member; takes both. */
tn_value agents_set_take(tn_value object, const char *key, tn_value value);

#endif
