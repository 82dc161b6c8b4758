/*
 * web_limit.c - counts what keys use.
 *
 * The usage in the report of a run is that of its whole thread. So for each thread is kept what was counted of it, and
 * only the rest is added. A thread that the host has not seen before is counted as a whole.
 */
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/owner.h"
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/server.h"
#include "host/server/web/web_limit_internal.h"
#include <string.h>

#define DAY_MS    ((int64_t)24 * 60 * 60 * 1000)
#define MINUTE_MS 60000

/* FNV-1a. */
static size_t bucket_of(const char *text) {
    uint32_t hash = 2166136261u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash % LIMIT_BUCKETS;
}

static int64_t wall_ms(const struct web_limits *limits) { return loop_wall_ms(server_loop(limits->server)); }

int64_t web_limits_today(const struct web_limits *limits) { return wall_ms(limits) / DAY_MS; }

/* ---- Keys ---- */

struct web_limits *web_limits_new(struct server *server) {
    struct web_limits *limits = mem_zalloc(sizeof *limits);
    limits->server = server;
    limits->client = client_new(server, &(struct client_options){.name = "serve", .scope = METHOD_READ});
    return limits;
}

static void use_free(struct web_limits *limits, struct key_use **link) {
    struct key_use *use = *link;
    *link = use->next;
    limits->use_count--;
    mem_free(use->key);
    mem_free(use);
}

/* Forgets keys that have used nothing today. */
static void uses_sweep(struct web_limits *limits) {
    int64_t day = web_limits_today(limits);
    for (size_t i = 0; i < LIMIT_BUCKETS; i++)
        for (struct key_use **link = &limits->uses[i]; *link;) {
            const struct key_use *use = *link;
            if (use->open || use->runs || (use->day == day && (use->tokens || use->cost > 0)))
                link = &(*link)->next;
            else
                use_free(limits, link);
        }
}

struct key_use *web_limits_use(struct web_limits *limits, const char *key) {
    struct key_use **link = &limits->uses[bucket_of(key)];
    while (*link && strcmp((*link)->key, key) != 0) link = &(*link)->next;
    if (*link) return *link;
    if (limits->use_count >= WEB_KEYS_MAX) uses_sweep(limits);
    struct key_use *use = mem_zalloc(sizeof *use);
    use->limits = limits;
    use->key = mem_text(key);
    use->permits = -1; /* a full minute */
    use->next = limits->uses[bucket_of(key)];
    limits->uses[bucket_of(key)] = use;
    limits->use_count++;
    return use;
}

/* ---- Limits ---- */

/* -1: no limit. */
static double limit_of(tn_value limits, const char *name) {
    tn_value limit = value_get(limits, name);
    return limit && value_is_number(limit) ? value_to_double(limit) : -1;
}

void key_use_begin_day(struct key_use *use) {
    int64_t day = web_limits_today(use->limits);
    if (use->day == day) return;
    use->day = day;
    use->tokens = use->unsaved.tokens = use->saving.tokens = 0;
    use->cost = use->unsaved.cost = use->saving.cost = 0;
}

static bool use_refuse(struct key_use *use, int64_t retry_ms, const char **what, const char *text) {
    use->retry_ms = retry_ms;
    *what = text;
    return false;
}

/* A bucket of permits: a minute's worth at most, refilled all the time. */
static bool permit_take(struct key_use *use, double per_minute) {
    int64_t now_ms = loop_now_ms(server_loop(use->limits->server));
    if (use->permits < 0) use->permits = per_minute;
    use->permits += (double)(now_ms - use->permits_ms) * per_minute / MINUTE_MS;
    use->permits_ms = now_ms;
    if (use->permits > per_minute) use->permits = per_minute;
    if (use->permits < 1) return false;
    use->permits -= 1;
    return true;
}

bool key_use_begin(struct key_use *use, tn_value limits, size_t open_max, int64_t *retry_s, const char **what) {
    double per_minute = limit_of(limits, "requests_per_minute"), own = limit_of(limits, "open_requests");
    bool allowed = true;
    if (use->open >= open_max || (own >= 0 && use->open >= own))
        allowed = use_refuse(use, 1000, what, "open requests of this key");
    else if (per_minute >= 0 && !permit_take(use, per_minute))
        allowed = use_refuse(use, per_minute >= 1 ? (int64_t)((1 - use->permits) * MINUTE_MS / per_minute) : MINUTE_MS,
                             what, "requests per minute of this key");
    *retry_s = key_use_retry_s(use);
    if (!allowed) return false;
    use->open++;
    use->requests++;
    return true;
}

