/*
 * threads.c - threads. A thread that has had no run exists only as a memory.
 */
#include "stream.h"

tn_value threads_namespace(void) { return tn_build("[ss]", "langgraph", "threads"); }
tn_value runs_namespace(const char *thread) { return tn_build("[sss]", "langgraph", "runs", thread); }

tn_value known_member(tn_value memory, const char *name) {
    tn_value member = tn_get(tn_get(memory, "value"), name);
    return tn.value->kind(member) == TN_OBJECT ? member : NULL;
}

const char *thread_status(tn_value record) {
    const char *status = tn_get_text(record, "status", "");
    if (strcmp(status, "running") == 0) return "busy";
    if (strcmp(status, "interrupted") == 0 || strcmp(status, "stopped") == 0) return "interrupted";
    return strcmp(status, "failed") == 0 ? "error" : "idle";
}

/* ---- Finding ---- */

bool thread_of_path(struct exchange *exchange) {
    const char *id = param(exchange, "thread");
    if (!is_uuid(id)) {
        refuse(exchange, 422, "Invalid thread ID: found `%.80s`, expected a UUID", id);
        return false;
    }
    (void)snprintf(exchange->thread, sizeof exchange->thread, "%s", id);
    return true;
}

static void on_record(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok && !serving_is(tn_get(value, "code"), "NOT_FOUND")) {
        refuse_error(exchange, value);
        return;
    }
    exchange->record = ok ? tn_retain(value) : NULL;
    if (exchange->record == NULL && exchange->known == NULL && exchange->at == 0)
        refuse(exchange, 404, "Thread with ID %s not found", exchange->thread);
    else
        exchange->with_thread(exchange);
}

static void on_known(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok) {
        refuse_error(exchange, value);
        return;
    }
    exchange->known = tn.value->kind(value) == TN_OBJECT ? tn_retain(value) : NULL;
    ask(exchange, "thread/get", tn_build("{s:s}", "thread_id", exchange->thread), on_record);
}

void find_thread(struct exchange *exchange, bool create, void (*then)(struct exchange *exchange)) {
    exchange->with_thread = then;
    exchange->at = create;
    ask(exchange, "memory/get", tn_build("{s:V, s:s}", "namespace", threads_namespace(), "key", exchange->thread),
        on_known);
}

static void with_path(struct exchange *exchange, void (*then)(struct exchange *exchange)) {
    if (thread_of_path(exchange)) find_thread(exchange, false, then);
}

/* ---- Values ---- */

/* {TASK: interrupts}: new. */
static tn_value asked_by_task(tn_value record) {
    tn_value asked = tn_get(record, "interrupts"), made = tn_build("{}");
    for (uint64_t i = 0, count = tn.value->count(asked); i < count; i++) {
        tn_value interrupt = tn.value->at(asked, i), one = tn_build("[v]", interrupt);
        made = tn_set_take(made, tn_get_text(interrupt, "id", ""), interrupts_out(one));
        tn_release(one);
    }
    return made;
}

/* `memory` or `record` may be NULL. */
static tn_value thread_value(const char *id, tn_value memory, tn_value record, tn_value state) {
    tn_value created = tn_get(memory != NULL ? memory : record, "created_at");
    tn_value updated = tn_get(record != NULL ? record : memory, "updated_at");
    tn_value metadata = known_member(memory, "metadata"), config = known_member(memory, "config");
    return tn_build("{s:s, s:v?, s:v?, s:v?, s:V, s:V, s:s, s:V, s:V}", "thread_id", id, "created_at", created,
                    "updated_at", updated, "state_updated_at", updated, "metadata",
                    metadata != NULL ? tn_retain(metadata) : tn_build("{}"), "config",
                    config != NULL ? tn_retain(config) : tn_build("{}"), "status", thread_status(record), "values",
                    state != NULL ? values_out(state) : tn_null(), "interrupts", asked_by_task(record));
}

static void on_state(struct exchange *exchange, bool ok, tn_value value) {
    reply(exchange, 200,
          thread_value(exchange->thread, exchange->known, exchange->record, ok ? tn_get(value, "state") : NULL));
}

