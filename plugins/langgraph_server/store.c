/*
 * store.c - the store: memories of the host, except those in the namespace `langgraph`, which are this plugin's.
 */
#include "langgraph.h"

#define DEPTH_MAX 31 /* names of a namespace, without its owner */

/* Without the name of the owner, which the host adds. New. */
static tn_value bare_namespace(tn_value names) {
    tn_value bare = NULL;
    uint64_t count = tn.value->count(names);
    bool owned =
        count > 0 && tn_chars(tn.value->at(names, 0), NULL) != NULL && *tn_chars(tn.value->at(names, 0), NULL) == '@';
    if (!owned || tn.value->slice(names, 1, count - 1, &bare) != TN_OK) return tn_retain(names);
    return bare;
}

static bool is_own(tn_value names) { return serving_is(tn.value->at(names, 0), "langgraph"); }

/* A namespace of the body, which may be empty: false if it is not one, or is the plugin's own; that was answered. */
static bool check_namespace(struct exchange *exchange, tn_value names, bool may_be_empty) {
    bool fits = tn.value->kind(names) == TN_ARRAY && (may_be_empty || tn.value->count(names) > 0);
    for (uint64_t i = 0, count = tn.value->count(names); fits && i < count; i++)
        fits = tn_chars(tn.value->at(names, i), NULL) != NULL;
    if (!fits)
        refuse(exchange, 422, "a namespace is an array of names");
    else if (is_own(names))
        refuse(exchange, 422, "the namespace `langgraph` is reserved");
    return fits && !is_own(names);
}

static tn_value item_value(tn_value memory) {
    return tn_build("{s:V, s:v?, s:v?, s:v?, s:v?, s:v*}", "namespace", bare_namespace(tn_get(memory, "namespace")),
                    "key", tn_get(memory, "key"), "value", tn_get(memory, "value"), "created_at",
                    tn_get(memory, "created_at"), "updated_at", tn_get(memory, "updated_at"), "score",
                    tn_get(memory, "score"));
}

static void on_done(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        reply(exchange, 204, NULL);
    else
        refuse_error(exchange, value);
}

void store_put(struct exchange *exchange) {
    tn_value body = exchange->body, names = tn_get(body, "namespace"), key = tn_get(body, "key");
    tn_value value = tn_get(body, "value"), index = tn_get(body, "index");
    double minutes = tn_get_num(body, "ttl", 0);
    if (!check_namespace(exchange, names, false)) return;
    if (tn_chars(key, NULL) == NULL || tn.value->kind(value) != TN_OBJECT) {
        refuse(exchange, 422, "an item needs `key`, a text, and `value`, an object");
        return;
    }
    tn_value params = tn_build("{s:v, s:v, s:v}", "namespace", names, "key", key, "value", value);
    if (minutes > 0) params = tn_set_take(params, "ttl_seconds", tn_num(60 * minutes));
    if (tn.value->kind(index) == TN_BOOL && !serving_true(index)) params = tn_set_take(params, "text", tn_bool(0));
    ask(exchange, "memory/put", params, on_done);
}

static void on_item(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok)
        refuse_error(exchange, value);
    else if (tn.value->kind(value) != TN_OBJECT)
        refuse(exchange, 404, "Item not found");
    else
        reply(exchange, 200, item_value(value));
}

/* The names of `a.b`: new. */
static tn_value split(const char *text) {
    tn_value names = tn_build("[]");
    for (const char *at = text, *dot; at != NULL && *at != '\0'; at = dot != NULL ? dot + 1 : NULL) {
        dot = strchr(at, '.');
        (void)tn_append_take(&names, tn_text_n(at, dot != NULL ? (uint64_t)(dot - at) : strlen(at)));
    }
    return names;
}

void store_get(struct exchange *exchange) {
    const char *key = query(exchange, "key");
    tn_value names = split(query(exchange, "namespace"));
    if (key == NULL)
        refuse(exchange, 422, "`key` is missing");
    else if (check_namespace(exchange, names, false))
        ask(exchange, "memory/get", tn_build("{s:v, s:s}", "namespace", names, "key", key), on_item);
    tn_release(names);
}

void store_delete(struct exchange *exchange) {
    tn_value names = tn_get(exchange->body, "namespace"), key = tn_get(exchange->body, "key");
    if (!check_namespace(exchange, names, false)) return;
    if (tn_chars(key, NULL) == NULL)
        refuse(exchange, 422, "`key` is missing");
    else
        ask(exchange, "memory/delete", tn_build("{s:v, s:v}", "namespace", names, "key", key), on_done);
}

/* ---- Searching ---- */

