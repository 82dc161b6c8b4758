/*
 * assistants_made.c - the list of assistants, and those that users make: a graph with a configuration, metadata and a
 * name. They are memories in the namespace [langgraph, assistants], and have one version, the newest.
 */
#include "langgraph.h"

#define NAME_MAX_BYTES 256u

tn_value assistants_namespace(void) { return tn_build("[ss]", "langgraph", "assistants"); }

/* ---- Values ---- */

static tn_value graph_assistant(tn_value graph) {
    static const char since[] = "1970-01-01T00:00:00.000Z"; /* graphs are files of the operator */
    char id[UUID_TEXT];
    const char *name = tn_get_text(graph, "name", "");
    uuid_of_name(name, id);
    return tn_build("{s:s, s:s, s:{}, s:{}, s:s, s:s, s:{s:s}, s:i, s:s, s:v?}", "assistant_id", id, "graph_id", name,
                    "config", "context", "created_at", since, "updated_at", since, "metadata", "created_by", "system",
                    "version", 1, "name", tn_get_text(graph, "title", name), "description",
                    tn_get(graph, "description"));
}

static tn_value made_assistant(tn_value memory) {
    tn_value value = tn_retain(tn_get(memory, "value"));
    if (value == NULL) return NULL;
    value = tn_set_take(value, "assistant_id", tn_retain(tn_get(memory, "key")));
    value = tn_set_take(value, "created_at", tn_retain(tn_get(memory, "created_at")));
    return tn_set_take(value, "updated_at", tn_retain(tn_get(memory, "updated_at")));
}

/* The assistant that find_graph has found: new. */
static tn_value found_assistant(const struct exchange *exchange) {
    return exchange->assistant != NULL ? made_assistant(exchange->assistant) : graph_assistant(exchange->graph.item);
}

const char *assistant_id_of(const struct exchange *exchange, char id[UUID_TEXT]) {
    if (exchange->assistant != NULL)
        (void)snprintf(id, UUID_TEXT, "%s", tn_get_text(exchange->assistant, "key", ""));
    else
        uuid_of_name(exchange->graph.name, id);
    return id;
}

/* ---- Searching ---- */

/* Each member of `wanted` is in `has`. */
static bool contains(tn_value has, tn_value wanted) {
    tn_value key, member;
    for (uint64_t i = 0, count = tn.value->count(wanted); i < count; i++) {
        if (tn.value->entry(wanted, i, &key, &member) != TN_OK) return false;
        tn_value there = tn_get_key(has, key);
        if (there == NULL || tn.value->equal(there, member) != 1) return false;
    }
    return true;
}

/* Adds the assistant if the body asks for it. Takes it. */
static void add_if_wanted(const struct exchange *exchange, tn_value *list, tn_value assistant) {
    const char *graph_id = tn_get_text(exchange->body, "graph_id", NULL);
    const char *name = tn_get_text(exchange->body, "name", NULL);
    bool fits = (graph_id == NULL || serving_is(tn_get(assistant, "graph_id"), graph_id)) &&
                (name == NULL || strstr(tn_get_text(assistant, "name", ""), name) != NULL) &&
                contains(tn_get(assistant, "metadata"), tn_get(exchange->body, "metadata"));
    if (fits)
        (void)tn_append_take(list, assistant);
    else
        tn_release(assistant);
}

static void on_search(void *user, tn_value graphs, tn_value error) {
    struct exchange *exchange = user;
    tn_value made = exchange->list, list = tn_build("[]");
    exchange->lookup = NULL;
    for (uint64_t i = 0, count = tn.value->count(graphs); i < count; i++)
        add_if_wanted(exchange, &list, graph_assistant(tn.value->at(graphs, i)));
    for (uint64_t i = 0, count = tn.value->count(made); i < count; i++)
        add_if_wanted(exchange, &list, made_assistant(tn.value->at(made, i)));
    uint64_t count = tn.value->count(list);
    if (graphs != NULL && exchange->how == 0) {
        reply_page(exchange, list);
        return;
    }
    tn_release(list);
    if (graphs == NULL)
        refuse_error(exchange, error);
    else
        reply(exchange, 200, tn_int((int64_t)count));
}

static void on_memories(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok) {
        refuse_error(exchange, value);
        return;
    }
    exchange->list = tn_retain(tn_get(value, "memories"));
    exchange->lookup = serving_graphs(&exchange->langgraph->serving, exchange->caller, on_search, exchange);
    if (exchange->lookup == NULL) refuse(exchange, 503, "memory ran out");
}

/* `counts`: answers with their number. */
static void search(struct exchange *exchange, bool counts) {
    exchange->how = counts;
    ask(exchange, "memory/search", tn_build("{s:V, s:i}", "namespace", assistants_namespace(), "limit", LIST_MAX),
        on_memories);
}

void assistants_search(struct exchange *exchange) { search(exchange, false); }
void assistants_count(struct exchange *exchange) { search(exchange, true); }

static void get_then(struct exchange *exchange) { reply(exchange, 200, found_assistant(exchange)); }
void assistant_get(struct exchange *exchange) { find_in_path(exchange, get_then); }

static void versions_then(struct exchange *exchange) {
    reply(exchange, 200, tn_build("[V]", found_assistant(exchange)));
}
void assistant_versions(struct exchange *exchange) { find_in_path(exchange, versions_then); }

/* ---- Making ---- */

static void on_put(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        reply(exchange, 200, made_assistant(value));
    else
        refuse_error(exchange, value);
}

