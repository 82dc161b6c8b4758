/*
 * server.c - creates and frees a server, sends events of the host, and notices changes of its components.
 */
#include "host/server/server.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/engine/engine.h"
#include "host/loops/loops.h"
#include "host/plugin/abi/abi_host.h"
#include "host/plugin/call/owner.h"
#include "host/plugin/registry/registry.h"
#include "host/server/method_job.h"
#include "host/server/plugin_client.h"
#include "host/server/rpc/rpc_budget.h"
#include "host/server/server_continue.h"
#include "host/server/server_internal.h"
#include "host/server/server_run.h"
#include "host/server/server_schedule.h"
#include "host/server/server_timetable.h"
#include "host/server/server_trace.h"
#include "host/server/server_work.h"
#include <string.h>

struct server {
    struct host *host;
    struct loops *loops; /* NULL: only that of the host */
    struct client *clients;
    struct server_runs *runs;
    struct server_workers *workers;
    struct server_schedule *schedule;
    struct server_continue *continues;
    struct server_timetable *timetable;
    struct plugin_clients *plugin_clients;
    struct method_jobs *jobs;
    struct server_trace *trace;
    tn_value known; /* known_components at the last "component/changed", while it has subscribers; or NULL */
    struct loop_work changed;
    int64_t started_ms;
    struct rpc_budget budget;
    unsigned requests;         /* server_begin_request */
    sign_check_fn *sign_check; /* or NULL */
    bool validates;
    size_t *unsaved; /* server_count_unsaved; or NULL */
};

struct server *server_of(const struct host *host) {
    const struct method_source *methods = host_method_source(host);
    return methods ? plugin_clients_server(methods->user) : NULL;
}

struct host *server_host(const struct server *server) {
    return server->host;
}
struct loop *server_loop(const struct server *server) {
    return host_loop(server->host);
}
struct engine *server_engine(const struct server *server) {
    return host_engine(server->host);
}
struct rpc_budget *server_budget(struct server *server) {
    return &server->budget;
}
int64_t server_started_ms(const struct server *server) { return server->started_ms; }
struct client **server_clients(struct server *server) {
    return &server->clients;
}
struct server_runs *server_runs_of(const struct server *server) {
    return server->runs;
}
struct server_workers *server_workers_of(const struct server *server) {
    return server->workers;
}
int32_t server_start_schedule(struct server *server, struct error *error) {
    return server_schedule_start(server->schedule, error);
}
void server_start_continue(struct server *server) { server_continue_start(server->continues); }
void server_start_timetable(struct server *server) { server_timetable_start(server->timetable); }
void server_set_starter(struct server *server, const struct server_starter *starter) {
    server_timetable_set_starter(server->timetable, starter);
}
struct server_timetable *server_timetable_of(const struct server *server) {
    return server->timetable;
}
struct server_continue *server_continue_of(const struct server *server) {
    return server->continues;
}
struct plugin_clients *server_plugin_clients(const struct server *server) {
    return server->plugin_clients;
}
struct method_jobs *server_jobs(const struct server *server) {
    return server->jobs;
}
void server_set_loops_take(struct server *server, struct loops *loops) {
    server->loops = loops;
    server_update_trace(server);
}
void server_update_trace(struct server *server) { server_trace_update(server->trace); }
struct loops *server_loops(const struct server *server) {
    return server->loops;
}
void server_validate_results(struct server *server, bool on) { server->validates = on; }
void server_set_sign_check(struct server *server, sign_check_fn *check) { server->sign_check = check; }
sign_check_fn *server_sign_check(const struct server *server) { return server->sign_check; }
bool server_validates(const struct server *server) { return server->validates; }
void server_count_unsaved(struct server *server, size_t *unsaved) { server->unsaved = unsaved; }
void server_note_unsaved(struct server *server) {
    if (server->unsaved) ++*server->unsaved;
}

void server_forget_client(struct server *server, struct client *client) {
    server_runs_forget_client(server->runs, client);
    server_workers_forget_client(server->workers, client);
}

/* ---- Requests that outlive calls ---- */

void server_begin_request(struct server *server) { server->requests++; }
void server_end_request(struct server *server) { server->requests--; }

static bool server_has_no_request(void *user) { return ((const struct server *)user)->requests == 0; }

/* ---- Ending ---- */

bool server_is_drained(const struct server *server) {
    if (server_runs_active(server->runs) || server_workers_active(server->workers)) return false;
    for (const struct client *client = server->clients; client; client = client_next(client))
        if (client_is_sending(client)) return false;
    return true;
}

void server_drain(struct server *server) {
    server_schedule_stop(server->schedule);
    server_continue_stop(server->continues);
    server_timetable_stop(server->timetable);
    server_workers_drain(server->workers);
    server_runs_drain(server->runs);
}

/* ---- Events of the host ---- */

