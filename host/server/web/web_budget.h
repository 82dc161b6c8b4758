/*
 * web_budget.h - keeps the tokens and the cost of keys in the store, so that a restart does not reset their limits.
 *
 * What is new is written every WEB_BUDGET_MS, and at the end of the host; a host that is killed loses at most that, and
 * what its active runs have used. Hosts with the same store add to the same numbers, and learn those of the others when
 * they write. Keys without limits of tokens or cost cause no writes.
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_WEB_WEB_BUDGET_H
#define TENON_HOST_SERVER_WEB_WEB_BUDGET_H

#define WEB_BUDGET_MS 10000

struct server;
struct web_budget;
struct web_limits;

/* Reads the numbers of today; runs the loop until then. `limits` must outlive it. */
struct web_budget *web_budget_new(struct server *server, struct web_limits *limits);
/* Writes what is new; runs the loop until then. NULL is allowed. */
void web_budget_free(struct web_budget *budget);

#endif