/* The members of the body, over those of `before`, which may be NULL. */
static void put(struct exchange *exchange, const char *id, tn_value before) {
    static const char *const objects[] = {"config", "context", "metadata"};
    tn_value body = exchange->made, name = tn_get(body, "name"), description = tn_get(body, "description");
    tn_value value = before != NULL ? tn_retain(before) : tn_build("{s:n}", "description");
    value = tn_set_take(value, "graph_id", tn_text(exchange->graph.name));
    value = tn_set_take(value, "version", tn_int(tn_get_int(before, "version", 0) + 1));
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        tn_value given = tn_get(body, objects[i]);
        if (tn.value->kind(given) == TN_OBJECT)
            value = tn_set_take(value, objects[i], tn_retain(given));
        else if (before == NULL)
            value = tn_set_take(value, objects[i], tn_build("{}"));
    }
    if (tn_chars(name, NULL) != NULL)
        value = tn_set_take(value, "name", tn_retain(name));
    else if (before == NULL)
        value = tn_set_take(value, "name", tn_text("Untitled"));
    if (tn_chars(description, NULL) != NULL) value = tn_set_take(value, "description", tn_retain(description));
    ask(exchange, "memory/put",
        tn_build("{s:V, s:s, s:V, s:b}", "namespace", assistants_namespace(), "key", id, "value", value, "text", 0),
        on_put);
}

static bool check_members(struct exchange *exchange) {
    static const char *const objects[] = {"config", "context", "metadata"};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        tn_value given = tn_get(exchange->body, objects[i]);
        if (given == NULL || tn.value->kind(given) == TN_NULL || tn.value->kind(given) == TN_OBJECT) continue;
        refuse(exchange, 422, "`%s` must be an object", objects[i]);
        return false;
    }
    uint64_t length = 0;
    (void)tn_chars(tn_get(exchange->body, "name"), &length);
    if (length > NAME_MAX_BYTES) refuse(exchange, 422, "`name` has more than %u bytes", NAME_MAX_BYTES);
    return length <= NAME_MAX_BYTES;
}

static void on_existing(struct exchange *exchange, bool ok, tn_value value) {
    const char *id = exchange->thread;
    bool exists = ok && tn.value->kind(value) == TN_OBJECT;
    if (!ok)
        refuse_error(exchange, value);
    else if (exists && serving_is(tn_get(exchange->made, "if_exists"), "do_nothing"))
        reply(exchange, 200, made_assistant(value));
    else if (exists)
        refuse(exchange, 409, "Assistant '%s' already exists", id);
    else
        put(exchange, id, NULL);
}

static void create_then(struct exchange *exchange) {
    const char *id = tn_get_text(exchange->made, "assistant_id", NULL);
    if (exchange->assistant != NULL) {
        refuse(exchange, 422, "`graph_id` must be the name of a graph");
        return;
    }
    if (id == NULL)
        uuid_new(exchange->thread); /* the id, until the answer */
    else
        (void)snprintf(exchange->thread, sizeof exchange->thread, "%s", id);
    ask(exchange, "memory/get", tn_build("{s:V, s:s}", "namespace", assistants_namespace(), "key", exchange->thread),
        on_existing);
}

void assistants_create(struct exchange *exchange) {
    tn_value graph = tn_get(exchange->body, "graph_id"), id = tn_get(exchange->body, "assistant_id");
    if (tn_chars(graph, NULL) == NULL) {
        refuse(exchange, 422, "`graph_id` is missing: the name of a graph");
    } else if (is_set(id) && (tn_chars(id, NULL) == NULL || !is_uuid(tn_chars(id, NULL)))) {
        refuse(exchange, 422, "`assistant_id` must be a UUID");
    } else if (check_members(exchange)) {
        exchange->made = tn_retain(exchange->body);
        exchange->list = tn_build("{s:v}", "assistant_id", graph);
        exchange->body = exchange->list;
        find_graph(exchange, create_then);
    }
}

/* ---- Changing ---- */

/* False, and answered, for the assistant of a graph. */
static bool check_made(struct exchange *exchange) {
    if (exchange->assistant == NULL)
        refuse(exchange, 409, "the assistant of a graph cannot be changed; make another one for `graph_id` \"%s\"",
               exchange->graph.name);
    return exchange->assistant != NULL;
}

static void patch_then(struct exchange *exchange) {
    const char *graph = tn_get_text(exchange->made, "graph_id", exchange->graph.name);
    if (!check_made(exchange)) return;
    if (!select_graph(exchange, graph))
        refuse(exchange, 404, "Graph '%.100s' not found", graph);
    else
        put(exchange, tn_get_text(exchange->assistant, "key", ""), tn_get(exchange->assistant, "value"));
}

void assistant_patch(struct exchange *exchange) {
    if (!check_members(exchange)) return;
    exchange->made = tn_retain(exchange->body);
    find_in_path(exchange, patch_then);
}

static void on_deleted(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        reply(exchange, 204, NULL);
    else
        refuse_error(exchange, value);
}

static void delete_then(struct exchange *exchange) {
    if (check_made(exchange))
        ask(exchange, "memory/delete",
            tn_build("{s:V, s:v}", "namespace", assistants_namespace(), "key", tn_get(exchange->assistant, "key")),
            on_deleted);
}
void assistant_delete(struct exchange *exchange) { find_in_path(exchange, delete_then); }

static void latest_then(struct exchange *exchange) {
    tn_value found = found_assistant(exchange);
    bool same = tn_get_int(found, "version", 0) == tn_get_int(exchange->made, "version", 0);
    if (same) {
        reply(exchange, 200, found);
        return;
    }
    refuse(exchange, 404, "only the newest version is kept: %lld", (long long)tn_get_int(found, "version", 0));
    tn_release(found);
}

void assistant_latest(struct exchange *exchange) {
    exchange->made = tn_retain(exchange->body);
    find_in_path(exchange, latest_then);
}
