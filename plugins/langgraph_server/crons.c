/*
 * crons.c - crons: schedules of the host, whose metadata have what this protocol knows of them:
 *
 *     {langgraph: {payload, assistant_id, graph_id, schedule, timezone, thread_id, on_run_completed, metadata}}
 *
 * `payload` is the request for a run, as the client has written it; the schedule has the parameters of run/start that
 * it becomes. crons_run.c has the runs that crons start.
 */
#include "langgraph.h"

static tn_value cron_of(tn_value schedule) { return tn_get(tn_get(schedule, "metadata"), CRON_MEMBER); }

/* ---- Values ---- */

/* A cron as clients see it: new. */
static tn_value cron_value(tn_value schedule) {
    tn_value cron = cron_of(schedule);
    return tn_build("{s:s, s:v?, s:v?, s:v?, s:v?, s:v?, s:v?, s:v?, s:v?, s:n, s:v?, s:v?, s:v?, s:v?}", "cron_id",
                    bare_id(tn_get_text(schedule, "schedule_id", "")), "assistant_id", tn_get(cron, "assistant_id"),
                    "thread_id", tn_get(cron, "thread_id"), "on_run_completed", tn_get(cron, "on_run_completed"),
                    "end_time", tn_get(schedule, "ends_at"), "schedule", tn_get(cron, "schedule"), "timezone",
                    tn_get(cron, "timezone"), "created_at", tn_get(schedule, "created_at"), "updated_at",
                    tn_get(schedule, "updated_at"), "user_id", "payload", tn_get(cron, "payload"), "next_run_date",
                    tn_get(schedule, "next_at"), "metadata", tn_get(cron, "metadata"), "enabled",
                    tn_get(schedule, "enabled"));
}

/* The members of both; those of `more` win, and null removes nothing. New. */
static tn_value merged(tn_value first, tn_value more) {
    tn_value made = tn.value->kind(first) == TN_OBJECT ? tn_retain(first) : tn_build("{}"), key, member;
    for (uint64_t i = 0, count = tn.value->count(more); made != NULL && i < count; i++) {
        uint64_t length = 0;
        if (tn.value->entry(more, i, &key, &member) != TN_OK) break;
        const char *chars = tn_chars(key, &length);
        (void)tn.value->set(&made, chars, length, member);
    }
    return made;
}

/* ---- Making ---- */

static bool check_text(struct exchange *exchange, const char *name) {
    tn_value member = tn_get(exchange->body, name);
    if (!is_set(member) || tn_chars(member, NULL) != NULL) return true;
    refuse(exchange, 422, "`%s` must be a text", name);
    return false;
}

static bool check_cron(struct exchange *exchange) {
    tn_value enabled = tn_get(exchange->body, "enabled"), metadata = tn_get(exchange->body, "metadata");
    const char *then = tn_get_text(exchange->body, "on_run_completed", "delete");
    if (!check_text(exchange, "schedule") || !check_text(exchange, "timezone") || !check_text(exchange, "end_time") ||
        !check_text(exchange, "on_run_completed"))
        return false;
    if (is_set(enabled) && tn.value->kind(enabled) != TN_BOOL)
        refuse(exchange, 422, "`enabled` must be true or false");
    else if (is_set(metadata) && tn.value->kind(metadata) != TN_OBJECT)
        refuse(exchange, 422, "`metadata` must be an object");
    else if (strcmp(then, "delete") != 0 && strcmp(then, "keep") != 0)
        refuse(exchange, 422, "`on_run_completed` must be \"delete\" or \"keep\"");
    else if (is_set(tn_get(exchange->body, "command")) || run_checkpoint(exchange) != NULL)
        refuse(exchange, 422, "a cron has no `command` and no checkpoint: its runs begin with `input`");
    else
        return check_run_request(exchange);
    return false;
}