/* An event is for the owner of the run or the Task that it is about. Others are for the operator. */
static bool event_owner(tn_value params, char out[OWNER_TEXT]) {
    tn_value task = value_get(params, "task_id");
    if (owner_of_context(params, out)) return true;
    return value_is(task, TN_STRING) && owner_of(value_chars(task, NULL), out);
}

bool server_event_has_owner(const char *event) {
    tn_value properties = value_get(value_get(value_get(method_events(), event), "params"), "properties");
    return value_get(properties, "run_id") || value_get(properties, "task_id");
}

bool server_listens(const struct server *server, const char *event) {
    for (const struct client *client = server->clients; client; client = client_next(client))
        if (client_listens(client, event)) return true;
    return false;
}

void server_publish_take(struct server *server, const char *event, tn_value params) {
    char owner[OWNER_TEXT];
    bool owned = event_owner(params, owner);
    for (struct client *client = server->clients; client; client = client_next(client)) {
        const char *of_client = client_owner(client);
        if (!of_client || (owned && strcmp(of_client, owner) == 0)) client_publish(client, event, params);
    }
    value_unref(params);
}

/* ---- Changes of components ---- */

static bool add_component(void *user, const struct component_info *info) {
    tn_value *all = user;
    if (!registry_offers(info)) return true;
    tn_value name = value_format("%s %s", info->kind, info->id);
    tn_value what = value_push_take(value_array(), value_format("%s %s", info->plugin_id, info->plugin_version));
    if (info->manifest) what = value_push_take(what, value_ref(info->manifest));
    *all = value_set_key_take(*all, name, what);
    return true;
}

/* {"KIND ID": [plugin and version, manifest]} */
static tn_value known_components(const struct server *server) {
    const struct catalog *catalog = host_catalog(server->host);
    tn_value all = value_object();
    catalog->each(catalog->self, NULL, add_component, &all);
    return all;
}

/* The names in `all` that `other` has not, or has of another plugin or version, or with another manifest. */
static tn_value names_beyond(tn_value all, tn_value other) {
    tn_value names = value_array();
    for (size_t i = 0; i < value_count(all); i++) {
        tn_value name = value_key_at(all, i), found = value_get_key(other, name);
        if (!found || !value_equal(found, value_value_at(all, i))) names = value_push_take(names, value_ref(name));
    }
    return names;
}

void server_watch_components(struct server *server) {
    if (!server->known) server->known = known_components(server);
}

/* Several changes in one turn are one event. */
static void server_report_change(struct loop_work *work) {
    struct server *server = CONTAINER_OF(work, struct server, changed);
    tn_value before = server->known;
    server->known = NULL;
    if (!before) return;
    if (server_listens(server, "component/changed")) {
        server->known = known_components(server);
        tn_value added = names_beyond(server->known, before), removed = names_beyond(before, server->known);
        if (value_count(added) || value_count(removed)) {
            tn_value params = value_set_take(value_object_reserve(3), "added", value_ref(added));
            params = value_set_take(params, "removed", value_ref(removed));
            server_publish_take(server, "component/changed", params);
        }
        value_unref(added);
        value_unref(removed);
    }
    value_unref(before);
}

static void server_on_change(void *user) {
    struct server *server = user;
    if (server->known) loop_defer(server_loop(server), &server->changed);
}

/* ---- Creating and freeing ---- */

struct server *server_new(struct host *host) {
    struct server *server = mem_zalloc(sizeof *server);
    server->host = host;
    server->changed.run = server_report_change;
    server->started_ms = loop_wall_ms(host_loop(host));
    rpc_budget_init(&server->budget, RPC_BUDGET_MAX);
    server->runs = server_runs_new(server);
    server->workers = server_workers_new(server);
    server->schedule = server_schedule_new(server);
    server->continues = server_continue_new(server);
    server->timetable = server_timetable_new(server);
    server->plugin_clients = plugin_clients_new(server);
    server->jobs = method_jobs_new(server);
    server->trace = server_trace_new(server);
    host_set_methods(host, plugin_clients_source(server->plugin_clients));
    registry_on_change(host_registry(host), server_on_change, server);
    return server;
}

void server_free(struct server *server) {
    if (!server) return;
    server_schedule_end(server->schedule);
    server_continue_end(server->continues);
    server_timetable_end(server->timetable);
    server_workers_end(server->workers);
    server_runs_end(server->runs);
    loops_free(server->loops);
    server->loops = NULL;
    registry_on_change(host_registry(server->host), NULL, NULL);
    host_set_methods(server->host, NULL);
    plugin_clients_free(server->plugin_clients);
    while (server->clients) client_free(server->clients);
    (void)loop_run(server_loop(server), server_has_no_request, server);
    method_jobs_free(server->jobs);
    server_trace_free(server->trace);
    server_runs_free(server->runs);
    server_workers_free(server->workers);
    server_schedule_free(server->schedule);
    server_continue_free(server->continues);
    server_timetable_free(server->timetable);
    loop_undefer(server_loop(server), &server->changed);
    value_unref(server->known);
    mem_free(server);
}
