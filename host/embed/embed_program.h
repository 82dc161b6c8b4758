/*
 * embed_program.h - the components of the embedding program, as one plugin of the host that has no file.
 *
 * The plugin `tenon.program` is added with the first component. A component is an *entry*, with functions for its
 * instances and their tasks, as in tn_component_1. Ids are unique in the program, over all kinds.
 *
 *     struct embed_entry *entry = &function->entry;      // made with mem_alloc; `ops` and `id` are set
 *     status = embed_program_add_take(handle, entry, component);
 *
 * Thread: that of the host.
 */
#ifndef TENON_HOST_EMBED_EMBED_PROGRAM_H
#define TENON_HOST_EMBED_EMBED_PROGRAM_H

#include "host/embed/embed_internal.h"

#define EMBED_PROGRAM_ID "tenon.program"

struct embed_entry;

/* The first member of every instance. */
struct embed_instance {
    const struct embed_entry *entry;
};

struct embed_entry_ops {
    /* As in tn_component_1. *out is made with mem_alloc; its `entry` is set by the caller. */
    int32_t (*create)(const struct embed_entry *entry, tn_value config, tn_binder *binder, struct embed_instance **out);
    int32_t (*start)(struct embed_instance *instance, tn_task task, tn_value input);
    void (*cancel)(struct embed_instance *instance, tn_task task); /* may be NULL */
    void (*ready)(struct embed_instance *instance, tn_task task);  /* may be NULL */
    void (*destroy)(struct embed_instance *instance);
    void (*release)(struct embed_entry *entry); /* before the host ends: it releases runnables; may be NULL */
    void (*free)(struct embed_entry *entry);    /* after the host has ended */
};

struct embed_entry {
    const struct embed_entry_ops *ops;
    char *id; /* freed with the entry */
    struct embed_entry *next;
};

/*
 * Adds a component. `component` is its object of a manifest, with kind and id. On failure the entry is freed, and the
 * error of the handle is set.
 */
int32_t embed_program_add_take(tenon *handle, struct embed_entry *entry, tn_value component);
const struct embed_entry *embed_program_find(const tenon *handle, const char *id); /* NULL if there is none */
/* A new id with this prefix, for a component that only a builder names. Release it with mem_free. */
char *embed_program_name(tenon *handle, const char *prefix);

/* Before and after host_free. */
void embed_program_release(tenon *handle);
void embed_program_free(tenon *handle);

/* The fields of a graph that an instance reads, for a component that receives the whole state. */
struct embed_state {
    uint32_t count;
    struct embed_field {
        tn_value name;
        uint32_t index;
    } * fields;
};
/* In create: binds every channel of the graph, and every name of an item. */
int32_t embed_state_bind(struct embed_state *state, tn_binder *binder);
/* The state as an object, in a graph with GRAPH_WHOLE_STATE too; a new reference. [loop, worker] */
tn_value embed_state_read(const struct embed_state *state, tn_task task);
void embed_state_finish(struct embed_state *state);

#endif