/* What the host keeps for this protocol. `payload` is the body. */
static tn_value cron_made(const struct exchange *exchange) {
    tn_value body = exchange->body, metadata = tn_get(body, "metadata");
    bool of_thread = exchange->thread[0] != '\0';
    char assistant[UUID_TEXT];
    return tn_build("{s:v, s:s, s:s, s:v?, s:v?, s:V, s:V, s:V}", "payload", body, "assistant_id",
                    assistant_id_of(exchange, assistant), "graph_id", exchange->graph.name, "schedule",
                    tn_get(body, "schedule"), "timezone", tn_get(body, "timezone"), "thread_id",
                    of_thread ? tn_text(exchange->thread) : tn_null(), "on_run_completed",
                    of_thread ? tn_null() : tn_text(tn_get_text(body, "on_run_completed", "delete")), "metadata",
                    tn.value->kind(metadata) == TN_OBJECT ? tn_retain(metadata) : tn_build("{}"));
}

/* The parameters of schedule/create and schedule/update: new. */
static tn_value schedule_params(const struct exchange *exchange) {
    tn_value body = exchange->body, input = tn_get(body, "input"), ends = tn_get(body, "end_time");
    tn_value zone = tn_get(body, "timezone"), enabled = tn_get(body, "enabled");
    bool keeps = exchange->thread[0] == '\0' && serving_is(tn_get(body, "on_run_completed"), "keep");
    tn_value params =
        tn_build("{s:s, s:V, s:V, s:V, s:b, s:v, s:{s:V}}", "document", exchange->graph.document, "input",
                 tn.value->kind(input) == TN_OBJECT ? state_in(input) : tn_build("{}"), "config",
                 run_config(body, exchange->assistant, exchange->thread, exchange->thread[0] != '\0'), "modes",
                 modes_of_run(modes_read(tn_get(body, "stream_mode")), serving_true(tn_get(body, "stream_subgraphs"))),
                 "new_thread", keeps, "cron", tn_get(body, "schedule"), "metadata", CRON_MEMBER, cron_made(exchange));
    if (params != NULL && zone != NULL) params = tn_set_take(params, "timezone", tn_retain(zone));
    if (params != NULL && ends != NULL) params = tn_set_take(params, "ends_at", tn_retain(ends));
    if (params != NULL && is_set(enabled)) params = tn_set_take(params, "enabled", tn_retain(enabled));
    return params;
}

static void on_schedule(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        reply(exchange, 200, cron_value(value));
    else
        refuse_error(exchange, value);
}

static void create_schedule(struct exchange *exchange) {
    ask(exchange, "schedule/create", schedule_params(exchange), on_schedule);
}

static void on_noted(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        create_schedule(exchange);
    else
        refuse_error(exchange, value);
}

/* The metadata of the thread name its graph, as after a run. */
static void thread_then(struct exchange *exchange) {
    char assistant[UUID_TEXT];
    tn_value metadata = merged(known_member(exchange->known, "metadata"), NULL);
    metadata = tn_set_take(metadata, "graph_id", tn_text(exchange->graph.name));
    metadata = tn_set_take(metadata, "assistant_id", tn_text(assistant_id_of(exchange, assistant)));
    ask(exchange, "memory/put",
        tn_build("{s:V, s:s, s:{s:V}, s:b}", "namespace", threads_namespace(), "key", exchange->thread, "value",
                 "metadata", metadata, "text", 0),
        on_noted);
}

static void graph_then(struct exchange *exchange) {
    if (exchange->thread[0] == '\0')
        create_schedule(exchange);
    else
        find_thread(exchange, false, thread_then);
}

static bool check_schedule(struct exchange *exchange) {
    if (tn_chars(tn_get(exchange->body, "schedule"), NULL) != NULL) return true;
    refuse(exchange, 422, "`schedule` is missing: a cron expression, for example \"0 3 * * *\"");
    return false;
}

void crons_create(struct exchange *exchange) {
    if (check_schedule(exchange) && check_cron(exchange)) find_graph(exchange, graph_then);
}

void crons_create_for_thread(struct exchange *exchange) {
    if (thread_of_path(exchange)) crons_create(exchange);
}

