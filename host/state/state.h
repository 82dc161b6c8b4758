/*
 * state.h - the state kernel: Tasks, Artifacts and memories, over a store.
 *
 * Everything is an operation: a name, an object of arguments, a value as the result. Which there are, and what they
 * take and give, is in tenon/state.h; task.h, artifact.h and memory.h have their bounds and what holds for each. What
 * the kernel knows of a Task it has from its record alone: any number of processes may work on one store.
 *
 *     struct state state;
 *     if (state_open(host, &state, &error) != TN_OK) return report(&error);
 *     state_call(&state, state_find("task.create"), arguments, on_created, me);
 *     ...
 *     static void on_created(void *user, int32_t status, tn_value task, const struct error *error) { ... }
 */
#ifndef TENON_HOST_STATE_H
#define TENON_HOST_STATE_H

#include "host/store/store.h"

struct loop;

struct state {
    struct loop *loop;
    struct store *store;
};

/* Over the host's own store. Nothing to close. */
int32_t state_open(struct host *host, struct state *out, struct error *error);

/* One row for each operation: what plugins must declare to call it, NULL where it changes nothing. */
struct state_row;
const struct state_row *state_find(const char *operation); /* NULL where there is none */
const struct state_row *state_at(size_t index);            /* NULL past the end */
const char *state_name(const struct state_row *row);
const char *state_effect(const struct state_row *row);
/* NOT_FOUND, with the nearest name. */
int32_t state_unknown(const char *operation, struct error *error);

/*
 * [loop] `done` is called once, never from inside; it may be NULL. `arguments` is borrowed; NULL is {}. The clock is
 * the loop's, at the time the store gets to it.
 */
void state_call(const struct state *state, const struct state_row *row, tn_value arguments, store_done *done,
                void *user);
/* The same, for whoever has nothing else to do: runs the loop until it is done. *out: a new reference. */
int32_t state_call_wait(const struct state *state, const char *operation, tn_value arguments_take, tn_value *out,
                        struct error *error);
/* [loop] Removes what uploads that nobody goes on with have left, and has the store clean up. */
void state_maintain(const struct state *state, store_done *done, void *user);

#endif
