/*
 * plugin.h - shared by the test plugins: the contract without macros, so that each plugin can break it in one place.
 *
 * A file names itself with MANIFEST, may define what it breaks, and ends with ENTRY. The components only
 * complete.
 */
#include <stdlib.h>
#include <string.h>
#include <tenon.h>
#include <tenon/note.h>

/* One note: id, version, and more members of `plugin` (beginning with a comma) as JSON text. */
#define MANIFEST(id, version, more)                                                                                    \
    TN_NOTE_AS(manifest, "{\"plugin\":{\"id\":\"" id "\",\"version\":\"" version                                       \
                         "\",\"title\":\"A plugin for tests\"" more "}}");
/* A node without configuration. */
#define COMPONENT(name, id)                                                                                            \
    TN_NOTE_AS(name, "{\"component\":{\"kind\":\"node\",\"id\":\"" id "\",\"title\":\"A node for tests\","             \
                     "\"documentation\":\"Does nothing.\",\"style\":\"async\",\"effects\":[]}}");

static const tn_host *host;

static inline int32_t component_create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                                       void **instance) {
    (void)self, (void)id, (void)length, (void)config, (void)binder;
    *instance = NULL;
    return TN_OK;
}

static inline int32_t component_start(void *instance, tn_task task, tn_value input) {
    const tn_task_1 *tasks = (const tn_task_1 *)host->get(host->self, TN_TASK_1);
    (void)instance, (void)input;
    return tasks ? tasks->complete(task, NULL) : TN_ERROR;
}

static inline void component_destroy(void *instance) { (void)instance; }

#ifndef COMPONENT_SIZE
#define COMPONENT_SIZE sizeof(tn_component_1)
#endif
#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(tn_plugin)
#endif
#ifndef LIFECYCLE
#define LIFECYCLE NULL
#endif
#ifndef DECLINES
#define DECLINES 0
#endif

/* The last line of a plugin. */
#define ENTRY                                                                                                          \
    static const tn_component_1 components = {COMPONENT_SIZE, component_create, component_start, NULL,                 \
                                              NULL,           component_destroy};                                      \
    static const void *offer(void *self, const char *id) {                                                             \
        (void)self;                                                                                                    \
        if (strcmp(id, TN_COMPONENT_1) == 0) return &components;                                                       \
        if (strcmp(id, TN_LIFECYCLE_1) == 0) return LIFECYCLE;                                                         \
        return NULL;                                                                                                   \
    }                                                                                                                  \
    static const tn_plugin plugin = {PLUGIN_SIZE, NULL, offer};                                                        \
    TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *given) {                                               \
        host = given;                                                                                                  \
        return DECLINES ? NULL : &plugin;                                                                              \
    }
