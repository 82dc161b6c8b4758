/*
 * exhibit.h - what the exhibits of drafts share: the tables of /1, a transcript, and an entry that wants one draft
 * more.
 *
 * An exhibit defines `draft`, its rows, and ends with EXHIBIT. Each is one file, built from sdk/frozen/1 and the header
 * of the draft as it was.
 */
#ifndef MUSEUM_EXHIBIT_H
#define MUSEUM_EXHIBIT_H

#include <string.h>
#include <tenon.h>
#include <tenon/note.h>

#define MANIFEST(name, title, draft_id, more)                                                                          \
    TN_NOTE_AS(manifest, "{\"plugin\":{\"id\":\"museum." name "\",\"version\":\"1.0.0\",\"title\":\"" title            \
                         "\",\"licence\":\"MIT\",\"requires\":[\"" TN_CORE_1 "\",\"" TN_VALUE_1 "\",\"" TN_TASK_1      \
                         "\",\"" draft_id "\"]" more "}}");
/* A node; `config` is the properties of its configuration as JSON text. */
#define NODE(name, id, config)                                                                                         \
    TN_NOTE_AS(                                                                                                        \
        name,                                                                                                          \
        "{\"component\":{\"kind\":\"node\",\"id\":\"" id "\",\"title\":\"The exhibit of a draft\","                    \
        "\"documentation\":\"See its source.\",\"style\":\"async\",\"effects\":[\"calls.tool\",\"calls.document\"],"   \
        "\"config\":{\"type\":\"object\",\"properties\":{" config "},\"additionalProperties\":false}}}");
#define PROPERTY(name, marked)                                                                                         \
    "\"" name "\":{\"type\":\"string\",\"description\":\"what is bound\",\"x-tenon\":\"" marked "\"}"

static const tn_host *host;
static const tn_core_1 *core;
static const tn_value_1 *values;
static const tn_task_1 *tasks;

/* The end of create: copies what was made to memory of the host, if binding it succeeded. */
static inline int32_t keep_instance(int32_t status, const void *made, size_t size, void **instance) {
    if (status != TN_OK) return status;
    *instance = core->alloc(host, size);
    if (*instance == NULL) return TN_NO_MEMORY;
    memcpy(*instance, made, size);
    return TN_OK;
}
/* Takes the value; NULL is written as "nothing". */
static inline void say(tn_value *said, const char *key, tn_value value) {
    tn_value what = value != NULL ? value : values->make_text("nothing", 7);
    tn_value more = values->set(*said, key, what);
    values->release(what);
    values->release(*said);
    *said = more;
}
static inline void say_int(tn_value *said, const char *key, int64_t number) {
    say(said, key, values->make_int(number));
}
static inline tn_value from_json(const char *json) {
    tn_value value = NULL;
    return values->from_json(json, strlen(json), &value) == TN_OK ? value : NULL;
}
static inline const char *text_of(tn_value object, const char *key) {
    return values->as_text(values->get(object, key), NULL);
}
/* Takes what was said: the task's write of the channel. */
static inline int32_t end_said(tn_task task, uint32_t channel, tn_value said) {
    int32_t status = tasks->write(task, channel, said);
    values->release(said);
    return status == TN_OK ? tasks->complete(task, NULL) : tasks->fail(task, "WRITE", "write failed", NULL);
}

/* The last line of an exhibit: it has create, start and destroy, and `draft`, the interface of that id and type. */
#define EXHIBIT(draft_id, draft_type, lifecycle)                                                                       \
    static const tn_component_1 components = {sizeof(tn_component_1), 0, create, start, NULL, NULL, destroy};          \
    static const void *offer(void *self, const char *id) {                                                             \
        (void)self;                                                                                                    \
        if (strcmp(id, TN_COMPONENT_1) == 0) return &components;                                                       \
        return strcmp(id, TN_LIFECYCLE_1) == 0 ? lifecycle : NULL;                                                     \
    }                                                                                                                  \
    static const tn_plugin plugin = {sizeof(tn_plugin), 0, NULL, offer};                                               \
    TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *given) {                                               \
        host = given;                                                                                                  \
        core = (const tn_core_1 *)host->get(host->self, TN_CORE_1);                                                    \
        values = (const tn_value_1 *)host->get(host->self, TN_VALUE_1);                                                \
        tasks = (const tn_task_1 *)host->get(host->self, TN_TASK_1);                                                   \
        draft = (const draft_type *)host->get(host->self, draft_id);                                                   \
        if (core == NULL || values == NULL || tasks == NULL || draft == NULL) return NULL;                             \
        return draft->size == sizeof(draft_type) ? &plugin : NULL;                                                     \
    }

#endif
