/*
 * server_trace.c - see server_trace.h.
 */
#include "host/server/server_trace.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/container_of.h"
#include "host/base/trace.h"
#include "host/loops/loops.h"
#include "host/server/server.h"
#include "host/server/server_internal.h"

struct server_trace {
    struct trace_sink first, others, others_contents; /* of the first loop, of the others */
    struct server *server;
    struct loops *told; /* the loops that have a sink; NULL: only the first one, or none */
    bool on;
};

/* ---- Spans ---- */

static void publish_span(struct trace_sink *sink, tn_value span) {
    server_publish_take(CONTAINER_OF(sink, struct server_trace, first)->server, "span/ended", span);
}

struct posted_span {
    struct server_trace *trace;
    tn_value span;
};

static void on_posted(void *user, struct host *host) {
    struct posted_span posted = *(struct posted_span *)user;
    (void)host;
    mem_free(user);
    publish_span(&posted.trace->first, posted.span);
}

/* On another loop. */
static void post_to(struct server_trace *trace, tn_value span) {
    struct posted_span *posted = mem_alloc(sizeof *posted);
    *posted = (struct posted_span){trace, span};
    loops_post(trace->told, 0, on_posted, posted);
}

static void post_span(struct trace_sink *sink, tn_value span) {
    post_to(CONTAINER_OF(sink, struct server_trace, others), span);
}

static void post_span_contents(struct trace_sink *sink, tn_value span) {
    post_to(CONTAINER_OF(sink, struct server_trace, others_contents), span);
}

/* ---- Switching ---- */

/* Two sinks, because `contents` of one that loops use cannot change. */
static void member_start(void *user, struct host *host) {
    struct server_trace *trace = user;
    loop_set_trace(host_loop(host), &trace->others);
}

static void member_start_contents(void *user, struct host *host) {
    struct server_trace *trace = user;
    loop_set_trace(host_loop(host), &trace->others_contents);
}

static void member_stop(void *user, struct host *host) {
    (void)user;
    loop_set_trace(host_loop(host), NULL);
}

static void tell_members(struct server_trace *trace, struct loops *loops, bool on) {
    loops_job *start = trace->first.contents ? member_start_contents : member_start;
    if (on && trace->told != loops) trace->told = loops; /* before the messages: post_to reads it */
    for (uint32_t i = 1; i < loops_count(loops); i++) loops_post(loops, i, on ? start : member_stop, trace);
}

void server_trace_update(struct server_trace *trace) {
    if (!trace) return;
    struct loops *loops = server_loops(trace->server);
    double sample = -1;
    bool contents = false;
    for (const struct client *client = *server_clients(trace->server); client; client = client_next(client)) {
        if (client_owner(client)) continue; /* it gets no spans */
        double wanted = client_sample(client, "span/ended");
        if (wanted > sample) sample = wanted;
        contents = contents || client_wants_contents(client, "span/ended");
    }
    bool on = sample >= 0;
    trace->first.sample = trace->others.sample = trace->others_contents.sample = on ? sample : 0;
    bool changed = on != trace->on || contents != trace->first.contents;
    trace->first.contents = contents;
    if (on != trace->on) loop_set_trace(server_loop(trace->server), on ? &trace->first : NULL);
    if (loops && (changed || (on && trace->told != loops))) tell_members(trace, loops, on);
    trace->on = on;
}

struct server_trace *server_trace_new(struct server *server) {
    struct server_trace *trace = mem_zalloc(sizeof *trace);
    trace->server = server;
    trace->first.take = publish_span;
    trace->others.take = post_span;
    trace->others_contents.take = post_span_contents;
    trace->others_contents.contents = true;
    return trace;
}

void server_trace_free(struct server_trace *trace) {
    if (!trace) return;
    loop_set_trace(server_loop(trace->server), NULL);
    mem_free(trace);
}