static void answer_thread(struct exchange *exchange) {
    if (exchange->record != NULL)
        ask(exchange, "thread/state", tn_build("{s:s}", "thread_id", exchange->thread), on_state);
    else
        on_state(exchange, false, NULL);
}

void thread_get(struct exchange *exchange) { with_path(exchange, answer_thread); }

/* ---- Creating and changing ---- */

static void on_written(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok) {
        refuse_error(exchange, value);
        return;
    }
    exchange->record = tn_retain(value);
    answer_thread(exchange);
}

static void answer_written(struct exchange *exchange) {
    ask(exchange, "thread/get", tn_build("{s:s}", "thread_id", exchange->thread), on_written);
}

static void on_put(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok) {
        refuse_error(exchange, value);
        return;
    }
    tn_release(exchange->known);
    exchange->known = tn_retain(value);
    if (is_set(tn_get(exchange->body, "supersteps")))
        write_steps(exchange, answer_written);
    else
        answer_thread(exchange);
}

static void put_thread(struct exchange *exchange, tn_value metadata) {
    ask(exchange, "memory/put",
        tn_build("{s:V, s:s, s:{s:V}, s:b}", "namespace", threads_namespace(), "key", exchange->thread, "value",
                 "metadata", metadata, "text", 0),
        on_put);
}

/* The members of both; those of `more` win. New. */
static tn_value merged(tn_value first, tn_value more) {
    tn_value made = first != NULL ? tn_retain(first) : tn_build("{}"), key, member;
    for (uint64_t i = 0, count = tn.value->count(more); made != NULL && i < count; i++) {
        uint64_t length = 0;
        if (tn.value->entry(more, i, &key, &member) != TN_OK) break;
        const char *chars = tn_chars(key, &length);
        (void)tn.value->set(&made, chars, length, member);
    }
    return made;
}

static tn_value body_metadata(const struct exchange *exchange) {
    tn_value metadata = tn_get(exchange->body, "metadata");
    return tn.value->kind(metadata) == TN_OBJECT ? metadata : NULL;
}

static void create_then(struct exchange *exchange) {
    bool exists = exchange->known != NULL || exchange->record != NULL;
    if (exists && serving_is(tn_get(exchange->body, "if_exists"), "do_nothing"))
        answer_thread(exchange);
    else if (exists)
        refuse(exchange, 409, "Thread with ID %s already exists", exchange->thread);
    else
        put_thread(exchange, merged(NULL, body_metadata(exchange)));
}

void threads_create(struct exchange *exchange) {
    const char *given = tn_get_text(exchange->body, "thread_id", NULL);
    if (given == NULL)
        uuid_new(exchange->thread);
    else
        (void)snprintf(exchange->thread, sizeof exchange->thread, "%s", given);
    if (!is_uuid(given != NULL ? given : exchange->thread))
        refuse(exchange, 422, "Invalid thread ID: found `%.80s`, expected a UUID", given);
    else if (check_steps(exchange))
        find_thread(exchange, true, create_then);
}

static void patch_then(struct exchange *exchange) {
    put_thread(exchange, merged(known_member(exchange->known, "metadata"), body_metadata(exchange)));
}
void thread_patch(struct exchange *exchange) { with_path(exchange, patch_then); }

/* ---- Removing and copying ---- */

static void on_forgotten(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        exchange->with_thread(exchange);
    else
        refuse_error(exchange, value);
}

static void search_runs(struct exchange *exchange);

/* The runs of the thread and their events, one after the other, and then the thread. */
static void forget_next(struct exchange *exchange, bool ok, tn_value value) {
    tn_value run = tn.value->at(exchange->list, exchange->at++);
    if (!ok)
        refuse_error(exchange, value);
    else if (run != NULL)
        ask(exchange, "memory/delete",
            tn_build("{s:v, s:v}", "namespace", tn_get(run, "namespace"), "key", tn_get(run, "key")), forget_next);
    else if (tn.value->count(exchange->list) == LIST_MAX || exchange->how++ == 0)
        search_runs(exchange);
    else
        ask(exchange, "memory/delete",
            tn_build("{s:V, s:s}", "namespace", threads_namespace(), "key", exchange->thread), on_forgotten);
}