/* ---- One cron ---- */

static void missing(struct exchange *exchange) {
    refuse(exchange, 404, "Cron %.80s not found", param(exchange, "cron"));
}

/* False, and 404, if the host has no schedule with this id, or another client has made it. */
static bool check_found(struct exchange *exchange, bool ok, tn_value schedule) {
    bool absent = ok ? cron_of(schedule) == NULL : serving_is(tn_get(schedule, "code"), "NOT_FOUND");
    if (absent)
        missing(exchange);
    else if (!ok)
        refuse_error(exchange, schedule);
    return ok && !absent;
}

static void read_cron(struct exchange *exchange, step *then) {
    const char *id = param(exchange, "cron");
    if (!is_uuid(id))
        refuse(exchange, 422, "Invalid cron ID: found `%.80s`, expected a UUID", id);
    else
        ask(exchange, "schedule/get", tn_build("{s:s}", "schedule_id", id), then);
}

static void on_got(struct exchange *exchange, bool ok, tn_value value) {
    if (check_found(exchange, ok, value)) reply(exchange, 200, cron_value(value));
}
void cron_get(struct exchange *exchange) { read_cron(exchange, on_got); }

static void on_deleted(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        reply(exchange, 200, tn_build("{}"));
    else
        refuse_error(exchange, value);
}

static void on_deletable(struct exchange *exchange, bool ok, tn_value value) {
    if (check_found(exchange, ok, value))
        ask(exchange, "schedule/delete", tn_build("{s:v}", "schedule_id", tn_get(value, "schedule_id")), on_deleted);
}
void cron_delete(struct exchange *exchange) { read_cron(exchange, on_deletable); }

static void patch_then(struct exchange *exchange) {
    tn_value params = schedule_params(exchange);
    if (params != NULL) params = tn_set_take(params, "schedule_id", tn_text(param(exchange, "cron")));
    ask(exchange, "schedule/update", params, on_schedule);
}

/* The body becomes the whole request, as it would make the cron now. */
static void on_patched(struct exchange *exchange, bool ok, tn_value value) {
    if (!check_found(exchange, ok, value)) return;
    tn_value cron = cron_of(value), given = exchange->body;
    tn_value metadata = merged(tn_get(cron, "metadata"), tn_get(given, "metadata"));
    exchange->made = merged(tn_get(cron, "payload"), given);
    exchange->made = tn_set_take(exchange->made, "metadata", metadata);
    /* What an earlier change has left out of the payload: only the schedule has it. */
    if (tn_get(given, "end_time") == NULL) (void)tn.value->remove(&exchange->made, "end_time", strlen("end_time"));
    if (tn_get(given, "enabled") == NULL) (void)tn.value->remove(&exchange->made, "enabled", strlen("enabled"));
    (void)snprintf(exchange->thread, sizeof exchange->thread, "%s", tn_get_text(cron, "thread_id", ""));
    exchange->body = exchange->made;
    if (check_cron(exchange)) find_graph(exchange, patch_then);
}

void cron_patch(struct exchange *exchange) {
    tn_value metadata = tn_get(exchange->body, "metadata"), assistant = tn_get(exchange->body, "assistant_id");
    if (is_set(metadata) && tn.value->kind(metadata) != TN_OBJECT)
        refuse(exchange, 422, "`metadata` must be an object");
    else if (is_set(assistant))
        refuse(exchange, 422, "the assistant of a cron cannot be changed; make another cron");
    else
        read_cron(exchange, on_patched);
}

/* ---- Searching ---- */

static bool contains(tn_value has, tn_value wanted) {
    tn_value key, member;
    for (uint64_t i = 0, count = tn.value->count(wanted); i < count; i++) {
        if (tn.value->entry(wanted, i, &key, &member) != TN_OK) return false;
        tn_value there = tn_get_key(has, key);
        if (there == NULL || tn.value->equal(there, member) != 1) return false;
    }
    return true;
}

