/*
 * web_budget.c - writes what keys have used, one request at a time.
 */
#include "host/server/web/web_budget.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/data/access/access_use.h"
#include "host/server/server.h"
#include "host/server/web/web_limit.h"

struct web_budget {
    struct server *server;
    struct loop *loop;
    struct store *store; /* NULL: the host has none */
    struct web_limits *limits;
    struct loop_timer timer;
    struct budget_write *write; /* the request to the store that is open; or NULL */
    bool is_warned;
};

/* A request to the store, which can outlive the budget. */
struct budget_write {
    struct web_budget *budget; /* NULL after web_budget_free */
    int64_t day;
};

static void warn(struct web_budget *budget, const struct error *error) {
    if (!budget->is_warned)
        log_write(LOG_WARN, "serve", "what keys have used cannot be saved now, but counts: %s", error->message);
    budget->is_warned = true;
}

static void on_added(void *user, int32_t status, tn_value saved, const struct error *error) {
    struct budget_write *write = user;
    struct web_budget *budget = write->budget;
    int64_t day = write->day;
    mem_free(write);
    if (!budget) return;
    budget->write = NULL;
    if (status == TN_OK)
        budget->is_warned = false;
    else
        warn(budget, error);
    web_limits_saved(budget->limits, day, status == TN_OK ? saved : NULL);
}

static void write_new(struct web_budget *budget) {
    int64_t day;
    if (!budget->store || budget->write) return;
    tn_value added = web_limits_unsaved(budget->limits, &day);
    if (!added) return;
    budget->write = mem_zalloc(sizeof *budget->write);
    *budget->write = (struct budget_write){budget, day};
    access_use_add(budget->store, day, added, on_added, budget->write);
    value_unref(added);
}

static void on_timer(struct loop_timer *timer) {
    struct web_budget *budget = CONTAINER_OF(timer, struct web_budget, timer);
    write_new(budget);
    loop_timer_start(budget->loop, &budget->timer, WEB_BUDGET_MS, on_timer);
}

static void load(struct web_budget *budget) {
    struct error error = ERROR_INIT;
    struct store_wait wait = {.done = false};
    tn_value saved = NULL;
    int64_t day = web_limits_today(budget->limits);
    access_use_load(budget->store, day, store_wait_done, &wait);
    if (store_wait_end(&wait, store_loop(budget->store), &saved, &error) == TN_OK)
        web_limits_load(budget->limits, day, saved);
    else
        log_write(LOG_WARN, "serve", "what keys have used today cannot be read, so it begins at 0: %s", error.message);
    value_unref(saved);
    error_finish(&error);
}

struct web_budget *web_budget_new(struct server *server, struct web_limits *limits) {
    struct web_budget *budget = mem_zalloc(sizeof *budget);
    struct error error = ERROR_INIT;
    budget->server = server;
    budget->loop = server_loop(server);
    budget->limits = limits;
    budget->store = host_store(server_host(server), &error);
    error_finish(&error);
    if (budget->store) load(budget);
    loop_timer_start(budget->loop, &budget->timer, WEB_BUDGET_MS, on_timer);
    return budget;
}

static void write_last(struct web_budget *budget) {
    struct error error = ERROR_INIT;
    struct store_wait wait = {.done = false};
    int64_t day;
    tn_value added = budget->store ? web_limits_unsaved(budget->limits, &day) : NULL;
    if (!added) return;
    access_use_add(budget->store, day, added, store_wait_done, &wait);
    if (store_wait_end(&wait, store_loop(budget->store), NULL, &error) != TN_OK) {
        log_write(LOG_WARN, "serve", "what keys have used could not be saved: %s", error.message);
        server_note_unsaved(budget->server);
    }
    error_finish(&error);
    value_unref(added);
}

void web_budget_free(struct web_budget *budget) {
    if (!budget) return;
    loop_timer_stop(budget->loop, &budget->timer);
    if (budget->write) budget->write->budget = NULL;
    write_last(budget);
    mem_free(budget);
}