static void on_runs(struct exchange *exchange, bool ok, tn_value value) {
    tn_release(exchange->list);
    exchange->list = ok ? tn_retain(tn_get(value, "memories")) : NULL;
    exchange->at = 0;
    forget_next(exchange, ok, value);
}

static void search_runs(struct exchange *exchange) {
    ask(exchange, "memory/search",
        tn_build("{s:V, s:i}", "namespace",
                 exchange->how == 0 ? runs_namespace(exchange->thread) : events_namespace(exchange->thread, NULL),
                 "limit", LIST_MAX),
        on_runs);
}

static void on_removed(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok && !serving_is(tn_get(value, "code"), "NOT_FOUND"))
        refuse_error(exchange, value);
    else
        search_runs(exchange);
}

void thread_forget(struct exchange *exchange, void (*then)(struct exchange *exchange)) {
    exchange->with_thread = then;
    exchange->how = 0;
    runs_cancel(exchange, true);
    ask(exchange, "thread/delete", tn_build("{s:s, s:b}", "thread_id", exchange->thread, "force", 1), on_removed);
}

static void removed_then(struct exchange *exchange) { reply(exchange, 204, NULL); }
static void remove_then(struct exchange *exchange) { thread_forget(exchange, removed_then); }
void thread_remove(struct exchange *exchange) { with_path(exchange, remove_then); }

static void on_copied(struct exchange *exchange, bool ok, tn_value value) {
    tn_value metadata = merged(known_member(exchange->known, "metadata"), NULL);
    if (!ok) {
        tn_release(metadata);
        refuse_error(exchange, value);
        return;
    }
    (void)snprintf(exchange->thread, sizeof exchange->thread, "%s", tn_get_text(exchange->made, "id", ""));
    put_thread(exchange, metadata);
}

static void copy_then(struct exchange *exchange) {
    char id[UUID_TEXT];
    uuid_new(id);
    exchange->made = tn_build("{s:s}", "id", id);
    if (exchange->record == NULL)
        on_copied(exchange, true, NULL);
    else
        ask(exchange, "thread/fork", tn_build("{s:s, s:s}", "thread_id", exchange->thread, "new_thread_id", id),
            on_copied);
}
void thread_copy(struct exchange *exchange) { with_path(exchange, copy_then); }

/* ---- Searching ---- */

static tn_value record_of(tn_value records, const char *id) {
    for (uint64_t i = 0, count = tn.value->count(records); i < count; i++)
        if (strcmp(bare_id(tn_get_text(tn.value->at(records, i), "thread_id", "")), id) == 0)
            return tn.value->at(records, i);
    return NULL;
}

static bool matches(const struct exchange *exchange, tn_value thread) {
    const char *status = tn_get_text(exchange->body, "status", NULL);
    tn_value wanted = tn_get(exchange->body, "metadata"), ids = tn_get(exchange->body, "ids"), key, member;
    bool found = tn.value->kind(ids) != TN_ARRAY;
    if (status != NULL && !serving_is(tn_get(thread, "status"), status)) return false;
    for (uint64_t i = 0, count = tn.value->count(ids); !found && i < count; i++)
        found = tn.value->equal(tn.value->at(ids, i), tn_get(thread, "thread_id")) == 1;
    for (uint64_t i = 0, count = tn.value->count(wanted); found && i < count; i++) {
        tn_value there =
            tn.value->entry(wanted, i, &key, &member) == TN_OK ? tn_get_key(tn_get(thread, "metadata"), key) : NULL;
        found = there != NULL && tn.value->equal(there, member) == 1;
    }
    return found;
}

static const char *sort_member(const struct exchange *exchange) {
    static const char *const members[] = {"thread_id", "status", "created_at", "updated_at"};
    const char *given = tn_get_text(exchange->body, "sort_by", "updated_at");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(members[i], given) == 0) return members[i];
    return "updated_at";
}

/* Puts the thread where it belongs. Takes it. */
static void insert_sorted(const struct exchange *exchange, tn_value *list, tn_value thread) {
    const char *member = sort_member(exchange), *text = tn_get_text(thread, member, "");
    bool ascending = serving_is(tn_get(exchange->body, "sort_order"), "asc");
    uint64_t low = 0, high = tn.value->count(*list);
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        int order = strcmp(tn_get_text(tn.value->at(*list, middle), member, ""), text);
        if (ascending ? order <= 0 : order >= 0)
            low = middle + 1;
        else
            high = middle;
    }
    tn_value one = thread != NULL ? tn_build("[V]", thread) : NULL;
    if (one != NULL) (void)tn.value->splice(list, low, 0, one);
    tn_release(one);
}