/* The items from the offset on: new. */
static tn_value page_of(const struct exchange *exchange, tn_value items, tn_value (*convert)(tn_value item)) {
    uint64_t from = (uint64_t)body_number(exchange, "offset", 0, LIST_MAX);
    uint64_t limit = (uint64_t)body_number(exchange, "limit", 10, LIST_MAX), seen = 0;
    tn_value page = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(items); i < count && tn.value->count(page) < limit; i++) {
        tn_value made = convert(tn.value->at(items, i)), names = tn_get(made, "namespace");
        bool own = is_own(names != NULL ? names : made);
        if (!own && seen++ >= from)
            (void)tn_append_take(&page, made);
        else
            tn_release(made);
    }
    return page;
}

static void on_found(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        reply(exchange, 200, tn_build("{s:V}", "items", page_of(exchange, tn_get(value, "memories"), item_value)));
    else
        refuse_error(exchange, value);
}

void store_search(struct exchange *exchange) {
    tn_value body = exchange->body, prefix = tn_get(body, "namespace_prefix"), filter = tn_get(body, "filter");
    const char *words = tn_get_text(body, "query", NULL);
    tn_value names = tn.value->kind(prefix) == TN_ARRAY ? tn_retain(prefix) : tn_build("[]");
    if (check_namespace(exchange, names, true))
        ask(exchange, "memory/search",
            tn_build("{s:v, s:v*, s:s*, s:i}", "namespace", names, "filter",
                     tn.value->count(filter) > 0 ? filter : NULL, "query", words, "limit", LIST_MAX),
            on_found);
    tn_release(names);
}

/* `suffix` names the last parts of a namespace; "*" is any name. */
static bool ends_with(tn_value names, tn_value suffix) {
    uint64_t count = tn.value->count(names), wanted = tn.value->count(suffix);
    for (uint64_t i = 0; i < wanted && wanted <= count; i++) {
        tn_value one = tn.value->at(suffix, i);
        if (!serving_is(one, "*") && tn.value->equal(tn.value->at(names, count - wanted + i), one) != 1) return false;
    }
    return wanted <= count;
}

/* The namespaces that end so, without what is deeper than `max_depth`, each once: new. They are sorted. */
static tn_value with_suffix(tn_value all, tn_value suffix, uint64_t depth) {
    tn_value made = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(all); i < count; i++) {
        tn_value names = bare_namespace(tn.value->at(all, i)), cut = NULL;
        uint64_t length = tn.value->count(names);
        if (ends_with(names, suffix) && tn.value->slice(names, 0, length < depth ? length : depth, &cut) == TN_OK &&
            tn.value->equal(tn.value->at(made, tn.value->count(made) - 1), cut) != 1)
            (void)tn_append_take(&made, tn_retain(cut));
        tn_release(cut);
        tn_release(names);
    }
    return made;
}

static int64_t depth_of(const struct exchange *exchange) {
    int64_t depth = tn_get_int(exchange->body, "max_depth", DEPTH_MAX);
    return depth < 1 ? 1 : depth > DEPTH_MAX ? DEPTH_MAX : depth;
}

static void on_namespaces(struct exchange *exchange, bool ok, tn_value value) {
    tn_value suffix = tn_get(exchange->body, "suffix");
    if (!ok) {
        refuse_error(exchange, value);
        return;
    }
    tn_value found = with_suffix(tn_get(value, "namespaces"), suffix, (uint64_t)depth_of(exchange));
    reply(exchange, 200, tn_build("{s:V}", "namespaces", page_of(exchange, found, tn_retain)));
    tn_release(found);
}

/* The depth counts the name of the owner. With a suffix, namespaces are cut after they have been compared. */
void store_namespaces(struct exchange *exchange) {
    tn_value body = exchange->body, prefix = tn_get(body, "prefix"), suffix = tn_get(body, "suffix");
    tn_value names = tn.value->kind(prefix) == TN_ARRAY ? tn_retain(prefix) : tn_build("[]");
    int owned = tn_get_text(tn_get(exchange->request, "caller"), "owner", "")[0] != '\0';
    int64_t depth = tn.value->count(suffix) > 0 ? DEPTH_MAX : depth_of(exchange);
    if (suffix != NULL && tn.value->kind(suffix) > TN_NULL && tn.value->kind(suffix) != TN_ARRAY)
        refuse(exchange, 422, "`suffix` must be an array of names");
    else if (check_namespace(exchange, names, true))
        ask(exchange, "memory/namespaces",
            tn_build("{s:v, s:I, s:i}", "namespace", names, "depth", depth + owned, "limit", LIST_MAX), on_namespaces);
    tn_release(names);
}
