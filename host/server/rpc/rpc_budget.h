/*
 * rpc_budget.h - a limit on the bytes of messages that all connections of a host hold together.
 *
 *     struct rpc_budget budget;
 *     rpc_budget_init(&budget, RPC_BUDGET_MAX);
 *     rpc_budget_join(&budget, &peer->member);       // with its functions `size` and `end`
 *     rpc_budget_grow(&peer->member, length);        // it holds more bytes
 *     rpc_budget_leave(&peer->member);
 *
 * If the members hold too much, the one that holds most is ended, until the others are within the limit. Sizes are
 * counted when the members have added RPC_BUDGET_STEP bytes since the last count, so they can exceed the limit by as
 * much. [loop]
 */
#ifndef TENON_HOST_SERVER_RPC_RPC_BUDGET_H
#define TENON_HOST_SERVER_RPC_RPC_BUDGET_H

#include <stddef.h>

#define RPC_BUDGET_MAX  ((size_t)512 << 20) /* bytes of a host */
#define RPC_BUDGET_STEP ((size_t)1 << 20)

struct rpc_budget_member {
    struct rpc_budget *budget; /* NULL: it is in none */
    struct rpc_budget_member *next, **link;
    size_t (*size)(struct rpc_budget_member *member); /* the bytes that it holds now */
    void (*end)(struct rpc_budget_member *member);    /* it has left the budget, and must free what it holds */
};

struct rpc_budget {
    size_t max;
    size_t grown; /* since the last count */
    struct rpc_budget_member *first;
};

void rpc_budget_init(struct rpc_budget *budget, size_t max);
void rpc_budget_join(struct rpc_budget *budget, struct rpc_budget_member *member);
void rpc_budget_leave(struct rpc_budget_member *member); /* no effect if it is in none */
/* The member has added so many bytes. May call `end` of any member. No effect if it is in no budget. */
void rpc_budget_grow(const struct rpc_budget_member *member, size_t length);

#endif