/* The threads that the body asks for: new. `known`: memories; `records`: of thread/list. */
static tn_value found_threads(const struct exchange *exchange, tn_value known, tn_value records) {
    tn_value list = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(known); i < count; i++) {
        tn_value memory = tn.value->at(known, i);
        const char *id = tn_get_text(memory, "key", "");
        tn_value thread = thread_value(id, memory, record_of(records, id), NULL);
        if (thread != NULL && matches(exchange, thread))
            insert_sorted(exchange, &list, thread);
        else
            tn_release(thread);
    }
    return list;
}

static void values_next(struct exchange *exchange);

static void on_values(struct exchange *exchange, bool ok, tn_value value) {
    tn_value thread = tn_retain(tn.value->at(exchange->list, exchange->at));
    if (ok && thread != NULL) thread = tn_set_take(thread, "values", values_out(tn_get(value, "state")));
    (void)tn_append_take(&exchange->made, thread);
    exchange->at++;
    values_next(exchange);
}

/* The values of each thread of the page. */
static void values_next(struct exchange *exchange) {
    tn_value thread = tn.value->at(exchange->list, exchange->at);
    if (thread == NULL)
        reply(exchange, 200, tn_retain(exchange->made));
    else
        ask(exchange, "thread/state", tn_build("{s:v}", "thread_id", tn_get(thread, "thread_id")), on_values);
}

static void on_records(struct exchange *exchange, bool ok, tn_value value) {
    uint64_t from = (uint64_t)body_number(exchange, "offset", 0, INT32_MAX);
    uint64_t limit = (uint64_t)body_number(exchange, "limit", 10, 100);
    if (!ok) {
        refuse_error(exchange, value);
        return;
    }
    tn_value all = found_threads(exchange, exchange->list, tn_get(value, "threads")), page = NULL;
    uint64_t count = tn.value->count(all);
    if (from > count) from = count;
    if (limit > count - from) limit = count - from;
    (void)tn.value->slice(all, from, limit, &page);
    tn_release(all);
    tn_release(exchange->list);
    exchange->list = page;
    exchange->made = tn_build("[]");
    exchange->at = 0;
    values_next(exchange);
}

static void on_records_counted(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok) {
        refuse_error(exchange, value);
        return;
    }
    tn_value all = found_threads(exchange, exchange->list, tn_get(value, "threads"));
    reply(exchange, 200, tn_int((int64_t)tn.value->count(all)));
    tn_release(all);
}

static void list_records(struct exchange *exchange, bool ok, tn_value value, step *then) {
    if (!ok) {
        refuse_error(exchange, value);
        return;
    }
    exchange->list = tn_retain(tn_get(value, "memories"));
    ask(exchange, "thread/list", tn_build("{s:i}", "limit", LIST_MAX), then);
}

static void on_memories(struct exchange *exchange, bool ok, tn_value value) {
    list_records(exchange, ok, value, on_records);
}

static void on_memories_counted(struct exchange *exchange, bool ok, tn_value value) {
    list_records(exchange, ok, value, on_records_counted);
}

/* Each id is compared with each thread. */
static bool check_ids(struct exchange *exchange) {
    bool fits = tn.value->count(tn_get(exchange->body, "ids")) <= LIST_MAX;
    if (!fits) refuse(exchange, 422, "`ids` has more than %d ids", LIST_MAX);
    return fits;
}

void threads_search(struct exchange *exchange) {
    if (!check_ids(exchange)) return;
    ask(exchange, "memory/search", tn_build("{s:V, s:i}", "namespace", threads_namespace(), "limit", LIST_MAX),
        on_memories);
}

void threads_count(struct exchange *exchange) {
    if (!check_ids(exchange)) return;
    ask(exchange, "memory/search", tn_build("{s:V, s:i}", "namespace", threads_namespace(), "limit", LIST_MAX),
        on_memories_counted);
}
