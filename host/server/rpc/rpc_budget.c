/*
 * rpc_budget.c - counts the bytes that members hold, and ends the largest one.
 */
#include "host/server/rpc/rpc_budget.h"

void rpc_budget_init(struct rpc_budget *budget, size_t max) { *budget = (struct rpc_budget){.max = max}; }

void rpc_budget_join(struct rpc_budget *budget, struct rpc_budget_member *member) {
    member->budget = budget;
    member->next = budget->first;
    member->link = &budget->first;
    if (member->next) member->next->link = &member->next;
    budget->first = member;
}

void rpc_budget_leave(struct rpc_budget_member *member) {
    if (!member->budget) return;
    *member->link = member->next;
    if (member->next) member->next->link = member->link;
    member->budget = NULL;
}

/* The member that holds most, if all of them hold too much; else NULL. */
static struct rpc_budget_member *one_too_many(const struct rpc_budget *budget) {
    struct rpc_budget_member *largest = NULL;
    size_t sum = 0, most = 0;
    for (struct rpc_budget_member *member = budget->first; member; member = member->next) {
        size_t size = member->size(member);
        sum += size;
        if (size <= most) continue;
        most = size;
        largest = member;
    }
    return sum > budget->max ? largest : NULL;
}

void rpc_budget_grow(const struct rpc_budget_member *member, size_t length) {
    struct rpc_budget *budget = member->budget;
    struct rpc_budget_member *largest;
    if (!budget) return;
    budget->grown += length;
    if (budget->grown < RPC_BUDGET_STEP) return;
    budget->grown = 0;
    while ((largest = one_too_many(budget)) != NULL) {
        rpc_budget_leave(largest);
        largest->end(largest);
    }
}
