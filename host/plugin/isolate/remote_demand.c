/*
 * remote_demand.c - tenon/demand.h for an isolated plugin: what the host looks for is sent to the shared process.
 *
 * The process starts only what may match, and says when nothing more will come (serve_demand.c). The host asks often
 * while it waits, so each pattern is kept with the last answer. Another process, after a death, gets all patterns
 * again.
 */
#include "adl/value/memory.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

#define DEMANDS_MAX 256u /* patterns that are kept: one that has its answer makes room */

struct remote_demand {
    struct remote_demand *next;
    tn_value kind, pattern;
    bool wanted; /* what matches was to be started */
    bool known;  /* what is known was asked for */
    bool more;   /* matching components may exist that the plugin has not added */
};

static bool text_is(tn_value text, const char *chars, size_t length) {
    size_t size;
    const char *at = value_chars(text, &size);
    return size == length && memcmp(at, chars, length) == 0;
}

static struct remote_demand *demand_lookup(const struct remote *remote, const char *kind, size_t kind_length,
                                           const char *pattern, size_t length) {
    struct remote_demand *demand = remote->demands;
    while (demand && !(text_is(demand->kind, kind, kind_length) && text_is(demand->pattern, pattern, length)))
        demand = demand->next;
    return demand;
}

static void demand_free(struct remote_demand *demand) {
    value_unref(demand->kind);
    value_unref(demand->pattern);
    mem_free(demand);
}

/* Frees the oldest one that has its answer. Returns false if none has. */
static bool demands_make_room(struct remote *remote) {
    for (struct remote_demand **at = &remote->demands; *at; at = &(*at)->next) {
        struct remote_demand *demand = *at;
        if (demand->more) continue;
        *at = demand->next;
        demand_free(demand);
        remote->demand_count--;
        return true;
    }
    return false;
}

static struct remote_demand *demand_add(struct remote *remote, const char *kind, size_t kind_length,
                                        const char *pattern, size_t length) {
    struct remote_demand **last = &remote->demands;
    if (remote->demand_count >= DEMANDS_MAX && !demands_make_room(remote)) return NULL;
    while (*last) last = &(*last)->next;
    *last = mem_zalloc(sizeof **last);
    (*last)->kind = value_string_lossy(kind, kind_length);
    (*last)->pattern = value_string_lossy(pattern, length);
    remote->demand_count++;
    return *last;
}

/* While a pattern has no answer, the registry expects more components of this plugin. */
static void remote_update_expect(struct remote *remote) {
    bool more = remote->child_expects;
    for (const struct remote_demand *demand = remote->demands; demand; demand = demand->next) more |= demand->more;
    registry_expect(remote->plugin, more);
}

static tn_value demand_params(const struct remote_demand *demand, const char *how) {
    tn_value params = value_set_take(value_object_reserve(3), "kind", value_ref(demand->kind));
    params = value_set_take(params, "pattern", value_ref(demand->pattern));
    return value_set_take(params, "how", value_text(how));
}

static void demand_start(struct remote *remote, struct remote_demand *demand) {
    demand->more = process_notify_take(remote->shared->process, "demand", demand_params(demand, "start")) == FRAME_FITS;
}

/* What needs no program and no wait: the process answers at once. */
static void demand_known(struct remote *remote, struct remote_demand *demand) {
    tn_value result = NULL;
    demand->known = true;
    demand->more = process_call_take(remote->shared->process, "demand", demand_params(demand, "known"),
                                     REMOTE_CREATE_MS, &result, NULL) != TN_OK ||
                   value_get(result, "more") == value_bool(true);
    value_unref(result);
}

static int32_t remote_on_demand(void *user, const char *kind, uint64_t kind_length, const char *pattern,
                                uint64_t pattern_length, int32_t how) {
    struct remote *remote = user;
    bool runs = remote->shared && remote->shared->state == CHILD_RUNNING && !remote->closing && !remote->quiesced;
    struct remote_demand *demand = demand_lookup(remote, kind, kind_length, pattern, pattern_length);
    if (how == TN_DEMAND_QUERY) return !demand || demand->more;
    if (!demand) demand = demand_add(remote, kind, kind_length, pattern, pattern_length);
    if (!demand) return 0;
    if (how == TN_DEMAND_KNOWN) {
        if (runs && !demand->known) demand_known(remote, demand);
    } else if (!demand->wanted) {
        demand->wanted = true;
        if (runs) demand_start(remote, demand);
        remote_update_expect(remote);
    }
    return demand->more;
}

void remote_demand_begin(struct remote *remote, tn_value initialized) {
    if (value_get(initialized, "demand") != value_bool(true)) return;
    registry_watch_demand(remote->plugin, remote_on_demand, remote);
    for (struct remote_demand *demand = remote->demands; demand; demand = demand->next) {
        demand->known = false;
        if (demand->wanted) demand_start(remote, demand);
    }
    remote_update_expect(remote);
}

void remote_on_demanded(struct remote *remote, tn_value params) {
    tn_value kind = value_get(params, "kind"), pattern = value_get(params, "pattern");
    size_t kind_length, length;
    if (!value_is(kind, TN_STRING) || !value_is(pattern, TN_STRING)) return;
    const char *kind_text = value_chars(kind, &kind_length), *text = value_chars(pattern, &length);
    struct remote_demand *demand = demand_lookup(remote, kind_text, kind_length, text, length);
    if (demand) demand->more = false;
    remote_update_expect(remote);
}

void remote_on_expect(struct remote *remote, bool more) {
    remote->child_expects = more;
    remote_update_expect(remote);
}

void remote_demand_end(struct remote *remote) {
    for (struct remote_demand *demand = remote->demands; demand; demand = demand->next) demand->more = false;
    remote->child_expects = false;
}

void remote_demand_free(struct remote *remote) {
    while (remote->demands) {
        struct remote_demand *demand = remote->demands;
        remote->demands = demand->next;
        demand_free(demand);
    }
}
