/*
 * instance.h - a component made ready to be called: its instance(s), and the names they bound.
 *
 * instance_new asks the registry's component to create itself with a config; what it binds meanwhile (channels to read
 * and write, components to call, expressions, templates, schemas) is resolved through a *scope*, which the graph that
 * is being built provides, and kept as index tables here. A blocking component that is not reentrant has as many inner
 * instances as workers are busy with it; they are made on demand, and all bind the same.
 *
 *     struct callable *node;
 *     if (instance_new(component, config, &scope, &node, &error) != TN_OK) ...
 *     call_new(loop, node, &ops, owner);
 *     callable_unref(node);
 */
#ifndef TENON_HOST_INSTANCE_H
#define TENON_HOST_INSTANCE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdint.h>

struct callable;
struct component; /* registry.h */
struct expr_scope;

/* Where a component's names lead. Copied by instance_new; `self` must outlive the instance. */
struct instance_scope {
    void *self;
    int32_t (*field)(void *self, const char *name);   /* state field to read, or -1 */
    int32_t (*channel)(void *self, const char *name); /* channel to write, or -1 */
    /* A component or graph (kind "graph") to call: a new reference, or NULL with error set. */
    struct callable *(*callee)(void *self, const char *kind, const char *name, tn_value config, struct error *error);
    /* The set of tools of these names (NULL: all there are): a callable, see tool/set.h. May be NULL. */
    int32_t (*tools)(void *self, tn_value names, struct callable **out, struct error *error);
    /* Names for "did you mean": calls offer for each field. May be NULL. */
    void (*each_field)(void *self, void (*offer)(void *user, const char *name), void *user);
    /* The name of a field that each_field does not offer, where fields come to be by being asked for. May be NULL. */
    const char *(*field_name)(void *self, uint32_t field);
    const char *where; /* "node `judge`", for messages */
};

int32_t instance_new(struct component *component, tn_value config, const struct instance_scope *scope,
                     struct callable **out, struct error *error);

/*
 * The same of a component that another one calls: its config has not been looked at by a document's check, so that it
 * is validated here, with INVALID_CONFIG and everything that does not fit, and the schema's defaults are filled in.
 */
int32_t instance_new_called(struct component *component, tn_value config, const struct instance_scope *scope,
                            struct callable **out, struct error *error);

/* The state fields that the callable may read, each once: its cache key, and what a worker is given. Borrowed. */
const uint32_t *instance_reads(const struct callable *callable, uint32_t *count);
/* What it has bound to call, in that order; borrowed. NULL past the last one, and of what is no instance. */
struct callable *instance_callee(const struct callable *callable, uint32_t index);
/* The component that this callable is an instance of, or stands before one of; NULL where it is something else. */
struct component *instance_component(const struct callable *callable);

#endif