void key_use_end(struct key_use *use) { use->open--; }

static bool bytes_add(struct key_use *use, int64_t *all, int64_t bytes, int64_t most) {
    if (*all + bytes > most) {
        use->retry_ms = 1000;
        return false;
    }
    *all += bytes;
    return true;
}

bool key_use_add_body(struct key_use *use, int64_t bytes, int64_t most) {
    return bytes_add(use, &use->bodies, bytes, most);
}
void key_use_remove_body(struct key_use *use, int64_t bytes) { use->bodies -= bytes; }

bool key_use_add_waiting(struct key_use *use, int64_t bytes, int64_t most) {
    return bytes_add(use, &use->waiting, bytes, most);
}
void key_use_remove_waiting(struct key_use *use, int64_t bytes) { use->waiting -= bytes; }

int64_t key_use_retry_s(const struct key_use *use) { return use->retry_ms > 1000 ? (use->retry_ms + 999) / 1000 : 1; }

static bool starts_run(const struct method *method) {
    return strcmp(method->name, "run/start") == 0 || strcmp(method->name, "run/resume") == 0 ||
           strcmp(method->name, "run/answer") == 0;
}

static int32_t run_refuse(struct key_use *use, int64_t retry_ms, const char *code, const char *what, double limit,
                          struct error *error) {
    use->retry_ms = retry_ms;
    if (!error) return TN_FAILED;
    error_set(error, TN_FAILED, code, "the limit of %s of this key is reached (%.6g); try again later", what, limit);
    error->more = value_set_take(value_object_reserve(2), "retryable", value_bool(true));
    error->more = value_set_take(error->more, "retry_after_ms", value_int(retry_ms));
    return TN_FAILED;
}

int32_t key_use_check(struct key_use *use, tn_value limits, const struct method *method, struct error *error) {
    double runs = limit_of(limits, "runs"), tokens = limit_of(limits, "tokens_per_day");
    double cost = limit_of(limits, "cost_per_day");
    if (!starts_run(method)) return TN_OK;
    key_use_begin_day(use);
    use->has_budget = tokens >= 0 || cost >= 0;
    int64_t tomorrow_ms = (use->day + 1) * DAY_MS - wall_ms(use->limits);
    if (runs >= 0 && use->runs >= runs) return run_refuse(use, 1000, "RATE_LIMITED", "active runs", runs, error);
    if (tokens >= 0 && (double)use->tokens >= tokens)
        return run_refuse(use, tomorrow_ms, "BUDGET_EXCEEDED", "tokens per day", tokens, error);
    if (cost >= 0 && use->cost >= cost)
        return run_refuse(use, tomorrow_ms, "BUDGET_EXCEEDED", "cost per day", cost, error);
    use->runs++;
    return TN_OK;
}

/* ---- Runs ---- */

static void counted_unlink(struct web_limits *limits, struct counted *counted) {
    struct counted **link = &limits->counted[bucket_of(counted->id)];
    while (*link != counted) link = &(*link)->next;
    *link = counted->next;
    if (counted->newer)
        counted->newer->older = counted->older;
    else
        limits->newest = counted->older;
    if (counted->older)
        counted->older->newer = counted->newer;
    else
        limits->oldest = counted->newer;
    limits->counted_count--;
}

static void counted_link(struct web_limits *limits, struct counted *counted) {
    struct counted **bucket = &limits->counted[bucket_of(counted->id)];
    counted->next = *bucket;
    *bucket = counted;
    counted->newer = NULL;
    counted->older = limits->newest;
    if (counted->older)
        counted->older->newer = counted;
    else
        limits->oldest = counted;
    limits->newest = counted;
    limits->counted_count++;
}

static void counted_free(struct counted *counted) {
    mem_free(counted->id);
    mem_free(counted);
}

struct counted *web_limits_counted(struct web_limits *limits, const char *id) {
    struct counted *counted = limits->counted[bucket_of(id)];
    while (counted && strcmp(counted->id, id) != 0) counted = counted->next;
    if (counted) {
        counted_unlink(limits, counted);
    } else {
        counted = mem_zalloc(sizeof *counted);
        counted->id = mem_text(id);
    }
    counted_link(limits, counted);
    if (limits->counted_count > WEB_THREADS_MAX) {
        struct counted *oldest = limits->oldest;
        counted_unlink(limits, oldest);
        counted_free(oldest);
    }
    return counted;
}

