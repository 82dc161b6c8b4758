/*
 * server_schedule.c - starts and ends the scheduler of a server.
 */
#include "host/server/server_schedule.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/server/server.h"
#include "host/work/scheduler.h"
#include <assert.h>

struct server_schedule {
    struct server *server;
    struct scheduler *scheduler; /* NULL unless it runs */
    bool closing;                /* the scheduler has not ended yet */
    bool ended;                  /* it does not start again */
};

struct server_schedule *server_schedule_new(struct server *server) {
    struct server_schedule *schedule = mem_zalloc(sizeof *schedule);
    schedule->server = server;
    return schedule;
}

int32_t server_schedule_start(struct server_schedule *schedule, struct error *error) {
    struct host *host = server_host(schedule->server);
    struct scheduler_options options = {.schedules = config_schedules(host_config(host))};
    if (schedule->scheduler || schedule->ended || !value_count(options.schedules)) return TN_OK;
    options.store = host_store(host, error);
    if (!options.store) return TN_NOT_FOUND;
    schedule->scheduler = scheduler_new(&options, error);
    if (!schedule->scheduler) return TN_INVALID;
    scheduler_start(schedule->scheduler);
    return TN_OK;
}

static void on_scheduler_closed(void *user) { ((struct server_schedule *)user)->closing = false; }

void server_schedule_stop(struct server_schedule *schedule) {
    schedule->ended = true;
    if (!schedule->scheduler) return;
    schedule->closing = true;
    scheduler_close(schedule->scheduler, on_scheduler_closed, schedule);
    schedule->scheduler = NULL;
}

static bool scheduler_has_ended(void *user) { return !((const struct server_schedule *)user)->closing; }

void server_schedule_end(struct server_schedule *schedule) {
    server_schedule_stop(schedule);
    (void)loop_run(server_loop(schedule->server), scheduler_has_ended, schedule);
}

void server_schedule_free(struct server_schedule *schedule) {
    assert(!schedule || !schedule->closing);
    mem_free(schedule);
}
