/*
 * kernel.h - the state kernel: Tasks, Artifacts and memories in a store.
 *
 * Each operation has a name, an object of arguments and a value as its result. tenon/state.h lists the operations.
 * kernel_task.h, kernel_artifact.h and kernel_memory.h define their limits and rules. The kernel keeps no state outside
 * the store, so any number of processes may use one store.
 *
 *     struct kernel kernel;
 *     if (kernel_open(&source, &kernel, &error) != TN_OK) return report(&error);
 *     kernel_call(&kernel, kernel_find_operation("task.create"), arguments, on_created, me);
 *     ...
 *     static void on_created(void *user, int32_t status, tn_value task, const struct error *error) { ... }
 */
#ifndef TENON_HOST_DATA_KERNEL_KERNEL_H
#define TENON_HOST_DATA_KERNEL_KERNEL_H

#include "host/data/store/store.h"

struct callable;
struct loop;

struct kernel {
    struct loop *loop;
    struct store *store;
};

/* The model that makes the vectors of memories. */
struct kernel_embedder {
    struct callable *model; /* its input is that of a model component (tenon/message.h) */
    int64_t dimensions;     /* 0: those of the model */
    size_t bytes;           /* of a text; the rest is cut off */
};

/* The owner of tenon.state (registry_owner). It opens the store on first use. */
struct kernel_source {
    struct loop *loop;
    struct store *(*store)(void *user, struct error *error); /* borrowed; NULL with error */
    void *user;
    /* What is configured; out->model is borrowed, and NULL without a model. A status other than TN_OK: the model cannot
     * be opened. May be NULL. */
    int32_t (*embedder)(void *user, struct kernel_embedder *out, struct error *error);
};
/* Opens the store if necessary. The caller does not close *out. TN_NOT_FOUND if the store cannot be opened. */
int32_t kernel_open(const struct kernel_source *source, struct kernel *out, struct error *error);

/* One operation of the kernel. Plugins must declare its effect to call it; NULL if it changes nothing. */
struct kernel_operation;
const struct kernel_operation *kernel_find_operation(const char *name); /* NULL if there is no such operation */
const struct kernel_operation *kernel_operation_at(size_t index);       /* NULL past the end */
const char *kernel_operation_name(const struct kernel_operation *operation);
const char *kernel_operation_effect(const struct kernel_operation *operation);
/* Sets NOT_FOUND with the nearest name, and returns TN_NOT_FOUND. */
int32_t kernel_refuse_unknown(const char *name, struct error *error);

/*
 * Submits an operation. `done` is called once, later; it may be NULL. `arguments` is borrowed; NULL means {}. The
 * operation reads the loop's clock when the store's thread runs it. Thread: loop.
 */
void kernel_call(const struct kernel *kernel, const struct kernel_operation *operation, tn_value arguments,
                 store_done *done, void *user);
/* For whom an operation is. It must come from the run or the client, never from the arguments of the caller. */
struct kernel_caller {
    const char *thread_id; /* of the run: Artifacts that the operation writes or reads are linked to it; may be NULL */
    const char *owner;     /* the operation reaches only what belongs to this owner (owner.h); NULL: the operator */
};
/* The same for this caller, who is copied. */
void kernel_call_for(const struct kernel *kernel, const struct kernel_operation *operation,
                     const struct kernel_caller *caller, tn_value arguments, store_done *done, void *user);
/* As kernel_call, but runs the loop until the operation has ended. *out is a new reference. Thread: loop. */
int32_t kernel_call_wait(const struct kernel *kernel, const char *operation, tn_value arguments_take, tn_value *out,
                         struct error *error);
/* Removes abandoned uploads, and lets the store clean up. Thread: loop. */
void kernel_maintain(const struct kernel *kernel, store_done *done, void *user);

#endif