static int64_t tokens_of(tn_value usage) {
    int64_t input = 0, output = 0;
    tn_value in = value_get(usage, "input_tokens"), out = value_get(usage, "output_tokens");
    if (in) (void)value_as_int(in, &input);
    if (out) (void)value_as_int(out, &output);
    return input + output;
}

static void use_add(struct key_use *use, int64_t tokens, double cost) {
    use->tokens += tokens;
    use->cost += cost;
    use->unsaved.tokens += tokens;
    use->unsaved.cost += cost;
}

/* `run`: as `Run` in methods/run.yaml. */
static void usage_count(struct key_use *use, tn_value run) {
    tn_value usage = value_get(value_get(run, "report"), "usage"), thread = value_get(run, "thread_id");
    tn_value id = thread ? thread : value_get(run, "run_id");
    if (!usage || !id) return;
    struct counted *counted = web_limits_counted(use->limits, value_chars(id, NULL));
    tn_value price = value_get(usage, "cost");
    int64_t tokens = tokens_of(usage);
    double cost = price && value_is_number(price) ? value_to_double(price) : 0;
    key_use_begin_day(use);
    if (tokens > counted->tokens) use_add(use, tokens - counted->tokens, 0);
    if (cost > counted->cost) use_add(use, 0, cost - counted->cost);
    counted->tokens = tokens;
    counted->cost = cost;
    counted->unsaved = thread && use->has_budget; /* a run without a thread does not survive the host */
}

static void run_free(struct key_run *run) {
    *run->link = run->next;
    if (run->next) run->next->link = run->link;
    run->use->runs--;
    call_free(run->call);
    value_unref(run->params);
    mem_free(run);
}

static void run_on_waited(struct call *call) {
    struct key_run *run = call_owner(call);
    if (call_outcome(call) == CALL_COMPLETED) usage_count(run->use, call_output(call));
    run_free(run);
}

/* Waits until the run ends, or waits for an answer. It has one place of use->runs already. */
static void run_watch(struct key_use *use, tn_value id) {
    static const struct call_ops ops = {.ended = run_on_waited};
    struct web_limits *limits = use->limits;
    struct callable *wait = method_call_new(limits->client, method_find("run/wait"), NULL);
    struct key_run *run = mem_zalloc(sizeof *run);
    run->use = use;
    run->params = value_set_take(value_object_reserve(1), "run_id", value_ref(id));
    run->call = call_new(server_loop(limits->server), wait, &ops, run);
    callable_unref(wait);
    run->next = limits->runs;
    run->link = &limits->runs;
    if (run->next) run->next->link = &run->next;
    limits->runs = run;
    if (call_start(run->call, run->params)) run_on_waited(run->call);
}

void key_use_done(struct key_use *use, const char *owner, const struct method *method, tn_value params,
                  tn_value result) {
    if (!starts_run(method)) return;
    tn_value id = value_get(result, "run_id"), asked = value_get(params, "run_id");
    /* The method has completed the id that the key has given; the client that waits has no owner. */
    id = id ? value_ref(id) : asked ? owner_confine_value(owner, asked) : NULL;
    if (result && id)
        run_watch(use, id);
    else
        use->runs--;
    value_unref(id);
}

tn_value key_use_describe(const struct key_use *use) {
    tn_value shown = value_set_take(value_object_reserve(5), "requests", value_int((int64_t)use->requests));
    shown = value_set_take(shown, "open", value_int(use->open));
    shown = value_set_take(shown, "runs", value_int(use->runs));
    shown = value_set_take(shown, "tokens", value_int(use->tokens));
    return value_set_take(shown, "cost", value_double(use->cost));
}

static bool has_no_run(void *user) { return !((const struct web_limits *)user)->runs; }

void web_limits_free(struct web_limits *limits) {
    if (!limits) return;
    for (struct key_run *run = limits->runs, *next; run; run = next) {
        next = run->next;
        call_cancel(run->call);
    }
    (void)loop_run(server_loop(limits->server), has_no_run, limits);
    for (size_t i = 0; i < LIMIT_BUCKETS; i++)
        while (limits->uses[i]) use_free(limits, &limits->uses[i]);
    while (limits->oldest) {
        struct counted *oldest = limits->oldest;
        counted_unlink(limits, oldest);
        counted_free(oldest);
    }
    client_free(limits->client);
    mem_free(limits);
}
