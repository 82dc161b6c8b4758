/*
 * store-1-draft.3.c - the exhibit of tenon.store/1-draft.3: a store that says what it is asked for, and keeps nothing.
 */
#include <stdio.h>
#include <string.h>
#include <tenon.h>
#include <tenon/note.h>
#include <tenon/store-1-draft.3.h>

TN_NOTE_AS(manifest, "{\"plugin\":{\"id\":\"museum.store\",\"version\":\"1.0.0\",\"title\":\"A store that keeps "
                     "nothing\",\"licence\":\"MIT\",\"requires\":[\"" TN_CORE_1 "\",\"" TN_VALUE_1
                     "\"],\"provides\":[\"" TN_STORE_DRAFT "\"]}}");

struct tn_store {
    int64_t commits, queries, groups, asked_for_time;
};

static const tn_host *host;
static const tn_core_1 *core;
static const tn_value_1 *values;

static void say(const char *what, const char *about) {
    char line[256];
    (void)snprintf(line, sizeof(line), "a store %.40s%.200s", what, about);
    core->log(host, TN_LOG_INFO, line, TN_Z);
}

static int32_t TN_ABI open_it(void *self, tn_value options, tn_store **store, tn_value *error) {
    (void)self, (void)error;
    *store = core->alloc(host, sizeof(**store));
    if (*store == NULL) return TN_NO_MEMORY;
    (*store)->commits = (*store)->queries = (*store)->groups = (*store)->asked_for_time = 0;
    say(values->as_text(values->get(options, "path", TN_Z), NULL) != NULL ? "is opened" : "is opened nowhere", "");
    return TN_OK;
}

static void TN_ABI close_it(tn_store *store) {
    if (store == NULL) return;
    say("is closed", "");
    core->release(host, store);
}

/* Answers as if all had been done. How a host puts its batches together is its own affair, and not shown. */
static int32_t TN_ABI commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    tn_builder *results = values->builder(host);
    values->begin(results, TN_ARRAY);
    for (uint64_t i = 0; i < values->count(batch); i++) {
        tn_value version = values->make_int(host, 1);
        if (values->as_text(values->get(values->at(batch, i), "op", TN_Z), NULL) == NULL)
            say("is given no operation", "");
        values->begin(results, TN_OBJECT);
        values->key(results, "version", TN_Z);
        values->add(results, version);
        values->end(results);
        values->release(version);
    }
    values->end(results);
    int32_t status = values->finish(results, result, error);
    if (store->commits++ == 0) say("commits", "");
    return status;
}

static int32_t TN_ABI query(tn_store *store, tn_value asked, tn_value *result, tn_value *error) {
    tn_value kind = NULL, about = NULL;
    (void)error;
    if (values->entry(asked, 0, &kind, &about) != TN_OK) return TN_INVALID;
    if (store->queries++ == 0) say("is asked to ", values->as_text(kind, NULL));
    *result = values->make_null(host);
    return TN_OK;
}

static int32_t TN_ABI maintain(tn_store *store, tn_value *result, tn_value *error) {
    (void)error;
    *result = values->make_int(host, store->commits);
    return TN_OK;
}

static int32_t TN_ABI watch(tn_store *store, tn_watch_fn *changed, void *user) {
    (void)store, (void)user;
    say(changed != NULL ? "is watched" : "is watched by nobody", "");
    return TN_UNSUPPORTED;
}

static int64_t TN_ABI wall_ms(tn_store *store) {
    if (store->asked_for_time++ == 0) say("tells the time", "");
    return 1800000000000;
}

/* When a host groups batches is its own affair, and not shown. */
static int32_t TN_ABI group(tn_store *store, int32_t open, tn_value *error) {
    (void)error;
    store->groups += open != 0 ? 1 : -1;
    if (store->groups < 0 || store->groups > 1) say("is asked for a group in a group", "");
    return TN_OK;
}

static const tn_store_draft draft = {
    sizeof(tn_store_draft), open_it, close_it, commit, query, maintain, watch, wall_ms, group};

static const void *TN_ABI offer(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_STORE_DRAFT) == 0 ? &draft : NULL;
}

static const tn_plugin plugin = {sizeof(tn_plugin), NULL, offer};

TN_EXPORT const tn_plugin *TN_ABI tn_plugin_entry_1(const tn_host *given) {
    host = given;
    core = (const tn_core_1 *)host->get(host->self, TN_CORE_1);
    values = (const tn_value_1 *)host->get(host->self, TN_VALUE_1);
    return core != NULL && values != NULL ? &plugin : NULL;
}
