/*
 * web_limit.h - what each key has used: requests, open requests, active runs, tokens and cost.
 *
 * The numbers are in memory. Tokens and cost of a day are those of the store, too, if a key has a limit of them
 * (web_budget.h). A day is one of UTC. The limits of a key are an object:
 * requests_per_minute, runs, tokens_per_day, cost_per_day; without a member there is no limit of that kind.
 *
 *     struct key_use *use = web_limits_use(limits, "ada");
 *     if (!key_use_begin(use, key->limits, 100, &retry_s, &what)) refuse with 429;
 *     ...
 *     key_use_end(use);
 *
 * Runs are those that the key has started by tenon.server; the usage of a run is counted when it ends.
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_WEB_WEB_LIMIT_H
#define TENON_HOST_SERVER_WEB_WEB_LIMIT_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct key_use;
struct method;
struct server;
struct web_limits;

#define WEB_KEYS_MAX    20000u /* keys whose use is kept; those without use are forgotten first */
#define WEB_THREADS_MAX 10000u /* threads and runs of which is known what was counted; the oldest are forgotten */
#define WEB_SAVED_MAX   1000u  /* threads that are written at once; the others follow */

struct web_limits *web_limits_new(struct server *server);
void web_limits_free(struct web_limits *limits); /* ends its waits for runs; NULL is allowed */
/* Never NULL; lives as long as the limits. */
struct key_use *web_limits_use(struct web_limits *limits, const char *key);

/*
 * A request begins; at most `open_max` of a key can be open, or what its own limit says. False: a limit is reached;
 * *retry_s and *what (a static text) say which.
 */
bool key_use_begin(struct key_use *use, tn_value limits, size_t open_max, int64_t *retry_s, const char **what);
void key_use_end(struct key_use *use);
/* Bytes of a body have arrived for a request that is open. False: the key would have more than `most`. */
bool key_use_add_body(struct key_use *use, int64_t bytes, int64_t most);
void key_use_remove_body(struct key_use *use, int64_t bytes);
/* The same for bytes of responses that its clients have not read. */
bool key_use_add_waiting(struct key_use *use, int64_t bytes, int64_t most);
void key_use_remove_waiting(struct key_use *use, int64_t bytes);
/* Seconds until what was refused last can be tried again, at least 1: for Retry-After. */
int64_t key_use_retry_s(const struct key_use *use);

/* Before a method: RATE_LIMITED or BUDGET_EXCEEDED with `retry_after_ms` if it starts a run and a limit is reached. */
int32_t key_use_check(struct key_use *use, tn_value limits, const struct method *method, struct error *error);
/* After a method that key_use_check has allowed, for the key's owner (or NULL); `result` is NULL if it has failed. */
void key_use_done(struct key_use *use, const char *owner, const struct method *method, tn_value params,
                  tn_value result);
/*
 * As access_use_add takes it: what keys with limits per day have used on *day since it was asked last, and what was
 * counted of their threads; a new reference. NULL: nothing. Then call web_limits_saved, with what access_use_add has
 * written; NULL: nothing.
 */
tn_value web_limits_unsaved(struct web_limits *limits, int64_t *day);
void web_limits_saved(struct web_limits *limits, int64_t day, tn_value saved);
void web_limits_load(struct web_limits *limits, int64_t day, tn_value saved); /* as access_use_load returns it */
int64_t web_limits_today(const struct web_limits *limits);

tn_value key_use_describe(const struct key_use *use); /* {requests, open, runs, tokens, cost}, for tests; new */

#endif
