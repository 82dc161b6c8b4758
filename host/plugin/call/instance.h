/*
 * instance.h - a component created with a configuration, ready to be called, and the names that it has bound.
 *
 * instance_new calls the component's create with a config. Names that create binds (channels to read and write,
 * components to call, expressions, templates, schemas) are resolved through a *scope*, which the graph under
 * construction provides, and stored as index tables. A blocking component that is not reentrant has one inner instance
 * for each worker that is busy with it. Inner instances are created on demand, and all bind the same names.
 *
 *     struct callable *node;
 *     if (instance_new(component, config, &scope, &node, &error) != TN_OK) ...
 *     call_new(loop, node, &ops, owner);
 *     callable_unref(node);
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_PLUGIN_CALL_INSTANCE_H
#define TENON_HOST_PLUGIN_CALL_INSTANCE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct authority; /* authority.h */
struct call;
struct callable;
struct component; /* registry.h */
struct expr_scope;

/* Resolves the names that a component binds. Copied by instance_new; `self` must outlive the instance. */
struct instance_scope {
    void *self;
    int32_t (*field)(void *self, const char *name);   /* the state field to read, or -1 */
    int32_t (*channel)(void *self, const char *name); /* the channel to write, or -1 */
    /*
     * A component or graph (kind "graph") to call: a new reference, or NULL with the error set. `caller` is the frame
     * of the component that binds; it outlives the callable.
     */
    struct callable *(*callee)(void *self, struct authority *caller, const char *kind, const char *name,
                               tn_value config, struct error *error);
    /* The tool set of these names (NULL means all tools), as a callable, see engine/tool/tool_set.h. May be NULL. */
    int32_t (*tools)(void *self, struct authority *caller, tn_value names, struct callable **out, struct error *error);
    /* Calls `visit` with the name of each field, for "did you mean". May be NULL. */
    void (*each_field)(void *self, void (*visit)(void *user, const char *name), void *user);
    /* The name of a field that each_field does not visit, if `field` adds fields on demand. May be NULL. */
    const char *(*field_name)(void *self, uint32_t field);
    /*
     * False if null in the field means that no value was given; a template cannot render that. May be NULL: null is a
     * value of every field.
     */
    bool (*nullable)(void *self, uint32_t field);
    /* An expression or a template uses more of `run` than `run.configurable`. May be NULL. */
    void (*run_used)(void *self);
    const char *where; /* "node `judge`", for messages */
    /* The frame around the component: its document, or the component that calls it. NULL: the operator. */
    struct authority *authority;
    const char *node;    /* the node's id, or NULL if the component is not a node */
    tn_value given;      /* its config as the author wrote it, without defaults; NULL: the config of instance_new */
    bool checked_before; /* in a child process: the host checks what the component binds */
};

/*
 * Creates an instance. *out is a new reference. `config` is borrowed; NULL means an empty object. Fails with the
 * component's own status and error, or PLUGIN_REFUSED if it lacks create or start.
 */
int32_t instance_new(struct component *component, tn_value config, const struct instance_scope *scope,
                     struct callable **out, struct error *error);

/*
 * The same for a component that another component calls. The check of the document has not seen its config, so it is
 * validated here (INVALID_CONFIG), and the defaults of its schema are added.
 */
int32_t instance_new_called(struct component *component, tn_value config, const struct instance_scope *scope,
                            struct callable **out, struct error *error);

/* The state fields that the callable may read, each once: its cache key, and what a worker receives. Borrowed. */
const uint32_t *instance_reads(const struct callable *callable, uint32_t *count);
/* The frame of an instance, borrowed; NULL if the callable is not an instance. */
struct authority *instance_authority(const struct callable *callable);
/* The config that it was created with, borrowed; NULL if the callable is not an instance. */
tn_value instance_config(const struct callable *callable);
/* What it has bound to call, in that order; borrowed. NULL after the last one, or if it is not an instance. */
struct callable *instance_callee(const struct callable *callable, uint32_t index);
/* The component that this callable is an instance of, or wraps an instance of; else NULL. */
struct component *instance_component(const struct callable *callable);

/* The context of a call whose owner and callable provide none: task_id and now. A new reference. */
tn_value instance_plain_context(const struct call *call);

#endif