static bool matches(const struct exchange *exchange, tn_value cron) {
    const char *assistant = tn_get_text(exchange->body, "assistant_id", NULL);
    bool same = assistant == NULL || serving_is(tn_get(cron, "assistant_id"), assistant) ||
                serving_is(tn_get(cron, "graph_id"), assistant);
    return cron != NULL && same && contains(tn_get(cron, "metadata"), tn_get(exchange->body, "metadata"));
}

static const char *sort_member(const struct exchange *exchange) {
    static const char *const members[] = {"cron_id",  "assistant_id", "thread_id", "next_run_date",
                                          "end_time", "created_at",   "updated_at"};
    const char *given = tn_get_text(exchange->body, "sort_by", "created_at");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(members[i], given) == 0) return members[i];
    return "created_at";
}

/* Puts the cron where it belongs. Takes it. */
static void insert_sorted(const struct exchange *exchange, tn_value *list, tn_value cron) {
    const char *member = sort_member(exchange), *text = tn_get_text(cron, member, "");
    bool ascending = serving_is(tn_get(exchange->body, "sort_order"), "asc");
    uint64_t low = 0, high = tn.value->count(*list);
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        int order = strcmp(tn_get_text(tn.value->at(*list, middle), member, ""), text);
        if (ascending ? order <= 0 : order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    tn_value one = cron != NULL ? tn_build("[V]", cron) : NULL;
    if (one != NULL) (void)tn.value->splice(list, low, 0, one);
    tn_release(one);
}

/* Only the members of `select`. Takes the cron. */
static tn_value selected(const struct exchange *exchange, tn_value cron) {
    tn_value select = tn_get(exchange->body, "select");
    if (tn.value->kind(select) != TN_ARRAY || tn.value->count(select) == 0) return cron;
    tn_value made = tn_build("{}");
    for (uint64_t i = 0, count = tn.value->count(select); i < count; i++) {
        const char *name = tn_chars(tn.value->at(select, i), NULL);
        tn_value member = name != NULL ? tn_get(cron, name) : NULL;
        if (member != NULL) made = tn_set_take(made, name, tn_retain(member));
    }
    tn_release(cron);
    return made;
}

static void on_found(struct exchange *exchange, bool ok, tn_value value) {
    tn_value schedules = tn_get(value, "schedules"), list = tn_build("[]"), shown = tn_build("[]");
    for (uint64_t i = 0, count = ok ? tn.value->count(schedules) : 0; i < count; i++) {
        tn_value schedule = tn.value->at(schedules, i);
        if (matches(exchange, cron_of(schedule))) insert_sorted(exchange, &list, cron_value(schedule));
    }
    uint64_t count = tn.value->count(list);
    for (uint64_t i = 0; i < count; i++)
        (void)tn_append_take(&shown, selected(exchange, tn_retain(tn.value->at(list, i))));
    tn_release(list);
    if (ok && exchange->how == 0) {
        reply_page(exchange, shown);
        return;
    }
    tn_release(shown);
    if (ok)
        reply(exchange, 200, tn_int((int64_t)count));
    else
        refuse_error(exchange, value);
}

static void search(struct exchange *exchange, bool counts) {
    const char *thread = tn_get_text(exchange->body, "thread_id", NULL);
    tn_value enabled = tn_get(exchange->body, "enabled"), params = tn_build("{s:i}", "limit", LIST_MAX);
    exchange->how = counts;
    if (thread != NULL && !is_uuid(thread)) {
        tn_release(params);
        refuse(exchange, 422, "Invalid thread ID: found `%.80s`, expected a UUID", thread);
        return;
    }
    if (thread != NULL) params = tn_set_take(params, "thread_id", tn_text(thread));
    if (tn.value->kind(enabled) == TN_BOOL) params = tn_set_take(params, "enabled", tn_retain(enabled));
    ask(exchange, "schedule/search", params, on_found);
}

void crons_search(struct exchange *exchange) { search(exchange, false); }
void crons_count(struct exchange *exchange) { search(exchange, true); }
